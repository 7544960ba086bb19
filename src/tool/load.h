/* Loading programs from files: text or wire form, told apart by their first bytes. */
#ifndef TOOL_LOAD_H
#define TOOL_LOAD_H

#include "tool/args.h"
#include "vyre/dialect.h"

/* A loaded file. Start from zeros, end with tool_file_free. */
typedef struct tool_file {
    const char *path;             /* as given; borrowed */
    vyre_bytes bytes;             /* the file */
    vyre_module *module;          /* text form */
    vyre_program *program;        /* wire form */
    vyre_program *resolved;       /* by tool_load_resolved */
    vyre_dialects_guard dialects; /* taken when an op is first met */
} tool_file;

/* Loads the folders of VYRE_DIALECT_PATH, once. What is wrong with a manifest is printed, and the others are loaded. */
int tool_dialects_load(void);

/* Whether the bytes of a file start as a wire form does. */
int tool_file_is_wire(const vyre_bytes *bytes);
/* The name diagnostics show for a path: "<stdin>" for "-". */
const char *tool_path_name(const char *path);
/* Reads a whole file, or standard input for "-". */
int tool_file_read(const char *path, vyre_bytes *out);
/* Writes a whole file, or standard output for "-". */
int tool_file_write(const char *path, const void *data, size_t size);

/* Reads and validates a file. `defines` holds NAME=VALUE words (-D). Findings go to `diagnostics` if it is given, and are printed
 * otherwise. The exit code is that of the first failure. */
int tool_file_load(const tool_command *command, const char *path, const tool_list *defines,
                   vyre_diagnostics *diagnostics, tool_file *out);
void tool_file_free(tool_file *file);

size_t tool_file_program_count(const tool_file *file);
vyre_program *tool_file_program(const tool_file *file, size_t index); /* borrowed */
/* The program of that name, or the only one if name is NULL. Borrowed. Says which there are if that does not settle it. */
int tool_file_select(const tool_command *command, const tool_file *file, const char *name, vyre_program **out);

/* What most commands start with: load a file, select a program. */
int tool_load_program(const tool_command *command, const char *path, const char *name, const tool_list *defines,
                      tool_file *file, vyre_program **out);

/* The same for commands that run or analyse it: calls of ops are resolved. */
int tool_load_resolved(const tool_command *command, const char *path, const char *name, const tool_list *defines,
                       tool_file *file, vyre_program **out);
/* A program of the file with its calls of ops resolved; diagnostics may be NULL. vyre_program_release follows. */
vyre_status tool_file_resolve(tool_file *file, vyre_program *program, vyre_diagnostics *diagnostics, vyre_program **out,
                              vyre_error *error);

/* Whether exactly one word is given; says so otherwise. */
int tool_one_file(const tool_command *command, const tool_args *args);

/* Prints a program as canonical text to a file; NULL and "-" are standard output. */
int tool_program_print(const vyre_program *program, const char *output);

#endif
