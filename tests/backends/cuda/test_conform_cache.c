/* What one backend compiled the next one loads from the folder: nothing is compiled. */
#include "backends/conform.h"

#include "backends/cuda/api.h"
#include "vyre/cache.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

static const char text[] =
    "program add {\n param a : u32\n buffer x : u32 read\n buffer y : u32 write\n workgroup 256\n grid over y\n"
    " let i = global_id.x\n if i < len(y) { y[i] = x[i] + a }\n}\n";

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void run(conform *c, vyre_program *program, int round) {
    vyre_cache_stats before, after;
    vyre_pipeline *pipeline;
    vyre_error error = VYRE_ERROR_INIT;
    uint32_t x[4] = {1, 2, 3, 4};
    vyre_span input = {x, sizeof x};
    vyre_scalar a = vyre_scalar_u32(5);
    uint64_t count = 4;
    vyre_arguments arguments = {
        .params = &a, .param_count = 1, .inputs = &input, .input_count = 1, .counts = &count, .count_count = 1};
    vyre_cache_get_stats(&before);
    double start = now();
    if (vyre_compile(c->backend, program, NULL, &pipeline, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    printf("%s: %.3f ms\n", round ? "from the folder" : "compiled", now() - start);
    vyre_cache_get_stats(&after);
    assert_int_equal(after.disk_hits - before.disk_hits, (unsigned)round);
    assert_int_equal(after.compiles - before.compiles, (unsigned)!round);
    vyre_pipeline_release(pipeline);
    for (unsigned form = 0; form < CONFORM_FORM_COUNT; form++)
        conform_check(c, "from the folder", program, &arguments, (conform_form)form);
}

static void what_was_compiled_is_loaded_from_the_folder(void **state) {
    (void)state;
    static conform c;
    conform_open(&c, "cuda");
    conform_close(&c);
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    for (int round = 0; round < 3; round++) {
        vyre_numerics_profile numerics = {.struct_size = sizeof numerics};
        conform_open(&c, "cuda");
        vyre_backend_numerics(c.backend, &numerics);
        assert_true(numerics.cases > 0); /* the answer of the probe is kept, too */
        run(&c, program, round > 0);
        conform_close(&c);
    }
    vyre_program_release(program);
}

/* ---- grids on the device: their kernel is stored beside the other ---- */

static const char indirect_text[] =
    "program counted {\n buffer d : u32 read\n buffer y : u32 read_write\n workgroup 32\n grid indirect d\n"
    " atomic_add(y[0], 1)\n}\n";
static _Atomic unsigned links, links_of_caller, texts;
static pthread_t caller;
static vy_cuda_api real;

static int counted_link(unsigned count, int *options, void **values, vy_cu_link *link) {
    links++;
    links_of_caller += pthread_equal(pthread_self(), caller) != 0;
    return real.link_create(count, options, values, link);
}

/* A text starts with a directive. */
static int counted_load(vy_cu_module *module, const void *image, unsigned count, int *options, void **values) {
    texts += *(const char *)image == '.' && strstr(image, "counted") != NULL;
    return real.module_load(module, image, count, options, values);
}

static void wrap(vy_cuda_api *api) {
    real = *api;
    api->link_create = api->link_create ? counted_link : NULL;
    api->module_load = counted_load;
    caller = pthread_self();
}

static void both_kernels_of_an_indirect_grid_are_loaded_from_the_folder(void **state) {
    (void)state;
    static conform c;
    conform_open(&c, "cuda");
    int is_native = vyre_backend_capability(c.backend, VYRE_CAPABILITY_INDIRECT_DISPATCH) != 0;
    conform_close(&c);
    if (!is_native)
        VY_SKIP("the device does not read grids");
    vyre_program *program = conform_parse(indirect_text, NULL, 0, NULL);
    vy_cuda_api_wrap(wrap);
    for (int round = 0; round < 3; round++) {
        uint32_t grid[3] = {3, 2, 1}, counts[1] = {0};
        vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT}, {.kind = VYRE_RESOURCE_RESIDENT}};
        vyre_pipeline *pipeline;
        conform_open(&c, "cuda");
        links = texts = 0;
        assert_int_equal(vyre_compile(c.backend, program, NULL, &pipeline, NULL), VYRE_OK);
        assert_int_equal(vyre_resident_allocate(c.backend, sizeof grid, grid, &bindings[0].resident, NULL), VYRE_OK);
        assert_int_equal(vyre_resident_allocate(c.backend, sizeof counts, counts, &bindings[1].resident, NULL),
                         VYRE_OK);
        assert_int_equal(
            vyre_pipeline_dispatch_persistent(pipeline, bindings, 2, NULL, NULL, &c.given, NULL, NULL, NULL), VYRE_OK);
        assert_int_equal(vyre_resident_download_at(c.backend, bindings[1].resident, 0, counts, sizeof counts, NULL),
                         VYRE_OK);
        assert_int_equal(counts[0], 3 * 2 * 32);
        if (round && (links || texts))
            fail_msg("%u kernels were compiled, %u binaries made", texts, links);
        vyre_pipeline_release(pipeline);
        for (int i = 0; i < 2; i++)
            assert_int_equal(vyre_resident_free(c.backend, bindings[i].resident, NULL), VYRE_OK);
        conform_close(&c);
        if (!round && !texts)
            fail_msg("texts are not recognised");
        assert_int_equal(links, round || !real.link_create ? 0 : 2);
        assert_int_equal(links_of_caller, 0); /* compiling does not wait for them */
    }
    vy_cuda_api_wrap(NULL);
    vyre_program_release(program);
}

int main(void) {
    char folder[] = "/tmp/vyre-cuda-XXXXXX";
    if (!mkdtemp(folder))
        return 1;
    setenv("VYRE_CACHE_DIR", folder, 1);
    setenv("CUDA_CACHE_DISABLE", "1", 1); /* the driver's own */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_compiled_is_loaded_from_the_folder),
        cmocka_unit_test(both_kernels_of_an_indirect_grid_are_loaded_from_the_folder),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    rmdir(folder);
    return failed;
}
