/* Programs of nothing but expressions, by seed: many small trees over few types, with literals where types begin, end
 * and change sign. Compilers know patterns of two or three ops with such literals and make one instruction of them;
 * programs of everything have each of those patterns too rarely. */
#ifndef VY_TESTS_CONFORM_TREES_H
#define VY_TESTS_CONFORM_TREES_H

#include "generate/generate.h"
#include "generate/interesting_values.h"
#include "ir/eval.h"
#include "ir/op_tables.h"
#include "vyre/builder.h"

#include "backends/conform.h"

#include <stdio.h>
#include <string.h>

/* Seeds from here on are of such programs. */
static const uint64_t TREES_FIRST = UINT64_C(1) << 40;

static inline int trees_are_of(uint64_t seed) {
    return seed >= TREES_FIRST;
}

enum { TREES = 24, TREE_TYPES = 3, TREE_LEAVES = 2, TREE_GROUP = 64 };

typedef struct forest {
    vyre_builder *builder;
    vy_rng rng;
    vyre_type types[TREE_TYPES];
    vyre_value leaves[TREE_TYPES][TREE_LEAVES]; /* loaded */
} forest;

/* One of a few, half of the time: two ops with the same literal are worth more than two with any. */
static inline uint64_t tree_bits(forest *f, vyre_type type) {
    static const double special[] = {0, 1, -1, 0.5, 2, -2, 1.0 / 0.0, -1.0 / 0.0};
    uint64_t bits = vy_interesting_value(&f->rng, type);
    uint32_t draw = vy_rng_below(&f->rng, 24);
    uint64_t sign = UINT64_C(1) << (vy_type_layouts[type].bits - 1);
    if (vyre_type_class(type) != VYRE_CLASS_FLOAT || draw >= 11)
        return bits;
    if (draw >= 8)
        return draw == 8 ? sign : vy_type_layouts[type].infinity | sign >> 9 | (draw == 9 ? 0 : 1);
    double value = special[draw];
    uint64_t wide;
    memcpy(&wide, &value, sizeof wide);
    return vyre_op_evaluate(VYRE_OP_CAST, type, VYRE_TYPE_F64, wide, 0, 0);
}

static inline vyre_value tree_leaf(forest *f, vyre_type type) {
    uint32_t draw = vy_rng_below(&f->rng, 2 * TREE_LEAVES);
    for (int i = 0; i < TREE_TYPES && draw < TREE_LEAVES; i++)
        if (f->types[i] == type)
            return f->leaves[i][draw];
    return vyre_literal(f->builder, type, type == VYRE_TYPE_BOOL ? draw & 1 : tree_bits(f, type));
}

/* The operand type with which a row gives a type, of those there are; VYRE_TYPE_COUNT if none does. */
static inline vyre_type tree_operand(forest *f, const vyre_op_info *row, vyre_type type) {
    vyre_type other = f->types[vy_rng_below(&f->rng, TREE_TYPES)];
    int fits = (vyre_type_class(other) & row->classes) != 0, is_number = type != VYRE_TYPE_BOOL;
    switch ((vyre_op_rule)row->rule) {
    case VYRE_RULE_SAME:
    case VYRE_RULE_SELECT:
        return vyre_type_class(type) & row->classes ? type : VYRE_TYPE_COUNT;
    case VYRE_RULE_COMPARE:
    case VYRE_RULE_TEST:
        return !is_number && fits ? other : VYRE_TYPE_COUNT;
    case VYRE_RULE_CAST:
        return is_number && fits ? other : VYRE_TYPE_COUNT;
    case VYRE_RULE_BITCAST:
        return is_number && fits && vyre_type_bits(other) == vyre_type_bits(type) ? other : VYRE_TYPE_COUNT;
    }
    return VYRE_TYPE_COUNT;
}

/* Recursion is bounded by the depth. */
static inline vyre_value tree_make(forest *f, vyre_type type, unsigned depth) {
    if (depth == 0 || vy_rng_chance(&f->rng, 1, 6))
        return tree_leaf(f, type);
    for (int i = 0; i < 64; i++) {
        vyre_op op = (vyre_op)vy_source_ops[vy_rng_below(&f->rng, VY_SOURCE_OPS)];
        const vyre_op_info *row = vyre_op_get(op);
        vyre_type operand = tree_operand(f, row, type);
        vyre_value args[3];
        if (operand == VYRE_TYPE_COUNT || (op == VYRE_OP_REMAINDER && vy_rng_chance(&f->rng, 7, 8)))
            continue; /* a remainder becomes as much as a hundred of others */
        for (unsigned k = 0; k < row->arity; k++)
            args[k] = tree_make(f, row->rule == VYRE_RULE_SELECT && k == 0 ? VYRE_TYPE_BOOL : operand, depth - 1);
        if (op == VYRE_OP_CAST)
            return vyre_cast(f->builder, type, args[0]);
        if (op == VYRE_OP_BITCAST)
            return vyre_bitcast(f->builder, type, args[0]);
        return row->arity == 1   ? vyre_op1(f->builder, op, args[0])
               : row->arity == 2 ? vyre_op2(f->builder, op, args[0], args[1])
                                 : vyre_op3(f->builder, op, args[0], args[1], args[2]);
    }
    return tree_leaf(f, type);
}

/* Three different types; of each two loaded values, and trees that are stored one behind the other. */
static inline vyre_program *trees_write(forest *f, uint32_t count) {
    static const uint8_t pool[] = {VYRE_TYPE_F32,  VYRE_TYPE_F32, VYRE_TYPE_F32, VYRE_TYPE_F64, VYRE_TYPE_F16,
                                   VYRE_TYPE_BF16, VYRE_TYPE_I8,  VYRE_TYPE_U8,  VYRE_TYPE_I16, VYRE_TYPE_U16,
                                   VYRE_TYPE_I32,  VYRE_TYPE_I32, VYRE_TYPE_U32, VYRE_TYPE_U32, VYRE_TYPE_I64,
                                   VYRE_TYPE_I64,  VYRE_TYPE_U64, VYRE_TYPE_U64};
    vyre_builder *b = f->builder = vyre_builder_new("trees");
    vyre_memory in[TREE_TYPES], out[TREE_TYPES];
    vyre_program *program = NULL;
    char name[8];
    for (int i = 0; i < TREE_TYPES; i++) {
        do
            f->types[i] = (vyre_type)pool[vy_rng_below(&f->rng, sizeof pool)];
        while ((i > 0 && f->types[i] == f->types[0]) || (i > 1 && f->types[i] == f->types[1]));
        snprintf(name, sizeof name, "x%d", i);
        in[i] = vyre_buffer(b, name, f->types[i], VYRE_ACCESS_READ);
        snprintf(name, sizeof name, "y%d", i);
        out[i] = vyre_buffer(b, name, f->types[i], VYRE_ACCESS_WRITE);
        vyre_builder_count(b, out[i], vyre_size_literal(b, (uint64_t)count * TREE_GROUP));
    }
    vyre_builder_workgroup(b, TREE_GROUP, 1, 1);
    vyre_builder_grid_groups(b, vyre_size_literal(b, 1), vyre_size_literal(b, 1), vyre_size_literal(b, 1));
    vyre_value id = vyre_builtin_value(b, VYRE_BUILTIN_LOCAL_INDEX, 0);
    for (int i = 0; i < TREE_TYPES; i++)
        for (uint32_t k = 0; k < TREE_LEAVES; k++) {
            vyre_value at = vyre_op2(b, VYRE_OP_ADD, id, vyre_literal(b, VYRE_TYPE_U32, k * TREE_GROUP));
            snprintf(name, sizeof name, "v%u", (unsigned)i * TREE_LEAVES + k);
            f->leaves[i][k] = vyre_let(b, name, vyre_load(b, in[i], at));
        }
    for (uint32_t n = 0; n < count; n++) {
        uint32_t i = n % TREE_TYPES;
        vyre_value tree = tree_make(f, f->types[i], 2 + vy_rng_below(&f->rng, 3));
        vyre_value at = vyre_op2(b, VYRE_OP_ADD, id, vyre_literal(b, VYRE_TYPE_U32, n * TREE_GROUP));
        vyre_builder_store(b, out[i], at, tree);
    }
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_builder_finish(b, NULL, &program, &error) != VYRE_OK)
        fail_msg("a program of trees: %s", error.message);
    return program;
}

static inline vyre_case *trees_generate(uint64_t seed, uint32_t count) {
    enum { ELEMENTS = TREE_LEAVES * TREE_GROUP };
    static uint8_t data[TREE_TYPES][ELEMENTS * 8];
    forest f = {.rng = vy_rng_start(seed)};
    vyre_program *program = trees_write(&f, count);
    vyre_span inputs[TREE_TYPES];
    vyre_case *made = NULL;
    for (int i = 0; i < TREE_TYPES; i++) {
        unsigned size = vyre_type_size(f.types[i]);
        for (uint32_t k = 0; k < ELEMENTS; k++)
            vy_value_store(f.types[i], data[i] + k * size, tree_bits(&f, f.types[i]));
        inputs[i] = (vyre_span){data[i], ELEMENTS * size};
    }
    const vyre_arguments arguments = {.inputs = inputs, .input_count = TREE_TYPES};
    assert_int_equal(vyre_case_new(program, &arguments, &made, NULL), VYRE_OK);
    vyre_program_release(program);
    return made;
}

#endif
