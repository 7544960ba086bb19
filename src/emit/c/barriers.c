/* Barriers of the C emitter, and the other statements that plain C has its own code for.
 *
 * C has no barrier. A program with barriers becomes a function that is called for each invocation in order, repeatedly.
 * At a barrier it stores the barrier's number in the invocation's struct and returns. At the next call, a `switch`
 * around the body jumps there. Barriers are therefore possible in any control flow. A variable that is live across a
 * barrier is a field of that struct; all others are declared where the program declares them.
 *
 * A variable is live across a barrier if there is one between its declaration and its last use. A use in a loop that
 * began after the declaration counts as a use at the loop's end, since the next iteration can execute it again. */
#include "emit/c/emitter.h"

#include "base/status.h"
#include "ir/eval.h"
#include "ir/walk.h"

#include <stdio.h>

/* ---- variables that are live across a barrier ---- */

/* The loops around the statement, outermost first, and for each variable where it is declared and last used. */
typedef struct scan {
    vy_c *c;
    uint32_t loops[VY_LIMIT_NESTING + 1], depth;
    uint32_t *declared, *last;
    uint32_t *barriers; /* by statement: the number of barriers before it */
} scan;

static void note_use(scan *s, uint32_t variable, uint32_t stmt) {
    uint32_t at = stmt;
    for (uint32_t i = s->depth; i-- > 0 && s->loops[i] > s->declared[variable];)
        at = vy_c_stmt(s->c, s->loops[i])->end - 1;
    if (at > s->last[variable])
        s->last[variable] = at;
}

static void scan_stmt(scan *s, uint32_t stmt) {
    const vyre_program *p = s->c->program;
    const vy_stmt *given = vy_c_stmt(s->c, stmt);
    uint32_t first = vy_stmt_exprs_first(p, given), end = vy_stmt_exprs_end(p, given, first);
    for (uint32_t i = first; i < end; i++)
        if (vy_c_expr_at(s->c, i)->kind == VY_EXPR_VARIABLE)
            note_use(s, vy_c_expr_at(s->c, i)->a, stmt);
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
    const uint32_t variables = c->program->variables.count, first = c->entry->first_stmt, end = c->entry->end_stmt;
    scan s = {.c = c};
    s.declared = vy_arena_allocate(&c->arena, (variables + 1) * sizeof *s.declared);
    s.last = vy_arena_allocate(&c->arena, (variables + 1) * sizeof *s.last);
    s.barriers = vy_arena_allocate(&c->arena, ((size_t)end + 2) * sizeof *s.barriers);
    if (!s.declared || !s.last || !s.barriers) {
        vy_c_refuse_memory(c);
        return;
    }
    scan_block(&s, first, end);
    for (uint32_t i = first; i <= end; i++)
        s.barriers[i + 1] = s.barriers[i] + (i < end && vy_c_stmt(c, i)->kind == VY_STMT_BARRIER);
    for (uint32_t i = c->program->param_count; i < c->entry->variable_count && c->status == VYRE_OK; i++) {
        uint32_t v = c->entry->first_variable + i;
        c->is_kept[v] = s.barriers[s.last[v] + 1] > s.barriers[s.declared[v] + 1];
        if (c->is_kept[v])
            vy_c_add_field(c, c->variables[v], vy_c_variable_type(c, v));
    }
}

/* ---- statements ---- */

/* The operation of an atomic with the operands b and c, on the element at an address. */
#define ATOMIC(expression) "const $T old = *at;\n*at = " expression ";\nreturn old;"
static const char *const atomics[] = {
    [VYRE_ATOMIC_LOAD] = "return *at;",
    [VYRE_ATOMIC_STORE] = "*at = b;",
    [VYRE_ATOMIC_ADD] = ATOMIC("($T)(($P)old + ($P)b)"),
    [VYRE_ATOMIC_AND] = ATOMIC("old & b"),
    [VYRE_ATOMIC_OR] = ATOMIC("old | b"),
    [VYRE_ATOMIC_XOR] = ATOMIC("old ^ b"),
    [VYRE_ATOMIC_MIN] = ATOMIC("@min_$t(old, b)"),
    [VYRE_ATOMIC_MAX] = ATOMIC("@max_$t(old, b)"),
    [VYRE_ATOMIC_EXCHANGE] = ATOMIC("b"),
    [VYRE_ATOMIC_COMPARE_EXCHANGE] = ATOMIC("old == b ? c : old"),
};
_Static_assert(sizeof atomics / sizeof *atomics == VYRE_ATOMIC_COUNT, "a new atomic needs a row");

static void atomic(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    static const char *const params[] = {"const $T *at", "$T *at, $T b", "$T *at, $T b, $T c"};
    static const char *const formats[] = {"%l%s(&%m);", "%l%s(&%m, %e);", "%l%s(&%m, %e, %e);"};
    const uint8_t type = vy_c_memory_at(c, s->memory)->type, operands = vy_atomics[s->op].operands;
    const vy_c_name name =
        vy_c_define(c, vyre_atomic_name((vyre_atomic)s->op), params[operands], atomics[s->op], type, type);
    vy_c_check_access(c, s);
    vy_c_line(c, stmt, formats[operands], s->result_count ? s->variable : VY_NONE, name.text, s->memory, s->a, s->b,
              s->c);
}

static void barrier(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    char number[16];
    snprintf(number, sizeof number, "%u", ++c->resumes);
    vy_c_line(c, stmt, "self->at = %s;", number);
    vy_c_line(c, VY_NONE, s->scope == VYRE_SCOPE_DEVICE ? "return AT_GRID_BARRIER;" : "return AT_BARRIER;");
    c->indentation--;
    vy_c_line(c, VY_NONE, "case %s:;", number);
    c->indentation++;
}

static void leave(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    (void)s;
    if (c->barriers)
        vy_c_line(c, VY_NONE, "self->at = UINT32_MAX;");
    vy_c_line(c, stmt, c->barriers ? "return ENDED;" : "return;");
}

static void report(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    vy_c_line(c, stmt, "%s_report(given, ids, %e);", vyre_program_name(c->program), s->a);
}

static void poll(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    vy_c_line(c, stmt, "%l%s_poll(given);", s->variable, vyre_program_name(c->program));
}

vy_c_writer *const vy_c_writers[VY_STMT_KIND_COUNT] = {
    [VY_STMT_ATOMIC] = atomic,      [VY_STMT_BARRIER] = barrier, [VY_STMT_RETURN] = leave,
    [VY_STMT_RECORD_TRAP] = report, [VY_STMT_POLL] = poll,       [VY_STMT_CALL] = vy_c_lowered_op,
};

void vy_c_function(vy_c *c) {
    if (c->barriers) {
        vy_c_line(c, VY_NONE, "switch (self->at) {");
        vy_c_line(c, VY_NONE, "case 0:;");
        vy_c_body(c, c->entry->first_stmt, c->entry->end_stmt);
        vy_c_line(c, VY_NONE, "}");
        leave(c, VY_NONE, NULL);
    } else {
        vy_c_block(c, c->entry->first_stmt, c->entry->end_stmt);
    }
}
