/* Scalar types and typed scalars. A value of any type is represented by its bit pattern in the low bits of a uint64_t;
 * the bits above the type's width are zero. A NaN is always the canonical NaN of its type (docs/bits.md), so equal bits
 * mean equal values everywhere in the library.
 *
 * Threads:  any thread, concurrently. All data is constant. */
#ifndef VYRE_TYPE_H
#define VYRE_TYPE_H

#include "vyre/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Classes of types, as bits. The op table uses them for operand types. */
#define VYRE_CLASS_BOOL 1u
#define VYRE_CLASS_SIGNED 2u
#define VYRE_CLASS_UNSIGNED 4u
#define VYRE_CLASS_FLOAT 8u
#define VYRE_CLASS_INTEGER (VYRE_CLASS_SIGNED | VYRE_CLASS_UNSIGNED)
#define VYRE_CLASS_NUMBER (VYRE_CLASS_INTEGER | VYRE_CLASS_FLOAT)
#define VYRE_CLASS_ANY (VYRE_CLASS_NUMBER | VYRE_CLASS_BOOL)

/* Types. X(ID, name, bits, class, canonical NaN or 0). The position in the list is the wire tag: append only. A bool is
 * a value only; buffers and arrays cannot hold it. */
#define VYRE_TYPE_LIST(X)                                                                                              \
    X(BOOL, "bool", 1, VYRE_CLASS_BOOL, 0)                                                                             \
    X(I8, "i8", 8, VYRE_CLASS_SIGNED, 0)                                                                               \
    X(U8, "u8", 8, VYRE_CLASS_UNSIGNED, 0)                                                                             \
    X(I16, "i16", 16, VYRE_CLASS_SIGNED, 0)                                                                            \
    X(U16, "u16", 16, VYRE_CLASS_UNSIGNED, 0)                                                                          \
    X(I32, "i32", 32, VYRE_CLASS_SIGNED, 0)                                                                            \
    X(U32, "u32", 32, VYRE_CLASS_UNSIGNED, 0)                                                                          \
    X(I64, "i64", 64, VYRE_CLASS_SIGNED, 0)                                                                            \
    X(U64, "u64", 64, VYRE_CLASS_UNSIGNED, 0)                                                                          \
    X(F16, "f16", 16, VYRE_CLASS_FLOAT, 0x7e00)                                                                        \
    X(BF16, "bf16", 16, VYRE_CLASS_FLOAT, 0x7fc0)                                                                      \
    X(F32, "f32", 32, VYRE_CLASS_FLOAT, 0x7fc00000)                                                                    \
    X(F64, "f64", 64, VYRE_CLASS_FLOAT, 0x7ff8000000000000)

typedef enum vyre_type {
#define X(ID, name, bits, cls, nan) VYRE_TYPE_##ID,
    VYRE_TYPE_LIST(X)
#undef X
        VYRE_TYPE_COUNT
} vyre_type;

/* The name in the language ("f32"); "?" for a value outside the list. */
VYRE_API const char *vyre_type_name(vyre_type type);

/* The width in bits: 1 for bool, else 8 to 64; 0 outside the list. */
VYRE_API unsigned vyre_type_bits(vyre_type type);

/* The bytes of one element in a buffer: bits / 8; 0 for bool and outside the list. */
VYRE_API unsigned vyre_type_size(vyre_type type);

/* The class, one of VYRE_CLASS_*; 0 outside the list. */
VYRE_API unsigned vyre_type_class(vyre_type type);

/* The type with this name; VYRE_TYPE_COUNT if unknown. */
VYRE_API vyre_type vyre_type_find(const char *name, size_t length);

/* A typed scalar, such as a param of a dispatch. */
typedef struct vyre_scalar {
    vyre_type type;
    uint64_t bits;
} vyre_scalar;

/* A scalar from a C value. */
VYRE_API vyre_scalar vyre_scalar_bool(int value);
VYRE_API vyre_scalar vyre_scalar_i32(int32_t value);
VYRE_API vyre_scalar vyre_scalar_u32(uint32_t value);
VYRE_API vyre_scalar vyre_scalar_i64(int64_t value);
VYRE_API vyre_scalar vyre_scalar_u64(uint64_t value);
VYRE_API vyre_scalar vyre_scalar_f32(float value);
VYRE_API vyre_scalar vyre_scalar_f64(double value);
/* A scalar of any type from its bits. Excess bits are dropped, and a NaN becomes the canonical one. */
VYRE_API vyre_scalar vyre_scalar_bits(vyre_type type, uint64_t bits);

#ifdef __cplusplus
}
#endif
#endif
