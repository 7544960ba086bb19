/* Lanes taken apart: stores of narrow elements to places that follow no pattern. No processor scatters bytes, and what LLVM makes of it is a branch for every
 * lane, which takes long to compile. A loop over the lanes that execute is as fast and small. */
#include "emit/llvm/emitter.h"

#define B e->builder

int vy_llvm_is_narrow_scatter(const vy_emitter *e, LLVMValueRef value) {
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(value));
    return e->mask && LLVMGetTypeKind(type) == LLVMIntegerTypeKind &&
           (LLVMGetIntTypeWidth(type) == 8 || LLVMGetIntTypeWidth(type) == 16);
}

/* A place in memory for the lanes, the same for all stores of the type. */
static LLVMValueRef put(vy_emitter *e, LLVMValueRef lanes, LLVMValueRef *place) {
    if (!*place)
        *place = vy_llvm_alloca(e, LLVMTypeOf(lanes), "apart");
    LLVMBuildStore(B, lanes, *place);
    return *place;
}

static LLVMValueRef get(vy_emitter *e, LLVMTypeRef type, LLVMValueRef place, LLVMValueRef lane) {
    return LLVMBuildLoad2(B, type, LLVMBuildGEP2(B, type, place, &lane, 1, ""), "");
}

void vy_llvm_scatter_narrow(vy_emitter *e, uint32_t memory, LLVMValueRef index, LLVMValueRef value) {
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(value));
    unsigned bits = LLVMGetIntTypeWidth(type);
    LLVMValueRef indices = put(e, index, &e->apart[0]), values = put(e, value, &e->apart[bits / 8]);
    LLVMValueRef all = vy_llvm_bits(e, e->mask);
    LLVMTypeRef set = LLVMTypeOf(all);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(B), loop = vy_llvm_block(e, "lane"), end = vy_llvm_block(e, "apart");
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntNE, all, LLVMConstNull(set), ""), loop, end);
    vy_llvm_position_at(e, loop);
    LLVMValueRef left = LLVMBuildPhi(B, set, ""), args[2] = {left, vy_llvm_number(e, 1, 1)};
    LLVMValueRef lane = vy_llvm_intrinsic(e, "llvm.cttz", &set, 1, args, 2);
    LLVMValueRef at = vy_llvm_address(e, memory, get(e, vy_llvm_int(e, 32), indices, lane));
    LLVMSetAlignment(LLVMBuildStore(B, get(e, type, values, lane), at), bits / 8);
    LLVMValueRef next = LLVMBuildAnd(B, left, LLVMBuildSub(B, left, LLVMConstInt(set, 1, 0), ""), "");
    LLVMAddIncoming(left, (LLVMValueRef[]){all, next}, (LLVMBasicBlockRef[]){before, loop}, 2);
    LLVMBuildCondBr(B, LLVMBuildICmp(B, LLVMIntNE, next, LLVMConstNull(set), ""), loop, end);
    vy_llvm_position_at(e, end);
}
