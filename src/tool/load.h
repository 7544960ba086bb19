/* Loader of programs and test cases: reads a text or a wire form, which its first bytes distinguish, validates it and
 * resolves its ops. */
#ifndef TOOL_LOAD_H
#define TOOL_LOAD_H

#include "generate/generate.h"
#include "tool/args.h"
#include "tool/tool.h"
#include "vyre/dialect.h"

/* A loaded file. Zero-initialise; release with tool_file_free. */
typedef struct tool_file {
    const char *path;             /* as given; borrowed */
    vyre_bytes bytes;             /* the file */
    vyre_module *module;          /* text form */
    vyre_program *program;        /* wire form */
    vyre_program *resolved;       /* by tool_load_resolved */
    vyre_dialects_guard dialects; /* acquired when the first op is looked up */
} tool_file;

/* Loads the folders of VYRE_DIALECT_PATH, once per process. Prints the errors of a manifest and loads the others. */
int tool_dialects_load(void);

/* Whether the bytes start with the magic number of the wire form. */
int tool_file_is_wire(const vyre_bytes *bytes);
/* The path as diagnostics show it: "<stdin>" for "-". */
const char *tool_path_name(const char *path);
/* Reads a whole file, or standard input for "-". */
int tool_file_read(const char *path, vyre_bytes *out);
/* Writes a whole file, or standard output for "-". */
int tool_file_write(const char *path, const void *data, size_t size);

/* Reads and validates a file. `defines` holds NAME=VALUE words (-D). Diagnostics are added to `diagnostics`, or printed
 * if it is NULL. Returns the exit code of the first failure. */
int tool_file_load(const tool_command *command, const char *path, const tool_list *defines,
                   vyre_diagnostics *diagnostics, tool_file *out);
void tool_file_free(tool_file *file);

size_t tool_file_program_count(const tool_file *file);
vyre_program *tool_file_program(const tool_file *file, size_t index); /* borrowed */
/* The program of that name, or the only one if name is NULL; borrowed. If the choice is not unique, prints the
 * names. */
int tool_file_select(const tool_command *command, const tool_file *file, const char *name, vyre_program **out);

/* Loads a file and selects a program. */
int tool_load_program(const tool_command *command, const char *path, const char *name, const tool_list *defines,
                      tool_file *file, vyre_program **out);

/* The same with calls of ops resolved, for commands that run or analyse the program. */
int tool_load_resolved(const tool_command *command, const char *path, const char *name, const tool_list *defines,
                       tool_file *file, vyre_program **out);
/* Resolves the calls of ops in a program of the file; diagnostics may be NULL. Release with vyre_program_release. */
vyre_status tool_file_resolve(tool_file *file, vyre_program *program, vyre_diagnostics *diagnostics, vyre_program **out,
                              vyre_error *error);

/* Checks that exactly one word is given; prints an error otherwise. */
int tool_one_file(const tool_command *command, const tool_args *args);

/* Prints a program as canonical text to a file; NULL and "-" mean standard output. */
int tool_program_print(const vyre_program *program, const char *output);

/* Test cases on disk: a program, its inputs as .npy files, and its arguments.
 *
 *   BASE.vyre  BASE.NAME.npy …  BASE.args     run with: vyre run BASE.vyre @BASE.args */
vyre_status tool_case_write(const vyre_case *given, const char *base, vyre_error *error);
/* Removes the files that tool_case_write wrote for this case. */
void tool_case_remove(const vyre_case *given, const char *base);
/* Adds the arguments, one per line. If base is NULL, inputs are literals instead of file names. */
void tool_case_arguments(vy_string *out, const vyre_case *given, const char *base);

#endif
