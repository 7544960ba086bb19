/* Threads that store, load, iterate, clear and change the settings concurrently: every load returns the correct bytes
 * or misses. For ThreadSanitizer. */
#include "driver/cache.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, KEYS = 5, ROUNDS = 150 };

static atomic_uint failures, hits;
static void claim(int holds) {
    if (!holds)
        atomic_fetch_add(&failures, 1);
}

static size_t size_of(unsigned number) {
    return number * 3000;
}

static int see(void *user, const vyre_cache_entry *entry) {
    (void)user;
    claim(entry->valid);
    return 0;
}

static void *use(void *argument) {
    vy_random random = vy_random_start((uint64_t)(uintptr_t)argument);
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned number = (unsigned)vy_random_below(&random, KEYS);
        if (vy_random_below(&random, 2) == 0)
            cache_store(number, size_of(number));
        int verdict = cache_load(number, size_of(number));
        claim(verdict >= 0);
        atomic_fetch_add(&hits, verdict == 1);
        if (vy_random_below(&random, 20) == 0)
            claim(vyre_cache_walk(VYRE_CACHE_READ_ALL, see, NULL, NULL) == VYRE_OK);
    }
    return NULL;
}

/* The settings of the process, while others use them. */
static void *change(void *argument) {
    (void)argument;
    char path[300];
    for (unsigned i = 0; i < ROUNDS; i++) {
        snprintf(path, sizeof path, "%s/%s", cache_folder, i % 3 ? "other" : "");
        claim(vyre_cache_set_folder(i % 5 ? path : "", NULL) == VYRE_OK);
        vyre_cache_set_disk_limit(i % 4 ? 1 << 20 : 20000);
        vyre_cache_set_memory_limit(i);
        vyre_cache_forbid_compile((int)(i % 3) - 1);
        claim(vy_cache_memory_limit() == i);
        (void)vy_compile_forbidden();
        claim(vyre_cache_folder(path, sizeof path) < sizeof path);
        if (i % 10 == 0)
            claim(vyre_cache_clear(NULL, NULL, NULL, NULL) == VYRE_OK);
    }
    return NULL;
}

static void run_threads(int with_changes) {
    pthread_t threads[THREADS + 1];
    atomic_store(&failures, 0);
    atomic_store(&hits, 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use, (void *)(i + 1)), 0);
    if (with_changes)
        assert_int_equal(pthread_create(&threads[THREADS], NULL, change, NULL), 0);
    for (int i = 0; i < THREADS + with_changes; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    if (with_changes) { /* all other threads may have run while no folder was set */
        assert_int_equal(vyre_cache_set_folder(cache_folder, NULL), VYRE_OK);
        vyre_cache_set_disk_limit((uint64_t)1 << 30);
        (void)use((void *)(uintptr_t)(THREADS + 1));
    }
    assert_int_equal(atomic_load(&failures), 0);
    assert_true(atomic_load(&hits) > 0);
}

static void threads_see_right_bytes_or_none(void **state) {
    (void)state;
    run_threads(0);
    assert_int_equal(cache_stats().rejected, 0);
    assert_int_equal(cache_count_names(VY_CACHE_TEMPORARY_PREFIX), 0);
}

static void settings_may_change_meanwhile(void **state) {
    (void)state;
    run_threads(1);
    assert_int_equal(cache_stats().rejected, 0);
}

int main(void) {
#define TEST(claim) cmocka_unit_test_setup_teardown(claim, cache_setup, cache_teardown)
    const struct CMUnitTest tests[] = {TEST(threads_see_right_bytes_or_none), TEST(settings_may_change_meanwhile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
