/* Control: if, for, while, break, continue, return, select, calls; and the trip rule of `for`. */
#include "oracle/trial.h"

/* A program of four invocations in one workgroup whose body sees i and stores to out[i]. */
#define FOUR(body)                                                                                                     \
    "program p {\n buffer out : u32 write count 4\n workgroup 4\n grid over out\n let i = global_id.x\n" body "\n}\n"

static void each_lane_takes_its_branch(void **state) {
    (void)state;
    EXPECT_U32(FOUR("if i < 2 { if i == 0 { out[i] = 10 } else { out[i] = 11 } } else { out[i] = 12 + i }"), 10, 11, 14,
               15);
}

static void a_branch_nobody_takes_has_no_effect(void **state) {
    (void)state;
    EXPECT_U32(FOUR("var x = 1u32\n if i > 100 { x = 2 }\n out[i] = x"), 1, 1, 1, 1);
    EXPECT_U32(FOUR("var x = 1u32\n if i < 100 { x = 2 } else { x = 3 }\n out[i] = x"), 2, 2, 2, 2);
}

static void assignments_touch_active_lanes_only(void **state) {
    (void)state;
    EXPECT_U32(FOUR("var x = i\n if i % 2 == 1 { x = x * 100; x = x + 1 }\n out[i] = x"), 0, 101, 2, 301);
}

static void while_runs_each_lane_as_often_as_it_asks(void **state) {
    (void)state;
    EXPECT_U32(FOUR("var n = 0u32\n var v = i\n while v > 0 { v = v - 1; n = n + 10 }\n out[i] = n"), 0, 10, 20, 30);
}

static void break_leaves_and_continue_skips(void **state) {
    (void)state;
    EXPECT_U32(FOUR("var s = 0u32\n for k in 0u32 .. 10u32 {\n if k == i { continue }\n if k == i + 3 { break }\n s = "
                    "s + k }\n out[i] = s"),
               1 + 2, 0 + 2 + 3, 0 + 1 + 3 + 4, 0 + 1 + 2 + 4 + 5);
}

static void break_leaves_the_innermost_loop(void **state) {
    (void)state;
    EXPECT_U32(FOUR("var s = 0u32\n for a in 0u32 .. 3u32 {\n for b in 0u32 .. 9u32 {\n if b > i { break }\n s = s + 1 "
                    "}\n s = s + 100 }\n "
                    "out[i] = s"),
               303, 306, 309, 312);
}

static void continue_in_a_while_tests_the_condition_again(void **state) {
    (void)state;
    EXPECT_U32(FOUR("var k = 0u32\n var s = 0u32\n while k < 6 {\n k = k + 1\n if k % 2 == i % 2 { continue }\n s = s "
                    "+ k }\n out[i] = s"),
               1 + 3 + 5, 2 + 4 + 6, 1 + 3 + 5, 2 + 4 + 6);
}

static void return_ends_the_invocation(void **state) {
    (void)state;
    EXPECT_U32(FOUR("out[i] = 1\n if i == 2 { return }\n out[i] = 2\n for k in 0u32 .. 5u32 { if k == i { return }\n "
                    "out[i] = 10 + k }"),
               2, 10, 1, 12);
}

static void a_lane_that_returned_in_a_loop_stays_gone(void **state) {
    (void)state;
    EXPECT_U32(FOUR("var k = 0u32\n while true {\n k = k + 1\n out[i] = k\n if k > i { return } }"), 1, 2, 3, 4);
}

static void bounds_and_step_are_evaluated_once(void **state) {
    (void)state;
    EXPECT_U32(FOUR("var n = 3u32\n var st = 1u32\n var s = 0u32\n for k in 0u32 .. n step st { n = 100; st = 7; s = s "
                    "* 10 + k + 1 }\n "
                    "out[i] = s"),
               123, 123, 123, 123);
}

static void private_arrays_belong_to_the_lane_and_start_as_zero(void **state) {
    (void)state;
    EXPECT_U32(
        "program p {\n buffer out : u32 write count 4\n workgroup 4\n grid over out\n array mine : u32 [3] private\n"
        "let i = global_id.x\n mine[i] = i + 5\n out[i] = mine[0] * 100 + mine[1] * 10 + mine[2] }",
        500, 60, 7, 0);
}

static void private_arrays_are_zero_again_in_the_next_workgroup(void **state) {
    (void)state;
    EXPECT_U32("program p {\n buffer out : u32 write count 3\n grid over out\n array mine : u32 [1] private\n"
               "let i = global_id.x\n out[i] = mine[0]\n mine[0] = 7 }",
               0, 0, 0);
}

static void select_takes_the_arm_of_each_lane(void **state) {
    (void)state;
    EXPECT_U32(FOUR("let x = i == 1 || i == 2 ? i * 10 : i + 100\n out[i] = x"), 100, 10, 20, 103);
}

static void loads_in_both_arms_of_a_select_are_right(void **state) {
    (void)state;
    EXPECT_U32(
        "program p {\n buffer out : u32 write count 4\n workgroup 4\n grid over out\n array a : u32 [4] private\n"
        "let i = global_id.x\n a[0] = 5; a[1] = 6; a[2] = 7; a[3] = 8\n"
        "out[i] = a[i] > 5 && a[3 - i] > 5 ? a[i] + (a[0] > 100 ? a[1] : a[2]) : a[3] }",
        8, 13, 14, 8);
}

static void calls_are_inlined_with_their_results(void **state) {
    (void)state;
    EXPECT_U32("fn split(x: u32) -> (high: u32, low: u32) { return x / 10, x % 10 }\n"
               "fn sum(x: u32) -> u32 {\n let (a, b) = split(x)\n if a == 0 { return b }\n return a + b }\n" FOUR(
                   "out[i] = sum(i * 9 + 5)"),
               5, 5, 5, 5);
}

/* ---- the trip rule ---- */

/* The values `for k in FROM .. TO step STEP` takes, joined as decimal digits of a sum, and their number. */
static void trips(const char *type, const char *range, uint32_t count, int64_t last) {
    char text[512];
    trial t;
    snprintf(text, sizeof text,
             "program p {\n buffer out : i64 write count 2\n grid 1\n var n = 0i64\n var last = -777i64\n for k in %s "
             "{\n n = n + 1\n last = "
             "i64(k) }\n out[0] = n\n out[1] = last }",
             range);
    (void)type;
    trial_open(&t, text);
    t.options.budget = 100000;
    trial_expect(&t, VYRE_OK);
    const int64_t *out = t.outputs[0].data;
    if (out[0] != count || (count && out[1] != last))
        fail_msg("%s makes %lld trips, the last %lld; not %u, %lld", range, (long long)out[0], (long long)out[1], count,
                 (long long)last);
    trial_close(&t);
}

static void for_takes_the_mathematical_sequence(void **state) {
    (void)state;
    trips("u32", "0u32 .. 5u32", 5, 4);
    trips("u32", "5u32 .. 5u32", 0, 0);
    trips("u32", "6u32 .. 5u32", 0, 0);
    trips("u32", "0u32 .. 10u32 step 3u32", 4, 9);
    trips("u32", "0u32 .. 9u32 step 3u32", 3, 6);
    trips("i32", "-3i32 .. 3i32 step 2i32", 3, 1);
    trips("i32", "3i32 .. -4i32 step -3i32", 3, -3);
    trips("i32", "3i32 .. 4i32 step -1i32", 0, 0);
    trips("i32", "3i32 .. 3i32 step -1i32", 0, 0);
}

static void step_zero_makes_no_trip(void **state) {
    (void)state;
    trips("u32", "0u32 .. 5u32 step 0u32", 0, 0);
    trips("i8", "5i8 .. 0i8 step 0i8", 0, 0);
}

static void nothing_wraps_at_the_edge_of_the_type(void **state) {
    (void)state;
    trips("u8", "250u8 .. 255u8", 5, 254);
    trips("u8", "255u8 .. 255u8", 0, 0);
    trips("u8", "254u8 .. 255u8 step 255u8", 1, 254);
    trips("i8", "-127i8 .. -128i8 step -1i8", 1, -127);
    trips("i8", "127i8 .. -128i8 step -1i8", 255, -127);
    trips("u8", "250u8 .. 255u8 step 4u8", 2, 254);
    trips("u8", "0u8 .. 255u8 step 200u8", 2, 200);
    trips("i8", "-128i8 .. 127i8 step 100i8", 3, 72);
    trips("i8", "127i8 .. -128i8 step -128i8", 2, -1);
    trips("i8", "-128i8 .. 127i8 step 127i8", 3, 126);
    trips("u64", "18446744073709551610u64 .. 18446744073709551615u64", 5, -2);
    trips("u64", "0u64 .. 18446744073709551615u64 step 9223372036854775808u64", 2, INT64_MIN);
    trips("i64", "-9223372036854775807i64 .. 9223372036854775807i64 step 9223372036854775807i64", 2, 0);
    trips("i64", "9223372036854775807i64 .. -9223372036854775807i64 step -9223372036854775807i64", 2, 0);
}

static void lanes_may_have_different_bounds_and_steps(void **state) {
    (void)state;
    EXPECT_U32(FOUR("var s = 0u32\n for k in i .. i * 4 + 1 step i + 1 { s = s + 1 }\n out[i] = s"), 1, 2, 3, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_lane_takes_its_branch),
        cmocka_unit_test(a_branch_nobody_takes_has_no_effect),
        cmocka_unit_test(assignments_touch_active_lanes_only),
        cmocka_unit_test(while_runs_each_lane_as_often_as_it_asks),
        cmocka_unit_test(break_leaves_and_continue_skips),
        cmocka_unit_test(break_leaves_the_innermost_loop),
        cmocka_unit_test(continue_in_a_while_tests_the_condition_again),
        cmocka_unit_test(return_ends_the_invocation),
        cmocka_unit_test(a_lane_that_returned_in_a_loop_stays_gone),
        cmocka_unit_test(bounds_and_step_are_evaluated_once),
        cmocka_unit_test(private_arrays_belong_to_the_lane_and_start_as_zero),
        cmocka_unit_test(private_arrays_are_zero_again_in_the_next_workgroup),
        cmocka_unit_test(select_takes_the_arm_of_each_lane),
        cmocka_unit_test(loads_in_both_arms_of_a_select_are_right),
        cmocka_unit_test(calls_are_inlined_with_their_results),
        cmocka_unit_test(for_takes_the_mathematical_sequence),
        cmocka_unit_test(step_zero_makes_no_trip),
        cmocka_unit_test(nothing_wraps_at_the_edge_of_the_type),
        cmocka_unit_test(lanes_may_have_different_bounds_and_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
