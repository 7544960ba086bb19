/* The rows of a batch as one launch: their params are a table in device memory, refreshed by one copy, and the kernel (emit/ptx/ptx.h, by rows) has a block in z for each of
 * them.
 *
 * Rows run at the same time then, so this is for those that do not touch what others write: the ranges of each written buffer go upwards from row to row without overlap, and meet
 * none of the other buffers. They have the same grid, one group in z, and cannot trap or be stopped. The kernel is compiled when so many of them came that it is worth it. */
#ifndef VY_BACKENDS_CUDA_BATCHED_LAUNCH_H
#define VY_BACKENDS_CUDA_BATCHED_LAUNCH_H

#include "backends/cuda/graph.h"
#include "backends/cuda/stream_slot.h"

enum {
    VY_CUDA_BATCHED_MIN = 4,             /* rows that are worth it */
    VY_CUDA_BATCHED_COMPILE_AFTER = 8192 /* rows, launched by themselves, that take as long as compiling */
};

/* Puts items [from, from + count) into the stream_slot's stream. *was_run 0, with VYRE_OK: nothing was done. *is_free: they may run in any order. Uses the stream_slot's staging and arena until the stream was waited for.
 * Inside. */
vyre_status vy_cuda_batched_launch(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vy_cuda_launch_list *list,
                                   size_t from, size_t count, int *was_run, int *is_free, vyre_error *error);

#endif
