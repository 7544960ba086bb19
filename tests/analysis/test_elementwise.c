/* Elementwise analysis: which programs are divisible, and that a failed allocation is reported. */
#include "support/fault.h"
#include "support/test.h"

#include "analysis/elementwise.h"

#define OVER_Y(body)                                                                                                   \
    "fn f(v : u32) -> u32 { return v + 1 }\nprogram p {\n param a : u32\n buffer x : u32 read\n buffer y : u32 "       \
    "read_write\n buffer t : u32 read\n"                                                                               \
    " workgroup 64\n grid over y\n array w : u32 [64] workgroup\n let i = global_id.x\n" body "}\n"

static void programs_that_access_their_own_element_are_divisible(void **state) {
    (void)state;
    static const struct {
        const char *source;
        int is_divisible, table; /* table: whether t is elementwise */
    } rows[] = {
        {OVER_Y(" y[i] = x[i] + a\n"), 1, 1},
        {OVER_Y(" let j = i\n if j < len(y) { y[j] = x[j] * y[i] }\n"), 1, 1},
        {OVER_Y(" y[i] = x[i] + t[x[i] % 7]\n"), 1, 0}, /* a table is needed whole */
        {OVER_Y(" y[i] = x[i] + t[i]\n"), 1, 1},
        {OVER_Y(" y[i] = group_count.x + global_size.x + i\n"), 1, 1},
        {OVER_Y(" w[local_index] = x[i]\n barrier\n y[i] = w[63 - local_index]\n"), 1, 1},
        {OVER_Y(" y[i + 1] = x[i]\n"), 0, 0},
        {OVER_Y(" y[i] = y[i ^ 1]\n"), 0, 0},
        {OVER_Y(" y[local_index] = x[i]\n"), 0, 0},
        {OVER_Y(" y[global_id.y] = x[i]\n"), 0, 0},
        {OVER_Y(" atomic_add(y[i], x[i])\n"), 0, 0},
        {OVER_Y(" y[i] = f(x[i])\n"), 0, 0}, /* not inlined */
        {OVER_Y(" var k = i\n k = k + a\n y[k] = x[i]\n"), 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        vyre_program *program = vy_test_parse(rows[i].source);
        vyre_error error = VYRE_ERROR_INIT;
        uint8_t is_elementwise[3];
        int is_divisible;
        assert_int_equal(vy_elementwise_find(program, is_elementwise, &is_divisible, &error), VYRE_OK);
        if (is_divisible != rows[i].is_divisible || (is_divisible && is_elementwise[2] != rows[i].table))
            fail_msg("%s: %d, the table %d", rows[i].source, is_divisible, is_elementwise[2]);
        vyre_program_release(program);
    }
}

static vyre_status find(void *program) {
    uint8_t is_elementwise[3];
    int is_divisible;
    vyre_error error = VYRE_ERROR_INIT;
    return vy_elementwise_find(program, is_elementwise, &is_divisible, &error);
}

static void out_of_memory_is_reported(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse(OVER_Y(" y[i] = x[i] + a\n"));
    assert_true(VY_FAULT_LOOP(find, program) > 0);
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_that_access_their_own_element_are_divisible),
        cmocka_unit_test(out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
