/* Summary of a program as text or JSON, for check and explain. */
#ifndef TOOL_PROGRAM_SUMMARY_H
#define TOOL_PROGRAM_SUMMARY_H

#include "tool/tool.h"
#include "vyre/program.h"

/* "strict, workgroup 256, grid over y, 1 param, 2 buffers, 3 statements" */
void tool_summary_line(vy_string *out, const vyre_program *program);
/* The notable features that it uses, as in "barriers, atomics"; "" if none. */
void tool_summary_uses(vy_string *out, const vyre_program *program);
/* The source of the grid: "over y", "elements n, m", "given at dispatch". */
void tool_summary_grid(vy_string *out, const vyre_program *program);
/* The element count of a buffer: "256", "n * n", "len(x)", or "" if the dispatch determines it. */
void tool_summary_count(vy_string *out, const vyre_program *program, size_t buffer);
/* A JSON object with all of this; the caller closes it. */
void tool_summary_json(vy_string *out, const vyre_program *program);
/* The requirements of a resolved program on a backend: the ops that it must list, and the capabilities that it must
 * have, with their minimum values. A grid barrier is listed as an op, but no backend refuses it: without support the
 * program runs as several launches. */
void tool_requirements(vy_string *out, vyre_program *program);
/* The same as JSON members `ops` and `capabilities`; both are null if program is NULL. */
void tool_requirements_json(vy_string *out, vyre_program *program);

#endif
