/* Elementwise analysis (elementwise.h): one pass over all loads and stores, which compares their indices with
 * global_id.x. Invariant: a buffer is reported only if every access to it is at global_id.x. */
#include "analysis/elementwise.h"

#include "analysis/def_use.h"
#include "base/memory.h"
#include "base/status.h"

enum { ALIASES = 16 }; /* `let`s between an index and global_id.x */

typedef struct finder {
    const vyre_program *program;
    vy_def_use uses;
    uint8_t *is_elementwise;
} finder;

static int is_own(const finder *f, uint32_t index) {
    const vy_expr *e = vy_expr_at(f->program, vy_see_through_lets(&f->uses, index, ALIASES));
    return e->kind == VY_EXPR_BUILTIN && e->op == VYRE_BUILTIN_GLOBAL_ID && e->axis == 0;
}

static void check_access(const finder *f, uint32_t memory, int is_own) {
    uint32_t buffer = vy_buffer_of_memory(f->program, memory);
    if (buffer != VY_NONE && !is_own)
        f->is_elementwise[buffer] = 0;
}

static void check_loads(const finder *f) {
    for (uint32_t i = 0; i < f->program->exprs.count; i++) {
        const vy_expr *e = vy_expr_at(f->program, i);
        if (e->kind == VY_EXPR_LOAD)
            check_access(f, e->a, is_own(f, e->b));
    }
}

static void check_stores(const finder *f) {
    for (uint32_t i = 0; i < f->program->stmts.count; i++) {
        const vy_stmt *s = vy_stmt_at(f->program, i);
        if (s->kind == VY_STMT_STORE || s->kind == VY_STMT_ATOMIC)
            check_access(f, s->memory, s->kind == VY_STMT_STORE && is_own(f, s->a));
    }
}

vyre_status vy_elementwise_find(const vyre_program *program, uint8_t *is_elementwise, int *is_divisible,
                                vyre_error *error) {
    vy_arena arena = {0};
    finder f = {.program = program, .uses = {.program = program, .arena = &arena}, .is_elementwise = is_elementwise};
    *is_divisible = 0;
    memset(is_elementwise, 0, program->buffer_count);
    if (program->facts & (VY_PROGRAM_HAS_CALL | VY_PROGRAM_HAS_OP_CALL))
        return VYRE_OK;
    if (!vy_def_use_need(&f.uses, VY_DEF_USE_DECLARATIONS)) {
        vy_arena_free(&arena);
        return vy_fail_memory(error, "the elementwise analysis");
    }
    memset(is_elementwise, 1, program->buffer_count);
    check_loads(&f);
    check_stores(&f);
    *is_divisible = !(program->facts & VY_PROGRAM_HAS_GRID_BARRIER);
    const uint32_t first = vy_program_entry(program)->first_memory;
    for (uint32_t i = 0; i < program->buffer_count; i++)
        *is_divisible &= is_elementwise[i] || !vy_access_is_output(program->memories.items[first + i].access);
    vy_arena_free(&arena);
    return VYRE_OK;
}
