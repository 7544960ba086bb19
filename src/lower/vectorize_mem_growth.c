/* How far the program that is written with fused accesses is ahead of the one it is made of (vectorize_mem_plan.h): statement by statement, with what is written at most and goes at least. */
#include "ir/walk.h"
#include "lower/vectorize_mem_plan.h"

/* What has been written less what has been read. */
typedef struct balance {
    int64_t stmts, exprs, variables, args;
} balance;

static uint32_t tree_size(const vyre_program *p, uint32_t root) {
    return root + 1 - vy_expr_first(p, root);
}

/* The index of the first element: a literal, or something and what is added to it. */
static uint32_t index_size(const vy_vectorize_mem_plan *plan, const vy_vectorize_mem_group *g) {
    return g->index == VY_NONE ? 1 : tree_size(plan->program, g->index) + 2;
}

/* The test of the address: seven expressions, of two literals, the misalignment and a sum; and the index itself, by its name. */
enum { TEST = 8 };

static void add_loads(const vy_vectorize_mem_plan *plan, const vy_vectorize_mem_group *g, balance *now) {
    int64_t n = g->count;
    now->exprs += index_size(plan, g);
    now->stmts += 1;
    now->variables += n;
    if (g->index_is_aligned && g->starts_aligned)
        return;
    now->stmts += 2 + 3 * n; /* the index, the test; variables and what is assigned to them both ways */
    now->variables += 1 + n;
    now->exprs += TEST + 6 * n; /* zeros, what was loaded at once, and loads of an index and its number one by one */
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

/* A statement of nothing but a load goes; in others the tree becomes a leaf. */
static void take_load(const vyre_program *p, const vy_vectorize_mem_access *load, balance *now) {
    const vy_stmt *s = &p->stmts.items[load->stmt];
    if (s->kind != VY_STMT_LET || s->a != load->expr)
        return;
    now->stmts--;
    now->variables--;
    now->exprs -= tree_size(p, s->a);
}

/* The value stays, in a `let` if it is no literal, as far as is known here; the index goes. */
static void take_store(const vyre_program *p, const vy_vectorize_mem_access *store, balance *now) {
    const vy_stmt *s = &p->stmts.items[store->stmt];
    int keeps = p->exprs.items[s->b].kind == VY_EXPR_LITERAL;
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

void vy_vectorize_mem_growth(const vy_vectorize_mem_plan *plan, vy_growth_bound *most) {
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

int vy_vectorize_mem_keep_indices(vy_vectorize_mem_plan *plan, vyre_program *program) {
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
