/* Kernels that are to end, where something else is going on: steps behind one that was stopped, deadlines at the end
 * of the clock, memory that is out meanwhile. */
#include "backends/conform_control.h"

#include "backends/cuda/launch.h"
#include "backends/cuda/stream_slot.h"
#include "driver/async.h"
#include "driver/backend.h"
#include "driver/dispatch.h"
#include "vyre/async.h"

#include <inttypes.h>
#include <signal.h>

/* ---- sequences ---- */

static const char texts[] =
    "program endless {\n buffer x : u32 read_write\n workgroup 32\n grid over x\n let i = global_id.x\n"
    " var n = 1u32\n while n != 0 { n = n * 3 }\n x[i] = n\n}\n"
    "program plain {\n buffer x : u32 read_write\n workgroup 32\n grid over x\n let i = global_id.x\n"
    " if i < len(x) { x[i] = x[i] + 1 }\n}\n"
    "program tall {\n buffer x : u32 read_write\n workgroup 1\n grid 1, 65537\n let i = global_id.y\n"
    " if i < len(x) && x[i] == 12345 { trap 3 }\n if i < len(x) { x[i] = x[i] + 1 }\n}\n"
    "program refuses {\n buffer x : u32 read_write\n workgroup 32\n grid over x\n let i = global_id.x\n"
    " if x[i] == 12345 { trap 3 }\n if i < len(x) { x[i] = x[i] + 1 }\n}\n";

enum { ENDLESS, PLAIN, TALL, REFUSES, PROGRAMS, COUNT = 32 };

typedef struct rig {
    conform c;
    vyre_pipeline *pipelines[PROGRAMS];
    vyre_resident buffer;
    vyre_resource binding;
} rig;

static void rig_open(rig *r) {
    static const char *const names[] = {"endless", "plain", "tall", "refuses"};
    const vyre_compile_options options = {.struct_size = sizeof options, .cancellable = 1};
    vyre_error error = VYRE_ERROR_INIT;
    conform_open(&r->c, "cuda");
    for (int i = 0; i < PROGRAMS; i++) {
        vyre_program *program = conform_parse(texts, NULL, 0, names[i]);
        if (vyre_compile(r->c.backend, program, &options, &r->pipelines[i], &error) != VYRE_OK)
            fail_msg("%s: %s", names[i], error.message);
        vyre_program_release(program);
    }
    assert_int_equal(vyre_resident_allocate(r->c.backend, COUNT * 4, NULL, &r->buffer, NULL), VYRE_OK);
    r->binding = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = r->buffer};
}

static void rig_close(rig *r) {
    assert_int_equal(vyre_resident_free(r->c.backend, r->buffer, NULL), VYRE_OK);
    for (int i = 0; i < PROGRAMS; i++)
        vyre_pipeline_release(r->pipelines[i]);
    conform_close(&r->c);
}

static vyre_status run_steps(rig *r, const int *programs, size_t count, size_t *failed, vyre_error *error) {
    const vyre_dispatch_config config = {.timeout_ns = 30000000};
    vyre_step steps[4];
    for (size_t i = 0; i < count; i++)
        steps[i] = (vyre_step){.pipeline = r->pipelines[programs[i]], .bindings = &r->binding, .binding_count = 1};
    return vyre_sequence_run(r->c.backend, steps, count, NULL, 0, &config, NULL, failed, NULL, error);
}

static vy_cuda *device_of(rig *r) {
    return r->c.backend->self;
}

/* With a clock of which we think that it is behind, kernels do not see that their time is up, and the host tells them.
 * Clocks are compared again after a minute. */
static void mistake_the_clock(rig *r) {
    size_t failed;
    vyre_error error;
    assert_int_equal(run_steps(r, (int[]){ENDLESS}, 1, &failed, &error), VYRE_TIMEOUT);
    assert_true(atomic_load(&device_of(r)->clock_taken_ns) != 0);
    atomic_fetch_add(&device_of(r)->clock_offset, INT64_C(600000000000));
    atomic_store(&device_of(r)->clock_taken_ns, vy_clock_now());
}

/* The large grid is several launches, and each has the control block for itself: what those before it said must have
 * been read. */
static void a_step_that_was_stopped_ends_a_sequence_with_a_large_grid(void **state) {
    (void)state;
    static rig r;
    size_t failed = 99;
    vyre_error error = VYRE_ERROR_INIT;
    rig_open(&r);
    mistake_the_clock(&r);
    assert_int_equal(run_steps(&r, (int[]){ENDLESS, TALL}, 2, &failed, &error), VYRE_TIMEOUT);
    rig_close(&r);
}

/* They are waited for where the next one may trap: it is not the one that was late. */
static void a_step_that_did_not_start_is_not_named_for_those_before(void **state) {
    (void)state;
    static const int later[] = {REFUSES, TALL};
    static rig r;
    rig_open(&r);
    for (int i = 0; i < 2; i++) {
        size_t failed = 99;
        vyre_error error = VYRE_ERROR_INIT;
        assert_int_equal(run_steps(&r, (int[]){ENDLESS, PLAIN, later[i]}, 3, &failed, &error), VYRE_TIMEOUT);
        assert_int_equal(failed, 3);
    }
    rig_close(&r);
}

/* ---- clocks ---- */

static uint64_t deadline_on_device(uint64_t deadline_ns, int64_t offset) {
    static vy_cuda cuda;
    uint64_t out = 1;
    vyre_error error;
    atomic_store(&cuda.clock_offset, offset);
    atomic_store(&cuda.clock_taken_ns, vy_clock_now());
    assert_int_equal(vy_cuda_clock_deadline(&cuda, NULL, deadline_ns, &out, &error), VYRE_OK);
    return out;
}

static void deadlines_at_the_ends_of_the_clock_stay_there(void **state) {
    (void)state;
    const int64_t years = INT64_C(1763164800000000000); /* of the device's clock, which counts from 1970 */
    assert_true(deadline_on_device(5000, years) == 5000 + (uint64_t)years);
    assert_true(deadline_on_device(UINT64_MAX - (uint64_t)years - 1, years) == UINT64_MAX - 1);
    assert_true(deadline_on_device(UINT64_MAX - (uint64_t)years + 7, years) == UINT64_MAX);
    assert_true(deadline_on_device(UINT64_MAX - 1, years) == UINT64_MAX);
    assert_true(deadline_on_device(UINT64_MAX, 0) == UINT64_MAX);
    assert_true(deadline_on_device(5000, -3000) == 2000);
    assert_true(deadline_on_device(5000, -5000) == 0);
    assert_true(deadline_on_device(5000, -years) == 0);
    assert_true(deadline_on_device(UINT64_MAX, INT64_MIN) == INT64_MAX);
}

/* Through the interface: centuries are patience, not a past. */
static void a_timeout_of_centuries_is_none(void **state) {
    (void)state;
    static rig r;
    rig_open(&r);
    for (uint64_t less = UINT64_C(1) << 40; less; less <<= 1) {
        const vyre_dispatch_config config = {.timeout_ns = UINT64_MAX - less};
        vyre_error error = VYRE_ERROR_INIT;
        vyre_status status = vyre_pipeline_dispatch_persistent(r.pipelines[PLAIN], &r.binding, 1, NULL, &config,
                                                               &r.c.given, NULL, NULL, &error);
        if (status != VYRE_OK)
            fail_msg("a timeout of %" PRIu64 " ns: %s", config.timeout_ns, error.message);
    }
    rig_close(&r);
}

/* ---- signals ---- */

static vy_cuda_dynamic_symbols real;
static vy_cu_event recorded;   /* the last one */
static vy_cu_event gate;       /* control blocks are copied behind it; NULL: at once */
static _Atomic int is_failing; /* the next event that is recorded */

static int copy_behind(vy_cu_address to, const void *from, size_t size, vy_cu_stream stream) {
    if (gate && size == sizeof(vy_launch_control)) {
        int result = real.stream_wait_event(stream, gate, 0);
        if (result != VY_CU_OK)
            return result;
    }
    return real.copy_to_device(to, from, size, stream);
}
static int note_event(vy_cu_event event, vy_cu_stream stream) {
    recorded = event;
    return atomic_exchange(&is_failing, 0) ? VY_CU_INVALID_VALUE : real.event_record(event, stream);
}
static void stand_between(vy_cuda_dynamic_symbols *api) {
    real = *api;
    api->copy_to_device = copy_behind;
    api->event_record = note_event;
}

static vyre_status start(rig *r, int program, vyre_pending **out) {
    static uint32_t x[COUNT];
    vyre_span input = {x, sizeof x};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    return vyre_pipeline_dispatch_async(r->pipelines[program], &arguments, NULL, out, NULL);
}

/* Two stream_slots, with all that a flight needs: a driver may wait for what runs before it gives memory. Their
 * control blocks are to be copied again. */
static void warm_up(rig *r) {
    vyre_pending *pending[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(start(r, PLAIN, &pending[i]), VYRE_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(vyre_pending_wait(pending[i], UINT64_MAX, &r->c.given, NULL, NULL), VYRE_OK);
        vyre_pending_free(pending[i]);
    }
    vy_async_wait_all(r->c.backend, 0);
    vy_gpu_slot *last_used = atomic_load(&device_of(r)->base.last_used), *idle = device_of(r)->base.idle;
    assert_true(last_used && idle);
    last_used->is_control_clean = idle->is_control_clean = 0;
}

/* The second one waits on the device behind the first. It is told to end before its control block is there, which says
 * otherwise. */
static void who_is_told_before_it_began_ends_too(void **state) {
    (void)state;
    static rig r;
    vyre_pending *first, *second;
    vy_cuda_dynamic_symbols_wrap(stand_between);
    rig_open(&r);
    warm_up(&r);
    assert_int_equal(start(&r, ENDLESS, &first), VYRE_OK);
    gate = recorded;
    assert_int_equal(start(&r, ENDLESS, &second), VYRE_OK);
    gate = NULL;
    vyre_pending_cancel(second);
    assert_int_equal(real.stream_synchronize(device_of(&r)->signal), VY_CU_OK); /* it was said */
    vyre_pending_cancel(first);
    vy_async_wait_all(r.c.backend, 0); /* both have ended */
    vyre_pending_free(first);
    vyre_pending_free(second);
    rig_close(&r);
    vy_cuda_dynamic_symbols_wrap(NULL);
}

/* Nobody has a handle by which it could be told. */
static void a_kernel_without_end_ends_if_its_start_fails(void **state) {
    (void)state;
    static rig r;
    vyre_pending *pending;
    vy_cuda_dynamic_symbols_wrap(stand_between);
    rig_open(&r);
    is_failing = 1;
    assert_int_equal(start(&r, ENDLESS, &pending), VYRE_UNSUPPORTED);
    assert_int_equal(is_failing, 0);
    assert_int_equal(vyre_backend_device_lost(r.c.backend), 0);
    rig_close(&r);
    vy_cuda_dynamic_symbols_wrap(NULL);
}

/* ---- memory ---- */

enum { TOO_MUCH = 1 << 28 };
static _Atomic int refused, waited_for_all;
static _Atomic int is_out, freed; /* there is no memory at all */

static int refuse_much(vy_cu_address *address, size_t size, vy_cu_pool pool, vy_cu_stream stream) {
    if (size < TOO_MUCH && !is_out)
        return real.pool_allocate(address, size, pool, stream);
    refused++;
    return VY_CU_OUT_OF_MEMORY;
}
static int note_free(vy_cu_address address, vy_cu_stream stream) {
    freed++;
    return real.pool_free(address, stream);
}
static int note_wait(void) {
    waited_for_all++;
    return VY_CU_OK;
}
static void run_out(vy_cuda_dynamic_symbols *api) {
    real = *api;
    if (api->pool_allocate) {
        api->pool_allocate = refuse_much;
        api->pool_free = note_free;
    }
    api->context_synchronize = note_wait;
}

/* Without a pool the driver itself waits for all that runs. */
static void open_with_pool(rig *r) {
    vy_cuda_dynamic_symbols_wrap(run_out);
    rig_open(r);
    if (device_of(r)->pool)
        return;
    rig_close(r);
    vy_cuda_dynamic_symbols_wrap(NULL);
    VY_SKIP("the device has no memory pools");
}

/* What is in flight may end only because this thread says so later. */
static void memory_that_is_out_waits_for_nobodys_kernel(void **state) {
    (void)state;
    static rig r;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_pending *pending;
    vyre_resident resident;
    open_with_pool(&r);
    warm_up(&r);
    refused = waited_for_all = 0;
    assert_int_equal(start(&r, ENDLESS, &pending), VYRE_OK);
    vyre_status status = vyre_resident_allocate(r.c.backend, TOO_MUCH, NULL, &resident, &error);
    assert_int_equal(vyre_pending_is_ready(pending), 0);
    vyre_pending_cancel(pending);
    assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, &r.c.given, NULL, NULL), VYRE_CANCELLED);
    vy_async_wait_all(r.c.backend, 0);
    vyre_pending_free(pending);
    assert_int_equal(waited_for_all, 0);
    assert_int_equal(status, VYRE_NO_DEVICE_MEMORY);
    assert_int_equal(refused, 2);
    rig_close(&r);
    vy_cuda_dynamic_symbols_wrap(NULL);
}

/* All stream_slots are in use, and there is no memory for another. */
static void memory_is_freed_where_there_is_none_for_anything(void **state) {
    (void)state;
    static rig r;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_pending *pending;
    vyre_resident resident;
    open_with_pool(&r);
    assert_int_equal(vyre_resident_allocate(r.c.backend, 4096, NULL, &resident, NULL), VYRE_OK);
    assert_int_equal(start(&r, ENDLESS, &pending), VYRE_OK);
    is_out = 1;
    freed = 0;
    vyre_status status = vyre_resident_free(r.c.backend, resident, &error);
    is_out = 0;
    int was_freed = freed;
    vyre_pending_cancel(pending);
    vy_async_wait_all(r.c.backend, 0);
    vyre_pending_free(pending);
    assert_int_equal(status, VYRE_OK);
    assert_int_equal(was_freed, 1);
    rig_close(&r);
    vy_cuda_dynamic_symbols_wrap(NULL);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_that_was_stopped_ends_a_sequence_with_a_large_grid),
        cmocka_unit_test(a_step_that_did_not_start_is_not_named_for_those_before),
        cmocka_unit_test(deadlines_at_the_ends_of_the_clock_stay_there),
        cmocka_unit_test(a_timeout_of_centuries_is_none),
        cmocka_unit_test(who_is_told_before_it_began_ends_too),
        cmocka_unit_test(a_kernel_without_end_ends_if_its_start_fails),
        cmocka_unit_test(memory_that_is_out_waits_for_nobodys_kernel),
        cmocka_unit_test(memory_is_freed_where_there_is_none_for_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
