/* Run-time loading of the OpenCL loader, and the statuses and errors of its results (dynamic_symbols.h). */
#include "backends/opencl/dynamic_symbols.h"

#include "backends/gpu/library.h"
#include "base/status.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* ---- opening the loader ---- */

static _Atomic(void (*)(vy_ocl_dynamic_symbols *)) wrapper; /* set by tests */

static const vy_gpu_symbol symbols[] = {
#define X(name, symbol, parameters, arguments) {symbol, offsetof(vy_ocl_dynamic_symbols, name), 1},
    VY_OCL_CALL_LIST(X)
#undef X
#define X(type, name, symbol, parameters, arguments) {symbol, offsetof(vy_ocl_dynamic_symbols, name), 1},
        VY_OCL_MAKER_LIST(X)
#undef X
};

static const vy_gpu_library loader = {
    .variable = "VYRE_OPENCL_LIBRARY",
    .file = "libOpenCL.so.1",
    .setting = "library of VYRE_OPENCL_LIBRARY",
    .wrong_fix = "leave VYRE_OPENCL_LIBRARY out, or name the OpenCL loader",
    .absent_fix = "install the OpenCL loader (Debian: ocl-icd-libopencl1) and a driver of your device",
    .old_fix = "install a loader of OpenCL 1.2 or later",
    .kind = "an OpenCL loader",
    .symbols = symbols,
    .count = sizeof symbols / sizeof *symbols,
};

const char *vy_ocl_dynamic_symbols_file(void) {
    return vy_gpu_library_file(&loader);
}

vyre_status vy_ocl_dynamic_symbols_open(const char *file, vy_ocl_dynamic_symbols *out, vyre_error *error) {
    void (*wrap)(vy_ocl_dynamic_symbols *) = atomic_load(&wrapper);
    memset(out, 0, sizeof *out);
    vyre_status status = vy_gpu_library_open(&loader, file, out, error);
    if (status == VYRE_OK && access("/sys/devices/system/cpu", F_OK) != 0)
        status =
            vy_fail(error, VYRE_UNSUPPORTED, "mount it: mount -t sysfs sysfs /sys",
                    "/sys is not mounted; OpenCL drivers look for devices there, and PoCL ends the process without");
    if (status == VYRE_OK && wrap)
        wrap(out);
    return status;
}

void vy_ocl_dynamic_symbols_wrap(void (*wrap)(vy_ocl_dynamic_symbols *api)) {
    atomic_store(&wrapper, wrap);
}

/* ---- results as statuses ---- */

#define REPORT "report this, with the version of the OpenCL driver"
#define RECOVER "recover the backend (`vyre_backend_try_recover`); if it comes again, restart the process"

/* X(result, name, status, is a loss, fix); NULL is the status's own fix. */
#define RESULTS(X)                                                                                                     \
    X(-1, "DEVICE_NOT_FOUND", NOT_FOUND, 0, "install a driver for your device, or PoCL for the processor")             \
    X(-2, "DEVICE_NOT_AVAILABLE", DEVICE_LOST, 1, RECOVER)                                                             \
    X(-3, "COMPILER_NOT_AVAILABLE", UNSUPPORTED, 0, "install all of the driver: its compiler is missing")              \
    X(-4, "MEM_OBJECT_ALLOCATION_FAILURE", NO_DEVICE_MEMORY, 0, NULL)                                                  \
    X(-5, "OUT_OF_RESOURCES", NO_DEVICE_MEMORY, 0, "use less memory, or smaller workgroups and arrays")                \
    X(-6, "OUT_OF_HOST_MEMORY", NO_MEMORY, 0, NULL)                                                                    \
    X(-7, "PROFILING_INFO_NOT_AVAILABLE", UNSUPPORTED, 0, "do not ask for times")                                      \
    X(-11, "BUILD_PROGRAM_FAILURE", UNSUPPORTED, 0,                                                                    \
      "report this with the program: the driver's compiler refuses the code that was made of it")                      \
    X(-14, "EXEC_STATUS_ERROR", DEVICE_LOST, 1, RECOVER)                                                               \
    X(-30, "INVALID_VALUE", UNSUPPORTED, 0, REPORT)                                                                    \
    X(-33, "INVALID_DEVICE", DEVICE_LOST, 1, RECOVER)                                                                  \
    X(-34, "INVALID_CONTEXT", DEVICE_LOST, 1, RECOVER)                                                                 \
    X(-36, "INVALID_COMMAND_QUEUE", DEVICE_LOST, 1, RECOVER)                                                           \
    X(-42, "INVALID_BINARY", CORRUPT, 0, "compile the program again: `vyre cache clear` drops what is stored")         \
    X(-43, "INVALID_BUILD_OPTIONS", UNSUPPORTED, 0, REPORT)                                                            \
    X(-45, "INVALID_PROGRAM_EXECUTABLE", UNSUPPORTED, 0, REPORT)                                                       \
    X(-46, "INVALID_KERNEL_NAME", CORRUPT, 0, "compile the program again: `vyre cache clear` drops what is stored")    \
    X(-52, "INVALID_KERNEL_ARGS", UNSUPPORTED, 0, REPORT)                                                              \
    X(-54, "INVALID_WORK_GROUP_SIZE", LIMIT, 0, "use smaller workgroups")                                              \
    X(-55, "INVALID_WORK_ITEM_SIZE", LIMIT, 0, "use smaller workgroups")                                               \
    X(-61, "INVALID_BUFFER_SIZE", NO_DEVICE_MEMORY, 0, "use smaller buffers")                                          \
    X(-63, "INVALID_GLOBAL_WORK_SIZE", LIMIT, 0, "use a smaller grid")                                                 \
    X(-1001, "PLATFORM_NOT_FOUND", NOT_FOUND, 0,                                                                       \
      "install an OpenCL driver for your device, or PoCL for the processor (Debian: pocl-opencl-icd)")                 \
    X(-9999, "ILLEGAL_ACCESS", DEVICE_LOST, 1, RECOVER) /* NVIDIA only */

static const vy_gpu_result *find(int32_t result) {
    static const vy_gpu_result results[] = {
#define X(result, name, status, is_loss, fix) {result, name, VYRE_##status, is_loss, fix},
        RESULTS(X)
#undef X
        /* All other results mean that the driver does not support the request. */
        {0, "a result without a name here", VYRE_UNSUPPORTED, 0, REPORT},
    };
    return vy_gpu_result_find(results, result);
}

vyre_status vy_ocl_status(int32_t result) {
    return result == VY_CL_OK ? (vyre_status)VYRE_OK : find(result)->status;
}

int vy_ocl_is_loss(int32_t result) {
    return result != VY_CL_OK && find(result)->is_loss;
}

vyre_status vy_ocl_fail_result(int32_t result, const char *doing, vyre_error *error) {
    const vy_gpu_result *m = find(result);
    return vy_fail(error, m->status, m->fix, "%s: the driver says %s (%d)", doing, m->name, (int)result);
}
