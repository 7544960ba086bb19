/* What one backend `opencl` compiled, the next one loads from the folder: with compiling forbidden, too. And `emit` of
 * the backend writes the text that its compile hands to the driver. */
#include "backends/conform.h"

#include "backends/opencl/opencl.h"
#include "vyre/cache.h"
#include "vyre/emit.h"

#include <unistd.h>

static const char text[] =
    "program add {\n param a : u32\n buffer x : u32 read\n buffer y : u32 write\n workgroup 256\n grid over y\n"
    " let i = global_id.x\n if i < len(y) { y[i] = x[i] + a }\n}\n";

/* The device's compiler gets no text after the first round. */
static unsigned texts;
static char last_text[1 << 16];
static vy_ocl_dynamic_symbols real;

static vy_cl_program counted_text(vy_cl_context context, uint32_t count, const char **all, const size_t *sizes,
                                  int32_t *result) {
    texts++;
    snprintf(last_text, sizeof last_text, "%.*s", (int)sizes[0], all[0]);
    return real.program_from_text(context, count, all, sizes, result);
}

static void wrap(vy_ocl_dynamic_symbols *api) {
    real = *api;
    api->program_from_text = counted_text;
}

static void run(conform *c, vyre_program *program) {
    uint32_t x[4] = {1, 2, 3, 4};
    vyre_span input = {x, sizeof x};
    vyre_scalar a = vyre_scalar_u32(5);
    uint64_t count = 4;
    vyre_arguments arguments = {
        .params = &a, .param_count = 1, .inputs = &input, .input_count = 1, .counts = &count, .count_count = 1};
    for (unsigned form = 0; form < CONFORM_FORM_COUNT; form++)
        conform_check(c, "from the folder", program, &arguments, (conform_form)form);
}

static void a_warm_start_compiles_nothing_with(const char *variable) {
    static conform c;
    vyre_cache_stats before, after;
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    vy_gpu_probe_forget();
    if (variable)
        setenv(variable, "0", 1);
    conform_open(&c, "opencl"); /* what probes find is part of the key */
    conform_close(&c);
    for (int round = 0; round < 3; round++) {
        vyre_cache_forbid_compile(0);
        vy_gpu_probe_forget(); /* as in another process */
        texts = 0;
        vyre_cache_get_stats(&before);
        vyre_cache_forbid_compile(round > 0);
        assert_int_equal(vyre_acquire("opencl", &c.backend, NULL), VYRE_OK);
        c.id = "opencl";
        run(&c, program);
        conform_close(&c);
        vyre_cache_get_stats(&after);
        assert_true(round ? texts == 0 : texts >= 1);
        assert_true(round ? after.compiles == before.compiles : after.compiles > before.compiles);
    }
    vyre_cache_forbid_compile(0);
    if (variable)
        unsetenv(variable);
    vyre_program_release(program);
}

static void a_warm_start_compiles_nothing(void **state) {
    (void)state;
    static conform c;
    conform_open(&c, "opencl");
    conform_close(&c);
    vy_ocl_dynamic_symbols_wrap(wrap);
    a_warm_start_compiles_nothing_with(NULL);
    a_warm_start_compiles_nothing_with("VYRE_OPENCL_PROBE"); /* with kernels for slices */
    vy_ocl_dynamic_symbols_wrap(NULL);
}

static void emitted_code_is_that_of_the_compile(void **state) {
    (void)state;
    static conform c;
    vyre_pipeline *pipeline;
    vyre_bytes code = VYRE_BYTES_INIT;
    vy_ocl_dynamic_symbols_wrap(wrap);
    conform_open(&c, "opencl");
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    const vyre_emit_options options = {.struct_size = sizeof options, .backend = c.backend};
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    assert_int_equal(vyre_compile(c.backend, program, NULL, &pipeline, NULL), VYRE_OK);
    assert_int_equal(vyre_emit(program, NULL, &options, &code, NULL), VYRE_OK);
    assert_int_equal(code.size, strlen(last_text));
    assert_memory_equal(code.data, last_text, code.size);
    assert_non_null(strstr(last_text, "__kernel"));
    vyre_bytes_free(&code);
    vyre_pipeline_release(pipeline);
    vyre_program_release(program);
    conform_close(&c);
    vy_ocl_dynamic_symbols_wrap(NULL);
}

int main(void) {
    char folder[] = "/tmp/vyre-opencl-cache-XXXXXX";
    if (!mkdtemp(folder))
        return 1;
    setenv("VYRE_CACHE_DIR", folder, 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_warm_start_compiles_nothing),
                                       cmocka_unit_test(emitted_code_is_that_of_the_compile)};
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    rmdir(folder);
    return failures;
}
