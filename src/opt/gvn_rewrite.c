/* Writing (gvn_rewrite.h). */
#include "opt/gvn_rewrite.h"

#include "ir/walk.h"
#include "opt/constant_fold.h"
#include "opt/gvn_table.h"
#include "opt/rewriter.h"

/* What takes the place of a tree, a leaf; 0 if nothing does. A leader is its own variable, once that is there. */
static int leaf_of(const vy_rewrite *rw, uint32_t expr, vy_expr *leaf) {
    const vy_gvn *n = rw->user;
    uint32_t variable = VY_NONE;
    switch ((vy_gvn_replacement)n->becomes[expr]) {
    case VY_GVN_KEEP:
        break;
    case VY_GVN_IS_LEADER:
        variable = n->made[expr];
        break;
    case VY_GVN_TO_LITERAL:
        *leaf = *vy_gvn_literal(n, n->of_expr[expr]);
        *leaf = vy_literal_expr((vyre_type)leaf->type, leaf->bits);
        return 1;
    case VY_GVN_TO_VARIABLE:
        variable = rw->variables[n->target[expr]];
        break;
    case VY_GVN_TO_LEADER:
        variable = n->made[n->target[expr]];
        break;
    }
    if (variable == VY_NONE)
        return 0;
    *leaf = (vy_expr){.kind = VY_EXPR_VARIABLE,
                      .type = rw->draft.program->variables.items[variable].type,
                      .a = variable,
                      .b = VY_NONE,
                      .c = VY_NONE};
    return 1;
}

/* In the tree of a leader. */
static uint32_t put_tree(vy_rewrite *rw, uint32_t expr) {
    vy_expr leaf;
    return leaf_of(rw, expr, &leaf) ? vy_thread_pool_expr(rw, &leaf) : VY_NONE;
}

/* Puts the `let`s of the leaders in a statement before it, smaller trees first. */
static int put_leaders(vy_rewrite *rw, uint32_t stmt) {
    vy_gvn *n = rw->user;
    uint32_t end = vy_stmt_exprs_end(rw->from, &rw->from->stmts.items[stmt], n->first_expr[stmt]);
    for (uint32_t i = n->first_expr[stmt]; i < end && !rw->draft.failed; i++)
        if (n->becomes[i] == VY_GVN_IS_LEADER)
            n->made[i] = vy_rewrite_let(rw, vy_rewrite_read_below(rw, i));
    return 0;
}

/* A row was written: what went where keeps its position. What takes the place of a tree has that of its root, which comes last. */
static void place_row(vy_rewrite *rw, uint32_t first, uint32_t end) {
    vy_position *positions = rw->draft.program->expr_positions.items;
    for (uint32_t i = first; i < end; i++)
        positions[rw->row.items[i - first]] = vy_expr_position(rw->from, i);
    rw->draft.program->expr_positions.count = rw->draft.program->exprs.count;
}

/* Writes what takes the place of a tree where that begins: at its first leaf, or at `to` if it is one. Returns where that is; VY_NONE if nothing does. */
static uint32_t put_leaf(vy_rewrite *rw, uint32_t first, uint32_t expr, uint32_t to) {
    const vyre_program *made = rw->draft.program;
    const vy_expr e = vy_rewritten_expr(rw, first, rw->from->exprs.items[expr]);
    vy_expr leaf;
    if (!leaf_of(rw, expr, &leaf))
        return VY_NONE;
    if (e.kind == VY_EXPR_OP || e.kind == VY_EXPR_LOAD)
        to = vy_expr_first(made, e.kind == VY_EXPR_OP ? e.a : e.b);
    made->exprs.items[to] = leaf;
    rw->changes++;
    return to;
}

static void put_row(vy_rewrite *rw, uint32_t first, uint32_t end) {
    const vy_gvn *n = rw->user;
    vyre_program *made = rw->draft.program;
    uint32_t to = vy_rewrite_start_exprs(rw, end - first), *row = rw->row.items;
    if (to == VY_NONE)
        return;
    for (uint32_t i = first; i < end; i++) {
        uint32_t at = n->becomes[i] ? put_leaf(rw, first, i, to) : VY_NONE;
        if (at == VY_NONE)
            made->exprs.items[at = to] = vy_rewritten_expr(rw, first, rw->from->exprs.items[i]);
        *row++ = at;
        to = at + 1;
    }
    made->exprs.count = to;
    if (vy_irb_keeps_expr_positions(&rw->draft))
        place_row(rw, first, end);
}

static uint32_t find_replaced(vy_rewrite *rw, uint32_t first, uint32_t end) {
    const vy_gvn *n = rw->user;
    for (uint32_t i = first; i < end; i++)
        if (n->becomes[i])
            return i;
    return end;
}

/* By the hooks that fit: without leaders nothing but trees changes. */
vyre_status vy_gvn_write(vy_gvn *n, vyre_program **out, uint64_t *changes, vyre_error *error) {
    static const vy_rewriter leading = {.stmt = put_leaders,
                                        .rewrite_exprs = put_row,
                                        .tree = put_tree,
                                        .tree_kinds = VY_ALL_BUT_LITERALS,
                                        .keeps_names = 1,
                                        .keeps_blocks = 1,
                                        .find = find_replaced};
    static const vy_rewriter alone = {
        .rewrite_exprs = put_row, .keeps_names = 1, .keeps_blocks = 1, .find = find_replaced, .only_shrinks = 1};
    vyre_status status = vy_rewrite_run(n->program, n->leads ? &leading : &alone, n, NULL, out, changes, error);
    *changes = *changes ? n->changes : 0;
    return status;
}
