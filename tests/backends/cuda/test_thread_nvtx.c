/* Ranges for profilers: against a profiler of our own (nvtx/plugin_nvtx_tool.c), without a device. NVTX is looked for
 * once in a process, so each claim has one. */
#include "driver/registry/child.h"

#include "backends/cuda/nvtx.h"
#include "vyre/telemetry.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>

static const char *tool_path(void) {
    static _Thread_local char path[1024];
    const char *folder = getenv("VYRE_BINARY_DIR");
    snprintf(path, sizeof path, "%s/plugins/nvtx_tool.so", folder ? folder : VYRE_BINARY_DIR);
    return path;
}

/* ---- what the tool and the log say ---- */

/* A function of the tool, or NULL if nobody has loaded it. */
static void *of_tool(const char *name) {
    void *library = dlopen(tool_path(), RTLD_LAZY | RTLD_NOLOAD);
    void *symbol = library ? dlsym(library, name) : NULL;
    if (library)
        dlclose(library);
    return symbol;
}

static const char *seen(void) {
    const char *(*ask)(void) = NULL;
    void *symbol = of_tool("nvtx_tool_seen");
    memcpy(&ask, &symbol, sizeof symbol);
    return ask ? ask() : "not loaded";
}

static int starts(void) {
    int (*ask)(void) = NULL;
    void *symbol = of_tool("nvtx_tool_starts");
    memcpy(&ask, &symbol, sizeof symbol);
    return ask ? ask() : 0;
}

static void attach(int has_domains) {
    void (*call)(int has_domains) = NULL;
    void *symbol = of_tool("nvtx_tool_attach");
    memcpy(&call, &symbol, sizeof symbol);
    CHILD_CLAIM(call);
    call(has_domains);
}

static void detach(void) {
    void (*call)(void) = NULL;
    void *symbol = of_tool("nvtx_tool_detach");
    memcpy(&call, &symbol, sizeof symbol);
    CHILD_CLAIM(call);
    call();
}

static char line[1024];
static int line_count;

static void keep_line(void *user, int level, const char *source, const char *message) {
    (void)user;
    line_count++;
    snprintf(line, sizeof line, "%d %s: %s", level, source, message);
}

/* ---- a process with these variables; NULL: not set ---- */

static void set(const char *name, const char *value) {
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static vy_cuda_nvtx open_with(const char *injection, const char *library, const char *odd) {
    vy_cuda_nvtx nvtx;
    set("NVTX_INJECTION64_PATH", injection);
    set("VYRE_NVTX_LIBRARY", library);
    set("VYRE_TEST_NVTX", odd);
    vyre_log_set_sink(keep_line, NULL);
    vy_cuda_nvtx_open(&nvtx);
    return nvtx;
}

static void make_ranges(const vy_cuda_nvtx *nvtx) {
    vy_cuda_nvtx_begin(nvtx, NULL, "outer");
    vy_cuda_nvtx_begin(nvtx, "label", "program");
    vy_cuda_nvtx_end(nvtx);
    vy_cuda_nvtx_begin(nvtx, "", "program");
    vy_cuda_nvtx_end(nvtx);
    vy_cuda_nvtx_end(nvtx);
}

/* ---- claims ---- */

static void nobody_asks(size_t k) {
    vy_cuda_nvtx nvtx = open_with(k ? "" : NULL, "libnvtx-that-is-not-there.so.1", NULL);
    CHILD_CLAIM(!nvtx.push && !nvtx.pop);
    make_ranges(&nvtx);
    CHILD_CLAIM(!of_tool("nvtx_tool_seen"));
    CHILD_CLAIM(line_count == 0);
}

static void nothing_is_loaded_if_nobody_asks(void **state) {
    (void)state;
    run_in_child(nobody_asks, 0);
    run_in_child(nobody_asks, 1);
}

static void profiler_with_domains(size_t k) {
    vy_cuda_nvtx nvtx = open_with(tool_path(), NULL, k ? "asks" : NULL);
    CHILD_CLAIM(line_count == 0);
    make_ranges(&nvtx);
    CHILD_CLAIM(strcmp(seen(), "push vyre@outer\npush vyre@label\npop\npush vyre@program\npop\npop\n") == 0);
}

static void a_profiler_sees_ranges_in_our_domain(void **state) {
    (void)state;
    run_in_child(profiler_with_domains, 0);
}

static void a_profiler_finds_every_module_at_its_length(void **state) {
    (void)state;
    run_in_child(profiler_with_domains, 1);
}

static void profiler_without_domains(size_t k) {
    (void)k;
    vy_cuda_nvtx nvtx = open_with(tool_path(), NULL, "plain");
    make_ranges(&nvtx);
    CHILD_CLAIM(strcmp(seen(), "push outer\npush label\npop\npush program\npop\npop\n") == 0);
}

static void a_profiler_without_domains_sees_plain_ranges(void **state) {
    (void)state;
    run_in_child(profiler_without_domains, 0);
}

static void profiler_without_ranges(size_t k) {
    vy_cuda_nvtx nvtx = open_with(tool_path(), NULL, k ? "half" : "later");
    make_ranges(&nvtx);
    CHILD_CLAIM(seen()[0] == 0);
    CHILD_CLAIM(line_count == 0); /* it may want something else */
}

static void a_profiler_that_takes_no_ranges_gets_none(void **state) {
    (void)state;
    run_in_child(profiler_without_ranges, 0);
    run_in_child(profiler_without_ranges, 1);
}

static void profiler_that_comes_later(size_t k) {
    (void)k;
    vy_cuda_nvtx nvtx = open_with(tool_path(), NULL, "later");
    vy_cuda_nvtx_begin(&nvtx, NULL, "before");
    attach(0);
    vy_cuda_nvtx_begin(&nvtx, NULL, "during");
    vy_cuda_nvtx_end(&nvtx);
    vy_cuda_nvtx_end(&nvtx);
    CHILD_CLAIM(strcmp(seen(), "push during\npop\n") == 0);
    vy_cuda_nvtx_begin(&nvtx, NULL, "left");
    detach();
    vy_cuda_nvtx_end(&nvtx);
    vy_cuda_nvtx_begin(&nvtx, NULL, "after");
    vy_cuda_nvtx_end(&nvtx);
    CHILD_CLAIM(strcmp(seen(), "push during\npop\npush left\n") == 0);
}

static void a_profiler_may_come_and_go_between_ranges(void **state) {
    (void)state;
    run_in_child(profiler_that_comes_later, 0);
}

/* What was begun without a domain ends there. */
static void profiler_that_learns_domains(size_t k) {
    (void)k;
    vy_cuda_nvtx nvtx = open_with(tool_path(), NULL, "plain");
    vy_cuda_nvtx_begin(&nvtx, NULL, "plain");
    attach(1);
    vy_cuda_nvtx_begin(&nvtx, NULL, "inner");
    vy_cuda_nvtx_end(&nvtx);
    vy_cuda_nvtx_end(&nvtx);
    CHILD_CLAIM(strcmp(seen(), "push plain\npush @inner\npop\npop\n") == 0);
}

static void a_range_ends_where_it_began(void **state) {
    (void)state;
    run_in_child(profiler_that_learns_domains, 0);
}

/* The old library is there, and is not taken in its stead. */
static void profiler_that_fails(size_t k) {
    const struct {
        const char *file, *line;
    } rows[] = {{"/libnvtx-that-is-not-there.so.1", "cannot be opened: /libnvtx-that-is-not-there.so.1"},
                {"libm.so.6", "has no InitializeInjectionNvtx2: libm.so.6"},
                {tool_path(), "does not want to start: "}};
    char expected[256];
    vy_cuda_nvtx nvtx = open_with(rows[k].file, tool_path(), "refuses");
    CHILD_CLAIM(!nvtx.push && !nvtx.pop);
    make_ranges(&nvtx);
    CHILD_CLAIM(k == 2 ? seen()[0] == 0 : !of_tool("nvtx_tool_seen"));
    snprintf(expected, sizeof expected, "1 cuda: the library of NVTX_INJECTION64_PATH %s", rows[k].line);
    CHILD_CLAIM(line_count == 1);
    CHILD_CLAIM(strncmp(line, expected, strlen(expected)) == 0);
    nvtx = open_with(tool_path(), NULL, NULL); /* the answer stays, and is not told again */
    CHILD_CLAIM(!nvtx.push && line_count == 1);
}

static void a_profiler_that_fails_is_one_line_and_no_ranges(void **state) {
    (void)state;
    for (size_t k = 0; k < 3; k++)
        run_in_child(profiler_that_fails, k);
}

/* By a link in a folder that every user can write to. */
static void shared_library(size_t k) {
    char folder[] = "/tmp/vyre-nvtx-XXXXXX", path[64];
    CHILD_CLAIM(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/tool.so", folder);
    CHILD_CLAIM(symlink(tool_path(), path) == 0 && chmod(folder, 0777) == 0);
    vy_cuda_nvtx nvtx = open_with(k ? path : NULL, k ? NULL : path, NULL);
    CHILD_CLAIM(unlink(path) == 0 && rmdir(folder) == 0);
    CHILD_CLAIM(!nvtx.push && !nvtx.pop && !of_tool("nvtx_tool_seen"));
    CHILD_CLAIM(line_count == 1 && strstr(line, "others may write to the folder"));
}

static void a_library_that_other_users_can_replace_is_not_opened(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++)
        run_in_child(shared_library, k);
}

static void old_library(size_t k) {
    (void)k;
    vy_cuda_nvtx nvtx = open_with(NULL, tool_path(), NULL);
    vy_cuda_nvtx_begin(&nvtx, "label", "program");
    vy_cuda_nvtx_end(&nvtx);
    CHILD_CLAIM(strcmp(seen(), "old push label\nold pop\n") == 0);
    CHILD_CLAIM(starts() == 0);
}

static void the_old_library_serves_if_no_profiler_asks(void **state) {
    (void)state;
    run_in_child(old_library, 0);
}

/* ---- threads ---- */

enum { THREADS = 4, RANGES = 20 };

static void *work(void *name) {
    static const char *const inner[] = {"a", "b"};
    char expected[4096];
    size_t used = 0;
    vy_cuda_nvtx nvtx;
    vy_cuda_nvtx_open(&nvtx);
    for (int i = 0; i < RANGES; i++) {
        vy_cuda_nvtx_begin(&nvtx, NULL, name);
        vy_cuda_nvtx_begin(&nvtx, NULL, inner[i % 2]);
        vy_cuda_nvtx_end(&nvtx);
        vy_cuda_nvtx_end(&nvtx);
        used += (size_t)snprintf(expected + used, sizeof expected - used, "push vyre@%s\npush vyre@%s\npop\npop\n",
                                 (const char *)name, inner[i % 2]);
    }
    CHILD_CLAIM(strcmp(seen(), expected) == 0);
    return NULL;
}

static void several_threads(size_t k) {
    (void)k;
    static char names[THREADS][8];
    pthread_t threads[THREADS];
    set("NVTX_INJECTION64_PATH", tool_path());
    for (int i = 0; i < THREADS; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        CHILD_CLAIM(pthread_create(&threads[i], NULL, work, names[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHILD_CLAIM(pthread_join(threads[i], NULL) == 0);
    CHILD_CLAIM(starts() == 1);
    CHILD_CLAIM(seen()[0] == 0);
}

static void ranges_nest_in_each_thread_and_the_profiler_starts_once(void **state) {
    (void)state;
    run_in_child(several_threads, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_loaded_if_nobody_asks),
        cmocka_unit_test(a_profiler_sees_ranges_in_our_domain),
        cmocka_unit_test(a_profiler_finds_every_module_at_its_length),
        cmocka_unit_test(a_profiler_without_domains_sees_plain_ranges),
        cmocka_unit_test(a_profiler_that_takes_no_ranges_gets_none),
        cmocka_unit_test(a_profiler_may_come_and_go_between_ranges),
        cmocka_unit_test(a_range_ends_where_it_began),
        cmocka_unit_test(a_profiler_that_fails_is_one_line_and_no_ranges),
        cmocka_unit_test(a_library_that_other_users_can_replace_is_not_opened),
        cmocka_unit_test(the_old_library_serves_if_no_profiler_asks),
        cmocka_unit_test(ranges_nest_in_each_thread_and_the_profiler_starts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
