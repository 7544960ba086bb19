/* The text form of programs: .vyre files. This header parses, prints and formats them. The grammar is in
 * docs/language.md.
 *
 *     status = vyre_text_parse(text, strlen(text), NULL, diagnostics, &module, &error);
 *     if (status == VYRE_OK)
 *         program = vyre_program_retain(vyre_module_program(module, 0));
 *     vyre_module_free(module);
 *
 * Threads:   any thread, concurrently.
 * Blocking:  no function blocks; time grows with the size of the text. Exception: the first call of an op of a dialect
 *            of the standard library in a process loads that dialect (milliseconds). */
#ifndef VYRE_TEXT_H
#define VYRE_TEXT_H

#include "vyre/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A parsed file: its programs, and its functions as a library. Immutable; any thread. Retained programs may outlive it.
 *
 * Constructor:  vyre_text_parse
 * Destructor:   vyre_module_free
 * Methods:      vyre_module_program_count, vyre_module_program, vyre_module_find, vyre_module_library */
typedef struct vyre_module vyre_module;

/* Overrides a `const` of the file, like `-D NAME=VALUE`. The value is a literal of the const's type, or unsuffixed. */
typedef struct vyre_define {
    const char *name;
    const char *value;
} vyre_define;

/* The signature of an op: input and output types. */
enum { VYRE_OP_INPUTS = 64, VYRE_OP_OUTPUTS = 16 };
typedef struct vyre_op_signature {
    uint32_t input_count, output_count;
    vyre_type inputs[VYRE_OP_INPUTS]; /* VYRE_TYPE_COUNT for memory */
    vyre_type outputs[VYRE_OP_OUTPUTS];
} vyre_op_signature;

/* Returns 1 and the signature of an op (`length` bytes, without attributes), or 0 if the op is unknown. Called while
 * parsing, on the same thread. */
typedef int vyre_op_signature_fn(void *user, const char *id, size_t length, vyre_op_signature *out);

/* Options of parsing and formatting. Zero-initialised: the defaults. */
typedef struct vyre_parse_options {
    const char *file; /* shown in diagnostics; NULL means "<text>" */
    const vyre_define *defines;
    size_t define_count;
    /* Resolves signatures of ops of dialects, so that the types of their results can be omitted: `let p =
     * bits.parity_u32(x)`, also inside expressions. The results of an unknown op need explicit types. NULL: the ops of
     * the newest snapshot (vyre_dialects_global), including the standard library. For a given snapshot use
     * vyre_dialects_op_signature (vyre/dialect.h). */
    vyre_op_signature_fn *op_signature;
    void *op_signature_user;
} vyre_parse_options;

/* Parses and validates a file. Any bytes are accepted as input. If the text has errors the call fails. Programs keep
 * their calls of ops by id: vyre_compile resolves them, or vyre_program_resolve with a given snapshot.
 *
 * options      NULL: zero-initialised.
 * diagnostics  Optional; receives all findings. error summarises them.
 * out          Free with vyre_module_free.
 *
 * VYRE_INVALID_PROGRAM  the text has errors
 * VYRE_LIMIT            the text exceeds 256 MiB
 * VYRE_NO_MEMORY        out of host memory
 * other                 any status of vyre_dialects_global */
VYRE_API vyre_status vyre_text_parse(const char *text, size_t size, const vyre_parse_options *options,
                                     vyre_diagnostics *diagnostics, vyre_module **out, vyre_error *error);
/* Frees a module. NULL is ignored. */
VYRE_API void vyre_module_free(vyre_module *module);
/* The number of programs of a module. */
VYRE_API size_t vyre_module_program_count(const vyre_module *module);

/* A program by index or by name. Borrowed from the module: retain it to keep it. NULL past the end, or for an unknown
 * name. */
VYRE_API vyre_program *vyre_module_program(const vyre_module *module, size_t index);
VYRE_API vyre_program *vyre_module_find(const vyre_module *module, const char *name);
/* All functions of the file as a library; NULL if the file has no functions. Borrowed. */
VYRE_API vyre_program *vyre_module_library(const vyre_module *module);

/* Prints a program, with its functions, in canonical form. Parsing the text yields an equal program. `out` is replaced.
 *
 * VYRE_NO_MEMORY  out of host memory */
VYRE_API vyre_status vyre_text_print(const vyre_program *program, vyre_bytes *out, vyre_error *error);

/* Formats a file: canonical spacing and indentation; comments and blank lines are kept (several blank lines become
 * one). Works on tokens, so a file that does not validate can be formatted. Idempotent. `out` is replaced.
 *
 * options      NULL: zero-initialised.
 * diagnostics  Optional.
 *
 * VYRE_INVALID_PROGRAM  invalid tokens or unbalanced braces
 * VYRE_LIMIT            the text exceeds 256 MiB
 * VYRE_NO_MEMORY        out of host memory */
VYRE_API vyre_status vyre_text_format(const char *text, size_t size, const vyre_parse_options *options,
                                      vyre_diagnostics *diagnostics, vyre_bytes *out, vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
