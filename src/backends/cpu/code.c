/* Loaded code and its references (code.h). */
#include "backends/cpu/code.h"

#include "base/memory.h"
#include "base/status.h"

#include <stdio.h>

static void free_code(vy_cpu_code *code) {
    vy_release(code->covers, code->buffer_count * sizeof *code->covers);
    vy_release(code, sizeof *code);
}

static vyre_status find_covers(const vyre_program *program, vy_cpu_code *code, vyre_error *error) {
    size_t count = vyre_program_buffer_count(program);
    code->covers = vy_allocate(count * sizeof *code->covers);
    if (count && !code->covers)
        return vy_fail_memory(error, "loading compiled code");
    code->buffer_count = (uint32_t)count;
    return vy_full_write_find(program, code->covers, error);
}

vyre_status vy_cpu_code_new(const vyre_program *program, vyre_span object, uint64_t features, vy_cpu_code **out,
                            vyre_error *error) {
    vyre_buffer_info info;
    vy_cpu_code *code = vy_allocate_zero(sizeof *code);
    *out = NULL;
    if (!code)
        return vy_fail_memory(error, "loading compiled code");
    vyre_status status = find_covers(program, code, error);
    if (status == VYRE_OK)
        status = vy_cpu_object_load(object, features, vyre_program_name(program), &code->object, error);
    if (status != VYRE_OK) {
        free_code(code);
        return status;
    }
    atomic_init(&code->references, 1);
    vy_cpu_cost_guess(program, &code->cost);
    snprintf(code->name, sizeof code->name, "%s", vyre_program_name(program));
    for (uint32_t i = 0; vyre_program_buffer(program, i, &info); i++)
        code->buffers[i] =
            (vy_cpu_code_buffer){.element = (uint8_t)vyre_type_size(info.type), .access = (uint8_t)info.access};
    *out = code;
    return VYRE_OK;
}

vy_cpu_code *vy_cpu_code_retain(vy_cpu_code *code) {
    atomic_fetch_add_explicit(&code->references, 1, memory_order_relaxed);
    return code;
}

void vy_cpu_code_release(vy_cpu_code *code) {
    if (!code || atomic_fetch_sub_explicit(&code->references, 1, memory_order_acq_rel) != 1)
        return;
    vy_cpu_object_unload(&code->object);
    free_code(code);
}
