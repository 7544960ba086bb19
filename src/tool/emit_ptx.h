/* vyre emit --target ptx, cubin and sass; vyre explain --target ptx: what a program becomes on an NVIDIA device. */
#ifndef TOOL_EMIT_PTX_H
#define TOOL_EMIT_PTX_H

#include "tool/tool.h"
#include "vyre/program.h"

typedef enum tool_ptx_form { TOOL_PTX_TEXT, TOOL_PTX_CUBIN, TOOL_PTX_SASS } tool_ptx_form;

typedef struct tool_ptx_options {
    uint32_t architecture;
    int cancellable, keeps_grid;
    int indirect;       /* the grid lies in device memory */
    const char *output; /* NULL: standard output */
} tool_ptx_options;

/* "sm_90" → 90. */
int tool_ptx_architecture(const tool_command *self, const char *name, uint32_t *out);

/* The text is ours; the others take NVIDIA's assembler, and sass one of the disassemblers. */
int tool_emit_ptx(const tool_command *self, vyre_program *program, const tool_ptx_options *options, tool_ptx_form form);

/* Lines of `vyre explain`: the launch, and registers and spills if there is an assembler to say so. */
void tool_explain_ptx(vy_string *out, vyre_program *program, const tool_ptx_options *options);

#endif
