/* Structured control flow of a gang: execution masks (predication) where lanes diverge, branches where they do not.
 *
 * Invariant: after a statement that may have removed lanes, the mask is recomputed, and the following code is
 * skipped if no lane remains. A loop with divergent exits continues while any lane remains. A lane that jumps is
 * recorded in a mask of the loop, or of the gang for a return. */
#include "emit/llvm/emitter.h"

#include "emit/llvm/kernel_abi.h"

#include <stddef.h>

/* A body up to this size is written twice, with and without a mask; `copies` bounds the nesting of such copies. */
enum { SMALL = 300, COPIES = 4 };

static LLVMTypeRef mask_type(const vy_emitter *e) {
    return vy_llvm_lanes(e, vy_llvm_int(e, 1));
}

static LLVMValueRef whole(const vy_emitter *e) {
    return LLVMConstAllOnes(mask_type(e));
}

static LLVMValueRef mask_of(const vy_emitter *e) {
    return e->mask ? e->mask : whole(e);
}

static LLVMValueRef read_mask(vy_emitter *e, LLVMValueRef place) {
    return LLVMBuildLoad2(e->builder, mask_type(e), place, "");
}

static void clear(vy_emitter *e, LLVMValueRef place) {
    LLVMBuildStore(e->builder, LLVMConstNull(mask_type(e)), place);
}

/* ---- jumps ---- */

static void leave(vy_emitter *e, LLVMValueRef place) {
    LLVMBuildStore(e->builder, LLVMBuildOr(e->builder, read_mask(e, place), mask_of(e), ""), place);
}

/* All lanes of all gangs return. */
static void return_all(vy_emitter *e) {
    if (e->group_done)
        LLVMBuildStore(e->builder, vy_llvm_number(e, 1, 1), e->group_done);
    vy_llvm_branch_to(e, e->gang_end);
}

static void jump(vy_emitter *e, uint32_t index, const vy_stmt *s) {
    const vy_masked_loop *loop = e->loops.count ? &e->loops.items[e->loops.count - 1] : NULL;
    if (s->kind == VY_STMT_RETURN) {
        if (e->jumps[index])
            leave(e, e->returned);
        else
            return_all(e);
    } else if (e->jumps[index]) {
        leave(e, s->kind == VY_STMT_BREAK ? loop->broke : loop->continued);
    } else {
        vy_llvm_branch_to(e, s->kind == VY_STMT_BREAK ? loop->exit : loop->next);
    }
}

/* Removes the lanes that have jumped from the mask. */
static void take_away(vy_emitter *e, uint8_t jumps) {
    const vy_masked_loop *loop = e->loops.count ? &e->loops.items[e->loops.count - 1] : NULL;
    LLVMValueRef places[3] = {jumps & VY_JUMP_BREAK ? loop->broke : NULL,
                              jumps & VY_JUMP_CONTINUE ? loop->continued : NULL,
                              jumps & VY_JUMP_RETURN ? e->returned : NULL};
    for (int i = 0; i < 3; i++)
        if (places[i])
            e->mask = LLVMBuildAnd(e->builder, mask_of(e), LLVMBuildNot(e->builder, read_mask(e, places[i]), ""), "");
}

/* ---- if ---- */

static uint32_t size_of(const vy_emitter *e, uint32_t first, uint32_t end) {
    uint32_t size = 0;
    for (uint32_t i = first; i < end; i++) {
        const vy_stmt *s = vy_stmt_at(e->program, i);
        const uint32_t *operands = VY_STMT_OPERANDS(s);
        size += 4;
        for (int k = 0; k < 3; k++)
            size += operands[k] != VY_NONE;
    }
    return size;
}

static void branch_with(vy_emitter *e, LLVMValueRef mask, uint32_t first, uint32_t end) {
    LLVMValueRef before = e->mask;
    uint32_t depth = e->depth;
    e->mask = mask;
    e->depth += mask != NULL;
    vy_llvm_statements(e, first, end);
    e->mask = before;
    e->depth = depth;
}

static void uniform_if(vy_emitter *e, uint32_t index, const vy_stmt *s, LLVMValueRef condition) {
    LLVMBasicBlockRef yes = vy_llvm_block(e, "then"), no = vy_llvm_block(e, "else"), end = vy_llvm_block(e, "endif");
    LLVMBuildCondBr(e->builder, condition, yes, no);
    vy_llvm_position_at(e, yes);
    LLVMValueRef before = e->mask;
    vy_llvm_statements(e, index + 1, s->middle);
    vy_llvm_branch_to(e, end);
    e->mask = before;
    vy_llvm_position_at(e, no);
    vy_llvm_statements(e, s->middle, s->end);
    vy_llvm_branch_to(e, end);
    e->mask = before;
    vy_llvm_position_at(e, end);
}

/* A branch that consists of a divergent jump only records its lanes, without a test for an empty mask: recording no
 * lane has no effect. This also avoids an endless loop of LLVM 19 on some code that selects between masks by one
 * condition. */
static int is_noted(const vy_emitter *e, uint32_t first, uint32_t last) {
    uint8_t kind = vy_stmt_at(e->program, first)->kind;
    return vy_stmt_at(e->program, first)->end == last && e->jumps[first] && vy_stmt_is_jump(kind);
}

/* Executes a branch for the lanes of a mask; skips it if the mask is empty. */
static void masked_branch(vy_emitter *e, LLVMValueRef mask, uint32_t first, uint32_t last) {
    if (first == last)
        return;
    if (is_noted(e, first, last)) {
        branch_with(e, mask, first, last);
        return;
    }
    LLVMBasicBlockRef some = vy_llvm_block(e, "some"), end = vy_llvm_block(e, "none");
    LLVMBuildCondBr(e->builder, vy_llvm_any(e, mask), some, end);
    vy_llvm_position_at(e, some);
    branch_with(e, mask, first, last);
    vy_llvm_continue_at(e, end);
}

/* Both branches under a divergent condition. `is_part`: the mask of the first branch is known to be partial. */
static void mixed_if(vy_emitter *e, uint32_t index, const vy_stmt *s, LLVMValueRef condition, int is_part) {
    LLVMValueRef no = s->middle == s->end ? NULL : vy_llvm_both(e, e->mask, LLVMBuildNot(e->builder, condition, ""));
    int before = e->is_part;
    e->is_part |= is_part;
    masked_branch(e, vy_llvm_both(e, e->mask, condition), index + 1, s->middle);
    e->is_part = before;
    if (no)
        masked_branch(e, no, s->middle, s->end);
}

/* All lanes execute here, or those of a known mask. If the condition is the same for all, the branch needs no new
 * mask. */
static void agreed_if(vy_emitter *e, uint32_t index, const vy_stmt *s) {
    LLVMValueRef holds = vy_llvm_all_true(e, s->a), condition = vy_llvm_expr_lanes(e, s->a);
    if (!holds && e->mask) {
        mixed_if(e, index, s, condition, 0);
        return;
    }
    LLVMBasicBlockRef all = vy_llvm_block(e, "all"), mixed = vy_llvm_block(e, "mixed"), end = vy_llvm_block(e, "endif");
    e->copies *= 2;
    LLVMBuildCondBr(e->builder, holds ? holds : vy_llvm_all(e, condition), all, mixed);
    vy_llvm_position_at(e, all);
    branch_with(e, e->mask, index + 1, s->middle);
    vy_llvm_branch_to(e, end);
    vy_llvm_position_at(e, mixed);
    mixed_if(e, index, s, condition, !holds || vy_llvm_all_true_is_exact(e, s->a));
    vy_llvm_continue_at(e, end);
    e->copies /= 2;
}

static void varied_if(vy_emitter *e, uint32_t index, const vy_stmt *s) {
    if (vy_llvm_mask_is_constant(e) && e->copies < COPIES && size_of(e, index + 1, s->middle) <= SMALL)
        agreed_if(e, index, s);
    else
        mixed_if(e, index, s, vy_llvm_expr_lanes(e, s->a), 0);
}

/* ---- for: one iteration ---- */

static LLVMValueRef compare(vy_emitter *e, LLVMIntPredicate predicate, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildICmp(e->builder, predicate, a, b, "");
}

static LLVMValueRef zero_like(LLVMValueRef value) {
    return LLVMConstNull(LLVMTypeOf(value));
}

static int is_signed(const vy_emitter *e, const vy_stmt *s) {
    return vyre_type_class((vyre_type)vy_variable_at(e->program, s->variable)->type) == VYRE_CLASS_SIGNED;
}

LLVMValueRef vy_llvm_for_enters(vy_emitter *e, const vy_stmt *s, LLVMValueRef from, LLVMValueRef to,
                                LLVMValueRef step) {
    LLVMValueRef up = compare(e, is_signed(e, s) ? LLVMIntSLT : LLVMIntULT, from, to);
    LLVMValueRef moves = compare(e, LLVMIntNE, step, zero_like(step));
    if (!is_signed(e, s))
        return LLVMBuildAnd(e->builder, up, moves, "");
    LLVMValueRef down = compare(e, LLVMIntSGT, from, to), back = compare(e, LLVMIntSLT, step, zero_like(step));
    LLVMValueRef ahead = LLVMBuildSelect(e->builder, back, down, up, "");
    return LLVMBuildAnd(e->builder, ahead, moves, "");
}

/* Another iteration follows if the remaining distance exceeds the step: this cannot wrap. */
LLVMValueRef vy_llvm_for_next(vy_emitter *e, const vy_stmt *s, LLVMValueRef now, LLVMValueRef to, LLVMValueRef step,
                              LLVMValueRef *next) {
    *next = LLVMBuildAdd(e->builder, now, step, "");
    LLVMValueRef left = LLVMBuildSub(e->builder, to, now, ""), stride = step;
    if (is_signed(e, s)) {
        LLVMValueRef back = compare(e, LLVMIntSLT, step, zero_like(step));
        left = LLVMBuildSelect(e->builder, back, LLVMBuildNeg(e->builder, left, ""), left, "");
        stride = LLVMBuildSelect(e->builder, back, LLVMBuildNeg(e->builder, step, ""), step, "");
    }
    return compare(e, LLVMIntUGT, left, stride);
}

/* ---- loops ---- */

typedef struct bounds {
    LLVMValueRef to, step;
} bounds;

static LLVMValueRef shaped(vy_emitter *e, LLVMValueRef value, int lanes) {
    return lanes ? vy_llvm_splat(e, value) : value;
}

/* The row scalars of a loop variable with a stride are updated in addition to its lanes. */
static void begin_rows(vy_emitter *e, const vy_stmt *s) {
    vy_value_slot *slot = &e->slots[s->variable];
    uint64_t stride;
    if (!e->row || slot->storage != VY_STORAGE_LANES || !vy_variable_stride(e->uniform, s->variable, &stride))
        return;
    for (uint32_t k = 0; k < e->row_count; k++) {
        LLVMValueRef from = vy_llvm_row_base(e, s->a, k);
        if (!slot->rows[k])
            slot->rows[k] = vy_llvm_alloca(e, LLVMTypeOf(from), "row");
        LLVMBuildStore(e->builder, from, slot->rows[k]);
    }
    slot->rows_are_places = 1;
}

static void step_rows(vy_emitter *e, const vy_stmt *s) {
    const vy_value_slot *slot = &e->slots[s->variable];
    LLVMTypeRef type = vy_llvm_type(e, (vyre_type)vy_variable_at(e->program, s->variable)->type);
    for (uint32_t k = 0; k < e->row_count && slot->rows[k]; k++) {
        LLVMValueRef step = s->c == VY_NONE ? LLVMConstInt(type, 1, 0) : vy_llvm_row_base(e, s->c, k);
        LLVMValueRef now = LLVMBuildLoad2(e->builder, type, slot->rows[k], "");
        LLVMBuildStore(e->builder, LLVMBuildAdd(e->builder, now, step, ""), slot->rows[k]);
    }
}

/* Declares the variable of a `for`. Returns the condition for entering the loop. */
static LLVMValueRef begin_for(vy_emitter *e, const vy_stmt *s, bounds *b) {
    int lanes = e->slots[s->variable].storage != VY_STORAGE_SCALAR;
    LLVMValueRef from = shaped(e, vy_llvm_expr(e, s->a), lanes);
    b->to = shaped(e, vy_llvm_expr(e, s->b), lanes);
    b->step = s->c != VY_NONE
                  ? vy_llvm_expr(e, s->c)
                  : LLVMConstInt(vy_llvm_type(e, (vyre_type)vy_variable_at(e->program, s->variable)->type), 1, 0);
    b->step = shaped(e, b->step, lanes);
    vy_llvm_declare(e, s->variable, from);
    e->slots[s->variable].is_whole = (uint8_t)(vy_llvm_is_whole(e, s->a) && vy_llvm_is_whole(e, s->c));
    begin_rows(e, s);
    return vy_llvm_for_enters(e, s, from, b->to, b->step);
}

static LLVMValueRef step_for(vy_emitter *e, const vy_stmt *s, const bounds *b) {
    LLVMValueRef next, goes_on = vy_llvm_for_next(e, s, vy_llvm_variable(e, s->variable), b->to, b->step, &next);
    vy_llvm_declare(e, s->variable, next);
    step_rows(e, s);
    return goes_on;
}

static int push_loop(vy_emitter *e, vy_masked_loop loop) {
    vy_masked_loop *slot = VY_PUSH(&e->loops);
    if (!slot) {
        e->status = VYRE_NO_MEMORY;
        return 0;
    }
    *slot = loop;
    return 1;
}

/* All lanes execute the same iterations. */
static void uniform_loop(vy_emitter *e, uint32_t index, const vy_stmt *s) {
    LLVMBasicBlockRef head = vy_llvm_block(e, "head"), body = vy_llvm_block(e, "body"), next = vy_llvm_block(e, "next"),
                      exit = vy_llvm_block(e, "exit");
    bounds b;
    if (s->kind == VY_STMT_FOR) {
        LLVMBuildCondBr(e->builder, vy_llvm_lane(e, begin_for(e, s, &b), 0), body, exit);
        LLVMDeleteBasicBlock(head);
    } else {
        vy_llvm_continue_at(e, head);
        LLVMBuildCondBr(e->builder, vy_llvm_condition(e, s->a), body, exit);
    }
    vy_llvm_position_at(e, body);
    if (!push_loop(e, (vy_masked_loop){.next = next, .exit = exit}))
        return;
    LLVMValueRef before = e->mask;
    vy_llvm_statements(e, index + 1, s->end);
    e->mask = before;
    e->loops.count--;
    vy_llvm_continue_at(e, next);
    if (s->kind == VY_STMT_FOR)
        LLVMBuildCondBr(e->builder, vy_llvm_lane(e, step_for(e, s, &b), 0), body, exit);
    else
        vy_llvm_branch_to(e, head);
    vy_llvm_position_at(e, exit);
}

/* Continues with the lanes of `mask`, which becomes `live`, if any remain. */
static void go_on_with(vy_emitter *e, LLVMValueRef mask, LLVMValueRef live, LLVMBasicBlockRef to,
                       LLVMBasicBlockRef exit) {
    LLVMBuildStore(e->builder, mask, live);
    LLVMBuildCondBr(e->builder, vy_llvm_any(e, mask), to, exit);
}

static void varied_loop(vy_emitter *e, uint32_t index, const vy_stmt *s) {
    LLVMBasicBlockRef head = vy_llvm_block(e, "head"), body = vy_llvm_block(e, "body"), next = vy_llvm_block(e, "next"),
                      exit = vy_llvm_block(e, "exit");
    LLVMValueRef live = vy_llvm_alloca(e, mask_type(e), "live"), before = e->mask;
    vy_masked_loop loop = {.broke = vy_llvm_alloca(e, mask_type(e), "broke"),
                           .continued = vy_llvm_alloca(e, mask_type(e), "continued"),
                           .next = next,
                           .exit = exit};
    bounds b;
    uint32_t depth = e->depth++;
    clear(e, loop.broke);
    LLVMBuildStore(e->builder, mask_of(e), live);
    if (s->kind == VY_STMT_FOR) {
        LLVMValueRef enters = vy_llvm_splat(e, begin_for(e, s, &b));
        go_on_with(e, vy_llvm_both(e, before, enters), live, body, exit);
        LLVMDeleteBasicBlock(head);
    } else {
        vy_llvm_continue_at(e, head);
        e->mask = read_mask(e, live);
        LLVMValueRef condition = vy_llvm_expr_lanes(e, s->a);
        go_on_with(e, LLVMBuildAnd(e->builder, e->mask, condition, ""), live, body, exit);
    }
    vy_llvm_position_at(e, body);
    e->mask = read_mask(e, live);
    clear(e, loop.continued);
    if (!push_loop(e, loop))
        return;
    vy_llvm_statements(e, index + 1, s->end);
    vy_llvm_continue_at(e, next);
    e->mask = read_mask(e, live);
    take_away(e, VY_JUMP_BREAK | VY_JUMP_RETURN);
    e->loops.count--;
    LLVMValueRef left = e->mask;
    if (s->kind == VY_STMT_FOR)
        left = LLVMBuildAnd(e->builder, left, vy_llvm_splat(e, step_for(e, s, &b)), "");
    go_on_with(e, left, live, s->kind == VY_STMT_FOR ? body : head, exit);
    vy_llvm_position_at(e, exit);
    e->mask = before;
    e->depth = depth;
}

/* Whether the loop has divergent exits. */
static int parts(const vy_emitter *e, uint32_t index, const vy_stmt *s) {
    if (vy_llvm_is_divergent(e, s->a) || vy_llvm_is_divergent(e, s->b) || vy_llvm_is_divergent(e, s->c))
        return 1;
    for (uint32_t i = index + 1; i < s->end; i = vy_stmt_at(e->program, i)->end)
        if (e->jumps[i])
            return 1;
    return 0;
}

/* ---- traps, polls and ends ---- */

static LLVMValueRef field(vy_emitter *e, size_t offset) {
    return vy_llvm_offset_pointer(e, e->frame, vy_llvm_number(e, 64, offset));
}

static LLVMValueRef word(vy_emitter *e, size_t offset) {
    LLVMValueRef at = LLVMBuildLoad2(e->builder, vy_llvm_pointer(e), field(e, offset), "");
    LLVMValueRef value = LLVMBuildLoad2(e->builder, vy_llvm_int(e, 32), at, "");
    LLVMSetAlignment(value, 4);
    LLVMSetOrdering(value, LLVMAtomicOrderingMonotonic);
    return value;
}

static void poll(vy_emitter *e, const vy_stmt *s) {
    LLVMBasicBlockRef yes = vy_llvm_block(e, "stop"), end = vy_llvm_block(e, "polled");
    LLVMValueRef words =
        LLVMBuildOr(e->builder, word(e, offsetof(vy_cpu_frame, cancel)), word(e, offsetof(vy_cpu_frame, stop)), "");
    LLVMValueRef stop = compare(e, LLVMIntNE, words, vy_llvm_number(e, 32, 0));
    LLVMBuildCondBr(e->builder, stop, yes, end);
    vy_llvm_position_at(e, yes);
    LLVMBuildStore(e->builder, vy_llvm_number(e, 32, 1), field(e, offsetof(vy_cpu_frame, stopped)));
    vy_llvm_continue_at(e, end);
    vy_llvm_declare(e, s->variable, stop);
    e->poll = stop;
}

/* The first active lane is the smallest invocation of the gang. Gangs and groups execute in ascending order, but the
 * ranges of a worker need not be ascending. */
static void report(vy_emitter *e, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(e->program, index);
    LLVMTypeRef i64 = vy_llvm_int(e, 64);
    LLVMValueRef code = vy_llvm_expr_lanes(e, s->a);
    LLVMValueRef lane = vy_llvm_first(e, e->mask);
    LLVMValueRef local = LLVMBuildExtractElement(e->builder, e->local_index, lane, "");
    LLVMValueRef group = LLVMBuildLoad2(e->builder, i64, e->group, "");
    LLVMValueRef id =
        LLVMBuildAdd(e->builder, LLVMBuildMul(e->builder, group, vy_llvm_number(e, 64, e->group_size), ""),
                     LLVMBuildZExt(e->builder, local, i64, ""), "");
    LLVMValueRef smallest = field(e, offsetof(vy_cpu_frame, trap_invocation));
    LLVMBasicBlockRef yes = vy_llvm_block(e, "first"), end = vy_llvm_block(e, "reported");
    LLVMBuildCondBr(e->builder, compare(e, LLVMIntULT, id, LLVMBuildLoad2(e->builder, i64, smallest, "")), yes, end);
    vy_llvm_position_at(e, yes);
    LLVMBuildStore(e->builder, id, smallest);
    LLVMBuildStore(e->builder, LLVMBuildExtractElement(e->builder, code, lane, ""),
                   field(e, offsetof(vy_cpu_frame, trap_code)));
    LLVMBuildStore(e->builder, vy_llvm_number(e, 32, vy_stmt_position(e->program, index).length),
                   field(e, offsetof(vy_cpu_frame, trap_site)));
    vy_llvm_continue_at(e, end);
}

/* ---- statements ---- */

/* Without `default`, so that a new kind does not compile until it has a case. */
static void statement(vy_emitter *e, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(e->program, index);
    switch ((vy_stmt_kind)s->kind) {
    case VY_STMT_LET:
    case VY_STMT_VAR:
        vy_llvm_define(e, s);
        break;
    case VY_STMT_ASSIGN:
        vy_llvm_assign(e, s->variable, vy_llvm_expr(e, s->a));
        break;
    case VY_STMT_STORE:
        vy_llvm_store(e, index);
        break;
    case VY_STMT_ATOMIC:
        vy_llvm_atomic(e, index);
        break;
    case VY_STMT_IF:
        if (vy_llvm_is_polled(e, index))
            uniform_if(e, index, s, e->poll);
        else if (vy_llvm_is_divergent(e, s->a))
            varied_if(e, index, s);
        else
            uniform_if(e, index, s, vy_llvm_condition(e, s->a));
        break;
    case VY_STMT_FOR:
    case VY_STMT_WHILE:
        if (vy_llvm_unroll_loop(e, index))
            break;
        if (parts(e, index, s))
            varied_loop(e, index, s);
        else
            uniform_loop(e, index, s);
        break;
    case VY_STMT_REGION:
        vy_llvm_statements(e, index + 1, s->end);
        break;
    case VY_STMT_BREAK:
    case VY_STMT_CONTINUE:
    case VY_STMT_RETURN:
        jump(e, index, s);
        break;
    case VY_STMT_RECORD_TRAP:
        report(e, index);
        break;
    case VY_STMT_POLL:
        poll(e, s);
        break;
    case VY_STMT_BARRIER: /* only in a workgroup of one invocation */
        break;
    case VY_STMT_COLLECTIVE:
        vy_llvm_collective_alone(e, index);
        break;
    case VY_STMT_CALL:
    case VY_STMT_TRAP:
    case VY_STMT_PRINT:
    case VY_STMT_LOAD_WIDE:
    case VY_STMT_STORE_WIDE:
    case VY_STMT_KIND_COUNT:
        vy_llvm_refuse(e, "a statement of this kind");
    }
}

/* After a statement that may have removed lanes, the rest executes for the remaining lanes. Recursion is bounded by
 * VY_LIMIT_NESTING. */
void vy_llvm_statements(vy_emitter *e, uint32_t first, uint32_t end) {
    LLVMBasicBlockRef done = NULL;
    LLVMValueRef before = e->mask;
    LLVMMetadataRef line = e->line;
    for (uint32_t i = first; i < end && e->status == VYRE_OK; i = vy_stmt_at(e->program, i)->end) {
        vy_llvm_line(e, i);
        statement(e, i);
        if (e->status != VYRE_OK ||
            LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(e->builder))) /* a jump is the last statement of its block */
            break;
        if (!e->jumps[i])
            continue;
        take_away(e, e->jumps[i]);
        if (vy_stmt_at(e->program, i)->end >= end)
            break;
        LLVMBasicBlockRef rest = vy_llvm_block(e, "rest");
        done = done ? done : vy_llvm_block(e, "done");
        LLVMBuildCondBr(e->builder, vy_llvm_any(e, e->mask), rest, done);
        vy_llvm_position_at(e, rest);
    }
    if (done) {
        vy_llvm_continue_at(e, done);
    }
    vy_llvm_line_set(e, line);
    e->mask = before; /* the caller removes the lanes that jumped */
}

/* Divergent jumps: an analysis, made before code is emitted, of which jumps are divergent and which code has
 * barriers.
 *
 * A jump that all invocations execute together is a branch. A divergent one is recorded in a mask. In a loop with
 * barriers, the rules of the language allow only these divergent jumps: a continue (in a loop of one iteration also
 * a break or return) after which no barrier follows in the iteration, and a return after which no barrier follows at
 * all. Every other jump is uniform. The source shows that, but the legalised program need not: the rules of
 * uniformity ignore the order of statements. So a variable assigned after a divergent return, to which a trap was
 * lowered, counts as divergent before it, too. */
/* Jumps out of a block. */
enum {
    ANY_LEAVE = 1,   /* a break or continue of the enclosing loop */
    SOME_LEAVE = 2,  /* the same, divergent with respect to the loop */
    ANY_RETURN = 4,  /* a return */
    SOME_RETURN = 8, /* the same, divergent with respect to the block */
    RETURN = ANY_RETURN | SOME_RETURN
};

/* Control around barriers is uniform, whether provably or not: a program in which it diverges is not legal. */
static int statement_parts(const vy_emitter *e, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(e->program, index);
    if (vy_llvm_is_polled(e, index) || !(s->kind == VY_STMT_IF || vy_stmt_is_loop(s->kind)) ||
        (e->has_sync && e->has_sync_inside[index]))
        return 0;
    return vy_llvm_is_divergent(e, s->a) || vy_llvm_is_divergent(e, s->b) || vy_llvm_is_divergent(e, s->c);
}

/* Whether all invocations reach a statement together, even if a loop with divergent exits follows. */
static int is_taken_by_all(const vy_emitter *e, uint32_t index) {
    return e->has_sync_inside[index] || vy_control_uniformity(e->uniform, index) != VY_UNIFORMITY_DIVERGENT;
}

/* Finds the jumps out of each statement and records them in `jumps`. In a loop with divergent exits every jump is
 * divergent. Recursion is bounded by VY_LIMIT_NESTING. */
static uint8_t find_leavers(vy_emitter *e, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint8_t all = 0;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        const vy_stmt *s = &stmts[i];
        uint8_t own = 0;
        if (vy_stmt_is_jump(s->kind) && !is_taken_by_all(e, i))
            own = s->kind == VY_STMT_RETURN ? ANY_RETURN : ANY_LEAVE;
        if (vy_stmt_is_structured(s->kind)) {
            own = find_leavers(e, i + 1, s->end);
            int parts = statement_parts(e, i);
            if (vy_stmt_is_loop(s->kind)) {
                parts |= (own & (SOME_LEAVE | SOME_RETURN)) != 0;
                own &= RETURN;
            }
            if (parts)
                own |= (uint8_t)((own & (ANY_LEAVE | ANY_RETURN)) << 1);
        }
        e->jumps[i] = own;
        all |= own;
    }
    return all;
}

/* Records the divergent jumps of each statement and returns those that leave the block. parted: lanes have diverged
 * since the start of the innermost loop, or of the gang. Recursion is bounded by VY_LIMIT_NESTING. */
static uint8_t find_jumps(vy_emitter *e, uint32_t first, uint32_t end, int parted_in_loop, int parted) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint8_t all = 0;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        const vy_stmt *s = &stmts[i];
        uint8_t own = 0;
        int parts = statement_parts(e, i);
        if (vy_stmt_is_jump(s->kind) && is_taken_by_all(e, i))
            own = 0;
        else if (s->kind == VY_STMT_BREAK)
            own = parted_in_loop ? VY_JUMP_BREAK : 0;
        else if (s->kind == VY_STMT_CONTINUE)
            own = parted_in_loop ? VY_JUMP_CONTINUE : 0;
        else if (s->kind == VY_STMT_RETURN)
            own = parted ? VY_JUMP_RETURN : 0;
        else if (vy_stmt_is_loop(s->kind)) {
            uint8_t inside = 0; /* jumps out of its body */
            for (uint32_t k = i + 1; k < s->end; k = stmts[k].end)
                inside |= e->jumps[k];
            parts |= (inside & (SOME_LEAVE | SOME_RETURN)) || (parted && (inside & ANY_RETURN));
            own = find_jumps(e, i + 1, s->end, parts, parted || parts) & VY_JUMP_RETURN;
        } else if (vy_stmt_is_structured(s->kind)) {
            own = find_jumps(e, i + 1, s->end, parted_in_loop || parts, parted || parts);
        }
        e->jumps[i] = own;
        all |= own;
    }
    return all;
}

/* ---- barriers ---- */

static int find_meetings(vy_emitter *e, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = e->program->stmts.items;
    int any = 0;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        e->has_sync_inside[i] |= stmts[i].kind == VY_STMT_BARRIER || stmts[i].kind == VY_STMT_COLLECTIVE;
        if (vy_stmt_is_structured(stmts[i].kind))
            e->has_sync_inside[i] = (uint8_t)find_meetings(e, i + 1, stmts[i].end);
        any |= e->has_sync_inside[i];
    }
    return any;
}

/* Whether a statement that all invocations reach contains a uniform jump out of it, executed by all of the remaining
 * invocations. */
static int all_jump_out(const vy_emitter *e, uint32_t index) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint32_t loops = 0;
    for (uint32_t i = index; i < stmts[index].end; i++) {
        if (!e->jumps[i] && vy_stmt_is_jump(stmts[i].kind) && (i >= loops || stmts[i].kind == VY_STMT_RETURN))
            return 1;
        if (vy_stmt_is_loop(stmts[i].kind) && i >= loops)
            loops = stmts[i].end;
    }
    return 0;
}

/* Whether a statement is a uniform jump, or a uniform `if` that contains one: `if done { return }`. */
static int is_group_control(const vy_emitter *e, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(e->program, index);
    if (!is_taken_by_all(e, index))
        return 0;
    if (vy_stmt_is_jump(s->kind))
        return 1;
    return (s->kind == VY_STMT_REGION || (s->kind == VY_STMT_IF && !vy_llvm_is_divergent(e, s->a))) &&
           all_jump_out(e, index);
}

int vy_llvm_ends_region(const vy_emitter *e, uint32_t index) {
    return e->has_sync_inside[index] || is_group_control(e, index);
}

/* ---- lanes that have left before a barrier ---- */

/* The barriers that may follow a statement. */
typedef struct ahead {
    int ever;    /* before the end of the program */
    int in_trip; /* in the same iteration of the enclosing loop */
    int repeats; /* that loop repeats */
} ahead;

/* The last statement of the block that contains a barrier, or 0. */
static uint32_t last_to_meet(const vy_emitter *e, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint32_t last = 0;
    for (uint32_t i = first; i < end; i = stmts[i].end)
        last = e->has_sync_inside[i] ? i : last;
    return last;
}

static ahead ahead_of(uint32_t index, uint32_t last, ahead outside) {
    return (ahead){outside.ever || index < last, outside.in_trip || index < last, outside.repeats};
}

/* The same inside a loop. */
static ahead ahead_in_loop(const vy_emitter *e, uint32_t loop, ahead behind) {
    int repeats = e->has_sync_inside[loop] && !vy_loop_runs_once(e->program, loop);
    return (ahead){behind.ever || repeats, 0, repeats};
}

static int is_before_meeting(uint8_t jumps, ahead then) {
    return (jumps & VY_JUMP_RETURN && then.ever) || (jumps & VY_JUMP_CONTINUE && then.in_trip) ||
           (jumps & VY_JUMP_BREAK && (then.in_trip || then.repeats));
}

/* Lanes that have returned skip later regions. Their mask must be saved if a region can follow: after workgroup
 * control flow that contains a divergent return. Recursion is bounded by VY_LIMIT_NESTING. */
static int keeps_returned(const vy_emitter *e, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = e->program->stmts.items;
    for (uint32_t i = first; i < end; i = stmts[i].end)
        if (vy_stmt_is_structured(stmts[i].kind) && vy_llvm_ends_region(e, i) &&
            (e->jumps[i] & VY_JUMP_RETURN || keeps_returned(e, i + 1, stmts[i].end)))
            return 1;
    return 0;
}

/* Adds region boundaries at jumps that are uniform but not provably so: at a jump before a barrier, since the rules
 * of the language forbid a divergent one there, and at a jump out of a workgroup loop in which lanes have not
 * diverged. Returns whether it added any. Recursion is bounded by VY_LIMIT_NESTING. */
static int meet_at_jumps(vy_emitter *e, uint32_t first, uint32_t end, ahead outside, int in_group_loop) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint32_t last = last_to_meet(e, first, end);
    int found = 0;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        ahead then = ahead_of(i, last, outside);
        int is_loop = vy_stmt_is_loop(stmts[i].kind), within = is_loop ? e->has_sync_inside[i] : in_group_loop;
        if (is_loop)
            then = ahead_in_loop(e, i, then);
        if (vy_stmt_is_structured(stmts[i].kind)) {
            found |= meet_at_jumps(e, i + 1, stmts[i].middle, then, within);
            found |= meet_at_jumps(e, stmts[i].middle, stmts[i].end, then, within);
        } else if (vy_stmt_is_jump(stmts[i].kind) && !is_taken_by_all(e, i) &&
                   (is_before_meeting(e->jumps[i], then) ||
                    (within && !e->jumps[i] && stmts[i].kind != VY_STMT_RETURN))) {
            e->has_sync_inside[i] = found = 1;
        }
    }
    return found;
}

/* ---- the plan ---- */

/* Iterates to a fixed point: a new boundary turns its enclosing control flow into workgroup control flow, and
 * divergent jumps into uniform ones. */
int vy_llvm_plan_jumps(vy_emitter *e) {
    uint32_t first = e->body->first_stmt, end = e->body->end_stmt;
    uint8_t jumps;
    do {
        /* a workgroup of one invocation does not synchronise */
        e->has_sync = e->group_size > 1 && find_meetings(e, first, end);
        (void)find_leavers(e, first, end);
        jumps = find_jumps(e, first, end, 0, 0);
    } while (e->has_sync && meet_at_jumps(e, first, end, (ahead){0, 0, 0}, 0));
    e->keeps_returned = e->has_sync && keeps_returned(e, first, end);
    return (jumps & VY_JUMP_RETURN) != 0;
}

int vy_llvm_has_divergent_exit(const vy_emitter *e, uint32_t loop) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint8_t jumps = 0;
    for (uint32_t i = loop + 1; i < stmts[loop].end; i = stmts[i].end)
        jumps |= e->jumps[i];
    return (jumps & (VY_JUMP_BREAK | VY_JUMP_CONTINUE)) != 0;
}

int vy_llvm_keeps_left(const vy_emitter *e, uint32_t loop) {
    const vy_stmt *stmts = e->program->stmts.items;
    for (uint32_t i = loop + 1; i < stmts[loop].end;) {
        int is_loop = vy_stmt_is_loop(stmts[i].kind);
        if (vy_stmt_is_structured(stmts[i].kind) && !is_loop && vy_llvm_ends_region(e, i) &&
            e->jumps[i] & (VY_JUMP_BREAK | VY_JUMP_CONTINUE))
            return 1;
        i = is_loop ? stmts[i].end : i + 1;
    }
    return 0;
}
