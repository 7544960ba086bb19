/* Programs of level legal: each of their constructs right and wrong, on one thread and several, in the natural order
 * and in others. */
#include "oracle/trial.h"

#include "oracle/lowered_env.h"
#include "support/fault.h"

#define HEAD "program p {\n level legal\n buffer x : u32 read\n buffer y : u32 write count 64\n workgroup 32\n grid 2\n"
#define BODY HEAD "let i = global_id.x\n let l = local_id.x\n"

static uint32_t numbers[64];

static void start(trial *t, const char *text) {
    for (uint32_t i = 0; i < 64; i++)
        numbers[i] = 1000 + i;
    trial_open(t, text);
    trial_input(t, numbers, sizeof numbers);
}

static vyre_status run_under(trial *t, const vy_lowered_env *conditions) {
    vyre_diagnostics_clear(t->findings);
    return t->status = vy_oracle_run_under(t->oracle, &t->arguments, &t->options, conditions, t->outputs, &t->report,
                                           t->findings, &t->error);
}

/* Every way to run a program: natural order with and without threads and checks, and perturbed. */
enum { WAYS = 8 };
static vyre_oracle_options way(unsigned n) {
    return (vyre_oracle_options){.threads = n < 3 ? n : 0,
                                 .checks = n == 3 || n >= 6 ? VYRE_CHECK_ALL : 0,
                                 .seed = n >= 4 ? n * 77 : 0,
                                 .budget = 1000000};
}

/* y[i] = want(i) in every way. */
static void expect(const char *text, uint32_t (*want)(uint32_t)) {
    trial t;
    start(&t, text);
    for (unsigned n = 0; n < WAYS; n++) {
        t.options = way(n);
        t.options.checks &= ~(unsigned)VYRE_CHECK_BOUNDS;
        if (run_under(&t, &(vy_lowered_env){.garbage = n}) != VYRE_OK)
            fail_msg("way %u: %s\n%s", n, t.error.message, text);
        for (uint32_t i = 0; i < 64; i++)
            if (trial_u32(&t, 0)[i] != want(i))
                fail_msg("way %u: y[%u] is %u, not %u\n%s", n, i, trial_u32(&t, 0)[i], want(i), text);
    }
    trial_close(&t);
}

/* One finding, the same in every way. */
static void expect_breach(const char *text, const char *code, const char *message) {
    trial t;
    start(&t, text);
    for (unsigned n = 0; n < WAYS; n++) {
        t.options = way(n);
        t.options.checks &= ~(unsigned)VYRE_CHECK_UNWRITTEN; /* which finds some more */
        assert_int_equal(run_under(&t, &(vy_lowered_env){.garbage = n}), VYRE_CHECK_FAILED);
        assert_int_equal(vyre_diagnostics_count(t.findings), 1);
        assert_string_equal(vyre_diagnostics_get(t.findings, 0)->code, code);
        if (strcmp(vyre_diagnostics_get(t.findings, 0)->message, message) != 0)
            fail_msg("way %u: %s", n, vyre_diagnostics_get(t.findings, 0)->message);
        assert_true(vyre_diagnostics_get(t.findings, 0)->line >= 7);
    }
    trial_close(&t);
}

static uint32_t same(uint32_t i) {
    return 1000 + i;
}

static uint32_t lower_half(uint32_t i) {
    return i < 32 ? 1000 + i : 0;
}

/* ---- unguarded ---- */

static void unguarded_accesses_inside_are_accesses(void **state) {
    (void)state;
    expect(BODY "y![i] = x![i] }", same);
    expect(HEAD "array w : u32 [32] workgroup\n let i = global_id.x\n let l = local_id.x\n w![l] = x![i]\n barrier\n"
                "let v = w![31 - l]\n barrier\n w![31 - l] = v\n barrier\n atomic_add(w![l], 0)\n y![i] = w![l] }",
           same);
}

static void unguarded_accesses_outside_are_breaches(void **state) {
    (void)state;
    expect_breach(BODY "y[i] = x![i + 3] }", "R007",
                  "invocation 61 (global_id 61, 0, 0) accesses `x![64]` without a guard, out of bounds (64 elements)");
    expect_breach(BODY "y![i * 3] = i }", "R007",
                  "invocation 22 (global_id 22, 0, 0) accesses `y![66]` without a guard, out of bounds (64 elements)");
    expect_breach(HEAD "array w : u32 [31] workgroup\n let i = global_id.x\n atomic_store(w![0], 0)\n barrier\n"
                       "atomic_add(w![local_id.x], 1)\n y[i] = i }",
                  "R007",
                  "invocation 31 (global_id 31, 0, 0) accesses `w![31]` without a guard, out of bounds (31 elements)");
}

/* The lanes that do not take the arm do not load. */
static void an_arm_that_is_not_taken_accesses_nothing(void **state) {
    (void)state;
    expect(BODY "y![i] = i < 32 ? x![i] : x[1000] }", lower_half);
    expect(BODY "y![i] = i < 32 ? x![i] : (i > 100 && x![i * 1000] == 3 ? 1 : 0) }", lower_half);
}

static void a_predicated_load_gives_zero_and_checks_nothing(void **state) {
    (void)state;
    expect(BODY "y![i] = x![i * 2 - i if i < 32] }", lower_half);
    expect(BODY "y![i] = x![i if true] + x![i + 64000 if false] }", same);
    expect(BODY "var a = 5u32\n if l < 40 { a = x![(i < 32 ? i : 4000000000) if i < 32] }\n y![i] = a }", lower_half);
    expect_breach(BODY "y[i] = x![i + 30 if i > 40] }", "R007",
                  "invocation 41 (global_id 41, 0, 0) accesses `x![71]` without a guard, out of bounds (64 elements)");
}

/* ---- wide ---- */

static void wide_accesses_move_their_elements(void **state) {
    (void)state;
    expect(
        BODY
        "if l < 8 {\n let f = (i / 32) * 32 + l * 4\n let (a, b, c, d) = load_wide(x, f)\n store_wide(y, f, a, b, c, "
        "d) } }",
        same);
    expect(HEAD "array w : u32 [32] workgroup\n let i = global_id.x\n let l = local_id.x\n w![l] = x![i]\n barrier\n"
                "if l < 16 {\n let (a, b) = load_wide(w, l * 2)\n store_wide(y, i - l + l * 2, a, b) } }",
           same);
}

static void wide_accesses_outside_are_breaches(void **state) {
    (void)state;
    expect_breach(BODY "let (a, b, c, d) = load_wide(x, i * 4)\n y[i] = a + b + c + d }", "R007",
                  "invocation 16 (global_id 16, 0, 0) accesses `x![64]` without a guard, out of bounds (64 elements)");
    expect_breach(HEAD "array w : u32 [7] workgroup\n if local_id.x < 1 {\n store_wide(w, 4, 1, 2, 3, 4) } }", "R007",
                  "invocation 0 (global_id 0, 0, 0) accesses `w![7]` without a guard, out of bounds (7 elements)");
    /* The index does not wrap. */
    expect_breach(
        BODY "if i == 9 {\n let (a, b) = load_wide(x, 4294967294)\n y[i] = a + b } }", "R007",
        "invocation 9 (global_id 9, 0, 0) accesses `x![4294967294]` without a guard, out of bounds (64 elements)");
}

static void wide_accesses_are_aligned(void **state) {
    (void)state;
    trial t;
    start(&t, BODY "if i == 9 {\n let (a, b, c, d) = load_wide(x, 6)\n y[i] = a + b + c + d } }");
    assert_int_equal(run_under(&t, &(vy_lowered_env){0}), VYRE_CHECK_FAILED);
    assert_string_equal(vyre_diagnostics_get(t.findings, 0)->code, "R008");
    assert_string_equal(
        vyre_diagnostics_get(t.findings, 0)->message,
        "invocation 9 (global_id 9, 0, 0) accesses 4 elements in one access at `x![6]`, which starts 2 elements "
        "past a boundary of that width");
    /* Where the buffer starts counts: some place makes it right, the others do not. */
    unsigned right = 0, wrong = 0;
    for (uint64_t seed = 1; seed < 40; seed++) {
        vyre_status status = run_under(&t, &(vy_lowered_env){.misalignment = seed});
        right += status == VYRE_OK;
        wrong += status == VYRE_CHECK_FAILED;
    }
    assert_true(right > 0 && wrong > right);
    assert_int_equal(right + wrong, 39);
    trial_close(&t);
}

static void misalignment_tells_where_a_buffer_starts(void **state) {
    (void)state;
    trial t;
    /* Elements before the first boundary one by one, then four at a time. */
    start(&t, BODY "let m = misalignment(y)\n let first = (4 - m) % 4\n if i < first { y![i] = 2 * i }\n"
                   "let at = first + i * 4\n if at < 64 {\n if at + 3 < 64 { store_wide(y, at, 2 * at, 2 * at + 2, 2 * "
                   "at + 4, 2 * at + 6)\n"
                   "} else {\n for k in at .. 64u32 { y![k] = 2 * k } } } }");
    unsigned seen = 0;
    for (uint64_t seed = 0; seed < 32; seed++) {
        if (run_under(&t, &(vy_lowered_env){.misalignment = seed}) != VYRE_OK)
            fail_msg("%s", t.error.message);
        for (uint32_t i = 0; i < 64; i++)
            assert_int_equal(trial_u32(&t, 0)[i], 2 * i);
    }
    trial_close(&t);
    start(&t, HEAD "array w : u32 [4] workgroup\n y![global_id.x] = misalignment(y) + 100 * misalignment(w) }");
    for (uint64_t seed = 0; seed < 32; seed++) {
        assert_int_equal(run_under(&t, &(vy_lowered_env){.misalignment = seed}), VYRE_OK);
        assert_true(trial_u32(&t, 0)[0] < 4 && trial_u32(&t, 0)[63] == trial_u32(&t, 0)[0]);
        assert_true(seed || trial_u32(&t, 0)[0] == 0);
        seen |= 1u << trial_u32(&t, 0)[0];
    }
    assert_int_equal(seen, 15);
    trial_close(&t);
}

/* ---- checkers ---- */

static void expect_code(const char *text, const char *code) {
    trial t;
    start(&t, text);
    t.options.checks = VYRE_CHECK_ALL;
    if (trial_run(&t) != (code ? VYRE_CHECK_FAILED : VYRE_OK))
        fail_msg("%s\n%s", code ? "nothing found" : t.error.message, text);
    if (code)
        assert_string_equal(vyre_diagnostics_get(t.findings, 0)->code, code);
    trial_close(&t);
}

#define ARRAY HEAD "array w : u32 [64] workgroup\n let l = local_id.x\n"

static void the_checkers_see_each_element_of_a_wide_access(void **state) {
    (void)state;
    expect_code(ARRAY "w![l] = l\n w![l + 32] = l\n barrier\n if l < 16 { store_wide(w, l * 4, l, l, l, l) } }", NULL);
    expect_code(ARRAY "w![l] = l\n w![l + 32] = l\n if l < 16 { store_wide(w, l * 4, l, l, l, l) } }", "R001");
    expect_code(ARRAY "if l == 5 { w![3] = 1 }\n if l == 7 { store_wide(w, 0, l, l, l, l) } }", "R001");
    expect_code(ARRAY
                "w![l] = l\n w![l + 32] = l\n if l < 16 {\n let (a, b, c, d) = load_wide(w, l * 4)\n y[l] = a } }",
                "R001");
    expect_code(ARRAY "if l < 16 {\n let (a, b, c, d) = load_wide(w, l * 4)\n y[l] = a } }", "R004");
    expect_code(HEAD "if local_id.x == 0 { store_wide(y, 0, 1, 2) } }", "R002");
}

/* In source an array is zero at first; here an atomic that uses the old value uses garbage. */
static void atomics_of_unwritten_elements_are_found(void **state) {
    (void)state;
    expect_code(ARRAY "atomic_add(w![0], 1) }", "R004");
    expect_code(ARRAY "let old = atomic_exchange(w[l], 1)\n y[global_id.x] = old }", "R004");
    expect_code(ARRAY "atomic_store(w![l], 1)\n barrier\n atomic_add(w![0], 1) }", NULL);
}

static void arrays_start_with_garbage(void **state) {
    (void)state;
    trial t;
    uint32_t first[64];
    start(&t,
          HEAD "array w : u32 [32] workgroup\n array q : u32 [3] private\n y![global_id.x] = w![local_id.x] ^ q![1] }");
    for (unsigned n = 0; n < WAYS; n++) {
        t.options = way(n);
        t.options.checks = 0;
        assert_int_equal(run_under(&t, &(vy_lowered_env){.garbage = 7}), VYRE_OK);
        if (n == 0)
            memcpy(first, t.outputs[0].data, sizeof first);
        assert_memory_equal(t.outputs[0].data, first, sizeof first);
    }
    for (uint32_t i = 0; i < 64; i++)
        assert_true(first[i] != 0 && (i < 32 || first[i] != first[i - 32]));
    assert_int_equal(run_under(&t, &(vy_lowered_env){.garbage = 8}), VYRE_OK);
    assert_memory_not_equal(t.outputs[0].data, first, sizeof first);
    trial_close(&t);
}

/* ---- the end of a dispatch ---- */

static void a_report_traps_and_goes_on(void **state) {
    (void)state;
    trial t;
    start(&t, BODY
          "if i % 20 == 13 { report 100 + i\n report 7 }\n barrier\n let n = workgroup_reduce_add(1u32)\n y![i] = n }");
    for (unsigned n = 0; n < WAYS; n++) {
        t.options = way(n);
        trial_expect(&t, VYRE_TRAPPED);
        assert_int_equal(t.report.trap.invocation, 13);
        assert_int_equal(t.report.trap.code, 113);
        assert_int_equal(t.outputs[0].size, 0);
        /* Nobody ends early: six statements each, one more for each of the reports and both of their loops' ifs. */
        assert_int_equal(t.report.steps, 64 * 6 + 3 * 2);
    }
    trial_close(&t);
}

static void polls_are_false_unless_asked_for(void **state) {
    (void)state;
    expect(BODY "let stop = poll()\n y![i] = stop ? 1 : x![i] }", same);
}

#define ENDLESS "var n = 0u32\n while true {\n let stop = poll()\n if stop { break }\n n = n + 1 }\n"

static void a_true_poll_ends_the_dispatch(void **state) {
    (void)state;
    trial t;
    start(&t, BODY ENDLESS "y![i] = n }");
    for (unsigned n = 0; n < WAYS; n++) {
        t.options = way(n);
        assert_int_equal(run_under(&t, &(vy_lowered_env){.poll = 5}), VYRE_TIMEOUT);
        assert_int_equal(t.outputs[0].size, 0);
        assert_int_equal(run_under(&t, &(vy_lowered_env){.poll = 5, .poll_spread = 9}), VYRE_TIMEOUT);
        assert_int_equal(run_under(&t, &(vy_lowered_env){0}), VYRE_BUDGET);
    }
    trial_close(&t);
}

static void polls_may_differ_between_invocations(void **state) {
    (void)state;
    trial t;
    start(&t, BODY ENDLESS "barrier\n y![i] = n }");
    assert_int_equal(run_under(&t, &(vy_lowered_env){.poll = 5, .poll_spread = 9}), VYRE_TIMEOUT);
    trial_close(&t);
    /* Some leave the loop before others, which wait for them in it. */
    start(&t, BODY
          "var n = 0u32\n while true {\n let stop = poll()\n if stop { break }\n barrier\n n = n + 1 }\n y![i] = n }");
    for (unsigned n = 0; n < WAYS; n++) {
        t.options = way(n);
        assert_int_equal(run_under(&t, &(vy_lowered_env){.poll = 5}), VYRE_TIMEOUT);
        assert_int_equal(run_under(&t, &(vy_lowered_env){.poll = 5, .poll_spread = 9}), VYRE_CHECK_FAILED);
        assert_string_equal(vyre_diagnostics_get(t.findings, 0)->code, "R005");
        assert_int_equal(t.outputs[0].size, 0);
    }
    trial_close(&t);
}

/* ---- shuffles, divergence ---- */

static uint32_t mirrored(uint32_t i) {
    return 1000 + (i ^ 7);
}

static void native_shuffles_move_lanes(void **state) {
    (void)state;
    expect(BODY "let v = subgroup_native_shuffle<8>(x![i], 7 - l % 8)\n y![i] = v }", mirrored);
    expect_breach(BODY "let v = subgroup_native_shuffle<8>(x![i], l % 8 + l / 30)\n y[i] = v }", "R009",
                  "invocation 31 (global_id 31, 0, 0) shuffles from lane 8, and its subgroup has 8 lanes");
    expect_breach(
        "program p {\n level legal\n buffer x : u32 read\n buffer y : u32 write count 64\n workgroup 13\n grid 2\n"
        "let v = subgroup_native_shuffle<8>(7u32, local_id.x < 8 ? 7u32 : local_id.x - 7)\n y[global_id.x] = v }",
        "R009", "invocation 12 (global_id 12, 0, 0) shuffles from lane 5, and its subgroup has 5 lanes");
}

static void divergence_is_found(void **state) {
    (void)state;
    expect_breach(BODY "if l < 3 { barrier }\n y![i] = i }", "R005",
                  "invocation 0 (global_id 0, 0, 0) waits at this barrier, and invocation 3 (global_id 3, 0, 0) does "
                  "not reach it");
    expect_breach(
        BODY
        "var v = 0u32\n if x![l] > 1000 { v = 1\n let s = subgroup_native_shuffle<8>(v, 0)\n v = s }\n y![i] = v }",
        "R005",
        "invocation 1 (global_id 1, 0, 0) waits at this collective, and invocation 0 (global_id 0, 0, 0) does not "
        "reach it");
    expect_breach(
        BODY "for k in 0u32 .. l { if workgroup_any(k == 3) { break } }\n y![i] = l }", "R005",
        "invocation 1 (global_id 1, 0, 0) waits at this collective, and invocation 0 (global_id 0, 0, 0) does not "
        "reach it");
}

/* A breach is worse than a trap or the end of time. */
static void breaches_come_first(void **state) {
    (void)state;
    trial t;
    start(&t, BODY "report 3\n let stop = poll()\n y[i] = x![i + 64] }");
    assert_int_equal(run_under(&t, &(vy_lowered_env){.poll = 1}), VYRE_CHECK_FAILED);
    assert_int_equal(t.outputs[0].size, 0);
    trial_close(&t);
}

static void a_run_that_goes_astray_and_does_not_end_has_its_breaches_listed(void **state) {
    (void)state;
    trial t;
    start(&t, BODY "while x![i + 64] == 0 { y[i] = 1 } }");
    t.options.budget = 10000;
    assert_int_equal(run_under(&t, &(vy_lowered_env){0}), VYRE_BUDGET);
    assert_int_equal(vyre_diagnostics_count(t.findings), 1);
    assert_string_equal(vyre_diagnostics_get(t.findings, 0)->code, "R007");
    trial_close(&t);
}

/* ---- memory runs out ---- */

static vyre_status make_and_run(void *user) {
    vyre_oracle *oracle = NULL;
    vyre_bytes output = VYRE_BYTES_INIT;
    vyre_span input = {numbers, sizeof numbers};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_status status = vyre_oracle_new(user, &oracle, NULL);
    if (status == VYRE_OK)
        status =
            vy_oracle_run_under(oracle, &arguments, NULL, &(vy_lowered_env){.garbage = 1}, &output, NULL, NULL, NULL);
    vyre_oracle_free(oracle);
    vyre_bytes_free(&output);
    return status;
}

static void running_out_of_memory_is_reported(void **state) {
    (void)state;
    static const char *const texts[] = {
        BODY "if l < 8 {\n let f = (i / 32) * 32 + l * 4 + 4 * misalignment(x)\n let (a, b, c, d) = load_wide(x, f)\n "
             "store_wide(y, "
             "f, a, b, c, d)\n let stop = poll()\n if stop { y![i] = approx_div(1f32, 2f32) < 1.0 ? 1 : 2 } } }",
        BODY "let v = subgroup_native_shuffle<8>(x![i if i < 50], l % 8)\n y![i] = v }"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        vyre_module *module;
        vyre_error error;
        if (vyre_text_parse(texts[k], strlen(texts[k]), NULL, NULL, &module, &error) != VYRE_OK)
            fail_msg("%s", error.message);
        /* Made before and freed after: only the oracle sees the faults. */
        VY_FAULT_LOOP_LENIENT(make_and_run, vyre_module_program(module, 0));
        vyre_module_free(module);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unguarded_accesses_inside_are_accesses),
        cmocka_unit_test(unguarded_accesses_outside_are_breaches),
        cmocka_unit_test(an_arm_that_is_not_taken_accesses_nothing),
        cmocka_unit_test(a_predicated_load_gives_zero_and_checks_nothing),
        cmocka_unit_test(wide_accesses_move_their_elements),
        cmocka_unit_test(wide_accesses_outside_are_breaches),
        cmocka_unit_test(wide_accesses_are_aligned),
        cmocka_unit_test(misalignment_tells_where_a_buffer_starts),
        cmocka_unit_test(the_checkers_see_each_element_of_a_wide_access),
        cmocka_unit_test(atomics_of_unwritten_elements_are_found),
        cmocka_unit_test(arrays_start_with_garbage),
        cmocka_unit_test(a_report_traps_and_goes_on),
        cmocka_unit_test(polls_are_false_unless_asked_for),
        cmocka_unit_test(a_true_poll_ends_the_dispatch),
        cmocka_unit_test(polls_may_differ_between_invocations),
        cmocka_unit_test(native_shuffles_move_lanes),
        cmocka_unit_test(divergence_is_found),
        cmocka_unit_test(breaches_come_first),
        cmocka_unit_test(a_run_that_goes_astray_and_does_not_end_has_its_breaches_listed),
        cmocka_unit_test(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
