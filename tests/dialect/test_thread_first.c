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

/* How many allocations the library of a process takes: asked in a child. */
static size_t allocations_of_one(void) {
    int ends[2];
    size_t count = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        vyre_dialects_guard guard = vyre_dialects_acquire();
        size_t ops = vyre_dialects_count(guard);
        count = vy_fault_allocations();
        _exit(write(ends[1], &count, sizeof count) != sizeof count || !ops);
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

/* Each thread first looks up an op of one of several dialects, and every other one then all ops. */
static void *look_up(void *state) {
    static const char *const ids[] = {"bits.parity_u32", "math.exp_f32", "int.isqrt_u32", "pack.u8x4"};
    size_t *index = state;
    const char *id = ids[*index % 4];
    pthread_barrier_wait(&together);
    vyre_dialects_guard guard = vyre_dialects_acquire();
    const vyre_op_definition *op = vyre_dialects_find(guard, id, strlen(id));
    int is_good = op && op->body && (*index % 2 || vyre_dialects_count(guard) > 100);
    is_good = is_good && vyre_dialects_lookup(guard, op->number) == op;
    vyre_dialects_release(&guard);
    *index = is_good ? 0 : SIZE_MAX;
    return NULL;
}

static void threads_load_dialects_concurrently(void **state) {
    (void)state;
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pthread_t threads[THREADS];
        size_t index[THREADS];
        int code = 0;
        pthread_barrier_init(&together, NULL, THREADS);
        for (unsigned i = 0; i < THREADS; i++) {
            index[i] = i;
            code |= pthread_create(&threads[i], NULL, look_up, &index[i]);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            code |= index[i] != 0;
        }
        _exit(code);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_load_dialects_concurrently), /* in a child that has loaded nothing */
        cmocka_unit_test(threads_that_start_together_read_the_library_once),
    };
    vy_fault_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
