/* UTF-8 decoding and validation. */
#ifndef VY_BASE_UTF8_H
#define VY_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The first character of the bytes: its length, and the code point; 0 if they do not start with a valid one. */
size_t vy_utf8_decode(const char *text, size_t size, uint32_t *point);
/* Length of the valid UTF-8 prefix of the bytes; equals size if all is valid. */
size_t vy_utf8_valid(const char *text, size_t size);
/* Columns a terminal gives a character: 0 for combining marks, 2 for East Asian wide ones, else 1. */
unsigned vy_utf8_columns(uint32_t point);

#endif
