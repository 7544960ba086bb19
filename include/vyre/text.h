/* The text form: .vyre files. Grammar and tour: docs/language.md. */
#ifndef VYRE_TEXT_H
#define VYRE_TEXT_H

#include "vyre/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A parsed file: its programs, and its functions as a library. Immutable, any thread; free with vyre_module_free; the programs may
 * outlive it (retain them).
 *
 * All functions here borrow their arguments for the call, run on any thread and do not block; time grows with the size of the text. */
typedef struct vyre_module vyre_module;

/* `-D NAME=VALUE`: overrides a `const` of the file. The value is a literal of the const's type, or unsuffixed. */
typedef struct vyre_define {
    const char *name;
    const char *value;
} vyre_define;

/* What an op takes and gives, as far as a text needs it. */
enum { VYRE_OP_INPUTS = 64, VYRE_OP_OUTPUTS = 16 };
typedef struct vyre_op_signature {
    uint32_t input_count, output_count;
    vyre_type inputs[VYRE_OP_INPUTS]; /* VYRE_TYPE_COUNT for a memory */
    vyre_type outputs[VYRE_OP_OUTPUTS];
} vyre_op_signature;
/* Tells the signature of an op (`length` bytes, without attributes); 0 if it is not known. Called while parsing, on the same thread. */
typedef int vyre_op_signature_fn(void *user, const char *id, size_t length, vyre_op_signature *out);

typedef struct vyre_parse_options {
    const char *file; /* shown in diagnostics; NULL means "<text>" */
    const vyre_define *defines;
    size_t define_count;
    /* Returns the signatures of ops of dialects, so that the types of their results need not be written: `let p = bits.parity_u32(x)`, also inside
     * expressions. NULL: the ops of the newest snapshot (vyre_dialects_global), the standard library among them. For a snapshot of the caller's:
     * vyre_dialects_op_signature (vyre/dialect.h). The results of an op that it does not know have their types written. */
    vyre_op_signature_fn *op_signature;
    void *op_signature_user;
} vyre_parse_options;

/* Parses and validates a file. Any bytes are accepted as input; what is wrong is in `diagnostics` (optional), several findings in
 * one run, and summed up in `error`. A program whose text has errors is not in the module, and then the call fails.
 * options NULL means zeros. Programs keep their calls of ops by id: vyre_compile resolves them, or vyre_program_resolve does with a
 * snapshot of the caller's. The first text of a process that calls an op makes the first snapshot of the dialects (milliseconds).
 *
 * VYRE_INVALID_PROGRAM  the text has errors
 * VYRE_LIMIT            the text is larger than 256 MiB
 * VYRE_NO_MEMORY, and what vyre_dialects_global returns */
VYRE_API vyre_status vyre_text_parse(const char *text, size_t size, const vyre_parse_options *options,
                                     vyre_diagnostics *diagnostics, vyre_module **out, vyre_error *error);
VYRE_API void vyre_module_free(vyre_module *module);
VYRE_API size_t vyre_module_program_count(const vyre_module *module);
/* Borrowed from the module: retain it to keep it. NULL past the end. */
VYRE_API vyre_program *vyre_module_program(const vyre_module *module, size_t index);
VYRE_API vyre_program *vyre_module_find(const vyre_module *module, const char *name);
/* All functions of the file as a library; NULL if it has none. Borrowed. */
VYRE_API vyre_program *vyre_module_library(const vyre_module *module);

/* Prints a program (with the functions it has) in canonical form. Parsing that gives an equal program. `out` is replaced.
 * VYRE_NO_MEMORY */
VYRE_API vyre_status vyre_text_print(const vyre_program *program, vyre_bytes *out, vyre_error *error);

/* Formats a file: canonical spacing and indentation, comments and blank lines kept (runs of blank lines become one). Works on
 * tokens, so a file that does not validate can be formatted; one that does not even tokenise or whose braces do not match is refused
 * with diagnostics (optional). Formatting twice changes nothing more. `out` is replaced. options NULL means zeros.
 *
 * VYRE_INVALID_PROGRAM  tokens or braces are wrong
 * VYRE_LIMIT            the text is larger than 256 MiB
 * VYRE_NO_MEMORY */
VYRE_API vyre_status vyre_text_format(const char *text, size_t size, const vyre_parse_options *options,
                                      vyre_diagnostics *diagnostics, vyre_bytes *out, vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
