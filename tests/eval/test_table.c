/* The op table and the type table as data, and that the evaluator covers exactly what they accept. */
#include "base/thread.h"
#include "eval/cases.h"
#include "ir/op_tables.h"

/* The combinations of a row: 13 types, 8 integer, 4 float; casts of 13 types to 12 numbers; bitcasts within 2, 4, 3 and
 * 3 types of a width. */
static unsigned combinations_of(unsigned classes, vyre_op_rule rule) {
    const unsigned types = (classes & VYRE_CLASS_BOOL ? 1 : 0) + (classes & VYRE_CLASS_INTEGER ? 8 : 0) +
                           (classes & VYRE_CLASS_FLOAT ? 4 : 0);
    return rule == VYRE_RULE_CAST ? 13 * 12 : rule == VYRE_RULE_BITCAST ? 4 + 16 + 9 + 9 : types;
}

static void every_accepted_combination_has_a_kernel_and_no_other(void **state) {
    unsigned accepted = 0, expected = 0;
    (void)state;

    for (unsigned op = 0; op <= VYRE_OP_COUNT; op++)
        for (unsigned result = 0; result <= VYRE_TYPE_COUNT; result++)
            for (unsigned operand = 0; operand <= VYRE_TYPE_COUNT; operand++) {
                const int accepts = vyre_op_accepts((vyre_op)op, (vyre_type)operand, (vyre_type)result);
                vy_kernel *kernel = vy_eval_kernel((vyre_op)op, (vyre_type)result, (vyre_type)operand);

                if (accepts != (kernel != NULL))
                    fail_msg("op %u, operand %u, result %u: accepted %d, kernel %d", op, operand, result, accepts,
                             kernel != NULL);
                if (!accepts)
                    assert_int_equal(0, vyre_op_evaluate((vyre_op)op, (vyre_type)result, (vyre_type)operand, 1, 1, 1));
                accepted += (unsigned)accepts;
            }
    printf("%u accepted combinations\n", accepted);
#define X(ID, tag, name, symbol, precedence, arity, cls, rule, level, edge, doc)                                       \
    expected += combinations_of(VYRE_CLASS_##cls, VYRE_RULE_##rule);
    VYRE_OP_LIST(X)
#undef X
    assert_int_equal(accepted, expected);
}

static void rows_accept_what_their_class_and_rule_say(void **state) {
    (void)state;
    assert_true(vyre_op_accepts(VYRE_OP_ADD, VYRE_TYPE_BF16, VYRE_TYPE_BF16));
    assert_false(vyre_op_accepts(VYRE_OP_ADD, VYRE_TYPE_BF16, VYRE_TYPE_F16));
    assert_false(vyre_op_accepts(VYRE_OP_ADD, VYRE_TYPE_BOOL, VYRE_TYPE_BOOL));
    assert_false(vyre_op_accepts(VYRE_OP_REM, VYRE_TYPE_F32, VYRE_TYPE_F32));
    assert_true(vyre_op_accepts(VYRE_OP_LT, VYRE_TYPE_U8, VYRE_TYPE_BOOL));
    assert_false(vyre_op_accepts(VYRE_OP_LT, VYRE_TYPE_U8, VYRE_TYPE_U8));
    assert_false(vyre_op_accepts(VYRE_OP_LT, VYRE_TYPE_BOOL, VYRE_TYPE_BOOL));
    assert_true(vyre_op_accepts(VYRE_OP_EQ, VYRE_TYPE_BOOL, VYRE_TYPE_BOOL));
    assert_true(vyre_op_accepts(VYRE_OP_CAST, VYRE_TYPE_BOOL, VYRE_TYPE_F16));
    assert_true(vyre_op_accepts(VYRE_OP_CAST, VYRE_TYPE_F16, VYRE_TYPE_F16));
    assert_false(vyre_op_accepts(VYRE_OP_CAST, VYRE_TYPE_F16, VYRE_TYPE_BOOL));
    assert_false(vyre_op_accepts(VYRE_OP_CAST, VYRE_TYPE_BOOL, VYRE_TYPE_BOOL));
    assert_true(vyre_op_accepts(VYRE_OP_BITCAST, VYRE_TYPE_F16, VYRE_TYPE_BF16));
    assert_false(vyre_op_accepts(VYRE_OP_BITCAST, VYRE_TYPE_F16, VYRE_TYPE_F32));
    assert_false(vyre_op_accepts(VYRE_OP_BITCAST, VYRE_TYPE_BOOL, VYRE_TYPE_U8));
    assert_true(vyre_op_accepts(VYRE_OP_SELECT, VYRE_TYPE_BOOL, VYRE_TYPE_BOOL));
}

/* The tags of version 1.0 and 1.1. Encoded programs contain them: add rows, change none. */
static const struct {
    const char *name;
    unsigned tag;
} tags[] = {
    {"neg", 0},     {"not", 1},        {"lnot", 2},         {"abs", 3},           {"popcount", 4},
    {"clz", 5},     {"ctz", 6},        {"reverse_bits", 7}, {"reverse_bytes", 8}, {"sqrt", 9},
    {"floor", 10},  {"ceil", 11},      {"trunc", 12},       {"round", 13},        {"is_nan", 14},
    {"is_inf", 15}, {"is_finite", 16}, {"signbit", 17},     {"add", 18},          {"sub", 19},
    {"mul", 20},    {"mul_high", 21},  {"div", 22},         {"rem", 23},          {"remainder", 24},
    {"and", 25},    {"or", 26},        {"xor", 27},         {"land", 28},         {"lor", 29},
    {"shl", 30},    {"shr", 31},       {"rotl", 32},        {"rotr", 33},         {"min", 34},
    {"max", 35},    {"copysign", 36},  {"eq", 37},          {"ne", 38},           {"lt", 39},
    {"le", 40},     {"gt", 41},        {"ge", 42},          {"select", 43},       {"fma", 44},
    {"cast", 45},   {"bitcast", 46},   {"approx_div", 47},  {"approx_sqrt", 48},
};

static void wire_tags_never_change(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        vyre_op op = vyre_op_find(tags[i].name, strlen(tags[i].name));
        assert_int_not_equal(op, VYRE_OP_COUNT);
        assert_int_equal(vy_op_tags[op], tags[i].tag);
    }
}

static void every_op_has_a_tag_of_its_own(void **state) {
    (void)state;
    unsigned found = 0;
    for (unsigned op = 0; op < VYRE_OP_COUNT; op++)
        assert_int_equal(vy_op_of_tag(vy_op_tags[op]), op);
    for (unsigned tag = 0; tag < 2 * VY_OP_TAGS; tag++)
        found += vy_op_of_tag(tag) != VYRE_OP_COUNT;
    assert_int_equal(found, VYRE_OP_COUNT);
}

static void ops_of_level_source_are_listed(void **state) {
    (void)state;
    unsigned next = 0;
    for (unsigned op = 0; op < VYRE_OP_COUNT; op++)
        if (vyre_op_get((vyre_op)op)->level == VYRE_LEVEL_SOURCE)
            assert_int_equal(vy_source_ops[next++], op);
    assert_int_equal(next, VY_SOURCE_OPS);
    for (unsigned i = 0; i < VYRE_COLLECTIVE_COUNT; i++)
        assert_int_equal(vy_collectives[i].level == VYRE_LEVEL_SOURCE, i < VY_SOURCE_COLLECTIVES);
}

static void every_op_is_found_by_its_name_and_nothing_else_is(void **state) {
    (void)state;
    for (unsigned op = 0; op < VYRE_OP_COUNT; op++) {
        const vyre_op_info *info = vyre_op_get((vyre_op)op);

        assert_int_equal(vyre_op_find(info->name, strlen(info->name)), op);
        assert_int_equal(vyre_op_find(info->name, strlen(info->name) - 1) == (vyre_op)op, 0);
        assert_in_range(info->arity, 1, 3);
        assert_true(strlen(info->edge) > 0 && strlen(info->doc) > 0);
    }
    assert_null(vyre_op_get(VYRE_OP_COUNT));
    assert_int_equal(vyre_op_find("", 0), VYRE_OP_COUNT);
    assert_int_equal(vyre_op_find("adder", 5), VYRE_OP_COUNT);
    assert_int_equal(vyre_op_find("adder", 3), VYRE_OP_ADD);
}

static void every_type_is_found_by_its_name_and_nothing_else_is(void **state) {
    (void)state;
    for (unsigned type = 0; type < VYRE_TYPE_COUNT; type++) {
        const char *name = vyre_type_name((vyre_type)type);

        assert_int_equal(vyre_type_find(name, strlen(name)), type);
        assert_int_equal(vyre_type_size((vyre_type)type),
                         type == VYRE_TYPE_BOOL ? 0 : vyre_type_bits((vyre_type)type) / 8);
    }
    assert_int_equal(vyre_type_find("f", 1), VYRE_TYPE_COUNT);
    assert_int_equal(vyre_type_find("f128", 4), VYRE_TYPE_COUNT);
    assert_string_equal(vyre_type_name(VYRE_TYPE_COUNT), "?");
    assert_int_equal(vyre_type_bits(VYRE_TYPE_COUNT), 0);
    assert_int_equal(vyre_type_size(VYRE_TYPE_COUNT), 0);
    assert_int_equal(vyre_type_class(VYRE_TYPE_COUNT), 0);
    assert_int_equal(vyre_type_class(VYRE_TYPE_U8), VYRE_CLASS_UNSIGNED);
}

static void names_outside_the_lists_are_question_marks(void **state) {
    (void)state;
    assert_string_equal(vyre_builtin_name(VYRE_BUILTIN_LOCAL_INDEX), "local_index");
    assert_string_equal(vyre_atomic_name(VYRE_ATOMIC_COMPARE_EXCHANGE), "atomic_compare_exchange");
    assert_string_equal(vyre_order_name(VYRE_ORDER_ACQ_REL), "acq_rel");
    assert_string_equal(vyre_collective_name(VYRE_COLLECTIVE_SHUFFLE_DOWN), "shuffle_down");
    assert_string_equal(vyre_builtin_name(VYRE_BUILTIN_COUNT), "?");
    assert_string_equal(vyre_atomic_name(VYRE_ATOMIC_COUNT), "?");
    assert_string_equal(vyre_order_name(VYRE_ORDER_COUNT), "?");
    assert_string_equal(vyre_collective_name(VYRE_COLLECTIVE_COUNT), "?");
}

static void identities_leave_every_value_as_it_is(void **state) {
    static const vyre_op ops[] = {
#define X(ID) VYRE_OP_##ID,
        VYRE_COMBINE_LIST(X)
#undef X
    };
    vy_random random = vy_random_start(1);
    (void)state;

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (unsigned type = 0; type < VYRE_TYPE_COUNT; type++) {
            const uint64_t identity = vyre_combine_identity(ops[i], (vyre_type)type);

            if (!vyre_op_accepts(ops[i], (vyre_type)type, (vyre_type)type)) {
                assert_int_equal(identity, 0);
                continue;
            }
            for (int sample = 0; sample < 1000; sample++) {
                uint64_t value = random_value(&random, (vyre_type)type);
                const format *f = format_of((vyre_type)type);

                if (f && ops[i] == VYRE_OP_ADD && value == format_sign(f))
                    continue; /* -0 + +0 is +0: the one value +0 does not keep */
                if (f && format_is_nan(f, value) && (ops[i] == VYRE_OP_MIN || ops[i] == VYRE_OP_MAX))
                    continue; /* a number, here infinity, beats NaN */
                check_bits(ops[i], (vyre_type)type, (vyre_type)type, identity, value, 0, value);
                check_bits(ops[i], (vyre_type)type, (vyre_type)type, value, identity, 0, value);
            }
        }
    assert_int_equal(vyre_combine_identity(VYRE_OP_MUL, VYRE_TYPE_F16), 0x3c00);
    assert_int_equal(vyre_combine_identity(VYRE_OP_MUL, VYRE_TYPE_BF16), 0x3f80);
    assert_int_equal(vyre_combine_identity(VYRE_OP_MIN, VYRE_TYPE_I8), 0x7f);
    assert_int_equal(vyre_combine_identity(VYRE_OP_MAX, VYRE_TYPE_I8), 0x80);
    assert_int_equal(vyre_combine_identity(VYRE_OP_MIN, VYRE_TYPE_F32), 0x7f800000);
    assert_int_equal(vyre_combine_identity(VYRE_OP_MAX, VYRE_TYPE_F32), 0xff800000);
    assert_int_equal(vyre_combine_identity(VYRE_OP_MAX, VYRE_TYPE_U16), 0);
    assert_int_equal(vyre_combine_identity(VYRE_OP_AND, VYRE_TYPE_U16), 0xffff);
    assert_int_equal(vyre_combine_identity(VYRE_OP_COUNT, VYRE_TYPE_COUNT), 0);
}

enum { MOST_LANES = 67 };

/* Runs one kernel over n lanes into a fresh array and into each operand, against one lane at a time. */
static void check_lanes(vyre_op op, vyre_type result, vyre_type operand, size_t n, vy_random *random) {
    uint64_t operands[3][MOST_LANES], copies[3][MOST_LANES + 1], expected[MOST_LANES];
    vy_kernel *kernel = vy_eval_kernel(op, result, operand);
    vy_fenv saved;

    for (size_t lane = 0; lane < n; lane++) {
        for (int k = 0; k < 3; k++)
            operands[k][lane] = random_value(random, k == 0 && op == VYRE_OP_SELECT ? VYRE_TYPE_BOOL : operand);
        expected[lane] = vyre_op_evaluate(op, result, operand, operands[0][lane], operands[1][lane], operands[2][lane]);
        assert_int_equal(expected[lane], vy_value_canonicalize(result, expected[lane]));
    }
    for (int target = 0; target < 4; target++) {
        uint64_t apart[MOST_LANES + 1], *r = target < 3 ? copies[target] : apart;

        memcpy(copies[0], operands[0], sizeof operands[0]);
        memcpy(copies[1], operands[1], sizeof operands[1]);
        memcpy(copies[2], operands[2], sizeof operands[2]);
        r[n] = 77;
        vy_fenv_enter(&saved);
        kernel(r, copies[0], vyre_op_get(op)->arity > 1 || target == 1 ? copies[1] : NULL,
               vyre_op_get(op)->arity > 2 || target == 2 ? copies[2] : NULL, n);
        vy_fenv_leave(&saved);
        assert_int_equal(r[n], 77);
        for (size_t lane = 0; lane < n; lane++)
            if (r[lane] != expected[lane])
                fail_msg("%s %s lane %zu of %zu of %" PRIx64 " %" PRIx64 " %" PRIx64 " gives %" PRIx64
                         ", alone %" PRIx64,
                         vyre_op_get(op)->name, vyre_type_name(operand), lane, n, operands[0][lane], operands[1][lane],
                         operands[2][lane], r[lane], expected[lane]);
    }
}

static void many_lanes_give_what_one_lane_gives_also_in_place(void **state) {
    vy_random random = vy_random_start(2);
    (void)state;

    for (unsigned op = 0; op < VYRE_OP_COUNT; op++)
        for (unsigned result = 0; result < VYRE_TYPE_COUNT; result++)
            for (unsigned operand = 0; operand < VYRE_TYPE_COUNT; operand++)
                if (vyre_op_accepts((vyre_op)op, (vyre_type)operand, (vyre_type)result))
                    for (unsigned round = 0; round < 10 * vy_test_effort(); round++)
                        check_lanes((vyre_op)op, (vyre_type)result, (vyre_type)operand,
                                    round == 0 ? 0 : 1 + vy_random_below(&random, MOST_LANES), &random);
}

static void excess_bits_and_foreign_nans_of_operands_do_not_matter(void **state) {
    (void)state;
    check_bits(VYRE_OP_ADD, VYRE_TYPE_U8, VYRE_TYPE_U8, 0xabcd01, 0xff02, 0, 0x03);
    check_bits(VYRE_OP_SELECT, VYRE_TYPE_U8, VYRE_TYPE_U8, 0xfe, 0x101, 0x102, 0x02);
    check_bits(VYRE_OP_SELECT, VYRE_TYPE_U8, VYRE_TYPE_U8, 0xff, 0x101, 0x102, 0x01);
    check_bits(VYRE_OP_LNOT, VYRE_TYPE_BOOL, VYRE_TYPE_BOOL, 2, 0, 0, 1);
    check_bits(VYRE_OP_SIGNBIT, VYRE_TYPE_BOOL, VYRE_TYPE_F32, UINT64_C(0x1ffffffff), 0, 0, 0);
    check_bits(VYRE_OP_SELECT, VYRE_TYPE_F16, VYRE_TYPE_F16, 1, 0xfc01, 0, 0x7e00);
}

static void logic_on_bools_is_that_of_truth_tables(void **state) {
    (void)state;
    for (uint64_t a = 0; a < 2; a++)
        for (uint64_t b = 0; b < 2; b++) {
            check_bits(VYRE_OP_LNOT, VYRE_TYPE_BOOL, VYRE_TYPE_BOOL, a, b, 0, !a);
            check_bits(VYRE_OP_LAND, VYRE_TYPE_BOOL, VYRE_TYPE_BOOL, a, b, 0, a && b);
            check_bits(VYRE_OP_LOR, VYRE_TYPE_BOOL, VYRE_TYPE_BOOL, a, b, 0, a || b);
            check_bits(VYRE_OP_EQ, VYRE_TYPE_BOOL, VYRE_TYPE_BOOL, a, b, 0, a == b);
            check_bits(VYRE_OP_NE, VYRE_TYPE_BOOL, VYRE_TYPE_BOOL, a, b, 0, a != b);
            check_bits(VYRE_OP_SELECT, VYRE_TYPE_BOOL, VYRE_TYPE_BOOL, a, b, !b, a ? b : !b);
        }
}

/* Small values are proper in every type. */
static void proper_values_are_computed_without_being_asked(void **state) {
    (void)state;
    const uint64_t values[3] = {1, 1, 1};
    for (unsigned op = 0; op < VYRE_OP_COUNT; op++)
        for (unsigned result = 0; result < VYRE_TYPE_COUNT; result++)
            for (unsigned operand = 0; operand < VYRE_TYPE_COUNT; operand++)
                if (vyre_op_accepts((vyre_op)op, (vyre_type)operand, (vyre_type)result))
                    assert_int_equal(vy_eval_canonical((vyre_op)op, (vyre_type)result, (vyre_type)operand, values),
                                     vyre_op_evaluate((vyre_op)op, (vyre_type)result, (vyre_type)operand, 1, 1, 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_accepted_combination_has_a_kernel_and_no_other),
        cmocka_unit_test(proper_values_are_computed_without_being_asked),
        cmocka_unit_test(rows_accept_what_their_class_and_rule_say),
        cmocka_unit_test(wire_tags_never_change),
        cmocka_unit_test(every_op_has_a_tag_of_its_own),
        cmocka_unit_test(ops_of_level_source_are_listed),
        cmocka_unit_test(every_op_is_found_by_its_name_and_nothing_else_is),
        cmocka_unit_test(every_type_is_found_by_its_name_and_nothing_else_is),
        cmocka_unit_test(names_outside_the_lists_are_question_marks),
        cmocka_unit_test(identities_leave_every_value_as_it_is),
        cmocka_unit_test(many_lanes_give_what_one_lane_gives_also_in_place),
        cmocka_unit_test(excess_bits_and_foreign_nans_of_operands_do_not_matter),
        cmocka_unit_test(logic_on_bools_is_that_of_truth_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
