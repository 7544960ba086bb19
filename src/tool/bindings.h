/* Binds command-line arguments (NAME=SPEC, --count NAME=N, --grid) to the arguments of a dispatch. */
#ifndef TOOL_BINDINGS_H
#define TOOL_BINDINGS_H

#include "tool/args.h"
#include "vyre/dispatch.h"

/* The command-line arguments of a dispatch. */
typedef struct tool_request {
    const char *const *words; /* NAME=SPEC */
    size_t word_count;
    const tool_list *counts;  /* NAME=N */
    const char *grid;         /* X[,Y[,Z]] groups, or NULL */
    const char *elements;     /* X[,Y[,Z]] invocations, or NULL */
    const char *program;      /* of --program, or NULL */
    const tool_list *defines; /* NAME=VALUE */
} tool_request;

/* Arguments with the memory they borrow. Zero-initialise; release with tool_bindings_free. */
typedef struct tool_bindings {
    vyre_arguments arguments;
    vyre_scalar *params;
    vyre_span *inputs;
    vyre_bytes *storage; /* of the inputs */
    uint64_t *counts;
    size_t param_capacity, input_capacity, count_capacity;
} tool_bindings;

/* Reads every value. If a value is missing, unknown, repeated or invalid, prints the interface of the program with the
 * given values and a complete command line, and returns the exit code. `file` is the path of the program as the user
 * wrote it, for that command line. */
int tool_bindings_make(const tool_command *command, const vyre_program *program, const char *file,
                       const tool_request *request, tool_bindings *out);
void tool_bindings_free(tool_bindings *bindings);

/* Whether the dispatch must supply the element count of this buffer: a write buffer without a `count`. */
int tool_buffer_needs_count(const vyre_buffer_info *buffer);

#endif
