/* Odd shapes on backend `cpu`, at every width and ISA level. */
#include "backends/conform_loops.h"
#include "backends/conform_shapes.h"
#include "backends/cpu/matrix.h"

static const char *const widths[] = {"4", "8", "16", "32", "64", "0"};

static void at_every_width(matrix_part *what) {
    static conform c;
    const size_t step = VY_SANITIZED ? 2 : 1; /* neither LLVM nor the code it makes has sanitizers inside */
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i += step) {
        setenv("VYRE_CPU_WIDTH", widths[i], 1);
        conform_open(&c, "cpu");
        what(&c, 0, 1);
        conform_close(&c);
    }
    unsetenv("VYRE_CPU_WIDTH");
}

/* Where lanes do not matter. */
static void at_one_width(void (*what)(conform *c)) {
    static conform c;
    conform_open(&c, "cpu");
    what(&c);
    conform_close(&c);
}

static void workgroups_and_grids_of_any_shape_have_the_oracles_bits(void **state) {
    (void)state;
    at_every_width(conform_shapes);
}

static void grids_that_lie_in_a_buffer_have_the_oracles_bits(void **state) {
    (void)state;
    at_one_width(conform_indirect_grids);
}

static void ranges_that_start_anywhere_have_the_oracles_bits(void **state) {
    (void)state;
    at_every_width(conform_odd_ranges);
}

static void loops_that_wait_for_memory_have_the_oracles_bits(void **state) {
    (void)state;
    static conform c;
    conform_open(&c, "cpu");
    conform_loops(&c, 0, 1);
    conform_close(&c);
}

static void read_bindings_may_overlap(void **state) {
    (void)state;
    at_one_width(conform_overlaps);
}

static void outputs_start_as_zero_whatever_was_there(void **state) {
    (void)state;
    at_one_width(conform_covers);
}

/* At the start of resident buffers, which is aligned, a whole row is one store; at multiples of 16 bytes it is
 * several, elsewhere it does not go past the caches, and neither does the last one, of which not all is there. */
static void store_in_a_stream(conform *c, size_t first, size_t step) {
    enum { N = 10007, AROUND = 64 };
    static const char *const types[] = {"u8", "u16", "u32", "u64"};
    for (size_t k = first; k < 12; k += step) {
        size_t size = (size_t)1 << k % 4, offset = k < 4 ? 0 : k < 8 ? 48 : 8, whole = N * size + AROUND;
        char text[300];
        static char sink[N * 8 + AROUND], wanted[sizeof sink];
        vyre_resident resident;
        snprintf(text, sizeof text,
                 "program stream {\n buffer y : %s write\n workgroup 64\n grid over y\n let i = global_id.x\n"
                 " if i < len(y) { y[i] = %s(i * 77 + 5) }\n}\n",
                 types[k % 4], types[k % 4]);
        vyre_program *program = conform_parse(text, NULL, 0, NULL);
        memset(wanted, 0x5a, sizeof wanted);
        assert_int_equal(vyre_resident_allocate(c->backend, whole, wanted, &resident, NULL), VYRE_OK);
        for (uint64_t i = 0, value = 5; i < N; i++, value += 77)
            memcpy(wanted + offset + i * size, &value, size);
        vyre_resource binding = {
            .kind = VYRE_RESOURCE_RESIDENT, .resident = resident, .offset = offset, .size = N * size};
        assert_int_equal(vyre_backend_dispatch_resident(c->backend, program, &binding, 1, NULL, NULL, NULL, NULL, NULL),
                         VYRE_OK);
        assert_int_equal(vyre_resident_download_at(c->backend, resident, 0, sink, whole, NULL), VYRE_OK);
        assert_memory_equal(sink, wanted, whole);
        assert_int_equal(vyre_resident_free(c->backend, resident, NULL), VYRE_OK);
        vyre_program_release(program);
    }
}

static void what_is_stored_past_the_caches_arrives(void **state) {
    (void)state;
    setenv("VYRE_CPU_STREAM", "0", 1);
    at_every_width(store_in_a_stream);
    unsetenv("VYRE_CPU_STREAM");
}

static void many_params_of_every_type_arrive(void **state) {
    (void)state;
    at_one_width(conform_params);
}

static void as_many_buffers_as_there_may_be_are_bound(void **state) {
    (void)state;
    at_one_width(conform_many_buffers);
}

static void lower_levels_have_the_oracles_bits_for_any_shape(void **state) {
    (void)state;
    matrix_lower_levels(conform_shapes, 12);
    matrix_lower_levels(conform_odd_ranges, 8);
}

static void lower_levels_have_the_oracles_bits_in_loops(void **state) {
    (void)state;
    matrix_lower_levels(conform_loops, 24);
}

static void lower_levels_store_past_the_caches(void **state) {
    (void)state;
    setenv("VYRE_CPU_STREAM", "0", 1);
    matrix_lower_levels(store_in_a_stream, 12);
    unsetenv("VYRE_CPU_STREAM");
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workgroups_and_grids_of_any_shape_have_the_oracles_bits),
        cmocka_unit_test(grids_that_lie_in_a_buffer_have_the_oracles_bits),
        cmocka_unit_test(ranges_that_start_anywhere_have_the_oracles_bits),
        cmocka_unit_test(loops_that_wait_for_memory_have_the_oracles_bits),
        cmocka_unit_test(read_bindings_may_overlap),
        cmocka_unit_test(outputs_start_as_zero_whatever_was_there),
        cmocka_unit_test(what_is_stored_past_the_caches_arrives),
        cmocka_unit_test(many_params_of_every_type_arrive),
        cmocka_unit_test(as_many_buffers_as_there_may_be_are_bound),
        cmocka_unit_test(lower_levels_have_the_oracles_bits_for_any_shape),
        cmocka_unit_test(lower_levels_have_the_oracles_bits_in_loops),
        cmocka_unit_test(lower_levels_store_past_the_caches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
