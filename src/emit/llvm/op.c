/* Ops of the op table and conversions, as LLVM instructions. Legalisation has replaced inexact operations, zero
 * divisors, shift amounts beyond the width, and NaN operands whose result can be observed: no emitted operand has an
 * undefined result in LLVM. */
#include "emit/llvm/emitter.h"

typedef enum form {
    NONE,
    BINARY,    /* an instruction of two operands */
    INTEGER,   /* a comparison of integers */
    FLOAT,     /* a comparison of floats */
    UNARY,     /* an intrinsic of one operand */
    OVERLOADED /* an intrinsic of as many operands as the row has */
} form;

/* By class: how a row is written for unsigned, signed and float operands. `what` is an opcode or predicate. */
typedef struct way {
    uint8_t form;
    int what;
    const char *intrinsic;
} way;
typedef struct row {
    way unsigned_way, signed_way, float_way;
} row;

#define BOTH(...) __VA_ARGS__, __VA_ARGS__
static const row rows[VYRE_OP_COUNT] = {
    [VYRE_OP_ADD] = {BOTH({BINARY, LLVMAdd, NULL}), {BINARY, LLVMFAdd, NULL}},
    [VYRE_OP_SUB] = {BOTH({BINARY, LLVMSub, NULL}), {BINARY, LLVMFSub, NULL}},
    [VYRE_OP_MUL] = {BOTH({BINARY, LLVMMul, NULL}), {BINARY, LLVMFMul, NULL}},
    [VYRE_OP_DIV] = {{BINARY, LLVMUDiv, NULL}, {BINARY, LLVMSDiv, NULL}, {BINARY, LLVMFDiv, NULL}},
    [VYRE_OP_REM] = {{BINARY, LLVMURem, NULL}, {BINARY, LLVMSRem, NULL}, {NONE, 0, NULL}},
    [VYRE_OP_APPROX_DIV] = {BOTH({NONE, 0, NULL}), {BINARY, LLVMFDiv, NULL}},
    [VYRE_OP_AND] = {BOTH({BINARY, LLVMAnd, NULL}), {NONE, 0, NULL}},
    [VYRE_OP_OR] = {BOTH({BINARY, LLVMOr, NULL}), {NONE, 0, NULL}},
    [VYRE_OP_XOR] = {BOTH({BINARY, LLVMXor, NULL}), {NONE, 0, NULL}},
    [VYRE_OP_LAND] = {{BINARY, LLVMAnd, NULL}, {NONE, 0, NULL}, {NONE, 0, NULL}},
    [VYRE_OP_LOR] = {{BINARY, LLVMOr, NULL}, {NONE, 0, NULL}, {NONE, 0, NULL}},
    [VYRE_OP_SHL] = {BOTH({BINARY, LLVMShl, NULL}), {NONE, 0, NULL}},
    [VYRE_OP_SHR] = {{BINARY, LLVMLShr, NULL}, {BINARY, LLVMAShr, NULL}, {NONE, 0, NULL}},
    [VYRE_OP_MIN] = {{OVERLOADED, 0, "llvm.umin"}, {OVERLOADED, 0, "llvm.smin"}, {NONE, 0, NULL}},
    [VYRE_OP_MAX] = {{OVERLOADED, 0, "llvm.umax"}, {OVERLOADED, 0, "llvm.smax"}, {NONE, 0, NULL}},
    [VYRE_OP_EQ] = {BOTH({INTEGER, LLVMIntEQ, NULL}), {FLOAT, LLVMRealOEQ, NULL}},
    [VYRE_OP_NE] = {BOTH({INTEGER, LLVMIntNE, NULL}), {FLOAT, LLVMRealUNE, NULL}},
    [VYRE_OP_LT] = {{INTEGER, LLVMIntULT, NULL}, {INTEGER, LLVMIntSLT, NULL}, {FLOAT, LLVMRealOLT, NULL}},
    [VYRE_OP_LE] = {{INTEGER, LLVMIntULE, NULL}, {INTEGER, LLVMIntSLE, NULL}, {FLOAT, LLVMRealOLE, NULL}},
    [VYRE_OP_GT] = {{INTEGER, LLVMIntUGT, NULL}, {INTEGER, LLVMIntSGT, NULL}, {FLOAT, LLVMRealOGT, NULL}},
    [VYRE_OP_GE] = {{INTEGER, LLVMIntUGE, NULL}, {INTEGER, LLVMIntSGE, NULL}, {FLOAT, LLVMRealOGE, NULL}},
    [VYRE_OP_POPCOUNT] = {BOTH({UNARY, 0, "llvm.ctpop"}), {NONE, 0, NULL}},
    [VYRE_OP_REVERSE_BITS] = {BOTH({UNARY, 0, "llvm.bitreverse"}), {NONE, 0, NULL}},
    [VYRE_OP_SQRT] = {BOTH({NONE, 0, NULL}), {UNARY, 0, "llvm.sqrt"}},
    [VYRE_OP_APPROX_SQRT] = {BOTH({NONE, 0, NULL}), {UNARY, 0, "llvm.sqrt"}},
    [VYRE_OP_FLOOR] = {BOTH({NONE, 0, NULL}), {UNARY, 0, "llvm.floor"}},
    [VYRE_OP_CEIL] = {BOTH({NONE, 0, NULL}), {UNARY, 0, "llvm.ceil"}},
    [VYRE_OP_TRUNC] = {BOTH({NONE, 0, NULL}), {UNARY, 0, "llvm.trunc"}},
    [VYRE_OP_ROUND] = {BOTH({NONE, 0, NULL}), {UNARY, 0, "llvm.roundeven"}},
    [VYRE_OP_COPYSIGN] = {BOTH({NONE, 0, NULL}), {OVERLOADED, 0, "llvm.copysign"}},
    [VYRE_OP_FMA] = {BOTH({NONE, 0, NULL}), {OVERLOADED, 0, "llvm.fma"}},
};

static LLVMValueRef intrinsic(vy_emitter *e, const char *name, LLVMValueRef *args, unsigned count) {
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    return vy_llvm_intrinsic(e, name, &type, 1, args, count);
}

static LLVMValueRef write(vy_emitter *e, const way *w, LLVMValueRef *args) {
    switch (w->form) {
    case BINARY:
        return LLVMBuildBinOp(e->builder, (LLVMOpcode)w->what, args[0], args[1], "");
    case INTEGER:
        return LLVMBuildICmp(e->builder, (LLVMIntPredicate)w->what, args[0], args[1], "");
    case FLOAT:
        return LLVMBuildFCmp(e->builder, (LLVMRealPredicate)w->what, args[0], args[1], "");
    case UNARY:
        return intrinsic(e, w->intrinsic, args, 1);
    default:
        return intrinsic(e, w->intrinsic, args, args[2] ? 3 : 2);
    }
}

/* ---- rows that are more than one thing ---- */

static LLVMTypeRef like(vy_emitter *e, LLVMValueRef shape, LLVMTypeRef type) {
    return vy_llvm_is_lanes(shape) ? vy_llvm_lanes(e, type) : type;
}

static LLVMValueRef constant(vy_emitter *e, LLVMValueRef shape, LLVMValueRef value) {
    return vy_llvm_is_lanes(shape) ? vy_llvm_splat(e, value) : value;
}

#if defined(__x86_64__)
enum { MULTIPLIES_EVEN_WORDS = 1 }; /* pmuludq: every second word by every second, to products of 64 bits */
#else
enum { MULTIPLIES_EVEN_WORDS = 0 };
#endif

static LLVMValueRef mul_high_words(vy_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    LLVMTypeRef words = LLVMTypeOf(a), pairs = LLVMVectorType(vy_llvm_int(e, 64), e->width / 2);
    LLVMValueRef half[VY_LLVM_LANES], low[VY_LLVM_LANES];
    for (uint32_t i = 0; i < e->width / 2; i++) {
        half[i] = vy_llvm_number(e, 64, 32);
        low[i] = vy_llvm_number(e, 64, UINT32_MAX);
    }
    LLVMValueRef by = LLVMConstVector(half, e->width / 2), mask = LLVMConstVector(low, e->width / 2);
    a = LLVMBuildBitCast(e->builder, a, pairs, "");
    b = LLVMBuildBitCast(e->builder, b, pairs, "");
    LLVMValueRef even =
        LLVMBuildMul(e->builder, LLVMBuildAnd(e->builder, a, mask, ""), LLVMBuildAnd(e->builder, b, mask, ""), "");
    LLVMValueRef odd =
        LLVMBuildMul(e->builder, LLVMBuildLShr(e->builder, a, by, ""), LLVMBuildLShr(e->builder, b, by, ""), "");
    odd = LLVMBuildAnd(e->builder, odd, LLVMBuildNot(e->builder, mask, ""), "");
    return LLVMBuildBitCast(e->builder, LLVMBuildOr(e->builder, LLVMBuildLShr(e->builder, even, by, ""), odd, ""),
                            words, "");
}

static LLVMValueRef mul_high(vy_emitter *e, vyre_type type, LLVMValueRef a, LLVMValueRef b) {
    unsigned bits = vyre_type_bits(type);
    if (MULTIPLIES_EVEN_WORDS && type == VYRE_TYPE_U32 && vy_llvm_is_lanes(a))
        return mul_high_words(e, a, b);
    int is_signed = vyre_type_class(type) == VYRE_CLASS_SIGNED;
    LLVMTypeRef wide = like(e, a, vy_llvm_int(e, 2 * bits)), narrow = LLVMTypeOf(a);
    LLVMOpcode extend = is_signed ? LLVMSExt : LLVMZExt;
    a = LLVMBuildCast(e->builder, extend, a, wide, "");
    b = LLVMBuildCast(e->builder, extend, b, wide, "");
    LLVMValueRef product = LLVMBuildMul(e->builder, a, b, "");
    LLVMValueRef amount = constant(e, a, vy_llvm_number(e, 2 * bits, bits));
    return LLVMBuildTrunc(e->builder, LLVMBuildLShr(e->builder, product, amount, ""), narrow, "");
}

static LLVMValueRef absolute(vy_emitter *e, vyre_type type, LLVMValueRef a) {
    if (vyre_type_class(type) == VYRE_CLASS_FLOAT)
        return intrinsic(e, "llvm.fabs", &a, 1);
    if (vyre_type_class(type) == VYRE_CLASS_UNSIGNED)
        return a;
    LLVMValueRef args[2] = {a, vy_llvm_number(e, 1, 0)};
    return intrinsic(e, "llvm.abs", args, 2);
}

static LLVMValueRef count_zeros(vy_emitter *e, const char *name, LLVMValueRef a) {
    LLVMValueRef args[2] = {a, vy_llvm_number(e, 1, 0)};
    return intrinsic(e, name, args, 2);
}

/* ---- division of lanes ---- */

/* Processors divide floats by lanes, integers one by one. A quotient of floats with more bits than the integers have
 * is off by less than what keeps it from the next whole number, so what is cut off gives the quotient: 24 bits for
 * integers of 16, 53 for those of 32. Divisors are never zero here. */
static LLVMTypeRef dividing_type(vy_emitter *e, vyre_type type) {
    return vyre_type_bits(type) < 32 ? LLVMFloatTypeInContext(e->context) : LLVMDoubleTypeInContext(e->context);
}

static LLVMValueRef to_float(vy_emitter *e, vyre_type type, LLVMValueRef a) {
    LLVMOpcode how = vyre_type_class(type) == VYRE_CLASS_SIGNED ? LLVMSIToFP : LLVMUIToFP;
    return LLVMBuildCast(e->builder, how, a, like(e, a, dividing_type(e, type)), "");
}

static LLVMValueRef divide_lanes(vy_emitter *e, vyre_op op, vyre_type type, LLVMValueRef a, LLVMValueRef b) {
    LLVMOpcode back = vyre_type_class(type) == VYRE_CLASS_SIGNED ? LLVMFPToSI : LLVMFPToUI;
    LLVMValueRef quotient = LLVMBuildFDiv(e->builder, to_float(e, type, a), to_float(e, type, b), "");
    quotient = LLVMBuildCast(e->builder, back, quotient, LLVMTypeOf(a), "");
    return op == VYRE_OP_DIV ? quotient : LLVMBuildSub(e->builder, a, LLVMBuildMul(e->builder, quotient, b, ""), "");
}

/* By one u32 for all, which is no constant: times its reciprocal. The product is never too large, and too small for a
 * whole number only if nothing is left over. */
static LLVMValueRef divide_by_one(vy_emitter *e, vyre_op op, LLVMValueRef a, LLVMValueRef b) {
    LLVMBuilderRef builder = e->builder;
    LLVMValueRef one = LLVMConstReal(LLVMDoubleTypeInContext(e->context), 1), divisor = vy_llvm_splat(e, b),
                 factor = LLVMBuildFDiv(builder, one, to_float(e, VYRE_TYPE_U32, b), "");
    LLVMValueRef product = LLVMBuildFMul(builder, to_float(e, VYRE_TYPE_U32, a), vy_llvm_splat(e, factor), "");
    LLVMValueRef quotient = LLVMBuildFPToUI(builder, product, LLVMTypeOf(a), "");
    LLVMValueRef rest = LLVMBuildSub(builder, a, LLVMBuildMul(builder, quotient, divisor, ""), "");
    LLVMValueRef rests[2] = {rest, LLVMBuildSub(builder, rest, divisor, "")};
    if (op == VYRE_OP_REM)
        return intrinsic(e, "llvm.umin", rests, 2);
    LLVMValueRef is_short = LLVMBuildICmp(builder, LLVMIntUGE, rest, divisor, "");
    return LLVMBuildAdd(builder, quotient, LLVMBuildZExt(builder, is_short, LLVMTypeOf(a), ""), "");
}

static int is_division(vyre_op op, vyre_type type) {
    return (op == VYRE_OP_DIV || op == VYRE_OP_REM) && vyre_type_class(type) != VYRE_CLASS_FLOAT;
}

int vy_llvm_divides_by_one(vyre_op op, vyre_type type, LLVMValueRef a, LLVMValueRef b) {
    return is_division(op, type) && type == VYRE_TYPE_U32 && vy_llvm_is_lanes(a) && !vy_llvm_is_lanes(b) &&
           !LLVMIsConstant(b);
}

/* NULL: LLVM does it well, or nobody does. */
static LLVMValueRef divide(vy_emitter *e, vyre_op op, vyre_type type, LLVMValueRef a, LLVMValueRef b) {
    if (vy_llvm_divides_by_one(op, type, a, b))
        return divide_by_one(e, op, a, b);
    if (!is_division(op, type) || vyre_type_bits(type) == 64 || !vy_llvm_is_lanes(a) || LLVMIsConstant(b))
        return NULL;
    return divide_lanes(e, op, type, a, b);
}

/* Floats as their bits. */
static LLVMValueRef as_bits(vy_emitter *e, vyre_type type, LLVMValueRef a) {
    return LLVMBuildBitCast(e->builder, a, like(e, a, vy_llvm_int(e, vyre_type_bits(type))), "");
}

static LLVMValueRef is_negative(vy_emitter *e, vyre_type type, LLVMValueRef a) {
    LLVMValueRef bits = as_bits(e, type, a);
    return LLVMBuildICmp(e->builder, LLVMIntSLT, bits, LLVMConstNull(LLVMTypeOf(bits)), "");
}

static LLVMValueRef compare_to_infinity(vy_emitter *e, vyre_op op, vyre_type type, LLVMValueRef a) {
    LLVMValueRef infinity = constant(e, a, LLVMConstReal(vy_llvm_type(e, type), __builtin_inf()));
    LLVMValueRef size = intrinsic(e, "llvm.fabs", &a, 1);
    return LLVMBuildFCmp(e->builder, op == VYRE_OP_IS_INF ? LLVMRealOEQ : LLVMRealOLT, size, infinity, "");
}

static LLVMValueRef rotate(vy_emitter *e, vyre_op op, LLVMValueRef a, LLVMValueRef b) {
    LLVMValueRef args[3] = {a, a, b};
    return intrinsic(e, op == VYRE_OP_ROTL ? "llvm.fshl" : "llvm.fshr", args, 3);
}

/* ---- conversions ---- */

/* f16 is held as i16, and knows f32 alone. */
static LLVMValueRef cast_half(vy_emitter *e, vyre_type to, LLVMValueRef a) {
    LLVMTypeRef half = like(e, a, LLVMHalfTypeInContext(e->context));
    if (to == VYRE_TYPE_F32)
        return LLVMBuildFPExt(e->builder, LLVMBuildBitCast(e->builder, a, half, ""), like(e, a, vy_llvm_type(e, to)),
                              "");
    return LLVMBuildBitCast(e->builder, LLVMBuildFPTrunc(e->builder, a, half, ""), like(e, a, vy_llvm_int(e, 16)), "");
}

/* Of a program with halves the result is hidden from the optimiser: it takes an integer with few significant bits for
 * exact in every float type, also in half, whose range it may exceed (emitter.h, half-range). */
static LLVMValueRef cast_from_integer(vy_emitter *e, int is_signed, LLVMTypeRef type, LLVMValueRef a) {
    LLVMValueRef value = LLVMBuildCast(e->builder, is_signed ? LLVMSIToFP : LLVMUIToFP, a, type, "");
    return e->makes_halves && !LLVMIsConstant(value) ? vy_llvm_fence(e, value) : value;
}

static LLVMValueRef cast_saturating(vy_emitter *e, vyre_type to, LLVMValueRef a) {
    LLVMTypeRef types[2] = {like(e, a, vy_llvm_type(e, to)), LLVMTypeOf(a)};
    const char *name = vyre_type_class(to) == VYRE_CLASS_SIGNED ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
    return vy_llvm_intrinsic(e, name, types, 2, &a, 1);
}

static LLVMValueRef cast(vy_emitter *e, vyre_type to, vyre_type from, LLVMValueRef a) {
    unsigned given = vyre_type_class(from), wanted = vyre_type_class(to);
    LLVMTypeRef type = like(e, a, vy_llvm_type(e, to));
    if (from == to)
        return a;
    if (from == VYRE_TYPE_BF16 || to == VYRE_TYPE_BF16) {
        vy_llvm_refuse(e, "a conversion of bf16");
        return LLVMGetPoison(type);
    }
    if (from == VYRE_TYPE_F16 || to == VYRE_TYPE_F16)
        return cast_half(e, to, a);
    if (given == VYRE_CLASS_FLOAT && wanted == VYRE_CLASS_FLOAT)
        return vyre_type_bits(to) > vyre_type_bits(from) ? LLVMBuildFPExt(e->builder, a, type, "")
                                                         : LLVMBuildFPTrunc(e->builder, a, type, "");
    if (given == VYRE_CLASS_FLOAT)
        return cast_saturating(e, to, a);
    if (wanted == VYRE_CLASS_FLOAT)
        return cast_from_integer(e, given == VYRE_CLASS_SIGNED, type, a);
    if (given != VYRE_CLASS_BOOL && vyre_type_bits(to) == vyre_type_bits(from))
        return a;
    if (given != VYRE_CLASS_BOOL && vyre_type_bits(to) < vyre_type_bits(from))
        return LLVMBuildTrunc(e->builder, a, type, "");
    return given == VYRE_CLASS_SIGNED ? LLVMBuildSExt(e->builder, a, type, "") : LLVMBuildZExt(e->builder, a, type, "");
}

/* ---- any row ---- */

static LLVMValueRef special(vy_emitter *e, const vy_expr *x, vyre_type operand, LLVMValueRef a, LLVMValueRef b,
                            LLVMValueRef c) {
    int is_float = vyre_type_class(operand) == VYRE_CLASS_FLOAT;
    switch ((vyre_op)x->op) {
    case VYRE_OP_NEG:
        return is_float ? LLVMBuildFNeg(e->builder, a, "") : LLVMBuildNeg(e->builder, a, "");
    case VYRE_OP_NOT:
    case VYRE_OP_LNOT:
        return LLVMBuildNot(e->builder, a, "");
    case VYRE_OP_ABS:
        return absolute(e, operand, a);
    case VYRE_OP_CLZ:
        return count_zeros(e, "llvm.ctlz", a);
    case VYRE_OP_CTZ:
        return count_zeros(e, "llvm.cttz", a);
    case VYRE_OP_REVERSE_BYTES:
        return vyre_type_bits(operand) == 8 ? a : intrinsic(e, "llvm.bswap", &a, 1);
    case VYRE_OP_IS_NAN:
        return LLVMBuildFCmp(e->builder, LLVMRealUNO, a, a, "");
    case VYRE_OP_IS_INF:
    case VYRE_OP_IS_FINITE:
        return compare_to_infinity(e, (vyre_op)x->op, operand, a);
    case VYRE_OP_SIGNBIT:
        return is_negative(e, operand, a);
    case VYRE_OP_MUL_HIGH:
        return mul_high(e, operand, a, b);
    case VYRE_OP_ROTL:
    case VYRE_OP_ROTR:
        return rotate(e, (vyre_op)x->op, a, b);
    case VYRE_OP_SELECT:
        return LLVMBuildSelect(e->builder, a, b, c, "");
    case VYRE_OP_CAST:
        return cast(e, (vyre_type)x->type, operand, a);
    case VYRE_OP_BITCAST:
        return LLVMBuildBitCast(e->builder, a, like(e, a, vy_llvm_type(e, (vyre_type)x->type)), "");
    default:
        return NULL;
    }
}

/* f16 and bf16 are bits to us: what computes with them has been rewritten. */
static int is_held(vyre_type type) {
    return type == VYRE_TYPE_F16 || type == VYRE_TYPE_BF16;
}

LLVMValueRef vy_llvm_op(vy_emitter *e, const vy_expr *x, vyre_type operand, LLVMValueRef a, LLVMValueRef b,
                        LLVMValueRef c) {
    const row *r = &rows[x->op];
    unsigned class = vyre_type_class(operand);
    const way *w = class == VYRE_CLASS_FLOAT    ? &r->float_way
                   : class == VYRE_CLASS_SIGNED ? &r->signed_way
                                                : &r->unsigned_way;
    if (is_held(operand) && x->op != VYRE_OP_CAST && x->op != VYRE_OP_BITCAST && x->op != VYRE_OP_SELECT) {
        vy_llvm_refuse(e, vyre_op_get((vyre_op)x->op)->name);
        return LLVMGetPoison(LLVMTypeOf(a));
    }
    LLVMValueRef value = divide(e, (vyre_op)x->op, operand, a, b);
    if (value)
        return value;
    if (w->form != NONE)
        return write(e, w, (LLVMValueRef[]){a, b, c});
    value = special(e, x, operand, a, b, c);
    if (value)
        return value;
    vy_llvm_refuse(e, vyre_op_get((vyre_op)x->op)->name);
    return LLVMGetPoison(LLVMTypeOf(a));
}

LLVMValueRef vy_llvm_combine(vy_emitter *e, vyre_op op, vyre_type type, LLVMValueRef a, LLVMValueRef b) {
    vy_expr x = {.kind = VY_EXPR_OP, .type = (uint8_t)type, .op = (uint8_t)op};
    return vy_llvm_op(e, &x, type, a, b, NULL);
}
