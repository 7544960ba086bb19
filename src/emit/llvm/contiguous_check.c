/* Run-time contiguity checks: indices without a known stride are compared at run time, and accessed as vectors where
 * they are contiguous.
 *
 * Such indices are often contiguous, for example those of a butterfly, or of a tile whose size is a param. A vector
 * access costs a tenth of a gather; the check costs about as much.
 *
 * A gang is checked in parts, which are vectors of the processor or of a few more lanes. The vector access is used
 * only if all parts are contiguous. */
#include "emit/llvm/emitter.h"

#define B e->builder

enum { PART = 16 };

static uint32_t part_lanes(const vy_emitter *e) {
    return e->width < PART ? e->width : PART;
}

/* ---- what is worth a question ---- */

/* Whether a value is computed of ids and of what is the same, not loaded. Recursion is bounded by
 * VY_LIMIT_EXPRESSION_DEPTH. */
static int is_computed(const vy_emitter *e, uint32_t expr) {
    if (expr == VY_NONE || vy_expr_uniformity(e->uniform, expr) != VY_UNIFORMITY_DIVERGENT)
        return 1;
    const vy_expr *x = &e->program->exprs.items[expr];
    if (x->kind == VY_EXPR_VARIABLE)
        return e->slots[x->a].is_computed;
    if (x->kind == VY_EXPR_OP)
        return is_computed(e, x->a) && is_computed(e, x->b) && is_computed(e, x->c);
    return x->kind != VY_EXPR_LOAD;
}

void vy_llvm_plan_contiguous_checks(vy_emitter *e) {
    for (uint32_t i = e->body->first_stmt; i < e->body->end_stmt; i++) {
        const vy_stmt *s = &e->program->stmts.items[i];
        if (s->kind == VY_STMT_LET || s->kind == VY_STMT_VAR)
            e->slots[s->variable].is_computed = (uint8_t)is_computed(e, s->a);
        else if (s->kind == VY_STMT_ASSIGN)
            e->slots[s->variable].is_computed &= (uint8_t)is_computed(e, s->a);
    }
}

int vy_llvm_may_be_contiguous(const vy_emitter *e, uint32_t memory, uint32_t index) {
    return e->program->memories.items[memory].space != VY_SPACE_PRIVATE && is_computed(e, index);
}

/* ---- the question ---- */

/* Of every lane: its number in its part, or that of the part's first lane. */
static LLVMValueRef numbers(vy_emitter *e, int of_first) {
    LLVMValueRef all[VY_LLVM_LANES];
    uint32_t part = part_lanes(e);
    for (uint32_t i = 0; i < e->width; i++)
        all[i] = vy_llvm_number(e, 32, of_first ? i - i % part : i % part);
    return LLVMConstVector(all, e->width);
}

/* Lanes of where their part starts, if it is a run. */
static LLVMValueRef starts_of(vy_emitter *e, LLVMValueRef index) {
    return LLVMBuildSub(B, index, numbers(e, 0), "");
}

/* Under a mask a part may start below zero, and what is computed of its first lane would be far off: such a part is
 * none. */
LLVMValueRef vy_llvm_is_contiguous_dyn(vy_emitter *e, LLVMValueRef index, LLVMValueRef mask) {
    LLVMValueRef starts = starts_of(e, index);
    LLVMValueRef first = LLVMBuildShuffleVector(B, starts, LLVMGetPoison(LLVMTypeOf(starts)), numbers(e, 1), "");
    LLVMValueRef is = LLVMBuildICmp(B, LLVMIntEQ, starts, first, "");
    if (mask)
        is = LLVMBuildAnd(B, is, LLVMBuildICmp(B, LLVMIntULE, starts, index, ""), "");
    return vy_llvm_all(e, is);
}

/* ---- accesses ---- */

typedef struct part {
    LLVMValueRef at, mask; /* NULL: all */
    LLVMValueRef lanes;    /* numbers of them */
} part;

/* The numbers of a part's lanes. */
static LLVMValueRef lanes_from(vy_emitter *e, uint32_t first) {
    LLVMValueRef all[PART];
    for (uint32_t i = 0; i < part_lanes(e); i++)
        all[i] = vy_llvm_number(e, 32, first + i);
    return LLVMConstVector(all, part_lanes(e));
}

static part part_at(vy_emitter *e, uint32_t memory, LLVMValueRef index, LLVMValueRef mask, uint32_t first) {
    part p = {.at = vy_llvm_address(e, memory, vy_llvm_lane(e, index, first)), .lanes = lanes_from(e, first)};
    if (mask)
        p.mask = LLVMBuildShuffleVector(B, mask, LLVMGetPoison(LLVMTypeOf(mask)), p.lanes, "");
    return p;
}

static LLVMValueRef alignment_of(vy_emitter *e, uint32_t memory) {
    return vy_llvm_number(e, 32, vy_llvm_size((vyre_type)e->program->memories.items[memory].type));
}

/* The lanes of a vector's start in a longer one. */
static LLVMValueRef put_part(vy_emitter *e, LLVMValueRef whole, LLVMValueRef value, uint32_t first) {
    LLVMValueRef places[VY_LLVM_LANES];
    uint32_t lanes = part_lanes(e);
    if (lanes == e->width)
        return value;
    for (uint32_t i = 0; i < e->width; i++)
        places[i] = vy_llvm_number(e, 32, i < lanes ? i : 0);
    LLVMValueRef wide =
        LLVMBuildShuffleVector(B, value, LLVMGetPoison(LLVMTypeOf(value)), LLVMConstVector(places, e->width), "");
    for (uint32_t i = 0; i < e->width; i++)
        places[i] = vy_llvm_number(e, 32, i >= first && i < first + lanes ? e->width + i - first : i);
    return LLVMBuildShuffleVector(B, whole, wide, LLVMConstVector(places, e->width), "");
}

LLVMValueRef vy_llvm_load_contiguous_dyn(vy_emitter *e, uint32_t memory, LLVMValueRef index, LLVMValueRef mask) {
    LLVMTypeRef type = vy_llvm_type(e, (vyre_type)e->program->memories.items[memory].type);
    LLVMTypeRef lanes = LLVMVectorType(type, part_lanes(e));
    LLVMValueRef alignment = alignment_of(e, memory), whole = LLVMGetPoison(vy_llvm_lanes(e, type));
    for (uint32_t first = 0; first < e->width; first += part_lanes(e)) {
        part p = part_at(e, memory, index, mask, first);
        LLVMValueRef args[4] = {p.at, alignment, p.mask, LLVMConstNull(lanes)}, value;
        if (mask) {
            value = vy_llvm_intrinsic(e, "llvm.masked.load", (LLVMTypeRef[]){lanes, vy_llvm_pointer(e)}, 2, args, 4);
        } else {
            value = LLVMBuildLoad2(B, lanes, p.at, "");
            LLVMSetAlignment(value, (unsigned)LLVMConstIntGetZExtValue(alignment));
        }
        whole = put_part(e, whole, value, first);
    }
    return whole;
}

void vy_llvm_store_contiguous_dyn(vy_emitter *e, uint32_t memory, LLVMValueRef index, LLVMValueRef value,
                                  LLVMValueRef mask) {
    LLVMValueRef alignment = alignment_of(e, memory);
    for (uint32_t first = 0; first < e->width; first += part_lanes(e)) {
        part p = part_at(e, memory, index, mask, first);
        LLVMValueRef own = LLVMBuildShuffleVector(B, value, LLVMGetPoison(LLVMTypeOf(value)), p.lanes, "");
        if (mask) {
            LLVMValueRef args[4] = {own, p.at, alignment, p.mask};
            vy_llvm_intrinsic(e, "llvm.masked.store", (LLVMTypeRef[]){LLVMTypeOf(own), vy_llvm_pointer(e)}, 2, args, 4);
        } else {
            LLVMSetAlignment(LLVMBuildStore(B, own, p.at), (unsigned)LLVMConstIntGetZExtValue(alignment));
        }
    }
}
