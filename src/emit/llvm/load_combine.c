/* Load combining: a word that a program combines from bytes (analysis/byte_word.h) becomes one gather of unaligned
 * words.
 *
 * Invariant: the word is loaded only if every active lane may load all four bytes; otherwise the bytes are loaded
 * one by one. The gather of words replaces four gathers of bytes. */
#include "emit/llvm/emitter.h"

#include "analysis/byte_word.h"

static uint32_t let_of(const void *emitter, uint32_t variable) {
    return ((const vy_emitter *)emitter)->slots[variable].made_of;
}

/* Whether an expression is a word for which a gather pays. */
static int is_word(const vy_emitter *e, const vy_expr *x, vy_byte_word *w) {
    uint64_t stride;
    if (!vy_byte_word_of(e->program, x, let_of, e, w) ||
        e->program->memories.items[w->memory].space == VY_SPACE_PRIVATE)
        return 0;
    uint32_t index = e->program->exprs.items[w->loads[0]].b;
    return vy_expr_uniformity(e->uniform, index) == VY_UNIFORMITY_DIVERGENT &&
           !(e->row && vy_stride_of(e->uniform, index, &stride) && stride <= 1);
}

/* The indices of all bytes that a lane may load are below the length, so they do not wrap. */
static LLVMValueRef may_load_all(vy_emitter *e, const vy_byte_word *w) {
    LLVMValueRef all = NULL;
    for (unsigned i = 0; i < VY_WORD_BYTES; i++) {
        uint32_t condition = e->program->exprs.items[w->loads[i]].c;
        if (condition != VY_NONE)
            all = vy_llvm_both(e, all, vy_llvm_expr_lanes(e, condition));
    }
    if (all && e->mask)
        all = LLVMBuildOr(e->builder, all, LLVMBuildNot(e->builder, e->mask, ""), "");
    return all ? vy_llvm_all(e, all) : vy_llvm_number(e, 1, 1);
}

static LLVMValueRef load_word(vy_emitter *e, const vy_byte_word *w) {
    LLVMValueRef index = vy_llvm_expr_lanes(e, e->program->exprs.items[w->loads[0]].b);
    LLVMValueRef value = vy_llvm_gather_words(e, vy_llvm_address(e, w->memory, index));
    LLVMTypeRef lanes = LLVMTypeOf(value);
    return w->is_big_endian ? vy_llvm_intrinsic(e, "llvm.bswap", &lanes, 1, &value, 1) : value;
}

LLVMValueRef vy_llvm_combine_loads(vy_emitter *e, const vy_expr *x,
                                   LLVMValueRef (*otherwise)(vy_emitter *e, const vy_expr *x)) {
    vy_byte_word w;
    if (!is_word(e, x, &w))
        return NULL;
    LLVMBasicBlockRef yes = vy_llvm_block(e, "word"), no = vy_llvm_block(e, "bytes"), end = vy_llvm_block(e, "loaded");
    LLVMBuildCondBr(e->builder, may_load_all(e, &w), yes, no);
    vy_llvm_position_at(e, yes);
    LLVMValueRef whole = load_word(e, &w);
    vy_llvm_branch_to(e, end);
    vy_llvm_position_at(e, no);
    LLVMValueRef bytes = otherwise(e, x);
    no = LLVMGetInsertBlock(e->builder);
    vy_llvm_branch_to(e, end);
    vy_llvm_position_at(e, end);
    LLVMValueRef phi = LLVMBuildPhi(e->builder, LLVMTypeOf(whole), "");
    LLVMAddIncoming(phi, (LLVMValueRef[]){whole, bytes}, (LLVMBasicBlockRef[]){yes, no}, 2);
    return phi;
}
