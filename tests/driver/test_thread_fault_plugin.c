/* Several threads on one faulty backend (fault_plugin.h): each runs every path, one recovers the device whenever it is
 * lost, and in the end it is shut down during their calls. Meant for the thread sanitizer. */
#include "base/thread.h"
#include "driver/fault_paths.h"
#include "support/fault.h"
#include "vyre/cache.h"

enum { THREADS = 4, ROUNDS = 4 };

static fault_control *control;

typedef struct shared {
    const roads *model;
    roads own[THREADS]; /* sources of buffers are here, and outlive buffers that could not be freed */
    _Atomic unsigned failed, recovered, rounds;
    int shuts_down;
} shared;

static void drive(void *user, unsigned worker) {
    shared *s = user;
    roads *r = &s->own[worker];
    vyre_error error;
    *r = *s->model;
    /* Pointers into the model are allowed: it is not written. */
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < FAULT_PATH_COUNT; i++) {
            fault_path_list[((unsigned)i + 3 * worker) % FAULT_PATH_COUNT](r);
            if (vyre_backend_device_lost(r->backend) && vyre_backend_try_recover(r->backend, &error) == VYRE_OK)
                atomic_fetch_add(&s->recovered, 1);
            if (s->shuts_down && atomic_fetch_add(&s->rounds, 1) == THREADS * FAULT_PATH_COUNT)
                vyre_backend_shutdown(r->backend, &error);
        }
    atomic_fetch_add(&s->failed, r->failed);
}

static void run(roads *model, fault_entry entry, fault_kind kind, unsigned every, int shuts_down) {
    vyre_counters before, after;
    vyre_error error;
    size_t blocks = vy_fault_live_blocks();
    shared s = {.model = model, .shuts_down = shuts_down};
    control->entry = entry, control->kind = kind, control->at = every, control->every = every;
    control->status = VYRE_NO_DEVICE_MEMORY;
    control->is_missing[FAULT_PIPELINE_serialize] = entry == FAULT_PIPELINE_serialize_later;
    atomic_store(&control->struck, 0);
    for (int i = 0; i < FAULT_ENTRY_COUNT; i++)
        atomic_store(&control->calls[i], 0);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    vyre_counters_get(&before);
    assert_int_equal(vyre_acquire(FAULT_BACKEND_ID, &model->backend, &error), VYRE_OK);
    vy_parallel(THREADS, drive, &s);
    if (!shuts_down && kind != FAULT_NONE && !atomic_load(&control->struck))
        fail_msg("entry %d was called %u times", (int)entry, atomic_load(&control->calls[entry]));
    if (!shuts_down && kind == FAULT_NONE)
        assert_int_equal(atomic_load(&s.failed), 0);
    vyre_backend_release(model->backend);
    for (int i = 0; i < 5000 && (atomic_load(&control->devices) || vy_fault_live_blocks() != blocks); i++)
        usleep(1000);
    vyre_counters_get(&after);
    assert_int_equal(atomic_load(&control->devices), 0);
    assert_int_equal(atomic_load(&control->pipelines), 0);
    assert_int_equal(atomic_load(&control->pendings), 0);
    assert_int_equal(atomic_load(&control->buffers), 0);
    assert_int_equal(after.resident_bytes, before.resident_bytes);
    assert_int_equal(after.pending, before.pending);
    assert_int_equal(vy_fault_live_blocks(), blocks);
    assert_int_equal(vy_fault_mismatches(), 0);
}

static void threads_share_a_backend_that_does_wrong(void **state) {
    static const struct {
        fault_entry entry;
        fault_kind kind;
        unsigned every;
    } rows[] = {{FAULT_BACKEND_id, FAULT_NONE, 0},
                {FAULT_BACKEND_dispatch_borrowed, FAULT_FAIL, 3},
                {FAULT_BACKEND_dispatch_borrowed_into, FAULT_LOSE, 7},
                {FAULT_BACKEND_dispatch_resident, FAULT_LOSE_QUIETLY, 9},
                {FAULT_BACKEND_resident_upload, FAULT_LOSE, 31},
                {FAULT_BACKEND_resident_free, FAULT_FAIL, 5},
                {FAULT_BACKEND_prepare, FAULT_FAIL, 2},
                {FAULT_BACKEND_compile, FAULT_TABLE_SHORT, 3},
                {FAULT_PIPELINE_serialize, FAULT_BYTES_OVER_CAPACITY, 2},
                {FAULT_PIPELINE_serialize_later, FAULT_NONE, 0},
                {FAULT_PIPELINE_serialize_later, FAULT_BYTES_OVER_CAPACITY, 2},
                {FAULT_PIPELINE_serialize_later, FAULT_LOSE, 3},
                {FAULT_PIPELINE_dispatch_borrowed, FAULT_SHORT_OUTPUT, 3},
                {FAULT_PIPELINE_dispatch_persistent_into, FAULT_LOSE, 5},
                {FAULT_PIPELINE_destroy, FAULT_LOSE, 5},
                {FAULT_PENDING_wait, FAULT_LOSE, 5},
                {FAULT_PENDING_wait, FAULT_FEWER_OUTPUTS, 3},
                {FAULT_PENDING_is_ready, FAULT_VALUE_ENORMOUS, 2},
                {FAULT_PENDING_notify, FAULT_TOLD_TWICE, 2},
                {FAULT_PENDING_cancel, FAULT_LOSE, 3}};
    if (!control)
        VY_SKIP("the plug-in is not here (%s)", fault_paths_plugin());
    for (unsigned effort = 0; effort < vy_test_effort(); effort++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            for (int shuts_down = 0; shuts_down < 2; shuts_down++)
                run(*state, rows[i].entry, rows[i].kind, rows[i].every, shuts_down);
}

static int set_up(void **state) {
    static roads r;
    static char folder[64];
    control = fault_paths_load();
    if (!control)
        return 0;
    snprintf(folder, sizeof folder, "/tmp/vyre-fault-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    vyre_cache_set_folder(folder, NULL);
    vyre_cache_set_memory_limit(1); /* codes come and go */
    fault_paths_open(&r);
    *state = &r;
    return 0;
}

static int tear_down(void **state) {
    char folder[256];
    if (!*state)
        return 0;
    fault_paths_close(*state);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    vyre_cache_folder(folder, sizeof folder);
    rmdir(folder);
    vy_fault_remove();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_share_a_backend_that_does_wrong)};
    vy_fault_install();
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
