/* With the compiler: all roads give the oracle's bits, and what the cache has is run without the compiler. */
#include "support/test.h"

#include "backends/cpu/compile.h"
#include "driver/plugin.h"
#include "vyre/async.h"
#include "vyre/cache.h"
#include "vyre/oracle.h"
#include "vyre/pipeline.h"
#include "vyre/text.h"
#include "vyre/wire.h"

#include <sys/stat.h>
#include <unistd.h>

enum { COUNT = 3000 };

static const char text[] = "program mix {\n param a : f32\n buffer x : f32 read\n buffer y : f32 read_write\n"
                           " buffer z : u32 write count len(x)\n workgroup 64\n grid over x\n"
                           " let i = global_id.x\n if i < len(x) {\n  y[i] = fma(a, x[i], y[i]) / (x[i] + 1.5)\n"
                           "  z[i] = (i * 2654435761) >> (i % 32)\n }\n}";
static const char trapping[] = "program trapping {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n"
                               " let i = global_id.x\n if i < len(x) {\n  x[i] = x[i] + 1\n"
                               "  if i % 1000 == 777 { trap 5 }\n }\n}";
static const char endless[] = "program endless {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n"
                              " let i = global_id.x\n var n = 1u32\n while n != 0 { n = (n + 2) | 1 }\n"
                              " if i < len(x) { x[i] = n }\n}";

static int has_compiler(void) {
    return vy_cpu_compiler_check(NULL) == VYRE_OK;
}

#define NEEDS_COMPILER()                                                                                               \
    do {                                                                                                               \
        if (!has_compiler())                                                                                           \
            VY_SKIP("there is no compiler in this build");                                                             \
    } while (0)

typedef struct rig {
    vyre_backend *backend;
    vyre_module *module;
    vyre_program *program;
    float x[COUNT], y[COUNT];
    vyre_span inputs[2];
    vyre_scalar a;
    vyre_arguments arguments;
    vyre_outputs outputs, expected;
} rig;

static vyre_program *parse(const char *source, vyre_module **module) {
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_text_parse(source, strlen(source), NULL, NULL, module, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return vyre_module_program(*module, 0);
}

static vyre_backend *acquire(const char *id) {
    vyre_backend *backend = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_acquire(id, &backend, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return backend;
}

static void rig_open(rig *r) {
    vy_random random = vy_random_start(61);
    r->backend = acquire("cpu");
    r->program = parse(text, &r->module);
    for (int i = 0; i < COUNT; i++) {
        r->x[i] = (float)vy_random_below(&random, 100000) / 7;
        r->y[i] = (float)vy_random_below(&random, 100000) / 3;
    }
    r->inputs[0] = (vyre_span){r->x, sizeof r->x};
    r->inputs[1] = (vyre_span){r->y, sizeof r->y};
    r->a = vyre_scalar_f32(1.7f);
    r->arguments = (vyre_arguments){.params = &r->a, .param_count = 1, .inputs = r->inputs, .input_count = 2};
    r->outputs = r->expected = (vyre_outputs)VYRE_OUTPUTS_INIT;
    vyre_backend *reference = acquire("reference");
    assert_int_equal(vyre_backend_dispatch(reference, r->program, &r->arguments, NULL, &r->expected, NULL, NULL),
                     VYRE_OK);
    vyre_backend_release(reference);
}

static void rig_close(rig *r) {
    vyre_outputs_free(&r->outputs);
    vyre_outputs_free(&r->expected);
    vyre_module_free(r->module);
    vyre_backend_release(r->backend);
}

static void check(const rig *r, vyre_status status, const vyre_error *error) {
    if (status != VYRE_OK)
        fail_msg("%s", error->message);
    assert_int_equal(r->outputs.count, r->expected.count);
    for (size_t i = 0; i < r->expected.count; i++) {
        assert_int_equal(r->outputs.items[i].size, r->expected.items[i].size);
        assert_memory_equal(r->outputs.items[i].data, r->expected.items[i].data, r->expected.items[i].size);
    }
}

static void programs_run_without_a_pipeline(void **state) {
    (void)state;
    NEEDS_COMPILER();
    rig r;
    vyre_error error;
    vyre_pending *pending;
    rig_open(&r);
    vyre_dispatch_config config = {.timeout_ns = 60000000000u};
    for (int i = 0; i < 3; i++) {
        check(&r, vyre_backend_dispatch(r.backend, r.program, &r.arguments, NULL, &r.outputs, NULL, &error), &error);
        check(&r, vyre_backend_dispatch_into(r.backend, r.program, &r.arguments, &config, &r.outputs, NULL, &error),
              &error);
    }
    assert_int_equal(vyre_backend_dispatch_async(r.backend, r.program, &r.arguments, NULL, &pending, &error), VYRE_OK);
    check(&r, vyre_pending_wait(pending, UINT64_MAX, &r.outputs, NULL, &error), &error);
    vyre_pending_free(pending);
    rig_close(&r);
}

static void what_the_cache_has_needs_no_compiler(void **state) {
    (void)state;
    NEEDS_COMPILER();
    char folder[] = "/tmp/vyre-cpu-XXXXXX", line[64];
    rig r;
    vyre_pipeline *pipeline;
    vyre_error error;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(vyre_cache_set_folder(folder, &error), VYRE_OK); /* the variable has been read */
    rig_open(&r);
    assert_int_equal(vyre_compile(r.backend, r.program, NULL, &pipeline, &error), VYRE_OK);
    assert_true(vyre_pipeline_is_native(pipeline));
    vyre_pipeline_release(pipeline);
    vyre_backend_release(r.backend);
    setenv("VYRE_COMPILER", "/nowhere/compiler.so", 1);
    r.backend = acquire("cpu");
    assert_int_equal(vyre_compile(r.backend, r.program, NULL, &pipeline, &error), VYRE_OK);
    check(&r, vyre_pipeline_dispatch(pipeline, &r.arguments, NULL, &r.outputs, NULL, &error), &error);
    vyre_pipeline_release(pipeline);
    setenv("VYRE_CPU_WIDTH", "32", 1); /* other code: not in the cache */
    vyre_backend *narrow = acquire("cpu");
    unsetenv("VYRE_CPU_WIDTH");
    assert_int_not_equal(vyre_compile(narrow, r.program, NULL, &pipeline, &error), VYRE_OK);
    unsetenv("VYRE_COMPILER");
    vyre_backend_release(narrow);
    rig_close(&r);
    assert_int_equal(vyre_cache_set_folder(NULL, &error), VYRE_OK);
    snprintf(line, sizeof line, "rm -rf '%s'", folder);
    assert_int_equal(system(line), 0);
}

/* A link in a folder that every user can write to leads to the compiler of this build. */
static void a_compiler_that_other_users_can_replace_is_not_used(void **state) {
    (void)state;
    NEEDS_COMPILER();
    char folder[] = "/tmp/vyre-cpu-XXXXXX", path[64], found[PATH_MAX];
    rig r;
    vyre_pipeline *pipeline;
    vyre_error error;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/compiler", folder);
    if (!vy_build_tree_find("libexec/vyre-compiler-llvm", found))
        VY_SKIP("the compiler is not in the build tree");
    assert_int_equal(symlink(found, path), 0);
    rig_open(&r);
    assert_int_equal(chmod(folder, 0777), 0);
    setenv("VYRE_COMPILER", path, 1);
    vyre_status shared = vyre_compile(r.backend, r.program, NULL, &pipeline, &error);
    assert_int_equal(chmod(folder, 0700), 0);
    vyre_status private = vyre_compile(r.backend, r.program, NULL, &pipeline, NULL);
    unsetenv("VYRE_COMPILER");
    (void)unlink(path);
    (void)rmdir(folder);
    assert_int_equal(shared, VYRE_IO);
    assert_non_null(strstr(error.message, "others may write to the folder"));
    assert_int_equal(private, VYRE_OK);
    vyre_pipeline_release(pipeline);
    rig_close(&r);
}

/* Compiled code is written first and executable afterwards; nothing else of the process is both either. */
static void no_memory_is_writable_and_executable(void **state) {
    (void)state;
    NEEDS_COMPILER();
    rig r;
    vyre_error error;
    char line[PATH_MAX + 200], rights[8];
    unsigned executable = 0;
    rig_open(&r);
    check(&r, vyre_backend_dispatch(r.backend, r.program, &r.arguments, NULL, &r.outputs, NULL, &error), &error);
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        assert_int_equal(sscanf(line, "%*s %7s", rights), 1);
        if (rights[1] == 'w' && rights[2] == 'x')
            fail_msg("%s", line);
        executable += rights[2] == 'x' && !strchr(line, '/') && !strchr(line, '[');
    }
    fclose(maps);
    assert_true(executable >= 1);
    rig_close(&r);
}

static void every_width_gives_the_same(void **state) {
    (void)state;
    NEEDS_COMPILER();
    static const char *const widths[] = {"4", "8", "16", "32", "64", "0"};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        rig r;
        vyre_error error;
        setenv("VYRE_CPU_WIDTH", widths[i], 1);
        rig_open(&r);
        unsetenv("VYRE_CPU_WIDTH");
        check(&r, vyre_backend_dispatch(r.backend, r.program, &r.arguments, NULL, &r.outputs, NULL, &error), &error);
        rig_close(&r);
    }
}

static void compiled_traps_name_the_smallest_invocation(void **state) {
    (void)state;
    NEEDS_COMPILER();
    static uint32_t x[50000];
    vyre_span span = {x, sizeof x};
    vyre_arguments arguments = {.inputs = &span, .input_count = 1};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_module *module;
    vyre_program *program = parse(trapping, &module);
    vyre_trap trap;
    setenv("VYRE_CPU_THREADS", "4", 1);
    vyre_backend *backend = acquire("cpu");
    unsetenv("VYRE_CPU_THREADS");
    for (int i = 0; i < 20; i++) {
        assert_int_equal(vyre_backend_dispatch(backend, program, &arguments, NULL, &outputs, &trap, NULL),
                         VYRE_TRAPPED);
        assert_int_equal(trap.invocation, 777);
        assert_int_equal(trap.code, 5);
    }
    vyre_backend_release(backend);
    vyre_module_free(module);
    vyre_outputs_free(&outputs);
}

static void compiled_loops_that_do_not_end_are_ended(void **state) {
    (void)state;
    NEEDS_COMPILER();
    static uint32_t x[5000];
    vyre_span span = {x, sizeof x};
    vyre_arguments arguments = {.inputs = &span, .input_count = 1};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_dispatch_config config = {.timeout_ns = 20000000};
    vyre_module *module;
    vyre_pending *pending;
    vyre_program *program = parse(endless, &module);
    vyre_backend *backend = acquire("cpu");
    assert_int_equal(vyre_backend_dispatch(backend, program, &arguments, &config, &outputs, NULL, NULL), VYRE_TIMEOUT);
    assert_int_equal(vyre_backend_dispatch_async(backend, program, &arguments, NULL, &pending, NULL), VYRE_OK);
    vyre_pending_cancel(pending);
    assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, &outputs, NULL, NULL), VYRE_CANCELLED);
    vyre_pending_free(pending);
    assert_int_equal(vyre_backend_device_lost(backend), 0);
    vyre_backend_release(backend);
    vyre_module_free(module);
    vyre_outputs_free(&outputs);
}

static void compiling_can_be_forbidden(void **state) {
    (void)state;
    rig r;
    vyre_error error;
    rig_open(&r);
    vyre_cache_forbid_compile(1);
    assert_int_equal(vyre_backend_dispatch(r.backend, r.program, &r.arguments, NULL, &r.outputs, NULL, &error),
                     VYRE_UNSUPPORTED);
    vyre_cache_forbid_compile(0);
    rig_close(&r);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_run_without_a_pipeline),
        cmocka_unit_test(what_the_cache_has_needs_no_compiler),
        cmocka_unit_test(a_compiler_that_other_users_can_replace_is_not_used),
        cmocka_unit_test(no_memory_is_writable_and_executable),
        cmocka_unit_test(every_width_gives_the_same),
        cmocka_unit_test(compiled_traps_name_the_smallest_invocation),
        cmocka_unit_test(compiled_loops_that_do_not_end_are_ended),
        cmocka_unit_test(compiling_can_be_forbidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
