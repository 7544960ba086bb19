/* Every claim that ranges make about a program, put into it as a check that traps. */
#ifndef VY_TESTS_ANALYSIS_RANGE_CHECKS_H
#define VY_TESTS_ANALYSIS_RANGE_CHECKS_H

#include "support/test.h"

#include "analysis/interval.h"
#include "analysis/range.h"
#include "ir/softfloat.h"
#include "ir/walk.h"
#include "opt/pass_manager.h"
#include "opt/rewriter.h"

enum { FALSE_CLAIM = 0xbad };

typedef struct checking {
    const vy_ranges *ranges;
    uint32_t *first_expr;
    uint64_t accesses, values, floats;
} checking;

static inline void trap_if(vy_rewrite *rw, uint32_t condition) {
    vy_stmt trap = vy_irb_blank_stmt(VY_STMT_TRAP);
    vy_irb_if(&rw->draft, condition);
    trap.a = vy_irb_literal(&rw->draft, VYRE_TYPE_U32, FALSE_CLAIM);
    vy_irb_stmt(&rw->draft, &trap, NULL, 0, NULL, NULL);
    vy_irb_end_block(&rw->draft);
}

static inline uint32_t value_before(vy_rewrite *rw, uint32_t expr) {
    return vy_rewrite_let(rw, vy_rewrite_read_below(rw, expr));
}

/* A negative index becomes a large one. */
static inline void check_access(vy_rewrite *rw, uint32_t index, uint32_t memory) {
    checking *c = rw->user;
    vy_irb *d = &rw->draft;
    uint32_t variable = value_before(rw, index);
    uint32_t i = vy_irb_op(d, VYRE_OP_CAST, VYRE_TYPE_U64, vy_irb_variable(d, variable), VY_NONE, VY_NONE);
    uint32_t n = vy_irb_op(d, VYRE_OP_CAST, VYRE_TYPE_U64, vy_irb_len(d, rw->memories[memory]), VY_NONE, VY_NONE);
    trap_if(rw, vy_irb_op(d, VYRE_OP_GE, VYRE_TYPE_BOOL, i, n, VY_NONE));
    c->accesses++;
}

static inline void check_value(vy_rewrite *rw, uint32_t expr, vy_range range) {
    checking *c = rw->user;
    vy_irb *d = &rw->draft;
    vyre_type type = (vyre_type)rw->from->exprs.items[expr].type;
    uint32_t variable = value_before(rw, expr), v = vy_irb_variable(d, variable);
    uint32_t low = vy_irb_op(d, VYRE_OP_LT, VYRE_TYPE_BOOL, v, vy_irb_literal(d, type, range.low), VY_NONE);
    v = vy_irb_variable(d, variable);
    uint32_t high = vy_irb_op(d, VYRE_OP_GT, VYRE_TYPE_BOOL, v, vy_irb_literal(d, type, range.high), VY_NONE);
    trap_if(rw, vy_irb_op(d, VYRE_OP_LOR, VYRE_TYPE_BOOL, low, high, VY_NONE));
    c->values++;
}

/* The end of an interval as a literal of the type: where it rounds, the interval grows by that. */
static inline uint64_t float_end(vyre_type type, uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return type == VYRE_TYPE_F32 ? vy_f32_encode((float)value) : bits;
}

/* A value that has an interval is no NaN and in it; NaN fails both comparisons. */
static inline void check_float(vy_rewrite *rw, uint32_t expr, vy_range range) {
    checking *c = rw->user;
    vy_irb *d = &rw->draft;
    vyre_type type = (vyre_type)rw->from->exprs.items[expr].type;
    uint32_t variable = value_before(rw, expr), v = vy_irb_variable(d, variable);
    uint32_t low = vy_irb_literal(d, type, float_end(type, range.low));
    low = vy_irb_op(d, VYRE_OP_GE, VYRE_TYPE_BOOL, v, low, VY_NONE);
    v = vy_irb_variable(d, variable);
    uint32_t high = vy_irb_literal(d, type, float_end(type, range.high));
    high = vy_irb_op(d, VYRE_OP_LE, VYRE_TYPE_BOOL, v, high, VY_NONE);
    uint32_t both = vy_irb_op(d, VYRE_OP_LAND, VYRE_TYPE_BOOL, low, high, VY_NONE);
    trap_if(rw, vy_irb_op(d, VYRE_OP_LNOT, VYRE_TYPE_BOOL, both, VY_NONE, VY_NONE));
    c->floats++;
}

/* Whether a range says more than the type. */
static inline int says_something(vyre_type type, vy_range range) {
    uint64_t mask = vy_type_layouts[type].mask;
    if (!(vy_type_layouts[type].classes & VYRE_CLASS_INTEGER))
        return 0;
    if (vy_type_layouts[type].classes == VYRE_CLASS_UNSIGNED)
        return range.low != 0 || range.high != mask;
    return (range.low & mask) != mask / 2 + 1 || (range.high & mask) != mask / 2;
}

static inline int check_stmt(vy_rewrite *rw, uint32_t index) {
    checking *c = rw->user;
    const vyre_program *p = rw->from;
    const vy_stmt *s = &p->stmts.items[index];
    uint32_t end = vy_stmt_exprs_end(p, s, c->first_expr[index]);
    if (s->kind == VY_STMT_WHILE)
        return 0;
    for (uint32_t i = c->first_expr[index]; i < end; i++) {
        const vy_expr *e = &p->exprs.items[i];
        vy_range range = vy_range_of(c->ranges, i);
        if (e->kind == VY_EXPR_LOAD && vy_load_is_inside(c->ranges, i))
            check_access(rw, e->b, e->a);
        if (e->kind != VY_EXPR_LITERAL && says_something((vyre_type)e->type, range))
            check_value(rw, i, range);
        if (e->kind != VY_EXPR_LITERAL && (e->type == VYRE_TYPE_F32 || e->type == VYRE_TYPE_F64) &&
            vy_float_is_known(range))
            check_float(rw, i, range);
    }
    if ((s->kind == VY_STMT_STORE || s->kind == VY_STMT_ATOMIC) && vy_stmt_is_inside(c->ranges, index))
        check_access(rw, s->a, s->memory);
    rw->changes++;
    return 0;
}

static inline vyre_program *with_checks(vyre_program *program, checking *c) {
    static const vy_rewriter hooks = {.stmt = check_stmt};
    vyre_program *out;
    vyre_error error;
    vy_ranges *ranges;
    uint64_t changes;
    uint32_t expr = 0;
    c->first_expr = malloc((program->stmts.count + 1u) * sizeof *c->first_expr);
    for (uint32_t i = 0; i < program->stmts.count; i++) {
        c->first_expr[i] = expr;
        expr = vy_stmt_exprs_end(program, &program->stmts.items[i], expr);
    }
    assert_int_equal(vy_ranges_make(program, &ranges, &error), VYRE_OK);
    c->ranges = ranges;
    if (vy_rewrite_run(program, &hooks, c, NULL, &out, &changes, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    vy_ranges_free(ranges);
    free(c->first_expr);
    return out;
}

#endif
