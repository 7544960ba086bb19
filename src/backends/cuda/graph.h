/* CUDA graphs of several launches, and batched launches, which run many items of a batch as one launch.
 *
 * A graph is created when the same kernels are launched a second time in the same order. It is cached, and launched
 * with one call.
 *
 * A graph holds its launches as bytes: kernel, grid and params. Params hold addresses of device memory, not handles.
 * Before a graph is launched, every launch is compared with the requested one, and the differing ones are updated. So a
 * graph only uses the memory that the caller names, whatever has happened to the memory of its earlier launches.
 *
 * Kernels that trap, can be cancelled or have an indirect grid are not put into graphs, because their control blocks
 * must be read. If the driver has no graphs, or an allocation fails, the caller launches the kernels one by one. */
#ifndef VY_BACKENDS_CUDA_GRAPH_H
#define VY_BACKENDS_CUDA_GRAPH_H

#include "backends/cuda/executable.h"
#include "backends/cuda/stream_slot.h"

enum {
    VY_CUDA_GRAPH_CHAINS = 8,     /* parallel chains, for launches that may run in any order */
    VY_CUDA_GRAPH_MIN = 4,        /* minimum number of launches for a graph */
    VY_CUDA_GRAPHS_KEPT = 32,     /* per device */
    VY_CUDA_GRAPH_VARIANTS = 4,   /* cached graphs with the same kernels in the same order, but other params */
    VY_CUDA_GRAPH_NODES = 1 << 16 /* total of all cached graphs */
};

/* One launch on resident buffers. */
typedef struct vy_cuda_batch_item {
    vy_cuda_executable *code;
    const vyre_launch *launch;
    const vyre_resource *bindings;
} vy_cuda_batch_item;

static inline vy_cuda_batch_item vy_cuda_launch_list_at(const vy_gpu_launch_list *list, size_t index) {
    const vy_gpu_item item = vy_gpu_launch_list_at(list, index);
    return (vy_cuda_batch_item){(vy_cuda_executable *)item.code, item.launch, item.bindings};
}

/* Enqueues launches [from, from + count) in the stream as one graph: one after the other, or in any order if they are
 * independent. *out is in use until the stream was waited for; then call vy_cuda_graph_release. NULL, with VYRE_OK:
 * nothing was enqueued, and the caller launches them one by one. Inside. */
vyre_status vy_cuda_graph_launch(vy_cuda *cuda, vy_cu_stream stream, const vy_gpu_launch_list *list, size_t from,
                                 size_t count, int is_free, vy_cuda_graph **out, vyre_error *error);
/* Graphs form a list through `next`, which belongs to the caller while they are in use. */
struct vy_cuda_graph {
    vy_cuda_graph *next;
    uint64_t shape; /* of the kernels and their order */
    vy_cu_graph graph;
    vy_cu_graph_exec exec;
    size_t count, size, room, chains;
    vy_cu_graph_node *nodes; /* `room` of them */
    uint8_t *records;        /* of `size` bytes */
};
void vy_cuda_graph_release(vy_cuda *cuda, vy_cuda_graph *graphs);

/* Destroys the cached graphs that refer to an executable about to be unloaded; NULL: all of them. */
void vy_cuda_graphs_drop(vy_cuda *cuda, const vy_cuda_executable *code);

/* ---- batched launches ----
 *
 * The items of a batch as one launch: their params are a table in device memory, updated by one copy, and the kernel
 * (emit/ptx/ptx.h, by rows) has a block in z for each item.
 *
 * The items run concurrently, so they must be independent: the ranges of each written buffer ascend from item to item
 * without overlap, and overlap none of the other buffers. They have the same grid, with one group in z, and cannot
 * trap or be cancelled. The kernel is compiled when there were enough such items (VY_CUDA_BATCHED_COMPILE_AFTER). */

enum {
    VY_CUDA_BATCHED_MIN = 4,             /* minimum number of rows */
    VY_CUDA_BATCHED_COMPILE_AFTER = 8192 /* rows whose separate launches cost as much time as compiling */
};

/* Enqueues items [from, from + count) in the stream of the slot. *was_run 0, with VYRE_OK: nothing was enqueued.
 * *is_free: they may run in any order. Uses the slot's staging and arena until the stream was waited for. Inside. */
vyre_status vy_cuda_batched_launch(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_gpu_launch_list *list,
                                   size_t from, size_t count, int *was_run, int *is_free, vyre_error *error);

/* Calls of src/backends/gpu: adds items to a sequence as one batched launch, or as a graph. */
vyre_status vy_cuda_add_many(vy_gpu_sequence *t, size_t from, size_t count, int *was_added, vyre_error *error);
void vy_cuda_release_held(vy_gpu *gpu, void *held);

#endif
