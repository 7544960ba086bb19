/* Opening NVTX (nvtx.h). */
#include "backends/cuda/nvtx.h"

#include "backends/cuda/nvtx_injection.h"
#include "base/log.h"
#include "base/trusted_path.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A profiler that was started twice would count everything twice. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static vy_cuda_nvtx found;

static void open_library(const char *file) {
    vyre_error error;
    if (vy_trusted_library_check(file, "library of VYRE_NVTX_LIBRARY", &error) != VYRE_OK) {
        vy_log(1, "cuda", error.message);
        return;
    }
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return;
    void *push = dlsym(library, "nvtxRangePushA"), *pop = dlsym(library, "nvtxRangePop");
    if (push && pop) {
        memcpy(&found.push, &push, sizeof push);
        memcpy(&found.pop, &pop, sizeof pop);
    }
    dlclose(library); /* it stays all the same */
}

static void find_library(void) {
    const char *injection = secure_getenv("NVTX_INJECTION64_PATH"), *file = secure_getenv("VYRE_NVTX_LIBRARY");
    char problem[512];
    if (!injection || !*injection)
        open_library(file && *file ? file : "libnvToolsExt.so.1");
    else if (!vy_cuda_nvtx_injection_open(injection, &found, problem, sizeof problem))
        vy_log(1, "cuda", problem);
}

void vy_cuda_nvtx_open(vy_cuda_nvtx *nvtx) {
    pthread_once(&once, find_library);
    *nvtx = found;
}
