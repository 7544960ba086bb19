/* Run-time loading of a driver's library, and its results (library.h). */
#include "backends/gpu/library.h"

#include "base/status.h"
#include "base/trusted_path.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *vy_gpu_library_file(const vy_gpu_library *library) {
    const char *file = secure_getenv(library->variable);
    return file && *file ? file : library->file;
}

vyre_status vy_gpu_library_open(const vy_gpu_library *library, const char *file, void *out, vyre_error *error) {
    vyre_status status = vy_trusted_library_check(file, library->setting, error);
    if (status != VYRE_OK)
        return status;
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
        const char *fix = secure_getenv(library->variable) ? library->wrong_fix : library->absent_fix;
        const char *reason = strchr(file, '/') && access(file, F_OK) == 0 ? dlerror() : NULL;
        return reason ? vy_fail(error, VYRE_NOT_FOUND, fix, "a library does not load: %s", reason)
                      : vy_fail(error, VYRE_NOT_FOUND, fix, "%s is not installed", file);
    }
    for (size_t i = 0; i < library->count && status == VYRE_OK; i++) {
        void *symbol = dlsym(handle, library->symbols[i].symbol);
        if (!symbol && library->symbols[i].is_required)
            status = vy_fail(error, VYRE_UNSUPPORTED, library->old_fix, "%s has no %s: it is too old, or not %s", file,
                             library->symbols[i].symbol, library->kind);
        memcpy((char *)out + library->symbols[i].offset, &symbol, sizeof symbol);
    }
    dlclose(handle); /* RTLD_NODELETE keeps it loaded */
    return status;
}

const vy_gpu_result *vy_gpu_result_find(const vy_gpu_result *results, int32_t result) {
    while (results->result && results->result != result)
        results++;
    return results;
}
