/* Host-device transfers: staging in pinned memory, parallel copies, and the choice of zero-copy buffers
 * (transfer.h). */
#include "backends/cuda/transfer.h"

#include "analysis/uniformity.h"
#include "backends/cuda/stream_slot.h"
#include "backends/cuda/submission.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "vyre/transform.h"

#include <string.h>

/* ---- staging ---- */

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Enough for most dispatches of which there are many at once. */
enum { FIRST_MIN = 64 << 10 };

vyre_status vy_cuda_pinned_allocate(vy_cuda *cuda, size_t size, void **out, vyre_error *error) {
    int result = cuda->api.host_allocate(out, size, VY_CU_HOST_PORTABLE);
    if (result == VY_CU_OK)
        return VYRE_OK;
    *out = NULL;
    if (result == VY_CU_OUT_OF_MEMORY)
        return vy_fail(error, VYRE_NO_MEMORY, NULL, "there is no pinned memory of the host (%zu bytes)", size);
    return vy_cuda_failed(cuda, result, "allocating pinned memory", error);
}

void vy_cuda_staging_end(vy_cuda *cuda, vy_cuda_staging *staging) {
    for (int i = 0; i < VY_CUDA_CHUNKS; i++) {
        if (staging->events[i])
            cuda->api.event_destroy(staging->events[i]);
        if (staging->chunks[i])
            cuda->api.host_free(staging->chunks[i]);
    }
    *staging = (vy_cuda_staging){.current = 0};
}

void vy_cuda_staging_reset(vy_cuda_staging *staging) {
    memset(staging->is_busy, 0, sizeof staging->is_busy);
    staging->current = 0;
    staging->used = 0;
}

/* A first chunk that is too small makes room: nobody uses it, or the one who asks. */
static void drop_small(vy_cuda *cuda, vy_cuda_staging *staging, size_t size) {
    if (!staging->chunks[0] || staging->first_size >= size)
        return;
    cuda->api.host_free(staging->chunks[0]);
    staging->chunks[0] = NULL;
}

static vyre_status make_chunk(vy_cuda *cuda, vy_cuda_staging *staging, unsigned index, size_t size, vyre_error *error) {
    void *memory = NULL;
    if (index == 0)
        drop_small(cuda, staging, size);
    if (staging->chunks[index])
        return VYRE_OK;
    vyre_status status = VYRE_OK;
    if (!staging->events[index])
        status = vy_cuda_check(cuda, cuda->api.event_create(&staging->events[index], VY_CU_EVENT_NO_TIMING),
                               "making an event", error);
    if (status == VYRE_OK)
        status = vy_cuda_pinned_allocate(cuda, size, &memory, error);
    staging->chunks[index] = memory;
    if (index == 0)
        staging->first_size = size;
    return status;
}

/* Whoever copies from or to the chunk next may. */
static vyre_status wait_for_chunk(vy_cuda *cuda, vy_cuda_staging *staging, unsigned index, vyre_error *error) {
    if (!staging->is_busy[index])
        return VYRE_OK;
    staging->is_busy[index] = 0;
    return vy_cuda_check(cuda, cuda->api.event_synchronize(staging->events[index]), "waiting for a copy", error);
}

static vyre_status record(vy_cuda *cuda, vy_cuda_staging *staging, unsigned index, vy_cu_stream stream,
                          vyre_error *error) {
    staging->is_busy[index] = 1;
    return vy_cuda_check(cuda, cuda->api.event_record(staging->events[index], stream), "recording an event", error);
}

vyre_status vy_cuda_staging_first(vy_cuda *cuda, vy_cuda_staging *staging, size_t size, uint8_t **out,
                                  vyre_error *error) {
    size_t room = FIRST_MIN;
    while (room < size)
        room *= 2;
    vyre_status status = make_chunk(cuda, staging, 0, room, error);
    *out = staging->chunks[0];
    return status;
}

/* ---- to the device ---- */

/* A chunk with room; the one that is full is closed. */
static vyre_status next_chunk(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream, vyre_error *error) {
    vyre_status status = VYRE_OK;
    if (staging->used == VY_CUDA_CHUNK) {
        status = record(cuda, staging, staging->current, stream, error);
        staging->current = (staging->current + 1) % VY_CUDA_CHUNKS;
        staging->used = 0;
    }
    if (status == VYRE_OK)
        status = make_chunk(cuda, staging, staging->current, VY_CUDA_CHUNK, error);
    return status == VYRE_OK ? wait_for_chunk(cuda, staging, staging->current, error) : status;
}

vyre_status vy_cuda_stage_in(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream, vy_cu_address to,
                             const void *from, uint64_t size, vyre_error *error) {
    const uint8_t *bytes = from;
    while (size) {
        vyre_status status = next_chunk(cuda, staging, stream, error);
        if (status != VYRE_OK)
            return status;
        size_t room = VY_CUDA_CHUNK - staging->used, piece = size < room ? (size_t)size : room;
        uint8_t *place = staging->chunks[staging->current] + staging->used;
        memcpy(place, bytes, piece);
        status =
            vy_cuda_check(cuda, cuda->api.copy_to_device(to, place, piece, stream), "copying to the device", error);
        if (status != VYRE_OK)
            return status;
        staging->used += piece;
        bytes += piece, to += piece, size -= piece;
    }
    return VYRE_OK;
}

/* ---- from the device ---- */

/* Past the caches: the bytes are the caller's, who reads them later, and to read what is overwritten first would take
 * as long again. */
static void copy_streaming(uint8_t *to, const uint8_t *from, size_t size) {
#ifdef __SSE2__
    enum { LINE = 64, QUARTER = LINE / 4 };
    size_t odd = (LINE - (uintptr_t)to % LINE) % LINE;
    if (size >= 64 * LINE) {
        memcpy(to, from, odd);
        to += odd, from += odd, size -= odd;
        for (; size >= LINE; to += LINE, from += LINE, size -= LINE)
            for (int i = 0; i < 4; i++)
                _mm_stream_si128((__m128i *)(void *)(to + i * QUARTER),
                                 _mm_loadu_si128((const __m128i *)(const void *)(from + i * QUARTER)));
        _mm_sfence();
    }
#endif
    memcpy(to, from, size);
}

/* The next piece that fits into the rest of a chunk; 0 at the end of either. */
static size_t next_staged_piece(vy_cuda_copy_cursor *c, size_t used, uint8_t **host, vy_cu_address *device) {
    while (c->left && c->done == c->copies->size)
        c->copies++, c->left--, c->done = 0;
    if (!c->left || used == VY_CUDA_CHUNK)
        return 0;
    uint64_t size = c->copies->size - c->done, room = VY_CUDA_CHUNK - used;
    *host = (uint8_t *)c->copies->host + c->done;
    *device = c->copies->device + c->done;
    size = size < room ? size : room;
    c->done += size;
    return (size_t)size;
}

/* Starts the copies into a chunk; *used is 0 when there is nothing left. An upload out of it comes before them in the
 * stream. */
static vyre_status fetch(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream, unsigned index,
                         vy_cuda_copy_cursor *c, size_t *used, vyre_error *error) {
    uint8_t *host;
    vy_cu_address device;
    size_t piece;
    vyre_status status = VYRE_OK;
    *used = 0;
    while (status == VYRE_OK && (piece = next_staged_piece(c, *used, &host, &device))) {
        if (!*used)
            status = make_chunk(cuda, staging, index, VY_CUDA_CHUNK, error);
        if (status == VYRE_OK)
            status = vy_cuda_check(cuda, cuda->api.copy_to_host(staging->chunks[index] + *used, device, piece, stream),
                                   "copying from the device", error);
        *used += piece;
    }
    return status == VYRE_OK && *used ? record(cuda, staging, index, stream, error) : status;
}

static vyre_status drain(vy_cuda *cuda, vy_cuda_staging *staging, unsigned index, vy_cuda_copy_cursor *c,
                         vyre_error *error) {
    uint8_t *host;
    vy_cu_address device;
    size_t piece, used = 0;
    vyre_status status = wait_for_chunk(cuda, staging, index, error);
    while (status == VYRE_OK && (piece = next_staged_piece(c, used, &host, &device))) {
        copy_streaming(host, staging->chunks[index] + used, piece);
        used += piece;
    }
    return status;
}

/* As many as there are chunks for. */
static vyre_status fetch_more(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream,
                              vy_cuda_stage_out_state *out, vyre_error *error) {
    size_t used = 1;
    vyre_status status = VYRE_OK;
    while (status == VYRE_OK && used && out->end < out->first + VY_CUDA_CHUNKS) {
        status = fetch(cuda, staging, stream, (unsigned)(out->end % VY_CUDA_CHUNKS), &out->asked, &used, error);
        out->end += used != 0;
    }
    return status;
}

vyre_status vy_cuda_stage_out_begin(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream,
                                    const vy_cuda_copy *copies, size_t count, vy_cuda_stage_out_state *out,
                                    vyre_error *error) {
    vy_cuda_copy_cursor start = {copies, count, 0};
    *out = (vy_cuda_stage_out_state){start, start, 0, 0};
    return fetch_more(cuda, staging, stream, out, error);
}

vyre_status vy_cuda_stage_out_end(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream,
                                  vy_cuda_stage_out_state *out, vyre_error *error) {
    vyre_status status = VYRE_OK;
    while (status == VYRE_OK && out->first < out->end) {
        status = drain(cuda, staging, (unsigned)(out->first++ % VY_CUDA_CHUNKS), &out->taken, error);
        if (status == VYRE_OK)
            status = fetch_more(cuda, staging, stream, out, error);
    }
    return status;
}

vyre_status vy_cuda_stage_out(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream, const vy_cuda_copy *copies,
                              size_t count, vyre_error *error) {
    vy_cuda_stage_out_state out;
    vyre_status status = vy_cuda_stage_out_begin(cuda, staging, stream, copies, count, &out, error);
    return status == VYRE_OK ? vy_cuda_stage_out_end(cuda, staging, stream, &out, error) : status;
}

/* ---- parallel copies ---- */

enum { PIECE = 4 << 20, MAX_THREADS = 12 };

typedef struct parallel_copy {
    vy_cuda *cuda;
    const vy_cuda_copy *copies;
    size_t count;
    int is_upload;
    pthread_mutex_t lock; /* guards all that follows */
    size_t next;          /* the copy that is being handed out, and … */
    uint64_t done;        /* … how much of it was */
    vyre_status status;
    vyre_error *error;
} parallel_copy;

unsigned vy_cuda_copy_threads(uint64_t pieces) {
    unsigned cores = vy_cpu_count(), most = cores < MAX_THREADS ? cores : MAX_THREADS;
    return pieces < most ? (unsigned)pieces : most;
}

/* 0: there is no more, or something failed. */
static int next_piece(parallel_copy *m, vy_cuda_copy *out) {
    pthread_mutex_lock(&m->lock);
    while (m->next < m->count && m->done == m->copies[m->next].size)
        m->next++, m->done = 0;
    int is_there = m->status == VYRE_OK && m->next < m->count;
    if (is_there) {
        const vy_cuda_copy *copy = &m->copies[m->next];
        uint64_t left = copy->size - m->done, size = left < PIECE ? left : PIECE;
        *out = (vy_cuda_copy){copy->device + m->done, (uint8_t *)copy->host + m->done, size};
        m->done += size;
    }
    pthread_mutex_unlock(&m->lock);
    return is_there;
}

static vyre_status copy_pieces(parallel_copy *m, vy_cuda_stream_slot *stream_slot, vyre_error *error) {
    vy_cuda_copy piece;
    vyre_status status = VYRE_OK;
    while (status == VYRE_OK && next_piece(m, &piece))
        status = m->is_upload
                     ? vy_cuda_stage_in(m->cuda, &stream_slot->staging, stream_slot->stream, piece.device, piece.host,
                                        piece.size, error)
                     : vy_cuda_stage_out(m->cuda, &stream_slot->staging, stream_slot->stream, &piece, 1, error);
    if (status == VYRE_OK && m->is_upload)
        return vy_cuda_stream_slot_wait(m->cuda, stream_slot, "copying to the device", error);
    if (status != VYRE_OK)
        m->cuda->api.stream_synchronize(
            stream_slot->stream); /* nothing may be under way when another takes the stream_slot */
    return status;
}

static void copy_worker(void *user, unsigned worker) {
    parallel_copy *m = user;
    vy_cuda_stream_slot *stream_slot;
    vyre_error error;
    int was_pushed;
    (void)worker;
    vyre_status status = vy_cuda_enter(m->cuda, &was_pushed, &error);
    if (status == VYRE_OK) {
        status = vy_cuda_stream_slot_acquire(m->cuda, &stream_slot, &error);
        if (status == VYRE_OK) {
            status = copy_pieces(m, stream_slot, &error);
            vy_cuda_stream_slot_release(m->cuda, stream_slot);
        }
        vy_cuda_leave(m->cuda, was_pushed);
    }
    if (status == VYRE_OK)
        return;
    pthread_mutex_lock(&m->lock);
    if (m->status == VYRE_OK) {
        m->status = status;
        *m->error = error;
    }
    pthread_mutex_unlock(&m->lock);
}

vyre_status vy_cuda_parallel_copy(vy_cuda *cuda, const vy_cuda_copy *copies, size_t count, int is_upload,
                                  vyre_error *error) {
    uint64_t size = 0;
    parallel_copy m = {.cuda = cuda, .copies = copies, .count = count, .is_upload = is_upload, .error = error};
    for (size_t i = 0; i < count; i++)
        size += copies[i].size;
    pthread_mutex_init(&m.lock, NULL);
    vy_parallel(size < VY_CUDA_PARALLEL_COPY_MIN ? 1 : vy_cuda_copy_threads(size / PIECE), copy_worker, &m);
    pthread_mutex_destroy(&m.lock);
    return m.status;
}

/* ---- zero-copy buffers: which programs ---- */

enum {
    WARP = 32,
    EVEN_STRIDE = 4,  /* from neighbour to neighbour, at most: the bus carries so many times what is used */
    STATEMENTS = 512, /* of programs that are looked at: larger ones take longer than copies do, and so does looking */
    INLINED = 4096    /* the same with calls inlined */
};

/* Loads that are waited for one after the other: of a value, or before control comes to a place. */
typedef unsigned level;

typedef struct use {
    uint32_t requests; /* of a warp */
    uint8_t is_refused, is_stored;
} use;

typedef struct finder {
    const vyre_program *program;
    const vy_uniform *uniform;
    level *variables; /* by variable */
    level *memories;  /* by memory: of what is stored in arrays */
    use uses[VY_LIMIT_BUFFERS];
    unsigned loops; /* around the place */
    level floor;    /* of control, from here to the end */
    level highest;  /* of any load so far */
} finder;

static level max_level(level a, level b) {
    return a > b ? a : b;
}

/* Buffers come first among the memories of the entry. */
static use *use_of(finder *f, uint32_t memory) {
    uint32_t buffer = memory - vy_program_entry(f->program)->first_memory;
    return buffer < f->program->buffer_count ? &f->uses[buffer] : NULL;
}

/* One for each row of the workgroup that a warp has, if neighbours are at neighbouring elements; else one for each
 * invocation. */
static uint32_t requests_of(const finder *f, uint32_t index) {
    uint32_t row = f->program->workgroup[0] < WARP ? f->program->workgroup[0] : WARP;
    unsigned bits = vyre_type_bits((vyre_type)f->program->exprs.items[index].type);
    uint64_t stride, mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
    if (!vy_stride_of(f->uniform, index, &stride) || (stride > EVEN_STRIDE && (-stride & mask) > EVEN_STRIDE))
        return WARP;
    return (WARP + row - 1) / row;
}

static void note(finder *f, use *u, uint32_t index) {
    u->requests += requests_of(f, index);
    u->is_refused |= f->loops != 0 || u->requests > UINT8_MAX;
}

/* ---- values ---- */

static level analyze_expr(finder *f, uint32_t expr, level control);

static level analyze_load(finder *f, const vy_expr *e, level control) {
    level before = max_level(analyze_expr(f, e->b, control), max_level(control, f->floor));
    use *u = use_of(f, e->a);
    if (!u)
        return max_level(before, f->memories[e->a]);
    note(f, u, e->b);
    u->is_refused |= before != 0 || u->is_stored;
    f->highest = max_level(f->highest, before + 1);
    return before + 1;
}

static level analyze_expr(finder *f, uint32_t expr, level control) {
    const vy_expr *e = &f->program->exprs.items[expr];
    level l = 0;
    switch ((vy_expr_kind)e->kind) {
    case VY_EXPR_VARIABLE:
        return f->variables[e->a];
    case VY_EXPR_LOAD:
        return analyze_load(f, e, control);
    case VY_EXPR_OP: {
        const uint32_t operands[] = {e->a, e->b, e->c};
        for (int i = 0; i < 3; i++)
            if (operands[i] != VY_NONE)
                l = max_level(l, analyze_expr(f, operands[i], control));
        return l;
    }
    default:
        return 0;
    }
}

static level analyze_operands(finder *f, const vy_stmt *s, level control) {
    const uint32_t *operands = VY_STMT_OPERANDS(s);
    level l = control;
    for (int i = 0; i < 3; i++)
        if (operands[i] != VY_NONE)
            l = max_level(l, analyze_expr(f, operands[i], control));
    return l;
}

/* ---- statements ---- */

static void store(finder *f, const vy_stmt *s, level l) {
    use *u = use_of(f, s->memory);
    if (!u) {
        f->memories[s->memory] = max_level(f->memories[s->memory], l);
        return;
    }
    note(f, u, s->a);
    u->is_stored = 1;
    u->is_refused |= s->kind == VY_STMT_ATOMIC;
}

static void walk(finder *f, uint32_t first, uint32_t end, level control);

static void walk_structured(finder *f, uint32_t index, level control) {
    const vy_stmt *s = &f->program->stmts.items[index];
    unsigned repeats = vy_stmt_is_loop(s->kind) && !vy_loop_runs_once(f->program, index);
    unsigned reevaluates = repeats && s->kind == VY_STMT_WHILE; /* its condition, in each trip */
    f->loops += reevaluates;
    level inside = analyze_operands(f, s, control);
    f->loops += repeats - reevaluates;
    if (s->kind == VY_STMT_FOR)
        f->variables[s->variable] = inside;
    walk(f, index + 1, s->middle, inside);
    walk(f, s->middle, s->end, inside);
    f->loops -= repeats;
}

static void walk(finder *f, uint32_t first, uint32_t end, level control) {
    for (uint32_t i = first; i < end; i = f->program->stmts.items[i].end) {
        const vy_stmt *s = &f->program->stmts.items[i];
        if (vy_stmt_is_structured(s->kind)) {
            walk_structured(f, i, control);
            continue;
        }
        level l = analyze_operands(f, s, control);
        switch ((vy_stmt_kind)s->kind) {
        case VY_STMT_STORE:
        case VY_STMT_ATOMIC:
            store(f, s, l);
            break;
        case VY_STMT_BARRIER: /* all wait for all */
        case VY_STMT_COLLECTIVE:
            l = f->floor = max_level(f->floor, f->highest);
            break;
        case VY_STMT_TRAP: /* who is still there has waited */
        case VY_STMT_RETURN:
        case VY_STMT_BREAK:
        case VY_STMT_CONTINUE:
            f->floor = max_level(f->floor, control);
            break;
        default:
            break;
        }
        if (s->kind == VY_STMT_ASSIGN)
            f->variables[s->variable] = max_level(f->variables[s->variable], l);
        for (uint32_t k = 0; s->kind != VY_STMT_ASSIGN && k < s->result_count; k++)
            f->variables[s->variable + k] = l;
    }
}

static int has_calls(const vyre_program *program) {
    return (program->facts & (VY_PROGRAM_HAS_CALL | VY_PROGRAM_HAS_OP_CALL)) != 0;
}

vyre_status vy_cuda_zero_copy_analyze(const vyre_program *program, uint8_t *costs, vyre_error *error) {
    const vy_function *entry = vy_program_entry(program);
    size_t count = (size_t)program->variables.count + program->memories.count;
    vy_uniform *uniform = NULL;
    memset(costs, 0, program->buffer_count);
    if (program->stmts.count > INLINED || has_calls(program))
        return VYRE_OK;
    vyre_status status = vy_uniform_make(program, &uniform, error);
    if (status != VYRE_OK)
        return status;
    finder f = {.program = program, .uniform = uniform};
    level *levels = vy_allocate_zero(vy_array_size(count, sizeof *levels));
    if (levels || !count) {
        f.variables = levels;
        f.memories = levels + program->variables.count;
        walk(&f, entry->first_stmt, entry->end_stmt, 0);
        for (uint32_t i = 0; i < program->buffer_count; i++)
            if (!f.uses[i].is_refused)
                costs[i] = (uint8_t)(f.uses[i].requests ? f.uses[i].requests : 1);
    } else {
        status = vy_fail_memory(error, "looking at what a program reads");
    }
    vy_release(levels, vy_array_size(count, sizeof *levels));
    vy_uniform_free(uniform);
    return status;
}

/* ---- which dispatches ---- */

/* Finds the answer for a code once. The optimiser inlines calls, and loads no element twice. Without memory for it,
 * nothing is direct this time. */
static int analyze_once(vy_cuda_executable *code) {
    const vyre_optimize_options options = {.level = 1};
    uint8_t costs[VY_LIMIT_BUFFERS] = {0};
    vyre_program *plain;
    vyre_error ignored;
    if (code->program->stmts.count <= STATEMENTS) {
        if (vyre_program_optimize(code->program, &options, &plain, NULL, &ignored) != VYRE_OK)
            return 0;
        vyre_status status = vy_cuda_zero_copy_analyze(plain, costs, &ignored);
        vyre_program_release(plain);
        if (status != VYRE_OK)
            return 0;
    }
    pthread_mutex_lock(&code->cuda->lock);
    if (!atomic_load(&code->is_zero_copy_known)) /* who was faster is read already */
        memcpy(code->zero_copy_costs, costs, code->buffer_count);
    atomic_store_explicit(&code->is_zero_copy_known, 1, memory_order_release);
    pthread_mutex_unlock(&code->cuda->lock);
    return 1;
}

void vy_cuda_zero_copy_select(const vy_cuda_submission *f, const vyre_launch *launch, const uint8_t *is_cleared,
                              uint8_t *is_zero_copy) {
    vy_cuda_executable *code = f->code;
    uint64_t max_bytes = f->cuda->device_info.zero_copy_bytes, bytes = 0;
    uint64_t requests = max_bytes / VY_CUDA_ZERO_COPY_REQUEST;
    int all_inputs = 1, all_outputs = 1, is_sent = 0;
    memset(is_zero_copy, 0, code->buffer_count);
    for (uint32_t i = 0; i < code->buffer_count; i++)
        bytes += f->offsets[i] != VY_CUDA_RESIDENT ? vy_cuda_align_size(f->sizes[i]) : 0;
    uint64_t warps = vy_cuda_warps(&code->kernel, launch->groups, requests);
    if (bytes > max_bytes || warps > requests || launch->grid_buffer) /* the grid is not known */
        return;
    if (!atomic_load_explicit(&code->is_zero_copy_known, memory_order_acquire) && !analyze_once(code))
        return;
    for (uint32_t i = 0; i < code->buffer_count; i++) {
        int fits = code->zero_copy_costs[i] && warps * code->zero_copy_costs[i] <= requests;
        if (f->offsets[i] == VY_CUDA_RESIDENT || !f->sizes[i])
            continue;
        if (vy_cuda_is_output(code, i)) {
            all_outputs &= fits;
            is_sent |= vy_cuda_is_input(code, i) || is_cleared[i];
        } else {
            all_inputs &= fits;
        }
    }
    /* One copy takes as long as another: either it can be left out, or it carries all that goes its way. */
    all_inputs &= all_outputs || !is_sent;
    for (uint32_t i = 0; i < code->buffer_count; i++)
        is_zero_copy[i] =
            f->offsets[i] != VY_CUDA_RESIDENT && (uint8_t)(vy_cuda_is_output(code, i) ? all_outputs : all_inputs);
}
