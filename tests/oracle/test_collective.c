/* Collectives against the definition: P(a, b) written down as the recursion it is. */
#include "support/test.h"

#include "base/thread.h"
#include "oracle/machine.h"

enum { MOST = 1024 };

static uint64_t naive(vyre_op op, vyre_type type, const uint64_t *v, uint32_t a, uint32_t b) {
    if (b == a + 1)
        return v[a];
    uint32_t h = 1;
    while (2 * h < b - a)
        h *= 2;
    return vyre_op_evaluate(op, type, type, naive(op, type, v, a, a + h), naive(op, type, v, a + h, b), 0);
}

static uint64_t expected(const vy_stmt *stmt, vyre_type type, const uint64_t *v, uint32_t n, uint32_t i) {
    uint32_t first = stmt->width ? i / stmt->width * stmt->width : 0;
    uint32_t end = stmt->width && first + stmt->width < n ? first + stmt->width : n;
    uint32_t to = stmt->op == VYRE_COLLECTIVE_REDUCE ? end : stmt->op == VYRE_COLLECTIVE_SCAN_INCLUSIVE ? i + 1 : i;
    return to == first ? vyre_combine_identity((vyre_op)stmt->combine, type)
                       : naive((vyre_op)stmt->combine, type, v, first, to);
}

static uint64_t values[MOST], operands[MOST], results[MOST], room[VY_COLLECTIVE_ROWS * MOST];

static void fill(vy_random *random, vyre_type type, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        values[i] = vy_value_canonicalize(type, vy_random_next(random));
}

static void compare(const vy_stmt *stmt, vyre_type type, uint32_t n) {
    vy_fenv saved;
    vy_fenv_enter(&saved);
    vy_collective(stmt, type, values, operands, results, n, room);
    vy_fenv_leave(&saved);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t want = expected(stmt, type, values, n, i);
        if (results[i] != want)
            fail_msg("collective %u combine %u type %s width %u n %u lane %u: %llx, not %llx", stmt->op, stmt->combine,
                     vyre_type_name(type), stmt->width, n, i, (unsigned long long)results[i], (unsigned long long)want);
    }
}

static const vyre_op combines[] = {
#define X(ID) VYRE_OP_##ID,
    VYRE_COMBINE_LIST(X)
#undef X
};

static void every_type_combines_in_the_canonical_order(void **state) {
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 5, 8, 13, 31, 32, 33, 100, 255, 256};
    vy_random random = vy_random_start(1);
    for (int type = VYRE_TYPE_I8; type < VYRE_TYPE_COUNT; type++)
        for (size_t c = 0; c < sizeof combines / sizeof *combines; c++) {
            if (!vyre_op_accepts(combines[c], (vyre_type)type, (vyre_type)type))
                continue;
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                for (int op = VYRE_COLLECTIVE_REDUCE; op <= VYRE_COLLECTIVE_SCAN_EXCLUSIVE; op++) {
                    vy_stmt stmt = {.op = (uint8_t)op, .combine = (uint8_t)combines[c]};
                    fill(&random, (vyre_type)type, sizes[s]);
                    compare(&stmt, (vyre_type)type, sizes[s]);
                }
        }
}

/* A sum of floats of very different size shows every order but one. */
static void fill_floats(vy_random *random, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        float x = (float)vy_random_below(random, 1000) * (vy_random_next(random) & 1 ? 1e-6f : 1e6f);
        memcpy(&values[i], &x, 4);
        values[i] &= 0xffffffff;
    }
}

static void every_size_and_width_of_a_float_sum_is_canonical(void **state) {
    (void)state;
    vy_random random = vy_random_start(2);
    for (uint32_t n = 1; n <= 200; n++)
        for (unsigned width = 0; width <= 64; width = width ? width * 2 : 2)
            for (int op = VYRE_COLLECTIVE_REDUCE; op <= VYRE_COLLECTIVE_SCAN_EXCLUSIVE; op++) {
                vy_stmt stmt = {.op = (uint8_t)op, .combine = VYRE_OP_ADD, .width = (uint8_t)width};
                fill_floats(&random, n);
                compare(&stmt, VYRE_TYPE_F32, n);
            }
}

static void the_largest_workgroup_is_canonical(void **state) {
    (void)state;
    vy_random random = vy_random_start(3);
    for (uint32_t n = MOST - 3; n <= MOST; n++)
        for (int op = VYRE_COLLECTIVE_REDUCE; op <= VYRE_COLLECTIVE_SCAN_EXCLUSIVE; op++) {
            vy_stmt stmt = {.op = (uint8_t)op, .combine = VYRE_OP_MUL};
            fill_floats(&random, n);
            compare(&stmt, VYRE_TYPE_F32, n);
        }
}

static void run(vyre_collective op, unsigned width, vyre_type type, uint32_t n) {
    vy_stmt stmt = {.op = (uint8_t)op, .width = (uint8_t)width};
    vy_collective(&stmt, type, values, operands, results, n, room);
}

static void ballot_has_a_bit_for_each_lane_of_the_subgroup(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 40; i++)
        values[i] = i % 3 == 0;
    run(VYRE_COLLECTIVE_BALLOT, 16, VYRE_TYPE_BOOL, 40);
    for (uint32_t i = 0; i < 40; i++) {
        uint64_t want = 0;
        for (uint32_t l = 0; l < 16 && i / 16 * 16 + l < 40; l++)
            want |= (uint64_t)((i / 16 * 16 + l) % 3 == 0) << l;
        assert_int_equal(results[i], want);
    }
    for (uint32_t i = 0; i < 64; i++)
        values[i] = 1;
    run(VYRE_COLLECTIVE_BALLOT, 64, VYRE_TYPE_BOOL, 64);
    assert_true(results[5] == UINT64_MAX);
}

static void any_and_all_ask_the_whole_segment(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 100; i++)
        values[i] = i == 70;
    run(VYRE_COLLECTIVE_ANY, 0, VYRE_TYPE_BOOL, 100);
    assert_int_equal(results[3], 1);
    run(VYRE_COLLECTIVE_ANY, 32, VYRE_TYPE_BOOL, 100);
    assert_int_equal(results[3], 0);
    assert_int_equal(results[64], 1);
    run(VYRE_COLLECTIVE_ALL, 32, VYRE_TYPE_BOOL, 100);
    assert_int_equal(results[64], 0);
    for (uint32_t i = 0; i < 100; i++)
        values[i] = i >= 96;
    run(VYRE_COLLECTIVE_ALL, 32, VYRE_TYPE_BOOL, 100);
    assert_int_equal(results[99], 1); /* the last subgroup has four lanes */
    assert_int_equal(results[95], 0);
}

static void a_lane_that_does_not_exist_gives_zero(void **state) {
    (void)state;
    enum { N = 20, W = 8 };
    for (uint32_t i = 0; i < N; i++)
        values[i] = 100 + i;
    static const uint32_t asks[] = {0, 1, 3, 7, 8, 9, 100, UINT32_MAX};
    for (size_t k = 0; k < sizeof asks / sizeof *asks; k++) {
        for (uint32_t i = 0; i < N; i++)
            operands[i] = asks[k];
        for (int op = VYRE_COLLECTIVE_SHUFFLE; op <= VYRE_COLLECTIVE_SHUFFLE_DOWN; op++) {
            run((vyre_collective)op, W, VYRE_TYPE_U32, N);
            for (uint32_t i = 0; i < N; i++) {
                int64_t l = i % W, first = i - l, count = first + W <= N ? W : N - first, from = asks[k];
                if (op == VYRE_COLLECTIVE_SHUFFLE_XOR)
                    from = l ^ from;
                else if (op == VYRE_COLLECTIVE_SHUFFLE_UP)
                    from = l - from;
                else if (op == VYRE_COLLECTIVE_SHUFFLE_DOWN)
                    from = l + from;
                assert_int_equal(results[i], from >= 0 && from < count ? values[first + from] : 0);
            }
        }
    }
}

static void broadcast_takes_the_lane_of_the_segment(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        values[i] = 100 + i;
        operands[i] = 17;
    }
    run(VYRE_COLLECTIVE_BROADCAST, 0, VYRE_TYPE_U32, 20);
    assert_int_equal(results[2], 117);
    run(VYRE_COLLECTIVE_BROADCAST, 16, VYRE_TYPE_U32, 20);
    assert_int_equal(results[2], 0);
    for (uint32_t i = 0; i < 20; i++)
        operands[i] = 3;
    run(VYRE_COLLECTIVE_BROADCAST, 16, VYRE_TYPE_U32, 20);
    assert_int_equal(results[2], 103);
    assert_int_equal(results[16], 119);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_combines_in_the_canonical_order),
        cmocka_unit_test(every_size_and_width_of_a_float_sum_is_canonical),
        cmocka_unit_test(the_largest_workgroup_is_canonical),
        cmocka_unit_test(ballot_has_a_bit_for_each_lane_of_the_subgroup),
        cmocka_unit_test(any_and_all_ask_the_whole_segment),
        cmocka_unit_test(a_lane_that_does_not_exist_gives_zero),
        cmocka_unit_test(broadcast_takes_the_lane_of_the_segment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
