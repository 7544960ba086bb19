/* Programs that are dispatched without a pipeline (cpu.h). */
#include "backends/cpu/compile.h"
#include "base/status.h"
#include "driver/cache_disk.h"

static void *retain(void *code) {
    return vy_cpu_code_retain(code);
}

static void release(void *code) {
    vy_cpu_code_release(code);
}

void vy_cpu_programs_start(vy_cpu *cpu) {
    cpu->programs = (vy_programs){.lock = &cpu->lock, .retain = retain, .release = release};
}

vyre_status vy_cpu_program_code(vy_cpu *cpu, vyre_program *program, int cancellable, uint64_t deadline_ns,
                                vy_cpu_code **out, vyre_error *error) {
    vy_cpu_code *made;
    *out = vy_programs_find(&cpu->programs, program, cancellable);
    if (*out)
        return VYRE_OK;
    if (vy_compile_forbidden())
        return vy_fail(error, VYRE_UNSUPPORTED, "compile a pipeline once with compiling allowed, or allow it",
                       "compiling is forbidden, and `%s` was not compiled before", vyre_program_name(program));
    vyre_status status = vy_cpu_compile(cpu, program, cancellable, deadline_ns, &made, error);
    if (status == VYRE_OK)
        *out = vy_programs_keep(&cpu->programs, program, cancellable, made);
    return status;
}
