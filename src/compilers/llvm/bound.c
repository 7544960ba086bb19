/* Bounds on compile time: splitting of long blocks, and an estimate of the work of promotion (bound.h). */
#include "compilers/llvm/bound.h"

#include <stddef.h>

/* ---- long blocks ---- */

static LLVMContextRef context_of(LLVMValueRef function) {
    return LLVMGetModuleContext(LLVMGetGlobalParent(function));
}

static unsigned count_instructions(LLVMBasicBlockRef block) {
    unsigned count = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
        count++;
    return count;
}

/* Jumps to `from` become jumps to `to`. */
static void retarget(LLVMBasicBlockRef from, LLVMBasicBlockRef to) {
    LLVMUseRef use;
    while ((use = LLVMGetFirstUse(LLVMBasicBlockAsValue(from)))) {
        LLVMValueRef jump = LLVMGetUser(use);
        for (unsigned i = 0; i < LLVMGetNumSuccessors(jump); i++)
            if (LLVMGetSuccessor(jump, i) == from)
                LLVMSetSuccessor(jump, i, to);
    }
}

/* Phis begin a block. Variables are in the first block of a function, where they have a place in the frame. */
static int stays_in_front(LLVMValueRef instruction) {
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    return opcode == LLVMPHI || opcode == LLVMAlloca;
}

/* The first part of a block becomes a block of its own before it; returns how many instructions that has. The rest
 * keeps the jump at its end, so that phis behind it stay as they are. A jump alone between the two would be removed by
 * the code generator, which does not know that a frame is never NULL. */
static unsigned split_front(LLVMBuilderRef builder, LLVMBasicBlockRef block, LLVMBasicBlockRef never) {
    LLVMValueRef function = LLVMGetBasicBlockParent(block);
    LLVMBasicBlockRef front = LLVMInsertBasicBlockInContext(context_of(function), block, "");
    LLVMValueRef frame = LLVMGetParam(function, 0), i = LLVMGetFirstInstruction(block), next;
    unsigned moved = 0;
    retarget(block, front);
    LLVMPositionBuilderAtEnd(builder, front);
    for (; moved < VY_LLVM_BLOCK_PART || stays_in_front(i); i = next, moved++) {
        next = LLVMGetNextInstruction(i);
        LLVMInstructionRemoveFromParent(i);
        LLVMInsertIntoBuilder(builder, i);
    }
    LLVMBuildCondBr(builder, LLVMBuildICmp(builder, LLVMIntEQ, frame, LLVMConstNull(LLVMTypeOf(frame)), ""), never,
                    block);
    return moved;
}

static LLVMBasicBlockRef make_return(LLVMBuilderRef builder, LLVMValueRef function) {
    LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(context_of(function), function, "never");
    LLVMPositionBuilderAtEnd(builder, block);
    LLVMBuildRetVoid(builder);
    return block;
}

static void split_function(LLVMBuilderRef builder, LLVMValueRef function) {
    LLVMBasicBlockRef never = NULL;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
        unsigned count = count_instructions(b);
        if (count <= VY_LLVM_BLOCK_LIMIT)
            continue;
        never = never ? never : make_return(builder, function);
        while (count > 2 * VY_LLVM_BLOCK_PART)
            count -= split_front(builder, b, never);
    }
}

void vy_llvm_split_blocks(LLVMModuleRef module) {
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        split_function(builder, f);
    LLVMDisposeBuilder(builder);
}

/* ---- promotion ---- */

/* Whether sroa follows a variable from block to block. One that is used in one block, or stored to once, it replaces
 * at once. */
static int is_followed(LLVMValueRef variable) {
    LLVMBasicBlockRef first = NULL;
    unsigned stores = 0;
    int is_spread = 0;
    for (LLVMUseRef use = LLVMGetFirstUse(variable); use && (stores < 2 || !is_spread); use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        LLVMBasicBlockRef block = LLVMGetInstructionParent(user);
        stores += LLVMGetInstructionOpcode(user) == LLVMStore;
        is_spread |= first && block != first;
        first = block;
    }
    return stores > 1 && is_spread;
}

/* All variables are in the first block. */
static uint64_t count_followed(LLVMValueRef function) {
    uint64_t count = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)); i; i = LLVMGetNextInstruction(i))
        count += LLVMGetInstructionOpcode(i) == LLVMAlloca && is_followed(i);
    return count;
}

uint64_t vy_llvm_promotion_work(LLVMModuleRef module) {
    uint64_t work = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            work += count_followed(f) * LLVMCountBasicBlocks(f);
    return work;
}
