/* Pipelines: their function table, and sequences and batches of launches (executable.h). */
#include "backends/cuda/executable.h"

#include "backends/cuda/cuda.h"
#include "backends/cuda/graph.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/pending.h"
#include "backends/cuda/submission.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "driver/dispatch.h"

/* ---- sequences and batches: launches on resident buffers ---- */

/* A stream slot and the state of the launches enqueued in its stream. */
typedef struct launch_sequence {
    vy_cuda *cuda;
    vy_cuda_stream_slot *stream_slot;
    const vy_cuda_launch_list *list;
    size_t *failed;                         /* index of the launch being enqueued; on failure, of the one that failed */
    const vy_cuda_executable *undecoded;    /* the last one whose control block has not been decoded, or NULL */
    const vy_cuda_kernel *undecoded_kernel; /* the kernel of `undecoded` */
    const vyre_launch *first;               /* its deadline and cancel word apply to all */
    vy_cuda_graph *graphs;                  /* in use */
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

/* Waits, and decodes the control block shared by the launches that cannot trap. It does not identify the launch that
 * was stopped, but it does identify the one whose grid was refused. */
static vyre_status wait_and_decode(launch_sequence *t, vyre_error *error) {
    const vy_cuda_executable *code = t->undecoded;
    const vy_launch_control *taken = &t->stream_slot->mirror->taken;
    t->undecoded = NULL;
    if (!code)
        return vy_cuda_stream_slot_wait(t->cuda, t->stream_slot, "running a kernel", error);
    vyre_status status = vy_cuda_control_fetch(t->cuda, t->stream_slot, t->undecoded_kernel, error);
    if (status == VYRE_OK)
        status =
            vy_cuda_wait(t->cuda, t->stream_slot, t->undecoded_kernel, t->first->deadline_ns, t->first->cancel, error);
    if (status != VYRE_OK)
        return status;
    if (taken->refused && !taken->stopped) {
        *t->failed = taken->refused - 1;
        code = vy_cuda_launch_list_at(t->list, *t->failed).code;
    }
    return vy_cuda_decode_result(t->stream_slot, t->undecoded_kernel, code, is_cancelled(t->first), t->first->trap,
                                 error);
}

/* Whether a kernel cannot share the control block with the launches before it: it may trap, or it is the first that
 * polls for its end. */
static int needs_own_control(const launch_sequence *t, const vy_cuda_kernel *kernel) {
    return kernel->header.reports || (kernel->header.polls && !t->undecoded_kernel->header.polls);
}

/* Waits for and decodes the launches before the one about to be added, so that their failure is not attributed to
 * it. */
static vyre_status wait_for_earlier(launch_sequence *t, vyre_error *error) {
    size_t next = *t->failed;
    vyre_status status = wait_and_decode(t, error);
    if (status != VYRE_OK && *t->failed == next)
        *t->failed = t->list->count;
    return status;
}

/* Enqueues one launch. Waits for it if it may trap. */
static vyre_status add(launch_sequence *t, vy_cuda_executable *code, const vyre_launch *launch,
                       const vyre_resource *bindings, vyre_error *error) {
    vy_cu_address addresses[VY_LIMIT_BUFFERS];
    const vy_cuda_kernel *kernel = &code->kernel;
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < code->buffer_count; i++)
        addresses[i] = vy_cuda_resident_address(bindings[i].resident.id) + bindings[i].offset;
    if (launch->grid_buffer)
        status = vy_cuda_executable_indirect(code, &kernel, error);
    int is_cut = vy_cuda_needs_tiles(t->cuda, launch->groups);
    if (status == VYRE_OK && t->undecoded && (is_cut || needs_own_control(t, kernel)))
        status = wait_for_earlier(t, error);
    if (status == VYRE_OK && is_cut) {
        status = vy_cuda_launch_tiles(t->stream_slot, code, launch, addresses, error);
        return status == VYRE_OK
                   ? vy_cuda_decode_result(t->stream_slot, kernel, code, is_cancelled(launch), launch->trap, error)
                   : status;
    }
    if (status == VYRE_OK && !t->undecoded)
        status = vy_cuda_control_prepare(t->cuda, t->stream_slot, kernel, launch, error);
    if (status == VYRE_OK)
        status = launch->grid_buffer ? vy_cuda_indirect_launch(t->stream_slot, code, kernel, launch, addresses,
                                                               (uint32_t)*t->failed + 1, error)
                                     : vy_cuda_launch(t->cuda, t->stream_slot, kernel, launch, NULL, addresses, error);
    if (status != VYRE_OK || !vy_cuda_writes_control(kernel))
        return status;
    t->undecoded = code;
    t->undecoded_kernel = kernel;
    t->first = launch;
    return kernel->header.reports ? wait_and_decode(t, error) : VYRE_OK;
}

static vyre_status start(launch_sequence *t, vy_cuda *cuda, const vy_cuda_launch_list *list, size_t *failed,
                         vyre_error *error) {
    *t = (launch_sequence){.cuda = cuda, .list = list, .failed = failed};
    vyre_status status = vy_cuda_stream_slot_acquire(cuda, &t->stream_slot, error);
    if (status == VYRE_OK)
        vy_cuda_nvtx_begin(&cuda->nvtx, NULL, "vyre sequence");
    return status;
}

static void end(launch_sequence *t, vyre_status status) {
    if (status != VYRE_OK)
        vy_cuda_abort(t->cuda, t->stream_slot, t->undecoded_kernel);
    vy_cuda_graph_release(t->cuda, t->graphs);
    vy_cuda_stream_slot_release(t->cuda, t->stream_slot);
    vy_cuda_nvtx_end(&t->cuda->nvtx);
}

/* As one batched launch, or as a graph. */
static vyre_status add_many(launch_sequence *t, const vy_cuda_launch_list *list, size_t from, size_t count,
                            int *was_added, vyre_error *error) {
    vy_cuda_graph *g;
    int is_free;
    vyre_status status = vy_cuda_batched_launch(t->cuda, t->stream_slot, list, from, count, was_added, &is_free, error);
    if (status != VYRE_OK || *was_added)
        return status;
    status = vy_cuda_graph_launch(t->cuda, t->stream_slot->stream, list, from, count, is_free, &g, error);
    *was_added = g != NULL;
    if (g) {
        g->next = t->graphs;
        t->graphs = g;
    }
    return status;
}

/* A single item. With host bytes it is run as a separate submission; outputs: of the item, or NULL. */
static vyre_status add_item(launch_sequence *t, const vy_cuda_batch_item *row, vyre_outputs *outputs,
                            vyre_error *error) {
    if (is_resident(row->bindings, row->code->buffer_count))
        return add(t, row->code, row->launch, row->bindings, error);
    vyre_status status = wait_for_earlier(t, error);
    return status == VYRE_OK ? vy_cuda_submission_run(row->code, row->launch, NULL, row->bindings, outputs, NULL, error)
                             : status;
}

/* Enqueues all launches, many per call where possible. */
static vyre_status add_list(launch_sequence *t, vyre_outputs *outputs, vyre_error *error) {
    const vy_cuda_launch_list *list = t->list;
    vyre_status status = VYRE_OK;
    for (size_t i = 0, end; i < list->count && status == VYRE_OK; i = end) {
        int was_added;
        end = list->count - i < VY_CUDA_GRAPH_MAX ? list->count : i + VY_CUDA_GRAPH_MAX;
        *t->failed = i;
        status = add_many(t, list, i, end - i, &was_added, error);
        for (size_t k = i; k < end && !was_added && status == VYRE_OK; k++) {
            vy_cuda_batch_item row = vy_cuda_launch_list_at(list, k);
            *t->failed = k;
            status = add_item(t, &row, outputs ? &outputs[k] : NULL, error);
        }
    }
    if (status == VYRE_OK)
        *t->failed = list->count;
    return status;
}

/* ---- sequences ---- */

static vyre_status read_ranges(launch_sequence *t, const vyre_readback *readbacks, size_t count, vyre_error *error) {
    enum { AT_ONCE = 64 };
    vy_cuda_copy copies[AT_ONCE];
    vyre_status status = VYRE_OK;
    while (count && status == VYRE_OK) {
        size_t n = count < AT_ONCE ? count : AT_ONCE;
        for (size_t i = 0; i < n; i++)
            copies[i] = (vy_cuda_copy){vy_cuda_resident_address(readbacks[i].resident.id) + readbacks[i].offset,
                                       readbacks[i].host, readbacks[i].size};
        status = vy_cuda_stage_out(t->cuda, &t->stream_slot->staging, t->stream_slot->stream, copies, n, error);
        readbacks += n, count -= n;
    }
    return status;
}

static vyre_status mark(launch_sequence *t, vy_cu_event event, vyre_error *error) {
    return vy_cuda_check(t->cuda, t->cuda->api.event_record(event, t->stream_slot->stream), "recording an event",
                         error);
}

static vyre_status run_timed(launch_sequence *t, vyre_timing *timing, vyre_error *error) {
    float milliseconds = 0;
    uint64_t before = vy_clock_now();
    vyre_status status = vy_cuda_stream_slot_make_events(t->cuda, t->stream_slot, error);
    if (status == VYRE_OK)
        status = mark(t, t->stream_slot->begin, error);
    if (status == VYRE_OK)
        status = add_list(t, NULL, error);
    if (status == VYRE_OK)
        status = mark(t, t->stream_slot->end, error);
    uint64_t submitted = vy_clock_now();
    if (status == VYRE_OK)
        status = wait_and_decode(t, error);
    uint64_t waited = vy_clock_now();
    if (status == VYRE_OK)
        status = vy_cuda_check(t->cuda,
                               t->cuda->api.event_elapsed(&milliseconds, t->stream_slot->begin, t->stream_slot->end),
                               "reading the time of a sequence", error);
    timing->device_ns = milliseconds > 0 ? (uint64_t)((double)milliseconds * 1e6) : 0;
    timing->enqueue_ns = submitted - before;
    timing->wait_ns = waited - submitted;
    timing->present |= VYRE_TIMED_DEVICE | VYRE_TIMED_ENQUEUE | VYRE_TIMED_WAIT;
    return status;
}

static vyre_status run_inside(vy_cuda *cuda, const vyre_native_step *steps, size_t step_count,
                              const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing,
                              size_t *failed, vyre_error *error) {
    const vy_cuda_launch_list list = {.steps = steps, .count = step_count};
    launch_sequence t;
    vyre_status status = start(&t, cuda, &list, failed, error);
    if (status != VYRE_OK)
        return status;
    status = timing ? run_timed(&t, timing, error) : add_list(&t, NULL, error);
    /* Copies are ordered after the kernels; kernels that may have been stopped are decoded first. */
    if (status == VYRE_OK && (t.undecoded || !readback_count))
        status = wait_and_decode(&t, error);
    if (status == VYRE_OK)
        status = read_ranges(&t, readbacks, readback_count, error);
    end(&t, status);
    return status;
}

vyre_status vy_cuda_sequence(void *self, const vyre_native_step *steps, size_t step_count,
                             const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing, size_t *failed,
                             vyre_error *error) {
    vy_cuda *cuda = self;
    int was_pushed;
    uint64_t before = timing ? vy_clock_now() : 0;
    vyre_status status = vy_cuda_enter(cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = run_inside(cuda, steps, step_count, readbacks, readback_count, timing, failed, error);
    vy_cuda_leave(cuda, was_pushed);
    if (timing)
        timing->wall_ns = vy_clock_now() - before;
    return status;
}

/* ---- batches ---- */

static vyre_status run_items(vy_cuda_executable *code, const vyre_launch *launches, const vy_cuda_batch_bindings *rows,
                             size_t count, vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    const vy_cuda_launch_list list = {.code = code, .launches = launches, .rows = *rows, .count = count};
    launch_sequence t;
    vyre_status status = start(&t, code->cuda, &list, failed, error);
    if (status != VYRE_OK)
        return status;
    status = add_list(&t, outputs, error);
    if (status == VYRE_OK)
        status = wait_and_decode(&t, error);
    end(&t, status);
    return status;
}

static vyre_status batch_resources(vy_cuda_executable *code, const vyre_launch *launches,
                                   const vy_cuda_batch_bindings *rows, size_t count, vyre_outputs *outputs,
                                   size_t *failed, vyre_error *error) {
    int was_pushed;
    vyre_status status = vy_cuda_enter(code->cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = run_items(code, launches, rows, count, outputs, failed, error);
    vy_cuda_leave(code->cuda, was_pushed);
    return status;
}

/* Two submissions at a time: while the host waits for one, the next one is in flight. */
static vyre_status run_double_buffered(vy_cuda_executable *code, const vyre_launch *launches,
                                       const vyre_span *const *inputs, size_t count, vyre_outputs *outputs,
                                       size_t *failed, vyre_error *error) {
    vy_cuda_submission submissions[2];
    size_t started = 0, finished = 0;
    vyre_status status = VYRE_OK;
    while (finished < count && status == VYRE_OK) {
        for (; started < count && started < finished + 2 && status == VYRE_OK; started++) {
            vy_cuda_submission *f = &submissions[started % 2];
            *failed = started;
            status = vy_cuda_submission_start(f, code, &launches[started], NULL, error);
            if (status != VYRE_OK)
                break;
            vy_cuda_submission_bind_host(f, &launches[started], inputs[started]);
            status = vy_cuda_submission_submit(f, &launches[started], error);
            if (status != VYRE_OK) {
                vy_cuda_submission_end(f);
                break;
            }
        }
        if (finished == started)
            break;
        /* Executed also after a submission failed to start: the failure of an earlier one has priority. */
        vy_cuda_submission *f = &submissions[finished % 2];
        vyre_error own;
        vyre_status ended = vy_cuda_submission_finish(f, &outputs[finished], &own);
        vy_cuda_submission_end(f);
        if (ended != VYRE_OK)
            status = ended, *error = own, *failed = finished;
        finished++;
    }
    for (; finished < started; finished++)
        vy_cuda_submission_end(&submissions[finished % 2]);
    if (status == VYRE_OK)
        *failed = count;
    return status;
}

/* Entries of a pipeline's table; they call vy_cuda_enter. */
static vyre_status batch_host(vy_cuda_executable *code, const vyre_launch *launches, const vyre_span *const *inputs,
                              size_t count, vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    int was_pushed;
    vyre_status status = vy_cuda_enter(code->cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    vy_cuda_nvtx_begin(&code->cuda->nvtx, NULL, code->name);
    status = run_double_buffered(code, launches, inputs, count, outputs, failed, error);
    vy_cuda_nvtx_end(&code->cuda->nvtx);
    vy_cuda_leave(code->cuda, was_pushed);
    return status;
}

/* ---- the pipeline's table ---- */

static vyre_status run(void *self, const vyre_launch *launch, const vyre_span *inputs, const vyre_resource *bindings,
                       vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {
    vy_cuda_pipeline *p = self;
    int was_pushed;
    vyre_status status = vy_cuda_enter(p->cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = vy_cuda_is_fast_dispatch(p->code, launch, bindings, timing)
                 ? vy_cuda_dispatch_fast(p->code, launch, bindings, error)
                 : vy_cuda_submission_run(p->code, launch, inputs, bindings, outputs, timing, error);
    vy_cuda_leave(p->cuda, was_pushed);
    return status;
}

/* ---- host bytes ---- */

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
    vy_cuda_pipeline *p = self;
    int was_pushed;
    vyre_status status = vy_cuda_enter(p->cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = vy_cuda_pending_start(p->code, launch, inputs, out, error);
    vy_cuda_leave(p->cuda, was_pushed);
    return status;
}

static vyre_status dispatch_batch(void *self, const vyre_launch *launches, const vyre_span *const *inputs,
                                  size_t input_count, size_t count, vyre_outputs *outputs, size_t *failed,
                                  vyre_error *error) {
    (void)input_count;
    vy_cuda_pipeline *p = self;
    return batch_host(p->code, launches, inputs, count, outputs, failed, error);
}

/* ---- resources ---- */

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
    vy_cuda_pipeline *p = self;
    const vy_cuda_batch_bindings rows = {.each = bindings};
    return batch_resources(p->code, launches, &rows, count, outputs, failed, error);
}

static vyre_status dispatch_rows(void *self, const vyre_launch *launches, const vyre_resource (*four)[4], size_t count,
                                 vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    vy_cuda_pipeline *p = self;
    const vy_cuda_batch_bindings rows = {.four = four};
    return batch_resources(p->code, launches, &rows, count, outputs, failed, error);
}

/* ---- making and ending ---- */

static vyre_status serialize_later(void *self, vyre_bytes *out, vyre_error *error) {
    vy_cuda_pipeline *p = self;
    int was_pushed;
    vyre_status status = vy_cuda_enter(p->cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = vy_cuda_compile_binary(p->code, out, error);
    vy_cuda_leave(p->cuda, was_pushed);
    return status;
}

static void destroy(void *self) {
    vy_cuda_pipeline *p = self;
    atomic_fetch_sub_explicit(&p->cuda->pipelines, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&p->cuda->code_bytes, p->code->object.size, memory_order_relaxed);
    vy_cuda_executable_release(p->code);
    vy_release(p, sizeof *p);
}

static const vyre_pipeline_vtable table = {
    .struct_size = sizeof(vyre_pipeline_vtable),
    .dispatch = dispatch,
    .dispatch_borrowed = dispatch_borrowed,
    .dispatch_borrowed_timed = dispatch_timed,
    .dispatch_borrowed_into = dispatch_borrowed, /* writes directly into the caller's storage */
    .dispatch_batched_into = dispatch_batch,
    .dispatch_persistent_into = dispatch_persistent,
    .dispatch_persistent_batched_into = dispatch_persistent_batch,
    .dispatch_persistent_rows_into = dispatch_rows,
    .dispatch_async = dispatch_async,
    .destroy = destroy,
    .serialize_later = serialize_later,
};

/* Consumes the reference to the executable, even on failure. */
static vyre_status make(vy_cuda *cuda, vy_cuda_executable *code, vyre_native_pipeline *out, vyre_error *error) {
    vy_cuda_pipeline *p = vy_allocate(sizeof *p);
    if (!p) {
        vy_cuda_executable_release(code);
        return vy_fail_memory(error, "compiling a pipeline");
    }
    *p = (vy_cuda_pipeline){cuda, code};
    atomic_fetch_add_explicit(&cuda->pipelines, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&cuda->code_bytes, code->object.size, memory_order_relaxed);
    *out = (vyre_native_pipeline){&table, p};
    return VYRE_OK;
}

vyre_status vy_cuda_pipeline_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                     vyre_native_pipeline *out, vyre_error *error) {
    vy_cuda *cuda = self;
    vy_cuda_executable *code = NULL;
    int was_pushed;
    vyre_status status = vy_cuda_numerics_confirm(cuda, error);
    if (status == VYRE_OK)
        status = vy_cuda_enter(cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    vy_deadline_scope before = vy_deadline_begin(options->deadline_ns);
    status = vy_cuda_compile(cuda, program, options->cancellable, &code, error);
    vy_deadline_end(before);
    vy_cuda_leave(cuda, was_pushed);
    return status == VYRE_OK ? make(cuda, code, out, error) : status;
}

vyre_status vy_cuda_pipeline_load(void *self, vyre_program *program, const vyre_compile_options *options,
                                  vyre_span binary, vyre_native_pipeline *out, vyre_error *error) {
    vy_cuda *cuda = self;
    vy_cuda_executable *code = NULL;
    vyre_bytes object = VYRE_BYTES_INIT;
    int was_pushed;
    (void)options;
    vyre_status status = vyre_bytes_resize(&object, binary.size, error);
    if (status != VYRE_OK)
        return status;
    memcpy(object.data, binary.data, binary.size);
    status = vy_cuda_enter(cuda, &was_pushed, error);
    if (status == VYRE_OK) {
        status = vy_cuda_executable_new(cuda, program, &object, &code, error);
        vy_cuda_leave(cuda, was_pushed);
    }
    vyre_bytes_free(&object);
    return status == VYRE_OK ? make(cuda, code, out, error) : status;
}
