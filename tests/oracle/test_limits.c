/* Budgets, memory limits and failing allocations: any program ends, in any state of the host. */
#include "oracle/trial.h"

#include "support/fault.h"

static const char *const endless[] = {
    "program p {\n workgroup 64\n grid 1000\n while true { } }",
    "program p {\n workgroup 64\n grid 1000\n for a in 0u64 .. ~0u64 {\n for b in 0u64 .. ~0u64 { } } }",
    "program p {\n workgroup 64\n grid 1000\n var n = 0u32\n while n < 10 { if n > 3 { n = 0 } else { n = n + 1 } } }",
    "program p {\n workgroup 64\n grid 1000\n while true { barrier } }",
    "program p {\n workgroup 300\n grid 4\n while true { let s = workgroup_reduce_add(1u32) } }",
    "program p {\n grid 4\n while true { grid_barrier } }",
};

static void endless_programs_end_promptly(void **state) {
    (void)state;
    for (size_t p = 0; p < sizeof endless / sizeof *endless; p++)
        for (unsigned run = 0; run < 4; run++) {
            trial t;
            trial_open(&t, endless[p]);
            t.options = (vyre_oracle_options){.budget = 200000, .threads = run, .seed = run == 3 ? 9 : 0};
            if (run == 2)
                t.options.checks = VYRE_CHECK_ALL;
            trial_expect(&t, VYRE_BUDGET);
            assert_true(t.report.steps > 200000);
            trial_close(&t);
        }
}

/* Found by fuzzing: nothing was charged, and the grid was walked to its end. */
static void vast_grids_that_do_nothing_end_at_once(void **state) {
    (void)state;
    static const char *const bodies[] = {"", "region \"r\" { }", "let i = global_id.x"};
    for (unsigned i = 0; i < 3; i++) {
        char text[128];
        trial t;
        snprintf(text, sizeof text, "program p {\n  grid 4000000000, 4000000000\n  %s\n}\n", bodies[i]);
        trial_open(&t, text);
        t.options.budget = 20000;
        assert_int_equal(trial_run(&t), i == 0 ? VYRE_OK : VYRE_BUDGET);
        trial_close(&t);
    }
}

static void a_budget_that_suffices_exactly_suffices(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n buffer y : u32 write count 64\n workgroup 16\n grid over y\n var s = 0u32\n for k in "
                   "0u32 .. global_id.x { s = s + k }\n"
                   "y[global_id.x] = s }");
    trial_expect(&t, VYRE_OK);
    uint64_t steps = t.report.steps;
    for (unsigned threads = 1; threads < 4; threads++) {
        t.options = (vyre_oracle_options){.budget = steps, .threads = threads};
        trial_expect(&t, VYRE_OK);
        assert_int_equal(t.report.steps, steps);
        t.options.budget = steps - 1;
        trial_expect(&t, VYRE_BUDGET);
    }
    trial_close(&t);
}

static void memory_is_refused_before_it_is_taken(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n param n : u64\n buffer y : f64 write count n\n grid 1\n y[0] = 1.0 }");
    vyre_scalar n = vyre_scalar_u64(4294967295u);
    t.arguments.params = &n;
    t.arguments.param_count = 1;
    trial_expect(&t, VYRE_LIMIT); /* 32 GiB, over the default of 4 */
    assert_non_null(strstr(t.error.message, "buffers 34359738"));
    n = vyre_scalar_u64(1000);
    t.options.max_memory = 9000;
    assert_int_equal(trial_run(&t), VYRE_OK);
    t.options.max_memory = 8000;
    assert_int_equal(trial_run(&t), VYRE_LIMIT);
    trial_close(&t);
}

/* What the checker remembers of acquires and releases grows with the run, and is counted as it does. */
static void clocks_count_as_memory(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n buffer x : u32 read_write\n workgroup 64\n grid 64\n atomic_add<acq_rel>(x[0], 1)\n "
                   "while true { atomic_add<acq_rel>(x[0], 1)\n if x[1] == 0 { break } } }");
    const uint32_t x[2] = {0};
    trial_input(&t, x, sizeof x);
    for (uint64_t seed = 0; seed < 3; seed++) {
        t.options = (vyre_oracle_options){.max_memory = 200000, .seed = seed};
        trial_expect(&t, VYRE_OK);
        t.options.checks = VYRE_CHECK_RACES;
        trial_expect(&t, VYRE_LIMIT);
        assert_non_null(strstr(t.error.message, "acquires and releases"));
        assert_non_null(strstr(t.error.message, "of the limit (200000)"));
        assert_true(t.report.steps < 4096); /* it ends there and then */
        t.options.max_memory = 16 << 20;
        trial_expect(&t, VYRE_OK);
    }
    trial_close(&t);
}

/* Every reader of an element is kept where acquires and releases could order all but one: the element's set is memory
 * too. */
static void sets_of_readers_count_as_memory(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n buffer x : u32 read_write\n workgroup 64\n grid 64\n let v = x[0]\n"
                   "if v == 1 { atomic_add<release>(x[1], 1)\n x[0] = 2 } }");
    const uint32_t x[2] = {0};
    trial_input(&t, x, sizeof x);
    for (uint64_t seed = 0; seed < 3; seed++) {
        t.options = (vyre_oracle_options){.checks = VYRE_CHECK_RACES, .max_memory = 100000, .seed = seed};
        trial_expect(&t, VYRE_LIMIT);
        assert_non_null(strstr(t.error.message, "the records of the race checker"));
        t.options.max_memory = 400000; /* 4096 readers of 24 bytes, the table half full, twice while it grows */
        trial_expect(&t, VYRE_OK);
    }
    trial_close(&t);
}

/* ---- failing allocations ---- */

typedef struct fault_case {
    const char *text;
    vyre_oracle_options options;
    vyre_status expected;
} fault_case;

static void ignore(void *user, uint64_t invocation, const char *text) {
    (void)user, (void)invocation, (void)text;
}

static const fault_case fault_cases[] = {
    {"program p {\n buffer x : u32 read_write\n buffer y : u32 write count 100\n workgroup 40\n grid 5\n array w : u32 "
     "[40] workgroup\n array v : u32 [4] private\n"
     "let l = local_id.x\n w[l] = x[l]\n barrier\n let s = workgroup_reduce_add(w[39 - l])\n v[l % 4] = s\n if "
     "group_id.x == 0 { y[l] = v[1] + v[2] } }",
     {.checks = VYRE_CHECK_ALL & ~VYRE_CHECK_BOUNDS},
     VYRE_OK},
    {"program p {\n buffer x : u32 read_write\n workgroup 40\n grid 5\n atomic_add(x[3], 1)\n print \"{}\", "
     "global_id.x }",
     {.threads = 2, .print = ignore},
     VYRE_OK},
    {"program p {\n buffer x : u32 read_write\n workgroup 8\n grid 2\n if global_id.x == 0 { x[2] = 7\n "
     "atomic_store<release>(x[1], 1) }\n"
     "if global_id.x == 9 { let f = atomic_load<acquire>(x[1])\n if f == 1 { x[3] = x[2] } } }",
     {.checks = VYRE_CHECK_RACES},
     VYRE_OK},
    {"program p {\n buffer x : u32 read_write\n workgroup 8\n grid 4\n array w : u32 [2] workgroup\n let v = x[2] + "
     "w[1]\n"
     "atomic_add<release>(x[1], 1)\n if v == 1 { x[2] = 1\n w[1] = 1 } }",
     {.checks = VYRE_CHECK_RACES},
     VYRE_OK},
    {"program p {\n buffer x : u32 read_write\n workgroup 8\n grid 2\n x[local_id.x / 2] = x[9] }",
     {.checks = VYRE_CHECK_ALL},
     VYRE_CHECK_FAILED},
    {"program p {\n buffer x : u32 read_write\n workgroup 8\n grid 2\n x[global_id.x] = 1\n grid_barrier\n x[15 - "
     "global_id.x] = 2 }",
     {.seed = 3},
     VYRE_OK},
    {"program p {\n workgroup 8\n grid 2\n buffer x : u32 read_write\n trap 3 }", {.threads = 2}, VYRE_TRAPPED},
};

typedef struct fault_run {
    vyre_program *program;
    const fault_case *which;
} fault_run;

/* Whatever fails, the outputs are the old ones or the new ones. */
static vyre_status run_once(void *user) {
    const fault_run *run = user;
    uint32_t x[32] = {0};
    vyre_span input = {x, sizeof x};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_oracle *oracle;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_bytes outputs[2] = {VYRE_BYTES_INIT, VYRE_BYTES_INIT};
    vyre_status status = vyre_oracle_new(run->program, &oracle, &error);
    if (status != VYRE_OK)
        return status;
    status = vyre_oracle_run(oracle, &arguments, &run->which->options, outputs, NULL, NULL, &error);
    if (status == VYRE_NO_MEMORY) {
        assert_int_equal(outputs[0].size, 0);
        assert_int_equal(outputs[1].size, 0);
    }
    vyre_bytes_free(&outputs[0]);
    vyre_bytes_free(&outputs[1]);
    vyre_oracle_free(oracle);
    return status == run->which->expected ? VYRE_OK : status;
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof fault_cases / sizeof *fault_cases; i++) {
        vyre_module *module;
        vyre_error error;
        if (vyre_text_parse(fault_cases[i].text, strlen(fault_cases[i].text), NULL, NULL, &module, &error) != VYRE_OK)
            fail_msg("%s\n%s", error.message, fault_cases[i].text);
        /* Made before and freed after: only the oracle sees the faults. */
        fault_run run = {vyre_module_program(module, 0), &fault_cases[i]};
        VY_FAULT_LOOP_LENIENT(run_once, &run);
        vyre_module_free(module);
    }
}

/* ---- large programs ---- */

static void many_variables_and_literals_do_not_need_a_register_each(void **state) {
    (void)state;
    enum { COUNT = 3000 };
    char *text = malloc(COUNT * 80 + 1000);
    size_t used = (size_t)sprintf(
        text,
        "program p {\n buffer y : u32 write count 64\n workgroup 64\n grid 1\n let i = local_id.x\n let v0 = i\n");
    uint32_t want = 5;
    for (uint32_t k = 1; k <= COUNT; k++) {
        used += (size_t)sprintf(text + used, "let v%u = v%u * 3 + %u\n", k, k - 1, k * 7919);
        want = want * 3 + k * 7919;
    }
    sprintf(text + used, "y[i] = v%u }\n", COUNT);
    trial t;
    trial_open(&t, text);
    t.options.max_memory = 200000; /* a register each would be 1.5 MB */
    trial_expect(&t, VYRE_OK);
    assert_int_equal(trial_u32(&t, 0)[5], want);
    trial_close(&t);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endless_programs_end_promptly),
        cmocka_unit_test(vast_grids_that_do_nothing_end_at_once),
        cmocka_unit_test(a_budget_that_suffices_exactly_suffices),
        cmocka_unit_test(memory_is_refused_before_it_is_taken),
        cmocka_unit_test(clocks_count_as_memory),
        cmocka_unit_test(sets_of_readers_count_as_memory),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(many_variables_and_literals_do_not_need_a_register_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
