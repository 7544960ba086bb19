/* Memory and streams of others (vyre/interop.h): device memory that somebody else allocated, where ours lies, and waiting for foreign streams on the device.
 *
 * A joined stream is waited for by a stream of our own, whose event stream_slots wait for when they are taken: one event stands for all streams joined so far, and a stream_slot that
 * has seen the last join pays one comparison. */
#ifndef VY_BACKENDS_CUDA_INTEROP_H
#define VY_BACKENDS_CUDA_INTEROP_H

#include "backends/cuda/stream_slot.h"

/* Entries of the backend's table. */
vyre_status vy_cuda_resident_wrap(void *self, const vyre_memory_location *place, uint64_t size, uint64_t *native,
                                  vyre_error *error);
vyre_status vy_cuda_resident_location(void *self, uint64_t native, vyre_memory_location *place, vyre_error *error);
vyre_status vy_cuda_stream_join(void *self, void *stream, vyre_error *error);

void vy_cuda_external_stream_start(vy_cuda_external_stream *join);
/* With the context, as far as there is one. */
void vy_cuda_external_stream_end(vy_cuda *cuda);
void vy_cuda_external_stream_destroy(vy_cuda_external_stream *join);

/* A stream that is behind all streams joined so far: one of ours, and not to be waited for by who may not wait for those. */
vy_cu_stream vy_cuda_external_stream_get(vy_cuda *cuda);

/* The stream_slot's stream waits for the streams joined since it was taken last. Inside. */
vyre_status vy_cuda_external_stream_wait(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, vyre_error *error);
static inline vyre_status vy_cuda_external_stream_sync(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot,
                                                       vyre_error *error) {
    return atomic_load_explicit(&cuda->join.count, memory_order_acquire) == stream_slot->joined
               ? (vyre_status)VYRE_OK
               : vy_cuda_external_stream_wait(cuda, stream_slot, error);
}

#endif
