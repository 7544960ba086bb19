/* Control-flow simplification: replaces an `if` with a literal condition by the branch taken, and removes empty blocks,
 * loops without iterations, and unreachable statements after a jump or trap.
 *
 * A branch that is spliced into the enclosing block may end in a jump: the rewriter then drops the rest of that block,
 * which is unreachable. Names that collide there get suffixes. Conditions and bounds have no effects, so they can be
 * dropped. A `while` is removed only if its condition is false: an endless loop stays endless. */
#include "opt/pass_manager.h"
#include "opt/rewriter.h"

static const vy_expr *literal_of(const vyre_program *p, uint32_t expr) {
    return expr != VY_NONE && p->exprs.items[expr].kind == VY_EXPR_LITERAL ? &p->exprs.items[expr] : NULL;
}

/* Whether a `for` makes no trip for certain. */
static int makes_no_trip(const vyre_program *p, const vy_stmt *s) {
    const vy_expr *from = literal_of(p, s->a), *to = literal_of(p, s->b), *step = literal_of(p, s->c);
    if (step && step->bits == 0)
        return 1;
    if (!from || !to || (s->c != VY_NONE && !step))
        return 0;
    vyre_type type = (vyre_type)from->type;
    int goes_down = step && vyre_op_evaluate(VYRE_OP_LT, VYRE_TYPE_BOOL, type, step->bits, 0, 0);
    return !vyre_op_evaluate(goes_down ? VYRE_OP_GT : VYRE_OP_LT, VYRE_TYPE_BOOL, type, from->bits, to->bits, 0);
}

/* Whether a statement goes, or a branch takes its place. */
static int goes(const vyre_program *p, uint32_t index) {
    const vy_stmt *s = &p->stmts.items[index];
    const vy_expr *condition = literal_of(p, s->a);
    switch (s->kind) {
    case VY_STMT_IF:
        return condition || s->end == index + 1;
    case VY_STMT_FOR:
        return s->end == index + 1 || makes_no_trip(p, s);
    case VY_STMT_WHILE:
        return condition && !condition->bits;
    case VY_STMT_REGION:
        return s->end == index + 1;
    default:
        return 0;
    }
}

static int simplify_stmt(vy_rewrite *rw, uint32_t index) {
    const vy_stmt *s = &rw->from->stmts.items[index];
    if (!vy_stmt_is_structured(s->kind) || !goes(rw->from, index))
        return 0;
    rw->changes++;
    const vy_expr *condition = s->kind == VY_STMT_IF ? literal_of(rw->from, s->a) : NULL;
    if (condition && condition->bits)
        vy_rewrite_block(rw, index + 1, s->middle);
    else if (condition)
        vy_rewrite_block(rw, s->middle, s->end);
    return 1;
}

/* Whether there may be anything to do: most programs show at once that there is not. Behind a jump nothing stands in a
 * valid program, but behind a trap something may. */
static int may_change(const vyre_program *p) {
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        uint8_t kind = p->stmts.items[i].kind;
        if (kind == VY_STMT_TRAP || (vy_stmt_is_structured(kind) && goes(p, i)))
            return 1;
    }
    return 0;
}

vyre_status vy_pass_simplify_cfg(const vyre_program *from, const vy_opt_policy *rules, vyre_program **out,
                                 uint64_t *changes, vyre_error *error) {
    (void)rules;
    static const vy_rewriter hooks = {.stmt = simplify_stmt, .trap_ends = 1, .supports_dry_run = 1};
    if (!may_change(from)) {
        *out = vyre_program_retain((vyre_program *)from);
        *changes = 0;
        return VYRE_OK;
    }
    return vy_rewrite_run(from, &hooks, NULL, NULL, out, changes, error);
}
