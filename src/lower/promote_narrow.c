/* First numeric phase, type promotion: 8- and 16-bit types are held in 32 bits.
 *
 * A narrow integer is held as the i32 or u32 of the same value, an f16 or bf16 as the f32 of the same value, which
 * always exists. Most ops then need no change: comparison, min, max, bitwise ops, remainders, floor, … of held values
 * are the held results. A result that may leave the range (+, -, *, <<, ÷) is brought back by the softlib: integers
 * wrap, floats are rounded to the format. One rounding in f32 and one to the format equal one rounding to the format
 * for + - * ÷ √, because f32 has at least 2p + 2 bits (src/ir/softfloat.h); fma and wide integers use round-to-odd.
 *
 * A device may have native f16 and bf16. If it computes exactly all of + - * ÷ √ fma that a program uses on one of
 * them, values stay in that format and are converted to f32 and back for every other op, because a profile promises no
 * more. */
#include "lower/legalizer.h"

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

/* ---- native floats ---- */

#define NEVER (~UINT64_C(0))

/* The numerics that a native op on a narrow float requires: NEVER if no profile has it, 0 if the op is not arithmetic.
 * bf16 has only fma, from which + - * are computed. */
static uint64_t arithmetic(vyre_op op, vyre_type type) {
    static const struct {
        uint8_t op;
        uint64_t f16, bf16;
    } rows[] = {
        {VYRE_OP_ADD, VY_NUMERIC(F16_ADD), VY_NUMERIC(BF16_FMA)},
        {VYRE_OP_SUB, VY_NUMERIC(F16_ADD), VY_NUMERIC(BF16_FMA)},
        {VYRE_OP_MUL, VY_NUMERIC(F16_MUL), VY_NUMERIC(BF16_FMA)},
        {VYRE_OP_FMA, VY_NUMERIC(F16_FMA), VY_NUMERIC(BF16_FMA)},
        {VYRE_OP_DIV, VY_NUMERIC(F16_DIV), NEVER},
        {VYRE_OP_SQRT, VY_NUMERIC(F16_SQRT), NEVER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op)
            return type == VYRE_TYPE_F16 ? rows[i].f16 : type == VYRE_TYPE_BF16 ? rows[i].bf16 : 0;
    return 0;
}

/* The numerics that exact conversions between a narrow float and f32 require. Those of bf16 involve subnormals
 * of f32. */
static uint64_t conversion(vyre_type type) {
    return type == VYRE_TYPE_F16 ? VY_NUMERIC(F16_CONVERT) : VY_NUMERIC(BF16_CONVERT) | VY_NUMERIC(F32_SUBNORMAL);
}

static int converts(const vy_legalizer *rw, vyre_type type) {
    return !(conversion(type) & ~rw->exact);
}

/* Whether the program computes with values of a type, and the device computes all of these ops. Collectives do not
 * support native narrow floats. */
static int is_all_native(const vy_legalizer *rw, vyre_type type) {
    const vyre_program *p = rw->from;
    int computes = 0;
    if (!converts(rw, type))
        return 0;
    for (uint32_t i = 0; i < p->exprs.count; i++) {
        const vy_expr *e = vy_expr_at(p, i);
        uint64_t bits = e->kind == VY_EXPR_OP && vy_operand_type(p, e) == type ? arithmetic((vyre_op)e->op, type) : 0;
        if (bits & ~rw->exact)
            return 0;
        computes |= bits != 0;
    }
    for (uint32_t i = 0; i < p->stmts.count; i++)
        if (vy_stmt_at(p, i)->kind == VY_STMT_COLLECTIVE && vy_expr_at(p, vy_stmt_at(p, i)->a)->type == type)
            return 0;
    return computes;
}

static void start(vy_legalizer *rw) {
    rw->native =
        (is_all_native(rw, VYRE_TYPE_F16) ? VY_TYPE(F16) : 0) | (is_all_native(rw, VYRE_TYPE_BF16) ? VY_TYPE(BF16) : 0);
}

static int is_native(const vy_legalizer *rw, vyre_type type) {
    return rw->native >> type & 1;
}

static vyre_type carrier(const vy_legalizer *rw, vyre_type type) {
    if (is_narrow_float(type))
        return is_native(rw, type) ? type : VYRE_TYPE_F32;
    if (!is_narrow_integer(type) ||
        vy_legalizer_has(rw, vyre_type_bits(type) == 8 ? VYRE_NUMERIC_INT8 : VYRE_NUMERIC_INT16))
        return type;
    return vyre_type_class(type) == VYRE_CLASS_SIGNED ? VYRE_TYPE_I32 : VYRE_TYPE_U32;
}

/* The 32-bit type with the sign of a narrow integer. */
static vyre_type wide(vyre_type type) {
    return vyre_type_class(type) == VYRE_CLASS_SIGNED ? VYRE_TYPE_I32 : VYRE_TYPE_U32;
}

static uint32_t named(vy_legalizer *rw, const char *what, vyre_type type, uint32_t tree) {
    char name[32];
    snprintf(name, sizeof name, "%s_%s", what, vyre_type_name(type));
    return vy_legalizer_named(rw, name, tree);
}

/* The pattern of a held float as u32, with the canonical NaN; unpack is the inverse. */
static uint32_t pack(vy_legalizer *rw, vyre_type type, uint32_t tree) {
    if (!is_native(rw, type))
        return named(rw, "pack", type, tree);
    tree = vy_legalizer_op1(rw, VYRE_OP_BITCAST, VYRE_TYPE_U16, tree);
    return named(rw, "canonical", type, vy_legalizer_cast(rw, VYRE_TYPE_U32, tree));
}

static uint32_t unpack(vy_legalizer *rw, vyre_type type, uint32_t tree) {
    return named(rw, "unpack", type, tree);
}

static uint32_t widen(vy_legalizer *rw, vyre_type type, uint32_t tree) {
    if (is_narrow_float(type) && !is_native(rw, type) && !converts(rw, type)) {
        tree = vy_legalizer_op1(rw, VYRE_OP_BITCAST, VYRE_TYPE_U16, tree);
        return unpack(rw, type, vy_legalizer_cast(rw, VYRE_TYPE_U32, tree));
    }
    return vy_legalizer_cast(rw, carrier(rw, type), tree);
}

/* Arrays are not observable from outside. */
static uint32_t narrow(vy_legalizer *rw, vyre_type type, uint32_t expr, uint32_t tree, vy_space space) {
    (void)expr;
    if (is_native(rw, type) && space != VY_SPACE_BUFFER)
        return tree;
    if (is_narrow_float(type)) {
        tree = vy_legalizer_cast(rw, VYRE_TYPE_U16, pack(rw, type, tree));
        return vy_legalizer_op1(rw, VYRE_OP_BITCAST, type, tree);
    }
    return vy_legalizer_cast(rw, type, tree);
}

/* ---- casts ---- */

/* Wraps a 32-bit integer to the width of a narrow type, in its held form. */
static uint32_t wrap(vy_legalizer *rw, vyre_type type, uint32_t tree) {
    unsigned bits = vyre_type_bits(type);
    vyre_type held = carrier(rw, type);
    if (held == type)
        return vy_legalizer_cast(rw, type, tree);
    if (held == VYRE_TYPE_U32)
        return vy_legalizer_op(rw, VYRE_OP_AND, held, tree, vy_legalizer_literal(rw, held, (1u << bits) - 1), VY_NONE);
    tree = vy_legalizer_op(rw, VYRE_OP_SHL, held, tree, vy_legalizer_literal(rw, held, 32 - bits), VY_NONE);
    return vy_legalizer_op(rw, VYRE_OP_SHR, held, tree, vy_legalizer_literal(rw, held, 32 - bits), VY_NONE);
}

static uint32_t to_narrow_integer(vy_legalizer *rw, vyre_type to, vyre_type from, uint32_t tree) {
    if (!is_float(from) && carrier(rw, to) == to)
        return vy_legalizer_cast(rw, to, tree);
    tree = vy_legalizer_cast(rw, wide(to), tree);
    if (!is_float(from))
        return wrap(rw, to, tree);
    return vy_legalizer_cast(rw, carrier(rw, to), named(rw, "clamp", to, tree));
}

static uint32_t to_narrow_float(vy_legalizer *rw, vyre_type to, vyre_type from, uint32_t tree) {
    int is_wide =
        vyre_type_bits(from) == 64 || (vyre_type_bits(from) == 32 && is_integer(from) && to == VYRE_TYPE_BF16);
    if (is_narrow_integer(from) && carrier(rw, from) == from)
        tree = vy_legalizer_cast(rw, wide(from), tree);
    tree = is_wide ? named(rw, "odd", from, tree) : vy_legalizer_cast(rw, VYRE_TYPE_F32, tree);
    return is_native(rw, to) ? vy_legalizer_cast(rw, to, tree) : named(rw, "round_to", to, tree);
}

static uint32_t cast(vy_legalizer *rw, vyre_type to, vyre_type from, uint32_t tree) {
    if (to == from)
        return tree;
    if (is_native(rw, from))
        tree = vy_legalizer_cast(rw, VYRE_TYPE_F32, tree);
    if (is_narrow_integer(to))
        return to_narrow_integer(rw, to, from, tree);
    if (is_narrow_float(to))
        return to_narrow_float(rw, to, from, tree);
    if (is_narrow_integer(from) && is_float(to))
        tree = vy_legalizer_cast(rw, wide(from), tree);
    return vy_legalizer_cast(rw, to, tree);
}

static uint32_t bitcast(vy_legalizer *rw, vyre_type to, vyre_type from, uint32_t tree) {
    if (to == from)
        return tree;
    if (is_narrow_float(from))
        tree = pack(rw, from, tree);
    else if (!is_narrow_integer(from))
        return vy_legalizer_op1(rw, VYRE_OP_BITCAST, to, tree);
    if (is_narrow_integer(to))
        return wrap(rw, to, vy_legalizer_cast(rw, wide(to), tree));
    /* The low bits are the pattern of the narrow integer, whatever its sign. */
    tree = vy_legalizer_cast(rw, VYRE_TYPE_U32, tree);
    if (vyre_type_class(from) == VYRE_CLASS_SIGNED)
        tree = vy_legalizer_op(rw, VYRE_OP_AND, VYRE_TYPE_U32, tree, vy_legalizer_literal(rw, VYRE_TYPE_U32, 0xffff),
                               VY_NONE);
    if (is_native(rw, to))
        return vy_legalizer_op1(rw, VYRE_OP_BITCAST, to, vy_legalizer_cast(rw, VYRE_TYPE_U16, tree));
    return unpack(rw, to, tree);
}

/* ---- ops ---- */

static int is_touched(const vy_legalizer *rw, vyre_type type) {
    return carrier(rw, type) != type;
}

static int keeps(const vy_legalizer *rw, const vy_expr *e, vyre_type operand) {
    vyre_type type = (vyre_type)e->type;
    if (is_native(rw, type) || is_native(rw, operand))
        return e->op == VYRE_OP_SELECT ||
               (arithmetic((vyre_op)e->op, operand) && (operand == VYRE_TYPE_F16 || e->op == VYRE_OP_FMA));
    if (e->op == VYRE_OP_CAST && (is_narrow_integer(type) || is_narrow_integer(operand)) &&
        (is_float(type) || is_float(operand)))
        return 0;
    return !is_touched(rw, operand) && !is_touched(rw, type);
}

/* x + y = fma(x, 1, y), x - y = fma(y, -1, x), x * y = fma(x, y, -0): the product is exact or the whole result, and a
 * sum of zeros has the same sign as without the product by 1. */
static uint32_t by_fma(vy_legalizer *rw, vyre_op op, const uint32_t *trees) {
    enum { ONE = 0x3f80, MINUS_ONE = 0xbf80, MINUS_ZERO = 0x8000 };
    uint32_t constant = vy_legalizer_literal(rw, VYRE_TYPE_BF16,
                                             op == VYRE_OP_ADD   ? ONE
                                             : op == VYRE_OP_SUB ? MINUS_ONE
                                                                 : MINUS_ZERO);
    if (op == VYRE_OP_MUL)
        return vy_legalizer_op(rw, VYRE_OP_FMA, VYRE_TYPE_BF16, trees[0], trees[1], constant);
    return vy_legalizer_op(rw, VYRE_OP_FMA, VYRE_TYPE_BF16, trees[op == VYRE_OP_SUB], constant,
                           trees[op == VYRE_OP_ADD]);
}

/* An op on native narrow floats that the device may lack: computed in f32 and converted back. */
static uint32_t in_f32(vy_legalizer *rw, vyre_op op, vyre_type type, vyre_type operand, const uint32_t *trees) {
    uint32_t wide[3] = {VY_NONE, VY_NONE, VY_NONE};
    if (arithmetic(op, operand))
        return by_fma(rw, op, trees);
    for (unsigned i = 0; i < vyre_op_get(op)->arity; i++)
        wide[i] = vy_legalizer_cast(rw, VYRE_TYPE_F32, trees[i]);
    if (type != operand)
        return vy_legalizer_op(rw, op, type, wide[0], wide[1], wide[2]);
    return vy_legalizer_cast(rw, type, vy_legalizer_op(rw, op, VYRE_TYPE_F32, wide[0], wide[1], wide[2]));
}

static uint32_t lower_op(vy_legalizer *rw, const vy_expr *e, vyre_type operand, const uint32_t *trees) {
    vyre_op op = (vyre_op)e->op;
    vyre_type type = (vyre_type)e->type;
    if (!keeps(rw, e, operand)) {
        if (op == VYRE_OP_CAST)
            return cast(rw, type, operand, trees[0]);
        if (op == VYRE_OP_BITCAST)
            return bitcast(rw, type, operand, trees[0]);
        if (is_native(rw, operand))
            return in_f32(rw, op, type, operand, trees);
        const vy_softlib_function *function = vy_softlib_replacement(rw->library, op, type, operand);
        if (function)
            return vy_legalizer_call(rw, function, trees, vyre_op_get(op)->arity);
    }
    return vy_legalizer_op(rw, op, carrier(rw, type), trees[0], trees[1], trees[2]);
}

const vy_legalizer_phase vy_legalize_promote_narrow = {
    .start = start, .carrier = carrier, .widen = widen, .narrow = narrow, .op = lower_op, .keeps = keeps};
