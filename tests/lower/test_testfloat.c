/* Berkeley TestFloat's vectors through every path of legalisation; and every f16 and bf16 through every unary op. */
#include "lower/covering.h"

#include <zlib.h>

enum { LINES = 1 << 16 };

typedef struct vector_file {
    const char *name;
    vyre_op op;
    vyre_type result, operand;
} vector_file;

#define ARITHMETIC(name, T)                                                                                            \
    {name "_add", VYRE_OP_ADD, T, T}, {name "_sub", VYRE_OP_SUB, T, T}, {name "_mul", VYRE_OP_MUL, T, T},              \
        {name "_div", VYRE_OP_DIV, T, T}, {name "_rem", VYRE_OP_REMAINDER, T, T}, {name "_sqrt", VYRE_OP_SQRT, T, T},  \
        {name "_mulAdd", VYRE_OP_FMA, T, T}, {name "_eq", VYRE_OP_EQ, VYRE_TYPE_BOOL, T},                              \
        {name "_lt", VYRE_OP_LT, VYRE_TYPE_BOOL, T}, {name "_le", VYRE_OP_LE, VYRE_TYPE_BOOL, T},                      \
        {name "_roundToInt_near_even", VYRE_OP_ROUND, T, T}, {name "_roundToInt_min", VYRE_OP_FLOOR, T, T},            \
        {name "_roundToInt_max", VYRE_OP_CEIL, T, T}, {                                                                \
        name "_roundToInt_minMag", VYRE_OP_TRUNC, T, T                                                                 \
    }
#define TO_INTEGERS(name, T)                                                                                           \
    {name "_to_i32_minMag", VYRE_OP_CAST, VYRE_TYPE_I32, T}, {name "_to_ui32_minMag", VYRE_OP_CAST, VYRE_TYPE_U32, T}, \
        {name "_to_i64_minMag", VYRE_OP_CAST, VYRE_TYPE_I64, T}, {                                                     \
        name "_to_ui64_minMag", VYRE_OP_CAST, VYRE_TYPE_U64, T                                                         \
    }
#define FROM_INTEGER(name, T)                                                                                          \
    {name "_to_f16", VYRE_OP_CAST, VYRE_TYPE_F16, T}, {name "_to_f32", VYRE_OP_CAST, VYRE_TYPE_F32, T}, {              \
        name "_to_f64", VYRE_OP_CAST, VYRE_TYPE_F64, T                                                                 \
    }

static const vector_file files[] = {
    ARITHMETIC("f16", VYRE_TYPE_F16),
    ARITHMETIC("f32", VYRE_TYPE_F32),
    ARITHMETIC("f64", VYRE_TYPE_F64),
    TO_INTEGERS("f16", VYRE_TYPE_F16),
    TO_INTEGERS("f32", VYRE_TYPE_F32),
    TO_INTEGERS("f64", VYRE_TYPE_F64),
    FROM_INTEGER("i32", VYRE_TYPE_I32),
    FROM_INTEGER("ui32", VYRE_TYPE_U32),
    FROM_INTEGER("i64", VYRE_TYPE_I64),
    FROM_INTEGER("ui64", VYRE_TYPE_U64),
    {"f16_to_f32", VYRE_OP_CAST, VYRE_TYPE_F32, VYRE_TYPE_F16},
    {"f16_to_f64", VYRE_OP_CAST, VYRE_TYPE_F64, VYRE_TYPE_F16},
    {"f32_to_f16", VYRE_OP_CAST, VYRE_TYPE_F16, VYRE_TYPE_F32},
    {"f32_to_f64", VYRE_OP_CAST, VYRE_TYPE_F64, VYRE_TYPE_F32},
    {"f64_to_f16", VYRE_OP_CAST, VYRE_TYPE_F16, VYRE_TYPE_F64},
    {"f64_to_f32", VYRE_OP_CAST, VYRE_TYPE_F32, VYRE_TYPE_F64},
};

static uint64_t operands[3][LINES], expected[LINES];

/* TestFloat's word for the result, but for NaNs and what IEEE leaves open when a number does not fit an integer (flag
 * 0x10): there the evaluator's, which test_testfloat.c holds against the same line. */
static uint64_t result_of(const vector_file *f, const uint64_t *fields, unsigned arity) {
    if (fields[arity + 1] & 0x10 || vyre_type_class(f->result) == VYRE_CLASS_FLOAT)
        return vyre_op_evaluate(f->op, f->result, f->operand, fields[0], arity > 1 ? fields[1] : 0,
                                arity > 2 ? fields[2] : 0);
    return fields[arity];
}

static size_t read_file(const vector_file *f, const char *path) {
    unsigned arity = vyre_op_get(f->op)->arity;
    gzFile input = gzopen(path, "rb");
    char line[256];
    size_t n = 0;
    if (!input)
        return 0;
    while (n < LINES && gzgets(input, line, sizeof line)) {
        uint64_t fields[5] = {0};
        char *text = line;
        for (unsigned i = 0; i < arity + 2; i++)
            fields[i] = strtoull(text, &text, 16);
        for (unsigned i = 0; i < 3; i++)
            operands[i][n] = i < arity ? fields[i] : 0;
        expected[n] = result_of(f, fields, arity);
        /* The line itself, where it says a number. */
        if (vyre_type_class(f->result) == VYRE_CLASS_FLOAT && !(fields[arity + 1] & 0x10))
            assert_int_equal(expected[n], vyre_op_evaluate(VYRE_OP_BITCAST, f->result, f->result, fields[arity], 0, 0));
        n++;
    }
    gzclose(input);
    return n;
}

static void vectors_give_their_results_on_every_path(void **state) {
    (void)state;
    uint64_t cases = 0, found = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/testfloat/%s.txt.gz", vy_test_vectors(), files[i].name);
        size_t n = read_file(&files[i], path);
        const uint64_t *const all[3] = {operands[0], operands[1], operands[2]};
        op_run run;
        if (n == 0)
            continue;
        found++;
        assert_true(op_run_start(&run, files[i].op, files[i].result, files[i].operand));
        for (int k = 0; k < PROFILES; k += VY_SANITIZED ? 5 : 1)
            cases += op_run_check(&run, &profiles[k], n, all, expected);
        for (unsigned k = 0; k < covering_rows()->count && vy_test_effort() > 1; k++)
            cases += op_run_check(&run, &covering_rows()->rows[k], n, all, expected);
        op_run_end(&run);
    }
    if (!found)
        VY_SKIP("TestFloat vectors: there are none in %s/testfloat (set VYRE_VECTORS)", vy_test_vectors());
    printf("%" PRIu64 " cases of %" PRIu64 " files\n", cases, found);
    assert_int_equal(found, sizeof files / sizeof *files);
}

/* ---- all of 16 bits ---- */

static void every_pattern_of(vyre_type type) {
    const uint64_t *const all[3] = {operands[0], NULL, NULL};
    uint64_t cases = 0;
    for (uint64_t i = 0; i < LINES; i++)
        operands[0][i] = i;
    for (int op = 0; op < VYRE_OP_COUNT; op++)
        for (int result = 0; result < VYRE_TYPE_COUNT; result++) {
            op_run run;
            if (vyre_op_get((vyre_op)op)->arity != 1 || !op_run_start(&run, (vyre_op)op, (vyre_type)result, type))
                continue;
            /* By conversion and by bits, with and without subnormals and f32 conversions. */
            static const uint64_t some[] = {ALL_BITS, ALL_BITS & ~BIT(F16_CONVERT), ALL_BITS & ~BIT(F32_SUBNORMAL),
                                            WIDE_BITS};
            for (size_t k = 0; k < sizeof some / sizeof *some; k++)
                cases += op_run_check(&run, &(profile){"16 bits", some[k]}, LINES, all, NULL);
            op_run_end(&run);
        }
    printf("%s: %" PRIu64 " cases\n", vyre_type_name(type), cases);
}

static void every_f16_gives_the_same_bits_in_unary_ops(void **state) {
    (void)state;
    every_pattern_of(VYRE_TYPE_F16);
}

static void every_bf16_gives_the_same_bits_in_unary_ops(void **state) {
    (void)state;
    every_pattern_of(VYRE_TYPE_BF16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_give_their_results_on_every_path),
        cmocka_unit_test(every_f16_gives_the_same_bits_in_unary_ops),
        cmocka_unit_test(every_bf16_gives_the_same_bits_in_unary_ops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
