/* Ops, and what is written instead of some (ptxas_errata.c). */
#ifndef VY_EMIT_PTX_OP_H
#define VY_EMIT_PTX_OP_H

#include "emit/ptx/emitter.h"
#include "ir/eval.h"

static inline int vy_ptx_is_float(vyre_type type) {
    return vy_type_layouts[type].classes == VYRE_CLASS_FLOAT;
}

static inline int vy_ptx_is_half(vyre_type type) {
    return type == VYRE_TYPE_F16 || type == VYRE_TYPE_BF16;
}

static inline uint64_t vy_ptx_sign_bit(vyre_type type) {
    return UINT64_C(1) << (vy_type_layouts[type].bits - 1);
}

/* The unsigned type in which a float's bits are looked at. */
static inline vyre_type vy_ptx_integer_of(vyre_type type) {
    return vy_type_layouts[type].bits == 64 ? VYRE_TYPE_U64 : VYRE_TYPE_U32;
}

/* A new register of that type: name.suffix of two; args[0] ? args[1] : args[2]; the bits of a float that a mask lets through, as an integer. */
vy_ptx_value vy_ptx_two_by(vy_ptx *e, uint64_t name, const char *suffix, vyre_type type, vy_ptx_value a,
                           vy_ptx_value b);
static inline vy_ptx_value vy_ptx_two(vy_ptx *e, const char *name, const char *suffix, vyre_type type, vy_ptx_value a,
                                      vy_ptx_value b) {
    return vy_ptx_two_by(e, vy_pack_text(name), suffix, type, a, b);
}
vy_ptx_value vy_ptx_choose(vy_ptx *e, vyre_type type, const vy_ptx_value *args);
vy_ptx_value vy_ptx_masked(vy_ptx *e, vyre_type type, vy_ptx_value a, uint64_t mask);

/* vy_ptx_choose, also where ptxas takes it for the smaller of something and 1. */
vy_ptx_value vy_ptx_selection(vy_ptx *e, vyre_type type, const vy_ptx_value *args);
/* Writes an op otherwise than the table says, for the sake of the driver's compiler; 0 if the table is right, as it is of most. */
extern const uint8_t vy_ptx_has_errata[VYRE_OP_COUNT];
int vy_ptx_errata_replace(vy_ptx *e, vyre_op op, vyre_type operand, const vy_ptx_value *args, vy_ptx_value *out);
/* Whether what an op gives maybe_negated, which is asked where there are extremes. */
int vy_ptx_may_be_negated(const vy_expr *x, vyre_type operand, const vy_ptx_value *args);
/* Whether what an op gives maybe_bool, which is asked where there are such; and an integer that is taken for the bits of another type, not to be taken for one. */
int vy_ptx_may_be_bool(const vy_expr *x, const vy_ptx_value *args);
vy_ptx_value vy_ptx_normalize_bool(vy_ptx *e, vyre_type to, vy_ptx_value value);
/* Whether an op of floats one of which is_opaque gives such a value. */
int vy_ptx_keeps_opaque(vyre_op op);
/* Notes what the program has of what mistakes are made about. */
void vy_ptx_scan_errata(vy_ptx *e);

#endif
