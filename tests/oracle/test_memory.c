/* Memory: bounds, element types, NaN, atomics, workgroup arrays, barriers; and what a dispatch gives back. */
#include "oracle/trial.h"

static void out_of_bounds_loads_zero_and_drops_stores(void **state) {
    (void)state;
    const uint32_t x[2] = {7, 9};
    trial t;
    trial_open(
        &t, "program p {\n buffer x : u32 read\n buffer out : u32 write count 2\n grid 1\n"
            "out[0] = x[1] + x[2] + x[4294967295u32]\n out[2] = 5\n out[18446744073709551615u64] = 6\n out[1] = 1 }");
    trial_input(&t, x, sizeof x);
    trial_expect(&t, VYRE_OK);
    assert_int_equal(trial_u32(&t, 0)[0], 9);
    assert_int_equal(trial_u32(&t, 0)[1], 1);
    trial_close(&t);
}

/* -1 in every signed type, and the largest value of every unsigned one, is no index. */
static void an_index_is_a_mathematical_integer(void **state) {
    (void)state;
    static const char *const indices[] = {"-1i8",   "-1i16",         "-1i32",         "-1i64",
                                          "255u8",  "65535u16",      "4294967295u32", "18446744073709551615u64",
                                          "-128i8", "4294967296i64", "4294967297u64"};
    static const char *const inside[] = {"1i8", "1u8", "1i16", "1u16", "1i32", "1u32", "1i64", "1u64"};
    const uint32_t x[3] = {1, 2, 3};
    for (size_t k = 0; k < sizeof indices / sizeof *indices + sizeof inside / sizeof *inside; k++) {
        size_t outside = sizeof indices / sizeof *indices;
        char text[400];
        /* Through a param-like variable, so that no constant is checked before the run. */
        snprintf(text, sizeof text,
                 "program p {\n buffer x : u32 read\n buffer out : u32 write count 3\n grid 1\n var j = %s\n out[j] = "
                 "77\n out[2] = x[j] }",
                 k < outside ? indices[k] : inside[k - outside]);
        trial t;
        trial_open(&t, text);
        trial_input(&t, x, sizeof x);
        trial_expect(&t, VYRE_OK);
        assert_int_equal(trial_u32(&t, 0)[0], 0);
        assert_int_equal(trial_u32(&t, 0)[1], k < outside ? 0 : 77);
        assert_int_equal(trial_u32(&t, 0)[2], k < outside ? 0 : 2);
        trial_close(&t);
    }
}

static void workgroup_and_private_arrays_have_bounds_too(void **state) {
    (void)state;
    EXPECT_U32("program p {\n buffer out : u32 write count 4\n workgroup 2\n grid 1\n array w : u32 [2] workgroup\n "
               "array v : u32 [2] private\n"
               "let i = local_id.x\n var j = i + 1\n w[j] = 5 + i\n v[j] = 7 + i\n barrier\n out[i] = w[1] + w[i + "
               "2]\n out[i + 2] = v[1] + v[j + 1] }",
               5, 5, 7, 0);
}

/* In the program and in functions, by every type of index, as an argument, and in a loop. */
static void constant_arrays_are_read_like_buffers(void **state) {
    (void)state;
    EXPECT_U32("const K : u32 [4] = [10, 20, 30, 40]\nconst S : i8 [] = [-1, -128]\n"
               "fn f(i: i64) -> u32 {\n const K2 : u16 [] = [1, 65535]\n return u32(K2[i]) + K[i] }\n"
               "fn g(t: buffer [u32] read, i: u32) -> u32 { return t[i] + len(t) }\n"
               "program p {\n buffer out : u32 write count 8\n workgroup 8\n grid 1\n let i = local_id.x\n"
               "var sum = 0u32\n for k in 0u32 .. 6 { sum = sum + K[k] }\n"
               "let a = f(1)\n let b = f(-1)\n let c = f(2)\n let d = g(K, 3)\n"
               "out[i] = i == 0 ? sum : i == 1 ? K[i] : i == 2 ? a : i == 3 ? b : i == 4 ? c : i == 5 ? d : i == 6 ? "
               "u32(i32(S[1])) : K[i] }",
               100, 20, 65555, 0, 30, 44, 4294967168, 0);
}

static void every_element_type_keeps_its_bits(void **state) {
    (void)state;
    static const char *const types[] = {"i8",  "u8",  "i16", "u16",  "i32", "u32",
                                        "i64", "u64", "f16", "bf16", "f32", "f64"};
    static const unsigned sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};
    for (size_t k = 0; k < 12; k++) {
        uint8_t x[64];
        char text[300];
        trial t;
        /* Bytes from 0x01 to 0x40: no NaN in any type. */
        for (int i = 0; i < 64; i++)
            x[i] = (uint8_t)(i + 1);
        snprintf(text, sizeof text,
                 "program p {\n buffer x : %s read\n buffer y : %s write count len(x)\n workgroup 5\n grid over x\n "
                 "array w : %s [5] workgroup\n"
                 "let i = global_id.x\n w[local_id.x] = x[i]\n barrier\n y[i] = w[local_id.x] }",
                 types[k], types[k], types[k]);
        trial_open(&t, text);
        trial_input(&t, x, 8 * sizes[k]);
        trial_expect(&t, VYRE_OK);
        assert_int_equal(t.outputs[0].size, 8 * sizes[k]);
        assert_memory_equal(t.outputs[0].data, x, 8 * sizes[k]);
        trial_close(&t);
    }
}

static void a_loaded_nan_is_the_canonical_one(void **state) {
    (void)state;
    const uint32_t x[4] = {0xffc12345, 0x7f800001, 0xff800000, 0x7fffffff};
    trial t;
    trial_open(&t, "program p {\n buffer x : f32 read\n buffer y : f32 write count len(x)\n grid over x\n "
                   "y[global_id.x] = x[global_id.x] }");
    trial_input(&t, x, sizeof x);
    trial_expect(&t, VYRE_OK);
    const uint32_t want[4] = {0x7fc00000, 0x7fc00000, 0xff800000, 0x7fc00000};
    assert_memory_equal(t.outputs[0].data, want, sizeof want);
    trial_close(&t);
}

static void a_param_nan_is_canonical_too(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n param a : f64\n buffer y : u64 write count 1\n grid 1\n y[0] = bitcast<u64>(a) }");
    vyre_scalar a = {VYRE_TYPE_F64, 0xfff0000000000001u};
    t.arguments.params = &a;
    t.arguments.param_count = 1;
    trial_expect(&t, VYRE_OK);
    assert_true(*(uint64_t *)t.outputs[0].data == 0x7ff8000000000000u);
    trial_close(&t);
}

static void a_load_reads_memory_before_the_effect_of_its_statement(void **state) {
    (void)state;
    EXPECT_U32("program p {\n buffer out : u32 write count 2\n grid 1\n array a : u32 [2] private\n"
               "a[0] = 1\n a[1] = 0\n a[a[1]] = a[0] + a[a[1]] + 5\n out[0] = a[0]\n out[1] = a[1] }",
               7, 0);
}

static void workgroup_arrays_are_zero_at_the_start_of_every_workgroup(void **state) {
    (void)state;
    EXPECT_U32("program p {\n buffer out : u32 write count 3\n grid 3\n array w : u32 [1] workgroup\n"
               "out[group_id.x] = w[0]\n w[0] = 9 }",
               0, 0, 0);
}

static void a_barrier_shows_what_the_others_wrote(void **state) {
    (void)state;
    trial t;
    trial_open(
        &t,
        "program p {\n buffer out : u32 write count 1000\n workgroup 1000\n grid 1\n array w : u32 [1000] workgroup\n"
        "let i = local_index\n w[i] = i * i\n barrier\n out[i] = w[999 - i] }");
    trial_expect(&t, VYRE_OK);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(trial_u32(&t, 0)[i], (999 - i) * (999 - i));
    trial_close(&t);
}

static void collectives_meet_over_several_warps(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n buffer out : u32 write count 600\n workgroup 30, 20\n grid 1\n"
                   "let i = local_index\n let s = workgroup_scan_inclusive_add(i)\n let b = workgroup_broadcast(s, "
                   "599)\n out[i] = b - s }");
    trial_expect(&t, VYRE_OK);
    for (uint32_t i = 0; i < 600; i++)
        assert_int_equal(trial_u32(&t, 0)[i], 599 * 600 / 2 - i * (i + 1) / 2);
    trial_close(&t);
}

static void atomics_do_what_their_rows_say(void **state) {
    (void)state;
    EXPECT_U32("program p {\n buffer out : u32 write count 20\n grid 1\n array w : u32 [1] workgroup\n"
               "w[0] = 12\n"
               "let a = atomic_add(w[0], 4294967295u32)\n out[0] = a\n"
               "let b = atomic_and(w[0], 10)\n out[1] = b\n"
               "let c = atomic_or(w[0], 5)\n out[2] = c\n"
               "let d = atomic_xor(w[0], 1)\n out[3] = d\n"
               "let e = atomic_min(w[0], 9)\n out[4] = e\n"
               "let f = atomic_max(w[0], 20)\n out[5] = f\n"
               "let g = atomic_exchange(w[0], 3)\n out[6] = g\n"
               "let h = atomic_compare_exchange(w[0], 4, 50)\n out[7] = h\n"
               "let k = atomic_compare_exchange(w[0], 3, 60)\n out[8] = k\n"
               "let l = atomic_load(w[0])\n out[9] = l\n"
               "atomic_store(w[0], 70)\n let m = atomic_load(w[0])\n out[10] = m\n"
               "let n = atomic_add(w[1], 1)\n out[11] = n + 1000\n let o = atomic_load(w[0])\n out[12] = o }",
               12, 11, 10, 15, 14, 9, 20, 3, 3, 60, 70, 1000, 70, 0, 0, 0, 0, 0, 0, 0);
}

static void atomic_minimum_of_a_signed_type_is_signed(void **state) {
    (void)state;
    const int64_t start[2] = {5, 5};
    trial t;
    trial_open(&t, "program p {\n buffer m : i64 read_write\n workgroup 64\n grid 4\n"
                   "atomic_min(m[0], i64(global_id.x) - 100)\n atomic_max(m[1], i64(global_id.x) - 100) }");
    trial_input(&t, start, sizeof start);
    trial_expect(&t, VYRE_OK);
    assert_int_equal(((int64_t *)t.outputs[0].data)[0], -100);
    assert_int_equal(((int64_t *)t.outputs[0].data)[1], 155);
    trial_close(&t);
}

static void inactive_lanes_access_nothing(void **state) {
    (void)state;
    EXPECT_U32("program p {\n buffer out : u32 write count 4\n workgroup 4\n grid 1\n array w : u32 [4] workgroup\n "
               "let i = local_id.x\n"
               "if i == 2 { w[i] = 5\n atomic_add(w[i], 1)\n out[i] = w[i] }\n barrier\n out[(i + 1) % 4] = w[i] }",
               0, 0, 0, 6);
}

static void empty_buffers_and_empty_grids_are_legal(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n buffer x : f64 read\n buffer y : f64 write count len(x)\n buffer z : u32 "
                   "read_write\n grid over x\n"
                   "y[global_id.x] = x[global_id.x] }");
    const uint32_t z[2] = {3, 4};
    trial_input(&t, NULL, 0);
    trial_input(&t, z, sizeof z);
    trial_expect(&t, VYRE_OK);
    assert_int_equal(t.outputs[0].size, 0);
    assert_memory_equal(t.outputs[1].data, z, sizeof z);
    assert_int_equal(t.report.invocations, 0);
    trial_groups(&t, 3, 0, 5);
    trial_expect(&t, VYRE_OK);
    t.options.seed = 5;
    trial_expect(&t, VYRE_OK);
    trial_close(&t);
}

static void ids_of_a_three_dimensional_grid_are_right(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n buffer out : u32 write count 4320\n workgroup 2, 3, 4\n grid 3, 4, 5\n"
                   "let g = global_id.x + global_size.x * (global_id.y + global_size.y * global_id.z)\n"
                   "let ok = global_id.x == group_id.x * workgroup_size.x + local_id.x && global_id.y == group_id.y * "
                   "3 + local_id.y && global_id.z "
                   "== group_id.z * 4 + local_id.z && local_index == local_id.x + 2 * (local_id.y + 3 * local_id.z) && "
                   "group_count.z == 5\n"
                   "out[g] = ok ? g + 1 : 0 }");
    /* 6 * 12 * 20 invocations, each stores once: every element below 1440 is its place plus one. */
    trial_expect(&t, VYRE_OK);
    for (uint32_t i = 0; i < 4320; i++)
        assert_int_equal(trial_u32(&t, 0)[i], i < 1440 ? i + 1 : 0);
    trial_close(&t);
}

static void outputs_keep_their_capacity(void **state) {
    (void)state;
    trial t;
    trial_open(&t, "program p {\n buffer x : u32 read\n buffer y : u32 write count len(x)\n grid over x\n "
                   "y[global_id.x] = x[global_id.x] }");
    const uint32_t x[3] = {1, 2, 3};
    trial_input(&t, x, sizeof x);
    trial_expect(&t, VYRE_OK);
    void *before = t.outputs[0].data;
    t.inputs[0].size = 4;
    trial_expect(&t, VYRE_OK);
    assert_int_equal(t.outputs[0].size, 4);
    assert_ptr_equal(t.outputs[0].data, before);
    trial_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(out_of_bounds_loads_zero_and_drops_stores),
        cmocka_unit_test(an_index_is_a_mathematical_integer),
        cmocka_unit_test(workgroup_and_private_arrays_have_bounds_too),
        cmocka_unit_test(constant_arrays_are_read_like_buffers),
        cmocka_unit_test(every_element_type_keeps_its_bits),
        cmocka_unit_test(a_loaded_nan_is_the_canonical_one),
        cmocka_unit_test(a_param_nan_is_canonical_too),
        cmocka_unit_test(a_load_reads_memory_before_the_effect_of_its_statement),
        cmocka_unit_test(workgroup_arrays_are_zero_at_the_start_of_every_workgroup),
        cmocka_unit_test(a_barrier_shows_what_the_others_wrote),
        cmocka_unit_test(collectives_meet_over_several_warps),
        cmocka_unit_test(atomics_do_what_their_rows_say),
        cmocka_unit_test(atomic_minimum_of_a_signed_type_is_signed),
        cmocka_unit_test(inactive_lanes_access_nothing),
        cmocka_unit_test(empty_buffers_and_empty_grids_are_legal),
        cmocka_unit_test(ids_of_a_three_dimensional_grid_are_right),
        cmocka_unit_test(outputs_keep_their_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
