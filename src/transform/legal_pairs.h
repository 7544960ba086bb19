/* What the two files of the third phase share: i64 and u64 as pairs of u32, the low half first (legal_pairs.c).
 *
 * A variable is two, the second right after the first; so is a param. An element of a memory is two, [2i] and [2i + 1]: its bytes stay what they are. */
#ifndef VY_TRANSFORM_LEGAL_PAIRS_H
#define VY_TRANSFORM_LEGAL_PAIRS_H

#include "transform/legal_rewrite.h"

static inline int vy_is_pair(vyre_type type) {
    return type == VYRE_TYPE_I64 || type == VYRE_TYPE_U64;
}

/* Names of the halves of a variable of the program. */
void vy_pairs_names(vy_legaliser *rw, uint32_t variable, vy_name names[2]);
/* Params, buffers, arrays and the grid (legal_pairs_declare.c). */
void vy_pairs_declare(vy_legaliser *rw);

#endif
