/* Dispatch resolution: checks the arguments of a dispatch against its program and computes counts, byte sizes, params
 * and the grid.
 *
 * The reference interpreter and the driver both use it, so the same arguments are accepted or rejected with the same
 * messages everywhere. */
#ifndef VY_IR_DISPATCH_RESOLVE_H
#define VY_IR_DISPATCH_RESOLVE_H

#include "ir/model.h"
#include "vyre/dispatch.h"

typedef struct vy_resolved_buffer {
    const void *data; /* host bytes of an input, borrowed from the arguments; NULL for a `write` buffer or no bytes */
    uint64_t count;   /* elements, at most 2^32 - 1 */
    uint64_t bytes;
    uint32_t input, output; /* index among the inputs and outputs of the dispatch, or VY_NONE */
} vy_resolved_buffer;

/* Filled by vy_resolve_dispatch; owns nothing. Entries beyond the program's counts are not touched. */
typedef struct vy_resolved_dispatch {
    uint32_t groups[3];
    uint32_t
        /* set to 0. A caller that leaves the grid to the device sets it to the buffer's index + 1; the grid is unknown
         * then */
        grid_buffer;
    uint64_t group_count; /* product of groups; 0 is an empty grid */
    uint32_t group_size;  /* invocations of a workgroup */
    uint64_t invocations; /* group_count * group_size, below 2^64 */
    vy_resolved_buffer buffers[VY_LIMIT_BUFFERS];
    uint64_t params[VY_LIMIT_PARAMS]; /* proper values */
} vy_resolved_dispatch;

/* Checks the arguments against the program, which must be an entry, and fills *launch.
 *
 * VYRE_INVALID_ARGUMENT  params, inputs, counts or grid do not match: the message names the argument and the expected
 *                        value
 * VYRE_LIMIT             a count exceeds 2^32 - 1 elements, or a dimension of the grid 2^32 - 1 invocations */
vyre_status vy_resolve_dispatch(const vyre_program *program, const vyre_arguments *arguments,
                                vy_resolved_dispatch *launch, vyre_error *error);

/* Fast path for resident buffers: the bytes of all buffers are given (launch->buffers[].bytes), and arguments->inputs
 * and counts are not read. Returns 0 if the arguments do not match or the case is not a simple one; the caller then
 * calls vy_resolve_dispatch, which also reports the error. */
int vy_resolve_dispatch_fast(const vyre_program *program, const vyre_arguments *arguments,
                             vy_resolved_dispatch *launch);
/* The same for counts and bytes that are known to be whole elements within the limit. Does not set the indices among
 * inputs and outputs. */
int vy_resolve_dispatch_fast_sized(const vyre_program *program, const vyre_arguments *arguments,
                                   vy_resolved_dispatch *launch);

/* Checks that the program may run with a grid of this many workgroups.
 *
 * VYRE_LIMIT  as above */
vyre_status vy_program_check_grid(const vyre_program *program, const uint32_t groups[3], vyre_error *error);

/* VYRE_TRAPPED, with the source position of statement `stmt`, which executed the trap, if the program has it. */
vyre_status vy_fail_trapped(const vyre_program *program, uint32_t stmt, const vyre_trap *trap, vyre_error *error);

/* Caches in a finished program the facts that every dispatch needs. */
void vy_program_cache_dispatch_info(vyre_program *program);

#endif
