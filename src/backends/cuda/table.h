/* The rows of a batch as one launch: their params are a table in device memory, refreshed by one copy, and the kernel (emit/ptx/ptx.h, by rows) has a block in z for each of
 * them.
 *
 * Rows run at the same time then, so this is for those that do not touch what others write: the ranges of each written buffer go upwards from row to row without overlap, and meet
 * none of the other buffers. They have the same grid, one group in z, and cannot trap or be stopped. The kernel is compiled when so many of them came that it is worth it. */
#ifndef VY_BACKENDS_CUDA_TABLE_H
#define VY_BACKENDS_CUDA_TABLE_H

#include "backends/cuda/graph.h"
#include "backends/cuda/lane.h"

enum {
    VY_CUDA_TABLE_LEAST = 4,   /* rows that are worth it */
    VY_CUDA_TABLE_WORTH = 8192 /* rows, launched by themselves, that take as long as compiling */
};

/* Puts items [from, from + count) into the lane's stream. *was_run 0, with VYRE_OK: nothing was done. *is_free: they may run in any order. Uses the lane's staging and arena until the stream was waited for.
 * Inside. */
vyre_status vy_cuda_table_launch(vy_cuda *cuda, vy_cuda_lane *lane, const vy_cuda_list *list, size_t from, size_t count,
                                 int *was_run, int *is_free, vyre_error *error);

#endif
