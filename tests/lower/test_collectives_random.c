/* Generated programs with collectives, written out for hardware of any subgroup width and legalised, give their bytes
 * on the worst device of the profile; also when the schedule is perturbed, and without races. */
#include "lower/runner.h"

#include "compile/pipeline.h"
#include "generate/generate.h"

enum { OUTPUTS = 64, STEPS = 100000 };

typedef struct outcome {
    vyre_status status;
    vyre_trap trap;
    vyre_bytes outputs[OUTPUTS];
    vyre_error error;
} outcome;

/* Consumes the oracle. */
static void run(vyre_oracle *oracle, const vyre_arguments *arguments, const vyre_oracle_options *options,
                outcome *out) {
    vyre_oracle_report report = {0};
    if (out->status == VYRE_OK)
        out->status = vyre_oracle_run(oracle, arguments, options, out->outputs, &report, NULL, &out->error);
    out->trap = report.trap;
    vyre_oracle_free(oracle);
}

static void outcome_free(outcome *out) {
    for (int i = 0; i < OUTPUTS; i++)
        vyre_bytes_free(&out->outputs[i]);
}

static int is_same(const outcome *a, const outcome *b) {
    if (a->status != b->status || (a->status == VYRE_TRAPPED && memcmp(&a->trap, &b->trap, sizeof a->trap) != 0))
        return 0;
    for (int i = 0; i < OUTPUTS; i++)
        if (a->outputs[i].size != b->outputs[i].size ||
            (a->outputs[i].size && memcmp(a->outputs[i].data, b->outputs[i].data, a->outputs[i].size) != 0))
            return 0;
    return 1;
}

typedef struct question {
    vy_target_desc target;
    uint64_t seed;
    unsigned refused;
    char why[512];
} question;

static int differs(void *user, const vyre_case *made) {
    question *q = user;
    vyre_program *legal = NULL;
    vyre_oracle *oracle = NULL;
    outcome want = {0}, got = {0};
    vyre_oracle_options options = {.threads = 1, .budget = STEPS};
    int result = 0;
    want.status = vyre_oracle_new(vyre_case_program(made), &oracle, &want.error);
    run(oracle, vyre_case_arguments(made), &options, &want);
    if (want.status == VYRE_OK || want.status == VYRE_TRAPPED) {
        oracle = NULL;
        options = (vyre_oracle_options){.threads = 1, .budget = 500 * (uint64_t)STEPS, .seed = q->seed};
        options.checks = VYRE_CHECK_RACES;
        got.status = vy_legalize(vyre_case_program(made), &q->target, &legal, &got.error);
        q->refused += got.status == VYRE_UNSUPPORTED;
        result = got.status != VYRE_UNSUPPORTED;
        if (got.status == VYRE_OK)
            got.status = vy_oracle_new_on(legal, q->target.exact, &oracle, &got.error);
        static legal_arguments arguments;
        run(oracle, arguments_for(vyre_case_program(made), q->target.exact, vyre_case_arguments(made), &arguments),
            &options, &got);
        result &= !is_same(&want, &got);
        snprintf(q->why, sizeof q->why, "status %d, must be %d; or bytes differ: %.400s", (int)got.status,
                 (int)want.status, got.error.message);
    }
    outcome_free(&want);
    outcome_free(&got);
    vyre_program_release(legal);
    return result;
}

static void report(const vyre_case *found, question *q) {
    vyre_case *small = NULL;
    vyre_program *legal = NULL;
    if (vyre_shrink(found, differs, q, 0, &small, NULL) == VYRE_OK) {
        print_program(vyre_case_program(small));
        if (vy_legalize(vyre_case_program(small), &q->target, &legal, NULL) == VYRE_OK)
            print_program(legal);
    }
    vyre_program_release(legal);
    vyre_case_free(small);
    fail_msg("subgroups of %u: %s", q->target.subgroup_width, q->why);
}

static void generated_programs_meet_on_any_hardware(void **state) {
    (void)state;
    static const uint32_t hardware[] = {0, 2, 4, 8, 16, 32, 64};
    static const uint64_t exact[] = {ALL_BITS, ALL_BITS, ALL_BITS & ~BIT(INT64), WIDE_BITS,
                                     ALL_BITS & ~(BIT(F32_SUBNORMAL) | BIT(INT8) | BIT(INT16) | SMALL_BITS)};
    unsigned total = (VY_SANITIZED ? 150 : 1500) * vy_test_effort(), refused = 0;
    for (unsigned seed = 1; seed <= total; seed++) {
        vyre_generate_options options = {.seed = seed, .statements = 12, .invocations = 150};
        options.stress = VYRE_STRESS_COLLECTIVES | VYRE_STRESS_CONTROL;
        if (seed % 2)
            options.stress |= VYRE_STRESS_MEMORY | VYRE_STRESS_GEOMETRY | VYRE_STRESS_FLOATS;
        question q = {.seed = seed % 3};
        q.target = (vy_target_desc){.exact = exact[seed % 5], .subgroup_width = hardware[seed % 7]};
        q.target.native_collectives = seed % 11 == 0;
        if (!(q.target.exact & BIT(INT64)))
            options.types = ((1u << VYRE_TYPE_COUNT) - 1) & ~(1u << VYRE_TYPE_F64);
        vyre_case *made = NULL;
        assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
        if (differs(&q, made))
            report(made, &q);
        refused += q.refused;
        vyre_case_free(made);
    }
    printf("%u programs, %u were refused\n", total, refused);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(generated_programs_meet_on_any_hardware)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
