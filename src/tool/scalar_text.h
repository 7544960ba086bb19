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

/* Makes the bytes of a buffer from a specification:
 *
 *   1,2,3.5          literals; nothing at all = no elements
 *   zeros:N ones:N   N may be left out where the program fixes the count
 *   iota:N           0, 1, 2, …
 *   random:SEED:N[:LO:HI]   floats in [0, 1) or [LO, HI), integers over their whole range or [LO, HI); the same on every machine
 *   text:WORDS       the bytes of the text, for 8-bit elements
 *   @FILE            the bytes of a file
 *   FILE.npy         an array of the same element type, in C order
 *
 * fixed  the count the program fixes, or UINT64_MAX; used where N is left out, not checked otherwise */
vyre_status tool_buffer_spec_read(const char *spec, vyre_type type, uint64_t fixed, vyre_bytes *out, vyre_error *error);

#endif
