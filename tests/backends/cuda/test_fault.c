/* The k-th call of the driver fails, for every k of a scenario that uses everything: an error with a fix each time,
 * nothing left on the device or the host; and a device that was lost that way comes back. */
#include "backends/conform.h"
#include "backends/cuda/shim.h"

#include "backends/cuda/executable.h"
#include "backends/cuda/graph.h"
#include "driver/pipeline.h"
#include "support/fault.h"
#include "vyre/async.h"
#include "vyre/cache.h"

#include <unistd.h>

static const char texts[] =
    "program plain {\n param a : u32\n buffer x : u32 read\n buffer y : u32 write\n workgroup 64\n grid over y\n"
    " let i = global_id.x\n if i < len(y) { y[i] = x[i] * a + 1 }\n}\n"
    "program trapping {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n let i = global_id.x\n"
    " var n = x[i]\n while n > 1000000 { n = n / 2 }\n if n == 999999 { trap 7 }\n if i < len(x) { x[i] = n + 1 }\n}\n"
    "program meeting {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n let i = global_id.x\n"
    " let y = x[len(x) - 1 - i]\n if y == 999999 { trap 7 }\n grid_barrier\n"
    " if i < len(x) { x[len(x) - 1 - i] = y + 1 }\n}\n"
    "program making {\n buffer x : u32 read_write\n workgroup 1\n grid 1\n x[1] = 8\n x[2] = 2\n x[3] = 1\n}\n"
    "program counting {\n buffer x : u32 read_write\n buffer y : u32 read_write\n workgroup 64\n"
    " grid indirect x[1]\n if global_id.x == 0 { x[1 + global_id.y] = 77 }\n atomic_add(y[0], 1)\n}\n";

static char folder[] = "/tmp/vyre-cuda-fault-XXXXXX";

/* Elements: what is not copied at all, what is in one piece, in several, and by several threads. */
enum { SMALL = 1000, MEDIUM = 100000, LARGE = 600000, SLICED = 4500000 };

typedef struct scenario {
    vyre_program *plain, *trapping, *meeting, *making, *counting;
    uint32_t *values; /* SLICED */
    int is_wrong;
} scenario;

/* One step after the other; the first that fails ends it. */
typedef struct course {
    const scenario *s;
    vyre_backend *backend;
    vyre_pipeline *plain, *trapping;
    vyre_resident x, y;
    vyre_pending *pending;
    vyre_outputs outputs, several[3];
    int is_wrong;
    int may_do_without; /* nothing failed before a kernel was compiled that one can do without */
} course;

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

static vyre_status host_bytes(course *c, vyre_error *error) {
    vyre_span span;
    vyre_scalar a;
    uint64_t counts;
    vyre_timing timing;
    vyre_dispatch_config patient = {.timeout_ns = UINT64_C(60000000000)};
    vyre_arguments arguments = arguments_of(c, SMALL, &span, &a, &counts);
    vyre_status status = vyre_pipeline_dispatch(c->plain, &arguments, NULL, &c->outputs, NULL, error);
    if (status == VYRE_OK)
        check(c, c->outputs.items[0].data, SMALL, 1);
    arguments = arguments_of(c, MEDIUM, &span, &a, &counts);
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch(c->plain, &arguments, NULL, &c->outputs, NULL, error);
    if (status == VYRE_OK)
        check(c, c->outputs.items[0].data, MEDIUM, 1);
    arguments = arguments_of(c, LARGE, &span, &a, &counts);
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch_timed(c->plain, &arguments, NULL, &c->outputs, &timing, NULL, error);
    if (status == VYRE_OK)
        check(c, c->outputs.items[0].data, LARGE, 1);
    arguments = (vyre_arguments){.inputs = &span, .input_count = 1};
    span.size = SMALL * 4;
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch_into(c->trapping, &arguments, NULL, &c->outputs, NULL, error);
    if (status == VYRE_OK)
        check(c, c->outputs.items[0].data, SMALL, 0);
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch(c->trapping, &arguments, &patient, &c->outputs, NULL, error);
    if (status == VYRE_OK)
        check(c, c->outputs.items[0].data, SMALL, 0);
    return status;
}

static vyre_status in_flight(course *c, vyre_error *error) {
    vyre_span span;
    vyre_scalar a;
    uint64_t counts;
    size_t failed;
    vyre_arguments arguments = arguments_of(c, SMALL, &span, &a, &counts), many[3] = {arguments, arguments, arguments};
    vyre_status status = vyre_pipeline_dispatch_async(c->plain, &arguments, NULL, &c->pending, error);
    if (status == VYRE_OK)
        status = vyre_pending_wait(c->pending, UINT64_MAX, &c->outputs, NULL, error);
    if (status == VYRE_OK)
        check(c, c->outputs.items[0].data, SMALL, 1);
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
    vyre_status status = vyre_resident_allocate(c->backend, SMALL * 4, NULL, &c->x, error);
    if (status == VYRE_OK)
        status = vyre_resident_allocate(c->backend, SMALL * 4, NULL, &c->y, error);
    if (status == VYRE_OK)
        status = vyre_resident_upload(c->backend, c->x, c->s->values, SMALL * 4, error);
    vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = c->x},
                                 {.kind = VYRE_RESOURCE_RESIDENT, .resident = c->y}};
    vyre_step step = {.pipeline = c->plain, .arguments = &arguments, .bindings = bindings, .binding_count = 2};
    vyre_readback readback = {.resident = c->y, .size = sizeof back, .host = back};
    if (status == VYRE_OK)
        status =
            vyre_pipeline_dispatch_persistent(c->plain, bindings, 2, &arguments, NULL, &c->outputs, NULL, NULL, error);
    if (status == VYRE_OK)
        status = vyre_sequence_run(c->backend, &step, 1, &readback, 1, NULL, NULL, NULL, NULL, error);
    if (status == VYRE_OK)
        check(c, back, SMALL, 1);
    return status;
}

/* From now on its rows are worth a kernel of their own (executable.h). */
static void ask_for_tables(course *c) {
    vy_executable *code;
    if (vy_pipeline_executable(c->plain, (vy_stop_condition){0}, 0, &code, NULL) == VYRE_OK)
        atomic_store(&((vy_cuda_executable *)((vy_gpu_pipeline *)code->entries->self)->code)->rows,
                     VY_CUDA_BATCHED_COMPILE_AFTER);
    c->may_do_without = !shim.struck;
}

/* Rows and steps that come again, then with other params: as they are, as graphs, as graphs that are changed, as
 * tables. */
static vyre_status graphs(course *c, vyre_error *error) {
    enum { ROWS = 5, EACH = SMALL / ROWS };
    vyre_resource bindings[ROWS][2];
    const vyre_resource *rows[ROWS];
    vyre_outputs outputs[ROWS];
    vyre_step steps[ROWS];
    uint32_t back[SMALL];
    vyre_readback readback = {.resident = c->y, .size = sizeof back, .host = back};
    vyre_status status = VYRE_OK;
    memset(outputs, 0, sizeof outputs);
    for (int round = 0; round < 6 && status == VYRE_OK; round++) {
        if (round == 4)
            ask_for_tables(c);
        vyre_scalar a = vyre_scalar_u32(round < 3 ? 3 : 4);
        vyre_arguments arguments = {.params = &a, .param_count = 1};
        for (size_t i = 0; i < ROWS; i++) {
            for (int b = 0; b < 2; b++)
                bindings[i][b] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT,
                                                 .resident = b ? c->y : c->x,
                                                 .offset = i * EACH * 4,
                                                 .size = EACH * 4};
            rows[i] = bindings[i];
            steps[i] =
                (vyre_step){.pipeline = c->plain, .arguments = &arguments, .bindings = bindings[i], .binding_count = 2};
        }
        status = vyre_pipeline_dispatch_persistent_batch(c->plain, rows, 2, ROWS, &arguments, NULL, outputs, NULL, NULL,
                                                         error);
        if (status == VYRE_OK)
            status = vyre_sequence_run(c->backend, steps, round == 2 ? ROWS - 1 : ROWS, &readback, 1, NULL, NULL, NULL,
                                       NULL, error);
        for (uint32_t i = 0; i < SMALL && status == VYRE_OK; i++)
            c->is_wrong |= back[i] != c->s->values[i] * (round < 3 ? 3 : 4) + 1;
    }
    for (int i = 0; i < ROWS; i++)
        vyre_outputs_free(&outputs[i]);
    return status;
}

static vyre_status go(course *c, vyre_error *error) {
    vyre_status status = vyre_acquire("cuda", &c->backend, error);
    if (status == VYRE_OK)
        status = vyre_compile(c->backend, c->s->plain, NULL, &c->plain, error);
    if (status == VYRE_OK)
        status = vyre_compile(c->backend, c->s->trapping, NULL, &c->trapping, error);
    if (status == VYRE_OK)
        status = host_bytes(c, error);
    if (status == VYRE_OK)
        status = in_flight(c, error);
    if (status == VYRE_OK)
        status = resident(c, error);
    return status == VYRE_OK ? graphs(c, error) : status;
}

/* Grid barriers inside one launch; what fails on the way there leaves the several. */
static vyre_status go_together(course *c, vyre_error *error) {
    vyre_span span = {c->s->values, SMALL * 4};
    vyre_arguments arguments = {.inputs = &span, .input_count = 1};
    vyre_dispatch_config patient = {.timeout_ns = UINT64_C(60000000000)};
    vyre_status status = vyre_acquire("cuda", &c->backend, error);
    if (status == VYRE_OK)
        status = vyre_compile(c->backend, c->s->meeting, NULL, &c->plain, error);
    c->may_do_without = status == VYRE_OK; /* the stages were compiled */
    for (int i = 0; i < 3 && status == VYRE_OK; i++) {
        status = vyre_pipeline_dispatch(c->plain, &arguments, i == 1 ? &patient : NULL, &c->outputs, NULL, error);
        if (status == VYRE_OK)
            check(c, c->outputs.items[0].data, SMALL, 0);
    }
    return status;
}

/* Grids that the device reads: a step makes that of the next, which overwrites it; one is over the limits. */
static vyre_status go_indirect(course *c, vyre_error *error) {
    static const uint32_t zeros[4], wrong[4] = {0, UINT32_MAX, 1, 1};
    uint32_t back[4] = {0};
    size_t failed = 0;
    vyre_status status = vyre_acquire("cuda", &c->backend, error);
    if (status == VYRE_OK)
        status = vyre_compile(c->backend, c->s->making, NULL, &c->plain, error);
    if (status == VYRE_OK)
        status = vyre_compile(c->backend, c->s->counting, NULL, &c->trapping, error);
    if (status == VYRE_OK)
        status = vyre_resident_allocate(c->backend, sizeof zeros, zeros, &c->x, error);
    if (status == VYRE_OK)
        status = vyre_resident_allocate(c->backend, sizeof zeros, zeros, &c->y, error);
    vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT, .resident = c->x},
                                 {.kind = VYRE_RESOURCE_RESIDENT, .resident = c->y}};
    vyre_step steps[2] = {{.pipeline = c->plain, .bindings = bindings, .binding_count = 1},
                          {.pipeline = c->trapping, .bindings = bindings, .binding_count = 2}};
    vyre_readback readback = {.resident = c->y, .size = sizeof back, .host = back};
    for (uint32_t i = 1; i <= 2 && status == VYRE_OK; i++) {
        status = vyre_sequence_run(c->backend, steps, 2, &readback, 1, NULL, NULL, NULL, NULL, error);
        c->is_wrong |= status == VYRE_OK && back[0] != i * 16 * 64;
    }
    if (status == VYRE_OK)
        status = vyre_resident_upload(c->backend, c->x, zeros, sizeof zeros, error);
    if (status == VYRE_OK)
        status =
            vyre_pipeline_dispatch_persistent(c->trapping, bindings, 2, NULL, NULL, &c->outputs, NULL, NULL, error);
    if (status == VYRE_OK)
        status = vyre_resident_upload(c->backend, c->x, wrong, sizeof wrong, error);
    if (status == VYRE_OK) {
        status = vyre_sequence_run(c->backend, &steps[1], 1, NULL, 0, NULL, NULL, &failed, NULL, error);
        c->is_wrong |= status == VYRE_OK || (status == VYRE_LIMIT && failed != 0);
        status = status == VYRE_LIMIT ? VYRE_OK : status;
    }
    return status;
}

/* What one backend compiles and stores, another one loads and runs. Whatever fails where binaries are made is told to
 * nobody: they are not stored. */
static vyre_status go_stored(course *c, vyre_error *error) {
    vyre_span span;
    vyre_scalar a;
    uint64_t counts;
    vyre_dispatch_config patient = {.timeout_ns = UINT64_C(60000000000)};
    vyre_arguments arguments = arguments_of(c, SMALL, &span, &a, &counts);
    vyre_status status = VYRE_OK;
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    for (int round = 0; round < 2 && status == VYRE_OK; round++) {
        vyre_pipeline_release(c->plain);
        vyre_pipeline_release(c->trapping);
        vyre_backend_release(c->backend);
        c->plain = c->trapping = NULL, c->backend = NULL;
        status = vyre_acquire("cuda", &c->backend, error);
        if (status == VYRE_OK)
            status = vyre_compile(c->backend, c->s->plain, NULL, &c->plain, error);
        if (status == VYRE_OK)
            status = vyre_compile(c->backend, c->s->counting, NULL, &c->trapping, error);
        if (status == VYRE_OK)
            vyre_backend_flush_cache(c->backend); /* at once: so the k-th call is the same each time */
        if (status == VYRE_OK)
            status = vyre_backend_dispatch(c->backend, c->s->plain, &arguments, &patient, &c->outputs, NULL, error);
    }
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch(c->plain, &arguments, NULL, &c->outputs, NULL, error);
    if (status == VYRE_OK)
        check(c, c->outputs.items[0].data, SMALL, 1);
    return status;
}

/* A probe that fails is run again by who compiles next: that is the same call here, and nobody need be told. */
static vyre_status go_with_probe(course *c, vyre_error *error) {
    vy_gpu_probe_forget();
    vyre_status status = vyre_acquire("cuda", &c->backend, error);
    return status == VYRE_OK ? vyre_compile(c->backend, c->s->plain, NULL, &c->plain, error) : status;
}

/* By several threads, in slices: which call is the k-th is up to them. */
static vyre_status go_large(course *c, vyre_error *error) {
    vyre_span span;
    vyre_scalar a;
    uint64_t counts;
    vyre_arguments arguments = arguments_of(c, SLICED, &span, &a, &counts);
    vyre_status status = vyre_acquire("cuda", &c->backend, error);
    if (status == VYRE_OK)
        status = vyre_compile(c->backend, c->s->plain, NULL, &c->plain, error);
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch(c->plain, &arguments, NULL, &c->outputs, NULL, error);
    if (status == VYRE_OK)
        check(c, c->outputs.items[0].data, SLICED, 1);
    return status;
}

/* Large outputs, brought back by threads of their own: one that is waited for, one that nobody wants, of which nobody
 * is told. */
static vyre_status go_ahead(course *c, vyre_error *error) {
    vyre_span span;
    vyre_scalar a;
    uint64_t counts;
    vyre_pending *waited = NULL;
    vyre_arguments arguments = arguments_of(c, SLICED, &span, &a, &counts);
    vyre_status status = vyre_acquire("cuda", &c->backend, error);
    if (status == VYRE_OK)
        status = vyre_compile(c->backend, c->s->plain, NULL, &c->plain, error);
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch_async(c->plain, &arguments, NULL, &waited, error);
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch_async(c->plain, &arguments, NULL, &c->pending, error);
    if (status == VYRE_OK)
        status = vyre_pending_wait(waited, UINT64_MAX, &c->outputs, NULL, error);
    if (status == VYRE_OK)
        check(c, c->outputs.items[0].data, SLICED, 1);
    vyre_pending_free(waited);
    /* Whoever frees does not wait: what follows does. */
    vyre_pending_free(c->pending);
    c->pending = NULL;
    if (c->backend)
        vyre_backend_flush(c->backend, NULL);
    return status;
}

/* Frees what is named first, so that the drill sees those calls too. */
static void end(course *c) {
    if (c->backend && c->x.owner)
        vyre_resident_free(c->backend, c->x, NULL);
    if (c->backend && c->y.owner)
        vyre_resident_free(c->backend, c->y, NULL);
    vyre_pending_free(c->pending);
    vyre_pipeline_release(c->plain);
    vyre_pipeline_release(c->trapping);
    vyre_backend_release(c->backend);
    vyre_outputs_free(&c->outputs);
    for (int i = 0; i < 3; i++)
        vyre_outputs_free(&c->several[i]);
}

static void start(course *c, const scenario *s) {
    memset(c, 0, sizeof *c);
    c->s = s;
}

static void scenario_open(scenario *s) {
    vyre_backend *backend;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status status = vyre_acquire("cuda", &backend, &error);
    if (status == VYRE_NOT_FOUND || status == VYRE_UNSUPPORTED)
        VY_SKIP("backend cuda: %s", error.message);
    if (status != VYRE_OK)
        fail_msg("%s", error.message);
    vyre_backend_release(backend);
    s->plain = conform_parse(texts, NULL, 0, "plain");
    s->trapping = conform_parse(texts, NULL, 0, "trapping");
    s->meeting = conform_parse(texts, NULL, 0, "meeting");
    s->making = conform_parse(texts, NULL, 0, "making");
    s->counting = conform_parse(texts, NULL, 0, "counting");
    s->values = malloc(SLICED * sizeof *s->values);
    assert_non_null(s->values);
    for (uint32_t i = 0; i < SLICED; i++)
        s->values[i] = i;
}

static void scenario_close(scenario *s) {
    vyre_program_release(s->plain);
    vyre_program_release(s->trapping);
    vyre_program_release(s->meeting);
    vyre_program_release(s->making);
    vyre_program_release(s->counting);
    free(s->values);
}

/* ---- the drill ---- */

static int is_compiling(const char *struck) {
    return strncmp(struck, "link_", 5) == 0 || strncmp(struck, "module_", 7) == 0 ||
           strncmp(struck, "function_", 9) == 0 || strcmp(struck, "occupancy") == 0;
}

/* Calls whose failure nobody has to hear of: they give something back, or somebody else's error is told already. */
static int may_pass(const char *struck, int result) {
    static const char *const names[] = {"context_pop",      "pool_trim",          "memory_info",
                                        "device_attribute", "stream_synchronize", "context_synchronize",
                                        "context_current",  "context_set",        "event_query"};
    if (shim_find(shim_ends, struck) >= 0)
        return 1;
    if (result == VY_CU_OUT_OF_MEMORY && strcmp(struck, "pool_allocate") == 0)
        return 1; /* what idle stream_slots hold was given back, and that was enough */
    if (result != 719 && strncmp(struck, "graph_", 6) == 0)
        return 1; /* launched one by one */
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

/* From the k-th call on all fail, as after a loss: every step ends, and nothing is left when everything was given
 * back. */
static void drill_loss(const scenario *s, vyre_status (*way)(course *c, vyre_error *error), uint64_t step,
                       uint64_t *losses) {
    size_t blocks = vy_fault_live_blocks();
    const char *struck = "";
    for (uint64_t k = 1; struck; k += step, ++*losses) {
        course c;
        vyre_error error = VYRE_ERROR_INIT;
        start(&c, s);
        shim_start_losing(k, 700);
        vyre_status status = way(&c, &error);
        if (status != VYRE_OK && (!error.message[0] || !error.fix[0]))
            fail_msg("a loss at call %llu: no message or no fix", (unsigned long long)k);
        if (status == VYRE_OK && c.is_wrong)
            fail_msg("a loss at call %llu: the bits are wrong", (unsigned long long)k);
        end(&c);
        for (int i = 0; i < 5000 && !is_clean(blocks); i++)
            usleep(1000); /* a thread of the library may hold the last reference for a moment */
        struck = shim_stop();
        if (shim_leaks())
            fail_msg("a loss at call %llu leaves on the device:%s", (unsigned long long)k, shim_leaks());
        if (vy_fault_live_blocks() != blocks)
            fail_msg("a loss at call %llu leaves %lld blocks on the host", (unsigned long long)k,
                     (long long)(vy_fault_live_blocks() - blocks));
    }
}

/* The driver's own context stays between the runs: else each would start the device anew. */
static void drill(const scenario *s, vyre_status (*way)(course *c, vyre_error *error), int result, uint64_t *calls,
                  uint64_t *passed) {
    size_t blocks = vy_fault_live_blocks();
    for (uint64_t k = 1;; k++) {
        course c;
        vyre_error error = VYRE_ERROR_INIT;
        start(&c, s);
        shim_start(k, result);
        vyre_status status = way(&c, &error);
        const char *struck = shim.struck;
        if (status != VYRE_OK && (!error.message[0] || !error.fix[0]))
            fail_msg("call %llu (%s): no message or no fix", (unsigned long long)k, struck ? struck : "none");
        if (status == VYRE_OK && c.is_wrong)
            fail_msg("call %llu (%s): the bits are wrong", (unsigned long long)k, struck ? struck : "none");
        int can_do_without = c.may_do_without && result != 719 && struck && is_compiling(struck);
        if (status == VYRE_OK && struck && way != go_with_probe && way != go_ahead && way != go_stored &&
            !can_do_without && !may_pass(struck, result))
            fail_msg("call %llu (%s) failed, and nobody was told", (unsigned long long)k, struck);
        if (status != VYRE_OK && !struck)
            fail_msg("no call failed, but %s: %s", vyre_status_name(status), error.message);
        end(&c);
        for (int i = 0; i < 5000 && way == go_ahead && !is_clean(blocks); i++)
            usleep(1000); /* a thread of the library may hold the last reference for a moment */
        struck = shim_stop();
        *passed += status == VYRE_OK && struck;
        if (shim_leaks())
            fail_msg("call %llu (%s) leaves on the device:%s", (unsigned long long)k, struck ? struck : "none",
                     shim_leaks());
        if (vy_fault_live_blocks() != blocks)
            fail_msg("call %llu (%s) leaves %lld blocks on the host", (unsigned long long)k, struck ? struck : "none",
                     (long long)(vy_fault_live_blocks() - blocks));
        *calls = k - 1;
        if (!struck)
            return;
    }
}

static void every_call_of_the_driver_may_fail(void **state) {
    (void)state;
    static const int results[] = {1, 2, 719};
    scenario s;
    vy_cuda_dynamic_symbols api;
    vy_cu_context kept;
    int device;
    shim_install();
    scenario_open(&s);
    api = shim.real;
    assert_int_equal(api.device_get(&device, 0), 0);
    assert_int_equal(api.context_retain(&kept, device), 0);
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        uint64_t calls = 0, passed = 0;
        drill(&s, go, results[i], &calls, &passed);
        printf("result %d: %llu calls failed one by one, %llu of them without effect\n", results[i],
               (unsigned long long)calls, (unsigned long long)passed);
        assert_true(calls > 100);
    }
    uint64_t calls = 0, passed = 0;
    drill(&s, go_large, 719, &calls, &passed);
    printf("in slices: %llu calls failed one by one, %llu of them without effect\n", (unsigned long long)calls,
           (unsigned long long)passed);
    calls = passed = 0;
    drill(&s, go_ahead, 719, &calls, &passed);
    printf("in flight: %llu calls failed one by one, %llu of them without effect\n", (unsigned long long)calls,
           (unsigned long long)passed);
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        calls = passed = 0;
        drill(&s, go_together, results[i], &calls, &passed);
        printf("with grid barriers, result %d: %llu calls failed one by one, %llu of them without effect\n", results[i],
               (unsigned long long)calls, (unsigned long long)passed);
    }
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        calls = passed = 0;
        drill(&s, go_indirect, results[i], &calls, &passed);
        printf("with grids on the device, result %d: %llu calls failed one by one, %llu of them without effect\n",
               results[i], (unsigned long long)calls, (unsigned long long)passed);
    }
    uint64_t losses = 0;
    vyre_cache_set_folder(folder, NULL);
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        calls = passed = 0;
        drill(&s, go_stored, results[i], &calls, &passed);
        printf("stored and loaded, result %d: %llu calls failed one by one, %llu of them without effect\n", results[i],
               (unsigned long long)calls, (unsigned long long)passed);
    }
    drill_loss(&s, go_stored, 2, &losses);
    vyre_cache_clear(NULL, NULL, NULL, NULL);
    vyre_cache_set_folder("", NULL);
    drill_loss(&s, go, 3, &losses);
    drill_loss(&s, go_indirect, 2, &losses);
    drill_loss(&s, go_together, 2, &losses);
    drill_loss(&s, go_ahead, 17, &losses);
    printf("lost from the k-th call on: %llu times\n", (unsigned long long)losses);
    unsetenv("VYRE_CUDA_PROBE");
    drill(&s, go_with_probe, 1, &calls, &passed);
    setenv("VYRE_CUDA_PROBE", "0", 1);
    printf("with the probe: %llu calls failed one by one\n", (unsigned long long)calls);
    api.context_release(device);
    scenario_close(&s);
    vy_cuda_dynamic_symbols_wrap(NULL);
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

/* Lost at the k-th call of a dispatch and recovered from; 0: it does not have that many. */
static int lose_and_recover(course *c, size_t count, uint64_t k) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_bytes bytes = VYRE_BYTES_INIT;
    shim_start(k, 719);
    vyre_status status = dispatch(c, count, &error);
    if (!shim_stop()) {
        assert_int_equal(status, VYRE_OK);
        return 0;
    }
    assert_int_equal(status, VYRE_DEVICE_LOST);
    assert_true(error.fix[0] != 0);
    assert_int_equal(vyre_backend_device_lost(c->backend), 1);
    assert_int_equal(dispatch(c, count, &error), VYRE_DEVICE_LOST); /* sticky */
    if (vyre_backend_try_recover(c->backend, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(vyre_backend_device_lost(c->backend), 0);
    assert_int_equal(dispatch(c, count, &error), VYRE_OK);
    assert_int_equal(vyre_resident_download(c->backend, c->x, &bytes, &error), VYRE_OK);
    assert_memory_equal(bytes.data, c->s->values, SMALL * 4);
    vyre_bytes_free(&bytes);
    return 1;
}

static void a_loss_that_was_injected_is_recovered_from(void **state) {
    (void)state;
    scenario s;
    course c;
    vyre_error error = VYRE_ERROR_INIT;
    uint32_t back[SMALL];
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_resident written;
    shim_install();
    scenario_open(&s);
    size_t blocks = vy_fault_live_blocks();
    start(&c, &s);
    assert_int_equal(vyre_acquire("cuda", &c.backend, &error), VYRE_OK);
    assert_int_equal(vyre_compile(c.backend, s.plain, NULL, &c.plain, &error), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(c.backend, sizeof back, s.values, &c.x, &error), VYRE_OK);
    assert_int_equal(vyre_resident_allocate(c.backend, sizeof back, NULL, &written, &error), VYRE_OK);
    assert_int_equal(vyre_resident_upload(c.backend, written, s.values, sizeof back, &error), VYRE_OK);
    static const size_t counts[] = {SMALL, MEDIUM};
    uint64_t calls[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(dispatch(&c, counts[i], &error), VYRE_OK);
        while (lose_and_recover(&c, counts[i], calls[i] + 1))
            calls[i]++;
    }
    assert_true(calls[0] >= 3); /* the context, the launch, the wait */
    assert_true(calls[1] >= 5); /* and two copies */
    assert_int_equal(vyre_resident_download(c.backend, written, &bytes, &error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(c.is_wrong, 0);
    vyre_bytes_free(&bytes);
    end(&c);
    assert_null(shim_leaks());
    assert_int_equal(vy_fault_live_blocks(), blocks);
    scenario_close(&s);
    vy_cuda_dynamic_symbols_wrap(NULL);
}

int main(void) {
    if (!mkdtemp(folder))
        return 1;
    setenv("VYRE_CACHE_DIR", "", 1);
    setenv("VYRE_CUDA_PROBE", "0", 1); /* but for the drill of the probe itself */
    vy_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_of_the_driver_may_fail),
        cmocka_unit_test(a_loss_that_was_injected_is_recovered_from),
    };
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failures;
}
