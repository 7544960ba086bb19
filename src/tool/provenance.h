/* Which ops the code of a program comes from. */
#ifndef VY_TOOL_PROVENANCE_H
#define VY_TOOL_PROVENANCE_H

#include "base/string.h"
#include "vyre/dialect.h"

/* Lines for `vyre explain`: the ops whose bodies are regions of a program, each below the op whose body calls it, with how often it is called and how many
 * statements that is. `flat` is inlined; the guard has the ops. Nothing if there are none. */
void tool_provenance(vy_string *out, const vyre_program *flat, vyre_dialects_guard guard);

#endif
