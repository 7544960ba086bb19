/* Run-time loading of the CUDA driver, and the statuses and errors of its results (dynamic_symbols.h). */
#include "backends/cuda/dynamic_symbols.h"

#include "backends/gpu/library.h"
#include "base/status.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* ---- opening the driver ---- */

static _Atomic(void (*)(vy_cuda_dynamic_symbols *)) wrapper; /* set by tests */

static const vy_gpu_symbol symbols[] = {
#define REQUIRED 1
#define OPTIONAL 0
#define X(NEED, name, symbol, parameters, arguments) {symbol, offsetof(vy_cuda_dynamic_symbols, name), NEED},
    VY_CUDA_SYMBOL_LIST(X)
#undef X
#undef REQUIRED
#undef OPTIONAL
};

static const vy_gpu_library driver = {
    .variable = "VYRE_CUDA_LIBRARY",
    .file = "libcuda.so.1",
    .setting = "library of VYRE_CUDA_LIBRARY",
    .wrong_fix = "leave VYRE_CUDA_LIBRARY out, or name the driver's library",
    .absent_fix = "install the NVIDIA driver",
    .old_fix = "install an NVIDIA driver of version 450 or later",
    .kind = "the NVIDIA driver",
    .symbols = symbols,
    .count = sizeof symbols / sizeof *symbols,
};

const char *vy_cuda_dynamic_symbols_file(void) {
    return vy_gpu_library_file(&driver);
}

vyre_status vy_cuda_dynamic_symbols_open(const char *file, vy_cuda_dynamic_symbols *out, vyre_error *error) {
    void (*wrap)(vy_cuda_dynamic_symbols *) = atomic_load(&wrapper);
    memset(out, 0, sizeof *out);
    vyre_status status = vy_gpu_library_open(&driver, file, out, error);
    if (status == VYRE_OK && wrap)
        wrap(out);
    return status;
}

void vy_cuda_dynamic_symbols_wrap(void (*wrap)(vy_cuda_dynamic_symbols *api)) {
    atomic_store(&wrapper, wrap);
}

/* ---- results of the driver as statuses ---- */

#define RESTART "restart the process: the driver gives it no new context"

/* X(result, status, is a loss, fix); NULL selects the default fix of the status. */
#define RESULTS(X)                                                                                                     \
    X(2, NO_DEVICE_MEMORY, 0, NULL)                                                                                    \
    X(3, UNSUPPORTED, 0,                                                                                               \
      "check that the NVIDIA driver is loaded (`nvidia-smi`), and that CUDA was not used before a fork")               \
    X(4, DEVICE_LOST, 1, RESTART)                                                                                      \
    X(34, NOT_FOUND, 0, "install the NVIDIA driver: the library is the toolkit's stub")                                \
    X(36, UNSUPPORTED, 0, "install a newer NVIDIA driver")                                                             \
    X(46, UNSUPPORTED, 0, "wait until the device is free, or choose another one")                                      \
    X(100, NOT_FOUND, 0, "check that the process may see a device: `nvidia-smi`, CUDA_VISIBLE_DEVICES")                \
    X(101, NOT_FOUND, 0, "use a number that `nvidia-smi` lists")                                                       \
    X(209, CORRUPT, 0, "compile the program on this device: `vyre cache clear` drops what is stored")                  \
    X(200, CORRUPT, 0, "compile the program again: `vyre cache clear` drops what is stored")                           \
    X(214, DEVICE_LOST, 1, "restart the process; if it happens again, check the device's memory: `nvidia-smi -q`")     \
    X(218, UNSUPPORTED, 0, "report this with the program: the driver refuses the PTX that was made of it")             \
    X(220, DEVICE_LOST, 1, RESTART)                                                                                    \
    X(221, UNSUPPORTED, 0, "install all of the NVIDIA driver: its compiler (libnvidia-ptxjitcompiler) is missing")     \
    X(222, UNSUPPORTED, 0, "install a newer NVIDIA driver: this one does not know the version of PTX")                 \
    X(223, UNSUPPORTED, 0, "allow the driver to compile: unset CUDA_DISABLE_PTX_JIT")                                  \
    X(226, DEVICE_LOST, 1, RESTART)                                                                                    \
    X(304, IO, 0, "read the system's log: a call of the operating system failed")                                      \
    X(700, DEVICE_LOST, 1, RESTART)                                                                                    \
    X(701, LIMIT, 0, "use smaller workgroups or arrays")                                                               \
    X(702, DEVICE_LOST, 1, RESTART)                                                                                    \
    X(709, DEVICE_LOST, 1, RESTART)                                                                                    \
    X(710, DEVICE_LOST, 1, RESTART)                                                                                    \
    X(714, DEVICE_LOST, 1, RESTART)                                                                                    \
    X(715, DEVICE_LOST, 1, RESTART)                                                                                    \
    X(716, DEVICE_LOST, 1, RESTART)                                                                                    \
    X(717, DEVICE_LOST, 1, RESTART)                                                                                    \
    X(718, DEVICE_LOST, 1, RESTART)                                                                                    \
    X(719, DEVICE_LOST, 1, RESTART)                                                                                    \
    X(721, DEVICE_LOST, 1, RESTART)                                                                                    \
    X(801, UNSUPPORTED, 0, NULL)                                                                                       \
    X(802, UNSUPPORTED, 0, "wait until the system's devices have started (fabric manager), and try again")             \
    X(803, UNSUPPORTED, 0, "load the kernel module of the driver that is installed: restart the machine")              \
    X(804, UNSUPPORTED, 0, "use the driver's own libcuda.so.1, not one of a compatibility package")                    \
    X(805, UNSUPPORTED, 0, "start the MPS server, or do without it")                                                   \
    X(806, DEVICE_LOST, 1, RESTART)                                                                                    \
    X(807, UNSUPPORTED, 0, "wait until the MPS server is ready")                                                       \
    X(808, UNSUPPORTED, 0, "end other clients of the MPS server")                                                      \
    X(809, UNSUPPORTED, 0, "end other clients of the MPS server")                                                      \
    X(810, DEVICE_LOST, 1, RESTART)                                                                                    \
    X(999, DEVICE_LOST, 1, RESTART)

static const vy_gpu_result *find(int result) {
    static const vy_gpu_result results[] = {
#define X(result, status, is_loss, fix) {result, NULL, VYRE_##status, is_loss, fix},
        RESULTS(X)
#undef X
        /* Any other result means that the backend used a feature that the driver does not support. */
        {0, NULL, VYRE_UNSUPPORTED, 0, "report this, with the version of the NVIDIA driver"},
    };
    return vy_gpu_result_find(results, result);
}

vyre_status vy_cuda_status(int result) {
    return result == VY_CU_OK ? (vyre_status)VYRE_OK : find(result)->status;
}

int vy_cuda_is_loss(int result) {
    return result != VY_CU_OK && find(result)->is_loss;
}

vyre_status vy_cuda_fail_result(const vy_cuda_dynamic_symbols *api, int result, const char *doing, vyre_error *error) {
    const vy_gpu_result *m = find(result);
    const char *name = NULL, *text = NULL;
    if (api->error_name)
        api->error_name(result, &name);
    if (api->error_string)
        api->error_string(result, &text);
    return vy_fail(error, m->status, m->fix, "%s: the driver says %s (%d): %s", doing,
                   name ? name : "something unknown", result, text ? text : "it has no sentence for it");
}
