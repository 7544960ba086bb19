/* The same bytes at any number of threads and under any schedule, for programs that use everything that could make a
 * difference. */
#include "oracle/trial.h"

#include "generate/generate.h"

static const char *const programs[] = {
    /* Divergent loops, private memory, no meeting: small workgroups that run as one. */
    "program p {\n buffer x : u32 read_write\n workgroup 3\n grid over x\n array v : u32 [4] private\n let i = "
    "global_id.x\n var s = i\n"
    "for k in 0u32 .. i % 7 {\n v[k % 4] = v[k % 4] + s\n if s % 5 == 2 { continue }\n s = s * 3 + v[(k + 1) % 4] }\n "
    "if i < len(x) { x[i] = x[i] + s } }",
    /* Barriers and workgroup memory. */
    "program p {\n buffer x : u32 read_write\n workgroup 50\n grid over x\n array w : u32 [50] workgroup\n let l = "
    "local_id.x\n let i = global_id.x\n"
    "w[l] = x[i]\n barrier\n for k in 0u32 .. 5u32 {\n let v = w[(l + k) % 50]\n barrier\n w[l] = w[l] * 3 + v\n "
    "barrier\n }\n if i < len(x) { x[i] = w[49 - l] } }",
    /* Collectives over floats. */
    "program p {\n buffer x : u32 read_write\n workgroup 77\n grid over x\n let i = global_id.x\n let f = f32(x[i]) * "
    "1.37\n"
    "let a = workgroup_reduce_add(f)\n let b = subgroup_scan_exclusive_mul<8>(f + 1.0)\n let c = "
    "workgroup_scan_inclusive_max(f)\n"
    "let d = subgroup_shuffle_xor<16>(f, 5)\n if i < len(x) { x[i] = bitcast<u32>(a + b - c * d) } }",
    /* Atomics whose values nobody looks at. */
    "program p {\n buffer x : u32 read_write\n buffer h : u64 read_write count 16\n workgroup 64\n grid over x\n let i "
    "= global_id.x\n"
    "if i < len(x) {\n atomic_add(h[i % 8], u64(x[i]) * 3)\n atomic_min(h[8], u64(i))\n atomic_max(h[9 + i % 3], u64(i "
    "* 7))\n "
    "atomic_xor(h[12], u64(i) << 7)\n atomic_or(h[13], 1u64 << u64(i % 64))\n } }",
};

static void threads_and_schedules_do_not_show(void **state) {
    (void)state;
    enum { N = 5000 };
    static uint32_t x[N];
    static uint64_t h[16];
    for (uint32_t i = 0; i < N; i++)
        x[i] = i * 2654435761u;
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        trial t;
        vyre_bytes want[2] = {VYRE_BYTES_INIT, VYRE_BYTES_INIT};
        trial_open(&t, programs[p]);
        trial_input(&t, x, sizeof x);
        if (vyre_program_input_count(t.program) > 1)
            trial_input(&t, h, sizeof h);
        size_t outputs = vyre_program_output_count(t.program);
        t.options.threads = 1;
        trial_expect(&t, VYRE_OK);
        vyre_oracle_report first = t.report;
        for (size_t o = 0; o < outputs; o++) {
            want[o] = t.outputs[o];
            t.outputs[o] = (vyre_bytes)VYRE_BYTES_INIT;
        }
        for (unsigned run = 0; run < 16; run++) {
            t.options = run < 6 ? (vyre_oracle_options){.threads = run} : (vyre_oracle_options){.seed = run * 77};
            if (run == 10)
                t.options = (vyre_oracle_options){.checks = VYRE_CHECK_RACES | VYRE_CHECK_DIVERGENCE};
            trial_expect(&t, VYRE_OK);
            for (size_t o = 0; o < outputs; o++)
                if (t.outputs[o].size != want[o].size || memcmp(t.outputs[o].data, want[o].data, want[o].size) != 0)
                    fail_msg("program %zu run %u: output %zu differs", p, run, o);
            assert_int_equal(t.report.steps, first.steps);
            assert_int_equal(t.report.evaluations, first.evaluations);
        }
        for (size_t o = 0; o < outputs; o++)
            vyre_bytes_free(&want[o]);
        trial_close(&t);
    }
}

/* The order in which invocations come to a counter, as a program can see it. */
static void a_seed_changes_the_order_and_repeats_it(void **state) {
    (void)state;
    trial t;
    trial_open(
        &t, "program p {\n buffer c : u32 read_write count 1\n buffer o : u32 write count 64\n workgroup 8\n grid 8\n"
            "let n = atomic_add(c[0], 1)\n o[n] = global_id.x }");
    const uint32_t zero = 0;
    trial_input(&t, &zero, sizeof zero);
    uint32_t first[64];
    unsigned inside = 0, between = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        t.options.seed = seed;
        trial_expect(&t, VYRE_OK);
        memcpy(first, t.outputs[1].data, sizeof first);
        uint64_t seen = 0;
        for (uint32_t k = 0; k < 64; k++) {
            seen |= (uint64_t)1 << first[k];
            inside += k > 0 && first[k] / 8 == first[k - 1] / 8 && first[k] < first[k - 1];
            between += k > 0 && first[k] / 8 < first[k - 1] / 8;
        }
        assert_true(seen == UINT64_MAX); /* every invocation ran once */
        if (seed == 0)
            assert_int_equal(inside + between, 0);
        trial_expect(&t, VYRE_OK);
        assert_memory_equal(first, t.outputs[1].data, sizeof first);
    }
    assert_true(inside > 0);
    assert_true(between > 0);
    trial_close(&t);
}

/* Lanes of a warp come to a counter in ascending order. Were they not dealt at random, they would be neighbours, and
 * come as such. */
static void a_seed_deals_invocations_to_warps_at_random(void **state) {
    (void)state;
    enum { N = 64, SEEDS = 24 };
    trial t;
    trial_open(
        &t, "program p {\n buffer c : u32 read_write count 1\n buffer o : u32 write count 64\n workgroup 64\n grid 1\n"
            "let n = atomic_add(c[0], 1)\n o[n] = local_id.x }");
    const uint32_t zero = 0;
    trial_input(&t, &zero, sizeof zero);
    unsigned neighbours = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        t.options.seed = seed;
        trial_expect(&t, VYRE_OK);
        for (uint32_t k = 1; k < N; k++)
            neighbours += trial_u32(&t, 1)[k] == trial_u32(&t, 1)[k - 1] + 1;
    }
    /* One for each order is to be expected, and nearly all 63 without dealing. */
    assert_in_range(neighbours, 1, 3 * SEEDS);
    trial_close(&t);
}

/* Random programs are race-free by construction: no checker but bounds may speak, and no schedule may show. */
static void generated_programs_are_the_same_under_every_schedule(void **state) {
    (void)state;
    unsigned cases = 300 * vy_test_effort();
    for (unsigned seed = 1; seed <= cases; seed++) {
        vyre_generate_options options = {.seed = seed};
        vyre_case *generated = NULL;
        vyre_error error;
        vyre_oracle *oracle = NULL;
        vyre_status status = vyre_generate(&options, &generated, &error);
        if (status == VYRE_UNSUPPORTED)
            VY_SKIP("generated programs: %s", error.message);
        if (status != VYRE_OK || vyre_oracle_new(vyre_case_program(generated), &oracle, &error) != VYRE_OK)
            fail_msg("seed %u: %s", seed, error.message);
        vyre_bytes outputs[2][64];
        memset(outputs, 0, sizeof outputs);
        size_t count = vyre_program_output_count(vyre_case_program(generated));
        for (unsigned run = 0; run < 4; run++) {
            vyre_oracle_options run_options = {.threads = run, .seed = run > 1 ? seed * 4 + run : 0};
            if (run == 3)
                run_options.checks = VYRE_CHECK_ALL & ~VYRE_CHECK_BOUNDS & ~VYRE_CHECK_UNWRITTEN;
            vyre_bytes *into = outputs[run != 0];
            status = vyre_oracle_run(oracle, vyre_case_arguments(generated), &run_options, into, NULL, NULL, &error);
            if (status != VYRE_OK && status != VYRE_TRAPPED)
                fail_msg("seed %u run %u: %s: %s", seed, run, vyre_status_name(status), error.message);
            for (size_t o = 0; run && o < count; o++)
                if (outputs[0][o].size != into[o].size ||
                    (into[o].size && memcmp(outputs[0][o].data, into[o].data, into[o].size) != 0))
                    fail_msg("seed %u run %u: output %zu differs", seed, run, o);
        }
        for (size_t o = 0; o < 64; o++) {
            vyre_bytes_free(&outputs[0][o]);
            vyre_bytes_free(&outputs[1][o]);
        }
        vyre_oracle_free(oracle);
        vyre_case_free(generated);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_schedules_do_not_show),
        cmocka_unit_test(a_seed_changes_the_order_and_repeats_it),
        cmocka_unit_test(a_seed_deals_invocations_to_warps_at_random),
        cmocka_unit_test(generated_programs_are_the_same_under_every_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
