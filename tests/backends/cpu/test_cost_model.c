/* What workgroups are thought to cost: guesses follow loops, and measurements replace them. */
#include "support/test.h"

#include "analysis/launch_facts.h"
#include "backends/cpu/cost_model.h"

static vy_cpu_cost guess_of(const char *body, unsigned size) {
    char text[1024];
    vy_cpu_cost cost;
    snprintf(text, sizeof text,
             "program guess {\n param n : u32\n buffer x : u32 read_write\n workgroup %u\n grid over x\n"
             " let i = global_id.x\n var s = 0u32\n%s\n x[i] = s\n}",
             size, body);
    vyre_program *program = vy_test_parse(text);
    const vy_work_estimate work = vy_work_estimate_of(program);
    vy_cpu_cost_start(&cost, work.nodes, work.varies);
    vyre_program_release(program);
    return cost;
}

static void loops_count_for_their_trips(void **state) {
    (void)state;
    vy_cpu_cost straight = guess_of("s = s + i", 1), few = guess_of("for k in 0u32 .. 10 { s = s + k }", 1),
                many = guess_of("for k in 0u32 .. 1000 { s = s + k }", 1),
                nested = guess_of("for k in 0u32 .. 1000 { for l in 0u32 .. 1000 { s = s + k * l } }", 1);
    assert_true(vy_cpu_cost_get(&straight) > 0);
    assert_true(vy_cpu_cost_get(&straight) < vy_cpu_cost_get(&few));
    assert_true(vy_cpu_cost_get(&few) * 20 < vy_cpu_cost_get(&many));
    assert_true(vy_cpu_cost_get(&many) * 500 < vy_cpu_cost_get(&nested));
    assert_int_equal(straight.varies + few.varies + many.varies + nested.varies, 0);
}

static void loops_that_nobody_can_count_are_told_apart(void **state) {
    (void)state;
    vy_cpu_cost straight = guess_of("s = s + i", 1), while_ = guess_of("while s < n { s = s + 1 }", 1),
                for_ = guess_of("for k in 0u32 .. n { s = s + k }", 1);
    assert_int_equal(straight.varies, 0);
    assert_int_equal(while_.varies, 1);
    assert_int_equal(for_.varies, 1);
    assert_true(vy_cpu_cost_get(&while_) > vy_cpu_cost_get(&straight));
}

/* Eight loops of 2^32 trips each: the number stays one. */
static void no_loops_overflow_it(void **state) {
    (void)state;
    char body[1024] = "";
    for (int i = 0; i < 8; i++)
        snprintf(body + strlen(body), sizeof body - strlen(body), "for k%d in 0u32 .. 4294967295 {\n", i);
    strcat(body, "s = s + 1\n}}}}}}}}");
    vy_cpu_cost all = guess_of(body, 1024), one = guess_of("for k in 0u32 .. 4294967295 { s = s + 1 }", 1024);
    assert_true(vy_cpu_cost_get(&all) >= vy_cpu_cost_get(&one));
    assert_true(vy_cpu_cost_get(&all) < UINT64_C(1) << 63);
}

static void invocations_count(void **state) {
    (void)state;
    vy_cpu_cost one = guess_of("", 1), many = guess_of("", 256);
    assert_int_equal(vy_cpu_cost_get(&one) * 256, vy_cpu_cost_get(&many));
}

static void the_first_measurement_replaces_the_guess(void **state) {
    (void)state;
    vy_cpu_cost cost = guess_of("", 1);
    vy_cpu_cost_update(&cost, 1000000000, 0);
    assert_true(vy_cpu_cost_get(&cost) < 1000000000);
    vy_cpu_cost_update(&cost, 1000000000, 1);
    assert_int_equal(vy_cpu_cost_get(&cost), 1000000000);
}

static void later_ones_lower_it_at_once_and_at_most_double_it(void **state) {
    (void)state;
    vy_cpu_cost cost = guess_of("", 1);
    vy_cpu_cost_update(&cost, 1000, 1);
    vy_cpu_cost_update(&cost, 1500, 1);
    assert_int_equal(vy_cpu_cost_get(&cost), 1500);
    vy_cpu_cost_update(&cost, 1000000, 1);
    assert_int_equal(vy_cpu_cost_get(&cost), 3001);
    vy_cpu_cost_update(&cost, 1000000, 0);
    assert_int_equal(vy_cpu_cost_get(&cost), 3001);
    vy_cpu_cost_update(&cost, 10, 0);
    assert_int_equal(vy_cpu_cost_get(&cost), 10);
    vy_cpu_cost_update(&cost, 0, 1);
    vy_cpu_cost_update(&cost, 50, 1);
    assert_int_equal(vy_cpu_cost_get(&cost), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_count_for_their_trips),
        cmocka_unit_test(loops_that_nobody_can_count_are_told_apart),
        cmocka_unit_test(no_loops_overflow_it),
        cmocka_unit_test(invocations_count),
        cmocka_unit_test(the_first_measurement_replaces_the_guess),
        cmocka_unit_test(later_ones_lower_it_at_once_and_at_most_double_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
