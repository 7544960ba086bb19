/* Pipelined dispatch: a large dispatch from host bytes in pieces, each of which is uploaded, computed and read back
 * while others are.
 *
 * The program must be elementwise in the buffers that are divided: every invocation reads and writes only the element
 * at global_id.x of them. All other buffers are uploaded whole before. Pieces are whole workgroups. Several threads
 * take pieces one by one, each with a stream slot of its own. */
#ifndef VY_BACKENDS_CUDA_PIPELINED_DISPATCH_H
#define VY_BACKENDS_CUDA_PIPELINED_DISPATCH_H

#include "backends/cuda/submission.h"

/* How a buffer is used. */
typedef enum vy_cuda_buffer_role { VY_CUDA_BUFFER_WHOLE, VY_CUDA_BUFFER_ELEMENTWISE } vy_cuda_buffer_role;

/* Whether the program can be cut; roles: one a buffer. Sound, not complete. The program has no calls.
 *
 * VYRE_NO_MEMORY */
vyre_status vy_cuda_pipelined_analyze(const vyre_program *program, int *is_elementwise, uint8_t *roles,
                                      vyre_error *error);

/* Runs a dispatch that way, if it is large enough and can be; *was_run says whether. Bound from host bytes, not
 * submitted. */
vyre_status vy_cuda_pipelined_run(vy_cuda_submission *submission, const vyre_launch *launch, vyre_outputs *outputs,
                                  int *was_run, vyre_error *error);

#endif
