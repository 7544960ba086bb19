/* Generated programs with collectives, written out for hardware of any subgroup width and legalised, give their bytes; also when the schedule is perturbed,
 * and without races. */
#include "transform/legal_runner.h"

#include "vyre/generate.h"

enum { OUTPUTS = 64, STEPS = 100000 };

typedef struct outcome {
    vyre_status status;
    vyre_trap trap;
    vyre_bytes outputs[OUTPUTS];
    vyre_error error;
} outcome;

static void run(vyre_program *program, const vyre_arguments *arguments, const vyre_oracle_options *options,
                outcome *out) {
    vyre_oracle_report report = {0};
    vyre_oracle *oracle = NULL;
    out->status = vyre_oracle_new(program, &oracle, &out->error);
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
    vy_legal_target target;
    uint64_t seed;
    char why[512];
} question;

static int differs(void *user, const vyre_case *made) {
    question *q = user;
    vyre_program *legal = NULL;
    outcome want = {0}, got = {0};
    vyre_oracle_options options = {.threads = 1, .budget = STEPS};
    int result = 0;
    run(vyre_case_program(made), vyre_case_arguments(made), &options, &want);
    if (want.status == VYRE_OK || want.status == VYRE_TRAPPED) {
        options = (vyre_oracle_options){.threads = 1, .budget = 500 * (uint64_t)STEPS, .seed = q->seed};
        options.checks = VYRE_CHECK_RACES;
        vyre_status status = vy_legalise(vyre_case_program(made), &q->target, &legal, &got.error);
        if (status == VYRE_OK)
            run(legal, vyre_case_arguments(made), &options, &got);
        result = status != VYRE_OK || !is_same(&want, &got);
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
        if (vy_legalise(vyre_case_program(small), &q->target, &legal, NULL) == VYRE_OK)
            print_program(legal);
    }
    vyre_program_release(legal);
    vyre_case_free(small);
    fail_msg("subgroups of %u: %s", q->target.subgroup_width, q->why);
}

static void generated_programs_meet_on_any_hardware(void **state) {
    (void)state;
    static const uint32_t hardware[] = {0, 2, 4, 8, 16, 32, 64};
    unsigned total = (VY_SANITIZED ? 150 : 1500) * vy_test_effort();
    for (unsigned seed = 1; seed <= total; seed++) {
        vyre_generate_options options = {.seed = seed, .statements = 12, .invocations = 150};
        options.stress = VYRE_STRESS_COLLECTIVES | VYRE_STRESS_CONTROL;
        if (seed % 2)
            options.stress |= VYRE_STRESS_MEMORY | VYRE_STRESS_GEOMETRY | VYRE_STRESS_FLOATS;
        question q = {.target = {.exact = ALL_BITS, .subgroup_width = hardware[seed % 7]}, .seed = seed % 3};
        vyre_case *made = NULL;
        assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
        if (differs(&q, made))
            report(made, &q);
        vyre_case_free(made);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(generated_programs_meet_on_any_hardware)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
