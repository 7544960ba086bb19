/* Where values are kept between launches (vy_plan_spill_slots).
 *
 * An immutable variable that is a few ops on ids, sizes, params and literals is not kept but computed again: `let i =
 * global_id.x`. (A load never is, for the memory may have changed.) What the host knows travels as a hidden param.
 * What a workgroup agrees on is kept once for each workgroup, the rest once for each invocation. Elements are unsigned
 * integers of the value's width, whatever its type: a bit pattern is a value's only property here. Variables that are
 * live at different barriers share slots; arrays have slots of their own, because they are live almost everywhere. */
#include "split/grid_split_plan.h"

enum {
    POOLS = 2 * VY_WIDTHS,
    MOST_NODES = 16 /* of an expression that is computed again, those it builds on included: about what a load costs */
};

typedef struct allocator {
    vy_split_plan *plan;
    uint32_t *first_ending, *next_ending;   /* by barrier, by variable: what is live there for the last time; plus 1 */
    uint32_t first_free[POOLS], *next_free; /* by pool, by variable: one that gave its slot back; plus 1 */
    uint32_t settled;                       /* barriers before this one have given back what ended there */
    uint8_t *weights; /* by variable: nodes of its expression, if it can be computed again; else 0 */
} allocator;

static uint8_t width_of(uint8_t type) {
    unsigned bits = vyre_type_bits((vyre_type)type);
    return bits <= 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3; /* a bool takes a byte */
}

/* ---- what is computed again ---- */

/* Nodes of an expression over what never changes; more than MOST_NODES if there is anything else in it, or it is too
 * large. */
static uint32_t weigh(const allocator *a, uint32_t root) {
    const vyre_program *p = a->plan->program;
    if (root == VY_NONE)
        return 0;
    const vy_expr *e = &p->exprs.items[root];
    if (e->kind == VY_EXPR_LOAD || (e->kind == VY_EXPR_OP && vy_is_relaxed(p, e)))
        return MOST_NODES + 1;
    if (e->kind == VY_EXPR_VARIABLE && e->a >= p->param_count)
        return a->weights[e->a] ? a->weights[e->a] : MOST_NODES + 1;
    if (e->kind != VY_EXPR_OP)
        return 1;
    uint32_t weight = 1;
    const uint32_t operands[3] = {e->a, e->b, e->c};
    for (int i = 0; i < 3 && weight <= MOST_NODES; i++)
        weight += weigh(a, operands[i]);
    return weight;
}

/* Declarations come before uses, so what the expression builds on has been weighed. */
static void weigh_variables(allocator *a) {
    for (uint32_t v = a->plan->program->param_count; v < a->plan->program->variables.count; v++) {
        const vy_stmt *s = &a->plan->program->stmts.items[a->plan->declarations[v]];
        uint32_t weight = s->kind == VY_STMT_LET ? weigh(a, s->a) : MOST_NODES + 1;
        a->weights[v] = weight <= MOST_NODES ? (uint8_t)weight : 0;
    }
}

/* ---- slots ---- */

static uint32_t pool_of(vy_spill_slot home) {
    return (home.kind == VY_SPILL_GROUP) * VY_WIDTHS + home.width;
}

static uint32_t *count_of(vy_split_plan *plan, vy_spill_slot home) {
    return home.kind == VY_SPILL_GROUP ? &plan->per_group[home.width] : &plan->per_invocation[home.width];
}

static void release_expired(allocator *a, uint32_t before) {
    for (; a->settled < before; a->settled++)
        for (uint32_t at = a->first_ending[a->settled]; at; at = a->next_ending[at - 1]) {
            uint32_t pool = pool_of(a->plan->variable_slots[at - 1]);
            a->next_free[at - 1] = a->first_free[pool];
            a->first_free[pool] = at;
        }
}

/* Variables come in the order of their declarations, so in the order of the first barriers they are live at. */
static void place_variable(allocator *a, uint32_t variable) {
    vy_split_plan *plan = a->plan;
    vy_spill_slot *home = &plan->variable_slots[variable];
    vy_live_range live = plan->variable_live[variable];
    *home = (vy_spill_slot){.kind = plan->varies_variable[variable] ? VY_SPILL_INVOCATION : VY_SPILL_GROUP,
                            .width = width_of(plan->program->variables.items[variable].type)};
    release_expired(a, live.first);
    uint32_t pool = pool_of(*home), free = a->first_free[pool];
    if (free) {
        a->first_free[pool] = a->next_free[free - 1];
        home->slot = plan->variable_slots[free - 1].slot;
    } else {
        home->slot = (*count_of(plan, *home))++;
    }
    a->next_ending[variable] = a->first_ending[live.end - 1];
    a->first_ending[live.end - 1] = variable + 1;
}

static void place_array(vy_split_plan *plan, uint32_t memory) {
    const vy_memory *m = &plan->program->memories.items[memory];
    vy_spill_slot *home = &plan->memory_slots[memory];
    int varies = m->space == VY_SPACE_PRIVATE && plan->varies_memory[memory];
    *home = (vy_spill_slot){.kind = varies ? VY_SPILL_INVOCATION : VY_SPILL_GROUP, .width = width_of(m->type)};
    uint32_t *count = count_of(plan, *home);
    home->slot = *count;
    *count += m->elements;
}

static int is_live(vy_live_range range) {
    return range.first < range.end;
}

static void assign_slot(allocator *a, uint32_t variable) {
    vy_split_plan *plan = a->plan;
    if (a->weights[variable]) {
        plan->variable_slots[variable] = (vy_spill_slot){.kind = VY_SPILL_REMAT};
    } else if (plan->host_slots[variable] != VY_NONE &&
               plan->host_param_count < VY_LIMIT_PARAMS - plan->program->param_count) {
        plan->variable_slots[variable] = (vy_spill_slot){.kind = VY_SPILL_PARAM, .slot = plan->host_param_count};
        plan->host_params[plan->host_param_count++] = variable;
    } else {
        place_variable(a, variable);
    }
}

vyre_status vy_plan_spill_slots(vy_split_plan *plan, vyre_error *error) {
    allocator a = {.plan = plan};
    uint32_t variables = plan->program->variables.count, memories = plan->program->memories.count;
    const struct {
        void *array;
        size_t count, size;
    } rows[] = {
        {&plan->variable_slots, variables, sizeof *plan->variable_slots},
        {&plan->memory_slots, memories, sizeof *plan->memory_slots},
        {&plan->host_params, VY_LIMIT_PARAMS, sizeof *plan->host_params},
        {&a.first_ending, plan->barrier_count, sizeof *a.first_ending},
        {&a.next_ending, variables, sizeof *a.next_ending},
        {&a.next_free, variables, sizeof *a.next_free},
        {&a.weights, variables, sizeof *a.weights},
    };
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && status == VYRE_OK; i++)
        status = vy_plan_array(plan, rows[i].count, rows[i].size, rows[i].array, error);
    if (status != VYRE_OK)
        return status;
    weigh_variables(&a);
    for (uint32_t v = plan->program->param_count; v < variables; v++)
        if (is_live(plan->variable_live[v]))
            assign_slot(&a, v);
    for (uint32_t m = plan->program->buffer_count; m < memories; m++)
        if (is_live(plan->memory_live[m]))
            place_array(plan, m);
    return VYRE_OK;
}
