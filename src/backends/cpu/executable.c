/* Loaded code and its references (executable.h). */
#include "backends/cpu/executable.h"

#include "base/memory.h"
#include "base/status.h"

#include <stdio.h>

static void free_executable(vy_cpu_executable *code) {
    vy_release(code->full_writes, code->buffer_count * sizeof *code->full_writes);
    vy_release(code, sizeof *code);
}

static vyre_status find_full_writes(const vyre_program *program, vy_cpu_executable *code, vyre_error *error) {
    size_t count = vyre_program_buffer_count(program);
    code->full_writes = vy_allocate(count * sizeof *code->full_writes);
    if (count && !code->full_writes)
        return vy_fail_memory(error, "loading compiled code");
    code->buffer_count = (uint32_t)count;
    return vy_full_write_find(program, code->full_writes, error);
}

vyre_status vy_cpu_executable_new(const vyre_program *program, vyre_span object, uint64_t features,
                                  vy_cpu_executable **out, vyre_error *error) {
    vyre_buffer_info info;
    vy_cpu_executable *code = vy_allocate_zero(sizeof *code);
    *out = NULL;
    if (!code)
        return vy_fail_memory(error, "loading compiled code");
    vyre_status status = find_full_writes(program, code, error);
    if (status == VYRE_OK)
        status = vy_cpu_code_object_load(object, features, vyre_program_name(program), &code->object, error);
    if (status != VYRE_OK) {
        free_executable(code);
        return status;
    }
    atomic_init(&code->references, 1);
    vy_cpu_cost_estimate(program, &code->cost);
    snprintf(code->name, sizeof code->name, "%s", vyre_program_name(program));
    for (uint32_t i = 0; vyre_program_buffer(program, i, &info); i++)
        code->buffers[i] =
            (vy_cpu_executable_buffer){.element = (uint8_t)vyre_type_size(info.type), .access = (uint8_t)info.access};
    *out = code;
    return VYRE_OK;
}

vy_cpu_executable *vy_cpu_executable_retain(vy_cpu_executable *code) {
    atomic_fetch_add_explicit(&code->references, 1, memory_order_relaxed);
    return code;
}

void vy_cpu_executable_release(vy_cpu_executable *code) {
    if (!code || atomic_fetch_sub_explicit(&code->references, 1, memory_order_acq_rel) != 1)
        return;
    vy_cpu_code_object_unload(&code->object);
    free_executable(code);
}
