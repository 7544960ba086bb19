/* vyre explain --target ptx: what a program becomes on an NVIDIA device. */
#ifndef TOOL_EXPLAIN_PTX_H
#define TOOL_EXPLAIN_PTX_H

#include "base/string.h"
#include "vyre/emit.h"

/* Adds lines about the launch, and registers and spills if an assembler or a device is there to say so. The ops of the
 * program are resolved; options->arch is set. */
void tool_explain_ptx(vy_string *out, vyre_program *program, const vyre_emit_options *options);

#endif
