/* vyre doctor as a black box: it reports the defect of every broken plug-in, in text and in JSON, and none of them ends
 * the doctor.
 * The plug-ins are tests/tool/doctor/plugin_*.c and tests/driver/registry/plugin_*.c. */
#include "support/test.h"

#include "base/string.h"
#include "driver/plugin.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[64];

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/vyre-doctor-XXXXXX");
    unsetenv("VYRE_PLUGINS");
    unsetenv("VYRE_BACKEND");
    unsetenv("VYRE_COMPILER_FALLBACK"); /* of ctest */
    setenv("VYRE_CACHE_DIR", "", 1);
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static const char *plugin_path(const char *name) {
    static char path[1024];
    const char *build = getenv("VYRE_BINARY_DIR");
    snprintf(path, sizeof path, "%s/plugins/%s.so", build ? build : VYRE_BINARY_DIR, name);
    return path;
}

static void need_plugins(void) {
    if (access(plugin_path("aborts"), R_OK) != 0)
        VY_SKIP("the plug-ins for tests are not here (%s)", plugin_path("aborts"));
}

/* Runs the doctor with its words; what it printed is freed by the caller. */
static char *doctor(const char *words, int *code) {
    char line[2048];
    vy_string out = {0};
    char bytes[4096];
    size_t count;
    const char *timeout = strstr(words, "--timeout") ? "" : VY_SANITIZED ? "--timeout 10" : "--timeout 3";
    /* The doctor would report the variables of the tests. */
    snprintf(line, sizeof line,
             "env -u VYRE_SOURCE_DIR -u VYRE_BINARY_DIR -u VYRE_COMMAND -u VYRE_VECTORS '%s' doctor %s %s 2>&1",
             vy_test_command(), timeout, words);
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    while ((count = fread(bytes, 1, sizeof bytes, pipe)) > 0)
        vy_string_append(&out, bytes, count);
    int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    *code = WEXITSTATUS(status);
    vy_string_append(&out, "", 0);
    return out.text;
}

static void expect(const char *text, const char *wanted) {
    if (!strstr(text, wanted))
        fail_msg("`%s` is not in:\n%s", wanted, text);
}

/* The object of one plug-in in the JSON, NUL-terminated in a static buffer. */
static const char *object_of(const char *json, const char *path) {
    static char object[8192];
    char start[1100];
    snprintf(start, sizeof start, "{\"path\":\"%s\"", path);
    const char *at = strstr(json, start);
    if (!at)
        fail_msg("%s is not in:\n%s", path, json);
    const char *end = strstr(at, "\"output\":");
    assert_non_null(end);
    end = strchr(end, '}');
    snprintf(object, sizeof object, "%.*s", (int)(end - at + 1), at);
    return object;
}

static void assert_is_json(const char *text) {
    char path[128], command[300];
    snprintf(path, sizeof path, "%s/out.json", folder);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    if (system("python3 -c 'import json' 2>/dev/null") != 0)
        return;
    snprintf(command, sizeof command, "python3 -m json.tool '%s' >/dev/null", path);
    assert_int_equal(system(command), 0);
}

typedef struct expectation {
    const char *name, *state, *code, *stage, *word;
} expectation;

/* One plug-in, in text and JSON. */
static void assert_named(const expectation *e, const char *path) {
    char wanted[1200];
    int code;
    setenv("VYRE_PLUGINS", path, 1);
    char *text = doctor("", &code);
    assert_int_equal(code, 1);
    snprintf(wanted, sizeof wanted, "  %-14s %s (VYRE_PLUGINS)\n", e->state, path);
    expect(text, wanted);
    snprintf(wanted, sizeof wanted, "problem: plug-in %s ", path);
    expect(text, wanted);
    expect(text, e->word);
    expect(text, "\n  Fix: ");
    expect(text, "\nverdict: broken (1 problem,");
    expect(text, "  reference      refused, reference"); /* the rest is there */
    free(text);
    text = doctor("--json", &code);
    assert_int_equal(code, 1);
    assert_is_json(text);
    const char *object = object_of(text, path);
    snprintf(wanted, sizeof wanted, "\"state\":\"%s\"", e->state);
    expect(object, wanted);
    expect(object, e->code);
    snprintf(wanted, sizeof wanted, *e->stage ? "\"stage\":\"%s\"" : "\"stage\":null", e->stage);
    expect(object, wanted);
    assert_null(strstr(object, "\"fix\":\"\""));
    expect(text, "{\"verdict\":\"broken\"");
    expect(text, "\"level\":\"problem\"");
    free(text);
    unsetenv("VYRE_PLUGINS");
}

static void each_broken_plugin_is_named_for_what_it_is(void **state) {
    (void)state;
    need_plugins();
    static const expectation rows[] = {
        {"aborts", "crashed", "\"signal\":6,\"exit\":null", "it is loaded", "SIGABRT (Aborted) while it is loaded"},
        {"crashes", "crashed", "\"signal\":11,\"exit\":null", "it is loaded", "SIGSEGV (Segmentation fault)"},
        {"exits", "exited", "\"signal\":null,\"exit\":3", "it is loaded", "exit code 3 while it is loaded"},
        {"prints", "noisy", "\"signal\":null,\"exit\":null", "", "prints to standard output or error"},
        {"probe_crashes", "crashed", "\"signal\":7", "the probe of backend `fake-probe-crashes` is called",
         "SIGBUS (Bus error) while the probe of backend `fake-probe-crashes` is called"},
        {"ends_badly", "crashed", "\"signal\":6", "the process ends", "SIGABRT (Aborted) while the process ends"},
        {"too_old", "refused", "\"status\":\"ABI_MISMATCH\"", "", "too old"},
        {"too_new", "refused", "\"status\":\"ABI_MISMATCH\"", "", "made for version 999"},
        {"short_descriptor", "refused", "\"status\":\"ABI_MISMATCH\"", "", "too short (16 bytes"},
        {"short_record", "refused", "\"status\":\"ABI_MISMATCH\"", "", "a backend record"},
        {"no_symbol", "refused", "\"status\":\"NOT_FOUND\"", "", "does not export `vyre_module_entry`"},
        {"no_id", "refused", "\"status\":\"INVALID_ARGUMENT\"", "", "no id"},
        {"init_fails", "refused", "\"status\":\"UNSUPPORTED\"", "", "the fake hardware is not there"},
        {"undefined", "refused", "\"status\":\"IO\"", "", "fake_function_nobody_has"},
        {"there-is-no-such-file", "refused", "\"status\":\"NOT_FOUND\"", "", "cannot be opened"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_named(&rows[i], plugin_path(rows[i].name));
}

static void one_that_hangs_is_ended_when_its_time_is_up(void **state) {
    (void)state;
    need_plugins();
    int code;
    struct timespec start, end;
    setenv("VYRE_PLUGINS", plugin_path("hangs"), 1);
    clock_gettime(CLOCK_MONOTONIC, &start);
    char *text = doctor("--timeout 1 --json", &code);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_int_equal(code, 1);
    const char *object = object_of(text, plugin_path("hangs"));
    expect(object, "\"state\":\"hung\",\"signal\":null,\"exit\":null");
    expect(object, "\"stage\":\"it is loaded\"");
    expect(object, "does not return within 1 s while it is loaded");
    expect(object, "--timeout");
    assert_true(end.tv_sec - start.tv_sec < 30);
    free(text);
    text = doctor("--timeout 1", &code);
    expect(text, "  hung           ");
    expect(text, "hangs.so does not return within 1 s while it is loaded\n");
    free(text);
}

static void one_for_another_machine_is_refused(void **state) {
    (void)state;
    need_plugins();
    char path[128], command[1300];
    snprintf(path, sizeof path, "%s/foreign.so", folder);
    snprintf(command, sizeof command, "cp '%s' '%s'", plugin_path("good"), path);
    assert_int_equal(system(command), 0);
    FILE *file = fopen(path, "r+b");
    uint16_t machine = EM_68K;
    fseek(file, offsetof(Elf64_Ehdr, e_machine), SEEK_SET);
    assert_int_equal(fwrite(&machine, sizeof machine, 1, file), 1);
    fclose(file);
    assert_named(&(expectation){"foreign", "refused", "\"status\":\"ABI_MISMATCH\"", "", "wrong architecture"}, path);
}

static void a_relative_path_is_refused(void **state) {
    (void)state;
    assert_named(&(expectation){"relative", "refused", "\"status\":\"INVALID_ARGUMENT\"", "", "not absolute"}, "x.so");
}

/* ---- several plug-ins ---- */

static void the_healthy_ones_are_shown_beside_the_broken(void **state) {
    (void)state;
    need_plugins();
    static const char *const names[] = {"aborts", "not_now", "exits", "second", "good", "duplicate", "not_now"};
    vy_string list = {0};
    int code;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        vy_string_format(&list, "%s%s", i ? ":" : "", plugin_path(names[i]));
    }
    setenv("VYRE_PLUGINS", list.text, 1);
    vy_string_free(&list);
    char *text = doctor("", &code);
    assert_int_equal(code, 1);
    expect(text, "  fake-not-now   not_now, gpu, 2 devices, probe not_now, rank 5, from /");
    expect(text, "                 the fake device is busy \n                 Fix: end the other process\n");
    expect(text, "  fake-one       no_dispatch");
    expect(text, "  fake-before    not_loaded"); /* of the plug-in that is refused because of `good` */
    expect(text, "the backend `fake-good` is registered twice (by `");
    expect(text, "problem: backend fake-good does not start: a fake backend does not start");
    expect(text, "  chosen:        cpu\n"); /* built-in backends are not affected */
    assert_true(strstr(text, "fake-not-now") < strstr(text, "fake-one"));
    expect(text, "verdict: broken (4 problems, ");
    free(text);
    text = doctor("--json", &code);
    assert_is_json(text);
    expect(object_of(text, plugin_path("good")), "\"state\":\"ok\"");
    expect(object_of(text, plugin_path("duplicate")), "\"state\":\"refused\"");
    expect(text, "{\"id\":\"fake-not-now\",\"owner\":\"");
    expect(text, "\"verdict\":\"not_now\",\"probe\":\"not_now\",\"class\":\"gpu\",\"rank\":5,\"devices\":2,");
    free(text);
}

static void what_is_printed_is_shown_escaped_and_cut(void **state) {
    (void)state;
    need_plugins();
    int code;
    setenv("VYRE_PLUGINS", plugin_path("prints"), 1);
    char *text = doctor("", &code);
    expect(text, "it printed \"\\u001b[31mfake\\t\\\"driver\\\"\xef\xbf\xbd\\u0001 ready\\nxxx");
    assert_true(strlen(text) < 10000);
    free(text);
    setenv("VYRE_PLUGINS", plugin_path("exits"), 1);
    text = doctor("", &code);
    expect(text, "it printed \"no licence\\n\"");
    free(text);
}

/* ---- finding ---- */

static void collect(void *user, const char *path, vyre_status status, const vyre_error *error) {
    assert_int_equal(status, VYRE_OK);
    assert_null(error);
    vy_string_format(user, "%s\n", path);
}

static void finding_plugins_loads_none_of_them(void **state) {
    (void)state;
    need_plugins();
    char command[2600], slashed[80], list[2200];
    vy_string found = {0};
    snprintf(command, sizeof command, "cp '%s' '%s/b.so' && touch '%s/a.so' '%s/readme' '%s/.hidden.so'",
             plugin_path("aborts"), folder, folder, folder, folder);
    assert_int_equal(system(command), 0);
    snprintf(slashed, sizeof slashed, "%s/", folder);
    snprintf(list, sizeof list, ":%s::x.so", plugin_path("exits"));
    vy_plugins_find(slashed, list, collect, &found);
    vy_plugins_find(NULL, NULL, collect, &found);
    snprintf(command, sizeof command, "%sa.so\n%sb.so\n%s\nx.so\n", slashed, slashed, plugin_path("exits"));
    assert_string_equal(found.text, command);
    vy_string_free(&found);
    assert_null(vyre_backend_find("fake-aborts"));
    assert_int_equal(vy_plugin_folder()[0], '/');
}

/* ---- the machine ---- */

static void a_machine_without_plugins_is_fine(void **state) {
    (void)state;
    int code;
    char *text = doctor("", &code);
    expect(text, "library\n  version        ");
    expect(text, "plug-ins\n  folder         /");
    expect(text, "  cpu-ref        refused, reference, 1 device, probe yes, rank 1001\n");
    expect(text, "drivers\n  libcuda.so.1   ");
    assert_null(strstr(text, "ulkan")); /* no backend loads it */
    expect(text, "\n  libOpenCL.so.1 ");
    expect(text, "cache\n  folder         none (off)\n");
    expect(text, "limits\n  cores          ");
    expect(text, "environment\n  VYRE_CACHE_DIR=\"\"\n");
    expect(text, "\nverdict: ");
    free(text);
    text = doctor("--json", &code);
    assert_is_json(text);
    expect(text, "\"libraries\":[{\"name\":\"libcuda.so.1\",\"for\":\"CUDA\",\"path\":");
    expect(text, "\"environment\":{\"VYRE_CACHE_DIR\":\"\"}");
    free(text);
}

static void the_wished_backend_is_chosen_or_a_problem(void **state) {
    (void)state;
    int code;
    setenv("VYRE_BACKEND", "reference", 1);
    char *text = doctor("", &code);
    expect(text, "  chosen:        reference\n");
    free(text);
    setenv("VYRE_BACKEND", "refrence", 1);
    text = doctor("", &code);
    assert_int_equal(code, 1);
    expect(text, "problem: VYRE_BACKEND is `refrence`: backend `refrence` is not registered");
    expect(text, "Fix: did you mean `reference`?");
    free(text);
    text = doctor("--json", &code);
    expect(text, "\"chosen\":null");
    free(text);
    unsetenv("VYRE_BACKEND");
}

/* Without a compiler only programs in the cache run: with an empty cache the backend is not selected, with an entry it
 * is. */
static void a_compiler_that_is_none_is_a_warning_with_a_fix(void **state) {
    (void)state;
    int code;
    char cache[96], line[1400];
    setenv("VYRE_BACKEND", "cpu", 1);
    setenv("VYRE_COMPILER", "/no/such/compiler", 1);
    char *text = doctor("", &code);
    assert_int_equal(code, 1);
    expect(text,
           "problem: VYRE_BACKEND is `cpu`: backend `cpu` is not usable: the cache has no program, and the compiler "
           "`/no/such/compiler` cannot be opened (No such file or directory)\n"
           "  Fix: correct the path in VYRE_COMPILER, or unset it\n");
    free(text);
    unsetenv("VYRE_COMPILER");
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(line, sizeof line,
             "printf 'program p {\\n buffer y : u32 write count 1\\n workgroup 1\\n grid 1\\n y[0] = 1\\n}\\n' > "
             "%s/p.vyre && VYRE_CACHE_DIR=%s '%s' run %s/p.vyre --backend cpu > %s/out 2>&1",
             folder, cache, vy_test_command(), folder, folder);
    if (system(line) != 0)
        VY_SKIP("backend cpu has no compiler here");
    setenv("VYRE_COMPILER", "/no/such/compiler", 1);
    setenv("VYRE_CACHE_DIR", cache, 1);
    text = doctor("", &code);
    assert_int_equal(code, 0);
    expect(text, "  chosen:        cpu\n");
    expect(text,
           "warning: backend cpu is selected, but only what the cache has runs: the compiler `/no/such/compiler` "
           "cannot be opened (No such file or directory)\n  Fix: correct the path in VYRE_COMPILER, or unset it\n");
    free(text);
    setenv("VYRE_COMPILER", "/proc/self/cmdline", 1);
    text = doctor("", &code);
    expect(text, "the compiler `/proc/self/cmdline` is not an executable file\n  Fix: name the executable");
    free(text);
    setenv("VYRE_CACHE_DIR", "", 1);
    unsetenv("VYRE_COMPILER");
    unsetenv("VYRE_BACKEND");
}

static void variables_nobody_reads_are_told(void **state) {
    (void)state;
    int code;
    setenv("VYRE_BACKENT", "\x1b[2J", 1);
    char *text = doctor("", &code);
    expect(text, "  VYRE_BACKENT=\"\\u001b[2J\"\n");
    expect(text, "warning: unknown variable VYRE_BACKENT\n  Fix: did you mean VYRE_BACKEND?\n");
    free(text);
    unsetenv("VYRE_BACKENT");
}

static void low_limits_are_told(void **state) {
    (void)state;
    if (VY_SANITIZED)
        VY_SKIP("a sanitizer needs the address space");
    char line[2048], bytes[16384];
    snprintf(line, sizeof line, "ulimit -v 4000000; ulimit -n 40; '%s' doctor", vy_test_command());
    FILE *pipe = popen(line, "r");
    size_t count = fread(bytes, 1, sizeof bytes - 1, pipe);
    bytes[count] = 0;
    pclose(pipe);
    expect(bytes, "  address space  4096000000 bytes\n");
    expect(bytes, "warning: the limit `address space` is low (4096000000 bytes; 68719476736 or more is recommended)\n  "
                  "Fix: `ulimit -v");
    expect(bytes, "warning: the limit `open files` is low (40; 64 or more is recommended)\n");
}

static void that_no_child_can_be_started_is_told_once(void **state) {
    (void)state;
    char line[2048], bytes[16384];
    snprintf(line, sizeof line, "ulimit -n 12; VYRE_PLUGINS=/nowhere/x.so '%s' doctor", vy_test_command());
    FILE *pipe = popen(line, "r");
    size_t count = fread(bytes, 1, sizeof bytes - 1, pipe);
    bytes[count] = 0;
    int status = pclose(pipe);
    assert_int_equal(WEXITSTATUS(status), 1);
    expect(bytes, "  unknown        /nowhere/x.so (VYRE_PLUGINS)\n");
    expect(bytes, "  libcuda.so.1   was not examined: the child process cannot be started (CUDA)\n");
    expect(bytes, "problem: child processes cannot be started (Too many open files), so nothing was examined\n  Fix: ");
    expect(bytes, "verdict: broken (1 problem, ");
}

static void a_cache_that_cannot_be_used_is_a_warning(void **state) {
    (void)state;
    int code;
    char path[128];
    setenv("VYRE_CACHE_DIR", folder, 1);
    char *text = doctor("--json", &code);
    expect(text, "\"state\":\"usable\",\"entries\":0,\"bytes\":0}");
    free(text);
    snprintf(path, sizeof path, "%s/new", folder);
    setenv("VYRE_CACHE_DIR", path, 1);
    text = doctor("", &code);
    expect(text, "(usable, created when needed)");
    free(text);
    assert_int_equal(chmod(folder, 0777), 0); /* others may put code there */
    setenv("VYRE_CACHE_DIR", folder, 1);
    text = doctor("", &code);
    expect(text, "(not usable)");
    expect(text, "warning: the disk cache is not usable: ");
    free(text);
    assert_int_equal(access(path, F_OK), -1); /* looking makes nothing */
}

/* ---- use ---- */

static void words_are_not_taken(void **state) {
    (void)state;
    int code;
    char *text = doctor("please", &code);
    assert_int_equal(code, 2);
    expect(text, "vyre doctor: unexpected argument `please`\nFix: ");
    free(text);
    text = doctor("child plugin /x.so 3>&-", &code); /* the form of the child process, without its parent */
    assert_int_equal(code, 2);
    free(text);
    text = doctor("child nonsense", &code);
    assert_int_equal(code, 2);
    free(text);
    text = doctor("--timeout 0", &code);
    assert_int_equal(code, 2);
    free(text);
}

static void a_trace_is_not_written_by_the_children(void **state) {
    (void)state;
    int code;
    char path[128];
    snprintf(path, sizeof path, "%s/trace.json", folder);
    setenv("VYRE_TRACE", path, 1);
    setenv("VYRE_BACKEND", "reference", 1);
    free(doctor("", &code));
    unsetenv("VYRE_TRACE");
    unsetenv("VYRE_BACKEND");
    assert_int_equal(access(path, F_OK), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_broken_plugin_is_named_for_what_it_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_hangs_is_ended_when_its_time_is_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_for_another_machine_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_relative_path_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_healthy_ones_are_shown_beside_the_broken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_printed_is_shown_escaped_and_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finding_plugins_loads_none_of_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_machine_without_plugins_is_fine, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_wished_backend_is_chosen_or_a_problem, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_compiler_that_is_none_is_a_warning_with_a_fix, set_up, tear_down),
        cmocka_unit_test_setup_teardown(variables_nobody_reads_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(low_limits_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(that_no_child_can_be_started_is_told_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cache_that_cannot_be_used_is_a_warning, set_up, tear_down),
        cmocka_unit_test_setup_teardown(words_are_not_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_trace_is_not_written_by_the_children, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
