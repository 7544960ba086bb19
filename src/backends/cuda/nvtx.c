/* Opening NVTX (nvtx.h). */
#include "backends/cuda/nvtx.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void vy_cuda_nvtx_open(vy_cuda_nvtx *nvtx) {
    const char *file = secure_getenv("VYRE_NVTX_LIBRARY");
    *nvtx = (vy_cuda_nvtx){NULL, NULL};
    void *library = dlopen(file && *file ? file : "libnvToolsExt.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return;
    void *push = dlsym(library, "nvtxRangePushA"), *pop = dlsym(library, "nvtxRangePop");
    if (push && pop) {
        memcpy(&nvtx->push, &push, sizeof push);
        memcpy(&nvtx->pop, &pop, sizeof pop);
    }
    dlclose(library); /* it stays all the same */
}
