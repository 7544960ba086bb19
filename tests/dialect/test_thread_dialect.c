/* Readers and writers of the dialect registry at once: every snapshot a reader holds is whole, guards travel between
 * threads, threads come and go, and memory stays flat. For ThreadSanitizer too. */
#include "base/thread.h"
#include "dialect/fixture.h"
#include "dialect/registry.h"
#include "support/fault.h"

#include <pthread.h>
#include <time.h>

static atomic_uint failures;
static void claim(int holds) {
    if (!holds)
        atomic_fetch_add(&failures, 1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void install_only(fixture_dialect *dialect) {
    claim(vyre_dialects_update(fixture_only, dialect, NULL) == VYRE_OK);
}

static void start_all(pthread_t *threads, unsigned count, void *(*body)(void *)) {
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, (void *)(uintptr_t)i), 0);
}

static void join_all(pthread_t *threads, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_exchange(&failures, 0), 0);
}

/* ---- a consistent index ---- */

static vyre_dialects_guard shared_guard;

static void *look_up_a_hundred_times(void *argument) {
    (void)argument;
    for (int i = 0; i < 100; i++) {
        claim(vyre_dialects_lookup(shared_guard, fixture_id("io.dma_from_nvme0")) != NULL);
        vyre_dialects_guard own = vyre_dialects_acquire();
        claim(fixture_find(own, "io.dma_from_nvme0") != NULL && fixture_find(own, "io.dma_from_nvme9") == NULL);
        vyre_dialects_release(&own);
    }
    return NULL;
}

static void sixteen_concurrent_readers_see_a_consistent_index(void **state) {
    (void)state;
    static fixture_dialect dialect;
    pthread_t threads[16];
    fixture_make(&dialect, "io", "me", "dma_from_nvme", 4);
    install_only(&dialect);
    shared_guard = vyre_dialects_acquire();
    start_all(threads, 16, look_up_a_hundred_times);
    join_all(threads, 16);
    vyre_dialects_release(&shared_guard);
}

/* ---- old guards, new readers ---- */

static pthread_barrier_t loaded, swapped;

static void *hold_over_a_swap(void *argument) {
    (void)argument;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    claim(fixture_find(guard, "old.op0") != NULL);
    pthread_barrier_wait(&loaded);
    pthread_barrier_wait(&swapped);
    claim(fixture_find(guard, "old.op0") != NULL);
    claim(fixture_find(guard, "new.op0") == NULL);
    claim(vyre_dialects_verify(guard, NULL) == VYRE_OK);
    vyre_dialects_release(&guard);
    guard = vyre_dialects_acquire();
    claim(fixture_find(guard, "new.op0") != NULL);
    claim(fixture_find(guard, "old.op0") == NULL);
    vyre_dialects_release(&guard);
    return NULL;
}

static void an_old_guard_keeps_the_old_snapshot_and_new_readers_see_the_new_one(void **state) {
    (void)state;
    static fixture_dialect old, new;
    pthread_t threads[4];
    fixture_make(&old, "old", "me", "op", 1);
    fixture_make(&new, "new", "me", "op", 1);
    install_only(&old);
    pthread_barrier_init(&loaded, NULL, 5);
    pthread_barrier_init(&swapped, NULL, 5);
    start_all(threads, 4, hold_over_a_swap);
    pthread_barrier_wait(&loaded);
    install_only(&new);
    assert_int_equal(vy_hazard_unreclaimed_count(&vy_dialects), 1);
    pthread_barrier_wait(&swapped);
    join_all(threads, 4);
    assert_int_equal(vy_hazard_unreclaimed_count(&vy_dialects), 0);
    pthread_barrier_destroy(&loaded);
    pthread_barrier_destroy(&swapped);
}

/* ---- guards that travel, threads that end ---- */

enum { HANDED = 64 };
static vyre_dialects_guard handed[HANDED];

/* More than the thread has slots for, and then it ends. */
static void *take_and_leave(void *argument) {
    (void)argument;
    for (int i = 0; i < HANDED; i++)
        handed[i] = vyre_dialects_acquire();
    return NULL;
}

static void *release_what_was_handed(void *argument) {
    (void)argument;
    for (int i = 0; i < HANDED; i++) {
        claim(fixture_find(handed[i], "first.op0") != NULL);
        vyre_dialects_release(&handed[i]);
    }
    return NULL;
}

static void a_guard_outlives_its_thread_and_is_released_by_another(void **state) {
    (void)state;
    static fixture_dialect first, second;
    fixture_make(&first, "first", "me", "op", 1);
    fixture_make(&second, "second", "me", "op", 1);
    for (int round = 0; round < 20; round++) {
        pthread_t thread;
        install_only(&first);
        start_all(&thread, 1, take_and_leave);
        join_all(&thread, 1);
        install_only(&second); /* frees nothing: sixty-four guards are held */
        assert_int_equal(vy_hazard_unreclaimed_count(&vy_dialects), 1);
        start_all(&thread, 1, release_what_was_handed);
        join_all(&thread, 1);
        assert_int_equal(vy_hazard_unreclaimed_count(&vy_dialects), 0);
    }
}

/* More threads in a row than there are records: records come back. */
static void *take_one(void *argument) {
    (void)argument;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    claim((uintptr_t)guard.slot != VY_HAZARD_COUNTED);
    vyre_dialects_release(&guard);
    return NULL;
}

static void threads_come_and_go(void **state) {
    (void)state;
    for (int i = 0; i < (VY_SANITIZED ? 200 : VY_HAZARD_RECORD_LIMIT + 100); i++) {
        pthread_t thread;
        start_all(&thread, 1, take_one);
        pthread_join(thread, NULL);
    }
    assert_int_equal(atomic_exchange(&failures, 0), 0);
}

/* ---- the soak ---- */

enum { WORDS = 8 };
static fixture_dialect versions[2];
static atomic_int soaking;
static atomic_ulong reads, installs;

/* The checksum covers everything, down to each op; also all ops must be of one version. */
static void inspect(vyre_dialects_guard guard) {
    claim(vyre_dialects_verify(guard, NULL) == VYRE_OK);
    claim(vyre_dialects_count(guard) == WORDS);
    const vyre_op_definition *first = vyre_dialects_at(guard, 0);
    int version = first && strcmp(first->id, "soak.b0") == 0;
    for (int i = 0; i < WORDS; i++) {
        const vyre_op_definition *op = fixture_find(guard, versions[version].ids[i]);
        claim(op != NULL && strcmp(op->id, versions[version].ids[i]) == 0);
        claim(fixture_find(guard, versions[!version].ids[i]) == NULL);
    }
}

/* Short guards, held ones, more than there are slots, and one that stays a while. */
static void *keep_reading(void *argument) {
    vy_random random = vy_random_start((uintptr_t)argument);
    vyre_dialects_guard kept = vyre_dialects_acquire();
    uint64_t generation = vyre_dialects_generation(kept), kept_generation = generation;
    unsigned long count = 0;
    while (atomic_load_explicit(&soaking, memory_order_relaxed)) {
        vyre_dialects_guard many[20];
        size_t taken = vy_random_below(&random, 50) ? 1 : 20;
        for (size_t i = 0; i < taken; i++)
            many[i] = vyre_dialects_acquire();
        claim(vyre_dialects_generation(many[0]) >= generation);
        generation = vyre_dialects_generation(many[0]);
        inspect(many[taken - 1]);
        for (size_t i = taken; i-- > 0;)
            vyre_dialects_release(&many[i]);
        if (vy_random_below(&random, 100) == 0) {
            claim(vyre_dialects_generation(kept) == kept_generation);
            inspect(kept);
            vyre_dialects_release(&kept);
            vyre_dialects_guard guard = vyre_dialects_acquire();
            kept = vyre_dialects_retain(guard);
            vyre_dialects_release(&guard);
            kept_generation = vyre_dialects_generation(kept);
        }
        count++;
    }
    vyre_dialects_release(&kept);
    atomic_fetch_add(&reads, count);
    return NULL;
}

static void soak(double seconds, unsigned readers) {
    pthread_t threads[64];
    fixture_make(&versions[0], "soak", "soak.toml", "a", WORDS);
    fixture_make(&versions[1], "soak", "soak.toml", "b", WORDS);
    install_only(&versions[0]);
    atomic_store(&soaking, 1);
    start_all(threads, readers, keep_reading);
    size_t high = 0;
    unsigned long count = 0;
    for (double end = now() + seconds; now() < end; count++) {
        install_only(&versions[count & 1]);
        size_t live = vy_fault_live_bytes();
        high = live > high ? live : high;
    }
    atomic_store(&soaking, 0);
    join_all(threads, readers);
    atomic_fetch_add(&installs, count);
    /* Some KiB a snapshot; a thread that was interrupted while it freed may have let some dozens wait. */
    print_message("%u readers: %lu reads, %lu installs, at most %zu bytes\n", readers, atomic_load(&reads),
                  atomic_load(&installs), high);
    assert_true(high < (size_t)64 << 20);
    assert_int_equal(vy_hazard_unreclaimed_count(&vy_dialects), 0);
}

static void readers_on_all_cores_against_a_writer(void **state) {
    (void)state;
    const char *given = getenv("VYRE_SOAK_SECONDS");
    double seconds = given ? atof(given) : 1.0 * vy_test_effort();
    unsigned readers = vy_cpu_count() < 64 ? vy_cpu_count() : 64;
    size_t blocks = 0;
    for (int round = 0; round < 2; round++) {
        soak(seconds / 2, readers < 2 ? 2 : readers);
        install_only(&versions[0]);
        if (round == 0)
            blocks = vy_fault_live_blocks();
        else
            assert_int_equal(vy_fault_live_blocks(), blocks);
    }
}

/* ---- many writers ---- */

enum { WRITERS = 4, CHANGES = 60 };
static fixture_dialect own[WRITERS];

static vyre_status replace_own(vyre_dialect_builder *builder, void *user, vyre_error *error) {
    fixture_dialect *dialect = user;
    return vyre_dialect_builder_replace(builder, &dialect->dialect, dialect->list, dialect->count, error);
}

static void *keep_changing(void *argument) {
    fixture_dialect *dialect = &own[(uintptr_t)argument];
    for (size_t i = 0; i < CHANGES; i++) {
        dialect->count = 1 + i % 7;
        claim(vyre_dialects_update(replace_own, dialect, NULL) == VYRE_OK);
        vyre_dialects_guard guard = vyre_dialects_acquire();
        claim(fixture_find(guard, dialect->ids[i % 7]) != NULL && fixture_find(guard, dialect->ids[i % 7 + 1]) == NULL);
        claim(vyre_dialects_verify(guard, NULL) == VYRE_OK);
        vyre_dialects_release(&guard);
    }
    return NULL;
}

static void what_several_writers_install_is_never_lost(void **state) {
    (void)state;
    static const char *const names[WRITERS] = {"north", "east", "south", "west"};
    pthread_t threads[WRITERS];
    vyre_dialects_guard guard = vyre_dialects_acquire();
    uint64_t before = vyre_dialects_generation(guard);
    vyre_dialects_release(&guard);
    for (unsigned i = 0; i < WRITERS; i++)
        fixture_make(&own[i], names[i], names[i], "op", 8);
    start_all(threads, WRITERS, keep_changing);
    join_all(threads, WRITERS);
    guard = vyre_dialects_acquire();
    assert_int_equal(vyre_dialects_generation(guard), before + (uint64_t)WRITERS * CHANGES);
    for (unsigned i = 0; i < WRITERS; i++)
        assert_non_null(vyre_dialects_dialect(guard, names[i], strlen(names[i])));
    vyre_dialects_release(&guard);
    assert_int_equal(vy_hazard_unreclaimed_count(&vy_dialects), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen_concurrent_readers_see_a_consistent_index),
        cmocka_unit_test(an_old_guard_keeps_the_old_snapshot_and_new_readers_see_the_new_one),
        cmocka_unit_test(a_guard_outlives_its_thread_and_is_released_by_another),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(readers_on_all_cores_against_a_writer),
        cmocka_unit_test(what_several_writers_install_is_never_lost),
    };
#ifdef WITH_FENCES
    vy_hazard_use_fences();
#endif
    vy_fault_install(); /* for good: there is always a current snapshot */
    return cmocka_run_group_tests_name("dialect registry, threads", tests, NULL, NULL);
}
