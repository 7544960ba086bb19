/* Random programs on several threads: the same bytes as on one, and (under ThreadSanitizer) no two threads at the same
 * byte, since generated programs have no races that the host could see either. */
#include "support/test.h"

#include "campaign/judge.h"

static judge j;

static void large_grids_give_the_same_bytes_on_any_number_of_threads(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40 * vy_test_effort(); seed++) {
        vyre_generate_options options = {.seed = seed, .statements = 60, .invocations = 3000, .stress = 1u << seed % 8};
        vyre_case *given;
        vyre_oracle *oracle;
        assert_int_equal(vyre_generate(&options, &given, NULL), VYRE_OK);
        assert_int_equal(vyre_oracle_new(vyre_case_program(given), &oracle, NULL), VYRE_OK);
        const vyre_oracle_options one = {.threads = 1};
        if (!judge_run(&j, oracle, given, &one, &j.expected, "on one thread") ||
            !judge_again(&j, oracle, given, (vyre_oracle_options){.threads = 2}, "on two threads") ||
            !judge_again(&j, oracle, given, (vyre_oracle_options){.threads = 5}, "on five threads"))
            fail_msg("seed %llu: %s", (unsigned long long)seed, j.message);
        vyre_oracle_free(oracle);
        vyre_case_free(given);
    }
    judge_free(&j);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_grids_give_the_same_bytes_on_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
