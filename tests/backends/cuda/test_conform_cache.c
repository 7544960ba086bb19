/* What one backend compiled the next one loads from the folder: nothing is compiled. */
#include "backends/conform.h"

#include "backends/cuda/dynamic_symbols.h"
#include "backends/cuda/graph.h"
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
static _Atomic unsigned links, links_of_caller, texts, all_texts;
static pthread_t caller;
static vy_cuda_dynamic_symbols real;

static int counted_link(unsigned count, int *options, void **values, vy_cu_link *link) {
    links++;
    links_of_caller += pthread_equal(pthread_self(), caller) != 0;
    return real.link_create(count, options, values, link);
}

/* A text starts with a directive. */
static int counted_load(vy_cu_module *module, const void *image, unsigned count, int *options, void **values) {
    all_texts += *(const char *)image == '.';
    texts += *(const char *)image == '.' && strstr(image, "counted") != NULL;
    return real.module_load(module, image, count, options, values);
}

static void wrap(vy_cuda_dynamic_symbols *api) {
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
    vy_cuda_dynamic_symbols_wrap(wrap);
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
    vy_cuda_dynamic_symbols_wrap(NULL);
    vyre_program_release(program);
}

/* ---- kernels that no pipeline stores ---- */

enum { SLICED = 9 << 20, ROWS = 64 };

static void dispatch_without_a_pipeline(vyre_backend *backend, vyre_program *program) {
    uint32_t x[4] = {1, 2, 3, 4};
    vyre_span input = {x, sizeof x};
    vyre_scalar a = vyre_scalar_u32(5);
    uint64_t count = 4;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_dispatch_config soon = {.timeout_ns = UINT64_C(60000000000)}; /* takes the device's clock */
    vyre_arguments arguments = {
        .params = &a, .param_count = 1, .inputs = &input, .input_count = 1, .counts = &count, .count_count = 1};
    for (int timed = 0; timed < 2; timed++) {
        assert_int_equal(
            vyre_backend_dispatch(backend, program, &arguments, timed ? &soon : NULL, &outputs, NULL, NULL), VYRE_OK);
        assert_int_equal(((uint32_t *)outputs.items[0].data)[3], 9);
    }
    vyre_outputs_free(&outputs);
}

/* In pieces, by the same kernel. */
static void dispatch_much(vyre_pipeline *pipeline) {
    uint32_t *x = calloc(SLICED, 4);
    assert_non_null(x);
    vyre_span input = {x, (size_t)SLICED * 4};
    vyre_scalar a = vyre_scalar_u32(5);
    uint64_t count = SLICED;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_arguments arguments = {
        .params = &a, .param_count = 1, .inputs = &input, .input_count = 1, .counts = &count, .count_count = 1};
    assert_int_equal(vyre_pipeline_dispatch(pipeline, &arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
    assert_int_equal(((uint32_t *)outputs.items[0].data)[SLICED - 1], 5);
    vyre_outputs_free(&outputs);
    free(x);
}

/* Often enough to be worth a kernel of their own. */
static void dispatch_rows(vyre_backend *backend, vyre_pipeline *pipeline) {
    vyre_resource bindings[ROWS][2];
    const vyre_resource *rows[ROWS];
    vyre_outputs outputs[ROWS];
    vyre_resident both[2];
    memset(outputs, 0, sizeof outputs);
    for (int b = 0; b < 2; b++)
        assert_int_equal(vyre_resident_allocate(backend, ROWS * 256, NULL, &both[b], NULL), VYRE_OK);
    for (uint64_t i = 0; i < ROWS; i++) {
        for (int b = 0; b < 2; b++)
            bindings[i][b] =
                (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = both[b], .offset = 256 * i, .size = 256};
        rows[i] = bindings[i];
    }
    for (uint32_t round = 0; round < 2 * VY_CUDA_BATCHED_COMPILE_AFTER / ROWS; round++) {
        vyre_scalar a = vyre_scalar_u32(round);
        vyre_arguments arguments = {.params = &a, .param_count = 1};
        assert_int_equal(vyre_pipeline_dispatch_persistent_batch(pipeline, rows, 2, ROWS, &arguments, NULL, outputs,
                                                                 NULL, NULL, NULL),
                         VYRE_OK);
    }
    for (int i = 0; i < ROWS; i++)
        vyre_outputs_free(&outputs[i]);
    for (int b = 0; b < 2; b++)
        assert_int_equal(vyre_resident_free(backend, both[b], NULL), VYRE_OK);
}

static void a_second_start_compiles_nothing_at_all(void **state) {
    (void)state;
    static conform c;
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    conform_open(&c, "cuda"); /* what the device computes exactly is asked once */
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    vyre_pipeline *pipeline;
    assert_int_equal(vyre_compile(c.backend, program, NULL, &pipeline, NULL), VYRE_OK);
    vyre_pipeline_release(pipeline);
    conform_close(&c);
    vy_cuda_dynamic_symbols_wrap(wrap);
    for (int round = 0; round < 3; round++) {
        links = all_texts = 0;
        conform_open(&c, "cuda");
        vyre_cache_forbid_compile(round == 2);
        dispatch_without_a_pipeline(c.backend, program);
        assert_int_equal(vyre_compile(c.backend, program, NULL, &pipeline, NULL), VYRE_OK);
        dispatch_much(pipeline);
        dispatch_rows(c.backend, pipeline);
        vyre_pipeline_release(pipeline);
        conform_close(&c);
        printf("%u texts compiled, %u binaries made\n", all_texts, links);
        if (round ? links || all_texts : all_texts < 3) /* cancellable, the clock, for batches */
            fail_msg("start %d: %u texts were compiled, %u binaries made", round + 1, all_texts, links);
    }
    vyre_cache_forbid_compile(-1);
    vy_cuda_dynamic_symbols_wrap(NULL);
    vyre_program_release(program);
}

/* Compiled ahead, and nothing else: what only makes a dispatch faster is done without. */
static void a_pipeline_that_was_stored_runs_where_compiling_is_forbidden(void **state) {
    (void)state;
    static conform c;
    vyre_program *program = NULL;
    vyre_pipeline *pipeline;
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    for (int round = 0; round < 2; round++) {
        conform_open(&c, "cuda");
        vyre_cache_forbid_compile(round);
        program = program ? program : conform_parse(text, NULL, 0, NULL);
        assert_int_equal(vyre_compile(c.backend, program, NULL, &pipeline, NULL), VYRE_OK);
        if (round) {
            dispatch_much(pipeline);
            dispatch_rows(c.backend, pipeline);
        }
        vyre_pipeline_release(pipeline);
        conform_close(&c);
    }
    vyre_cache_forbid_compile(-1);
    vyre_program_release(program);
}

static void what_was_never_compiled_is_refused_where_compiling_is(void **state) {
    (void)state;
    static conform c;
    static const char other[] = "program unseen {\n buffer y : u32 write\n grid over y\n y[global_id.x] = 77\n}\n";
    vyre_error error = VYRE_ERROR_INIT;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    uint64_t count = 4;
    vyre_arguments arguments = {.counts = &count, .count_count = 1};
    conform_open(&c, "cuda");
    vyre_program *program = conform_parse(other, NULL, 0, NULL);
    vyre_cache_forbid_compile(1);
    assert_int_equal(vyre_backend_dispatch(c.backend, program, &arguments, NULL, &outputs, NULL, &error),
                     VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "compiling is forbidden"));
    vyre_cache_forbid_compile(-1);
    assert_int_equal(vyre_backend_dispatch(c.backend, program, &arguments, NULL, &outputs, NULL, &error), VYRE_OK);
    vyre_outputs_free(&outputs);
    conform_close(&c);
    vyre_program_release(program);
}

/* What `prepare` compiles is kept: a dispatch and a compile of the same program compile nothing. */
static void prepare_compiles_and_the_snapshot_counts_it(void **state) {
    (void)state;
    static conform c;
    static const char other[] = "program prepared {\n buffer y : u32 write\n grid over y\n y[global_id.x] = 78\n}\n";
    vyre_cache_snapshot none, one, two;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_pipeline *pipeline;
    uint64_t count = 4;
    vyre_arguments arguments = {.counts = &count, .count_count = 1};
    conform_open(&c, "cuda");
    vyre_program *program = conform_parse(other, NULL, 0, NULL);
    assert_true(vyre_backend_cache_snapshot(c.backend, &none));
    assert_int_equal(vyre_backend_prepare(c.backend, program, &error), VYRE_OK);
    assert_true(vyre_backend_cache_snapshot(c.backend, &one));
    assert_int_equal(one.misses, none.misses + 1);
    assert_int_equal(one.entries, none.entries + 1);
    assert_true(one.bytes > none.bytes);
    vyre_cache_forbid_compile(1);
    assert_int_equal(vyre_backend_dispatch(c.backend, program, &arguments, NULL, &outputs, NULL, &error), VYRE_OK);
    assert_int_equal(((uint32_t *)outputs.items[0].data)[3], 78);
    assert_int_equal(vyre_compile(c.backend, program, NULL, &pipeline, &error), VYRE_OK);
    vyre_cache_forbid_compile(-1);
    assert_true(vyre_backend_cache_snapshot(c.backend, &two));
    assert_int_equal(two.misses, one.misses);
    assert_true(two.hits > one.hits);
    vyre_pipeline_release(pipeline);
    vyre_outputs_free(&outputs);
    conform_close(&c);
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
        cmocka_unit_test(a_second_start_compiles_nothing_at_all),
        cmocka_unit_test(a_pipeline_that_was_stored_runs_where_compiling_is_forbidden),
        cmocka_unit_test(what_was_never_compiled_is_refused_where_compiling_is),
        cmocka_unit_test(prepare_compiles_and_the_snapshot_counts_it),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    rmdir(folder);
    return failed;
}
