/* The first phase: 8- and 16-bit types are held in 32 bits.
 *
 * A narrow integer is held as the i32 or u32 of the same value, an f16 or bf16 as the f32 of the same value (every one of theirs is one). Then most ops
 * need nothing: comparison, min, max, bitwise ops, remainders, floor, … of held values are the held results. What can leave the range (+, -, *,
 * <<, ÷) is brought back by the library: integers wrap, floats are rounded to the format. One rounding in f32 and one to the format is one
 * rounding to the format for + - * ÷ √, because f32 has at least 2p + 2 bits (src/ir/softfloat.h); fma and wide integers go through round-to-odd. */
#include "transform/legal_phase.h"

#include "ir/rows.h"

#include <stdio.h>

static int is_narrow_integer(vyre_type type) {
    return type >= VYRE_TYPE_I8 && type <= VYRE_TYPE_U16;
}

static int is_narrow_float(vyre_type type) {
    return type == VYRE_TYPE_F16 || type == VYRE_TYPE_BF16;
}

static int is_float(vyre_type type) {
    return vyre_type_class(type) == VYRE_CLASS_FLOAT;
}

static int is_integer(vyre_type type) {
    return (vyre_type_class(type) & VYRE_CLASS_INTEGER) != 0;
}

static vyre_type carrier(const vy_legaliser *rw, vyre_type type) {
    if (is_narrow_float(type))
        return VYRE_TYPE_F32;
    if (!is_narrow_integer(type) ||
        vy_legaliser_has(rw, vyre_type_bits(type) == 8 ? VYRE_NUMERIC_INT8 : VYRE_NUMERIC_INT16))
        return type;
    return vyre_type_class(type) == VYRE_CLASS_SIGNED ? VYRE_TYPE_I32 : VYRE_TYPE_U32;
}

/* The 32-bit type of an integer's sign. */
static vyre_type wide(vyre_type type) {
    return vyre_type_class(type) == VYRE_CLASS_SIGNED ? VYRE_TYPE_I32 : VYRE_TYPE_U32;
}

static uint32_t named(vy_legaliser *rw, const char *what, vyre_type type, uint32_t tree) {
    char name[32];
    snprintf(name, sizeof name, "%s_%s", what, vyre_type_name(type));
    return vy_legaliser_named(rw, name, tree);
}

/* A float's pattern as u32, its NaN canonical; and back. */
static uint32_t pack(vy_legaliser *rw, vyre_type type, uint32_t tree) {
    return named(rw, "pack", type, tree);
}

static uint32_t unpack(vy_legaliser *rw, vyre_type type, uint32_t tree) {
    return named(rw, "unpack", type, tree);
}

/* A bf16 is the upper half of an f32: moving bits is as good as a conversion, and does not flush. */
static int converts(const vy_legaliser *rw, vyre_type type) {
    return type == VYRE_TYPE_F16 && vy_legaliser_has(rw, VYRE_NUMERIC_F16_CONVERT);
}

static uint32_t widen(vy_legaliser *rw, vyre_type type, uint32_t tree) {
    if (is_narrow_float(type) && !converts(rw, type)) {
        tree = vy_legaliser_op1(rw, VYRE_OP_BITCAST, VYRE_TYPE_U16, tree);
        return unpack(rw, type, vy_legaliser_cast(rw, VYRE_TYPE_U32, tree));
    }
    return vy_legaliser_cast(rw, carrier(rw, type), tree);
}

static uint32_t narrow(vy_legaliser *rw, vyre_type type, uint32_t tree, vy_space space) {
    (void)space;
    if (is_narrow_float(type)) {
        tree = vy_legaliser_cast(rw, VYRE_TYPE_U16, pack(rw, type, tree));
        return vy_legaliser_op1(rw, VYRE_OP_BITCAST, type, tree);
    }
    return vy_legaliser_cast(rw, type, tree);
}

/* ---- casts ---- */

/* A held 32-bit integer cut to the width of a narrow type, as it is held. */
static uint32_t wrap(vy_legaliser *rw, vyre_type type, uint32_t tree) {
    return carrier(rw, type) == type ? vy_legaliser_cast(rw, type, tree) : named(rw, "wrap", type, tree);
}

static uint32_t to_narrow_integer(vy_legaliser *rw, vyre_type to, vyre_type from, uint32_t tree) {
    if (!is_float(from) && carrier(rw, to) == to)
        return vy_legaliser_cast(rw, to, tree);
    tree = vy_legaliser_cast(rw, wide(to), tree);
    if (!is_float(from))
        return wrap(rw, to, tree);
    return vy_legaliser_cast(rw, carrier(rw, to), named(rw, "clamp", to, tree));
}

static uint32_t to_narrow_float(vy_legaliser *rw, vyre_type to, vyre_type from, uint32_t tree) {
    int is_wide =
        vyre_type_bits(from) == 64 || (vyre_type_bits(from) == 32 && is_integer(from) && to == VYRE_TYPE_BF16);
    if (is_narrow_integer(from) && carrier(rw, from) == from)
        tree = vy_legaliser_cast(rw, wide(from), tree);
    tree = is_wide ? named(rw, "odd", from, tree) : vy_legaliser_cast(rw, VYRE_TYPE_F32, tree);
    return named(rw, "round_to", to, tree);
}

static uint32_t cast(vy_legaliser *rw, vyre_type to, vyre_type from, uint32_t tree) {
    if (to == from)
        return tree;
    if (is_narrow_integer(to))
        return to_narrow_integer(rw, to, from, tree);
    if (is_narrow_float(to))
        return to_narrow_float(rw, to, from, tree);
    if (is_narrow_integer(from) && is_float(to))
        tree = vy_legaliser_cast(rw, wide(from), tree);
    return vy_legaliser_cast(rw, to, tree);
}

static uint32_t bitcast(vy_legaliser *rw, vyre_type to, vyre_type from, uint32_t tree) {
    if (to == from)
        return tree;
    if (is_narrow_float(from))
        tree = pack(rw, from, tree);
    else if (!is_narrow_integer(from))
        return vy_legaliser_op1(rw, VYRE_OP_BITCAST, to, tree);
    if (is_narrow_integer(to))
        return wrap(rw, to, vy_legaliser_cast(rw, wide(to), tree));
    /* The pattern of a narrow integer in the low bits, whatever its sign. */
    tree = vy_legaliser_cast(rw, VYRE_TYPE_U32, tree);
    if (vyre_type_class(from) == VYRE_CLASS_SIGNED)
        tree = vy_legaliser_op(rw, VYRE_OP_AND, VYRE_TYPE_U32, tree, vy_legaliser_literal(rw, VYRE_TYPE_U32, 0xffff),
                               VY_NONE);
    return unpack(rw, to, tree);
}

/* ---- ops ---- */

static int is_touched(const vy_legaliser *rw, vyre_type type) {
    return carrier(rw, type) != type;
}

static int keeps(const vy_legaliser *rw, const vy_expr *e, vyre_type operand) {
    vyre_type type = (vyre_type)e->type;
    if (e->op == VYRE_OP_CAST && (is_narrow_integer(type) || is_narrow_integer(operand)) &&
        (is_float(type) || is_float(operand)))
        return 0;
    return !is_touched(rw, operand) && !is_touched(rw, type);
}

static uint32_t lower_op(vy_legaliser *rw, const vy_expr *e, vyre_type operand, const uint32_t *trees) {
    vyre_op op = (vyre_op)e->op;
    vyre_type type = (vyre_type)e->type;
    if (!keeps(rw, e, operand)) {
        if (op == VYRE_OP_CAST)
            return cast(rw, type, operand, trees[0]);
        if (op == VYRE_OP_BITCAST)
            return bitcast(rw, type, operand, trees[0]);
        uint32_t function = vy_legal_replacement(rw->library, op, type, operand);
        if (function != VY_NONE)
            return vy_legaliser_call(rw, function, trees, vyre_op_get(op)->arity);
    }
    return vy_legaliser_op(rw, op, carrier(rw, type), trees[0], trees[1], trees[2]);
}

static int is_order(const vy_stmt *s) {
    return s->combine == VYRE_OP_MIN || s->combine == VYRE_OP_MAX;
}

/* Floats are rounded at each step. */
static int stepwise(vy_legaliser *rw, const vy_stmt *s, vyre_type type) {
    (void)rw;
    return is_narrow_float(type) && !is_order(s);
}

/* Integers combine in 32 bits and are brought back once: wrapping is a homomorphism of +, * and the bitwise ops, and the identity of min and max
 * is the only value out of range. */
static uint32_t collective(vy_legaliser *rw, const vy_stmt *s, vyre_type type, uint32_t tree) {
    if (!vy_collectives[s->op].combines || !is_touched(rw, type) || is_narrow_float(type))
        return tree;
    return named(rw, is_order(s) ? "clamp" : "wrap", type, tree);
}

const vy_legaliser_phase vy_legal_narrow = {.carrier = carrier,
                                            .widen = widen,
                                            .narrow = narrow,
                                            .op = lower_op,
                                            .keeps = keeps,
                                            .stepwise = stepwise,
                                            .collective = collective};
