/* Every integer row against a model on mathematical integers: 8-bit types on all pairs, wider ones on edges and
 * samples. */
#include "eval/cases.h"
#include "eval/integer_model.h"

static const vyre_type integer_types[] = {VYRE_TYPE_I8,  VYRE_TYPE_U8,  VYRE_TYPE_I16, VYRE_TYPE_U16,
                                          VYRE_TYPE_I32, VYRE_TYPE_U32, VYRE_TYPE_I64, VYRE_TYPE_U64};
static uint64_t checked;

static vyre_type result_of(vyre_op op, vyre_type type) {
    return vyre_op_accepts(op, type, type) ? type : VYRE_TYPE_BOOL;
}

static int is_integer_row(unsigned op, vyre_type type) {
    return op != VYRE_OP_CAST && op != VYRE_OP_BITCAST &&
           (vyre_op_accepts((vyre_op)op, type, type) || vyre_op_accepts((vyre_op)op, type, VYRE_TYPE_BOOL));
}

/* All rows of the type on one pair; select takes the pair as its arms. */
static void check_pair(vyre_type type, uint64_t a, uint64_t b, int with_unary) {
    for (unsigned op = 0; op < VYRE_OP_COUNT; op++) {
        if (!is_integer_row(op, type) || (vyre_op_get((vyre_op)op)->arity == 1 && !with_unary))
            continue;
        const uint64_t first = op == VYRE_OP_SELECT ? (a ^ b) & 1 : a, second = op == VYRE_OP_SELECT ? a : b;

        check_bits((vyre_op)op, result_of((vyre_op)op, type), type, first, second, b,
                   integer_model((vyre_op)op, type, first, second, b));
        checked++;
    }
}

static void every_row_of_the_8_bit_types_is_right_on_every_pair(void **state) {
    (void)state;
    for (int signedness = 0; signedness < 2; signedness++)
        for (uint64_t a = 0; a < 256; a++)
            for (uint64_t b = 0; b < 256; b++)
                check_pair(signedness ? VYRE_TYPE_I8 : VYRE_TYPE_U8, a, b, b == 0);
}

static void every_unary_row_of_the_16_bit_types_is_right_on_every_value(void **state) {
    (void)state;
    for (uint64_t a = 0; a < 65536; a++) {
        check_pair(VYRE_TYPE_I16, a, 0xffff - a, 1);
        check_pair(VYRE_TYPE_U16, a, a >> 8, 1);
    }
}

static void every_row_of_the_wider_types_is_right_on_crossed_edges(void **state) {
    uint64_t edges[3 * 64 + 4];
    (void)state;

    for (size_t t = 2; t < 8; t++) {
        const size_t count = integer_edges(vyre_type_bits(integer_types[t]), edges);

        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < count; j++)
                check_pair(integer_types[t], edges[i], edges[j], j == 0);
    }
}

static void every_row_of_the_wider_types_is_right_on_samples(void **state) {
    vy_random random = vy_random_start(3);
    (void)state;

    for (size_t t = 2; t < 8; t++)
        for (unsigned i = 0; i < 30000 * vy_test_effort(); i++) {
            const unsigned width = vyre_type_bits(integer_types[t]);

            check_pair(integer_types[t], random_integer(&random, width), random_integer(&random, width), 1);
        }
    printf("%" PRIu64 " evaluations checked\n", checked);
}

static void integer_casts_wrap_and_bitcasts_keep_the_bits(void **state) {
    vy_random random = vy_random_start(4);
    uint64_t edges[3 * 64 + 4];
    (void)state;

    for (size_t from = 0; from < 8; from++)
        for (size_t to = 0; to < 8; to++) {
            const vyre_type operand = integer_types[from], result = integer_types[to];
            const size_t count = integer_edges(vyre_type_bits(operand), edges);

            for (size_t i = 0; i < count + 2000; i++) {
                const uint64_t bits = i < count ? edges[i] : random_integer(&random, vyre_type_bits(operand));

                check_bits(VYRE_OP_CAST, result, operand, bits, 0, 0,
                           integer_wrap(result, integer_value(operand, bits)));
                if (vyre_type_bits(operand) == vyre_type_bits(result))
                    check_bits(VYRE_OP_BITCAST, result, operand, bits, 0, 0, bits);
            }
        }
    for (size_t to = 0; to < 8; to++) {
        check_bits(VYRE_OP_CAST, integer_types[to], VYRE_TYPE_BOOL, 0, 0, 0, 0);
        check_bits(VYRE_OP_CAST, integer_types[to], VYRE_TYPE_BOOL, 1, 0, 0, 1);
    }
}

/* The edge column of the table, in numbers, for readers. */
static void edges_are_those_the_table_states(void **state) {
    (void)state;
    check_bits(VYRE_OP_NEG, VYRE_TYPE_I32, VYRE_TYPE_I32, 0x80000000, 0, 0, 0x80000000);
    check_bits(VYRE_OP_ABS, VYRE_TYPE_I8, VYRE_TYPE_I8, 0x80, 0, 0, 0x80);
    check_bits(VYRE_OP_DIV, VYRE_TYPE_I32, VYRE_TYPE_I32, 7, 0, 0, 0xffffffff);
    check_bits(VYRE_OP_DIV, VYRE_TYPE_U16, VYRE_TYPE_U16, 7, 0, 0, 0xffff);
    check_bits(VYRE_OP_DIV, VYRE_TYPE_I64, VYRE_TYPE_I64, UINT64_C(1) << 63, UINT64_MAX, 0, UINT64_C(1) << 63);
    check_bits(VYRE_OP_REM, VYRE_TYPE_I64, VYRE_TYPE_I64, UINT64_C(1) << 63, UINT64_MAX, 0, 0);
    check_bits(VYRE_OP_REM, VYRE_TYPE_I32, VYRE_TYPE_I32, 0xfffffff9, 2, 0, 0xffffffff); /* -7 % 2 = -1 */
    check_bits(VYRE_OP_REM, VYRE_TYPE_U32, VYRE_TYPE_U32, 5, 0, 0, 5);
    check_bits(VYRE_OP_SHL, VYRE_TYPE_U32, VYRE_TYPE_U32, 1, 33, 0, 2);
    check_bits(VYRE_OP_SHL, VYRE_TYPE_I8, VYRE_TYPE_I8, 1, 0xff, 0, 0x80);
    check_bits(VYRE_OP_SHR, VYRE_TYPE_I8, VYRE_TYPE_I8, 0x80, 7, 0, 0xff);
    check_bits(VYRE_OP_SHR, VYRE_TYPE_U8, VYRE_TYPE_U8, 0x80, 8, 0, 0x80);
    check_bits(VYRE_OP_CLZ, VYRE_TYPE_U8, VYRE_TYPE_U8, 0, 0, 0, 8);
    check_bits(VYRE_OP_CTZ, VYRE_TYPE_I64, VYRE_TYPE_I64, 0, 0, 0, 64);
    check_bits(VYRE_OP_REVERSE_BYTES, VYRE_TYPE_U8, VYRE_TYPE_U8, 0x12, 0, 0, 0x12);
    check_bits(VYRE_OP_MUL_HIGH, VYRE_TYPE_I32, VYRE_TYPE_I32, 0xffffffff, 2, 0, 0xffffffff);
    check_bits(VYRE_OP_MUL_HIGH, VYRE_TYPE_U32, VYRE_TYPE_U32, 0xffffffff, 2, 0, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_8_bit_types_is_right_on_every_pair),
        cmocka_unit_test(every_unary_row_of_the_16_bit_types_is_right_on_every_value),
        cmocka_unit_test(every_row_of_the_wider_types_is_right_on_crossed_edges),
        cmocka_unit_test(every_row_of_the_wider_types_is_right_on_samples),
        cmocka_unit_test(integer_casts_wrap_and_bitcasts_keep_the_bits),
        cmocka_unit_test(edges_are_those_the_table_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
