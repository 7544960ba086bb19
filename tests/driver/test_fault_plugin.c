/* A backend that does wrong, as a plug-in: whatever entry fails at whatever call in whatever way, every road ends with the right bytes or with an
 * error that carries a fix, nothing leaks, a lost device stays lost until it is recovered, and afterwards everything works again. */
#include "base/memory.h"
#include "driver/fault_roads.h"
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

/* ---- one scenario ---- */

/* What hangs, crashes or fails a claim says in which scenario. */
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
    control->for_ever = 0;
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
    if (!holds)
        fail_msg("%s: %s", what, scenario);
}

/* Loss is sticky, then ends with recovery; returns 0 if the device is gone for good. */
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
    r->is_honest = 0, r->backend = NULL, r->failed = 0;
    vyre_status acquired = vyre_acquire(FAULT_BACKEND_ID, &r->backend, &error);
    if (acquired == VYRE_OK) {
        roads_drive(r);
        if (entry == FAULT_BACKEND_try_recover) { /* it takes a loss to come here */
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
        int may_limit = entry == FAULT_BACKEND_capability;
        disarm();
        claim(!r->failed || struck, "something failed that was not asked to");
        if (struck && is_loss(kind) && entry != FAULT_BACKEND_try_recover)
            claim(vyre_backend_device_lost(r->backend), "a loss was not noticed");
        if (vyre_backend_device_lost(r->backend))
            is_alive = recover(r);
        claim(is_alive || kind == FAULT_LOSE_FOR_EVER, "a device that could be recovered was not");
        r->is_honest = is_alive && !may_limit;
        if (struck)
            roads_drive(r);
        control->entry = entry, control->kind = kind; /* shutdown, destroy */
        vyre_status ended = vyre_backend_shutdown(r->backend, &error);
        claim(ended == VYRE_OK || (entry == FAULT_BACKEND_shutdown && error.fix[0]), "shutdown failed");
        claim(vyre_backend_shutdown(r->backend, &error) == VYRE_OK, "the second shutdown failed");
        r->is_honest = 0;
        road_dispatch(r);
        claim(r->last == VYRE_DEVICE_LOST, "a backend that is shut down dispatches");
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

static void whatever_fails_is_contained(void **state) {
    roads *r = *state;
    const unsigned most = vy_test_effort() > 1 ? 12 : 2;
    unsigned met = 0;
    for (int entry = 0; entry < FAULT_ENTRY_COUNT; entry++)
        for (int kind = FAULT_NONE + 1; kind < FAULT_KIND_COUNT; kind++) {
            if (!(kinds[kind].fits & entry_gives[entry]))
                continue;
            control->hang_ms = 1;
            size_t statuses = kind == FAULT_FAIL ? sizeof some_statuses / sizeof *some_statuses : 1;
            for (size_t s = 0; s < statuses; s++)
                for (unsigned at = 1; at <= (s ? 1 : most); at++) {
                    int struck = run_scenario(r, (fault_entry)entry, (fault_kind)kind, at, some_statuses[s]);
                    met += (unsigned)struck;
                    if (!struck) {
                        claim(at > 1 || entry_gives[entry] == FAULT_GIVES_NOTHING, "no road leads to the entry");
                        break;
                    }
                }
        }
    print_message("%u faults were met\n", met);
}

static int set_up(void **state) {
    static roads r;
    static char folder[64];
    control = roads_load();
    if (!control)
        return 0;
    snprintf(folder, sizeof folder, "/tmp/vyre-fault-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    vyre_cache_set_folder(folder, NULL);
    vyre_cache_set_memory_limit(0); /* every compile asks the folder, or the backend */
    signal(SIGALRM, tell);
    signal(SIGABRT, tell);
    signal(SIGSEGV, tell);
    roads_open(&r);
    *state = &r;
    return 0;
}

static int tear_down(void **state) {
    if (!*state)
        return 0;
    roads_close(*state);
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
    };
    vy_fault_install();
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
