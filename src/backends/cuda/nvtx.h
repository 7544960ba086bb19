/* NVTX: ranges that profilers show, one for each dispatch, named after its label or its program. Only where libnvToolsExt is installed; otherwise a range is one look
 * at a pointer. */
#ifndef VY_BACKENDS_CUDA_NVTX_H
#define VY_BACKENDS_CUDA_NVTX_H

/* Both NULL, or both there. */
typedef struct vy_cuda_nvtx {
    int (*push)(const char *name);
    int (*pop)(void);
} vy_cuda_nvtx;

/* Opens VYRE_NVTX_LIBRARY, or libnvToolsExt.so.1, which stays open; without it nothing is there. */
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
