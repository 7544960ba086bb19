/* Stream slots: a stream and all else that one dispatch in flight needs. A slot belongs to one dispatch at a time; the
 * last one used is used first.
 *
 * The control block (emit/ptx/ptx.h) of an idle slot is clean. So a program that only reports traps needs no copy
 * before its launch. */
#ifndef VY_BACKENDS_CUDA_STREAM_SLOT_H
#define VY_BACKENDS_CUDA_STREAM_SLOT_H

#include "backends/cuda/cuda.h"
#include "backends/cuda/transfer.h"
#include "emit/ptx/ptx.h"

/* Pinned: what goes to the device's control block, what came from it, and a word that says "end". */
typedef struct vy_cuda_mirror {
    vy_ptx_control given, taken;
    uint32_t cancel; /* 1 */
} vy_cuda_mirror;

struct vy_cuda_stream_slot {
    vy_cuda_stream_slot *next;
    vy_cu_stream stream;
    vy_cu_event begin, end; /* around a kernel whose time is asked for; NULL until then */
    vy_cu_event done;
    vy_cuda_mirror *mirror;
    vy_cu_address control; /* of the device */
    int is_control_clean;
    uint64_t joined;     /* how many joins of foreign streams its stream waits for (memory.h) */
    vy_cu_address arena; /* buffers of dispatches from host bytes */
    uint64_t arena_size;
    vy_cuda_staging staging;
};

enum { VY_CUDA_STREAM_SLOTS_KEPT = 64 };
#define VY_CUDA_ARENA_KEPT (UINT64_C(64) << 20)

/* A stream_slot of one's own. Inside. */
vyre_status vy_cuda_stream_slot_acquire(vy_cuda *cuda, vy_cuda_stream_slot **out, vyre_error *error);
/* One that is there, which does not wait for streams that were joined; NULL: all are in use. */
vy_cuda_stream_slot *vy_cuda_stream_slot_try_acquire(vy_cuda *cuda);
/* Nothing of its work is under way, unless the device is lost. */
void vy_cuda_stream_slot_release(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot);
/* Frees all that are idle. */
void vy_cuda_stream_slots_end(vy_cuda *cuda);
/* Frees the arenas of those that are idle, and waits until all that was freed on them is free. */
void vy_cuda_stream_slots_trim(vy_cuda *cuda);

/* At least so many bytes of device memory; what they held is gone. */
vyre_status vy_cuda_stream_slot_reserve(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, uint64_t size,
                                        vyre_error *error);
/* The two events that measure, made now if need be. */
vyre_status vy_cuda_stream_slot_make_events(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, vyre_error *error);
/* Waits for all of its work. */
vyre_status vy_cuda_stream_slot_wait(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const char *doing,
                                     vyre_error *error);

#endif
