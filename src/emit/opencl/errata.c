/* Errata of the compilers of OpenCL drivers: marks the statements around which the code differs for a device with
 * errata (emit/opencl/opencl.h).
 *
 * VY_OPENCL_ERRATUM_BRANCHES: a branch decides about a barrier if it contains one, or a jump around a later one. All
 * invocations of the workgroup take such a branch together, so another barrier before it changes nothing but what the
 * compiler makes of it.
 *
 * A return around a barrier is taken by all invocations, too. It has a barrier of its own, because the compiler makes
 * wrong code if the end of the kernel is reached from several barriers. An empty assembler statement behind it
 * (statement.c) keeps LLVM from merging it with another one.
 *
 * The compiler also takes the branch to an endless loop for one around the barriers after the loop, though no
 * invocation takes it. LLVM makes a `while` endless if it proves that the condition does not change, so the iterations
 * of each `while` before a barrier are counted: then no proof is possible. */
#include "emit/opencl/emitter.h"

#include "analysis/literal.h"
#include "emit/ptxas_loops.h"

typedef struct scan {
    vy_c *c;
    const uint32_t *barriers; /* by statement: those before it */
    uint32_t ends;            /* returns so far around no barrier: some invocations may take them */
} scan;

/* Whether there is a barrier in a range of statements. */
static int has_barrier(const scan *s, uint32_t first, uint32_t end) {
    return s->barriers[end] != s->barriers[first];
}

/* Whether the block jumps around a barrier: `is_followed`, one may be executed after the block; `is_in_loop`, the
 * innermost loop has one. Recursion is bounded by VY_LIMIT_NESTING. */
static int mark_block(scan *s, uint32_t first, uint32_t end, int is_followed, int is_in_loop) {
    const vy_stmt *last = NULL;
    const uint32_t ends = s->ends;
    int jumps = 0;
    for (uint32_t i = first; i < end; i = vy_c_stmt(s->c, i)->end) {
        const vy_stmt *given = last = vy_c_stmt(s->c, i);
        const int contains = has_barrier(s, i, given->end), is_loop = vy_stmt_is_loop(given->kind),
                  follows = is_followed || has_barrier(s, given->end, end) || (is_loop && contains);
        int inner = 0;
        if (given->kind == VY_STMT_WHILE && follows && !contains)
            s->c->marks[i] |= VY_C_MARK_COUNT;
        if (vy_stmt_is_structured(given->kind)) {
            const uint32_t middle = given->kind == VY_STMT_IF ? given->middle : given->end;
            inner = mark_block(s, i + 1, middle, follows, is_loop ? contains : is_in_loop);
            inner |= mark_block(s, middle, given->end, follows, is_in_loop);
        }
        if (given->kind != VY_STMT_REGION && (contains || inner) && vy_stmt_is_structured(given->kind) &&
            !(i > first && vy_c_stmt(s->c, i - 1)->kind == VY_STMT_BARRIER))
            s->c->marks[i] |= VY_C_MARK_BEFORE;
        if (given->kind == VY_STMT_RETURN && follows)
            s->c->marks[i] |= VY_C_MARK_BEFORE;
        s->ends += given->kind == VY_STMT_RETURN && !follows;
        jumps |= inner || (given->kind == VY_STMT_RETURN ? follows : vy_stmt_is_jump(given->kind) && is_in_loop);
    }
    if (last && s->ends == ends && has_barrier(s, first, end) && last->kind != VY_STMT_BARRIER &&
        !vy_stmt_is_jump(last->kind))
        s->c->marks[first] |= VY_C_MARK_TAIL;
    return jumps;
}

static void mark_branches(vy_c *c) {
    const uint32_t count = c->program->stmts.count;
    uint32_t *barriers = vy_arena_allocate(&c->arena, ((size_t)count + 1) * sizeof *barriers);
    if (!barriers) {
        vy_c_refuse_memory(c);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        barriers[i + 1] = barriers[i] + (vy_c_stmt(c, i)->kind == VY_STMT_BARRIER);
    (void)mark_block(&(scan){c, barriers, 0}, c->entry->first_stmt, c->entry->end_stmt, 0, 0);
}

static vy_interval interval_of(const vy_expr *x) {
    const vy_wide number = vy_integer_of(x->type, x->bits);
    return x->kind == VY_EXPR_LITERAL ? (vy_interval){number, number} : vy_interval_whole(x->type);
}

/* Whether ptxas counts the iterations of a loop correctly. A type of less than 32 bits wraps where its values do
 * not. */
static int is_counted_rightly(const vy_c *c, const vy_def_use *uses, uint32_t loop) {
    const vy_stmt *s = vy_c_stmt(c, loop);
    if (s->kind == VY_STMT_FOR) {
        const vy_expr *by = s->c == VY_NONE ? NULL : vy_c_expr_at(c, s->c), *from = vy_c_expr_at(c, s->a);
        const vy_wide step = !by ? 1 : vy_integer_of(by->type, by->bits);
        const vy_ptxas_trip_count trips = {.type = from->type,
                                           .goes_on = step < 0 ? VYRE_OP_GT : VYRE_OP_LT,
                                           .step = step,
                                           .from = interval_of(from),
                                           .to = interval_of(vy_c_expr_at(c, s->b))};
        if ((by && by->kind != VY_EXPR_LITERAL) || vyre_type_bits((vyre_type)from->type) < 32 ||
            !vy_ptxas_counts_rightly(&trips))
            return 0;
    }
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

void vy_opencl_mark(vy_opencl *o) {
    vy_c *c = &o->c;
    const unsigned errata = o->device->errata;
    if (!errata)
        return;
    c->marks = vy_arena_allocate(&c->arena, (size_t)c->program->stmts.count + 1);
    if (!c->marks) {
        vy_c_refuse_memory(c);
        return;
    }
    if (errata & VY_OPENCL_ERRATUM_BRANCHES)
        mark_branches(c);
    if (errata & VY_OPENCL_ERRATUM_NVIDIA)
        mark_loops(c);
}
