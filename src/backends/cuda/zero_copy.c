/* Small host bytes without copies (zero_copy.h). */
#include "backends/cuda/zero_copy.h"

#include "analysis/uniformity.h"
#include "base/memory.h"
#include "base/status.h"
#include "vyre/transform.h"

/* ---- which programs ---- */

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

/* One for each row of the workgroup that a warp has, if neighbours are at neighbouring elements; else one for each invocation. */
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

/* Finds the answer for a code once. The optimiser inlines calls, and loads no element twice. Without memory for it, nothing is direct this time. */
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
