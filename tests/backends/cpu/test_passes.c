/* Dispatches of a pipeline on `cpu` run no pass and compile nothing; and what the counter `passes` counts. */
#include "backends/conform_passes.h"

#include "compile/pipeline.h"
#include "opt/coarsen.h"
#include "split/grid_split.h"
#include "split/grid_tile.h"
#include "vyre/cache.h"
#include "vyre/transform.h"

static void dispatches_of_4_kib_run_no_pass(void **state) {
    (void)state;
    conform_passes_run("cpu", 4 << 10);
}

static void dispatches_of_1_mib_run_no_pass(void **state) {
    (void)state;
    conform_passes_run("cpu", 1 << 20);
}

/* ---- what is counted ---- */

static uint64_t passes_since(uint64_t *before) {
    uint64_t now = conform_counters().passes, since = now - *before;
    *before = now;
    return since;
}

static void passes_are_counted(void **state) {
    (void)state;
    static const vyre_pass two[] = {VYRE_PASS_CONST_FOLD, VYRE_PASS_DCE};
    const vyre_optimize_options options = {.passes = two, .pass_count = 2};
    const vy_target_desc widest = {.access_bytes = 16};
    const vy_target_desc target = {.exact = UINT64_MAX};
    vyre_program *program = vy_test_parse("program p {\n buffer x : u32 read_write\n workgroup 32\n grid over x\n"
                                          " x[global_id.x] = 1\n grid_barrier\n x[0] = 2\n}\n"),
                 *made;
    vyre_program *plain = vy_test_parse("program p {\n buffer x : u32 read_write\n workgroup 32\n grid over x\n"
                                        " x[global_id.x] = 1\n}\n");
    vy_coarsened coarsened;
    vy_split *split;
    vyre_error error = VYRE_ERROR_INIT;
    uint64_t before = conform_counters().passes;
    assert_int_equal(vyre_program_optimize(plain, &options, &made, NULL, &error), VYRE_OK);
    assert_int_equal(passes_since(&before), 2);
    vyre_program_release(made);
    assert_int_equal(vy_legalize(plain, &target, &made, &error), VYRE_OK);
    assert_true(passes_since(&before) >= 5);
    vyre_program_release(made);
    assert_int_equal(vy_coarsen(plain, &widest, &coarsened, &error), VYRE_OK);
    assert_true(passes_since(&before) >= 1);
    vyre_program_release(coarsened.program);
    assert_int_equal(vy_grid_tile(plain, &made, &error), VYRE_OK);
    assert_true(passes_since(&before) >= 1);
    vyre_program_release(made);
    assert_int_equal(vy_grid_split(program, &split, &error), VYRE_OK);
    assert_true(passes_since(&before) >= 1);
    vy_split_free(split);
    vyre_program_release(plain);
    vyre_program_release(program);
}

/* A pipeline from the disk cache needs no analysis either. */
static void loading_from_the_disk_cache_runs_no_pass(void **state) {
    (void)state;
    char folder[] = "/tmp/vyre-passes-XXXXXX", command[64];
    static conform c;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(vyre_cache_set_folder(folder, NULL), VYRE_OK);
    for (int i = 0; i < 2; i++) {
        conform_open(&c, "cpu");
        vyre_program *program = conform_example_load(&conform_examples[0]);
        vyre_pipeline *pipeline;
        vyre_counters before = conform_counters();
        assert_int_equal(vyre_compile(c.backend, program, NULL, &pipeline, NULL), VYRE_OK);
        vyre_counters after = conform_counters();
        assert_int_equal(after.compiles - before.compiles, i == 0);
        assert_int_equal(after.passes - before.passes != 0, i == 0);
        vyre_pipeline_release(pipeline);
        vyre_program_release(program);
        conform_close(&c);
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dispatches_of_4_kib_run_no_pass),
        cmocka_unit_test(dispatches_of_1_mib_run_no_pass),
        cmocka_unit_test(passes_are_counted),
        cmocka_unit_test(loading_from_the_disk_cache_runs_no_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
