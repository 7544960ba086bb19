/* Checks of the code that dialects have for c and ptx, with the tools of the host.
 *
 *   c    the trial (dialect/lowering_trial.h) is emitted as C, compiled with the C compiler of the host and run in a
 *        child process. Undefined behaviour for an input of the trial is an error
 *   ptx  the trial is assembled by ptxas. Only a device can run it: backend `cuda` does
 *
 * What passed is remembered in the process, so that a program with such ops is emitted without another check. */
#ifndef VY_TARGETS_LOWERING_CHECK_H
#define VY_TARGETS_LOWERING_CHECK_H

#include "dialect/load.h"

typedef enum vy_lowering_verdict {
    VY_LOWERING_UNCHECKED, /* the tool was not found */
    VY_LOWERING_ASSEMBLED, /* the tool accepts the code, which did not run */
    VY_LOWERING_TRIED      /* the code returns the results of the body for all inputs of the trial */
} vy_lowering_verdict;

/* Checks code of an op for c or ptx.
 *
 * VYRE_INVALID_PROGRAM  the tool rejects the code, or the code returns other results: the message has the inputs
 * VYRE_IO               the tool could not be run
 * VYRE_NO_MEMORY */
vyre_status vy_lowering_check(vyre_dialects_guard guard, const vyre_op_definition *op, const vyre_lowering *lowering,
                              vy_lowering_verdict *out, vyre_error *error);

/* For vyre_emit: code for c is used only if it was tried; code for ptx unless ptxas rejects it. */
extern const vy_lowering_policy vy_lowering_policy_emit;

#endif
