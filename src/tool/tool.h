/* What every part of the command shares: exit codes, the shape of a subcommand, errors on standard error.
 *
 * Functions that can fail return an exit code, TOOL_OK = 0, and have already said what is wrong, so callers only pass it up. */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include "base/status.h"
#include "base/string.h"
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

/* The subcommands, in the order in which help lists them. Each is a tool_command in a file src/tool/cmd_*.c. */
#define TOOL_COMMAND_LIST(X)                                                                                           \
    X(run)                                                                                                             \
    X(check)                                                                                                           \
    X(fmt)                                                                                                             \
    X(explain)                                                                                                         \
    X(backends)                                                                                                        \
    X(info)                                                                                                            \
    X(cache)                                                                                                           \
    X(doctor)                                                                                                          \
    X(dialects)                                                                                                        \
    X(ops)                                                                                                             \
    X(inline)                                                                                                          \
    X(opt)                                                                                                             \
    X(emit)                                                                                                            \
    X(encode)                                                                                                          \
    X(decode)                                                                                                          \
    X(bind)                                                                                                            \
    X(gen)                                                                                                             \
    X(shrink)                                                                                                          \
    X(version)                                                                                                         \
    X(help)

#define X(name) extern const tool_command tool_cmd_##name;
TOOL_COMMAND_LIST(X)
#undef X

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

/* Prints a note about a plug-in that does not load: a report for vyre_plugins_load_all. */
void tool_note_plugin(void *user, const char *path, vyre_status status, const vyre_error *error);

/* Whether a path ends in that, a dot and letters, in capitals or not. */
int tool_ends_with(const char *path, const char *ending);

/* Prints a string to standard output and frees it; TOOL_SYSTEM if memory ran out while it was made. */
int tool_print(vy_string *string);
/* The same for lines that may be coloured (terminal.h). */
int tool_print_lines(vy_string *string);

/* ---- error record: what went wrong, kept beside what was printed, so that --json can say it on standard output too ----
 *
 * There is one record for the process: a process runs one subcommand. Everything that tool_error, tool_usage and
 * tool_diagnostics print is noted by them; commands rarely need more than these three. */

/* Notes an error without printing it. The first status stays; further messages are added to the first. */
void tool_error_record_note(const vyre_error *error);
/* The same in parts; fix NULL leaves it open, for tool_error_record_fix. */
void tool_error_record_add(vyre_status status, const char *message, const char *where, const char *fix);
void tool_error_record_fix(const char *fix);
/* Notes findings, in JSON, as vyre_diagnostics_render_json makes them. */
void tool_error_record_findings(const vyre_diagnostics *list);
/* Notes that the command has put JSON on standard output, so that nothing is to be added there. */
void tool_error_record_json_printed(void);

/* Adds "status":…,"message":…,"fix":… of what was noted, with "where" if it is known; nothing if nothing was. */
void tool_error_record_json(vy_string *out);
/* Prints {"status":…,"message":…,"fix":…,"diagnostics":[…]} to standard output unless the command has answered there. */
void tool_error_record_print(void);
/* Back to nothing noted. */
void tool_error_record_clear(void);

#endif
