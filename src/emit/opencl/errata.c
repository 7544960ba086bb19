/* Errata of the compilers of OpenCL drivers: marks the statements around which the code differs for a device with
 * VY_OPENCL_ERRATUM_BRANCHES.
 *
 * A branch decides about a barrier if it contains one, or a jump around a later one. All invocations of the workgroup
 * take such a branch together, so another barrier before it changes nothing but what the compiler makes of it. */
#include "emit/opencl/emitter.h"

typedef struct scan {
    vy_c *c;
    const uint32_t *barriers; /* by statement: those before it */
} scan;

/* Whether there is a barrier in a range of statements. */
static int has_barrier(const scan *s, uint32_t first, uint32_t end) {
    return s->barriers[end] != s->barriers[first];
}

/* Whether the block jumps around a barrier: `is_followed`, one may be executed after the block; `is_in_loop`, the
 * innermost loop has one. Recursion is bounded by VY_LIMIT_NESTING. */
static int mark_block(scan *s, uint32_t first, uint32_t end, int is_followed, int is_in_loop) {
    const vy_stmt *last = NULL;
    int jumps = 0;
    for (uint32_t i = first; i < end; i = vy_c_stmt(s->c, i)->end) {
        const vy_stmt *given = last = vy_c_stmt(s->c, i);
        const int contains = has_barrier(s, i, given->end), is_loop = vy_stmt_is_loop(given->kind),
                  follows = is_followed || has_barrier(s, given->end, end) || (is_loop && contains);
        int inner = 0;
        if (vy_stmt_is_structured(given->kind)) {
            const uint32_t middle = given->kind == VY_STMT_IF ? given->middle : given->end;
            inner = mark_block(s, i + 1, middle, follows, is_loop ? contains : is_in_loop);
            inner |= mark_block(s, middle, given->end, follows, is_in_loop);
        }
        if (given->kind != VY_STMT_REGION && (contains || inner) && vy_stmt_is_structured(given->kind) &&
            !(i > first && vy_c_stmt(s->c, i - 1)->kind == VY_STMT_BARRIER))
            s->c->marks[i] |= VY_C_MARK_BEFORE;
        jumps |= inner || (given->kind == VY_STMT_RETURN ? follows : vy_stmt_is_jump(given->kind) && is_in_loop);
    }
    if (last && has_barrier(s, first, end) && last->kind != VY_STMT_BARRIER && !vy_stmt_is_jump(last->kind))
        s->c->marks[first] |= VY_C_MARK_TAIL;
    return jumps;
}

void vy_opencl_mark(vy_opencl *o) {
    vy_c *c = &o->c;
    const uint32_t count = c->program->stmts.count;
    if (!(o->device->errata & VY_OPENCL_ERRATUM_BRANCHES))
        return;
    uint32_t *barriers = vy_arena_allocate(&c->arena, ((size_t)count + 1) * sizeof *barriers);
    c->marks = vy_arena_allocate(&c->arena, (size_t)count + 1);
    if (!barriers || !c->marks) {
        vy_c_refuse_memory(c);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        barriers[i + 1] = barriers[i] + (vy_c_stmt(c, i)->kind == VY_STMT_BARRIER);
    (void)mark_block(&(scan){c, barriers}, c->entry->first_stmt, c->entry->end_stmt, 0, 0);
}
