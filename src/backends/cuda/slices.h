/* Slices: a large dispatch from host bytes in pieces, each of which is uploaded, computed and read back while others are.
 *
 * That takes a program in which every invocation reads and writes its own element of the buffers that are cut, the one at global_id.x, and nothing else of them. What it
 * reads elsewhere is uploaded whole before. Pieces are whole workgroups; several threads take them one by one, each with a lane of its own. */
#ifndef VY_BACKENDS_CUDA_SLICES_H
#define VY_BACKENDS_CUDA_SLICES_H

#include "backends/cuda/flight.h"

/* How a buffer is used. */
typedef enum vy_cuda_role { VY_CUDA_WHOLE, VY_CUDA_SLICED } vy_cuda_role;

/* Whether the program can be cut; roles: one a buffer. Sound, not complete. The program has no calls.
 *
 * VYRE_NO_MEMORY */
vyre_status vy_cuda_slices_find(const vyre_program *program, int *can_be_cut, uint8_t *roles, vyre_error *error);

/* Runs a dispatch that way, if it is large enough and can be; *was_run says whether. Bound from host bytes, not submitted. */
vyre_status vy_cuda_slices_run(vy_cuda_flight *flight, const vyre_launch *launch, vyre_outputs *outputs, int *was_run,
                               vyre_error *error);

#endif
