/* PTX as vyre_emit makes it, and the programs of the CUDA toolkit that assemble and disassemble it; also for `vyre
 * explain --target ptx`. */
#ifndef VY_TARGETS_PTX_H
#define VY_TARGETS_PTX_H

#include "base/string.h"
#include "compile/pipeline.h"
#include "emit/ptx/ptx.h"
#include "targets/toolchain.h"
#include "vyre/emit.h"

/* ---- targets ---- */

/* Emits the code of a program that has an entry and whose ops are resolved. The options are complete: no text is NULL.
 * `out` is empty. */
typedef vyre_status vy_target_emit(vyre_program *program, const vyre_emit_options *options, vyre_bytes *out,
                                   vyre_error *error);
vy_target_emit vy_target_ptx, vy_target_cubin, vy_target_sass;

/* "sm_90" → 90. VYRE_INVALID_ARGUMENT if it is none. */
vyre_status vy_target_ptx_arch(const char *name, uint32_t *out, vyre_error *error);

/* The PTX of a program whose ops are resolved; options->arch is set. vy_ptx_free(code) follows, also after a failure;
 * compiled->program is NULL. */
vyre_status vy_target_ptx_make(vyre_program *program, const vyre_emit_options *options, vy_compiled *compiled,
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
