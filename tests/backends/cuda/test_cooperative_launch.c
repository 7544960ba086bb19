/* Grid barriers on backend `cuda`: inside one launch where all workgroups run at the same time, as several launches
 * elsewhere; the oracle's bits either way.
 *
 * What can be stopped comes first, and everything has a deadline there: a barrier that does not open fails a test and
 * hangs nothing. */
#include "backends/conform_control.h"
#include "lower/put_traps.h"
#include "split/put_barriers.h"

#include "backends/cuda/cuda.h"
#include "backends/cuda/executable.h"
#include "driver/pipeline.h"
#include "vyre/async.h"
#include "vyre/telemetry.h"

#include <inttypes.h>

/* Each element becomes the sum of itself and one of the next workgroup, over and over. */
static const char texts[] =
    "program ring {\n param rounds : u32\n buffer x : u32 read_write\n workgroup 64\n grid over x\n"
    " let i = global_id.x\n for r in 0u32 .. rounds {\n  let y = x[(i + 64) % len(x)] * 3 + r\n  grid_barrier\n"
    "  if i < len(x) { x[i] = x[i] + y }\n  grid_barrier\n }\n}\n"
    "program shared {\n param rounds : u32\n buffer x : u32 read_write\n buffer sums : u32 read_write\n workgroup "
    "128\n grid over x\n"
    " array part : u32 [128] workgroup\n let i = global_id.x\n let l = local_index\n var kept = x[i]\n"
    " for r in 0u32 .. rounds {\n  part[l] = kept\n  barrier\n  kept = kept + part[127 - l]\n  barrier\n"
    "  if l == 0 { sums[group_id.x] = part[5] }\n  grid_barrier\n  kept = kept ^ sums[(group_id.x + r) % len(sums)]\n  "
    "grid_barrier\n }\n"
    " if i < len(x) { x[i] = kept }\n}\n"
    "program counted {\n param rounds : u32\n buffer x : u32 read_write\n workgroup 32\n grid over x\n let i = "
    "global_id.x\n"
    " for r in 0u32 .. rounds {\n  atomic_add(x[r % len(x)], i)\n  grid_barrier\n  let seen = x[r % len(x)]\n  "
    "grid_barrier\n"
    "  if i == r % len(x) { x[i] = seen + 1 }\n  grid_barrier\n }\n}\n"
    "program traps {\n param at : u32\n param more : u32\n buffer x : u32 read_write\n workgroup 64\n grid over x\n "
    "let i = global_id.x\n"
    " for r in 0u32 .. 4u32 {\n  let y = x[(i + 64) % len(x)]\n"
    "  if r == 2 && (i == at || i == at + more) { trap i + 5 }\n  grid_barrier\n"
    "  if r == 3 && i == 0 { trap 1 }\n  if i < len(x) { x[i] = y + r }\n  grid_barrier\n }\n}\n"
    "program uneven {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n let i = global_id.x\n"
    " if group_id.x == 1 {\n  var k = 1u32\n  while k != 0 { k = k * 3 }\n  x[i] = k\n }\n grid_barrier\n x[i] = "
    "7\n}\n";

enum { MOST = 1 << 17 };
static uint32_t values[MOST], sums[MOST];

typedef struct bench {
    conform c;
    vy_cuda *cuda;
} bench;

static void bench_open(bench *b) {
    conform_open(&b->c, "cuda");
    b->cuda = b->c.backend->self;
    if (!b->cuda->device_info.has_cooperative_launch) {
        conform_close(&b->c);
        VY_SKIP("the device has no cooperative launches");
    }
    for (uint32_t i = 0; i < MOST; i++)
        values[i] = i * 2654435761u, sums[i] = i;
}

static void bench_close(bench *b) {
    conform_close(&b->c);
}

static uint64_t grid_syncs(void) {
    vyre_counters counters;
    vyre_counters_get(&counters);
    return counters.grid_syncs;
}

/* One run of a program of `texts` with so many elements. together: 1, 0, or -1 if that is not known. */
static void run(bench *b, const char *name, uint32_t rounds, uint32_t more, size_t elements, conform_form form,
                int together) {
    vyre_program *program = conform_parse(texts, NULL, 0, name);
    vyre_scalar params[] = {vyre_scalar_u32(rounds), vyre_scalar_u32(more)};
    vyre_span inputs[] = {{values, elements * 4}, {sums, (elements + 127) / 128 * 4}};
    vyre_arguments arguments = {
        .params = params, .param_count = program->param_count, .inputs = inputs, .input_count = program->buffer_count};
    uint64_t before = grid_syncs();
    conform_check(&b->c, name, program, &arguments, form);
    if (together >= 0 && (int)(grid_syncs() - before) != together)
        fail_msg("%s, %zu elements, %s: %s inside one launch", name, elements, conform_form_names[form],
                 together ? "not" : "all the same");
    vyre_program_release(program);
}

/* Workgroups of a program that run at the same time. */
static uint64_t most_groups(bench *b, const char *name, int cancellable) {
    const vyre_compile_options options = {.struct_size = sizeof options, .cancellable = cancellable};
    vyre_program *program = conform_parse(texts, NULL, 0, name);
    vyre_pipeline *pipeline;
    vyre_error error;
    vy_executable *code;
    assert_int_equal(vyre_compile(b->c.backend, program, &options, &pipeline, &error), VYRE_OK);
    assert_int_equal(vy_pipeline_executable(pipeline, (vy_stop_condition){.may_stop = cancellable},
                                            VY_EXECUTABLE_COOPERATIVE, &code, &error),
                     VYRE_OK);
    uint64_t bound = b->c.backend->calls.grid_sync_limit(b->cuda, program, NULL),
             most = b->c.backend->calls.grid_sync_limit(b->cuda, program, code->entries->self);
    assert_true(most > 0 && most <= bound);
    vyre_pipeline_release(pipeline);
    vyre_program_release(program);
    return most;
}

/* ---- what can be stopped ---- */

static void a_grid_that_fits_is_one_launch_and_can_be_stopped(void **state) {
    bench b;
    (void)state;
    bench_open(&b);
    run(&b, "ring", 1, 0, 64, CONFORM_STOPPABLE, 1);
    run(&b, "ring", 3, 0, 128, CONFORM_STOPPABLE, 1);
    run(&b, "ring", 5, 0, 1000, CONFORM_STOPPABLE, 1);
    run(&b, "shared", 4, 0, 1024, CONFORM_STOPPABLE, 1);
    run(&b, "counted", 20, 0, 777, CONFORM_STOPPABLE, 1);
    run(&b, "ring", 200, 0, 2048, CONFORM_STOPPABLE, 1);
    bench_close(&b);
}

static void a_deadline_ends_those_who_wait_at_a_barrier(void **state) {
    const vyre_dispatch_config config = {.timeout_ns = 30000000};
    vyre_span input = {values, 512 * 4};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    bench b;
    (void)state;
    bench_open(&b);
    vyre_program *program = conform_parse(texts, NULL, 0, "uneven");
    for (int i = 0; i < 3; i++) {
        uint64_t before = grid_syncs();
        assert_int_equal(vyre_backend_dispatch(b.c.backend, program, &arguments, &config, &b.c.given, NULL, NULL),
                         VYRE_TIMEOUT);
        assert_int_equal(grid_syncs() - before, 1);
        run(&b, "ring", 5, 0, 1000, CONFORM_STOPPABLE, 1); /* nothing of it is left at the barrier */
    }
    vyre_program_release(program);
    conform_still_works(&b.c);
    bench_close(&b);
}

static void who_waits_at_a_barrier_can_be_cancelled(void **state) {
    const vyre_compile_options options = {.struct_size = sizeof options, .cancellable = 1};
    vyre_span input = {values, 512 * 4};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_pipeline *pipeline;
    vyre_pending *pending;
    pthread_t thread;
    bench b;
    (void)state;
    bench_open(&b);
    vyre_program *program = conform_parse(texts, NULL, 0, "uneven");
    assert_int_equal(vyre_compile(b.c.backend, program, &options, &pipeline, NULL), VYRE_OK);
    assert_int_equal(vyre_pipeline_dispatch_async(pipeline, &arguments, NULL, &pending, NULL), VYRE_OK);
    assert_int_equal(pthread_create(&thread, NULL, conform_cancel_soon, pending), 0);
    pthread_join(thread, NULL);
    assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, &b.c.given, NULL, NULL), VYRE_CANCELLED);
    vyre_pending_free(pending);
    vyre_pipeline_release(pipeline);
    vyre_program_release(program);
    run(&b, "ring", 5, 0, 1000, CONFORM_STOPPABLE, -1); /* the one that was cancelled may be counted only now */
    bench_close(&b);
}

/* ---- sizes ---- */

static void one_workgroup_more_than_fits_is_several_launches(void **state) {
    bench b;
    (void)state;
    bench_open(&b);
    for (int cancellable = 1; cancellable >= 0; cancellable--) {
        conform_form form = cancellable ? CONFORM_STOPPABLE : CONFORM_PIPELINE;
        uint64_t most = most_groups(&b, "ring", cancellable);
        printf("ring: %" PRIu64 " workgroups of 64 run at the same time\n", most);
        if ((most + 1) * 64 > MOST)
            most = MOST / 64 - 1; /* more than there are values for */
        else
            run(&b, "ring", 2, 0, (most + 1) * 64, form, 0);
        run(&b, "ring", 2, 0, most * 64, form, 1);
        run(&b, "ring", 2, 0, (most - 1) * 64 + 1, form, 1);
    }
    run(&b, "counted", 1, 0, MOST, CONFORM_PIPELINE, -1);
    bench_close(&b);
}

static void every_form_of_dispatch_has_the_oracles_bits(void **state) {
    bench b;
    (void)state;
    bench_open(&b);
    for (unsigned form = 0; form < CONFORM_FORM_COUNT; form++) {
        run(&b, "ring", 3, 0, 1000, (conform_form)form, 1);
        run(&b, "shared", 3, 0, 1280, (conform_form)form, 1);
        run(&b, "counted", 9, 0, 640, (conform_form)form, 1);
        run(&b, "ring", 1, 0, MOST, (conform_form)form, -1);
    }
    bench_close(&b);
}

static void thousands_of_barriers_are_passed(void **state) {
    bench b;
    (void)state;
    bench_open(&b);
    run(&b, "ring", 3000, 0, 256, CONFORM_PIPELINE, 1);
    run(&b, "shared", 100, 0, 4096, CONFORM_PIPELINE, 1);
    bench_close(&b);
}

/* ---- traps ---- */

static void a_trap_ends_all_at_the_next_barrier(void **state) {
    bench b;
    (void)state;
    bench_open(&b);
    for (uint32_t at = 0; at < 2100; at += 61) {
        run(&b, "traps", at, 64 * (at % 5), 2000, CONFORM_STOPPABLE, 1);
        run(&b, "traps", at, 1, 2000, CONFORM_PIPELINE, 1);
        run(&b, "ring", 2, 0, 1000, CONFORM_PIPELINE, 1); /* nothing of it is left at the barrier */
    }
    assert_true(b.c.trapped > 60);
    bench_close(&b);
}

/* ---- random programs ---- */

static void try_seed(bench *b, uint64_t seed) {
    vyre_generate_options options = {.seed = seed, .statements = 8 + (unsigned)(seed % 20), .invocations = 512};
    vy_random random = {seed};
    vyre_case *made = NULL;
    vyre_program *flat, *trapping = NULL, *program;
    char what[64];
    assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
    assert_int_equal(vyre_program_inline(vyre_case_program(made), &flat, NULL), VYRE_OK);
    if (seed % 2)
        trapping = with_traps(flat, &random, 6);
    program = choose_barriers(trapping ? trapping : flat, &random, 3);
    snprintf(what, sizeof what, "seed %" PRIu64, seed);
    if (program && !vyre_program_schedule_dependent(program))
        conform_check(&b->c, what, program, vyre_case_arguments(made),
                      seed % 4 < 2 ? CONFORM_STOPPABLE : CONFORM_PIPELINE);
    vyre_program_release(program);
    vyre_program_release(trapping);
    vyre_program_release(flat);
    vyre_case_free(made);
}

static void random_programs_have_the_oracles_bits(void **state) {
    const char *given = getenv("VYRE_SEED");
    uint64_t first = given ? strtoull(given, NULL, 0) : 1, before;
    bench b;
    (void)state;
    bench_open(&b);
    before = grid_syncs();
    for (uint64_t seed = first; seed < first + 100 * (uint64_t)vy_test_effort(); seed++)
        try_seed(&b, seed);
    printf("%" PRIu64 " programs, %" PRIu64 " trapped, %" PRIu64 " dispatches inside one launch\n", b.c.judged,
           b.c.trapped, grid_syncs() - before);
    assert_true(grid_syncs() > before);
    bench_close(&b);
}

/* ---- several at the same time ---- */

typedef struct caller {
    bench *b;
    conform c;
    uint32_t index;
    int failed;
} caller;

static void *call(void *user) {
    caller *k = user;
    vyre_program *program = conform_parse(texts, NULL, 0, "ring");
    for (uint32_t i = 0; i < 20 && !k->failed; i++) {
        vyre_scalar rounds = vyre_scalar_u32(3 + i % 4);
        vyre_span input = {values, (1000 + 64 * k->index) * 4};
        vyre_arguments arguments = {.params = &rounds, .param_count = 1, .inputs = &input, .input_count = 1};
        k->failed = !conform_agree(&k->c, program, &arguments, CONFORM_STOPPABLE);
    }
    vyre_program_release(program);
    return NULL;
}

static void several_callers_do_not_wait_for_each_other(void **state) {
    enum { CALLERS = 4 };
    static caller callers[CALLERS];
    pthread_t threads[CALLERS];
    bench b;
    (void)state;
    bench_open(&b);
    for (uint32_t i = 0; i < CALLERS; i++) {
        memset(&callers[i], 0, sizeof callers[i]);
        callers[i].c.id = "cuda";
        callers[i].c.backend = vyre_backend_retain(b.c.backend);
        callers[i].index = i;
        assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (uint32_t i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        if (callers[i].failed)
            fail_msg("caller %u: %s", i, callers[i].c.message);
        conform_close(&callers[i].c);
    }
    bench_close(&b);
}

/* ---- the driver refuses ---- */

static int refused; /* what the next cooperative launches give; 0: what the driver says */
static unsigned asked, launched;
static int (*real_launch)(vy_cu_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          vy_cu_stream, void **);
static int (*real_occupancy)(int *, vy_cu_function, int, size_t);
static int occupancy_result;

static int launch(vy_cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                  unsigned shared, vy_cu_stream stream, void **params) {
    launched++;
    return refused ? refused : real_launch(function, gx, gy, gz, bx, by, bz, shared, stream, params);
}

static int occupancy(int *blocks, vy_cu_function function, int threads, size_t shared) {
    asked++;
    return occupancy_result ? occupancy_result : real_occupancy(blocks, function, threads, shared);
}

static void wrap(vy_cuda_dynamic_symbols *api) {
    real_launch = api->launch_cooperative;
    real_occupancy = api->occupancy;
    if (real_launch && real_occupancy)
        api->launch_cooperative = launch, api->occupancy = occupancy;
}

static void a_driver_that_refuses_after_all_is_no_error(void **state) {
    bench b;
    (void)state;
    refused = occupancy_result = 0, asked = launched = 0;
    vy_cuda_dynamic_symbols_wrap(wrap);
    bench_open(&b); /* a skip leaves it wrapped, which nobody notices then */
    refused = VY_CU_TOO_LARGE;
    run(&b, "ring", 3, 0, 1000, CONFORM_DIRECT, 0);
    run(&b, "ring", 3, 0, 1000, CONFORM_DIRECT, 0);
    assert_int_equal(launched, 1); /* it is not tried again */
    assert_int_equal(asked, 1);
    refused = 0;
    run(&b, "shared", 3, 0, 1024, CONFORM_DIRECT, 1); /* others are */
    occupancy_result = 1;                             /* what cannot be asked about is not launched */
    run(&b, "counted", 3, 0, 640, CONFORM_DIRECT, 0);
    occupancy_result = 0;
    refused = 2; /* any other error is one */
    vyre_program *program = conform_parse(texts, NULL, 0, "shared");
    vyre_scalar rounds = vyre_scalar_u32(2);
    vyre_span inputs[] = {{values, 4096}, {sums, 32}};
    vyre_arguments arguments = {.params = &rounds, .param_count = 1, .inputs = inputs, .input_count = 2};
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_backend_dispatch(b.c.backend, program, &arguments, NULL, &b.c.given, NULL, &error),
                     VYRE_NO_DEVICE_MEMORY);
    assert_true(error.fix[0] != 0);
    refused = 0;
    run(&b, "shared", 3, 0, 1024, CONFORM_DIRECT, 1);
    vyre_program_release(program);
    bench_close(&b);
    vy_cuda_dynamic_symbols_wrap(NULL);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grid_that_fits_is_one_launch_and_can_be_stopped),
        cmocka_unit_test(a_deadline_ends_those_who_wait_at_a_barrier),
        cmocka_unit_test(who_waits_at_a_barrier_can_be_cancelled),
        cmocka_unit_test(one_workgroup_more_than_fits_is_several_launches),
        cmocka_unit_test(every_form_of_dispatch_has_the_oracles_bits),
        cmocka_unit_test(thousands_of_barriers_are_passed),
        cmocka_unit_test(a_trap_ends_all_at_the_next_barrier),
        cmocka_unit_test(random_programs_have_the_oracles_bits),
        cmocka_unit_test(several_callers_do_not_wait_for_each_other),
        cmocka_unit_test(a_driver_that_refuses_after_all_is_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
