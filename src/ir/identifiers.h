/* Identifiers: which names programs, variables, functions, ops and dialects may have. The lexer, the verifier, the builder and dialects
 * share these rules, so that every program can be printed and read back. */
#ifndef VY_IR_IDENTIFIERS_H
#define VY_IR_IDENTIFIERS_H

#include <stddef.h>

/* [A-Za-z_][A-Za-z0-9_]*, at most VY_LIMIT_NAME bytes. Keywords pass: ask vy_text_is_keyword too. */
int vy_text_is_identifier(const char *text, size_t length);
/* Reserved words: no variable, memory, function or program may be called so. */
int vy_text_is_keyword(const char *text, size_t length);
/* May this name a variable, memory, param or program? An identifier that is no keyword. */
int vy_text_is_name(const char *text, size_t length);
/* May this name a function? As above, and not an op that is written as a call (`min`, `sqrt`, `len`, …); or an op id, which the
 * function then stands for. */
int vy_text_is_function_name(const char *text, size_t length);
/* An op id: two or more parts joined by `.` or `::`, at most VY_LIMIT_NAME bytes. A part is a letter or `_`, then letters, digits, `_` and `-`; the
 * first one is not a keyword. */
int vy_text_is_op_id(const char *text, size_t length);
#define VY_OP_ID_FIX                                                                                                   \
    "write dialect.name: parts of letters, digits, `_` and `-` that begin with a letter or `_`, joined by `.` or "     \
    "`::`, at "                                                                                                        \
    "most %d bytes"
/* The name of a dialect: the same with one or more parts. */
int vy_text_is_dialect_name(const char *text, size_t length);
/* One part of an op id after the first, so a keyword passes. */
int vy_text_is_op_part(const char *text, size_t length);
/* An op id that the text form writes without quotes: identifiers joined by dots. */
int vy_text_is_bare_op_id(const char *text, size_t length);
/* The offset of the rest of an op id behind the name of a dialect and a separator; 0 if it does not begin with them. */
size_t vy_op_id_after(const char *id, size_t length, const char *dialect);
/* The offset of the last part of an op id; 0 if there is only one. */
size_t vy_op_id_last(const char *id, size_t length);

#endif
