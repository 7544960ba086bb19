/* The pass pipeline before PTX: coarsened where that pays, optimised, legalised.
 *
 * A coarsened program has one more param, a u32 after the others: the groups in x of the dispatch as it was requested.
 * It is launched over fewer groups: vy_ptx_launch_groups. Everything else about a dispatch (buffers, counts, params,
 * groups in y and z, the size of a workgroup) is unchanged. */
#ifndef VY_EMIT_PTX_PREPARE_H
#define VY_EMIT_PTX_PREPARE_H

#include "vyre/program.h"

typedef struct vy_ptx_prepare_options {
    uint32_t architecture; /* of the device: 90 for sm_90 */
    uint64_t inexact;      /* bits 1 << VYRE_NUMERIC_…: what a probe on the device did not confirm of vy_ptx_exact */
    uint8_t cancellable;   /* with polls */
    /* nothing is widened: the grid is known only on the device (vy_ptx_options.indirect), or somebody asked for it
     * as it is */
    uint8_t keeps_grid;
    uint8_t aligned; /* every buffer starts at a multiple of 16 bytes in every dispatch: nothing asks for it then */
} vy_ptx_prepare_options;

typedef struct vy_ptx_prepared {
    vyre_program *program; /* legal, without a fingerprint; one reference */
    /* invocations of the original that one handles; 1: it is not widened, and there is no other param */
    uint32_t factor;
    const char *reason; /* why the factor is 1, a static sentence; NULL if it is more */
} vy_ptx_prepared;

/* Prepares a program; one of level legal is taken as it is. Any thread.
 *
 * As optimising and legalising fail (vyre/transform.h, lower/legalize.h); out->program is NULL then */
vyre_status vy_ptx_prepare(vyre_program *program, const vy_ptx_prepare_options *options, vy_ptx_prepared *out,
                           vyre_error *error);

/* The groups in x to launch for `groups_x` of the dispatch, which is also the value of the other param. */
static inline uint32_t vy_ptx_launch_groups(uint32_t factor, uint32_t groups_x) {
    return groups_x / factor + (groups_x % factor != 0);
}

#endif
