/* Looking (rewriter_dry_run.h). */
#include "opt/rewriter_dry_run.h"

#include "ir/walk.h"
#include "opt/rewriter_inplace.h"
#include "opt/rewriter_stmts.h"

/* ---- the trees of a statement ---- */

/* Begins to look; while we do, the source stands for the draft. Gives what end_dry_run needs. */
static vyre_program *start_dry_run(vy_rewrite *rw) {
    vyre_program *draft = rw->draft.program;
    rw->draft.program = (vyre_program *)rw->from;
    rw->is_dry_run = 1;
    return draft;
}

static void end_dry_run(vy_rewrite *rw, vyre_program *draft) {
    rw->draft.program = draft;
    rw->is_dry_run = 0;
}

/* Whether the hooks change nothing in the expressions [first, end), the trees of a statement. Nodes come after their operands, so the first that is not to stay is
 * seen as it is in the source. We are looking. */
static int keeps_exprs(vy_rewrite *rw, uint32_t first, uint32_t end) {
    const vy_rewriter *hooks = rw->hooks;
    const vy_expr *exprs = rw->from->exprs.items;
    unsigned asked = !hooks->tree ? 0 : hooks->tree_kinds ? hooks->tree_kinds : UINT8_MAX;
    unsigned asked_nodes = !hooks->node ? 0 : hooks->node_kinds ? hooks->node_kinds : UINT8_MAX;
    int supports_dry_run = hooks->supports_dry_run;
    uint64_t before = rw->changes, ops = hooks->node_ops ? hooks->node_ops : UINT64_MAX;
    for (uint32_t i = first; i < end; i++) {
        if (asked >> exprs[i].kind & 1 && (!supports_dry_run || hooks->tree(rw, i) != VY_NONE))
            return 0;
        if (asked_nodes >> exprs[i].kind & 1 && (exprs[i].kind != VY_EXPR_OP || ops >> exprs[i].op & 1) &&
            (!supports_dry_run || hooks->node(rw, i) != i))
            return 0;
    }
    return rw->changes == before;
}

int vy_rewrite_keeps_trees(vy_rewrite *rw, uint32_t stmt, uint32_t *first, uint32_t *end) {
    const vy_stmt *s = &rw->from->stmts.items[stmt];
    *first = vy_stmt_exprs_first(rw->from, s);
    *end = vy_stmt_exprs_end(rw->from, s, *first);
    if (!rw->hooks->keeps_blocks && !rw->hooks->tree && !rw->hooks->node)
        return !rw->hooks->rewrite_exprs;
    const vy_touched *touched = rw->hooks->keeps_blocks ? vy_rewrite_next_touched(rw, stmt) : NULL;
    int is_touched = touched && touched->stmt == stmt;
    if (rw->hooks->keeps_blocks && (!is_touched || touched->by_trees || vy_rewrite_knows_touched(rw->hooks)))
        return !is_touched;
    if (!rw->hooks->tree && !rw->hooks->node)
        return !rw->hooks->rewrite_exprs;
    uint64_t before = rw->changes;
    vyre_program *draft = start_dry_run(rw);
    int keeps = keeps_exprs(rw, *first, *end);
    end_dry_run(rw, draft);
    rw->changes = before;
    return keeps;
}

/* ---- all of it ---- */

/* As vy_rewrite_block goes, up to the first change. Recursion is bounded by VY_LIMIT_NESTING. */
static void scan_block(vy_rewrite *rw, uint32_t first, uint32_t end) {
    int ended = 0;
    for (uint32_t i = first; i < end && !rw->draft.failed && !rw->changes; i = rw->from->stmts.items[i].end) {
        const vy_stmt *s = &rw->from->stmts.items[i];
        rw->changes += (uint64_t)ended;
        rw->pool.count = 0;
        rw->may_bind = s->kind != VY_STMT_WHILE;
        if (rw->changes || (rw->hooks->stmt && rw->hooks->stmt(rw, i)))
            continue;
        if (rw->hooks->tree || rw->hooks->node) {
            uint32_t first = vy_stmt_exprs_first(rw->from, s), end = vy_stmt_exprs_end(rw->from, s, first);
            rw->changes += !keeps_exprs(rw, first, end);
        }
        if (vy_stmt_is_structured(s->kind)) {
            scan_block(rw, i + 1, s->middle);
            scan_block(rw, s->middle, s->end);
        }
        ended = vy_rewrite_ends_block(rw, s->kind);
    }
}

/* Whether the hooks say something of a statement itself. *next: the statement to look at after it, if not that behind its head. */
static int touches_stmt(vy_rewrite *rw, uint32_t index, uint32_t *next) {
    const vy_rewriter *hooks = rw->hooks;
    if (!hooks->stmt || !hooks->supports_dry_run)
        return hooks->stmt != NULL;
    uint64_t before = rw->changes;
    if (hooks->stmt(rw, index)) {
        *next = rw->from->stmts.items[index].end;
        return 1;
    }
    return rw->changes != before;
}

static void note_touched(vy_rewrite *rw, uint32_t stmt, int by_trees) {
    if (!VY_RESERVE(&rw->touched, 1)) {
        rw->draft.failed = 1;
        return;
    }
    rw->touched.items[rw->touched.count++] = (vy_touched){stmt, (uint32_t)by_trees};
    rw->changes++;
}

/* With find: notes all statements in whose trees something is found. One is enough where all trees are written then. */
static void find_in_trees(vy_rewrite *rw) {
    const vyre_program *p = rw->from;
    int one_is_enough = rw->hooks->rewrite_exprs && vy_rewrite_may_edit(rw);
    uint32_t found = 0, stmt = 0, end = 0;
    rw->may_bind = 1;
    while ((found = rw->hooks->find(rw, end, p->exprs.count)) < p->exprs.count && !rw->draft.failed) {
        while ((end = vy_stmt_exprs_end(p, &p->stmts.items[stmt], end)) <= found)
            stmt++;
        note_touched(rw, stmt++, 0);
        if (one_is_enough)
            return;
    }
}

/* With next: the same for a list, of all functions. */
static void list_touched(vy_rewrite *rw) {
    uint32_t stmt = 0, cursor = 0;
    while ((stmt = rw->hooks->next(rw, stmt, &cursor)) != VY_NONE && !rw->draft.failed)
        note_touched(rw, stmt++, 0);
}

/* With changes_stmt_hook: the same as below, for who is asked nothing else. *next is the first expression of the function, and then of the next. */
static void ask_touched(vy_rewrite *rw, uint32_t *next) {
    const vyre_program *p = rw->from;
    const vy_stmt *stmts = p->stmts.items;
    int (*changes_stmt_hook)(vy_rewrite *, uint32_t, uint32_t, uint32_t) = rw->hooks->changes_stmt_hook;
    uint32_t expr = *next;
    for (uint32_t i = rw->function->first_stmt; i < rw->function->end_stmt && !rw->draft.failed; i++) {
        uint32_t end = vy_stmt_exprs_end(p, &stmts[i], expr);
        rw->may_bind = stmts[i].kind != VY_STMT_WHILE;
        if (changes_stmt_hook(rw, i, expr, end))
            note_touched(rw, i, 0);
        expr = end;
    }
    *next = expr;
}

/* With keeps_blocks: notes all statements of a function of which the hooks say something. */
static void find_touched(vy_rewrite *rw) {
    const vyre_program *p = rw->from;
    uint32_t end = 0; /* of the expressions of the statement before */
    for (uint32_t i = rw->function->first_stmt, next = i; i < rw->function->end_stmt && !rw->draft.failed; i = next) {
        const vy_stmt *s = &p->stmts.items[i];
        uint32_t first = end ? end : vy_stmt_exprs_first(p, s);
        end = vy_stmt_exprs_end(p, s, first);
        rw->may_bind = s->kind != VY_STMT_WHILE;
        next = i + 1;
        int is_touched = touches_stmt(rw, i, &next);
        int by_trees = !is_touched && !keeps_exprs(rw, first, end);
        end = next == i + 1 ? end : 0;
        if (is_touched || by_trees)
            note_touched(rw, i, by_trees);
    }
}

void vy_rewrite_dry_run(vy_rewrite *rw) {
    const vyre_program *p = rw->from;
    vyre_program *draft = start_dry_run(rw);
    uint32_t expr = 0;
    int is_listed = rw->hooks->find || rw->hooks->next;
    if (rw->hooks->find)
        find_in_trees(rw);
    else if (rw->hooks->next)
        list_touched(rw);
    for (uint32_t i = 0; !is_listed && i < p->functions.count && (rw->hooks->keeps_blocks || !rw->changes); i++) {
        rw->function = &p->functions.items[i];
        for (uint32_t k = 0; rw->drop_memories && k < rw->function->memory_count; k++)
            rw->changes += p->memories.items[rw->function->first_memory + k].space != VY_SPACE_BUFFER &&
                           rw->drop_memories[rw->function->first_memory + k];
        if (rw->hooks->changes_stmt_hook)
            ask_touched(rw, &expr);
        else if (rw->hooks->keeps_blocks)
            find_touched(rw);
        else
            scan_block(rw, rw->function->first_stmt, rw->function->end_stmt);
    }
    end_dry_run(rw, draft);
}
