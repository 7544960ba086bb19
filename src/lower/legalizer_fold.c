/* What a library's text computes is often known where it is put: the amount of a shift, the high half of a value that was 32 bits wide. Only bools and 32-bit
 * integers are folded, which every target computes alike. */
#include "lower/legalizer.h"

/* A literal operand of an op, the other one, and what comes of it: the other operand, or the literal. */
typedef struct identity {
    uint8_t op, type;
    uint8_t is_second; /* only a literal on the right will do */
    uint8_t gives_other;
    uint32_t bits;
} identity;

static const identity identities[] = {
    {VYRE_OP_ADD, VYRE_TYPE_U32, 0, 1, 0},   {VYRE_OP_SUB, VYRE_TYPE_U32, 1, 1, 0},
    {VYRE_OP_OR, VYRE_TYPE_U32, 0, 1, 0},    {VYRE_OP_XOR, VYRE_TYPE_U32, 0, 1, 0},
    {VYRE_OP_SHL, VYRE_TYPE_U32, 1, 1, 0},   {VYRE_OP_SHR, VYRE_TYPE_U32, 1, 1, 0},
    {VYRE_OP_MUL, VYRE_TYPE_U32, 0, 0, 0},   {VYRE_OP_MUL_HIGH, VYRE_TYPE_U32, 0, 0, 0},
    {VYRE_OP_AND, VYRE_TYPE_U32, 0, 0, 0},   {VYRE_OP_AND, VYRE_TYPE_U32, 0, 1, UINT32_MAX},
    {VYRE_OP_LAND, VYRE_TYPE_BOOL, 0, 1, 1}, {VYRE_OP_LAND, VYRE_TYPE_BOOL, 0, 0, 0},
    {VYRE_OP_LOR, VYRE_TYPE_BOOL, 0, 1, 0},  {VYRE_OP_LOR, VYRE_TYPE_BOOL, 0, 0, 1},
};

static int is_foldable(vyre_type type) {
    return type == VYRE_TYPE_BOOL || type == VYRE_TYPE_I32 || type == VYRE_TYPE_U32;
}

static vy_legal_folded by_identity(vyre_op op, vyre_type type, const uint64_t *a, const uint64_t *b) {
    for (size_t i = 0; i < sizeof identities / sizeof *identities; i++) {
        const identity *row = &identities[i];
        if (row->op != op || row->type != type)
            continue;
        if (b && *b == row->bits)
            return row->gives_other ? VY_FOLDED_A : VY_FOLDED_B;
        if (!row->is_second && a && *a == row->bits)
            return row->gives_other ? VY_FOLDED_B : VY_FOLDED_A;
    }
    return VY_FOLDED_NOT;
}

vy_legal_folded vy_legal_fold(vyre_op op, vyre_type type, vyre_type operand, const uint64_t *a, const uint64_t *b,
                              uint64_t *bits) {
    unsigned arity = vyre_op_get(op)->arity;
    if (op == VYRE_OP_SELECT)
        return !a ? VY_FOLDED_NOT : *a ? VY_FOLDED_B : VY_FOLDED_C;
    if (!is_foldable(type) || !is_foldable(operand) || arity > 2)
        return VY_FOLDED_NOT;
    if (a && (arity == 1 || b)) {
        *bits = vyre_op_evaluate(op, type, operand, *a, arity == 1 ? 0 : *b, 0);
        return VY_FOLDED_LITERAL;
    }
    const uint64_t *least = op == VYRE_OP_LT ? b : op == VYRE_OP_GT ? a : NULL; /* nothing is less than 0 */
    if (operand == VYRE_TYPE_U32 && least && *least == 0) {
        *bits = 0;
        return VY_FOLDED_LITERAL;
    }
    return arity == 2 ? by_identity(op, type, a, b) : VY_FOLDED_NOT;
}

uint32_t vy_legalizer_fold(vy_legalizer *rw, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c) {
    uint64_t x, y, bits;
    int knows_a = vy_legalizer_is_literal(rw, a, &x), knows_b = vy_legalizer_is_literal(rw, b, &y);
    if (!knows_a && !knows_b)
        return VY_NONE;
    switch (vy_legal_fold(op, type, vy_legalizer_type(rw, a), knows_a ? &x : NULL, knows_b ? &y : NULL, &bits)) {
    case VY_FOLDED_LITERAL:
        return vy_legalizer_literal(rw, type, bits);
    case VY_FOLDED_A:
        return a;
    case VY_FOLDED_B:
        return b;
    case VY_FOLDED_C:
        return c;
    case VY_FOLDED_NOT:
        break;
    }
    return VY_NONE;
}
