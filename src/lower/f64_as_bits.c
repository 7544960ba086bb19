/* Third numeric phase, for targets without f64, or without the 64-bit integers to inspect one: an f64 is represented by
 * its bit pattern, a u64.
 *
 * The phase before has replaced every op on f64, since the numerics profile has none of them. What remains are loads,
 * stores, selects and bitcasts, which become those of u64, and the cast from bool to f64. Buffers and params of f64 are
 * declared as u64; their bytes are the same. */
#include "lower/legalizer.h"

#define F64 VYRE_TYPE_F64
#define U64 VYRE_TYPE_U64

static vyre_type carrier(const vy_legalizer *rw, vyre_type type) {
    (void)rw;
    return type == F64 ? U64 : type;
}

static uint32_t widen(vy_legalizer *rw, vyre_type type, uint32_t tree) {
    if (type == F64 && tree != VY_NONE)
        rw->trees.items[tree].type = U64;
    return tree;
}

/* A literal becomes its pattern, not its value. */
static int leaf(vy_legalizer *rw, const vy_expr *e, uint32_t *tree) {
    if (e->kind != VY_EXPR_LITERAL || e->type != F64)
        return 0;
    *tree = vy_legalizer_literal(rw, U64, e->bits);
    return 1;
}

static int keeps(const vy_legalizer *rw, const vy_expr *e, vyre_type operand) {
    (void)rw;
    return e->type != F64 && operand != F64;
}

static uint32_t lower_op(vy_legalizer *rw, const vy_expr *e, vyre_type operand, const uint32_t *trees) {
    const uint64_t one = UINT64_C(0x3ff0000000000000);
    vyre_op op = (vyre_op)e->op;
    vyre_type type = carrier(rw, (vyre_type)e->type);
    if (keeps(rw, e, operand) || op == VYRE_OP_SELECT)
        return vy_legalizer_op(rw, op, type, trees[0], trees[1], trees[2]);
    if (op == VYRE_OP_BITCAST || (op == VYRE_OP_CAST && e->type == operand))
        return vy_legalizer_type(rw, trees[0]) == type ? trees[0]
                                                       : vy_legalizer_op1(rw, VYRE_OP_BITCAST, type, trees[0]);
    if (op == VYRE_OP_CAST && operand == VYRE_TYPE_BOOL)
        return vy_legalizer_op(rw, VYRE_OP_SELECT, U64, trees[0], vy_legalizer_literal(rw, U64, one),
                               vy_legalizer_literal(rw, U64, 0));
    return vy_legalizer_refuse(rw, vyre_op_get(op)->name, F64);
}

/* All declarations keep their indices, so only types change. */
static void declare(vy_legalizer *rw) {
    vy_cloner_params(&rw->copy);
    vy_cloner_buffers(&rw->copy, 0);
    vy_cloner_arrays(&rw->copy);
    vy_cloner_grid(&rw->copy);
    vyre_program *made = rw->copy.draft.program;
    for (uint32_t i = 0; i < made->variables.count; i++)
        made->variables.items[i].type = (uint8_t)carrier(rw, (vyre_type)vy_variable_at(made, i)->type);
    for (uint32_t i = 0; i < made->memories.count; i++)
        made->memories.items[i].type = (uint8_t)carrier(rw, (vyre_type)vy_memory_at(made, i)->type);
}

const vy_legalizer_phase vy_legalize_f64_as_bits = {
    .carrier = carrier, .widen = widen, .op = lower_op, .keeps = keeps, .declare = declare, .leaf = leaf};
