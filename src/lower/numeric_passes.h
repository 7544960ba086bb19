/* Numeric phases of legalisation. Each is a set of hooks for the legalizer, and the library texts that it reads.
 *
 *   promote narrow  8- and 16-bit integers and floats are held in 32 bits; only loads, stores, casts and bitcasts of
 *   them remain numerics        inexact ops on 32- and 64-bit types are replaced, and NaNs are made canonical where
 *   they can be observed f64 as bits     on targets without f64, it is held as u64 split int64     on targets without
 *   64-bit integers, they are pairs of u32
 *
 * A phase also rewrites the library code that earlier phases inserted. The library of the last phase is written for the
 * target and is not rewritten. */
#ifndef VY_LOWER_NUMERIC_PASSES_H
#define VY_LOWER_NUMERIC_PASSES_H

#include "lower/legalizer.h"
#include "vyre/backend.h"

#define VY_NUMERIC(ID) (UINT64_C(1) << VYRE_NUMERIC_##ID)
#define VY_TYPE(ID) (1u << VYRE_TYPE_##ID)
#define VY_OP(ID) (UINT64_C(1) << VYRE_OP_##ID)

/* Whoever has f64 computes something of it exactly. */
#define VY_NUMERIC_ALL ((UINT64_C(1) << VYRE_NUMERIC_COUNT) - 1)
#define VY_NUMERIC_F64 ((VY_NUMERIC(F64_CONVERT) << 1) - VY_NUMERIC(F64_ADD))

/* As a type in vy_legal_exact_uses: the program casts between f32 and 64-bit integers. */
#define VY_LEGAL_FAR_CASTS (UINT32_C(1) << 31)
_Static_assert(VYRE_TYPE_COUNT < 31, "types are bits below it");
/* What vy_softlib_exact_texts are asked for: ops that need nothing, since an operand is a literal, are not counted. */
vy_legal_uses vy_legal_exact_uses(const vyre_program *program);

extern const vy_legalizer_phase vy_legalize_promote_narrow, vy_legalize_numerics, vy_legalize_f64_as_bits,
    vy_legalize_split_int64;
extern const vy_softlib_text vy_softlib_narrow_texts[], vy_softlib_exact_texts[], vy_softlib_bits_texts[],
    vy_softlib_int64_texts[];

#endif
