/* Random programs, compiled for every width, deliver what the oracle delivers. A mismatch shrinks itself. */
#include "compilers/code.h"

#include "generate/generate.h"

typedef enum verdict { SAME, REFUSED, DIFFERENT } verdict;

static verdict judge(const vyre_case *given, const processor *p, char *why, size_t size) {
    static outcome want, got;
    vyre_program *program = vyre_case_program(given);
    code code = {0};
    vyre_error error = VYRE_ERROR_INIT;
    verdict result = REFUSED;
    outcome_of_oracle(program, vyre_case_arguments(given), &want);
    if (want.status == VYRE_OK || want.status == VYRE_TRAPPED) {
        vyre_status status = code_make(program, p, &code, &error);
        const char *text = error.message;
        if (status == VYRE_OK) {
            outcome_of_code(&code, vyre_case_arguments(given), &got);
            text = outcome_differs(&want, &got);
            outcome_free(&got);
        }
        result = !text ? SAME : status == VYRE_UNSUPPORTED ? REFUSED : DIFFERENT;
        snprintf(why, size, "%s", text ? text : "");
    }
    outcome_free(&want);
    code_free(&code);
    return result;
}

static int still_differs(void *user, const vyre_case *candidate) {
    char why[512];
    return judge(candidate, user, why, sizeof why) == DIFFERENT;
}

static void report(const vyre_case *found, const processor *p, uint64_t seed, const char *why) {
    vyre_case *small = NULL;
    code code = {0};
    printf("seed %" PRIu64 ", %s: %s\n", seed, p->name, why);
    fflush(stdout);
    if (vyre_shrink(found, still_differs, (void *)(uintptr_t)p, 200, &small, NULL) == VYRE_OK) {
        code_show(vyre_case_program(small));
        if (code_lower(vyre_case_program(small), p, &code, NULL) == VYRE_OK)
            code_show(code.legal);
    }
    code_free(&code);
    vyre_case_free(small);
    fail_msg("seed %" PRIu64 ", %s: %s", seed, p->name, why);
}

static void run_campaign(uint64_t first, unsigned count, unsigned stress) {
    unsigned same = 0, refused = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        const processor *p = processor_at((unsigned)(seed % 10));
        const vyre_generate_options options = {.seed = seed, .statements = 20, .invocations = 128, .stress = stress};
        vyre_case *made = NULL;
        char why[512] = "";
        if (!processor_is_here(p))
            continue;
        assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
        verdict v = judge(made, p, why, sizeof why);
        if (v == DIFFERENT)
            report(made, p, seed, why);
        if (v == REFUSED && getenv("VYRE_SHOW_REFUSED"))
            printf("seed %" PRIu64 ": %s\n", seed, why);
        same += v == SAME;
        refused += v == REFUSED;
        vyre_case_free(made);
    }
    printf("%u the same, %u not judged\n", same, refused);
    assert_true(same > refused);
}

static unsigned cases(void) {
    const char *given = getenv("VYRE_CASES");
    return given ? (unsigned)strtoul(given, NULL, 10) : (VY_SANITIZED ? 7 : 16) * vy_test_effort();
}

static void random_programs_give_the_same_bits(void **state) {
    (void)state;
    run_campaign(1000, cases(), 0);
}

static void random_programs_with_meetings_give_the_same_bits(void **state) {
    (void)state;
    run_campaign(2000000, cases(), VYRE_STRESS_MEMORY | VYRE_STRESS_COLLECTIVES | VYRE_STRESS_CONTROL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_give_the_same_bits),
        cmocka_unit_test(random_programs_with_meetings_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
