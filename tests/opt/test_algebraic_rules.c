/* Every row the simplifier goes by holds for every value: tried on all values of the 8-bit types, of f16 and bf16 and
 * of bool, and on special and random values of the wider ones, by the evaluator alone. */
#include "support/test.h"

#include "ir/eval.h"
#include "opt/pass_manager.h"

static uint64_t eval(vyre_op op, vyre_type result, vyre_type operand, uint64_t a, uint64_t b) {
    return vyre_op_evaluate(op, result, operand, a, b, 0);
}

/* ---- values of a type: all of them up to 16 bits, else special and random ones ---- */

enum { SAMPLES = 20000 };

static uint64_t value_count(vyre_type type) {
    unsigned bits = vyre_type_bits(type);
    return bits <= 16 ? UINT64_C(1) << bits : SAMPLES;
}

static uint64_t value_at(vyre_type type, uint64_t i, vy_random *random) {
    unsigned bits = vyre_type_bits(type);
    uint64_t value = i;
    if (bits > 16) {
        value = vy_random_next(random);
        switch (i % 4) {
        case 0: /* a power of two, give or take */
            value = (UINT64_C(1) << value % bits) + i / 4 % 3 - 1;
            break;
        case 1: /* near the ends */
            value = (i / 4 % 2 ? vy_type_layouts[type].mask : vy_type_layouts[type].infinity) + value % 5 - 2;
            break;
        }
        value ^= (value >> 40 & 1) << (bits - 1);
    }
    return vy_value_canonicalize(type, value);
}

static void show(vyre_op op, vyre_type type, uint64_t a, uint64_t b, uint64_t expected, uint64_t given) {
    fail_msg("%s on %s: a = %llx, b = %llx gives %llx, the row says %llx", vyre_op_get(op)->name, vyre_type_name(type),
             (unsigned long long)a, (unsigned long long)b, (unsigned long long)expected, (unsigned long long)given);
}

/* ---- identities ---- */

static uint64_t becomes(const vy_identity *row, vyre_type type, vyre_type result, uint64_t a, uint64_t b) {
    uint64_t bits = 0;
    switch ((vy_becomes)row->becomes) {
    case VY_BECOMES_A:
        return a;
    case VY_BECOMES_B:
        return b;
    case VY_BECOMES_ZERO:
        return 0;
    case VY_BECOMES_ONE:
        assert_true(vy_operand_bits(VY_IS_ONE, result, &bits));
        return bits;
    case VY_BECOMES_ALL_ONES:
        return vy_type_layouts[result].mask;
    case VY_BECOMES_NAN:
        return vy_type_layouts[result].nan;
    case VY_BECOMES_NEG_A:
        return eval(VYRE_OP_NEG, type, type, a, 0);
    case VY_BECOMES_NEG_B:
        return eval(VYRE_OP_NEG, type, type, b, 0);
    case VY_BECOMES_NOT_A:
        return eval(VYRE_OP_NOT, type, type, a, 0);
    case VY_BECOMES_LNOT_A:
        return eval(VYRE_OP_LNOT, type, type, a, 0);
    }
    return 0;
}

static uint64_t try_row(const vy_identity *row, vyre_type type) {
    vy_random random = vy_random_start(type);
    uint64_t a_literal, b_literal;
    int a_fixed = vy_operand_bits((vy_operand_is)row->a, type, &a_literal);
    int b_fixed = vy_operand_bits((vy_operand_is)row->b, type, &b_literal);
    if ((row->a > VY_IS_SAME && !a_fixed) || (row->b > VY_IS_SAME && !b_fixed))
        return 0; /* the type has no such literal: the row never applies */
    vyre_type result = vyre_op_get((vyre_op)row->op)->rule == VYRE_RULE_COMPARE ? VYRE_TYPE_BOOL : type;
    assert_true(vyre_op_accepts((vyre_op)row->op, type, result));
    for (uint64_t i = 0; i < value_count(type); i++) {
        uint64_t x = value_at(type, i, &random);
        uint64_t a = a_fixed ? a_literal : x, b = b_fixed ? b_literal : x;
        uint64_t expected = eval((vyre_op)row->op, result, type, a, b), given = becomes(row, type, result, a, b);
        if (expected != given)
            show((vyre_op)row->op, type, a, b, expected, given);
    }
    return value_count(type);
}

static void every_identity_holds_for_every_value(void **state) {
    (void)state;
    uint64_t tried = 0;
    for (unsigned i = 0; i < VY_IDENTITY_COUNT; i++) {
        uint64_t before = tried;
        /* Two free operands would need pairs: a row has one at most. */
        assert_false(vy_identities[i].a == VY_IS_ANY && vy_identities[i].b == VY_IS_ANY);
        for (unsigned type = 0; type < VYRE_TYPE_COUNT; type++)
            if (vy_type_layouts[type].classes & vy_identities[i].classes)
                tried += try_row(&vy_identities[i], (vyre_type)type);
        assert_true(tried > before);
    }
    printf("%u rows, %llu values\n", VY_IDENTITY_COUNT, (unsigned long long)tried);
}

/* ---- pairs ---- */

static void every_unary_pair_holds_for_every_value(void **state) {
    (void)state;
    for (unsigned i = 0; i < VY_UNARY_PAIR_COUNT; i++)
        for (unsigned t = 0; t < VYRE_TYPE_COUNT; t++) {
            const vy_unary_pair *row = &vy_unary_pairs[i];
            vyre_type type = (vyre_type)t;
            vyre_op outer = (vyre_op)row->outer, inner = (vyre_op)row->inner;
            vyre_type result = vyre_op_get(outer)->rule == VYRE_RULE_TEST ? VYRE_TYPE_BOOL : type;
            vy_random random = vy_random_start(t);
            if (!(vy_type_layouts[t].classes & row->classes))
                continue;
            for (uint64_t k = 0; k < value_count(type); k++) {
                uint64_t x = value_at(type, k, &random), in = eval(inner, type, type, x, 0);
                uint64_t expected = eval(outer, result, type, in, 0);
                uint64_t given = row->becomes == VY_PAIR_OPERAND ? x
                                 : row->becomes == VY_PAIR_INNER ? in
                                                                 : eval(outer, result, type, x, 0);
                if (expected != given)
                    show(outer, type, x, in, expected, given);
            }
        }
}

static void every_opposite_comparison_holds_for_every_pair(void **state) {
    (void)state;
    for (unsigned i = 0; i < VY_INVERSE_COUNT; i++)
        for (unsigned t = 0; t < VYRE_TYPE_COUNT; t++) {
            vyre_type type = (vyre_type)t;
            vy_random random = vy_random_start(t);
            uint64_t all = vyre_type_bits(type) <= 8 ? value_count(type) : 500;
            if (!(vy_type_layouts[t].classes & vy_inverses[i].classes))
                continue;
            for (uint64_t k = 0; k < all * all; k++) {
                uint64_t a = value_at(type, vyre_type_bits(type) == 16 ? vy_random_next(&random) : k / all, &random);
                uint64_t b = k % 7 == 0 ? a : value_at(type, vyre_type_bits(type) == 16 ? k : k % all, &random);
                uint64_t expected = !eval((vyre_op)vy_inverses[i].op, VYRE_TYPE_BOOL, type, a, b);
                uint64_t given = eval((vyre_op)vy_inverses[i].other, VYRE_TYPE_BOOL, type, a, b);
                if (expected != given)
                    show((vyre_op)vy_inverses[i].op, type, a, b, expected, given);
            }
        }
}

/* ---- chains ---- */

static void try_chain(vyre_op op, vyre_type type, uint64_t c, uint64_t d, const uint64_t *x, size_t n) {
    static uint64_t expected[256], given[256], literal[256];
    vy_kernel *kernel = vy_eval_kernel(op, type, type);
    uint64_t bits;
    vy_chain chain = vy_chain_of(op, type, c, d, &bits);
    assert_int_not_equal(chain, VY_CHAIN_NONE);
    for (size_t i = 0; i < n; i++)
        literal[i] = c;
    kernel(expected, x, literal, NULL, n);
    for (size_t i = 0; i < n; i++)
        literal[i] = d;
    kernel(expected, expected, literal, NULL, n);
    for (size_t i = 0; i < n; i++)
        literal[i] = given[i] = bits;
    if (chain == VY_CHAIN_OP)
        kernel(given, x, literal, NULL, n);
    for (size_t i = 0; i < n; i++)
        if (expected[i] != given[i])
            show(op, type, c, d, expected[i], given[i]);
}

static void two_ops_with_literals_are_one(void **state) {
    (void)state;
    static const vyre_op ops[] = {VYRE_OP_SHL, VYRE_OP_SHR, VYRE_OP_SUB, VYRE_OP_ADD, VYRE_OP_MUL,
                                  VYRE_OP_AND, VYRE_OP_OR,  VYRE_OP_XOR, VYRE_OP_MIN, VYRE_OP_MAX};
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
        for (unsigned t = VYRE_TYPE_I8; t <= VYRE_TYPE_U64; t++) {
            vyre_type type = (vyre_type)t;
            vy_random random = vy_random_start(t);
            uint64_t x[256];
            for (uint64_t i = 0; i < 256; i++)
                x[i] = vyre_type_bits(type) == 8 ? i : value_at(type, vy_random_next(&random), &random);
            for (uint64_t k = 0; k < (vyre_type_bits(type) == 8 ? 65536 : 2000); k++) {
                int is_byte = vyre_type_bits(type) == 8;
                uint64_t c = is_byte ? k / 256 : k % 2 ? vy_random_below(&random, 70) : value_at(type, k, &random);
                uint64_t d = is_byte ? k % 256 : k % 2 ? vy_random_below(&random, 70) : value_at(type, k + 1, &random);
                try_chain(ops[o], type, vy_value_canonicalize(type, c), vy_value_canonicalize(type, d), x, 256);
            }
        }
}

static void floats_have_no_chains(void **state) {
    (void)state;
    uint64_t bits;
    for (unsigned op = 0; op < VYRE_OP_COUNT; op++)
        for (unsigned type = VYRE_TYPE_F16; type <= VYRE_TYPE_F64; type++)
            assert_int_equal(vy_chain_of((vyre_op)op, (vyre_type)type, 0, 0, &bits), VY_CHAIN_NONE);
}

/* fma(a, 1, c) = a + c and fma(a, b, -0) = a * b: what the simplifier knows of it. */
static void fma_of_one_adds_and_fma_of_minus_zero_multiplies(void **state) {
    (void)state;
    vy_random random = vy_random_start(5);
    for (unsigned t = VYRE_TYPE_F16; t <= VYRE_TYPE_F64; t++)
        for (uint64_t i = 0; i < 400000; i++) {
            vyre_type type = (vyre_type)t;
            uint64_t one = 0, minus_zero = 0, a = value_at(type, i % value_count(type), &random);
            uint64_t b = value_at(type, vy_random_next(&random), &random);
            assert_true(vy_operand_bits(VY_IS_ONE, type, &one) && vy_operand_bits(VY_IS_MINUS_ZERO, type, &minus_zero));
            b = i % 5 == 0 ? minus_zero : i % 5 == 1 ? 0 : vy_value_canonicalize(type, b);
            assert_int_equal(vyre_op_evaluate(VYRE_OP_FMA, type, type, a, one, b), eval(VYRE_OP_ADD, type, type, a, b));
            assert_int_equal(vyre_op_evaluate(VYRE_OP_FMA, type, type, a, b, minus_zero),
                             eval(VYRE_OP_MUL, type, type, a, b));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_identity_holds_for_every_value),
        cmocka_unit_test(every_unary_pair_holds_for_every_value),
        cmocka_unit_test(every_opposite_comparison_holds_for_every_pair),
        cmocka_unit_test(two_ops_with_literals_are_one),
        cmocka_unit_test(floats_have_no_chains),
        cmocka_unit_test(fma_of_one_adds_and_fma_of_minus_zero_multiplies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
