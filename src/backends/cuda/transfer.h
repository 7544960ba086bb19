/* Host-device transfers: staging through pinned memory, parallel copies by several threads, and zero-copy access.
 *
 * The results of a program do not depend on the kind of transfer. */
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
/* Up to this size, all bytes pass through the first chunk at the same time. */
enum { VY_CUDA_SMALL = VY_GPU_SMALL };

typedef struct vy_cuda_staging {
    uint8_t *chunks[VY_CUDA_CHUNKS]; /* NULL until it is needed */
    size_t first_size;               /* of the first chunk, which is replaced when a larger one is needed */
    vy_cu_event events[VY_CUDA_CHUNKS];
    uint8_t is_busy[VY_CUDA_CHUNKS]; /* its event was recorded and not yet waited for */
    unsigned current;
    size_t used; /* of the current chunk */
} vy_cuda_staging;

/* Pinned memory of the host; api.host_free follows. VYRE_NO_MEMORY if there is none. */
vyre_status vy_cuda_pinned_allocate(vy_cuda *cuda, size_t size, void **out, vyre_error *error);
void vy_cuda_staging_end(vy_cuda *cuda, vy_cuda_staging *staging);
/* To be called after a wait for the stream, when all copies are done. */
void vy_cuda_staging_reset(vy_cuda_staging *staging);

/* The first chunk, with at least this size (at most VY_CUDA_SMALL). The caller determines its layout, and waits for the
 * stream before any other use of the staging. */
vyre_status vy_cuda_staging_first(vy_cuda *cuda, vy_cuda_staging *staging, size_t size, uint8_t **out,
                                  vyre_error *error);
/* Copies host bytes to the device. When it returns, the host bytes are copied to the staging, and the device's copies
 * are in flight. */
vyre_status vy_cuda_stage_in(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream, vy_cu_address to,
                             const void *from, uint64_t size, vyre_error *error);

/* One contiguous copy. */
typedef struct vy_cuda_copy {
    vy_cu_address device;
    void *host;
    uint64_t size;
} vy_cuda_copy;
/* Copies from the device to host bytes; complete when it returns. On failure, copies may still be in flight. */
vyre_status vy_cuda_stage_out(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream, const vy_cuda_copy *copies,
                              size_t count, vyre_error *error);

/* The same in two steps. The first does not wait, and starts copies into all available chunks; the array of copies must
 * stay valid until the second. The staging must not be used in between. */
typedef struct vy_cuda_copy_cursor {
    const vy_cuda_copy *copies;
    size_t left;
    uint64_t done; /* of the first copy */
} vy_cuda_copy_cursor;
typedef struct vy_cuda_stage_out_state {
    vy_cuda_copy_cursor asked, taken;
    uint64_t first, end; /* chunks in flight */
} vy_cuda_stage_out_state;
vyre_status vy_cuda_stage_out_begin(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream,
                                    const vy_cuda_copy *copies, size_t count, vy_cuda_stage_out_state *out,
                                    vyre_error *error);
vyre_status vy_cuda_stage_out_end(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream,
                                  vy_cuda_stage_out_state *out, vyre_error *error);

/* ---- parallel copies ----
 *
 * Large copies between host and device are made by several threads, each with a separate stream slot, because one
 * processor copies more slowly than the device. */

/* Smaller copies are made by one thread. */
#define VY_CUDA_PARALLEL_COPY_MIN (UINT64_C(16) << 20)

/* The number of threads for this number of pieces. */
unsigned vy_cuda_copy_threads(uint64_t pieces);

/* All copies are complete when it returns. It does not wait for other work on the device. Inside. */
vyre_status vy_cuda_parallel_copy(vy_cuda *cuda, const vy_cuda_copy *copies, size_t count, int is_upload,
                                  vyre_error *error);

/* ---- zero-copy buffers ----
 *
 * The kernel reads and writes small host bytes directly in pinned memory, so that nothing is copied to the device or
 * back. Comments and fields also call such a buffer direct. The launch facts have the bus requests that each buffer
 * costs (analysis/host_access.h). The results are the same either way.
 *
 * With unified addressing, pinned memory has one address for the host and the device (CUDA Driver API, Unified
 * Addressing), and the host sees a kernel's stores to it after it has waited for the kernel. */

/* Selects the direct buffers of a submission that is bound but not laid out: is_zero_copy[i] is set to 1.
 * is_cleared[i]: the buffer must be zero at the start. */
void vy_cuda_zero_copy_select(const vy_gpu_submission *submission, const vyre_launch *launch, const uint8_t *is_cleared,
                              uint8_t *is_zero_copy);

#endif
