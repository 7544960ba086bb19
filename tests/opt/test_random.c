/* Random programs through random sequences of passes: the bytes and traps stay (campaign.h).
 *
 * VYRE_SEED starts elsewhere, VYRE_EFFORT makes it that many times longer. A pair that is spoiled prints its seed and
 * shrinks itself. */
#include "opt/campaign.h"

static void run_campaign(opt_campaign *c, uint64_t pairs) {
    const char *first = getenv("VYRE_SEED");
    uint64_t seed = first ? strtoull(first, NULL, 0) : 0;
    for (; c->pairs < pairs; seed++)
        if (opt_try(c, seed, 1)) {
            opt_campaign_free(c);
            fail_msg("seed %llu: %s", (unsigned long long)seed, c->message);
        }
    printf("%llu pairs of %llu programs: %llu changed, %llu trapped;", (unsigned long long)c->pairs,
           (unsigned long long)c->programs, (unsigned long long)c->changed, (unsigned long long)c->trapped);
    for (unsigned i = 0; i < VYRE_PASS_COUNT; i++)
        printf(" %s %llu", vyre_pass_name((vyre_pass)i), (unsigned long long)c->changes[i]);
    printf("\n");
    opt_campaign_free(c);
}

static void random_sequences_keep_the_bits(void **state) {
    (void)state;
    opt_campaign c = {.rules = &vy_opt_default,
                      .generate = {.statements = 14, .depth = 3, .invocations = 16},
                      .sequences = 4,
                      .one_in = 12,
                      .only = VYRE_PASS_COUNT};
    run_campaign(&c, (VY_SANITIZED ? 2000 : 20000) * (uint64_t)vy_test_effort());
    assert_int_equal(c.refused, 0);
    for (unsigned i = 0; i < VYRE_PASS_COUNT; i++)
        assert_true(c.changes[i] > c.pairs / 100);
}

static void large_programs_keep_their_bits(void **state) {
    (void)state;
    opt_campaign c = {.rules = &vy_opt_default,
                      .generate = {.statements = 80, .depth = 5, .invocations = 64},
                      .sequences = 3,
                      .one_in = 20,
                      .only = VYRE_PASS_COUNT};
    run_campaign(&c, (VY_SANITIZED ? 60 : 600) * (uint64_t)vy_test_effort());
    assert_int_equal(c.refused, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_sequences_keep_the_bits),
        cmocka_unit_test(large_programs_keep_their_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
