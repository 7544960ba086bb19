/* Adversarial device: the oracle as the worst device that conforms to a numerics profile (vyre/backend.h). It computes
 * exactly what the profile promises, and everything else wrongly or not at all. So legalisation for a profile can be
 * tested without a device: the legalised program, run on the worst device of that profile, must yield the bits of the
 * original.
 *
 *   missing                  effect
 *   int8, int16              an op on such a type is refused; loads, stores, casts to and from other integers, and
 *                            bitcasts are not
 *   int64, all of f64        a value of 64 bits, or of f64, is refused
 *   int.div, int.shift       garbage for x/0, x%0, MIN/-1, MIN%-1, and for shift amounts of the width or more
 *   f32.add, mul             the last bit is wrong in every second case
 *   f32.div, sqrt            refused: approx_div and approx_sqrt state that an approximation suffices
 *   f32.fma                  two roundings
 *   f32.subnormal            operands and results below the normal range become zeros, also in comparisons, negation
 *                            and conversions; so does a result of a multiplication, division or fma that rounds up to
 *                            the smallest normal number
 *   f32.min_max              either of two zeros; NaN or the number
 *   f32.round, convert       garbage for zeros, ties, NaN and values out of range; integers are truncated to f32
 *   f64.…                    the same in f64
 *   f16.…, bf16.…            an op is refused; loads, stores and bitcasts are not. The only native f16 and bf16 ops are
 *                            those of the profile and select; the only conversions are to and from f32. With
 *                            f32.subnormal missing, conversions of bf16 flush
 *   approx_div, approx_sqrt  up to 2.5 ulp off, and garbage for operands and results that are not normal numbers;
 *   without f32.subnormal also for results that the error may move below the normal range
 *
 * Always: a NaN result has any sign and payload; loads, bitcasts and stores preserve NaN bits. Garbage is a function of
 * the operands. */
#ifndef VY_ORACLE_ADVERSARIAL_DEVICE_H
#define VY_ORACLE_ADVERSARIAL_DEVICE_H

#include "ir/eval.h"
#include "vyre/backend.h"
#include "vyre/oracle.h"

#include <stdint.h>

/* Like vyre_oracle_new, for a device with that profile.
 * VYRE_UNSUPPORTED  the program needs an op that such a device does not have; the error names it */
vyre_status vy_oracle_new_on(vyre_program *program, uint64_t exact, vyre_oracle **out, vyre_error *error);

/* Whether the device can hold values of the type. */
int vy_device_has(uint64_t exact, vyre_type type);
/* Returns the kernel of an op on the device, or NULL if the device does not have the op. */
vy_kernel *vy_device_kernel(uint64_t exact, vyre_op op, vyre_type result, vyre_type operand);
static inline int vy_op_is_approximate(vyre_op op) {
    return op == VYRE_OP_APPROX_DIV || op == VYRE_OP_APPROX_SQRT;
}
/* Returns the kernel of an approximate op outside a device. Its third operand, here and on a device, is a seed. */
vy_kernel *vy_approximate_kernel(vyre_op op, vyre_type type);
/* Whether the device computes a float op exactly, up to the sign and payload of NaNs; 1 for other types. */
int vy_device_is_exact(uint64_t exact, vyre_op op, vyre_type type);

/* ---- garbage: a hash of two numbers (finaliser of splitmix64) ---- */

static inline uint64_t vy_mix(uint64_t a, uint64_t b) {
    uint64_t z = a * UINT64_C(0x9e3779b97f4a7c15) + b + UINT64_C(0x632be59bd9b4e019);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

#endif
