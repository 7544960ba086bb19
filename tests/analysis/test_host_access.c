/* Host access: how many bus requests each buffer of a program costs, and that a failed allocation is reported. */
#include "support/fault.h"
#include "support/test.h"

#include "analysis/host_access.h"
#include "vyre/transform.h"

#define OVER_Y(access, body)                                                                                           \
    "program p {\n param a : u32\n buffer x : u32 read\n buffer y : u32 " access "\n buffer t : u32 read\n"            \
    " workgroup 64\n grid over y\n array w : u32 [64] workgroup\n let i = global_id.x\n" body "}\n"

static void buffers_with_few_accesses_qualify(void **state) {
    (void)state;
    static const struct {
        const char *source;
        uint8_t requests[3]; /* of x, y, t; one that is not used requests 1 */
    } rows[] = {
        {OVER_Y("write", " y[i] = x[i] + a\n"), {1, 1, 1}},
        {OVER_Y("write", " if i < len(y) { y[i] = x[i] + t[i] }\n"), {1, 1, 1}},
        {OVER_Y("write", " if x[i] % 2 == 1 { y[i] = x[i] }\n"), {1, 1, 1}}, /* one load, not two */
        {OVER_Y("write", " y[len(y) - 1 - i] = x[i] + x[i + 1]\n"), {2, 1, 1}},
        {OVER_Y("read_write", " y[i] = y[i] * 2 + x[i]\n"), {1, 2, 1}},
        {OVER_Y("read_write", " if y[i] == 13 { trap 99 }\n y[i] = y[i] + 1\n"), {1, 2, 1}},
        {OVER_Y("write", " y[i] = x[0] + t[group_id.x]\n"), {1, 1, 1}},
        /* Far from each other: each goes over the bus by itself. */
        {OVER_Y("write", " y[i * 64] = x[i ^ 5]\n"), {32, 32, 1}},
        {OVER_Y("write", " y[i * 3] = x[i]\n"), {1, 1, 1}},
        {OVER_Y("write", " y[x[i]] = 1\n"), {1, 32, 1}},
        /* More than there is room for. */
        {OVER_Y("write", " y[i] = x[i ^ 1] + x[i ^ 2] + x[i ^ 4] + x[i ^ 8] + x[i ^ 16] + x[i ^ 32] + x[i ^ 64] + x[i "
                         "^ 128]\n"),
         {0, 1, 1}},
        /* A load that waits for another one. */
        {OVER_Y("write", " y[i] = t[x[i] % 7]\n"), {1, 1, 0}},
        {OVER_Y("write", " if x[i] > 3 { y[i] = t[i] }\n"), {1, 1, 0}},
        {OVER_Y("write", " if x[i] > 3 { return }\n y[i] = t[i]\n"), {1, 1, 0}},
        {OVER_Y("write", " if x[i] > 3 { trap 1 }\n y[i] = t[i]\n"), {1, 1, 0}},
        {OVER_Y("write", " var v = i\n if x[i] > 3 { v = 7 }\n y[i] = t[v]\n"), {1, 1, 0}},
        {OVER_Y("write", " w[local_index] = x[i]\n barrier\n y[i] = t[i] + w[63 - local_index]\n"), {1, 1, 0}},
        {OVER_Y("write", " w[local_index] = x[i]\n barrier\n y[i] = w[63 - local_index]\n"), {1, 1, 1}},
        {OVER_Y("write", " let s = workgroup_reduce_add(x[i])\n if local_index == 0 { y[group_id.x] = s }\n"),
         {1, 1, 1}},
        {OVER_Y("write", " let s = workgroup_reduce_add(x[i])\n y[i] = s + t[i]\n"), {1, 1, 0}},
        /* Again and again. */
        {OVER_Y("write", " var s = 0u32\n for k in 0 .. a { s = s + x[k] }\n y[i] = s + t[i]\n"), {0, 1, 1}},
        {OVER_Y("write", " let v = x[i]\n for k in 0 .. a { y[i + k] = k * v }\n"), {1, 0, 1}},
        {OVER_Y("write", " var n = 0u32\n while t[n] != 0 { n = n + 1 }\n y[i] = n\n"), {1, 1, 0}},
        {OVER_Y("write", " var n = 0u32\n for k in 0 .. t[i] { n = n * 3 + k }\n y[i] = n\n"), {1, 1, 1}},
        /* Written and read again, here or there. */
        {OVER_Y("read_write",
                " y[i] = x[i]\n barrier\n w[local_index] = y[i ^ 1]\n barrier\n y[i] = w[local_index ^ 1]\n"),
         {1, 0, 1}},
        {OVER_Y("read_write", " atomic_add(y[i], x[i])\n"), {1, 0, 1}},
        {OVER_Y("read_write", " atomic_max(y[x[i] % len(y)], 1)\n"), {1, 0, 1}},
    };
    const vyre_optimize_options little = {.level = 1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        vyre_program *program = vy_test_parse(rows[i].source), *plain;
        vyre_error error = VYRE_ERROR_INIT;
        uint8_t requests[3];
        assert_int_equal(vyre_program_optimize(program, &little, &plain, NULL, &error), VYRE_OK);
        assert_int_equal(vy_host_access_find(plain, requests, &error), VYRE_OK);
        if (memcmp(requests, rows[i].requests, sizeof requests) != 0)
            fail_msg("%s: %u, %u, %u", rows[i].source, requests[0], requests[1], requests[2]);
        vyre_program_release(plain);
        vyre_program_release(program);
    }
}

static void short_rows_need_more_requests(void **state) {
    (void)state;
    static const char source[] = "program p {\n buffer x : u32 read\n buffer y : u32 write\n workgroup 8, 8\n"
                                 " let at = global_id.y * 64 + global_id.x\n y[at] = x[at]\n}\n";
    vyre_program *program = vy_test_parse(source);
    vyre_error error = VYRE_ERROR_INIT;
    uint8_t requests[2];
    assert_int_equal(vy_host_access_find(program, requests, &error), VYRE_OK);
    assert_int_equal(requests[0], 4);
    assert_int_equal(requests[1], 4);
    vyre_program_release(program);
}

static void calls_and_large_programs_do_not_qualify(void **state) {
    (void)state;
    static const char call[] = "fn twice(v : u32) -> u32 { return v + v }\nprogram p {\n buffer x : u32 read_write\n"
                               " workgroup 64\n grid over x\n x[global_id.x] = twice(x[global_id.x])\n}\n";
    char *large = malloc(1 << 20);
    size_t length = (size_t)sprintf(large, "program p {\n buffer x : u32 write\n workgroup 64\n grid over x\n");
    for (int i = 0; i < 5000; i++)
        length += (size_t)sprintf(large + length, " let v%d = global_id.x + %d\n", i, i);
    sprintf(large + length, " x[global_id.x] = v7\n}\n");
    const char *sources[] = {call, large};
    for (int i = 0; i < 2; i++) {
        vyre_program *program = vy_test_parse(sources[i]);
        vyre_error error = VYRE_ERROR_INIT;
        uint8_t requests = 9;
        assert_int_equal(vy_host_access_find(program, &requests, &error), VYRE_OK);
        assert_int_equal(requests, 0);
        vyre_program_release(program);
    }
    free(large);
}

static vyre_status find(void *program) {
    uint8_t requests[3];
    vyre_error error = VYRE_ERROR_INIT;
    return vy_host_access_find(program, requests, &error);
}

static void out_of_memory_is_reported(void **state) {
    (void)state;
    vyre_program *program = vy_test_parse(OVER_Y("write", " if x[i] > 3 { y[i] = x[i] }\n"));
    assert_true(VY_FAULT_LOOP(find, program) > 0);
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_with_few_accesses_qualify),
        cmocka_unit_test(short_rows_need_more_requests),
        cmocka_unit_test(calls_and_large_programs_do_not_qualify),
        cmocka_unit_test(out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
