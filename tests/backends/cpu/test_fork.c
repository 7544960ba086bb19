/* fork: a child is refused whatever its parent acquired, at once and with a fix, and whatever it acquires itself
 * works; in any state of the parent. */
#include "support/test.h"

#include "backends/cpu/compile.h"
#include "driver/registry.h"
#include "vyre/async.h"
#include "vyre/cache.h"
#include "vyre/interop.h"
#include "vyre/pipeline.h"
#include "vyre/telemetry.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 1 << 13, SECONDS = 60 };

static const char text[] =
    "program step {\n buffer x : u32 read\n buffer y : u32 write count len(x)\n workgroup 64\n grid over x\n"
    " var s = x[global_id.x]\n for k in 0u32 .. 20 { s = s * 1664525 + 1013904223 }\n"
    " if global_id.x < len(x) { y[global_id.x] = s }\n}";
static const char endless[] =
    "program endless {\n buffer x : u32 read\n buffer y : u32 write count len(x)\n workgroup 64\n grid over x\n"
    " var s = x[global_id.x] | 1\n while s != 0 { s = s * 1664525 | 1 }\n"
    " if global_id.x < len(x) { y[global_id.x] = s }\n}";

#define NEEDS_COMPILER()                                                                                               \
    do {                                                                                                               \
        if (vy_cpu_compiler_check(NULL) != VYRE_OK)                                                                    \
            VY_SKIP("there is no compiler plug-in in this build");                                                     \
    } while (0)

typedef struct rig {
    const char *id;
    size_t count; /* elements: few for the reference */
    vyre_backend *backend;
    vyre_program *program, *endless;
    vyre_pipeline *pipeline;
    vyre_resident x, y;
    vyre_resource bindings[2];
    uint32_t data[COUNT];
    vyre_span input;
    vyre_arguments arguments;
} rig;

/* ---- a failure of the child is its exit status ---- */

static int failed_line;
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition);                                      \
            failed_line = __LINE__;                                                                                    \
            return 0;                                                                                                  \
        }                                                                                                              \
    } while (0)

static int rig_start(rig *r) {
    vyre_error error = VYRE_ERROR_INIT;
    EXPECT(vyre_acquire(r->id, &r->backend, &error) == VYRE_OK);
    EXPECT(vyre_compile(r->backend, r->program, NULL, &r->pipeline, &error) == VYRE_OK);
    EXPECT(vyre_resident_allocate(r->backend, r->input.size, r->data, &r->x, NULL) == VYRE_OK);
    EXPECT(vyre_resident_allocate(r->backend, r->input.size, NULL, &r->y, NULL) == VYRE_OK);
    r->bindings[0] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = r->x};
    r->bindings[1] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = r->y};
    return 1;
}

static int rig_end(rig *r) {
    EXPECT(vyre_resident_free(r->backend, r->x, NULL) == VYRE_OK);
    EXPECT(vyre_resident_free(r->backend, r->y, NULL) == VYRE_OK);
    vyre_pipeline_release(r->pipeline);
    EXPECT(vyre_backend_shutdown(r->backend, NULL) == VYRE_OK);
    vyre_backend_release(r->backend);
    return 1;
}

static int is_right(const rig *r, const uint32_t *got) {
    for (size_t i = 0; i < r->count; i++) {
        uint32_t want = r->data[i];
        for (int k = 0; k < 20; k++)
            want = want * 1664525 + 1013904223;
        EXPECT(got[i] == want);
    }
    return 1;
}

/* ---- all that a backend does ---- */

static int run_plain(rig *r) {
    vyre_outputs out = VYRE_OUTPUTS_INIT;
    EXPECT(vyre_pipeline_dispatch_into(r->pipeline, &r->arguments, NULL, &out, NULL, NULL) == VYRE_OK);
    EXPECT(is_right(r, out.items[0].data));
    EXPECT(vyre_backend_dispatch(r->backend, r->program, &r->arguments, NULL, &out, NULL, NULL) == VYRE_OK);
    EXPECT(is_right(r, out.items[0].data));
    vyre_outputs_free(&out);
    return 1;
}

static int run_resident(rig *r) {
    static uint32_t back[COUNT];
    vyre_outputs none = VYRE_OUTPUTS_INIT;
    for (int i = 0; i < 3; i++) /* from a dispatch_slot, too */
        EXPECT(vyre_pipeline_dispatch_persistent(r->pipeline, r->bindings, 2, NULL, NULL, &none, NULL, NULL, NULL) ==
               VYRE_OK);
    EXPECT(vyre_resident_download_at(r->backend, r->y, 0, back, r->input.size, NULL) == VYRE_OK);
    EXPECT(is_right(r, back));
    vyre_outputs_free(&none);
    return 1;
}

static int run_async(rig *r) {
    vyre_outputs out = VYRE_OUTPUTS_INIT;
    vyre_pending *pending[3], *next;
    vyre_completions *queue;
    uint64_t tag;
    EXPECT(vyre_completions_new(&queue, NULL) == VYRE_OK);
    for (int i = 0; i < 3; i++) {
        EXPECT(vyre_pipeline_dispatch_async(r->pipeline, &r->arguments, NULL, &pending[i], NULL) == VYRE_OK);
        EXPECT(i == 0 || vyre_completions_attach(queue, pending[i], (uint64_t)i, NULL) == VYRE_OK);
    }
    EXPECT(vyre_pending_wait(pending[0], UINT64_MAX, &out, NULL, NULL) == VYRE_OK);
    EXPECT(is_right(r, out.items[0].data));
    vyre_pending_free(pending[0]);
    for (int i = 0; i < 2; i++) {
        struct pollfd fd = {vyre_completions_fd(queue), POLLIN, 0};
        EXPECT(poll(&fd, 1, -1) == 1);
        EXPECT(vyre_completions_next(queue, UINT64_MAX, &next, &tag, NULL) == VYRE_OK);
        EXPECT(vyre_pending_wait(next, 0, &out, NULL, NULL) == VYRE_OK);
        vyre_pending_free(next);
    }
    vyre_completions_free(queue);
    vyre_outputs_free(&out);
    return 1;
}

/* The reference is lost for it: its own handle. */
static int run_late(rig *r) {
    vyre_dispatch_config late = {.timeout_ns = 20000000};
    vyre_outputs out = VYRE_OUTPUTS_INIT;
    EXPECT(vyre_backend_dispatch(r->backend, r->endless, &r->arguments, &late, &out, NULL, NULL) == VYRE_TIMEOUT);
    vyre_outputs_free(&out);
    return 1;
}

static int works(rig *r) {
    return rig_start(r) && run_plain(r) && run_resident(r) && run_async(r) &&
           (strcmp(r->id, "cpu") != 0 || run_late(r)) && run_plain(r) && rig_end(r);
}

/* ---- nothing of the parent's ---- */

typedef struct inherited {
    vyre_pending *pending, *attached; /* may be NULL */
    vyre_completions *queue;
} inherited;

static int is_refused(vyre_status status, const vyre_error *error) {
    EXPECT(status == VYRE_DEVICE_LOST);
    EXPECT(strstr(error->message, "fork") && strstr(error->fix, "acquire"));
    return 1;
}

static int is_refused_everywhere(rig *r, const inherited *from) {
    vyre_error e = VYRE_ERROR_INIT;
    vyre_outputs out = VYRE_OUTPUTS_INIT;
    vyre_pipeline *pipeline = NULL;
    vyre_pending *pending = NULL;
    vyre_resident resident;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_device_profile profile = {.struct_size = sizeof profile};
    vyre_dispatch_config config = {.timeout_ns = 1000000000};
    vyre_memory_location location;
    uint64_t size, tag;
    vyre_step step = {r->pipeline, r->bindings, 2, NULL};
    EXPECT(is_refused(vyre_backend_dispatch(r->backend, r->program, &r->arguments, NULL, &out, NULL, &e), &e));
    EXPECT(is_refused(vyre_backend_dispatch(r->backend, r->program, &r->arguments, &config, &out, NULL, &e), &e));
    EXPECT(is_refused(vyre_pipeline_dispatch_into(r->pipeline, &r->arguments, NULL, &out, NULL, &e), &e));
    EXPECT(is_refused(vyre_pipeline_dispatch_batch(r->pipeline, &r->arguments, 1, NULL, &out, NULL, NULL, &e), &e));
    EXPECT(is_refused(vyre_pipeline_dispatch_persistent(r->pipeline, r->bindings, 2, NULL, NULL, &out, NULL, NULL, &e),
                      &e));
    EXPECT(is_refused(vyre_sequence_run(r->backend, &step, 1, NULL, 0, NULL, NULL, NULL, NULL, &e), &e));
    EXPECT(is_refused(vyre_backend_dispatch_async(r->backend, r->program, &r->arguments, NULL, &pending, &e), &e));
    EXPECT(is_refused(vyre_pipeline_dispatch_async(r->pipeline, &r->arguments, NULL, &pending, &e), &e));
    EXPECT(is_refused(vyre_compile(r->backend, r->endless, NULL, &pipeline, &e), &e));
    EXPECT(is_refused(vyre_backend_prepare(r->backend, r->program, &e), &e));
    EXPECT(is_refused(vyre_backend_flush(r->backend, &e), &e));
    EXPECT(is_refused(vyre_backend_try_recover(r->backend, &e), &e));
    EXPECT(is_refused(vyre_resident_allocate(r->backend, 16, NULL, &resident, &e), &e));
    EXPECT(is_refused(vyre_resident_size(r->backend, r->x, &size, &e), &e));
    EXPECT(is_refused(vyre_resident_upload(r->backend, r->x, r->data, r->input.size, &e), &e));
    EXPECT(is_refused(vyre_resident_download(r->backend, r->x, &bytes, &e), &e));
    EXPECT(is_refused(vyre_resident_export(r->backend, r->x, &location, &e), &e));
    EXPECT(is_refused(vyre_resident_unexport(r->backend, r->x, &e), &e));
    EXPECT(is_refused(vyre_resident_free(r->backend, r->x, &e), &e));
    EXPECT(is_refused(vyre_backend_shutdown(r->backend, &e), &e));
    EXPECT(vyre_backend_device_lost(r->backend) == 1);
    EXPECT(strcmp(vyre_backend_id(r->backend), r->id) == 0);
    vyre_backend_profile(r->backend, &profile);
    vyre_backend_flush_cache(r->backend);
    if (from->pending) {
        EXPECT(vyre_pending_is_ready(from->pending));
        EXPECT(is_refused(vyre_pending_wait(from->pending, UINT64_MAX, &out, NULL, &e), &e));
        vyre_pending_cancel(from->pending);
        vyre_pending_free(from->pending);
    }
    if (from->queue) {
        vyre_pending *next;
        EXPECT(vyre_completions_next(from->queue, UINT64_MAX, &next, &tag, &e) == VYRE_INVALID_ARGUMENT);
        EXPECT(strstr(e.message, "fork") && e.fix[0]);
        EXPECT(vyre_completions_attach(from->queue, from->attached, 0, &e) == VYRE_INVALID_ARGUMENT);
        vyre_completions_free(from->queue);
        vyre_pending_free(from->attached);
    }
    vyre_pipeline_release(r->pipeline);
    vyre_backend_release(r->backend);
    vyre_outputs_free(&out);
    vyre_bytes_free(&bytes);
    return 1;
}

static void run_child(rig *r, const inherited *from) {
    static rig own;
    alarm(SECONDS);
    failed_line = 0;
    if (is_refused_everywhere(r, from)) {
        own = *r;
        (void)works(&own);
    }
    fflush(stderr);
    if (failed_line || VY_SANITIZED) /* what threads of the parent held is lost here, as a sanitizer would tell */
        _exit(failed_line != 0);
    exit(0); /* with all that a process does at its end */
}

/* Whether every other thread of the process sleeps. */
static int threads_sleep(void) {
    DIR *tasks = opendir("/proc/self/task");
    int do_sleep = 1;
    for (struct dirent *task; tasks && do_sleep && (task = readdir(tasks));) {
        char path[300], state = 'S';
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
        FILE *file = task->d_name[0] != '.' && atoi(task->d_name) != gettid() ? fopen(path, "r") : NULL;
        if (file) {
            do_sleep = fscanf(file, "%*d (%*[^)]) %c", &state) == 1 && state == 'S';
            fclose(file);
        }
    }
    if (tasks)
        closedir(tasks);
    return do_sleep;
}

/* Forks. The allocator of a sanitizer has no fork handlers: a child hangs in it if a thread allocated during the fork,
 * as every thread does that starts. So a build with a sanitizer waits until the other threads sleep. */
static pid_t fork_now(void) {
    fflush(stdout);
    for (int i = 0; VY_SANITIZED && i < 500; i++) {
        usleep(10000);
        if (threads_sleep())
            break;
    }
    return fork();
}

static void fork_and_check(rig *r, const inherited *from) {
    int status = -1;
    pid_t child = fork_now();
    if (child == 0)
        run_child(r, from);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        fail_msg("the child ended by signal %d%s", WTERMSIG(status), WTERMSIG(status) == SIGALRM ? ": it hung" : "");
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- states of the parent ---- */

static void rig_open(rig *r, const char *id) {
    memset(r, 0, sizeof *r);
    r->id = id;
    r->count = strcmp(id, "cpu") == 0 ? COUNT : 256;
    for (uint32_t i = 0; i < COUNT; i++)
        r->data[i] = i * 77;
    r->input = (vyre_span){r->data, r->count * sizeof *r->data};
    r->arguments = (vyre_arguments){.inputs = &r->input, .input_count = 1};
    r->program = vy_test_parse(text);
    r->endless = vy_test_parse(endless);
    setenv("VYRE_CPU_THREADS", "4", 1);
    assert_true(rig_start(r));
    assert_true(run_plain(r) && run_resident(r) && run_async(r));
    if (strcmp(id, "cpu") == 0)
        assert_true(run_late(r)); /* the thread of deadlines runs */
}

static void rig_close(rig *r) {
    assert_true(run_plain(r) && run_resident(r) && run_async(r)); /* the parent has not noticed */
    assert_true(rig_end(r));
    vyre_program_release(r->program);
    vyre_program_release(r->endless);
    unsetenv("VYRE_CPU_THREADS");
}

static void after_work(const char *id) {
    static rig r;
    rig_open(&r, id);
    for (int i = 0; i < 2; i++)
        fork_and_check(&r, &(inherited){NULL, NULL, NULL});
    rig_close(&r);
}

static void a_child_of_an_idle_process(void **state) {
    (void)state;
    NEEDS_COMPILER();
    after_work("cpu");
    after_work("reference");
}

static _Atomic int is_over;
static void *make_noise(void *user) {
    rig *r = user;
    while (!atomic_load(&is_over))
        if (!run_plain(r) || !run_resident(r) || !run_async(r) || (strcmp(r->id, "cpu") == 0 && !run_late(r)))
            break;
    return NULL;
}

static void amid_work(const char *id, int forks) {
    enum { THREADS = 3 };
    static rig r;
    pthread_t threads[THREADS];
    vy_random random = vy_random_start(31);
    rig_open(&r, id);
    failed_line = 0;
    atomic_store(&is_over, 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_noise, &r), 0);
    for (int i = 0; i < forks; i++) {
        usleep((useconds_t)vy_random_below(&random, 5000));
        fork_and_check(&r, &(inherited){NULL, NULL, NULL});
    }
    atomic_store(&is_over, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failed_line, 0);
    rig_close(&r);
}

/* The allocator of the address sanitizer does not survive the fork of a process whose threads allocate: the child
 * waits for its lock. */
static void a_child_of_a_process_at_work(void **state) {
    (void)state;
    NEEDS_COMPILER();
    if (VY_SANITIZED)
        VY_SKIP("the allocator of a sanitizer does not survive fork while threads allocate");
    amid_work("cpu", 8 * (int)vy_test_effort());
    amid_work("reference", 4 * (int)vy_test_effort());
}

static void a_child_with_dispatches_in_flight(void **state) {
    (void)state;
    NEEDS_COMPILER();
    static rig r;
    inherited from = {NULL, NULL, NULL};
    rig_open(&r, "cpu");
    assert_int_equal(vyre_backend_dispatch_async(r.backend, r.endless, &r.arguments, NULL, &from.pending, NULL),
                     VYRE_OK);
    assert_int_equal(vyre_backend_dispatch_async(r.backend, r.endless, &r.arguments, NULL, &from.attached, NULL),
                     VYRE_OK);
    assert_int_equal(vyre_completions_new(&from.queue, NULL), VYRE_OK);
    assert_int_equal(vyre_completions_attach(from.queue, from.attached, 1, NULL), VYRE_OK);
    usleep(20000);
    for (int i = 0; i < 3; i++)
        fork_and_check(&r, &from);
    vyre_pending_cancel(from.pending);
    vyre_pending_free(from.pending);
    vyre_pending_free(from.attached);
    vyre_completions_free(from.queue);
    rig_close(&r);
}

/* Also while it is traced, logs and looks at its cache. */
static void log_nothing(void *user, int level, const char *source, const char *message) {
    (void)user, (void)level, (void)source, (void)message;
}

static void *change_settings(void *user) {
    char folder[256];
    (void)user;
    while (!atomic_load(&is_over)) {
        vyre_log_set_sink(log_nothing, NULL);
        vyre_cache_set_folder("", NULL);
        (void)vyre_cache_folder(folder, sizeof folder);
    }
    return NULL;
}

static void a_child_of_a_process_that_is_traced(void **state) {
    (void)state;
    NEEDS_COMPILER();
    if (VY_SANITIZED)
        VY_SKIP("the allocator of a sanitizer does not survive fork while threads allocate");
    static rig r;
    pthread_t threads[2];
    char path[] = "/tmp/vyre-fork-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    rig_open(&r, "cpu");
    assert_int_equal(vyre_trace_start(path, NULL), VYRE_OK);
    atomic_store(&is_over, 0);
    assert_int_equal(pthread_create(&threads[0], NULL, make_noise, &r), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, change_settings, NULL), 0);
    for (int i = 0; i < 4 * (int)vy_test_effort(); i++)
        fork_and_check(&r, &(inherited){NULL, NULL, NULL});
    atomic_store(&is_over, 1);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert_int_equal(vyre_trace_stop(NULL), VYRE_OK);
    vyre_log_set_sink(NULL, NULL);
    unlink(path);
    rig_close(&r);
}

/* A child of a child: what each acquired is its own. */
static void a_child_of_a_child(void **state) {
    (void)state;
    NEEDS_COMPILER();
    static rig r, own;
    int status = -1;
    rig_open(&r, "cpu");
    pid_t child = fork_now();
    if (child == 0) {
        alarm(SECONDS);
        own = r;
        failed_line = 0;
        if (!rig_start(&own) || !run_plain(&own))
            _exit(1);
        pid_t grandchild = fork_now();
        if (grandchild == 0)
            run_child(&own, &(inherited){NULL, NULL, NULL});
        if (waitpid(grandchild, &status, 0) != grandchild || !WIFEXITED(status) || WEXITSTATUS(status))
            _exit(2);
        _exit(run_plain(&own) && rig_end(&own) ? 0 : 3);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    rig_close(&r);
}

/* ---- probes ---- */

static _Atomic int is_probing;
static void probe_slowly(const vyre_host *host, vyre_probe *out) {
    int none = 0;
    (void)host;
    out->answer = VYRE_PROBE_NEVER;
    atomic_compare_exchange_strong(&is_probing, &none, 1);
    while (atomic_load(&is_probing) == 1)
        usleep(1000);
}

static void probe_quickly(const vyre_host *host, vyre_probe *out) {
    (void)host;
    out->answer = VYRE_PROBE_NEVER;
}

static void *probe_once(void *user) {
    vyre_probe probe;
    return vy_probe_run(user, UINT64_MAX / 4, &probe) == VY_PROBE_DONE ? user : NULL;
}

/* A thread of the parent waits for a probe: the child has neither, and probes on. */
static void a_child_of_a_process_that_probes(void **state) {
    (void)state;
    vyre_backend_registration slow = {.struct_size = sizeof slow, .id = "slow", .probe = probe_slowly},
                              quick = {.struct_size = sizeof quick, .id = "quick", .probe = probe_quickly};
    pthread_t thread;
    vyre_probe probe;
    void *result;
    int status = -1;
    atomic_store(&is_probing, 0);
    assert_int_equal(pthread_create(&thread, NULL, probe_once, &slow), 0);
    while (!atomic_load(&is_probing))
        usleep(1000);
    usleep(10000);
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        for (int i = 0; i < 5; i++)
            if (vy_probe_run(&quick, VY_PROBE_LIMIT_NS, &probe) != VY_PROBE_DONE)
                _exit(1);
        atomic_store(&is_probing, 2);
        _exit(vy_probe_run(&slow, VY_PROBE_LIMIT_NS, &probe) == VY_PROBE_DONE ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    atomic_store(&is_probing, 2);
    pthread_join(thread, &result);
    assert_non_null(result);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_of_an_idle_process),
        cmocka_unit_test(a_child_of_a_process_at_work),
        cmocka_unit_test(a_child_with_dispatches_in_flight),
        cmocka_unit_test(a_child_of_a_process_that_is_traced),
        cmocka_unit_test(a_child_of_a_child),
        cmocka_unit_test(a_child_of_a_process_that_probes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
