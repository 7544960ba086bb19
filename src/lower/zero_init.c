/* Zero initialisation of arrays at the start of a program (zero_init.h): each invocation zeroes its private arrays, and
 * the workgroup together zeroes the workgroup arrays, followed by one barrier. The range analysis proves the indices of
 * this code in bounds. */
#include "lower/zero_init.h"

#include "base/status.h"
#include "opt/rewriter.h"

enum { SINGLE_STORES = 8 }; /* of a private array: more are a loop */

typedef struct filling {
    uint8_t *needs; /* by memory */
    uint32_t index; /* variable of the draft: the place in the workgroup */
    uint32_t size;  /* of the workgroup */
} filling;

static uint32_t number(vy_rewrite *rw, uint32_t value) {
    return vy_irb_literal(&rw->draft, VYRE_TYPE_U32, value);
}

/* array[index] = 0, with an index that was just appended. */
static void store_zero(vy_rewrite *rw, uint32_t memory, uint32_t index) {
    uint32_t zero = vy_irb_literal(&rw->draft, (vyre_type)rw->from->memories.items[memory].type, 0);
    vy_irb_store(&rw->draft, rw->memories[memory], index, zero);
}

/* for t in from .. elements step … { array[t] = 0 }; step VY_NONE is 1. */
static void store_zeros(vy_rewrite *rw, uint32_t memory, uint32_t from, uint32_t step) {
    vy_irb *d = &rw->draft;
    uint32_t first = from == VY_NONE ? number(rw, 0) : vy_irb_variable(d, from);
    uint32_t end = number(rw, rw->from->memories.items[memory].elements);
    uint32_t by = step == VY_NONE ? VY_NONE : number(rw, step);
    uint32_t t = vy_irb_for(d, vy_rewrite_new_name(rw), VYRE_TYPE_U32, first, end, by);
    store_zero(rw, memory, vy_irb_variable(d, t));
    vy_irb_end_block(d);
}

static void fill_private(vy_rewrite *rw, uint32_t memory) {
    uint32_t elements = rw->from->memories.items[memory].elements;
    if (elements > SINGLE_STORES) {
        store_zeros(rw, memory, VY_NONE, VY_NONE);
        return;
    }
    for (uint32_t i = 0; i < elements; i++)
        store_zero(rw, memory, number(rw, i));
}

static void fill_together(vy_rewrite *rw, uint32_t memory) {
    const filling *f = rw->user;
    vy_irb *d = &rw->draft;
    uint32_t elements = rw->from->memories.items[memory].elements;
    if (elements > f->size) {
        store_zeros(rw, memory, f->index, f->size);
    } else if (elements == f->size) {
        store_zero(rw, memory, vy_irb_variable(d, f->index));
    } else {
        uint32_t index = vy_irb_variable(d, f->index), end = number(rw, elements);
        vy_irb_if(d, vy_irb_op(d, VYRE_OP_LT, VYRE_TYPE_BOOL, index, end, VY_NONE));
        store_zero(rw, memory, vy_irb_variable(d, f->index));
        vy_irb_end_block(d);
    }
}

static int needs_space(const vyre_program *p, const uint8_t *needs, vy_space space) {
    for (uint32_t m = p->buffer_count; m < p->memories.count; m++)
        if (needs[m] && p->memories.items[m].space == space)
            return 1;
    return 0;
}

static void emit_barrier(vy_rewrite *rw) {
    vy_stmt barrier = vy_irb_blank_stmt(VY_STMT_BARRIER);
    barrier.scope = VYRE_SCOPE_WORKGROUP;
    vy_irb_stmt(&rw->draft, &barrier, NULL, 0, NULL, NULL);
}

static int is_first(vy_rewrite *rw, uint32_t stmt, uint32_t first, uint32_t end) {
    (void)first, (void)end;
    return stmt == vy_program_entry(rw->from)->first_stmt;
}

/* Before the first statement. */
static int fill(vy_rewrite *rw, uint32_t stmt) {
    filling *f = rw->user;
    if (stmt != vy_program_entry(rw->from)->first_stmt)
        return 0;
    int together = needs_space(rw->from, f->needs, VY_SPACE_WORKGROUP);
    rw->changes++;
    rw->draft.position = vy_program_entry(rw->from)->position;
    if (together) {
        vy_expr e = {.kind = VY_EXPR_BUILTIN,
                     .type = VYRE_TYPE_U32,
                     .op = VYRE_BUILTIN_LOCAL_INDEX,
                     .a = VY_NONE,
                     .b = VY_NONE,
                     .c = VY_NONE};
        f->index = vy_rewrite_let(rw, vy_rewrite_make_expr(rw, &e));
    }
    for (uint32_t m = rw->from->buffer_count; m < rw->from->memories.count && !rw->draft.failed; m++) {
        if (!f->needs[m])
            continue;
        if (rw->from->memories.items[m].space == VY_SPACE_PRIVATE)
            fill_private(rw, m);
        else
            fill_together(rw, m);
    }
    if (together)
        emit_barrier(rw);
    return 0;
}

vyre_status vy_legalize_zero_init(const vyre_program *program, vyre_program **out, vyre_error *error) {
    static const vy_rewriter hooks = {.stmt = fill, .changes_stmt_hook = is_first, .keeps_names = 1, .keeps_blocks = 1};
    const uint32_t *size = program->workgroup;
    filling f = {.index = VY_NONE, .size = size[0] * size[1] * size[2]};
    uint64_t changes;
    *out = NULL;
    if (program->memories.count == program->buffer_count) { /* no arrays */
        *out = vyre_program_retain((vyre_program *)program);
        return VYRE_OK;
    }
    f.needs = vy_allocate_zero(program->memories.count + 1u);
    if (!f.needs)
        return vy_fail_memory(error, "a program with zeroed arrays");
    vyre_status status = vy_zero_init_needs(program, f.needs, error);
    int needs = needs_space(program, f.needs, VY_SPACE_PRIVATE) || needs_space(program, f.needs, VY_SPACE_WORKGROUP);
    if (status == VYRE_OK && needs)
        status = vy_rewrite_run(program, &hooks, &f, NULL, out, &changes, error);
    else if (status == VYRE_OK)
        *out = vyre_program_retain((vyre_program *)program);
    vy_release(f.needs, program->memories.count + 1u);
    return status;
}
