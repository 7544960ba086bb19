/* PTX and the driver (ptx_jit.h). */
#include "tool/ptx_jit.h"

#include "backends/cuda/dynamic_symbols.h"

#include <string.h>

static int is_good(int result) {
    return result == VY_CU_OK;
}

/* With the context of the device current. */
static int load_kernel(const vy_cuda_dynamic_symbols *api, const vy_ptx_code *code, tool_ptx_jit_kernel *out) {
    vy_cu_module module;
    vy_cu_function function;
    if (!is_good(api->module_load(&module, code->text.data, 0, NULL, NULL)))
        return 0;
    int found = is_good(api->module_function(&function, module, code->entry)) &&
                is_good(api->function_attribute(&out->registers, VY_CU_FUNCTION_REGISTERS, function)) &&
                is_good(api->function_attribute(&out->local_bytes, VY_CU_FUNCTION_LOCAL_BYTES, function));
    api->module_unload(module);
    return found;
}

static int describe(const vy_cuda_dynamic_symbols *api, int device, tool_ptx_jit_kernel *out) {
    int major, minor;
    int found = is_good(api->device_name(out->device, (int)sizeof out->device, device)) &&
                is_good(api->device_attribute(&major, VY_CU_DEVICE_MAJOR, device)) &&
                is_good(api->device_attribute(&minor, VY_CU_DEVICE_MINOR, device));
    out->architecture = found ? 10 * major + minor : 0;
    return found;
}

int tool_ptx_jit_compile(const vy_ptx_code *code, tool_ptx_jit_kernel *out) {
    vy_cuda_dynamic_symbols api;
    vy_cu_context context;
    int device, count;
    memset(out, 0, sizeof *out);
    if (vy_cuda_dynamic_symbols_open(vy_cuda_dynamic_symbols_file(), &api, NULL) != VYRE_OK)
        return 0;
    if (!is_good(api.init(0)) || !is_good(api.device_count(&count)) || count < 1 ||
        !is_good(api.device_get(&device, 0)) || !describe(&api, device, out) ||
        !is_good(api.context_retain(&context, device)))
        return 0;
    int found = is_good(api.context_set(context)) && load_kernel(&api, code, out);
    api.context_set(NULL);
    api.context_release(device);
    return found;
}
