/* Trip counts: the iterations of every `for` with small bounds, compared with the definition, for every integer type;
 * and the ends of the types, where nothing wraps. */
#include "support/test.h"

#include "analysis/trip_count.h"

static vy_expr literal(uint8_t type, int64_t value) {
    return (vy_expr){.kind = VY_EXPR_LITERAL, .type = type, .bits = (uint64_t)value & vy_type_layouts[type].mask};
}

static uint64_t count_of(uint8_t type, int64_t from, int64_t to, int64_t by) {
    const vy_expr a = literal(type, from), b = literal(type, to), c = literal(type, by);
    vy_trips t;
    assert_true(vy_trips_of_literals(&a, &b, &c, &t));
    return vy_trips_count(&t);
}

static void iterations_are_those_of_the_definition(void **state) {
    (void)state;
    for (uint8_t type = 0; type < VYRE_TYPE_COUNT; type++) {
        int64_t least = vy_is_signed(type) ? -9 : 0;
        for (int64_t from = least; vy_is_integer(type) && from <= 9; from++)
            for (int64_t to = least; to <= 9; to++)
                for (int64_t by = least; by <= 9; by++) {
                    const vy_expr a = literal(type, from), b = literal(type, to), c = literal(type, by);
                    uint64_t seen = 0, count = count_of(type, from, to, by);
                    int64_t value = from;
                    vy_trips t;
                    assert_true(vy_trips_of_literals(&a, &b, &c, &t));
                    for (; by && (by > 0 ? value < to : value > to); value += by, t.next += t.step, seen++) {
                        assert_true(vy_trips_remain(&t));
                        assert_true(t.next == value);
                    }
                    assert_false(vy_trips_remain(&t));
                    assert_int_equal(count, seen);
                }
    }
}

static void nothing_wraps_at_the_ends_of_a_type(void **state) {
    (void)state;
    assert_int_equal(count_of(VYRE_TYPE_U32, 0, UINT32_MAX, 1), UINT32_MAX);
    assert_int_equal(count_of(VYRE_TYPE_U32, UINT32_MAX - 1, UINT32_MAX, 7), 1);
    assert_int_equal(count_of(VYRE_TYPE_U64, 0, -1, 1), UINT64_MAX);
    assert_int_equal(count_of(VYRE_TYPE_I64, INT64_MIN, INT64_MAX, 1), UINT64_MAX);
    assert_int_equal(count_of(VYRE_TYPE_I64, INT64_MAX, INT64_MIN, -1), UINT64_MAX);
    assert_int_equal(count_of(VYRE_TYPE_I64, INT64_MAX, INT64_MIN, INT64_MIN), 2);
    assert_int_equal(count_of(VYRE_TYPE_I8, -128, 127, 100), 3);
}

static void a_loop_has_a_count_only_if_all_bounds_are_literals(void **state) {
    (void)state;
    vyre_program *p = vy_test_parse("program p {\n param n : u32\n buffer x : u32 read_write\n workgroup 1\n"
                                    " for i in 2u32 .. 9 { x[i] = i }\n for i in 0 .. n { x[i] = i }\n"
                                    " for i in 0 .. 9 step n { x[i] = i }\n}\n");
    uint64_t counts[3] = {7, 0, 0};
    unsigned loops = 0;
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        vy_trips t;
        if (p->stmts.items[i].kind != VY_STMT_FOR)
            continue;
        int is_known = vy_trips_of(p, &p->stmts.items[i], &t);
        assert_int_equal(is_known ? vy_trips_count(&t) : 0, counts[loops++]);
    }
    assert_int_equal(loops, 3);
    vyre_program_release(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterations_are_those_of_the_definition),
        cmocka_unit_test(nothing_wraps_at_the_ends_of_a_type),
        cmocka_unit_test(a_loop_has_a_count_only_if_all_bounds_are_literals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
