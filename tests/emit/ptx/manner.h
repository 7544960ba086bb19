/* The ways to prepare a program for PTX: all of them give the same bits. */
#ifndef VY_TESTS_EMIT_PTX_MANNER_H
#define VY_TESTS_EMIT_PTX_MANNER_H

#include "compile/pipeline.h"
#include "emit/ptx/ptx.h"
#include "ir/dispatch_resolve.h"
#include "opt/coarsen.h"
#include "vyre/transform.h"

#include <string.h>

/* AS_BACKEND: by the function that a backend uses; WIDENED is then where it pays, and OPTIMISED with buffers known to
 * be aligned. */
enum { OPTIMISED = 1, WIDENED = 2, CANCELLABLE = 4, MANNERS = 8, AS_BACKEND = 8 };

/* The arguments of a widened program: another param, and fewer groups. */
static inline void widen_arguments(const vyre_arguments *arguments, uint32_t factor, const uint32_t *groups,
                                   vyre_arguments *given, vyre_scalar *params) {
    if (factor <= 1)
        return;
    if (arguments->param_count)
        memcpy(params, arguments->params, arguments->param_count * sizeof *params);
    params[arguments->param_count] = (vyre_scalar){VYRE_TYPE_U32, groups[0]};
    given->params = params;
    given->param_count = arguments->param_count + VY_COARSEN_PARAMS;
    given->geometry =
        (vyre_geometry){VYRE_GEOMETRY_GROUPS, {vy_coarsened_groups(factor, groups[0]), groups[1], groups[2]}};
}

/* The program as a backend would prepare it, and the arguments for that: params has room for VY_LIMIT_PARAMS +
 * VY_COARSEN_PARAMS. */
static inline vyre_status prepare_in_manner(vyre_program *program, const vyre_arguments *arguments,
                                            uint32_t architecture, unsigned manner, vyre_arguments *given,
                                            vyre_scalar *params, vyre_program **legal, vyre_error *error) {
    static vy_resolved_dispatch launch;
    const vy_target_desc widen = {.access_bytes = manner & WIDENED ? 16 : 0, .coarsen = VY_COARSEN_IF_POSSIBLE};
    const vyre_optimize_options optimise = {.level = 2};
    vy_target_desc target = vy_ptx_target(architecture, manner & CANCELLABLE);
    vy_coarsened widened = {0};
    vyre_program *made = NULL;
    *given = *arguments;
    vyre_status status = vy_resolve_dispatch(program, arguments, &launch, error);
    if (status == VYRE_OK && (manner & AS_BACKEND)) {
        vy_compiled compiled;
        target.aligned_buffers = (manner & OPTIMISED) != 0;
        if (!(manner & WIDENED))
            target.coarsen = VY_COARSEN_NEVER;
        status = vy_compile_pipeline(program, &target, NULL, &compiled, error);
        *legal = compiled.program;
        widen_arguments(arguments, compiled.factor, launch.groups, given, params);
        return status;
    }
    if (status == VYRE_OK)
        status = vy_coarsen(program, &widen, &widened, error);
    if (status != VYRE_OK)
        return status;
    widen_arguments(arguments, widened.factor, launch.groups, given, params);
    if (manner & OPTIMISED)
        status = vyre_program_optimize(widened.program, &optimise, &made, NULL, error);
    else
        made = vyre_program_retain(widened.program);
    target.unroll_arrays = 0;
    if (status == VYRE_OK)
        status = vy_legalize(made, &target, legal, error);
    vyre_program_release(made);
    vyre_program_release(widened.program);
    return status;
}

#endif
