/* NVTX ranges for profilers, one for each dispatch, named after its label or its program.
 *
 * There are ranges only if a profiler asks for them, or libnvToolsExt is installed. Otherwise a range costs one
 * comparison of a pointer. */
#ifndef VY_BACKENDS_CUDA_NVTX_H
#define VY_BACKENDS_CUDA_NVTX_H

/* Both NULL, or both there. */
typedef struct vy_cuda_nvtx {
    int (*push)(const char *name);
    int (*pop)(void);
} vy_cuda_nvtx;

/* The profiler's library that NVTX_INJECTION64_PATH names; one that cannot be used is a line in the
 * log, and no ranges. If none is named: VYRE_NVTX_LIBRARY, or libnvToolsExt.so.1, if it is there. Looks once in a
 * process, whatever the answer is. What is open stays open. Any thread. */
void vy_cuda_nvtx_open(vy_cuda_nvtx *nvtx);

/* Of the calling thread; they nest. */
static inline void vy_cuda_nvtx_begin(const vy_cuda_nvtx *nvtx, const char *label, const char *name) {
    if (nvtx->push)
        nvtx->push(label && *label ? label : name);
}

static inline void vy_cuda_nvtx_end(const vy_cuda_nvtx *nvtx) {
    if (nvtx->pop)
        nvtx->pop();
}

#endif
