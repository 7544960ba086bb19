/* Random programs as C, many in a file, on the compilers in turns: status, trap and bytes are the oracle's.
 *
 *   VYRE_CAMPAIGN_COUNT   programs (300 times VYRE_EFFORT)
 *   VYRE_CAMPAIGN_SEED    first seed (VYRE_SEED, else 1)
 *   VYRE_CAMPAIGN_LENGTH  statements asked for, at most (no bound)
 *
 * Without VYRE_CAMPAIGN_COUNT programs are short and compiled without optimisation, which is quick. */
#include "backends/conform_campaign.h"
#include "emit/c/compiled.h"

enum { FILE_PROGRAMS = 100 };

static void run(compiled *c, uint64_t first, uint64_t count, unsigned length) {
    char name[64];
    for (uint64_t seed = first; seed < first + count; seed++) {
        vyre_case *made = conform_generate(seed, length);
        snprintf(name, sizeof name, "seed %" PRIu64, seed);
        c->oracle.checks = seed % 4 == 3; /* traps may part who meets */
        compiled_add(c, name, vyre_case_program(made), vyre_case_arguments(made));
        vyre_case_free(made);
        if (seed % 1000 == 0)
            printf("seed %" PRIu64 "\n", seed), fflush(stdout);
    }
    compiled_run(c);
}

static void random_programs_have_the_oracles_bits(void **state) {
    (void)state;
    static const char *const turns[] = {"gcc -std=c17 -O1",
                                        "clang -std=c17 -O1",
                                        "gcc -std=gnu17 -O2 -march=native",
                                        "clang -std=gnu17 -O3 -march=native",
                                        "gcc -std=c17 -O0",
                                        NULL};
    static const char *const quick[] = {"gcc -std=c17 -O0", "clang -std=c17 -O0", "gcc -std=gnu17 -O1 -march=native",
                                        NULL};
    const int is_campaign = getenv("VYRE_CAMPAIGN_COUNT") != NULL;
    static compiled c;
    c = (compiled){.compilers = is_campaign ? turns : quick, .in_turns = 1, .limit = FILE_PROGRAMS};
    uint64_t count = conform_setting("VYRE_CAMPAIGN_COUNT", (VY_SANITIZED ? 100 : 300) * (uint64_t)vy_test_effort());
    run(&c, conform_setting("VYRE_CAMPAIGN_SEED", conform_setting("VYRE_SEED", 1)), count,
        (unsigned)conform_setting("VYRE_CAMPAIGN_LENGTH", is_campaign ? 0 : 10));
    printf("%" PRIu64 " random programs as C: %" PRIu64 " judged, %" PRIu64 " trapped, %u refused\n", count, c.judged,
           c.trapped, c.refused);
    assert_int_equal(c.refused, 0);
    assert_true(c.judged * 10 >= count * 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs_have_the_oracles_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
