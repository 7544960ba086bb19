/* Host access analysis (host_access.h): one forward walk, which computes the level of every value and statement: the
 * number of dependent loads that must complete before it. */
#include "analysis/host_access.h"

#include "analysis/uniformity.h"
#include "base/memory.h"
#include "base/status.h"

enum {
    SUBGROUP = 32,    /* invocations whose accesses are combined into requests */
    EVEN_STRIDE = 4,  /* the largest stride that counts as coalesced: the bus transfers up to this multiple of the
                      * bytes used */
    STATEMENTS = 4096 /* of analysed programs: a larger one runs longer than the copies */
};

typedef unsigned level;

typedef struct use {
    uint32_t requests; /* of a subgroup */
    uint8_t is_refused, is_stored;
} use;

typedef struct finder {
    const vyre_program *program;
    const vy_uniform *uniform;
    level *variables; /* by variable */
    level *memories;  /* by memory: of the values stored in arrays */
    use uses[VY_LIMIT_BUFFERS];
    unsigned loops; /* around the current statement */
    level floor;    /* of control, from here to the end */
    level highest;  /* of all loads so far */
} finder;

static level max_level(level a, level b) {
    return a > b ? a : b;
}

/* NULL for an array. */
static use *use_of(finder *f, uint32_t memory) {
    uint32_t buffer = vy_buffer_of_memory(f->program, memory);
    return buffer != VY_NONE ? &f->uses[buffer] : NULL;
}

/* Requests of a subgroup: one for each row of the workgroup if the access is coalesced; otherwise one for each
 * invocation. */
static uint32_t requests_of(const finder *f, uint32_t index) {
    uint32_t row = f->program->workgroup[0] < SUBGROUP ? f->program->workgroup[0] : SUBGROUP;
    unsigned bits = vyre_type_bits((vyre_type)vy_expr_at(f->program, index)->type);
    uint64_t stride, mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
    if (!vy_stride_of(f->uniform, index, &stride) || (stride > EVEN_STRIDE && (-stride & mask) > EVEN_STRIDE))
        return SUBGROUP;
    return (SUBGROUP + row - 1) / row;
}

static void add_access(finder *f, use *u, uint32_t index) {
    u->requests += requests_of(f, index);
    u->is_refused |= f->loops != 0 || u->requests > UINT8_MAX;
}

/* ---- values ---- */

static level level_of(finder *f, uint32_t expr, level control);

static level level_of_operands(finder *f, const uint32_t operands[3], level l, level control) {
    for (int i = 0; i < 3; i++)
        if (operands[i] != VY_NONE)
            l = max_level(l, level_of(f, operands[i], control));
    return l;
}

static level level_of_load(finder *f, const vy_expr *e, level control) {
    level before = max_level(level_of(f, e->b, control), max_level(control, f->floor));
    use *u = use_of(f, e->a);
    if (!u)
        return max_level(before, f->memories[e->a]);
    add_access(f, u, e->b);
    u->is_refused |= before != 0 || u->is_stored;
    f->highest = max_level(f->highest, before + 1);
    return before + 1;
}

static level level_of(finder *f, uint32_t expr, level control) {
    const vy_expr *e = vy_expr_at(f->program, expr);
    switch ((vy_expr_kind)e->kind) {
    case VY_EXPR_VARIABLE:
        return f->variables[e->a];
    case VY_EXPR_LOAD:
        return level_of_load(f, e, control);
    case VY_EXPR_OP:
        return level_of_operands(f, (const uint32_t[3]){e->a, e->b, e->c}, 0, control);
    default:
        return 0;
    }
}

/* ---- statements ---- */

static void store(finder *f, const vy_stmt *s, level l) {
    use *u = use_of(f, s->memory);
    if (!u) {
        f->memories[s->memory] = max_level(f->memories[s->memory], l);
        return;
    }
    add_access(f, u, s->a);
    u->is_stored = 1;
    u->is_refused |= s->kind == VY_STMT_ATOMIC;
}

static void walk(finder *f, uint32_t first, uint32_t end, level control);

static void walk_structured(finder *f, uint32_t index, level control) {
    const vy_stmt *s = vy_stmt_at(f->program, index);
    unsigned repeats = vy_stmt_is_loop(s->kind) && !vy_loop_runs_once(f->program, index);
    unsigned reevaluates = repeats && s->kind == VY_STMT_WHILE; /* its condition, in each iteration */
    f->loops += reevaluates;
    level inside = level_of_operands(f, VY_STMT_OPERANDS(s), control, control);
    f->loops += repeats - reevaluates;
    if (s->kind == VY_STMT_FOR)
        f->variables[s->variable] = inside;
    walk(f, index + 1, s->middle, inside);
    walk(f, s->middle, s->end, inside);
    f->loops -= repeats;
}

static void walk(finder *f, uint32_t first, uint32_t end, level control) {
    for (uint32_t i = first; i < end; i = vy_stmt_at(f->program, i)->end) {
        const vy_stmt *s = vy_stmt_at(f->program, i);
        if (vy_stmt_is_structured(s->kind)) {
            walk_structured(f, i, control);
            continue;
        }
        level l = level_of_operands(f, VY_STMT_OPERANDS(s), control, control);
        switch ((vy_stmt_kind)s->kind) {
        case VY_STMT_STORE:
        case VY_STMT_ATOMIC:
            store(f, s, l);
            break;
        case VY_STMT_BARRIER: /* every invocation waits for the loads of all */
        case VY_STMT_COLLECTIVE:
            l = f->floor = max_level(f->floor, f->highest);
            break;
        case VY_STMT_TRAP: /* invocations that continue have waited for the condition */
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

/* ---- programs ---- */

vyre_status vy_host_access_find(const vyre_program *program, uint8_t *requests, vyre_error *error) {
    const vy_function *entry = vy_program_entry(program);
    size_t count = (size_t)program->variables.count + program->memories.count;
    vy_uniform *uniform = NULL;
    memset(requests, 0, program->buffer_count);
    if (program->stmts.count > STATEMENTS || program->facts & (VY_PROGRAM_HAS_CALL | VY_PROGRAM_HAS_OP_CALL))
        return VYRE_OK;
    vyre_status status = vy_uniform_make(program, &uniform, error);
    if (status != VYRE_OK)
        return status;
    finder f = {.program = program, .uniform = uniform};
    level *levels = vy_allocate_zero(vy_array_size(count, sizeof *levels));
    if (levels || !count) {
        f.variables = levels;
        f.memories = levels ? levels + program->variables.count : NULL;
        walk(&f, entry->first_stmt, entry->end_stmt, 0);
        for (uint32_t i = 0; i < program->buffer_count; i++)
            if (!f.uses[i].is_refused)
                requests[i] = (uint8_t)(f.uses[i].requests ? f.uses[i].requests : 1);
    } else {
        status = vy_fail_memory(error, "the host access analysis");
    }
    vy_release(levels, vy_array_size(count, sizeof *levels));
    vy_uniform_free(uniform);
    return status;
}
