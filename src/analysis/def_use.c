/* Definitions and uses (def_use.h): one loop over the statements for each part. A counting sort orders the
 * definitions by variable. Invariant: the definitions of a variable are in ascending order. */
#include "analysis/def_use.h"

#include "base/memory.h"
#include "ir/walk.h"

/* ---- memory ---- */

static int allocate(vy_def_use *u, unsigned parts) {
    const vyre_program *p = u->program;
    const struct {
        unsigned part;
        uint32_t **array;
        uint32_t count;
        int fill;
    } rows[] = {{VY_DEF_USE_EXPRS, &u->first_expr, p->stmts.count, 0},
                {VY_DEF_USE_PARENTS, &u->parents, p->stmts.count, 0},
                {VY_DEF_USE_DECLARATIONS, &u->declarations, p->variables.count, 0xff},
                {VY_DEF_USE_DEFINITIONS, &u->first_definition, p->variables.count + 1, 0},
                {VY_DEF_USE_READS, &u->reads, p->variables.count, 0},
                {VY_DEF_USE_READS, &u->first_read, p->variables.count, 0xff},
                {VY_DEF_USE_READS, &u->last_read, p->variables.count, 0}};
    int ok = 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && ok; i++) {
        size_t size = vy_array_size(rows[i].count + 1u, sizeof(uint32_t));
        if (!(parts & rows[i].part))
            continue;
        ok = (*rows[i].array = vy_arena_allocate(u->arena, size)) != NULL;
        if (ok && rows[i].fill)
            memset(*rows[i].array, rows[i].fill, size);
    }
    if (ok && parts & VY_DEF_USE_ASSIGNED)
        ok = (u->is_assigned = vy_arena_allocate(u->arena, p->variables.count + 1u)) != NULL;
    return ok;
}

/* ---- all parts but definitions ---- */

static void find_exprs(vy_def_use *u) {
    const vyre_program *p = u->program;
    for (uint32_t i = 0; i < p->stmts.count; i++)
        u->first_expr[i + 1] = vy_stmt_exprs_end(p, vy_stmt_at(p, i), u->first_expr[i]);
}

static void find_parents(vy_def_use *u) {
    const vy_stmt *stmts = u->program->stmts.items;
    for (uint32_t i = 0, around = VY_NONE; i < u->program->stmts.count; i++) {
        while (around != VY_NONE && stmts[around].end <= i)
            around = u->parents[around];
        u->parents[i] = around;
        around = vy_stmt_is_structured(stmts[i].kind) ? i : around;
    }
}

static void find_declarations(vy_def_use *u) {
    const vyre_program *p = u->program;
    for (uint32_t i = 0; i < p->stmts.count; i++)
        for (uint32_t k = 0; k < vy_stmt_at(p, i)->result_count; k++)
            u->declarations[vy_stmt_at(p, i)->variable + k] = i;
}

static void find_assigned(vy_def_use *u) {
    const vyre_program *p = u->program;
    for (uint32_t i = 0; i < p->stmts.count; i++)
        if (vy_stmt_at(p, i)->kind == VY_STMT_ASSIGN)
            u->is_assigned[vy_stmt_at(p, i)->variable] = 1;
}

static void find_reads(vy_def_use *u) {
    const vyre_program *p = u->program;
    for (uint32_t i = 0, expr = 0; i < p->stmts.count; i++)
        for (uint32_t end = vy_stmt_exprs_end(p, vy_stmt_at(p, i), expr); expr < end; expr++) {
            uint32_t variable = vy_expr_at(p, expr)->a;
            if (vy_expr_at(p, expr)->kind != VY_EXPR_VARIABLE)
                continue;
            if (!u->reads[variable]++)
                u->first_read[variable] = i;
            u->last_read[variable] = i;
        }
}

/* ---- definitions ---- */

static uint32_t definition_count(const vy_stmt *s) {
    return s->kind == VY_STMT_ASSIGN ? 1 : s->result_count;
}

/* While the list is filled, the start of a variable is stored one index higher; it increases to its final value. */
static int find_definitions(vy_def_use *u) {
    const vyre_program *p = u->program;
    uint32_t all = 0, *starts = u->first_definition;
    for (uint32_t i = 0; i < p->stmts.count; i++)
        for (uint32_t k = 0; k < definition_count(vy_stmt_at(p, i)); k++, all++)
            starts[vy_stmt_at(p, i)->variable + k + 2]++;
    u->definitions = vy_arena_allocate(u->arena, vy_array_size(all + 1u, sizeof *u->definitions));
    if (!u->definitions)
        return 0;
    for (uint32_t v = 2; v < p->variables.count + 2; v++)
        starts[v] += starts[v - 1];
    for (uint32_t i = 0; i < p->stmts.count; i++)
        for (uint32_t k = 0; k < definition_count(vy_stmt_at(p, i)); k++)
            u->definitions[starts[vy_stmt_at(p, i)->variable + k + 1]++] = i;
    return 1;
}

int vy_def_use_need(vy_def_use *u, unsigned parts) {
    parts &= ~u->has;
    if (!parts)
        return 1;
    if (!allocate(u, parts))
        return 0;
    if (parts & VY_DEF_USE_EXPRS)
        find_exprs(u);
    if (parts & VY_DEF_USE_PARENTS)
        find_parents(u);
    if (parts & VY_DEF_USE_DECLARATIONS)
        find_declarations(u);
    if (parts & VY_DEF_USE_ASSIGNED)
        find_assigned(u);
    if (parts & VY_DEF_USE_READS)
        find_reads(u);
    if (parts & VY_DEF_USE_DEFINITIONS && !find_definitions(u))
        return 0;
    u->has |= parts;
    return 1;
}

/* ---- queries ---- */

uint32_t vy_see_through_lets(const vy_def_use *u, uint32_t expr, unsigned most) {
    const vy_expr *exprs = u->program->exprs.items;
    for (uint32_t value; most-- && exprs[expr].kind == VY_EXPR_VARIABLE; expr = value)
        if ((value = vy_let_value(u, exprs[expr].a)) == VY_NONE)
            break;
    return expr;
}

/* The number of definitions of the variable before statement `stmt`. */
static uint32_t definitions_before(const vy_def_use *u, uint32_t variable, uint32_t stmt) {
    const uint32_t *definitions = u->definitions + u->first_definition[variable];
    uint32_t low = 0, high = u->first_definition[variable + 1] - u->first_definition[variable];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (definitions[middle] < stmt)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t vy_next_definition(const vy_def_use *u, uint32_t variable, uint32_t stmt) {
    uint32_t at = u->first_definition[variable] + definitions_before(u, variable, stmt);
    return at < u->first_definition[variable + 1] ? u->definitions[at] : VY_NONE;
}

uint32_t vy_last_definition(const vy_def_use *u, uint32_t variable, uint32_t stmt) {
    uint32_t before = definitions_before(u, variable, stmt);
    return before ? u->definitions[u->first_definition[variable] + before - 1] : VY_NONE;
}
