/* Statements whose code is specific to OpenCL C: atomics, barriers, shuffles, wide accesses, and the control block
 * (emit/launch_abi.h).
 *
 * Atomics of OpenCL C 1.2 are relaxed. A fence before or after one gives it an order, which needs a later version. */
#include "emit/opencl/emitter.h"

#include "base/diagnostics.h"
#include "ir/eval.h"

#include <stdio.h>

const char *vy_opencl_space(vy_c *c, uint32_t memory) {
    static const char *const spaces[VY_SPACE_COUNT] = {"__global ", "__local ", "", "__constant "};
    const uint8_t space = vy_c_memory_at(c, memory)->space;
    if (c->is_kept_array[memory])
        return vy_opencl_of(c)->states;
    return space == VY_SPACE_CONSTANT && vy_opencl_of(c)->tables[memory] != VY_NONE ? "__global " : spaces[space];
}

static uint8_t word_of(uint8_t type) {
    return vyre_type_bits((vyre_type)type) == 64 ? VYRE_TYPE_U64 : VYRE_TYPE_U32;
}

/* ---- atomics ---- */

/* The functions of the language for integers, after "atomic_" (32 bits) or "atom_" (64 bits). A load is an `or` with
 * 0. */
static const char *const functions[] = {
    [VYRE_ATOMIC_LOAD] = "or",       [VYRE_ATOMIC_STORE] = "xchg",
    [VYRE_ATOMIC_ADD] = "add",       [VYRE_ATOMIC_AND] = "and",
    [VYRE_ATOMIC_OR] = "or",         [VYRE_ATOMIC_XOR] = "xor",
    [VYRE_ATOMIC_MIN] = "min",       [VYRE_ATOMIC_MAX] = "max",
    [VYRE_ATOMIC_EXCHANGE] = "xchg", [VYRE_ATOMIC_COMPARE_EXCHANGE] = "cmpxchg",
};
_Static_assert(sizeof functions / sizeof *functions == VYRE_ATOMIC_COUNT, "a new atomic needs a row");

/* Floats: a compare-exchange loop on their bits. */
#define EXCHANGES(value)                                                                                               \
    "$U old = *at;\nfor (;;) {\n    const $T a = as_$T(old);\n    const $U seen = %s_cmpxchg(at, old, as_$U(" value    \
    "));\n    if (seen == old)\n        return a;\n    old = seen;\n}"
static const char *const float_bodies[VYRE_ATOMIC_COUNT] = {
    [VYRE_ATOMIC_LOAD] = "return as_$T(%s_or(at, 0));",
    [VYRE_ATOMIC_STORE] = "%s_xchg(at, as_$U(b));",
    [VYRE_ATOMIC_EXCHANGE] = "return as_$T(%s_xchg(at, as_$U(b)));",
    [VYRE_ATOMIC_ADD] = EXCHANGES("a + b"),
    [VYRE_ATOMIC_MIN] = EXCHANGES("@min_$t(a, b)"),
    [VYRE_ATOMIC_MAX] = EXCHANGES("@max_$t(a, b)"),
};

static void fence(vy_c *c, const vy_stmt *s, const char *order) {
    vy_opencl_of(c)->uses |= VY_OPENCL_USES_ORDERS;
    vy_c_line(c, VY_NONE, "atomic_work_item_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE, %s, %s);", order,
              s->scope == VYRE_SCOPE_DEVICE ? "memory_scope_device" : "memory_scope_work_group");
}

static void float_atomic(vy_c *c, uint32_t stmt, const vy_stmt *s, uint8_t type, const char *family) {
    const int has_operand = vy_atomics[s->op].operands != 0;
    char kind[40], params[64], body[320];
    snprintf(kind, sizeof kind, "%s_%s", vyre_atomic_name((vyre_atomic)s->op),
             vy_c_memory_at(c, s->memory)->space == VY_SPACE_BUFFER ? "global" : "local");
    snprintf(params, sizeof params, "volatile %s$U *at%s", vy_opencl_space(c, s->memory), has_operand ? ", $T b" : "");
    snprintf(body, sizeof body, float_bodies[s->op], family);
    const vy_c_name name = vy_c_define(c, kind, params, body, type, type);
    const char *cast = VY_FIX("(volatile %s%s *)", vy_opencl_space(c, s->memory), vy_c_type(c, word_of(type)));
    vy_c_line(c, stmt, has_operand ? "%l%s(%s&%m, %e);" : "%l%s(%s&%m);", s->result_count ? s->variable : VY_NONE,
              name.text, cast, s->memory, s->a, s->b);
}

static void atomic(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    static const char *const formats[] = {"%l%s_%s(&%m, 0);", "%l%s_%s(&%m, %e);", "%l%s_%s(&%m, %e, %e);"};
    const uint8_t type = vy_c_memory_at(c, s->memory)->type;
    const int is_wide = vyre_type_bits((vyre_type)type) == 64;
    const char *family = is_wide ? "atom" : "atomic";
    vy_opencl_of(c)->uses |= is_wide ? VY_OPENCL_USES_INT64_ATOMICS : 0;
    vy_c_check_access(c, s);
    if (s->order == VYRE_ORDER_RELEASE || s->order == VYRE_ORDER_ACQ_REL)
        fence(c, s, "memory_order_release");
    if (vyre_type_class((vyre_type)type) == VYRE_CLASS_FLOAT)
        float_atomic(c, stmt, s, type, family);
    else
        vy_c_line(c, stmt, formats[vy_atomics[s->op].operands], s->result_count ? s->variable : VY_NONE, family,
                  functions[s->op], s->memory, s->a, s->b, s->c);
    if (s->order == VYRE_ORDER_ACQUIRE || s->order == VYRE_ORDER_ACQ_REL)
        fence(c, s, "memory_order_acquire");
}

/* ---- barriers and shuffles ---- */

const char vy_opencl_barrier[] = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";

static void barrier(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    if (s->scope == VYRE_SCOPE_DEVICE)
        vy_c_refuse(c, "a grid barrier");
    else if (c->barriers)
        vy_c_barrier(c, stmt, s);
    else
        vy_c_line(c, stmt, vy_opencl_barrier);
}

static void shuffle(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    const vy_opencl_device *device = vy_opencl_of(c)->device;
    if (s->op != VYRE_COLLECTIVE_NATIVE_SHUFFLE || s->width != device->subgroup_width || !device->shuffle) {
        vy_c_refuse(c, "a collective");
        return;
    }
    vy_opencl_of(c)->uses |= VY_OPENCL_USES_SHUFFLES;
    vy_c_line(c, stmt, "%l%s(%e, %e);", s->variable,
              device->shuffle == VY_OPENCL_SHUFFLE_INTEL ? "intel_sub_group_shuffle" : "sub_group_shuffle", s->a, s->b);
}

/* ---- wide accesses ----
 *
 * The address is a multiple of the access's size. Vector types may alias others. */

static vy_c_name vector_of(const vy_c *c, const vy_stmt *s, uint32_t count) {
    vy_c_name name;
    snprintf(name.text, sizeof name.text, "%s%u", vy_c_type(c, vy_c_memory_at(c, s->memory)->type), (unsigned)count);
    return name;
}

static void load_wide(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    const vy_c_name vector = vector_of(c, s, s->result_count);
    const vy_symbol name = vy_c_unique(c, "wide");
    const char *const space = vy_opencl_space(c, s->memory);
    vy_c_line(c, stmt, "const %s %s = *(const %s%s *)&%m;", vector.text, vy_c_text(c, name), space, vector.text,
              s->memory, s->a);
    for (uint32_t i = 0; i < s->result_count; i++)
        vy_c_line(c, stmt, "%l%s.s%s;", s->variable + i, vy_c_text(c, name), VY_FIX("%x", (unsigned)i));
}

static void store_wide(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    const vy_c_name vector = vector_of(c, s, s->arg_count);
    vy_string *out = c->out, values = {0};
    c->out = &values;
    for (uint32_t i = 0; i < s->arg_count; i++) {
        vy_string_add(&values, i ? ", " : "");
        vy_c_expr(c, c->program->args.items[s->args + i].index, VY_C_ANY);
    }
    c->out = out;
    out->failed |= values.failed;
    vy_c_line(c, stmt, "*(%s%s *)&%m = (%s)(%s);", vy_opencl_space(c, s->memory), vector.text, s->memory, s->a,
              vector.text, values.text ? values.text : "");
    vy_string_free(&values);
}

/* ---- the control block ---- */

static void report(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    c->reports = 1;
    vy_c_line(c, stmt, c->barriers ? "%s_report(control, local_index, %e);" : "%s_report(control, %e);",
              vyre_program_name(c->program), s->a);
}

static void poll(vy_c *c, uint32_t stmt, const vy_stmt *s) {
    c->polls = 1;
    vy_c_line(c, stmt, "%l%s_poll(control, &polls, &stopping);", s->variable, vyre_program_name(c->program));
}

vy_c_writer *const vy_opencl_writers[VY_STMT_KIND_COUNT] = {
    [VY_STMT_ATOMIC] = atomic,         [VY_STMT_BARRIER] = barrier,
    [VY_STMT_COLLECTIVE] = shuffle,    [VY_STMT_LOAD_WIDE] = load_wide,
    [VY_STMT_STORE_WIDE] = store_wide, [VY_STMT_RETURN] = vy_c_return,
    [VY_STMT_RECORD_TRAP] = report,    [VY_STMT_POLL] = poll,
};
