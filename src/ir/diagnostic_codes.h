/* Diagnostic codes, and the diagnostic sink of the text and dialect front ends.
 *
 * The codes are one list, from which names, explanations and docs/errors.md are derived. Each component has its rows in
 * a .def file; diagnostic_codes.c joins them. X(CODE, title, text, fix): the code is a letter and three digits and
 * never changes. T = text form, V = validator, W = wire form, B = builder, D = dialect files (TOML and manifests), R =
 * found while running.
 *
 * Every row with a fix has a case in tests/tool/fixes, which applies the fix. */
#ifndef VY_IR_DIAGNOSTIC_CODES_H
#define VY_IR_DIAGNOSTIC_CODES_H

#include "base/diagnostics.h"

typedef enum vy_diag_code {
#define X(CODE, title, text, fix) VY_##CODE,
#include "ir/diagnostic_codes_builder.def"
#include "ir/diagnostic_codes_dialect.def"
#include "ir/diagnostic_codes_oracle.def"
#include "ir/diagnostic_codes_text.def"
#include "ir/diagnostic_codes_validate.def"
#include "ir/diagnostic_codes_wire.def"
#undef X
    VY_DIAG_CODE_COUNT
} vy_diag_code;

const char *vy_diag_code_name(vy_diag_code code); /* "V012" */
const char *vy_diag_code_fix(vy_diag_code code);  /* the default fix */

/* Collects the errors of one text: of the lexer, the parser, the lowering, and readers of dialect files. */
typedef struct vy_diag_sink {
    const vy_source *source;
    vyre_diagnostics *list; /* owned by the caller; may be NULL */
    size_t errors;          /* of this text, including errors that the list did not store */
    int out_of_memory;      /* an allocation failed: the text is not at fault */
    vyre_error first;       /* the first error, for vy_diag_sink_status */
    char fix[256];          /* scratch of VY_DIAG_SINK_FIX */
} vy_diag_sink;

/* Formats a fix for the next vy_diag_sink_error into the sink, because VY_FIX would put its buffer into every frame of
 * a recursive function. The next use overwrites it. */
#define VY_DIAG_SINK_FIX(report, ...) vy_fix_format((report)->fix, sizeof(report)->fix, __VA_ARGS__)

/* Adds an error. fix NULL means the default fix of the code. */
void vy_diag_sink_error(vy_diag_sink *report, vy_diag_code code, vy_position at, const char *fix, const char *format,
                        ...) VY_PRINTF(5, 6);
/* Adds the diagnostics that the validator made for a part of this text, without those already in the list from index
 * `from` on (a function is validated once in the library and once in each program that reaches it). error: the result
 * of the validator. */
void vy_diag_sink_merge(vy_diag_sink *report, const vyre_diagnostics *found, size_t from, const vyre_error *error);
/* Whether the text has no errors so far. */
static inline int vy_diag_sink_is_clean(const vy_diag_sink *report) {
    return report->errors == 0 && !report->out_of_memory;
}
/* The overall status: NO_MEMORY, INVALID_PROGRAM with the first error and the number of further ones, or OK. */
vyre_status vy_diag_sink_status(const vy_diag_sink *report, vyre_error *error);

#endif
