/* Diagnostic codes: one list, from which names, explanations and docs/errors.md derive.
 *
 * Each room keeps its rows in a file of its own beside this one; diagnostic_codes.c joins them. X(CODE, title, text, fix): the code is
 * a letter and three digits, stable for ever. T = text form, V = validator, W = wire form,
 * B = builder, D = dialect files (TOML and manifests), R = found while running.
 *
 * A row with a fix has a case in tests/tool/fixes, which applies it. */
#ifndef VY_IR_DIAGNOSTIC_CODES_H
#define VY_IR_DIAGNOSTIC_CODES_H

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

#endif
