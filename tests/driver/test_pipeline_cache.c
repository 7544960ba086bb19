/* Pipeline caches: an LRU cache in memory, a folder that outlives the backend, one compile for equal concurrent
 * requests. */
#include "driver/pipeline_forms.h"

#include "base/thread.h"
#include "vyre/cache.h"
#include "vyre/telemetry.h"

static char folder[] = "/tmp/vyre-pipelines-XXXXXX";

static unsigned calls(const rig *r, fake_entry entry) {
    return atomic_load(&r->f->calls[entry]);
}

static vyre_cache_stats stats(void) {
    vyre_cache_stats now;
    vyre_cache_get_stats(&now);
    return now;
}

/* Programs that differ in a constant. */
static vyre_program *numbered(unsigned number, vyre_module **module) {
    char text[200];
    snprintf(text, sizeof text, "program n {\n buffer x : u32 read_write\n grid 1\n x[0] = x[0] + %u }", number);
    return fake_parse(text, module);
}

static void compile_numbered(vyre_backend *backend, unsigned number) {
    vyre_module *module;
    vyre_pipeline *pipeline;
    assert_int_equal(vyre_compile(backend, numbered(number, &module), NULL, &pipeline, NULL), VYRE_OK);
    uint32_t x = 5;
    vyre_span input = {&x, 4};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    assert_int_equal(vyre_pipeline_dispatch(pipeline, &arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
    assert_int_equal(((uint32_t *)outputs.items[0].data)[0], 5 + number);
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    vyre_module_free(module);
}

static int no_disk(void **state) {
    (void)state;
    vyre_cache_set_folder("", NULL);
    vyre_cache_set_memory_limit(256);
    vyre_cache_forbid_compile(0);
    return 0;
}

static int fresh_disk(void **state) {
    no_disk(state);
    vyre_cache_set_folder(folder, NULL);
    return (int)vyre_cache_clear(NULL, NULL, NULL, NULL);
}

static void an_equal_program_is_found_in_memory(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    fake_case again;
    fake_case_open(&again); /* another object */
    vyre_cache_stats before = stats();
    vyre_counters counters, later;
    vyre_counters_get(&counters);
    vyre_pipeline *first = rig_compile(&r), *second;
    assert_int_equal(vyre_compile(r.backend, again.program, NULL, &second, NULL), VYRE_OK);
    assert_int_equal(calls(&r, FAKE_compile), 1);
    vyre_counters_get(&later);
    assert_int_equal(stats().memory_hits - before.memory_hits, 1);
    assert_int_equal(stats().misses - before.misses, 1);
    assert_int_equal(stats().compiles - before.compiles, 1);
    assert_int_equal(stats().entries - before.entries, 1);
    assert_int_equal(later.compiles - counters.compiles, 1);
    assert_int_equal(later.cache_hits - counters.cache_hits, 1);
    assert_int_equal(later.cache_misses - counters.cache_misses, 1);
    vyre_cache_forbid_compile(1);
    vyre_pipeline *third = rig_compile(&r);
    vyre_cache_forbid_compile(0);
    vyre_pipeline_release(first);
    vyre_pipeline_release(second);
    vyre_pipeline_release(third);
    fake_case_close(&again);
    rig_close(&r);
    assert_int_equal(stats().entries, before.entries); /* the cache in memory ends with its backend */
}

static void options_and_backends_are_part_of_the_key(void **state) {
    (void)state;
    rig r, other;
    rig_open(&r);
    rig_open(&other);
    vyre_compile_options options = {.struct_size = sizeof options, .cancellable = 1};
    vyre_pipeline *pipelines[3];
    pipelines[0] = rig_compile(&r);
    assert_int_equal(vyre_compile(r.backend, r.c.program, &options, &pipelines[1], NULL), VYRE_OK);
    assert_int_equal(calls(&r, FAKE_compile), 2);
    assert_int_equal(r.f->cancellable, 1);
    pipelines[2] = rig_compile(&other);
    assert_int_equal(calls(&other, FAKE_compile), 1);
    for (int i = 0; i < 3; i++)
        vyre_pipeline_release(pipelines[i]);
    rig_close(&r);
    rig_close(&other);
}

static void what_was_used_longest_ago_is_forgotten_first(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    vyre_cache_stats before = stats();
    vyre_cache_set_memory_limit(3);
    for (unsigned i = 0; i < 3; i++)
        compile_numbered(r.backend, i);
    compile_numbered(r.backend, 0); /* used again: 1 is the oldest now */
    assert_int_equal(calls(&r, FAKE_compile), 3);
    compile_numbered(r.backend, 3);
    assert_int_equal(stats().evictions - before.evictions, 1);
    assert_int_equal(atomic_load(&r.f->pipelines), 3);
    compile_numbered(r.backend, 0);
    compile_numbered(r.backend, 2);
    assert_int_equal(calls(&r, FAKE_compile), 4);
    compile_numbered(r.backend, 1);
    assert_int_equal(calls(&r, FAKE_compile), 5);
    vyre_cache_set_memory_limit(0);
    compile_numbered(r.backend, 2);
    compile_numbered(r.backend, 2);
    assert_int_equal(calls(&r, FAKE_compile), 7); /* 0 turns it off */
    assert_int_equal(atomic_load(&r.f->pipelines), 0);
    vyre_cache_set_memory_limit(1000);
    for (unsigned i = 0; i < 300; i++)
        compile_numbered(r.backend, 1000 + i);
    for (unsigned i = 0; i < 300; i++)
        compile_numbered(r.backend, 1000 + i);
    assert_int_equal(calls(&r, FAKE_compile), 307);
    rig_close(&r);
}

static void a_pipeline_outlives_its_place_in_memory(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    vyre_cache_set_memory_limit(1);
    vyre_pipeline *pipeline = rig_compile(&r);
    compile_numbered(r.backend, 1);
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    assert_int_equal(vyre_pipeline_dispatch(pipeline, &r.c.arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
    fake_case_check(&r.c, &outputs);
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    rig_close(&r);
}

static void forbidden_compiles_are_refused_with_a_fix(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    vyre_pipeline *pipeline;
    vyre_error error;
    vyre_cache_forbid_compile(1);
    assert_int_equal(vyre_compile(r.backend, r.c.program, NULL, &pipeline, &error), VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "forbidden"));
    assert_non_null(strstr(error.fix, "vyre_cache_forbid_compile"));
    assert_int_equal(calls(&r, FAKE_compile), 0);
    vyre_cache_forbid_compile(0);
    vyre_pipeline_release(rig_compile(&r)); /* the refusal is not kept */
    rig_close(&r);
}

static void a_backend_that_hides_its_identity_is_not_cached(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    r.f->fail_entry = FAKE_cache_identity;
    r.f->fail_at = 1;
    vyre_pipeline_release(rig_compile(&r));
    assert_int_equal(stats().entries, 0);
    r.f->fail_at = 0;
    vyre_pipeline_release(rig_compile(&r));
    vyre_pipeline_release(rig_compile(&r));
    assert_int_equal(calls(&r, FAKE_compile), 2);
    rig_close(&r);
}

/* ---- the folder ---- */

static void exact_fma(void *self, vyre_numerics_profile *profile) {
    (void)self;
    profile->exact = UINT64_C(1) << VYRE_NUMERIC_F32_FMA;
}

static void another_backend_finds_it_on_disk(void **state) {
    (void)state;
    rig r;
    vyre_cache_stats before = stats();
    rig_open(&r);
    vyre_pipeline_release(rig_compile(&r));
    assert_int_equal(calls(&r, FAKE_PIPELINE_serialize), 1);
    assert_int_equal(stats().stores - before.stores, 1);
    rig_close(&r);
    vyre_cache_forbid_compile(1); /* so it was found */
    rig_open(&r);
    vyre_pipeline *pipeline = rig_compile(&r);
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    assert_int_equal(calls(&r, FAKE_compile), 0);
    assert_int_equal(calls(&r, FAKE_load), 1);
    assert_true(vyre_pipeline_is_native(pipeline));
    assert_int_equal(vyre_pipeline_dispatch(pipeline, &r.c.arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
    fake_case_check(&r.c, &outputs);
    assert_int_equal(stats().disk_hits - before.disk_hits, 1);
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    rig_close(&r);
    for (int other = 0; other < 2; other++) { /* another device, or one that computes other things exactly */
        fake *f = fake_new();
        if (other == 0)
            f->identity = "another device";
        else
            f->table.numerics = exact_fma;
        rig_open_with(&r, f);
        assert_int_equal(vyre_compile(r.backend, r.c.program, NULL, &pipeline, NULL), VYRE_UNSUPPORTED);
        rig_close(&r);
    }
}

static void a_refused_binary_is_a_miss_and_is_replaced(void **state) {
    (void)state;
    rig r;
    rig_open(&r);
    vyre_pipeline_release(rig_compile(&r));
    rig_close(&r);
    vyre_cache_stats before = stats();
    for (int way = 0; way < 2; way++) { /* an error; a success without a result */
        fake *f = fake_new();
        if (way == 0)
            f->refuses_binaries = 1;
        else
            f->gives_no_pipelines = 1;
        rig_open_with(&r, f);
        vyre_pipeline *pipeline = rig_compile(&r);
        assert_int_equal(calls(&r, FAKE_load), 1);
        assert_int_equal(calls(&r, FAKE_compile), 1);
        assert_int_equal(stats().rejected - before.rejected, way + 1);
        assert_int_equal(stats().stores - before.stores, 1);
        vyre_pipeline_release(pipeline);
        rig_close(&r);
    }
}

static void stages_are_stored_one_by_one(void **state) {
    (void)state;
    static const char text[] = "program staged {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n"
                               "let i = global_id.x\n x[i] = x[i] + 1\n grid_barrier\n"
                               "let y = x[(i + 1) % len(x)]\n grid_barrier\n x[i] = y }";
    for (int round = 0; round < 2; round++) {
        fake *f = fake_new();
        f->no_grid_sync = 1;
        rig r;
        rig_open_with(&r, f);
        vyre_module *module;
        vyre_pipeline *pipeline;
        vyre_cache_forbid_compile(round);
        assert_int_equal(vyre_compile(r.backend, fake_parse(text, &module), NULL, &pipeline, NULL), VYRE_OK);
        assert_int_equal(calls(&r, FAKE_compile), round ? 0 : 3);
        assert_int_equal(calls(&r, FAKE_load), round ? 3 : 0);
        vyre_pipeline_release(pipeline);
        vyre_module_free(module);
        rig_close(&r);
    }
}

static void without_load_nothing_is_stored(void **state) {
    (void)state;
    fake *f = fake_new();
    f->table.load = NULL;
    rig r;
    rig_open_with(&r, f);
    vyre_cache_stats before = stats();
    vyre_pipeline_release(rig_compile(&r));
    assert_int_equal(calls(&r, FAKE_PIPELINE_serialize), 0);
    assert_int_equal(stats().stores, before.stores);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_equal_program_is_found_in_memory, no_disk),
        cmocka_unit_test_setup(options_and_backends_are_part_of_the_key, no_disk),
        cmocka_unit_test_setup(what_was_used_longest_ago_is_forgotten_first, no_disk),
        cmocka_unit_test_setup(a_pipeline_outlives_its_place_in_memory, no_disk),
        cmocka_unit_test_setup(forbidden_compiles_are_refused_with_a_fix, no_disk),
        cmocka_unit_test_setup(a_backend_that_hides_its_identity_is_not_cached, no_disk),
        cmocka_unit_test_setup(another_backend_finds_it_on_disk, fresh_disk),
        cmocka_unit_test_setup(a_refused_binary_is_a_miss_and_is_replaced, fresh_disk),
        cmocka_unit_test_setup(stages_are_stored_one_by_one, fresh_disk),
        cmocka_unit_test_setup(without_load_nothing_is_stored, fresh_disk),
    };
    if (!mkdtemp(folder))
        return 1;
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    vyre_cache_set_folder(folder, NULL);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    rmdir(folder);
    return failures;
}
