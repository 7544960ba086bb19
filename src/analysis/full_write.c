/* Full-write analysis (full_write.h): one forward walk, for an invocation whose ids are below all bounds seen so
 * far.
 *
 * Invariants:
 *
 * - A condition counts as known only if it follows from the bounds. The bounds it needed stay in the list, and the
 *   dispatch checks them.
 * - If such an invocation may return before its store, the buffer is not covered. A trap, an endless loop and a
 *   cancellation are harmless, since the outputs are then not delivered.
 * - Loops are not entered, since they may have no iterations. */
#include "analysis/full_write.h"

#include "analysis/def_use.h"
#include "base/memory.h"
#include "base/status.h"

enum {
    ALIASES = 16,   /* most aliases of a variable that are followed */
    DEPTH = 64,     /* most operators of a condition, through variables */
    STEPS = 1 << 20 /* conditions and statements visited, for all buffers together; further buffers are not covered */
};

typedef struct finder {
    const vyre_program *p;
    const vy_def_use *uses;
    uint32_t buffer;
    vy_full_write *cover;
    int has_store; /* the shape of the cover was set by an earlier store */
    unsigned depth;
    uint32_t *steps;
} finder;

typedef enum truth { UNKNOWN, FALSE, TRUE } truth;
/* The effect of a block: none, the invocation has stored, or the invocation may have left. */
typedef enum outcome { GOES_ON, HAS_STORED, MAY_HAVE_LEFT } outcome;

/* ---- values ---- */

/* Follows variables that are bound once, and casts that preserve every u32. */
static const vy_expr *see_through(const finder *f, uint32_t expr) {
    const vy_expr *e = vy_expr_at(f->p, expr);
    for (int i = 0; i < ALIASES; i++) {
        if (e->kind == VY_EXPR_VARIABLE && vy_let_value(f->uses, e->a) != VY_NONE)
            e = vy_expr_at(f->p, vy_let_value(f->uses, e->a));
        else if (e->kind == VY_EXPR_OP && e->op == VYRE_OP_CAST &&
                 (e->type == VYRE_TYPE_U32 || e->type == VYRE_TYPE_U64 || e->type == VYRE_TYPE_I64) &&
                 vy_expr_at(f->p, e->a)->type == VYRE_TYPE_U32)
            e = vy_expr_at(f->p, e->a);
        else
            break;
    }
    return e;
}

/* Whether the expression is global_id.x or .y; sets the axis. */
static int is_id(const finder *f, uint32_t expr, uint8_t *axis) {
    const vy_expr *e = see_through(f, expr);
    *axis = e->axis;
    return e->kind == VY_EXPR_BUILTIN && e->op == VYRE_BUILTIN_GLOBAL_ID && e->axis < 2;
}

static int is_known(const finder *f, uint32_t expr, vy_full_write_value *out) {
    const vy_expr *e = see_through(f, expr);
    *out = (vy_full_write_value){.index = e->a, .bits = e->bits};
    if (e->type != VYRE_TYPE_U32)
        return 0;
    switch ((vy_expr_kind)e->kind) {
    case VY_EXPR_LITERAL:
        out->kind = VY_FULL_WRITE_LITERAL;
        return 1;
    case VY_EXPR_LEN:
        out->kind = VY_FULL_WRITE_LEN;
        out->index = e->a - vy_program_entry(f->p)->first_memory;
        return out->index < f->p->buffer_count;
    case VY_EXPR_VARIABLE: {
        uint32_t first = vy_program_entry(f->p)->first_variable;
        out->kind = VY_FULL_WRITE_PARAM;
        out->index = e->a - first;
        return out->index < f->p->param_count;
    }
    default:
        return 0;
    }
}

/* ---- conditions ---- */

static int add_bound(finder *f, vy_full_write_value value, uint8_t axis) {
    vy_full_write *c = f->cover;
    if (c->bound_count == VY_FULL_WRITE_BOUNDS)
        return 0;
    value.axis = axis;
    c->bounds[c->bound_count++] = value;
    return 1;
}

static int is_patient(const finder *f) {
    return f->depth < DEPTH && ++*f->steps < STEPS;
}

/* id < bound. An invocation inside the grid satisfies it if the bound is large enough, so the bound is added to the
 * list. A minimum adds one bound per operand. */
static int is_below(finder *f, uint32_t id, uint32_t bound) {
    const vy_expr *e = see_through(f, bound);
    vy_full_write_value value;
    uint8_t axis;
    int holds;
    if (!is_patient(f) || !is_id(f, id, &axis))
        return 0;
    f->depth++;
    if (e->kind == VY_EXPR_OP && e->op == VYRE_OP_MIN && e->type == VYRE_TYPE_U32)
        holds = is_below(f, id, e->a) && is_below(f, id, e->b);
    else
        holds = is_known(f, bound, &value) && add_bound(f, value, axis);
    f->depth--;
    return holds;
}

static truth negate(truth t) {
    return t == UNKNOWN ? UNKNOWN : t == TRUE ? FALSE : TRUE;
}

static truth evaluate_condition(finder *f, uint32_t condition);

static truth evaluate_condition_op(finder *f, const vy_expr *e) {
    truth a, b;
    switch ((vyre_op)e->op) {
    case VYRE_OP_LT:
        return is_below(f, e->a, e->b) ? TRUE : UNKNOWN;
    case VYRE_OP_GT:
        return is_below(f, e->b, e->a) ? TRUE : UNKNOWN;
    case VYRE_OP_GE:
        return is_below(f, e->a, e->b) ? FALSE : UNKNOWN;
    case VYRE_OP_LE:
        return is_below(f, e->b, e->a) ? FALSE : UNKNOWN;
    case VYRE_OP_LNOT:
        return negate(evaluate_condition(f, e->a));
    case VYRE_OP_LAND:
        a = evaluate_condition(f, e->a);
        b = evaluate_condition(f, e->b);
        return a == FALSE || b == FALSE ? FALSE : a == TRUE && b == TRUE ? TRUE : UNKNOWN;
    case VYRE_OP_LOR:
        a = evaluate_condition(f, e->a);
        b = evaluate_condition(f, e->b);
        return a == TRUE || b == TRUE ? TRUE : a == FALSE && b == FALSE ? FALSE : UNKNOWN;
    default:
        return UNKNOWN;
    }
}

static truth evaluate_condition(finder *f, uint32_t condition) {
    const vy_expr *e = see_through(f, condition);
    uint8_t before = f->cover->bound_count;
    truth t = UNKNOWN;
    f->depth++;
    if (e->kind == VY_EXPR_OP && is_patient(f))
        t = evaluate_condition_op(f, e);
    f->depth--;
    while (t == UNKNOWN && f->cover->bound_count > before) /* discards the bounds if the condition stays unknown */
        f->cover->bounds[--f->cover->bound_count] = (vy_full_write_value){.kind = VY_FULL_WRITE_LITERAL};
    return t;
}

/* ---- statements ---- */

static int is_same_value(const vy_full_write_value *a, const vy_full_write_value *b) {
    return a->kind == b->kind && (a->kind == VY_FULL_WRITE_LITERAL ? a->bits == b->bits : a->index == b->index);
}

/* y * width or width * y */
static int is_row(const finder *f, uint32_t expr, vy_full_write_value *width) {
    const vy_expr *e = see_through(f, expr);
    uint8_t axis;
    if (e->kind != VY_EXPR_OP || e->op != VYRE_OP_MUL)
        return 0;
    if (is_id(f, e->a, &axis) && axis == 1)
        return is_known(f, e->b, width);
    return is_id(f, e->b, &axis) && axis == 1 && is_known(f, e->a, width);
}

/* Whether the index is that of the invocation's own element. The sum does not wrap for an element in bounds, whose
 * index is below 2^32. */
static int is_own(finder *f, uint32_t index) {
    const vy_expr *e = see_through(f, index);
    vy_full_write_value width = {.kind = VY_FULL_WRITE_LITERAL};
    uint8_t axis;
    int is_rows = 0;
    if (!is_id(f, index, &axis)) {
        is_rows =
            e->kind == VY_EXPR_OP && e->op == VYRE_OP_ADD &&
            ((is_row(f, e->a, &width) && is_id(f, e->b, &axis)) || (is_row(f, e->b, &width) && is_id(f, e->a, &axis)));
        if (!is_rows)
            return 0;
    }
    if (axis != 0)
        return 0;
    if (f->has_store)
        return f->cover->is_rows == is_rows && is_same_value(&f->cover->width, &width);
    f->has_store = 1;
    f->cover->is_rows = (uint8_t)is_rows;
    f->cover->width = width;
    return 1;
}

static int may_return(const finder *f, uint32_t first, uint32_t end) {
    *f->steps += end - first;
    for (uint32_t i = first; i < end && *f->steps < STEPS; i++)
        if (vy_stmt_at(f->p, i)->kind == VY_STMT_RETURN)
            return 1;
    return *f->steps >= STEPS;
}

static outcome walk(finder *f, uint32_t first, uint32_t end);

static outcome walk_if(finder *f, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(f->p, index);
    truth t = evaluate_condition(f, s->a);
    if (t == TRUE)
        return walk(f, index + 1, s->middle);
    if (t == FALSE)
        return walk(f, s->middle, s->end);
    outcome a = walk(f, index + 1, s->middle), b = walk(f, s->middle, s->end);
    if (a == MAY_HAVE_LEFT || b == MAY_HAVE_LEFT)
        return MAY_HAVE_LEFT;
    return a == HAS_STORED && b == HAS_STORED ? HAS_STORED : GOES_ON;
}

static outcome walk(finder *f, uint32_t first, uint32_t end) {
    outcome o = GOES_ON;
    for (uint32_t i = first; i < end && o == GOES_ON; i = vy_stmt_at(f->p, i)->end) {
        const vy_stmt *s = vy_stmt_at(f->p, i);
        if (++*f->steps >= STEPS)
            return MAY_HAVE_LEFT;
        switch ((vy_stmt_kind)s->kind) {
        case VY_STMT_STORE:
            if (s->memory == f->buffer && is_own(f, s->a))
                o = HAS_STORED;
            break;
        case VY_STMT_RETURN:
            o = MAY_HAVE_LEFT;
            break;
        case VY_STMT_IF:
            o = walk_if(f, i);
            break;
        case VY_STMT_REGION:
            o = walk(f, i + 1, s->end);
            break;
        case VY_STMT_FOR:
        case VY_STMT_WHILE:
            if (may_return(f, i + 1, s->end))
                o = MAY_HAVE_LEFT;
            break;
        default:
            break;
        }
    }
    return o;
}

/* ---- programs ---- */

static int has_write_buffer(const vyre_program *p) {
    for (uint32_t i = 0; i < p->buffer_count; i++)
        if (vy_memory_at(p, vy_program_entry(p)->first_memory + i)->access == VYRE_ACCESS_WRITE)
            return 1;
    return 0;
}

vyre_status vy_full_write_find(const vyre_program *p, vy_full_write *covers, vyre_error *error) {
    for (uint32_t i = 0; i < p->buffer_count; i++)
        covers[i] = (vy_full_write){.is_covered = 0};
    if (!vy_program_has_entry(p) || !has_write_buffer(p))
        return VYRE_OK;
    const vy_function *entry = vy_program_entry(p);
    vy_arena arena = {0};
    vy_def_use uses = {.program = p, .arena = &arena};
    if (!vy_def_use_need(&uses, VY_DEF_USE_DECLARATIONS)) {
        vy_arena_free(&arena);
        return vy_fail_memory(error, "looking for what a program writes");
    }
    uint32_t steps = 0;
    for (uint32_t i = 0; i < p->buffer_count; i++) {
        if (vy_memory_at(p, entry->first_memory + i)->access != VYRE_ACCESS_WRITE)
            continue;
        finder f = {.p = p, .uses = &uses, .buffer = entry->first_memory + i, .cover = &covers[i], .steps = &steps};
        covers[i] = (vy_full_write){.group = {p->workgroup[0], p->workgroup[1]}};
        if (walk(&f, entry->first_stmt, entry->end_stmt) == HAS_STORED)
            covers[i].is_covered = 1;
        else
            covers[i] = (vy_full_write){.is_covered = 0};
    }
    vy_arena_free(&arena);
    return VYRE_OK;
}

/* ---- dispatches ---- */

static uint64_t value_of(const vy_full_write_value *value, const uint64_t *counts, const vyre_scalar *params) {
    switch ((vy_full_write_kind)value->kind) {
    case VY_FULL_WRITE_PARAM:
        return params[value->index].bits;
    case VY_FULL_WRITE_LEN:
        return counts[value->index];
    default:
        return value->bits;
    }
}

int vy_full_write_holds(const vy_full_write *cover, uint32_t index, const uint64_t *counts, const vyre_scalar *params,
                        const uint32_t groups[3]) {
    uint64_t needed[2] = {counts[index], 1}; /* ids that each dimension must include */
    if (!cover->is_covered)
        return 0;
    if (cover->is_rows) {
        uint64_t width = value_of(&cover->width, counts, params);
        if (!width)
            return 0;
        needed[1] = counts[index] / width + (counts[index] % width != 0);
        if (needed[0] > width)
            needed[0] = width;
    }
    for (int i = 0; i < 2; i++)
        if ((uint64_t)groups[i] * cover->group[i] < needed[i])
            return 0;
    for (unsigned i = 0; i < cover->bound_count; i++)
        if (value_of(&cover->bounds[i], counts, params) < needed[cover->bounds[i].axis])
            return 0;
    return 1;
}
