/* Compiling (compile.h). */
#include "backends/cpu/compile.h"

#include "backends/cpu/jit_debug.h"
#include "base/clock.h"
#include "base/status.h"
#include "lower/legalize.h"
#include "opt/pass_manager.h"
#include "vyre/transform.h"
#include "vyre/wire.h"

/* Which `trap` ended a dispatch: the transforms keep the position of a statement, so in a copy of the program the length of each
 * trap's position is 1 + its index, and the emitter stores that number with the report (vy_cpu_frame). The number depends on the
 * statements alone, as the key of the cache does: programs that are equal but for their source share code, and each finds the
 * position in its own. */
static vyre_status number_traps(const vyre_program *program, unsigned options, vyre_program **out, vyre_error *error) {
    vyre_bytes wire = VYRE_BYTES_INIT;
    vyre_program *copy = NULL;
    vyre_status status = vyre_wire_encode(program, options, &wire, error);
    if (status == VYRE_OK)
        status = vyre_wire_decode(wire.data, wire.size, NULL, &copy, error);
    vyre_bytes_free(&wire);
    if (status == VYRE_OK && !copy->stmt_positions.count) {
        if (VY_RESERVE(&copy->stmt_positions, copy->stmts.count)) {
            copy->stmt_positions.count = copy->stmts.count;
            memset(copy->stmt_positions.items, 0, copy->stmts.count * sizeof *copy->stmt_positions.items);
        } else {
            status = vy_fail_memory(error, "compiling a pipeline");
        }
    }
    if (status != VYRE_OK) {
        vyre_program_release(copy);
        return status;
    }
    copy->expr_positions.count = 0; /* else a report would have the position of its code */
    for (uint32_t i = 0; i < copy->stmts.count; i++)
        copy->stmt_positions.items[i].length = copy->stmts.items[i].kind == VY_STMT_TRAP ? i + 1 : 0;
    *out = copy;
    return VYRE_OK;
}

vyre_status vy_cpu_lower(const vy_cpu *cpu, vyre_program *program, int cancellable, unsigned options, vyre_bytes *wire,
                         vyre_error *error) {
    const vyre_optimize_options best = {.level = VYRE_OPTIMIZE_LEVEL_MAX};
    const vy_target_desc target = {.exact = cpu->exact, .native_collectives = 1, .cancellable = cancellable != 0};
    vyre_program *numbered = NULL, *optimised, *legal;
    vyre_status status = VYRE_OK;
    if (program->facts & VY_PROGRAM_HAS_TRAP) {
        status = number_traps(program, options, &numbered, error);
        options |= VYRE_WIRE_DEBUG;
    }
    if (status == VYRE_OK)
        status = vy_optimize_by(numbered ? numbered : program, &best, &vy_opt_spmd_cpu, &optimised, NULL, error);
    vyre_program_release(numbered);
    if (status != VYRE_OK)
        return status;
    status = vy_legalize(optimised, &target, &legal, error);
    vyre_program_release(optimised);
    if (status != VYRE_OK)
        return status;
    status = vyre_wire_encode(legal, options, wire, error);
    vyre_program_release(legal);
    return status;
}

static vyre_status make_object(vy_cpu *cpu, vyre_program *program, int cancellable, vyre_bytes *object,
                               vyre_error *error) {
    const vy_jit_plugin *compiler;
    vyre_bytes wire = VYRE_BYTES_INIT;
    const int lines = vy_jit_debug_is_enabled();
    vyre_status status = vy_cpu_compiler(cpu, &compiler, error);
    if (status == VYRE_OK)
        status = vy_cpu_lower(cpu, program, cancellable, lines ? VYRE_WIRE_DEBUG : 0, &wire, error);
    if (status == VYRE_OK) {
        vy_jit_request request = {.struct_size = sizeof request,
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

vyre_status vy_cpu_compile(vy_cpu *cpu, vyre_program *program, int cancellable, uint64_t deadline_ns,
                           vy_cpu_executable **out, vyre_error *error) {
    vyre_bytes object = VYRE_BYTES_INIT;
    *out = NULL;
    vy_deadline_scope before = vy_deadline_begin(deadline_ns);
    vyre_status status = make_object(cpu, program, cancellable, &object, error);
    vy_deadline_end(before);
    if (status == VYRE_OK)
        status = vy_cpu_executable_new(program, (vyre_span){object.data, object.size}, cpu->features, out, error);
    vyre_bytes_free(&object);
    return status;
}
