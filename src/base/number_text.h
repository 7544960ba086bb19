/* Conversion between floating-point numbers and text. Nothing here depends on the locale. */
#ifndef VY_BASE_NUMBER_TEXT_H
#define VY_BASE_NUMBER_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Decimal or hexadecimal ("0x1.8p3") float text → bits of a float type with 1 sign, `exponent_bits` and
 * `fraction_bits`, rounded once to nearest-even whatever the length of the text. `length` bytes, no sign, no suffix;
 * "inf" and "nan" are not numbers. A value beyond the largest finite one gives the bits of infinity. exponent_bits 2 …
 * 11, fraction_bits 1 … 52. Returns 0, and bits 0, if the text is not a number. Linear in the length of the text, and
 * allocates nothing. */
int vy_number_to_bits(const char *text, size_t length, unsigned exponent_bits, unsigned fraction_bits, uint64_t *bits);
/* The shortest decimal text that vy_number_to_bits turns back into the same bits, always with a '.' or an exponent;
 * finite positive values only. buffer holds at least 40 bytes. */
void vy_number_from_bits(uint64_t bits, unsigned exponent_bits, unsigned fraction_bits, char *buffer);

#endif
