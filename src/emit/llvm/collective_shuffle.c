/* Collectives that the lanes of a gang settle among themselves: subgroups that lie within one, by shuffles; and prefixes of integers, of which a gang takes over what the
 * ones before it came to. */
#include "emit/llvm/collective.h"
#include "emit/llvm/emitter.h"
#include "ir/op_tables.h"

#define B e->builder

/* ---- shuffles ---- */

/* Lanes of a value by numbers; `width` and above are lanes of `other`. */
static LLVMValueRef pick(vy_emitter *e, LLVMValueRef value, LLVMValueRef other, const uint32_t *from) {
    LLVMValueRef places[VY_LLVM_LANES];
    for (uint32_t i = 0; i < e->width; i++)
        places[i] = vy_llvm_number(e, 32, from[i]);
    return LLVMBuildShuffleVector(B, value, other, LLVMConstVector(places, e->width), "");
}

static LLVMValueRef both(vy_emitter *e, const vy_llvm_collective_site *m, LLVMValueRef a, LLVMValueRef b) {
    return vy_llvm_combine(e, (vyre_op)m->s->combine, m->type, a, b);
}

/* ---- reductions ---- */

/* Neighbours first, the lower one on the left, until every lane has them all. */
static void reduce_lanes(vy_emitter *e, const void *user) {
    const vy_llvm_collective_site *m = user;
    LLVMValueRef value = vy_llvm_operand_or_neutral(e, m);
    for (uint32_t step = 1; step < m->width; step *= 2) {
        uint32_t low[VY_LLVM_LANES], high[VY_LLVM_LANES];
        for (uint32_t i = 0; i < e->width; i++) {
            low[i] = i & ~step;
            high[i] = i | step;
        }
        LLVMValueRef none = LLVMGetPoison(LLVMTypeOf(value));
        value = both(e, m, pick(e, value, none, low), pick(e, value, none, high));
    }
    vy_llvm_declare(e, m->s->variable, value);
}

/* ---- prefixes ---- */

typedef struct prefix {
    const vy_llvm_collective_site *m;
    LLVMValueRef before; /* an alloca: what the gangs before came to; NULL if subgroups lie within gangs */
} prefix;

/* Prefixes of integers within runs of `length` lanes. */
static LLVMValueRef prefixes(vy_emitter *e, const vy_llvm_collective_site *m, LLVMValueRef value, LLVMValueRef identity,
                             uint32_t length) {
    for (uint32_t step = 1; step < length; step *= 2) {
        uint32_t from[VY_LLVM_LANES];
        for (uint32_t i = 0; i < e->width; i++)
            from[i] = i % length < step ? e->width : i - step;
        value = both(e, m, pick(e, value, identity, from), value);
    }
    return value;
}

/* What came before the gang's first lane. */
static LLVMValueRef before_gang(vy_emitter *e, const prefix *p, LLVMValueRef identity) {
    LLVMValueRef first = LLVMBuildMul(B, e->gang, vy_llvm_number(e, 32, e->width), "");
    LLVMValueRef rest = LLVMBuildURem(B, first, vy_llvm_number(e, 32, p->m->width), "");
    LLVMValueRef starts = LLVMBuildICmp(B, LLVMIntEQ, rest, vy_llvm_number(e, 32, 0), "");
    LLVMValueRef before = LLVMBuildLoad2(B, p->m->element, p->before, "");
    return LLVMBuildSelect(B, starts, vy_llvm_lane(e, identity, 0), before, "");
}

static void scan_lanes(vy_emitter *e, const void *user) {
    const prefix *p = user;
    const vy_llvm_collective_site *m = p->m;
    uint64_t bits = vyre_combine_identity((vyre_op)m->s->combine, m->type);
    LLVMValueRef identity = vy_llvm_splat(e, LLVMConstInt(m->element, bits, 0)), start = identity;
    uint32_t length = p->before ? e->width : m->width, from[VY_LLVM_LANES];
    LLVMValueRef value = prefixes(e, m, vy_llvm_operand_or_neutral(e, m), identity, length);
    if (p->before) {
        start = vy_llvm_splat(e, before_gang(e, p, identity));
        value = both(e, m, start, value);
        LLVMBuildStore(B, vy_llvm_lane(e, value, e->width - 1), p->before);
    }
    for (uint32_t i = 0; i < e->width; i++)
        from[i] = i % length ? i - 1 : e->width;
    if (m->s->op == VYRE_COLLECTIVE_SCAN_EXCLUSIVE)
        value = pick(e, value, start, from);
    vy_llvm_declare(e, m->s->variable, value);
}

/* ---- moves ---- */

/* Where lane `lane` of a subgroup has its value from; the width if from nobody. */
static uint32_t moved_from(const vy_llvm_collective_site *m, uint32_t lane, uint32_t given) {
    uint32_t from = given;
    if (m->s->op == VYRE_COLLECTIVE_SHUFFLE_XOR)
        from = lane ^ given;
    else if (m->s->op == VYRE_COLLECTIVE_SHUFFLE_UP)
        from = given < m->width ? lane - given : m->width;
    else if (m->s->op == VYRE_COLLECTIVE_SHUFFLE_DOWN)
        from = given < m->width ? lane + given : m->width;
    return from < m->width ? from : m->width;
}

static void move_lanes(vy_emitter *e, const void *user) {
    const vy_llvm_collective_site *m = user;
    LLVMValueRef value = vy_llvm_expr_lanes(e, m->s->a);
    uint32_t given = (uint32_t)e->program->exprs.items[m->s->b].bits, from[VY_LLVM_LANES];
    for (uint32_t i = 0; i < e->width; i++) {
        uint32_t lane = moved_from(m, i % m->width, given);
        from[i] = lane < m->width ? i - i % m->width + lane : e->width + i;
    }
    vy_llvm_declare(e, m->s->variable, pick(e, value, LLVMConstNull(LLVMTypeOf(value)), from));
}

/* ---- any of them ---- */

int vy_llvm_collective_in_register(vy_emitter *e, const vy_llvm_collective_site *m) {
    int is_float = vyre_type_class(m->type) == VYRE_CLASS_FLOAT, lies_within = m->s->width && m->width <= e->width;
    prefix p = {.m = m};
    if (e->slots[m->s->variable].storage == VY_STORAGE_SCALAR ||
        (m->type == VYRE_TYPE_BOOL && vy_collectives[m->s->op].combines))
        return 0;
    if (m->s->op == VYRE_COLLECTIVE_REDUCE && lies_within)
        vy_llvm_gangs(e, reduce_lanes, m);
    else if (vy_collectives[m->s->op].combines && m->s->op != VYRE_COLLECTIVE_REDUCE && !is_float) {
        if (!lies_within) {
            p.before = vy_llvm_alloca(e, m->element, "before");
            LLVMBuildStore(B, LLVMConstNull(m->element), p.before);
        }
        vy_llvm_gangs(e, scan_lanes, &p);
    } else if (m->s->b != VY_NONE && lies_within && e->group_size % m->width == 0 &&
               e->program->exprs.items[m->s->b].kind == VY_EXPR_LITERAL) {
        vy_llvm_gangs(e, move_lanes, m);
    } else {
        return 0;
    }
    return 1;
}
