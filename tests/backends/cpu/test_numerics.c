/* What backend `cpu` is legalised for is true: for every bit of it compiled code gives the oracle's bits on operands
 * that are hard. The backend measures nothing itself, and its numerics profile claims nothing: a compiler would have
 * to be opened. */
#include "backends/conform.h"

#include "base/cpu_features.h"
#include "ir/eval.h"

enum { OPERANDS = 1 << 16 };

/* out = value, of x, y and z. */
typedef struct row {
    vyre_numeric bit;
    vyre_type from, to;
    const char *value;
} row;

#define N(ID) VYRE_NUMERIC_##ID
#define T(ID) VYRE_TYPE_##ID
#define FLOATS(P, OTHER)                                                                                               \
    {N(P##_ADD), T(P), T(P), "x + y"}, {N(P##_ADD), T(P), T(P), "x - y"}, {N(P##_MUL), T(P), T(P), "x * y"},           \
        {N(P##_DIV), T(P), T(P), "x / y"}, {N(P##_SQRT), T(P), T(P), "sqrt(x)"},                                       \
        {N(P##_FMA), T(P), T(P), "fma(x, y, z)"}, {N(P##_SUBNORMAL), T(P), T(P), "x * y + z"},                         \
        {N(P##_SUBNORMAL), T(P), T(P), "x < y ? x : z"}, {N(P##_MIN_MAX), T(P), T(P), "min(x, y)"},                    \
        {N(P##_MIN_MAX), T(P), T(P), "max(x, y)"}, {N(P##_ROUND), T(P), T(P), "floor(x)"},                             \
        {N(P##_ROUND), T(P), T(P), "ceil(x)"}, {N(P##_ROUND), T(P), T(P), "trunc(x)"},                                 \
        {N(P##_ROUND), T(P), T(P), "round(x)"}, {N(P##_CONVERT), T(P), T(I32), "i32(x)"},                              \
        {N(P##_CONVERT), T(P), T(U32), "u32(x)"}, {N(P##_CONVERT), T(P), T(I64), "i64(x)"},                            \
        {N(P##_CONVERT), T(P), T(U64), "u64(x)"}, {N(P##_CONVERT), T(I32), T(P), #OTHER "(x)"},                        \
        {N(P##_CONVERT), T(U32), T(P), #OTHER "(x)"}, {N(P##_CONVERT), T(I64), T(P), #OTHER "(x)"}, {                  \
        N(P##_CONVERT), T(U64), T(P), #OTHER "(x)"                                                                     \
    }
#define INTEGERS(BIT, U, I)                                                                                            \
    {N(BIT), T(U), T(U), "x * y + z"}, {N(BIT), T(I), T(I), "x * y - z"}, {N(BIT), T(U), T(U), "x / y ^ x % z"},       \
        {N(BIT), T(I), T(I), "x / y ^ x % z"}, {N(BIT), T(U), T(U), "(x << y) ^ (x >> z)"},                            \
        {N(BIT), T(I), T(I), "(x << y) ^ (x >> z)"}, {N(BIT), T(U), T(U), "min(x, y) ^ max(y, z)"}, {                  \
        N(BIT), T(I), T(I), "min(x, y) ^ max(y, z)"                                                                    \
    }

static const row rows[] = {
    INTEGERS(INT8, U8, I8),
    INTEGERS(INT16, U16, I16),
    INTEGERS(INT64, U64, I64),
    FLOATS(F32, f32),
    FLOATS(F64, f64),
    {N(F64_CONVERT), T(F64), T(F32), "f32(x)"},
    {N(F64_CONVERT), T(F32), T(F64), "f64(x)"},
    {N(F16_CONVERT), T(F32), T(F16), "f16(x)"},
    {N(F16_CONVERT), T(F16), T(F32), "f32(x)"},
    {N(F16_CONVERT), T(F16), T(F16), "x * y + z"},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- operands ---- */

/* Significands with few bits, all, or any: sums, products and conversions of such lie in the middle between two
 * values, and next to it. */
static uint64_t significand(vy_random *random, unsigned bits) {
    uint64_t all = (UINT64_C(1) << bits) - 1, any = vy_random_next(random), how = any >> 58;
    unsigned k = (unsigned)vy_random_below(random, bits), half = bits == 52 ? 28 : bits == 23 ? 12 : k;
    if (how < 8)
        return 0;
    if (how < 16)
        return all ^ (how & 1);
    if (how < 24)
        return UINT64_C(1) << k;
    if (how < 32)
        return (UINT64_C(1) << k) | (how & 1);
    if (how < 40) /* the middle between two narrower values, and next to it */
        return ((any << (half + 1) | UINT64_C(1) << half) + (how & 3) - (how & 1)) & all;
    if (how < 48)
        return any & all & ~((UINT64_C(1) << bits / 2) - 1);
    return any & all;
}

/* Exponents meet in all pairs where there are at most 256 of them; in f64 every difference of two does, and the ends
 * with all. */
static void exponents(vyre_type type, uint32_t i, vy_random *random, uint64_t *out) {
    unsigned bits = type == VYRE_TYPE_F16 ? 5 : type == VYRE_TYPE_F32 ? 8 : 11;
    uint64_t all = (UINT64_C(1) << bits) - 1;
    out[0] = i & all;
    out[1] = i >> bits & all;
    if (bits == 11) {
        out[0] = vy_random_below(random, all + 1);
        out[1] = i % 4 == 0   ? i / 4 & all
                 : i % 4 == 1 ? all - out[0] + vy_random_below(random, 3) - 1
                              : out[0] + i / 16;
        out[1] &= all;
    }
    /* What is added to a product lies near it. */
    out[2] = (out[0] + out[1] - all / 2 + vy_random_below(random, 64) - 32) & all;
}

static void operands(vyre_type type, vy_random *random, uint8_t *x, uint8_t *y, uint8_t *z) {
    unsigned size = (unsigned)vyre_type_size(type), bits = vyre_type_bits(type);
    unsigned fraction = type == VYRE_TYPE_F16 ? 10 : type == VYRE_TYPE_F32 ? 23 : 52;
    for (uint32_t i = 0; i < OPERANDS; i++) {
        uint64_t e[3], v[3];
        exponents(type, i, random, e);
        for (int k = 0; k < 3; k++) {
            uint64_t any = vy_random_next(random);
            if (vyre_type_class(type) == VYRE_CLASS_FLOAT)
                v[k] = (any >> 63) << (bits - 1) | e[k] << fraction | significand(random, fraction);
            else
                v[k] = any & 3 ? any >> 2 >> vy_random_below(random, 63)
                               : (UINT64_C(1) << any / 4 % 64) + vy_random_below(random, 3) - 1;
        }
        memcpy(x + (size_t)i * size, &v[0], size);
        memcpy(y + (size_t)i * size, &v[1], size);
        memcpy(z + (size_t)i * size, &v[2], size);
    }
}

/* ---- rows ---- */

static void try_row(conform *c, const row *r, uint64_t seed) {
    static uint64_t data[3][OPERANDS];
    char text[512];
    vy_random random = vy_random_start(seed);
    size_t bytes = OPERANDS * vyre_type_size(r->from);
    operands(r->from, &random, (uint8_t *)data[0], (uint8_t *)data[1], (uint8_t *)data[2]);
    const char *from = vyre_type_name(r->from), *to = vyre_type_name(r->to);
    snprintf(
        text, sizeof text,
        "program row {\n buffer a : %s read\n buffer b : %s read\n buffer c : %s read\n buffer out : %s write count "
        "len(a)\n workgroup 256\n grid over a\n let i = global_id.x\n let x = a[i]\n let y = b[i]\n let z = c[i]\n"
        " out[i] = %s\n}\n",
        from, from, from, to, r->value);
    const vyre_span inputs[3] = {{data[0], bytes}, {data[1], bytes}, {data[2], bytes}};
    const vyre_arguments arguments = {.inputs = inputs, .input_count = 3};
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    if (!conform_agree(c, program, &arguments, CONFORM_PIPELINE))
        fail_msg("%s, %s -> %s, %s: %s", r->value, from, to, getenv("VYRE_CPU_WIDTH"), c->message);
    vyre_program_release(program);
}

static void confirm(uint64_t exact, unsigned rounds) {
    static const char *const widths[] = {"8", "4", "16", "32", "64"};
    for (unsigned k = 0; k < rounds; k++) {
        static conform c;
        uint64_t confirmed = 0;
        setenv("VYRE_CPU_WIDTH", widths[k], 1);
        conform_open(&c, "cpu");
        for (size_t i = 0; i < ROWS; i++) {
            try_row(&c, &rows[i], i + 1000 * k);
            confirmed |= UINT64_C(1) << rows[i].bit;
        }
        for (unsigned bit = 0; bit < VYRE_NUMERIC_COUNT; bit++)
            if (exact & ~confirmed & UINT64_C(1) << bit)
                fail_msg("no row confirms bit %u of the profile", bit);
        conform_close(&c);
    }
}

static void every_bit_of_the_profile_is_confirmed(void **state) {
    (void)state;
    confirm(vy_cpu_numerics(vy_cpu_features()), vy_test_effort() < 5 ? vy_test_effort() : 5);
}

/* Without the instructions for fma, rounding and f16. */
static void every_bit_of_the_lowest_level_is_confirmed(void **state) {
    (void)state;
    if (!(vy_cpu_features() & VY_CPU_FEATURE_X86_64))
        VY_SKIP("x86-64 is the only architecture with lower levels");
    setenv("VYRE_CPU_ISA", "x86-64", 1);
    confirm(vy_cpu_numerics(VY_CPU_FEATURE_X86_64), 1);
    unsetenv("VYRE_CPU_ISA");
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_bit_of_the_profile_is_confirmed),
                                       cmocka_unit_test(every_bit_of_the_lowest_level_is_confirmed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
