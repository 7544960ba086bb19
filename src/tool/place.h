/* Where a command runs a program: the reference, which is the oracle with its checks and prints, or a backend through the driver. */
#ifndef TOOL_PLACE_H
#define TOOL_PLACE_H

#include "tool/tool.h"
#include "vyre/pipeline.h"

/* Start from zeros, end with tool_place_free. */
typedef struct tool_place {
    const char *id;
    vyre_backend *backend; /* NULL: the oracle */
    vyre_pipeline *pipeline;
} tool_place;

/* Finds the place and compiles the program there. name NULL: a GPU, else the native CPU, else the oracle; the oracle at once if only it can
 * do what is asked. deadline_ns: of the compile (CLOCK_MONOTONIC); the program is compiled so that it can be stopped. 0: there is none. An
 * error of the library is printed. */
int tool_place_find(const char *name, int only_oracle, vyre_program *program, uint64_t deadline_ns, tool_place *out);
void tool_place_free(tool_place *place);

#endif
