/* A backend that does wrong, as a plug-in: whatever entry fails at whatever call in whatever way, every road ends with
 * the right bytes or with an error that carries a fix, nothing leaks, a lost device stays lost until it is recovered,
 * and afterwards everything works again. */
#include "base/memory.h"
#include "driver/fault_paths.h"
#include "support/fault.h"
#include "vyre/cache.h"

#include <signal.h>

static fault_control *control;

static const char *const entry_names[FAULT_ENTRY_COUNT] = {
#define BACKEND(name, gives) [FAULT_BACKEND_##name] = "backend." #name,
#define PIPELINE(name, gives) [FAULT_PIPELINE_##name] = "pipeline." #name,
#define PENDING(name, gives) [FAULT_PENDING_##name] = "pending." #name,
    FAULT_ENTRIES(BACKEND, PIPELINE, PENDING)
#undef BACKEND
#undef PIPELINE
#undef PENDING
};
static const unsigned entry_gives[FAULT_ENTRY_COUNT] = {
#define BACKEND(name, gives) [FAULT_BACKEND_##name] = FAULT_GIVES_##gives,
#define PIPELINE(name, gives) [FAULT_PIPELINE_##name] = FAULT_GIVES_##gives,
#define PENDING(name, gives) [FAULT_PENDING_##name] = FAULT_GIVES_##gives,
    FAULT_ENTRIES(BACKEND, PIPELINE, PENDING)
#undef BACKEND
#undef PIPELINE
#undef PENDING
};
static const struct {
    const char *name;
    unsigned fits;
} kinds[FAULT_KIND_COUNT] = {
#define X(ID, fits, doc) [FAULT_##ID] = {#ID, fits},
    FAULT_KINDS(X)
#undef X
};

static roads *need(void **state) {
    if (!control)
        VY_SKIP("the plug-in is not here (%s)", fault_paths_plugin());
    return *state;
}

/* ---- one scenario ---- */

/* A hang, a crash or a failed claim reports its scenario. */
static char scenario[256];

static void tell(int signal_number) {
    static const char hung[] = "nothing came back in time: ", died[] = "died: ";
    const char *what = signal_number == SIGALRM ? hung : died;
    ssize_t ignored = write(2, what, strlen(what));
    ignored += write(2, scenario, strlen(scenario));
    (void)ignored;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    _exit(1);
}

static void arm(fault_entry entry, fault_kind kind, unsigned at, vyre_status status) {
    control->entry = entry, control->kind = kind, control->at = at, control->status = status;
    control->every = 0;
    for (int i = 0; i < FAULT_ENTRY_COUNT; i++)
        atomic_store(&control->calls[i], 0);
    atomic_store(&control->struck, 0);
    atomic_store(&control->strays, 0);
    snprintf(scenario, sizeof scenario, "%s, call %u: %s (%d)\n", entry_names[entry], at, kinds[kind].name,
             (int)status);
}

static void disarm(void) {
    control->kind = FAULT_NONE;
}

static int is_loss(fault_kind kind) {
    return kind == FAULT_LOSE || kind == FAULT_LOSE_QUIETLY || kind == FAULT_LOSE_FOR_EVER;
}

static void claim(int holds, const char *what) {
    if (holds)
        return;
    alarm(0);
    fail_msg("%s: %s", what, scenario);
}

/* Loss is sticky until recovery; returns 0 if the device cannot be recovered. */
static int recover(roads *r) {
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error error;
    vyre_pipeline *pipeline;
    vyre_resident handle;
    for (int i = 0; i < 2; i++)
        claim(vyre_backend_device_lost(r->backend) == 1, "loss is not sticky");
    claim(vyre_backend_dispatch(r->backend, r->programs[0], &r->arguments, NULL, &outputs, NULL, &error) ==
              VYRE_DEVICE_LOST,
          "a lost backend dispatches");
    claim(vyre_compile(r->backend, r->programs[0], NULL, &pipeline, &error) == VYRE_DEVICE_LOST,
          "a lost backend compiles");
    claim(vyre_resident_allocate(r->backend, 4, NULL, &handle, &error) == VYRE_DEVICE_LOST, "a lost backend allocates");
    claim(vyre_backend_flush(r->backend, &error) == VYRE_DEVICE_LOST, "a lost backend flushes");
    uint64_t generation = vyre_backend_generation(r->backend);
    vyre_status status = vyre_backend_try_recover(r->backend, &error);
    if (status != VYRE_OK) {
        claim(error.fix[0] && error.message[0], "a failed recovery gives no reason");
        claim(vyre_backend_device_lost(r->backend) == 1, "a failed recovery ends the loss");
        claim(vyre_backend_generation(r->backend) == generation, "a failed recovery is counted");
        return 0;
    }
    claim(!vyre_backend_device_lost(r->backend), "a recovered backend is lost");
    claim(vyre_backend_generation(r->backend) == generation + 1, "a recovery is not counted");
    return 1;
}

typedef struct ledger {
    vyre_counters counters;
    size_t blocks;
} ledger;

static void ledger_open(ledger *l) {
    vyre_counters_get(&l->counters);
    l->blocks = vy_fault_live_blocks();
}

/* A thread of the library may hold the last reference for a moment. */
static void ledger_check(const ledger *l) {
    vyre_counters after;
    for (int i = 0; i < 5000 && (atomic_load(&control->devices) || vy_fault_live_blocks() != l->blocks); i++)
        usleep(1000);
    vyre_counters_get(&after);
    claim(atomic_load(&control->devices) == 0, "a device was not destroyed");
    claim(atomic_load(&control->pipelines) == 0, "a pipeline was not destroyed");
    claim(atomic_load(&control->pendings) == 0, "a dispatch in flight was not destroyed");
    claim(atomic_load(&control->buffers) == 0, "a buffer was not freed");
    claim(after.resident_bytes == l->counters.resident_bytes, "resident bytes are left");
    claim(after.pending == l->counters.pending, "pending dispatches are left");
    claim(vy_fault_live_blocks() == l->blocks, "memory is left");
    claim(vy_fault_mismatches() == 0, "memory was released with a wrong size");
}

/* Returns whether the fault was met. */
static int run_scenario(roads *r, fault_entry entry, fault_kind kind, unsigned at, vyre_status status) {
    ledger l;
    vyre_error error = VYRE_ERROR_INIT;
    alarm(60);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    ledger_open(&l);
    arm(entry, kind, at, status);
    control->is_missing[FAULT_PIPELINE_serialize] =
        entry == FAULT_PIPELINE_serialize_later; /* called only without it */
    r->is_honest = 0, r->backend = NULL, r->failed = 0;
    vyre_status acquired = vyre_acquire(FAULT_BACKEND_ID, &r->backend, &error);
    if (acquired == VYRE_OK) {
        fault_paths_drive(r);
        vyre_backend_flush_cache(r->backend);
        if (entry == FAULT_BACKEND_try_recover) { /* it requires a loss to be called */
            fault_control kept = {.entry = entry, .kind = kind, .at = at, .status = status};
            control->entry = FAULT_BACKEND_flush, control->kind = FAULT_LOSE;
            control->at = atomic_load(&control->calls[FAULT_BACKEND_flush]) + 1;
            vyre_backend_flush(r->backend, &error);
            control->entry = kept.entry, control->kind = kept.kind, control->at = kept.at;
            for (unsigned i = 1; i < at && vyre_backend_device_lost(r->backend); i++)
                vyre_backend_try_recover(r->backend, &error);
            if (vyre_backend_device_lost(r->backend))
                vyre_backend_try_recover(r->backend, &error);
        }
        int struck = atomic_load(&control->struck) != 0, is_alive = 1;
        /* Their results are queried once, when the backend is acquired. */
        int may_limit = entry == FAULT_BACKEND_capability || entry == FAULT_BACKEND_supported_ops;
        disarm();
        claim(!r->failed || struck, "something failed that was not asked to");
        if (struck && is_loss(kind) && entry != FAULT_BACKEND_try_recover)
            claim(vyre_backend_device_lost(r->backend), "a loss was not noticed");
        if (vyre_backend_device_lost(r->backend))
            is_alive = recover(r);
        claim(is_alive || kind == FAULT_LOSE_FOR_EVER, "a device that could be recovered was not");
        r->is_honest = is_alive && !may_limit;
        if (struck)
            fault_paths_drive(r);
        control->entry = entry, control->kind = kind; /* shutdown, destroy */
        vyre_status ended = vyre_backend_shutdown(r->backend, &error);
        claim(ended == VYRE_OK || (entry == FAULT_BACKEND_shutdown && error.fix[0]), "shutdown failed");
        claim(vyre_backend_shutdown(r->backend, &error) == VYRE_OK, "the second shutdown failed");
        r->is_honest = 0;
        fault_path_dispatch(r);
        claim(r->last == VYRE_DEVICE_LOST || (may_limit && (r->last == VYRE_LIMIT || r->last == VYRE_UNSUPPORTED)),
              "a backend that is shut down dispatches");
        vyre_backend_release(r->backend);
    } else {
        claim(entry == FAULT_BACKEND_id && error.fix[0] && !r->backend, "the backend could not be acquired");
    }
    int struck = atomic_load(&control->struck) != 0;
    disarm();
    if (kind != FAULT_HANDLE_ZERO && kind != FAULT_HANDLE_GARBAGE && kind != FAULT_HANDLE_TWICE)
        claim(atomic_load(&control->strays) == 0, "a handle was named that is none");
    ledger_check(&l);
    alarm(0);
    return struck;
}

/* ---- claims ---- */

static const vyre_status some_statuses[] = {VYRE_NO_DEVICE_MEMORY, VYRE_TRAPPED,       VYRE_TIMEOUT,   VYRE_CANCELLED,
                                            VYRE_CORRUPT,          (vyre_status)12345, (vyre_status)-1};

/* How often an honest run calls each entry. */
static void count_calls(roads *r, unsigned calls[FAULT_ENTRY_COUNT]) {
    run_scenario(r, FAULT_BACKEND_id, FAULT_NONE, 1, VYRE_OK);
    for (int i = 0; i < FAULT_ENTRY_COUNT; i++)
        calls[i] = atomic_load(&control->calls[i]);
    calls[FAULT_BACKEND_try_recover] = 2; /* the scenario sees to it */
    calls[FAULT_PIPELINE_serialize_later] = calls[FAULT_PIPELINE_serialize];
}

/* The first call, the last, one between; all of them if there is time. */
static void whatever_fails_is_contained(void **state) {
    roads *r = need(state);
    unsigned calls[FAULT_ENTRY_COUNT], met = 0, asked = 0;
    count_calls(r, calls);
    control->hang_ms = 1;
    for (int entry = 0; entry < FAULT_ENTRY_COUNT; entry++) {
        unsigned step = vy_test_effort() > 1 ? 1 : (calls[entry] + 1) / 2;
        claim(calls[entry] != 0, entry_names[entry]);
        for (int kind = FAULT_NONE + 1; kind < FAULT_KIND_COUNT; kind++) {
            if (!(kinds[kind].fits & entry_gives[entry]) || (kind == FAULT_TOLD_TWICE && entry != FAULT_PENDING_notify))
                continue;
            size_t statuses = kind == FAULT_FAIL ? sizeof some_statuses / sizeof *some_statuses : 1;
            for (size_t s = 0; s < statuses; s++)
                for (unsigned at = 1; at <= (s ? 1 : calls[entry]); at += step, asked++)
                    met += (unsigned)run_scenario(r, (fault_entry)entry, (fault_kind)kind, at, some_statuses[s]);
        }
    }
    print_message("%u of %u faults were met\n", met, asked);
    assert_true(met > asked - asked / 10); /* a fault that depends on timing may not occur */
}

/* Other paths to the same entries: fallbacks of missing entries, tiled launches, deadlines that the backend keeps,
 * deadlines that need a thread. */
static void whatever_fails_on_other_roads_is_contained(void **state) {
    static const fault_entry bare[] = {FAULT_BACKEND_dispatch_borrowed,
                                       FAULT_BACKEND_dispatch_borrowed_timed,
                                       FAULT_BACKEND_dispatch_borrowed_into,
                                       FAULT_BACKEND_dispatch_async,
                                       FAULT_BACKEND_dispatch_borrowed_async,
                                       FAULT_BACKEND_resident_upload_batch,
                                       FAULT_BACKEND_resident_download_batch,
                                       FAULT_BACKEND_sequence,
                                       FAULT_PIPELINE_dispatch_borrowed,
                                       FAULT_PIPELINE_dispatch_borrowed_timed,
                                       FAULT_PIPELINE_dispatch_borrowed_into,
                                       FAULT_PIPELINE_dispatch_batched_into,
                                       FAULT_PIPELINE_dispatch_persistent_into,
                                       FAULT_PIPELINE_dispatch_persistent_batched_into,
                                       FAULT_PIPELINE_dispatch_persistent_rows_into,
                                       FAULT_PIPELINE_dispatch_async,
                                       FAULT_PENDING_cancel,
                                       FAULT_PENDING_notify};
    roads *r = need(state);
    unsigned met = 0;
    for (int way = 0; way < 4; way++) {
        for (size_t i = 0; i < sizeof bare / sizeof *bare; i++)
            control->is_missing[bare[i]] = way == 0;
        control->most_groups = way == 1;
        control->can_cancel = way == 2;
        r->config.timeout_ns = way >= 2 ? 60ull * FAULT_PATH_SECONDS : 0;
        for (int entry = 0; entry < FAULT_ENTRY_COUNT; entry++)
            for (int kind = FAULT_NONE + 1; kind < FAULT_KIND_COUNT; kind++)
                if ((kinds[kind].fits & entry_gives[entry]) && kind != FAULT_HANG && !control->is_missing[entry])
                    met += (unsigned)run_scenario(r, (fault_entry)entry, (fault_kind)kind, 1, VYRE_NO_DEVICE_MEMORY);
    }
    memset(control->is_missing, 0, sizeof control->is_missing);
    control->can_cancel = 0;
    r->config.timeout_ns = 0;
    print_message("%u faults were met\n", met);
}

/* ---- calls that do not return in time ---- */

static void await_return(void) {
    for (int i = 0; i < 5000 && atomic_load(&control->inside); i++)
        usleep(1000);
    claim(!atomic_load(&control->inside), "a call does not come back");
    usleep(5000); /* what follows it */
}

/* Whichever call of a dispatch on temporary buffers hangs: it is abandoned, the device recovers meanwhile, and when the
 * call returns it touches nothing on the new device. */
static void an_abandoned_call_names_no_buffer_of_before(void **state) {
    static const fault_entry hanging[] = {FAULT_BACKEND_resident_allocate, FAULT_BACKEND_resident_upload,
                                          FAULT_BACKEND_dispatch_resident, FAULT_BACKEND_resident_download,
                                          FAULT_BACKEND_resident_free,     FAULT_BACKEND_prepare};
    roads *r = need(state);
    control->is_missing[FAULT_PIPELINE_dispatch_persistent_into] = 1;
    for (int staged = 0; staged < 2; staged++)
        for (size_t i = 0; i < sizeof hanging / sizeof *hanging; i++) {
            ledger l;
            vyre_error error;
            vyre_pipeline *pipeline;
            vyre_outputs outputs = VYRE_OUTPUTS_INIT;
            fault_path_set set;
            alarm(60);
            ledger_open(&l);
            arm(hanging[i], FAULT_HANG, 0, VYRE_OK);
            r->is_honest = 1;
            assert_int_equal(vyre_acquire(FAULT_BACKEND_ID, &r->backend, &error), VYRE_OK);
            assert_int_equal(vyre_compile(r->backend, r->programs[staged], NULL, &pipeline, &error), VYRE_OK);
            claim(fault_path_set_open(r, &set), "buffers cannot be made");
            vyre_resource mixed[4] = {set.bindings[0],
                                      set.bindings[1],
                                      {.kind = VYRE_RESOURCE_HOST, .host = r->inputs[2]},
                                      {.kind = VYRE_RESOURCE_HOST}};
            vyre_dispatch_config config = {.timeout_ns = 30000000};
            control->hang_ms = 150;
            control->at = atomic_load(&control->calls[hanging[i]]) + 1;
            vyre_status status = vyre_pipeline_dispatch_persistent(pipeline, mixed, 4, &r->arguments, &config, &outputs,
                                                                   NULL, NULL, &error);
            if (status == VYRE_OK)
                fault_path_check_bytes(r, &outputs.items[0], &outputs.items[1]);
            else
                claim(status == VYRE_TIMEOUT, "a call that hangs is not abandoned");
            if (!atomic_load(&control->struck))
                usleep(150000); /* a busy machine: it was abandoned on its way there */
            disarm();
            if (vyre_backend_device_lost(r->backend)) {
                claim(vyre_backend_try_recover(r->backend, &error) == VYRE_OK, "recovery waits for an abandoned call");
                uint64_t size;
                claim(vyre_resident_size(r->backend, set.handles[0], &size, &error) == VYRE_OK ||
                          vyre_resident_size(r->backend, set.handles[0], &size, &error) == VYRE_INVALID_ARGUMENT,
                      "a handle is neither there nor stale");
            }
            fault_path_resident(r);
            await_return();
            fault_path_resident(r);
            claim(atomic_load(&control->strays) == 0, "a handle of before the recovery was named");
            vyre_outputs_free(&outputs);
            vyre_pipeline_release(pipeline);
            vyre_backend_release(r->backend);
            ledger_check(&l);
            alarm(0);
        }
    memset(control->is_missing, 0, sizeof control->is_missing);
}

/* Every entry that runs something, on every road with a deadline: abandoned, lost, recovered, and as before. */
static void every_call_that_hangs_is_abandoned_at_its_deadline(void **state) {
    roads *r = need(state);
    for (int entry = 0; entry < FAULT_ENTRY_COUNT; entry++) {
        ledger l;
        vyre_error error;
        if (!(entry_gives[entry] & (FAULT_GIVES_OUTPUTS | FAULT_GIVES_LAUNCH)))
            continue;
        alarm(60);
        ledger_open(&l);
        arm((fault_entry)entry, FAULT_HANG, 1, VYRE_OK);
        control->hang_ms = 40;
        r->is_honest = 0;
        r->config.timeout_ns = 10000000;
        assert_int_equal(vyre_acquire(FAULT_BACKEND_ID, &r->backend, &error), VYRE_OK);
        fault_path_dispatch(r);
        fault_path_resident(r);
        fault_path_pipelines(r);
        disarm();
        await_return();
        r->config.timeout_ns = 0;
        if (vyre_backend_device_lost(r->backend))
            claim(recover(r), "a backend whose calls have come back cannot be recovered");
        r->is_honest = 1;
        fault_paths_drive(r);
        claim(atomic_load(&control->strays) == 0, "a handle of before the recovery was named");
        vyre_backend_release(r->backend);
        ledger_check(&l);
        alarm(0);
    }
}

/* A thread that waits in the queue is not notified; one that waits for the handle gets its result, and nothing
 * leaks. */
static void a_notification_that_never_comes_holds_nothing(void **state) {
    roads *r = need(state);
    for (int waits = 0; waits < 2; waits++) {
        ledger l;
        vyre_error error;
        vyre_pending *pending, *none;
        vyre_completions *queue;
        uint64_t tag;
        ledger_open(&l);
        arm(FAULT_PENDING_notify, FAULT_NEVER_TOLD, 1, VYRE_OK);
        assert_int_equal(vyre_acquire(FAULT_BACKEND_ID, &r->backend, &error), VYRE_OK);
        assert_int_equal(vyre_completions_new(&queue, &error), VYRE_OK);
        assert_int_equal(vyre_backend_dispatch_async(r->backend, r->programs[0], &r->arguments, NULL, &pending, &error),
                         VYRE_OK);
        assert_int_equal(vyre_completions_attach(queue, pending, 1, &error), VYRE_OK);
        assert_int_equal(vyre_completions_next(queue, 1000000, &none, &tag, &error), VYRE_NOT_READY);
        disarm();
        r->is_honest = 1;
        if (waits)
            fault_path_take(r, pending);
        else
            vyre_pending_free(pending);
        vyre_completions_free(queue);
        vyre_backend_release(r->backend);
        ledger_check(&l);
    }
}

/* ---- resident buffers ---- */

static void a_handle_given_twice_leaves_its_owners_bytes_alone(void **state) {
    roads *r = need(state);
    ledger l;
    vyre_error error;
    vyre_resident a, b;
    uint32_t got[FAULT_PATH_N];
    ledger_open(&l);
    arm(FAULT_BACKEND_resident_allocate, FAULT_HANDLE_TWICE, 2, VYRE_OK);
    assert_int_equal(vyre_acquire(FAULT_BACKEND_ID, &r->backend, &error), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(r->backend, sizeof r->a, r->a, &a, &error), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(r->backend, sizeof r->b, r->b, &b, &error), VYRE_CORRUPT);
    assert_int_equal(b.id, 0);
    assert_int_equal(vyre_resident_download_at(r->backend, a, 0, got, sizeof got, &error), VYRE_OK);
    assert_memory_equal(got, r->a, sizeof got);
    vyre_backend_release(r->backend);
    ledger_check(&l);
}

/* The buffer of an upload that fails is given back, whatever it fails with. */
static void a_buffer_whose_source_cannot_be_uploaded_is_freed(void **state) {
    roads *r = need(state);
    for (size_t i = 0; i < sizeof some_statuses / sizeof *some_statuses; i++) {
        vyre_error error;
        vyre_resident a;
        arm(FAULT_BACKEND_resident_upload, FAULT_FAIL, 1, some_statuses[i]);
        assert_int_equal(vyre_acquire(FAULT_BACKEND_ID, &r->backend, &error), VYRE_OK);
        assert_int_not_equal(vyre_resident_allocate(r->backend, sizeof r->a, r->a, &a, &error), VYRE_OK);
        assert_int_equal(a.id, 0);
        assert_int_equal(atomic_load(&control->buffers), 0);
        vyre_backend_release(r->backend);
    }
}

/* ---- recovery ---- */

/* Two buffers with a source; in recovery the device does wrong. None is another's alias, and nothing is left. */
static void a_recovery_that_goes_wrong_makes_no_aliases(void **state) {
    static const struct {
        fault_entry entry;
        fault_kind kind;
    } rows[] = {{FAULT_BACKEND_resident_allocate, FAULT_HANDLE_TWICE},
                {FAULT_BACKEND_resident_allocate, FAULT_FAIL},
                {FAULT_BACKEND_resident_upload, FAULT_FAIL},
                {FAULT_BACKEND_resident_upload, FAULT_LOSE}};
    roads *r = need(state);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned at = 1; at <= 2; at++) {
            ledger l;
            vyre_error error;
            vyre_resident a, b;
            uint32_t got[FAULT_PATH_N];
            ledger_open(&l);
            arm(FAULT_BACKEND_flush, FAULT_LOSE, 1, VYRE_OK);
            assert_int_equal(vyre_acquire(FAULT_BACKEND_ID, &r->backend, &error), VYRE_OK);
            assert_int_equal(vyre_resident_allocate(r->backend, sizeof r->a, r->a, &a, &error), VYRE_OK);
            assert_int_equal(vyre_resident_allocate(r->backend, sizeof r->b, r->b, &b, &error), VYRE_OK);
            assert_int_equal(vyre_backend_flush(r->backend, &error), VYRE_DEVICE_LOST);
            arm(rows[i].entry, rows[i].kind, at, VYRE_NO_DEVICE_MEMORY);
            vyre_status status = vyre_backend_try_recover(r->backend, &error);
            int struck = atomic_load(&control->struck) != 0;
            disarm();
            claim(struck == (status != VYRE_OK) || rows[i].kind == FAULT_HANDLE_TWICE, "a recovery hides its failure");
            if (status != VYRE_OK) {
                claim(error.fix[0] && vyre_backend_device_lost(r->backend), "a failed recovery");
                assert_int_equal(vyre_backend_try_recover(r->backend, &error), VYRE_OK);
            }
            if (vyre_resident_download_at(r->backend, a, 0, got, sizeof got, &error) == VYRE_OK)
                claim(memcmp(got, r->a, sizeof got) == 0, "the first buffer has other bytes");
            if (vyre_resident_download_at(r->backend, b, 0, got, sizeof got, &error) == VYRE_OK)
                claim(memcmp(got, r->b, sizeof got) == 0, "the second buffer has other bytes");
            claim(atomic_load(&control->strays) == 0, "a handle was named that is none");
            r->is_honest = 1;
            fault_path_resident(r);
            vyre_backend_release(r->backend);
            ledger_check(&l);
        }
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
    vyre_cache_set_memory_limit(0); /* every compile queries the folder, or the backend */
    signal(SIGALRM, tell);
    signal(SIGABRT, tell);
    signal(SIGSEGV, tell);
    fault_paths_open(&r);
    *state = &r;
    return 0;
}

static int tear_down(void **state) {
    if (!*state)
        return 0;
    fault_paths_close(*state);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    char folder[256];
    vyre_cache_folder(folder, sizeof folder);
    rmdir(folder);
    vy_fault_remove();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_fails_is_contained),
        cmocka_unit_test(whatever_fails_on_other_roads_is_contained),
        cmocka_unit_test(an_abandoned_call_names_no_buffer_of_before),
        cmocka_unit_test(every_call_that_hangs_is_abandoned_at_its_deadline),
        cmocka_unit_test(a_notification_that_never_comes_holds_nothing),
        cmocka_unit_test(a_handle_given_twice_leaves_its_owners_bytes_alone),
        cmocka_unit_test(a_buffer_whose_source_cannot_be_uploaded_is_freed),
        cmocka_unit_test(a_recovery_that_goes_wrong_makes_no_aliases),
    };
    vy_fault_install();
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
