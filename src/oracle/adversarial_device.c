/* Kernels of the adversarial device (adversarial_device.h). Invariant: a kernel is at least as bad as any device whose
 * profile lacks the bit, and exact where the profile has it. */
#include "oracle/adversarial_device.h"

#include "ir/eval_kernel.h"
#include "ir/softfloat.h"

#include <math.h>

#define mix vy_mix

/* ---- integers ---- */

#define INTEGER(ID, W)                                                                                                 \
    VY_KERNEL_2(DIV_##ID, const uint64_t ones = UINT64_MAX >> (64 - W);                                                \
                , b == 0 || (b == ones && a == (ones >> 1) + 1)                                                        \
                      ? mix(a, b) & ones                                                                               \
                      : vyre_op_evaluate(VYRE_OP_DIV, VYRE_TYPE_##ID, VYRE_TYPE_##ID, a, b, 0))                        \
    VY_KERNEL_2(REM_##ID, const uint64_t ones = UINT64_MAX >> (64 - W);                                                \
                , b == 0 || (b == ones && a == (ones >> 1) + 1)                                                        \
                      ? mix(a, b) & ones                                                                               \
                      : vyre_op_evaluate(VYRE_OP_REM, VYRE_TYPE_##ID, VYRE_TYPE_##ID, a, b, 0))                        \
    SHIFT(SHL, ID, W) SHIFT(SHR, ID, W) SHIFT(ROTL, ID, W) SHIFT(ROTR, ID, W)
#define SHIFT(OP, ID, W)                                                                                               \
    VY_KERNEL_2(OP##_##ID, ,                                                                                           \
                b >= W ? mix(a, b) & UINT64_MAX >> (64 - W)                                                            \
                       : vyre_op_evaluate(VYRE_OP_##OP, VYRE_TYPE_##ID, VYRE_TYPE_##ID, a, b, 0))
/* Unsigned division has only one special case. b == ones is harmless there, so garbage for it would be too strict. */
INTEGER(I8, 8)
INTEGER(I16, 16)
INTEGER(I32, 32)
INTEGER(I64, 64)
#undef INTEGER
#define INTEGER(ID, W)                                                                                                 \
    VY_KERNEL_2(DIV_##ID, , b == 0 ? mix(a, b) & UINT64_MAX >> (64 - W) : a / b)                                       \
    VY_KERNEL_2(REM_##ID, , b == 0 ? mix(a, b) & UINT64_MAX >> (64 - W) : a % b)                                       \
    SHIFT(SHL, ID, W) SHIFT(SHR, ID, W) SHIFT(ROTL, ID, W) SHIFT(ROTR, ID, W)
INTEGER(U8, 8)
INTEGER(U16, 16)
INTEGER(U32, 32)
INTEGER(U64, 64)

#define ROW(ID) [VYRE_TYPE_##ID] = {DIV_##ID, REM_##ID, SHL_##ID, SHR_##ID, ROTL_##ID, ROTR_##ID}
static vy_kernel *const integers[VYRE_TYPE_COUNT][6] = {ROW(I8),  ROW(U8),  ROW(I16), ROW(U16),
                                                        ROW(I32), ROW(U32), ROW(I64), ROW(U64)};
#undef ROW

static vy_kernel *integer_kernel(uint64_t exact, vyre_op op, vyre_type type) {
    int division = op == VYRE_OP_DIV || op == VYRE_OP_REM;
    int at = op == VYRE_OP_DIV    ? 0
             : op == VYRE_OP_REM  ? 1
             : op == VYRE_OP_SHL  ? 2
             : op == VYRE_OP_SHR  ? 3
             : op == VYRE_OP_ROTL ? 4
             : op == VYRE_OP_ROTR ? 5
                                  : -1;
    if (at < 0 || (exact >> (division ? VYRE_NUMERIC_INT_DIV : VYRE_NUMERIC_SHIFT) & 1))
        return NULL;
    return integers[type][at];
}

/* ---- floats ---- */

#define TYPE F32
#define FORMAT vy_f32
#define REAL float
#define MATH(function) function##f
#define SIGN UINT64_C(0x80000000)
#define INF UINT64_C(0x7f800000)
#define LEAST UINT64_C(0x00800000)
#include "oracle/adversarial_device_float.inc"

#define TYPE F64
#define FORMAT vy_f64
#define REAL double
#define MATH(function) function
#define SIGN VY_F64_SIGN
#define INF VY_F64_INFINITY
#define LEAST UINT64_C(0x0010000000000000)
#include "oracle/adversarial_device_float.inc"

/* How an op of f32 is computed: the profile bit that makes it exact, and its kernels, indexed by [2 * exact + keeps
 * subnormals]. */
typedef struct float_row {
    uint8_t op, numeric; /* numeric: offset from F32_ADD or F64_ADD; NONE: flushing is its only possible error */
    vy_kernel *kernels[2][4];
} float_row;
enum { NONE = 0xff };

#define OFFSET(ID) (VYRE_NUMERIC_F32_##ID - VYRE_NUMERIC_F32_ADD)
#define KERNELS(OP)                                                                                                    \
    {                                                                                                                  \
        {OP##_F32_0, OP##_F32_1, OP##_F32_2, OP##_F32_3}, {                                                            \
            OP##_F64_0, OP##_F64_1, OP##_F64_2, OP##_F64_3                                                             \
        }                                                                                                              \
    }
/* Ops that are refused where they are not exact. */
#define EXACT_KERNELS(OP)                                                                                              \
    {                                                                                                                  \
        {NULL, NULL, OP##_F32_2, OP##_F32_3}, {                                                                        \
            NULL, NULL, OP##_F64_2, OP##_F64_3                                                                         \
        }                                                                                                              \
    }
static const float_row float_rows[] = {
    {VYRE_OP_ADD, OFFSET(ADD), KERNELS(ADD)},
    {VYRE_OP_SUB, OFFSET(ADD), KERNELS(SUB)},
    {VYRE_OP_MUL, OFFSET(MUL), KERNELS(MUL)},
    {VYRE_OP_DIV, OFFSET(DIV), EXACT_KERNELS(DIV)},
    {VYRE_OP_SQRT, OFFSET(SQRT), EXACT_KERNELS(SQRT)},
    {VYRE_OP_FMA, OFFSET(FMA), KERNELS(FMA)},
    {VYRE_OP_MIN, OFFSET(MIN_MAX), KERNELS(MIN)},
    {VYRE_OP_MAX, OFFSET(MIN_MAX), KERNELS(MAX)},
    {VYRE_OP_FLOOR, OFFSET(ROUND), KERNELS(FLOOR)},
    {VYRE_OP_CEIL, OFFSET(ROUND), KERNELS(CEIL)},
    {VYRE_OP_TRUNC, OFFSET(ROUND), KERNELS(TRUNC)},
    {VYRE_OP_ROUND, OFFSET(ROUND), KERNELS(ROUND)},
    {VYRE_OP_NEG, NONE, KERNELS(NEG)},
    {VYRE_OP_ABS, NONE, KERNELS(ABS)},
    {VYRE_OP_EQ, NONE, KERNELS(EQ)},
    {VYRE_OP_NE, NONE, KERNELS(NE)},
    {VYRE_OP_LT, NONE, KERNELS(LT)},
    {VYRE_OP_LE, NONE, KERNELS(LE)},
    {VYRE_OP_GT, NONE, KERNELS(GT)},
    {VYRE_OP_GE, NONE, KERNELS(GE)},
};

/* ---- narrow floats: exact or absent ---- */

static inline uint64_t any_nan_small(uint64_t bits, uint64_t infinity, uint64_t garbage) {
    const uint64_t dirt = mix(garbage, bits), fraction = infinity == 0x7c00 ? 0x3ff : 0x7f;
    return (bits & 0x7fff) > infinity ? (dirt & 0x8000) | infinity | (dirt & fraction) | 1 : bits;
}

#define SMALL1(OP, TYPE, INFINITY)                                                                                     \
    VY_KERNEL_1(                                                                                                       \
        OP##_##TYPE, ,                                                                                                 \
        any_nan_small(vyre_op_evaluate(VYRE_OP_##OP, VYRE_TYPE_##TYPE, VYRE_TYPE_##TYPE, a, 0, 0), INFINITY, a))
#define SMALL2(OP, TYPE, INFINITY)                                                                                     \
    VY_KERNEL_2(                                                                                                       \
        OP##_##TYPE, ,                                                                                                 \
        any_nan_small(vyre_op_evaluate(VYRE_OP_##OP, VYRE_TYPE_##TYPE, VYRE_TYPE_##TYPE, a, b, 0), INFINITY, a ^ b))
#define SMALL3(OP, TYPE, INFINITY)                                                                                     \
    VY_KERNEL_3(OP##_##TYPE, ,                                                                                         \
                any_nan_small(vyre_op_evaluate(VYRE_OP_##OP, VYRE_TYPE_##TYPE, VYRE_TYPE_##TYPE, a, b, c), INFINITY,   \
                              a ^ b ^ c))
SMALL2(ADD, F16, 0x7c00)
SMALL2(SUB, F16, 0x7c00)
SMALL2(MUL, F16, 0x7c00)
SMALL2(DIV, F16, 0x7c00)
SMALL1(SQRT, F16, 0x7c00)
SMALL3(FMA, F16, 0x7c00)
SMALL3(FMA, BF16, 0x7f80)

typedef struct small_row {
    uint8_t op, type, numeric;
    vy_kernel *kernel;
} small_row;
#define ROW(OP, TYPE, BIT)                                                                                             \
    { VYRE_OP_##OP, VYRE_TYPE_##TYPE, VYRE_NUMERIC_##TYPE##_##BIT, OP##_##TYPE }
static const small_row small_rows[] = {
    ROW(ADD, F16, ADD),   ROW(SUB, F16, ADD), ROW(MUL, F16, MUL),  ROW(DIV, F16, DIV),
    ROW(SQRT, F16, SQRT), ROW(FMA, F16, FMA), ROW(FMA, BF16, FMA),
};
#undef ROW

/* A device that has any op of such a type can also select between two of its values. */
static vy_kernel *small_kernel(uint64_t exact, vyre_op op, vyre_type type) {
    int has_any = 0;
    for (size_t i = 0; i < sizeof small_rows / sizeof *small_rows; i++) {
        const small_row *row = &small_rows[i];
        if (row->type != type || !(exact >> row->numeric & 1))
            continue;
        has_any = 1;
        if (row->op == op)
            return row->kernel;
    }
    return has_any && op == VYRE_OP_SELECT ? vy_eval_kernel(op, type, type) : NULL;
}

/* ---- all floats ---- */

/* [0] on a device that flushes subnormals, [1] on one that keeps them, [2] outside a device, with canonical values. */
static vy_kernel *const approximate_kernels[2][2][3] = {
    {{APPROX_DIV_F32_0, APPROX_DIV_F32_1, APPROX_DIV_F32_2}, {APPROX_DIV_F64_0, APPROX_DIV_F64_1, APPROX_DIV_F64_2}},
    {{APPROX_SQRT_F32_0, APPROX_SQRT_F32_1, APPROX_SQRT_F32_2},
     {APPROX_SQRT_F64_0, APPROX_SQRT_F64_1, APPROX_SQRT_F64_2}}};

vy_kernel *vy_approximate_kernel(vyre_op op, vyre_type type) {
    if (type != VYRE_TYPE_F32 && type != VYRE_TYPE_F64)
        return vy_eval_kernel(op, type, type);
    return approximate_kernels[op == VYRE_OP_APPROX_SQRT][type == VYRE_TYPE_F64][2];
}

static vy_kernel *float_kernel(uint64_t exact, vyre_op op, vyre_type type) {
    if (vyre_type_bits(type) == 16)
        return small_kernel(exact, op, type);
    int wide = type == VYRE_TYPE_F64;
    unsigned first = wide ? VYRE_NUMERIC_F64_ADD : VYRE_NUMERIC_F32_ADD;
    unsigned keeps = exact >> (first + OFFSET(SUBNORMAL)) & 1;
    if (vy_op_is_approximate(op))
        return approximate_kernels[op == VYRE_OP_APPROX_SQRT][wide][keeps];
    for (size_t i = 0; i < sizeof float_rows / sizeof *float_rows; i++) {
        const float_row *row = &float_rows[i];
        if (row->op == op)
            return row->kernels[wide][2 * (row->numeric == NONE || (exact >> (first + row->numeric) & 1)) + keeps];
    }
    return op == VYRE_OP_SELECT ? vy_eval_kernel(op, type, type) : NULL;
}

int vy_device_is_exact(uint64_t exact, vyre_op op, vyre_type type) {
    if (vyre_type_class(type) != VYRE_CLASS_FLOAT)
        return 1;
    if (vy_op_is_approximate(op))
        return 0;
    vy_kernel *best = float_kernel(UINT64_MAX, op, type);
    return best && best == float_kernel(exact, op, type);
}

/* ---- conversions ---- */

VY_KERNEL_1(kept, , a)
VY_KERNEL_1(flushed_f32_to_f64, const float x = vy_f32_decode(flush_F32(a));, any_nan_F64(vy_f64_raw((double)x), a))
VY_KERNEL_1(f32_to_f64, const float x = vy_f32_decode(a);, any_nan_F64(vy_f64_raw((double)x), a))
VY_KERNEL_1(flushed_f64_to_f32, const double x = vy_f64_decode(a);, any_nan_F32(flush_F32(vy_f32_raw((float)x)), a))
VY_KERNEL_1(f16_to_f32, , any_nan_F32(vyre_op_evaluate(VYRE_OP_CAST, VYRE_TYPE_F32, VYRE_TYPE_F16, a, 0, 0), a))
VY_KERNEL_1(f32_to_f16, ,
            any_nan_small(vyre_op_evaluate(VYRE_OP_CAST, VYRE_TYPE_F16, VYRE_TYPE_F32, a, 0, 0), 0x7c00, a))
VY_KERNEL_1(bf16_to_f32, , any_nan_F32(a << 16, a))
VY_KERNEL_1(flushed_bf16_to_f32, , any_nan_F32(flush_F32(a << 16), a))
VY_KERNEL_1(f32_to_bf16, ,
            any_nan_small(vyre_op_evaluate(VYRE_OP_CAST, VYRE_TYPE_BF16, VYRE_TYPE_F32, a, 0, 0), 0x7f80, a))
VY_KERNEL_1(flushed_f32_to_bf16, ,
            any_nan_small(vyre_op_evaluate(VYRE_OP_CAST, VYRE_TYPE_BF16, VYRE_TYPE_F32, flush_F32(a), 0, 0), 0x7f80, a))
VY_KERNEL_1(f64_to_f32, const double x = vy_f64_decode(a);, any_nan_F32(vy_f32_raw((float)x), a))

/* Conversions without their profile bit: NaN, values out of range and the rounding of integers are unspecified. */
#define LOOSE(name, TO, FROM, in_range)                                                                                \
    VY_KERNEL_1(name, const double x = vy_##FROM##_decode(a);                                                          \
                , (in_range) ? vyre_op_evaluate(VYRE_OP_CAST, VYRE_TYPE_##TO, VYRE_TYPE_F64, vy_f64_encode(x), 0, 0)   \
                             : mix(a, 1) & UINT64_MAX >> (64 - vyre_type_bits(VYRE_TYPE_##TO)))
LOOSE(f32_to_i32, I32, f32, x > -2147483649.0 && x < 2147483648.0)
LOOSE(f32_to_u32, U32, f32, x > -1.0 && x < 4294967296.0)
/* Rounds toward zero instead of to nearest. */
static inline uint64_t cut_to_f32(double x) {
    float f = (float)x;
    if (fabs((double)f) > fabs(x))
        f = nextafterf(f, 0);
    return vy_f32_encode(f);
}
VY_KERNEL_1(i32_to_f32, , cut_to_f32((double)(int32_t)a))
VY_KERNEL_1(u32_to_f32, , cut_to_f32((double)a))

/* f16 and bf16 convert to and from f32 only. The subnormals of bf16 are subnormals of f32. */
static vy_kernel *from_small(uint64_t exact, vyre_type to, vyre_type from) {
    int keeps = exact >> VYRE_NUMERIC_F32_SUBNORMAL & 1;
    if (to != VYRE_TYPE_F32)
        return NULL;
    if (from == VYRE_TYPE_F16)
        return exact >> VYRE_NUMERIC_F16_CONVERT & 1 ? f16_to_f32 : NULL;
    return !(exact >> VYRE_NUMERIC_BF16_CONVERT & 1) ? NULL : keeps ? bf16_to_f32 : flushed_bf16_to_f32;
}

static vy_kernel *to_small(uint64_t exact, vyre_type to, vyre_type from) {
    int keeps = exact >> VYRE_NUMERIC_F32_SUBNORMAL & 1;
    if (from != VYRE_TYPE_F32)
        return NULL;
    if (to == VYRE_TYPE_F16)
        return exact >> VYRE_NUMERIC_F16_CONVERT & 1 ? f32_to_f16 : NULL;
    return !(exact >> VYRE_NUMERIC_BF16_CONVERT & 1) ? NULL : keeps ? f32_to_bf16 : flushed_f32_to_bf16;
}

static vy_kernel *cast_kernel(uint64_t exact, vyre_type to, vyre_type from) {
    int keeps = exact >> VYRE_NUMERIC_F32_SUBNORMAL & 1;
    int converts = exact >> VYRE_NUMERIC_F32_CONVERT & 1;
    int wide = exact >> VYRE_NUMERIC_F64_CONVERT & 1;
    vy_kernel *plain = vy_eval_kernel(VYRE_OP_CAST, to, from);
    int from_float = vyre_type_class(from) == VYRE_CLASS_FLOAT, to_float = vyre_type_class(to) == VYRE_CLASS_FLOAT;
    if (from == VYRE_TYPE_F64 || to == VYRE_TYPE_F64) {
        if (from == to)
            return kept;
        if (!wide && from != VYRE_TYPE_BOOL)
            return NULL;
        if (from == VYRE_TYPE_F32)
            return keeps ? f32_to_f64 : flushed_f32_to_f64;
        if (to == VYRE_TYPE_F32)
            return keeps ? f64_to_f32 : flushed_f64_to_f32;
        /* Narrow integers convert to and from 32 bits only. */
        return vyre_type_bits(from) >= 32 && vyre_type_bits(to) >= 32 ? plain : from == VYRE_TYPE_BOOL ? plain : NULL;
    }
    if (vyre_type_bits(from) == 16 && from_float)
        return from_small(exact, to, from);
    if (vyre_type_bits(to) == 16 && to_float)
        return to_small(exact, to, from);
    if (from == to && from_float)
        return kept;
    if (from_float) /* from f32 to an integer */
        return to == VYRE_TYPE_I32   ? converts ? plain : f32_to_i32
               : to == VYRE_TYPE_U32 ? converts ? plain : f32_to_u32
                                     : NULL;
    if (to_float)
        return from == VYRE_TYPE_I32    ? converts ? plain : i32_to_f32
               : from == VYRE_TYPE_U32  ? converts ? plain : u32_to_f32
               : from == VYRE_TYPE_BOOL ? plain
                                        : NULL;
    return plain;
}

/* ---- the device ---- */

int vy_device_has(uint64_t exact, vyre_type type) {
    const uint64_t any_f64 = (UINT64_C(2) << VYRE_NUMERIC_F64_CONVERT) - (UINT64_C(1) << VYRE_NUMERIC_F64_ADD);
    if (vyre_type_bits(type) != 64)
        return 1;
    return (exact >> VYRE_NUMERIC_INT64 & 1) && (type != VYRE_TYPE_F64 || (exact & any_f64));
}

/* Whether the device has arithmetic on the type. */
static int has_type(uint64_t exact, vyre_type type) {
    unsigned bits = vyre_type_bits(type);
    if (type == VYRE_TYPE_F16 || type == VYRE_TYPE_BF16)
        return 1; /* decided per op in small_kernel */
    return bits == 8 ? exact >> VYRE_NUMERIC_INT8 & 1 : bits == 16 ? exact >> VYRE_NUMERIC_INT16 & 1 : 1;
}

vy_kernel *vy_device_kernel(uint64_t exact, vyre_op op, vyre_type result, vyre_type operand) {
    vy_kernel *plain = vy_eval_kernel(op, result, operand);
    if (!plain || !vy_device_has(exact, operand) || !vy_device_has(exact, result))
        return NULL;
    if (op == VYRE_OP_CAST)
        return cast_kernel(exact, result, operand);
    if (op == VYRE_OP_BITCAST)
        return kept;
    if (!has_type(exact, operand))
        return NULL;
    if (vyre_type_class(operand) == VYRE_CLASS_FLOAT)
        return float_kernel(exact, op, operand);
    vy_kernel *bad = integer_kernel(exact, op, operand);
    return bad ? bad : plain;
}
