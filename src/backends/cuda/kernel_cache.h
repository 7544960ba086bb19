/* Kernels that no pipeline stores: for pieces of a grid, for many rows, for grids in device memory, and that which tells the device's time.
 *
 * The disk cache has their cubins by the digest of their text. What is not found there is compiled from its text, which is kept until the device is shut down: then cubins are made and stored. */
#ifndef VY_BACKENDS_CUDA_KERNEL_CACHE_H
#define VY_BACKENDS_CUDA_KERNEL_CACHE_H

#include "backends/cuda/cuda.h"

enum { VY_CUDA_PENDING_STORES = 32 }; /* that are kept; more are compiled again by the next process */

/* Loads an object (executable.h) that has a text, or what the cache has of it. must: also where compiling is forbidden. Inside.
 *
 * VYRE_UNSUPPORTED  compiling is forbidden, and it is not in the cache */
vyre_status vy_cuda_kernel_cache_load(vy_cuda *cuda, vyre_span object, int must, vy_cu_module *out, vyre_error *error);
/* Stores what is kept, if the device is not lost. Outside; nobody else is inside. */
void vy_cuda_kernel_cache_store(vy_cuda *cuda);
void vy_cuda_kernel_cache_drop(vy_cuda *cuda);

#endif
