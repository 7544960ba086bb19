/* Statements of what is rewritten (rewriter_stmts.h). */
#include "opt/rewriter_stmts.h"

#include "opt/rewriter_dry_run.h"
#include "opt/rewriter_exprs.h"
#include "opt/rewriter_names.h"

/* ---- trees ---- */

/* The trees as they are. */
static void copy_trees(vy_rewrite *rw, const vy_stmt *s, uint32_t first, uint32_t end, vy_stmt *copy) {
    const vy_arg *args = s->arg_count ? rw->from->args.items + s->args : NULL;
    uint32_t at = vy_irb_clone_exprs(&rw->draft, rw->from, first, end, rw->variables, rw->memories), by = at - first;
    if (rw->draft.failed)
        return;
    copy->a = s->a == VY_NONE ? VY_NONE : s->a + by;
    copy->b = s->b == VY_NONE ? VY_NONE : s->b + by;
    copy->c = s->c == VY_NONE ? VY_NONE : s->c + by;
    rw->args.count = 0;
    if (!VY_RESERVE(&rw->args, s->arg_count)) {
        rw->draft.failed = 1;
        return;
    }
    for (uint32_t i = 0; i < s->arg_count; i++)
        rw->args.items[rw->args.count++] =
            args[i].is_memory ? (vy_arg){1, rw->memories[args[i].index]} : (vy_arg){0, args[i].index + by};
}

uint32_t vy_rewrite_start_exprs(vy_rewrite *rw, uint32_t count) {
    vyre_program *made = rw->draft.program;
    rw->row.count = 0;
    if (made == rw->from) { /* it is edited, all of it */
        rw->draft.failed = !VY_RESERVE(&rw->row, count);
        return rw->draft.failed ? VY_NONE : 0;
    }
    if (rw->draft.failed || vy_irb_is_full(&rw->draft, made->exprs.count + count - 1, VY_LIMIT_EXPRESSIONS))
        return VY_NONE;
    rw->draft.failed = !VY_RESERVE(&rw->row, count) || !VY_RESERVE(&made->exprs, count) ||
                       (vy_irb_keeps_expr_positions(&rw->draft) && !VY_RESERVE(&made->expr_positions, count));
    return rw->draft.failed ? VY_NONE : made->exprs.count;
}

uint32_t vy_rewrite_copy_exprs(vy_rewrite *rw, uint32_t first, uint32_t end) {
    if (vy_rewrite_start_exprs(rw, end - first) == VY_NONE)
        return VY_NONE;
    uint32_t at = vy_irb_clone_exprs(&rw->draft, rw->from, first, end, rw->variables, rw->memories);
    for (uint32_t i = 0; i < end - first; i++)
        rw->row.items[i] = at + i;
    return at;
}

static uint32_t root_in_row(const vy_rewrite *rw, uint32_t first, uint32_t root) {
    return root == VY_NONE ? VY_NONE : rw->row.items[root - first];
}

/* The trees [first, end), written by the pass. */
static void write_row(vy_rewrite *rw, const vy_stmt *s, uint32_t first, uint32_t end, vy_stmt *copy) {
    rw->args.count = 0;
    if (end > first)
        rw->hooks->rewrite_exprs(rw, first, end);
    if (rw->draft.failed || !VY_RESERVE(&rw->args, s->arg_count)) {
        rw->draft.failed = 1;
        return;
    }
    copy->a = root_in_row(rw, first, s->a);
    copy->b = root_in_row(rw, first, s->b);
    copy->c = root_in_row(rw, first, s->c);
    for (uint32_t i = 0; i < s->arg_count; i++) {
        vy_arg arg = rw->from->args.items[s->args + i];
        arg.index = arg.is_memory ? rw->memories[arg.index] : root_in_row(rw, first, arg.index);
        rw->args.items[rw->args.count++] = arg;
    }
}

/* Reads all trees, then writes them: what reading put before the statement stands before all of them. */
static void copy_operands(vy_rewrite *rw, const vy_stmt *s, vy_stmt *copy) {
    const vyre_program *p = rw->from;
    uint32_t a = vy_rewrite_read(rw, s->a), b = vy_rewrite_read(rw, s->b), c = vy_rewrite_read(rw, s->c);
    rw->args.count = 0;
    for (uint32_t i = 0; i < s->arg_count; i++) {
        vy_arg arg = p->args.items[s->args + i], *slot = VY_PUSH(&rw->args);
        arg.index = arg.is_memory ? rw->memories[arg.index] : vy_rewrite_read(rw, arg.index);
        if (slot)
            *slot = arg;
        else
            rw->draft.failed = 1;
    }
    copy->a = vy_rewrite_write_tree(rw, s->a, a);
    copy->b = vy_rewrite_write_tree(rw, s->b, b);
    copy->c = vy_rewrite_write_tree(rw, s->c, c);
    for (uint32_t i = 0; i < s->arg_count && !rw->draft.failed; i++)
        if (!rw->args.items[i].is_memory)
            rw->args.items[i].index =
                vy_rewrite_write_tree(rw, p->args.items[s->args + i].index, rw->args.items[i].index);
}

void vy_rewrite_trees(vy_rewrite *rw, const vy_stmt *s, uint32_t first, uint32_t end, vy_stmt *copy) {
    if (rw->hooks->rewrite_exprs)
        write_row(rw, s, first, end, copy);
    else
        copy_operands(rw, s, copy);
}

/* ---- statements ---- */

/* A statement without its body: structured ones are left open. What is written may cover it in the source. */
static void copy_head(vy_rewrite *rw, uint32_t index) {
    const vyre_program *p = rw->from;
    const vy_stmt *s = &p->stmts.items[index];
    vy_stmt copy = *s;
    uint32_t variable = s->variable, result_count = s->result_count;
    vy_symbol names[VY_LIMIT_RESULTS];
    vyre_type types[VY_LIMIT_RESULTS];
    uint32_t first, end;
    rw->may_bind = s->kind != VY_STMT_WHILE;
    if (vy_rewrite_keeps_trees(rw, index, &first, &end))
        copy_trees(rw, s, first, end, &copy);
    else
        vy_rewrite_trees(rw, s, first, end, &copy);
    copy.memory = s->memory == VY_NONE ? VY_NONE : rw->memories[s->memory];
    copy.variable = s->kind == VY_STMT_ASSIGN ? rw->variables[s->variable] : VY_NONE;
    copy.name = vy_rewrite_copy_name(rw, s->name);
    for (uint32_t i = 0; i < s->result_count; i++) {
        names[i] = vy_rewrite_free_name(rw, p->variables.items[s->variable + i].name);
        types[i] = (vyre_type)p->variables.items[s->variable + i].type;
        if (s->kind != VY_STMT_FOR)
            vy_rewrite_show_copied(rw, names[i]); /* a loop variable belongs to the body */
    }
    rw->draft.position = vy_stmt_position(p, index);
    if (rw->draft.failed)
        return;
    uint32_t made = vy_irb_stmt(&rw->draft, &copy, rw->args.items, rw->args.count, names, types);
    for (uint32_t i = 0; i < result_count && made != VY_NONE; i++)
        rw->variables[variable + i] = rw->draft.program->stmts.items[made].variable + i;
}

static void copy_structured(vy_rewrite *rw, uint32_t index) {
    const vy_stmt s = rw->from->stmts.items[index];
    copy_head(rw, index);
    uint32_t mark = vy_rewrite_open(rw);
    if (s.kind == VY_STMT_FOR && !rw->draft.failed)
        vy_rewrite_show_copied(rw, rw->draft.program->variables.items[rw->variables[s.variable]].name);
    vy_rewrite_block(rw, index + 1, s.middle);
    vy_rewrite_close(rw, mark);
    if (s.middle != s.end) {
        vy_irb_else(&rw->draft);
        vy_rewrite_block(rw, s.middle, s.end);
        vy_rewrite_close(rw, mark);
    }
    vy_irb_end_block(&rw->draft);
    rw->ended = 0;
}

/* With keeps_blocks: copies the statements from `first` on of which the hooks say nothing. Returns where it stopped. */
static uint32_t copy_run(vy_rewrite *rw, uint32_t first, uint32_t end) {
    const vyre_program *p = rw->from;
    const vy_stmt *stmts = p->stmts.items;
    const vy_touched *touched = vy_rewrite_next_touched(rw, first);
    uint32_t stop = touched ? touched->stmt : end, next = first, last = first;
    while (next < end && stmts[next].end <= stop) {
        last = next;
        next = stmts[next].end;
    }
    if (next == first)
        return first;
    rw->ended |= vy_rewrite_ends_block(rw, stmts[last].kind);
    for (uint32_t i = first; i < next && !rw->hooks->keeps_names; i++) {
        vy_rewrite_copy_name(rw, stmts[i].name);
        for (uint32_t k = 0; k < stmts[i].result_count; k++)
            vy_rewrite_copy_name(rw, p->variables.items[stmts[i].variable + k].name);
    }
    if (!rw->draft.failed)
        vy_irb_clone_stmts(&rw->draft, p, first, next, rw->variables, rw->memories, rw->names);
    return next;
}

void vy_rewrite_block(vy_rewrite *rw, uint32_t first, uint32_t end) {
    if (rw->is_dry_run) { /* a pass that writes blocks itself changes something */
        rw->changes++;
        return;
    }
    rw->ended = 0;
    for (uint32_t i = first, next; i < end && !rw->draft.failed; i = next) {
        uint8_t kind = rw->from->stmts.items[i].kind;
        if (rw->ended) { /* only a pass brings this about */
            rw->changes++;
            return;
        }
        next = rw->hooks->keeps_blocks ? copy_run(rw, i, end) : i;
        if (next > i)
            continue;
        next = rw->from->stmts.items[i].end;
        rw->pool.count = 0;
        rw->may_bind = kind != VY_STMT_WHILE;
        if (rw->hooks->stmt && rw->hooks->stmt(rw, i))
            continue;
        if (vy_stmt_is_structured(kind))
            copy_structured(rw, i);
        else
            copy_head(rw, i);
        rw->ended |= vy_rewrite_ends_block(rw, kind);
    }
}
