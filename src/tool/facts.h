/* What a program is, in a few lines or as JSON: shared by check and explain. */
#ifndef TOOL_FACTS_H
#define TOOL_FACTS_H

#include "tool/tool.h"
#include "vyre/program.h"

/* "strict, workgroup 256, grid over y, 1 param, 2 buffers, 3 statements" */
void tool_facts_line(vy_string *out, const vyre_program *program);
/* "barrier, atomics": what of interest it uses; "" if nothing. */
void tool_facts_uses(vy_string *out, const vyre_program *program);
/* What the grid comes from: "over y", "elements n, m", "given at dispatch". */
void tool_facts_grid(vy_string *out, const vyre_program *program);
/* The element count of a buffer: "256", "n * n", "len(x)", or "" if it is open. */
void tool_facts_count(vy_string *out, const vyre_program *program, size_t buffer);
/* One JSON object with all of it. */
void tool_facts_json(vy_string *out, const vyre_program *program);

#endif
