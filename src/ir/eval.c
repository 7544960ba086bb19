/* Evaluator (eval.h): kernels of integers, bool, floats and conversions, and their lookup.
 *
 * The kernels of a type are in eval_integer.inc and eval_float.inc, which are included once for each type. */
#include "ir/eval.h"

#include "base/thread.h"
#include "ir/eval_kernel.h"
#include "ir/softfloat.h"

#include <math.h>

/* ---- integers and bool ---- */

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

static inline uint64_t reverse_bits(uint64_t bits) {
    bits = (bits >> 1 & UINT64_C(0x5555555555555555)) | (bits & UINT64_C(0x5555555555555555)) << 1;
    bits = (bits >> 2 & UINT64_C(0x3333333333333333)) | (bits & UINT64_C(0x3333333333333333)) << 2;
    bits = (bits >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (bits & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
    return __builtin_bswap64(bits);
}

#define VY_CLASS INTEGER

#define TYPE I8
#define T int8_t
#define WIDE int64_t
#define W 8
#define SIGNED 1
#include "ir/eval_integer.inc"

#define TYPE U8
#define T uint8_t
#define WIDE uint64_t
#define W 8
#define SIGNED 0
#include "ir/eval_integer.inc"

#define TYPE I16
#define T int16_t
#define WIDE int64_t
#define W 16
#define SIGNED 1
#include "ir/eval_integer.inc"

#define TYPE U16
#define T uint16_t
#define WIDE uint64_t
#define W 16
#define SIGNED 0
#include "ir/eval_integer.inc"

#define TYPE I32
#define T int32_t
#define WIDE int64_t
#define W 32
#define SIGNED 1
#include "ir/eval_integer.inc"

#define TYPE U32
#define T uint32_t
#define WIDE uint64_t
#define W 32
#define SIGNED 0
#include "ir/eval_integer.inc"

#define TYPE I64
#define T int64_t
#define WIDE int128
#define W 64
#define SIGNED 1
#include "ir/eval_integer.inc"

#define TYPE U64
#define T uint64_t
#define WIDE uint128
#define W 64
#define SIGNED 0
#include "ir/eval_integer.inc"

#undef VY_CLASS
#define VY_CLASS BOOL
#define VY_NAME(ID) ID##_BOOL

VY_KERNEL_1(LNOT_BOOL, , !a)
VY_KERNEL_2(LAND_BOOL, , (a & b))
VY_KERNEL_2(LOR_BOOL, , (a | b))
VY_KERNEL_2(EQ_BOOL, , a == b)
VY_KERNEL_2(NE_BOOL, , a != b)
VY_KERNEL_3(SELECT_BOOL, , VY_CHOOSE(a, b, c))

static vy_kernel *const kernels_BOOL[VYRE_OP_COUNT] = {VYRE_OP_LIST(VY_ENTRY)};

/* ---- floats ---- */

#undef VY_NAME
#undef VY_CLASS
#define VY_CLASS FLOAT

#define TYPE F16
#define FORMAT vy_f16
#define REAL double
#define MATH(function) function
#define FUSED vy_fma_odd
#define SIGN UINT64_C(0x8000)
#define INF UINT64_C(0x7c00)
#include "ir/eval_float.inc"

#define TYPE BF16
#define FORMAT vy_bf16
#define REAL double
#define MATH(function) function
#define FUSED vy_fma_odd
#define SIGN UINT64_C(0x8000)
#define INF UINT64_C(0x7f80)
#include "ir/eval_float.inc"

#define TYPE F32
#define FORMAT vy_f32
#define REAL float
#define MATH(function) function##f
#define FUSED fmaf
#define SIGN UINT64_C(0x80000000)
#define INF UINT64_C(0x7f800000)
#include "ir/eval_float.inc"

#define TYPE F64
#define FORMAT vy_f64
#define REAL double
#define MATH(function) function
#define FUSED fma
#define SIGN VY_F64_SIGN
#define INF VY_F64_INFINITY
#include "ir/eval_float.inc"

/* ---- conversions ----
 *
 * A cast reads its operand as one of three kinds (signed: int64_t, unsigned: uint64_t, real: double), each of which
 * represents every value of its types exactly, and writes the result type with one rounding. So 13 readers and 12 × 3
 * writers suffice for 156 casts. */

/* Truncates and saturates; NaN becomes 0. The bounds are powers of two and exact as double. The comparison before the
 * truncation keeps the C conversion in range. */
static inline uint64_t saturate_signed(double value, unsigned width) {
    const double bound = vy_f64_power((int)width - 1);
    const uint64_t most = (UINT64_C(1) << (width - 1)) - 1;

    if (value >= bound)
        return most;
    if (value <= -bound)
        return most + 1;
    return value != value ? 0 : (uint64_t)(int64_t)value & UINT64_MAX >> (64 - width);
}

static inline uint64_t saturate_unsigned(double value, unsigned width) {
    if (value >= vy_f64_power((int)width))
        return UINT64_MAX >> (64 - width);
    return value > 0 ? (uint64_t)value : 0; /* also NaN */
}

/* Writers: to_TYPE_KIND returns the bits of the result. */
#define TO_INTEGER(ID, width, saturate)                                                                                \
    static inline uint64_t to_##ID##_signed(int64_t value) {                                                           \
        return (uint64_t)value & UINT64_MAX >> (64 - width);                                                           \
    }                                                                                                                  \
    static inline uint64_t to_##ID##_unsigned(uint64_t value) {                                                        \
        return value & UINT64_MAX >> (64 - width);                                                                     \
    }                                                                                                                  \
    static inline uint64_t to_##ID##_real(double value) {                                                              \
        return saturate(value, width);                                                                                 \
    }
TO_INTEGER(I8, 8, saturate_signed)
TO_INTEGER(U8, 8, saturate_unsigned)
TO_INTEGER(I16, 16, saturate_signed)
TO_INTEGER(U16, 16, saturate_unsigned)
TO_INTEGER(I32, 32, saturate_signed)
TO_INTEGER(U32, 32, saturate_unsigned)
TO_INTEGER(I64, 64, saturate_signed)
TO_INTEGER(U64, 64, saturate_unsigned)

/* Each conversion from the source kind to the encoder's argument must be exact, be the only rounding, or round to
 * odd. */
#define TO_FLOAT(ID, encode, from_signed, from_unsigned, from_real)                                                    \
    static inline uint64_t to_##ID##_signed(int64_t value) {                                                           \
        return encode(from_signed(value));                                                                             \
    }                                                                                                                  \
    static inline uint64_t to_##ID##_unsigned(uint64_t value) {                                                        \
        return encode(from_unsigned(value));                                                                           \
    }                                                                                                                  \
    static inline uint64_t to_##ID##_real(double value) {                                                              \
        return encode(from_real(value));                                                                               \
    }
TO_FLOAT(F16, vy_f16_encode, vy_odd_from_i64, vy_odd_from_u64, )
TO_FLOAT(BF16, vy_bf16_encode, vy_odd_from_i64, vy_odd_from_u64, )
TO_FLOAT(F32, vy_f32_encode, (float), (float), (float))
TO_FLOAT(F64, vy_f64_encode, (double), (double), )

/* Readers and the kernels from one operand type. */
#define CAST(TO, FROM, kind, value) VY_KERNEL_1(FROM##_to_##TO, , to_##TO##_##kind(value))
#define CASTS_FROM(FROM, kind, value)                                                                                  \
    CAST(I8, FROM, kind, value)                                                                                        \
    CAST(U8, FROM, kind, value)                                                                                        \
    CAST(I16, FROM, kind, value)                                                                                       \
    CAST(U16, FROM, kind, value)                                                                                       \
    CAST(I32, FROM, kind, value)                                                                                       \
    CAST(U32, FROM, kind, value)                                                                                       \
    CAST(I64, FROM, kind, value)                                                                                       \
    CAST(U64, FROM, kind, value)                                                                                       \
    CAST(F16, FROM, kind, value)                                                                                       \
    CAST(BF16, FROM, kind, value)                                                                                      \
    CAST(F32, FROM, kind, value)                                                                                       \
    CAST(F64, FROM, kind, value)
CASTS_FROM(BOOL, unsigned, a)
CASTS_FROM(I8, signed, (int8_t)a)
CASTS_FROM(U8, unsigned, a)
CASTS_FROM(I16, signed, (int16_t)a)
CASTS_FROM(U16, unsigned, a)
CASTS_FROM(I32, signed, (int32_t)a)
CASTS_FROM(U32, unsigned, a)
CASTS_FROM(I64, signed, (int64_t)a)
CASTS_FROM(U64, unsigned, a)
CASTS_FROM(F16, real, vy_f16_decode(a))
CASTS_FROM(BF16, real, vy_bf16_decode(a))
CASTS_FROM(F32, real, vy_f32_decode(a))
CASTS_FROM(F64, real, vy_f64_decode(a))

_Static_assert(VYRE_TYPE_COUNT == 13, "a new type needs a reader, writers, a row and a column");
#define FROM(ID, TO) [VYRE_TYPE_##ID] = ID##_to_##TO
#define CASTS_TO(TO)                                                                                                   \
    [VYRE_TYPE_##TO] = {FROM(BOOL, TO), FROM(I8, TO),  FROM(U8, TO),  FROM(I16, TO), FROM(U16, TO),                    \
                        FROM(I32, TO),  FROM(U32, TO), FROM(I64, TO), FROM(U64, TO), FROM(F16, TO),                    \
                        FROM(BF16, TO), FROM(F32, TO), FROM(F64, TO)}

static vy_kernel *const casts[VYRE_TYPE_COUNT][VYRE_TYPE_COUNT] = {
    CASTS_TO(I8),  CASTS_TO(U8),  CASTS_TO(I16), CASTS_TO(U16),  CASTS_TO(I32), CASTS_TO(U32),
    CASTS_TO(I64), CASTS_TO(U64), CASTS_TO(F16), CASTS_TO(BF16), CASTS_TO(F32), CASTS_TO(F64),
};

/* A bitcast keeps the bits; a NaN pattern in a float type becomes the canonical NaN. */
VY_KERNEL_1(bits_kept, , a)
VY_KERNEL_1(bits_to_F16, , (a & 0x7fff) > 0x7c00 ? 0x7e00 : a)
VY_KERNEL_1(bits_to_BF16, , (a & 0x7fff) > 0x7f80 ? 0x7fc0 : a)
VY_KERNEL_1(bits_to_F32, , vy_f32_encode(vy_f32_decode(a)))
VY_KERNEL_1(bits_to_F64, , vy_f64_encode(vy_f64_decode(a)))

static vy_kernel *const bitcasts[VYRE_TYPE_COUNT] = {
    [VYRE_TYPE_I8] = bits_kept,      [VYRE_TYPE_U8] = bits_kept,    [VYRE_TYPE_I16] = bits_kept,
    [VYRE_TYPE_U16] = bits_kept,     [VYRE_TYPE_I32] = bits_kept,   [VYRE_TYPE_U32] = bits_kept,
    [VYRE_TYPE_I64] = bits_kept,     [VYRE_TYPE_U64] = bits_kept,   [VYRE_TYPE_F16] = bits_to_F16,
    [VYRE_TYPE_BF16] = bits_to_BF16, [VYRE_TYPE_F32] = bits_to_F32, [VYRE_TYPE_F64] = bits_to_F64,
};

/* ---- kernel lookup and evaluation ---- */

static vy_kernel *const *const rows[VYRE_TYPE_COUNT] = {
#define X(ID, name, bits, cls, nan) kernels_##ID,
    VYRE_TYPE_LIST(X)
#undef X
};

vy_kernel *vy_eval_kernel_unchecked(vyre_op op, vyre_type result, vyre_type operand) {
    switch (op) {
    case VYRE_OP_CAST:
        return casts[result][operand];
    case VYRE_OP_BITCAST:
        return bitcasts[result];
    default:
        return rows[operand][op];
    }
}

vy_kernel *vy_eval_kernel(vyre_op op, vyre_type result, vyre_type operand) {
    return vyre_op_accepts(op, operand, result) ? vy_eval_kernel_unchecked(op, result, operand) : NULL;
}

uint64_t vy_eval_canonical(vyre_op op, vyre_type result, vyre_type operand, const uint64_t values[3]) {
    vy_kernel *kernel = vy_eval_kernel_unchecked(op, result, operand);
    vy_fenv saved;
    uint64_t out;
    int is_float = (vy_type_layouts[operand].classes | vy_type_layouts[result].classes) & VYRE_CLASS_FLOAT;
    if (is_float)
        vy_fenv_enter(&saved);
    kernel(&out, &values[0], &values[1], &values[2], 1);
    if (is_float)
        vy_fenv_leave(&saved);
    return out;
}

uint64_t vyre_op_evaluate(vyre_op op, vyre_type result, vyre_type operand, uint64_t a, uint64_t b, uint64_t c) {
    vy_kernel *kernel = vy_eval_kernel(op, result, operand);
    vy_fenv saved;
    int is_float = (vyre_type_class(operand) | vyre_type_class(result)) & VYRE_CLASS_FLOAT;

    if (!kernel)
        return 0;
    a = vy_value_canonicalize(op == VYRE_OP_SELECT ? VYRE_TYPE_BOOL : operand, a);
    b = vy_value_canonicalize(operand, b);
    c = vy_value_canonicalize(operand, c);
    if (is_float)
        vy_fenv_enter(&saved);
    kernel(&a, &a, &b, &c, 1);
    if (is_float)
        vy_fenv_leave(&saved);
    return a;
}
