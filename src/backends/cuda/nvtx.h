/* NVTX ranges for profilers, one for each dispatch, named after its label or its program.
 *
 * Ranges are emitted only if a profiler has injected its library, or libnvToolsExt is installed. Otherwise a range
 * costs one comparison of a pointer. */
#ifndef VY_BACKENDS_CUDA_NVTX_H
#define VY_BACKENDS_CUDA_NVTX_H

/* Both are NULL, or both are set. */
typedef struct vy_cuda_nvtx {
    int (*push)(const char *name);
    int (*pop)(void);
} vy_cuda_nvtx;

/* Opens the profiler's library that NVTX_INJECTION64_PATH names; if it cannot be used, this is logged, and ranges
 * are disabled. If the variable is not set, opens VYRE_NVTX_LIBRARY or libnvToolsExt.so.1, if installed. The search is
 * made once per process, and an opened library stays open. Any thread. */
void vy_cuda_nvtx_open(vy_cuda_nvtx *nvtx);

/* Ranges of the calling thread; they nest. */
static inline void vy_cuda_nvtx_begin(const vy_cuda_nvtx *nvtx, const char *label, const char *name) {
    if (nvtx->push)
        nvtx->push(label && *label ? label : name);
}

static inline void vy_cuda_nvtx_end(const vy_cuda_nvtx *nvtx) {
    if (nvtx->pop)
        nvtx->pop();
}

#endif
