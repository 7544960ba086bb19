/* Sequences and batches (sequence.h). */
#include "backends/cuda/sequence.h"

#include "backends/cuda/flight.h"
#include "backends/cuda/graph.h"
#include "backends/cuda/indirect.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/table.h"
#include "base/status.h"
#include "driver/dispatch.h"

/* ---- launches on resident buffers ---- */

/* One lane, and what was put into its stream. */
typedef struct train {
    vy_cuda *cuda;
    vy_cuda_lane *lane;
    const vy_cuda_list *list;
    size_t *failed;               /* the one that is put into the stream, and then the one that failed */
    const vy_cuda_code *telling;  /* the last code whose control block was not looked at yet, or NULL, */
    const vy_cuda_kernel *teller; /* and its kernel */
    const vyre_launch *first;     /* its deadline and word are those of all */
    vy_cuda_graph *graphs;        /* in use */
} train;

static int is_resident(const vyre_resource *bindings, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (bindings[i].kind != VYRE_RESOURCE_RESIDENT)
            return 0;
    return 1;
}

static int is_cancelled(const vyre_launch *launch) {
    return launch->cancel && __atomic_load_n(launch->cancel, __ATOMIC_RELAXED);
}

/* Waits, and looks at what those said that cannot trap. They share a block: which of them was stopped is not known, but whose grid was refused is. */
static vyre_status settle(train *t, vyre_error *error) {
    const vy_cuda_code *code = t->telling;
    const vy_ptx_control *taken = &t->lane->mirror->taken;
    t->telling = NULL;
    if (!code)
        return vy_cuda_lane_wait(t->cuda, t->lane, "running a kernel", error);
    vyre_status status = vy_cuda_control_fetch(t->cuda, t->lane, t->teller, error);
    if (status == VYRE_OK)
        status = vy_cuda_await(t->cuda, t->lane, t->teller, t->first->deadline_ns, t->first->cancel, error);
    if (status != VYRE_OK)
        return status;
    if (taken->refused && !taken->stopped) {
        *t->failed = taken->refused - 1;
        code = vy_cuda_list_at(t->list, *t->failed).code;
    }
    return vy_cuda_judge(t->lane, t->teller, code, is_cancelled(t->first), t->first->trap, error);
}

/* Whether a kernel needs the control block for itself: it may trap; or it is the first that has to be told when to end. */
static int needs_own_control(const train *t, const vy_cuda_kernel *kernel) {
    return kernel->header.reports || (kernel->header.polls && !t->teller->header.polls);
}

/* The same for those before the launch that is about to be added: it is not the one that failed. */
static vyre_status settle_before(train *t, vyre_error *error) {
    size_t next = *t->failed;
    vyre_status status = settle(t, error);
    if (status != VYRE_OK && *t->failed == next)
        *t->failed = t->list->count;
    return status;
}

/* Puts one launch into the stream; one that may trap is waited for. */
static vyre_status add(train *t, vy_cuda_code *code, const vyre_launch *launch, const vyre_resource *bindings,
                       vyre_error *error) {
    vy_cu_address addresses[VY_LIMIT_BUFFERS];
    const vy_cuda_kernel *kernel = &code->kernel;
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < code->buffer_count; i++)
        addresses[i] = vy_cuda_resident_address(bindings[i].resident.id) + bindings[i].offset;
    if (launch->grid_buffer)
        status = vy_cuda_code_indirect(code, &kernel, error);
    int is_cut = vy_cuda_needs_pieces(t->cuda, launch->groups);
    if (status == VYRE_OK && t->telling && (is_cut || needs_own_control(t, kernel)))
        status = settle_before(t, error);
    if (status == VYRE_OK && is_cut) {
        status = vy_cuda_launch_pieces(t->lane, code, launch, addresses, &kernel, error);
        return status == VYRE_OK ? vy_cuda_judge(t->lane, kernel, code, is_cancelled(launch), launch->trap, error)
                                 : status;
    }
    if (status == VYRE_OK && !t->telling)
        status = vy_cuda_control_prepare(t->cuda, t->lane, kernel, launch, error);
    if (status == VYRE_OK)
        status = launch->grid_buffer ? vy_cuda_indirect_launch(t->lane, code, kernel, launch, addresses,
                                                               (uint32_t)*t->failed + 1, error)
                                     : vy_cuda_launch(t->cuda, t->lane, kernel, launch, addresses, error);
    if (status != VYRE_OK || !vy_cuda_tells(kernel))
        return status;
    t->telling = code;
    t->teller = kernel;
    t->first = launch;
    return kernel->header.reports ? settle(t, error) : VYRE_OK;
}

static vyre_status start(train *t, vy_cuda *cuda, const vy_cuda_list *list, size_t *failed, vyre_error *error) {
    *t = (train){.cuda = cuda, .list = list, .failed = failed};
    vyre_status status = vy_cuda_lane_take(cuda, &t->lane, error);
    if (status == VYRE_OK)
        vy_cuda_nvtx_begin(&cuda->nvtx, NULL, "vyre sequence");
    return status;
}

static void end(train *t, vyre_status status) {
    if (status != VYRE_OK)
        vy_cuda_give_up(t->cuda, t->lane, t->teller);
    vy_cuda_graph_give(t->cuda, t->graphs);
    vy_cuda_lane_give(t->cuda, t->lane);
    vy_cuda_nvtx_end(&t->cuda->nvtx);
}

/* All at once, or as a graph. */
static vyre_status add_many(train *t, const vy_cuda_list *list, size_t from, size_t count, int *was_added,
                            vyre_error *error) {
    vy_cuda_graph *g;
    int is_free;
    vyre_status status = vy_cuda_table_launch(t->cuda, t->lane, list, from, count, was_added, &is_free, error);
    if (status != VYRE_OK || *was_added)
        return status;
    status = vy_cuda_graph_launch(t->cuda, t->lane->stream, list, from, count, is_free, &g, error);
    *was_added = g != NULL;
    if (g) {
        g->next = t->graphs;
        t->graphs = g;
    }
    return status;
}

/* One by one. Host bytes take a lane of their own; outputs: of all items, or NULL. */
static vyre_status add_row(train *t, const vy_cuda_row *row, vyre_outputs *outputs, vyre_error *error) {
    if (is_resident(row->bindings, row->code->buffer_count))
        return add(t, row->code, row->launch, row->bindings, error);
    vyre_status status = settle_before(t, error);
    return status == VYRE_OK ? vy_cuda_flight_run(row->code, row->launch, NULL, row->bindings, outputs, NULL, error)
                             : status;
}

/* Many with one call where that can be. */
static vyre_status add_list(train *t, vyre_outputs *outputs, vyre_error *error) {
    const vy_cuda_list *list = t->list;
    vyre_status status = VYRE_OK;
    for (size_t i = 0, end; i < list->count && status == VYRE_OK; i = end) {
        int was_added;
        end = list->count - i < VY_CUDA_GRAPH_MOST ? list->count : i + VY_CUDA_GRAPH_MOST;
        *t->failed = i;
        status = add_many(t, list, i, end - i, &was_added, error);
        for (size_t k = i; k < end && !was_added && status == VYRE_OK; k++) {
            vy_cuda_row row = vy_cuda_list_at(list, k);
            *t->failed = k;
            status = add_row(t, &row, outputs ? &outputs[k] : NULL, error);
        }
    }
    if (status == VYRE_OK)
        *t->failed = list->count;
    return status;
}

/* ---- sequences ---- */

static vyre_status read_ranges(train *t, const vyre_readback *readbacks, size_t count, vyre_error *error) {
    enum { AT_ONCE = 64 };
    vy_cuda_copy copies[AT_ONCE];
    vyre_status status = VYRE_OK;
    while (count && status == VYRE_OK) {
        size_t n = count < AT_ONCE ? count : AT_ONCE;
        for (size_t i = 0; i < n; i++)
            copies[i] = (vy_cuda_copy){vy_cuda_resident_address(readbacks[i].resident.id) + readbacks[i].offset,
                                       readbacks[i].host, readbacks[i].size};
        status = vy_cuda_stage_out(t->cuda, &t->lane->staging, t->lane->stream, copies, n, error);
        readbacks += n, count -= n;
    }
    return status;
}

static vyre_status mark(train *t, vy_cu_event event, vyre_error *error) {
    return vy_cuda_check(t->cuda, t->cuda->api.event_record(event, t->lane->stream), "recording an event", error);
}

static vyre_status run_timed(train *t, vyre_timing *timing, vyre_error *error) {
    float milliseconds = 0;
    uint64_t before = vy_clock_now();
    vyre_status status = vy_cuda_lane_measure(t->cuda, t->lane, error);
    if (status == VYRE_OK)
        status = mark(t, t->lane->begin, error);
    if (status == VYRE_OK)
        status = add_list(t, NULL, error);
    if (status == VYRE_OK)
        status = mark(t, t->lane->end, error);
    uint64_t submitted = vy_clock_now();
    if (status == VYRE_OK)
        status = settle(t, error);
    uint64_t waited = vy_clock_now();
    if (status == VYRE_OK)
        status = vy_cuda_check(t->cuda, t->cuda->api.event_elapsed(&milliseconds, t->lane->begin, t->lane->end),
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
    const vy_cuda_list list = {.steps = steps, .count = step_count};
    train t;
    vyre_status status = start(&t, cuda, &list, failed, error);
    if (status != VYRE_OK)
        return status;
    status = timing ? run_timed(&t, timing, error) : add_list(&t, NULL, error);
    /* Copies wait for the kernels before them; what may have been stopped is looked at first. */
    if (status == VYRE_OK && (t.telling || !readback_count))
        status = settle(&t, error);
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

static vyre_status run_rows(vy_cuda_code *code, const vyre_launch *launches, const vy_cuda_rows *rows, size_t count,
                            vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    const vy_cuda_list list = {.code = code, .launches = launches, .rows = *rows, .count = count};
    train t;
    vyre_status status = start(&t, code->cuda, &list, failed, error);
    if (status != VYRE_OK)
        return status;
    status = add_list(&t, outputs, error);
    if (status == VYRE_OK)
        status = settle(&t, error);
    end(&t, status);
    return status;
}

vyre_status vy_cuda_batch_resources(vy_cuda_code *code, const vyre_launch *launches, const vy_cuda_rows *rows,
                                    size_t count, vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    int was_pushed;
    vyre_status status = vy_cuda_enter(code->cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = run_rows(code, launches, rows, count, outputs, failed, error);
    vy_cuda_leave(code->cuda, was_pushed);
    return status;
}

/* Two at a time: while one is awaited, the next one is on its way. */
static vyre_status run_pair(vy_cuda_code *code, const vyre_launch *launches, const vyre_span *const *inputs,
                            size_t count, vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    vy_cuda_flight flights[2];
    size_t started = 0, finished = 0;
    vyre_status status = VYRE_OK;
    while (finished < count && status == VYRE_OK) {
        for (; started < count && started < finished + 2 && status == VYRE_OK; started++) {
            vy_cuda_flight *f = &flights[started % 2];
            *failed = started;
            status = vy_cuda_flight_start(f, code, &launches[started], NULL, error);
            if (status != VYRE_OK)
                break;
            vy_cuda_flight_bind_host(f, &launches[started], inputs[started]);
            status = vy_cuda_flight_submit(f, &launches[started], error);
            if (status != VYRE_OK) {
                vy_cuda_flight_end(f);
                break;
            }
        }
        if (finished == started)
            break;
        /* Also behind one that did not start: if an earlier one fails, it is the one that counts. */
        vy_cuda_flight *f = &flights[finished % 2];
        vyre_error own;
        vyre_status ended = vy_cuda_flight_finish(f, &outputs[finished], &own);
        vy_cuda_flight_end(f);
        if (ended != VYRE_OK)
            status = ended, *error = own, *failed = finished;
        finished++;
    }
    for (; finished < started; finished++)
        vy_cuda_flight_end(&flights[finished % 2]);
    if (status == VYRE_OK)
        *failed = count;
    return status;
}

vyre_status vy_cuda_batch_host(vy_cuda_code *code, const vyre_launch *launches, const vyre_span *const *inputs,
                               size_t count, vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    int was_pushed;
    vyre_status status = vy_cuda_enter(code->cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    vy_cuda_nvtx_begin(&code->cuda->nvtx, NULL, code->name);
    status = run_pair(code, launches, inputs, count, outputs, failed, error);
    vy_cuda_nvtx_end(&code->cuda->nvtx);
    vy_cuda_leave(code->cuda, was_pushed);
    return status;
}
