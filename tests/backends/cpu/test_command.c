/* The command on the `cpu` backend: a kernel or a compile that never ends is ended by --timeout, and one that does is
 * not. */
#include "compile_server.h"

#include <sys/wait.h>

static const char endless[] = "program spin {\n param stop : u32\n buffer x : u32 read_write\n workgroup 4\n"
                              " grid over x\n var i = 0u32\n while i != stop { i = i + 2 }\n"
                              " x[global_id.x] = i }\n";

/* What `vyre run` prints on a program, and its exit code. */
static int run_text(const char *text, const char *words, char *out, size_t size) {
    char line[4096];
    snprintf(line, sizeof line, "printf '%%s' '%s' | '%s' run - %s 2>&1", text, vy_test_command(), words);
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    out[fread(out, 1, size - 1, pipe)] = 0;
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run(const char *words, char *out, size_t size) {
    return run_text(endless, words, out, size);
}

static void a_kernel_that_does_not_end_is_ended(void **state) {
    (void)state;
    char out[4096];
    vyre_error error;
    if (vy_cpu_compiler_check(&error) != VYRE_OK)
        VY_SKIP("there is no compiler in this build");
    assert_int_equal(run("--backend cpu --timeout 1 stop=1 x=0,0,0", out, sizeof out), 4);
    assert_non_null(strstr(out, "TIMEOUT"));
    assert_int_equal(run("--backend cpu --timeout 1000000 stop=8 x=0,0,0", out, sizeof out), 0);
    assert_non_null(strstr(out, "8  8  8"));
}

static void a_compile_that_does_not_end_is_ended(void **state) {
    (void)state;
    char out[4096];
    NEEDS_SERVER();
    setenv("VYRE_COMPILER", server_path("hostile"), 1);
    setenv("VYRE_CACHE_DIR", "", 1);
    assert_int_equal(run_text("program sleep_4 {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n"
                              " x[global_id.x] = 1 }\n",
                              "--backend cpu --timeout 1 x=0,0,0", out, sizeof out),
                     4);
    unsetenv("VYRE_CACHE_DIR");
    unsetenv("VYRE_COMPILER");
    if (!strstr(out, "TIMEOUT: `sleep_4` was not compiled at its deadline"))
        fail_msg("%s", out);
}

static void the_reference_stops_at_its_deadline(void **state) {
    (void)state;
    char out[4096];
    assert_int_equal(run("--backend reference --timeout 0.2 stop=1 x=0", out, sizeof out), 4);
    assert_non_null(strstr(out, "TIMEOUT"));
    assert_int_equal(run("--backend reference --timeout 1000000 stop=8 x=0,0,0", out, sizeof out), 0);
    assert_non_null(strstr(out, "8  8  8"));
    assert_int_equal(run("--backend cpu --timeout 1000001 stop=8 x=0", out, sizeof out), 2);
    assert_non_null(strstr(out, "exceeds its limit (1000000)"));
    assert_int_equal(run("--backend cpu --timeout 0 stop=8 x=0", out, sizeof out), 2);
}

/* --threads replaces a setting with which the backend does not start, so the run shows that it reached the backend. */
static void threads_are_those_of_the_backend(void **state) {
    (void)state;
    char out[4096];
    vyre_error error;
    setenv("VYRE_CPU_THREADS", "none", 1);
    assert_int_equal(run("--backend cpu stop=8 x=0,0,0", out, sizeof out), 2);
    assert_non_null(strstr(out, "VYRE_CPU_THREADS"));
    if (vy_cpu_compiler_check(&error) == VYRE_OK) {
        assert_int_equal(run("--backend cpu --threads 2 stop=8 x=0,0,0", out, sizeof out), 0);
        assert_non_null(strstr(out, "ran on cpu"));
    }
    unsetenv("VYRE_CPU_THREADS");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_does_not_end_is_ended),
        cmocka_unit_test(a_compile_that_does_not_end_is_ended),
        cmocka_unit_test(the_reference_stops_at_its_deadline),
        cmocka_unit_test(threads_are_those_of_the_backend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
