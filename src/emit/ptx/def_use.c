/* Def-use index: where variables are set and read, and which statements enclose a statement. It is built once, at the
 * first query, because the analyses of loops make many queries. */
#include "emit/ptx/emitter.h"

static uint32_t *allocate(vy_ptx *e, uint32_t count) {
    uint32_t *items = vy_arena_allocate(e->arena, vy_array_size(count, sizeof *items));
    if (!items)
        e->status = VYRE_NO_MEMORY;
    return items;
}

/* ---- sets ---- */

static uint32_t set_count(const vy_stmt *s) {
    return s->kind == VY_STMT_ASSIGN ? 1 : s->result_count;
}

/* The statements of a variable begin behind those of the one before. While they are filled in, each start stands one
 * place further up, and ends where it belongs. */
static int find_sets(vy_ptx *e) {
    const vyre_program *p = e->program;
    uint32_t all = 0, variables = p->variables.count;
    uint32_t *starts = allocate(e, variables + 2);
    for (uint32_t i = 0; starts && i < p->stmts.count; i++)
        for (uint32_t k = 0; k < set_count(&p->stmts.items[i]); k++, all++)
            starts[p->stmts.items[i].variable + k + 2]++;
    uint32_t *sets = allocate(e, all + 1);
    if (!starts || !sets)
        return 0;
    for (uint32_t v = 2; v < variables + 2; v++)
        starts[v] += starts[v - 1];
    for (uint32_t i = 0; i < p->stmts.count; i++)
        for (uint32_t k = 0; k < set_count(&p->stmts.items[i]); k++)
            sets[starts[p->stmts.items[i].variable + k + 1]++] = i;
    e->index.starts = starts;
    e->index.sets = sets;
    return 1;
}

/* How many of the variable's statements are before statement `stmt`; 0 of none. */
static uint32_t sets_before(const vy_ptx *e, uint32_t variable, uint32_t stmt) {
    const uint32_t *sets = e->index.sets + e->index.starts[variable];
    uint32_t low = 0, high = e->index.starts[variable + 1] - e->index.starts[variable];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sets[middle] < stmt)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t vy_ptx_next_def(vy_ptx *e, uint32_t variable, uint32_t stmt) {
    if (!e->index.sets && !find_sets(e))
        return VY_NONE;
    uint32_t at = e->index.starts[variable] + sets_before(e, variable, stmt);
    return at < e->index.starts[variable + 1] ? e->index.sets[at] : VY_NONE;
}

uint32_t vy_ptx_last_def(vy_ptx *e, uint32_t variable, uint32_t stmt) {
    if (!e->index.sets && !find_sets(e))
        return VY_NONE;
    uint32_t before = sets_before(e, variable, stmt);
    return before ? e->index.sets[e->index.starts[variable] + before - 1] : VY_NONE;
}

/* ---- parents ---- */

static int find_parents(vy_ptx *e) {
    const vy_stmt *stmts = e->program->stmts.items;
    uint32_t *parents = allocate(e, e->program->stmts.count + 1), around = VY_NONE;
    for (uint32_t i = 0; parents && i < e->program->stmts.count; i++) {
        while (around != VY_NONE && stmts[around].end <= i)
            around = parents[around];
        parents[i] = around;
        around = vy_stmt_is_structured(stmts[i].kind) ? i : around;
    }
    e->index.parents = parents;
    return parents != NULL;
}

uint32_t vy_ptx_parent(vy_ptx *e, uint32_t stmt) {
    return e->index.parents || find_parents(e) ? e->index.parents[stmt] : VY_NONE;
}

/* ---- reads ---- */

static int find_reads(vy_ptx *e) {
    const vyre_program *p = e->program;
    uint32_t *reads = allocate(e, p->variables.count + 1), *givers = allocate(e, p->variables.count + 1);
    if (!reads || !givers)
        return 0;
    for (uint32_t i = 0; i < p->exprs.count; i++)
        if (p->exprs.items[i].kind == VY_EXPR_VARIABLE)
            reads[p->exprs.items[i].a]++;
    for (uint32_t i = p->stmts.count; i-- > 0;) {
        const vy_expr *value = p->stmts.items[i].kind == VY_STMT_ASSIGN ? &p->exprs.items[p->stmts.items[i].a] : NULL;
        if (value && value->kind == VY_EXPR_VARIABLE)
            givers[value->a] = i + 1;
    }
    e->index.reads = reads;
    e->index.givers = givers;
    return 1;
}

int vy_ptx_is_dead_copy(vy_ptx *e, uint32_t variable) {
    if (!e->index.reads && !find_reads(e))
        return 0;
    const uint32_t *reads = e->index.reads, giver = e->index.givers[variable];
    return !reads[variable] || (reads[variable] == 1 && giver && !reads[e->program->stmts.items[giver - 1].variable]);
}
