/* What a program is, in a few lines or as JSON: shared by check and explain. */
#ifndef TOOL_PROGRAM_SUMMARY_H
#define TOOL_PROGRAM_SUMMARY_H

#include "tool/tool.h"
#include "vyre/program.h"

/* "strict, workgroup 256, grid over y, 1 param, 2 buffers, 3 statements" */
void tool_summary_line(vy_string *out, const vyre_program *program);
/* "barrier, atomics": what of interest it uses; "" if nothing. */
void tool_summary_uses(vy_string *out, const vyre_program *program);
/* What the grid comes from: "over y", "elements n, m", "given at dispatch". */
void tool_summary_grid(vy_string *out, const vyre_program *program);
/* The element count of a buffer: "256", "n * n", "len(x)", or "" if it is open. */
void tool_summary_count(vy_string *out, const vyre_program *program, size_t buffer);
/* One JSON object with all of it; the caller closes it. */
void tool_summary_json(vy_string *out, const vyre_program *program);
/* The requirements on a backend, of a resolved program: the ops that it must list, and the capabilities that it must have, with their least
 * values. A grid barrier is listed as an op, but refused by no backend: without it the program runs as several launches. */
void tool_requirements(vy_string *out, vyre_program *program);
/* The same as JSON members `ops` and `capabilities`; both are null if program is NULL. */
void tool_requirements_json(vy_string *out, vyre_program *program);

#endif
