/* Random programs deliver the same when they are widened, optimised or not; and so do the examples. */
#include "transform/widen_runner.h"

#include "vyre/generate.h"

enum { REASONS = 64 };

/* How many programs stayed as they are, by reason. */
typedef struct tally {
    const char *reasons[REASONS];
    unsigned counts[REASONS], widened, by_factor[VY_WIDEN_MOST + 1];
} tally;

static void count(tally *t, const vy_widened *made) {
    t->widened += made->factor > 1;
    t->by_factor[made->factor]++;
    for (int i = 0; made->reason && i < REASONS; i++) {
        if (!t->reasons[i])
            t->reasons[i] = made->reason;
        if (strcmp(t->reasons[i], made->reason) == 0) {
            t->counts[i]++;
            return;
        }
    }
}

static void show(const tally *t) {
    printf("widened: %u (by 2: %u, 4: %u, 8: %u, 16: %u)\n", t->widened, t->by_factor[2], t->by_factor[4],
           t->by_factor[8], t->by_factor[16]);
    for (int i = 0; i < REASONS && t->reasons[i]; i++)
        printf("  %5u  %s\n", t->counts[i], t->reasons[i]);
}

static void try_one(vyre_program *program, const vyre_arguments *arguments, vy_widen_options options, const char *what,
                    tally *t) {
    vy_widened made;
    vyre_error error = VYRE_ERROR_INIT;
    if (vy_widen(program, &options, &made, &error) != VYRE_OK)
        fail_msg("%s: %s", what, error.message);
    count(t, &made);
    if (made.factor > 1)
        widen_compare(program, &made, arguments, (vyre_oracle_options){0}, what);
    else
        assert_ptr_equal(made.program, program);
    vyre_program_release(made.program);
}

static void random_programs_deliver_the_same(void **state) {
    (void)state;
    uint64_t programs = (VY_SANITIZED ? 400 : 4000) * (uint64_t)vy_test_effort();
    const char *first = getenv("VYRE_SEED");
    uint64_t start = first ? strtoull(first, NULL, 0) : 0;
    tally t = {0}, paying = {0};
    for (uint64_t seed = start; seed < start + programs; seed++) {
        static const unsigned stresses[] = {VYRE_STRESS_INTEGERS,
                                            VYRE_STRESS_CONTROL,
                                            VYRE_STRESS_INTEGERS | VYRE_STRESS_CONTROL | VYRE_STRESS_GEOMETRY,
                                            VYRE_STRESS_FLOATS | VYRE_STRESS_GEOMETRY,
                                            VYRE_STRESS_FUNCTIONS | VYRE_STRESS_CONTROL,
                                            VYRE_STRESS_ATOMICS | VYRE_STRESS_GEOMETRY,
                                            0};
        vyre_generate_options options = {
            .seed = seed, .stress = stresses[seed % 7], .statements = 4 + (unsigned)(seed % 30), .invocations = 96};
        vyre_case *made;
        vyre_error error;
        char what[64];
        snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
        assert_int_equal(vyre_generate(&options, &made, &error), VYRE_OK);
        vyre_program *program = vyre_case_program(made);
        const vyre_arguments *arguments = vyre_case_arguments(made);
        try_one(program, arguments, (vy_widen_options){.access_bytes = seed % 5 ? 16 : 8, .even_if_slow = 1}, what, &t);
        try_one(program, arguments, (vy_widen_options){.access_bytes = 16}, what, &paying);
        vyre_case_free(made);
    }
    show(&t);
    show(&paying);
    assert_true(t.widened > programs / 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_deliver_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
