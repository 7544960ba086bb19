/* Few workgroups on many threads: who takes part is seen by code whose parts wait for each other, not by a clock. */
#include "backends/cpu/blob.h"

enum { SECONDS = 120 }; /* after which a test that hangs has failed */

static void dispatch(vyre_pipeline *pipeline, uint32_t *x, size_t count) {
    vyre_span span = {x, count * sizeof *x};
    vyre_arguments arguments = {.inputs = &span, .input_count = 1};
    vyre_dispatch_config config = {.timeout_ns = SECONDS * UINT64_C(1000000000)};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_pipeline_dispatch(pipeline, &arguments, &config, &outputs, NULL, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    memcpy(x, outputs.items[0].data, count * sizeof *x);
    vyre_outputs_free(&outputs);
}

/* So many trips that the first guess is worth any number of threads. */
#define LONG(name, size)                                                                                               \
    "program " name " {\n buffer x : u32 read_write\n workgroup " size "\n grid over x\n var s = 0u32\n"               \
    " for k in 0u32 .. 1000000 { s = s + k * x[global_id.x] }\n x[global_id.x] = s\n}"
/* Nobody knows how many, and little is expected. */
#define OPEN(name)                                                                                                     \
    "program " name " {\n buffer x : u32 read_write\n workgroup 1\n grid over x\n var s = x[global_id.x]\n"            \
    " while s > 1 { s = s / 2 }\n x[global_id.x] = s\n}"

static void parts_of_one_workgroup_run_on_several_threads_at_once(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    blob_rig r;
    uint32_t x[4] = {0};
    blob_open(&r, 4);
    vyre_pipeline *meet = blob_pipeline(&r, LONG("meet", "4"));
    dispatch(meet, x, 4);
    assert_int_equal(x[0], 4);
    assert_int_equal(vy_cpu_pool_threads(r.cpu->pool), 3);
    vyre_pipeline_release(meet);
    blob_close(&r);
}

static void who_began_alone_asks_for_help_when_it_takes_long(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    blob_rig r;
    uint32_t x[64] = {0};
    blob_open(&r, 4);
    vyre_pipeline *late = blob_pipeline(&r, OPEN("late"));
    assert_int_equal(vy_cpu_pool_threads(r.cpu->pool), 0);
    dispatch(late, x, 64);
    assert_int_equal(x[0], 62);
    assert_int_equal(vy_cpu_pool_threads(r.cpu->pool), 3);
    vyre_pipeline_release(late);
    blob_close(&r);
}

static void one_thread_needs_no_parts(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    blob_rig r;
    uint32_t x[64] = {0};
    blob_open(&r, 1);
    vyre_pipeline *narrow = blob_pipeline(&r, LONG("narrow", "4")), *slow = blob_pipeline(&r, OPEN("slow"));
    dispatch(narrow, x, 4);
    assert_int_equal(x[0], 1);
    assert_int_equal(x[1], 0);
    memset(x, 0, sizeof x);
    dispatch(slow, x, 64);
    for (int i = 0; i < 64; i++)
        assert_int_equal(x[i], 1);
    assert_int_equal(vy_cpu_pool_threads(r.cpu->pool), 0);
    vyre_pipeline_release(slow);
    vyre_pipeline_release(narrow);
    blob_close(&r);
}

/* x has room for all units of four workgroups, of which the code writes what it is told to run. */
static void fewer_lanes_are_for_fewer_workgroups_than_threads(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    const struct {
        unsigned threads;
        size_t groups, units;
        uint32_t value;
    } rows[] = {{4, 1, 4, 2}, {8, 1, 4, 2}, {8, 2, 8, 2}, {3, 1, 1, 1}, {4, 2, 2, 1}, {7, 2, 2, 1}, {8, 4, 4, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        blob_rig r;
        uint32_t x[16] = {0};
        blob_open(&r, rows[i].threads);
        vyre_pipeline *narrow = blob_pipeline(&r, LONG("narrow", "4"));
        dispatch(narrow, x, rows[i].groups * 4);
        for (size_t k = 0; k < 16; k++)
            assert_int_equal(x[k], k < rows[i].units ? rows[i].value : 0);
        vyre_pipeline_release(narrow);
        blob_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_one_workgroup_run_on_several_threads_at_once),
        cmocka_unit_test(who_began_alone_asks_for_help_when_it_takes_long),
        cmocka_unit_test(one_thread_needs_no_parts),
        cmocka_unit_test(fewer_lanes_are_for_fewer_workgroups_than_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
