/* PTX as vyre_emit makes it, and assembling it: also for `vyre explain --target ptx`. */
#ifndef VY_TARGETS_PTX_H
#define VY_TARGETS_PTX_H

#include "emit/ptx/prepare.h"
#include "emit/ptx/ptx.h"
#include "targets/toolchain.h"
#include "vyre/emit.h"

/* "sm_90" → 90. VYRE_INVALID_ARGUMENT if it is none. */
vyre_status vy_target_ptx_arch(const char *name, uint32_t *out, vyre_error *error);

/* The PTX of a program whose ops are resolved; options->arch is set. vy_ptx_free(code) follows, also after a failure;
 * prepared->program is NULL. */
vyre_status vy_target_ptx_make(vyre_program *program, const vyre_emit_options *options, vy_ptx_prepared *prepared,
                               vy_ptx_code *code, vyre_error *error);

typedef struct vy_ptx_assembly {
    vy_toolchain_folder folder;
    vy_toolchain_file cubin; /* in the folder */
    vy_string said;          /* what the assembler printed: registers and spills */
} vy_ptx_assembly;

/* Assembles with ptxas. vy_ptx_assembly_free follows, also after a failure.
 *
 * VYRE_UNSUPPORTED  ptxas was not found, or refused the text
 * VYRE_IO, VYRE_NO_MEMORY */
vyre_status vy_ptx_assemble(const vy_ptx_code *code, const char *arch, vy_ptx_assembly *out, vyre_error *error);
void vy_ptx_assembly_free(vy_ptx_assembly *assembly);

#endif
