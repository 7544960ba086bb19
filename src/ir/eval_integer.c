/* Kernels of the integer types and of bool. The rows stand in eval_integer.inc, once for all eight integer types. */
#include "ir/eval_kernel.h"

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

vy_kernel *const vy_kernels_BOOL[VYRE_OP_COUNT] = {VYRE_OP_LIST(VY_ENTRY)};
