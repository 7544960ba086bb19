/* What one process compiled for backend `cpu` runs in the next from the folder: nothing is compiled, and the compiler
 * is not even started. */
#include "backends/conform.h"

#include "compile_server.h"
#include "vyre/cache.h"

#include <sys/wait.h>
#include <unistd.h>

static const char text[] =
    "program cached {\n param a : f32\n buffer x : f32 read\n buffer y : f32 read_write\n workgroup 64\n grid over y\n"
    " let i = global_id.x\n let s = workgroup_reduce_add(x[i])\n if i < len(y) { y[i] = fma(a, x[i], y[i]) + s }\n}\n";

enum { COUNT = 1000, IS_THERE = 0, IS_WRONG = 1, IS_MISSING = 2 };

/* As a plug-in. */
static int is_mapped(const char *name) {
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        found |= strstr(line, name) != NULL;
    if (maps)
        fclose(maps);
    return found;
}

/* In a process of its own: whether every form gives the oracle's bits, and from where. */
static int run_all(int forbid) {
    static conform c;
    static float x[COUNT], y[COUNT];
    vyre_span inputs[2] = {{x, sizeof x}, {y, sizeof y}};
    vyre_scalar a = vyre_scalar_f32(1.5f);
    vyre_arguments arguments = {.params = &a, .param_count = 1, .inputs = inputs, .input_count = 2};
    vyre_cache_stats stats;
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)i / 7.0f;
        y[i] = (float)(i * i);
    }
    vyre_cache_forbid_compile(forbid);
    c.id = "cpu";
    if (vyre_acquire("cpu", &c.backend, NULL) != VYRE_OK)
        return IS_MISSING;
    for (unsigned form = 0; form < CONFORM_FORM_COUNT; form++) {
        if (conform_agree(&c, program, &arguments, (conform_form)form))
            continue;
        if (!forbid && c.status == VYRE_UNSUPPORTED)
            return IS_MISSING;
        printf("%s: %s\n", conform_form_names[form], c.message);
        return IS_WRONG;
    }
    vyre_cache_get_stats(&stats);
    int opened = is_mapped("vyre-compiler") || count_children(NULL) > 0;
    conform_close(&c);
    vyre_program_release(program);
    if (forbid ? opened || stats.compiles || !stats.disk_hits : !opened || !stats.compiles || !stats.stores) {
        printf("opened %d, compiles %llu, disk hits %llu, stores %llu\n", opened, (unsigned long long)stats.compiles,
               (unsigned long long)stats.disk_hits, (unsigned long long)stats.stores);
        return IS_WRONG;
    }
    return IS_THERE;
}

static int in_a_process(int forbid) {
    int status = 0;
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        int result = run_all(forbid);
        fflush(stdout);
        _exit(result);
    }
    assert_true(process > 0 && waitpid(process, &status, 0) == process);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void the_next_process_compiles_nothing_and_opens_no_compiler(void **state) {
    (void)state;
    char folder[] = "/tmp/vyre-conform-XXXXXX";
    assert_non_null(mkdtemp(folder));
    setenv("VYRE_CACHE_DIR", folder, 1);
    int first = in_a_process(0), second = first == IS_THERE ? in_a_process(1) : IS_THERE;
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    rmdir(folder);
    if (first == IS_MISSING)
        VY_SKIP("backend cpu: there is no compiler");
    assert_int_equal(first, IS_THERE);
    assert_int_equal(second, IS_THERE);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_next_process_compiles_nothing_and_opens_no_compiler)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
