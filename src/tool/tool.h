/* Shared declarations of the command `vyre`: exit codes, the record of a subcommand, error reporting, output.
 *
 * A function that can fail returns an exit code, TOOL_OK = 0. It has already printed the error, so its callers only
 * return the code. */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include "base/status.h"
#include "base/string.h"
#include "vyre/diagnostic.h"

#include <stdio.h>

/* X(ID, code, doc): `vyre help`, the manual page and docs/command.md contain the same texts. */
#define TOOL_EXIT_LIST(X)                                                                                              \
    X(OK, 0, "success")                                                                                                \
    X(FAILED, 1, "the input has errors, or a check failed")                                                            \
    X(USAGE, 2, "usage error: unknown command or option; missing or invalid binding or environment variable")          \
    X(TRAPPED, 3, "an invocation executed `trap`; no output was delivered")                                            \
    X(SYSTEM, 4,                                                                                                       \
      "runtime failure: I/O error, out of memory, limit or budget exceeded, timeout, missing compiler or driver, "     \
      "device lost")

typedef enum tool_exit {
#define X(ID, code, doc) TOOL_##ID = code,
    TOOL_EXIT_LIST(X)
#undef X
} tool_exit;

struct tool_option;
struct tool_args;

/* A subcommand: a constant record in a file src/tool/cmd_*.c, or in main.c. */
typedef struct tool_command {
    const char *name;
    const char *summary;               /* one line */
    const char *usage;                 /* after "vyre NAME " */
    const char *details;               /* paragraphs of the help, or "" */
    const char *examples;              /* lines of the help */
    const struct tool_option *options; /* ends with TOOL_OPTION_END; NULL = none */
    int reads_argument_files;          /* an argument @FILE is replaced by the arguments in FILE, one per line */
    int runs_command;                  /* the words after `--` are a command to run */
    size_t options_size;               /* of the struct that the options are stored in */
    const void *defaults;              /* initial value of that struct; NULL = zeros */
    int (*run)(const struct tool_command *self, void *options, const struct tool_args *args);
} tool_command;

/* The subcommands in the order of `vyre help`. */
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
    X(math)                                                                                                            \
    X(gen)                                                                                                             \
    X(shrink)                                                                                                          \
    X(version)                                                                                                         \
    X(help)

#define X(name) extern const tool_command tool_cmd_##name;
TOOL_COMMAND_LIST(X)
#undef X

/* The subcommand at an index of TOOL_COMMAND_LIST; NULL beyond the last. */
const tool_command *tool_command_at(size_t index);
const tool_command *tool_command_find(const char *name);
/* Prints the help of one subcommand to standard output. */
void tool_command_help(const tool_command *command);

/* The exit code for a status of the library. */
int tool_exit_of(vyre_status status);
/* The same for a valid program that is compiled or run: VYRE_NOT_FOUND and VYRE_CORRUPT then concern a file or a
 * device, and are TOOL_SYSTEM. */
int tool_exit_of_run(vyre_status status);
/* Prints an error of the library to standard error ("vyre: NAME: message (where)", "Fix: …") and returns its exit
 * code. */
int tool_error(const vyre_error *error);
/* The same with the source line of a diagnostic, which may be NULL. */
int tool_error_at(const vyre_error *error, const vyre_diagnostic *finding);
/* Prints "vyre NAME: message" and "Fix: fix" and returns TOOL_USAGE. If fix is NULL, the fix refers to the help of the
 * command. */
int tool_usage(const tool_command *command, const char *fix, const char *format, ...) VY_PRINTF(3, 4);
/* The same in two steps, for several problems with one fix. */
int tool_problem(const tool_command *command, const char *format, ...) VY_PRINTF(2, 3);
void tool_fix(const char *fix);
/* Prints the diagnostics of a list to standard error. */
void tool_diagnostics(const vyre_diagnostics *list);

/* Prints a note about a plug-in that does not load: a report for vyre_plugins_load_all. */
void tool_note_plugin(void *user, const char *path, vyre_status status, const vyre_error *error);

/* Whether a path ends in `ending`, a dot and letters; case is ignored. */
int tool_ends_with(const char *path, const char *ending);

/* Prints a string to standard output and frees it; TOOL_SYSTEM if memory was exhausted while it was built. */
int tool_print(vy_string *string);
/* The same for lines that may be coloured (terminal.h). */
int tool_print_lines(vy_string *string);

/* ---- error record ----
 *
 * The error of this process, recorded in addition to the printed text, so that --json can print it as an object. A
 * process runs one subcommand, so there is one record. tool_error, tool_usage and tool_diagnostics add to it. */

/* Records an error without printing it. The first status is kept; further messages are appended. */
void tool_error_record_note(const vyre_error *error);
/* The same in parts. If fix is NULL, tool_error_record_fix may add it. */
void tool_error_record_add(vyre_status status, const char *message, const char *where, const char *fix);
void tool_error_record_fix(const char *fix);
/* Records diagnostics as JSON (vyre_diagnostics_render_json). */
void tool_error_record_findings(const vyre_diagnostics *list);
/* Records that the command has printed JSON, so that tool_error_record_print prints nothing. */
void tool_error_record_json_printed(void);

/* Appends the members "status", "message", "fix" and, if known, "where"; nothing if no error is recorded. */
void tool_error_record_json(vy_string *out);
/* Prints {"status":…,"message":…,"fix":…,"diagnostics":[…]} to standard output, unless the command has printed JSON. */
void tool_error_record_print(void);
/* Removes the recorded error. */
void tool_error_record_clear(void);

/* JSON writer for --json: members of objects and elements of arrays, with commas inserted where needed.
 *
 * The text so far is empty or ends with `{`, `[` or a value. A name "" writes an array element. The caller closes
 * brackets. */
/* The name only; the caller appends the value. */
void tool_json_name(vy_string *out, const char *name);
void tool_json_text(vy_string *out, const char *name, const char *text);     /* "" for NULL */
void tool_json_optional(vy_string *out, const char *name, const char *text); /* null for NULL and "" */
void tool_json_number(vy_string *out, const char *name, uint64_t value);
void tool_json_code(vy_string *out, const char *name, int value); /* null if negative */
void tool_json_flag(vy_string *out, const char *name, int value);
void tool_json_open(vy_string *out, const char *name, char bracket); /* bracket may be a quote */
/* The member `diagnostics`, with one line per diagnostic, or all on one line for line-based readers. */
void tool_json_findings(vy_string *out, const vyre_diagnostics *list, int on_one_line);

#endif
