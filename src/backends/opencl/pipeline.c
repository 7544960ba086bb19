/* Pipelines: their function table, and sequences and batches of launches (pipeline.h). */
#include "backends/opencl/pipeline.h"

#include "backends/opencl/launch.h"
#include "backends/opencl/memory.h"
#include "backends/opencl/pending.h"
#include "backends/opencl/submission.h"
#include "base/status.h"
#include "base/thread.h"

/* ---- sequences and batches: launches on resident buffers ----
 *
 * All launches are enqueued on one queue, followed by one wait. A trap ends the sequence before the next step starts,
 * so the host waits for each step that may trap, and only for those. */

typedef struct launch_sequence {
    vy_ocl *ocl;
    vy_ocl_slot *slot;
    size_t *failed;                     /* the launch being enqueued; after a failure, the launch that failed */
    const vy_ocl_executable *undecoded; /* the last code with an undecoded control block, or NULL, */
    vy_ocl_kernel *undecoded_kernel;    /* and its kernel */
    const vyre_launch *first;           /* its deadline and cancellation word apply to all launches */
} launch_sequence;

static int is_resident(const vyre_resource *bindings, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (bindings[i].kind != VYRE_RESOURCE_RESIDENT)
            return 0;
    return 1;
}

static int is_cancelled(const vyre_launch *launch) {
    return launch->cancel && __atomic_load_n(launch->cancel, __ATOMIC_RELAXED);
}

/* Waits and decodes the control block. Launches that cannot trap share it, so it does not identify the stopped
 * launch. */
static vyre_status wait_and_decode(launch_sequence *t, vyre_error *error) {
    const vy_ocl_executable *code = t->undecoded;
    vy_ocl_kernel *kernel = t->undecoded_kernel;
    t->undecoded = NULL;
    t->undecoded_kernel = NULL;
    if (!code)
        return vy_ocl_wait(t->ocl, t->slot, NULL, 0, NULL, error);
    vyre_status status = vy_ocl_control_fetch(t->ocl, t->slot, kernel, error);
    if (status == VYRE_OK)
        status = vy_ocl_wait(t->ocl, t->slot, kernel, t->first->deadline_ns, t->first->cancel, error);
    return status == VYRE_OK
               ? vy_ocl_decode_result(t->slot, kernel, code->name, is_cancelled(t->first), t->first->trap, error)
               : status;
}

/* Waits for the launches before the one being added. If one fails, *failed becomes `count`, since the failure is not
 * that of the launch being added. */
static vyre_status wait_for_earlier(launch_sequence *t, size_t count, vyre_error *error) {
    size_t next = *t->failed;
    vyre_status status = wait_and_decode(t, error);
    if (status != VYRE_OK && *t->failed == next)
        *t->failed = count;
    return status;
}

/* Whether a kernel must not share the control block with earlier launches: it may trap, or it is the first that
 * polls. */
static int needs_own_control(const launch_sequence *t, const vy_ocl_kernel *kernel) {
    return kernel->header.reports || (kernel->header.polls && !t->undecoded_kernel->header.polls);
}

static vyre_status add_sliced(launch_sequence *t, vy_ocl_executable *code, const vyre_launch *launch,
                              const vy_ocl_place *places, vyre_error *error) {
    vy_ocl_kernel *kernel;
    vyre_status status = vy_ocl_launch_slices(t->slot, code, launch, places, &kernel, error);
    return status == VYRE_OK
               ? vy_ocl_decode_result(t->slot, kernel, code->name, is_cancelled(launch), launch->trap, error)
               : status;
}

/* Enqueues one launch; waits for it if it may trap. */
static vyre_status add(launch_sequence *t, vy_ocl_executable *code, const vyre_launch *launch,
                       const vyre_resource *bindings, size_t count, vyre_error *error) {
    vy_ocl_place places[VY_LIMIT_BUFFERS];
    vy_ocl_kernel *kernel = &code->kernel;
    int is_sliced = vy_ocl_needs_slices(code, launch);
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < code->facts->buffer_count; i++) {
        vy_ocl_block *block = vy_ocl_block_of(bindings[i].resident.id);
        places[i] = (vy_ocl_place){vy_ocl_block_area(block)->memory, block->offset + bindings[i].offset};
    }
    if (t->undecoded && (is_sliced || needs_own_control(t, kernel)))
        status = wait_for_earlier(t, count, error);
    if (status == VYRE_OK && is_sliced)
        return add_sliced(t, code, launch, places, error);
    if (status == VYRE_OK && !t->undecoded)
        status = vy_ocl_control_prepare(t->ocl, t->slot, kernel, launch->deadline_ns, error);
    if (status == VYRE_OK)
        status = vy_ocl_launch(t->ocl, t->slot, code, kernel, launch, places, error);
    if (status != VYRE_OK || !vy_ocl_needs_control(kernel))
        return status;
    t->undecoded = code;
    t->undecoded_kernel = kernel;
    t->first = launch;
    return kernel->header.reports ? wait_and_decode(t, error) : VYRE_OK;
}

static vyre_status start(launch_sequence *t, vy_ocl *ocl, int is_timed, size_t *failed, vyre_error *error) {
    *t = (launch_sequence){.ocl = ocl, .failed = failed};
    return vy_ocl_slot_acquire(ocl, is_timed, &t->slot, error);
}

static void end(launch_sequence *t, vyre_status status) {
    if (status != VYRE_OK)
        vy_ocl_abort(t->ocl, t->slot, t->undecoded_kernel);
    vy_ocl_slot_release(t->ocl, t->slot, 0);
}

/* ---- sequences ---- */

static vyre_status run_steps(launch_sequence *t, const vyre_native_step *steps, size_t count, vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        vy_ocl_executable *code = ((vy_ocl_pipeline *)steps[i].pipeline)->code;
        *t->failed = i;
        if (is_resident(steps[i].bindings, code->facts->buffer_count)) {
            status = add(t, code, &steps[i].launch, steps[i].bindings, count, error);
            continue;
        }
        status = wait_for_earlier(t, count, error);
        if (status == VYRE_OK)
            status = vy_ocl_submission_run(code, &steps[i].launch, NULL, steps[i].bindings, NULL, NULL, error);
    }
    if (status == VYRE_OK)
        *t->failed = count;
    return status;
}

static vyre_status run_timed(launch_sequence *t, const vyre_native_step *steps, size_t count, vyre_timing *timing,
                             vyre_error *error) {
    uint64_t before = vy_clock_now();
    vyre_status status = run_steps(t, steps, count, error);
    uint64_t submitted = vy_clock_now();
    if (status == VYRE_OK)
        status = wait_and_decode(t, error);
    timing->enqueue_ns = submitted - before;
    timing->wait_ns = vy_clock_now() - submitted;
    timing->present |= VYRE_TIMED_DEVICE | VYRE_TIMED_ENQUEUE | VYRE_TIMED_WAIT;
    return status == VYRE_OK ? vy_ocl_read_time(t->ocl, t->slot, &timing->device_ns, error) : status;
}

vyre_status vy_ocl_sequence(void *self, const vyre_native_step *steps, size_t step_count,
                            const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing, size_t *failed,
                            vyre_error *error) {
    vy_ocl *ocl = self;
    launch_sequence t;
    uint64_t before = timing ? vy_clock_now() : 0;
    vyre_status status = vy_ocl_enter(ocl, error);
    if (status == VYRE_OK)
        status = start(&t, ocl, timing != NULL, failed, error);
    if (status != VYRE_OK)
        return status;
    status = timing ? run_timed(&t, steps, step_count, timing, error) : run_steps(&t, steps, step_count, error);
    if (status == VYRE_OK && !timing)
        status = wait_and_decode(&t, error);
    end(&t, status);
    /* A readback is a transfer. */
    for (size_t i = 0; i < readback_count && status == VYRE_OK; i++) {
        const vyre_transfer one = {readbacks[i].resident, readbacks[i].offset, readbacks[i].size, readbacks[i].host};
        status = vy_ocl_resident_download_batch(ocl, &one, 1, error);
    }
    if (timing)
        timing->wall_ns = vy_clock_now() - before;
    return status;
}

/* ---- batches ---- */

static vyre_status batch_resources(vy_ocl_executable *code, const vyre_launch *launches,
                                   const vyre_resource *const *each, const vyre_resource (*four)[4], size_t count,
                                   vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    launch_sequence t;
    vyre_status status = vy_ocl_enter(code->ocl, error);
    if (status == VYRE_OK)
        status = start(&t, code->ocl, 0, failed, error);
    if (status != VYRE_OK)
        return status;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        const vyre_resource *bindings = each ? each[i] : four[i];
        *failed = i;
        if (is_resident(bindings, code->facts->buffer_count)) {
            status = add(&t, code, &launches[i], bindings, count, error);
            continue;
        }
        status = wait_for_earlier(&t, count, error);
        if (status == VYRE_OK)
            status = vy_ocl_submission_run(code, &launches[i], NULL, bindings, &outputs[i], NULL, error);
    }
    if (status == VYRE_OK) {
        *failed = count;
        status = wait_and_decode(&t, error);
    }
    end(&t, status);
    return status;
}

static vyre_status start_item(vy_ocl_submission *f, vy_ocl_executable *code, const vyre_launch *launch,
                              const vyre_span *inputs, vyre_outputs *outputs, vyre_error *error) {
    vyre_status status = vy_ocl_submission_start(f, code, launch, NULL, error);
    if (status != VYRE_OK)
        return status;
    status = vy_ocl_submission_bind(f, launch, inputs, NULL, outputs, error);
    if (status == VYRE_OK)
        status = vy_ocl_submission_submit(f, launch, error);
    if (status == VYRE_OK)
        status = vy_ocl_check(f->ocl, f->ocl->api.flush(f->slot->queue), "starting a dispatch", error);
    if (status != VYRE_OK)
        vy_ocl_submission_end(f);
    return status;
}

/* Two in flight: while the host waits for one, the next one is already enqueued. */
static vyre_status batch_host(vy_ocl_executable *code, const vyre_launch *launches, const vyre_span *const *inputs,
                              size_t count, vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    vy_ocl_submission submissions[2];
    size_t started = 0, finished = 0;
    vyre_status status = vy_ocl_enter(code->ocl, error);
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
        /* Also after a later item failed to start: the error of the earlier item has precedence. */
        vy_ocl_submission *f = &submissions[finished % 2];
        vyre_error own;
        vyre_status ended = vy_ocl_submission_finish(f, &outputs[finished], &own);
        vy_ocl_submission_end(f);
        if (ended != VYRE_OK)
            status = ended, *error = own, *failed = finished;
        finished++;
    }
    for (; finished < started; finished++)
        vy_ocl_submission_end(&submissions[finished % 2]);
    if (status == VYRE_OK)
        *failed = count;
    return status;
}

/* ---- the pipeline's table ---- */

static vyre_status run(void *self, const vyre_launch *launch, const vyre_span *inputs, const vyre_resource *bindings,
                       vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {
    vy_ocl_pipeline *p = self;
    vyre_status status = vy_ocl_enter(p->ocl, error);
    return status == VYRE_OK ? vy_ocl_submission_run(p->code, launch, inputs, bindings, outputs, timing, error)
                             : status;
}

static vyre_status dispatch_borrowed(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                     vyre_outputs *outputs, vyre_error *error) {
    (void)input_count;
    return run(self, launch, inputs, NULL, outputs, NULL, error);
}

static vyre_status dispatch_timed(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                  vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {
    (void)input_count;
    return run(self, launch, inputs, NULL, outputs, timing, error);
}

static vyre_status dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                            vyre_outputs *outputs, vyre_error *error) {
    vyre_span spans[VY_LIMIT_BUFFERS];
    for (size_t i = 0; i < input_count; i++)
        spans[i] = (vyre_span){inputs[i].data, inputs[i].size};
    return run(self, launch, spans, NULL, outputs, NULL, error);
}

static vyre_status dispatch_async(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                  vyre_native_pending *out, vyre_error *error) {
    (void)input_count;
    vy_ocl_pipeline *p = self;
    vyre_status status = vy_ocl_enter(p->ocl, error);
    return status == VYRE_OK ? vy_ocl_pending_start(p->code, launch, inputs, out, error) : status;
}

static vyre_status dispatch_batch(void *self, const vyre_launch *launches, const vyre_span *const *inputs,
                                  size_t input_count, size_t count, vyre_outputs *outputs, size_t *failed,
                                  vyre_error *error) {
    (void)input_count;
    return batch_host(((vy_ocl_pipeline *)self)->code, launches, inputs, count, outputs, failed, error);
}

static vyre_status dispatch_persistent(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                       size_t binding_count, vyre_outputs *outputs, vyre_timing *timing,
                                       vyre_error *error) {
    (void)binding_count;
    return run(self, launch, NULL, bindings, outputs, timing, error);
}

static vyre_status dispatch_persistent_batch(void *self, const vyre_launch *launches,
                                             const vyre_resource *const *bindings, size_t binding_count, size_t count,
                                             vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    (void)binding_count;
    return batch_resources(((vy_ocl_pipeline *)self)->code, launches, bindings, NULL, count, outputs, failed, error);
}

static vyre_status dispatch_rows(void *self, const vyre_launch *launches, const vyre_resource (*four)[4], size_t count,
                                 vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    return batch_resources(((vy_ocl_pipeline *)self)->code, launches, NULL, four, count, outputs, failed, error);
}

/* ---- construction and destruction ---- */

static vyre_status serialize(void *self, vyre_bytes *out, vyre_error *error) {
    vy_ocl_pipeline *p = self;
    vyre_status status = vy_ocl_enter(p->ocl, error);
    return status == VYRE_OK ? vy_ocl_serialize(p->code, out, error) : status;
}

static void destroy(void *self) {
    vy_ocl_pipeline *p = self;
    atomic_fetch_sub_explicit(&p->ocl->pipelines, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&p->ocl->code_bytes, p->code->kernel.code_bytes, memory_order_relaxed);
    vy_ocl_executable_release(p->code);
    vy_release(p, sizeof *p);
}

#define ENTRIES                                                                                                        \
    .struct_size = sizeof(vyre_pipeline_vtable), .dispatch = dispatch, .dispatch_borrowed = dispatch_borrowed,         \
    .dispatch_borrowed_timed = dispatch_timed, .dispatch_borrowed_into = dispatch_borrowed,                            \
    .dispatch_batched_into = dispatch_batch, .dispatch_persistent_into = dispatch_persistent,                          \
    .dispatch_persistent_batched_into = dispatch_persistent_batch, .dispatch_persistent_rows_into = dispatch_rows,     \
    .serialize = serialize, .destroy = destroy

static const vyre_pipeline_vtable table = {ENTRIES, .dispatch_async = dispatch_async};
/* For grids in slices: no native asynchronous dispatch, so a worker thread of src/driver waits for each slice. */
static const vyre_pipeline_vtable waiting_table = {ENTRIES};

/* Takes ownership of the code, also on failure. */
static vyre_status make(vy_ocl *ocl, vy_ocl_executable *code, vyre_native_pipeline *out, vyre_error *error) {
    vy_ocl_pipeline *p = vy_allocate(sizeof *p);
    if (!p) {
        vy_ocl_executable_release(code);
        return vy_fail_memory(error, "compiling a pipeline");
    }
    *p = (vy_ocl_pipeline){ocl, code};
    atomic_fetch_add_explicit(&ocl->pipelines, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&ocl->code_bytes, code->kernel.code_bytes, memory_order_relaxed);
    int is_sliced = code->kernel.header.polls && ocl->findings.signal == VY_OCL_SIGNAL_SLICES;
    *out = (vyre_native_pipeline){is_sliced ? &waiting_table : &table, p};
    return VYRE_OK;
}

vyre_status vy_ocl_pipeline_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                    vyre_native_pipeline *out, vyre_error *error) {
    vy_ocl *ocl = self;
    vy_ocl_executable *code = NULL;
    vyre_status status = vy_ocl_enter(ocl, error);
    if (status == VYRE_OK)
        status = vy_ocl_numerics_confirm(ocl, error);
    if (status != VYRE_OK)
        return status;
    vy_deadline_scope before = vy_deadline_begin(options->deadline_ns);
    status = vy_ocl_compile(ocl, program, options->cancellable, &code, error);
    vy_deadline_end(before);
    return status == VYRE_OK ? make(ocl, code, out, error) : status;
}

vyre_status vy_ocl_pipeline_load(void *self, vyre_program *program, const vyre_compile_options *options,
                                 vyre_span binary, vyre_native_pipeline *out, vyre_error *error) {
    vy_ocl *ocl = self;
    vy_ocl_executable *code = NULL;
    vyre_status status = vy_ocl_enter(ocl, error);
    if (status == VYRE_OK)
        status = vy_ocl_load(ocl, program, options->cancellable, binary, &code, error);
    return status == VYRE_OK ? make(ocl, code, out, error) : status;
}
