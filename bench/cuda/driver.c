#include "driver.h"

#include "../suite/suite.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int load(cu_driver *cu, char *reason, size_t room) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(reason, room, "libcuda.so.1 is not there. Fix: install the NVIDIA driver");
        return 0;
    }
#define X(name, symbol, parameters)                                                                                    \
    {                                                                                                                  \
        void *entry = dlsym(library, symbol);                                                                          \
        if (!entry) {                                                                                                  \
            snprintf(reason, room, "libcuda.so.1 has no %s. Fix: install a driver of CUDA 12 or later", symbol);       \
            return 0;                                                                                                  \
        }                                                                                                              \
        memcpy(&cu->name, &entry, sizeof entry);                                                                       \
    }
    CU_CALLS(X)
#undef X
    return 1;
}

static int open_device(cu_driver *cu) {
    enum { MULTIPROCESSORS = 16, MAJOR = 75, MINOR = 76, NON_BLOCKING = 1 };
    int major = 0, minor = 0, version = 0;
    char name[128] = "";
    if (cu->init(0) || cu->device_get(&cu->device, 0) || cu->context_retain(&cu->context, cu->device) ||
        cu->context_set(cu->context) || cu->stream_create(&cu->stream, NON_BLOCKING) ||
        cu->event_create(&cu->start, 0) || cu->event_create(&cu->end, 0))
        return 0;
    cu->device_attribute(&cu->multiprocessors, MULTIPROCESSORS, cu->device);
    cu->device_attribute(&major, MAJOR, cu->device);
    cu->device_attribute(&minor, MINOR, cu->device);
    cu->device_name(name, sizeof name, cu->device);
    cu->driver_version(&version);
    cu->architecture = major * 10 + minor;
    snprintf(cu->about, sizeof cu->about, "%s, sm_%d, %d multiprocessors, driver for CUDA %d.%d", name,
             cu->architecture, cu->multiprocessors, version / 1000, version % 1000 / 10);
    return 1;
}

cu_driver *cu_open(char *reason, size_t room) {
    static cu_driver cu;
    static int state; /* 0: not tried, 1: open, -1: failed */
    static char failure[200];
    if (state == 0) {
        state = load(&cu, failure, sizeof failure) ? 1 : -1;
        if (state > 0 && !open_device(&cu)) {
            snprintf(failure, sizeof failure, "the driver finds no device it can open");
            state = -1;
        }
    }
    if (state < 0) {
        snprintf(reason, room, "%s", failure);
        return NULL;
    }
    cu.context_set(cu.context);
    return &cu;
}

void *cu_load_built(cu_driver *cu, const char *file, char *reason, size_t room) {
    size_t size;
    const char *path = suite_built_path(file);
    char *image = suite_read_file(path, &size);
    void *module = NULL;
    if (!image) {
        snprintf(reason, room, "%.300s is not there: nvcc was not, when the suite was built", path);
        return NULL;
    }
    int error = cu->module_load(&module, image);
    free(image);
    if (error)
        snprintf(reason, room, "%s is not for this device (error %d)", file, error);
    return error ? NULL : module;
}
