/* Conversion between floating-point numbers and text. Nothing here depends on the locale. */
#ifndef VY_BASE_NUMBER_TEXT_H
#define VY_BASE_NUMBER_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Parses decimal or hexadecimal ("0x1.8p3") text to the bits of a float type with 1 sign bit, `exponent_bits` (2 … 11)
 * and `fraction_bits` (1 … 52), rounded once to nearest-even for a text of any length. The text has neither sign nor
 * suffix; "inf" and "nan" are not numbers. A value beyond the largest finite one becomes infinity. Returns 0, with bits
 * 0, if the text is not a number. Linear time; allocates nothing. */
int vy_number_to_bits(const char *text, size_t length, unsigned exponent_bits, unsigned fraction_bits, uint64_t *bits);
/* The shortest decimal text that vy_number_to_bits converts to the same bits, always with a '.' or an exponent. For
 * finite positive values. buffer has at least 40 bytes. */
void vy_number_from_bits(uint64_t bits, unsigned exponent_bits, unsigned fraction_bits, char *buffer);

#endif
