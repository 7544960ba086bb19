/* Writing in place (rewriter_overlap.h). */
#include "opt/rewriter_overlap.h"

#include "base/status.h"
#include "ir/build/finish.h"

/* Moves the items [stay, end) up. Returns where the first would be then, if it moved as well. */
static void *slide(void *items, uint32_t stay, uint32_t end, uint32_t by, size_t size) {
    char *bytes = items;
    if (!by)
        return items; /* which may be none */
    memmove(bytes + (stay + by) * size, bytes + stay * size, (end - stay) * size);
    return bytes + by * size;
}

/* Makes room for `by` more items, and moves all but the first `stay` up by as many, with the `kept` that stand behind the last. The source has them where they are then. */
#define MOVE_UP(made, source, stay, by, kept)                                                                          \
    (VY_RESERVE(made, (by) + (kept)) &&                                                                                \
     ((source)->items = slide((made)->items, (stay), (made)->count + (kept), (by), sizeof *(made)->items),             \
      (made)->count = (stay), 1))

/* Makes `source` the program as it was, and its arrays empty but for what is declared before the first statement. 0 when memory is out. */
static int move_up(vyre_program *p, const vy_growth_bound *by, vyre_program *source) {
    memcpy(source, p, sizeof *source);
    return MOVE_UP(&p->stmts, &source->stmts, 0, by->stmts, 0) &&
           (!p->stmt_positions.count || MOVE_UP(&p->stmt_positions, &source->stmt_positions, 0, by->stmts, 0)) &&
           MOVE_UP(&p->exprs, &source->exprs, 0, by->exprs, by->kept_exprs) &&
           MOVE_UP(&p->args, &source->args, 0, by->args, 0) &&
           MOVE_UP(&p->variables, &source->variables, p->param_count, by->variables, 0);
}

/* Where what is declared last is, which is what a pass may give to what it writes first. */
static vy_position last_declared(const vyre_program *p) {
    return p->memories.count ? p->memories.items[p->memories.count - 1].position
           : p->param_count  ? p->variables.items[p->param_count - 1].position
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
    vyre_status status = vy_irb_finish(&rw->draft, source.source, NULL, out, error); /* which retains it again */
    vy_source_release(source.source);
    return status;
}
