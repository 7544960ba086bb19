/* Staging: pinned memory through which host bytes pass, a few chunks in turn, so that the copies of this processor and those of the device overlap.
 *
 * A chunk that was handed to the device is used again when its event says that the copy is done. All copies of a staging are in one stream: what comes back may use the chunks of what
 * goes there. */
#ifndef VY_BACKENDS_CUDA_STAGING_H
#define VY_BACKENDS_CUDA_STAGING_H

#include "backends/cuda/cuda.h"

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

/* The first chunk, at least so large (VY_CUDA_SMALL at most), for somebody who lays it out himself and waits for the stream before anybody else uses the staging. */
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

/* The same in two steps: the first does not wait, and starts as much as there are chunks for; the copies stay where they are until the second. Nobody uses the staging between. */
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

#endif
