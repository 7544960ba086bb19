/* The phases of legalisation. Each is a set of decisions for the rewriter, and the texts it reads.
 *
 *   narrow   8- and 16-bit integers and floats are held in 32 bits; what is left on them is loads, stores, casts and bitcasts
 *   exact    what is not exact on 32- and 64-bit types is replaced, and NaNs are made canonical where they can be seen
 *   bits     where there is no f64, it is held as u64
 *   pairs    where there are no 64-bit integers, they are pairs of u32
 *
 * A phase rewrites what the libraries of those before it put there; the library of the last is written for the target and is left alone. */
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
