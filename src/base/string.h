/* A growing string, printf-style formatting and integer text. Nothing here depends on the locale. */
#ifndef VY_BASE_STRING_H
#define VY_BASE_STRING_H

#include "base/memory.h"
#include "base/status.h"

#include <stdarg.h>

/* A string that grows. Initialise with zeros. Appending after a failed allocation is ignored and `failed` stays set, so
 * that a printer checks once at the end. text is NUL-terminated whenever it is not NULL. */
typedef struct vy_string {
    char *text;
    size_t length, capacity;
    int failed;
} vy_string;

void vy_string_append(vy_string *string, const char *text, size_t length);
void vy_string_add(vy_string *string, const char *text); /* NUL-terminated text */
void vy_string_char(vy_string *string, char c);
void vy_string_prepend(vy_string *string, const char *text, size_t length); /* before what is there */
void vy_string_format(vy_string *string, const char *format, ...) VY_PRINTF(2, 3);
void vy_string_format_list(vy_string *string, const char *format, va_list arguments) VY_PRINTF(2, 0);
/* Text as a JSON string with its quotes; invalid UTF-8 becomes U+FFFD. */
void vy_string_json(vy_string *string, const char *text);
void vy_string_free(vy_string *string);
/* Hands the contents over as bytes (replacing what out held) and resets the string; NO_MEMORY if an append had failed.
 * Unless they are empty, a NUL follows the bytes. */
vyre_status vy_string_to_bytes(vy_string *string, vyre_bytes *out, vyre_error *error);

/* Text by hand, for who writes thousands of short pieces: room is asked for once, then each piece is put at a place, without a NUL, and gives the place
 * behind it. */

/* Where `size` more bytes and a NUL have room; NULL when memory is out. */
char *vy_string_grow(vy_string *string, size_t size);
static inline char *vy_string_reserve(vy_string *string, size_t size) {
    int is_there = size < string->capacity - string->length && !string->failed;
    return is_there ? string->text + string->length : vy_string_grow(string, size);
}
/* What was put there, up to `end`, is part of the string. */
static inline void vy_string_commit(vy_string *string, char *end) {
    string->length = (size_t)(end - string->text);
    *end = 0;
}
static inline char *vy_write_text(char *at, const char *text) {
    if (__builtin_constant_p(strlen(text))) { /* a few stores */
        memcpy(at, text, strlen(text));
        return at + strlen(text);
    }
    while (*text)
        *at++ = *text++;
    return at;
}
/* How long a text is whose bytes are those of a word, the first lowest, and zeros behind it; not of an empty one. */
static inline unsigned vy_packed_length(uint64_t word) {
    return ((unsigned)__builtin_clzll(word) ^ 63) / 8 + 1; /* the place of the highest bit is in the last byte */
}
/* A text of 1 to 8 bytes as such a word; of a literal, a constant. */
static inline uint64_t vy_pack_text(const char *text) {
    uint64_t word = 0;
    if (__builtin_constant_p(strlen(text)))
        memcpy(&word, text, strlen(text));
    else
        for (unsigned i = 0; text[i]; i++)
            word |= (uint64_t)(unsigned char)text[i] << 8 * i;
    return word;
}
/* Writes eight bytes. Hosts are little-endian (ir/eval.h). */
static inline char *vy_write_packed(char *at, uint64_t word) {
    memcpy(at, &word, sizeof word);
    return at + vy_packed_length(word);
}
extern const char vy_digit_pairs[];                      /* of every number below 100 */
char *vy_write_decimal_large(char *at, uint64_t number); /* 100 and more */
/* 20 bytes at most; 2 or 4 are written at least. */
static inline char *vy_write_decimal(char *at, uint64_t number) {
    unsigned zeros = number < 10; /* before the last digit */
    if (number >= 100)
        return vy_write_decimal_large(at, number);
    memcpy(at, vy_digit_pairs + 2 * number + zeros, 2);
    return at + 2 - zeros;
}
/* By a format of %s, %d, %u, %c and %% alone; NULL if there is anything else in it, or no room for that and a number before `end`. */
char *vy_write_format(char *at, const char *end, const char *format, va_list arguments) VY_PRINTF(3, 0);
/* At least so many digits, 16 at most. */
char *vy_write_hex(char *at, uint64_t number, unsigned digits);
char *vy_write_hex_upper(char *at, uint64_t number, unsigned digits);

/* Digits of base 10 or 16 and nothing else, no sign and no prefix, → the number. 0: it is none; -1: it is over `most`; *out is unset then. */
int vy_parse_digits(const char *text, size_t length, unsigned base, uint64_t most, uint64_t *out);

#endif
