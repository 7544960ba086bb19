/* The ways to prepare a program for PTX: all of them give the same bits. */
#ifndef VY_TESTS_EMIT_PTX_MANNER_H
#define VY_TESTS_EMIT_PTX_MANNER_H

#include "emit/ptx/ptx.h"
#include "ir/launch.h"
#include "transform/widen.h"
#include "vyre/transform.h"

#include <string.h>

enum { OPTIMISED = 1, WIDENED = 2, CANCELLABLE = 4, MANNERS = 8 };

/* The program as a backend would prepare it, and the arguments for that: params has room for VY_LIMIT_PARAMS + VY_WIDEN_PARAMS. */
static inline vyre_status prepare_in_manner(vyre_program *program, const vyre_arguments *arguments,
                                            uint32_t architecture, unsigned manner, vyre_arguments *given,
                                            vyre_scalar *params, vyre_program **legal, vyre_error *error) {
    static vy_launch launch;
    const vy_widen_options widen = {.access_bytes = manner & WIDENED ? 16 : 0, .even_if_slow = 1};
    const vyre_optimize_options optimise = {.level = 2};
    const vy_legal_target target = vy_ptx_target(architecture, manner & CANCELLABLE);
    vy_widened widened = {0};
    vyre_program *made = NULL;
    *given = *arguments;
    vyre_status status = vy_launch_resolve(program, arguments, &launch, error);
    if (status == VYRE_OK)
        status = vy_widen(program, &widen, &widened, error);
    if (status != VYRE_OK)
        return status;
    if (widened.factor > 1) {
        if (program->param_count)
            memcpy(params, arguments->params, program->param_count * sizeof *params);
        params[program->param_count] = (vyre_scalar){VYRE_TYPE_U32, launch.groups[0]};
        given->params = params;
        given->param_count = program->param_count + VY_WIDEN_PARAMS;
        given->geometry = (vyre_geometry){
            VYRE_GEOMETRY_GROUPS, {vy_widened_groups(&widened, launch.groups[0]), launch.groups[1], launch.groups[2]}};
    }
    if (manner & OPTIMISED)
        status = vyre_program_optimize(widened.program, &optimise, &made, NULL, error);
    else
        made = vyre_program_retain(widened.program);
    if (status == VYRE_OK)
        status = vy_legalise(made, &target, legal, error);
    vyre_program_release(made);
    vyre_program_release(widened.program);
    return status;
}

#endif
