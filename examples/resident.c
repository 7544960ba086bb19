/* Resident buffers and a sequence: two kernels work on data that stays on the device, submitted together, and one range
 * is read back.
 *
 *   cc resident.c $(pkg-config --cflags --libs vyre) && ./a.out */
#include <vyre/vyre.h>

#include <stdio.h>
#include <string.h>

enum { COUNT = 1024 };

static const char text[] = "program square {\n"
                           "  buffer x : u32 read\n"
                           "  buffer y : u32 read_write\n"
                           "  workgroup 256\n"
                           "  grid over x\n"
                           "\n"
                           "  let i = global_id.x\n"
                           "  y[i] = x[i] * x[i]\n"
                           "}\n"
                           "\n"
                           "program total {\n"
                           "  buffer y : u32 read\n"
                           "  buffer sum : u32 read_write\n"
                           "  workgroup 256\n"
                           "  grid over y\n"
                           "\n"
                           "  let part = workgroup_reduce_add(y[global_id.x])\n"
                           "  if local_index == 0 { atomic_add(sum[0], part) }\n"
                           "}\n";

static vyre_resource resident(vyre_resident buffer) {
    return (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = buffer};
}

int main(void) {
    uint32_t x[COUNT], sum = 0;
    vyre_policy policy = VYRE_POLICY_DEFAULT;
    vyre_module *module = NULL;
    vyre_backend *backend = NULL;
    vyre_pipeline *square = NULL, *total = NULL;
    vyre_resident on_device[3] = {{0, 0}}; /* x, y, sum; the last release of the backend frees them */
    vyre_error error;
    char message[1200];

    for (uint32_t i = 0; i < COUNT; i++)
        x[i] = i;
    vyre_status status = vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error);
    if (status == VYRE_OK)
        status = vyre_select(&policy, &backend, NULL, &error);
    if (status == VYRE_OK)
        status = vyre_compile(backend, vyre_module_find(module, "square"), NULL, &square, &error);
    if (status == VYRE_OK)
        status = vyre_compile(backend, vyre_module_find(module, "total"), NULL, &total, &error);
    if (status == VYRE_OK)
        status = vyre_resident_allocate(backend, sizeof x, x, &on_device[0], &error); /* and uploads x */
    if (status == VYRE_OK)
        status = vyre_resident_allocate(backend, sizeof x, NULL, &on_device[1], &error); /* zeros */
    if (status == VYRE_OK)
        status = vyre_resident_allocate(backend, sizeof sum, NULL, &on_device[2], &error);
    if (status == VYRE_OK) {
        const vyre_resource first[] = {resident(on_device[0]), resident(on_device[1])};
        const vyre_resource second[] = {resident(on_device[1]), resident(on_device[2])};
        const vyre_step steps[] = {{.pipeline = square, .bindings = first, .binding_count = 2},
                                   {.pipeline = total, .bindings = second, .binding_count = 2}};
        const vyre_readback readback = {.resident = on_device[2], .size = sizeof sum, .host = &sum};
        status = vyre_sequence_run(backend, steps, 2, &readback, 1, NULL, NULL, NULL, NULL, &error);
    }
    if (status == VYRE_OK) {
        printf("%u\n", sum);
    } else {
        vyre_error_format(&error, message, sizeof message);
        fputs(message, stderr);
    }
    vyre_pipeline_release(total);
    vyre_pipeline_release(square);
    vyre_backend_release(backend);
    vyre_module_free(module);
    return status != VYRE_OK;
}
