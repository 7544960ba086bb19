/* Cooperative launch: the backend decides per grid whether grid barriers run inside one launch. The results are equal
 * either way, and size alone is never an error. */
#include "driver/dispatch.h"
#include "driver/fake.h"
#include "driver/pipeline.h"
#include "split/put_barriers.h"
#include "support/fault.h"

#include "generate/generate.h"
#include "vyre/async.h"
#include "vyre/cache.h"
#include "vyre/oracle.h"
#include "vyre/telemetry.h"

/* Each workgroup adds what its neighbour had: three rounds, seven launches in stages. */
static const char text[] =
    "program ring {\n param k : u32\n buffer x : u32 read_write\n workgroup 4\n grid over x\n let i = global_id.x\n"
    " for r in 0u32 .. 3u32 {\n  let y = x[(i + 4) % len(x)] * k + r\n  grid_barrier\n  x[i] = x[i] + y\n  "
    "grid_barrier\n }\n}\n";
enum { N = 20, GROUPS = 5, LAUNCHES = 7 };

static const char trapping[] =
    "program ring {\n param k : u32\n buffer x : u32 read_write\n workgroup 4\n grid over x\n let i = global_id.x\n"
    " grid_barrier\n if x[i] == k + 10 { trap 9 }\n grid_barrier\n x[i] = 0\n}\n";

typedef struct bench {
    fake *f;
    vyre_backend *backend;
    vyre_module *module;
    vyre_program *program;
    uint32_t x[N], expected[N];
    vyre_scalar params[1];
    vyre_span inputs[1];
    vyre_arguments arguments;
    vyre_error error;
    vyre_trap trap;
} bench;

static void ask_oracle(bench *b) {
    vyre_oracle *oracle;
    vyre_bytes out[1] = {VYRE_BYTES_INIT};
    assert_int_equal(vyre_oracle_new(b->program, &oracle, NULL), VYRE_OK);
    vyre_oracle_report report = {0};
    if (vyre_oracle_run(oracle, &b->arguments, NULL, out, &report, NULL, NULL) == VYRE_OK)
        memcpy(b->expected, out[0].data, sizeof b->expected);
    vyre_bytes_free(&out[0]);
    vyre_oracle_free(oracle);
}

/* Without grid barriers for all grids, with them for grids of up to `limit` workgroups. */
static void bench_open(bench *b, const char *program, uint64_t limit) {
    memset(b, 0, sizeof *b);
    b->f = fake_new();
    b->f->no_grid_sync = 1;
    b->f->can_cancel = 1;
    atomic_store(&b->f->grid_limit, limit);
    b->backend = fake_open(b->f);
    b->program = fake_parse(program, &b->module);
    for (uint32_t i = 0; i < N; i++)
        b->x[i] = i;
    b->params[0] = (vyre_scalar){VYRE_TYPE_U32, 3};
    b->inputs[0] = (vyre_span){b->x, sizeof b->x};
    b->arguments = (vyre_arguments){.params = b->params, .param_count = 1, .inputs = b->inputs, .input_count = 1};
    ask_oracle(b);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
}

static void bench_close(bench *b) {
    vyre_backend_release(b->backend);
    vyre_module_free(b->module);
}

static unsigned calls(const bench *b, fake_entry entry) {
    return atomic_load(&b->f->calls[entry]);
}

/* Launches of any kind. */
static unsigned launches(const bench *b) {
    unsigned sum = 0;
    static const fake_entry entries[] = {FAKE_dispatch,
                                         FAKE_dispatch_borrowed,
                                         FAKE_dispatch_borrowed_timed,
                                         FAKE_dispatch_borrowed_into,
                                         FAKE_dispatch_resident,
                                         FAKE_PIPELINE_dispatch,
                                         FAKE_PIPELINE_dispatch_borrowed,
                                         FAKE_PIPELINE_dispatch_borrowed_timed,
                                         FAKE_PIPELINE_dispatch_borrowed_into,
                                         FAKE_PIPELINE_dispatch_batched_into,
                                         FAKE_PIPELINE_dispatch_persistent_into,
                                         FAKE_PIPELINE_dispatch_persistent_batched_into};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        sum += calls(b, entries[i]);
    return sum;
}

static uint64_t grid_syncs(void) {
    vyre_counters counters;
    vyre_counters_get(&counters);
    return counters.grid_syncs;
}

static void check_outputs(const bench *b, const vyre_outputs *outputs) {
    assert_int_equal(outputs->count, 1);
    assert_int_equal(outputs->items[0].size, sizeof b->expected);
    assert_memory_equal(outputs->items[0].data, b->expected, sizeof b->expected);
}

/* One dispatch by form; the bits are right, and it took so many launches. */
static void runs_in(bench *b, int form, const vyre_dispatch_config *config, unsigned expected) {
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    unsigned before = launches(b);
    uint64_t synced = grid_syncs();
    vyre_status status = fake_run(form, b->backend, b->program, &b->arguments, config, &outputs, &b->trap, &b->error);
    if (status != VYRE_OK)
        fail_msg("%s: %s", vyre_status_name(status), b->error.message);
    check_outputs(b, &outputs);
    assert_int_equal(launches(b) - before, expected);
    assert_int_equal(grid_syncs() - synced, expected == 1);
    vyre_outputs_free(&outputs);
}

static void a_grid_that_fits_is_one_launch(void **state) {
    (void)state;
    bench b;
    for (int form = 0; form < FAKE_FORMS; form++) {
        bench_open(&b, text, GROUPS);
        runs_in(&b, form, NULL, 1);
        assert_int_equal(b.f->seen.groups[0], GROUPS);
        assert_int_equal(calls(&b, FAKE_compile), 1);
        runs_in(&b, form, NULL, 1);
        assert_int_equal(calls(&b, FAKE_compile), 1); /* it is kept */
        bench_close(&b);
    }
}

static void one_workgroup_more_and_it_is_several(void **state) {
    (void)state;
    bench b;
    for (int form = 0; form < FAKE_FORMS; form++) {
        bench_open(&b, text, GROUPS - 1);
        runs_in(&b, form, NULL, LAUNCHES);
        assert_int_equal(calls(&b, FAKE_compile), 0); /* that was known before */
        bench_close(&b);
        bench_open(&b, text, GROUPS - 1); /* known only for a compiled program */
        atomic_store(&b.f->grid_bound, 1000);
        runs_in(&b, form, NULL, LAUNCHES);
        runs_in(&b, form, NULL, LAUNCHES);
        assert_int_equal(calls(&b, FAKE_compile), 1);
        atomic_store(&b.f->grid_limit, GROUPS); /* each dispatch queries the backend */
        runs_in(&b, form, NULL, 1);
        bench_close(&b);
    }
}

static void without_the_entry_it_is_several(void **state) {
    (void)state;
    bench b;
    bench_open(&b, text, GROUPS);
    b.backend->calls.grid_sync_limit = NULL;
    runs_in(&b, 0, NULL, LAUNCHES);
    bench_close(&b);
    bench_open(&b, text, GROUPS); /* nor without a compiler, or one that makes nothing */
    b.backend->calls.compile = NULL;
    b.backend->calls.load = NULL;
    runs_in(&b, 0, NULL, LAUNCHES);
    bench_close(&b);
    bench_open(&b, text, GROUPS);
    b.f->gives_no_pipelines = 1;
    runs_in(&b, 0, NULL, LAUNCHES);
    runs_in(&b, 0, NULL, LAUNCHES);
    assert_int_equal(calls(&b, FAKE_compile), 1);
    bench_close(&b);
}

/* A program that cannot be compiled as a whole is not tried again; a transient failure is. */
static void a_compiler_that_fails_is_no_error(void **state) {
    static const struct {
        vyre_status status;
        unsigned compiles;
    } cases[] = {
        {VYRE_UNSUPPORTED, 1}, {VYRE_LIMIT, 1}, {VYRE_CORRUPT, 1}, {VYRE_NO_DEVICE_MEMORY, 2}, {VYRE_NO_MEMORY, 2}};
    (void)state;
    bench b;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench_open(&b, text, GROUPS);
        b.f->fail_entry = FAKE_compile, b.f->fail_at = 1, b.f->fail_with = cases[i].status;
        runs_in(&b, 0, NULL, LAUNCHES);
        runs_in(&b, 0, NULL, cases[i].compiles == 2 ? 1 : LAUNCHES);
        assert_int_equal(calls(&b, FAKE_compile), cases[i].compiles);
        bench_close(&b);
    }
}

/* Nothing ran: the launches do it. */
static void a_launch_that_is_refused_after_all_runs_as_several(void **state) {
    (void)state;
    bench b;
    bench_open(&b, text, GROUPS);
    b.f->fail_entry = FAKE_PIPELINE_dispatch_borrowed, b.f->fail_at = 1, b.f->fail_with = VYRE_LIMIT;
    vyre_counters before, after;
    vyre_counters_get(&before);
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    assert_int_equal(vyre_backend_dispatch(b.backend, b.program, &b.arguments, NULL, &outputs, &b.trap, &b.error),
                     VYRE_OK);
    check_outputs(&b, &outputs);
    vyre_counters_get(&after);
    assert_int_equal(after.grid_syncs, before.grid_syncs);
    assert_int_equal(after.dispatches - before.dispatches, 1);
    assert_int_equal(after.input_bytes - before.input_bytes, sizeof b.x);
    vyre_outputs_free(&outputs);
    bench_close(&b);
    bench_open(&b, text, GROUPS); /* any other error is one */
    b.f->fail_entry = FAKE_PIPELINE_dispatch_borrowed, b.f->fail_at = 1, b.f->fail_with = VYRE_NO_DEVICE_MEMORY;
    assert_int_equal(vyre_backend_dispatch(b.backend, b.program, &b.arguments, NULL, &outputs, &b.trap, &b.error),
                     VYRE_NO_DEVICE_MEMORY);
    vyre_outputs_free(&outputs);
    bench_close(&b);
}

static void grids_over_the_limit_of_a_dimension_are_several(void **state) {
    (void)state;
    bench b;
    bench_open(&b, text, 1000);
    atomic_store(&b.backend->capabilities[VYRE_CAPABILITY_MAX_WORKGROUPS], 2);
    runs_in(&b, 0, NULL, LAUNCHES * 3);
    assert_int_equal(calls(&b, FAKE_compile), 0);
    bench_close(&b);
}

static void a_deadline_asks_for_code_that_can_be_stopped(void **state) {
    const vyre_dispatch_config soon = {.timeout_ns = UINT64_C(3600000000000)};
    (void)state;
    bench b;
    bench_open(&b, text, GROUPS);
    runs_in(&b, 0, &soon, 1);
    assert_int_equal(b.f->cancellable, 1);
    runs_in(&b, 0, NULL, 1);
    assert_int_equal(b.f->cancellable, 0);
    assert_int_equal(calls(&b, FAKE_compile), 2);
    bench_close(&b);
    bench_open(&b, text, GROUPS); /* a device that stops nothing ends between two launches */
    atomic_store(&b.backend->capabilities[VYRE_CAPABILITY_CANCEL], 0);
    runs_in(&b, 0, &soon, LAUNCHES);
    runs_in(&b, 0, NULL, 1);
    bench_close(&b);
}

/* ---- pipelines, resources, many ---- */

static void a_pipeline_has_both_forms_when_it_is_compiled(void **state) {
    vyre_pipeline *pipeline;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    (void)state;
    bench b;
    bench_open(&b, text, GROUPS);
    assert_int_equal(vyre_compile(b.backend, b.program, NULL, &pipeline, &b.error), VYRE_OK);
    unsigned all = calls(&b, FAKE_compile);
    vyre_counters counters[2];
    vyre_counters_get(&counters[0]);
    assert_true(all > 1); /* the stages and the whole */
    for (int i = 0; i < 6; i++) {
        unsigned before = launches(&b);
        atomic_store(&b.f->grid_limit, i % 2 ? 1 : GROUPS);
        assert_int_equal(vyre_pipeline_dispatch_into(pipeline, &b.arguments, NULL, &outputs, &b.trap, &b.error),
                         VYRE_OK);
        check_outputs(&b, &outputs);
        assert_int_equal(launches(&b) - before, i % 2 ? LAUNCHES : 1);
    }
    assert_int_equal(calls(&b, FAKE_compile), all);
    vyre_counters_get(&counters[1]);
    assert_int_equal(counters[0].passes, counters[1].passes);
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    bench_close(&b);
}

/* A program that cannot be compiled as a whole has a pipeline, and is not tried again; a failure that may not repeat
 * is one of vyre_compile. */
static void a_whole_that_cannot_be_compiled_leaves_the_stages(void **state) {
    static const struct {
        vyre_status fails, result;
    } cases[] = {{VYRE_UNSUPPORTED, VYRE_OK},
                 {VYRE_LIMIT, VYRE_OK},
                 {VYRE_NO_DEVICE_MEMORY, VYRE_NO_DEVICE_MEMORY},
                 {VYRE_TIMEOUT, VYRE_TIMEOUT}};
    vyre_pipeline *pipeline;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    (void)state;
    bench b;
    bench_open(&b, text, GROUPS);
    assert_int_equal(vyre_compile(b.backend, b.program, NULL, &pipeline, &b.error), VYRE_OK);
    unsigned all = calls(&b, FAKE_compile);
    vyre_pipeline_release(pipeline);
    bench_close(&b);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench_open(&b, text, GROUPS);
        b.f->fail_entry = FAKE_compile, b.f->fail_at = all, b.f->fail_with = cases[i].fails;
        assert_int_equal(vyre_compile(b.backend, b.program, NULL, &pipeline, &b.error), cases[i].result);
        if (cases[i].result == VYRE_OK) {
            unsigned before = launches(&b);
            assert_int_equal(vyre_pipeline_dispatch_into(pipeline, &b.arguments, NULL, &outputs, &b.trap, &b.error),
                             VYRE_OK);
            check_outputs(&b, &outputs);
            assert_int_equal(launches(&b) - before, LAUNCHES);
            assert_int_equal(calls(&b, FAKE_compile), all);
            vyre_pipeline_release(pipeline);
        }
        bench_close(&b);
    }
    vyre_outputs_free(&outputs);
}

/* Also without a pipeline of the caller's. */
static void preparing_compiles_both_forms(void **state) {
    (void)state;
    bench b;
    bench_open(&b, text, GROUPS);
    b.backend->calls.dispatch = NULL; /* a backend that only compiles has implicit pipelines */
    assert_int_equal(vyre_backend_prepare(b.backend, b.program, &b.error), VYRE_OK);
    unsigned all = calls(&b, FAKE_compile);
    assert_true(all > 1);
    runs_in(&b, 0, NULL, 1);
    assert_int_equal(calls(&b, FAKE_compile), all);
    bench_close(&b);
}

static void resident_buffers_and_host_bytes_meet_alike(void **state) {
    vyre_pipeline *pipeline;
    vyre_resident handle;
    uint32_t got[N];
    (void)state;
    bench b;
    bench_open(&b, text, GROUPS);
    assert_int_equal(vyre_compile(b.backend, b.program, NULL, &pipeline, &b.error), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(b.backend, sizeof b.x, NULL, &handle, &b.error), VYRE_OK);
    vyre_resource resident = {.kind = VYRE_RESOURCE_RESIDENT, .resident = handle};
    vyre_resource host = {.kind = VYRE_RESOURCE_HOST, .host = b.inputs[0]};
    vyre_arguments arguments = {.params = b.params, .param_count = 1};
    for (int i = 0; i < 6; i++) {
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        unsigned before = launches(&b);
        atomic_store(&b.f->grid_limit, i % 2 ? 1 : GROUPS);
        assert_int_equal(vyre_resident_upload(b.backend, handle, b.x, sizeof b.x, &b.error), VYRE_OK);
        if (i < 2)
            assert_int_equal(vyre_backend_dispatch_resident(b.backend, b.program, &resident, 1, &arguments, NULL, NULL,
                                                            &b.trap, &b.error),
                             VYRE_OK);
        else
            assert_int_equal(vyre_pipeline_dispatch_persistent(pipeline, i < 4 ? &resident : &host, 1, &arguments, NULL,
                                                               &outputs, NULL, &b.trap, &b.error),
                             VYRE_OK);
        assert_int_equal(launches(&b) - before, i % 2 ? LAUNCHES : 1);
        if (i >= 4) {
            check_outputs(&b, &outputs);
        } else {
            assert_int_equal(vyre_resident_download_at(b.backend, handle, 0, got, sizeof got, &b.error), VYRE_OK);
            assert_memory_equal(got, b.expected, sizeof got);
        }
        vyre_outputs_free(&outputs);
    }
    assert_int_equal(vyre_resident_free(b.backend, handle, &b.error), VYRE_OK);
    vyre_pipeline_release(pipeline);
    bench_close(&b);
}

/* Not in one native call: each item queries the backend. */
static void batches_sequences_and_dispatches_in_flight_meet_one_by_one(void **state) {
    vyre_pipeline *pipeline;
    vyre_outputs outputs[2] = {VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT};
    vyre_pending *pending;
    vyre_resident handle;
    uint32_t got[N];
    (void)state;
    bench b;
    bench_open(&b, text, GROUPS);
    vyre_arguments twice[2] = {b.arguments, b.arguments}, arguments = {.params = b.params, .param_count = 1};
    assert_int_equal(vyre_compile(b.backend, b.program, NULL, &pipeline, &b.error), VYRE_OK);
    uint64_t before = grid_syncs();
    assert_int_equal(vyre_pipeline_dispatch_batch(pipeline, twice, 2, NULL, outputs, NULL, &b.trap, &b.error), VYRE_OK);
    assert_int_equal(calls(&b, FAKE_PIPELINE_dispatch_batched_into), 0);
    check_outputs(&b, &outputs[0]);
    check_outputs(&b, &outputs[1]);
    assert_int_equal(vyre_pipeline_dispatch_async(pipeline, &b.arguments, NULL, &pending, &b.error), VYRE_OK);
    assert_int_equal(vyre_pending_wait(pending, UINT64_C(3600000000000), &outputs[0], &b.trap, &b.error), VYRE_OK);
    vyre_pending_free(pending);
    check_outputs(&b, &outputs[0]);
    assert_int_equal(vyre_resident_allocate(b.backend, sizeof b.x, NULL, &handle, &b.error), VYRE_OK);
    assert_int_equal(vyre_resident_upload(b.backend, handle, b.x, sizeof b.x, &b.error), VYRE_OK);
    vyre_resource resident = {.kind = VYRE_RESOURCE_RESIDENT, .resident = handle};
    vyre_step step = {pipeline, &resident, 1, &arguments};
    vyre_readback readback = {handle, 0, sizeof got, got};
    assert_int_equal(vyre_sequence_run(b.backend, &step, 1, &readback, 1, NULL, NULL, NULL, &b.trap, &b.error),
                     VYRE_OK);
    assert_memory_equal(got, b.expected, sizeof got);
    assert_int_equal(grid_syncs() - before, 4);
    assert_int_equal(vyre_resident_free(b.backend, handle, &b.error), VYRE_OK);
    vyre_outputs_free(&outputs[0]);
    vyre_outputs_free(&outputs[1]);
    vyre_pipeline_release(pipeline);
    bench_close(&b);
}

static void traps_come_back_alike(void **state) {
    (void)state;
    bench b;
    for (int limit = 1; limit <= GROUPS; limit += GROUPS - 1) {
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        bench_open(&b, trapping, (uint64_t)limit);
        assert_int_equal(vyre_backend_dispatch(b.backend, b.program, &b.arguments, NULL, &outputs, &b.trap, &b.error),
                         VYRE_TRAPPED);
        assert_int_equal(b.trap.invocation, 13);
        assert_int_equal(b.trap.code, 9);
        vyre_outputs_free(&outputs);
        bench_close(&b);
    }
}

static void a_device_that_comes_back_gets_its_code_again(void **state) {
    (void)state;
    bench b;
    bench_open(&b, text, GROUPS);
    runs_in(&b, 0, NULL, 1);
    vy_backend_mark_lost(b.backend);
    assert_int_equal(vyre_backend_try_recover(b.backend, &b.error), VYRE_OK);
    runs_in(&b, 0, NULL, 1);
    assert_int_equal(calls(&b, FAKE_compile), 1);
    assert_int_equal(calls(&b, FAKE_load), 1); /* it was stored */
    bench_close(&b);
}

static void the_reasons_are_told(void **state) {
    (void)state;
    bench b;
    vy_resolved_dispatch launch;
    bench_open(&b, text, GROUPS);
    assert_int_equal(vy_resolve_dispatch(b.program, &b.arguments, &launch, &b.error), VYRE_OK);
    vy_call call;
#define REASON_IS(reason, may_stop)                                                                                    \
    do {                                                                                                               \
        vy_call_describe(&call, b.backend, &b.backend->dispatch_table, VY_FORM_BORROWED);                              \
        assert_int_equal(vy_call_try_cooperative(&call, NULL, b.program, &launch, (vy_stop_condition){may_stop, 0}),   \
                         VY_GRID_SYNC_##reason);                                                                       \
        assert_int_equal(call.cooperative != NULL, VY_GRID_SYNC_##reason == VY_GRID_SYNC_FITS);                        \
        assert_true(vy_grid_sync_sentence(VY_GRID_SYNC_##reason)[0] != 0);                                             \
        vy_call_cleanup(&call);                                                                                        \
    } while (0)
    REASON_IS(FITS, 0);
    REASON_IS(FITS, 1);
    atomic_store(&b.backend->capabilities[VYRE_CAPABILITY_CANCEL], 0);
    REASON_IS(CANNOT_STOP, 1);
    atomic_store(&b.f->grid_limit, 1);
    REASON_IS(TOO_LARGE, 0);
    atomic_store(&b.f->grid_limit, 0);
    REASON_IS(NO_OTHER_WAY, 0);
    atomic_store(&b.backend->capabilities[VYRE_CAPABILITY_GRID_SYNC], 1);
    REASON_IS(ALWAYS, 0);
    atomic_store(&b.backend->capabilities[VYRE_CAPABILITY_GRID_SYNC], 0);
    atomic_store(&b.f->grid_limit, GROUPS);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    b.backend->calls.grid_sync_limit = NULL;
    REASON_IS(NO_OTHER_WAY, 0);
    bench_close(&b);
}

static vyre_status dispatches(void *user) {
    bench b;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_status status;
    fake *f = fake_new_or_null();
    (void)user;
    if (!f)
        return VYRE_NO_MEMORY;
    memset(&b, 0, sizeof b);
    f->no_grid_sync = 1, f->can_cancel = 1;
    atomic_store(&f->grid_limit, GROUPS);
    vyre_backend_instance instance = {&f->table, f};
    status = vy_backend_wrap(&instance, &b.backend, &b.error);
    if (status != VYRE_OK)
        return status;
    status = vyre_text_parse(text, sizeof text - 1, NULL, NULL, &b.module, &b.error);
    b.params[0] = (vyre_scalar){VYRE_TYPE_U32, 3};
    b.inputs[0] = (vyre_span){b.x, sizeof b.x};
    b.arguments = (vyre_arguments){.params = b.params, .param_count = 1, .inputs = b.inputs, .input_count = 1};
    if (status == VYRE_OK)
        status = vyre_backend_dispatch(b.backend, vyre_module_program(b.module, 0), &b.arguments, NULL, &outputs,
                                       &b.trap, &b.error);
    vyre_outputs_free(&outputs);
    vyre_module_free(b.module);
    vyre_backend_release(b.backend);
    return status;
}

/* One that fails on the way to the one launch may still be run by the several. */
static void every_allocation_may_fail(void **state) {
    (void)state;
    assert_true(VY_FAULT_LOOP_LENIENT(dispatches, NULL) > 5);
}

static char folder[64];

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/vyre-grid-sync-XXXXXX");
    return mkdtemp(folder) && vyre_cache_set_folder(folder, NULL) == VYRE_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail), /* first: before there are threads */
        cmocka_unit_test(a_grid_that_fits_is_one_launch),
        cmocka_unit_test(one_workgroup_more_and_it_is_several),
        cmocka_unit_test(without_the_entry_it_is_several),
        cmocka_unit_test(a_compiler_that_fails_is_no_error),
        cmocka_unit_test(a_launch_that_is_refused_after_all_runs_as_several),
        cmocka_unit_test(grids_over_the_limit_of_a_dimension_are_several),
        cmocka_unit_test(a_deadline_asks_for_code_that_can_be_stopped),
        cmocka_unit_test(a_pipeline_has_both_forms_when_it_is_compiled),
        cmocka_unit_test(a_whole_that_cannot_be_compiled_leaves_the_stages),
        cmocka_unit_test(preparing_compiles_both_forms),
        cmocka_unit_test(resident_buffers_and_host_bytes_meet_alike),
        cmocka_unit_test(batches_sequences_and_dispatches_in_flight_meet_one_by_one),
        cmocka_unit_test(traps_come_back_alike),
        cmocka_unit_test(a_device_that_comes_back_gets_its_code_again),
        cmocka_unit_test(the_reasons_are_told),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
