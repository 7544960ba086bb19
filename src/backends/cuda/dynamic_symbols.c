/* Opening the driver (dynamic_symbols.h). */
#include "backends/cuda/dynamic_symbols.h"

#include "base/status.h"
#include "base/trusted_path.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(void (*)(vy_cuda_dynamic_symbols *)) wrapper; /* of tests */

static const struct {
    const char *symbol;
    size_t offset;
    int is_required;
} calls[] = {
#define REQUIRED 1
#define OPTIONAL 0
#define X(NEED, name, symbol, parameters, arguments) {symbol, offsetof(vy_cuda_dynamic_symbols, name), NEED},
    VY_CUDA_SYMBOL_LIST(X)
#undef X
#undef REQUIRED
#undef OPTIONAL
};

const char *vy_cuda_dynamic_symbols_file(void) {
    const char *file = secure_getenv("VYRE_CUDA_LIBRARY");
    return file && *file ? file : "libcuda.so.1";
}

static vyre_status fill(void *library, const char *file, vy_cuda_dynamic_symbols *out, vyre_error *error) {
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *symbol = dlsym(library, calls[i].symbol);
        if (!symbol && calls[i].is_required)
            return vy_fail(error, VYRE_UNSUPPORTED, "install an NVIDIA driver of version 450 or later",
                           "%s has no %s: it is too old, or not the NVIDIA driver", file, calls[i].symbol);
        memcpy((char *)out + calls[i].offset, &symbol, sizeof symbol);
    }
    return VYRE_OK;
}

vyre_status vy_cuda_dynamic_symbols_open(const char *file, vy_cuda_dynamic_symbols *out, vyre_error *error) {
    void (*wrap)(vy_cuda_dynamic_symbols *) = atomic_load(&wrapper);
    memset(out, 0, sizeof *out);
    vyre_status status = vy_trusted_library_check(file, "library of VYRE_CUDA_LIBRARY", error);
    if (status != VYRE_OK)
        return status;
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return vy_fail(error, VYRE_NOT_FOUND,
                       secure_getenv("VYRE_CUDA_LIBRARY") ? "leave VYRE_CUDA_LIBRARY out, or name the driver's library"
                                                          : "install the NVIDIA driver",
                       "%s is not installed", file);
    status = fill(library, file, out, error);
    dlclose(library); /* it stays all the same */
    if (status == VYRE_OK && wrap)
        wrap(out);
    return status;
}

void vy_cuda_dynamic_symbols_wrap(void (*wrap)(vy_cuda_dynamic_symbols *api)) {
    atomic_store(&wrapper, wrap);
}
