/* Generated programs with traps in random places end as they do at level source, whatever the schedule; those that ask
 * whether to stop do so without hanging, diverging or racing. A mismatch shrinks itself. */
#include "lower/put_traps.h"
#include "lower/traps_runner.h"

static vyre_program *inlined(vyre_program *program) {
    vyre_program *made = NULL;
    assert_int_equal(vyre_program_inline(program, &made, NULL), VYRE_OK);
    return made;
}

static vyre_case *generated(uint64_t seed) {
    static const unsigned stress[] = {
        VYRE_STRESS_MEMORY | VYRE_STRESS_CONTROL,
        VYRE_STRESS_MEMORY | VYRE_STRESS_CONTROL | VYRE_STRESS_COLLECTIVES,
        VYRE_STRESS_COLLECTIVES | VYRE_STRESS_CONTROL | VYRE_STRESS_GEOMETRY,
        VYRE_STRESS_MEMORY | VYRE_STRESS_CONTROL | VYRE_STRESS_FUNCTIONS | VYRE_STRESS_ATOMICS,
    };
    vyre_generate_options options = {.seed = seed, .statements = 14, .depth = 2, .invocations = 60};
    options.stress = stress[seed % 4] | VYRE_STRESS_INTEGERS;
    options.types = 1u << VYRE_TYPE_BOOL | 1u << VYRE_TYPE_U32 | 1u << VYRE_TYPE_I32;
    vyre_case *made = NULL;
    assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
    return made;
}

/* The schedules of one program; returns how many misbehave, after failing. */
static void judge(question *q, vyre_program *program, const vyre_arguments *arguments, uint64_t seed) {
    char what[64];
    for (uint64_t k = 0; k < 3; k++) {
        q->options = (vyre_oracle_options){.checks = VYRE_CHECK_RACES, .budget = (uint64_t)STEPS * MORE};
        q->options.seed = k ? seed * 3 + k : 0;
        q->conditions.garbage = seed * 7 + k;
        q->conditions.misalignment = k;
        snprintf(what, sizeof what, "seed %" PRIu64 ", schedule %" PRIu64, seed, k);
        if (misbehaves(q, program, arguments))
            fail_small(q, program, arguments, what);
    }
}

static void traps_end_programs_as_at_level_source(void **state) {
    (void)state;
    static question q;
    unsigned total = (VY_SANITIZED ? 60 : 700) * vy_test_effort(), trapped = 0, judged = 0;
    for (uint64_t seed = 1; seed <= total; seed++) {
        vyre_case *made = generated(seed);
        vyre_program *whole = inlined(vyre_case_program(made));
        vy_random random = vy_random_start(seed);
        vyre_program *program = with_traps(whole, &random, 3 + (unsigned)(seed % 9));
        if (program && want_outcome(&q, program, vyre_case_arguments(made))) {
            q.target = (vy_target_desc){.exact = ALL_BITS, .native_collectives = seed % 3 == 0};
            q.target.cancellable = seed % 2;
            q.conditions = (vy_lowered_env){0};
            judged++;
            trapped += q.want.status == VYRE_TRAPPED;
            judge(&q, program, vyre_case_arguments(made), seed);
        }
        vyre_program_release(program);
        vyre_program_release(whole);
        vyre_case_free(made);
    }
    outcome_free(&q.want);
    printf("%u of %u programs judged, %u trapped\n", judged, total, trapped);
    assert_true(judged > total / 2 && trapped > judged / 4);
}

static void polls_stop_programs_wherever_they_are(void **state) {
    (void)state;
    static question q;
    unsigned total = (VY_SANITIZED ? 60 : 500) * vy_test_effort(), stopped = 0, runs = 0;
    for (uint64_t seed = 1; seed <= total; seed++) {
        vyre_case *made = generated(seed * 11);
        vyre_program *whole = inlined(vyre_case_program(made));
        vy_random random = vy_random_start(seed);
        vyre_program *with = seed % 2 ? with_traps(whole, &random, 6) : NULL;
        vyre_program *program = with ? with : whole;
        if (want_outcome(&q, program, vyre_case_arguments(made))) {
            q.target = (vy_target_desc){.exact = ALL_BITS, .native_collectives = seed % 3 == 0, .cancellable = 1};
            for (uint64_t k = 1; k <= 4; k++) {
                q.conditions = (vy_lowered_env){.poll = k, .poll_spread = (uint32_t)(seed + k) % 4};
                judge(&q, program, vyre_case_arguments(made), seed);
                runs++;
                stopped += q.seen == VYRE_TIMEOUT;
            }
        }
        vyre_program_release(with);
        vyre_program_release(whole);
        vyre_case_free(made);
    }
    outcome_free(&q.want);
    printf("%u of %u runs stopped\n", stopped, runs);
    assert_true(stopped > runs / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traps_end_programs_as_at_level_source),
        cmocka_unit_test(polls_stop_programs_wherever_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
