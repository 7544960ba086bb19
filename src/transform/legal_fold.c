/* What a library's text computes is often known where it is put: the amount of a shift, the high half of a value that was 32 bits wide. Only bools and 32-bit
 * integers are folded, which every target computes alike. */
#include "transform/legal_rewrite.h"

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

static uint32_t by_identity(vy_legaliser *rw, vyre_op op, vyre_type type, uint32_t a, uint32_t b) {
    uint64_t bits;
    for (size_t i = 0; i < sizeof identities / sizeof *identities; i++) {
        const identity *row = &identities[i];
        if (row->op != op || row->type != type)
            continue;
        if (vy_legaliser_is_literal(rw, b, &bits) && bits == row->bits)
            return row->gives_other ? a : b;
        if (!row->is_second && vy_legaliser_is_literal(rw, a, &bits) && bits == row->bits)
            return row->gives_other ? b : a;
    }
    return VY_NONE;
}

uint32_t vy_legaliser_fold(vy_legaliser *rw, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c) {
    uint64_t x = 0, y = 0;
    unsigned arity = vyre_op_get(op)->arity;
    vyre_type operand = vy_legaliser_type(rw, a);
    int is_known = vy_legaliser_is_literal(rw, a, &x);
    if (op == VYRE_OP_SELECT)
        return !is_known ? VY_NONE : x ? b : c;
    if (!is_foldable(type) || !is_foldable(operand) || arity > 2)
        return VY_NONE;
    if (is_known && (arity == 1 || vy_legaliser_is_literal(rw, b, &y)))
        return vy_legaliser_literal(rw, type, vyre_op_evaluate(op, type, operand, x, y, 0));
    uint32_t least = op == VYRE_OP_LT ? b : op == VYRE_OP_GT ? a : VY_NONE; /* nothing is less than 0 */
    if (operand == VYRE_TYPE_U32 && vy_legaliser_is_literal(rw, least, &y) && y == 0)
        return vy_legaliser_literal(rw, VYRE_TYPE_BOOL, 0);
    return arity == 2 ? by_identity(rw, op, type, a, b) : VY_NONE;
}
