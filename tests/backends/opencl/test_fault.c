/* The k-th call of the driver fails, for every k of a scenario that uses everything: an error with a fix each time,
 * nothing left on the device or the host; and a device that was lost that way comes back. Memory of the host that
 * kernels use, memory of the device, and grids in slices take their turns. */
#include "backends/conform.h"
#include "backends/opencl/shim.h"

#include "backends/opencl/opencl.h"
#include "support/fault.h"
#include "vyre/async.h"
#include "vyre/cache.h"

#include <unistd.h>

static const char texts[] =
    "program plain {\n param a : u32\n buffer x : u32 read\n buffer y : u32 write\n workgroup 64\n grid over y\n"
    " let i = global_id.x\n if i < len(y) { y[i] = x[i] * a + 1 }\n}\n"
    "program trapping {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n let i = global_id.x\n"
    " var n = x[i]\n while n > 1000000 { n = n / 2 }\n if n == 999999 { trap 7 }\n if i < len(x) { x[i] = n + 1 }\n}\n";

static char folder[] = "/tmp/vyre-opencl-fault-XXXXXX";

/* Elements: what is copied in one piece, and what is not. */
enum { SMALL = 1000, MEDIUM = 100000, LARGE = 600000 };

typedef struct scenario {
    vyre_program *plain, *trapping;
    uint32_t *values; /* LARGE */
} scenario;

/* One step after the other; the first that fails ends it. */
typedef struct course {
    const scenario *s;
    vyre_backend *backend;
    vyre_pipeline *plain, *trapping;
    vyre_resident x, y, large;
    vyre_pending *pending;
    vyre_outputs outputs, several[3];
    int is_wrong;
} course;
typedef vyre_status (*way)(course *c, vyre_error *error);

static void check(course *c, const void *data, size_t count, int is_plain) {
    const uint32_t *given = data;
    for (size_t i = 0; i < count; i++)
        c->is_wrong |= given[i] != (is_plain ? c->s->values[i] * 3 + 1 : c->s->values[i] + 1);
}

static vyre_arguments arguments_of(const course *c, size_t count, vyre_span *span, vyre_scalar *a, uint64_t *counts) {
    *span = (vyre_span){c->s->values, count * sizeof *c->s->values};
    *a = vyre_scalar_u32(3);
    *counts = count;
    return (vyre_arguments){
        .params = a, .param_count = 1, .inputs = span, .input_count = 1, .counts = counts, .count_count = 1};
}

static const vyre_dispatch_config patient = {.timeout_ns = UINT64_C(60000000000)};

static vyre_status host_bytes(course *c, vyre_error *error) {
    static const size_t counts[] = {SMALL, MEDIUM, LARGE};
    vyre_span span;
    vyre_scalar a;
    uint64_t count;
    vyre_timing timing;
    vyre_status status = VYRE_OK;
    for (int i = 0; i < 3 && status == VYRE_OK; i++) {
        vyre_arguments arguments = arguments_of(c, counts[i], &span, &a, &count);
        status = vyre_pipeline_dispatch(c->plain, &arguments, NULL, &c->outputs, NULL, error);
        if (status == VYRE_OK)
            check(c, c->outputs.items[0].data, counts[i], 1);
    }
    vyre_arguments arguments = arguments_of(c, SMALL, &span, &a, &count);
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch_timed(c->plain, &arguments, NULL, &c->outputs, &timing, NULL, error);
    if (status == VYRE_OK)
        check(c, c->outputs.items[0].data, SMALL, 1);
    arguments = (vyre_arguments){.inputs = &span, .input_count = 1};
    for (int i = 0; i < 2 && status == VYRE_OK; i++) {
        status = vyre_pipeline_dispatch_into(c->trapping, &arguments, i ? &patient : NULL, &c->outputs, NULL, error);
        if (status == VYRE_OK)
            check(c, c->outputs.items[0].data, SMALL, 0);
    }
    return status;
}

static vyre_status in_flight(course *c, vyre_error *error) {
    vyre_span span;
    vyre_scalar a;
    uint64_t counts;
    size_t failed;
    vyre_arguments arguments = arguments_of(c, SMALL, &span, &a, &counts), many[3] = {arguments, arguments, arguments};
    vyre_status status = VYRE_OK;
    for (int i = 0; i < 2 && status == VYRE_OK; i++) {
        status = vyre_pipeline_dispatch_async(c->plain, &arguments, i ? &patient : NULL, &c->pending, error);
        if (status == VYRE_OK)
            status = vyre_pending_wait(c->pending, UINT64_MAX, &c->outputs, NULL, error);
        if (status == VYRE_OK)
            check(c, c->outputs.items[0].data, SMALL, 1);
        vyre_pending_free(c->pending);
        c->pending = NULL;
    }
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch_batch(c->plain, many, 3, NULL, c->several, &failed, NULL, error);
    for (int i = 0; i < 3 && status == VYRE_OK; i++)
        check(c, c->several[i].items[0].data, SMALL, 1);
    return status;
}

static vyre_status resident(course *c, vyre_error *error) {
    vyre_scalar a = vyre_scalar_u32(3);
    vyre_arguments arguments = {.params = &a, .param_count = 1};
    uint32_t back[SMALL];
    vyre_timing timing;
    vyre_outputs nothing[2] = {VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT};
    vyre_status status = vyre_resident_allocate(c->backend, SMALL * 4, NULL, &c->x, error);
    if (status == VYRE_OK)
        status = vyre_resident_allocate(c->backend, SMALL * 4, NULL, &c->y, error);
    if (status == VYRE_OK) /* not a piece of a slab */
        status = vyre_resident_allocate(c->backend, LARGE, NULL, &c->large, error);
    if (status == VYRE_OK)
        status = vyre_resident_upload(c->backend, c->x, c->s->values, SMALL * 4, error);
    vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = c->x},
                                 {.kind = VYRE_RESOURCE_RESIDENT, .resident = c->y}};
    const vyre_resource *rows[2] = {bindings, bindings};
    vyre_step steps[2] = {{.pipeline = c->plain, .arguments = &arguments, .bindings = bindings, .binding_count = 2},
                          {.pipeline = c->trapping, .bindings = &bindings[1], .binding_count = 1}};
    vyre_readback readback = {.resident = c->y, .size = sizeof back, .host = back};
    if (status == VYRE_OK)
        status =
            vyre_pipeline_dispatch_persistent(c->plain, bindings, 2, &arguments, NULL, &c->outputs, NULL, NULL, error);
    if (status == VYRE_OK)
        status =
            vyre_pipeline_dispatch_persistent_batch(c->plain, rows, 2, 2, &arguments, NULL, nothing, NULL, NULL, error);
    for (int i = 0; i < 2 && status == VYRE_OK; i++) {
        status = vyre_sequence_run(c->backend, steps, 2, &readback, 1, i ? &patient : NULL, i ? NULL : &timing, NULL,
                                   NULL, error);
        for (uint32_t k = 0; k < SMALL && status == VYRE_OK; k++)
            c->is_wrong |= back[k] != c->s->values[k] * 3 + 2;
    }
    for (int i = 0; i < 2; i++)
        vyre_outputs_free(&nothing[i]);
    return status;
}

static vyre_status go(course *c, vyre_error *error) {
    vyre_status status = vyre_acquire("opencl", &c->backend, error);
    if (status == VYRE_OK)
        status = vyre_compile(c->backend, c->s->plain, NULL, &c->plain, error);
    if (status == VYRE_OK)
        status = vyre_compile(c->backend, c->s->trapping, NULL, &c->trapping, error);
    if (status == VYRE_OK)
        status = host_bytes(c, error);
    if (status == VYRE_OK)
        status = in_flight(c, error);
    return status == VYRE_OK ? resident(c, error) : status;
}

/* What one backend compiles and stores, another one loads and runs. Whatever fails where binaries are made is told to
 * nobody: they are not stored. */
static vyre_status go_stored(course *c, vyre_error *error) {
    vyre_span span;
    vyre_scalar a;
    uint64_t counts;
    vyre_arguments arguments = arguments_of(c, SMALL, &span, &a, &counts);
    vyre_status status = VYRE_OK;
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    for (int round = 0; round < 2 && status == VYRE_OK; round++) {
        vyre_pipeline_release(c->plain);
        vyre_backend_release(c->backend);
        c->plain = NULL, c->backend = NULL;
        status = vyre_acquire("opencl", &c->backend, error);
        if (status == VYRE_OK)
            status = vyre_compile(c->backend, c->s->plain, NULL, &c->plain, error);
        if (status == VYRE_OK)
            status = vyre_backend_dispatch(c->backend, c->s->plain, &arguments, &patient, &c->outputs, NULL, error);
    }
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch(c->plain, &arguments, NULL, &c->outputs, NULL, error);
    if (status == VYRE_OK)
        check(c, c->outputs.items[0].data, SMALL, 1);
    return status;
}

/* Nothing is known of the device: probes run. One that fails is run again by who compiles next: that is the same call
 * here, and nobody need be told. */
static vyre_status go_with_probe(course *c, vyre_error *error) {
    vy_gpu_probe_forget();
    vyre_status status = vyre_acquire("opencl", &c->backend, error);
    return status == VYRE_OK ? vyre_compile(c->backend, c->s->plain, NULL, &c->plain, error) : status;
}

static void start(course *c, const scenario *s) {
    memset(c, 0, sizeof *c);
    c->s = s;
}

/* Frees what is named first, so that the drill sees those calls too. */
static void end(course *c) {
    const vyre_resident all[] = {c->x, c->y, c->large};
    for (int i = 0; i < 3; i++)
        if (c->backend && all[i].owner)
            vyre_resident_free(c->backend, all[i], NULL);
    vyre_pending_free(c->pending);
    vyre_pipeline_release(c->plain);
    vyre_pipeline_release(c->trapping);
    vyre_backend_release(c->backend);
    vyre_outputs_free(&c->outputs);
    for (int i = 0; i < 3; i++)
        vyre_outputs_free(&c->several[i]);
}

static void scenario_open(scenario *s) {
    vyre_backend *backend;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status status = vyre_acquire("opencl", &backend, &error);
    if (status == VYRE_NOT_FOUND || status == VYRE_UNSUPPORTED)
        VY_SKIP("backend opencl: %s", error.message);
    if (status != VYRE_OK)
        fail_msg("%s", error.message);
    vyre_backend_release(backend);
    s->plain = conform_parse(texts, NULL, 0, "plain");
    s->trapping = conform_parse(texts, NULL, 0, "trapping");
    s->values = malloc(LARGE * sizeof *s->values);
    assert_non_null(s->values);
    for (uint32_t i = 0; i < LARGE; i++)
        s->values[i] = i;
}

static void scenario_close(scenario *s) {
    vyre_program_release(s->plain);
    vyre_program_release(s->trapping);
    free(s->values);
}

/* ---- the drill ---- */

static uint32_t platforms; /* of the loader */

/* Calls whose failure nobody has to hear of: they give something back, or what they ask for is not needed. */
static int may_pass(const char *struck, int32_t result) {
    static const char *const names[] = {"device_info", "platform_info", "finish", "program_build_info"};
    if (platforms > 1 && strcmp(struck, "device_ids") == 0)
        return 1; /* another platform has devices */
    if (shim_find(shim_ends, struck) >= 0)
        return 1;
    if (result == VY_CL_ALLOCATION_FAILED && strcmp(struck, "memory_create") == 0)
        return 1; /* what idle slots hold was given back, and that was enough */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], struck) == 0)
            return 1;
    return 0;
}

static int is_clean(size_t blocks) {
    pthread_mutex_lock(&shim.lock);
    int nothing_is_left = !shim_leaks() && vy_fault_live_blocks() == blocks;
    pthread_mutex_unlock(&shim.lock);
    return nothing_is_left;
}

/* A thread of the library or of the driver may hold the last reference for a moment. */
static void expect_clean(size_t blocks, const char *what, uint64_t k, const char *struck) {
    for (int i = 0; i < 5000 && !is_clean(blocks); i++)
        usleep(1000);
    if (shim_leaks())
        fail_msg("%s %llu (%s) leaves on the device:%s", what, (unsigned long long)k, struck, shim_leaks());
    if (vy_fault_live_blocks() != blocks)
        fail_msg("%s %llu (%s) leaves %lld blocks on the host", what, (unsigned long long)k, struck,
                 (long long)(vy_fault_live_blocks() - blocks));
}

/* From the k-th call on all fail, as after a loss: every step ends, and nothing is left when everything was given
 * back. */
static uint64_t drill_loss(const scenario *s, way how, uint64_t step) {
    size_t blocks = vy_fault_live_blocks();
    const char *struck = "";
    uint64_t losses = 0;
    for (uint64_t k = 1; struck; k += step, losses++) {
        course c;
        vyre_error error = VYRE_ERROR_INIT;
        start(&c, s);
        shim_start_losing(k, VY_CL_INVALID_QUEUE);
        vyre_status status = how(&c, &error);
        if (status != VYRE_OK && (!error.message[0] || !error.fix[0]))
            fail_msg("a loss at call %llu: no message or no fix", (unsigned long long)k);
        if (status == VYRE_OK && c.is_wrong)
            fail_msg("a loss at call %llu: the bits are wrong", (unsigned long long)k);
        end(&c);
        struck = shim_stop();
        expect_clean(blocks, "a loss at call", k, struck ? struck : "none");
    }
    return losses;
}

/* Every step-th call, and the first that is not made ends it. Returns how many there were. */
static uint64_t drill(const scenario *s, way how, int32_t result, uint64_t step) {
    size_t blocks = vy_fault_live_blocks();
    for (uint64_t k = 1;; k += step) {
        course c;
        vyre_error error = VYRE_ERROR_INIT;
        start(&c, s);
        shim_start(k, result);
        vyre_status status = how(&c, &error);
        const char *struck = shim.struck;
        if (status != VYRE_OK && (!error.message[0] || !error.fix[0]))
            fail_msg("call %llu (%s): no message or no fix", (unsigned long long)k, struck ? struck : "none");
        if (status == VYRE_OK && c.is_wrong)
            fail_msg("call %llu (%s): the bits are wrong", (unsigned long long)k, struck ? struck : "none");
        if (status == VYRE_OK && struck && how != go_stored && how != go_with_probe && !may_pass(struck, result))
            fail_msg("call %llu (%s) failed, and nobody was told", (unsigned long long)k, struck);
        if (status != VYRE_OK && !struck)
            fail_msg("no call failed, but %s: %s", vyre_status_name(status), error.message);
        end(&c);
        struck = shim_stop();
        expect_clean(blocks, "call", k, struck ? struck : "none");
        if (!struck)
            return k - 1;
    }
}

static void count_platforms(void) {
    vy_ocl_dynamic_symbols api;
    assert_int_equal(vy_ocl_dynamic_symbols_open(vy_ocl_dynamic_symbols_file(), &api, NULL), VYRE_OK);
    if (api.platform_ids(0, NULL, &platforms) != VY_CL_OK)
        platforms = 0;
}

static void drill_all(const scenario *s, const char *what) {
    static const int32_t results[] = {VY_CL_INVALID_VALUE, VY_CL_ALLOCATION_FAILED, VY_CL_INVALID_QUEUE};
    uint64_t calls[3];
    course c;
    vyre_error error = VYRE_ERROR_INIT;
    start(&c, s); /* so that probes have run */
    assert_int_equal(go(&c, &error), VYRE_OK);
    end(&c);
    for (int i = 0; i < 3; i++)
        calls[i] = drill(s, go, results[i], i ? 5 : 1); /* prime to most periods */
    uint64_t losses = drill_loss(s, go, 7);
    printf("%s: %llu calls failed one by one; lost from the k-th call on: %llu times\n", what,
           (unsigned long long)calls[0], (unsigned long long)losses);
    assert_true(calls[0] > 100);
}

static void every_call_of_the_driver_may_fail(void **state) {
    (void)state;
    scenario s;
    shim_install();
    scenario_open(&s);
    count_platforms();
    shim_keep_programs();
    drill_all(&s, "as the device is");
    setenv("VYRE_OPENCL_SHARED", "0", 1);
    drill_all(&s, "memory of the device");
    unsetenv("VYRE_OPENCL_SHARED");
    setenv("VYRE_OPENCL_PROBE", "0", 1);
    drill_all(&s, "in slices");
    unsetenv("VYRE_OPENCL_PROBE");
    vyre_cache_set_folder(folder, NULL);
    uint64_t calls = drill(&s, go_stored, VY_CL_INVALID_VALUE, 1), losses = drill_loss(&s, go_stored, 5);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    vyre_cache_set_folder("", NULL);
    printf("stored and loaded: %llu calls failed one by one; lost %llu times\n", (unsigned long long)calls,
           (unsigned long long)losses);
    calls = drill(&s, go_with_probe, VY_CL_INVALID_VALUE, 3);
    printf("with probes: %llu calls\n", (unsigned long long)calls);
    scenario_close(&s);
    shim_end_keeping();
}

/* ---- recovery ---- */

static vyre_status dispatch(course *c, size_t count, vyre_error *error) {
    vyre_span span;
    vyre_scalar a;
    uint64_t counts;
    vyre_arguments arguments = arguments_of(c, count, &span, &a, &counts);
    vyre_status status = vyre_pipeline_dispatch(c->plain, &arguments, NULL, &c->outputs, NULL, error);
    if (status == VYRE_OK)
        check(c, c->outputs.items[0].data, count, 1);
    return status;
}

/* 0: the k-th call of a dispatch is none. */
static int lose_and_recover(course *c, uint64_t k) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    shim_start_losing(k, VY_CL_INVALID_QUEUE);
    vyre_status status = dispatch(c, SMALL - 1, &error); /* a different length, so that the launch sets an argument */
    if (!shim_stop())
        return 0;
    assert_int_equal(status, VYRE_DEVICE_LOST);
    assert_int_equal(vyre_backend_device_lost(c->backend), 1);
    assert_int_equal(dispatch(c, SMALL, &error), VYRE_DEVICE_LOST); /* it stays lost */
    if (vyre_backend_try_recover(c->backend, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(vyre_backend_device_lost(c->backend), 0);
    assert_int_equal(dispatch(c, SMALL, &error), VYRE_OK);
    assert_int_equal(vyre_resident_download(c->backend, c->x, &bytes, &error), VYRE_OK); /* it has a source */
    assert_memory_equal(bytes.data, c->s->values, SMALL * 4);
    vyre_bytes_free(&bytes);
    return 1;
}

static void a_loss_that_was_injected_is_recovered_from(void **state) {
    (void)state;
    scenario s;
    course c;
    vyre_error error = VYRE_ERROR_INIT;
    shim_install();
    scenario_open(&s);
    size_t blocks = vy_fault_live_blocks();
    start(&c, &s);
    assert_int_equal(vyre_acquire("opencl", &c.backend, &error), VYRE_OK);
    assert_int_equal(vyre_compile(c.backend, s.plain, NULL, &c.plain, &error), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(c.backend, SMALL * 4, s.values, &c.x, &error), VYRE_OK);
    assert_int_equal(dispatch(&c, SMALL, &error), VYRE_OK);
    uint64_t calls = 0;
    while (lose_and_recover(&c, calls + 1))
        calls++;
    assert_true(calls >= 3); /* arguments, the launch, the wait */
    assert_int_equal(c.is_wrong, 0);
    end(&c);
    expect_clean(blocks, "recovery", calls, "none");
    scenario_close(&s);
    vy_ocl_dynamic_symbols_wrap(NULL);
}

/* ---- memory ---- */

static void memory_that_is_not_there_is_told_with_sizes(void **state) {
    (void)state;
    scenario s;
    vyre_backend *backend;
    vyre_resident x;
    vyre_error error = VYRE_ERROR_INIT;
    shim_install();
    scenario_open(&s);
    assert_int_equal(vyre_acquire("opencl", &backend, &error), VYRE_OK);
    for (uint64_t k = 1; k < 3; k++) { /* the second try comes when idle slots were freed */
        shim_start_losing(1, VY_CL_ALLOCATION_FAILED);
        vyre_status status = vyre_resident_allocate(backend, 12345678, NULL, &x, &error);
        shim_stop();
        assert_int_equal(status, VYRE_NO_DEVICE_MEMORY);
        assert_non_null(strstr(error.message, "12345"));
    }
    assert_int_equal(vyre_backend_device_lost(backend), 0);
    assert_int_equal(vyre_resident_allocate(backend, 12345678, NULL, &x, &error), VYRE_OK);
    vyre_resident_free(backend, x, NULL);
    vyre_backend_release(backend);
    scenario_close(&s);
    vy_ocl_dynamic_symbols_wrap(NULL);
}

int main(void) {
    if (!mkdtemp(folder))
        return 1;
    setenv("VYRE_CACHE_DIR", "", 1);
    vy_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_of_the_driver_may_fail),
        cmocka_unit_test(a_loss_that_was_injected_is_recovered_from),
        cmocka_unit_test(memory_that_is_not_there_is_told_with_sizes),
    };
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failures;
}
