/* Barrier regions, their spill slots and rematerialisation. A region is the code between two barriers or
 * collectives.
 *
 * Invariant: all gangs run a region before the next region begins (loop fission at barriers). Uniform ifs and loops
 * around barriers run once for the workgroup. A variable that is used in several regions is spilled to the frame's
 * memory, one vector for each gang. */
#include "emit/llvm/emitter.h"

#include "ir/walk.h"

/* unrolling of gangs: most gangs, and costs in statements */
enum { CHUNKS_WRITTEN_OUT = 4, SMALL_COST = 4, STRETCH_COST = 16, ALL_COST = 320 };
/* Largest program whose gangs are unrolled. Gangs, iterations and split loads (lane_constants.c) together can
 * multiply the code by fifty. */
enum { EXPRESSIONS_WRITTEN_OUT = 400 };
enum { STACK_BYTES = 16384 };

/* ---- uniform values ---- */

static int is_same(const vy_emitter *e, uint32_t expr) {
    return expr == VY_NONE || vy_expr_uniformity(e->uniform, expr) != VY_UNIFORMITY_DIVERGENT;
}

/* ---- the plan ---- */

typedef struct planner {
    vy_emitter *e;
    uint32_t *region; /* by variable: the first region that uses it, plus 1 */
    uint32_t now;
    uint32_t next_expr;
} planner;

static void see_variable(planner *p, uint32_t variable) {
    vy_value_slot *slot = &p->e->slots[variable];
    if (slot->storage == VY_STORAGE_SCALAR || slot->storage == VY_STORAGE_REMAT)
        return;
    if (p->region[variable] && p->region[variable] != p->now + 1 && !vy_llvm_rematerialize(p->e, variable))
        slot->storage = VY_STORAGE_SPILL;
    p->region[variable] = p->now + 1;
}

static void see_statement(planner *p, const vy_stmt *s) {
    const vyre_program *program = p->e->program;
    uint32_t end = vy_stmt_exprs_end(program, s, p->next_expr);
    for (; p->next_expr < end; p->next_expr++)
        if (vy_expr_at(program, p->next_expr)->kind == VY_EXPR_VARIABLE)
            see_variable(p, vy_expr_at(program, p->next_expr)->a);
    for (uint32_t i = 0; i < s->result_count; i++)
        see_variable(p, s->variable + i);
    if (s->kind == VY_STMT_ASSIGN)
        see_variable(p, s->variable);
}

/* Recursion is bounded by VY_LIMIT_NESTING. */
static void see_block(planner *p, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = p->e->program->stmts.items;
    for (uint32_t i = first; i < end; i = stmts[i].end) {
        if (!vy_llvm_ends_region(p->e, i)) {
            for (uint32_t k = i; k < stmts[i].end; k++)
                see_statement(p, &stmts[k]);
            continue;
        }
        p->now++;
        see_statement(p, &stmts[i]); /* a collective is a separate region; conditions are scalars */
        p->now++;
        see_block(p, i + 1, stmts[i].middle);
        p->now++;
        see_block(p, stmts[i].middle, stmts[i].end);
        p->now++;
    }
}

uint64_t vy_llvm_alloc_spill(vy_emitter *e, uint64_t bytes) {
    uint64_t at = e->spill_bytes;
    e->spill_bytes += (bytes + 63) / 64 * 64;
    return at;
}

/* Loops and atomics prevent values from staying in registers, or dominate the code size, so unrolling the gangs
 * gains nothing. */
static int is_unrollable(const vy_emitter *e) {
    if (e->program->exprs.count > EXPRESSIONS_WRITTEN_OUT)
        return 0;
    for (uint32_t i = e->body->first_stmt; i < e->body->end_stmt; i++)
        if ((vy_stmt_is_loop(vy_stmt_at(e->program, i)->kind) && !vy_llvm_is_unrollable_loop(e, i)) ||
            vy_stmt_at(e->program, i)->kind == VY_STMT_ATOMIC)
            return 0;
    return 1;
}

/* Selects the spill location of a variable: the stack if there are few gangs and enough room. */
static void keep_variable(vy_emitter *e, uint32_t variable, uint64_t bytes, uint64_t *on_stack) {
    vy_value_slot *slot = &e->slots[variable];
    slot->is_on_stack = e->gangs <= CHUNKS_WRITTEN_OUT && *on_stack + bytes <= STACK_BYTES;
    if (slot->is_on_stack)
        *on_stack += bytes;
    else
        slot->offset = vy_llvm_alloc_spill(e, bytes);
}

void vy_llvm_plan_regions(vy_emitter *e) {
    uint32_t variables = e->program->variables.count;
    planner p = {.e = e, .region = vy_allocate_zero(vy_array_size(variables + 1u, sizeof(uint32_t)))};
    uint64_t padded = (uint64_t)e->gangs * e->width, on_stack = 0;
    if (!p.region) {
        e->status = VYRE_NO_MEMORY;
        return;
    }
    vy_llvm_find_rematerializable(e);
    e->is_unrollable = is_unrollable(e);
    if (e->has_sync)
        see_block(&p, e->body->first_stmt, e->body->end_stmt);
    vy_release(p.region, vy_array_size(variables + 1u, sizeof(uint32_t)));
    for (uint32_t i = 0; i < variables; i++)
        if (e->slots[i].storage == VY_STORAGE_SPILL)
            keep_variable(e, i, padded * vy_llvm_size((vyre_type)vy_variable_at(e->program, i)->type), &on_stack);
    for (uint32_t i = 0; i < e->program->memories.count; i++) {
        const vy_memory *m = vy_memory_at(e->program, i);
        uint64_t bytes = (uint64_t)m->elements * vy_llvm_size((vyre_type)m->type);
        if (m->space == VY_SPACE_PRIVATE)
            e->array_offsets[i] = vy_llvm_alloc_spill(e, bytes * e->width * (e->has_sync ? e->gangs : 1));
        else if (m->space == VY_SPACE_WORKGROUP) {
            e->array_offsets[i] = e->workgroup_bytes;
            e->workgroup_bytes += (bytes + 63) / 64 * 64;
        }
    }
    if (e->has_sync)
        e->collective_offset = vy_llvm_alloc_spill(e, padded * 8 * 2);
    if (e->keeps_returned)
        e->returned_offset = vy_llvm_alloc_spill(e, (uint64_t)e->gangs * 8);
    vy_llvm_plan_atomics(e);
}

/* ---- gangs ---- */

typedef struct region {
    uint32_t first, end;
} region;

static void write_region(vy_emitter *e, const void *user);

static uint32_t region_cost(const vy_emitter *e, const region *s) {
    return e->is_unrollable ? s->end - s->first : UINT16_MAX;
}

/* The spill slot of a gang's mask. */
static LLVMValueRef kept_mask(vy_emitter *e, uint64_t start) {
    LLVMValueRef gang = LLVMBuildZExt(e->builder, e->gang, vy_llvm_int(e, 64), "");
    LLVMValueRef offset = LLVMBuildMul(e->builder, gang, vy_llvm_number(e, 64, 8), "");
    return vy_llvm_offset_pointer(e, e->spill, LLVMBuildAdd(e->builder, offset, vy_llvm_number(e, 64, start), ""));
}

static LLVMTypeRef mask_type(vy_emitter *e) {
    return vy_llvm_lanes(e, vy_llvm_int(e, 1));
}

static void forget_kept(vy_emitter *e, const void *offset) {
    LLVMBuildStore(e->builder, LLVMConstNull(mask_type(e)), kept_mask(e, *(const uint64_t *)offset));
}

static void keep(vy_emitter *e, LLVMValueRef place, uint64_t offset) {
    LLVMBuildStore(e->builder, LLVMBuildLoad2(e->builder, mask_type(e), place, ""), kept_mask(e, offset));
}

/* The loop around the current region. */
static vy_masked_loop *group_loop_around(vy_emitter *e) {
    return e->loops.count ? &e->loops.items[e->loops.count - 1] : NULL;
}

/* Removes the lanes that have left in earlier regions, or starts with an empty set. */
static void start_without(vy_emitter *e, LLVMValueRef place, int some, uint64_t offset) {
    LLVMValueRef gone =
        some ? LLVMBuildLoad2(e->builder, mask_type(e), kept_mask(e, offset), "") : LLVMConstNull(mask_type(e));
    LLVMBuildStore(e->builder, gone, place);
    if (some)
        e->mask = vy_llvm_both(e, e->mask, LLVMBuildNot(e->builder, gone, ""));
}

/* Starts with the remaining lanes of the gang; skips the gang if none remain. */
static void start_lanes(vy_emitter *e, LLVMBasicBlockRef skip) {
    const vy_masked_loop *loop = group_loop_around(e);
    int some_left = loop && loop->some_left;
    if (e->returned)
        start_without(e, e->returned, e->some_gone, e->returned_offset);
    if (loop && loop->broke)
        start_without(e, loop->broke, some_left, loop->left_offset);
    if (!e->some_gone && !some_left)
        return;
    LLVMBasicBlockRef left = vy_llvm_block(e, "left");
    LLVMBuildCondBr(e->builder, vy_llvm_any(e, e->mask), left, skip);
    vy_llvm_position_at(e, left);
}

/* Saves the sets of lanes that left in this region. */
static void keep_lanes(vy_emitter *e) {
    const vy_masked_loop *loop = group_loop_around(e);
    if (e->keeps_returned)
        keep(e, e->returned, e->returned_offset);
    if (loop && loop->keeps_left)
        keep(e, loop->broke, loop->left_offset);
}

typedef void inside_gang(vy_emitter *e, const void *user);

/* Writes the code for gang e->gang; the builder is positioned after it. */
static void write_gang(vy_emitter *e, inside_gang *inside, const void *user) {
    LLVMBasicBlockRef next = vy_llvm_block(e, "gang_next"), step = vy_llvm_block(e, "gang_step"), code;
    e->gang_end = next;
    e->depth = e->group_depth;
    vy_llvm_find_ids(e);
    start_lanes(e, step);
    code = vy_llvm_block(e, "code");
    e->gang_start = LLVMGetInsertBlock(e->builder);
    vy_llvm_continue_at(e, code);
    inside(e, user);
    vy_llvm_continue_at(e, next);
    vy_llvm_writeback(e);
    if (inside == write_region)
        keep_lanes(e);
    vy_llvm_continue_at(e, step);
}

/* Whether the gangs are unrolled: if they are few and the code is short, LLVM keeps values in registers across
 * barriers. */
static int is_unrolled(vy_emitter *e, inside_gang *inside, const void *user) {
    uint32_t cost = e->gangs * (inside == write_region ? region_cost(e, user) : SMALL_COST);
    if (!e->has_sync || e->gangs > CHUNKS_WRITTEN_OUT || cost > e->gangs * STRETCH_COST || e->written + cost > ALL_COST)
        return 0;
    e->written += cost;
    return 1;
}

void vy_llvm_gangs(vy_emitter *e, inside_gang *inside, const void *user) {
    LLVMTypeRef i32 = vy_llvm_int(e, 32);
    if (is_unrolled(e, inside, user)) {
        for (uint32_t i = 0; i < e->gangs; i++) {
            e->gang = vy_llvm_number(e, 32, i);
            write_gang(e, inside, user);
        }
    } else {
        LLVMBasicBlockRef loop = vy_llvm_block(e, "gang"), end = vy_llvm_block(e, "gangs_end"),
                          before = LLVMGetInsertBlock(e->builder);
        vy_llvm_continue_at(e, loop);
        LLVMValueRef gang = LLVMBuildPhi(e->builder, i32, "gang");
        LLVMValueRef first = e->first_gang ? e->first_gang : vy_llvm_number(e, 32, 0);
        LLVMValueRef behind = e->end_gang ? e->end_gang : vy_llvm_number(e, 32, e->gangs);
        e->gang = gang;
        write_gang(e, inside, user);
        LLVMBasicBlockRef last = LLVMGetInsertBlock(e->builder);
        LLVMValueRef more = LLVMBuildAdd(e->builder, gang, vy_llvm_number(e, 32, 1), "");
        LLVMAddIncoming(gang, (LLVMValueRef[]){first, more}, (LLVMBasicBlockRef[]){before, last}, 2);
        LLVMBuildCondBr(e->builder, LLVMBuildICmp(e->builder, LLVMIntULT, more, behind, ""), loop, end);
        vy_llvm_position_at(e, end);
    }
    e->mask = NULL;
    e->gang = e->local_index = NULL;
}

/* ---- the workgroup ---- */

/* Every gang assigns a workgroup-uniform variable, and each must start from its value before the first gang. Calls
 * `each` for the outer variables that a region assigns. */
static void each_assigned(vy_emitter *e, const region *s, void (*each)(vy_emitter *e, uint32_t variable)) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint32_t own = VY_NONE, own_end = 0; /* variables declared in the region; they are numbered in order */
    for (uint32_t i = s->first; i < s->end; i++)
        if (stmts[i].result_count) {
            own = own == VY_NONE ? stmts[i].variable : own;
            own_end = stmts[i].variable + stmts[i].result_count;
        }
    for (uint32_t i = s->first; i < s->end && e->gangs > 1; i++) {
        uint32_t v = stmts[i].variable;
        if (stmts[i].kind == VY_STMT_ASSIGN && e->slots[v].storage == VY_STORAGE_SCALAR && (v < own || v >= own_end))
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

static void write_region(vy_emitter *e, const void *user) {
    const region *s = user;
    each_assigned(e, s, put_before);
    vy_llvm_statements(e, s->first, s->end);
}

static int returns(const vy_emitter *e, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++)
        if (vy_stmt_at(e->program, i)->kind == VY_STMT_RETURN && !e->jumps[i])
            return 1;
    return 0;
}

/* If all invocations of a region return, the workgroup ends after it. */
static void run_region(vy_emitter *e, uint32_t first, uint32_t end) {
    const region s = {first, end};
    each_assigned(e, &s, keep_before);
    vy_llvm_gangs(e, write_region, &s);
    each_assigned(e, &s, forget_before);
    vy_masked_loop *loop = group_loop_around(e);
    for (uint32_t i = first; i < end; i = vy_stmt_at(e->program, i)->end) {
        e->some_gone |= e->keeps_returned && e->jumps[i] & VY_JUMP_RETURN;
        if (loop)
            loop->some_left |= loop->keeps_left && e->jumps[i] & (VY_JUMP_BREAK | VY_JUMP_CONTINUE);
    }
    if (!e->has_sync || !returns(e, first, end))
        return;
    LLVMBasicBlockRef on = vy_llvm_block(e, "on");
    LLVMBuildCondBr(e->builder, LLVMBuildLoad2(e->builder, vy_llvm_int(e, 1), e->group_done, ""), e->group_end, on);
    vy_llvm_position_at(e, on);
}

static void group_block(vy_emitter *e, uint32_t first, uint32_t end);

/* A condition that is uniform by the rules of the language but not provably so: the first invocation evaluates it. */
LLVMValueRef vy_llvm_uniform_across_group(vy_emitter *e, uint32_t expr) {
    if (is_same(e, expr))
        return vy_llvm_expr(e, expr);
    LLVMBasicBlockRef code = vy_llvm_block(e, "ask");
    e->gang = vy_llvm_number(e, 32, 0);
    e->depth = e->group_depth;
    vy_llvm_find_ids(e);
    e->gang_start = LLVMGetInsertBlock(e->builder);
    vy_llvm_continue_at(e, code);
    LLVMValueRef first = vy_llvm_lane(e, vy_llvm_expr_lanes(e, expr), 0);
    vy_llvm_writeback(e);
    e->mask = NULL;
    e->gang = e->local_index = NULL;
    return first;
}

static void group_if(vy_emitter *e, uint32_t index, const vy_stmt *s) {
    LLVMBasicBlockRef yes = vy_llvm_block(e, "then"), no = vy_llvm_block(e, "else"), end = vy_llvm_block(e, "endif");
    LLVMBuildCondBr(e->builder, vy_llvm_uniform_across_group(e, s->a), yes, no);
    uint32_t around = e->loops.count;
    int gone = e->some_gone, left = around && e->loops.items[around - 1].some_left;
    vy_llvm_position_at(e, yes);
    group_block(e, index + 1, s->middle);
    vy_llvm_branch_to(e, end);
    int then_gone = e->some_gone, then_left = around && e->loops.items[around - 1].some_left;
    e->some_gone = gone;
    if (around)
        e->loops.items[around - 1].some_left = left;
    vy_llvm_position_at(e, no);
    group_block(e, s->middle, s->end);
    vy_llvm_continue_at(e, end);
    e->some_gone |= then_gone;
    if (around)
        e->loops.items[around - 1].some_left |= then_left;
}

/* ---- loops of the workgroup ---- */

/* The variable of a `for`. */
typedef struct counted {
    const vy_stmt *s;
    LLVMValueRef place, to, step; /* uniform, hence scalars */
} counted;

static void count_gang(vy_emitter *e, const void *user) {
    const counted *c = user;
    vy_llvm_declare(e, c->s->variable, LLVMBuildLoad2(e->builder, LLVMTypeOf(c->to), c->place, ""));
}

/* Sets the loop variable. If it is not provably uniform, every lane gets the value. */
static void count(vy_emitter *e, const counted *c, LLVMValueRef number) {
    LLVMBuildStore(e->builder, number, c->place);
    if (e->slots[c->s->variable].storage == VY_STORAGE_SCALAR)
        vy_llvm_declare(e, c->s->variable, number);
    else
        vy_llvm_gangs(e, count_gang, c);
    e->slots[c->s->variable].is_whole = 1;
}

static void enter_for(vy_emitter *e, const vy_stmt *s, counted *c, LLVMBasicBlockRef body, LLVMBasicBlockRef exit) {
    LLVMValueRef from = vy_llvm_uniform_across_group(e, s->a);
    *c = (counted){s, vy_llvm_alloca(e, LLVMTypeOf(from), "count"), vy_llvm_uniform_across_group(e, s->b), NULL};
    c->step = s->c != VY_NONE ? vy_llvm_uniform_across_group(e, s->c) : LLVMConstInt(LLVMTypeOf(from), 1, 0);
    count(e, c, from);
    LLVMBuildCondBr(e->builder, vy_llvm_for_enters(e, s, from, c->to, c->step), body, exit);
}

static void step_for(vy_emitter *e, const counted *c, LLVMBasicBlockRef body, LLVMBasicBlockRef exit) {
    LLVMValueRef now = LLVMBuildLoad2(e->builder, LLVMTypeOf(c->to), c->place, ""), then;
    LLVMValueRef goes_on = vy_llvm_for_next(e, c->s, now, c->to, c->step, &then);
    count(e, c, then);
    LLVMBuildCondBr(e->builder, goes_on, body, exit);
}

/* Registers the jumps of the loop. Lanes that leave an iteration early wait for its end. */
static int push_group_loop(vy_emitter *e, uint32_t index, LLVMBasicBlockRef next, LLVMBasicBlockRef exit) {
    vy_masked_loop loop = {.next = next, .exit = exit};
    if (vy_llvm_has_divergent_exit(e, index)) {
        loop.broke = loop.continued = vy_llvm_alloca(e, mask_type(e), "left");
        loop.keeps_left = vy_llvm_keeps_left(e, index);
        loop.left_offset = loop.keeps_left ? vy_llvm_alloc_spill(e, (uint64_t)e->gangs * 8) : 0;
    }
    vy_masked_loop *slot = VY_PUSH(&e->loops);
    if (!slot) {
        e->status = VYRE_NO_MEMORY;
        return 0;
    }
    *slot = loop;
    e->group_depth += loop.broke != NULL;
    return 1;
}

static void pop_group_loop(vy_emitter *e) {
    e->group_depth -= e->loops.items[--e->loops.count].broke != NULL;
}

static void group_trip(vy_emitter *e, uint32_t index, const vy_stmt *s) {
    vy_masked_loop *loop = group_loop_around(e);
    uint64_t offset = loop->left_offset;
    loop->some_left = 0;
    if (loop->keeps_left)
        vy_llvm_gangs(e, forget_kept, &offset);
    group_block(e, index + 1, s->end);
}

static void group_loop(vy_emitter *e, uint32_t index, const vy_stmt *s) {
    LLVMBasicBlockRef head = vy_llvm_block(e, "head"), body = vy_llvm_block(e, "body"), next = vy_llvm_block(e, "next"),
                      exit = vy_llvm_block(e, "exit");
    counted c;
    if (s->kind == VY_STMT_FOR) {
        enter_for(e, s, &c, body, exit);
        LLVMDeleteBasicBlock(head);
    } else {
        vy_llvm_continue_at(e, head);
        LLVMBuildCondBr(e->builder, vy_llvm_uniform_across_group(e, s->a), body, exit);
    }
    if (!push_group_loop(e, index, next, exit))
        return;
    vy_llvm_position_at(e, body);
    group_trip(e, index, s);
    pop_group_loop(e);
    vy_llvm_branch_to(e, vy_loop_runs_once(e->program, index) ? exit : next); /* all lanes have left, separately */
    vy_llvm_position_at(e, next);
    vy_llvm_line(e, index);
    if (s->kind == VY_STMT_FOR)
        step_for(e, &c, body, exit);
    else
        vy_llvm_branch_to(e, head);
    vy_llvm_position_at(e, exit);
}

static void group_statement(vy_emitter *e, uint32_t index) {
    const vy_stmt *s = vy_stmt_at(e->program, index);
    if (s->kind == VY_STMT_COLLECTIVE)
        vy_llvm_collective(e, index);
    else if (s->kind == VY_STMT_IF)
        group_if(e, index, s);
    else if (vy_stmt_is_loop(s->kind))
        group_loop(e, index, s);
    else if (s->kind == VY_STMT_REGION)
        group_block(e, index + 1, s->end);
}

/* A jump out of a block of the workgroup ends the region: all invocations execute it. */
static int group_jump(vy_emitter *e, const vy_stmt *s) {
    const vy_masked_loop *loop = e->loops.count ? &e->loops.items[e->loops.count - 1] : NULL;
    if (s->kind == VY_STMT_RETURN)
        vy_llvm_branch_to(e, e->group_end);
    else if (s->kind == VY_STMT_BREAK && loop)
        vy_llvm_branch_to(e, loop->exit);
    else if (s->kind == VY_STMT_CONTINUE && loop)
        vy_llvm_branch_to(e, loop->next);
    else
        return 0;
    return 1;
}

/* Recursion is bounded by VY_LIMIT_NESTING. */
static void group_block(vy_emitter *e, uint32_t first, uint32_t end) {
    const vy_stmt *stmts = e->program->stmts.items;
    for (uint32_t i = first; i < end && e->status == VYRE_OK;) {
        uint32_t last = i;
        while (last < end && !vy_llvm_ends_region(e, last))
            last = stmts[last].end;
        if (last > i)
            run_region(e, i, last);
        if (last < end) {
            vy_llvm_line(e, last);
            if (group_jump(e, &stmts[last]))
                return;
            group_statement(e, last);
            if (LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(e->builder))) /* all invocations have left */
                return;
            last = stmts[last].end;
        }
        i = last;
    }
}

void vy_llvm_emit_regions(vy_emitter *e) {
    if (e->keeps_returned)
        vy_llvm_gangs(e, forget_kept, &e->returned_offset);
    if (e->has_sync)
        group_block(e, e->body->first_stmt, e->body->end_stmt);
    else
        run_region(e, e->body->first_stmt, e->body->end_stmt);
}

/* Rematerialisation: a cheap `let` is recomputed in each barrier region that uses it, instead of being spilled.
 *
 * A `let` is cheap if it needs fewer than CHEAP integer ops, without divisions, over ids, lengths, params, literals
 * and other rematerialisable lets. Sound because its operands do not change while it is in scope: they are
 * immutable, and it loads nothing. */
enum { CHEAP = 6 }; /* operations */

static int is_cheap(vyre_op op, vyre_type type) {
    return vyre_type_class(type) != VYRE_CLASS_FLOAT && op != VYRE_OP_DIV && op != VYRE_OP_REM;
}

/* The number of ops, or more than CHEAP if it is not cheap. Recursion is bounded by VY_LIMIT_EXPRESSION_DEPTH. */
static uint32_t cost_of(const vy_emitter *e, uint32_t expr) {
    const vy_expr *x = expr == VY_NONE ? NULL : vy_expr_at(e->program, expr);
    uint64_t stride;
    if (!x)
        return 0;
    switch ((vy_expr_kind)x->kind) {
    case VY_EXPR_LITERAL:
    case VY_EXPR_LEN:
    case VY_EXPR_ALIGN_OFFSET:
    case VY_EXPR_BUILTIN:
        return 0;
    case VY_EXPR_VARIABLE:
        if (x->a - e->body->first_variable < e->program->param_count)
            return 0;
        if (e->slots[x->a].storage == VY_STORAGE_SCALAR)
            return vy_variable_stride(e->uniform, x->a, &stride) ? 0 : CHEAP + 1;
        return e->slots[x->a].cost;
    case VY_EXPR_OP:
        if (!is_cheap((vyre_op)x->op, (vyre_type)x->type))
            return CHEAP + 1;
        return 1 + cost_of(e, x->a) + cost_of(e, x->b) + cost_of(e, x->c);
    default:
        return CHEAP + 1;
    }
}

void vy_llvm_find_rematerializable(vy_emitter *e) {
    for (uint32_t i = 0; i < e->program->variables.count; i++) {
        e->slots[i].cost = CHEAP + 1;
        e->slots[i].made_of = VY_NONE;
    }
    for (uint32_t i = e->body->first_stmt; i < e->body->end_stmt; i++) {
        const vy_stmt *s = vy_stmt_at(e->program, i);
        if (s->kind != VY_STMT_LET || e->slots[s->variable].storage == VY_STORAGE_SCALAR)
            continue;
        uint32_t cost = cost_of(e, s->a);
        e->slots[s->variable].cost = (uint8_t)(cost < CHEAP ? cost : CHEAP + 1);
        e->slots[s->variable].made_of = s->a;
    }
}

/* Marks the `let`s in the operands as rematerialised too. Recursion is bounded by CHEAP and
 * VY_LIMIT_EXPRESSION_DEPTH. */
static void make_again(vy_emitter *e, uint32_t expr) {
    const vy_expr *x = expr == VY_NONE ? NULL : vy_expr_at(e->program, expr);
    if (x && x->kind == VY_EXPR_VARIABLE)
        (void)vy_llvm_rematerialize(e, x->a);
    if (!x || x->kind != VY_EXPR_OP)
        return;
    make_again(e, x->a);
    make_again(e, x->b);
    make_again(e, x->c);
}

int vy_llvm_rematerialize(vy_emitter *e, uint32_t variable) {
    vy_value_slot *slot = &e->slots[variable];
    if (slot->cost > CHEAP || slot->storage == VY_STORAGE_SCALAR)
        return 0;
    if (slot->storage != VY_STORAGE_REMAT) {
        slot->storage = VY_STORAGE_REMAT;
        make_again(e, slot->made_of);
    }
    return 1;
}
