/* vyre explain --target ptx (explain_ptx.h). */
#include "tool/explain_ptx.h"

#include "targets/ptx.h"
#include "tool/ptx_jit.h"

#include <inttypes.h>
#include <stdlib.h>

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
static int add_jit_compiled(vy_string *out, const vy_ptx_code *code) {
    tool_ptx_jit_kernel kernel;
    if (!tool_ptx_jit_compile(code, &kernel))
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

static void add_assembled(vy_string *out, const vy_ptx_code *code, const char *arch) {
    vy_ptx_assembly a = {0};
    vyre_error error;
    if (vy_ptx_assemble(code, arch, &a, &error) == VYRE_OK) {
        const char *said = a.said.text;
        uint64_t stored = number_before(said, "bytes spill stores"), loaded = number_before(said, "bytes spill loads");
        vy_string_format(out, "  registers  %" PRIu64, number_before(said, "registers"));
        if (stored || loaded)
            vy_string_format(out, ", spilled: %" PRIu64 " bytes stored, %" PRIu64 " loaded\n", stored, loaded);
        else
            vy_string_add(out, ", nothing spilled\n");
    } else if (!add_jit_compiled(out, code)) {
        vy_string_format(out, "  registers  not known: %s, and no NVIDIA device was found (%s)\n", error.message,
                         error.fix);
    }
    vy_ptx_assembly_free(&a);
}

void tool_explain_ptx(vy_string *out, vyre_program *program, const vyre_emit_options *options) {
    vy_ptx_prepared prepared;
    vy_ptx_code code;
    vyre_error error;
    if (vy_target_ptx_make(program, options, &prepared, &code, &error) != VYRE_OK) {
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
    if (code.needs_cooperative)
        vy_string_add(out,
                      "  barriers   of the grid: inside one launch where all workgroups run at the same time, else as "
                      "several launches\n");
    if (prepared.factor > 1)
        vy_string_format(out, "  widened    a thread does %" PRIu32 " invocations\n", prepared.factor);
    else
        vy_string_format(out, "  widened    no: %s\n", prepared.reason);
    add_assembled(out, &code, options->arch);
    vy_ptx_free(&code);
}
