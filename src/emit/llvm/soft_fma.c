/* Software fma of f64, for processors without the instruction: one function of the module, called for every lane.
 *
 * The product of the two significands is exact in 128 bits, with 20 zero bits below it; the addend is aligned with it.
 * If one is far smaller than the other, it is reduced to a sticky bit. The sum is rounded once. Inlined at every use,
 * as legalisation would do, an fma has about 3000 instructions. */
#include "emit/llvm/emitter.h"

/* A finite nonzero operand is significand * 2^exponent; the significand has 53 bits. A zero has significand 0. */
typedef struct parts {
    LLVMValueRef significand, exponent; /* i64 */
} parts;

static LLVMValueRef word(vy_emitter *e, uint64_t value) {
    return vy_llvm_number(e, 64, value);
}

static LLVMValueRef as_word(vy_emitter *e, LLVMValueRef x) {
    return LLVMBuildBitCast(e->builder, x, vy_llvm_int(e, 64), "");
}

static LLVMValueRef wide(vy_emitter *e, LLVMValueRef x) {
    return LLVMBuildZExt(e->builder, x, vy_llvm_int(e, 128), "");
}

static LLVMValueRef leading_zeros(vy_emitter *e, LLVMValueRef x) {
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef args[2] = {x, vy_llvm_number(e, 1, 0)};
    return vy_llvm_intrinsic(e, "llvm.ctlz", &type, 1, args, 2);
}

static LLVMValueRef is(vy_emitter *e, LLVMIntPredicate predicate, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildICmp(e->builder, predicate, a, b, "");
}

static LLVMValueRef choose(vy_emitter *e, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSelect(e->builder, condition, a, b, "");
}

/* The field of the exponent of the bits of a float. */
static LLVMValueRef exponent_field(vy_emitter *e, LLVMValueRef bits) {
    return LLVMBuildAnd(e->builder, LLVMBuildLShr(e->builder, bits, word(e, 52), ""), word(e, 0x7ff), "");
}

/* Subnormal numbers are shifted up, so that their significands have 53 bits too. */
static parts split(vy_emitter *e, LLVMValueRef bits) {
    LLVMValueRef field = exponent_field(e, bits);
    LLVMValueRef fraction = LLVMBuildAnd(e->builder, bits, word(e, (UINT64_C(1) << 52) - 1), "");
    LLVMValueRef is_subnormal = is(e, LLVMIntEQ, field, word(e, 0));
    LLVMValueRef shift = LLVMBuildSub(e->builder, leading_zeros(e, fraction), word(e, 11), "");
    LLVMValueRef safe = LLVMBuildAnd(e->builder, shift, word(e, 63), ""); /* for zero, the shift is 53 */
    LLVMValueRef up = LLVMBuildShl(e->builder, fraction, safe, "");
    LLVMValueRef normal = LLVMBuildOr(e->builder, fraction, word(e, UINT64_C(1) << 52), "");
    return (parts){choose(e, is_subnormal, up, normal),
                   choose(e, is_subnormal, LLVMBuildSub(e->builder, word(e, (uint64_t)-1074), safe, ""),
                          LLVMBuildSub(e->builder, field, word(e, 1075), ""))};
}

/* x >> shift for a shift from 0 on; the lowest bit is set if one was shifted out. */
static LLVMValueRef shift_sticky(vy_emitter *e, LLVMValueRef x, LLVMValueRef shift) {
    LLVMValueRef most = word(e, 127);
    LLVMValueRef amount = wide(e, choose(e, is(e, LLVMIntULT, shift, most), shift, most));
    LLVMValueRef down = LLVMBuildLShr(e->builder, x, amount, "");
    LLVMValueRef lost = is(e, LLVMIntNE, LLVMBuildShl(e->builder, down, amount, ""), x);
    return LLVMBuildOr(e->builder, down, wide(e, lost), "");
}

/* The float nearest to sum * 2^exponent, ties to even. */
static LLVMValueRef round_sum(vy_emitter *e, LLVMValueRef sum, LLVMValueRef exponent, LLVMValueRef sign) {
    LLVMValueRef zeros = LLVMBuildTrunc(e->builder, leading_zeros(e, sum), vy_llvm_int(e, 64), "");
    /* The significand is shifted to bits 2 to 54; the two bits below it determine the rounding. Subnormal results have
     * fewer. */
    LLVMValueRef down = LLVMBuildSub(e->builder, word(e, 73), zeros, "");
    LLVMValueRef least = LLVMBuildSub(e->builder, word(e, (uint64_t)-1076), exponent, "");
    down = choose(e, is(e, LLVMIntSGT, down, least), down, least);
    LLVMValueRef none = word(e, 0), is_up = is(e, LLVMIntSLT, down, none);
    LLVMValueRef up = wide(e, choose(e, is_up, LLVMBuildSub(e->builder, none, down, ""), none));
    LLVMValueRef shifted =
        choose(e, is_up, LLVMBuildShl(e->builder, sum, up, ""), shift_sticky(e, sum, choose(e, is_up, none, down)));
    LLVMValueRef bits = LLVMBuildTrunc(e->builder, shifted, vy_llvm_int(e, 64), "");
    LLVMValueRef rest = LLVMBuildAnd(e->builder, bits, word(e, 3), "");
    LLVMValueRef whole = LLVMBuildLShr(e->builder, bits, word(e, 2), "");
    LLVMValueRef is_odd = LLVMBuildAnd(e->builder, whole, word(e, 1), "");
    LLVMValueRef rounds_up = is(e, LLVMIntUGT, LLVMBuildAdd(e->builder, rest, is_odd, ""), word(e, 2));
    whole = LLVMBuildAdd(e->builder, whole, LLVMBuildZExt(e->builder, rounds_up, vy_llvm_int(e, 64), ""), "");
    /* whole * 2^(exponent + down + 2). Adding the exponent's field to the significand carries into it. */
    LLVMValueRef field = LLVMBuildAdd(e->builder, LLVMBuildAdd(e->builder, exponent, down, ""), word(e, 1076), "");
    LLVMValueRef result = LLVMBuildAdd(e->builder, LLVMBuildShl(e->builder, field, word(e, 52), ""), whole, "");
    LLVMValueRef infinity = word(e, UINT64_C(0x7ff) << 52);
    LLVMValueRef overflows =
        LLVMBuildOr(e->builder, is(e, LLVMIntSGT, field, word(e, 0x7fe)), is(e, LLVMIntUGT, result, infinity), "");
    result = choose(e, overflows, infinity, result);
    return LLVMBuildOr(e->builder, result, sign, "");
}

/* a * b + c for finite operands, where a and b are not zero. */
static LLVMValueRef exact_sum(vy_emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    LLVMValueRef sign_bit = word(e, UINT64_C(1) << 63), none = word(e, 0);
    parts x = split(e, a), y = split(e, b), z = split(e, c);
    LLVMValueRef product = LLVMBuildMul(e->builder, wide(e, x.significand), wide(e, y.significand), "");
    product = LLVMBuildShl(e->builder, product, vy_llvm_number(e, 128, 20), ""); /* below 2^126 */
    LLVMValueRef exponent =
        LLVMBuildSub(e->builder, LLVMBuildAdd(e->builder, x.exponent, y.exponent, ""), word(e, 20), "");
    LLVMValueRef addend = LLVMBuildShl(e->builder, wide(e, z.significand), vy_llvm_number(e, 128, 73), "");
    LLVMValueRef addend_exponent = LLVMBuildSub(e->builder, z.exponent, word(e, 73), ""); /* below 2^126 too */
    /* A zero addend has the exponent of the product. */
    addend_exponent = choose(e, is(e, LLVMIntEQ, z.significand, none), exponent, addend_exponent);

    LLVMValueRef is_above = is(e, LLVMIntSGT, addend_exponent, exponent);
    LLVMValueRef distance = LLVMBuildSub(e->builder, addend_exponent, exponent, "");
    LLVMValueRef back = LLVMBuildSub(e->builder, none, distance, "");
    product = shift_sticky(e, product, choose(e, is_above, distance, none));
    addend = shift_sticky(e, addend, choose(e, is_above, none, back));
    exponent = choose(e, is_above, addend_exponent, exponent);

    LLVMValueRef product_sign = LLVMBuildAnd(e->builder, LLVMBuildXor(e->builder, a, b, ""), sign_bit, "");
    LLVMValueRef addend_sign = LLVMBuildAnd(e->builder, c, sign_bit, "");
    LLVMValueRef is_sum = is(e, LLVMIntEQ, product_sign, addend_sign);
    LLVMValueRef is_less = is(e, LLVMIntULT, product, addend), is_equal = is(e, LLVMIntEQ, product, addend);
    LLVMValueRef larger = choose(e, is_less, addend, product), smaller = choose(e, is_less, product, addend);
    LLVMValueRef sum =
        choose(e, is_sum, LLVMBuildAdd(e->builder, larger, smaller, ""), LLVMBuildSub(e->builder, larger, smaller, ""));
    LLVMValueRef sign = choose(e, is_less, addend_sign, product_sign);
    LLVMValueRef vanishes = LLVMBuildAnd(e->builder, LLVMBuildNot(e->builder, is_sum, ""), is_equal, "");
    LLVMValueRef result = round_sum(e, sum, exponent, sign);
    return choose(e, vanishes, none, result);
}

static LLVMValueRef is_infinite_or_nan(vy_emitter *e, LLVMValueRef bits) {
    return is(e, LLVMIntEQ, exponent_field(e, bits), word(e, 0x7ff));
}

static LLVMValueRef is_zero(vy_emitter *e, LLVMValueRef bits) {
    return is(e, LLVMIntEQ, LLVMBuildShl(e->builder, bits, word(e, 1), ""), word(e, 0));
}

/* If a factor is infinite, NaN or zero, a * b is exact. If only the addend is infinite or NaN, it is the result: the
 * product could overflow to the opposite infinity. */
static void write_body(vy_emitter *e, LLVMValueRef function) {
    LLVMValueRef args[3], bits[3];
    for (unsigned i = 0; i < 3; i++) {
        args[i] = LLVMGetParam(function, i);
        bits[i] = as_word(e, args[i]);
    }
    LLVMValueRef is_special = is_infinite_or_nan(e, bits[0]);
    is_special = LLVMBuildOr(e->builder, is_special, is_infinite_or_nan(e, bits[1]), "");
    is_special = LLVMBuildOr(e->builder, is_special, is_zero(e, bits[0]), "");
    is_special = LLVMBuildOr(e->builder, is_special, is_zero(e, bits[1]), "");
    LLVMValueRef plain = LLVMBuildFAdd(e->builder, LLVMBuildFMul(e->builder, args[0], args[1], ""), args[2], "");
    LLVMValueRef exact = exact_sum(e, bits[0], bits[1], bits[2]);
    exact = LLVMBuildBitCast(e->builder, exact, LLVMTypeOf(plain), "");
    exact = choose(e, is_infinite_or_nan(e, bits[2]), args[2], exact);
    LLVMBuildRet(e->builder, choose(e, is_special, plain, exact));
}

static LLVMTypeRef function_type(vy_emitter *e) {
    LLVMTypeRef type = vy_llvm_type(e, VYRE_TYPE_F64);
    return LLVMFunctionType(type, (LLVMTypeRef[]){type, type, type}, 3, 0);
}

static LLVMValueRef soft_fma(vy_emitter *e) {
    static const char name[] = "vyre.fma", noinline[] = "noinline";
    LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
    if (function)
        return function;
    LLVMBasicBlockRef now = LLVMGetInsertBlock(e->builder);
    LLVMMetadataRef location = LLVMGetCurrentDebugLocation2(e->builder);
    function = LLVMAddFunction(e->module, name, function_type(e));
    LLVMSetLinkage(function, LLVMInternalLinkage);
    LLVMAddAttributeAtIndex(
        function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(e->context, LLVMGetEnumAttributeKindForName(noinline, sizeof noinline - 1), 0));
    LLVMSetCurrentDebugLocation2(e->builder, NULL);
    LLVMPositionBuilderAtEnd(e->builder, LLVMAppendBasicBlockInContext(e->context, function, ""));
    write_body(e, function);
    LLVMPositionBuilderAtEnd(e->builder, now);
    LLVMSetCurrentDebugLocation2(e->builder, location);
    return function;
}

LLVMValueRef vy_llvm_soft_fma(vy_emitter *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    LLVMValueRef function = soft_fma(e), all[3] = {a, b, c};
    LLVMTypeRef type = function_type(e);
    if (!vy_llvm_is_lanes(a))
        return LLVMBuildCall2(e->builder, type, function, all, 3, "");
    LLVMValueRef result = LLVMGetPoison(LLVMTypeOf(a));
    for (uint32_t i = 0; i < LLVMGetVectorSize(LLVMTypeOf(a)); i++) {
        LLVMValueRef lane[3];
        for (unsigned k = 0; k < 3; k++)
            lane[k] = vy_llvm_lane(e, all[k], i);
        LLVMValueRef one = LLVMBuildCall2(e->builder, type, function, lane, 3, "");
        result = LLVMBuildInsertElement(e->builder, result, one, vy_llvm_number(e, 32, i), "");
    }
    return result;
}
