/* Dry run, in-place editing and overlapped rewriting (rewriter.h). Invariant: the expressions of the source are read
 * before they are overwritten. */
#include "opt/rewriter.h"

#include "base/status.h"
#include "ir/build/builder_internal.h"
#include "ir/walk.h"
#include "opt/constant_fold.h"

/* ---- the trees of a statement ---- */

/* Starts a dry run, in which the source is also the draft. Returns the argument for end_dry_run. */
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

/* Whether the hooks change nothing in the expressions [first, end), the trees of a statement. Operands precede
 * operators, so up to the first change every node equals the source. Only in a dry run. */
static int keeps_exprs(vy_rewrite *rw, uint32_t first, uint32_t end) {
    const vy_rewriter *hooks = rw->hooks;
    const vy_expr *exprs = rw->from->exprs.items;
    unsigned asked = !hooks->tree ? 0 : hooks->tree_kinds ? hooks->tree_kinds : UINT8_MAX;
    unsigned asked_nodes = !hooks->node ? 0 : hooks->node_kinds ? hooks->node_kinds : UINT8_MAX;
    int supports_dry_run = hooks->supports_dry_run;
    const uint8_t *ops = hooks->node_ops;
    uint64_t before = rw->changes;
    for (uint32_t i = first; i < end; i++) {
        if (asked >> exprs[i].kind & 1 && (!supports_dry_run || hooks->tree(rw, i) != VY_NONE))
            return 0;
        if (asked_nodes >> exprs[i].kind & 1 && (exprs[i].kind != VY_EXPR_OP || !ops || ops[exprs[i].op]) &&
            (!supports_dry_run || hooks->node(rw, i) != i))
            return 0;
    }
    return rw->changes == before;
}

int vy_rewrite_keeps_trees(vy_rewrite *rw, uint32_t stmt, uint32_t *first, uint32_t *end) {
    const vy_stmt *s = vy_stmt_at(rw->from, stmt);
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

/* ---- the whole program ---- */

/* Visits the statements in the order of vy_rewrite_block, up to the first change. Recursion is bounded by
 * VY_LIMIT_NESTING. */
static void scan_block(vy_rewrite *rw, uint32_t first, uint32_t end) {
    int ended = 0;
    for (uint32_t i = first; i < end && !rw->draft.failed && !rw->changes; i = vy_stmt_at(rw->from, i)->end) {
        const vy_stmt *s = vy_stmt_at(rw->from, i);
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

/* Whether the hooks change a statement itself. *next: the statement to visit next, if it is not the following one. */
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

/* With find: records all statements with trees that may change. The first suffices if all trees are then written. */
static void find_in_trees(vy_rewrite *rw) {
    const vyre_program *p = rw->from;
    int one_is_enough = rw->hooks->rewrite_exprs && vy_rewrite_may_edit(rw);
    uint32_t found = 0, stmt = 0, end = 0;
    rw->may_bind = 1;
    while ((found = rw->hooks->find(rw, end, p->exprs.count)) < p->exprs.count && !rw->draft.failed) {
        while ((end = vy_stmt_exprs_end(p, vy_stmt_at(p, stmt), end)) <= found)
            stmt++;
        note_touched(rw, stmt++, 0);
        if (one_is_enough)
            return;
    }
}

/* With next: records the listed statements of all functions. */
static void list_touched(vy_rewrite *rw) {
    uint32_t stmt = 0, cursor = 0;
    while ((stmt = rw->hooks->next(rw, stmt, &cursor)) != VY_NONE && !rw->draft.failed)
        note_touched(rw, stmt++, 0);
}

/* With changes_stmt_hook: the same as below. *next is the first expression of the function, and then of the next
 * function. */
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

/* With keeps_blocks: records all statements of a function that the hooks change. */
static void find_touched(vy_rewrite *rw) {
    const vyre_program *p = rw->from;
    uint32_t end = 0; /* of the expressions of the previous statement */
    for (uint32_t i = rw->function->first_stmt, next = i; i < rw->function->end_stmt && !rw->draft.failed; i = next) {
        const vy_stmt *s = vy_stmt_at(p, i);
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
            rw->changes += vy_memory_at(p, rw->function->first_memory + k)->space != VY_SPACE_BUFFER &&
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

/* ---- editing in place ----
 *
 * If a hook writes all trees itself, one call covers the whole program. Otherwise the trees of a changed statement are
 * first written after the last expression of the program, and then moved down. */

/* The expressions of the source up to `next` are before `to`. */
typedef struct edit {
    vyre_program *program;
    uint32_t next, to;
} edit;

/* Adjusts the operands of a statement whose expressions have moved down by `by`. */
static void move_operands(vyre_program *p, vy_stmt *s, uint32_t by) {
    s->a -= s->a == VY_NONE ? 0 : by;
    s->b -= s->b == VY_NONE ? 0 : by;
    s->c -= s->c == VY_NONE ? 0 : by;
    for (uint32_t i = 0; i < s->arg_count; i++)
        p->args.items[s->args + i].index -= p->args.items[s->args + i].is_memory ? 0 : by;
}

/* Moves the expressions of the unchanged statements [first, end), which end at `last`. */
static void close_up(edit *e, uint32_t first, uint32_t end, uint32_t last) {
    vyre_program *p = e->program;
    uint32_t by = e->next - e->to;
    for (uint32_t i = first; i < end && by; i++)
        move_operands(p, &p->stmts.items[i], by);
    if (by)
        vy_fold_slide(p, e->next, last, e->to);
    e->to += last - e->next;
    e->next = last;
}

static void write_stmt(vy_rewrite *rw, edit *e, uint32_t index) {
    vyre_program *p = e->program;
    vy_stmt *s = &p->stmts.items[index];
    vy_stmt made = *s;
    uint32_t end = vy_stmt_exprs_end(p, s, e->next), at = p->exprs.count;
    rw->pool.count = 0;
    rw->may_bind = 0;
    vy_rewrite_trees(rw, s, e->next, end, &made);
    if (rw->draft.failed)
        return;
    uint32_t written = p->exprs.count - at;
    vy_fold_slide(p, at, at + written, e->to);
    for (uint32_t i = 0; i < s->arg_count; i++)
        p->args.items[s->args + i] = rw->args.items[i];
    *s = made;
    move_operands(p, s, at - e->to);
    p->exprs.count = at;
    if (vy_irb_keeps_expr_positions(&rw->draft))
        p->expr_positions.count = at;
    e->to += written;
    e->next = end;
}

/* Reserves memory for the largest statement, so that the arrays do not move meanwhile. */
static int reserve(const vy_rewrite *rw, vyre_program *p) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < rw->touched.count; i++) {
        const vy_stmt *s = vy_stmt_at(p, rw->touched.items[i].stmt);
        uint32_t first = vy_stmt_exprs_first(p, s), count = vy_stmt_exprs_end(p, s, first) - first;
        largest = count > largest ? count : largest;
    }
    return VY_RESERVE(&p->exprs, largest) && (!p->expr_positions.count || VY_RESERVE(&p->expr_positions, largest));
}

static void edit_stmts(vy_rewrite *rw) {
    edit e = {.program = (vyre_program *)rw->from};
    uint32_t done = 0;
    rw->draft.failed = !reserve(rw, e.program);
    for (uint32_t i = 0; i < rw->touched.count && !rw->draft.failed; i++) {
        uint32_t stmt = rw->touched.items[i].stmt;
        close_up(&e, done, stmt, vy_stmt_exprs_first(e.program, vy_stmt_at(e.program, stmt)));
        write_stmt(rw, &e, stmt);
        done = stmt + 1;
    }
    if (!rw->draft.failed) {
        close_up(&e, done, e.program->stmts.count, e.program->exprs.count);
        e.program->exprs.count = e.to;
        if (e.program->expr_positions.count)
            e.program->expr_positions.count = e.to;
    }
}

static void edit_row(vy_rewrite *rw) {
    vyre_program *p = (vyre_program *)rw->from;
    rw->hooks->rewrite_exprs(rw, 0, p->exprs.count);
    const uint32_t *row = rw->row.items;
    for (uint32_t i = 0; i < p->stmts.count && !rw->draft.failed; i++) {
        vy_stmt *s = &p->stmts.items[i];
        s->a = s->a == VY_NONE ? VY_NONE : row[s->a];
        s->b = s->b == VY_NONE ? VY_NONE : row[s->b];
        s->c = s->c == VY_NONE ? VY_NONE : row[s->c];
    }
    for (uint32_t i = 0; i < p->args.count && !rw->draft.failed; i++)
        if (!p->args.items[i].is_memory)
            p->args.items[i].index = row[p->args.items[i].index];
}

void vy_rewrite_edit(vy_rewrite *rw) {
    vyre_program *p = (vyre_program *)rw->from;
    for (uint32_t i = 0; i < p->variables.count; i++)
        rw->variables[i] = i;
    for (uint32_t i = 0; i < p->memories.count; i++)
        rw->memories[i] = i;
    rw->changes = 0;
    rw->draft = (vy_irb){.program = p,
                         .keep_positions = p->stmt_positions.count != 0,
                         .drop_expr_positions = p->expr_positions.count == 0};
    if (rw->hooks->rewrite_exprs)
        edit_row(rw);
    else
        edit_stmts(rw);
    rw->draft.program = NULL; /* the draft was only borrowed */
}

/* ---- rewriting within the program's own arrays ---- */

/* Moves the items [stay, end) up. Returns the address that the first item would then have. */
static void *slide(void *items, uint32_t stay, uint32_t end, uint32_t by, size_t size) {
    char *bytes = items;
    if (!by)
        return items; /* which may be NULL */
    memmove(bytes + (stay + by) * size, bytes + stay * size, (end - stay) * size);
    return bytes + by * size;
}

/* Reserves `by` more items, and moves all but the first `stay` up by as many, with the `kept` items after the last
 * one. `source` then has the new addresses. */
#define MOVE_UP(made, source, stay, by, kept)                                                                          \
    (VY_RESERVE(made, (by) + (kept)) &&                                                                                \
     ((source)->items = slide((made)->items, (stay), (made)->count + (kept), (by), sizeof *(made)->items),             \
      (made)->count = (stay), 1))

/* Makes `source` the original program, and empties its own arrays except for the declarations before the first
 * statement. Returns 0 if out of memory. */
static int move_up(vyre_program *p, const vy_growth_bound *by, vyre_program *source) {
    memcpy(source, p, sizeof *source);
    return MOVE_UP(&p->stmts, &source->stmts, 0, by->stmts, 0) &&
           (!p->stmt_positions.count || MOVE_UP(&p->stmt_positions, &source->stmt_positions, 0, by->stmts, 0)) &&
           MOVE_UP(&p->exprs, &source->exprs, 0, by->exprs, by->kept_exprs) &&
           MOVE_UP(&p->args, &source->args, 0, by->args, 0) &&
           MOVE_UP(&p->variables, &source->variables, p->param_count, by->variables, 0);
}

/* The position of the last declaration, which a pass may use for its first statements. */
static vy_position last_declared(const vyre_program *p) {
    return p->memories.count ? vy_memory_at(p, p->memories.count - 1)->position
           : p->param_count  ? vy_variable_at(p, p->param_count - 1)->position
                             : vy_program_entry(p)->position;
}

static void write_entry(vy_rewrite *rw, const vyre_program *source, vyre_program *p) {
    const vy_function entry = *vy_program_entry(source);
    rw->from = source;
    rw->function = &entry;
    rw->changes = 0;
    for (uint32_t i = 0; i < p->param_count; i++)
        rw->variables[i] = i;
    for (uint32_t i = 0; i < p->memories.count; i++)
        rw->memories[i] = i;
    vy_rewrite_block(rw, entry.first_stmt, entry.end_stmt);
    vy_irb_end_function(&rw->draft);
}

vyre_status vy_rewrite_in_place(vy_rewrite *rw, vyre_program **out, vyre_error *error) {
    vyre_program *p = (vyre_program *)rw->from, source;
    vy_growth_bound by = {0};
    rw->hooks->growth_bound(rw, &by);
    int has_positions = p->stmt_positions.count != 0;
    if (!move_up(p, &by, &source))
        return vy_fail_memory(error, "a pass");
    rw->draft = (vy_irb){.program = vyre_program_retain(p),
                         .in_entry = 1,
                         .keep_positions = has_positions,
                         .position = last_declared(p),
                         .drop_expr_positions = 1,
                         .fail_at_limit = 1,
                         .skip_verify = 1};
    write_entry(rw, &source, p);
    rw->from = p;
    p->is_verified = p->has_fingerprint = 0;
    vyre_status status = vy_irb_finish(&rw->draft, source.source, NULL, out, error); /* which retains it */
    vy_source_release(source.source);
    return status;
}
