/* Barriers for dialects without barriers: the invocations of a workgroup run sequentially (c_family.h).
 *
 * The code executes for each invocation in order, and is repeated until all invocations have ended. At a barrier it
 * stores the barrier's number in the invocation's struct and ends. At the next repetition, a `switch` around the body
 * jumps to this barrier. Barriers are therefore possible in any control flow. A variable or private array that is live
 * across a barrier is a field of the struct; all other variables are declared where the program declares them.
 *
 * A variable is live across a barrier if there is one between its declaration and its last use. A use in a loop that
 * began after the declaration counts as a use at the loop's end, since the next iteration can execute it again. An
 * array is live from its first access to its last one; an access in a loop counts as one of the whole outermost
 * loop. */
#include "emit/c_family/c_family.h"

#include "ir/walk.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- values that are live across a barrier ---- */

/* The loops around the statement, outermost first, and for each variable and memory its first and last statement. */
typedef struct scan {
    vy_c *c;
    uint32_t loops[VY_LIMIT_NESTING + 1], depth;
    uint32_t *declared, *last;
    uint32_t *first_access, *last_access; /* VY_NONE: no access */
    uint32_t *barriers;                   /* by statement: the number of barriers before it */
} scan;

static void note_use(scan *s, uint32_t variable, uint32_t stmt) {
    uint32_t at = stmt;
    for (uint32_t i = s->depth; i-- > 0 && s->loops[i] > s->declared[variable];)
        at = vy_c_stmt(s->c, s->loops[i])->end - 1;
    if (at > s->last[variable])
        s->last[variable] = at;
}

static void note_access(scan *s, uint32_t memory, uint32_t stmt) {
    if (s->first_access[memory] == VY_NONE)
        s->first_access[memory] = s->depth ? s->loops[0] : stmt;
    s->last_access[memory] = s->depth ? vy_c_stmt(s->c, s->loops[0])->end - 1 : stmt;
}

static void scan_stmt(scan *s, uint32_t stmt) {
    const vyre_program *p = s->c->program;
    const vy_stmt *given = vy_c_stmt(s->c, stmt);
    uint32_t first = vy_stmt_exprs_first(p, given), end = vy_stmt_exprs_end(p, given, first);
    for (uint32_t i = first; i < end; i++) {
        const vy_expr *e = vy_c_expr_at(s->c, i);
        if (e->kind == VY_EXPR_VARIABLE)
            note_use(s, e->a, stmt);
        else if (e->kind == VY_EXPR_LOAD)
            note_access(s, e->a, stmt);
    }
    if (given->memory != VY_NONE)
        note_access(s, given->memory, stmt);
    if (given->kind == VY_STMT_ASSIGN)
        note_use(s, given->variable, stmt);
    for (uint32_t i = 0; i < given->result_count; i++) {
        s->declared[given->variable + i] = stmt;
        s->last[given->variable + i] = given->kind == VY_STMT_FOR ? given->end - 1 : stmt;
    }
    s->c->reports |= given->kind == VY_STMT_RECORD_TRAP;
    s->c->polls |= given->kind == VY_STMT_POLL;
    s->c->barriers |= given->kind == VY_STMT_BARRIER;
    s->c->grid_barriers |= given->kind == VY_STMT_BARRIER && given->scope == VYRE_SCOPE_DEVICE;
}

/* The bounds of a `for` are evaluated once, before the loop; the condition of a `while`, in it. Recursion is bounded by
 * VY_LIMIT_NESTING. */
static void scan_block(scan *s, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i = vy_c_stmt(s->c, i)->end) {
        const vy_stmt *given = vy_c_stmt(s->c, i);
        const uint32_t depth = s->depth;
        if (given->kind == VY_STMT_WHILE)
            s->loops[s->depth++] = i;
        scan_stmt(s, i);
        if (given->kind == VY_STMT_FOR)
            s->loops[s->depth++] = i;
        if (vy_stmt_is_structured(given->kind))
            scan_block(s, i + 1, given->end);
        s->depth = depth;
    }
}

void vy_c_scan(vy_c *c) {
    const uint32_t variables = c->program->variables.count, memories = c->program->memories.count,
                   first = c->entry->first_stmt, end = c->entry->end_stmt;
    scan s = {.c = c};
    s.declared = vy_arena_allocate(&c->arena, (variables + 1) * sizeof *s.declared);
    s.last = vy_arena_allocate(&c->arena, (variables + 1) * sizeof *s.last);
    s.first_access = vy_arena_allocate(&c->arena, (memories + 1) * sizeof *s.first_access);
    s.last_access = vy_arena_allocate(&c->arena, (memories + 1) * sizeof *s.last_access);
    s.barriers = vy_arena_allocate(&c->arena, ((size_t)end + 2) * sizeof *s.barriers);
    if (!s.declared || !s.last || !s.first_access || !s.last_access || !s.barriers) {
        vy_c_refuse_memory(c);
        return;
    }
    for (uint32_t i = 0; i < memories; i++)
        s.first_access[i] = VY_NONE;
    scan_block(&s, first, end);
    for (uint32_t i = first; i <= end; i++)
        s.barriers[i + 1] = s.barriers[i] + (i < end && vy_c_stmt(c, i)->kind == VY_STMT_BARRIER);
    for (uint32_t i = c->program->param_count; i < c->entry->variable_count && c->status == VYRE_OK; i++) {
        uint32_t v = c->entry->first_variable + i;
        c->is_kept[v] = s.barriers[s.last[v] + 1] > s.barriers[s.declared[v] + 1];
        if (c->is_kept[v])
            vy_c_add_field(c, c->variables[v], vy_c_variable_type(c, v));
    }
    for (uint32_t i = vy_c_buffers_end(c); i < vy_c_memories_end(c); i++)
        c->is_kept_array[i] = vy_c_memory_at(c, i)->space == VY_SPACE_PRIVATE && s.first_access[i] != VY_NONE &&
                              s.barriers[s.last_access[i] + 1] > s.barriers[s.first_access[i]];
}

/* ---- statements ---- */

void vy_c_barrier(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    char number[16];
    snprintf(number, sizeof number, "%u", ++c->resumes);
    vy_c_line(c, stmt, "self->at = %s;", number);
    vy_c_line(c, VY_NONE, c->dialect->at_barrier[s->scope == VYRE_SCOPE_DEVICE]);
    c->indentation--;
    vy_c_line(c, VY_NONE, "case %s:;", number);
    c->indentation++;
}

void vy_c_return(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    (void)s;
    if (c->barriers)
        vy_c_line(c, VY_NONE, "self->at = %s_MAX;", c->dialect->limits[VYRE_TYPE_U32]);
    vy_c_line(c, stmt, c->barriers ? c->dialect->at_end : "return;");
}

void vy_c_invocation(vy_c *c) {
    if (c->barriers) {
        vy_c_line(c, VY_NONE, "switch (self->at) {");
        vy_c_line(c, VY_NONE, "case 0:;");
        vy_c_body(c, c->entry->first_stmt, c->entry->end_stmt);
        vy_c_line(c, VY_NONE, "}");
        vy_c_return(c, VY_NONE, NULL);
    } else {
        vy_c_block(c, c->entry->first_stmt, c->entry->end_stmt);
    }
}

/* ---- the struct of an invocation ---- */

void vy_c_arrays(vy_c *c, vy_space space, int is_kept) {
    for (uint32_t i = vy_c_buffers_end(c); i < vy_c_memories_end(c); i++)
        if (vy_c_memory_at(c, i)->space == space && c->is_kept_array[i] == is_kept)
            vy_string_format(c->out, "    %s %s[%" PRIu32 "]%s;\n", vy_c_type(c, vy_c_memory_at(c, i)->type),
                             vy_c_memory(c, i), vy_c_memory_at(c, i)->elements, c->dialect->array_attribute);
}

void vy_c_state(vy_c *c) {
    vy_string_format(
        c->out,
        "/* The state of an invocation at a barrier: the barrier, and the values that are needed after it. "
        "*/\n"
        "struct %s_invocation {\n"
        "    %s at;\n",
        vyre_program_name(c->program), vy_c_type(c, VYRE_TYPE_U32));
    for (uint32_t i = 0; i < c->fields.count; i++)
        vy_string_format(c->out, "    %s %s;\n", vy_c_type(c, c->fields.items[i].type),
                         vy_c_text(c, c->fields.items[i].name));
    vy_c_arrays(c, VY_SPACE_PRIVATE, 1);
    vy_string_add(c->out, "};\n");
}
