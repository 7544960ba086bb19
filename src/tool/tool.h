/* What every part of the command shares: exit codes, the shape of a subcommand, errors on standard error.
 *
 * Functions that can fail return an exit code, TOOL_OK = 0, and have already said what is wrong, so callers only pass it up. */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include "base/status.h"
#include "base/string.h"
#include "base/suggest.h"
#include "tool/error_record.h"
#include "vyre/diagnostic.h"

#include <stdio.h>

/* X(ID, code, doc line): `vyre help`, the manual page and docs/tool.md say the same. */
#define TOOL_EXIT_LIST(X)                                                                                              \
    X(OK, 0, "done")                                                                                                   \
    X(FAILED, 1, "the program has errors, a check found something, or what was compared differs")                      \
    X(USAGE, 2, "the command line is wrong: unknown command or option, missing or unfit binding or variable")          \
    X(TRAPPED, 3, "an invocation executed `trap`; no output was delivered")                                            \
    X(SYSTEM, 4, "a file, memory, a limit, the step budget or the device got in the way")

typedef enum tool_exit {
#define X(ID, code, doc) TOOL_##ID = code,
    TOOL_EXIT_LIST(X)
#undef X
} tool_exit;

struct tool_option;
struct tool_args;

/* A subcommand: one constant record in its own file; main.c lists them all. */
typedef struct tool_command {
    const char *name;
    const char *summary;               /* one line */
    const char *usage;                 /* after "vyre NAME " */
    const char *details;               /* paragraphs of the help, or "" */
    const char *examples;              /* lines of the help */
    const struct tool_option *options; /* ends with a row without a name; NULL = none */
    int reads_argument_files;          /* a word @FILE stands for the arguments in FILE, one per line */
    int runs_command;                  /* what follows `--` is a command, not more words */
    size_t options_size;               /* of the struct the options go to */
    const void *defaults;              /* such a struct; NULL = zeros */
    int (*run)(const struct tool_command *self, void *options, const struct tool_args *args);
} tool_command;

/* The subcommands in the order of `vyre help`; NULL past the end. */
const tool_command *tool_command_at(size_t index);
const tool_command *tool_command_find(const char *name);
/* Prints the help of one subcommand to standard output. */
void tool_command_help(const tool_command *command);

/* The exit code for a status of the library. */
int tool_exit_of(vyre_status status);
/* The same where a valid program is compiled or runs: what is missing or damaged then is a file or a device. */
int tool_exit_of_run(vyre_status status);
/* Prints an error of the library to standard error ("vyre: NAME: message (where)", "Fix: …") and returns its exit code. */
int tool_error(const vyre_error *error);
/* The same with the line of source of a finding. place may be NULL. */
int tool_error_at(const vyre_error *error, const vyre_diagnostic *place);
/* Prints "vyre NAME: message" and "Fix: fix" and returns TOOL_USAGE. fix NULL points to the help. */
int tool_usage(const tool_command *command, const char *fix, const char *format, ...) VY_PRINTF(3, 4);
/* The same in two steps, for several problems with one fix. */
int tool_problem(const tool_command *command, const char *format, ...) VY_PRINTF(2, 3);
void tool_fix(const char *fix);
/* Prints what a list holds to standard error, if anything. */
void tool_diagnostics(const vyre_diagnostics *list);

/* Whether a path ends in that, a dot and letters, in capitals or not. */
int tool_ends_with(const char *path, const char *ending);

/* Prints a string to standard output and frees it; TOOL_SYSTEM if memory ran out while it was made. */
int tool_print(vy_string *string);
/* The same for lines that may be coloured (terminal.h). */
int tool_print_lines(vy_string *string);

#endif
