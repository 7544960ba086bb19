/* Strings: a growing string, printf-style formatting, integer text, UTF-8, hashes and spelling suggestions. Nothing
 * here depends on the locale. */
#ifndef VY_BASE_STRING_H
#define VY_BASE_STRING_H

#include "base/memory.h"
#include "base/status.h"
#include "vyre/base.h"

#include <stdarg.h>
#include <stddef.h>

/* A growing string. Initialise with zeros. An append after a failed allocation is ignored and `failed` stays set, so a
 * printer checks once at the end. text is NUL-terminated unless it is NULL. */
typedef struct vy_string {
    char *text;
    size_t length, capacity;
    int failed;
} vy_string;

void vy_string_append(vy_string *string, const char *text, size_t length);
void vy_string_add(vy_string *string, const char *text); /* NUL-terminated text */
void vy_string_char(vy_string *string, char c);
void vy_string_prepend(vy_string *string, const char *text, size_t length);
void vy_string_format(vy_string *string, const char *format, ...) VY_PRINTF(2, 3);
void vy_string_format_list(vy_string *string, const char *format, va_list arguments) VY_PRINTF(2, 0);
/* Appends text as a quoted JSON string; invalid UTF-8 becomes U+FFFD. */
void vy_string_json(vy_string *string, const char *text);
void vy_string_free(vy_string *string);
/* Moves the contents to `out`, whose previous contents are freed, and resets the string; NO_MEMORY if an append failed.
 * A NUL follows the bytes unless the string is empty. */
vyre_status vy_string_to_bytes(vy_string *string, vyre_bytes *out, vyre_error *error);

/* ---- unchecked writes, for printers of many short pieces ----
 *
 * The caller reserves room once. Each vy_write_* function writes a piece at `at` without a NUL and returns its end. */

/* The end of the string, with room for `size` more bytes and a NUL; NULL if out of memory. */
char *vy_string_grow(vy_string *string, size_t size);
static inline char *vy_string_reserve(vy_string *string, size_t size) {
    int has_room = size < string->capacity - string->length && !string->failed;
    return has_room ? string->text + string->length : vy_string_grow(string, size);
}
/* Makes the bytes written up to `end` part of the string. */
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
/* A packed text is 1 to 8 bytes in a word, the first byte lowest, padded with zeros. */

/* The length of a packed text, which is not empty. */
static inline unsigned vy_packed_length(uint64_t word) {
    return ((unsigned)__builtin_clzll(word) ^ 63) / 8 + 1; /* the highest set bit is in the last byte */
}
/* Packs a text of 1 to 8 bytes; constant-folded for a literal. */
static inline uint64_t vy_pack_text(const char *text) {
    uint64_t word = 0;
    if (__builtin_constant_p(strlen(text)))
        memcpy(&word, text, strlen(text));
    else
        for (unsigned i = 0; text[i]; i++)
            word |= (uint64_t)(unsigned char)text[i] << 8 * i;
    return word;
}
/* Always stores eight bytes. Hosts are little-endian (ir/eval.h). */
static inline char *vy_write_packed(char *at, uint64_t word) {
    memcpy(at, &word, sizeof word);
    return at + vy_packed_length(word);
}

/* ---- integer text ---- */

extern const char vy_digit_pairs[];                      /* "000102...99" */
char *vy_write_decimal_large(char *at, uint64_t number); /* number >= 100 */
/* Writes at most 20 digits. May store 2 or 4 bytes even if the number has fewer digits. */
static inline char *vy_write_decimal(char *at, uint64_t number) {
    unsigned zeros = number < 10; /* leading zeros of the pair */
    if (number >= 100)
        return vy_write_decimal_large(at, number);
    memcpy(at, vy_digit_pairs + 2 * number + zeros, 2);
    return at + 2 - zeros;
}
/* Formats %s, %d, %u, %c and %%. Returns NULL on any other conversion, or without room for the text and one more number
 * before `end`. */
char *vy_write_format(char *at, const char *end, const char *format, va_list arguments) VY_PRINTF(3, 0);
/* Pads with zeros to `digits` digits, 16 at most. */
char *vy_write_hex(char *at, uint64_t number, unsigned digits);
char *vy_write_hex_upper(char *at, uint64_t number, unsigned digits);

/* Parses digits of base 10 or 16, without sign and prefix. Returns 1; 0 if the text is not such a number; -1 if it
 * exceeds `most`. Sets *out only if it returns 1. */
int vy_parse_digits(const char *text, size_t length, unsigned base, uint64_t most, uint64_t *out);

/* ---- UTF-8 ---- */

/* Decodes the first character: returns its length and sets the code point; 0 if the bytes do not start with a valid
 * character. */
size_t vy_utf8_decode(const char *text, size_t size, uint32_t *point);
/* The length of the valid UTF-8 prefix; equals size if all of the text is valid. */
size_t vy_utf8_valid(const char *text, size_t size);
/* Terminal columns of a character: 0 for combining marks, 2 for East Asian wide characters, else 1. */
unsigned vy_utf8_columns(uint32_t point);

/* Hashes: XXH3 for tables in memory and checksums, BLAKE2b for identity. */
/* XXH3. For tables in memory only: never stored, never used as an identity. */
uint64_t vy_hash(const void *data, size_t size);

/* XXH3-128 in its canonical form, which may be stored: detects accidental changes at thirty times the speed of a
 * digest. It is not a protection against an attacker, which can compute it, too. */
void vy_checksum(const void *data, size_t size, uint8_t out[16]);

/* BLAKE2b-256 of the bytes. */
void vy_digest(const void *data, size_t size, vyre_digest *out);

/* Spelling suggestions by edit distance. */
/* Finds the candidate with the smallest edit distance to `given` that is small enough for a typo. Candidates are
 * offered one by one. */
typedef struct vy_suggestion {
    const char *given;
    size_t given_length;
    char best[64];
    unsigned distance;
} vy_suggestion;
void vy_suggestion_start(vy_suggestion *suggestion, const char *given, size_t length);
void vy_suggestion_offer(vy_suggestion *suggestion, const char *candidate);
const char *vy_suggestion_get(const vy_suggestion *suggestion); /* NULL if no candidate is close enough */

#endif
