/* Memory access vectorisation (vectorize_mem.h): emits the wide accesses that vectorize_mem_plan.c found.
 *
 * A group of loads is emitted before the statement of its first load; the loads become reads of its variables. A group
 * of stores is emitted at its last store; the values of the others are kept in variables from their stores on. If the
 * address is not proven aligned, it is tested, and the elements are accessed one by one if it is not. */
#include "lower/vectorize_mem.h"

#include "base/status.h"
#include "ir/walk.h"
#include "opt/rewriter.h"

/* ---- growth: by how much the output may be ahead of the input ----
 *
 * Counted statement by statement, with an upper bound of the added and a lower bound of the removed nodes. */

/* Nodes written minus nodes read. */
typedef struct balance {
    int64_t stmts, exprs, variables, args;
} balance;

static uint32_t tree_size(const vyre_program *p, uint32_t root) {
    return root + 1 - vy_expr_first(p, root);
}

/* The index of the first element: a literal, or an expression plus an offset. */
static uint32_t index_size(const vy_vectorize_mem_plan *plan, const vy_vectorize_mem_group *g) {
    return g->index == VY_NONE ? 1 : tree_size(plan->program, g->index) + 2;
}

/* The test of the address: seven expressions, made of two literals, the misalignment and a sum; and the index, as a
 * variable. */
enum { TEST = 8 };

static void add_loads(const vy_vectorize_mem_plan *plan, const vy_vectorize_mem_group *g, balance *now) {
    int64_t n = g->count;
    now->exprs += index_size(plan, g);
    now->stmts += 1;
    now->variables += n;
    if (g->index_is_aligned && g->starts_aligned)
        return;
    now->stmts += 2 + 3 * n; /* the index and the test; the variables, assigned in both branches */
    now->variables += 1 + n;
    now->exprs += TEST + 6 * n; /* zeros, elements of the wide load, and an index and its offset per single load */
}

static void add_stores(const vy_vectorize_mem_plan *plan, const vy_vectorize_mem_group *g, balance *now) {
    int64_t n = g->count;
    now->exprs += index_size(plan, g) + n;
    now->stmts += 1;
    now->args += n;
    if (g->index_is_aligned && g->starts_aligned)
        return;
    now->stmts += 2 + n;
    now->variables += 1;
    now->exprs += TEST + 4 * n;
}

/* A statement that consists of a load only is removed; in others the tree becomes a leaf. */
static void take_load(const vyre_program *p, const vy_vectorize_mem_access *load, balance *now) {
    const vy_stmt *s = vy_stmt_at(p, load->stmt);
    if (s->kind != VY_STMT_LET || s->a != load->expr)
        return;
    now->stmts--;
    now->variables--;
    now->exprs -= tree_size(p, s->a);
}

/* The value remains, in a `let` if it may not be a literal; the index is removed. */
static void take_store(const vyre_program *p, const vy_vectorize_mem_access *store, balance *now) {
    const vy_stmt *s = vy_stmt_at(p, store->stmt);
    int keeps = vy_expr_at(p, s->b)->kind == VY_EXPR_LITERAL;
    now->stmts -= keeps;
    now->variables += !keeps;
    now->exprs -= tree_size(p, s->a) + (uint32_t)keeps;
}

static uint32_t larger(uint32_t most, int64_t now) {
    return now > (int64_t)most ? (uint32_t)now : most;
}

static void note(const balance *now, vy_growth_bound *most) {
    most->stmts = larger(most->stmts, now->stmts);
    most->exprs = larger(most->exprs, now->exprs);
    most->variables = larger(most->variables, now->variables);
    most->args = larger(most->args, now->args);
}

/* The most by which the output may be ahead. */
static void vectorize_mem_growth(const vy_vectorize_mem_plan *plan, vy_growth_bound *most) {
    const vyre_program *p = plan->program;
    balance now = {0};
    *most = (vy_growth_bound){.kept_exprs = plan->kept_exprs};
    uint32_t stmt = VY_NONE;
    for (uint32_t i = 0; i < plan->accesses.count; i++) {
        const vy_vectorize_mem_access *access = &plan->accesses.items[i];
        if (!access->group)
            continue;
        if (access->stmt != stmt) {
            stmt = access->stmt;
            for (uint32_t g = plan->at_stmt[stmt]; g; g = plan->groups.items[g - 1].next)
                add_loads(plan, &plan->groups.items[g - 1], &now);
            note(&now, most);
        }
        const vy_vectorize_mem_group *group = &plan->groups.items[access->group - 1];
        if (access->is_store)
            take_store(p, access, &now);
        else
            take_load(p, access, &now);
        if (access->is_store && group->at == stmt)
            add_stores(plan, group, &now);
        note(&now, most);
    }
}

/* Appends the indices of groups after the last expression of a program that is rewritten in its own arrays, because
 * some are read after their statement was removed. Returns 0 if out of memory. */
static int keep_indices(vy_vectorize_mem_plan *plan, vyre_program *program) {
    uint32_t end = program->exprs.count;
    for (uint32_t i = 0; i < plan->groups.count; i++) {
        vy_vectorize_mem_group *g = &plan->groups.items[i];
        uint32_t first = g->index == VY_NONE ? 0 : vy_expr_first(program, g->index);
        if (g->index == VY_NONE)
            continue;
        uint32_t count = g->index + 1 - first, by = end - first;
        if (!VY_RESERVE(&program->exprs, end + count - program->exprs.count))
            return 0;
        for (uint32_t k = first; k <= g->index; k++) {
            vy_expr e = program->exprs.items[k];
            int has_operands = e.kind == VY_EXPR_OP || e.kind == VY_EXPR_LOAD;
            e.a += e.kind == VY_EXPR_OP ? by : 0;
            e.b += has_operands && e.b != VY_NONE ? by : 0;
            e.c += has_operands && e.c != VY_NONE ? by : 0;
            program->exprs.items[k + by] = e;
        }
        g->index += by;
        end += count;
    }
    plan->kept_exprs = end - program->exprs.count;
    return 1;
}

/* ---- writing ---- */

static vyre_type type_of(const vy_rewrite *rw, const vy_vectorize_mem_group *g) {
    return (vyre_type)vy_memory_at(rw->from, g->memory)->type;
}

static uint32_t number(vy_rewrite *rw, uint32_t value) {
    return vy_rewrite_make_literal(rw, VYRE_TYPE_U32, value);
}

static uint32_t u32(vy_rewrite *rw, vyre_op op, uint32_t a, uint32_t b) {
    return vy_rewrite_make_op(rw, op, VYRE_TYPE_U32, a, b, VY_NONE);
}

/* ---- values ---- */

/* A node whose value can be used later: itself if it is a literal or an immutable variable, else a `let`. */
static vy_vectorize_mem_value keep(vy_rewrite *rw, uint32_t node) {
    if (node == VY_NONE)
        return (vy_vectorize_mem_value){VY_NONE, 0};
    const vy_expr *e = vy_rewrite_node_at(rw, node);
    if (e->kind == VY_EXPR_LITERAL)
        return (vy_vectorize_mem_value){VY_NONE, e->bits};
    if (e->kind == VY_EXPR_VARIABLE && !vy_variable_at(rw->draft.program, e->a)->is_mutable)
        return (vy_vectorize_mem_value){e->a, 0};
    return (vy_vectorize_mem_value){vy_rewrite_let(rw, node), 0};
}

static uint32_t use(vy_rewrite *rw, vyre_type type, vy_vectorize_mem_value value) {
    return value.variable == VY_NONE ? vy_rewrite_make_literal(rw, type, value.bits)
                                     : vy_rewrite_make_variable(rw, value.variable);
}

/* The same in the draft, for the next statement. */
static uint32_t write_value(vy_rewrite *rw, vyre_type type, vy_vectorize_mem_value value) {
    return value.variable == VY_NONE ? vy_irb_literal(&rw->draft, type, value.bits)
                                     : vy_irb_variable(&rw->draft, value.variable);
}

/* ---- indices ---- */

static uint32_t add(vy_rewrite *rw, uint32_t node, uint32_t offset) {
    if (vy_rewrite_is_literal(rw, node))
        return number(rw, (uint32_t)vy_rewrite_node_at(rw, node)->bits + offset);
    if (offset == 0)
        return node;
    int is_negative = offset > UINT32_MAX / 2;
    return u32(rw, is_negative ? VYRE_OP_SUB : VYRE_OP_ADD, node, number(rw, is_negative ? 0u - offset : offset));
}

static uint32_t first_index(vy_rewrite *rw, const vy_vectorize_mem_group *g) {
    return add(rw, g->index == VY_NONE ? number(rw, 0) : vy_rewrite_read(rw, g->index), g->offset);
}

static uint32_t element(vy_rewrite *rw, vy_vectorize_mem_value index, uint32_t k) {
    return add(rw, use(rw, VYRE_TYPE_U32, index), k);
}

/* Whether the address of the first element is aligned, as a condition of the draft. */
static uint32_t alignment(vy_rewrite *rw, const vy_vectorize_mem_group *g, vy_vectorize_mem_value index) {
    uint32_t start = VY_NONE;
    if (!g->starts_aligned)
        start = vy_rewrite_make_expr(rw, &(vy_expr){.kind = VY_EXPR_ALIGN_OFFSET,
                                                    .type = VYRE_TYPE_U32,
                                                    .a = rw->memories[g->memory],
                                                    .b = VY_NONE,
                                                    .c = VY_NONE});
    uint32_t place = g->index_is_aligned ? start : element(rw, index, 0);
    if (!g->index_is_aligned && start != VY_NONE)
        place = u32(rw, VYRE_OP_ADD, place, start);
    uint32_t rest = u32(rw, VYRE_OP_AND, place, number(rw, g->count - 1u));
    return vy_rewrite_write(rw, vy_rewrite_make_op(rw, VYRE_OP_EQ, VYRE_TYPE_BOOL, rest, number(rw, 0), VY_NONE));
}

static int is_proven(const vy_vectorize_mem_group *g) {
    return g->index_is_aligned && g->starts_aligned;
}

/* ---- loads ---- */

/* The index is an expression of the draft. Returns the first of the variables. */
static uint32_t write_load(vy_rewrite *rw, const vy_vectorize_mem_group *g, uint32_t index) {
    vy_stmt load = vy_irb_blank_stmt(VY_STMT_LOAD_WIDE);
    vy_symbol names[VY_LIMIT_WIDE];
    vyre_type types[VY_LIMIT_WIDE];
    for (uint32_t k = 0; k < g->count; k++) {
        names[k] = vy_rewrite_new_name(rw);
        types[k] = type_of(rw, g);
    }
    load.memory = rw->memories[g->memory];
    load.result_count = g->count;
    load.a = index;
    if (rw->draft.failed)
        return VY_NONE;
    uint32_t made = vy_irb_stmt(&rw->draft, &load, NULL, 0, names, types);
    return made == VY_NONE ? VY_NONE : vy_stmt_at(rw->draft.program, made)->variable;
}

static uint32_t write_element(vy_rewrite *rw, const vy_vectorize_mem_group *g, vy_vectorize_mem_value index,
                              uint32_t k) {
    uint32_t at = element(rw, index, k);
    return vy_rewrite_write(rw, vy_rewrite_make_expr(rw, &(vy_expr){.kind = VY_EXPR_LOAD,
                                                                    .type = (uint8_t)type_of(rw, g),
                                                                    .op = VY_BOUNDS_UNCHECKED,
                                                                    .a = rw->memories[g->memory],
                                                                    .b = at,
                                                                    .c = VY_NONE}));
}

static void write_loads(vy_rewrite *rw, vy_vectorize_mem_group *g) {
    vy_irb *draft = &rw->draft;
    uint32_t node = first_index(rw, g), first;
    rw->changes++;
    if (is_proven(g)) {
        first = write_load(rw, g, vy_rewrite_write(rw, node));
        for (uint32_t k = 0; k < g->count; k++)
            g->values[k] = (vy_vectorize_mem_value){first == VY_NONE ? VY_NONE : first + k, 0};
        return;
    }
    vy_vectorize_mem_value index = keep(rw, node);
    for (uint32_t k = 0; k < g->count; k++) {
        uint32_t zero = vy_irb_literal(draft, type_of(rw, g), 0);
        g->values[k] = (vy_vectorize_mem_value){vy_irb_var(draft, vy_rewrite_new_name(rw), type_of(rw, g), zero), 0};
    }
    vy_irb_if(draft, alignment(rw, g, index));
    first = write_load(rw, g, write_value(rw, VYRE_TYPE_U32, index));
    for (uint32_t k = 0; k < g->count && first != VY_NONE; k++)
        vy_irb_assign(draft, g->values[k].variable, vy_irb_variable(draft, first + k));
    vy_irb_else(draft);
    for (uint32_t k = 0; k < g->count && !draft->failed; k++)
        vy_irb_assign(draft, g->values[k].variable, write_element(rw, g, index, k));
    vy_irb_end_block(draft);
}

/* ---- stores ---- */

static void write_store(vy_rewrite *rw, const vy_vectorize_mem_group *g, uint32_t index) {
    vy_stmt store = vy_irb_blank_stmt(VY_STMT_STORE_WIDE);
    vy_arg args[VY_LIMIT_WIDE];
    store.memory = rw->memories[g->memory];
    store.a = index;
    for (uint32_t k = 0; k < g->count; k++)
        args[k] = (vy_arg){0, write_value(rw, type_of(rw, g), g->values[k])};
    if (!rw->draft.failed)
        vy_irb_stmt(&rw->draft, &store, args, g->count, NULL, NULL);
}

static void write_stores(vy_rewrite *rw, const vy_vectorize_mem_group *g) {
    vy_irb *draft = &rw->draft;
    uint32_t node = first_index(rw, g);
    rw->changes++;
    if (is_proven(g)) {
        write_store(rw, g, vy_rewrite_write(rw, node));
        return;
    }
    vy_vectorize_mem_value index = keep(rw, node);
    vy_irb_if(draft, alignment(rw, g, index));
    write_store(rw, g, write_value(rw, VYRE_TYPE_U32, index));
    vy_irb_else(draft);
    for (uint32_t k = 0; k < g->count && !draft->failed; k++) {
        vy_stmt store = vy_irb_blank_stmt(VY_STMT_STORE);
        store.memory = rw->memories[g->memory];
        store.bounds_check = VY_BOUNDS_UNCHECKED;
        store.a = vy_rewrite_write(rw, element(rw, index, k));
        store.b = write_value(rw, type_of(rw, g), g->values[k]);
        vy_irb_stmt(draft, &store, NULL, 0, NULL, NULL);
    }
    vy_irb_end_block(draft);
}

/* ---- the walk ---- */

/* The first access at or after an expression; NULL if there is none. */
static const vy_vectorize_mem_access *find_access(const vy_vectorize_mem_plan *plan, uint32_t expr) {
    uint32_t first = 0, end = plan->accesses.count;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (plan->accesses.items[middle].expr < expr)
            first = middle + 1;
        else
            end = middle;
    }
    return first < plan->accesses.count ? &plan->accesses.items[first] : NULL;
}

/* The variable with the value of a load of a group; VY_NONE if it is in none. */
static uint32_t fused_variable(const vy_rewrite *rw, uint32_t expr) {
    const vy_vectorize_mem_plan *plan = rw->user;
    const vy_vectorize_mem_access *access = find_access(plan, expr);
    int is_fused = access && access->expr == expr && !access->is_store && access->group;
    return is_fused ? plan->groups.items[access->group - 1].values[access->element].variable : VY_NONE;
}

/* The store of a statement if it is in a group; else NULL. Valid after the loads of its value were passed. */
static const vy_vectorize_mem_access *fused_store(const vy_rewrite *rw, uint32_t stmt) {
    const vy_vectorize_mem_plan *plan = rw->user;
    const vy_stmt *s = vy_stmt_at(rw->from, stmt);
    const vy_vectorize_mem_access *access = s->kind == VY_STMT_STORE ? find_access(plan, s->b) : NULL;
    if (access && access->expr == s->b && !access->is_store && access + 1 < plan->accesses.items + plan->accesses.count)
        access++;
    return access && access->stmt == stmt && access->is_store && access->group ? access : NULL;
}

/* A `let` that consists of a load of a group only is another name for its variable. */
static int is_renamed(vy_rewrite *rw, const vy_stmt *s) {
    uint32_t variable = s->kind == VY_STMT_LET ? fused_variable(rw, s->a) : VY_NONE;
    if (variable == VY_NONE)
        return 0;
    rw->variables[s->variable] = variable;
    return 1;
}

static int statement(vy_rewrite *rw, uint32_t stmt) {
    vy_vectorize_mem_plan *plan = rw->user;
    const vy_stmt *s = vy_stmt_at(rw->from, stmt);
    for (uint32_t g = plan->at_stmt[stmt]; g; g = plan->groups.items[g - 1].next)
        write_loads(rw, &plan->groups.items[g - 1]);
    const vy_vectorize_mem_access *store = fused_store(rw, stmt);
    if (!store)
        return is_renamed(rw, s);
    vy_vectorize_mem_group *g = &plan->groups.items[store->group - 1];
    g->values[store->element] = keep(rw, vy_rewrite_read(rw, s->b));
    if (g->at == stmt)
        write_stores(rw, g);
    return 1;
}

/* The next statement with accesses of groups. The statement where a group is emitted has some, too. */
static uint32_t next_planned(vy_rewrite *rw, uint32_t stmt, uint32_t *cursor) {
    const vy_vectorize_mem_plan *plan = rw->user;
    for (; *cursor < plan->accesses.count; ++*cursor)
        if (plan->accesses.items[*cursor].group && plan->accesses.items[*cursor].stmt >= stmt)
            return plan->accesses.items[*cursor].stmt;
    return VY_NONE;
}

static uint32_t fused_load(vy_rewrite *rw, uint32_t expr) {
    return vy_rewrite_make_variable(rw, fused_variable(rw, expr));
}

static void growth_bound(vy_rewrite *rw, vy_growth_bound *most) {
    vectorize_mem_growth(rw->user, most);
}

static vyre_status fuse(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                        vyre_error *error) {
    static const vy_rewriter hooks = {.stmt = statement,
                                      .next = next_planned,
                                      .keeps_names = 1,
                                      .keeps_blocks = 1,
                                      .tree = fused_load,
                                      .tree_kinds = 1 << VY_EXPR_LOAD,
                                      .growth_bound = growth_bound};
    vy_vectorize_mem_plan plan = {0};
    uint64_t changes;
    vyre_status status = vy_vectorize_mem_plan_make(&plan, program, target, error);
    if (status == VYRE_OK && program->is_unique && !keep_indices(&plan, (vyre_program *)program))
        status = vy_fail_memory(error, "wide accesses");
    if (status == VYRE_OK)
        status = vy_rewrite_run(program, &hooks, &plan, NULL, out, &changes, error);
    vy_vectorize_mem_plan_free(&plan);
    return status;
}

/* The last step: no later pass changes the result. */
vyre_status vy_vectorize_mem(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                             vyre_error *error) {
    vyre_status status = VYRE_OK;
    *out = NULL;
    if (target->access_bytes < 2)
        vy_program_unchanged(program, out);
    else
        status = fuse(program, target, out, error);
    if (*out && (*out)->is_unique)
        (*out)->is_unique = 0;
    return status;
}
