/* Targets llvm-ir and asm: the texts of the compiler of backend `cpu`. */
#include "backends/cpu/compile.h"
#include "base/env.h"
#include "base/status.h"
#include "base/string.h"
#include "ir/model.h"
#include "split/grid_split.h"
#include "targets/targets.h"
#include "vyre/wire.h"

#include <inttypes.h>

/* A program of level legal is encoded unchanged. */
static vyre_status lower(const vy_cpu *cpu, vyre_program *program, int cancellable, vyre_bytes *wire,
                         vyre_error *error) {
    if (vyre_program_level(program) == VYRE_LEVEL_LEGAL)
        return vyre_wire_encode(program, VYRE_WIRE_DEBUG, wire, error);
    return vy_cpu_lower(cpu, program, cancellable, VYRE_WIRE_DEBUG, wire, error);
}

static vyre_status emit_launch(const vy_cpu *cpu, vyre_program *program, int cancellable, vy_jit_text text,
                               vyre_bytes *out, vyre_error *error) {
    const vy_jit_plugin *compiler = NULL;
    vyre_bytes wire = VYRE_BYTES_INIT;
    vyre_status status = vy_cpu_compiler_open(vy_env_get("VYRE_COMPILER"), &compiler, error);
    if (status == VYRE_OK)
        status = lower(cpu, program, cancellable, &wire, error);
    if (status == VYRE_OK) {
        const vy_jit_request request = {.struct_size = sizeof request,
                                        .width = cpu->width,
                                        .features = cpu->features,
                                        .wire = {wire.data, wire.size},
                                        .name = vyre_program_name(program),
                                        .lines = 1,
                                        .keeps_width = cpu->width || cpu->keeps_width,
                                        .memory_mib = cpu->compiler_mib,
                                        .seconds = cpu->compiler_seconds};
        status = compiler->emit_text(compiler, &request, text, out, error);
    }
    vyre_bytes_free(&wire);
    vy_cpu_compiler_close(compiler);
    return status;
}

/* The driver launches a program with grid barriers in stages: so they are emitted. */
static vyre_status emit_stages(const vy_cpu *cpu, vyre_program *program, int cancellable, vy_jit_text text,
                               vyre_bytes *out, vyre_error *error) {
    const char *comment = text == VY_JIT_TEXT_ASM ? "#" : ";";
    vy_string all = {0};
    vy_split *split = NULL;
    vyre_status status = vy_grid_split(program, &split, error);
    for (uint32_t i = 0; status == VYRE_OK && i < split->segment_count; i++) {
        vy_string_format(&all, "%s%s stage %" PRIu32 " of %" PRIu32 ", a launch between grid barriers: %s\n",
                         i ? "\n" : "", comment, i + 1, split->segment_count, vyre_program_name(split->segments[i]));
        status = emit_launch(cpu, split->segments[i], cancellable, text, out, error);
        if (status == VYRE_OK)
            vy_string_append(&all, (const char *)out->data, out->size);
    }
    vy_split_free(split);
    if (status == VYRE_OK)
        status = vy_string_to_bytes(&all, out, error);
    vy_string_free(&all);
    return status;
}

static vyre_status emit(vyre_program *program, const vyre_emit_options *options, vy_jit_text text, vyre_bytes *out,
                        vyre_error *error) {
    const uint32_t width = options->width;
    vy_cpu cpu = {.width = width};
    if (width && (width < 4 || width > VY_CPU_WIDTH_MAX || (width & (width - 1))))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "use 4, 8, 16, 32 or 64",
                       "the number of lanes is %" PRIu32 ", not a power of two from 4 to %d", width, VY_CPU_WIDTH_MAX);
    vyre_status status = vy_cpu_isa_find(options->cpu, &cpu.features, error);
    if (status == VYRE_OK)
        status = vy_cpu_compiler_limits(&cpu, error);
    if (status != VYRE_OK)
        return status;
    cpu.exact = vy_cpu_numerics(cpu.features);
    int has_stages = (program->facts & VY_PROGRAM_HAS_GRID_BARRIER) && vyre_program_level(program) != VYRE_LEVEL_LEGAL;
    return (has_stages ? emit_stages : emit_launch)(&cpu, program, options->cancellable != 0, text, out, error);
}

vyre_status vy_target_llvm_ir(vyre_program *program, const vyre_emit_options *options, vyre_bytes *out,
                              vyre_error *error) {
    return emit(program, options, VY_JIT_TEXT_LLVM_IR, out, error);
}

vyre_status vy_target_asm(vyre_program *program, const vyre_emit_options *options, vyre_bytes *out, vyre_error *error) {
    return emit(program, options, VY_JIT_TEXT_ASM, out, error);
}
