/* Load combining: a word that a program combines from bytes, u32(d[i]) | u32(d[i + 1]) << 8 | …, in either byte
 * order, becomes one gather of unaligned words.
 *
 * Invariant: the word is loaded only if every active lane may load all four bytes; otherwise the bytes are loaded
 * one by one. The gather of words replaces four gathers of bytes. */
#include "emit/llvm/emitter.h"

#include "analysis/affine_index.h"

enum { BYTES = 4 };

typedef struct word {
    uint32_t memory;
    uint32_t loads[BYTES]; /* the loads, by distance from the first index */
    uint32_t shifts[BYTES];
    uint32_t count;
} word;

/* An index as a root plus a constant. A `let` is followed if its value cannot have changed since. */
typedef struct place {
    uint32_t root; /* an expression, or a variable */
    uint32_t is_variable;
    uint32_t offset;
} place;

static place place_of(const vy_emitter *e, uint32_t expr) {
    const vy_expr *exprs = e->program->exprs.items, *x = &exprs[expr];
    vy_affine_index at = {expr, 0};
    if (vy_affine_index_peel(e->program, &at) && exprs[at.base].kind == VY_EXPR_VARIABLE)
        return (place){exprs[at.base].a, 1, at.offset};
    if (x->kind != VY_EXPR_VARIABLE)
        return (place){expr, 0, 0};
    uint32_t made_of = e->slots[x->a].made_of;
    if (made_of == VY_NONE || exprs[made_of].kind != VY_EXPR_OP)
        return (place){x->a, 1, 0};
    place inner = place_of(e, made_of);
    return inner.is_variable && e->slots[inner.root].made_of != VY_NONE ? inner : (place){x->a, 1, 0};
}

/* Records a byte of the word: u32(load), shifted. */
static int note_byte(const vy_emitter *e, uint32_t expr, word *w) {
    const vy_expr *exprs = e->program->exprs.items, *x = &exprs[expr];
    uint32_t shift = 0;
    if (x->kind == VY_EXPR_OP && x->op == VYRE_OP_SHL && exprs[x->b].kind == VY_EXPR_LITERAL) {
        shift = (uint32_t)exprs[x->b].bits;
        x = &exprs[x->a];
    }
    if (x->kind != VY_EXPR_OP || x->op != VYRE_OP_CAST || x->type != VYRE_TYPE_U32)
        return 0;
    const vy_expr *load = &exprs[x->a];
    if (load->kind != VY_EXPR_LOAD || load->op != VY_BOUNDS_UNCHECKED || load->type != VYRE_TYPE_U8 ||
        e->program->memories.items[load->a].space == VY_SPACE_PRIVATE || w->count == BYTES)
        return 0;
    w->memory = load->a;
    w->loads[w->count] = x->a;
    w->shifts[w->count++] = shift;
    return 1;
}

/* Recursion is bounded by BYTES. */
static int note_bytes(const vy_emitter *e, uint32_t expr, word *w, unsigned depth) {
    const vy_expr *x = &e->program->exprs.items[expr];
    if (x->kind == VY_EXPR_OP && x->op == VYRE_OP_OR && depth < BYTES)
        return note_bytes(e, x->a, w, depth + 1) && note_bytes(e, x->b, w, depth + 1);
    return note_byte(e, expr, w);
}

static void swap(uint32_t *a, uint32_t *b) {
    uint32_t kept = *a;
    *a = *b;
    *b = kept;
}

/* Sorts the loads by index. Returns whether they are four contiguous bytes of one memory. */
static int are_side_by_side(const vy_emitter *e, word *w) {
    const vy_expr *exprs = e->program->exprs.items;
    place places[BYTES];
    for (unsigned i = 0; i < BYTES; i++)
        places[i] = place_of(e, exprs[w->loads[i]].b);
    uint32_t middle = places[0].offset - BYTES; /* offsets may be negative */
    for (unsigned i = 0; i < BYTES; i++)
        for (unsigned k = i + 1; k < BYTES; k++)
            if (places[k].offset - middle < places[i].offset - middle) {
                place kept = places[i];
                places[i] = places[k];
                places[k] = kept;
                swap(&w->loads[i], &w->loads[k]);
                swap(&w->shifts[i], &w->shifts[k]);
            }
    for (unsigned i = 0; i < BYTES; i++)
        if (exprs[w->loads[i]].a != w->memory || !places[i].is_variable || places[i].root != places[0].root ||
            places[i].offset != places[0].offset + i)
            return 0;
    return 1;
}

/* 1: little-endian, 2: big-endian, 0: neither. */
static int order_of(const word *w) {
    int little = 1, big = 1;
    for (unsigned i = 0; i < BYTES; i++) {
        little &= w->shifts[i] == 8 * i;
        big &= w->shifts[i] == 24 - 8 * i;
    }
    return little ? 1 : big ? 2 : 0;
}

static int is_word(const vy_emitter *e, const vy_expr *x, word *w) {
    uint64_t stride;
    if (x->op != VYRE_OP_OR || x->type != VYRE_TYPE_U32 || !note_bytes(e, x->a, w, 1) || !note_bytes(e, x->b, w, 1) ||
        w->count != BYTES || !order_of(w) || !are_side_by_side(e, w))
        return 0;
    uint32_t index = e->program->exprs.items[w->loads[0]].b;
    return order_of(w) && vy_expr_uniformity(e->uniform, index) == VY_UNIFORMITY_DIVERGENT &&
           !(e->row && vy_stride_of(e->uniform, index, &stride) && stride <= 1);
}

/* The indices of all bytes that a lane may load are below the length, so they do not wrap. */
static LLVMValueRef may_load_all(vy_emitter *e, const word *w) {
    LLVMValueRef all = NULL;
    for (unsigned i = 0; i < BYTES; i++) {
        uint32_t condition = e->program->exprs.items[w->loads[i]].c;
        if (condition != VY_NONE)
            all = vy_llvm_both(e, all, vy_llvm_expr_lanes(e, condition));
    }
    if (all && e->mask)
        all = LLVMBuildOr(e->builder, all, LLVMBuildNot(e->builder, e->mask, ""), "");
    return all ? vy_llvm_all(e, all) : vy_llvm_number(e, 1, 1);
}

static LLVMValueRef load_word(vy_emitter *e, const word *w) {
    LLVMValueRef index = vy_llvm_expr_lanes(e, e->program->exprs.items[w->loads[0]].b);
    LLVMValueRef value = vy_llvm_gather_words(e, vy_llvm_address(e, w->memory, index));
    LLVMTypeRef lanes = LLVMTypeOf(value);
    return order_of(w) == 1 ? value : vy_llvm_intrinsic(e, "llvm.bswap", &lanes, 1, &value, 1);
}

LLVMValueRef vy_llvm_combine_loads(vy_emitter *e, const vy_expr *x,
                                   LLVMValueRef (*otherwise)(vy_emitter *e, const vy_expr *x)) {
    word w = {0};
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
