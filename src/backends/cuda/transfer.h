/* Host-device transfers: staging through pinned memory, parallel copies by several threads, and zero-copy access.
 *
 * A program's results do not depend on the way that its bytes take. */
#ifndef VY_BACKENDS_CUDA_TRANSFER_H
#define VY_BACKENDS_CUDA_TRANSFER_H

#include "backends/cuda/cuda.h"

/* ---- staging ----
 *
 * Host bytes pass through a few chunks of pinned memory in rotation, so that the copies of the host and those of the
 * device overlap.
 *
 * A chunk that was handed to the device is reused when its event reports that the copy is done. All copies of a
 * staging are in one stream: a readback may use the chunks of an upload. */

enum { VY_CUDA_CHUNKS = 4, VY_CUDA_CHUNK = 1 << 20 };
/* What passes as a whole, through the first chunk. */
enum { VY_CUDA_SMALL = 1 << 20 };

typedef struct vy_cuda_staging {
    uint8_t *chunks[VY_CUDA_CHUNKS]; /* NULL until it is needed */
    size_t first_size;               /* of the first one, which is smaller while nobody needs more */
    vy_cu_event events[VY_CUDA_CHUNKS];
    uint8_t is_busy[VY_CUDA_CHUNKS]; /* its event was recorded, and not waited for */
    unsigned current;
    size_t used; /* of the current one */
} vy_cuda_staging;

/* Pinned memory of the host; api.host_free follows. VYRE_NO_MEMORY if there is none. */
vyre_status vy_cuda_pinned_allocate(vy_cuda *cuda, size_t size, void **out, vyre_error *error);
void vy_cuda_staging_end(vy_cuda *cuda, vy_cuda_staging *staging);
/* All copies are done: the stream was waited for. */
void vy_cuda_staging_reset(vy_cuda_staging *staging);

/* The first chunk, at least so large (VY_CUDA_SMALL at most), for somebody who lays it out himself and waits for the
 * stream before anybody else uses the staging. */
vyre_status vy_cuda_staging_first(vy_cuda *cuda, vy_cuda_staging *staging, size_t size, uint8_t **out,
                                  vyre_error *error);
/* Host bytes to the device: they are copied when it returns, and the device's copies are under way. */
vyre_status vy_cuda_stage_in(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream, vy_cu_address to,
                             const void *from, uint64_t size, vyre_error *error);

/* One contiguous copy. */
typedef struct vy_cuda_copy {
    vy_cu_address device;
    void *host;
    uint64_t size;
} vy_cuda_copy;
/* From the device to host bytes, which are there when it returns. If it fails, copies may be under way. */
vyre_status vy_cuda_stage_out(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream, const vy_cuda_copy *copies,
                              size_t count, vyre_error *error);

/* The same in two steps: the first does not wait, and starts as much as there are chunks for; the copies stay where
 * they are until the second. Nobody uses the staging between. */
typedef struct vy_cuda_copy_cursor {
    const vy_cuda_copy *copies;
    size_t left;
    uint64_t done; /* of the first */
} vy_cuda_copy_cursor;
typedef struct vy_cuda_stage_out_state {
    vy_cuda_copy_cursor asked, taken;
    uint64_t first, end; /* chunks that are under way */
} vy_cuda_stage_out_state;
vyre_status vy_cuda_stage_out_begin(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream,
                                    const vy_cuda_copy *copies, size_t count, vy_cuda_stage_out_state *out,
                                    vyre_error *error);
vyre_status vy_cuda_stage_out_end(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream,
                                  vy_cuda_stage_out_state *out, vyre_error *error);

/* ---- parallel copies ----
 *
 * Large copies between host and device are made by several threads, each with a stream slot of its own, because one
 * processor copies more slowly than the device. */

/* Below it one thread does. */
#define VY_CUDA_PARALLEL_COPY_MIN (UINT64_C(16) << 20)

/* How many threads so many pieces of work are worth. */
unsigned vy_cuda_copy_threads(uint64_t pieces);

/* Copies are done when it returns; what else is under way on the device is not waited for. Inside. */
vyre_status vy_cuda_parallel_copy(vy_cuda *cuda, const vy_cuda_copy *copies, size_t count, int is_upload,
                                  vyre_error *error);

/* ---- zero-copy buffers ----
 *
 * The kernel reads and writes small host bytes in place, in pinned memory, so that nothing is copied to the device or
 * back. Comments and fields also call such a buffer direct.
 *
 * A copy takes some microseconds however small it is. An access over the bus takes less, but every access pays it
 * again, and a dependent access pays it twice. So a buffer is zero-copy only if the program makes few accesses to it:
 * outside loops, neighbouring invocations at neighbouring elements or few invocations, no load that depends on another
 * load or follows a store. A buffer with atomics is never zero-copy, because the bus does not support them. Otherwise
 * the results are the same either way, and this analysis affects only the time.
 *
 * With unified addressing, pinned memory has one address for the host and the device (CUDA Driver API, Unified
 * Addressing), and the host sees a kernel's stores to it after it has waited for the kernel. */

/* costs[i]: how many requests over the bus a warp makes to buffer i, at most; 0: it is not to be direct. The program
 * has no calls.
 *
 * VYRE_NO_MEMORY */
vyre_status vy_cuda_zero_copy_analyze(const vyre_program *program, uint8_t *costs, vyre_error *error);

/* Which buffers of the submission are direct: is_zero_copy[i] is 1 then. Bound, not laid out; is_cleared[i]: it must
 * be zero at the start. */
void vy_cuda_zero_copy_select(const vy_cuda_submission *submission, const vyre_launch *launch,
                              const uint8_t *is_cleared, uint8_t *is_zero_copy);

#endif
