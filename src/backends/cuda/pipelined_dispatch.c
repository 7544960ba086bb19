/* Pipelined dispatch: the analysis of elementwise programs, and the overlap of copies and kernels
 * (submission.h). */
#include "backends/cuda/submission.h"

#include "backends/cuda/transfer.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "driver/cache_disk.h"
#include "vyre/transform.h"

#include <inttypes.h>

/* Bytes of all buffers together: of a dispatch that is worth it, and of a piece. */
#define MIN_BYTES (UINT64_C(32) << 20)
#define PIECE (UINT64_C(4) << 20)

/* ---- which programs ---- */

enum { ALIASES = 16 };

typedef struct finder {
    const vyre_program *program;
    uint32_t *values; /* by variable: the expression of its `let`, or VY_NONE */
    uint8_t *roles;
} finder;

static int is_own(const finder *f, uint32_t index) {
    const vy_expr *e = &f->program->exprs.items[index];
    for (int i = 0; i < ALIASES && e->kind == VY_EXPR_VARIABLE && f->values[e->a] != VY_NONE; i++)
        e = &f->program->exprs.items[f->values[e->a]];
    return e->kind == VY_EXPR_BUILTIN && e->op == VYRE_BUILTIN_GLOBAL_ID && e->axis == 0;
}

/* Buffers come first among the memories of the entry. */
static uint32_t buffer_of(const finder *f, uint32_t memory) {
    uint32_t buffer = memory - vy_program_entry(f->program)->first_memory;
    return buffer < f->program->buffer_count ? buffer : VY_NONE;
}

static int is_written(const vyre_program *program, uint32_t buffer) {
    vyre_buffer_info info;
    return vyre_program_buffer(program, buffer, &info) &&
           (info.access == VYRE_ACCESS_WRITE || info.access == VYRE_ACCESS_READ_WRITE);
}

static void analyze_loads(const finder *f) {
    for (uint32_t i = 0; i < f->program->exprs.count; i++) {
        const vy_expr *e = &f->program->exprs.items[i];
        uint32_t buffer = e->kind == VY_EXPR_LOAD ? buffer_of(f, e->a) : VY_NONE;
        if (buffer != VY_NONE && !is_own(f, e->b))
            f->roles[buffer] = VY_CUDA_BUFFER_WHOLE;
    }
}

/* 0: something in it knows more of the grid or of memory than its own element. */
static int analyze_statements(const finder *f) {
    for (uint32_t i = 0; i < f->program->stmts.count; i++) {
        const vy_stmt *s = &f->program->stmts.items[i];
        uint32_t buffer = s->kind == VY_STMT_STORE || s->kind == VY_STMT_ATOMIC ? buffer_of(f, s->memory) : VY_NONE;
        if (s->kind == VY_STMT_CALL || (s->kind == VY_STMT_BARRIER && s->scope == VYRE_SCOPE_DEVICE))
            return 0;
        if (buffer != VY_NONE && (s->kind == VY_STMT_ATOMIC || !is_own(f, s->a)))
            return 0;
    }
    return 1;
}

vyre_status vy_cuda_pipelined_analyze(const vyre_program *program, int *is_elementwise, uint8_t *roles,
                                      vyre_error *error) {
    size_t size = vy_array_size(program->variables.count, sizeof(uint32_t));
    finder f = {.program = program, .values = vy_allocate(size), .roles = roles};
    *is_elementwise = 0;
    if (size && !f.values)
        return vy_fail_memory(error, "looking for slices");
    for (uint32_t i = 0; i < program->variables.count; i++)
        f.values[i] = VY_NONE;
    for (uint32_t i = 0; i < program->stmts.count; i++)
        if (program->stmts.items[i].kind == VY_STMT_LET)
            f.values[program->stmts.items[i].variable] = program->stmts.items[i].a;
    memset(roles, VY_CUDA_BUFFER_ELEMENTWISE, program->buffer_count);
    analyze_loads(&f);
    *is_elementwise = analyze_statements(&f);
    for (uint32_t i = 0; i < program->buffer_count; i++)
        if (is_written(program, i) && roles[i] != VY_CUDA_BUFFER_ELEMENTWISE)
            *is_elementwise = 0;
    vy_release(f.values, f.values ? size : 0);
    return VYRE_OK;
}

/* The answer for a code, found once. Calls are inlined by the optimiser. */
static vyre_status analyze_once(vy_cuda_executable *code, int *is_elementwise, vyre_error *error) {
    const vyre_optimize_options options = {.level = 1};
    uint8_t roles[VY_LIMIT_BUFFERS];
    vyre_program *plain;
    int known = atomic_load_explicit(&code->pipelining, memory_order_acquire);
    *is_elementwise = known == VY_CUDA_PIPELINING_POSSIBLE;
    if (known != VY_CUDA_PIPELINING_UNKNOWN)
        return VYRE_OK;
    vyre_status status = vyre_program_optimize(code->program, &options, &plain, NULL, error);
    if (status != VYRE_OK)
        return status;
    status = vy_cuda_pipelined_analyze(plain, is_elementwise, roles, error);
    vyre_program_release(plain);
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&code->cuda->lock);
    if (atomic_load(&code->pipelining) == VY_CUDA_PIPELINING_UNKNOWN) /* who was faster is read already */
        memcpy(code->roles, roles, code->buffer_count);
    atomic_store_explicit(&code->pipelining,
                          *is_elementwise ? VY_CUDA_PIPELINING_POSSIBLE : VY_CUDA_PIPELINING_IMPOSSIBLE,
                          memory_order_release);
    pthread_mutex_unlock(&code->cuda->lock);
    return VYRE_OK;
}

/* ---- one dispatch ---- */

typedef struct pipelined {
    vy_cuda_submission *submission;
    const vyre_launch *launch;
    const vy_cuda_kernel *kernel;
    vyre_outputs *outputs;
    uint32_t group_size;   /* invocations */
    uint32_t piece_groups; /* of a piece, but for the last */
    _Atomic uint32_t next; /* piece */
    uint32_t pieces;
    pthread_mutex_t lock; /* guards all that follows */
    vyre_status status;   /* of what went wrong first; a trap only if nothing else did */
    vyre_error *error;
    vyre_trap trap;
} pipelined;

static int is_elementwise_buffer(const pipelined *c, uint32_t buffer) {
    return c->submission->code->roles[buffer] == VY_CUDA_BUFFER_ELEMENTWISE;
}

/* Bytes [*from, *to) of a buffer belong to a piece: its elements; all that are left, for the last one. */
static void range_of(const pipelined *c, uint32_t buffer, uint32_t piece, uint64_t *from, uint64_t *to) {
    uint64_t each = (uint64_t)c->piece_groups * c->group_size * c->submission->code->buffers[buffer].element;
    uint64_t size = c->submission->sizes[buffer];
    *from = piece * each < size ? piece * each : size;
    *to = piece + 1 == c->pieces || (piece + 1) * each > size ? size : (piece + 1) * each;
}

static vyre_status upload_piece(const pipelined *c, vy_cuda_stream_slot *stream_slot, uint32_t piece,
                                vyre_error *error) {
    const vy_cuda_submission *f = c->submission;
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < f->code->buffer_count && status == VYRE_OK; i++) {
        uint64_t from, to;
        if (!is_elementwise_buffer(c, i) || !vy_cuda_is_input(f->code, i))
            continue;
        range_of(c, i, piece, &from, &to);
        status = vy_cuda_stage_in(f->cuda, &stream_slot->staging, stream_slot->stream, f->addresses[i] + from,
                                  (const uint8_t *)f->sources[i] + from, to - from, error);
    }
    return status;
}

/* A piece that is under way on a stream_slot of its own. */
typedef struct pipeline_stage {
    vy_cuda_stream_slot *stream_slot;
    vy_grid_tiles place;
    int is_open;
    vy_cuda_stage_out_state out;
    vy_cuda_copy copies[VY_LIMIT_BUFFERS];
} pipeline_stage;

static vyre_status start_download(const pipelined *c, pipeline_stage *p, uint32_t piece, vyre_error *error) {
    const vy_cuda_submission *f = c->submission;
    size_t count = 0, output = 0;
    for (uint32_t i = 0; i < f->code->buffer_count; i++) {
        uint64_t from, to;
        if (!vy_cuda_is_output(f->code, i))
            continue;
        uint8_t *host = c->outputs->items[output++].data;
        range_of(c, i, piece, &from, &to);
        if (from < to)
            p->copies[count++] = (vy_cuda_copy){f->addresses[i] + from, host + from, to - from};
    }
    return vy_cuda_stage_out_begin(f->cuda, &p->stream_slot->staging, p->stream_slot->stream, p->copies, count, &p->out,
                                   error);
}

static vyre_status launch_stage(const pipelined *c, pipeline_stage *p, vyre_error *error) {
    const vy_cuda_submission *f = c->submission;
    vyre_scalar params[VY_CUDA_PARAMS];
    vyre_launch launch = *c->launch;
    memcpy(params, launch.params, launch.param_count * sizeof *params);
    vy_grid_tile_params(&p->place, params + launch.param_count);
    memcpy(launch.groups, p->place.size, sizeof launch.groups);
    launch.params = params;
    launch.param_count += VY_GRID_TILE_PARAMS;
    vyre_status status = vy_cuda_control_prepare(f->cuda, p->stream_slot, c->kernel, &launch, error);
    if (status == VYRE_OK)
        status = vy_cuda_launch(f->cuda, p->stream_slot, c->kernel, &launch, f->addresses, error);
    return status == VYRE_OK ? vy_cuda_control_fetch(f->cuda, p->stream_slot, c->kernel, error) : status;
}

/* There, through the kernel and back, without waiting for any of it if the piece fits into the staging. */
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
    const vy_cuda_submission *f = c->submission;
    const uint32_t *cancel = c->launch->cancel;
    vyre_status status = vy_cuda_wait(f->cuda, p->stream_slot, c->kernel, c->launch->deadline_ns, cancel, error);
    if (status == VYRE_OK) {
        int was_cancelled = cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED);
        status = vy_cuda_decode_result(p->stream_slot, c->kernel, f->code, was_cancelled, trap, error);
        if (status == VYRE_TRAPPED)
            trap->invocation = vy_grid_tile_invocation(&p->place, c->group_size, trap->invocation);
    }
    if (status == VYRE_OK)
        status = vy_cuda_stage_out_end(f->cuda, &p->stream_slot->staging, p->stream_slot->stream, &p->out, error);
    if (status == VYRE_OK) {
        p->is_open = 0;
        vy_cuda_staging_reset(&p->stream_slot->staging);
    }
    return status;
}

/* What counts is the failure, if there is one; else the trap of the smallest invocation. */
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
        atomic_store(&c->next, c->pieces); /* the others need not begin */
    pthread_mutex_unlock(&c->lock);
}

static uint32_t next_piece(pipelined *c) {
    uint32_t piece = atomic_load(&c->next);
    while (piece < c->pieces && !atomic_compare_exchange_weak(&c->next, &piece, piece + 1))
        ;
    return piece;
}

/* It failed: nothing of it is under way any more. */
static void abort_stage(pipelined *c, pipeline_stage *p, vyre_status status, const vyre_trap *trap,
                        const vyre_error *error) {
    record_failure(c, status, trap, error);
    p->is_open = 0;
    vy_cuda_abort(c->submission->cuda, p->stream_slot, c->kernel);
    vy_cuda_staging_reset(&p->stream_slot->staging);
}

/* While the device has one piece, the bytes of the next go there; then those of the one before are taken. */
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
    vy_cuda *cuda = c->submission->cuda;
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

/* ---- before and after ---- */

/* An input in the memory of an output's slot would be overwritten, or freed, before all of it was read. */
static int overlaps(const vy_cuda_submission *f, const vyre_outputs *outputs) {
    for (uint32_t i = 0; i < f->code->buffer_count; i++) {
        uintptr_t first = (uintptr_t)f->sources[i];
        for (size_t k = 0; f->sources[i] && k < outputs->count; k++) {
            uintptr_t start = (uintptr_t)outputs->items[k].data;
            if (outputs->items[k].capacity && first < start + outputs->items[k].capacity && first + f->sizes[i] > start)
                return 1;
        }
    }
    return 0;
}

static uint32_t groups_of_a_piece(const pipelined *c) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < c->submission->code->buffer_count; i++)
        if (is_elementwise_buffer(c, i))
            bytes += (uint64_t)c->submission->code->buffers[i].element * c->group_size;
    uint64_t groups = bytes ? PIECE / bytes : 0;
    return groups ? (uint32_t)groups : 1;
}

/* What all pieces need: memory, what is read everywhere, zeros. */
static vyre_status prepare(pipelined *c, vyre_error *error) {
    vy_cuda_submission *f = c->submission;
    size_t output = 0;
    vyre_status status = vy_cuda_submission_allocate(f, error);
    for (uint32_t i = 0; i < f->code->buffer_count && status == VYRE_OK; i++) {
        if (!is_elementwise_buffer(c, i) && f->sizes[i])
            status = vy_cuda_stage_in(f->cuda, &f->stream_slot->staging, f->stream_slot->stream, f->addresses[i],
                                      f->sources[i], f->sizes[i], error);
        if (status == VYRE_OK && vy_cuda_is_output(f->code, i))
            status = vy_cuda_output_reserve(&c->outputs->items[output++], f->sizes[i], error);
    }
    if (status == VYRE_OK && f->clear_start < f->clear_end)
        status = vy_cuda_check(f->cuda,
                               f->cuda->api.fill(f->stream_slot->arena + f->clear_start, 0,
                                                 (size_t)(f->clear_end - f->clear_start), f->stream_slot->stream),
                               "clearing the outputs", error);
    return status == VYRE_OK ? vy_cuda_stream_slot_wait(f->cuda, f->stream_slot, "preparing a dispatch", error)
                             : status;
}

vyre_status vy_cuda_pipelined_run(vy_cuda_submission *f, const vyre_launch *launch, vyre_outputs *outputs, int *was_run,
                                  vyre_error *error) {
    uint32_t size[3];
    pipelined c = {.submission = f, .launch = launch, .outputs = outputs, .error = error};
    int is_elementwise;
    *was_run = 0;
    if (f->arena_bytes < MIN_BYTES || f->timing || launch->groups[1] != 1 || launch->groups[2] != 1 ||
        overlaps(f, outputs))
        return VYRE_OK;
    vyre_status status = analyze_once(f->code, &is_elementwise, error);
    if (status != VYRE_OK || !is_elementwise)
        return status;
    vyre_program_workgroup(f->code->program, size);
    c.group_size = size[0] * size[1] * size[2];
    if (size[1] != 1 || size[2] != 1)
        return VYRE_OK;
    c.piece_groups = groups_of_a_piece(&c);
    c.pieces = launch->groups[0] / c.piece_groups + (launch->groups[0] % c.piece_groups != 0);
    if (c.pieces < 2)
        return VYRE_OK;
    status = vy_cuda_executable_tiled(f->code, &c.kernel, error);
    if (status == VYRE_UNSUPPORTED && vy_compile_forbidden())
        return VYRE_OK; /* as a whole, then */
    *was_run = 1;
    f->is_finished = 0;
    if (status == VYRE_OK)
        status = prepare(&c, error);
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
