/* Rows of the op table. What the ISA does not do by our rules was rewritten before; so were divisors that are zero, amounts beyond the width and everything about
 * NaN that can be seen. Float arithmetic names its rounding, so that nothing is contracted, and never .ftz, so that subnormals are kept.
 *
 * From the PTX ISA: min and max of floats give the other operand for a NaN, and +0 > -0; clz and popc are u32 whatever they count; shl and shr give 0 (or the sign)
 * for amounts of the width and more. */
#include "emit/ptx/emitter.h"

#include "ir/eval.h"

typedef enum form {
    NONE,
    TYPED,   /* an instruction of as many operands as the row has, by type */
    BITS,    /* … by size */
    COMPARE, /* setp */
    ROUND,   /* cvt from a float type to itself */
    COUNT    /* gives a u32 */
} form;

/* By class: how a row is written for integers and floats. */
typedef struct way {
    uint8_t form;
    const char *name;
} way;
typedef struct row {
    way integer, real;
} row;

static const row rows[VYRE_OP_COUNT] = {
    [VYRE_OP_NEG] = {{NONE, NULL}, {TYPED, "neg"}},
    [VYRE_OP_LNOT] = {{BITS, "not"}, {NONE, NULL}},
    [VYRE_OP_ABS] = {{NONE, NULL}, {TYPED, "abs"}},
    [VYRE_OP_POPCOUNT] = {{COUNT, "popc"}, {NONE, NULL}},
    [VYRE_OP_CLZ] = {{COUNT, "clz"}, {NONE, NULL}},
    [VYRE_OP_REVERSE_BITS] = {{BITS, "brev"}, {NONE, NULL}},
    [VYRE_OP_SQRT] = {{NONE, NULL}, {TYPED, "sqrt.rn"}},
    [VYRE_OP_APPROX_SQRT] = {{NONE, NULL}, {TYPED, "sqrt.rn"}},
    [VYRE_OP_FLOOR] = {{NONE, NULL}, {ROUND, "rmi"}},
    [VYRE_OP_CEIL] = {{NONE, NULL}, {ROUND, "rpi"}},
    [VYRE_OP_TRUNC] = {{NONE, NULL}, {ROUND, "rzi"}},
    [VYRE_OP_ROUND] = {{NONE, NULL}, {ROUND, "rni"}},
    [VYRE_OP_ADD] = {{TYPED, "add"}, {TYPED, "add.rn"}},
    [VYRE_OP_SUB] = {{TYPED, "sub"}, {TYPED, "sub.rn"}},
    [VYRE_OP_MUL] = {{TYPED, "mul.lo"}, {TYPED, "mul.rn"}},
    [VYRE_OP_MUL_HIGH] = {{TYPED, "mul.hi"}, {NONE, NULL}},
    [VYRE_OP_DIV] = {{TYPED, "div"}, {TYPED, "div.rn"}},
    [VYRE_OP_APPROX_DIV] = {{NONE, NULL}, {TYPED, "div.rn"}},
    [VYRE_OP_REM] = {{TYPED, "rem"}, {NONE, NULL}},
    [VYRE_OP_AND] = {{BITS, "and"}, {NONE, NULL}},
    [VYRE_OP_OR] = {{BITS, "or"}, {NONE, NULL}},
    [VYRE_OP_LAND] = {{BITS, "and"}, {NONE, NULL}},
    [VYRE_OP_LOR] = {{BITS, "or"}, {NONE, NULL}},
    [VYRE_OP_MIN] = {{TYPED, "min"}, {TYPED, "min"}},
    [VYRE_OP_MAX] = {{TYPED, "max"}, {TYPED, "max"}},
    [VYRE_OP_EQ] = {{COMPARE, "setp.eq"}, {COMPARE, "setp.eq"}},
    [VYRE_OP_NE] = {{COMPARE, "setp.ne"}, {COMPARE, "setp.neu"}},
    [VYRE_OP_LT] = {{COMPARE, "setp.lt"}, {COMPARE, "setp.lt"}},
    [VYRE_OP_LE] = {{COMPARE, "setp.le"}, {COMPARE, "setp.le"}},
    [VYRE_OP_GT] = {{COMPARE, "setp.gt"}, {COMPARE, "setp.gt"}},
    [VYRE_OP_GE] = {{COMPARE, "setp.ge"}, {COMPARE, "setp.ge"}},
    [VYRE_OP_FMA] = {{NONE, NULL}, {TYPED, "fma.rn"}},
};

static int is_float(vyre_type type) {
    return vyre_type_class(type) == VYRE_CLASS_FLOAT;
}

static int is_half(vyre_type type) {
    return type == VYRE_TYPE_F16 || type == VYRE_TYPE_BF16;
}

/* Half a word and a predicate have no literals, and one operand at least is a register. */
static vy_ptx_value operand_of(vy_ptx *e, vy_ptx_value v, int may_be_literal) {
    return may_be_literal && vy_ptx_class_of((vyre_type)v.type) > VY_PTX_B16 ? v : vy_ptx_in_register(e, v);
}

/* One line: d = instruction(a, b, c). */
static void line(vy_ptx *e, unsigned arity, const char *name, const char *suffix, vy_ptx_value d,
                 const vy_ptx_value *args) {
    vy_ptx_value a = operand_of(e, args[0], arity == 2 && !args[1].is_literal);
    vy_ptx_value b = arity > 1 ? operand_of(e, args[1], arity == 2) : a;
    vy_ptx_value c = arity > 2 ? operand_of(e, args[2], 0) : a;
    vy_ptx_instruct(e, name, suffix, (const vy_ptx_value[]){d, a, b, c}, 1 + arity);
}

static vy_ptx_value one(vy_ptx *e, const char *name, const char *suffix, vyre_type type, vy_ptx_value a) {
    vy_ptx_value d = vy_ptx_new(e, type);
    line(e, 1, name, suffix, d, &a);
    return d;
}

static vy_ptx_value two(vy_ptx *e, const char *name, const char *suffix, vyre_type type, vy_ptx_value a,
                        vy_ptx_value b) {
    vy_ptx_value d = vy_ptx_new(e, type);
    line(e, 2, name, suffix, d, (vy_ptx_value[]){a, b});
    return d;
}

/* What counts is a u32: as wide as what was counted. */
static vy_ptx_value counted(vy_ptx *e, const char *name, vyre_type type, vy_ptx_value a) {
    vy_ptx_value count = one(e, name, vy_ptx_bits(type), VYRE_TYPE_U32, a);
    return vy_ptx_class_of(type) == VY_PTX_B64 ? one(e, "cvt.u64", "u32", type, count)
                                               : (count.type = (uint8_t)type, count);
}

static vy_ptx_value by_row(vy_ptx *e, const way *w, unsigned arity, vyre_type result, vyre_type operand,
                           const vy_ptx_value *args) {
    const char *suffix = w->form == BITS ? vy_ptx_bits(operand) : vy_ptx_type(operand);
    vy_ptx_value d;
    if (w->form == COUNT)
        return counted(e, w->name, operand, args[0]);
    d = vy_ptx_new(e, result);
    if (w->form == COMPARE)
        VY_PTX_INSTRUCT(e, w->name, suffix, d, vy_ptx_in_register(e, args[0]), args[1]);
    else if (w->form == ROUND)
        vy_ptx_write(e, "cvt.%s.%s.%s %s, %s", w->name, suffix, suffix, vy_ptx_name(e, d), vy_ptx_register(e, args[0]));
    else
        line(e, arity, w->name, suffix, d, args);
    return d;
}

/* ---- rows that are more than one thing ---- */

static const char *signed_of(vyre_type type) {
    return vy_ptx_class_of(type) == VY_PTX_B64 ? "s64" : "s32";
}

/* Flips the bits and adds one if the sign is set: what abs gives for MIN is not said, and max(x, -x) is compiled wrongly for sm_100 by ptxas 12.8 to 13.3. */
static vy_ptx_value absolute(vy_ptx *e, vyre_type type, vy_ptx_value a) {
    if (vyre_type_class(type) == VYRE_CLASS_UNSIGNED)
        return a;
    a = vy_ptx_in_register(e, a);
    vy_ptx_value last = vy_ptx_literal(VYRE_TYPE_U32, vyre_type_bits(type) - 1);
    vy_ptx_value sign = two(e, "shr", signed_of(type), type, a, last);
    return two(e, "sub", signed_of(type), type, two(e, "xor", vy_ptx_bits(type), type, a, sign), sign);
}

/* -1 - x. `not` and `xor -1` are compiled wrongly by ptxas 13.0 and the driver of that time, for every architecture: where x is known from a condition that only ever goes
 * one way, ~x & y becomes x & y. `lop3` is compiled rightly, but may end the compiler (docs/ptx.md). */
static vy_ptx_value complement(vy_ptx *e, vyre_type type, vy_ptx_value a) {
    vyre_type number = vy_ptx_class_of(type) == VY_PTX_B64 ? VYRE_TYPE_I64 : VYRE_TYPE_I32;
    return two(e, "sub", signed_of(type), type, vy_ptx_literal(number, UINT64_MAX), a);
}

static int is_all_ones(vyre_type type, vy_ptx_value v) {
    return v.is_literal && v.bits == vy_type_layouts[type].mask;
}

static vy_ptx_value exclusive(vy_ptx *e, vyre_type type, vy_ptx_value a, vy_ptx_value b) {
    if (is_all_ones(type, b))
        return complement(e, type, a);
    return is_all_ones(type, a) ? complement(e, type, b) : two(e, "xor", vy_ptx_bits(type), type, a, b);
}

static vy_ptx_value trailing_zeros(vy_ptx *e, vyre_type type, vy_ptx_value a) {
    return counted(e, "clz", type, one(e, "brev", vy_ptx_bits(type), type, a));
}

static vy_ptx_value reverse_word(vy_ptx *e, vyre_type type, vy_ptx_value a) {
    vy_ptx_value d = vy_ptx_new(e, type);
    vy_ptx_permute(e, vy_ptx_literal(VYRE_TYPE_BOOL, 1), d, vy_ptx_in_register(e, a), vy_ptx_literal(VYRE_TYPE_U32, 0),
                   0x0123);
    return d;
}

static vy_ptx_value reverse_bytes(vy_ptx *e, vyre_type type, vy_ptx_value a) {
    if (vy_ptx_class_of(type) == VY_PTX_B32)
        return reverse_word(e, type, a);
    vy_ptx_value low = vy_ptx_new(e, VYRE_TYPE_U32), high = vy_ptx_new(e, VYRE_TYPE_U32), d;
    const char *whole = vy_ptx_register(e, a);
    vy_ptx_write(e, "mov.b64 {%s, %s}, %s", vy_ptx_name(e, low), vy_ptx_name(e, high), whole);
    low = reverse_word(e, VYRE_TYPE_U32, low);
    high = reverse_word(e, VYRE_TYPE_U32, high);
    d = vy_ptx_new(e, type);
    vy_ptx_write(e, "mov.b64 %s, {%s, %s}", vy_ptx_name(e, d), vy_ptx_name(e, high), vy_ptx_name(e, low));
    return d;
}

/* Amounts are of 32 bits, whatever is shifted. */
static vy_ptx_value amount(vy_ptx *e, vy_ptx_value b) {
    if (b.is_literal)
        return vy_ptx_literal(VYRE_TYPE_U32, b.bits);
    return vy_ptx_class_of((vyre_type)b.type) == VY_PTX_B64 ? one(e, "cvt.u32", "u64", VYRE_TYPE_U32, b)
                                                            : (b.type = VYRE_TYPE_U32, b);
}

static vy_ptx_value shift(vy_ptx *e, vyre_op op, vyre_type type, vy_ptx_value a, vy_ptx_value b) {
    return two(e, op == VYRE_OP_SHL ? "shl" : "shr", op == VYRE_OP_SHL ? vy_ptx_bits(type) : vy_ptx_type(type), type, a,
               amount(e, b));
}

/* 64 bits: one of the two halves is shifted by the whole width if the amount is 0, which gives 0. */
static vy_ptx_value rotate(vy_ptx *e, vyre_op op, vyre_type type, vy_ptx_value a, vy_ptx_value b) {
    int is_left = op == VYRE_OP_ROTL;
    a = vy_ptx_in_register(e, a);
    b = amount(e, b);
    if (vy_ptx_class_of(type) == VY_PTX_B32) {
        vy_ptx_value d = vy_ptx_new(e, type);
        VY_PTX_INSTRUCT(e, is_left ? "shf.l.wrap" : "shf.r.wrap", "b32", d, a, a, b);
        return d;
    }
    vy_ptx_value other = two(e, "sub", "u32", VYRE_TYPE_U32, vy_ptx_literal(VYRE_TYPE_U32, 64), b);
    vy_ptx_value there = two(e, is_left ? "shl" : "shr", is_left ? "b64" : "u64", type, a, b);
    vy_ptx_value back = two(e, is_left ? "shr" : "shl", is_left ? "u64" : "b64", type, a, other);
    return two(e, "or", "b64", type, there, back);
}

static uint64_t sign_bit(vyre_type type) {
    return UINT64_C(1) << (vyre_type_bits(type) - 1);
}

static vyre_type integer_of(vyre_type type) {
    return vyre_type_bits(type) == 64 ? VYRE_TYPE_U64 : VYRE_TYPE_U32;
}

/* Bits of a float that a mask lets through, as an integer. */
static vy_ptx_value masked(vy_ptx *e, vyre_type type, vy_ptx_value a, uint64_t mask) {
    vyre_type integer = integer_of(type);
    if (a.is_literal)
        a.type = (uint8_t)integer;
    return two(e, "and", vy_ptx_bits(type), integer, a, vy_ptx_literal(integer, mask));
}

static vy_ptx_value with_sign(vy_ptx *e, vyre_type type, vy_ptx_value a, vy_ptx_value b) {
    uint64_t sign = sign_bit(type);
    return two(e, "or", vy_ptx_bits(type), type, masked(e, type, a, sign - 1), masked(e, type, b, sign));
}

static vy_ptx_value test(vy_ptx *e, vyre_op op, vyre_type type, vy_ptx_value a) {
    const char *integer = vy_ptx_type(integer_of(type));
    if (op == VYRE_OP_IS_NAN) {
        a = vy_ptx_in_register(e, a);
        return two(e, "setp.nan", vy_ptx_type(type), VYRE_TYPE_BOOL, a, a);
    }
    if (op == VYRE_OP_SIGNBIT)
        return two(e, "setp.lt", signed_of(type), VYRE_TYPE_BOOL, a, vy_ptx_literal(integer_of(type), 0));
    vy_ptx_value size = masked(e, type, a, sign_bit(type) - 1);
    return two(e, op == VYRE_OP_IS_INF ? "setp.eq" : "setp.lt", integer, VYRE_TYPE_BOOL, size,
               vy_ptx_literal(integer_of(type), vy_type_layouts[type].infinity));
}

/* c ? a : b of predicates; equality of predicates. */
static vy_ptx_value select_bool(vy_ptx *e, vy_ptx_value c, vy_ptx_value a, vy_ptx_value b) {
    c = vy_ptx_in_register(e, c);
    vy_ptx_value yes = two(e, "and", "pred", VYRE_TYPE_BOOL, c, a);
    vy_ptx_value no = two(e, "and", "pred", VYRE_TYPE_BOOL, one(e, "not", "pred", VYRE_TYPE_BOOL, c), b);
    return two(e, "or", "pred", VYRE_TYPE_BOOL, yes, no);
}

static vy_ptx_value equal_bool(vy_ptx *e, vyre_op op, vy_ptx_value a, vy_ptx_value b) {
    vy_ptx_value differ = two(e, "xor", "pred", VYRE_TYPE_BOOL, a, b);
    return op == VYRE_OP_NE ? differ : one(e, "not", "pred", VYRE_TYPE_BOOL, differ);
}

/* A literal of a float is moved as bits. */
static vy_ptx_value as_bits(vy_ptx *e, vy_ptx_value v) {
    if (v.is_literal && vy_ptx_class_of((vyre_type)v.type) == VY_PTX_B16)
        return vy_ptx_in_register(e, v);
    if (v.is_literal && is_float((vyre_type)v.type))
        v.type = (uint8_t)integer_of((vyre_type)v.type);
    return v;
}

static vy_ptx_value choose(vy_ptx *e, vyre_type type, const vy_ptx_value *args) {
    if (type == VYRE_TYPE_BOOL)
        return select_bool(e, args[0], args[1], args[2]);
    vy_ptx_value yes = as_bits(e, args[1]), no = as_bits(e, args[2]), d = vy_ptx_new(e, type);
    VY_PTX_INSTRUCT(e, "selp", vy_ptx_bits(type), d, yes, no, vy_ptx_in_register(e, args[0]));
    return d;
}

/* The smaller of the smaller of a and -b, and c, is one instruction on sm_90 and sm_100, and ptxas 13.0 forgets the minus sign if it stands in the second place (docs/ptx.md):
 * so it stands in the first, or a comparison chooses. */
static vy_ptx_value extreme(vy_ptx *e, vyre_op op, vyre_type type, vy_ptx_value a, vy_ptx_value b) {
    const char *name = op == VYRE_OP_MIN ? "min" : "max";
    int may_a = a.is_opposite || a.is_variable, may_b = b.is_opposite || b.is_variable;
    if (!may_b)
        return two(e, name, vy_ptx_type(type), type, a, b);
    if (!may_a)
        return two(e, name, vy_ptx_type(type), type, b, a);
    vy_ptx_value p = vy_ptx_new(e, VYRE_TYPE_BOOL);
    VY_PTX_INSTRUCT(e, op == VYRE_OP_MIN ? "setp.lt" : "setp.gt", vy_ptx_type(type), p, a, b);
    return choose(e, type, (const vy_ptx_value[]){p, a, b});
}

/* The larger of x and -0: x, unless it has a sign or is no number. Of that, and the smaller of it and 1, ptxas makes a sum that saturates, and -0 becomes 0. */
static vy_ptx_value not_below(vy_ptx *e, vy_ptx_value x, vy_ptx_value negative_zero) {
    vy_ptx_value p = vy_ptx_new(e, VYRE_TYPE_BOOL);
    x = vy_ptx_in_register(e, x);
    vy_ptx_write(e, "setp.le.u32 %s, %s, 0x7f800000", vy_ptx_name(e, p), vy_ptx_name(e, x));
    return choose(e, VYRE_TYPE_F32, (const vy_ptx_value[]){p, x, negative_zero});
}

/* Of mul.hi.u32, made a u64, minus x ptxas makes a product with a sum (IMAD.HI), and forgets to carry where the lower half of x is 0. It takes the upper half of a product of 64 bits for nothing of the kind. */
static vy_ptx_value upper_half(vy_ptx *e, vy_ptx_value a, vy_ptx_value b) {
    vy_ptx_value all = two(e, "mul.wide", "u32", VYRE_TYPE_U64, a, b), upper = vy_ptx_new(e, VYRE_TYPE_U64);
    vy_ptx_write(e, "shr.u64 %s, %s, 32", vy_ptx_name(e, upper), vy_ptx_name(e, all));
    return vy_ptx_cast(e, VYRE_TYPE_U32, upper);
}

static int is_negative_zero(vy_ptx_value v) {
    return v.is_literal && is_float((vyre_type)v.type) && v.bits == sign_bit((vyre_type)v.type);
}

/* Not NaN, and not -0. */
static int is_number(vy_ptx_value v) {
    vyre_type type = (vyre_type)v.type;
    return v.is_literal && (v.bits & (sign_bit(type) - 1)) <= vy_type_layouts[type].infinity && !is_negative_zero(v);
}

static int is_one(vy_ptx_value v) {
    return v.is_literal && v.bits == (v.type == VYRE_TYPE_F64 ? 0x3ff0000000000000 : 0x3f800000);
}

/* 0 or more. */
static int is_above(vy_ptx_value v) {
    return v.is_above || (is_number(v) && v.bits < sign_bit((vyre_type)v.type));
}

/* Whether ptxas does right whatever becomes of the smaller or larger of two: it has one number that we know, and is not the beginning of a saturation that would make 0 of NaN, not 1. */
static int is_harmless(vyre_op op, vy_ptx_value a, vy_ptx_value b) {
    int may_saturate = op == VYRE_OP_MIN && ((is_one(a) && !is_above(b)) || (is_one(b) && !is_above(a)));
    return (is_number(a) || is_number(b)) && !may_saturate;
}

/* Of the smaller, the larger and abs, one behind the other, ptxas makes what is right for numbers alone, and for -0 not always (docs/ptx.md). A zero that it does not know for one stands between them. */
static vy_ptx_value bound(vy_ptx *e, vyre_op op, vyre_type type, vy_ptx_value a, vy_ptx_value b) {
    vy_ptx_value d = two(e, rows[op].real.name, vy_ptx_type(type), type, a, b);
    if (!is_harmless(op, a, b))
        return two(e, "or", vy_ptx_bits(type), type, d, vy_ptx_cast(e, integer_of(type), vy_ptx_zero(e)));
    d.is_above = op == VYRE_OP_MAX && (is_above(a) || is_above(b));
    return d;
}

/* Of abs ptxas believes that it is 0 or more, also where it is NaN, which no comparison holds for. Of bits it knows no such thing. */
static vy_ptx_value without_sign(vy_ptx *e, vy_ptx_value a) {
    vy_ptx_value d = masked(e, VYRE_TYPE_F32, a, INT32_MAX);
    return d.type = VYRE_TYPE_F32, d;
}

/* Of numbers that it finds out the driver's compiler makes the sum itself, and rounds it wrongly if their signs differ and it lies half-way between two floats (docs/ptx.md). A product with 1 or -1
 * and its sum it leaves to the device, which takes no longer. */
static vy_ptx_value sum(vy_ptx *e, vyre_op op, vy_ptx_value a, vy_ptx_value b) {
    vy_ptx_value factor = op == VYRE_OP_ADD ? a : b, other = op == VYRE_OP_ADD ? b : a;
    const char *product = vy_ptx_register(e, factor);
    vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_F32);
    vy_ptx_write(e, "fma.rn.f32 %s, %s, %s, %s", vy_ptx_name(e, d), product,
                 op == VYRE_OP_ADD ? "0f3F800000" : "0fBF800000", vy_ptx_name(e, other));
    return d;
}

/* What the driver's compiler compiles wrongly as it is written in the table. */
static int instead(vy_ptx *e, vyre_op op, vyre_type operand, const vy_ptx_value *args, vy_ptx_value *out) {
    int is_extreme = op == VYRE_OP_MIN || op == VYRE_OP_MAX;
    if (is_extreme && (operand == VYRE_TYPE_I32 || operand == VYRE_TYPE_U32))
        *out = extreme(e, op, operand, args[0], args[1]);
    else if (op == VYRE_OP_ABS && operand == VYRE_TYPE_F32 && e->has_orders)
        *out = without_sign(e, args[0]);
    else if ((op == VYRE_OP_ADD || op == VYRE_OP_SUB) && operand == VYRE_TYPE_F32 && !args[0].is_given &&
             !args[1].is_given)
        *out = sum(e, op, args[0], args[1]);
    else if (op == VYRE_OP_MUL_HIGH && operand == VYRE_TYPE_U32 && e->has_differences)
        *out = upper_half(e, args[0], args[1]);
    else if (op == VYRE_OP_MAX && operand == VYRE_TYPE_F32 && is_negative_zero(args[1]))
        *out = not_below(e, args[0], args[1]);
    else if (op == VYRE_OP_MAX && operand == VYRE_TYPE_F32 && is_negative_zero(args[0]))
        *out = not_below(e, args[1], args[0]);
    else if (is_extreme && is_float(operand) && e->has_signs)
        *out = bound(e, op, operand, args[0], args[1]);
    else
        return 0;
    return 1;
}

/* ---- any row ---- */

static int special(vy_ptx *e, const vy_expr *x, vyre_type operand, const vy_ptx_value *args, vy_ptx_value *out) {
    vyre_op op = (vyre_op)x->op;
    vyre_type result = (vyre_type)x->type;
    switch (op) {
    case VYRE_OP_NEG:
        *out = one(e, "neg", signed_of(operand), result, args[0]);
        return 1;
    case VYRE_OP_NOT:
        *out = complement(e, operand, args[0]);
        return 1;
    case VYRE_OP_XOR:
        *out = exclusive(e, operand, args[0], args[1]);
        return 1;
    case VYRE_OP_ABS:
        *out = absolute(e, operand, args[0]);
        return 1;
    case VYRE_OP_CTZ:
        *out = trailing_zeros(e, operand, args[0]);
        return 1;
    case VYRE_OP_REVERSE_BYTES:
        *out = reverse_bytes(e, operand, args[0]);
        return 1;
    case VYRE_OP_SHL:
    case VYRE_OP_SHR:
        *out = shift(e, op, operand, args[0], args[1]);
        return 1;
    case VYRE_OP_ROTL:
    case VYRE_OP_ROTR:
        *out = rotate(e, op, operand, args[0], args[1]);
        return 1;
    case VYRE_OP_COPYSIGN:
        *out = with_sign(e, operand, args[0], args[1]);
        return 1;
    case VYRE_OP_IS_NAN:
    case VYRE_OP_IS_INF:
    case VYRE_OP_IS_FINITE:
    case VYRE_OP_SIGNBIT:
        *out = test(e, op, operand, args[0]);
        return 1;
    default:
        return 0;
    }
}

/* What is done with types that are held in another width is what moves them; f16 and bf16 have what the profile says (vy_ptx_exact). */
static int is_native(vyre_op op, vyre_type type) {
    if (type == VYRE_TYPE_F16)
        return op == VYRE_OP_ADD || op == VYRE_OP_SUB || op == VYRE_OP_MUL || op == VYRE_OP_FMA;
    if (type == VYRE_TYPE_BF16)
        return op == VYRE_OP_FMA;
    return type == VYRE_TYPE_BOOL || vyre_type_bits(type) >= 32;
}

static vy_ptx_value make(vy_ptx *e, const vy_expr *x, vyre_type operand, const vy_ptx_value *args) {
    vyre_op op = (vyre_op)x->op;
    const way *w = is_float(operand) ? &rows[op].real : &rows[op].integer;
    vy_ptx_value out = vy_ptx_literal((vyre_type)x->type, 0);
    if (op == VYRE_OP_CAST)
        return vy_ptx_cast(e, (vyre_type)x->type, args[0]);
    if (op == VYRE_OP_BITCAST)
        return vy_ptx_bitcast(e, (vyre_type)x->type, args[0]);
    if (op == VYRE_OP_SELECT)
        return choose(e, operand, args);
    if (operand == VYRE_TYPE_BOOL && (op == VYRE_OP_EQ || op == VYRE_OP_NE))
        return equal_bool(e, op, args[0], args[1]);
    if (is_native(op, operand)) {
        if (is_half(operand))
            vy_ptx_need(e, operand == VYRE_TYPE_F16 ? 60 : 70, operand == VYRE_TYPE_F16 ? 60 : 80);
        if (instead(e, op, operand, args, &out))
            return out;
        if (w->form != NONE)
            out = by_row(e, w, vyre_op_get(op)->arity, (vyre_type)x->type, operand, args);
        if (w->form != NONE || special(e, x, operand, args, &out)) {
            out.is_opposite = op == VYRE_OP_NEG || op == VYRE_OP_SUB || op == VYRE_OP_MUL;
            return out;
        }
    }
    vy_ptx_refuse(e, vyre_op_get(op)->name);
    return out;
}

/* Whether what is made of something that only the run knows is such a thing: not where an operand may decide alone, as the larger of anything and infinity. */
static int keeps_given(const vy_expr *x, vyre_type operand) {
    static const uint8_t keeps[VYRE_OP_COUNT] = {
        [VYRE_OP_ADD] = 1, [VYRE_OP_SUB] = 1, [VYRE_OP_MUL] = 1,  [VYRE_OP_FMA] = 1,
        [VYRE_OP_DIV] = 1, [VYRE_OP_NEG] = 1, [VYRE_OP_SQRT] = 1, [VYRE_OP_ABS] = 1,
    };
    return x->op == VYRE_OP_CAST || x->op == VYRE_OP_BITCAST || (is_float(operand) && keeps[x->op]);
}

vy_ptx_value vy_ptx_op(vy_ptx *e, const vy_expr *x, vyre_type operand, const vy_ptx_value *args) {
    vy_ptx_value out = make(e, x, operand, args);
    out.is_given = keeps_given(x, operand) && (args[0].is_given || args[1].is_given || args[2].is_given);
    int may_be_part = args[0].part && !out.is_literal && !is_float(operand) && vyre_type_bits(operand) == 32;
    return may_be_part ? vy_ptx_combined(e, x, args, out) : out;
}
