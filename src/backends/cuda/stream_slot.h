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

/* Pinned memory: data for the device's control block, a copy of that block, and a word that signals the kernel to
 * end. */
typedef struct vy_cuda_mirror {
    vy_launch_control given, taken;
    uint32_t cancel; /* 1 */
} vy_cuda_mirror;

struct vy_cuda_stream_slot {
    vy_gpu_slot base;
    vy_cu_stream stream;
    vy_cu_event begin, end; /* recorded around a kernel that is timed; NULL until the first */
    vy_cu_event done;
    vy_cuda_mirror *mirror;
    vy_cu_address control; /* device address */
    uint64_t joined;       /* number of joins of foreign streams that its stream has waited for (memory.h) */
    vy_cu_address arena;   /* buffers of dispatches from host bytes */
    uint64_t arena_size;
    vy_cuda_staging staging;
};

enum { VY_CUDA_STREAM_SLOTS_KEPT = 64 };
#define VY_CUDA_ARENA_KEPT (UINT64_C(64) << 20)

/* Acquires a stream slot, or creates one. Inside. */
vyre_status vy_cuda_stream_slot_acquire(vy_cuda *cuda, vy_cuda_stream_slot **out, vyre_error *error);
/* Returns an idle slot whose stream has not waited for recently joined streams; NULL: no slot is idle. */
vy_cuda_stream_slot *vy_cuda_stream_slot_try_acquire(vy_cuda *cuda);
/* The slot must have no work in flight, unless the device is lost. */
void vy_cuda_stream_slot_release(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot);
/* Destroys all idle slots. */
void vy_cuda_stream_slots_end(vy_cuda *cuda);
/* Frees the arenas of the idle slots, and waits until the memory freed on their streams is available. */
void vy_cuda_stream_slots_trim(vy_cuda *cuda);

/* Ensures an arena of at least this size. Its contents are undefined afterwards. */
vyre_status vy_cuda_stream_slot_reserve(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, uint64_t size,
                                        vyre_error *error);
/* Waits for all work of the slot. */
vyre_status vy_cuda_stream_slot_wait(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const char *doing,
                                     vyre_error *error);

#endif
