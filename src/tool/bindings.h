/* From words on the command line (NAME=SPEC, --count NAME=N, --grid) to the arguments of a dispatch. */
#ifndef TOOL_BINDINGS_H
#define TOOL_BINDINGS_H

#include "tool/args.h"
#include "vyre/dispatch.h"

/* What the command line says about a dispatch. */
typedef struct tool_request {
    const char *const *words; /* NAME=SPEC */
    size_t word_count;
    const tool_list *counts; /* NAME=N */
    const char *grid;        /* X[,Y[,Z]] groups, or NULL */
    const char *elements;    /* X[,Y[,Z]] invocations, or NULL */
} tool_request;

/* Arguments with the memory they borrow. Start from zeros, end with tool_bindings_free. */
typedef struct tool_bindings {
    vyre_arguments arguments;
    vyre_scalar *params;
    vyre_span *inputs;
    vyre_bytes *storage; /* of the inputs */
    uint64_t *counts;
    size_t param_capacity, input_capacity, count_capacity;
} tool_bindings;

/* Reads every value. If something is missing, unknown, given twice or unfit, prints what the program takes beside what was given and how to
 * write it, and returns the exit code. `file` is the program's file as the user wrote it, for the suggested command line. */
int tool_bindings_make(const tool_command *command, const vyre_program *program, const char *file,
                       const tool_request *request, tool_bindings *out);
void tool_bindings_free(tool_bindings *bindings);

/* Whether the program leaves the count of this buffer to the dispatch without the bytes to tell it. */
int tool_buffer_needs_count(const vyre_buffer_info *buffer);

#endif
