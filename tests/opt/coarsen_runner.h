/* Runs a program directly by the oracle, widened, and widened and optimised, with fewer groups, and compares what they
 * deliver. */
#ifndef VY_TESTS_OPT_COARSEN_RUNNER_H
#define VY_TESTS_OPT_COARSEN_RUNNER_H

#include "split/split_runner.h"

#include "opt/coarsen.h"
#include "vyre/transform.h"

static inline void widen_show(const vyre_program *program, const vyre_program *widened) {
    runner_show("program", program);
    runner_show("widened", widened);
}

/* The widened program over the grid that the arguments give the original. */
static inline void widen_run(const vyre_program *program, const vy_coarsened *widened, vyre_program *made,
                             const vyre_arguments *arguments, vyre_oracle_options options, runner_result *result) {
    static vy_resolved_dispatch launch;
    vyre_scalar params[VY_LIMIT_PARAMS + 1];
    vyre_arguments given = *arguments;
    memset(result, 0, sizeof *result);
    result->status = vy_resolve_dispatch(program, arguments, &launch, &result->error);
    if (result->status != VYRE_OK)
        return;
    if (program->param_count)
        memcpy(params, arguments->params, program->param_count * sizeof *params);
    given.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {launch.groups[0], launch.groups[1], launch.groups[2]}};
    if (widened->factor > 1) {
        params[program->param_count] = (vyre_scalar){VYRE_TYPE_U32, launch.groups[0]};
        given.params = params;
        given.param_count = program->param_count + VY_COARSEN_PARAMS;
        given.geometry.size[0] = vy_coarsened_groups(widened->factor, launch.groups[0]);
    }
    runner_direct(made, &given, options, result);
}

/* Fails the test unless all three deliver the same. */
static inline void widen_compare(vyre_program *program, const vy_coarsened *widened, const vyre_arguments *arguments,
                                 vyre_oracle_options options, const char *what) {
    static runner_result direct, wide;
    vyre_program *optimized = NULL;
    vyre_error error;
    vyre_optimize_options level = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    runner_direct(program, arguments, options, &direct);
    if (vyre_program_optimize(widened->program, &level, &optimized, NULL, &error) != VYRE_OK)
        fail_msg("%s: %s", what, error.message);
    vyre_program *const made[2] = {widened->program, optimized};
    for (int i = 0; i < 2; i++) {
        widen_run(program, widened, made[i], arguments, options, &wide);
        const char *text = runner_compare(program, &direct, &wide);
        if (text) {
            widen_show(program, made[i]);
            fail_msg("%s, %s: %s", what, i ? "optimised" : "widened", text);
        }
        runner_free(&wide);
    }
    vyre_program_release(optimized);
    runner_free(&direct);
}

#endif
