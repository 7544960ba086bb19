/* Second numeric phase: replaces the ops on 32- and 64-bit types (and on narrow integers that stayed) that the target
 * does not compute exactly by functions of the library.
 *
 * An op without a library function is native. Sign and payload of a NaN are made canonical where they can be observed:
 * in a buffer, and by bitcast, copysign and signbit. */
#include "lower/numeric_passes.h"

static vyre_type carrier(const vy_legalizer *rw, vyre_type type) {
    (void)rw;
    return type;
}

static uint32_t widen(vy_legalizer *rw, vyre_type type, uint32_t tree) {
    (void)rw, (void)type;
    return tree;
}

/* Whether a value is no NaN, or the canonical one, by what computes it. */
static int is_canonical(const vy_legalizer *rw, uint32_t tree) {
    const vy_expr *e = &rw->trees.items[tree];
    if (e->kind == VY_EXPR_LITERAL)
        return 1;
    if (e->kind != VY_EXPR_OP)
        return 0;
    if (e->op == VYRE_OP_CAST)
        return vyre_type_class(vy_legalizer_type(rw, e->a)) != VYRE_CLASS_FLOAT;
    return e->op == VYRE_OP_SELECT && is_canonical(rw, e->b) && is_canonical(rw, e->c);
}

/* Arrays are not looked at from outside, and what is loaded from them is made canonical where it is seen. Narrow floats
 * come packed. */
static uint32_t narrow(vy_legalizer *rw, vyre_type type, uint32_t tree, vy_space space) {
    vyre_type bits = type == VYRE_TYPE_F32 ? VYRE_TYPE_U32 : VYRE_TYPE_U64;
    if ((type != VYRE_TYPE_F32 && type != VYRE_TYPE_F64) || space != VY_SPACE_BUFFER || is_canonical(rw, tree))
        return tree;
    uint32_t canonical = vy_legalizer_named(rw, type == VYRE_TYPE_F32 ? "canonical_f32" : "canonical_f64",
                                            vy_legalizer_op1(rw, VYRE_OP_BITCAST, bits, tree));
    return vy_legalizer_op1(rw, VYRE_OP_BITCAST, type, canonical);
}

/* Division by a constant that is no edge, and a shift by a constant below the width, need nothing. */
static int is_easy(vyre_op op, vyre_type type, uint64_t literal) {
    if (!(vyre_type_class(type) & VYRE_CLASS_INTEGER))
        return 0;
    uint64_t ones = UINT64_MAX >> (64 - vyre_type_bits(type));
    switch (op) {
    case VYRE_OP_DIV:
    case VYRE_OP_REM:
        return literal != 0 && (vyre_type_class(type) == VYRE_CLASS_UNSIGNED || literal != ones);
    case VYRE_OP_SHL:
    case VYRE_OP_SHR:
    case VYRE_OP_ROTL:
    case VYRE_OP_ROTR:
        return literal < vyre_type_bits(type);
    default:
        return 0;
    }
}

/* Whether an op of the program is such. Few may be. */
static int is_easy_op(const vyre_program *p, const vy_expr *e) {
    const uint64_t may_be =
        VY_OP(DIV) | VY_OP(REM) | VY_OP(SHL) | VY_OP(SHR) | VY_OP(ROTL) | VY_OP(ROTR); /* see is_easy */
    const vy_expr *b = may_be >> e->op & 1 ? &p->exprs.items[e->b] : NULL;
    return b && b->kind == VY_EXPR_LITERAL && is_easy((vyre_op)e->op, vy_legalizer_operand_type(p, e), b->bits);
}

/* Between f32 and 64-bit integers. */
static int is_far_cast(uint8_t to, uint8_t from) {
    uint8_t other = to == VYRE_TYPE_F32 ? from : to;
    return (to == VYRE_TYPE_F32 || from == VYRE_TYPE_F32) && (other == VYRE_TYPE_I64 || other == VYRE_TYPE_U64);
}

vy_legal_uses vy_legal_exact_uses(const vyre_program *p) {
    vy_legal_uses uses = {vy_legal_uses_of(p).types, 0};
    for (uint32_t i = 0; i < p->exprs.count; i++) {
        const vy_expr *e = &p->exprs.items[i];
        if (e->kind != VY_EXPR_OP || is_easy_op(p, e))
            continue;
        uses.ops |= UINT64_C(1) << e->op;
        if (e->op == VYRE_OP_CAST && is_far_cast(e->type, p->exprs.items[e->a].type))
            uses.types |= VY_LEGAL_FAR_CASTS;
    }
    return uses;
}

/* Whether the amount of a shift is to be kept below the width: the device shifts otherwise. Types that it does not have
 * are shifted in another phase. */
static int masks_amount(const vy_legalizer *rw, vyre_op op, vyre_type type) {
    if ((op != VYRE_OP_SHL && op != VYRE_OP_SHR) || vy_legalizer_has(rw, VYRE_NUMERIC_SHIFT))
        return 0;
    unsigned bits = vyre_type_bits(type);
    return bits == 32 || vy_legalizer_has(rw, bits == 8    ? VYRE_NUMERIC_INT8
                                              : bits == 16 ? VYRE_NUMERIC_INT16
                                                           : VYRE_NUMERIC_INT64);
}

static int keeps(const vy_legalizer *rw, const vy_expr *e, vyre_type operand) {
    if (masks_amount(rw, (vyre_op)e->op, operand))
        return is_easy_op(rw->from, e);
    return rw->library->functions.count == 0 || is_easy_op(rw->from, e) ||
           vy_softlib_replacement(rw->library, (vyre_op)e->op, (vyre_type)e->type, operand) == VY_NONE;
}

static uint32_t mask_amount(vy_legalizer *rw, vyre_type type, uint32_t amount) {
    uint32_t last = vy_legalizer_literal(rw, type, vyre_type_bits(type) - 1);
    return vy_legalizer_op(rw, VYRE_OP_AND, type, amount, last, VY_NONE);
}

static uint32_t lower_op(vy_legalizer *rw, const vy_expr *e, vyre_type operand, const uint32_t *trees) {
    vyre_op op = (vyre_op)e->op;
    vyre_type type = (vyre_type)e->type;
    uint64_t literal;
    int easy = vy_legalizer_is_literal(rw, trees[1], &literal) && is_easy(op, operand, literal);
    if (!easy && masks_amount(rw, op, operand))
        return vy_legalizer_op(rw, op, type, trees[0], mask_amount(rw, operand, trees[1]), VY_NONE);
    uint32_t function = easy ? VY_NONE : vy_softlib_replacement(rw->library, op, type, operand);
    if (function == VY_NONE)
        return vy_legalizer_op(rw, op, type, trees[0], trees[1], trees[2]);
    return vy_legalizer_call(rw, function, trees, vyre_op_get(op)->arity);
}

const vy_legalizer_phase vy_legalize_numerics = {
    .carrier = carrier, .widen = widen, .narrow = narrow, .op = lower_op, .keeps = keeps, .keeps_narrow = 1};
