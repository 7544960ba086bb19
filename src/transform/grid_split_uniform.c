/* What may differ between the invocations of a workgroup (vy_plan_uniform).
 *
 * The rules are the validator's: its flow graph is built again and walked, so that what is uniform for the one is for
 * the other. It must be so: a value that a collective or barrier depends on has to come back from memory in a way that
 * the validator takes for uniform. */
#include "ir/validate/flow.h"
#include "transform/grid_split_plan.h"

/* Marks every node that one that differs flows into. stack has room for every node. */
static void spread(const vy_flow *flow, uint8_t *varies, uint32_t *stack) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < flow->nodes.count; i++) {
        varies[i] = flow->nodes.items[i].seed >> VY_VARIES_IN_GROUP & 1;
        if (varies[i])
            stack[count++] = i;
    }
    while (count) {
        uint32_t from = stack[--count];
        for (uint32_t edge = flow->nodes.items[from].edges; edge; edge = flow->edges.items[edge - 1].next) {
            uint32_t to = flow->edges.items[edge - 1].to;
            if (!varies[to]) {
                varies[to] = 1;
                stack[count++] = to;
            }
        }
    }
}

vyre_status vy_plan_uniform(vy_split_plan *plan, vyre_error *error) {
    uint32_t first_expr = 0;
    vy_check check = {.program = plan->program, .first_expr = &first_expr};
    vy_flow flow = {.check = &check, .program = plan->program};
    vy_flow_build(&flow, 0);
    vyre_status status = check.out_of_memory ? vy_fail_memory(error, "the flow graph of a program") : VYRE_OK;
    uint32_t *stack;
    uint8_t *varies;
    if (status == VYRE_OK)
        status = vy_plan_array(plan, flow.nodes.count, sizeof *varies, &varies, error);
    if (status == VYRE_OK)
        status = vy_plan_array(plan, flow.nodes.count, sizeof *stack, &stack, error);
    if (status == VYRE_OK) {
        spread(&flow, varies, stack);
        /* The first nodes are the variables, then the memories (flow.h). */
        plan->varies_variable = varies;
        plan->varies_memory = varies + plan->program->variables.count;
    }
    VY_VECTOR_FREE(&flow.nodes);
    VY_VECTOR_FREE(&flow.edges);
    VY_VECTOR_FREE(&flow.meetings);
    return status;
}
