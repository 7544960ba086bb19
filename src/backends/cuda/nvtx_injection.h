/* NVTX 3, the side of the program: a profiler names its library in NVTX_INJECTION64_PATH; whoever has ranges opens it and calls its InitializeInjectionNvtx2 with a function
 * that hands out tables; through them the profiler stores the functions it wants to have called. */
#ifndef VY_BACKENDS_CUDA_NVTX_INJECTION_H
#define VY_BACKENDS_CUDA_NVTX_INJECTION_H

#include "backends/cuda/nvtx.h"

#include <stddef.h>

/* Opens the profiler's library, which stays open, and lets it store its functions, now or later. 1: ranges of nvtx go to those that are stored when they begin, in a domain
 * "vyre" if the profiler knows domains. 0: it cannot be used, and `problem` says why. At most once in a process: the profiler keeps the addresses of the tables. */
int vy_cuda_nvtx_injection_open(const char *file, vy_cuda_nvtx *nvtx, char *problem, size_t size);

#endif
