/* Pipelined dispatch: the overlap of copies and kernels of a divisible program (submission.h). */
#include "backends/cuda/submission.h"

#include "backends/cuda/transfer.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"

#include <inttypes.h>

/* Total bytes of all buffers: the minimum for a pipelined dispatch, and the target for a piece. */
#define MIN_BYTES (UINT64_C(32) << 20)
#define PIECE (UINT64_C(4) << 20)

/* ---- one dispatch ---- */

typedef struct pipelined {
    vy_cuda *cuda;
    vy_gpu_submission *submission;
    const vyre_launch *launch;
    vy_cuda_kernel *kernel;
    vyre_outputs *outputs;
    uint32_t group_size;   /* invocations per workgroup */
    uint32_t piece_groups; /* workgroups per piece, except the last */
    _Atomic uint32_t next; /* the next piece to assign */
    uint32_t pieces;
    pthread_mutex_t lock; /* guards the fields below */
    vyre_status status;   /* the first failure; a trap only if nothing else failed */
    vyre_error *error;
    vyre_trap trap;
} pipelined;

static int is_elementwise_buffer(const pipelined *c, uint32_t buffer) {
    return c->submission->code->facts->buffers[buffer].is_elementwise;
}

/* Bytes [*from, *to) of a buffer belong to the piece: its elements, and for the last piece all remaining ones. */
static void range_of(const pipelined *c, uint32_t buffer, uint32_t piece, uint64_t *from, uint64_t *to) {
    uint64_t each =
        (uint64_t)c->piece_groups * c->group_size * c->submission->code->facts->buffers[buffer].element_bytes;
    uint64_t size = c->submission->sizes[buffer];
    *from = piece * each < size ? piece * each : size;
    *to = piece + 1 == c->pieces || (piece + 1) * each > size ? size : (piece + 1) * each;
}

static vyre_status upload_piece(const pipelined *c, vy_cuda_stream_slot *stream_slot, uint32_t piece,
                                vyre_error *error) {
    const vy_gpu_submission *f = c->submission;
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < f->code->buffer_count && status == VYRE_OK; i++) {
        uint64_t from, to;
        if (!is_elementwise_buffer(c, i) || !vy_launch_is_input(f->code->facts, i))
            continue;
        range_of(c, i, piece, &from, &to);
        status = vy_cuda_stage_in(c->cuda, &stream_slot->staging, stream_slot->stream, f->buffers.addresses[i] + from,
                                  (const uint8_t *)f->sources[i] + from, to - from, error);
    }
    return status;
}

/* A piece in progress on a separate stream slot. */
typedef struct pipeline_stage {
    vy_cuda_stream_slot *stream_slot;
    vy_grid_tiles place;
    int is_open;
    vy_cuda_stage_out_state out;
    vy_cuda_copy copies[VY_LIMIT_BUFFERS];
} pipeline_stage;

static vyre_status start_download(const pipelined *c, pipeline_stage *p, uint32_t piece, vyre_error *error) {
    const vy_gpu_submission *f = c->submission;
    size_t count = 0, output = 0;
    for (uint32_t i = 0; i < f->code->buffer_count; i++) {
        uint64_t from, to;
        if (!vy_launch_is_output(f->code->facts, i))
            continue;
        uint8_t *host = c->outputs->items[output++].data;
        range_of(c, i, piece, &from, &to);
        if (from < to)
            p->copies[count++] = (vy_cuda_copy){f->buffers.addresses[i] + from, host + from, to - from};
    }
    return vy_cuda_stage_out_begin(c->cuda, &p->stream_slot->staging, p->stream_slot->stream, p->copies, count, &p->out,
                                   error);
}

static vyre_status launch_stage(const pipelined *c, pipeline_stage *p, vyre_error *error) {
    const vy_gpu_submission *f = c->submission;
    vyre_launch launch = *c->launch;
    memcpy(launch.groups, p->place.size, sizeof launch.groups);
    return vy_gpu_launch(&p->stream_slot->base, f->code, &c->kernel->base, &launch, &p->place, &f->buffers, error);
}

/* Enqueues the upload, the kernel and the readback of a piece. Waits for none of them if the piece fits into the
 * staging. */
static vyre_status begin_stage(const pipelined *c, pipeline_stage *p, uint32_t piece, vyre_error *error) {
    uint32_t first = piece * c->piece_groups, left = c->launch->groups[0] - first;
    p->is_open = 1;
    p->place = (vy_grid_tiles){.whole = {c->launch->groups[0], 1, 1},
                               .base = {first, 0, 0},
                               .size = {left < c->piece_groups ? left : c->piece_groups, 1, 1}};
    vyre_status status = upload_piece(c, p->stream_slot, piece, error);
    if (status == VYRE_OK)
        status = launch_stage(c, p, error);
    return status == VYRE_OK ? start_download(c, p, piece, error) : status;
}

static vyre_status end_stage(const pipelined *c, pipeline_stage *p, vyre_trap *trap, vyre_error *error) {
    const vy_gpu_submission *f = c->submission;
    const uint32_t *cancel = c->launch->cancel;
    vy_gpu_slot *slot = &p->stream_slot->base;
    vyre_status status = vy_gpu_wait(slot, &c->kernel->base, c->launch->deadline_ns, cancel, error);
    if (status == VYRE_OK)
        status = vy_gpu_decode(slot, &c->kernel->base, f->code, vy_gpu_is_set(cancel), trap, error);
    if (status == VYRE_OK)
        status = vy_cuda_stage_out_end(c->cuda, &p->stream_slot->staging, p->stream_slot->stream, &p->out, error);
    if (status == VYRE_OK) {
        p->is_open = 0;
        vy_cuda_staging_reset(&p->stream_slot->staging);
    }
    return status;
}

/* A failure other than a trap has priority; otherwise the trap of the smallest invocation is kept. */
static void record_failure(pipelined *c, vyre_status status, const vyre_trap *trap, const vyre_error *error) {
    pthread_mutex_lock(&c->lock);
    int is_trap = status == VYRE_TRAPPED;
    int counts =
        c->status == VYRE_OK || (c->status == VYRE_TRAPPED && (!is_trap || trap->invocation < c->trap.invocation));
    if (counts) {
        c->status = status;
        *c->error = *error;
        if (is_trap)
            c->trap = *trap;
    }
    if (!is_trap)
        atomic_store(&c->next, c->pieces); /* no further pieces are started */
    pthread_mutex_unlock(&c->lock);
}

static uint32_t next_piece(pipelined *c) {
    uint32_t piece = atomic_load(&c->next);
    while (piece < c->pieces && !atomic_compare_exchange_weak(&c->next, &piece, piece + 1))
        ;
    return piece;
}

/* Called after a failure. When it returns, no work of the stage is in flight. */
static void abort_stage(pipelined *c, pipeline_stage *p, vyre_status status, const vyre_trap *trap,
                        const vyre_error *error) {
    record_failure(c, status, trap, error);
    p->is_open = 0;
    vy_gpu_abort(&p->stream_slot->base, &c->kernel->base);
    vy_cuda_staging_reset(&p->stream_slot->staging);
}

/* Double buffering: while the device processes one piece, the next is uploaded; then the previous one is read back. */
static void run_pieces(pipelined *c, pipeline_stage parts[2]) {
    vyre_error error;
    vyre_trap trap = {0, 0};
    vyre_status status;
    uint32_t piece;
    for (int turn = 0;; turn ^= 1) {
        pipeline_stage *now = &parts[turn], *before = &parts[turn ^ 1];
        piece = next_piece(c);
        if (piece < c->pieces && (status = begin_stage(c, now, piece, &error)) != VYRE_OK)
            abort_stage(c, now, status, &trap, &error);
        if (before->is_open && (status = end_stage(c, before, &trap, &error)) != VYRE_OK)
            abort_stage(c, before, status, &trap, &error);
        if (piece >= c->pieces && !now->is_open)
            return;
    }
}

static void work(void *user, unsigned worker) {
    pipelined *c = user;
    vy_cuda *cuda = c->cuda;
    pipeline_stage parts[2] = {{.stream_slot = NULL}, {.stream_slot = NULL}};
    vyre_error error;
    vyre_trap none = {0, 0};
    int was_pushed;
    (void)worker;
    vyre_status status = vy_cuda_enter(cuda, &was_pushed, &error);
    if (status != VYRE_OK) {
        record_failure(c, status, &none, &error);
        return;
    }
    for (int i = 0; i < 2 && status == VYRE_OK; i++)
        status = vy_cuda_stream_slot_acquire(cuda, &parts[i].stream_slot, &error);
    if (status == VYRE_OK)
        run_pieces(c, parts);
    else
        record_failure(c, status, &none, &error);
    for (int i = 0; i < 2; i++)
        if (parts[i].stream_slot)
            vy_cuda_stream_slot_release(cuda, parts[i].stream_slot);
    vy_cuda_leave(cuda, was_pushed);
}

/* ---- setup and teardown ---- */

/* If an input overlaps the memory of an output's slot, it could be overwritten or freed before it is read
 * completely. */
static int overlaps(const vy_gpu_submission *f, const vyre_outputs *outputs) {
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        for (size_t k = 0; f->sources[i] && k < outputs->count; k++)
            if (vy_gpu_overlaps(f->sources[i], f->sizes[i], &outputs->items[k]))
                return 1;
    return 0;
}

/* A multiple of the coarsening factor. */
static uint32_t groups_of_a_piece(const pipelined *c) {
    const vy_launch_facts *facts = c->submission->code->facts;
    uint32_t factor = c->kernel->header.factor;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < facts->buffer_count; i++)
        if (is_elementwise_buffer(c, i))
            bytes += (uint64_t)facts->buffers[i].element_bytes * c->group_size;
    uint64_t groups = bytes ? PIECE / bytes : 0;
    return (uint32_t)(groups / factor * factor + (groups < factor ? factor : 0));
}

/* Prepares for all pieces: memory, buffers that every piece reads, zeros. */
static vyre_status prepare(pipelined *c, vyre_error *error) {
    vy_gpu_submission *f = c->submission;
    vy_cuda_stream_slot *stream_slot = (vy_cuda_stream_slot *)f->slot;
    size_t output = 0;
    vyre_status status = vy_cuda_submission_allocate(f, error);
    for (uint32_t i = 0; i < f->code->buffer_count && status == VYRE_OK; i++) {
        if (!is_elementwise_buffer(c, i) && f->sizes[i])
            status = vy_cuda_stage_in(c->cuda, &stream_slot->staging, stream_slot->stream, f->buffers.addresses[i],
                                      f->sources[i], f->sizes[i], error);
        if (status == VYRE_OK && vy_launch_is_output(f->code->facts, i))
            status = vy_gpu_output_reserve(&c->outputs->items[output++], f->sizes[i], error);
    }
    if (status == VYRE_OK && f->clear_start < f->clear_end)
        status = vy_cuda_check(c->cuda,
                               c->cuda->api.fill(stream_slot->arena + f->clear_start, 0,
                                                 (size_t)(f->clear_end - f->clear_start), stream_slot->stream),
                               "clearing the outputs", error);
    return status == VYRE_OK ? vy_cuda_stream_slot_wait(c->cuda, stream_slot, "preparing a dispatch", error) : status;
}

vyre_status vy_cuda_pipelined_run(vy_gpu_submission *f, const vyre_launch *launch, vyre_outputs *outputs, int *was_run,
                                  vyre_error *error) {
    const vy_launch_facts *facts = f->code->facts;
    pipelined c = {.cuda = (vy_cuda *)f->gpu,
                   .submission = f,
                   .launch = launch,
                   .kernel = &((vy_cuda_executable *)f->code)->kernel,
                   .outputs = outputs,
                   .group_size = facts->workgroup[0],
                   .error = error};
    *was_run = 0;
    if (f->arena_bytes < MIN_BYTES || !facts->is_divisible || f->timing || launch->groups[1] != 1 ||
        launch->groups[2] != 1 || overlaps(f, outputs))
        return VYRE_OK;
    c.piece_groups = groups_of_a_piece(&c);
    c.pieces = launch->groups[0] / c.piece_groups + (launch->groups[0] % c.piece_groups != 0);
    if (c.pieces < 2)
        return VYRE_OK;
    *was_run = 1;
    f->is_finished = 0;
    vyre_status status = prepare(&c, error);
    if (status != VYRE_OK)
        return status;
    f->is_finished = 1;
    pthread_mutex_init(&c.lock, NULL);
    vy_parallel(vy_cuda_copy_threads(c.pieces), work, &c);
    pthread_mutex_destroy(&c.lock);
    if (c.status == VYRE_TRAPPED && f->trap)
        *f->trap = c.trap;
    if (c.status == VYRE_TRAPPED)
        return vy_fail(error, VYRE_TRAPPED, NULL, "invocation %" PRIu64 " trapped with code %" PRIu32,
                       c.trap.invocation, c.trap.code);
    return c.status;
}
