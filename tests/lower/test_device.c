/* The bad device is bad: without legalisation it refuses, or gives other bits, for each thing it lacks. And vyre's own
 * oracle stays as it is. */
#include "lower/runner.h"

#include "compile/pipeline.h"
#include "lower/legalizer.h"
#include "support/fault.h"

/* Operands that show what a missing bit does. */
typedef struct badness {
    uint64_t missing;
    vyre_op op;
    vyre_type result, operand;
    uint64_t a, b, c;
} badness;

#define F32 VYRE_TYPE_F32
#define ROW(BIT_ID, OP, R, T, a, b, c)                                                                                 \
    { BIT(BIT_ID), VYRE_OP_##OP, VYRE_TYPE_##R, VYRE_TYPE_##T, a, b, c }
static const badness rows[] = {
    ROW(INT8, ADD, I8, I8, 1, 2, 0),
    ROW(INT16, SHL, U16, U16, 1, 2, 0),
    ROW(INT64, XOR, U64, U64, 1, 2, 0),
    ROW(INT_DIV, DIV, I32, I32, 5, 0, 0),
    ROW(INT_DIV, REM, U32, U32, 5, 0, 0),
    ROW(INT_DIV, DIV, I64, I64, UINT64_C(1) << 63, UINT64_MAX, 0),
    ROW(SHIFT, SHL, U32, U32, 1, 32, 0),
    ROW(SHIFT, ROTR, I64, I64, 1, 64, 0),
    ROW(F32_SUBNORMAL, ADD, F32, F32, 1, 0, 0),
    ROW(F32_SUBNORMAL, LT, BOOL, F32, 0, 1, 0),
    ROW(F32_SUBNORMAL, MUL, F32, F32, 0x00800000, 0x3f000000, 0),
    ROW(F32_SUBNORMAL, MUL, F32, F32, 0x00ffffff, 0x3f000000, 0), /* rounds up to the smallest normal number */
    ROW(F32_SUBNORMAL, FMA, F32, F32, 0x3f800000, 3, 0),
    ROW(F32_SUBNORMAL, CEIL, F32, F32, 1, 0, 0),
    ROW(F32_SUBNORMAL, CAST, F64, F32, 1, 0, 0),
    ROW(F32_FMA, FMA, F32, F32, 0x3f800001, 0x3f800001, 0xbf800002),
    ROW(F32_MIN_MAX, MAX, F32, F32, 0x3f800000, 0x7fc00001, 0),
    ROW(F32_MIN_MAX, MIN, F32, F32, 0x80000000, 0, 0),
    ROW(F32_ROUND, ROUND, F32, F32, 0x3f000000, 0, 0),
    ROW(F32_CONVERT, CAST, I32, F32, 0x7f800000, 0, 0),
    ROW(F32_CONVERT, CAST, F32, U32, 0xffffffff, 0, 0),
    ROW(F64_SUBNORMAL, SQRT, F64, F64, 1, 0, 0),
    ROW(F16_ADD, ADD, F16, F16, 0x3c00, 0x3c00, 0),
    ROW(BF16_CONVERT, CAST, F32, BF16, 0x3f80, 0, 0),
};

static void what_is_missing_shows(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const badness *row = &rows[i];
        vy_kernel *kernel = vy_device_kernel(ALL_BITS & ~row->missing, row->op, row->result, row->operand);
        uint64_t a = row->a, b = row->b, c = row->c,
                 right = vyre_op_evaluate(row->op, row->result, row->operand, a, b, c);
        if (!kernel)
            continue;
        kernel(&a, &a, &b, &c, 1);
        if (a == right)
            fail_msg("row %zu: %s gives the right bits (%" PRIx64 ")", i, vyre_op_get(row->op)->name, a);
    }
}

/* Of many divisions and roots a fair part is off, by 2 places at most; so is every second sum. */
static void inexact_ops_are_off_often(void **state) {
    (void)state;
    static const struct {
        uint64_t missing;
        vyre_op op;
        int64_t most;
    } inexact[] = {{BIT(F32_ADD), VYRE_OP_ADD, 1},
                   {BIT(F32_MUL), VYRE_OP_MUL, 1},
                   {BIT(F32_DIV), VYRE_OP_APPROX_DIV, 2},
                   {BIT(F32_SQRT), VYRE_OP_APPROX_SQRT, 2}};
    vy_random random = vy_random_start(77);
    for (size_t k = 0; k < sizeof inexact / sizeof *inexact; k++) {
        vy_kernel *kernel = vy_device_kernel(ALL_BITS & ~inexact[k].missing, inexact[k].op, F32, F32);
        int off = 0;
        for (int i = 0; i < 1000; i++) {
            uint64_t a = 0x3f800000 + vy_random_below(&random, 1 << 23),
                     b = 0x3f800000 + vy_random_below(&random, 1 << 23), c = 0;
            uint64_t right = vyre_op_evaluate(inexact[k].op, F32, F32, a, b, c);
            kernel(&a, &a, &b, &c, 1);
            int64_t by = (int64_t)a - (int64_t)right;
            assert_true(by <= inexact[k].most && by >= -inexact[k].most);
            off += by != 0;
        }
        assert_true(off > 300);
    }
}

/* Who wants a guess says so; a division or narrow op that is not exact is not there. */
static void what_is_not_exact_may_be_refused(void **state) {
    (void)state;
    static const struct {
        uint64_t missing;
        vyre_op op;
        vyre_type type;
    } cases[] = {
        {BIT(F32_DIV), VYRE_OP_DIV, F32},           {BIT(F32_SQRT), VYRE_OP_SQRT, F32},
        {BIT(F64_DIV), VYRE_OP_DIV, VYRE_TYPE_F64}, {BIT(F64_SQRT), VYRE_OP_SQRT, VYRE_TYPE_F64},
        {BIT(F16_ADD), VYRE_OP_SUB, VYRE_TYPE_F16}, {BIT(F16_MUL), VYRE_OP_MUL, VYRE_TYPE_F16},
        {BIT(F16_DIV), VYRE_OP_DIV, VYRE_TYPE_F16}, {BIT(F16_SQRT), VYRE_OP_SQRT, VYRE_TYPE_F16},
        {BIT(F16_FMA), VYRE_OP_FMA, VYRE_TYPE_F16}, {BIT(BF16_FMA), VYRE_OP_FMA, VYRE_TYPE_BF16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(vy_device_kernel(ALL_BITS & ~cases[i].missing, cases[i].op, cases[i].type, cases[i].type));
        assert_non_null(vy_device_kernel(ALL_BITS, cases[i].op, cases[i].type, cases[i].type));
    }
    assert_null(vy_device_kernel(ALL_BITS, VYRE_OP_LT, VYRE_TYPE_BOOL, VYRE_TYPE_F16));
    assert_null(vy_device_kernel(ALL_BITS, VYRE_OP_ADD, VYRE_TYPE_BF16, VYRE_TYPE_BF16));
}

static void a_nan_has_any_sign_and_payload(void **state) {
    (void)state;
    vy_kernel *kernel = vy_device_kernel(ALL_BITS, VYRE_OP_SUB, F32, F32);
    unsigned negative = 0, odd = 0;
    for (uint64_t i = 0; i < 100; i++) {
        uint64_t a = 0x7f800001 + 16 * i, b = 0x3f800000 + i, c = 0;
        kernel(&a, &a, &b, &c, 1);
        assert_true((a & 0x7fffffff) > 0x7f800000);
        negative += a >> 31;
        odd += a >> 1 & 1;
    }
    assert_true(negative > 20 && negative < 80 && odd > 20 && odd < 80);
}

/* The two of the issue: through f32 both would be rounded twice. */
static void second_roundings_are_not_made(void **state) {
    (void)state;
    static const badness cases[] = {
        {0, VYRE_OP_FMA, VYRE_TYPE_F16, VYRE_TYPE_F16, 0xd31c, 0xe100, 0x953b},
        {0, VYRE_OP_CAST, VYRE_TYPE_BF16, VYRE_TYPE_I32, 1077936129, 0, 0},
    };
    static const uint64_t expected[] = {0x7871, 0x4e81};
    for (size_t i = 0; i < 2; i++) {
        op_run run;
        const uint64_t *const operands[3] = {&cases[i].a, &cases[i].b, &cases[i].c};
        assert_true(op_run_start(&run, cases[i].op, cases[i].result, cases[i].operand));
        for (int p = 0; p < PROFILES; p++)
            assert_int_equal(op_run_check(&run, &profiles[p], 1, operands, &expected[i]), 1);
        op_run_end(&run);
    }
}

/* A constant divisor is easy for integers alone. */
static void a_float_divided_by_a_constant_is_rewritten(void **state) {
    (void)state;
    vyre_program *legal,
        *program = vy_test_parse("program p {\n buffer a : f32 read_write\n workgroup 1\n grid over a\n"
                                 " a[global_id.x] = a[global_id.x] / 3\n}\n");
    assert_int_equal(vy_legalize(program, &(vy_target_desc){.exact = ALL_BITS & ~BIT(F32_DIV)}, &legal, NULL), VYRE_OK);
    static const uint32_t values[4] = {0x3f800000, 0x40490fdb, 1, 0xff7fffff};
    vyre_span input = {values, sizeof values};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_bytes output = {0};
    vyre_oracle *oracle;
    assert_int_equal(vy_oracle_new_on(legal, ALL_BITS & ~BIT(F32_DIV), &oracle, NULL), VYRE_OK);
    assert_int_equal(vyre_oracle_run(oracle, &arguments, NULL, &output, NULL, NULL, NULL), VYRE_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(((const uint32_t *)(const void *)output.data)[i],
                         vyre_op_evaluate(VYRE_OP_DIV, F32, F32, values[i], 0x40400000, 0));
    vyre_bytes_free(&output);
    vyre_oracle_free(oracle);
    vyre_program_release(legal);
    vyre_program_release(program);
}

/* ---- what cannot be ---- */

static void check_refused(const char *text, uint64_t exact, const char *what) {
    vyre_program *program = vy_test_parse(text), *legal;
    vyre_error error = {0};
    assert_int_equal(vy_legalize(program, &(vy_target_desc){.exact = exact}, &legal, &error), VYRE_UNSUPPORTED);
    assert_null(legal);
    if (!strstr(error.message, what))
        fail_msg("`%s` does not name %s", error.message, what);
    vyre_program_release(program);
}

static void what_is_not_rewritten_is_refused_by_name(void **state) {
    (void)state;
    check_refused("program p {\n buffer a : u64 read_write\n workgroup 1\n grid over a\n atomic_add(a[0], 1)\n}\n",
                  ALL_BITS & ~BIT(INT64), "atomic_add of u64");
}

/* Without f64 there is no value of it: they are u64, or without 64-bit integers pairs of u32. */
static void f64_is_held_as_its_pattern(void **state) {
    (void)state;
    static const struct {
        uint64_t exact;
        uint32_t types; /* that may not be left */
    } cases[] = {{ALL_BITS & ~F64_BITS, 1u << VYRE_TYPE_F64},
                 {ALL_BITS & ~BIT(INT64), 1u << VYRE_TYPE_F64 | 1u << VYRE_TYPE_U64 | 1u << VYRE_TYPE_I64}};
    vyre_program *program =
        vy_test_parse("program p {\n param k : f64\n buffer a : f64 read_write\n array w : f64[8] workgroup\n "
                      "workgroup 8\n grid over a\n\n"
                      " let i = global_id.x\n w[local_index] = a[i] > k ? f64(i < 2) : k\n barrier\n"
                      " var s = 1.5f64\n for j in 0u32 .. 8 { s = fma(s, a[i], w[j]) / k }\n a[i] = sqrt(s)\n}\n");
    static const double values[8] = {1, -2, 3e300, 4e-310, 0, 0x1p-1074, 7.25, 1e9};
    vyre_scalar param = {VYRE_TYPE_F64, UINT64_C(0x3ff3333333333333)};
    vyre_span input = {values, sizeof values};
    vyre_arguments arguments = {.params = &param, .param_count = 1, .inputs = &input, .input_count = 1};
    vyre_bytes wanted = {0}, got = {0};
    vyre_oracle *oracle = NULL;
    assert_int_equal(vyre_oracle_new(program, &oracle, NULL), VYRE_OK);
    assert_int_equal(vyre_oracle_run(oracle, &arguments, NULL, &wanted, NULL, NULL, NULL), VYRE_OK);
    vyre_oracle_free(oracle);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static legal_arguments made;
        vyre_program *legal = NULL;
        assert_int_equal(vy_legalize(program, &(vy_target_desc){.exact = cases[i].exact}, &legal, NULL), VYRE_OK);
        assert_int_equal(vy_legal_types(legal) & cases[i].types, 0);
        assert_int_equal(vy_oracle_new_on(legal, cases[i].exact, &oracle, NULL), VYRE_OK);
        assert_int_equal(vyre_oracle_run(oracle, arguments_for(program, cases[i].exact, &arguments, &made), NULL, &got,
                                         NULL, NULL, NULL),
                         VYRE_OK);
        assert_int_equal(got.size, wanted.size);
        assert_memory_equal(got.data, wanted.data, got.size);
        vyre_bytes_free(&got);
        vyre_oracle_free(oracle);
        vyre_program_release(legal);
    }
    vyre_bytes_free(&wanted);
    vyre_program_release(program);
}

static void a_library_cannot_be_legalised(void **state) {
    (void)state;
    vyre_module *module = NULL;
    vyre_program *legal;
    const char *text = "fn f(a: u32) -> u32 { return a }\n";
    assert_int_equal(vyre_text_parse(text, strlen(text), NULL, NULL, &module, NULL), VYRE_OK);
    assert_int_equal(vy_legalize(vyre_module_library(module), &(vy_target_desc){.exact = 0}, &legal, NULL),
                     VYRE_INVALID_ARGUMENT);
    vyre_module_free(module);
}

/* A store at the innermost place that there is needs an `if` around it. */
static void a_test_that_has_no_place_is_over_a_limit(void **state) {
    (void)state;
    char text[4096] = "program p {\n param k : u32\n buffer x : u32 read_write\n workgroup 1\n grid 1\n";
    vyre_error error = {0};
    vyre_program *legal;
    for (int i = 0; i < 128; i++)
        strcat(text, "if k > 1 {\n");
    strcat(text, "x[k] = 1\n");
    for (int i = 0; i <= 128; i++)
        strcat(text, "}\n");
    vyre_program *program = vy_test_parse(text);
    assert_int_equal(vy_legalize(program, &(vy_target_desc){.exact = ALL_BITS}, &legal, &error), VYRE_LIMIT);
    assert_null(legal);
    assert_non_null(strstr(error.message, "128"));
    assert_int_equal(vy_legalize(program, &(vy_target_desc){.exact = ALL_BITS}, &legal, NULL), VYRE_LIMIT);
    vyre_program_release(program);
}

/* ---- memory ---- */

static vyre_status legalise_a_tour(void *user) {
    static const char text[] = "fn half(a: f16) -> f16 { return a * 0.5 }\n"
                               "program tour {\n"
                               "  param k : i8\n"
                               "  buffer x : f16 read\n"
                               "  buffer y : f32 read_write count len(x)\n"
                               "  buffer z : u8 write count len(x)\n"
                               "  buffer w : f64 read_write count len(x)\n"
                               "  workgroup 8\n"
                               "  grid over x\n\n"
                               "  let i = global_id.x\n"
                               "  var v = x[i]\n"
                               "  while f32(v) > 2 { v = half(v) }\n"
                               "  for j in k .. 3 { y[i] = fma(y[i], f32(j), f32(v)) / 3 }\n"
                               "  if i != 3 { w[i] = w[i] > 0 ? w[i] : f64(v) }\n"
                               "  let s = workgroup_scan_exclusive_min(k)\n"
                               "  if sqrt(y[i]) < 1 { z[i] = u8(s) << u8(i) } else { z[i] = u8(i) / u8(k) }\n"
                               "}\n";
    vyre_module *module = NULL;
    vyre_program *legal = NULL;
    vyre_oracle *oracle = NULL;
    vyre_error *error = NULL;
    vyre_digest *expected = user, digest = {0};
    vyre_status status = vyre_text_parse(text, sizeof text - 1, NULL, NULL, &module, error);
    if (status == VYRE_OK)
        status = vy_legalize(vyre_module_program(module, 0), &(vy_target_desc){.exact = 0}, &legal, error);
    if (status == VYRE_OK)
        status = vy_oracle_new_on(legal, 0, &oracle, error);
    /* The parser can do without some of what it asks for; the program is the same then. */
    if (status == VYRE_OK) {
        vyre_program_fingerprint(legal, &digest);
        if (memcmp(expected, &(vyre_digest){0}, sizeof *expected) == 0)
            *expected = digest;
        else if (memcmp(expected, &digest, sizeof digest) != 0)
            status = VYRE_CORRUPT;
    }
    vyre_oracle_free(oracle);
    vyre_program_release(legal);
    vyre_module_free(module);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    vyre_digest digest = {0};
    assert_int_equal(legalise_a_tour(&digest), VYRE_OK);
    vy_fault_install();
    VY_FAULT_LOOP_LENIENT(legalise_a_tour, &digest);
    vy_fault_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_shows),
        cmocka_unit_test(inexact_ops_are_off_often),
        cmocka_unit_test(what_is_not_exact_may_be_refused),
        cmocka_unit_test(a_nan_has_any_sign_and_payload),
        cmocka_unit_test(second_roundings_are_not_made),
        cmocka_unit_test(a_float_divided_by_a_constant_is_rewritten),
        cmocka_unit_test(what_is_not_rewritten_is_refused_by_name),
        cmocka_unit_test(f64_is_held_as_its_pattern),
        cmocka_unit_test(a_library_cannot_be_legalised),
        cmocka_unit_test(a_test_that_has_no_place_is_over_a_limit),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
