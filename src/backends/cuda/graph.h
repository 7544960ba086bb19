/* Several launches as one graph of the driver's: made when the same kernels come a second time in the same order, kept, and launched with one call.
 *
 * A graph knows its launches as bytes: kernel, grid and params, which are addresses of device memory and not handles. Before it is launched every one of them is compared with
 * what is asked for now, and those that differ are set: so it never runs with anything but the memory the caller names, whatever has become of the memory it ran with before.
 *
 * Kernels that trap, can be stopped, or have their grid in device memory are not put into graphs: their control blocks are looked at. Nor is what a driver without graphs is asked to do, or what fails for
 * want of memory: who asked launches one by one then. */
#ifndef VY_BACKENDS_CUDA_GRAPH_H
#define VY_BACKENDS_CUDA_GRAPH_H

#include "backends/cuda/executable.h"
#include "backends/cuda/sequence.h"

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

/* Puts launches [from, from + count) into the stream as one graph: one after the other, or in any order if they are free. *out is in use until the stream was waited for, then vy_cuda_graph_release. NULL, with VYRE_OK: nothing was
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

#endif
