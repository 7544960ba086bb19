/* Expressions, ops of the op table and conversions (casts), as PTX instructions. */
#include "emit/ptx/emitter.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- ops ----
 *
 * Legalisation has replaced operations that the ISA does not compute exactly, zero divisors, shift amounts beyond the
 * width, and NaN operands whose result can be observed. Float arithmetic states its rounding, so that nothing is
 * contracted, and never .ftz, so that subnormals are kept.
 *
 * From the PTX ISA: min and max of floats return the other operand for a NaN, and +0 > -0; the results of clz and popc
 * are u32 for every operand type; shl and shr return 0 (or the sign) for amounts of the width and more. */

typedef enum form {
    REPLACED_FORM, /* legalisation replaces the op, or it does not accept the class */
    TYPED_FORM,    /* an instruction of as many operands as the op has, by type */
    BITS_FORM,     /* … by size */
    COMPARE_FORM,  /* setp */
    ROUND_FORM,    /* cvt from a float type to itself */
    COUNT_FORM,    /* yields a u32 */
    FUNCTION_FORM,
    MOVE_FORM /* a function, for types that are held in another width, too */
} form;

/* The code of an op that is not one instruction. */
typedef vy_ptx_value op_function(vy_ptx *e, const vy_expr *x, vyre_type type, const vy_ptx_value *args);

/* A cell of the table. */
typedef struct cell {
    uint8_t form;
    char name[8]; /* at most 8 letters, packed */
    op_function *function;
} cell;

/* By class of the operand. */
typedef struct row {
    cell integer, real;
} row;

/* An f64 literal whose lower half is not 0, in a register. Instructions of the device have immediates of 32 bits, so
 * ptxas would load such a literal with two moves before each use. From the constant bank it needs one load
 * instruction, executed once before a loop. For a loop that rarely runs (control.c) that would be a loss, since ptxas
 * executes the load at the start of the kernel. Returns the literal itself there, and if the pool is full. */
static vy_ptx_value pooled(vy_ptx *e, vy_ptx_value v) {
    uint32_t i = 0;
    while (i < e->number_count && e->numbers[i] != v.bits)
        i++;
    if (i == VY_PTX_NUMBERS || (i < e->repeated_numbers && e->loops.count > e->loops_outside))
        return v;
    e->numbers[i] = v.bits;
    e->number_count += i == e->number_count;
    vy_ptx_value d = vy_ptx_new(e, VYRE_TYPE_F64);
    vy_ptx_write(e, "ld.const.b64 %s, [numbers+%" PRIu32 "]", vy_ptx_name(e, d), 8 * i);
    return d;
}

/* 16-bit registers and predicates have no immediates, and at least one operand is a register. */
static vy_ptx_value operand_of(vy_ptx *e, vy_ptx_value v, int may_be_literal) {
    if (v.is_literal && v.type == VYRE_TYPE_F64 && (uint32_t)v.bits)
        v = pooled(e, v);
    return may_be_literal && vy_ptx_class_of((vyre_type)v.type) > VY_PTX_B16 ? v : vy_ptx_in_register(e, v);
}

/* One line: d = instruction(a, b, c). */
static void line(vy_ptx *e, unsigned arity, uint64_t name, const char *suffix, vy_ptx_value d,
                 const vy_ptx_value *args) {
    vy_ptx_value a = operand_of(e, args[0], arity == 2 && !args[1].is_literal);
    vy_ptx_value b = arity > 1 ? operand_of(e, args[1], arity == 2) : a;
    vy_ptx_value c = arity > 2 ? operand_of(e, args[2], 0) : a;
    vy_ptx_instruct(e, name, suffix, (const vy_ptx_value[]){d, a, b, c}, 1 + arity);
}

static vy_ptx_value one_by(vy_ptx *e, uint64_t name, const char *suffix, vyre_type type, vy_ptx_value a) {
    vy_ptx_value d = vy_ptx_new(e, type);
    line(e, 1, name, suffix, d, &a);
    return d;
}

static inline vy_ptx_value one(vy_ptx *e, const char *name, const char *suffix, vyre_type type, vy_ptx_value a) {
    return one_by(e, vy_pack_text(name), suffix, type, a);
}

vy_ptx_value vy_ptx_two_by(vy_ptx *e, uint64_t name, const char *suffix, vyre_type type, vy_ptx_value a,
                           vy_ptx_value b) {
    vy_ptx_value d = vy_ptx_new(e, type);
    line(e, 2, name, suffix, d, (vy_ptx_value[]){a, b});
    return d;
}

/* The u32 result of a count, in the width of its operand. */
static vy_ptx_value counted(vy_ptx *e, uint64_t name, vyre_type type, vy_ptx_value a) {
    vy_ptx_value count = one_by(e, name, vy_ptx_bits(type), VYRE_TYPE_U32, a);
    return vy_ptx_class_of(type) == VY_PTX_B64 ? one(e, "cvt.u64", "u32", type, count)
                                               : (count.type = (uint8_t)type, count);
}

static vy_ptx_value instruction(vy_ptx *e, const cell *c, const vy_expr *x, vyre_type operand,
                                const vy_ptx_value *args) {
    const char *suffix = c->form == BITS_FORM ? vy_ptx_bits(operand) : vy_ptx_type(operand);
    uint64_t name;
    memcpy(&name, c->name, sizeof name);
    if (c->form == COUNT_FORM)
        return counted(e, name, operand, args[0]);
    vy_ptx_value d = vy_ptx_new(e, (vyre_type)x->type);
    if (c->form == COMPARE_FORM)
        vy_ptx_instruct(e, name, suffix, (const vy_ptx_value[]){d, vy_ptx_in_register(e, args[0]), args[1]}, 3);
    else if (c->form == ROUND_FORM)
        vy_ptx_write(e, "cvt.%s.%s.%s %s, %s", c->name, suffix, suffix, vy_ptx_name(e, d), vy_ptx_register(e, args[0]));
    else
        line(e, vy_expr_arity(x), name, suffix, d, args);
    return d;
}

/* ---- ops that are more than one instruction ---- */

static const char *signed_of(vyre_type type) {
    return vy_ptx_class_of(type) == VY_PTX_B64 ? "s64" : "s32";
}

/* Flips the bits and adds one if the sign is set, because the PTX ISA does not define abs of MIN, and ptxas 12.8 to
 * 13.3 miscompile max(x, -x) for sm_100 (E15, docs/internals/ptx.md). */
static vy_ptx_value op_abs(vy_ptx *e, const vy_expr *x, vyre_type type, const vy_ptx_value *args) {
    (void)x;
    if (vyre_type_class(type) == VYRE_CLASS_UNSIGNED)
        return args[0];
    vy_ptx_value a = vy_ptx_in_register(e, args[0]);
    vy_ptx_value last = vy_ptx_literal(VYRE_TYPE_U32, vyre_type_bits(type) - 1);
    vy_ptx_value sign = vy_ptx_two(e, "shr", signed_of(type), type, a, last);
    return vy_ptx_two(e, "sub", signed_of(type), type, vy_ptx_two(e, "xor", vy_ptx_bits(type), type, a, sign), sign);
}

/* -1 - x. ptxas 13.0 and drivers of that time miscompile `not` and `xor -1` for every architecture: if a condition
 * that always has the same outcome determines x, ~x & y becomes x & y. `lop3` is compiled correctly, but may crash the
 * compiler (E1 and E2, docs/internals/ptx.md). */
static vy_ptx_value complement(vy_ptx *e, vyre_type type, vy_ptx_value a) {
    vyre_type number = vy_ptx_class_of(type) == VY_PTX_B64 ? VYRE_TYPE_I64 : VYRE_TYPE_I32;
    return vy_ptx_two(e, "sub", signed_of(type), type, vy_ptx_literal(number, UINT64_MAX), a);
}

static vy_ptx_value op_neg(vy_ptx *e, const vy_expr *x, vyre_type type, const vy_ptx_value *args) {
    return one(e, "neg", signed_of(type), (vyre_type)x->type, args[0]);
}

static vy_ptx_value op_not(vy_ptx *e, const vy_expr *x, vyre_type type, const vy_ptx_value *args) {
    (void)x;
    return complement(e, type, args[0]);
}

static int is_all_ones(vyre_type type, vy_ptx_value v) {
    return v.is_literal && v.bits == vy_type_layouts[type].mask;
}

static vy_ptx_value op_xor(vy_ptx *e, const vy_expr *x, vyre_type type, const vy_ptx_value *args) {
    (void)x;
    if (is_all_ones(type, args[1]))
        return complement(e, type, args[0]);
    return is_all_ones(type, args[0]) ? complement(e, type, args[1])
                                      : vy_ptx_two(e, "xor", vy_ptx_bits(type), type, args[0], args[1]);
}

static vy_ptx_value op_ctz(vy_ptx *e, const vy_expr *x, vyre_type type, const vy_ptx_value *args) {
    (void)x;
    return counted(e, vy_pack_text("clz"), type, one(e, "brev", vy_ptx_bits(type), type, args[0]));
}

static vy_ptx_value reverse_word(vy_ptx *e, vyre_type type, vy_ptx_value a) {
    vy_ptx_value d = vy_ptx_new(e, type);
    vy_ptx_permute(e, vy_ptx_literal(VYRE_TYPE_BOOL, 1), d, vy_ptx_in_register(e, a), vy_ptx_literal(VYRE_TYPE_U32, 0),
                   0x0123);
    return d;
}

static vy_ptx_value op_reverse_bytes(vy_ptx *e, const vy_expr *x, vyre_type type, const vy_ptx_value *args) {
    (void)x;
    if (vy_ptx_class_of(type) == VY_PTX_B32)
        return reverse_word(e, type, args[0]);
    vy_ptx_value low = vy_ptx_new(e, VYRE_TYPE_U32), high = vy_ptx_new(e, VYRE_TYPE_U32), d;
    const char *whole = vy_ptx_register(e, args[0]);
    vy_ptx_write(e, "mov.b64 {%s, %s}, %s", vy_ptx_name(e, low), vy_ptx_name(e, high), whole);
    low = reverse_word(e, VYRE_TYPE_U32, low);
    high = reverse_word(e, VYRE_TYPE_U32, high);
    d = vy_ptx_new(e, type);
    vy_ptx_write(e, "mov.b64 %s, {%s, %s}", vy_ptx_name(e, d), vy_ptx_name(e, high), vy_ptx_name(e, low));
    return d;
}

/* Shift amounts have 32 bits, whatever the type of the shifted value. */
static vy_ptx_value amount(vy_ptx *e, vy_ptx_value b) {
    if (b.is_literal)
        return vy_ptx_literal(VYRE_TYPE_U32, b.bits);
    return vy_ptx_class_of((vyre_type)b.type) == VY_PTX_B64 ? one(e, "cvt.u32", "u64", VYRE_TYPE_U32, b)
                                                            : (b.type = VYRE_TYPE_U32, b);
}

static vy_ptx_value op_shift(vy_ptx *e, const vy_expr *x, vyre_type type, const vy_ptx_value *args) {
    int is_left = x->op == VYRE_OP_SHL;
    return vy_ptx_two(e, is_left ? "shl" : "shr", is_left ? vy_ptx_bits(type) : vy_ptx_type(type), type, args[0],
                      amount(e, args[1]));
}

/* 64 bits: for amount 0 one of the two halves is shifted by the whole width, which results in 0. */
static vy_ptx_value op_rotate(vy_ptx *e, const vy_expr *x, vyre_type type, const vy_ptx_value *args) {
    int is_left = x->op == VYRE_OP_ROTL;
    vy_ptx_value a = vy_ptx_in_register(e, args[0]), b = amount(e, args[1]);
    if (vy_ptx_class_of(type) == VY_PTX_B32) {
        vy_ptx_value d = vy_ptx_new(e, type);
        char *at = vy_write_text(vy_ptx_line(e), is_left ? "shf.l.wrap.b32" : "shf.r.wrap.b32");
        vy_ptx_end_with(e, at, (const vy_ptx_value[]){d, a, a, b}, 4);
        return d;
    }
    vy_ptx_value other = vy_ptx_two(e, "sub", "u32", VYRE_TYPE_U32, vy_ptx_literal(VYRE_TYPE_U32, 64), b);
    vy_ptx_value there = vy_ptx_two(e, is_left ? "shl" : "shr", is_left ? "b64" : "u64", type, a, b);
    vy_ptx_value back = vy_ptx_two(e, is_left ? "shr" : "shl", is_left ? "u64" : "b64", type, a, other);
    return vy_ptx_two(e, "or", "b64", type, there, back);
}

/* The bits of a float that a mask selects, as an integer. */
vy_ptx_value vy_ptx_masked(vy_ptx *e, vyre_type type, vy_ptx_value a, uint64_t mask) {
    vyre_type integer = vy_ptx_integer_of(type);
    if (a.is_literal)
        a.type = (uint8_t)integer;
    return vy_ptx_two(e, "and", vy_ptx_bits(type), integer, a, vy_ptx_literal(integer, mask));
}

static vy_ptx_value op_copysign(vy_ptx *e, const vy_expr *x, vyre_type type, const vy_ptx_value *args) {
    uint64_t sign = vy_ptx_sign_bit(type);
    (void)x;
    return vy_ptx_two(e, "or", vy_ptx_bits(type), type, vy_ptx_masked(e, type, args[0], sign - 1),
                      vy_ptx_masked(e, type, args[1], sign));
}

static vy_ptx_value op_test(vy_ptx *e, const vy_expr *x, vyre_type type, const vy_ptx_value *args) {
    const char *integer = vy_ptx_type(vy_ptx_integer_of(type));
    vyre_op op = (vyre_op)x->op;
    vy_ptx_value a = args[0];
    if (op == VYRE_OP_IS_NAN) {
        a = vy_ptx_in_register(e, a);
        return vy_ptx_two(e, "setp.nan", vy_ptx_type(type), VYRE_TYPE_BOOL, a, a);
    }
    if (op == VYRE_OP_SIGNBIT)
        return vy_ptx_two(e, "setp.lt", signed_of(type), VYRE_TYPE_BOOL, a, vy_ptx_literal(vy_ptx_integer_of(type), 0));
    vy_ptx_value size = vy_ptx_masked(e, type, a, vy_ptx_sign_bit(type) - 1);
    return vy_ptx_two(e, op == VYRE_OP_IS_INF ? "setp.eq" : "setp.lt", integer, VYRE_TYPE_BOOL, size,
                      vy_ptx_literal(vy_ptx_integer_of(type), vy_type_layouts[type].infinity));
}

/* c ? a : b of predicates; equality of predicates. */
static vy_ptx_value select_bool(vy_ptx *e, vy_ptx_value c, vy_ptx_value a, vy_ptx_value b) {
    c = vy_ptx_in_register(e, c);
    vy_ptx_value yes = vy_ptx_two(e, "and", "pred", VYRE_TYPE_BOOL, c, a);
    vy_ptx_value no = vy_ptx_two(e, "and", "pred", VYRE_TYPE_BOOL, one(e, "not", "pred", VYRE_TYPE_BOOL, c), b);
    return vy_ptx_two(e, "or", "pred", VYRE_TYPE_BOOL, yes, no);
}

static vy_ptx_value equal_bool(vy_ptx *e, vyre_op op, vy_ptx_value a, vy_ptx_value b) {
    vy_ptx_value differ = vy_ptx_two(e, "xor", "pred", VYRE_TYPE_BOOL, a, b);
    return op == VYRE_OP_NE ? differ : one(e, "not", "pred", VYRE_TYPE_BOOL, differ);
}

/* A literal of a float is moved as bits. */
static vy_ptx_value as_bits(vy_ptx *e, vy_ptx_value v) {
    if (v.is_literal && vy_ptx_class_of((vyre_type)v.type) == VY_PTX_B16)
        return vy_ptx_in_register(e, v);
    if (v.is_literal && vy_ptx_is_float((vyre_type)v.type))
        v.type = (uint8_t)vy_ptx_integer_of((vyre_type)v.type);
    return v;
}

vy_ptx_value vy_ptx_choose(vy_ptx *e, vyre_type type, const vy_ptx_value *args) {
    if (type == VYRE_TYPE_BOOL)
        return select_bool(e, args[0], args[1], args[2]);
    vy_ptx_value yes = as_bits(e, args[1]), no = as_bits(e, args[2]), d = vy_ptx_new(e, type);
    VY_PTX_INSTRUCT(e, "selp", vy_ptx_bits(type), d, yes, no, vy_ptx_in_register(e, args[0]));
    return d;
}

static vy_ptx_value op_select(vy_ptx *e, const vy_expr *x, vyre_type type, const vy_ptx_value *args) {
    (void)x;
    return vy_ptx_selection(e, type, args);
}

static vy_ptx_value op_cast(vy_ptx *e, const vy_expr *x, vyre_type type, const vy_ptx_value *args) {
    (void)type;
    return vy_ptx_cast(e, (vyre_type)x->type, args[0]);
}

static vy_ptx_value op_bitcast(vy_ptx *e, const vy_expr *x, vyre_type type, const vy_ptx_value *args) {
    (void)type;
    return vy_ptx_bitcast(e, (vyre_type)x->type, vy_ptx_normalize_bool(e, (vyre_type)x->type, args[0]));
}

/* ---- the table ---- */

/* clang-format off */
#define REPLACED {REPLACED_FORM, "", NULL}
#define TYPED(name) {TYPED_FORM, name, NULL}
#define BITS(name) {BITS_FORM, name, NULL}
#define COMPARE(name) {COMPARE_FORM, "setp." name, NULL}
#define ROUND(name) {ROUND_FORM, name, NULL}
#define COUNT(name) {COUNT_FORM, name, NULL}
#define FUNCTION(name) {FUNCTION_FORM, "", op_##name}
#define MOVE(name) {{MOVE_FORM, "", op_##name}, {MOVE_FORM, "", op_##name}}

/* One row for each op of VYRE_OP_LIST: a row that is missing does not compile. */
#define ROW_NEG {FUNCTION(neg), TYPED("neg")}
#define ROW_NOT {FUNCTION(not), REPLACED}
#define ROW_LNOT {BITS("not"), REPLACED}
#define ROW_ABS {FUNCTION(abs), TYPED("abs")}
#define ROW_POPCOUNT {COUNT("popc"), REPLACED}
#define ROW_CLZ {COUNT("clz"), REPLACED}
#define ROW_CTZ {FUNCTION(ctz), REPLACED}
#define ROW_REVERSE_BITS {BITS("brev"), REPLACED}
#define ROW_REVERSE_BYTES {FUNCTION(reverse_bytes), REPLACED}
#define ROW_SQRT {REPLACED, TYPED("sqrt.rn")}
#define ROW_FLOOR {REPLACED, ROUND("rmi")}
#define ROW_CEIL {REPLACED, ROUND("rpi")}
#define ROW_TRUNC {REPLACED, ROUND("rzi")}
#define ROW_ROUND {REPLACED, ROUND("rni")}
#define ROW_IS_NAN {REPLACED, FUNCTION(test)}
#define ROW_IS_INF {REPLACED, FUNCTION(test)}
#define ROW_IS_FINITE {REPLACED, FUNCTION(test)}
#define ROW_SIGNBIT {REPLACED, FUNCTION(test)}
#define ROW_ADD {TYPED("add"), TYPED("add.rn")}
#define ROW_SUB {TYPED("sub"), TYPED("sub.rn")}
#define ROW_MUL {TYPED("mul.lo"), TYPED("mul.rn")}
#define ROW_MUL_HIGH {TYPED("mul.hi"), REPLACED}
#define ROW_DIV {TYPED("div"), TYPED("div.rn")}
#define ROW_REM {TYPED("rem"), REPLACED}
#define ROW_REMAINDER {REPLACED, REPLACED}
#define ROW_AND {BITS("and"), REPLACED}
#define ROW_OR {BITS("or"), REPLACED}
#define ROW_XOR {FUNCTION(xor), REPLACED}
#define ROW_LAND {BITS("and"), REPLACED}
#define ROW_LOR {BITS("or"), REPLACED}
#define ROW_SHL {FUNCTION(shift), REPLACED}
#define ROW_SHR {FUNCTION(shift), REPLACED}
#define ROW_ROTL {FUNCTION(rotate), REPLACED}
#define ROW_ROTR {FUNCTION(rotate), REPLACED}
#define ROW_MIN {TYPED("min"), TYPED("min")}
#define ROW_MAX {TYPED("max"), TYPED("max")}
#define ROW_COPYSIGN {REPLACED, FUNCTION(copysign)}
#define ROW_EQ {COMPARE("eq"), COMPARE("eq")}
#define ROW_NE {COMPARE("ne"), COMPARE("neu")}
#define ROW_LT {COMPARE("lt"), COMPARE("lt")}
#define ROW_LE {COMPARE("le"), COMPARE("le")}
#define ROW_GT {COMPARE("gt"), COMPARE("gt")}
#define ROW_GE {COMPARE("ge"), COMPARE("ge")}
#define ROW_SELECT MOVE(select)
#define ROW_FMA {REPLACED, TYPED("fma.rn")}
#define ROW_CAST MOVE(cast)
#define ROW_BITCAST MOVE(bitcast)
#define ROW_APPROX_DIV {REPLACED, TYPED("div.rn")}
#define ROW_APPROX_SQRT {REPLACED, TYPED("sqrt.rn")}
#define X(ID, ...) [VYRE_OP_##ID] = ROW_##ID,
static const row rows[VYRE_OP_COUNT] = {VYRE_OP_LIST(X)};
#undef X
/* clang-format on */

/* Types that are held in another width support only moves; f16 and bf16 support the ops of the profile
 * (compile/target/target.c). */
static int is_native(vyre_op op, vyre_type type) {
    if (type == VYRE_TYPE_F16)
        return op == VYRE_OP_ADD || op == VYRE_OP_SUB || op == VYRE_OP_MUL || op == VYRE_OP_FMA;
    if (type == VYRE_TYPE_BF16)
        return op == VYRE_OP_FMA;
    return type == VYRE_TYPE_BOOL || vy_type_layouts[type].bits >= 32;
}

static vy_ptx_value make(vy_ptx *e, const vy_expr *x, vyre_type operand, const vy_ptx_value *args) {
    vyre_op op = (vyre_op)x->op;
    const cell *c = vy_ptx_is_float(operand) ? &rows[op].real : &rows[op].integer;
    vy_ptx_value out = vy_ptx_literal((vyre_type)x->type, 0);
    if (c->form == MOVE_FORM)
        return c->function(e, x, operand, args);
    if (operand == VYRE_TYPE_BOOL && (op == VYRE_OP_EQ || op == VYRE_OP_NE))
        return equal_bool(e, op, args[0], args[1]);
    if (is_native(op, operand)) {
        if (vy_ptx_is_half(operand))
            vy_ptx_need(e, operand == VYRE_TYPE_F16 ? 60 : 70, operand == VYRE_TYPE_F16 ? 60 : 80);
        if (vy_ptx_has_errata[op] && vy_ptx_errata_replace(e, op, operand, args, &out))
            return out;
        if (c->form != REPLACED_FORM)
            return c->form == FUNCTION_FORM ? c->function(e, x, operand, args) : instruction(e, c, x, operand, args);
    }
    vy_ptx_refuse(e, vyre_op_get(op)->name);
    return out;
}

vy_ptx_value vy_ptx_op(vy_ptx *e, const vy_expr *x, vyre_type operand, const vy_ptx_value *args) {
    vy_ptx_value out = make(e, x, operand, args);
    if (e->has_extremes)
        out.maybe_negated = !out.is_literal && vy_ptx_may_be_negated(x, operand, args);
    if (e->has_flags)
        out.maybe_bool = !out.is_literal && vy_ptx_may_be_bool(x, args);
    out.is_opaque = vy_ptx_is_float(operand) && vy_ptx_keeps_opaque((vyre_op)x->op) &&
                    (args[0].is_opaque || args[1].is_opaque || args[2].is_opaque);
    int may_be_part =
        args[0].part && !out.is_literal && !vy_ptx_is_float(operand) && vy_type_layouts[operand].bits == 32;
    return may_be_part ? vy_ptx_track_subword(e, x, args, out) : out;
}

/* ---- conversions ----
 *
 * From the PTX ISA (cvt): float to integer saturates; a NaN becomes 0 if neither side has 64 bits, else another
 * value. */

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

/* The low bits of a 32-bit register, as the held form of a narrow integer. */
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

/* A bf16 is the upper half of an f32; rounding to it requires sm_80. */
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

/* Between 16-bit types in 32-bit registers and those in 16-bit registers this is a move; otherwise the register is
 * reused. */
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

/* Variables and expressions as PTX registers and instructions. */
/* ---- variables ---- */

static vy_ptx_value given(vy_ptx_value v) {
    return v.is_opaque = 1, v;
}

static vy_ptx_value without_part(vy_ptx_value v) {
    return v.part = 0, v;
}

/* After a label, a variable may have another value. A param is_variable until its first use. */
vy_ptx_value vy_ptx_variable(vy_ptx *e, uint32_t index) {
    vy_ptx_value *v = &e->variables[index];
    uint32_t param = index - e->body->first_variable;
    if (!v->is_variable)
        return *v;
    if (param < e->program->param_count)
        return *v = given(vy_ptx_param(e, param));
    return e->noted[index] != e->places ? without_part(*v) : *v;
}

void vy_ptx_note_subword(vy_ptx *e, uint32_t variable, vy_ptx_value value) {
    e->variables[variable].part = e->guard.is_literal ? value.part : 0;
    e->noted[variable] = e->places;
}

/* A variable that is never assigned is its value, in whatever register; any other has a separate register. */
void vy_ptx_declare(vy_ptx *e, uint32_t index, vy_ptx_value value) {
    const vy_variable *v = vy_variable_at(e->program, index);
    if (!v->is_mutable) {
        e->variables[index] = value;
        return;
    }
    if (e->shifted == index)
        e->shifted = VY_NONE;
    e->variables[index] = vy_ptx_new(e, (vyre_type)v->type);
    e->variables[index].is_variable = 1;
    vy_ptx_move(e, e->variables[index], vy_ptx_assigned(e, value));
}

/* ---- expressions ---- */

static vy_ptx_value length(vy_ptx *e, const vy_expr *x) {
    const vy_memory *m = vy_memory_at(e->program, x->a);
    uint32_t buffer = x->a - e->body->first_memory;
    if (m->space != VY_SPACE_BUFFER)
        return vy_ptx_literal(VYRE_TYPE_U32, x->kind == VY_EXPR_LEN ? m->elements : 0);
    return x->kind == VY_EXPR_LEN ? vy_ptx_count(e, buffer) : vy_ptx_misalignment(e, buffer);
}

/* ~a & b is (a & b) ^ b, ops that ptxas combines into one with those around them. */
static int is_complement(const vy_ptx *e, uint32_t expr) {
    const vy_expr *x = &e->exprs[expr];
    return x->kind == VY_EXPR_OP && x->op == VYRE_OP_NOT;
}

static vy_ptx_value without(vy_ptx *e, const vy_expr *x, uint32_t complement, uint32_t other) {
    const char *bits = vy_ptx_bits((vyre_type)x->type);
    vy_ptx_value a = vy_ptx_in_register(e, vy_ptx_expr(e, e->exprs[complement].a));
    vy_ptx_value b = vy_ptx_expr(e, other);
    vy_ptx_value both = vy_ptx_new(e, (vyre_type)x->type), d = vy_ptx_new(e, (vyre_type)x->type);
    VY_PTX_INSTRUCT(e, "and", bits, both, a, b);
    VY_PTX_INSTRUCT(e, "xor", bits, d, both, b);
    return d;
}

/* `v = v << 8`, then `v | byte`: the bits do not overlap, so `|` is a sum, and ptxas combines both into one op. */
static int fills(const vy_ptx *e, const vy_expr *x) {
    const vy_expr *exprs = e->exprs, *v = &exprs[x->a], *part = &exprs[x->b];
    if (v->kind != VY_EXPR_VARIABLE || v->a != e->shifted || part->kind != VY_EXPR_OP || part->op != VYRE_OP_CAST)
        return 0;
    vyre_type narrow = (vyre_type)exprs[part->a].type;
    return vy_type_layouts[narrow].classes == VYRE_CLASS_UNSIGNED && vy_type_layouts[narrow].bits <= e->room;
}

void vy_ptx_note_shift(vy_ptx *e, const vy_stmt *s) {
    const vy_expr *exprs = e->exprs, *x = &exprs[s->a];
    if (e->shifted == s->variable)
        e->shifted = VY_NONE;
    int is_shift = x->kind == VY_EXPR_OP && x->op == VYRE_OP_SHL && exprs[x->b].kind == VY_EXPR_LITERAL;
    int is_word = x->type == VYRE_TYPE_U32 || x->type == VYRE_TYPE_U64;
    if (!is_shift || !is_word || !e->guard.is_literal || exprs[x->b].bits >= vy_type_layouts[x->type].bits)
        return;
    e->shifted = s->variable;
    e->room = (uint32_t)exprs[x->b].bits;
}

/* ---- ops on two words ----
 *
 * Most ops of a large program. Each is one line of PTX, written without the tests that other ops need. The general
 * path would write the same line. */

/* A bit per combination: no operand, the first or the second is a literal. Both never are. */
enum { NEITHER = 1 << 0, FIRST = 1 << 1, SECOND = 1 << 2, ONE_AT_MOST = NEITHER | FIRST | SECOND };

/* "\tadd.u32 ", and the operands that may be literals, for ops that are one instruction. 32 bytes, so that indexing
 * needs no multiplication and one store copies the word. */
typedef struct plain {
    alignas(32) char word[16];
    uint8_t length, literals;
    uint8_t is_rotation; /* a funnel shift of a word with itself */
} plain;

#define PLAIN(word, literals)                                                                                          \
    { word, sizeof(word) - 1, literals, 0 }
#define ROTATION(word)                                                                                                 \
    { word, sizeof(word) - 1, NEITHER | SECOND, 1 }
#define NONE                                                                                                           \
    { "", 0, 0, 0 }

/* By op, and by type: i32, u32. The result has the type of the operands. An operand of xor is not a literal, because
 * it could be all ones. Amounts are unsigned. */
static const plain plains[VYRE_OP_COUNT][2] = {
    [VYRE_OP_ADD] = {PLAIN("\tadd.s32 ", ONE_AT_MOST), PLAIN("\tadd.u32 ", ONE_AT_MOST)},
    [VYRE_OP_SUB] = {PLAIN("\tsub.s32 ", ONE_AT_MOST), PLAIN("\tsub.u32 ", ONE_AT_MOST)},
    [VYRE_OP_AND] = {PLAIN("\tand.b32 ", ONE_AT_MOST), PLAIN("\tand.b32 ", ONE_AT_MOST)},
    [VYRE_OP_OR] = {PLAIN("\tor.b32 ", ONE_AT_MOST), PLAIN("\tor.b32 ", ONE_AT_MOST)},
    [VYRE_OP_XOR] = {PLAIN("\txor.b32 ", NEITHER), PLAIN("\txor.b32 ", NEITHER)},
    [VYRE_OP_SHL] = {NONE, PLAIN("\tshl.b32 ", ONE_AT_MOST)},
    [VYRE_OP_SHR] = {NONE, PLAIN("\tshr.u32 ", ONE_AT_MOST)},
    [VYRE_OP_ROTL] = {NONE, ROTATION("\tshf.l.wrap.b32 ")},
    [VYRE_OP_ROTR] = {NONE, ROTATION("\tshf.r.wrap.b32 ")},
};
_Static_assert(VYRE_TYPE_U32 == VYRE_TYPE_I32 + 1, "the types of the table");

/* Most literals are shift amounts. */
static inline char *put_operand(char *at, const vy_ptx_value *v) {
    return v->is_literal && v->bits < 100 ? vy_write_decimal(at, v->bits) : vy_ptx_put(at, *v);
}

/* Nothing is recorded about the result except its type. */
static vy_ptx_value write_plain(vy_ptx *e, const plain *p, vyre_type type, const vy_ptx_value *a,
                                const vy_ptx_value *b) {
    vy_ptx_value d = vy_ptx_new_of(e, VY_PTX_B32, type);
    char *at = vy_ptx_room(e);
    memcpy(at, p->word, sizeof p->word);
    at = vy_write_text(vy_ptx_put(at + p->length, d), ", ");
    at = vy_write_text(vy_ptx_put(at, *a), ", ");
    if (p->is_rotation)
        at = vy_write_text(vy_ptx_put(at, *a), ", ");
    vy_ptx_end_line(e, put_operand(at, b));
    return d;
}

/* ---- any expression ---- */

/* Separate from op(), because most ops are plain. */
static __attribute__((noinline)) vy_ptx_value any_op(vy_ptx *e, const vy_expr *x, const vy_ptx_value *a,
                                                     const vy_ptx_value *b) {
    vy_ptx_value args[3] = {*a, *b, vy_ptx_literal(VYRE_TYPE_BOOL, 0)};
    if (x->c != VY_NONE)
        args[2] = vy_ptx_expr(e, x->c);
    vyre_type operand = vy_operand_type(e->program, x);
    return vy_ptx_op(e, x, operand, args);
}

static vy_ptx_value op(vy_ptx *e, const vy_expr *x);

static __attribute__((noinline)) vy_ptx_value other(vy_ptx *e, uint32_t expr, const vy_expr *x) {
    if (x->kind == VY_EXPR_VARIABLE)
        return vy_ptx_variable(e, x->a);
    if (x->kind == VY_EXPR_LOAD)
        return vy_ptx_load(e, expr);
    return x->kind == VY_EXPR_BUILTIN ? vy_ptx_builtin(e, (vyre_builtin)x->op, x->axis) : length(e, x);
}

/* The value of an expression: a pointer to the variable, or any other value in `made`. The most frequent kinds are
 * tested first. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static inline const vy_ptx_value *value_of(vy_ptx *e, uint32_t expr, vy_ptx_value *made) {
    const vy_expr *x = &e->exprs[expr];
    if (x->kind == VY_EXPR_VARIABLE && !e->variables[x->a].is_variable)
        return &e->variables[x->a];
    if (x->kind == VY_EXPR_OP)
        *made = op(e, x);
    else
        *made = x->kind == VY_EXPR_LITERAL ? vy_ptx_literal((vyre_type)x->type, x->bits) : other(e, expr, x);
    return made;
}

static int is_literal_of(const vy_expr *x, uint64_t bits) {
    return x->kind == VY_EXPR_LITERAL && x->bits == bits;
}

/* Legalisation tests for NaN with `(bits & 0x7fffffff) > 0x7f800000`; setp.nan needs no mask. PTX registers of 32 bits
 * hold integers and floats, so the operand may have an integer type. */
static int tests_nan(const vy_ptx *e, const vy_expr *x) {
    const vy_expr *magnitude = &e->exprs[x->a];
    return magnitude->kind == VY_EXPR_OP && magnitude->op == VYRE_OP_AND && magnitude->type == VYRE_TYPE_U32 &&
           is_literal_of(&e->exprs[magnitude->b], 0x7fffffff) && is_literal_of(&e->exprs[x->b], 0x7f800000);
}

static vy_ptx_value op(vy_ptx *e, const vy_expr *x) {
    if (x->op == VYRE_OP_GT && tests_nan(e, x)) {
        vy_ptx_value bits = vy_ptx_in_register(e, vy_ptx_expr(e, e->exprs[x->a].a));
        return vy_ptx_two(e, "setp.nan", "f32", VYRE_TYPE_BOOL, bits, bits);
    }
    if (x->op == VYRE_OP_OR && fills(e, x)) {
        vy_expr sum = *x;
        sum.op = VYRE_OP_ADD;
        return op(e, &sum);
    }
    if (x->op == VYRE_OP_AND && vy_type_layouts[x->type].bits >= 32 &&
        (is_complement(e, x->a) || is_complement(e, x->b)))
        return is_complement(e, x->a) ? without(e, x, x->a, x->b) : without(e, x, x->b, x->a);
    vy_ptx_value made[2];
    static const vy_ptx_value none = {.type = VYRE_TYPE_BOOL, .is_literal = 1};
    const vy_ptx_value *a = value_of(e, x->a, &made[0]), *b = x->b == VY_NONE ? &none : value_of(e, x->b, &made[1]);
    unsigned column = x->type - (unsigned)VYRE_TYPE_I32;
    const plain *p = &plains[x->op][column & 1];
    int is_plain = column < e->plain_types && p->literals >> (a->is_literal + 2 * b->is_literal) & 1 && !a->part;
    return is_plain ? write_plain(e, p, (vyre_type)x->type, a, b) : any_op(e, x, a, b);
}

vy_ptx_value vy_ptx_expr(vy_ptx *e, uint32_t expr) {
    vy_ptx_value made;
    return *value_of(e, expr, &made);
}

vy_ptx_value vy_ptx_expr_kept(vy_ptx *e, uint32_t expr) {
    vy_ptx_value v = vy_ptx_expr(e, expr);
    if (!v.is_variable)
        return v;
    vy_ptx_value made = vy_ptx_new(e, (vyre_type)v.type);
    vy_ptx_move(e, made, v);
    made.part = v.part;
    made.maybe_negated = 1; /* because an assigned value may be */
    return made;
}
