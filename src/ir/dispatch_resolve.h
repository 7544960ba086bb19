/* A launch: a dispatch resolved against its program. Counts, byte sizes, params and the grid, all checked, as plain
 * numbers.
 *
 * The oracle and the driver's boundary both start from this, so that the same arguments are accepted, refused and
 * explained in the same words everywhere. */
#ifndef VY_IR_DISPATCH_RESOLVE_H
#define VY_IR_DISPATCH_RESOLVE_H

#include "ir/model.h"
#include "vyre/dispatch.h"

typedef struct vy_resolved_buffer {
    const void *data; /* host bytes of an input, borrowed from the arguments; NULL for a `write` buffer or no bytes */
    uint64_t count;   /* elements, at most 2^32 - 1 */
    uint64_t bytes;
    uint32_t input, output; /* place among the inputs and outputs of the dispatch, or VY_NONE */
} vy_resolved_buffer;

/* Filled by vy_resolve_dispatch; owns nothing. Entries beyond the program's counts are not touched. */
typedef struct vy_resolved_dispatch {
    uint32_t groups[3];
    uint32_t
        grid_buffer; /* 0. Who leaves the grid to the device sets it: the buffer's index + 1, the grid is unknown */
    uint64_t group_count; /* product of groups; 0 is an empty grid */
    uint32_t group_size;  /* invocations of a workgroup */
    uint64_t invocations; /* group_count * group_size, below 2^64 */
    vy_resolved_buffer buffers[VY_LIMIT_BUFFERS];
    uint64_t params[VY_LIMIT_PARAMS]; /* proper values */
} vy_resolved_dispatch;

/* Checks the arguments against the program, which must be an entry, and computes what runs.
 *
 * VYRE_INVALID_ARGUMENT  params, inputs, counts or grid do not fit: the message names the one and what was expected
 * VYRE_LIMIT             a count is over 2^32 - 1 elements, or a dimension of the grid over 2^32 - 1 invocations */
vyre_status vy_resolve_dispatch(const vyre_program *program, const vyre_arguments *arguments,
                                vy_resolved_dispatch *launch, vyre_error *error);

/* The same where the bytes of all buffers are known (launch->buffers[].bytes) and none lies on the host:
 * arguments->inputs and counts are not looked at. For those who dispatch often: 0 if it does not fit, or if it takes
 * more than one look to tell; then vy_resolve_dispatch says what it is. */
int vy_resolve_dispatch_fast(const vyre_program *program, const vyre_arguments *arguments,
                             vy_resolved_dispatch *launch);
/* What is left of it where the counts and bytes are known to be those of whole elements, and not over the limit. Places
 * among inputs and outputs are not set. */
int vy_resolve_dispatch_fast_sized(const vyre_program *program, const vyre_arguments *arguments,
                                   vy_resolved_dispatch *launch);

/* Whether a grid of so many workgroups is one of the program's, and why not.
 *
 * VYRE_LIMIT  as above */
vyre_status vy_program_check_grid(const vyre_program *program, const uint32_t groups[3], vyre_error *error);

/* VYRE_TRAPPED, with the source position of statement `stmt`, which executed the trap, if the program has it. */
vyre_status vy_fail_trapped(const vyre_program *program, uint32_t stmt, const vyre_trap *trap, vyre_error *error);

/* Notes in a program that is complete what dispatches ask again and again. */
void vy_program_cache_dispatch_info(vyre_program *program);

#endif
