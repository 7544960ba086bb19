/* Text form of scalars of every type: parsing and printing. */
#ifndef TOOL_SCALAR_TEXT_H
#define TOOL_SCALAR_TEXT_H

#include "tool/tool.h"
#include "vyre/type.h"

enum { TOOL_SCALAR_TEXT = 48 }; /* buffer size that suffices for any value */

/* Reads one literal: 1, -7, 0x1f, 2.5, 1e-3, 0x1.8p3, inf, -inf, nan, true, false. A suffix that names the type itself
 * is accepted (2.0f32). Refuses values that the type cannot represent: an integer out of range, a fraction for an
 * integer. Decimal text is rounded once. */
vyre_status tool_scalar_read(const char *text, size_t length, vyre_type type, uint64_t *bits, vyre_error *error);
/* Writes a value so that tool_scalar_read returns the same bits. */
void tool_scalar_write(vyre_type type, uint64_t bits, char text[TOOL_SCALAR_TEXT]);
/* Numeric a < b; false if either is NaN. */
int tool_scalar_less(vyre_type type, uint64_t a, uint64_t b);

#endif
