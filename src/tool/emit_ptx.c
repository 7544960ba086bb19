/* PTX and what NVIDIA's tools make of it (emit_ptx.h). */
#include "tool/emit_ptx.h"

#include "base/file.h"
#include "emit/ptx/prepare.h"
#include "emit/ptx/ptx.h"
#include "ir/model.h"
#include "tool/driver_ptx.h"
#include "tool/load.h"
#include "tool/outside.h"

#include <inttypes.h>
#include <stdlib.h>

/* Of a cubin. */
enum { MOST_BYTES = 1 << 30 };

#define INSTALL "install the CUDA toolkit, or set CUDA_HOME to the folder it is in"

int tool_ptx_architecture(const tool_command *self, const char *name, uint32_t *out) {
    uint64_t number = 0;
    if (strncmp(name, "sm_", 3) == 0 && vy_digits_read(name + 3, strlen(name + 3), 10, 999, &number) > 0 &&
        number >= 60) {
        *out = (uint32_t)number;
        return TOOL_OK;
    }
    return tool_usage(self, "give sm_60, sm_70, sm_80, sm_90, …", "there is no architecture `%s`", name);
}

/* ---- our part ---- */

/* Where a launch cannot hold grid barriers, backend `cuda` takes several (driver/stages.h). */
static vyre_status check_stages(const vyre_program *program, const tool_ptx_options *options, vyre_error *error) {
    int is_old = options->architecture < VY_PTX_GRID_BARRIERS;
    if (!(program->facts & VY_FACT_GRID_BARRIER) || (!is_old && !options->indirect))
        return VYRE_OK;
    return vy_fail(error, VYRE_UNSUPPORTED,
                   VY_FIX("give `--stage 1`, then 2, …: the launches that a backend makes of it instead; or %s",
                          is_old ? VY_FIX("`--arch sm_%d` or later", VY_PTX_GRID_BARRIERS) : "leave --indirect out"),
                   "`%s` has grid barriers, for which a launch needs %s", vyre_program_name(program),
                   is_old ? VY_FIX("sm_%d (sm_%" PRIu32 ")", VY_PTX_GRID_BARRIERS, options->architecture)
                          : "a grid that is known before it starts");
}

static vyre_status make(vyre_program *program, const tool_ptx_options *options, vy_ptx_prepared *prepared,
                        vy_ptx_code *code, vyre_error *error) {
    const vy_ptx_prepare_options how = {.architecture = options->architecture,
                                        .cancellable = (uint8_t)(options->cancellable != 0),
                                        .keeps_grid = (uint8_t)(options->keeps_grid || options->indirect)};
    const vy_ptx_options entry = {.architecture = options->architecture, .indirect = (uint8_t)(options->indirect != 0)};
    memset(code, 0, sizeof *code);
    memset(prepared, 0, sizeof *prepared);
    vyre_status status = check_stages(program, options, error);
    if (status == VYRE_OK)
        status = vy_ptx_prepare(program, &how, prepared, error);
    if (status == VYRE_OK)
        status = vy_ptx_emit(prepared->program, &entry, code, error);
    vyre_program_release(prepared->program);
    prepared->program = NULL;
    return status;
}

/* ---- theirs ---- */

typedef struct assembly {
    tool_outside_folder folder;
    tool_outside_file cubin;
    vy_string said;      /* by the assembler */
    const char *missing; /* what there is none of */
    int code;            /* what it ended with */
} assembly;

static void assembly_free(assembly *a) {
    tool_outside_close(&a->folder);
    vy_string_free(&a->said);
}

/* Has the text assembled; 0 if that is not possible. */
static int assemble(const vy_ptx_code *code, uint32_t architecture, assembly *a) {
    char ptxas[TOOL_OUTSIDE_PATH], target[24];
    memset(a, 0, sizeof *a);
    a->missing = "ptxas";
    if (!tool_outside_find("ptxas", ptxas))
        return 0;
    a->missing = NULL;
    a->code = -1;
    if (!tool_outside_open(&a->folder))
        return 0;
    tool_outside_file text = tool_outside_in(&a->folder, "program.ptx");
    a->cubin = tool_outside_in(&a->folder, "program.cubin");
    if (vy_file_write(text.path, code->text.data, code->text.size, NULL) != VYRE_OK)
        return 0;
    snprintf(target, sizeof target, "-arch=sm_%" PRIu32, architecture);
    const char *const words[] = {ptxas, "-v", "-lineinfo", target, "-o", a->cubin.path, text.path, NULL};
    a->code = tool_outside_run(words, &a->said);
    return a->code == 0;
}

static int refuse(const tool_command *self, const assembly *a) {
    if (a->missing) {
        tool_problem(self, "there is no `%s` here, which makes this of PTX", a->missing);
        tool_fix(INSTALL);
    } else {
        tool_problem(self, "the assembler failed (%d): %.400s", a->code, a->said.text ? a->said.text : "");
        tool_fix("look at the text with `--target ptx`; give another --arch, or a newer CUDA toolkit");
    }
    return TOOL_SYSTEM;
}

static int write_cubin(const assembly *a, const char *output) {
    vyre_bytes bytes = VYRE_BYTES_INIT;
    vyre_error error;
    int code = vy_file_read_plain(a->cubin.path, MOST_BYTES, &bytes, &error) == VYRE_OK
                   ? tool_file_write(output, bytes.data, bytes.size)
                   : tool_error(&error);
    vyre_bytes_free(&bytes);
    return code;
}

/* nvdisasm shows lines of the source; cuobjdump does not. */
static int write_sass(const tool_command *self, assembly *a, const char *output) {
    char path[TOOL_OUTSIDE_PATH];
    vy_string text = {0};
    const char *const lines[] = {path, "--print-code", "--print-line-info", a->cubin.path, NULL};
    const char *const plain[] = {path, "-sass", a->cubin.path, NULL};
    const char *const *words = tool_outside_find("nvdisasm", path)    ? lines
                               : tool_outside_find("cuobjdump", path) ? plain
                                                                      : NULL;
    a->missing = words ? NULL : "nvdisasm";
    if (!words)
        return refuse(self, a);
    a->code = tool_outside_run(words, &text);
    int code = TOOL_OK;
    if (a->code != 0 || text.failed) {
        tool_problem(self, "the disassembler failed (%d): %.400s", a->code, text.text ? text.text : "");
        tool_fix("take the one of the same CUDA toolkit as ptxas");
        code = TOOL_SYSTEM;
    } else {
        code = tool_file_write(output, text.text, text.length);
    }
    vy_string_free(&text);
    return code;
}

int tool_emit_ptx(const tool_command *self, vyre_program *program, const tool_ptx_options *options,
                  tool_ptx_form form) {
    const char *output = options->output ? options->output : "-";
    vy_ptx_prepared prepared;
    vy_ptx_code code;
    vyre_error error;
    assembly a;
    int result;
    if (make(program, options, &prepared, &code, &error) != VYRE_OK) {
        result = tool_error(&error);
    } else if (form == TOOL_PTX_TEXT) {
        result = tool_file_write(output, code.text.data, code.text.size);
    } else {
        if (!assemble(&code, options->architecture, &a))
            result = refuse(self, &a);
        else
            result = form == TOOL_PTX_CUBIN ? write_cubin(&a, output) : write_sass(self, &a, output);
        assembly_free(&a);
    }
    vy_ptx_free(&code);
    return result;
}

/* ---- explaining ---- */

/* The number before a word in what the assembler said; 0 if the word is not there. */
static uint64_t number_before(const char *said, const char *word) {
    const char *found = said ? strstr(said, word) : NULL;
    while (found && found > said && found[-1] == ' ')
        found--;
    while (found && found > said && found[-1] >= '0' && found[-1] <= '9')
        found--;
    return found ? strtoull(found, NULL, 10) : 0;
}

/* For the device that is here, whichever was asked for: the driver compiles for no other. */
static int add_compiled(vy_string *out, const vy_ptx_code *code) {
    tool_driver_kernel kernel;
    if (!tool_driver_compile(code, &kernel))
        return 0;
    vy_string_format(out, "  registers  %d", kernel.registers);
    if (kernel.local_bytes > (int)code->local_bytes)
        vy_string_format(out, ", and %d bytes of memory a thread beside its arrays",
                         kernel.local_bytes - (int)code->local_bytes);
    else
        vy_string_add(out, ", nothing spilled");
    vy_string_format(out, ", says the driver of %s (sm_%d)\n", kernel.device, kernel.architecture);
    return 1;
}

static void add_assembled(vy_string *out, const vy_ptx_code *code, uint32_t architecture) {
    assembly a;
    if (assemble(code, architecture, &a)) {
        const char *said = a.said.text;
        uint64_t stored = number_before(said, "bytes spill stores"), loaded = number_before(said, "bytes spill loads");
        vy_string_format(out, "  registers  %" PRIu64, number_before(said, "registers"));
        if (stored || loaded)
            vy_string_format(out, ", spilled: %" PRIu64 " bytes stored, %" PRIu64 " loaded\n", stored, loaded);
        else
            vy_string_add(out, ", nothing spilled\n");
    } else if (a.missing) {
        if (!add_compiled(out, code))
            vy_string_format(out, "  registers  not known: there is no `%s` here, and no NVIDIA device (%s)\n",
                             a.missing, INSTALL);
    } else {
        vy_string_format(out, "  registers  not known: the assembler failed (%d): %.200s\n", a.code,
                         a.said.text ? a.said.text : "");
    }
    assembly_free(&a);
}

void tool_explain_ptx(vy_string *out, vyre_program *program, const tool_ptx_options *options) {
    vy_ptx_prepared prepared;
    vy_ptx_code code;
    vyre_error error;
    if (make(program, options, &prepared, &code, &error) != VYRE_OK) {
        vy_string_format(out, "  ptx        none: %s\n", error.message);
        vy_ptx_free(&code);
        return;
    }
    vy_string_format(out, "  ptx        version %" PRIu32 ".%" PRIu32 " for sm_%" PRIu32 " and later, %zu bytes\n",
                     code.version / 10, code.version % 10, code.architecture, code.text.size);
    vy_string_format(out, "  launch     %" PRIu32 " threads a block", code.block[0] * code.block[1] * code.block[2]);
    if (code.static_bytes + code.dynamic_bytes)
        vy_string_format(out, ", %" PRIu32 " bytes of shared memory", code.static_bytes + code.dynamic_bytes);
    if (code.local_bytes)
        vy_string_format(out, ", %" PRIu32 " bytes of arrays a thread", code.local_bytes);
    vy_string_char(out, '\n');
    if (code.meets)
        vy_string_add(out,
                      "  barriers   of the grid: inside one launch where all workgroups run at the same time, else as "
                      "several launches\n");
    if (prepared.factor > 1)
        vy_string_format(out, "  widened    a thread does %" PRIu32 " invocations\n", prepared.factor);
    else
        vy_string_format(out, "  widened    no: %s\n", prepared.reason);
    add_assembled(out, &code, options->architecture);
    vy_ptx_free(&code);
}
