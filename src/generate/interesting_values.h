/* Values worth trying: where types begin, end, wrap, round and change sign. */
#ifndef VY_GENERATE_INTERESTING_VALUES_H
#define VY_GENERATE_INTERESTING_VALUES_H

#include "generate/random.h"
#include "vyre/type.h"

/* Bits of a type, biased to the edges. Excess bits are zero; a NaN may have any payload and sign (loads and literals must cope). */
uint64_t vy_interesting_value(vy_rng *rng, vyre_type type);

/* `count` elements of a type, as they lie in memory. */
void vy_interesting_fill(vy_rng *rng, vyre_type type, void *data, uint64_t count);

#endif
