/* Odd shapes on backend `opencl`, and grids that are more than one launch takes. */
#include "backends/conform_loops.h"
#include "backends/conform_shapes.h"

static void with_backend(void (*what)(conform *c)) {
    static conform c;
    conform_open(&c, "opencl");
    what(&c);
    conform_close(&c);
}

static void with_all_rows(void (*what)(conform *c, size_t first, size_t step)) {
    static conform c;
    conform_open(&c, "opencl");
    what(&c, 0, 1);
    conform_close(&c);
}

static void workgroups_and_grids_of_any_shape_have_the_oracles_bits(void **state) {
    (void)state;
    with_all_rows(conform_shapes);
}

static void grids_that_lie_in_a_buffer_have_the_oracles_bits(void **state) {
    (void)state;
    with_backend(conform_indirect_grids);
}

static void ranges_that_start_anywhere_have_the_oracles_bits(void **state) {
    (void)state;
    with_all_rows(conform_odd_ranges);
}

static void loops_that_wait_for_memory_have_the_oracles_bits(void **state) {
    (void)state;
    with_all_rows(conform_loops);
}

static void read_bindings_may_overlap(void **state) {
    (void)state;
    with_backend(conform_overlaps);
}

static void many_params_of_every_type_arrive(void **state) {
    (void)state;
    with_backend(conform_params);
}

static void as_many_buffers_as_there_may_be_are_bound(void **state) {
    (void)state;
    with_backend(conform_many_buffers);
}

/* GPUs take 65535 groups in y and z. */
static void tall_grids(conform *c) {
    static const char text[] = "program tall {\n param from : u32\n buffer x : u32 read_write\n workgroup 1, 1, 1\n"
                               " let at = group_id.y + group_count.y * group_id.z\n"
                               " if at >= from && at % 1000 == 999 { trap at }\n"
                               " if group_id.x == 1 { atomic_add(x[at % len(x)], at) }\n}\n";
    static const uint32_t grids[][3] = {{2, 70000, 1}, {2, 1, 70000}, {2, 65536, 2}};
    static uint32_t x[64];
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    for (size_t i = 0; i < 3; i++)
        for (unsigned form = 0; form < CONFORM_FORM_COUNT; form++) {
            vyre_scalar from = vyre_scalar_u32(form % 2 ? 68000 : UINT32_MAX);
            vyre_span input = {x, sizeof x};
            vyre_arguments arguments = {.params = &from, .param_count = 1, .inputs = &input, .input_count = 1};
            arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {grids[i][0], grids[i][1], grids[i][2]}};
            conform_check(c, "a tall grid", program, &arguments, (conform_form)form);
        }
    assert_true(c->judged > 0);
    vyre_program_release(program);
}

static void tall_grids_have_the_oracles_bits(void **state) {
    (void)state;
    with_backend(tall_grids);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workgroups_and_grids_of_any_shape_have_the_oracles_bits),
        cmocka_unit_test(grids_that_lie_in_a_buffer_have_the_oracles_bits),
        cmocka_unit_test(ranges_that_start_anywhere_have_the_oracles_bits),
        cmocka_unit_test(loops_that_wait_for_memory_have_the_oracles_bits),
        cmocka_unit_test(read_bindings_may_overlap),
        cmocka_unit_test(many_params_of_every_type_arrive),
        cmocka_unit_test(as_many_buffers_as_there_may_be_are_bound),
        cmocka_unit_test(tall_grids_have_the_oracles_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
