/* What may differ between the invocations of a workgroup (vy_plan_uniform).
 *
 * The rules are the validator's (uniformity.h), so that what is uniform for the one is for the other. It must be so: a value that a collective or
 * barrier depends on has to come back from memory in a way that the validator takes for uniform. */
#include "analysis/uniformity.h"
#include "split/grid_split_plan.h"

vyre_status vy_plan_uniform(vy_split_plan *plan, vyre_error *error) {
    uint32_t variables = plan->program->variables.count, memories = plan->program->memories.count;
    vy_uniform *uniform;
    vyre_status status = vy_uniform_make(plan->program, &uniform, error);
    if (status == VYRE_OK)
        status = vy_plan_array(plan, variables, sizeof *plan->varies_variable, &plan->varies_variable, error);
    if (status == VYRE_OK)
        status = vy_plan_array(plan, memories, sizeof *plan->varies_memory, &plan->varies_memory, error);
    for (uint32_t i = 0; i < variables && status == VYRE_OK; i++)
        plan->varies_variable[i] = vy_variable_uniformity(uniform, i) == VY_UNIFORMITY_DIVERGENT;
    for (uint32_t i = 0; i < memories && status == VYRE_OK; i++)
        plan->varies_memory[i] = vy_memory_uniformity(uniform, i) == VY_UNIFORMITY_DIVERGENT;
    vy_uniform_free(uniform);
    return status;
}
