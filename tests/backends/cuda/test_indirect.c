/* Grids that lie on the device (`grid indirect` of a resident buffer) on backend `cuda`: the device reads them by
 * itself, and the bits, traps and errors are those of the oracle and of the host's road.
 *
 * What can be stopped comes first: a loop over workgroups that does not end fails a test and hangs nothing. */
#include "backends/conform_control.h"
#include "lower/put_traps.h"

#include "backends/cuda/cuda.h"
#include "ir/model.h"
#include "vyre/transform.h"

#include <inttypes.h>

static const char texts[] =
    /* Every id and count there is, at the place of the invocation. */
    "program ids {\n param seed : u32\n buffer d : u32 read\n buffer y : u32 read_write\n workgroup 4, 2, 1\n"
    " grid indirect d[1]\n let i = global_id.x + global_size.x * (global_id.y + global_size.y * global_id.z)\n"
    " let h = group_id.x + 31 * group_id.y + 977 * group_id.z + 7919 * local_index + 3 * group_count.x\n"
    " if i < len(y) { y[i] = y[i] + h + 5 * group_count.y + 11 * group_count.z + seed }\n}\n"
    "program alone {\n param seed : u32\n buffer d : u32 read\n buffer y : u32 read_write\n workgroup 1\n"
    " grid indirect d[1]\n let i = group_id.x + group_count.x * (group_id.y + group_count.y * group_id.z)\n"
    " if i < len(y) { y[i] = y[i] * 3 + seed + group_id.y + 7 * group_id.z }\n}\n"
    /* Workgroup memory, which workgroups have one after the other. */
    "program tiles {\n param seed : u32\n buffer d : u32 read\n buffer y : u32 read_write\n workgroup 96\n"
    " grid indirect d[1]\n array t : u32 [96] workgroup\n let i = global_id.x\n let l = local_index\n"
    " t[l] = y[i] + seed\n barrier\n let a = t[95 - l]\n barrier\n t[l] = a * 3 + group_id.x\n barrier\n"
    " if i < len(y) { y[i] = t[(l + 7) % 96] }\n}\n"
    "program sums {\n param seed : u32\n buffer d : u32 read\n buffer y : u32 read_write\n workgroup 64\n"
    " grid indirect d[1]\n let i = global_id.x\n let s = workgroup_reduce_add(y[i] + seed)\n"
    " let p = subgroup_scan_inclusive_max<16>(y[i])\n if i < len(y) { y[i] = s + p }\n}\n"
    /* The grid's own buffer is written: the grid is the one that was there before. */
    "program eats {\n param seed : u32\n buffer d : u32 read_write\n buffer y : u32 read_write\n workgroup 32\n"
    " grid indirect d[1]\n let i = global_id.x\n if local_index == 0 && group_id.x < 3 { d[1 + group_id.x] = seed }\n"
    " if i < len(y) { y[i] = y[i] + 1 }\n}\n"
    "program traps {\n param at : u32\n buffer d : u32 read\n buffer y : u32 read_write\n workgroup 32\n"
    " grid indirect d[1]\n let i = global_id.x + global_size.x * global_id.y\n if i == at || i == at + 40 { trap i + 5 "
    "}\n"
    " barrier\n if i < len(y) { y[i] = y[i] + 1 }\n}\n"
    "program endless {\n param more : u32\n buffer d : u32 read\n buffer y : u32 read_write\n workgroup 32\n"
    " grid indirect d[1]\n let i = global_id.x\n var n = 1u32\n while n != 0 { n = n * 3 }\n"
    " if i < len(y) { y[i] = n + more }\n}\n"
    "program endless_together {\n param more : u32\n buffer d : u32 read\n buffer y : u32 read_write\n workgroup 96\n"
    " grid indirect d[1]\n array t : u32 [96] workgroup\n let l = local_index\n var n = 1u32\n"
    " while n != 0 {\n  t[l] = n + more\n  barrier\n  y[l] = t[95 - l]\n  barrier\n  n = n * 3\n }\n}\n"
    "program slow {\n param rounds : u32\n buffer d : u32 read\n buffer y : u32 read_write\n workgroup 64\n"
    " grid indirect d[1]\n var n = 1u32\n for k in 0u32 .. rounds { n = n * 3 + k }\n"
    " if n == 0 { y[0] = 1 }\n}\n"
    "program slow_together {\n param rounds : u32\n buffer d : u32 read\n buffer y : u32 read_write\n workgroup 64\n"
    " grid indirect d[1]\n array t : u32 [64] workgroup\n let l = local_index\n t[l] = l\n barrier\n var n = t[63 - "
    "l]\n"
    " for k in 0u32 .. rounds { n = n * 3 + k }\n if n == 0 { y[0] = 1 }\n}\n"
    /* Makes a grid: from the first element of y. */
    "program makes {\n param most : u32\n buffer y : u32 read\n buffer d : u32 read_write\n workgroup 1\n grid 1\n"
    " d[1] = y[0] % most + 1\n d[2] = 2\n d[3] = 1\n}\n"
    "program counts {\n param seed : u32\n buffer d : u32 read\n buffer y : u32 read_write\n workgroup 32\n"
    " grid indirect d[1]\n atomic_add(y[0], 1)\n atomic_max(y[1], group_id.x)\n atomic_max(y[2], group_id.y)\n"
    " if group_id.x + 1 == group_count.x { atomic_add(y[3], seed) }\n}\n"
    "program large {\n param seed : u32\n buffer d : u32 read\n buffer y : u32 read_write\n workgroup 1\n"
    " grid indirect d[1]\n if group_id.x == seed { atomic_add(y[0], 1)\n atomic_max(y[2], group_id.y) }\n"
    " if group_id.y + 1 == group_count.y { atomic_max(y[1], group_id.x) }\n}\n";

enum { MOST = 1 << 19 };
static uint32_t values[MOST];

typedef struct bench {
    conform c;
    vyre_error error;
} bench;

static void bench_open(bench *b) {
    memset(b, 0, sizeof *b);
    conform_open(&b->c, "cuda");
    if (!vyre_backend_capability(b->c.backend, VYRE_CAPABILITY_INDIRECT_DISPATCH)) {
        conform_close(&b->c);
        VY_SKIP("the driver has no copies on the device");
    }
    for (uint32_t i = 0; i < MOST; i++)
        values[i] = i * 2654435761u;
}

static void bench_close(bench *b) {
    conform_close(&b->c);
}

static vyre_resource resident(bench *b, const void *data, size_t size) {
    vyre_resource r = {.kind = VYRE_RESOURCE_RESIDENT};
    assert_int_equal(vyre_resident_allocate(b->c.backend, size, data, &r.resident, NULL), VYRE_OK);
    return r;
}

static void drop(bench *b, vyre_resource r) {
    assert_int_equal(vyre_resident_free(b->c.backend, r.resident, NULL), VYRE_OK);
}

static void fetch(bench *b, vyre_resource r, void *bytes, size_t size) {
    assert_int_equal(vyre_resident_download_at(b->c.backend, r.resident, 0, bytes, size, NULL), VYRE_OK);
}

static vyre_pipeline *compiled(bench *b, const char *name, int cancellable) {
    const vyre_compile_options options = {.struct_size = sizeof options, .cancellable = cancellable};
    vyre_program *program = conform_parse(texts, NULL, 0, name);
    vyre_pipeline *pipeline = NULL;
    if (vyre_compile(b->c.backend, program, &options, &pipeline, &b->error) != VYRE_OK)
        fail_msg("%s: %s", name, b->error.message);
    vyre_program_release(program);
    return pipeline;
}

/* A dispatch on resident buffers: a grid with an element before it, and `elements` values. seconds: its deadline, 0:
 * none. Leaves what was in the buffers. */
typedef struct outcome {
    vyre_status status;
    vyre_trap trap;
    uint32_t grid[4];
    uint32_t *y;
} outcome;

static void dispatch(bench *b, const char *name, uint32_t param, const uint32_t dims[3], size_t elements,
                     uint64_t seconds, outcome *out) {
    const vyre_dispatch_config config = {.timeout_ns = seconds * UINT64_C(1000000000)};
    uint32_t grid[] = {99, dims[0], dims[1], dims[2]};
    vyre_scalar given = vyre_scalar_u32(param);
    vyre_arguments arguments = {.params = &given, .param_count = 1};
    vyre_resource bindings[] = {resident(b, grid, sizeof grid), resident(b, values, 4 * elements)};
    vyre_pipeline *pipeline = compiled(b, name, seconds != 0);
    out->status = vyre_pipeline_dispatch_persistent(pipeline, bindings, 2, &arguments, &config, &b->c.given, NULL,
                                                    &out->trap, &b->error);
    out->y = malloc(4 * elements);
    assert_non_null(out->y);
    fetch(b, bindings[0], out->grid, sizeof out->grid);
    fetch(b, bindings[1], out->y, 4 * elements);
    vyre_pipeline_release(pipeline);
    drop(b, bindings[0]);
    drop(b, bindings[1]);
}

/* The oracle says the same. */
static void agrees(bench *b, const char *name, uint32_t param, uint32_t x, uint32_t y, uint32_t z, size_t elements,
                   uint64_t seconds) {
    const uint32_t dims[] = {x, y, z};
    uint32_t grid[] = {99, x, y, z};
    vyre_program *program = conform_parse(texts, NULL, 0, name);
    vyre_scalar given = vyre_scalar_u32(param);
    vyre_span inputs[] = {{grid, sizeof grid}, {values, 4 * elements}};
    vyre_arguments arguments = {.params = &given, .param_count = 1, .inputs = inputs, .input_count = 2};
    vyre_buffer_info first;
    outcome out;
    assert_true(conform_expect(&b->c, program, &arguments));
    dispatch(b, name, param, dims, elements, seconds, &out);
    const conform_result *want = &b->c.expected;
    if (out.status != want->status)
        fail_msg("%s, %u x %u x %u: %s instead of %s (%s)", name, x, y, z, vyre_status_name(out.status),
                 vyre_status_name(want->status), b->error.message);
    if (out.status == VYRE_TRAPPED &&
        (out.trap.invocation != want->trap.invocation || out.trap.code != want->trap.code))
        fail_msg("%s, %u x %u x %u: invocation %" PRIu64 " trapped with %u, instead of %" PRIu64 " with %u", name, x, y,
                 z, out.trap.invocation, out.trap.code, want->trap.invocation, want->trap.code);
    assert_int_equal(vyre_program_buffer(program, 0, &first), 1);
    int is_written = first.access == VYRE_ACCESS_READ_WRITE;
    const uint32_t *d = is_written ? want->outputs[0].data : grid, *e = want->outputs[is_written].data;
    if (out.status == VYRE_OK) {
        assert_memory_equal(out.grid, d, sizeof out.grid);
        for (size_t i = 0; i < elements; i++)
            if (out.y[i] != e[i])
                fail_msg("%s, %u x %u x %u: element %zu is %u instead of %u", name, x, y, z, i, out.y[i], e[i]);
    }
    free(out.y);
    vyre_program_release(program);
}

/* ---- grids ---- */

static void small_grids(bench *b, uint64_t seconds) {
    agrees(b, "ids", 1, 1, 1, 1, 64, seconds);
    agrees(b, "ids", 2, 0, 1, 1, 64, seconds);
    agrees(b, "ids", 3, 5, 0, 7, 64, seconds);
    agrees(b, "ids", 4, 5, 4, 0, 64, seconds);
    agrees(b, "ids", 5, 7, 1, 1, 1000, seconds);
    agrees(b, "ids", 6, 1, 7, 1, 1000, seconds);
    agrees(b, "ids", 7, 1, 1, 7, 1000, seconds);
    agrees(b, "ids", 8, 5, 6, 7, 5 * 6 * 7 * 8, seconds);
    agrees(b, "ids", 8, 5, 6, 7, 100, seconds);
    agrees(b, "alone", 9, 1, 1, 1, 1, seconds);
    agrees(b, "alone", 9, 300, 1, 1, 300, seconds);
    agrees(b, "alone", 9, 13, 17, 3, 13 * 17 * 3, seconds);
    agrees(b, "tiles", 3, 1, 1, 1, 96, seconds);
    agrees(b, "tiles", 3, 50, 1, 1, 50 * 96, seconds);
    agrees(b, "sums", 3, 1, 1, 1, 64, seconds);
    agrees(b, "sums", 3, 50, 1, 1, 50 * 64, seconds);
}

static void a_grid_is_read_by_kernels_that_can_be_stopped(void **state) {
    bench b;
    (void)state;
    bench_open(&b);
    small_grids(&b, 20);
    bench_close(&b);
}

static void a_grid_is_read_by_kernels_that_cannot(void **state) {
    bench b;
    (void)state;
    bench_open(&b);
    small_grids(&b, 0);
    bench_close(&b);
}

static void more_workgroups_than_blocks_take_turns(void **state) {
    bench b;
    (void)state;
    bench_open(&b);
    for (int stoppable = 1; stoppable >= 0; stoppable--) {
        agrees(&b, "alone", 4, MOST / 2, 1, 1, MOST / 2, stoppable ? 20 : 0);
        agrees(&b, "ids", 4, 100, 50, 10, 100 * 50 * 10 * 8, stoppable ? 20 : 0);
        agrees(&b, "tiles", 4, MOST / 128, 1, 1, MOST / 128 * 96, stoppable ? 20 : 0);
        agrees(&b, "sums", 4, MOST / 64, 1, 1, MOST, stoppable ? 20 : 0);
    }
    bench_close(&b);
}

static void no_dimension_is_too_long(void **state) {
    bench b;
    (void)state;
    bench_open(&b);
    agrees(&b, "alone", 1, 1, 70000, 1, 70000, 20);
    agrees(&b, "alone", 2, 1, 1, 70001, 70001, 0);
    agrees(&b, "alone", 3, 2, 66000, 2, 4 * 66000, 0);
    agrees(&b, "alone", 3, 2, 2, 66001, 4 * 66001, 0);
    bench_close(&b);
}

static void a_grid_that_the_program_overwrites_is_the_one_before(void **state) {
    bench b;
    (void)state;
    bench_open(&b);
    for (uint32_t to = 0; to < 3; to++) {
        agrees(&b, "eats", to * 1000, 3, 1, 1, 3 * 32, 20);
        agrees(&b, "eats", to * 1000, 9000, 1, 1, 9000 * 32, 0);
    }
    bench_close(&b);
}

static void other_forms_read_the_grid_too(void **state) {
    bench b;
    (void)state;
    bench_open(&b);
    uint32_t grid[] = {99, 9, 3, 1};
    vyre_scalar given = vyre_scalar_u32(7);
    vyre_span inputs[] = {{grid, sizeof grid}, {values, 4 * 5000}};
    vyre_arguments arguments = {.params = &given, .param_count = 1, .inputs = inputs, .input_count = 2};
    const char *const names[] = {"ids", "alone", "tiles", "sums", "eats"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        vyre_program *program = conform_parse(texts, NULL, 0, names[i]);
        grid[2] = i < 2 ? 3 : 1;
        for (unsigned form = 0; form < CONFORM_FORM_COUNT; form++)
            conform_check(&b.c, names[i], program, &arguments, (conform_form)form);
        vyre_program_release(program);
    }
    bench_close(&b);
}

/* ---- traps and ends ---- */

static void the_smallest_invocation_that_traps_is_named(void **state) {
    bench b;
    (void)state;
    bench_open(&b);
    for (uint32_t at = 0; at < 4000; at += 331) {
        agrees(&b, "traps", at, 40, 3, 1, 40 * 32 * 3, 20);
        agrees(&b, "traps", at, 40, 3, 1, 40 * 32 * 3, 0);
    }
    agrees(&b, "traps", 8999 * 32 + 5, 9000, 1, 1, 9000 * 32, 0);
    bench_close(&b);
}

static void a_deadline_ends_the_loop_over_workgroups(void **state) {
    const struct {
        const char *name;
        uint32_t param, groups;
    } cases[] = {{"endless", 0, 1},
                 {"endless", 0, 30000},
                 {"endless_together", 0, 1},
                 {"endless_together", 0, 30000},
                 {"slow", 1000000, 0x3ffffff},
                 {"slow_together", 1000000, 0x3ffffff},
                 {"slow", 1, 0x3ffffff}}; /* nothing but workgroups, of which there are many: may end in time */
    const vyre_dispatch_config config = {.timeout_ns = 30000000};
    bench b;
    (void)state;
    bench_open(&b);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t grid[] = {99, cases[i].groups, 1, 1};
        vyre_scalar given = vyre_scalar_u32(cases[i].param);
        vyre_arguments arguments = {.params = &given, .param_count = 1};
        vyre_resource bindings[] = {resident(&b, grid, sizeof grid), resident(&b, values, 4096)};
        vyre_pipeline *pipeline = compiled(&b, cases[i].name, 1);
        vyre_status status = vyre_pipeline_dispatch_persistent(pipeline, bindings, 2, &arguments, &config, &b.c.given,
                                                               NULL, NULL, &b.error);
        if (status != VYRE_TIMEOUT && !(status == VYRE_OK && cases[i].param == 1))
            fail_msg("%s: %s (%s)", cases[i].name, vyre_status_name(status), b.error.message);
        vyre_pipeline_release(pipeline);
        drop(&b, bindings[0]);
        drop(&b, bindings[1]);
        agrees(&b, "tiles", 3, 50, 1, 1, 50 * 96, 20);
        agrees(&b, "tiles", 3, 50, 1, 1, 50 * 96, 0);
    }
    conform_still_works(&b.c);
    bench_close(&b);
}

/* ---- grids over the limits ---- */

/* As if the host had read it. */
static void is_refused(bench *b, const char *name, uint32_t x, uint32_t y, uint32_t z, vyre_status expected) {
    uint32_t grid[] = {99, x, y, z};
    const uint32_t dims[] = {x, y, z};
    vyre_program *program = conform_parse(texts, NULL, 0, name);
    vyre_scalar given = vyre_scalar_u32(1);
    vyre_span inputs[] = {{grid, sizeof grid}, {values, 400}};
    vyre_arguments arguments = {.params = &given, .param_count = 1, .inputs = inputs, .input_count = 2};
    vyre_error error = VYRE_ERROR_INIT;
    outcome out;
    assert_int_equal(vyre_backend_dispatch(b->c.backend, program, &arguments, NULL, &b->c.given, NULL, &error),
                     expected);
    for (uint64_t seconds = 0; seconds < 21; seconds += 20) {
        dispatch(b, name, 1, dims, 100, seconds, &out);
        if (out.status != expected)
            fail_msg("%s, %u x %u x %u: %s instead of %s", name, x, y, z, vyre_status_name(out.status),
                     vyre_status_name(expected));
        if (expected != VYRE_OK) {
            assert_string_equal(b->error.message, error.message);
            assert_string_equal(b->error.fix, error.fix);
        }
        assert_memory_equal(out.y, values, 400); /* nothing ran */
        free(out.y);
    }
    vyre_program_release(program);
}

static void a_grid_over_the_limits_is_the_hosts_error(void **state) {
    const uint32_t all = UINT32_MAX;
    bench b;
    (void)state;
    bench_open(&b);
    is_refused(&b, "tiles", all, 1, 1, VYRE_LIMIT);
    is_refused(&b, "tiles", all / 96 + 1, 1, 1, VYRE_LIMIT);
    is_refused(&b, "tiles", all, 0, 0, VYRE_LIMIT);
    is_refused(&b, "ids", 1, all / 2 + 1, 0, VYRE_LIMIT);
    is_refused(&b, "ids", all / 4 + 1, all, 3, VYRE_LIMIT);
    is_refused(&b, "alone", all, all, 2, VYRE_LIMIT);
    is_refused(&b, "alone", all, all, all, VYRE_LIMIT);
    is_refused(&b, "ids", all / 4, all / 2, 2, VYRE_LIMIT); /* 64 bits of workgroups, more of invocations */
    is_refused(&b, "ids", all / 4, all / 2, all, VYRE_LIMIT);
    is_refused(&b, "alone", all, all, 0, VYRE_OK);
    is_refused(&b, "alone", 0, all, all, VYRE_OK);
    is_refused(&b, "tiles", all / 96, 0, all, VYRE_OK);
    small_grids(&b, 0);
    bench_close(&b);
}

/* ---- sequences ---- */

static unsigned waits, reads;
static int (*real_wait)(vy_cu_stream stream);
static int (*real_read)(void *to, vy_cu_address from, size_t size, vy_cu_stream stream);

static int counted_wait(vy_cu_stream stream) {
    __atomic_fetch_add(&waits, 1, __ATOMIC_RELAXED);
    return real_wait(stream);
}

static int counted_read(void *to, vy_cu_address from, size_t size, vy_cu_stream stream) {
    __atomic_fetch_add(&reads, 1, __ATOMIC_RELAXED);
    return real_read(to, from, size, stream);
}

static void wrap(vy_cuda_dynamic_symbols *api) {
    real_wait = api->stream_synchronize, real_read = api->copy_to_host;
    api->stream_synchronize = counted_wait, api->copy_to_host = counted_read;
}

enum { PAIRS = 20 };

/* makes, counts, makes, counts, …: each grid from what the one before counted. How long that takes, in microseconds,
 * at best. */
static double run_chain(bench *b, size_t pairs, unsigned times, uint32_t end[4]) {
    uint32_t grid[4] = {0, 1, 1, 1}, zeros[4] = {0, 0, 0, 0};
    vyre_resource d = resident(b, grid, sizeof grid), y = resident(b, zeros, sizeof zeros);
    vyre_resource making[] = {y, d}, counting[] = {d, y};
    vyre_pipeline *makes = compiled(b, "makes", 0), *counts = compiled(b, "counts", 0);
    vyre_scalar most = vyre_scalar_u32(1000), seed = vyre_scalar_u32(3);
    vyre_arguments first = {.params = &most, .param_count = 1}, second = {.params = &seed, .param_count = 1};
    vyre_step steps[2 * PAIRS];
    vyre_readback readback = {y.resident, 0, 16, end};
    size_t failed = 0;
    for (size_t i = 0; i < pairs; i++) {
        steps[2 * i] = (vyre_step){makes, making, 2, &first};
        steps[2 * i + 1] = (vyre_step){counts, counting, 2, &second};
    }
    double best = 1e9;
    for (unsigned i = 0; i < times; i++) {
        waits = reads = 0;
        uint64_t start = conform_now();
        if (vyre_sequence_run(b->c.backend, steps, 2 * pairs, &readback, 1, NULL, NULL, &failed, NULL, &b->error) !=
            VYRE_OK)
            fail_msg("step %zu: %s", failed, b->error.message);
        double time = (double)(conform_now() - start) / 1e3;
        best = time < best ? time : best;
    }
    vyre_pipeline_release(makes);
    vyre_pipeline_release(counts);
    drop(b, d);
    drop(b, y);
    return best;
}

/* What run_chain does. */
static void expect_chain(size_t pairs, uint32_t y[4]) {
    memset(y, 0, 16);
    for (size_t i = 0; i < pairs; i++) {
        uint32_t x = y[0] % 1000 + 1;
        y[0] += 32 * x * 2;
        y[1] = x - 1 > y[1] ? x - 1 : y[1];
        y[2] = 1;
        y[3] += 3 * 32 * 2;
    }
}

static void a_step_makes_the_grid_of_the_next_and_nobody_waits(void **state) {
    uint32_t given[4], wanted[4];
    unsigned first_waits = 0, first_reads = 0;
    bench b;
    (void)state;
    vy_cuda_dynamic_symbols_wrap(wrap);
    bench_open(&b); /* a skip leaves it wrapped, which nobody notices then */
    for (size_t round = 0; round < 3; round++)
        for (size_t pairs = 1; pairs <= PAIRS; pairs++) {
            run_chain(&b, pairs, 1, given);
            expect_chain(pairs, wanted);
            assert_memory_equal(given, wanted, sizeof given);
            if (round == 0 && pairs == 1)
                first_waits = waits, first_reads = reads;
            if (round)
                assert_true(waits <= first_waits && reads <= first_reads);
        }
    bench_close(&b);
    vy_cuda_dynamic_symbols_wrap(NULL);
}

static void a_step_whose_grid_is_over_the_limits_is_named(void **state) {
    uint32_t good[] = {0, 2, 1, 1}, bad[] = {0, UINT32_MAX, 7, 1}, zeros[4] = {0}, end[4];
    bench b;
    (void)state;
    bench_open(&b);
    for (int stoppable = 1; stoppable >= 0; stoppable--)
        for (size_t at = 0; at < 4; at++) {
            const vyre_dispatch_config config = {.timeout_ns = stoppable ? UINT64_C(20000000000) : 0};
            vyre_resource g = resident(&b, good, sizeof good), w = resident(&b, bad, sizeof bad),
                          y = resident(&b, zeros, sizeof zeros);
            vyre_resource right[] = {g, y}, wrong[] = {w, y};
            vyre_scalar seed = vyre_scalar_u32(3);
            vyre_arguments arguments = {.params = &seed, .param_count = 1};
            vyre_pipeline *counts = compiled(&b, "counts", stoppable);
            vyre_step steps[4];
            size_t failed = 99;
            for (size_t i = 0; i < 4; i++)
                steps[i] = (vyre_step){counts, i == at ? wrong : right, 2, &arguments};
            assert_int_equal(vyre_sequence_run(b.c.backend, steps, 4, NULL, 0, &config, NULL, &failed, NULL, &b.error),
                             VYRE_LIMIT);
            assert_int_equal(failed, at);
            assert_non_null(strstr(b.error.message, "over the limit"));
            fetch(&b, y, end, sizeof end);
            assert_int_equal(end[0],
                             64 * at); /* those behind it ran nothing, since their grids are of this kind, too */
            steps[at].bindings = right;
            assert_int_equal(vyre_sequence_run(b.c.backend, steps, 4, NULL, 0, &config, NULL, &failed, NULL, &b.error),
                             VYRE_OK);
            fetch(&b, y, end, sizeof end);
            assert_int_equal(end[0], 64 * (at + 4));
            vyre_pipeline_release(counts);
            drop(&b, g);
            drop(&b, w);
            drop(&b, y);
        }
    bench_close(&b);
}

static void a_step_that_traps_is_the_last(void **state) {
    uint32_t grid[] = {0, 40, 1, 1}, zeros[4] = {0}, end[4];
    bench b;
    (void)state;
    bench_open(&b);
    vyre_resource d = resident(&b, grid, sizeof grid), y = resident(&b, zeros, sizeof zeros);
    vyre_resource bindings[] = {d, y};
    vyre_scalar at = vyre_scalar_u32(777);
    vyre_arguments arguments = {.params = &at, .param_count = 1};
    vyre_pipeline *counts = compiled(&b, "counts", 0), *traps = compiled(&b, "traps", 0);
    vyre_step steps[] = {
        {counts, bindings, 2, &arguments}, {traps, bindings, 2, &arguments}, {counts, bindings, 2, &arguments}};
    vyre_trap trap = {0, 0};
    size_t failed = 99;
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(vyre_sequence_run(b.c.backend, steps, 3, NULL, 0, NULL, NULL, &failed, &trap, &b.error),
                         VYRE_TRAPPED);
        assert_int_equal(failed, 1);
        assert_int_equal(trap.invocation, 777);
        assert_int_equal(trap.code, 782);
        fetch(&b, y, end, sizeof end);
        assert_in_range(end[0], i * 40 * 32, i * (40 * 32 + 1)); /* `traps` counts the first element up, too */
    }
    vyre_pipeline_release(counts);
    vyre_pipeline_release(traps);
    drop(&b, d);
    drop(&b, y);
    bench_close(&b);
}

/* ---- batches ---- */

static void items_of_a_batch_have_their_own_grids(void **state) {
    enum { ITEMS = 30 };
    bench b;
    (void)state;
    bench_open(&b);
    vyre_pipeline *pipeline = compiled(&b, "counts", 0);
    vyre_scalar seed = vyre_scalar_u32(3);
    vyre_arguments arguments = {.params = &seed, .param_count = 1};
    vyre_resource bindings[ITEMS][2];
    const vyre_resource *items[ITEMS];
    vyre_outputs outputs[ITEMS];
    size_t failed = 99;
    memset(outputs, 0, sizeof outputs);
    for (uint32_t i = 0; i < ITEMS; i++) {
        uint32_t grid[] = {0, i, 2, 1}, zeros[4] = {0};
        bindings[i][0] = resident(&b, grid, sizeof grid), bindings[i][1] = resident(&b, zeros, sizeof zeros);
        items[i] = bindings[i];
    }
    for (uint32_t round = 1; round <= 3; round++) {
        if (vyre_pipeline_dispatch_persistent_batch(pipeline, items, 2, ITEMS, &arguments, NULL, outputs, &failed, NULL,
                                                    &b.error) != VYRE_OK)
            fail_msg("item %zu: %s", failed, b.error.message);
        for (uint32_t i = 0; i < ITEMS; i++) {
            uint32_t y[4];
            fetch(&b, bindings[i][1], y, sizeof y);
            assert_int_equal(y[0], round * 64 * i);
        }
    }
    const uint32_t bad[] = {0, UINT32_MAX, 1, 1};
    assert_int_equal(vyre_resident_upload(b.c.backend, bindings[17][0].resident, bad, sizeof bad, NULL), VYRE_OK);
    assert_int_equal(vyre_pipeline_dispatch_persistent_batch(pipeline, items, 2, ITEMS, &arguments, NULL, outputs,
                                                             &failed, NULL, &b.error),
                     VYRE_LIMIT);
    assert_int_equal(failed, 17);
    for (uint32_t i = 0; i < ITEMS; i++) {
        vyre_outputs_free(&outputs[i]);
        drop(&b, bindings[i][0]);
        drop(&b, bindings[i][1]);
    }
    vyre_pipeline_release(pipeline);
    bench_close(&b);
}

/* ---- random programs ---- */

/* Nobody says how large a `write` buffer is whose program traps. */
static int has_open_outputs(const vyre_program *program) {
    vyre_buffer_info buffer;
    int is_open = 0;
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++)
        is_open |= buffer.access == VYRE_ACCESS_WRITE;
    return is_open;
}

/* On ranges of resident buffers, traps and all. */
static int agrees_on_ranges(bench *b, const char *what, vyre_program *program, const vyre_arguments *arguments,
                            uint64_t seconds) {
    const vyre_dispatch_config config = {.timeout_ns = seconds * UINT64_C(1000000000)};
    vyre_error error = VYRE_ERROR_INIT;
    vyre_arguments some = *arguments;
    conform *c = &b->c;
    conform_ranges r;
    if (!conform_expect(c, program, arguments) || (c->expected.status == VYRE_TRAPPED && has_open_outputs(program)))
        return 0;
    some.counts = NULL, some.count_count = 0;
    c->trap = (vyre_trap){0, 0};
    c->status = conform_bind(c, program, arguments, 0, &r, &error);
    if (c->status == VYRE_OK)
        c->status = vyre_backend_dispatch_resident(c->backend, program, r.resources, r.count, &some, &config, NULL,
                                                   &c->trap, &error);
    if (c->status == VYRE_OK)
        c->status = conform_fetch(c, program, &r, 0, &error);
    if (!conform_same(c, program, &error)) {
        conform_show(program);
        fail_msg("%s: %s", what, c->message);
    }
    c->trapped += c->status == VYRE_TRAPPED;
    conform_ranges_free(c, &r);
    return 1;
}

static int try_seed(bench *b, uint64_t seed) {
    vyre_generate_options options = {.seed = seed, .statements = 6 + (unsigned)(seed % 16), .invocations = 512};
    vy_random random = {seed};
    vyre_case *made = NULL;
    vyre_program *flat = NULL, *program = NULL;
    char what[64];
    int was_run = 0;
    assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
    snprintf(what, sizeof what, "seed %" PRIu64, seed);
    if (vyre_case_program(made)->grid.kind == VYRE_GRID_INDIRECT) {
        assert_int_equal(vyre_program_inline(vyre_case_program(made), &flat, NULL), VYRE_OK);
        program = seed % 2 ? with_traps(flat, &random, 6) : vyre_program_retain(flat);
    }
    if (program && !vyre_program_schedule_dependent(program))
        was_run = agrees_on_ranges(b, what, program, vyre_case_arguments(made), seed % 3 ? 0 : 60);
    if (was_run && seed % 5 == 0)
        conform_check(&b->c, what, program, vyre_case_arguments(made), CONFORM_MIXED);
    vyre_program_release(program);
    vyre_program_release(flat);
    vyre_case_free(made);
    return was_run;
}

static void random_programs_have_the_oracles_bits(void **state) {
    const char *given = getenv("VYRE_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : 1, runs = 0;
    bench b;
    (void)state;
    bench_open(&b);
    for (; runs < 60 * (uint64_t)vy_test_effort(); seed++)
        runs += (uint64_t)try_seed(&b, seed);
    printf("%" PRIu64 " programs, %" PRIu64 " trapped, up to seed %" PRIu64 "\n", runs, b.c.trapped, seed);
    bench_close(&b);
}

/* ---- more than 32 bits of workgroups: nothing an oracle could run ---- */

static void four_thousand_million_workgroups(void **state) {
    const uint32_t dims[] = {65536, 65537, 1};
    outcome out;
    bench b;
    (void)state;
    bench_open(&b);
    memset(values, 0, 16);
    dispatch(&b, "large", 65535, dims, 4, 60, &out);
    if (out.status != VYRE_OK)
        fail_msg("%s", b.error.message);
    assert_int_equal(out.y[0], 65537);
    assert_int_equal(out.y[1], 65535);
    assert_int_equal(out.y[2], 65536);
    free(out.y);
    bench_close(&b);
}

/* ---- what it costs: printed, not judged ---- */

static const char stream_text[] =
    "program stream {\n buffer d : u32 read\n buffer x : u32 read\n buffer y : u32 read_write\n workgroup 256\n"
    " grid indirect d\n let i = global_id.x\n if i < len(y) { y[i] = x[i] * 3 + y[i] }\n}\n";

/* Of the device, in microseconds. */
static double time_stream(bench *b, uint32_t elements, int given) {
    vyre_program *program = conform_parse(stream_text, NULL, 0, NULL);
    uint32_t grid[] = {elements / 256, 1, 1};
    vyre_resource bindings[] = {resident(b, grid, sizeof grid), resident(b, NULL, 4 * (size_t)elements),
                                resident(b, NULL, 4 * (size_t)elements)};
    vyre_arguments arguments = {.geometry = {given ? VYRE_GEOMETRY_GROUPS : VYRE_GEOMETRY_PROGRAM, {grid[0], 1, 1}}};
    double best = 1e9;
    for (int i = 0; i < 10; i++) {
        vyre_timing timing;
        assert_int_equal(
            vyre_backend_dispatch_resident(b->c.backend, program, bindings, 3, &arguments, NULL, &timing, NULL, NULL),
            VYRE_OK);
        best = (double)timing.device_ns / 1e3 < best ? (double)timing.device_ns / 1e3 : best;
    }
    for (int i = 0; i < 3; i++)
        drop(b, bindings[i]);
    vyre_program_release(program);
    return best;
}

static void what_it_costs_is_printed(void **state) {
    uint32_t end[4];
    bench b;
    (void)state;
    bench_open(&b);
    printf("%d steps, each second one on a grid made by the one before: %.1f us\n", 2 * PAIRS,
           run_chain(&b, PAIRS, 20, end));
    for (uint32_t elements = 1 << 10; elements <= 1 << 24; elements <<= 7)
        printf("%9u elements: %.1f us on a grid on the device, %.1f us on one that is given\n", elements,
               time_stream(&b, elements, 0), time_stream(&b, elements, 1));
    bench_close(&b);
    setenv("VYRE_CUDA_INDIRECT", "0", 1);
    memset(&b, 0, sizeof b);
    conform_open(&b.c, "cuda");
    printf("the same steps, grids read by the library: %.1f us\n", run_chain(&b, PAIRS, 20, end));
    conform_close(&b.c);
    unsetenv("VYRE_CUDA_INDIRECT");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grid_is_read_by_kernels_that_can_be_stopped),
        cmocka_unit_test(a_deadline_ends_the_loop_over_workgroups),
        cmocka_unit_test(a_grid_over_the_limits_is_the_hosts_error),
        cmocka_unit_test(a_grid_is_read_by_kernels_that_cannot),
        cmocka_unit_test(no_dimension_is_too_long),
        cmocka_unit_test(a_grid_that_the_program_overwrites_is_the_one_before),
        cmocka_unit_test(the_smallest_invocation_that_traps_is_named),
        cmocka_unit_test(a_step_makes_the_grid_of_the_next_and_nobody_waits),
        cmocka_unit_test(a_step_whose_grid_is_over_the_limits_is_named),
        cmocka_unit_test(a_step_that_traps_is_the_last),
        cmocka_unit_test(items_of_a_batch_have_their_own_grids),
        cmocka_unit_test(other_forms_read_the_grid_too),
        cmocka_unit_test(random_programs_have_the_oracles_bits),
        cmocka_unit_test(more_workgroups_than_blocks_take_turns),
        cmocka_unit_test(four_thousand_million_workgroups),
        cmocka_unit_test(what_it_costs_is_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
