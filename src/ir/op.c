/* The op table as data: rows, names, type rules, identities. What a row computes is the evaluator's business (ir/eval.h). */
#include "vyre/op.h"

#include "ir/eval.h"

static const vyre_op_info ops[VYRE_OP_COUNT] = {
#define X(ID, name, symbol, precedence, arity, cls, rule, level, edge, doc)                                            \
    {name, symbol, VYRE_PRECEDENCE_##precedence, arity, VYRE_CLASS_##cls, VYRE_RULE_##rule, VYRE_LEVEL_##level,        \
     edge, doc},
    VYRE_OP_LIST(X)
#undef X
};

/* Beside the rows, so that a search looks at bytes and rarely at strings. */
static const uint8_t op_name_lengths[VYRE_OP_COUNT] = {
#define X(ID, name, ...) sizeof name - 1,
    VYRE_OP_LIST(X)
#undef X
};

const vyre_op_info *vyre_op_get(vyre_op op) {
    return (unsigned)op < VYRE_OP_COUNT ? &ops[op] : NULL;
}

vyre_op vyre_op_find(const char *name, size_t length) {
    unsigned op = name ? 0 : VYRE_OP_COUNT;

    while (op < VYRE_OP_COUNT &&
           (op_name_lengths[op] != length || ops[op].name[0] != name[0] || memcmp(ops[op].name, name, length) != 0))
        op++;
    return (vyre_op)op;
}

int vyre_op_accepts(vyre_op op, vyre_type operand, vyre_type result) {
    const unsigned from = vyre_type_class(operand), to = vyre_type_class(result);

    if ((unsigned)op >= VYRE_OP_COUNT || !(ops[op].classes & from) || !to)
        return 0;
    switch ((vyre_op_rule)ops[op].rule) {
    case VYRE_RULE_SAME:
    case VYRE_RULE_SELECT:
        return result == operand;
    case VYRE_RULE_COMPARE:
    case VYRE_RULE_TEST:
        return result == VYRE_TYPE_BOOL;
    case VYRE_RULE_CAST:
        return to != VYRE_CLASS_BOOL;
    case VYRE_RULE_BITCAST:
        return to != VYRE_CLASS_BOOL && vyre_type_bits(operand) == vyre_type_bits(result);
    }
    return 0;
}

/* The value every other is less than or equal to. */
static uint64_t largest(const vy_type_layout *layout) {
    switch (layout->classes) {
    case VYRE_CLASS_FLOAT:
        return layout->infinity;
    case VYRE_CLASS_SIGNED:
        return layout->mask >> 1;
    default:
        return layout->mask;
    }
}

/* The value every other is greater than or equal to. */
static uint64_t smallest(const vy_type_layout *layout) {
    const uint64_t sign = layout->mask ^ layout->mask >> 1;

    switch (layout->classes) {
    case VYRE_CLASS_FLOAT:
        return sign | layout->infinity;
    case VYRE_CLASS_SIGNED:
        return sign;
    default:
        return 0;
    }
}

uint64_t vyre_combine_identity(vyre_op op, vyre_type type) {
    if (!vyre_op_accepts(op, type, type))
        return 0;
    switch (op) {
    case VYRE_OP_MUL:
        return vyre_op_evaluate(VYRE_OP_CAST, type, VYRE_TYPE_BOOL, 1, 0, 0);
    case VYRE_OP_MIN:
        return largest(&vy_type_layouts[type]);
    case VYRE_OP_MAX:
        return smallest(&vy_type_layouts[type]);
    case VYRE_OP_AND:
        return vy_type_layouts[type].mask;
    default:
        return 0; /* add, or, xor; and rows that do not combine */
    }
}
