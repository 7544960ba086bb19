/* vyre emit --target legal: the program that legalisation makes for a device which is described on the command line. */
#ifndef TOOL_EMIT_LEGAL_H
#define TOOL_EMIT_LEGAL_H

#include "tool/tool.h"
#include "transform/legal.h"

/* A profile: `all`, `none`, or names of VYRE_NUMERIC_LIST, by commas, what is exact; with a minus in front what is not, of all or of those before it. */
int tool_profile_parse(const tool_command *self, const char *text, uint64_t *exact);

/* The optimised program at level legal as text, below comments that say which accesses kept a test, and why. */
int tool_emit_legal(vyre_program *program, const vy_legal_target *target, const char *output);

#endif
