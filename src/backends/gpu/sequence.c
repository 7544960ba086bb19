/* Sequences and batches of launches on one queue (gpu.h). */
#include "backends/gpu/gpu.h"
#include "base/status.h"
#include "base/thread.h"

vy_gpu_item vy_gpu_launch_list_at(const vy_gpu_launch_list *list, size_t index) {
    if (list->code)
        return (vy_gpu_item){list->code, &list->launches[index], list->each ? list->each[index] : list->four[index]};
    const vyre_native_step *step = &list->steps[index];
    return (vy_gpu_item){((vy_gpu_pipeline *)step->pipeline)->code, &step->launch, step->bindings};
}

static int is_resident(const vyre_resource *bindings, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (bindings[i].kind != VYRE_RESOURCE_RESIDENT)
            return 0;
    return 1;
}

/* Waits, and decodes the control block shared by the launches that cannot trap. It does not identify the launch that
 * was stopped, but it does identify the one whose grid was refused. */
static vyre_status wait_and_decode(vy_gpu_sequence *t, vyre_error *error) {
    const vy_gpu_executable *code = t->undecoded;
    const vy_launch_control *taken = t->slot->taken;
    t->undecoded = NULL;
    if (!code)
        return t->gpu->calls->finish(t->slot, error);
    vyre_status status = t->gpu->calls->control_fetch(t->slot, t->undecoded_kernel, error);
    if (status == VYRE_OK)
        status = vy_gpu_wait(t->slot, t->undecoded_kernel, t->first->deadline_ns, t->first->cancel, error);
    if (status != VYRE_OK)
        return status;
    if (taken->refused && !taken->stopped) {
        *t->failed = taken->refused - 1;
        code = vy_gpu_launch_list_at(t->list, *t->failed).code;
    }
    return vy_gpu_decode(t->slot, t->undecoded_kernel, code, vy_gpu_is_set(t->first->cancel), t->first->trap, error);
}

/* Waits for and decodes the launches before the one about to be added, so that their failure is not attributed to
 * it. */
static vyre_status wait_for_earlier(vy_gpu_sequence *t, vyre_error *error) {
    size_t next = *t->failed;
    vyre_status status = wait_and_decode(t, error);
    if (status != VYRE_OK && *t->failed == next)
        *t->failed = t->list->count;
    return status;
}

/* Whether a kernel cannot share the control block with the launches before it: it may trap, or it is the first that
 * polls for its end. */
static int needs_own_control(const vy_gpu_sequence *t, const vy_gpu_kernel *kernel) {
    return kernel->reports || (kernel->polls && !t->undecoded_kernel->polls);
}

static vyre_status add_sliced(vy_gpu_sequence *t, const vy_gpu_item *item, vy_gpu_kernel *kernel,
                              const vy_gpu_buffers *buffers, vyre_error *error) {
    const vyre_launch *launch = item->launch;
    vyre_status status = vy_gpu_launch_slices(t->slot, item->code, kernel, launch, buffers, error);
    return status == VYRE_OK
               ? vy_gpu_decode(t->slot, kernel, item->code, vy_gpu_is_set(launch->cancel), launch->trap, error)
               : status;
}

/* Enqueues one launch. Waits for it if it may trap. */
static vyre_status add(vy_gpu_sequence *t, const vy_gpu_item *item, vyre_error *error) {
    const vy_gpu_calls *calls = t->gpu->calls;
    vy_gpu_buffers buffers;
    vy_gpu_kernel *kernel;
    int is_sliced = calls->needs_slices(item->code, item->launch, NULL);
    for (uint32_t i = 0; i < item->code->buffer_count; i++)
        calls->resident_locate(&item->bindings[i], &buffers.addresses[i], &buffers.memories[i]);
    vyre_status status = calls->choose_kernel(item->code, item->launch, is_sliced, &kernel, error);
    if (status == VYRE_OK && t->undecoded && (is_sliced || needs_own_control(t, kernel)))
        status = wait_for_earlier(t, error);
    if (status == VYRE_OK && is_sliced)
        return add_sliced(t, item, kernel, &buffers, error);
    if (status == VYRE_OK && !t->undecoded)
        status = calls->control_prepare(t->slot, kernel, item->launch, error);
    if (status == VYRE_OK)
        status =
            calls->launch(t->slot, item->code, kernel, item->launch, NULL, &buffers, (uint32_t)*t->failed + 1, error);
    if (status != VYRE_OK || !kernel->writes_control)
        return status;
    t->undecoded = item->code;
    t->undecoded_kernel = kernel;
    t->first = item->launch;
    return kernel->reports ? wait_and_decode(t, error) : VYRE_OK;
}

/* With host bytes it is run as a separate dispatch; outputs: of the item, or NULL. */
static vyre_status add_item(vy_gpu_sequence *t, const vy_gpu_item *item, vyre_outputs *outputs, vyre_error *error) {
    if (is_resident(item->bindings, item->code->buffer_count))
        return add(t, item, error);
    vyre_status status = wait_for_earlier(t, error);
    return status == VYRE_OK
               ? vy_gpu_submission_run(item->code, item->launch, NULL, item->bindings, outputs, NULL, error)
               : status;
}

/* Enqueues all launches, many per call where possible. */
static vyre_status add_list(vy_gpu_sequence *t, vyre_outputs *outputs, vyre_error *error) {
    const vy_gpu_launch_list *list = t->list;
    vyre_status status = VYRE_OK;
    for (size_t i = 0, end; i < list->count && status == VYRE_OK; i = end) {
        int was_added = 0;
        end = list->count - i < VY_GPU_MANY ? list->count : i + VY_GPU_MANY;
        *t->failed = i;
        if (t->gpu->calls->add_many)
            status = t->gpu->calls->add_many(t, i, end - i, &was_added, error);
        for (size_t k = i; k < end && !was_added && status == VYRE_OK; k++) {
            vy_gpu_item item = vy_gpu_launch_list_at(list, k);
            *t->failed = k;
            status = add_item(t, &item, outputs ? &outputs[k] : NULL, error);
        }
    }
    if (status == VYRE_OK)
        *t->failed = list->count;
    return status;
}

static vyre_status start(vy_gpu_sequence *t, vy_gpu *gpu, const vy_gpu_launch_list *list, int is_timed, size_t *failed,
                         vyre_error *error) {
    *t = (vy_gpu_sequence){.gpu = gpu, .list = list, .failed = failed};
    vyre_status status = gpu->calls->slot_acquire(gpu, is_timed, &t->slot, error);
    if (status == VYRE_OK)
        vy_gpu_range_begin(gpu, NULL, "vyre sequence");
    return status;
}

static void end(vy_gpu_sequence *t, vyre_status status) {
    if (status != VYRE_OK)
        vy_gpu_abort(t->slot, t->undecoded_kernel);
    if (t->held)
        t->gpu->calls->release_held(t->gpu, t->held);
    t->gpu->calls->slot_release(t->slot, status != VYRE_OK);
    vy_gpu_range_end(t->gpu);
}

vyre_status vy_gpu_list_run(vy_gpu *gpu, const vy_gpu_launch_list *list, vyre_outputs *outputs, size_t *failed,
                            vyre_error *error) {
    vy_gpu_sequence t;
    vyre_status status = start(&t, gpu, list, 0, failed, error);
    if (status != VYRE_OK)
        return status;
    status = add_list(&t, outputs, error);
    if (status == VYRE_OK)
        status = wait_and_decode(&t, error);
    end(&t, status);
    return status;
}

/* ---- sequences ---- */

static vyre_status run_timed(vy_gpu_sequence *t, vyre_timing *timing, vyre_error *error) {
    const vy_gpu_calls *calls = t->gpu->calls;
    uint64_t before = vy_clock_now();
    vyre_status status = calls->time_mark ? calls->time_mark(t->slot, 0, error) : (vyre_status)VYRE_OK;
    if (status == VYRE_OK)
        status = add_list(t, NULL, error);
    if (status == VYRE_OK && calls->time_mark)
        status = calls->time_mark(t->slot, 1, error);
    uint64_t submitted = vy_clock_now();
    if (status == VYRE_OK)
        status = wait_and_decode(t, error);
    timing->enqueue_ns = submitted - before;
    timing->wait_ns = vy_clock_now() - submitted;
    timing->present |= VYRE_TIMED_DEVICE | VYRE_TIMED_ENQUEUE | VYRE_TIMED_WAIT;
    return status == VYRE_OK ? calls->time_read(t->slot, &timing->device_ns, error) : status;
}

static vyre_status read_ranges(vy_gpu_sequence *t, const vyre_readback *readbacks, size_t count, vyre_error *error) {
    enum { AT_ONCE = 64 };
    vyre_transfer transfers[AT_ONCE];
    vyre_status status = VYRE_OK;
    for (size_t i = 0, n; i < count && status == VYRE_OK; i += n) {
        for (n = 0; n < AT_ONCE && i + n < count; n++) {
            const vyre_readback *r = &readbacks[i + n];
            transfers[n] = (vyre_transfer){r->resident, r->offset, r->size, r->host};
        }
        status = t->gpu->calls->download(t->slot, transfers, n, error);
    }
    return status;
}

static vyre_status run_inside(vy_gpu *gpu, const vy_gpu_launch_list *list, const vyre_readback *readbacks,
                              size_t readback_count, vyre_timing *timing, size_t *failed, vyre_error *error) {
    vy_gpu_sequence t;
    vyre_status status = start(&t, gpu, list, timing != NULL, failed, error);
    if (status != VYRE_OK)
        return status;
    status = timing ? run_timed(&t, timing, error) : add_list(&t, NULL, error);
    /* Copies are ordered after the kernels; kernels that may have been stopped are decoded first. */
    if (status == VYRE_OK && (t.undecoded || !readback_count))
        status = wait_and_decode(&t, error);
    if (status == VYRE_OK && readback_count)
        status = read_ranges(&t, readbacks, readback_count, error);
    end(&t, status);
    return status;
}

vyre_status vy_gpu_sequence_run(void *self, const vyre_native_step *steps, size_t step_count,
                                const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing,
                                size_t *failed, vyre_error *error) {
    const vy_gpu_launch_list list = {.steps = steps, .count = step_count};
    vy_gpu *gpu = self;
    int was_pushed;
    uint64_t before = timing ? vy_clock_now() : 0;
    vyre_status status = gpu->calls->enter(gpu, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = run_inside(gpu, &list, readbacks, readback_count, timing, failed, error);
    gpu->calls->leave(gpu, was_pushed);
    if (timing)
        timing->wall_ns = vy_clock_now() - before;
    return status;
}

/* ---- batches from host bytes ---- */

static vyre_status start_item(vy_gpu_submission *f, vy_gpu_executable *code, const vyre_launch *launch,
                              const vyre_span *inputs, vyre_outputs *outputs, vyre_error *error) {
    const vy_gpu_calls *calls = code->gpu->calls;
    vyre_status status = vy_gpu_submission_start(f, code, launch, NULL, error);
    if (status != VYRE_OK)
        return status;
    status = vy_gpu_submission_bind(f, launch, inputs, NULL, outputs, error);
    if (status == VYRE_OK)
        status = vy_gpu_submission_submit(f, launch, error);
    if (status == VYRE_OK && calls->flush)
        status = calls->flush(f->slot, error);
    if (status != VYRE_OK)
        vy_gpu_submission_end(f);
    return status;
}

vyre_status vy_gpu_batch_run(vy_gpu_executable *code, const vyre_launch *launches, const vyre_span *const *inputs,
                             size_t count, vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    vy_gpu_submission submissions[2];
    size_t started = 0, finished = 0;
    vyre_status status = VYRE_OK;
    while (finished < count && status == VYRE_OK) {
        for (; started < count && started < finished + 2 && status == VYRE_OK; started++) {
            *failed = started;
            status = start_item(&submissions[started % 2], code, &launches[started], inputs[started], &outputs[started],
                                error);
            if (status != VYRE_OK)
                break;
        }
        if (finished == started)
            break;
        /* Executed also after an item failed to start: the failure of an earlier one has priority. */
        vy_gpu_submission *f = &submissions[finished % 2];
        vyre_error own;
        vyre_status ended = vy_gpu_submission_finish(f, &outputs[finished], &own);
        vy_gpu_submission_end(f);
        if (ended != VYRE_OK)
            status = ended, *error = own, *failed = finished;
        finished++;
    }
    for (; finished < started; finished++)
        vy_gpu_submission_end(&submissions[finished % 2]);
    if (status == VYRE_OK)
        *failed = count;
    return status;
}
