/* CUDA graphs of several launches, and batched launches, which run many items of a batch as one launch.
 *
 * A graph is made when the same kernels come a second time in the same order. It is kept, and launched with one call.
 *
 * A graph holds its launches as bytes: kernel, grid and params. Params hold addresses of device memory, not handles.
 * Before a graph is launched, every launch is compared with the requested one, and those that differ are updated. So a
 * graph never runs on memory other than what the caller names, whatever has become of the memory it ran on before.
 *
 * Kernels that trap, can be cancelled or have an indirect grid are not put into graphs, because their control blocks
 * must be read. If the driver has no graphs, or memory is out, the caller launches the kernels one by one. */
#ifndef VY_BACKENDS_CUDA_GRAPH_H
#define VY_BACKENDS_CUDA_GRAPH_H

#include "backends/cuda/executable.h"
#include "backends/cuda/stream_slot.h"

enum {
    VY_CUDA_GRAPH_CHAINS = 8,     /* side by side, of launches that may run in any order */
    VY_CUDA_GRAPH_MIN = 4,        /* launches that are worth a graph */
    VY_CUDA_GRAPH_MAX = 4096,     /* of one graph: more are several */
    VY_CUDA_GRAPHS_KEPT = 32,     /* of a device */
    VY_CUDA_GRAPH_VARIANTS = 4,   /* of the same kernels in the same order, with other params */
    VY_CUDA_GRAPH_NODES = 1 << 16 /* of all that are kept */
};

/* One launch on resident buffers. */
typedef struct vy_cuda_batch_item {
    vy_cuda_executable *code;
    const vyre_launch *launch;
    const vyre_resource *bindings;
} vy_cuda_batch_item;

/* Launches in order: items of a batch, or steps. */
typedef struct vy_cuda_launch_list {
    vy_cuda_executable *code; /* of all, or NULL: steps */
    const vyre_launch *launches;
    vy_cuda_batch_bindings rows;
    const vyre_native_step *steps;
    size_t count;
} vy_cuda_launch_list;
vy_cuda_batch_item vy_cuda_launch_list_at(const vy_cuda_launch_list *list, size_t index);

/* Puts launches [from, from + count) into the stream as one graph: one after the other, or in any order if they are
 * free. *out is in use until the stream was waited for, then vy_cuda_graph_release. NULL, with VYRE_OK: nothing was
 * done, and they are to be launched one by one. Inside. */
vyre_status vy_cuda_graph_launch(vy_cuda *cuda, vy_cu_stream stream, const vy_cuda_launch_list *list, size_t from,
                                 size_t count, int is_free, vy_cuda_graph **out, vyre_error *error);
/* Several at once: a list by `next`, which is the caller's while they are in use. */
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

/* Ends those that are kept and name a code that is about to be unloaded; NULL: all. */
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
    VY_CUDA_BATCHED_MIN = 4,             /* rows that are worth it */
    VY_CUDA_BATCHED_COMPILE_AFTER = 8192 /* rows, launched by themselves, that take as long as compiling */
};

/* Puts items [from, from + count) into the stream_slot's stream. *was_run 0, with VYRE_OK: nothing was done. *is_free:
 * they may run in any order. Uses the stream_slot's staging and arena until the stream was waited for. Inside. */
vyre_status vy_cuda_batched_launch(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_cuda_launch_list *list,
                                   size_t from, size_t count, int *was_run, int *is_free, vyre_error *error);

#endif
