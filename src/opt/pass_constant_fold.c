/* Folding: what can be computed now is.
 *
 * An op of literals becomes the literal that the evaluator gives; nothing here knows what an op does. The length of an array, of a buffer with a
 * constant count and the size of a workgroup are literals; so is a `let` of a literal, wherever it is used. A load from an array or
 * such a buffer beyond its end is zero. */
#include "opt/constant_fold.h"
#include "opt/pass_manager.h"

#include "base/status.h"

/* Nodes come after their operands, so the first that is folded is seen as it is in the source. */
static uint32_t find_folded(vy_rewrite *rw, uint32_t first, uint32_t end) {
    const vy_literals *literals = rw->user;
    const vy_expr *exprs = rw->from->exprs.items;
    for (uint32_t i = first; i < end; i++) {
        const vy_expr *e = &exprs[i];
        if (e->kind == VY_EXPR_LITERAL || (e->kind == VY_EXPR_OP && exprs[e->a].kind != VY_EXPR_LITERAL))
            continue; /* most of them */
        if (e->kind == VY_EXPR_VARIABLE ? literals->is_known[e->a] : vy_folds(rw, i))
            return i;
    }
    return end;
}

static void fold_row(vy_rewrite *rw, uint32_t first, uint32_t end) {
    vy_fold_exprs(rw, rw->user, first, end);
}

vyre_status vy_pass_fold(const vyre_program *from, const vy_opt_policy *rules, vyre_program **out, uint64_t *changes,
                         vyre_error *error) {
    (void)rules;
    static const vy_rewriter hooks = {
        .rewrite_exprs = fold_row, .keeps_names = 1, .keeps_blocks = 1, .find = find_folded, .only_shrinks = 1};
    size_t count = from->variables.count + 1u, size = vy_array_size(count, sizeof(uint64_t) + 1);
    vy_literals literals = {.bits = vy_allocate(size)};
    *out = NULL;
    *changes = 0;
    if (!literals.bits)
        return vy_fail_memory(error, "a pass");
    literals.is_known = (uint8_t *)(literals.bits + count);
    memset(literals.is_known, 0, count);
    for (uint32_t i = 0; i < from->stmts.count; i++) {
        const vy_stmt *s = &from->stmts.items[i];
        if (s->kind != VY_STMT_LET || from->exprs.items[s->a].kind != VY_EXPR_LITERAL)
            continue;
        literals.bits[s->variable] = from->exprs.items[s->a].bits;
        literals.is_known[s->variable] = 1;
    }
    vyre_status status = vy_rewrite_run(from, &hooks, &literals, NULL, out, changes, error);
    vy_release(literals.bits, size);
    return status;
}
