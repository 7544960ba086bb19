/* Traps, prints, grid barriers and the report of a run. */
#include "oracle/trial.h"

/* ---- traps ---- */

static void the_smallest_invocation_is_reported(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n workgroup 10\n grid 100\n if global_id.x % 77 == 76 { trap global_id.x * 2 } }");
    for (unsigned threads = 1; threads <= 4; threads++) {
        t.options.threads = threads;
        trial_expect(&t, VYRE_TRAPPED);
        assert_int_equal(t.report.trap.invocation, 76);
        assert_int_equal(t.report.trap.code, 152);
    }
    t.options.seed = 3;
    trial_expect(&t, VYRE_TRAPPED);
    assert_int_equal(t.report.trap.invocation, 76);
    trial_close(&t);
}

static void the_error_names_the_place_of_the_trap(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n  workgroup 4\n  grid 2\n  if global_id.x == 5 { trap 7 }\n}\n");
    assert_int_equal(trial_run(&t), VYRE_TRAPPED);
    assert_string_equal(t.error.where, "<text>:4:25");
    trial_close(&t);
}

static void a_trap_delivers_no_outputs(void **state) {
    (void)state;
    trial t;
    trial_open(
        &t,
        "program p {\n buffer y : u32 write count 2\n grid 2\n y[global_id.x] = 7\n if global_id.x == 1 { trap 5 } }");
    assert_int_equal(vyre_bytes_resize(&t.outputs[0], 3, NULL), VYRE_OK);
    memcpy(t.outputs[0].data, "abc", 3);
    trial_expect(&t, VYRE_TRAPPED);
    assert_int_equal(t.outputs[0].size, 3);
    assert_memory_equal(t.outputs[0].data, "abc", 3);
    trial_close(&t);
}

typedef struct lines {
    char text[2000];
} lines;

static void collect(void *user, uint64_t invocation, const char *text) {
    lines *l = user;
    size_t used = strlen(l->text);
    snprintf(l->text + used, sizeof l->text - used, "%llu:%s\n", (unsigned long long)invocation, text);
}

static void a_trapped_invocation_has_no_further_effect(void **state) {
    (void)state;
    lines l = {""};
    trial t;
    trial_open(
        &t,
        "program p {\n workgroup 3\n grid 1\n let i = local_id.x\n print \"a\"\n if i == 1 { trap 5 }\n print \"b\" }");
    t.options.print = collect;
    t.options.print_user = &l;
    trial_expect(&t, VYRE_TRAPPED);
    assert_string_equal(l.text, "0:a\n1:a\n2:a\n0:b\n2:b\n");
    assert_int_equal(t.report.prints, 5);
    trial_close(&t);
}

static void a_workgroup_with_a_trap_ends_at_its_next_barrier_and_others_run_on(void **state) {
    (void)state;
    lines l = {""};
    trial t;
    trial_open(&t, "program p {\n workgroup 2\n grid 2\n if global_id.x == 1 { trap 5 }\n barrier\n print \"after\" }");
    t.options.print = collect;
    t.options.print_user = &l;
    trial_expect(&t, VYRE_TRAPPED);
    assert_string_equal(l.text, "2:after\n3:after\n");
    trial_close(&t);
}

static void a_trap_before_a_collective_is_no_divergence(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n buffer y : u32 write count 300\n workgroup 300\n grid 1\n let i = local_id.x\n if i "
                   "> 250 { trap i }\n"
                   "let s = workgroup_reduce_add(i)\n y[i] = s }");
    trial_expect(&t, VYRE_TRAPPED);
    assert_int_equal(t.report.trap.invocation, 251);
    assert_int_equal(vyre_diagnostics_count(t.findings), 0);
    trial_close(&t);
}

/* ---- prints ---- */

static void print_spells_every_type(void **state) {
    (void)state;
    lines l = {""};
    trial t;
    trial_open(&t, "program p {\n grid 1\n"
                   "print \"{} {} {} {}\", -128i8, 255u8, -9223372036854775807i64, 18446744073709551615u64\n"
                   "print \"{} {} {} {}\", 1.5f32, -0.1f64, 0.1f16, -0.0f32\n"
                   "print \"{}{}\", true, false\n"
                   "let z = 0.0f64\n print \"{} {} {}!\", 1.0 / z, -1.0 / z, z / z\n print \"plain\"\n print \"\" }");
    t.options.print = collect;
    t.options.print_user = &l;
    trial_expect(&t, VYRE_OK);
    assert_string_equal(l.text, "0:-128 255 -9223372036854775807 18446744073709551615\n0:1.5 -0.1 0.1 "
                                "-0.0\n0:truefalse\n0:inf -inf nan!\n0:plain\n0:\n");
    trial_close(&t);
}

static void prints_are_dropped_without_a_sink_but_counted(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n workgroup 4\n grid 3\n if local_id.x < 2 { print \"x\" } }");
    trial_expect(&t, VYRE_OK);
    assert_int_equal(t.report.prints, 6);
    trial_close(&t);
}

/* ---- the grid barrier ---- */

static const char *const two_phases =
    "program p {\n buffer a : u32 read_write\n buffer b : u32 write count len(a)\n workgroup 4\n grid over a\n"
    "let i = global_id.x\n var sum = 0u32\n for k in 0u32 .. 3u32 {\n"
    "  a[i] = a[i] + i + k\n  grid_barrier\n  sum = sum + a[len(a) - 1 - i]\n  grid_barrier\n }\n b[i] = sum }";

static void a_grid_barrier_orders_all_workgroups(void **state) {
    (void)state;
    uint32_t a[64] = {0};
    trial t;
    trial_open(&t, two_phases);
    trial_input(&t, a, sizeof a);
    for (unsigned threads = 1; threads <= 3; threads++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            t.options =
                (vyre_oracle_options){.threads = threads, .seed = seed, .checks = threads == 1 ? VYRE_CHECK_ALL : 0};
            trial_expect(&t, VYRE_OK);
            for (uint32_t i = 0; i < 64; i++) {
                uint32_t j = 63 - i, sum = 0, value = 0;
                for (uint32_t k = 0; k < 3; k++)
                    sum += value += j + k;
                assert_int_equal(trial_u32(&t, 1)[i], sum);
            }
        }
    trial_close(&t);
}

static void a_grid_barrier_that_needs_too_much_memory_says_how_much(void **state) {
    (void)state;
    trial t;
    uint32_t a[1];
    trial_open(&t, two_phases);
    trial_input(&t, a, sizeof a);
    trial_groups(&t, 1000000, 1000, 1);
    assert_int_equal(trial_run(&t), VYRE_LIMIT);
    assert_non_null(strstr(t.error.message, "1000000000 workgroups"));
    assert_string_not_equal(t.error.fix, "");
    trial_close(&t);
}

static void a_trap_ends_the_grid_at_the_next_grid_barrier(void **state) {
    (void)state;
    lines l = {""};
    trial t;
    trial_open(&t, "program p {\n workgroup 2\n grid 3\n if global_id.x == 3 { trap 8 }\n barrier\n print \"before\"\n"
                   "grid_barrier\n print \"behind\" }");
    t.options.print = collect;
    t.options.print_user = &l;
    trial_expect(&t, VYRE_TRAPPED);
    assert_string_equal(l.text, "0:before\n1:before\n4:before\n5:before\n");
    assert_int_equal(t.report.trap.code, 8);
    trial_close(&t);
}

/* Invocation 5000 traps in the first trip, smaller ones would in the second. The grid is large enough for several
 * threads. */
static void a_trap_behind_the_grid_barrier_is_not_reached(void **state) {
    (void)state;
    static uint32_t y[8192];
    trial t;
    trial_open(&t, "program p {\n buffer y : u32 read_write\n workgroup 16\n grid over y\n let i = global_id.x\n"
                   "for k in 0u32 .. 4u32 {\n if i + k * 1500 >= 5000 { trap i + k * 10000 }\n"
                   "var n = 0u32\n while n < i % 50 { n = n + 1 }\n y[i] = n\n grid_barrier\n } }");
    trial_input(&t, y, sizeof y);
    for (unsigned way = 0; way < 12; way++) {
        t.options = (vyre_oracle_options){
            .threads = way < 4 ? way + 1 : 1, .seed = way < 4 ? 0 : way, .checks = way % 5 == 4 ? VYRE_CHECK_ALL : 0};
        trial_expect(&t, VYRE_TRAPPED);
        assert_int_equal(t.report.trap.invocation, 5000);
        assert_int_equal(t.report.trap.code, 5000);
    }
    trial_close(&t);
}

/* ---- the report ---- */

static void steps_and_evaluations_are_summed_over_invocations(void **state) {
    (void)state;
    trial t;
    /* Per invocation a let and an if; in half of them a store. */
    trial_open(&t, "program p {\n buffer y : u32 write count 8\n workgroup 4\n grid 2\n let i = global_id.x\n if i < 4 "
                   "{ y[i] = 1 } }");
    trial_expect(&t, VYRE_OK);
    assert_int_equal(t.report.invocations, 8);
    assert_int_equal(t.report.groups[0], 2);
    assert_int_equal(t.report.steps, 8 * 2 + 4);
    assert_int_equal(t.report.evaluations, 8 * (1 + 3) + 4 * 2);
    trial_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_invocation_is_reported),
        cmocka_unit_test(the_error_names_the_place_of_the_trap),
        cmocka_unit_test(a_trap_delivers_no_outputs),
        cmocka_unit_test(a_trapped_invocation_has_no_further_effect),
        cmocka_unit_test(a_workgroup_with_a_trap_ends_at_its_next_barrier_and_others_run_on),
        cmocka_unit_test(a_trap_before_a_collective_is_no_divergence),
        cmocka_unit_test(print_spells_every_type),
        cmocka_unit_test(prints_are_dropped_without_a_sink_but_counted),
        cmocka_unit_test(a_grid_barrier_orders_all_workgroups),
        cmocka_unit_test(a_grid_barrier_that_needs_too_much_memory_says_how_much),
        cmocka_unit_test(a_trap_ends_the_grid_at_the_next_grid_barrier),
        cmocka_unit_test(a_trap_behind_the_grid_barrier_is_not_reached),
        cmocka_unit_test(steps_and_evaluations_are_summed_over_invocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
