/* Test cases on disk: a program, its inputs as .npy files, and its arguments.
 *
 *   BASE.vyre  BASE.NAME.npy …  BASE.args     run with: vyre run BASE.vyre @BASE.args */
#ifndef TOOL_CASE_FILES_H
#define TOOL_CASE_FILES_H

#include "generate/generate.h"
#include "tool/tool.h"

vyre_status tool_case_write(const vyre_case *given, const char *base, vyre_error *error);
/* Removes the files that tool_case_write wrote for this case. */
void tool_case_remove(const vyre_case *given, const char *base);
/* Adds the arguments, one per line. If base is NULL, inputs are literals instead of file names. */
void tool_case_arguments(vy_string *out, const vyre_case *given, const char *base);

#endif
