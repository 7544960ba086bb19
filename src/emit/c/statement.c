/* Statements whose code is specific to plain C: atomics, traps and polls. Invocations run sequentially, so atomics are
 * plain accesses. */
#include "emit/c/emitter.h"

#include "ir/eval.h"

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

static void report(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    vy_c_line(c, stmt, "%s_report(given, ids, %e);", vyre_program_name(c->program), s->a);
}

static void poll(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    vy_c_line(c, stmt, "%l%s_poll(given);", s->variable, vyre_program_name(c->program));
}

vy_c_writer *const vy_c_writers[VY_STMT_KIND_COUNT] = {
    [VY_STMT_ATOMIC] = atomic,      [VY_STMT_BARRIER] = vy_c_barrier,
    [VY_STMT_RETURN] = vy_c_return, [VY_STMT_RECORD_TRAP] = report,
    [VY_STMT_POLL] = poll,          [VY_STMT_CALL] = vy_c_lowered_op,
};
