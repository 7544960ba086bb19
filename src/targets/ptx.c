/* Targets ptx, cubin and sass: PTX from the emitter, and the output of NVIDIA's assembler and disassemblers (ptx.h). */
#include "targets/ptx.h"

#include "base/file.h"
#include "base/string.h"
#include "emit/ptx/ptx.h"
#include "ir/model.h"
#include "vyre/emit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- targets ---- */

/* Of a cubin. */
enum { MOST_BYTES = 1 << 30 };

vyre_status vy_target_ptx_arch(const char *name, uint32_t *out, vyre_error *error) {
    uint64_t number = 0;
    if (strncmp(name, "sm_", 3) == 0 && vy_parse_digits(name + 3, strlen(name + 3), 10, 999, &number) > 0 &&
        number >= 60) {
        *out = (uint32_t)number;
        return VYRE_OK;
    }
    return vy_fail(error, VYRE_INVALID_ARGUMENT, "use sm_60, sm_70, sm_80, sm_90, …", "unknown architecture `%.40s`",
                   name);
}

/* ---- PTX ---- */

/* Where a launch cannot hold grid barriers, backend `cuda` makes several (driver/multi_launch.h). */
static vyre_status check_stages(const vyre_program *program, const vyre_emit_options *options, uint32_t architecture,
                                vyre_error *error) {
    int is_old = architecture < VY_PTX_GRID_BARRIERS;
    if (!(program->facts & VY_PROGRAM_HAS_GRID_BARRIER) || (!is_old && !options->indirect))
        return VYRE_OK;
    return vy_fail(
        error, VYRE_UNSUPPORTED,
        VY_FIX(
            "emit its stages separately, the launches that a backend makes of it: set `stage` to 1, then 2, …; or %s",
            is_old ? VY_FIX("set `arch` to sm_%d or later", VY_PTX_GRID_BARRIERS) : "leave `indirect` out"),
        "`%s` has grid barriers, for which a launch needs %s", vyre_program_name(program),
        is_old ? VY_FIX("sm_%d (sm_%" PRIu32 ")", VY_PTX_GRID_BARRIERS, architecture)
               : "a grid that is known before it starts");
}

vyre_status vy_target_ptx_make(vyre_program *program, const vyre_emit_options *options, vy_compiled *compiled,
                               vy_ptx_code *code, vyre_error *error) {
    uint32_t architecture = 0;
    memset(code, 0, sizeof *code);
    memset(compiled, 0, sizeof *compiled);
    vyre_status status = vy_target_ptx_arch(options->arch, &architecture, error);
    if (status == VYRE_OK)
        status = check_stages(program, options, architecture, error);
    vy_target_desc target = vy_ptx_target(architecture, options->cancellable);
    if (options->uncoarsened || options->indirect)
        target.coarsen = VY_COARSEN_NEVER;
    const vy_ptx_options entry = {
        .architecture = architecture, .target = &target, .indirect = (uint8_t)(options->indirect != 0)};
    if (status == VYRE_OK)
        status = vy_compile_pipeline(program, &target, NULL, compiled, error);
    if (status == VYRE_OK)
        status = vy_ptx_emit(compiled->program, &entry, code, error);
    vyre_program_release(compiled->program);
    compiled->program = NULL;
    return status;
}

static vyre_status make(vyre_program *program, const vyre_emit_options *options, vy_ptx_code *code, vyre_error *error) {
    vy_compiled compiled;
    return vy_target_ptx_make(program, options, &compiled, code, error);
}

vyre_status vy_target_ptx(vyre_program *program, const vyre_emit_options *options, vyre_bytes *out, vyre_error *error) {
    vy_ptx_code code;
    vyre_status status = make(program, options, &code, error);
    if (status == VYRE_OK) {
        *out = code.text;
        code.text = (vyre_bytes)VYRE_BYTES_INIT;
    }
    vy_ptx_free(&code);
    return status;
}

/* ---- NVIDIA's programs ---- */

void vy_ptx_assembly_free(vy_ptx_assembly *a) {
    vy_toolchain_close(&a->folder);
    vy_string_free(&a->said);
}

static vyre_status not_found(const char *name, vyre_error *error) {
    return vy_fail(error, VYRE_UNSUPPORTED, "install the CUDA toolkit, or set CUDA_HOME to its folder",
                   "`%s`, which this target needs, was not found", name);
}

vyre_status vy_ptx_assemble(const vy_ptx_code *code, const char *arch, vy_ptx_assembly *a, vyre_error *error) {
    char ptxas[VY_TOOLCHAIN_PATH], target[64];
    memset(a, 0, sizeof *a);
    if (!vy_toolchain_find("ptxas", ptxas))
        return not_found("ptxas", error);
    if (!vy_toolchain_open(&a->folder))
        return vy_fail(error, VYRE_IO, "set TMPDIR to a folder that can be written",
                       "a temporary folder for the assembler could not be made");
    vy_toolchain_file text = vy_toolchain_in(&a->folder, "program.ptx");
    a->cubin = vy_toolchain_in(&a->folder, "program.cubin");
    vyre_status status = vy_file_write(text.path, code->text.data, code->text.size, error);
    if (status != VYRE_OK)
        return status;
    snprintf(target, sizeof target, "-arch=%.40s", arch);
    const char *const words[] = {ptxas, "-v", "-lineinfo", target, "-o", a->cubin.path, text.path, NULL};
    int ended = vy_toolchain_run(words, &a->said);
    if (a->said.failed)
        return vy_fail_memory(error, "the output of ptxas");
    if (ended < 0)
        return vy_fail(error, VYRE_IO, "check that it can be executed", "`%.400s` could not be run", ptxas);
    if (ended != 0)
        return vy_fail(error, VYRE_UNSUPPORTED,
                       "use an `arch` that this ptxas accepts, or a newer CUDA toolkit; target ptx shows the text",
                       "ptxas failed (exit code %d): %.300s", ended, a->said.text ? a->said.text : "");
    return VYRE_OK;
}

/* nvdisasm shows lines of the source; cuobjdump does not. */
static vyre_status disassemble(const vy_ptx_assembly *a, vyre_bytes *out, vyre_error *error) {
    char path[VY_TOOLCHAIN_PATH];
    const char *const lines[] = {path, "--print-code", "--print-line-info", a->cubin.path, NULL};
    const char *const plain[] = {path, "-sass", a->cubin.path, NULL};
    const char *const *words = vy_toolchain_find("nvdisasm", path)    ? lines
                               : vy_toolchain_find("cuobjdump", path) ? plain
                                                                      : NULL;
    vy_string text = {0};
    if (!words)
        return not_found("nvdisasm", error);
    int ended = vy_toolchain_run(words, &text);
    vyre_status status;
    if (ended == 0 || text.failed)
        status = vy_string_to_bytes(&text, out, error);
    else if (ended < 0)
        status = vy_fail(error, VYRE_IO, "check that it can be executed", "`%.400s` could not be run", path);
    else
        status = vy_fail(error, VYRE_UNSUPPORTED, "use the disassembler of the CUDA toolkit that ptxas is from",
                         "`%.100s` failed (exit code %d): %.300s", path, ended, text.text ? text.text : "");
    vy_string_free(&text);
    return status;
}

static vyre_status read_cubin(const vy_ptx_assembly *a, vyre_bytes *out, vyre_error *error) {
    return vy_file_read_plain(a->cubin.path, MOST_BYTES, out, error);
}

static vyre_status emit_assembled(vyre_program *program, const vyre_emit_options *options,
                                  vyre_status (*read)(const vy_ptx_assembly *, vyre_bytes *, vyre_error *),
                                  vyre_bytes *out, vyre_error *error) {
    vy_ptx_code code;
    vy_ptx_assembly a = {0};
    vyre_status status = make(program, options, &code, error);
    if (status == VYRE_OK)
        status = vy_ptx_assemble(&code, options->arch, &a, error);
    if (status == VYRE_OK)
        status = read(&a, out, error);
    vy_ptx_assembly_free(&a);
    vy_ptx_free(&code);
    return status;
}

vyre_status vy_target_cubin(vyre_program *program, const vyre_emit_options *options, vyre_bytes *out,
                            vyre_error *error) {
    return emit_assembled(program, options, read_cubin, out, error);
}

vyre_status vy_target_sass(vyre_program *program, const vyre_emit_options *options, vyre_bytes *out,
                           vyre_error *error) {
    return emit_assembled(program, options, disassemble, out, error);
}
