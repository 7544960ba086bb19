/* Atomics. Those that are relaxed and change something need no qualifier: .relaxed.gpu is what the ISA assumes, and every architecture has it. Orders and
 * atomic loads and stores come with sm_70. */
#include "emit/ptx/emitter.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct row {
    const char *name;
    uint8_t is_bits; /* .b32, not .u32 */
} row;

static const row rows[VYRE_ATOMIC_COUNT] = {
    [VYRE_ATOMIC_ADD] = {"add", 0},       [VYRE_ATOMIC_AND] = {"and", 1},
    [VYRE_ATOMIC_OR] = {"or", 1},         [VYRE_ATOMIC_XOR] = {"xor", 1},
    [VYRE_ATOMIC_MIN] = {"min", 0},       [VYRE_ATOMIC_MAX] = {"max", 0},
    [VYRE_ATOMIC_EXCHANGE] = {"exch", 1}, [VYRE_ATOMIC_COMPARE_EXCHANGE] = {"cas", 1},
};

/* ".acq_rel.gpu.global" */
static void qualify(vy_ptx *e, const vy_stmt *s, int always, char *text, size_t size) {
    const char *scope = s->scope == VYRE_SCOPE_WORKGROUP ? "cta" : "gpu", *space = vy_ptx_space(e, s->memory);
    if (!always && s->order == VYRE_ORDER_RELAXED) {
        snprintf(text, size, ".%s", space);
        return;
    }
    vy_ptx_need(e, 60, 70);
    snprintf(text, size, ".%s.%s.%s", vyre_order_name((vyre_order)s->order), scope, space);
}

/* Two's complement is added alike, and there is no add.s64. */
static const char *type_of(const row *r, vyre_type type) {
    if (r->is_bits)
        return vy_ptx_bits(type);
    if (r == &rows[VYRE_ATOMIC_ADD] && type == VYRE_TYPE_I64)
        return "u64";
    return vy_ptx_type(type);
}

/* A load whose value nobody asks for. What it orders stays; of the load itself the driver's compiler keeps a half (docs/ptx.md). */
static void load_nothing(vy_ptx *e, const vy_stmt *s, vyre_type type) {
    if (s->result_count)
        vy_ptx_declare(e, s->variable, vy_ptx_literal(type, 0));
    if (s->order == VYRE_ORDER_RELAXED)
        return;
    vy_ptx_need(e, 60, 70);
    vy_ptx_write(e, "fence.acq_rel.%s", s->scope == VYRE_SCOPE_WORKGROUP ? "cta" : "gpu");
}

static void load_or_store(vy_ptx *e, const vy_stmt *s, vyre_type type) {
    char how[48];
    if (s->op == VYRE_ATOMIC_LOAD && (!s->result_count || vy_ptx_is_dead_copy(e, s->variable))) {
        load_nothing(e, s, type);
        return;
    }
    vy_ptx_address at = vy_ptx_at(e, s->memory, s->a);
    qualify(e, s, 1, how, sizeof how);
    if (s->op == VYRE_ATOMIC_STORE) {
        vy_ptx_value value = vy_ptx_in_register(e, vy_ptx_expr(e, s->b));
        vy_ptx_write(e, "st%s.%s %s, %s", how, vy_ptx_bits(type), at.text, vy_ptx_name(e, value));
        return;
    }
    vy_ptx_value d = vy_ptx_new(e, type);
    vy_ptx_write(e, "ld%s.%s %s, %s", how, vy_ptx_bits(type), vy_ptx_name(e, d), at.text);
    vy_ptx_declare(e, s->variable, d);
}

/* Whether nobody asks for the old value and the instruction without one will do: it cannot acquire, exchange or compare. */
static int is_reduction(const vy_stmt *s) {
    return !s->result_count && s->op != VYRE_ATOMIC_EXCHANGE && s->op != VYRE_ATOMIC_COMPARE_EXCHANGE &&
           (s->order == VYRE_ORDER_RELAXED || s->order == VYRE_ORDER_RELEASE);
}

static void change(vy_ptx *e, const vy_stmt *s, vyre_type type) {
    const row *r = &rows[s->op];
    char how[48];
    vy_ptx_address at = vy_ptx_at(e, s->memory, s->a);
    vy_ptx_value b = vy_ptx_in_register(e, vy_ptx_expr(e, s->b));
    qualify(e, s, 0, how, sizeof how);
    if (is_reduction(s)) {
        vy_ptx_write(e, "red%s.%s.%s %s, %s", how, r->name, type_of(r, type), at.text, vy_ptx_name(e, b));
        return;
    }
    vy_ptx_value c = s->c == VY_NONE ? b : vy_ptx_in_register(e, vy_ptx_expr(e, s->c)), d = vy_ptx_new(e, type);
    vy_ptx_write(e, "atom%s.%s.%s %s, %s, %s%s%s", how, r->name, type_of(r, type), vy_ptx_name(e, d), at.text,
                 vy_ptx_name(e, b), s->c == VY_NONE ? "" : ", ", s->c == VY_NONE ? "" : vy_ptx_name(e, c));
    if (s->result_count)
        vy_ptx_declare(e, s->variable, d);
}

/* The smaller or larger float, which no instruction keeps: computed from what was there, until it is still there. Bits are compared, so that a NaN is found again. */
static void keep_float(vy_ptx *e, const vy_stmt *s, vyre_type type) {
    char how[48];
    vy_ptx_address at = vy_ptx_at(e, s->memory, s->a);
    vy_ptx_value b = vy_ptx_in_register(e, vy_ptx_expr(e, s->b)), old = vy_ptx_new(e, type), seen = vy_ptx_new(e, type),
                 kept = vy_ptx_new(e, type), p = vy_ptx_new(e, VYRE_TYPE_BOOL);
    uint32_t again = vy_ptx_label(e);
    const char *bits = vy_ptx_bits(type);
    qualify(e, s, 0, how, sizeof how);
    vy_ptx_write(e, "ld.volatile.%s.%s %s, %s", vy_ptx_space(e, s->memory), bits, vy_ptx_name(e, old), at.text);
    vy_ptx_bind_label(e, again);
    vy_ptx_move(e, seen, old);
    vy_ptx_write(e, "%s.%s %s, %s, %s", rows[s->op].name, vy_ptx_type(type), vy_ptx_name(e, kept), vy_ptx_name(e, seen),
                 vy_ptx_name(e, b));
    vy_ptx_write(e, "atom%s.cas.%s %s, %s, %s, %s", how, bits, vy_ptx_name(e, old), at.text, vy_ptx_name(e, seen),
                 vy_ptx_name(e, kept));
    vy_ptx_write(e, "setp.ne.%s %s, %s, %s", bits, vy_ptx_name(e, p), vy_ptx_name(e, old), vy_ptx_name(e, seen));
    vy_ptx_write(e, "@%s bra $L%" PRIu32, vy_ptx_name(e, p), again);
    if (s->result_count)
        vy_ptx_declare(e, s->variable, old);
}

void vy_ptx_atomic(vy_ptx *e, const vy_stmt *s) {
    vyre_type type = (vyre_type)e->program->memories.items[s->memory].type;
    int is_float = vyre_type_class(type) == VYRE_CLASS_FLOAT;
    if (s->bounds_check != VY_BOUNDS_UNCHECKED)
        vy_ptx_refuse(e, "a guarded atomic");
    else if (is_float && (s->op == VYRE_ATOMIC_MIN || s->op == VYRE_ATOMIC_MAX))
        keep_float(e, s, type);
    else if (s->op == VYRE_ATOMIC_LOAD || s->op == VYRE_ATOMIC_STORE)
        load_or_store(e, s, type);
    else
        change(e, s, type);
}
