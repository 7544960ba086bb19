/* Kernels of cast and bitcast.
 *
 * A cast reads its operand as one of three kinds (signed: int64_t, unsigned: uint64_t, real: double), each of which holds every value of its
 * types exactly, and writes it as the result type with one rounding. So there are 13 readers and 12 times 3 writers for 156 casts. */
#include "ir/eval_kernel.h"
#include "ir/softfloat.h"

/* Truncates; what is outside the range gives its nearer end, NaN gives 0. The bounds are powers of two, exact as double; comparing
 * before truncating keeps the C conversion inside its range. */
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

/* Writers: to_TYPE_KIND gives the result's bits. */
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

/* Each conversion from the given kind to the encoder's argument must be exact, or be the one rounding, or round to odd. */
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

vy_kernel *const vy_casts[VYRE_TYPE_COUNT][VYRE_TYPE_COUNT] = {
    CASTS_TO(I8),  CASTS_TO(U8),  CASTS_TO(I16), CASTS_TO(U16),  CASTS_TO(I32), CASTS_TO(U32),
    CASTS_TO(I64), CASTS_TO(U64), CASTS_TO(F16), CASTS_TO(BF16), CASTS_TO(F32), CASTS_TO(F64),
};

/* A bitcast keeps the bits; a NaN pattern that comes to lie in a float becomes the canonical one. */
VY_KERNEL_1(bits_kept, , a)
VY_KERNEL_1(bits_to_F16, , (a & 0x7fff) > 0x7c00 ? 0x7e00 : a)
VY_KERNEL_1(bits_to_BF16, , (a & 0x7fff) > 0x7f80 ? 0x7fc0 : a)
VY_KERNEL_1(bits_to_F32, , vy_f32_encode(vy_f32_decode(a)))
VY_KERNEL_1(bits_to_F64, , vy_f64_encode(vy_f64_decode(a)))

vy_kernel *const vy_bitcasts[VYRE_TYPE_COUNT] = {
    [VYRE_TYPE_I8] = bits_kept,      [VYRE_TYPE_U8] = bits_kept,    [VYRE_TYPE_I16] = bits_kept,
    [VYRE_TYPE_U16] = bits_kept,     [VYRE_TYPE_I32] = bits_kept,   [VYRE_TYPE_U32] = bits_kept,
    [VYRE_TYPE_I64] = bits_kept,     [VYRE_TYPE_U64] = bits_kept,   [VYRE_TYPE_F16] = bits_to_F16,
    [VYRE_TYPE_BF16] = bits_to_BF16, [VYRE_TYPE_F32] = bits_to_F32, [VYRE_TYPE_F64] = bits_to_F64,
};
