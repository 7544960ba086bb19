/* The oracle as a bad device: it computes exactly what a numerics profile promises (vyre/backend.h), and everything else badly or not at all. So what
 * legalisation makes for a profile is proven without a device: run as the worst device of that profile, it gives the original's bits.
 *
 *   missing                      what happens instead
 *   int8, int16                  an op on such a type is refused; loads, stores, casts to and from other integers and bitcasts are not
 *   int64, all of f64            a value of 64 bits, or of f64, is refused
 *   int.div, int.shift           garbage for x/0, x%0, MIN/-1, MIN%-1, and for amounts of the width or more
 *   f32.add, mul                 the last bit is off in every second case
 *   f32.div, sqrt                refused: approx_div and approx_sqrt say that a guess will do
 *   f32.fma                      two roundings
 *   f32.subnormal                operands and results below the normal range become zeros, also in comparisons, negation and conversions, and so does a result of
 *                                a multiplication, division or fma that rounds up to the smallest normal number
 *   f32.min_max                  either of two zeros; NaN or the number
 *   f32.round, convert           garbage for zeros, ties, NaN and what is out of range; integers are truncated to f32
 *   f64.…                        the same in f64
 *   f16.…, bf16.…                an op is refused; loads, stores and bitcasts are not. There are no native f16 or bf16 ops but those of the profile and select,
 *                                and no conversions but to and from f32; with f32.subnormal missing, those of bf16 flush
 *   approx_div, approx_sqrt      up to 2.5 ulp off, and garbage for operands and results that are not normal numbers; without f32.subnormal also for results
 *                                that the error may take below them
 *
 * Always: the NaN an op gives has any sign and payload, and loads, bitcasts and stores keep what they find. Garbage depends on the operands alone. */
#ifndef VY_ORACLE_ADVERSARIAL_DEVICE_H
#define VY_ORACLE_ADVERSARIAL_DEVICE_H

#include "ir/eval.h"
#include "vyre/backend.h"
#include "vyre/oracle.h"

#include <stdint.h>

/* Like vyre_oracle_new, for a device with that profile.
 * VYRE_UNSUPPORTED  the program needs what such a device does not have; the error names it */
vyre_status vy_oracle_new_on(vyre_program *program, uint64_t exact, vyre_oracle **out, vyre_error *error);

/* Whether values of a type can be held there at all. */
int vy_device_has(uint64_t exact, vyre_type type);
/* The kernel of a row on such a device, or NULL if it has none. */
vy_kernel *vy_device_kernel(uint64_t exact, vyre_op op, vyre_type result, vyre_type operand);
static inline int vy_op_is_approximate(vyre_op op) {
    return op == VYRE_OP_APPROX_DIV || op == VYRE_OP_APPROX_SQRT;
}
/* The kernel of an approximate op in an oracle that is no device. Its third operand, here and on a device, is a seed. */
vy_kernel *vy_approximate_kernel(vyre_op op, vyre_type type);
/* Whether a float op gives the exact results there, up to the sign and payload of NaNs; 1 for other types. */
int vy_device_is_exact(uint64_t exact, vyre_op op, vyre_type type);

/* ---- Garbage: bits that depend on two numbers and on nothing else (splitmix64's finish). ---- */

static inline uint64_t vy_mix(uint64_t a, uint64_t b) {
    uint64_t z = a * UINT64_C(0x9e3779b97f4a7c15) + b + UINT64_C(0x632be59bd9b4e019);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

#endif
