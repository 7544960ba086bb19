/* Values as people write and read them: scalars of every type, and specifications of whole buffers. */
#ifndef TOOL_SCALAR_TEXT_H
#define TOOL_SCALAR_TEXT_H

#include "tool/tool.h"
#include "vyre/type.h"

enum { TOOL_SCALAR_TEXT = 48 }; /* bytes that hold any value as text */

/* Reads one literal: 1, -7, 0x1f, 2.5, 1e-3, 0x1.8p3, inf, -inf, nan, true, false; a suffix naming the type itself is accepted (2.0f32).
 * Refuses what the type cannot hold: an integer out of range, a fraction for an integer. Decimal text is rounded once. */
vyre_status tool_scalar_read(const char *text, size_t length, vyre_type type, uint64_t *bits, vyre_error *error);
/* Writes a value so that tool_scalar_read gives the same bits again. */
void tool_scalar_write(vyre_type type, uint64_t bits, char text[TOOL_SCALAR_TEXT]);
/* Whether the value, seen as a number, is below the other; false for NaN. */
int tool_scalar_less(vyre_type type, uint64_t a, uint64_t b);

#endif
