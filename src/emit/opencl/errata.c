/* Errata of the compilers of OpenCL drivers (emit/opencl/opencl.h): the programs whose invocations run sequentially,
 * and the marks of statements whose code differs.
 *
 * VY_OPENCL_ERRATUM_POCL: PoCL compiles a kernel with barriers to loops over the invocations, one for each region
 * between two barriers. The loops are correct if, from each barrier, all invocations reach the same next barrier. They
 * lose code if a branch decides whether a barrier executes or whether the kernel ends. */
#include "emit/opencl/emitter.h"

#include "emit/branch_cost.h"
#include "emit/ptxas_loops.h"

enum { HAS_BARRIER = 1, HAS_JUMP = 2, HAS_DECISION = 4, HAS_LOOP = 8 };

/* PoCL's compile time grows by 2.5 for each further loop: 8 take 12 s. 256 barriers take 3 s. */
enum { MOST_LOOPS = 5, MOST_BARRIERS = 128 };

/* The features of a range of statements.
 * HAS_JUMP      a jump leaves or continues the loop around the range
 * HAS_LOOP      a loop with a barrier; `loops` counts those that do not contain another one
 * HAS_DECISION  a branch decides whether a barrier executes, or whether the kernel ends (traps, polls and returns). So
 *               is a `while` without barriers that begins before `last`: LLVM may prove it infinite, and PoCL treats
 *               the branch to an infinite loop as a branch around the barriers after it
 * Recursion is bounded by VY_LIMIT_NESTING. */
static unsigned scan(const vy_c *c, uint32_t first, uint32_t end, uint32_t last, uint32_t *loops) {
    unsigned has = 0;
    for (uint32_t i = first; i < end; i = vy_c_stmt(c, i)->end) {
        const vy_stmt *s = vy_c_stmt(c, i);
        const unsigned inner = vy_stmt_is_structured(s->kind) ? scan(c, i + 1, s->end, last, loops) : 0;
        const int contains = (inner & HAS_BARRIER) != 0, is_loop = vy_stmt_is_loop(s->kind);
        const int decides = s->kind == VY_STMT_RECORD_TRAP || s->kind == VY_STMT_POLL || s->kind == VY_STMT_RETURN ||
                            (s->kind == VY_STMT_WHILE && !contains && i < last) ||
                            (s->kind == VY_STMT_IF && contains) || (is_loop && contains && (inner & HAS_JUMP));
        has |= inner & ~(unsigned)(is_loop ? HAS_JUMP : 0);
        has |= (s->kind == VY_STMT_BARRIER ? HAS_BARRIER : 0) | (vy_stmt_is_jump(s->kind) ? HAS_JUMP : 0) |
               (decides ? HAS_DECISION : 0) | (is_loop && contains ? HAS_LOOP : 0);
        *loops += is_loop && contains && !(inner & HAS_LOOP);
    }
    return has;
}

int vy_opencl_is_sequential(vy_opencl *o) {
    const vy_c *c = &o->c;
    const uint32_t end = c->entry->end_stmt;
    uint32_t last = c->entry->first_stmt; /* the end of the last statement with a barrier */
    uint32_t loops = 0, barriers = 0, ignored = 0;
    if (!(o->device->errata & VY_OPENCL_ERRATUM_POCL))
        return 0;
    for (uint32_t i = last; i < end; i = vy_c_stmt(c, i)->end)
        if (scan(c, i, vy_c_stmt(c, i)->end, 0, &loops) & HAS_BARRIER)
            last = vy_c_stmt(c, i)->end;
    for (uint32_t i = c->entry->first_stmt; i < end; i++)
        barriers += vy_c_stmt(c, i)->kind == VY_STMT_BARRIER;
    return barriers && (loops > MOST_LOOPS || barriers > MOST_BARRIERS ||
                        (scan(c, c->entry->first_stmt, end, last, &ignored) & HAS_DECISION) || vy_opencl_overflows(o));
}

/* Marks loops with barriers. A loop that may have no iteration is a branch around its barriers. All invocations take
 * this branch together, so PoCL's code is correct if a barrier is directly before the loop and at the end of its body.
 * Returns whether the range contains a barrier. Recursion is bounded by VY_LIMIT_NESTING. */
static int mark_barriers(vy_c *c, uint32_t first, uint32_t end) {
    const vy_stmt *before = NULL;
    int has = 0;
    for (uint32_t i = first; i < end; i = before->end) {
        const vy_stmt *s = vy_c_stmt(c, i);
        const int contains = vy_stmt_is_structured(s->kind) ? mark_barriers(c, i + 1, s->end) : 0;
        if (contains && vy_stmt_is_loop(s->kind)) {
            const int is_separated = before && before->kind == VY_STMT_BARRIER;
            const vy_stmt *last = vy_c_stmt(c, i + 1);
            while (last->end < s->end)
                last = vy_c_stmt(c, last->end);
            const int is_ended = last->kind == VY_STMT_BARRIER;
            c->marks[i] |= (uint8_t)((is_separated ? 0 : VY_C_MARK_BEFORE) | (is_ended ? 0 : VY_C_MARK_TAIL));
        }
        has |= contains || s->kind == VY_STMT_BARRIER;
        before = s;
    }
    return has;
}

/* Whether ptxas counts the iterations of a loop correctly. A counter of less than 32 bits may wrap although the 32-bit
 * register that holds it does not. */
static int is_counted_rightly(const vy_c *c, const vy_def_use *uses, uint32_t loop) {
    const vy_stmt *s = vy_c_stmt(c, loop);
    if (s->kind == VY_STMT_FOR &&
        (vyre_type_bits((vyre_type)vy_c_expr_at(c, s->a)->type) < 32 || !vy_ptxas_counts_for_rightly(c->program, s)))
        return 0;
    return vy_ptxas_exits_are_safe(uses, loop);
}

static void mark_loops(vy_c *c) {
    vy_def_use uses = {.program = c->program, .arena = &c->arena};
    if (!vy_def_use_need(&uses, VY_PTXAS_LOOPS_NEED)) {
        vy_c_refuse_memory(c);
        return;
    }
    for (uint32_t i = 0; i < c->program->stmts.count; i++)
        if (vy_stmt_is_loop(vy_c_stmt(c, i)->kind) && !is_counted_rightly(c, &uses, i))
            c->marks[i] |= VY_C_MARK_ROLLED;
}

/* Whether a signed integer becomes a float: NVIDIA's compiler then assumes that a shifted local id is not negative. */
static int converts_signed(const vyre_program *p) {
    for (uint32_t i = 0; i < p->exprs.count; i++) {
        const vy_expr *e = vy_expr_at(p, i);
        if (e->kind == VY_EXPR_OP && e->op == VYRE_OP_CAST && vyre_type_class((vyre_type)e->type) == VYRE_CLASS_FLOAT &&
            vyre_type_class((vyre_type)vy_expr_at(p, e->a)->type) == VYRE_CLASS_SIGNED)
            return 1;
    }
    return 0;
}

/* If-conversion: marks each outermost `if` that only assigns variables, contains a load, and has a low cost. */
static void mark_flat(vy_c *c, const vy_predication *most) {
    const vyre_program *p = c->program;
    for (uint32_t i = 0; i < p->stmts.count; i++) {
        const vy_stmt *s = vy_c_stmt(c, i);
        vy_branch_cost cost = {.most_ops = most->ops, .most_accesses = most->accesses, .is_local = 1};
        if (s->kind != VY_STMT_IF)
            continue;
        vy_branch_cost_add(p, i + 1, s->end, &cost);
        if (!cost.accesses || vy_branch_cost_is_high(&cost))
            continue;
        c->marks[i] |= VY_C_MARK_FLAT;
        i = s->end - 1;
    }
}

void vy_opencl_mark(vy_opencl *o) {
    vy_c *c = &o->c;
    const unsigned errata = o->device->errata;
    const vy_target_desc target = vy_opencl_target(o->device, c->program, 0);
    if (!(errata & (VY_OPENCL_ERRATUM_POCL | VY_OPENCL_ERRATUM_NVIDIA)) && !target.predication.ops)
        return;
    c->marks = vy_arena_allocate(&c->arena, (size_t)c->program->stmts.count + 1);
    if (!c->marks) {
        vy_c_refuse_memory(c);
        return;
    }
    if (target.predication.ops)
        mark_flat(c, &target.predication);
    if (errata & VY_OPENCL_ERRATUM_POCL && !o->is_sequential)
        (void)mark_barriers(c, c->entry->first_stmt, c->entry->end_stmt);
    if (errata & VY_OPENCL_ERRATUM_NVIDIA) {
        mark_loops(c);
        o->hides_local_ids = converts_signed(c->program);
    }
}
