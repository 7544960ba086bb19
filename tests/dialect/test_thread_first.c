/* The first snapshot of a process is made once, however many threads want it. */
#include "support/fault.h"
#include "support/test.h"

#include "vyre/dialect.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 16 };
static pthread_barrier_t together;

static void *acquire(void *state) {
    pthread_barrier_wait(&together);
    vyre_dialects_guard guard = vyre_dialects_acquire();
    *(size_t *)state = vyre_dialects_count(guard);
    vyre_dialects_release(&guard);
    return NULL;
}

/* How many allocations the first guard of a process takes: asked in a child. */
static size_t allocations_of_one(void) {
    int ends[2];
    size_t count = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        vyre_dialects_guard guard = vyre_dialects_acquire();
        count = vy_fault_allocations();
        _exit(write(ends[1], &count, sizeof count) != sizeof count || !vyre_dialects_count(guard));
    }
    assert_int_equal(read(ends[0], &count, sizeof count), sizeof count);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    close(ends[1]);
    return count;
}

static void threads_that_start_together_read_the_library_once(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    size_t seen[THREADS] = {0}, one = allocations_of_one();
    assert_true(one > 1000);
    pthread_barrier_init(&together, NULL, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, acquire, &seen[i]), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(seen[i] > 100);
    }
    pthread_barrier_destroy(&together);
    assert_int_equal(vy_fault_allocations(), one);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_that_start_together_read_the_library_once)};
    vy_fault_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
