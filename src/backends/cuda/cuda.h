/* The `cuda` backend: programs as PTX on NVIDIA devices, with the results of the reference interpreter (docs/cuda.md,
 * docs/internals/cuda.md).
 *
 *   dynamic_symbols.c     the driver's library, loaded at run time, and the statuses of its results
 *   device.c              probe, constructor, identity, capabilities; device properties; device loss and recovery
 *   memory.c              device memory: pool, resident buffers, interoperability with other libraries
 *   stream_slot.c         stream slots: a stream and all other resources of one dispatch in flight
 *   transfer.c            host-device transfers: staging, parallel copies, zero-copy buffers
 *   executable.c          compiling, the disk cache of auxiliary kernels, executables
 *   launch.c              params, control blocks, cooperative launches, indirect grids, the device clock
 *   submission.c          the copies of a dispatch; the fast path; the calls that src/backends/gpu makes
 *   pipelined_dispatch.c  a large dispatch in pieces whose copies and kernels overlap
 *   eager_readback.c      asynchronous dispatches whose outputs are read back before they are requested
 *   graph.c               CUDA graphs and batched launches
 *   nvtx.c                ranges for profilers
 *
 * All else of a dispatch is in src/backends/gpu.
 *
 * Every entry starts with vy_cuda_enter, which makes the context current on the thread, and ends with vy_cuda_leave. A
 * function whose comment has the word "Inside" must be called between the two. No lock is held during a driver call,
 * except where a comment states it. */
#ifndef VY_BACKENDS_CUDA_CUDA_H
#define VY_BACKENDS_CUDA_CUDA_H

#include "backends/cuda/dynamic_symbols.h"
#include "backends/cuda/nvtx.h"
#include "backends/gpu/gpu.h"

typedef struct vy_cuda_stream_slot vy_cuda_stream_slot;
typedef struct vy_cuda_executable vy_cuda_executable;
typedef struct vy_cuda_graph vy_cuda_graph;
typedef struct vy_cuda_pending_store vy_cuda_pending_store;

/* Graphs not in use, most recently used first, and shapes that were seen without a graph (graph.h). */
enum { VY_CUDA_SHAPES = 64 };
typedef struct vy_cuda_graphs {
    vy_cuda_graph *first;
    size_t count, nodes;
    uint64_t seen[VY_CUDA_SHAPES];
    unsigned seen_next;
} vy_cuda_graphs;

/* Upper bound on the host bytes of a dispatch that may stay in pinned memory (transfer.h). Zero-copy access pays only
 * if each request of a warp covers 64 bytes or more, which also bounds the number of requests to each buffer. */
enum { VY_CUDA_ZERO_COPY_BYTES = 256 << 10, VY_CUDA_ZERO_COPY_REQUEST = 64 };

/* Device properties, as reported by the driver. */
typedef struct vy_cuda_device_info {
    char name[128], driver[64];
    int driver_version;    /* 13000 is 13.0 */
    uint32_t architecture; /* 90 is sm_90 */
    uint32_t block[3], grid[3], threads, warp, multiprocessors, shared_bytes, l2_bytes;
    uint32_t bandwidth_gbps, copy_engines;
    uint64_t memory_bytes;
    uint32_t threads_per_multiprocessor; /* the maximum, if unknown */
    uint32_t zero_copy_bytes;            /* per dispatch, for zero-copy access to pinned memory (transfer.h) */
    uint8_t has_pools;
    uint8_t has_indirect;         /* grids in device memory (launch.h) */
    uint8_t has_dependent_launch; /* launches in graphs that begin while the previous one still runs (graph.h) */
    /* launches whose blocks all run concurrently, and an emitter for their grid barriers */
    uint8_t has_cooperative_launch;
} vy_cuda_device_info;

/* Foreign streams that all later work waits for (memory.h). */
typedef struct vy_cuda_external_stream {
    _Atomic uint64_t count; /* number of joins */
    pthread_mutex_t lock;   /* held while a stream is joined; guards the fields below */
    vy_cu_stream stream;    /* waits for each joined stream in turn; NULL until the first join, like the events */
    vy_cu_event theirs, all;
} vy_cuda_external_stream;

typedef struct vy_cuda {
    vy_gpu base; /* its lock guards the lists below, too */
    vy_cuda_dynamic_symbols api;
    vy_cu_context context; /* from here to device_info: read by every dispatch */
    vy_cuda_nvtx nvtx;
    vy_cuda_external_stream join;
    vy_cuda_device_info device_info;
    char identity[192]; /* of device and driver, for cache keys */
    int device;
    uint32_t ordinal;
    _Atomic int64_t clock_offset;    /* launch.h */
    _Atomic uint64_t clock_taken_ns; /* 0: not yet measured */
    vy_cu_module _Atomic clock;      /* NULL: not yet loaded */
    vy_cu_pool pool;                 /* NULL: plain allocations */
    vy_cu_stream signal;             /* stream for signals to running kernels */
    vy_buffer_recycler hoard;        /* host memory of large outputs */
    vy_cuda_graphs graphs;
    vy_cuda_pending_store *pending_stores; /* kernels to be stored (executable.h) */
    unsigned pending_store_count;
} vy_cuda;

/* For builtin.c. */
vyre_status vy_cuda_create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error);
void vy_cuda_probe(const vyre_host *host, vyre_probe *out);

/* VYRE_OK, or the error of a failed driver call. Records a device loss. */
vyre_status vy_cuda_failed(vy_cuda *cuda, int result, const char *doing, vyre_error *error);
static inline vyre_status vy_cuda_check(vy_cuda *cuda, int result, const char *doing, vyre_error *error) {
    return result == VY_CU_OK ? (vyre_status)VYRE_OK : vy_cuda_failed(cuda, result, doing, error);
}
/* The error for a device that was lost earlier. */
vyre_status vy_cuda_fail_lost(vy_cuda *cuda, vyre_error *error);

/* Slow path of vy_cuda_enter. `result` and `current` are the driver's answer about the thread's context, which is not
 * this backend's. */
vyre_status vy_cuda_switch_context(vy_cuda *cuda, int result, vy_cu_context current, int *was_pushed,
                                   vyre_error *error);
/* Variant of vy_cuda_enter for callers that release resources. Works as far as the driver permits, even if the device
 * is lost. */
void vy_cuda_enter_for_release(vy_cuda *cuda, int *was_pushed);

/* Makes the backend's context current on the thread. If the thread had another context, vy_cuda_leave restores it; if
 * it had none, this one stays current.
 *
 * VYRE_DEVICE_LOST  the device was lost, in this call or earlier */
static inline vyre_status vy_cuda_enter(vy_cuda *cuda, int *was_pushed, vyre_error *error) {
    vy_cu_context current = NULL;
    *was_pushed = 0;
    if (atomic_load_explicit(&cuda->base.loss, memory_order_relaxed))
        return vy_cuda_fail_lost(cuda, error);
    int result = cuda->api.context_current(&current);
    return result == VY_CU_OK && current == cuda->context
               ? (vyre_status)VYRE_OK
               : vy_cuda_switch_context(cuda, result, current, was_pushed, error);
}
static inline void vy_cuda_leave(vy_cuda *cuda, int was_pushed) {
    vy_cu_context ignored;
    if (was_pushed)
        cuda->api.context_pop(&ignored);
}

/* The CUDA device: its properties, which need no context, and its start, end, loss and recovery. */
/* ---- device properties ---- */

/* Initialises the driver and finds the device with this number.
 *
 * VYRE_NOT_FOUND    no such device
 * VYRE_UNSUPPORTED  the driver does not initialise, or the device is too old or not accessible to this process */
vyre_status vy_cuda_device_info_query(const vy_cuda_dynamic_symbols *api, uint32_t ordinal, int *device,
                                      vy_cuda_device_info *out, vyre_error *error);
/* Applies the environment variable VYRE_CUDA_DIRECT, which overrides zero_copy_bytes (0 disables zero-copy access).
 * VYRE_INVALID_ARGUMENT: its value is not a number in the permitted range. */
vyre_status vy_cuda_device_info_apply_env(vy_cuda_device_info *device_info, vyre_error *error);
/* Succeeds if at least one device is supported, and returns the number of devices. Otherwise the error describes the
 * first device. */
vyre_status vy_cuda_device_info_any(const vy_cuda_dynamic_symbols *api, uint32_t *count, vyre_error *error);
void vy_cuda_device_info_profile(const vy_cuda_device_info *device_info, vyre_device_profile *profile);
/* The ops that the emitter supports for this architecture. */
const char *const *vy_cuda_device_info_ops(const vy_cuda_device_info *device_info, size_t *count);
uint64_t vy_cuda_device_info_capability(const vy_cuda_device_info *device_info, vyre_capability capability);

/* ---- submission.c ---- */

extern const vy_gpu_calls vy_cuda_calls;

#endif
