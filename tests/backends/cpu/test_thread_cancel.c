/* pthread_cancel: a thread that is cancelled inside a call of the library ends after the call, and leaves nothing
 * behind.
 *
 * Where a call could end a thread is found without luck: a thread that has been cancelled already ends at the first
 * cancellation point it meets, so a call that returns on such a thread has held cancellation off wherever it has
 * one. */
#include "support/test.h"

#include "backends/cpu/compile.h"
#include "vyre/async.h"
#include "vyre/cache.h"
#include "vyre/dialect.h"
#include "vyre/manifest.h"
#include "vyre/oracle.h"
#include "vyre/pipeline.h"
#include "vyre/registry.h"
#include "vyre/telemetry.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNT = 4096 };

static const char text[] =
    "program step {\n buffer x : u32 read\n buffer y : u32 write count len(x)\n workgroup 64\n grid over x\n"
    " let i = global_id.x\n if i < len(x) { y[i] = x[i] * 1664525 + 1013904223 }\n}";
static const char slow[] =
    "program slow {\n buffer x : u32 read\n buffer y : u32 write count len(x)\n workgroup 64\n grid over x\n"
    " var s = x[global_id.x]\n for k in 0u32 .. %u { s = s * 1664525 + k }\n"
    " if global_id.x < len(x) { y[global_id.x] = s }\n}";
static const char manifest[] = "dialect = \"cancelled\"\nversion = \"1.0.0\"\n";

#define NEEDS_COMPILER()                                                                                               \
    do {                                                                                                               \
        if (vy_cpu_compiler_check(NULL) != VYRE_OK)                                                                    \
            VY_SKIP("there is no compiler plug-in in this build");                                                     \
    } while (0)

typedef struct rig {
    const char *id;
    vyre_backend *backend;
    vyre_program *program, *slow;
    vyre_pipeline *pipeline;
    uint32_t x[COUNT];
    vyre_span input;
    vyre_arguments arguments;
    char folder[64], cache[80], trace[80], ops[80], manifest[96];
} rig;

/* ---- calls ---- */

/* What the running scenario calls, for the message; and what it failed with. */
static const char *_Atomic calling;
static _Atomic int has_returned, has_failed;

static void check(vyre_status status, const char *call) {
    if (status != VYRE_OK && !atomic_exchange(&has_failed, 1))
        printf("%s: %s\n", call, vyre_status_name(status));
}
#define CALL(call) (atomic_store(&calling, #call), check((call), #call))
#define CALL_VOID(call) (atomic_store(&calling, #call), (void)(call))

static void dispatch_host(rig *r) {
    vyre_outputs out = VYRE_OUTPUTS_INIT;
    vyre_bytes owned = {r->x, sizeof r->x, sizeof r->x};
    vyre_dispatch_config deadline = {.timeout_ns = UINT64_C(600000000000)};
    vyre_timing timing;
    CALL(vyre_backend_prepare(r->backend, r->program, NULL));
    CALL(vyre_backend_dispatch(r->backend, r->program, &r->arguments, NULL, &out, NULL, NULL));
    CALL(vyre_backend_dispatch(r->backend, r->program, &r->arguments, &deadline, &out, NULL, NULL));
    CALL(vyre_backend_dispatch_into(r->backend, r->program, &r->arguments, NULL, &out, NULL, NULL));
    CALL(vyre_backend_dispatch_timed(r->backend, r->program, &r->arguments, NULL, &out, &timing, NULL, NULL));
    CALL(vyre_backend_dispatch_owned(r->backend, r->program, &owned, 1, NULL, NULL, &out, NULL, NULL));
    vyre_outputs_free(&out);
}

static void dispatch_pipeline(rig *r) {
    vyre_outputs out[2] = {VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT};
    vyre_bytes owned = {r->x, sizeof r->x, sizeof r->x};
    vyre_arguments both[2] = {r->arguments, r->arguments};
    vyre_dispatch_config deadline = {.timeout_ns = UINT64_C(600000000000)};
    vyre_timing timing;
    CALL(vyre_pipeline_dispatch(r->pipeline, &r->arguments, NULL, out, NULL, NULL));
    CALL(vyre_pipeline_dispatch_into(r->pipeline, &r->arguments, &deadline, out, NULL, NULL));
    CALL(vyre_pipeline_dispatch_timed(r->pipeline, &r->arguments, NULL, out, &timing, NULL, NULL));
    CALL(vyre_pipeline_dispatch_owned(r->pipeline, &owned, 1, NULL, NULL, out, NULL, NULL));
    CALL(vyre_pipeline_dispatch_batch(r->pipeline, both, 2, NULL, out, NULL, NULL, NULL));
    vyre_outputs_free(&out[0]);
    vyre_outputs_free(&out[1]);
}

static void dispatch_resident(rig *r) {
    vyre_resident x = {0, 0}, y = {0, 0};
    vyre_outputs out = VYRE_OUTPUTS_INIT;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    uint32_t some[16];
    CALL(vyre_resident_allocate(r->backend, sizeof r->x, r->x, &x, NULL));
    CALL(vyre_resident_allocate(r->backend, sizeof r->x, NULL, &y, NULL));
    vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = x},
                                 {.kind = VYRE_RESOURCE_RESIDENT, .resident = y}};
    const vyre_resource *rows[1] = {bindings};
    vyre_step step = {r->pipeline, bindings, 2, NULL};
    vyre_readback readback = {y, 0, sizeof some, some};
    vyre_transfer up = {.resident = x, .size = sizeof some, .host = some},
                  down = {.resident = y, .size = sizeof some, .host = some};
    CALL(vyre_backend_dispatch_resident(r->backend, r->program, bindings, 2, NULL, NULL, NULL, NULL, NULL));
    CALL(vyre_pipeline_dispatch_persistent(r->pipeline, bindings, 2, NULL, NULL, &out, NULL, NULL, NULL));
    CALL(vyre_pipeline_dispatch_persistent_batch(r->pipeline, rows, 2, 1, NULL, NULL, &out, NULL, NULL, NULL));
    CALL(vyre_sequence_run(r->backend, &step, 1, &readback, 1, NULL, NULL, NULL, NULL, NULL));
    CALL(vyre_resident_upload(r->backend, x, r->x, sizeof r->x, NULL));
    CALL(vyre_resident_upload_at(r->backend, x, 16, some, sizeof some, NULL));
    CALL(vyre_resident_upload_batch(r->backend, &up, 1, NULL));
    CALL(vyre_resident_download(r->backend, y, &bytes, NULL));
    CALL(vyre_resident_download_at(r->backend, y, 16, some, sizeof some, NULL));
    CALL(vyre_resident_download_batch(r->backend, &down, 1, NULL));
    CALL(vyre_resident_free(r->backend, x, NULL));
    CALL(vyre_resident_free(r->backend, y, NULL));
    vyre_outputs_free(&out);
    vyre_bytes_free(&bytes);
}

/* One is waited for before it is done, one is cancelled, one comes out of a queue. */
static void dispatch_async(rig *r) {
    vyre_outputs out = VYRE_OUTPUTS_INIT;
    vyre_pending *late = NULL, *cancelled = NULL, *queued = NULL, *next = NULL;
    vyre_completions *queue = NULL;
    uint64_t tag;
    CALL(vyre_backend_dispatch_async(r->backend, r->slow, &r->arguments, NULL, &late, NULL));
    CALL(vyre_backend_dispatch_async(r->backend, r->slow, &r->arguments, NULL, &cancelled, NULL));
    CALL(vyre_pipeline_dispatch_async(r->pipeline, &r->arguments, NULL, &queued, NULL));
    CALL(vyre_completions_new(&queue, NULL));
    CALL(vyre_completions_attach(queue, queued, 7, NULL));
    CALL_VOID(vyre_pending_is_ready(late));
    CALL_VOID(vyre_pending_cancel(cancelled));
    CALL_VOID(vyre_pending_free(cancelled));
    CALL(vyre_completions_next(queue, UINT64_MAX, &next, &tag, NULL));
    CALL(vyre_pending_wait(next, UINT64_MAX, &out, NULL, NULL));
    CALL_VOID(vyre_pending_wait(late, 1, &out, NULL, NULL));
    CALL_VOID(vyre_pending_cancel(late));
    CALL_VOID(vyre_pending_free(late));
    CALL_VOID(vyre_pending_free(next));
    CALL_VOID(vyre_completions_free(queue));
    CALL(vyre_backend_flush(r->backend, NULL));
    vyre_outputs_free(&out);
}

/* At the deadline the library gives up a thread on backends that cannot be stopped. */
static void run_late(rig *r) {
    vyre_backend *own = NULL;
    vyre_outputs out = VYRE_OUTPUTS_INIT;
    vyre_dispatch_config late = {.timeout_ns = 1000000};
    CALL(vyre_acquire(r->id, &own, NULL));
    CALL_VOID(vyre_backend_dispatch(own, r->slow, &r->arguments, &late, &out, NULL, NULL));
    CALL_VOID(vyre_backend_device_lost(own));
    CALL_VOID(vyre_backend_try_recover(own, NULL));
    CALL_VOID(vyre_backend_release(own));
    vyre_outputs_free(&out);
}

static void start_and_end(rig *r) {
    vyre_policy policy = {.only = r->id};
    vyre_backend *own = NULL, *other = NULL;
    vyre_pipeline *pipeline = NULL;
    vyre_selection *report = NULL;
    vyre_outputs out = VYRE_OUTPUTS_INIT;
    vyre_device_profile profile = {.struct_size = sizeof profile};
    CALL(vyre_acquire(r->id, &own, NULL));
    CALL(vyre_select(&policy, &other, &report, NULL));
    CALL(vyre_compile(own, r->program, NULL, &pipeline, NULL));
    CALL(vyre_pipeline_dispatch(pipeline, &r->arguments, NULL, &out, NULL, NULL));
    CALL_VOID(vyre_backend_profile(own, &profile));
    CALL_VOID(vyre_backend_flush_cache(own));
    CALL_VOID(vyre_pipeline_release(pipeline));
    CALL(vyre_backend_shutdown(own, NULL));
    CALL_VOID(vyre_backend_release(own));
    CALL_VOID(vyre_backend_release(other));
    vyre_selection_free(report);
    vyre_outputs_free(&out);
}

static int visit(void *user, const vyre_cache_entry *entry) {
    (void)user;
    (void)entry;
    pthread_testcancel(); /* the application's code inside a call */
    return 1;
}

/* The disk cache and the trace: files. */
static void use_files(rig *r) {
    vyre_pipeline *pipeline = NULL;
    vyre_outputs out = VYRE_OUTPUTS_INIT;
    uint64_t removed, bytes;
    CALL(vyre_cache_set_folder(r->cache, NULL));
    CALL(vyre_trace_start(r->trace, NULL));
    for (int i = 0; i < 2; i++) { /* stored, and found */
        CALL(vyre_compile(r->backend, r->program, NULL, &pipeline, NULL));
        CALL(vyre_pipeline_dispatch(pipeline, &r->arguments, NULL, &out, NULL, NULL));
        CALL_VOID(vyre_pipeline_release(pipeline));
    }
    CALL_VOID(vyre_backend_flush_cache(r->backend));
    CALL(vyre_trace_stop(NULL));
    CALL(vyre_cache_walk(VYRE_CACHE_READ_ALL, visit, NULL, NULL));
    CALL(vyre_cache_clear(NULL, &removed, &bytes, NULL));
    CALL(vyre_cache_set_folder("", NULL));
    vyre_outputs_free(&out);
}

static void use_dialects(rig *r) {
    const char *folders[1] = {r->ops};
    vyre_dialects_watch_options options = VYRE_DIALECTS_WATCH_OPTIONS_INIT;
    vyre_dialects_watcher *watcher = NULL;
    options.folders = folders;
    options.folder_count = 1;
    CALL(vyre_dialects_load_folder(r->ops, NULL, NULL));
    CALL(vyre_dialects_watch(&options, &watcher, NULL));
    CALL(vyre_dialects_rescan(watcher, NULL));
    CALL_VOID(vyre_dialects_watcher_stop(watcher));
    CALL(vyre_dialects_unload(r->manifest, NULL));
    CALL_VOID(vyre_plugin_load("/nonexistent/plugin.so", NULL));
}

static void run_oracle(rig *r) {
    vyre_oracle *oracle = NULL;
    vyre_oracle_options options = {.threads = 4};
    vyre_bytes out = VYRE_BYTES_INIT;
    CALL(vyre_oracle_new(r->program, &oracle, NULL));
    CALL(vyre_oracle_run(oracle, &r->arguments, &options, &out, NULL, NULL, NULL));
    vyre_oracle_free(oracle);
    vyre_bytes_free(&out);
}

typedef struct scenario {
    const char *name;
    void (*run)(rig *r);
    int is_shared; /* may run on several threads at once: it changes no settings of the process */
} scenario;

static const scenario scenarios[] = {
    {"host", dispatch_host, 1},   {"pipeline", dispatch_pipeline, 1}, {"resident", dispatch_resident, 1},
    {"async", dispatch_async, 1}, {"deadline", run_late, 1},          {"start and end", start_and_end, 1},
    {"files", use_files, 0},      {"dialects", use_dialects, 0},      {"oracle", run_oracle, 1},
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

/* ---- the rig ---- */

static void rig_open(rig *r, const char *id) {
    memset(r, 0, sizeof *r);
    r->id = id;
    for (uint32_t i = 0; i < COUNT; i++)
        r->x[i] = i * 77;
    r->input = (vyre_span){r->x, sizeof r->x};
    r->arguments = (vyre_arguments){.inputs = &r->input, .input_count = 1};
    snprintf(r->folder, sizeof r->folder, "/tmp/vyre-cancel-XXXXXX");
    assert_non_null(mkdtemp(r->folder));
    snprintf(r->cache, sizeof r->cache, "%s/cache", r->folder);
    snprintf(r->trace, sizeof r->trace, "%s/trace", r->folder);
    snprintf(r->ops, sizeof r->ops, "%s/ops", r->folder);
    assert_int_equal(mkdir(r->ops, 0700), 0);
    snprintf(r->manifest, sizeof r->manifest, "%s/a.toml", r->ops);
    FILE *file = fopen(r->manifest, "w");
    assert_non_null(file);
    assert_true(fputs(manifest, file) >= 0 && fclose(file) == 0);
    r->program = vy_test_parse(text);
    char body[512];
    snprintf(body, sizeof body, slow, strcmp(id, "cpu") == 0 ? 50000u : 50u); /* some milliseconds */
    r->slow = vy_test_parse(body);
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_acquire(id, &r->backend, &error) != VYRE_OK ||
        vyre_compile(r->backend, r->program, NULL, &r->pipeline, &error) != VYRE_OK)
        fail_msg("%s", error.message);
}

/* The backend works, and ends. */
static void rig_close(rig *r) {
    vyre_outputs out = VYRE_OUTPUTS_INIT;
    assert_int_equal(vyre_pipeline_dispatch(r->pipeline, &r->arguments, NULL, &out, NULL, NULL), VYRE_OK);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(((uint32_t *)out.items[0].data)[i], r->x[i] * 1664525 + 1013904223);
    vyre_outputs_free(&out);
    vyre_pipeline_release(r->pipeline);
    assert_int_equal(vyre_backend_shutdown(r->backend, NULL), VYRE_OK);
    vyre_backend_release(r->backend);
    vyre_program_release(r->program);
    vyre_program_release(r->slow);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", r->folder);
    assert_int_equal(system(command), 0);
}

/* ---- cancelled before ---- */

typedef struct runner {
    rig *rig;
    const scenario *scenario;
} runner;

static void *run_cancelled(void *user) {
    runner *self = user;
    pthread_cancel(pthread_self());
    self->scenario->run(self->rig);
    atomic_store(&has_returned, 1);
    pthread_testcancel();
    atomic_store(&has_returned, 0); /* not reached: cancellation was held off, not lost */
    return NULL;
}

static void no_call_ends_a_cancelled_thread(const char *id) {
    static rig r;
    rig_open(&r, id);
    for (int i = 0; i < SCENARIOS; i++) {
        runner self = {&r, &scenarios[i]};
        pthread_t thread;
        void *result = NULL;
        atomic_store(&has_returned, 0);
        atomic_store(&has_failed, 0);
        assert_int_equal(pthread_create(&thread, NULL, run_cancelled, &self), 0);
        pthread_join(thread, &result);
        if (!atomic_load(&has_returned))
            fail_msg("%s, %s: the thread ended in %s", id, scenarios[i].name, atomic_load(&calling));
        assert_ptr_equal(result, PTHREAD_CANCELED);
        assert_false(atomic_load(&has_failed));
    }
    rig_close(&r);
}

static void no_call_on_cpu_ends_a_cancelled_thread(void **state) {
    (void)state;
    NEEDS_COMPILER();
    no_call_ends_a_cancelled_thread("cpu");
}

static void no_call_on_the_reference_ends_a_cancelled_thread(void **state) {
    (void)state;
    no_call_ends_a_cancelled_thread("reference");
}

/* ---- cancelled at any time ---- */

static void *run_often(void *user) {
    runner *self = user;
    for (;;) {
        self->scenario->run(self->rig);
        pthread_testcancel();
    }
    return NULL;
}

/* Nothing but calls that hold cancellation off: whatever else ran here could be ended anywhere. */
static void *run_asynchronously(void *user) {
    runner *self = user;
    rig *r = self->rig;
    static _Thread_local vyre_outputs out;
    static _Thread_local uint32_t some[16];
    vyre_resident x = {0, 0};
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    out = (vyre_outputs)VYRE_OUTPUTS_INIT;
    vyre_resident_allocate(r->backend, sizeof some, some, &x, NULL);
    vyre_pipeline_dispatch_into(r->pipeline, &r->arguments, NULL, &out, NULL, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    for (;;) {
        vyre_pipeline_dispatch_into(r->pipeline, &r->arguments, NULL, &out, NULL, NULL);
        vyre_resident_upload(r->backend, x, some, sizeof some, NULL);
        vyre_resident_download_at(r->backend, x, 0, some, sizeof some, NULL);
        vyre_backend_flush(r->backend, NULL);
    }
    return NULL;
}

static void cancel_often(const char *id, void *(*body)(void *), int times) {
    enum { THREADS = 3 };
    static rig r;
    vy_random random = vy_random_start(11);
    pthread_t threads[THREADS];
    runner runners[THREADS];
    rig_open(&r, id);
    atomic_store(&has_failed, 0);
    for (int i = 0; i < times + THREADS; i++) {
        int at = i % THREADS;
        if (i >= THREADS) {
            usleep((useconds_t)vy_random_below(&random, 4000));
            pthread_cancel(threads[at]);
            pthread_join(threads[at], NULL);
        }
        if (i >= times)
            continue;
        const scenario *scenario;
        do
            scenario = &scenarios[vy_random_below(&random, SCENARIOS)];
        while (!scenario->is_shared);
        runners[at] = (runner){&r, scenario};
        assert_int_equal(pthread_create(&threads[at], NULL, body, &runners[at]), 0);
    }
    assert_false(atomic_load(&has_failed));
    rig_close(&r);
}

static void threads_are_cancelled_in_any_call(void **state) {
    (void)state;
    NEEDS_COMPILER();
    cancel_often("cpu", run_often, 60 * (int)vy_test_effort());
    cancel_often("reference", run_often, 30 * (int)vy_test_effort());
}

static void threads_are_cancelled_asynchronously(void **state) {
    (void)state;
    NEEDS_COMPILER();
    if (VY_SANITIZED)
        VY_SKIP("functions that a sanitizer adds hold nothing off");
    cancel_often("cpu", run_asynchronously, 100 * (int)vy_test_effort());
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_on_cpu_ends_a_cancelled_thread),
        cmocka_unit_test(no_call_on_the_reference_ends_a_cancelled_thread),
        cmocka_unit_test(threads_are_cancelled_in_any_call),
        cmocka_unit_test(threads_are_cancelled_asynchronously),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
