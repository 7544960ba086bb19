/* Odd shapes on backend `cpu`, at every width. */
#include "backends/conform_shapes.h"

static const char *const widths[] = {"4", "8", "16", "32", "64", "0"};

static void at_every_width(void (*what)(conform *c)) {
    static conform c;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        setenv("VYRE_CPU_WIDTH", widths[i], 1);
        conform_open(&c, "cpu");
        what(&c);
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

static void ranges_that_start_anywhere_have_the_oracles_bits(void **state) {
    (void)state;
    at_every_width(conform_odd_ranges);
}

static void read_bindings_may_overlap(void **state) {
    (void)state;
    at_one_width(conform_overlaps);
}

static void outputs_start_as_zero_whatever_was_there(void **state) {
    (void)state;
    at_one_width(conform_covers);
}

static void many_params_of_every_type_arrive(void **state) {
    (void)state;
    at_one_width(conform_params);
}

static void as_many_buffers_as_there_may_be_are_bound(void **state) {
    (void)state;
    at_one_width(conform_many_buffers);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workgroups_and_grids_of_any_shape_have_the_oracles_bits),
        cmocka_unit_test(ranges_that_start_anywhere_have_the_oracles_bits),
        cmocka_unit_test(read_bindings_may_overlap),
        cmocka_unit_test(outputs_start_as_zero_whatever_was_there),
        cmocka_unit_test(many_params_of_every_type_arrive),
        cmocka_unit_test(as_many_buffers_as_there_may_be_are_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
