/* Workarounds for LLVM errata that rewrite the optimised module (emitter.h). Invariant: the results of the module do
 * not change.
 *
 * Masked loads, for AVX and AVX2 without AVX-512. The code generator represents such a mask as integers of which the
 * processor reads the sign bit, and simplifies them with only that bit demanded: a lane that is known false may
 * become 1. Then combineMaskedLoadConstantMask (X86ISelLowering.cpp) treats every constant other than zero as true,
 * and replaces the masked load by a load of the whole register (masked-load-constant). That load has a memory
 * operand without a size, which ends the process in the pass X86AvoidStoreForwardingBlocks (masked-load-size).
 * Neither happens if
 * - no lane of a variable mask is known: the mask passes through llvm.arithmetic.fence, which emits no instruction;
 * - a constant mask covers one register, and its first or last lane is false.
 *
 * Sums with masks, for AVX-512. The code generator turns y + zext(m) into y - sext(m), y - zext(m) into y + sext(m),
 * and sext(m) into zext(m) where it can prove that m is false: if it proves that for a whole register, it does so
 * forever (mask-sum-loop). A select between y + 1 and y is not turned into any of these.
 *
 * Selects between x and a logic op of x, for AVX-512. They become one vpternlog with a mask register, whose first
 * operand is x. For some orders of the operands the instruction selector reorders them without the truth table
 * (masked-ternary-logic). A logic op whose result passes through llvm.arithmetic.fence is not merged into the
 * select.
 *
 * Minimum and maximum of scalar halfs, for x86-64. The instruction selector turns `x < y ? x : y` into a minimum
 * if y is known not to be NaN. A processor without arithmetic on halfs has no such instruction, and the code
 * calls fminf of the C library, which no code object contains (half-minimum-call). A select between the same bits as
 * integers is not turned into a minimum. */
#include "emit/llvm/emitter.h"

#include <string.h>

enum { REGISTER_BITS = 256 };

/* ---- masked loads ---- */

typedef struct masked_load {
    LLVMValueRef call, at, mask, otherwise;
    LLVMTypeRef element;
    unsigned bits, lanes, alignment; /* bits of an element */
} masked_load;

static unsigned bits_of(LLVMTypeRef element) {
    switch (LLVMGetTypeKind(element)) {
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(element);
    case LLVMFloatTypeKind:
        return 32;
    case LLVMDoubleTypeKind:
        return 64;
    default:
        return 0;
    }
}

/* Other masked loads (of 8 and 16 bits, or one lane) have no instruction: LLVM emits a branch for each lane. */
static int is_masked_load(LLVMValueRef instruction, masked_load *out) {
    static const char name[] = "llvm.masked.load";
    if (LLVMGetInstructionOpcode(instruction) != LLVMCall ||
        LLVMGetIntrinsicID(LLVMGetCalledValue(instruction)) != LLVMLookupIntrinsicID(name, strlen(name)))
        return 0;
    LLVMTypeRef type = LLVMTypeOf(instruction);
    *out = (masked_load){.call = instruction,
                         .at = LLVMGetOperand(instruction, 0),
                         .alignment = (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(instruction, 1)),
                         .mask = LLVMGetOperand(instruction, 2),
                         .otherwise = LLVMGetOperand(instruction, 3),
                         .element = LLVMGetElementType(type),
                         .lanes = LLVMGetVectorSize(type)};
    out->bits = bits_of(out->element);
    return (out->bits == 32 || out->bits == 64) && out->lanes > 1;
}

/* ---- variable masks ---- */

/* The mask recomputed from the sign bits of an opaque value. */
static LLVMValueRef hidden(vy_emitter *e, const masked_load *load) {
    LLVMTypeRef integers = LLVMVectorType(vy_llvm_int(e, load->bits), load->lanes);
    LLVMTypeRef floats = LLVMVectorType(vy_llvm_type(e, load->bits == 32 ? VYRE_TYPE_F32 : VYRE_TYPE_F64), load->lanes);
    LLVMValueRef signs = LLVMBuildBitCast(e->builder, LLVMBuildSExt(e->builder, load->mask, integers, ""), floats, "");
    signs = LLVMBuildBitCast(e->builder, vy_llvm_fence(e, signs), integers, "");
    return LLVMBuildICmp(e->builder, LLVMIntSLT, signs, LLVMConstNull(integers), "");
}

/* ---- constant masks ---- */

/* Loads lanes [first, first + count), which fit a register. All bytes between two active lanes are mapped, so if the
 * first and the last lane are active, the whole register is loaded. */
static LLVMValueRef load_part(vy_emitter *e, const masked_load *load, unsigned first, unsigned count) {
    LLVMTypeRef type = LLVMVectorType(load->element, count);
    LLVMValueRef lanes[VY_LLVM_LANES], at = load->at, otherwise = vy_llvm_slice(e, load->otherwise, first, count);
    unsigned set = 0;
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef lane = LLVMGetAggregateElement(load->mask, first + i);
        lanes[i] = vy_llvm_number(e, 1, LLVMIsAConstantInt(lane) && LLVMConstIntGetZExtValue(lane));
        set += LLVMConstIntGetZExtValue(lanes[i]) != 0;
    }
    if (!set)
        return otherwise;
    if (first)
        at = vy_llvm_offset_pointer(e, at, vy_llvm_number(e, 64, (uint64_t)first * load->bits / 8));
    LLVMValueRef mask = LLVMConstVector(lanes, count), value;
    if (LLVMConstIntGetZExtValue(lanes[0]) && LLVMConstIntGetZExtValue(lanes[count - 1])) {
        value = LLVMBuildLoad2(e->builder, type, at, "");
        LLVMSetAlignment(value, load->alignment);
        return set == count ? value : LLVMBuildSelect(e->builder, mask, value, otherwise, "");
    }
    LLVMTypeRef types[2] = {type, vy_llvm_pointer(e)};
    LLVMValueRef args[4] = {at, vy_llvm_number(e, 32, load->alignment), mask, otherwise};
    return vy_llvm_intrinsic(e, "llvm.masked.load", types, 2, args, 4);
}

static LLVMValueRef load_parts(vy_emitter *e, const masked_load *load) {
    unsigned most = REGISTER_BITS / load->bits, count = load->lanes < most ? load->lanes : most;
    LLVMValueRef parts[VY_LLVM_LANES];
    for (unsigned i = 0; i < load->lanes / count; i++)
        parts[i] = load_part(e, load, i * count, count);
    return vy_llvm_join(e, parts, count, load->lanes);
}

/* ---- sums with masks ---- */

/* The mask of which a value is an extension: returns 1 for 0 or 1, -1 for 0 or -1, 0 if the value is not of that
 * form. */
static int mask_of(LLVMValueRef value, LLVMValueRef *mask) {
    if (!LLVMIsAInstruction(value))
        return 0;
    LLVMOpcode op = LLVMGetInstructionOpcode(value);
    if (op != LLVMZExt && op != LLVMSExt && op != LLVMTrunc)
        return 0;
    LLVMValueRef from = LLVMGetOperand(value, 0);
    LLVMTypeRef type = LLVMTypeOf(from);
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return 0;
    if (LLVMGetIntTypeWidth(LLVMGetElementType(type)) != 1) { /* an extension or truncation of a wider value */
        int is = mask_of(from, mask);
        return is < 0 && op == LLVMZExt ? 0 : is;
    }
    *mask = from;
    return op == LLVMZExt ? 1 : -1;
}

/* A vector with n in every lane. */
static LLVMValueRef all_lanes(LLVMTypeRef type, int n) {
    LLVMValueRef lanes[VY_LLVM_LANES];
    for (unsigned i = 0; i < LLVMGetVectorSize(type); i++)
        lanes[i] = LLVMConstInt(LLVMGetElementType(type), (unsigned long long)n, 1);
    return LLVMConstVector(lanes, LLVMGetVectorSize(type));
}

/* value + n, in a form that is not a sum with a mask. */
static LLVMValueRef sum(vy_emitter *e, LLVMValueRef value, int n) {
    LLVMTypeRef type = LLVMTypeOf(value);
    LLVMValueRef mask;
    int is = mask_of(value, &mask);
    return is ? LLVMBuildSelect(e->builder, mask, all_lanes(type, n + is), all_lanes(type, n), "")
              : LLVMBuildAdd(e->builder, value, all_lanes(type, n), "");
}

static void rewrite_sum(vy_emitter *e, LLVMValueRef instruction) {
    LLVMOpcode op = LLVMGetInstructionOpcode(instruction);
    if ((op != LLVMAdd && op != LLVMSub) || LLVMGetTypeKind(LLVMTypeOf(instruction)) != LLVMVectorTypeKind)
        return;
    LLVMValueRef other = LLVMGetOperand(instruction, 0), mask;
    int is = mask_of(LLVMGetOperand(instruction, 1), &mask);
    if (!is && op == LLVMAdd) {
        other = LLVMGetOperand(instruction, 1);
        is = mask_of(LLVMGetOperand(instruction, 0), &mask);
    }
    if (!is)
        return;
    LLVMPositionBuilderBefore(e->builder, instruction);
    LLVMValueRef value = sum(e, other, op == LLVMAdd ? is : -is);
    LLVMReplaceAllUsesWith(instruction, LLVMBuildSelect(e->builder, mask, value, other, ""));
    LLVMInstructionEraseFromParent(instruction);
}

/* ---- selects between a value and a logic op of it ---- */

enum { LOGIC_DEPTH = 4 }; /* a vpternlog combines two ops, and the complements of its operands */

static LLVMValueRef without_casts(LLVMValueRef value) {
    while (LLVMIsABitCastInst(value))
        value = LLVMGetOperand(value, 0);
    return value;
}

static int is_call_of(LLVMValueRef value, const char *intrinsic) {
    LLVMValueRef called = LLVMIsACallInst(value) ? LLVMGetCalledValue(value) : NULL;
    return called && LLVMIsAFunction(called) &&
           LLVMGetIntrinsicID(called) == LLVMLookupIntrinsicID(intrinsic, strlen(intrinsic));
}

/* The number of operands of a bitwise logic op; 0 for other instructions. */
static unsigned logic_operands(LLVMValueRef value) {
    if (!LLVMIsAInstruction(value))
        return 0;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
        return 2;
    case LLVMFNeg:
        return 1;
    case LLVMCall:
        return is_call_of(value, "llvm.copysign") ? 2 : is_call_of(value, "llvm.fabs") ? 1 : 0;
    default:
        return 0;
    }
}

/* Whether a logic op has this operand, directly or through other logic ops. */
static int is_logic_of(LLVMValueRef op, LLVMValueRef operand, unsigned depth) {
    unsigned count = depth ? logic_operands(op) : 0;
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef part = without_casts(LLVMGetOperand(op, i));
        if (part == operand || is_logic_of(part, operand, depth - 1))
            return 1;
    }
    return 0;
}

/* A select by a constant mask is a shuffle. */
static void rewrite_choice(vy_emitter *e, LLVMValueRef instruction) {
    LLVMTypeRef type = LLVMTypeOf(instruction);
    unsigned first = LLVMIsASelectInst(instruction) ? 1 : 0;
    if ((!first && !LLVMIsAShuffleVectorInst(instruction)) || LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return;
    unsigned bits = bits_of(LLVMGetElementType(type));
    if (bits != 32 && bits != 64)
        return;
    for (unsigned arm = 0; arm <= 1; arm++) {
        LLVMValueRef value = LLVMGetOperand(instruction, first + arm);
        LLVMValueRef other = without_casts(LLVMGetOperand(instruction, first + 1 - arm));
        if (!is_logic_of(without_casts(value), other, LOGIC_DEPTH))
            continue;
        LLVMTypeRef held = LLVMTypeOf(value);
        LLVMTypeRef floats =
            LLVMVectorType(vy_llvm_type(e, bits == 32 ? VYRE_TYPE_F32 : VYRE_TYPE_F64), LLVMGetVectorSize(held));
        LLVMPositionBuilderBefore(e->builder, instruction);
        value = vy_llvm_fence(e, LLVMBuildBitCast(e->builder, value, floats, ""));
        LLVMSetOperand(instruction, first + arm, LLVMBuildBitCast(e->builder, value, held, ""));
    }
}

/* ---- selects of scalar halfs ---- */

static void rewrite_half_choice(vy_emitter *e, LLVMValueRef instruction) {
    LLVMTypeRef half = LLVMTypeOf(instruction), bits = LLVMInt16TypeInContext(e->context);
    if (!LLVMIsASelectInst(instruction) || LLVMGetTypeKind(half) != LLVMHalfTypeKind ||
        !LLVMIsAFCmpInst(LLVMGetOperand(instruction, 0)))
        return;
    LLVMPositionBuilderBefore(e->builder, instruction);
    LLVMValueRef chosen = LLVMBuildBitCast(e->builder, LLVMGetOperand(instruction, 1), bits, "");
    LLVMValueRef other = LLVMBuildBitCast(e->builder, LLVMGetOperand(instruction, 2), bits, "");
    LLVMValueRef choice = LLVMBuildSelect(e->builder, LLVMGetOperand(instruction, 0), chosen, other, "");
    LLVMReplaceAllUsesWith(instruction, LLVMBuildBitCast(e->builder, choice, half, ""));
    LLVMInstructionEraseFromParent(instruction);
}

/* ---- the module ---- */

static void rewrite_load(vy_emitter *e, LLVMValueRef instruction) {
    masked_load load;
    if (!is_masked_load(instruction, &load))
        return;
    LLVMPositionBuilderBefore(e->builder, instruction);
    if (!LLVMIsConstant(load.mask)) {
        LLVMSetOperand(instruction, 2, hidden(e, &load));
        return;
    }
    LLVMReplaceAllUsesWith(instruction, load_parts(e, &load));
    LLVMInstructionEraseFromParent(instruction);
}

static void rewrite_each(LLVMModuleRef module, void (*rewrite)(vy_emitter *e, LLVMValueRef instruction)) {
    vy_emitter e = {.context = LLVMGetModuleContext(module), .module = module};
    e.builder = LLVMCreateBuilderInContext(e.context);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                rewrite(&e, i);
            }
    LLVMDisposeBuilder(e.builder);
}

void vy_llvm_errata_rewrite(LLVMModuleRef module, uint32_t errata) {
    static const struct {
        uint32_t erratum;
        void (*rewrite)(vy_emitter *e, LLVMValueRef instruction);
    } rows[] = {{VY_LLVM_ERRATUM_HALF_MINIMUM, rewrite_half_choice},
                {VY_LLVM_ERRATUM_MASK_SUMS, rewrite_sum},
                {VY_LLVM_ERRATUM_MASKED_LOGIC, rewrite_choice},
                {VY_LLVM_ERRATUM_MASKED_LOADS, rewrite_load}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (errata & rows[i].erratum)
            rewrite_each(module, rows[i].rewrite);
}
