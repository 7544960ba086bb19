/* Direct: small host bytes that the kernel reads and writes where they lie in pinned memory, so that nothing is copied to the device or back.
 *
 * A copy takes some microseconds however small it is; an access over the bus takes less, but each one takes it again, and one that waits for another takes it twice. So a buffer is direct only
 * where the program comes to few of its accesses: outside loops, neighbours at neighbouring elements or few invocations, no load that waits for another one or follows a store. Never with atomics, which
 * the bus does not do. But for those, the bits are the same either way, and only the time hangs on what is found here.
 *
 * With unified addressing pinned memory has one address for the host and the device (CUDA Driver API, Unified Addressing), and what a kernel stored there is seen by the host that waited for it. */
#ifndef VY_BACKENDS_CUDA_ZERO_COPY_H
#define VY_BACKENDS_CUDA_ZERO_COPY_H

#include "backends/cuda/submission.h"

/* costs[i]: how many requests over the bus a warp makes to buffer i, at most; 0: it is not to be direct. The program has no calls.
 *
 * VYRE_NO_MEMORY */
vyre_status vy_cuda_zero_copy_analyze(const vyre_program *program, uint8_t *costs, vyre_error *error);

/* Which buffers of the submission are direct: is_zero_copy[i] is 1 then. Bound, not laid out; is_cleared[i]: it must be zero at the start. */
void vy_cuda_zero_copy_select(const vy_cuda_submission *submission, const vyre_launch *launch,
                              const uint8_t *is_cleared, uint8_t *is_zero_copy);

#endif
