/* Writing a segment: what the program does from one grid barrier to the next.
 *
 * From the start of the program, a grid barrier is where the segment ends; what stands behind it in the same block
 * cannot be reached. From behind a grid barrier, the segment is the rest of the block the barrier stands in, then the
 * rest of the block around that, and so on:
 *
 *   if c { … grid_barrier A } B            A  B
 *   region r { … grid_barrier A } B        region r { A }  B
 *   while c { … grid_barrier A } B         var resumes = true
 *                                          while resumes || c { if resumes { resumes = false  A } else { … end } }  B
 *   for i in a .. b step s { … }           for i in i .. b step s { if resumes { … } else { … } }
 *
 * A `for` begins again with the trip it was in, so that its first trip is the rest of that one, and nothing has to be
 * known about how it counts. If another grid barrier follows in the same block, and nothing jumps past it, the loops
 * around do not matter: what is between the two is all. A loop that makes at most one trip (the inliner makes these)
 * stays one: `while true { A }`; the validator is more lenient with them.
 *
 * All this stands in a region named after the program. So its statements stand in no worse a place than they did, as
 * far as the validator's search for certain races is concerned, which looks at the body of a program only. */
#include "split/grid_split_segment.h"

#include <stdio.h>

static const vy_stmt *stmt_at(const vy_segment *s, uint32_t index) {
    return &s->plan->program->stmts.items[index];
}

/* ---- blocks that are entered at their start ---- */

static int write_block(vy_segment *s, uint32_t first, uint32_t end);

static void open_block(vy_segment *s, uint32_t index) {
    const vy_stmt *stmt = stmt_at(s, index);
    if (stmt->kind != VY_STMT_FOR) {
        vy_cloner_stmt(&s->copy, index);
        return;
    }
    uint32_t a = vy_cloner_expr(&s->copy, stmt->a), b = vy_cloner_expr(&s->copy, stmt->b),
             c = vy_cloner_expr(&s->copy, stmt->c);
    vy_cloner_for(&s->copy, index, a, b, c);
}

static void write_split(vy_segment *s, uint32_t index) {
    const vy_stmt *stmt = stmt_at(s, index);
    uint32_t mark = vy_cloner_open(&s->copy);
    open_block(s, index);
    write_block(s, index + 1, stmt->middle);
    vy_cloner_close(&s->copy, mark);
    if (stmt->middle != stmt->end) {
        vy_irb_else(&s->copy.draft);
        write_block(s, stmt->middle, stmt->end);
        vy_cloner_close(&s->copy, mark);
    }
    vy_irb_end_block(&s->copy.draft);
}

/* Returns whether the block was cut at a barrier or ends in a jump, so that nothing may follow in it. Recursion is
 * bounded by VY_LIMIT_NESTING. */
static int write_block(vy_segment *s, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end && !s->copy.draft.failed; i = stmt_at(s, i)->end) {
        const vy_stmt *stmt = stmt_at(s, i);
        if (vy_is_grid_barrier(stmt)) {
            vy_segment_end(s, vy_plan_ordinal(s->plan, i));
            return 1;
        }
        if (s->plan->marks[i] & VY_MARK_SPLIT)
            write_split(s, i);
        else
            vy_cloner_tree(&s->copy, i);
        if (stmt->kind == VY_STMT_BREAK || stmt->kind == VY_STMT_CONTINUE || stmt->kind == VY_STMT_RETURN)
            return 1;
    }
    return 0;
}

/* ---- blocks that are entered in the middle ---- */

static int resume(vy_segment *s, uint32_t depth);

/* `for i in i .. end step s`: the first i is the one that was kept. */
static void reopen_for(vy_segment *s, uint32_t index) {
    const vy_stmt *stmt = stmt_at(s, index);
    s->copy.variable_uses[stmt->variable] |= VY_USE_READ;
    uint32_t a = vy_irb_variable(&s->copy.draft, s->copy.variables[stmt->variable]);
    uint32_t b = vy_cloner_expr(&s->copy, stmt->b), c = vy_cloner_expr(&s->copy, stmt->c);
    vy_cloner_for(&s->copy, index, a, b, c);
}

static void reopen_while(vy_segment *s, uint32_t index) {
    vy_irb *draft = &s->copy.draft;
    if (s->plan->marks[index] & VY_MARK_ONE_TRIP) {
        vy_irb_while(draft, vy_irb_literal(draft, VYRE_TYPE_BOOL, 1));
        return;
    }
    uint32_t resumes = vy_irb_variable(draft, s->resumes), condition = vy_cloner_expr(&s->copy, stmt_at(s, index)->a);
    draft->position = vy_stmt_position(s->plan->program, index);
    vy_irb_while(draft, vy_irb_op(draft, VYRE_OP_LOR, VYRE_TYPE_BOOL, resumes, condition, VY_NONE));
}

static void resume_loop(vy_segment *s, uint32_t depth) {
    uint32_t index = s->path[depth], mark = vy_cloner_open(&s->copy);
    const vy_stmt *stmt = stmt_at(s, index);
    vy_irb *draft = &s->copy.draft;
    if (stmt->kind == VY_STMT_FOR)
        reopen_for(s, index);
    else
        reopen_while(s, index);
    if (s->plan->marks[index] & VY_MARK_ONE_TRIP) {
        resume(s, depth + 1);
    } else {
        uint32_t inner = vy_cloner_open(&s->copy);
        vy_irb_if(draft, vy_irb_variable(draft, s->resumes));
        resume(s, depth + 1);
        vy_cloner_close(&s->copy, inner);
        vy_irb_else(draft);
        write_block(s, index + 1, stmt->end);
        vy_irb_end_block(draft);
    }
    vy_irb_end_block(draft);
    vy_cloner_close(&s->copy, mark);
}

static int resume_region(vy_segment *s, uint32_t depth) {
    uint32_t mark = vy_cloner_open(&s->copy);
    vy_cloner_stmt(&s->copy, s->path[depth]);
    int ends = resume(s, depth + 1);
    vy_irb_end_block(&s->copy.draft);
    vy_cloner_close(&s->copy, mark);
    return ends && s->is_straight; /* else it is only the region that ends */
}

/* Goes on at path[depth] and writes the rest of the block it stands in. Returns as write_block does. */
static int resume(vy_segment *s, uint32_t depth) {
    uint32_t index = s->path[depth];
    const vy_stmt *stmt = stmt_at(s, index);
    vy_irb *draft = &s->copy.draft;
    switch (stmt->kind) {
    case VY_STMT_BARRIER:
        if (s->resumes != VY_NONE)
            vy_irb_assign(draft, s->resumes, vy_irb_literal(draft, VYRE_TYPE_BOOL, 0));
        break;
    case VY_STMT_IF:
        if (resume(s, depth + 1))
            return 1;
        break;
    case VY_STMT_REGION:
        if (resume_region(s, depth))
            return 1;
        break;
    default:
        if (s->is_straight)
            return resume(s, depth + 1);
        resume_loop(s, depth);
        break;
    }
    return write_block(s, stmt->end, vy_plan_block_end(s->plan, index));
}

/* ---- the segment ---- */

static void find_path(vy_segment *s) {
    uint32_t barrier = s->plan->barriers[s->start], at = barrier;
    s->depth = 0;
    while ((at = s->plan->parents[at]) != VY_NONE)
        s->depth++;
    at = barrier;
    for (uint32_t i = s->depth + 1; i-- > 0; at = s->plan->parents[at])
        s->path[i] = at;
}

/* Whether a statement has a break or continue of a loop around it in it. */
static int jumps_out(const vy_segment *s, uint32_t index) {
    uint32_t end = stmt_at(s, index)->end, loop_end = index;
    for (uint32_t i = index; i < end; i++) {
        const vy_stmt *stmt = stmt_at(s, i);
        if ((stmt->kind == VY_STMT_BREAK || stmt->kind == VY_STMT_CONTINUE) && i >= loop_end)
            return 1;
        if (vy_stmt_is_loop(stmt->kind) && stmt->end > loop_end)
            loop_end = stmt->end;
    }
    return 0;
}

static int is_straight(const vy_segment *s) {
    uint32_t barrier = s->path[s->depth], end = vy_plan_block_end(s->plan, barrier);
    for (uint32_t i = barrier + 1; i < end; i = stmt_at(s, i)->end) {
        if (vy_is_grid_barrier(stmt_at(s, i)))
            return 1;
        if (jumps_out(s, i))
            return 0;
    }
    return 0;
}

/* Whether the start lies in a loop that comes round again. */
static int comes_round(const vy_segment *s) {
    for (uint32_t i = 0; i < s->depth && !s->is_straight; i++)
        if (vy_stmt_is_loop(stmt_at(s, s->path[i])->kind) && !(s->plan->marks[s->path[i]] & VY_MARK_ONE_TRIP))
            return 1;
    return 0;
}

static void write_body(vy_segment *s) {
    const vyre_program *program = s->plan->program;
    vy_irb *draft = &s->copy.draft;
    if (s->is_measured)
        vy_segment_restore(s);
    if (s->start != VY_NONE && comes_round(s)) {
        vy_symbol name = vy_cloner_new_name(&s->copy, "resumes");
        s->resumes = vy_irb_var(draft, name, VYRE_TYPE_BOOL, vy_irb_literal(draft, VYRE_TYPE_BOOL, 1));
    }
    vy_stmt region = vy_irb_blank_stmt(VY_STMT_REGION);
    region.name = vy_irb_intern(draft, vyre_program_name(program), strlen(vyre_program_name(program)));
    vy_irb_stmt(draft, &region, NULL, 0, NULL, NULL);
    if (s->start == VY_NONE)
        write_block(s, 0, program->stmts.count);
    else
        resume(s, 0);
    vy_irb_end_block(draft);
}

static vyre_status write_segment(vy_segment *s, vyre_error *error) {
    const vyre_program *program = s->plan->program;
    char name[VY_LIMIT_NAME + 1], suffix[16];
    int length = snprintf(suffix, sizeof suffix, "_%u", s->start == VY_NONE ? 0 : s->start + 1);
    snprintf(name, sizeof name, "%.*s%s", VY_LIMIT_NAME - length, vyre_program_name(program), suffix);
    vyre_status status = vy_cloner_start(&s->copy, program, name, error);
    if (status != VYRE_OK)
        return status;
    vy_cloner_params(&s->copy);
    vy_segment_declare_params(s);
    vy_cloner_buffers(&s->copy, 1);
    vy_segment_declare_buffers(s);
    vy_cloner_arrays(&s->copy);
    s->copy.draft.position =
        s->start == VY_NONE ? s->copy.entry->position : vy_stmt_position(program, s->plan->barriers[s->start]);
    write_body(s);
    return VYRE_OK;
}

/* Whether the ends of the segment need a barrier, which the first time could not know. */
static int ends_sync(const vy_segment *s) {
    const vyre_program *program = s->plan->program;
    for (uint32_t m = program->buffer_count; m < program->memories.count; m++)
        for (uint32_t i = 0; i < s->ends.count; i++)
            if (program->memories.items[m].space == VY_SPACE_WORKGROUP && s->copy.memory_uses[m] & VY_USE_WRITE &&
                vy_live_at(s->plan->memory_live[m], s->ends.items[i]))
                return 1;
    return 0;
}

static void start_over(vy_segment *s) {
    const vyre_program *program = s->plan->program;
    vy_cloner kept = s->copy;
    vy_cloner_discard(&s->copy);
    s->copy = (vy_cloner){.variables = kept.variables,
                          .memories = kept.memories,
                          .variable_uses = kept.variable_uses,
                          .memory_uses = kept.memory_uses,
                          .is_fresh = kept.is_fresh};
    memset(s->copy.is_fresh, 0, program->variables.count);
    memset(s->copy.variables, 0xff, program->variables.count * sizeof *s->copy.variables);
}

static vyre_status write_twice(vy_segment *s, vyre_program **out, vyre_error *error) {
    start_over(s);
    vyre_status status = write_segment(s, error);
    if (status != VYRE_OK)
        return status;
    if (s->copy.draft.failed)
        return vy_cloner_finish(&s->copy, out, error); /* which says why */
    s->has_sync = s->copy.has_sync || ends_sync(s);
    s->is_measured = 1;
    s->resumes = VY_NONE;
    start_over(s);
    status = write_segment(s, error);
    return status == VYRE_OK ? vy_cloner_finish(&s->copy, out, error) : status;
}

vyre_status vy_segment_make(const vy_split *split, uint32_t start, vyre_program **out, vyre_error *error) {
    const vyre_program *program = split->plan->program;
    vy_segment s = {.split = split, .plan = split->plan, .start = start, .resumes = VY_NONE};
    vy_arena arena = {0};
    s.group = s.invocation = s.invocations = VY_NONE;
    for (int w = 0; w < VY_WIDTHS; w++)
        s.group_base[w] = VY_NONE;
    s.copy.variables = vy_arena_allocate(&arena, vy_array_size(program->variables.count, sizeof *s.copy.variables));
    s.copy.memories = vy_arena_allocate(&arena, vy_array_size(program->memories.count, sizeof *s.copy.memories));
    s.copy.variable_uses = vy_arena_allocate(&arena, program->variables.count);
    s.copy.memory_uses = vy_arena_allocate(&arena, program->memories.count);
    s.copy.is_fresh = vy_arena_allocate(&arena, program->variables.count);
    s.params = vy_arena_allocate(&arena, vy_array_size(VY_LIMIT_PARAMS, sizeof *s.params));
    vyre_status status = VYRE_NO_MEMORY;
    if (s.copy.variables && s.copy.memories && s.copy.variable_uses && s.copy.memory_uses && s.copy.is_fresh &&
        s.params) {
        if (start != VY_NONE) {
            find_path(&s);
            s.is_straight = is_straight(&s);
        }
        status = write_twice(&s, out, error);
    } else {
        vy_fail_memory(error, "a segment of a program");
    }
    vy_cloner_discard(&s.copy);
    VY_VECTOR_FREE(&s.ends);
    vy_arena_free(&arena);
    return status;
}
