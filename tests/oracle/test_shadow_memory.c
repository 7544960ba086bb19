/* Out-of-bounds accesses, reads of unwritten workgroup memory: planted, and with a twin that does it right. */
#include "oracle/trial.h"

typedef struct pair {
    const char *wrong, *right;
} pair;

static uint32_t numbers[10];

static void expect(const char *text, unsigned checks, const char *code, uint32_t line) {
    trial t;
    trial_open(&t, text);
    trial_input(&t, numbers, sizeof numbers);
    for (uint64_t seed = 0; seed < 4; seed++) {
        t.options = (vyre_oracle_options){.checks = checks, .seed = seed};
        trial_run(&t);
        const vyre_diagnostic *first = vyre_diagnostics_get(t.findings, 0);
        if (!code && t.status != VYRE_OK) {
            trial_show(t.findings);
            fail_msg("not silent: %s\n%s", t.error.message, text);
        }
        if (code && (t.status != VYRE_CHECK_FAILED || !first || strcmp(first->code, code) != 0 || first->line != line))
            fail_msg("%s at line %u is not found, but %s at %u\n%s", code, line, first ? first->message : "nothing",
                     first ? first->line : 0, text);
    }
    trial_close(&t);
}

#define HEAD                                                                                                           \
    "program p {\n buffer x : u32 read_write\n workgroup 16\n grid over x\n array w : u32 [16] workgroup\n array v : " \
    "u32 [4] private\n let i = global_id.x\n"

static const pair bounds[] = {
    {HEAD "let y = x[i] }", HEAD "if i < len(x) { let y = x[i] } }"},
    {HEAD "let y = x[i] }", HEAD "let y = i < len(x) ? x[i] : 0 }"},
    {HEAD "let y = i < 11 && x[i] > 3 }", HEAD "let y = i < 10 && x[i] > 3 }"},
    {HEAD "let y = i > 11 || x[i] > 3 }", HEAD "let y = i >= 10 || x[i] > 3 }"},
    {HEAD "x[i] = 1 }", HEAD "if i < 10 { x[i] = 1 } }"},
    {HEAD "w[i + 1] = 1 }", HEAD "w[15 - i] = 1 }"},
    {HEAD "v[i] = 1 }", HEAD "v[i % 4] = 1 }"},
    {HEAD "atomic_add(x[i], 1) }", HEAD "atomic_add(x[i % 10], 1) }"},
    {HEAD "let y = x[i32(i) - 1] }", HEAD "let y = x[i32(i) % 10] }"},
};

static void accesses_out_of_bounds_are_found(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        expect(bounds[i].wrong, VYRE_CHECK_BOUNDS, "R003", 8);
}

static void accesses_in_bounds_are_silent(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        expect(bounds[i].right, VYRE_CHECK_BOUNDS, NULL, 0);
}

static void a_negative_index_is_shown_as_one(void **state) {
    (void)state;
    trial t;
    trial_open(&t, bounds[8].wrong);
    trial_input(&t, numbers, sizeof numbers);
    t.options.checks = VYRE_CHECK_BOUNDS;
    trial_expect(&t, VYRE_CHECK_FAILED);
    assert_string_equal(vyre_diagnostics_get(t.findings, 0)->message,
                        "invocation 0 (global_id 0, 0, 0) accesses `x[-1]`, out of bounds (10 elements)");
    assert_int_equal(vyre_diagnostics_count(t.findings), 1); /* once for a place */
    trial_close(&t);
}

#define SMALL                                                                                                          \
    "program p {\n buffer x : u32 read_write\n workgroup 8\n grid 2\n array w : u32 [16] workgroup\n let l = "         \
    "local_id.x\n"

static const pair unwritten[] = {
    {SMALL "let y = w[l] }", SMALL "w[l] = 1\n let y = w[l] }"},
    {SMALL "w[l] = 1\n barrier\n let y = w[8 - l] }", SMALL "w[l] = 1\n barrier\n let y = w[7 - l] }"},
    {SMALL "if l < 4 { w[l] = 1 }\n barrier\n let y = w[l] }",
     SMALL "if l < 4 { w[l] = 1 }\n barrier\n let y = l < 4 ? w[l] : 0 }"},
    {SMALL "let y = atomic_load(w[l]) }", SMALL "atomic_add(w[l], 1)\n let y = atomic_load(w[l]) }"},
    /* What the workgroup before wrote does not count. */
    {SMALL "if group_id.x == 0 { w[l] = 1 } else { let y = w[l] } }",
     SMALL "if group_id.x == 1 { w[l] = 1\n let y = w[l] } }"},
    {SMALL "let f = atomic_compare_exchange(w[l], 5, 1)\n let y = w[l] }",
     SMALL "let f = atomic_compare_exchange(w[l], 0, 1)\n let y = w[l] }"},
};
static const uint32_t unwritten_lines[] = {7, 9, 9, 7, 7, 8};

static void reads_of_unwritten_workgroup_memory_are_found(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof unwritten / sizeof *unwritten; i++)
        expect(unwritten[i].wrong, VYRE_CHECK_UNWRITTEN, "R004", unwritten_lines[i]);
}

static void reads_of_written_workgroup_memory_are_silent(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof unwritten / sizeof *unwritten; i++)
        expect(unwritten[i].right, VYRE_CHECK_UNWRITTEN, NULL, 0);
}

static void each_checker_minds_its_own_business(void **state) {
    (void)state;
    expect(bounds[0].wrong, VYRE_CHECK_ALL & ~VYRE_CHECK_BOUNDS, NULL, 0);
    expect(unwritten[0].wrong, VYRE_CHECK_ALL & ~VYRE_CHECK_UNWRITTEN, NULL, 0);
}

static void shadow_memory_counts_against_the_limit(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n buffer x : u32 write count 1000000\n grid over x\n x[global_id.x] = 1 }");
    t.options.max_memory = 5000000;
    trial_expect(&t, VYRE_OK);
    t.options.checks = VYRE_CHECK_RACES;
    trial_expect(&t, VYRE_LIMIT);
    assert_non_null(strstr(t.error.message, "checkers"));
    trial_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_out_of_bounds_are_found),
        cmocka_unit_test(accesses_in_bounds_are_silent),
        cmocka_unit_test(a_negative_index_is_shown_as_one),
        cmocka_unit_test(reads_of_unwritten_workgroup_memory_are_found),
        cmocka_unit_test(reads_of_written_workgroup_memory_are_silent),
        cmocka_unit_test(each_checker_minds_its_own_business),
        cmocka_unit_test(shadow_memory_counts_against_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
