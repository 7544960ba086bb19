/* Writing fused accesses (legal_fuse.h); legal_fuse_plan.c finds them.
 *
 * A group of loads stands before the statement of its first load; in their places its variables are read. A group of stores stands where its last store was; the
 * values of the others are kept in variables from where they were stored. Where nothing proves the address aligned, it is tested, and the elements are accessed
 * one by one if it is not. */
#include "transform/legal_fuse.h"

#include "base/status.h"
#include "transform/legal_fuse_plan.h"
#include "transform/optimize_rewrite.h"

static vyre_type type_of(const vy_rewrite *rw, const vy_fuse_group *g) {
    return (vyre_type)rw->from->memories.items[g->memory].type;
}

static uint32_t number(vy_rewrite *rw, uint32_t value) {
    return vy_pool_literal(rw, VYRE_TYPE_U32, value);
}

static uint32_t u32(vy_rewrite *rw, vyre_op op, uint32_t a, uint32_t b) {
    return vy_pool_op(rw, op, VYRE_TYPE_U32, a, b, VY_NONE);
}

/* The variable of the draft that holds the index of the first element. */
static uint32_t first_index(vy_rewrite *rw, const vy_fuse_group *g) {
    uint32_t index = vy_rewrite_read(rw, g->index);
    return vy_rewrite_let(rw, g->behind ? u32(rw, VYRE_OP_SUB, index, number(rw, g->behind)) : index);
}

static uint32_t element(vy_rewrite *rw, uint32_t index, uint32_t k) {
    uint32_t first = vy_pool_variable(rw, index);
    return k ? u32(rw, VYRE_OP_ADD, first, number(rw, k)) : first;
}

/* Whether the address of the first element is aligned, as a condition of the draft. */
static uint32_t alignment(vy_rewrite *rw, const vy_fuse_group *g, uint32_t index) {
    uint32_t start = VY_NONE;
    if (!g->starts_aligned)
        start = vy_pool_expr(rw, &(vy_expr){.kind = VY_EXPR_MISALIGNMENT,
                                            .type = VYRE_TYPE_U32,
                                            .a = rw->memories[g->memory],
                                            .b = VY_NONE,
                                            .c = VY_NONE});
    uint32_t place = g->index_is_aligned ? start : vy_pool_variable(rw, index);
    if (!g->index_is_aligned && start != VY_NONE)
        place = u32(rw, VYRE_OP_ADD, place, start);
    uint32_t rest = u32(rw, VYRE_OP_AND, place, number(rw, g->count - 1u));
    return vy_rewrite_write(rw, vy_pool_op(rw, VYRE_OP_EQ, VYRE_TYPE_BOOL, rest, number(rw, 0), VY_NONE));
}

static int is_proven(const vy_fuse_group *g) {
    return g->index_is_aligned && g->starts_aligned;
}

/* ---- loads ---- */

/* Returns the first of its variables. */
static uint32_t write_load(vy_rewrite *rw, const vy_fuse_group *g, uint32_t index) {
    vy_stmt load = vy_draft_blank(VY_STMT_LOAD);
    vy_name names[VY_LIMIT_WIDE];
    vyre_type types[VY_LIMIT_WIDE];
    for (uint32_t k = 0; k < g->count; k++) {
        names[k] = vy_rewrite_new_name(rw);
        types[k] = type_of(rw, g);
    }
    load.memory = rw->memories[g->memory];
    load.result_count = g->count;
    load.a = vy_rewrite_write(rw, vy_pool_variable(rw, index));
    if (rw->draft.failed)
        return VY_NONE;
    uint32_t made = vy_draft_stmt(&rw->draft, &load, NULL, 0, names, types);
    return made == VY_NONE ? VY_NONE : rw->draft.program->stmts.items[made].variable;
}

static uint32_t write_element(vy_rewrite *rw, const vy_fuse_group *g, uint32_t index, uint32_t k) {
    uint32_t at = element(rw, index, k);
    return vy_rewrite_write(rw, vy_pool_expr(rw, &(vy_expr){.kind = VY_EXPR_LOAD,
                                                            .type = (uint8_t)type_of(rw, g),
                                                            .op = VY_UNGUARDED,
                                                            .a = rw->memories[g->memory],
                                                            .b = at,
                                                            .c = VY_NONE}));
}

static void write_loads(vy_rewrite *rw, vy_fuse_group *g) {
    vy_draft *draft = &rw->draft;
    uint32_t index = first_index(rw, g), first;
    rw->changes++;
    if (is_proven(g)) {
        first = write_load(rw, g, index);
        for (uint32_t k = 0; k < g->count; k++)
            g->values[k] = first == VY_NONE ? VY_NONE : first + k;
        return;
    }
    for (uint32_t k = 0; k < g->count; k++) {
        uint32_t zero = vy_draft_literal(draft, type_of(rw, g), 0);
        g->values[k] = vy_draft_var(draft, vy_rewrite_new_name(rw), type_of(rw, g), zero);
    }
    vy_draft_if(draft, alignment(rw, g, index));
    first = write_load(rw, g, index);
    for (uint32_t k = 0; k < g->count && first != VY_NONE; k++)
        vy_draft_assign(draft, g->values[k], vy_draft_variable(draft, first + k));
    vy_draft_else(draft);
    for (uint32_t k = 0; k < g->count && !draft->failed; k++)
        vy_draft_assign(draft, g->values[k], write_element(rw, g, index, k));
    vy_draft_end(draft);
}

/* ---- stores ---- */

static void write_store(vy_rewrite *rw, const vy_fuse_group *g, uint32_t index) {
    vy_stmt store = vy_draft_blank(VY_STMT_STORE_WIDE);
    vy_arg args[VY_LIMIT_WIDE];
    store.memory = rw->memories[g->memory];
    store.a = vy_rewrite_write(rw, vy_pool_variable(rw, index));
    for (uint32_t k = 0; k < g->count; k++)
        args[k] = (vy_arg){0, vy_draft_variable(&rw->draft, g->values[k])};
    if (!rw->draft.failed)
        vy_draft_stmt(&rw->draft, &store, args, g->count, NULL, NULL);
}

static void write_stores(vy_rewrite *rw, const vy_fuse_group *g) {
    vy_draft *draft = &rw->draft;
    uint32_t index = first_index(rw, g);
    rw->changes++;
    if (is_proven(g)) {
        write_store(rw, g, index);
        return;
    }
    vy_draft_if(draft, alignment(rw, g, index));
    write_store(rw, g, index);
    vy_draft_else(draft);
    for (uint32_t k = 0; k < g->count && !draft->failed; k++) {
        vy_stmt store = vy_draft_blank(VY_STMT_STORE);
        store.memory = rw->memories[g->memory];
        store.guard = VY_UNGUARDED;
        store.a = vy_rewrite_write(rw, element(rw, index, k));
        store.b = vy_draft_variable(draft, g->values[k]);
        vy_draft_stmt(draft, &store, NULL, 0, NULL, NULL);
    }
    vy_draft_end(draft);
}

/* ---- the walk ---- */

static int statement(vy_rewrite *rw, uint32_t stmt) {
    vy_fuse_plan *plan = rw->user;
    for (uint32_t g = plan->at_stmt[stmt]; g; g = plan->groups.items[g - 1].next)
        write_loads(rw, &plan->groups.items[g - 1]);
    if (!plan->of_stmt[stmt])
        return 0;
    vy_fuse_group *g = &plan->groups.items[plan->of_stmt[stmt] - 1];
    uint32_t value = vy_rewrite_read(rw, rw->from->stmts.items[stmt].b);
    g->values[plan->element_of_stmt[stmt]] = vy_rewrite_let(rw, value);
    if (g->at == stmt)
        write_stores(rw, g);
    return 1;
}

static uint32_t fused_load(vy_rewrite *rw, uint32_t expr) {
    const vy_fuse_plan *plan = rw->user;
    if (!plan->of_expr[expr])
        return VY_NONE;
    return vy_pool_variable(rw, plan->groups.items[plan->of_expr[expr] - 1].values[plan->element_of_expr[expr]]);
}

vyre_status vy_legal_fuse(const vyre_program *program, const vy_legal_target *target, vyre_program **out,
                          vyre_error *error) {
    static const vy_rewriter hooks = {.stmt = statement, .tree = fused_load};
    vy_fuse_plan plan = {0};
    uint64_t changes;
    *out = NULL;
    if (target->access_bytes < 2) {
        *out = vyre_program_retain((vyre_program *)program);
        return VYRE_OK;
    }
    vyre_status status = vy_fuse_plan_make(&plan, program, target, error);
    if (status == VYRE_OK)
        status = vy_rewrite_run(program, &hooks, &plan, NULL, out, &changes, error);
    vy_fuse_plan_free(&plan);
    return status;
}
