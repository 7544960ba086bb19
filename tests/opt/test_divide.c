/* Division without dividing: every dividend by every divisor of the 8-bit types, every 16-bit dividend by many
 * divisors, and special and random ones of the wider types, against the evaluator. Floats by powers of two. */
#include "support/test.h"

#include "ir/eval.h"
#include "opt/pass_manager.h"
#include "vyre/oracle.h"
#include "vyre/text.h"

enum { LARGEST = 65536 };

static uint64_t dividends[LARGEST];
static uint8_t bytes[LARGEST * 8];

/* Whether an op of the program is one of these two. */
static int uses(const vyre_program *program, vyre_op one, vyre_op other) {
    for (uint32_t i = 0; i < program->exprs.count; i++) {
        const vy_expr *e = &program->exprs.items[i];
        if (e->kind == VY_EXPR_OP && (e->op == one || e->op == other))
            return 1;
    }
    return 0;
}

/* x op `by` for n dividends, by the program the pass makes. */
static void run(vyre_op op, vyre_type type, uint64_t by, size_t n, int must_go) {
    char text[512];
    const char *name = vyre_type_name(type);
    snprintf(text, sizeof text,
             "program p {\n buffer x : %s read\n buffer y : %s write count len(x)\n workgroup 256\n grid over x\n"
             " y[global_id.x] = x[global_id.x] %s bitcast<%s>(0x%llxu%u)\n}\n",
             name, name, vyre_op_get(op)->symbol, name, (unsigned long long)by, vyre_type_bits(type));
    vyre_program *program = vy_test_parse(text), *made;
    vyre_error error;
    vyre_optimize_options options = {.passes = (vyre_pass[]){VYRE_PASS_CONST_FOLD, VYRE_PASS_STRENGTH_REDUCE},
                                     .pass_count = 2};
    assert_int_equal(vyre_program_optimize(program, &options, &made, NULL, &error), VYRE_OK);
    if (must_go && uses(made, VYRE_OP_DIV, VYRE_OP_REM))
        fail_msg("%s by %llx still divides", name, (unsigned long long)by);
    for (size_t i = 0; i < n; i++)
        vy_value_store(type, bytes + i * vyre_type_size(type), dividends[i]);
    vyre_span input = {bytes, n * vyre_type_size(type)};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_oracle_options oracle_options = {.threads = 1};
    vyre_oracle *oracle;
    vyre_oracle_report report;
    vyre_bytes out = {0};
    assert_int_equal(vyre_oracle_new(made, &oracle, &error), VYRE_OK);
    if (vyre_oracle_run(oracle, &arguments, &oracle_options, &out, &report, NULL, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    for (size_t i = 0; i < n; i++) {
        uint64_t given = vy_value_load(type, (const uint8_t *)out.data + i * vyre_type_size(type));
        uint64_t expected = vyre_op_evaluate(op, type, type, dividends[i], by, 0);
        if (given != expected)
            fail_msg("%s: %llx %s %llx is %llx, not %llx", name, (unsigned long long)dividends[i],
                     vyre_op_get(op)->symbol, (unsigned long long)by, (unsigned long long)expected,
                     (unsigned long long)given);
    }
    vyre_bytes_free(&out);
    vyre_oracle_free(oracle);
    vyre_program_release(made);
    vyre_program_release(program);
}

static void divide(vyre_type type, uint64_t by, size_t n) {
    uint64_t mask = vy_type_layouts[type].mask;
    int is_signed = vy_type_layouts[type].classes == VYRE_CLASS_SIGNED;
    by &= mask;
    int must_go = by > 1 && !(is_signed && (by == mask || by == mask / 2 + 1));
    run(VYRE_OP_DIV, type, by, n, must_go);
    run(VYRE_OP_REM, type, by, n, must_go);
    run(VYRE_OP_MUL, type, by, n, 0);
}

static void bytes_by_every_byte(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 256; i++)
        dividends[i] = i;
    for (uint64_t by = 0; by < 256; by++) {
        divide(VYRE_TYPE_U8, by, 256);
        divide(VYRE_TYPE_I8, by, 256);
    }
}

static void every_16_bit_dividend_by_many_divisors(void **state) {
    (void)state;
    vy_random random = vy_random_start(16);
    for (uint64_t i = 0; i < 65536; i++)
        dividends[i] = i;
    for (unsigned k = 0; k < 24; k++) {
        uint64_t by =
            k < 8 ? (uint64_t[]){3, 7, 10, 641, 32767, 32769, 65535, 14}[k] : vy_random_next(&random) >> k % 4;
        divide(VYRE_TYPE_U16, by, 65536);
        divide(VYRE_TYPE_I16, by, 65536);
    }
}

/* Near powers of two and near multiples of the divisor, where a magic number that is off by a little goes wrong. */
static void wide_dividends_near_multiples(void **state) {
    (void)state;
    vy_random random = vy_random_start(64);
    for (unsigned t = VYRE_TYPE_I32; t <= VYRE_TYPE_U64; t++)
        for (unsigned k = 0; k < 200; k++) {
            unsigned bits = vyre_type_bits((vyre_type)t);
            uint64_t by = k < 12   ? (uint64_t[]){3, 5, 6, 7, 9, 10, 11, 12, 14, 25, 125, 641}[k]
                          : k < 76 ? (UINT64_C(1) << (k - 12) % bits) + k % 3 - 1
                                   : vy_random_next(&random) >> vy_random_below(&random, bits);
            by &= vy_type_layouts[t].mask;
            for (size_t i = 0; i < 1024; i++) {
                uint64_t x = vy_random_next(&random) >> vy_random_below(&random, 64);
                if (i % 2 && by)
                    x = x / by * by + vy_random_below(&random, 3) - 1;
                else if (i % 4 == 0)
                    x = (UINT64_C(1) << i / 4 % bits) + vy_random_below(&random, 3) - 1;
                dividends[i] = (i % 8 == 0 ? ~x : x) & vy_type_layouts[t].mask;
            }
            divide((vyre_type)t, by, 1024);
        }
}

static void floats_by_powers_of_two(void **state) {
    (void)state;
    vy_random random = vy_random_start(2);
    for (unsigned t = VYRE_TYPE_F16; t <= VYRE_TYPE_F64; t++) {
        const vy_type_layout *layout = &vy_type_layouts[t];
        unsigned exponents = (unsigned)(layout->infinity / (layout->infinity & (0 - layout->infinity)));
        for (unsigned k = 0; k < 160; k++) {
            uint64_t exponent = k < 80 ? k % exponents : exponents - (k - 80) % exponents;
            uint64_t by = exponent * (layout->infinity & (0 - layout->infinity));
            by = vy_value_canonicalize((vyre_type)t, k % 3 == 0 ? by | (layout->mask / 2 + 1) : by + (k % 7 == 0));
            size_t n = layout->bits == 16 && k % 16 == 0 ? 65536 : 512;
            for (size_t i = 0; i < n; i++)
                dividends[i] = vy_value_canonicalize((vyre_type)t, n == 65536 ? i : vy_random_next(&random));
            run(VYRE_OP_DIV, (vyre_type)t, by, n, 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_by_every_byte),
        cmocka_unit_test(every_16_bit_dividend_by_many_divisors),
        cmocka_unit_test(wide_dividends_near_multiples),
        cmocka_unit_test(floats_by_powers_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
