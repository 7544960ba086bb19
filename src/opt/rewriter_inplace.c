/* Editing (rewriter_inplace.h). A hook that writes rows writes one, of all trees. Else the trees of a statement that changes are written behind the last expression of the program first, and from
 * there to their place. */
#include "opt/rewriter_inplace.h"

#include "ir/walk.h"
#include "opt/constant_fold.h"
#include "opt/rewriter_stmts.h"

/* The expressions up to `next` of what was the source are before `to`. */
typedef struct edit {
    vyre_program *program;
    uint32_t next, to;
} edit;

/* The operands of a statement whose expressions have moved down by `by`. */
static void move_operands(vyre_program *p, vy_stmt *s, uint32_t by) {
    s->a -= s->a == VY_NONE ? 0 : by;
    s->b -= s->b == VY_NONE ? 0 : by;
    s->c -= s->c == VY_NONE ? 0 : by;
    for (uint32_t i = 0; i < s->arg_count; i++)
        p->args.items[s->args + i].index -= p->args.items[s->args + i].is_memory ? 0 : by;
}

/* The statements [first, end), of which nothing changes; their expressions go up to `last`. */
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

/* Room for the largest statement that is written, so that nothing moves meanwhile. */
static int reserve(const vy_rewrite *rw, vyre_program *p) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < rw->touched.count; i++) {
        const vy_stmt *s = &p->stmts.items[rw->touched.items[i].stmt];
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
        close_up(&e, done, stmt, vy_stmt_exprs_first(e.program, &e.program->stmts.items[stmt]));
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
    rw->draft.program = NULL; /* it was none */
}
