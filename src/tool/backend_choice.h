/* Where a command runs a program: on the reference interpreter, with its checks and prints, or on a backend through the driver. */
#ifndef TOOL_BACKEND_CHOICE_H
#define TOOL_BACKEND_CHOICE_H

#include "tool/tool.h"
#include "vyre/pipeline.h"

/* Start from zeros, end with tool_backend_choice_free. */
typedef struct tool_backend_choice {
    const char *id;
    const char *cause; /* the option or statement for which the reference runs without being named; otherwise NULL */
    vyre_backend *backend; /* NULL: the reference interpreter */
    vyre_pipeline *pipeline;
} tool_backend_choice;

typedef struct tool_backend_request {
    const char *name;            /* --backend; NULL: VYRE_BACKEND */
    const char *needs_reference; /* the option or statement that only the reference has; NULL: there is none */
    int limits_memory;           /* --memory is given, which only the reference has; it does not select the reference */
    unsigned threads;            /* of the backend `cpu`; 0: it decides */
    int quiet;                   /* no note and no progress */
    int verbose;                 /* print the report of the selection */
    uint64_t deadline_ns;        /* of the compile (CLOCK_MONOTONIC), and the program can be stopped; 0: none */
} tool_backend_request;

/* Selects a backend and compiles the program on it. A backend that is named runs the program, or the error gives the reason why it does not. If
 * none is named, needs_reference selects the reference, with a note; otherwise VYRE_POLICY_DEFAULT selects, which never chooses the reference.
 * Prints the error. */
int tool_backend_choose(const tool_command *command, const tool_backend_request *request, vyre_program *program,
                        tool_backend_choice *out);
void tool_backend_choice_free(tool_backend_choice *backend_choice);

#endif
