/* Printing: what the printer's two files share. */
#ifndef VY_IR_TEXT_PRINT_H
#define VY_IR_TEXT_PRINT_H

#include "base/string.h"
#include "ir/model.h"

typedef struct vy_printer {
    const vyre_program *program;
    vy_string out;
    unsigned indent;
} vy_printer;

/* An expression with the parentheses it needs where everything weaker than `min_precedence` must have some. is_typed: the place
 * gives the type, so that literals may leave out theirs; the parser reads it back to the same type. */
void vy_print_expr(vy_printer *printer, uint32_t root, int is_typed, unsigned min_precedence);
/* Several expressions of one type, as in `a .. b step c`: the first that needs no suffix to have a type gives it to
 * the others. Which one that is (VY_NONE: absent). */
unsigned vy_print_anchor(const vy_printer *printer, const uint32_t roots[3]);
void vy_print_size(vy_printer *printer, uint32_t root, unsigned min_precedence);
/* A string with quotes and escapes. */
void vy_print_string(vy_printer *printer, const char *text);

#endif
