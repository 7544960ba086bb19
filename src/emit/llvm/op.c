/* Ops of the op table and conversions, as LLVM instructions. Invariant: no emitted operand has an undefined result
 * in LLVM, because legalisation has replaced inexact operations, zero divisors, shift amounts beyond the width, and
 * NaN operands whose result can be observed. */
#include "emit/llvm/emitter.h"

static LLVMValueRef intrinsic(vy_emitter *e, const char *name, LLVMValueRef *args, unsigned count) {
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    return vy_llvm_intrinsic(e, name, &type, 1, args, count);
}

/* ---- ops of several instructions ---- */

static LLVMTypeRef like(vy_emitter *e, LLVMValueRef shape, LLVMTypeRef type) {
    return vy_llvm_is_lanes(shape) ? vy_llvm_lanes(e, type) : type;
}

static LLVMValueRef constant(vy_emitter *e, LLVMValueRef shape, LLVMValueRef value) {
    return vy_llvm_is_lanes(shape) ? vy_llvm_splat(e, value) : value;
}

#if defined(__x86_64__)
enum { MULTIPLIES_EVEN_WORDS = 1 }; /* pmuludq multiplies every second 32-bit word, with 64-bit products */
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

static LLVMValueRef op_mul_high(vy_emitter *e, const vy_expr *x, vyre_type type, LLVMValueRef *args) {
    LLVMValueRef a = args[0], b = args[1];
    unsigned bits = vyre_type_bits(type);
    (void)x;
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

static LLVMValueRef op_abs(vy_emitter *e, const vy_expr *x, vyre_type type, LLVMValueRef *args) {
    (void)x;
    if (vyre_type_class(type) == VYRE_CLASS_FLOAT)
        return intrinsic(e, "llvm.fabs", args, 1);
    if (vyre_type_class(type) == VYRE_CLASS_UNSIGNED)
        return args[0];
    return intrinsic(e, "llvm.abs", (LLVMValueRef[]){args[0], vy_llvm_number(e, 1, 0)}, 2);
}

static LLVMValueRef op_count_zeros(vy_emitter *e, const vy_expr *x, vyre_type type, LLVMValueRef *args) {
    (void)type;
    return intrinsic(e, x->op == VYRE_OP_CLZ ? "llvm.ctlz" : "llvm.cttz",
                     (LLVMValueRef[]){args[0], vy_llvm_number(e, 1, 0)}, 2);
}

/* ---- division of lanes ---- */

/* Processors divide floats by lanes, but integers one by one. A float quotient with more bits than the integers
 * differs from the exact one by less than the distance to the next integer, so truncating it yields the integer
 * quotient: 24 bits for 16-bit integers, 53 for 32-bit ones. Divisors are never zero here. */
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

/* Division of all lanes by one u32, which is not a constant: multiplication by its reciprocal. The product is never
 * too large, and below the integer only if the remainder is zero. */
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

/* NULL: left to LLVM. */
static LLVMValueRef divide(vy_emitter *e, vyre_op op, vyre_type type, LLVMValueRef a, LLVMValueRef b) {
    if (vy_llvm_divides_by_one(op, type, a, b))
        return divide_by_one(e, op, a, b);
    if (!is_division(op, type) || vyre_type_bits(type) == 64 || !vy_llvm_is_lanes(a) || LLVMIsConstant(b))
        return NULL;
    return divide_lanes(e, op, type, a, b);
}

static LLVMValueRef op_signbit(vy_emitter *e, const vy_expr *x, vyre_type type, LLVMValueRef *args) {
    LLVMTypeRef integer = like(e, args[0], vy_llvm_int(e, vyre_type_bits(type)));
    LLVMValueRef bits = LLVMBuildBitCast(e->builder, args[0], integer, "");
    (void)x;
    return LLVMBuildICmp(e->builder, LLVMIntSLT, bits, LLVMConstNull(integer), "");
}

static LLVMValueRef op_compare_to_infinity(vy_emitter *e, const vy_expr *x, vyre_type type, LLVMValueRef *args) {
    LLVMValueRef infinity = constant(e, args[0], LLVMConstReal(vy_llvm_type(e, type), __builtin_inf()));
    LLVMValueRef size = intrinsic(e, "llvm.fabs", args, 1);
    return LLVMBuildFCmp(e->builder, x->op == VYRE_OP_IS_INF ? LLVMRealOEQ : LLVMRealOLT, size, infinity, "");
}

static LLVMValueRef op_rotate(vy_emitter *e, const vy_expr *x, vyre_type type, LLVMValueRef *args) {
    (void)type;
    return intrinsic(e, x->op == VYRE_OP_ROTL ? "llvm.fshl" : "llvm.fshr", (LLVMValueRef[]){args[0], args[0], args[1]},
                     3);
}

/* ---- conversions ---- */

/* f16 is held as i16, and is converted to and from f32 only. */
static LLVMValueRef cast_half(vy_emitter *e, vyre_type to, LLVMValueRef a) {
    LLVMTypeRef half = like(e, a, LLVMHalfTypeInContext(e->context));
    if (to == VYRE_TYPE_F32)
        return LLVMBuildFPExt(e->builder, LLVMBuildBitCast(e->builder, a, half, ""), like(e, a, vy_llvm_type(e, to)),
                              "");
    return LLVMBuildBitCast(e->builder, LLVMBuildFPTrunc(e->builder, a, half, ""), like(e, a, vy_llvm_int(e, 16)), "");
}

/* In a program with f16 the result is hidden from the optimiser, which otherwise assumes that an integer with few
 * significant bits is exact in every float type, also in half, whose range it may exceed (emitter.h, half-range). */
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

/* ---- the table ---- */

/* Emits an op of several instructions. */
typedef LLVMValueRef op_function(vy_emitter *e, const vy_expr *x, vyre_type operand, LLVMValueRef *args);

static LLVMValueRef op_neg(vy_emitter *e, const vy_expr *x, vyre_type operand, LLVMValueRef *args) {
    (void)x;
    return vyre_type_class(operand) == VYRE_CLASS_FLOAT ? LLVMBuildFNeg(e->builder, args[0], "")
                                                        : LLVMBuildNeg(e->builder, args[0], "");
}

static LLVMValueRef op_not(vy_emitter *e, const vy_expr *x, vyre_type operand, LLVMValueRef *args) {
    (void)x, (void)operand;
    return LLVMBuildNot(e->builder, args[0], "");
}

static LLVMValueRef op_reverse_bytes(vy_emitter *e, const vy_expr *x, vyre_type operand, LLVMValueRef *args) {
    (void)x;
    return vyre_type_bits(operand) == 8 ? args[0] : intrinsic(e, "llvm.bswap", args, 1);
}

static LLVMValueRef op_is_nan(vy_emitter *e, const vy_expr *x, vyre_type operand, LLVMValueRef *args) {
    (void)x, (void)operand;
    return LLVMBuildFCmp(e->builder, LLVMRealUNO, args[0], args[0], "");
}

static LLVMValueRef op_select(vy_emitter *e, const vy_expr *x, vyre_type operand, LLVMValueRef *args) {
    (void)x, (void)operand;
    return LLVMBuildSelect(e->builder, args[0], args[1], args[2], "");
}

static LLVMValueRef op_cast(vy_emitter *e, const vy_expr *x, vyre_type operand, LLVMValueRef *args) {
    return cast(e, (vyre_type)x->type, operand, args[0]);
}

static LLVMValueRef op_bitcast(vy_emitter *e, const vy_expr *x, vyre_type operand, LLVMValueRef *args) {
    (void)operand;
    return LLVMBuildBitCast(e->builder, args[0], like(e, args[0], vy_llvm_type(e, (vyre_type)x->type)), "");
}

typedef enum form {
    REPLACED_FORM,  /* legalisation replaces the op, or it does not accept the class */
    BINARY_FORM,    /* an instruction of two operands */
    INTEGERS_FORM,  /* a comparison of integers */
    FLOATS_FORM,    /* a comparison of floats */
    INTRINSIC_FORM, /* an intrinsic with the arity of the op */
    FUNCTION_FORM
} form;

/* A cell of the table. `what` is an opcode or a predicate. */
typedef struct cell {
    uint8_t form;
    int what;
    const char *intrinsic;
    op_function *function;
} cell;

/* By class of the operand; bool is unsigned. */
typedef struct row {
    cell unsigned_cell, signed_cell, float_cell;
} row;

/* clang-format off */
#define REPLACED {REPLACED_FORM, 0, NULL, NULL}
#define BINARY(op) {BINARY_FORM, LLVM##op, NULL, NULL}
#define INTEGERS(predicate) {INTEGERS_FORM, LLVMInt##predicate, NULL, NULL}
#define FLOATS(predicate) {FLOATS_FORM, LLVMReal##predicate, NULL, NULL}
#define INTRINSIC(name) {INTRINSIC_FORM, 0, "llvm." name, NULL}
#define FUNCTION(name) {FUNCTION_FORM, 0, NULL, op_##name}
#define INTEGER_ROW(cell) {cell, cell, REPLACED}
#define FLOAT_ROW(cell) {REPLACED, REPLACED, cell}
#define ROW_OF(cell) {cell, cell, cell}

/* One row for each op of VYRE_OP_LIST: a row that is missing does not compile. */
#define ROW_NEG ROW_OF(FUNCTION(neg))
#define ROW_NOT INTEGER_ROW(FUNCTION(not))
#define ROW_LNOT INTEGER_ROW(FUNCTION(not))
#define ROW_ABS ROW_OF(FUNCTION(abs))
#define ROW_POPCOUNT INTEGER_ROW(INTRINSIC("ctpop"))
#define ROW_CLZ INTEGER_ROW(FUNCTION(count_zeros))
#define ROW_CTZ INTEGER_ROW(FUNCTION(count_zeros))
#define ROW_REVERSE_BITS INTEGER_ROW(INTRINSIC("bitreverse"))
#define ROW_REVERSE_BYTES INTEGER_ROW(FUNCTION(reverse_bytes))
#define ROW_SQRT FLOAT_ROW(INTRINSIC("sqrt"))
#define ROW_FLOOR FLOAT_ROW(INTRINSIC("floor"))
#define ROW_CEIL FLOAT_ROW(INTRINSIC("ceil"))
#define ROW_TRUNC FLOAT_ROW(INTRINSIC("trunc"))
#define ROW_ROUND FLOAT_ROW(INTRINSIC("roundeven"))
#define ROW_IS_NAN FLOAT_ROW(FUNCTION(is_nan))
#define ROW_IS_INF FLOAT_ROW(FUNCTION(compare_to_infinity))
#define ROW_IS_FINITE FLOAT_ROW(FUNCTION(compare_to_infinity))
#define ROW_SIGNBIT FLOAT_ROW(FUNCTION(signbit))
#define ROW_ADD {BINARY(Add), BINARY(Add), BINARY(FAdd)}
#define ROW_SUB {BINARY(Sub), BINARY(Sub), BINARY(FSub)}
#define ROW_MUL {BINARY(Mul), BINARY(Mul), BINARY(FMul)}
#define ROW_MUL_HIGH INTEGER_ROW(FUNCTION(mul_high))
#define ROW_DIV {BINARY(UDiv), BINARY(SDiv), BINARY(FDiv)}
#define ROW_REM {BINARY(URem), BINARY(SRem), REPLACED}
#define ROW_REMAINDER ROW_OF(REPLACED)
#define ROW_AND INTEGER_ROW(BINARY(And))
#define ROW_OR INTEGER_ROW(BINARY(Or))
#define ROW_XOR INTEGER_ROW(BINARY(Xor))
#define ROW_LAND INTEGER_ROW(BINARY(And))
#define ROW_LOR INTEGER_ROW(BINARY(Or))
#define ROW_SHL INTEGER_ROW(BINARY(Shl))
#define ROW_SHR {BINARY(LShr), BINARY(AShr), REPLACED}
#define ROW_ROTL INTEGER_ROW(FUNCTION(rotate))
#define ROW_ROTR INTEGER_ROW(FUNCTION(rotate))
#define ROW_MIN {INTRINSIC("umin"), INTRINSIC("smin"), REPLACED}
#define ROW_MAX {INTRINSIC("umax"), INTRINSIC("smax"), REPLACED}
#define ROW_COPYSIGN FLOAT_ROW(INTRINSIC("copysign"))
#define ROW_EQ {INTEGERS(EQ), INTEGERS(EQ), FLOATS(OEQ)}
#define ROW_NE {INTEGERS(NE), INTEGERS(NE), FLOATS(UNE)}
#define ROW_LT {INTEGERS(ULT), INTEGERS(SLT), FLOATS(OLT)}
#define ROW_LE {INTEGERS(ULE), INTEGERS(SLE), FLOATS(OLE)}
#define ROW_GT {INTEGERS(UGT), INTEGERS(SGT), FLOATS(OGT)}
#define ROW_GE {INTEGERS(UGE), INTEGERS(SGE), FLOATS(OGE)}
#define ROW_SELECT ROW_OF(FUNCTION(select))
#define ROW_FMA FLOAT_ROW(INTRINSIC("fma"))
#define ROW_CAST ROW_OF(FUNCTION(cast))
#define ROW_BITCAST ROW_OF(FUNCTION(bitcast))
#define ROW_APPROX_DIV FLOAT_ROW(BINARY(FDiv))
#define ROW_APPROX_SQRT FLOAT_ROW(INTRINSIC("sqrt"))
#define X(ID, ...) [VYRE_OP_##ID] = ROW_##ID,
static const row rows[VYRE_OP_COUNT] = {VYRE_OP_LIST(X)};
#undef X
/* clang-format on */

static LLVMValueRef refuse(vy_emitter *e, vyre_op op, LLVMValueRef a) {
    vy_llvm_refuse(e, vyre_op_get(op)->name);
    return LLVMGetPoison(LLVMTypeOf(a));
}

static LLVMValueRef write(vy_emitter *e, const vy_expr *x, vyre_type operand, LLVMValueRef *args) {
    const row *r = &rows[x->op];
    unsigned class = vyre_type_class(operand);
    const cell *c = class == VYRE_CLASS_FLOAT    ? &r->float_cell
                    : class == VYRE_CLASS_SIGNED ? &r->signed_cell
                                                 : &r->unsigned_cell;
    switch ((form)c->form) {
    case REPLACED_FORM:
        break;
    case BINARY_FORM:
        return LLVMBuildBinOp(e->builder, (LLVMOpcode)c->what, args[0], args[1], "");
    case INTEGERS_FORM:
        return LLVMBuildICmp(e->builder, (LLVMIntPredicate)c->what, args[0], args[1], "");
    case FLOATS_FORM:
        return LLVMBuildFCmp(e->builder, (LLVMRealPredicate)c->what, args[0], args[1], "");
    case INTRINSIC_FORM:
        return intrinsic(e, c->intrinsic, args, vyre_op_get((vyre_op)x->op)->arity);
    case FUNCTION_FORM:
        return c->function(e, x, operand, args);
    }
    return refuse(e, (vyre_op)x->op, args[0]);
}

/* f16 and bf16 are held as bits: legalisation has replaced all computations with them. */
static int is_held(vyre_type type) {
    return type == VYRE_TYPE_F16 || type == VYRE_TYPE_BF16;
}

LLVMValueRef vy_llvm_op(vy_emitter *e, const vy_expr *x, vyre_type operand, LLVMValueRef a, LLVMValueRef b,
                        LLVMValueRef c) {
    if (is_held(operand) && x->op != VYRE_OP_CAST && x->op != VYRE_OP_BITCAST && x->op != VYRE_OP_SELECT)
        return refuse(e, (vyre_op)x->op, a);
    if (x->op == VYRE_OP_FMA && operand == VYRE_TYPE_F64 && e->has_soft_fma)
        return vy_llvm_soft_fma(e, a, b, c);
    LLVMValueRef quotient = divide(e, (vyre_op)x->op, operand, a, b);
    return quotient ? quotient : write(e, x, operand, (LLVMValueRef[]){a, b, c});
}

LLVMValueRef vy_llvm_combine(vy_emitter *e, vyre_op op, vyre_type type, LLVMValueRef a, LLVMValueRef b) {
    vy_expr x = {.kind = VY_EXPR_OP, .type = (uint8_t)type, .op = (uint8_t)op};
    return vy_llvm_op(e, &x, type, a, b, NULL);
}
