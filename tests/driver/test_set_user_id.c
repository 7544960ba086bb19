/* A process with more privileges than the user who started it ignores its environment.
 *
 * The test starts a copy of itself that belongs to another user and has the set-user-id bit: its real user is root, its
 * effective user is not, and the kernel sets AT_SECURE as for the opposite direction. */
#include "backends/cpu/compile.h"
#include "backends/cuda/dynamic_symbols.h"
#include "backends/opencl/dynamic_symbols.h"
#include "base/file.h"
#include "driver/registry/child.h"
#include "driver/telemetry.h"
#include "vyre/cache.h"
#include "vyre/driver.h"
#include "vyre/manifest.h"
#include "vyre/registry.h"
#include "vyre/telemetry.h"

#include <sys/auxv.h>
#include <sys/stat.h>

enum { STRANGER = 65534, NOT_RAISED = 77 };

/* ---- the copy ---- */

static int raised(void) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_backend *backend = NULL;
    const vyre_policy policy = {.allow_cpu = 1};
    if (!getauxval(AT_SECURE))
        return NOT_RAISED;
    CHILD_CLAIM(getenv("VYRE_BACKEND") && geteuid() == STRANGER);
    CHILD_CLAIM(!vy_env_get("VYRE_BACKEND"));
    CHILD_CLAIM(vyre_cache_folder(NULL, 0) == 0); /* VYRE_CACHE_DIR, XDG_CACHE_HOME, HOME */
    CHILD_CLAIM(vyre_select(&policy, &backend, NULL, &error) == VYRE_OK || !strstr(error.message, "no-such-backend"));
    vyre_backend_release(backend);
    (void)vy_trace_begin();
    CHILD_CLAIM(access(getenv("VYRE_TRACE"), F_OK) != 0);
    vyre_plugins_load_all(NULL, NULL);
    CHILD_CLAIM(!vyre_backend_find("fake-good"));
    CHILD_CLAIM(vyre_dialects_load_path(NULL, &error) == VYRE_OK); /* the manifest there has mistakes */
    CHILD_CLAIM(strcmp(vy_cuda_dynamic_symbols_file(), "libcuda.so.1") == 0);
    CHILD_CLAIM(strcmp(vy_ocl_dynamic_symbols_file(), "libOpenCL.so.1") == 0);
    /* Neither the compiler named in the environment nor the one next to this copy, as in a build tree; it is not
     * executable. */
    CHILD_CLAIM(vy_cpu_compiler_check(&error) == VYRE_OK || strstr(error.message, "is not installed"));
    return 0;
}

/* ---- the test ---- */

static char folder[64];

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/vyre-user-XXXXXX");
    return mkdtemp(folder) ? chmod(folder, 0755) : -1;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static const char *build_folder(void) {
    const char *value = getenv("VYRE_BINARY_DIR");
    return value ? value : VYRE_BINARY_DIR;
}

static void set(const char *variable, const char *name) {
    char value[1024];
    snprintf(value, sizeof value, "%s/%s", folder, name);
    setenv(variable, value, 1);
}

static void a_set_user_id_process_ignores_its_environment(void **state) {
    (void)state;
    if (geteuid() != 0)
        VY_SKIP("files of other users: only root can make them");
    if (VY_SANITIZED)
        VY_SKIP("sanitizers refuse raised privileges");
    char command[2048], path[1024];
    snprintf(command, sizeof command,
             "cd '%s' && cp /proc/%ld/exe program && mkdir -p libexec plugins dialects cache && "
             "printf '#!/bin/sh\\n' | tee libexec/vyre-compiler-llvm >plugins/vyre-compiler-llvm.so && "
             "echo mistake >dialects/a.toml && chown -R %d . && chmod 4755 program",
             folder, (long)getpid(), STRANGER);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/plugins/good.so", build_folder());
    setenv("VYRE_PLUGINS", path, 1);
    setenv("VYRE_BACKEND", "no-such-backend", 1);
    set("VYRE_COMPILER", "no-such-compiler");
    set("VYRE_CUDA_LIBRARY", "libcuda.so");
    set("VYRE_OPENCL_LIBRARY", "libOpenCL.so");
    set("VYRE_CACHE_DIR", "cache");
    set("XDG_CACHE_HOME", "cache");
    set("HOME", "cache");
    set("VYRE_DIALECT_PATH", "dialects");
    set("VYRE_TRACE", "trace");
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        snprintf(path, sizeof path, "%s/program", folder);
        execl(path, path, "raised", (char *)NULL);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_RAISED)
        VY_SKIP("/tmp does not allow set-user-id programs");
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* secure_getenv() everywhere: a call of getenv() in the library would not be seen by the test above. */
static void the_library_reads_no_variable_by_getenv(void **state) {
    (void)state;
    if (access(vy_test_path("src/base/file.c"), R_OK) != 0)
        VY_SKIP("there is no source tree here");
    char command[2048], found[4096];
    snprintf(command, sizeof command,
             "cd '%s' && grep -rnE '(^|[^_a-z])getenv\\(' src --include='*.[ch]' | grep -v '^src/tool/'",
             vy_test_source_dir());
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    found[fread(found, 1, sizeof found - 1, pipe)] = 0;
    pclose(pipe);
    assert_string_equal(found, "");
}

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "raised") == 0)
        return raised();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_set_user_id_process_ignores_its_environment, set_up, tear_down),
        cmocka_unit_test(the_library_reads_no_variable_by_getenv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
