/* What the two files of the third phase share: i64 and u64 as pairs of u32, the low half first (split_int64.c).
 *
 * A variable is two, the second right after the first; so is a param. An element of a memory is two, [2i] and [2i + 1]: its bytes stay what they are. */
#ifndef VY_LOWER_SPLIT_INT64_H
#define VY_LOWER_SPLIT_INT64_H

#include "lower/legalizer.h"

static inline int vy_is_pair(vyre_type type) {
    return type == VYRE_TYPE_I64 || type == VYRE_TYPE_U64;
}

/* Names of the halves of a variable of the program. */
void vy_split_int64_names(vy_legalizer *rw, uint32_t variable, vy_symbol names[2]);
/* Params, buffers, arrays and the grid (split_int64_decls.c). */
void vy_split_int64_declare(vy_legalizer *rw);

#endif
