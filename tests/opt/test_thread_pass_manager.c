/* A program belongs to all threads that hold it: transforms that have nothing to do give it back as it is, and leave it
 * alone. */
#include "support/test.h"

#include "vyre/transform.h"

#include <pthread.h>

enum { THREADS = 4, TIMES = 50 };

typedef struct worker {
    vyre_program *program;
    int failed;
} worker;

static void *optimise_again_and_again(void *argument) {
    worker *self = argument;
    const vyre_optimize_options options = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    for (int i = 0; i < TIMES; i++) {
        vyre_program *made = NULL;
        vyre_digest fingerprint;
        self->failed |= vyre_program_optimize(self->program, &options, &made, NULL, NULL) != VYRE_OK;
        self->failed |= made != self->program;
        if (made)
            vyre_program_fingerprint(made, &fingerprint);
        vyre_program_release(made);
    }
    return NULL;
}

static void threads_optimise_one_program_at_the_same_time(void **state) {
    (void)state;
    vyre_error error = VYRE_ERROR_INIT;
    static const char text[] = "program p {\n buffer x : u32 read_write\n workgroup 32\n grid over x\n"
                               " x[global_id.x] = x[global_id.x] + 1\n}\n";
    vyre_program *source = vy_test_parse(text), *program;
    const vyre_optimize_options options = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    assert_int_equal(vyre_program_optimize(source, &options, &program, NULL, &error), VYRE_OK);
    worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.program = program};
        assert_int_equal(pthread_create(&threads[i], NULL, optimise_again_and_again, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_false(workers[i].failed);
    }
    vyre_program_release(program);
    vyre_program_release(source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_optimise_one_program_at_the_same_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
