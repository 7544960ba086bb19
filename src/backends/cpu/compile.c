/* Compiling (compile.h). */
#include "backends/cpu/compile.h"

#include "backends/cpu/tell.h"
#include "base/deadline.h"
#include "base/status.h"
#include "transform/legal.h"
#include "transform/optimize.h"
#include "vyre/transform.h"
#include "vyre/wire.h"

vyre_status vy_cpu_lower(const vy_cpu *cpu, vyre_program *program, int cancellable, unsigned options, vyre_bytes *wire,
                         vyre_error *error) {
    const vyre_optimize_options best = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    const vy_legal_target target = {.exact = cpu->exact, .native_collectives = 1, .cancellable = cancellable != 0};
    vyre_program *optimised, *legal;
    vyre_status status = vy_optimize_by(program, &best, &vy_rules_meet, &optimised, NULL, error);
    if (status != VYRE_OK)
        return status;
    status = vy_legalise(optimised, &target, &legal, error);
    vyre_program_release(optimised);
    if (status != VYRE_OK)
        return status;
    status = vyre_wire_encode(legal, options, wire, error);
    vyre_program_release(legal);
    return status;
}

static vyre_status make_object(vy_cpu *cpu, vyre_program *program, int cancellable, vyre_bytes *object,
                               vyre_error *error) {
    const vy_compiler *compiler;
    vyre_bytes wire = VYRE_BYTES_INIT;
    const int lines = vy_cpu_is_debugged();
    vyre_status status = vy_cpu_compiler(cpu, &compiler, error);
    if (status == VYRE_OK)
        status = vy_cpu_lower(cpu, program, cancellable, lines ? VYRE_WIRE_DEBUG : 0, &wire, error);
    if (status == VYRE_OK) {
        vy_compiler_request request = {.struct_size = sizeof request,
                                       .width = cpu->width,
                                       .features = cpu->features,
                                       .wire = {wire.data, wire.size},
                                       .name = vyre_program_name(program),
                                       .lines = (uint32_t)lines,
                                       .keeps_width = (uint32_t)cpu->keeps_width,
                                       .deadline_ns = vy_deadline(),
                                       .memory_mib = cpu->compiler_mib,
                                       .seconds = cpu->compiler_seconds};
        status = compiler->compile(compiler, &request, object, error);
    }
    vyre_bytes_free(&wire);
    return status;
}

vyre_status vy_cpu_compile(vy_cpu *cpu, vyre_program *program, int cancellable, uint64_t deadline_ns, vy_cpu_code **out,
                           vyre_error *error) {
    vyre_bytes object = VYRE_BYTES_INIT;
    *out = NULL;
    vy_deadline_scope before = vy_deadline_begin(deadline_ns);
    vyre_status status = make_object(cpu, program, cancellable, &object, error);
    vy_deadline_end(before);
    if (status == VYRE_OK)
        status = vy_cpu_code_new(program, (vyre_span){object.data, object.size}, cpu->features, out, error);
    vyre_bytes_free(&object);
    return status;
}
