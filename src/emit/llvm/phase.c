/* Meetings: code between two of them is a stretch, which runs for all chunks before the next begins. What stands around meetings (uniform ifs and loops) runs once for the
 * workgroup. A variable that is used in several stretches is kept in the frame's memory, a vector for each chunk. */
#include "emit/llvm/emitter.h"
#include "ir/validate/check.h"

/* ---- what is for the workgroup ---- */

static int is_same(const vy_emitter *e, uint32_t expr) {
    return expr == VY_NONE || vy_expr_sameness(e->uniform, expr) != VY_SAME_NOWHERE;
}

/* Whether a statement without meetings has jumps out of it: in a block of the workgroup it is then control, not a stretch. */
static int jumps_out(const vy_emitter *e, uint32_t index) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint32_t loops = 0;
    for (uint32_t i = index; i < stmts[index].end; i++) {
        if (stmts[i].kind == VY_STMT_RETURN ||
            (i >= loops && (stmts[i].kind == VY_STMT_BREAK || stmts[i].kind == VY_STMT_CONTINUE)))
            return 1;
        if (vy_stmt_is_loop(stmts[i].kind) && i >= loops)
            loops = stmts[i].end;
    }
    return 0;
}

/* An `if` that all take alike and that jumps: `if gone { return }`. Behind a return of some it is for those that are left, and no meeting follows. */
static int is_group_control(const vy_emitter *e, uint32_t index) {
    const vy_stmt *s = &e->program->stmts.items[index];
    if (vy_control_sameness(e->uniform, index) == VY_SAME_NOWHERE)
        return 0;
    if (s->kind == VY_STMT_RETURN || s->kind == VY_STMT_BREAK || s->kind == VY_STMT_CONTINUE)
        return 1;
    return (s->kind == VY_STMT_IF || s->kind == VY_STMT_REGION) && !e->jumps[index] && is_same(e, s->a) &&
           jumps_out(e, index);
}

/* Whether a statement of a block with meetings is for the workgroup, and ends a stretch. */
static int separates(const vy_emitter *e, uint32_t index) {
    return e->meets[index] || is_group_control(e, index);
}

/* ---- the plan ---- */

typedef struct planner {
    vy_emitter *e;
    uint32_t *stretch; /* by variable: the one it was seen in, plus 1 */
    uint32_t now;
    uint32_t next_expr;
} planner;

static void see_variable(planner *p, uint32_t variable) {
    vy_slot *slot = &p->e->slots[variable];
    if (slot->home == VY_HOME_SCALAR)
        return;
    if (p->stretch[variable] && p->stretch[variable] != p->now + 1)
        slot->home = VY_HOME_SPILL;
    p->stretch[variable] = p->now + 1;
}

static void see_statement(planner *p, const vy_stmt *s) {
    const vyre_program *program = p->e->program;
    uint32_t end = vy_stmt_exprs_end(program, s, p->next_expr);
    for (; p->next_expr < end; p->next_expr++)
        if (program->exprs.items[p->next_expr].kind == VY_EXPR_VARIABLE)
            see_variable(p, program->exprs.items[p->next_expr].a);
    for (uint32_t i = 0; i < s->result_count; i++)
        see_variable(p, s->variable + i);
    if (s->kind == VY_STMT_ASSIGN)
        see_variable(p, s->variable);
}

/* Recursion is bounded by VY_LIMIT_NESTING. */
static void see_block(planner *p, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = p->e->program->stmts.items;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        if (!separates(p->e, i)) {
            for (uint32_t k = i; k < stmts[i].end; k++)
                see_statement(p, &stmts[k]);
            continue;
        }
        p->now++;
        see_statement(p, &stmts[i]); /* a collective has a stretch of its own; conditions are scalars */
        p->now++;
        see_block(p, i + 1, stmts[i].middle);
        p->now++;
        see_block(p, stmts[i].middle, stmts[i].end);
        p->now++;
    }
}

uint64_t vy_llvm_take(vy_emitter *e, uint64_t bytes) {
    uint64_t at = e->spill_bytes;
    e->spill_bytes += (bytes + 63) / 64 * 64;
    return at;
}

void vy_llvm_plan_phases(vy_emitter *e) {
    uint32_t variables = e->program->variables.count;
    planner p = {.e = e, .stretch = vy_allocate_zero(vy_array_size(variables + 1u, sizeof(uint32_t)))};
    uint64_t padded = (uint64_t)e->chunks * e->width;
    if (!p.stretch) {
        e->status = VYRE_NO_MEMORY;
        return;
    }
    if (e->has_meetings)
        see_block(&p, e->body->first_stmt, e->body->end_stmt);
    vy_release(p.stretch, vy_array_size(variables + 1u, sizeof(uint32_t)));
    for (uint32_t i = 0; i < variables; i++)
        if (e->slots[i].home == VY_HOME_SPILL)
            e->slots[i].offset = vy_llvm_take(e, padded * vy_llvm_size((vyre_type)e->program->variables.items[i].type));
    for (uint32_t i = 0; i < e->program->memories.count; i++) {
        const vy_memory *m = &e->program->memories.items[i];
        uint64_t bytes = (uint64_t)m->elements * vy_llvm_size((vyre_type)m->type);
        if (m->space == VY_SPACE_PRIVATE)
            e->array_offsets[i] = vy_llvm_take(e, bytes * e->width * (e->has_meetings ? e->chunks : 1));
        else if (m->space == VY_SPACE_WORKGROUP) {
            e->array_offsets[i] = e->workgroup_bytes;
            e->workgroup_bytes += (bytes + 63) / 64 * 64;
        }
    }
    if (e->has_meetings)
        e->meeting_offset = vy_llvm_take(e, padded * 8 * 2);
    if (e->keeps_returned)
        e->returned_offset = vy_llvm_take(e, (uint64_t)e->chunks * 8);
    vy_llvm_plan_atomics(e);
}

/* ---- chunks ---- */

static void write_stretch(vy_emitter *e, const void *user);

/* Where the chunk keeps who has returned. */
static LLVMValueRef returned_place(vy_emitter *e) {
    LLVMValueRef chunk = LLVMBuildZExt(e->builder, e->chunk, vy_llvm_int(e, 64), "");
    LLVMValueRef offset = LLVMBuildMul(e->builder, chunk, vy_llvm_number(e, 64, 8), "");
    return vy_llvm_at(e, e->spill, LLVMBuildAdd(e->builder, offset, vy_llvm_number(e, 64, e->returned_offset), ""));
}

static void forget_returned(vy_emitter *e, const void *unused) {
    (void)unused;
    LLVMBuildStore(e->builder, LLVMConstNull(vy_llvm_lanes(e, vy_llvm_int(e, 1))), returned_place(e));
}

/* The lanes of the chunk that have not returned before, if there are any. */
static void start_lanes(vy_emitter *e) {
    LLVMTypeRef mask = vy_llvm_lanes(e, vy_llvm_int(e, 1));
    if (!e->some_gone) {
        if (e->returned)
            LLVMBuildStore(e->builder, LLVMConstNull(mask), e->returned);
        return;
    }
    LLVMValueRef returned = LLVMBuildLoad2(e->builder, mask, returned_place(e), "");
    LLVMBasicBlockRef left = vy_llvm_block(e, "left");
    LLVMBuildStore(e->builder, returned, e->returned);
    e->mask = vy_llvm_both(e, e->mask, LLVMBuildNot(e->builder, returned, ""));
    LLVMBuildCondBr(e->builder, vy_llvm_any(e, e->mask), left, e->chunk_end);
    vy_llvm_start(e, left);
}

void vy_llvm_chunks(vy_emitter *e, void (*inside)(vy_emitter *e, const void *user), const void *user) {
    LLVMTypeRef i32 = vy_llvm_int(e, 32);
    LLVMBasicBlockRef loop = vy_llvm_block(e, "chunk"), next = vy_llvm_block(e, "chunk_next"),
                      end = vy_llvm_block(e, "chunks_end"), before = LLVMGetInsertBlock(e->builder);
    vy_llvm_go(e, loop);
    vy_llvm_start(e, loop);
    e->chunk = LLVMBuildPhi(e->builder, i32, "chunk");
    e->chunk_end = next;
    e->depth = 0;
    vy_llvm_find_ids(e);
    start_lanes(e);
    LLVMBasicBlockRef code = vy_llvm_block(e, "code");
    e->chunk_start = LLVMGetInsertBlock(e->builder);
    vy_llvm_go(e, code);
    vy_llvm_start(e, code);
    inside(e, user);
    vy_llvm_go(e, next);
    vy_llvm_start(e, next);
    vy_llvm_put_back(e);
    if (e->keeps_returned && inside == write_stretch)
        LLVMBuildStore(e->builder, LLVMBuildLoad2(e->builder, vy_llvm_lanes(e, vy_llvm_int(e, 1)), e->returned, ""),
                       returned_place(e));
    LLVMValueRef more = LLVMBuildAdd(e->builder, e->chunk, vy_llvm_number(e, 32, 1), "");
    LLVMAddIncoming(e->chunk, (LLVMValueRef[]){vy_llvm_number(e, 32, 0), more}, (LLVMBasicBlockRef[]){before, next}, 2);
    LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntULT, more, vy_llvm_number(e, 32, e->chunks), ""), loop,
                    end);
    vy_llvm_start(e, end);
    e->mask = NULL;
    e->chunk = e->local_index = NULL;
}

/* ---- the workgroup ---- */

typedef struct stretch {
    uint32_t first, end;
} stretch;

/* What is the same for the workgroup is assigned by every chunk, and each has to start from what it was before the first did: calls `each` for the
 * variables from outside that a stretch assigns. */
static void each_assigned(vy_emitter *e, const stretch *s, void (*each)(vy_emitter *e, uint32_t variable)) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint32_t own = VY_NONE, own_end = 0; /* declared in it: variables are numbered in order */
    for (uint32_t i = s->first; i < s->end; i++)
        if (stmts[i].result_count) {
            own = own == VY_NONE ? stmts[i].variable : own;
            own_end = stmts[i].variable + stmts[i].result_count;
        }
    for (uint32_t i = s->first; i < s->end && e->chunks > 1; i++) {
        uint32_t v = stmts[i].variable;
        if (stmts[i].kind == VY_STMT_ASSIGN && e->slots[v].home == VY_HOME_SCALAR && (v < own || v >= own_end))
            each(e, v);
    }
}

static void keep_before(vy_emitter *e, uint32_t variable) {
    if (!e->slots[variable].before)
        e->slots[variable].before = vy_llvm_variable(e, variable);
}

static void put_before(vy_emitter *e, uint32_t variable) {
    vy_llvm_declare(e, variable, e->slots[variable].before);
}

static void forget_before(vy_emitter *e, uint32_t variable) {
    e->slots[variable].before = NULL;
}

static void write_stretch(vy_emitter *e, const void *user) {
    const stretch *s = user;
    each_assigned(e, s, put_before);
    vy_llvm_statements(e, s->first, s->end);
}

static int returns(const vy_emitter *e, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++)
        if (e->program->stmts.items[i].kind == VY_STMT_RETURN && !e->jumps[i])
            return 1;
    return 0;
}

/* A return that all take in a stretch ends the workgroup behind it. */
static void run_stretch(vy_emitter *e, uint32_t first, uint32_t end) {
    const stretch s = {first, end};
    each_assigned(e, &s, keep_before);
    vy_llvm_chunks(e, write_stretch, &s);
    each_assigned(e, &s, forget_before);
    for (uint32_t i = first; i < end && e->keeps_returned; i = e->program->stmts.items[i].end)
        e->some_gone |= (e->jumps[i] & VY_JUMP_RETURN) != 0;
    if (!e->has_meetings || !returns(e, first, end))
        return;
    LLVMBasicBlockRef on = vy_llvm_block(e, "on");
    LLVMBuildCondBr(e->builder, LLVMBuildLoad2(e->builder, vy_llvm_int(e, 1), e->group_done, ""), e->group_end, on);
    vy_llvm_start(e, on);
}

static void group_block(vy_emitter *e, uint32_t first, uint32_t end);

/* A condition of the workgroup: all agree, so the first invocation is asked where it is not seen that they do. */
static LLVMValueRef group_condition(vy_emitter *e, uint32_t expr) {
    if (is_same(e, expr))
        return vy_llvm_expr(e, expr);
    e->chunk = vy_llvm_number(e, 32, 0);
    e->depth = 0;
    vy_llvm_find_ids(e);
    LLVMValueRef first = vy_llvm_lane(e, vy_llvm_expr_lanes(e, expr), 0);
    e->mask = NULL;
    e->chunk = e->local_index = NULL;
    return first;
}

static void group_if(vy_emitter *e, uint32_t index, const vy_stmt *s) {
    LLVMBasicBlockRef yes = vy_llvm_block(e, "then"), no = vy_llvm_block(e, "else"), end = vy_llvm_block(e, "endif");
    LLVMBuildCondBr(e->builder, group_condition(e, s->a), yes, no);
    int before = e->some_gone;
    vy_llvm_start(e, yes);
    group_block(e, index + 1, s->middle);
    vy_llvm_go(e, end);
    int then = e->some_gone;
    e->some_gone = before;
    vy_llvm_start(e, no);
    group_block(e, s->middle, s->end);
    vy_llvm_go(e, end);
    vy_llvm_start(e, end);
    e->some_gone |= then;
}

static void group_loop(vy_emitter *e, uint32_t index, const vy_stmt *s) {
    LLVMBasicBlockRef head = vy_llvm_block(e, "head"), body = vy_llvm_block(e, "body"), next = vy_llvm_block(e, "next"),
                      exit = vy_llvm_block(e, "exit");
    LLVMValueRef to = NULL, step = NULL;
    vy_lane_loop *slot = VY_PUSH(&e->loops);
    if (!slot) {
        e->status = VYRE_NO_MEMORY;
        return;
    }
    *slot = (vy_lane_loop){NULL, NULL, next, exit, 1};
    if (s->kind == VY_STMT_FOR) {
        LLVMValueRef from = vy_llvm_expr(e, s->a);
        to = vy_llvm_expr(e, s->b);
        step = s->c != VY_NONE ? vy_llvm_expr(e, s->c) : LLVMConstInt(LLVMTypeOf(from), 1, 0);
        vy_llvm_declare(e, s->variable, from);
        LLVMBuildCondBr(e->builder, vy_llvm_for_enters(e, s, from, to, step), body, exit);
        LLVMDeleteBasicBlock(head);
    } else {
        vy_llvm_go(e, head);
        vy_llvm_start(e, head);
        LLVMBuildCondBr(e->builder, group_condition(e, s->a), body, exit);
    }
    vy_llvm_start(e, body);
    group_block(e, index + 1, s->end);
    vy_llvm_go(e, next);
    vy_llvm_start(e, next);
    vy_llvm_line(e, index);
    if (s->kind == VY_STMT_FOR) {
        LLVMValueRef then, goes_on = vy_llvm_for_next(e, s, vy_llvm_variable(e, s->variable), to, step, &then);
        vy_llvm_declare(e, s->variable, then);
        LLVMBuildCondBr(e->builder, goes_on, body, exit);
    } else {
        vy_llvm_go(e, head);
    }
    vy_llvm_start(e, exit);
    e->loops.count--;
}

static void group_statement(vy_emitter *e, uint32_t index) {
    const vy_stmt *s = &e->program->stmts.items[index];
    if (s->kind == VY_STMT_FOR && !(is_same(e, s->a) && is_same(e, s->b) && is_same(e, s->c))) {
        vy_llvm_refuse(e, "a meeting in a `for` whose bounds are not provably uniform");
        return;
    }
    if (s->kind == VY_STMT_COLLECTIVE)
        vy_llvm_collective(e, index);
    else if (s->kind == VY_STMT_IF)
        group_if(e, index, s);
    else if (vy_stmt_is_loop(s->kind))
        group_loop(e, index, s);
    else if (s->kind == VY_STMT_REGION)
        group_block(e, index + 1, s->end);
}

/* What jumps out of a block of the workgroup is a stretch of its own, or rather none: all do it. */
static int group_jump(vy_emitter *e, const vy_stmt *s) {
    const vy_lane_loop *loop = e->loops.count ? &e->loops.items[e->loops.count - 1] : NULL;
    if (s->kind == VY_STMT_RETURN)
        vy_llvm_go(e, e->group_end);
    else if (s->kind == VY_STMT_BREAK && loop)
        vy_llvm_go(e, loop->exit);
    else if (s->kind == VY_STMT_CONTINUE && loop)
        vy_llvm_go(e, loop->next);
    else
        return 0;
    return 1;
}

/* Recursion is bounded by VY_LIMIT_NESTING. */
static void group_block(vy_emitter *e, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = e->program->stmts.items;
    for (uint32_t i = first; i < end && e->status == VYRE_OK;) {
        uint32_t last = i;
        while (last < end && !separates(e, last))
            last = stmts[last].end;
        if (last > i)
            run_stretch(e, i, last);
        if (last < end) {
            vy_llvm_line(e, last);
            if (group_jump(e, &stmts[last]))
                return;
            group_statement(e, last);
            if (LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(e->builder))) /* a region that all leave */
                return;
            last = stmts[last].end;
        }
        i = last;
    }
}

void vy_llvm_phases(vy_emitter *e) {
    if (e->keeps_returned)
        vy_llvm_chunks(e, forget_returned, NULL);
    if (e->has_meetings)
        group_block(e, e->body->first_stmt, e->body->end_stmt);
    else
        run_stretch(e, e->body->first_stmt, e->body->end_stmt);
}
