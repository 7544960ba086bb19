/* Random programs, compiled in every manner, deliver what the oracle delivers; none is refused. A mismatch shrinks
 * itself.
 *
 * VYRE_EFFORT makes it longer, VYRE_FIRST=seed starts elsewhere and VYRE_JOBS=n divides the seeds among so many
 * processes: campaigns on machines with many cores. */
#include "compilers/emit/run.h"

#include "generate/generate.h"

#include <sys/wait.h>
#include <unistd.h>

enum { PROGRAMS = 60, PROCESSORS = 10 };

static int still_differs(void *user, const vyre_case *candidate) {
    char why[512];
    return judge(vyre_case_program(candidate), vyre_case_arguments(candidate), user, why, sizeof why) == DIFFERENT;
}

static void report(const vyre_case *found, uint64_t seed, const manner *m, const char *why) {
    vyre_case *small = NULL;
    if (vyre_shrink(found, still_differs, (void *)(uintptr_t)m, 2000, &small, NULL) == VYRE_OK)
        code_show(vyre_case_program(small));
    vyre_case_free(small);
    printf("seed %llu, %s, %soptimised, %scancellable\n", (unsigned long long)seed, m->processor->name,
           m->optimised ? "" : "not ", m->cancellable ? "" : "not ");
    fflush(stdout);
    fail_msg("%s", why);
}

static manner manner_of(uint64_t seed) {
    static processor any;
    manner m = {processor_at((unsigned)(seed % PROCESSORS)), seed / PROCESSORS % 3 != 0, seed / PROCESSORS % 4 == 0};
    if (!processor_is_here(m.processor)) { /* its lanes on what there is */
        any = *m.processor;
        any.needs = 0;
        m.processor = &any;
    }
    return m;
}

/* Small programs of everything, larger ones, and those that stress one thing. */
static vyre_generate_options options_of(uint64_t seed) {
    static const unsigned stress[] = {0,
                                      VYRE_STRESS_CONTROL,
                                      VYRE_STRESS_MEMORY | VYRE_STRESS_GEOMETRY,
                                      VYRE_STRESS_COLLECTIVES | VYRE_STRESS_CONTROL,
                                      0,
                                      VYRE_STRESS_FLOATS | VYRE_STRESS_INTEGERS,
                                      VYRE_STRESS_ATOMICS | VYRE_STRESS_GEOMETRY,
                                      VYRE_STRESS_MEMORY | VYRE_STRESS_CONTROL | VYRE_STRESS_COLLECTIVES};
    return (vyre_generate_options){.seed = seed,
                                   .statements = 6 + (unsigned)(seed % 5) * 5,
                                   .invocations = seed % 3 ? 150 : 600,
                                   .stress = stress[seed / 3 % 8]};
}

static uint64_t judged, left_out;

static void try_seed(uint64_t seed) {
    vyre_case *made = NULL;
    char why[512];
    vyre_generate_options options = options_of(seed);
    manner m = manner_of(seed);
    assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
    verdict v = judge(vyre_case_program(made), vyre_case_arguments(made), &m, why, sizeof why);
    if (v == DIFFERENT)
        report(made, seed, &m, why);
    judged += v == SAME;
    left_out += v == UNJUDGED;
    vyre_case_free(made);
}

static uint64_t number_from(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static void run_share(uint64_t first, uint64_t count, uint64_t job, uint64_t jobs) {
    for (uint64_t i = job; i < count; i += jobs)
        try_seed(first + i);
    printf("%llu programs from seed %llu, %llu were not judged: too long, or to be split\n", (unsigned long long)judged,
           (unsigned long long)first, (unsigned long long)left_out);
    assert_true(judged > left_out);
}

static void random_programs_give_the_bits_of_the_oracle(void **state) {
    (void)state;
    uint64_t first = number_from("VYRE_FIRST", 1), jobs = number_from("VYRE_JOBS", 1);
    uint64_t count = (VY_SANITIZED ? PROGRAMS / 3 : PROGRAMS) * (uint64_t)vy_test_effort();
    for (uint64_t job = 1; job < jobs; job++)
        if (fork() == 0) {
            for (uint64_t i = job; i < count; i += jobs)
                try_seed(first + i);
            _exit(0);
        }
    run_share(first, count, 0, jobs ? jobs : 1);
    for (uint64_t job = 1; job < jobs; job++) {
        int status = 0;
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_give_the_bits_of_the_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
