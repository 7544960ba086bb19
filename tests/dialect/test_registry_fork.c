/* A child process goes on with the dialects of its parent, whatever other threads of the parent were doing. */
#include "dialect/fixture.h"
#include "dialect/registry.h"
#include "driver/registry/child.h"

#include <pthread.h>

static fixture_dialect dialect;
static atomic_int busy;

static void *keep_installing(void *argument) {
    (void)argument;
    for (unsigned i = 0; atomic_load(&busy); i++) {
        char name[32];
        snprintf(name, sizeof name, "forked.name%u", i % 5000);
        (void)fixture_id(name);
        (void)vyre_dialects_update(fixture_only, &dialect, NULL);
    }
    return NULL;
}

static void *keep_reading(void *argument) {
    (void)argument;
    while (atomic_load(&busy)) {
        vyre_dialects_guard guard = vyre_dialects_acquire();
        (void)fixture_find(guard, "test.op0");
        vyre_dialects_release(&guard);
    }
    return NULL;
}

static vyre_dialects_guard inherited;

static void read_and_install(size_t k) {
    char name[32];
    snprintf(name, sizeof name, "child.name%zu", k);
    alarm(60); /* a lock somebody else held would never be given back here */
    CHILD_CLAIM(fixture_find(inherited, "test.op1") != NULL);
    CHILD_CLAIM(vyre_dialects_verify(inherited, NULL) == VYRE_OK);
    CHILD_CLAIM(fixture_id(name) != 0);
    for (int i = 0; i < 20; i++) {
        CHILD_CLAIM(vyre_dialects_update(fixture_only, &dialect, NULL) == VYRE_OK);
        vyre_dialects_guard guard = vyre_dialects_acquire();
        CHILD_CLAIM(fixture_find(guard, "test.op0") != NULL);
        CHILD_CLAIM(vyre_dialects_verify(guard, NULL) == VYRE_OK);
        vyre_dialects_release(&guard);
    }
    vyre_dialects_release(&inherited);
    CHILD_CLAIM(vyre_dialects_update(fixture_only, &dialect, NULL) == VYRE_OK);
    /* At most what the two vanished threads had in their slots or in hand. */
    CHILD_CLAIM(vy_hazard_unreclaimed_count(&vy_dialects) <= 3);
}

static void a_child_reads_installs_and_frees(void **state) {
    (void)state;
    if (VY_SANITIZED)
        VY_SKIP("a_child_reads_installs_and_frees: the sanitizer's own allocator is not usable in a child of threads");
    pthread_t writer, reader;
    fixture_make(&dialect, "test", "me", "op", 4);
    assert_int_equal(vyre_dialects_update(fixture_only, &dialect, NULL), VYRE_OK);
    atomic_store(&busy, 1);
    assert_int_equal(pthread_create(&writer, NULL, keep_installing, NULL), 0);
    assert_int_equal(pthread_create(&reader, NULL, keep_reading, NULL), 0);
    for (size_t k = 0; k < 40; k++) {
        inherited = vyre_dialects_acquire();
        run_in_child(read_and_install, k);
        vyre_dialects_release(&inherited);
    }
    atomic_store(&busy, 0);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    assert_int_equal(vy_hazard_unreclaimed_count(&vy_dialects), 0);
}

static void read_only(size_t k) {
    (void)k;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    CHILD_CLAIM(fixture_find(guard, "test.op0") != NULL && (uintptr_t)guard.slot != VY_HAZARD_COUNTED);
    vyre_dialects_release(&guard);
    CHILD_CLAIM(vyre_dialects_update(fixture_only, &dialect, NULL) == VYRE_OK);
    CHILD_CLAIM(vy_hazard_unreclaimed_count(&vy_dialects) == 0);
}

static void a_child_of_a_quiet_process_frees_everything(void **state) {
    (void)state;
    fixture_make(&dialect, "test", "me", "op", 4);
    assert_int_equal(vyre_dialects_update(fixture_only, &dialect, NULL), VYRE_OK);
    run_in_child(read_only, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_child_reads_installs_and_frees),
                                       cmocka_unit_test(a_child_of_a_quiet_process_frees_everything)};
    return cmocka_run_group_tests_name("dialects after fork", tests, NULL, NULL);
}
