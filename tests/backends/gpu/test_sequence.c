/* Sequences, slices and small dispatches of src/backends/gpu on a device without a driver. */
#include "backends/gpu/device.h"

#include "vyre/text.h"

enum { MOST = 64 };
static uint32_t tickets[MOST];
static vy_grid_tiles tiles[MOST];
static struct {
    unsigned launch; /* from 1 on: the one that gives this result; 0: none */
    vy_launch_control taken;
} wanted;

static void note_launch(device *d, const vyre_launch *launch, const vy_grid_tiles *tile, const vy_gpu_buffers *buffers,
                        uint32_t ticket) {
    (void)launch, (void)buffers;
    assert_true(d->launches <= MOST);
    tickets[d->launches - 1] = ticket;
    if (tile)
        tiles[d->launches - 1] = *tile;
    if (d->launches == wanted.launch)
        d->taken = wanted.taken;
}

static void start(device *d, vy_gpu_kernel kernel) {
    device_start(d, 1);
    d->kernel = kernel;
    d->is_done = 1;
    d->on_launch = note_launch;
    wanted.launch = 0;
    wanted.taken = vy_gpu_control_clean;
}

static vyre_status run_steps(device *d, size_t count, const uint32_t *cancel, size_t *failed, vyre_error *error) {
    vy_gpu_pipeline pipeline = {&d->base, &d->code};
    vyre_native_step steps[MOST];
    memset(steps, 0, sizeof steps);
    for (size_t i = 0; i < count; i++) {
        steps[i].pipeline = &pipeline;
        steps[i].launch = (vyre_launch){.groups = {1, 1, 1}, .cancel = cancel};
    }
    return vy_gpu_sequence_run(&d->base, steps, count, NULL, 0, NULL, failed, error);
}

static void launches_that_cannot_trap_are_waited_for_once(void **state) {
    (void)state;
    static device d;
    size_t failed = 0;
    vyre_error error = VYRE_ERROR_INIT;
    start(&d, (vy_gpu_kernel){.writes_control = 1});
    assert_int_equal(run_steps(&d, 3, NULL, &failed, &error), VYRE_OK);
    assert_int_equal(failed, 3);
    assert_int_equal(d.launches, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(tickets[i], i + 1);
    device_end(&d);
}

static void a_trap_ends_a_sequence_before_the_next_launch(void **state) {
    (void)state;
    static device d;
    size_t failed = 0;
    vyre_error error = VYRE_ERROR_INIT;
    start(&d, (vy_gpu_kernel){.reports = 1, .writes_control = 1});
    wanted.launch = 2;
    wanted.taken.trap_invocation = 7, wanted.taken.trap_code = 5;
    assert_int_equal(run_steps(&d, 4, NULL, &failed, &error), VYRE_TRAPPED);
    assert_int_equal(failed, 1);
    assert_int_equal(d.launches, 2);
    device_end(&d);
}

/* Nobody knows which of the launches with one control block was stopped: none is named. */
static void launches_that_were_stopped_are_not_named(void **state) {
    (void)state;
    static device d;
    const uint32_t cancel = 1;
    size_t failed = 0;
    vyre_error error = VYRE_ERROR_INIT;
    start(&d, (vy_gpu_kernel){.polls = 1, .writes_control = 1});
    wanted.launch = 1;
    wanted.taken.stopped = 1;
    assert_int_equal(run_steps(&d, 3, &cancel, &failed, &error), VYRE_CANCELLED);
    assert_int_equal(failed, 3);
    device_end(&d);
}

static vyre_program *parse(const char *text) {
    vyre_module *module;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    vyre_program *program = vyre_program_retain(vyre_module_program(module, 0));
    vyre_module_free(module);
    return program;
}

static void the_launch_whose_grid_was_refused_is_named(void **state) {
    (void)state;
    static device d;
    size_t failed = 0;
    vyre_error error = VYRE_ERROR_INIT;
    start(&d, (vy_gpu_kernel){.writes_control = 1});
    d.code.program = parse("program p {\n buffer x : u32 read_write\n workgroup 1024\n grid over x\n x[0] = 1\n}\n");
    wanted.launch = 3;
    wanted.taken.refused = 2;
    for (int i = 0; i < 3; i++)
        wanted.taken.refused_grid[i] = UINT32_MAX;
    assert_int_equal(run_steps(&d, 3, NULL, &failed, &error), VYRE_LIMIT);
    assert_int_equal(failed, 1);
    vyre_program_release(d.code.program);
    device_end(&d);
}

/* Every workgroup is in one slice; the trap of the smallest invocation in the whole grid counts. */
static void slices_cover_a_grid_once(void **state) {
    (void)state;
    enum { X = 10, Y = 7, Z = 3 };
    for (int is_per_slice = 0; is_per_slice < 2; is_per_slice++) {
        static device d;
        static uint8_t covered[Z][Y][X];
        static vy_gpu_buffers buffers;
        static union {
            vy_launch_facts facts;
            char bytes[256];
        } facts;
        vyre_error error = VYRE_ERROR_INIT;
        vyre_trap trap = {0, 0};
        const vyre_launch launch = {.groups = {X, Y, Z}};
        facts.facts.workgroup[0] = 32, facts.facts.workgroup[1] = facts.facts.workgroup[2] = 1;
        start(&d, (vy_gpu_kernel){.reports = 1, .writes_control = 1, .is_per_slice = (uint8_t)is_per_slice});
        d.code.facts = &facts.facts;
        wanted.launch = 2; /* workgroups 4 … 7 in x */
        wanted.taken.trap_invocation = 32 + 3, wanted.taken.trap_code = 9;
        memset(covered, 0, sizeof covered);
        assert_int_equal(vy_gpu_launch_slices(&d.slot, &d.code, &d.kernel, &launch, &buffers, &error), VYRE_OK);
        for (unsigned i = 0; i < d.launches; i++)
            for (uint32_t z = 0; z < tiles[i].size[2]; z++)
                for (uint32_t y = 0; y < tiles[i].size[1]; y++)
                    for (uint32_t x = 0; x < tiles[i].size[0]; x++)
                        covered[tiles[i].base[2] + z][tiles[i].base[1] + y][tiles[i].base[0] + x]++;
        for (int i = 0; i < X * Y * Z; i++)
            assert_int_equal(((uint8_t *)covered)[i], 1);
        assert_int_equal(vy_gpu_decode(&d.slot, &d.kernel, &d.code, 0, &trap, &error), VYRE_TRAPPED);
        assert_int_equal(trap.invocation, is_per_slice ? (4 + 1) * 32 + 3 : 32 + 3);
        assert_int_equal(trap.code, 9);
        d.releases = 1; /* no slot was acquired */
        device_end(&d);
    }
}

/* The kernel of the program below: c is written in part, d whole. */
static void add_one(device *d, const vyre_launch *launch, const vy_grid_tiles *tile, const vy_gpu_buffers *buffers,
                    uint32_t ticket) {
    uint32_t *at[4];
    (void)tile, (void)ticket;
    for (int i = 0; i < 4; i++)
        at[i] = (uint32_t *)(void *)(d->arena + buffers->addresses[i]);
    for (uint64_t i = 0; i < launch->elements[0]; i++)
        at[1][i] += at[0][i], at[3][i] = at[1][i] + 1;
    at[2][0] = 77;
}

static void a_small_dispatch_copies_once_in_each_direction(void **state) {
    (void)state;
    enum { COUNT = 100, EACH = 512 }; /* bytes of a buffer in the arena */
    static device d;
    uint32_t a[COUNT], b[COUNT];
    const vyre_span inputs[] = {{a, sizeof a}, {b, sizeof b}};
    const uint64_t elements[] = {COUNT, COUNT, COUNT, COUNT};
    vyre_bytes items[3] = {VYRE_BYTES_INIT, VYRE_BYTES_INIT, VYRE_BYTES_INIT};
    vyre_outputs outputs = {.items = items, .count = 3};
    vyre_error error = VYRE_ERROR_INIT;
    const vyre_launch launch = {.elements = elements, .buffer_count = 4, .groups = {2, 1, 1}};
    start(&d, (vy_gpu_kernel){.reports = 0});
    d.on_launch = add_one;
    d.code.program = parse("program p {\n buffer a : u32 read\n buffer b : u32 read_write\n buffer c : u32 write\n"
                           " buffer d : u32 write\n workgroup 64\n grid over d\n let i = global_id.x\n"
                           " if i < len(d) { b[i] = b[i] + a[i]\n d[i] = b[i] + 1 }\n if i == 0 { c[0] = 77 }\n}\n");
    d.code.buffer_count = 4;
    assert_int_equal(vy_launch_facts_make(d.code.program, NULL, &d.code.facts, &error), VYRE_OK);
    for (uint32_t i = 0; i < COUNT; i++)
        a[i] = i, b[i] = 1000 + i;
    assert_int_equal(vy_gpu_submission_run(&d.code, &launch, inputs, NULL, &outputs, NULL, &error), VYRE_OK);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(((uint32_t *)items[0].data)[i], 1000 + 2 * i);
        assert_int_equal(((uint32_t *)items[1].data)[i], i ? 0 : 77);
        assert_int_equal(((uint32_t *)items[2].data)[i], 1001 + 2 * i);
    }
    assert_int_equal(d.copied_in, 3 * EACH); /* a, b, and the zeros of c */
    assert_int_equal(d.copied_out, 3 * EACH);
    assert_int_equal(d.cleared, 0);
    for (int i = 0; i < 3; i++)
        vyre_bytes_free(&items[i]);
    vy_launch_facts_free(d.code.facts);
    vyre_program_release(d.code.program);
    device_end(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_that_cannot_trap_are_waited_for_once),
        cmocka_unit_test(a_trap_ends_a_sequence_before_the_next_launch),
        cmocka_unit_test(launches_that_were_stopped_are_not_named),
        cmocka_unit_test(the_launch_whose_grid_was_refused_is_named),
        cmocka_unit_test(slices_cover_a_grid_once),
        cmocka_unit_test(a_small_dispatch_copies_once_in_each_direction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
