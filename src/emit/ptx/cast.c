/* Conversions. From the PTX ISA (cvt): float to integer saturates; a NaN becomes 0 if neither side has 64 bits, else something else. */
#include "emit/ptx/op.h"

#include <stdio.h>

static int is_narrow(vyre_type type) {
    return !vy_ptx_is_float(type) && type != VYRE_TYPE_BOOL && vyre_type_bits(type) < 32;
}

static int is_signed(vyre_type type) {
    return vyre_type_class(type) == VYRE_CLASS_SIGNED;
}

static vy_ptx_value convert(vy_ptx *e, const char *how, vyre_type to, vy_ptx_value a) {
    vy_ptx_value from = vy_ptx_in_register(e, a), d = vy_ptx_new(e, to);
    char *at = vy_write_text(vy_write_text(vy_write_text(vy_ptx_line(e), "cvt"), how), ".");
    at = vy_write_text(vy_write_packed(at, vy_ptx_letters(vy_ptx_type(to))), ".");
    at = vy_write_packed(at, vy_ptx_letters(vy_ptx_type((vyre_type)a.type)));
    vy_ptx_end_with(e, at, (const vy_ptx_value[]){d, from}, 2);
    return d;
}

/* A bool as a number: 1 or 0. */
static vy_ptx_value from_bool(vy_ptx *e, vyre_type to, vy_ptx_value a) {
    static const char *const ones[VYRE_TYPE_COUNT] = {
        [VYRE_TYPE_F32] = "0f3F800000, 0f00000000", [VYRE_TYPE_F64] = "0d3FF0000000000000, 0d0000000000000000"};
    const char *condition = vy_ptx_register(e, a);
    vy_ptx_value d = vy_ptx_new(e, to);
    vy_ptx_write(e, "selp.%s %s, %s, %s", vy_ptx_type(to), vy_ptx_name(e, d), ones[to] ? ones[to] : "1, 0", condition);
    return d;
}

/* The low bits of a 32-bit register as a narrow integer is held. */
static vy_ptx_value cut(vy_ptx *e, vyre_type to, vy_ptx_value a) {
    vy_ptx_value from = vy_ptx_in_register(e, a);
    unsigned bits = vyre_type_bits(to);
    vy_ptx_value d = vy_ptx_new(e, to);
    if (is_signed(to))
        VY_PTX_INSTRUCT(e, "bfe", "s32", d, from, vy_ptx_literal(VYRE_TYPE_U32, 0),
                        vy_ptx_literal(VYRE_TYPE_U32, bits));
    else
        VY_PTX_INSTRUCT(e, "and", "b32", d, from, vy_ptx_literal(VYRE_TYPE_U32, (1u << bits) - 1));
    vy_ptx_subword part = vy_ptx_subword_of(e, a);
    if (part.bytes * 8u == bits) {
        part.is_all = !is_signed(to);
        part.places = 0;
        d.part = vy_ptx_new_subword(e, part);
    }
    return d;
}

static vy_ptx_value integer_to_integer(vy_ptx *e, vyre_type to, vy_ptx_value a) {
    vyre_type from = (vyre_type)a.type;
    int is_wide = vyre_type_bits(from) == 64;
    if (vyre_type_bits(to) == 64) {
        if (is_wide)
            return a.type = (uint8_t)to, a;
        a = convert(e, "", is_signed(from) ? VYRE_TYPE_I64 : VYRE_TYPE_U64, a);
        return a.type = (uint8_t)to, a;
    }
    if (is_wide) {
        a.type = VYRE_TYPE_U64;
        a = convert(e, "", VYRE_TYPE_U32, a);
    }
    if (is_narrow(to))
        return cut(e, to, a);
    return a.type = (uint8_t)to, a;
}

static vy_ptx_value float_to_integer(vy_ptx *e, vyre_type to, vy_ptx_value a) {
    a = vy_ptx_in_register(e, a);
    vy_ptx_value made = convert(e, ".rzi", to, a);
    if (vyre_type_bits((vyre_type)a.type) < 64 && vyre_type_bits(to) < 64)
        return made;
    vy_ptx_value is_number = vy_ptx_new(e, VYRE_TYPE_BOOL), d = vy_ptx_new(e, to);
    vy_ptx_write(e, "setp.num.%s %s, %s, %s", vy_ptx_type((vyre_type)a.type), vy_ptx_name(e, is_number),
                 vy_ptx_name(e, a), vy_ptx_name(e, a));
    vy_ptx_write(e, "selp.%s %s, %s, 0, %s", vy_ptx_bits(to), vy_ptx_name(e, d), vy_ptx_name(e, made),
                 vy_ptx_name(e, is_number));
    return d;
}

/* A bf16 is the upper half of an f32; to round one needs sm_80. */
static vy_ptx_value half_to_single(vy_ptx *e, vy_ptx_value a) {
    if (a.type == VYRE_TYPE_F16)
        return convert(e, "", VYRE_TYPE_F32, a);
    vy_ptx_value zero = vy_ptx_in_register(e, vy_ptx_literal(VYRE_TYPE_BF16, 0)), d = vy_ptx_new(e, VYRE_TYPE_F32);
    const char *from = vy_ptx_register(e, a);
    vy_ptx_write(e, "mov.b32 %s, {%s, %s}", vy_ptx_name(e, d), vy_ptx_name(e, zero), from);
    return d;
}

static vy_ptx_value single_to_half(vy_ptx *e, vyre_type to, vy_ptx_value a) {
    if (to == VYRE_TYPE_BF16)
        vy_ptx_need(e, 70, 80);
    return convert(e, ".rn", to, a);
}

static vy_ptx_value float_to_float(vy_ptx *e, vyre_type to, vy_ptx_value a) {
    return convert(e, vyre_type_bits(to) < vyre_type_bits((vyre_type)a.type) ? ".rn" : "", to, a);
}

static vy_ptx_value refused(vy_ptx *e, vyre_type to, vyre_type from) {
    char what[64];
    snprintf(what, sizeof what, "a conversion from %s to %s", vyre_type_name(from), vyre_type_name(to));
    vy_ptx_refuse(e, what);
    return vy_ptx_literal(to, 0);
}

static vy_ptx_value evaluated(vyre_op op, vyre_type to, vy_ptx_value a) {
    return vy_ptx_literal(to, vyre_op_evaluate(op, to, (vyre_type)a.type, a.bits, 0, 0));
}

vy_ptx_value vy_ptx_cast(vy_ptx *e, vyre_type to, vy_ptx_value a) {
    vyre_type from = (vyre_type)a.type;
    if (from == to)
        return a;
    if (a.is_literal)
        return evaluated(VYRE_OP_CAST, to, a);
    if (from == VYRE_TYPE_BOOL && !vy_ptx_is_half(to))
        return from_bool(e, to, a);
    if (!vy_ptx_is_float(from) && !vy_ptx_is_float(to))
        return integer_to_integer(e, to, a);
    if (vy_ptx_is_half(from) && to == VYRE_TYPE_F32)
        return half_to_single(e, a);
    if (from == VYRE_TYPE_F32 && vy_ptx_is_half(to))
        return single_to_half(e, to, a);
    if (vy_ptx_is_half(from) || vy_ptx_is_half(to) || is_narrow(to))
        return refused(e, to, from);
    if (vy_ptx_is_float(from) && vy_ptx_is_float(to))
        return float_to_float(e, to, a);
    return vy_ptx_is_float(from) ? float_to_integer(e, to, a) : convert(e, ".rn", to, a);
}

/* Between 16 bits that are held in 32 and those that are not there is a move; else it is the register that was there. */
vy_ptx_value vy_ptx_bitcast(vy_ptx *e, vyre_type to, vy_ptx_value a) {
    vyre_type from = (vyre_type)a.type;
    if (a.is_literal)
        return evaluated(VYRE_OP_BITCAST, to, a);
    if (vy_ptx_is_half(from) != vy_ptx_is_half(to)) {
        const char *given = vy_ptx_register(e, a);
        vy_ptx_value d = vy_ptx_new(e, to);
        vy_ptx_write(e, "cvt.%s %s, %s",
                     vy_ptx_is_half(to) ? "u16.u32"
                     : is_signed(to)    ? "s32.s16"
                                        : "u32.u16",
                     vy_ptx_name(e, d), given);
        return d;
    }
    if (is_narrow(from) && from != to)
        return cut(e, to, a);
    a.type = (uint8_t)to;
    return a;
}
