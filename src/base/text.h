/* Text helpers: a growing string, name tables, spelling suggestions, UTF-8, numbers in text. Nothing here depends on
 * the locale. */
#ifndef VY_BASE_TEXT_H
#define VY_BASE_TEXT_H

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

/* Names: a pool of distinct NUL-terminated strings; a name is its offset in the pool, 0 is "". Equal strings have equal
 * names. */
typedef uint32_t vy_symbol;
#define VY_SYMBOL_INVALID UINT32_MAX
typedef struct vy_intern_slot {
    vy_symbol name; /* empty = UINT32_MAX */
    uint32_t hash;  /* of its text: a larger table is filled without a look at the pool */
} vy_intern_slot;
typedef struct vy_intern_pool {
    char *pool;
    uint32_t size, capacity;
    vy_intern_slot *slots; /* open addressing */
    uint32_t slot_count, used;
} vy_intern_pool;
/* A text ends at its first NUL or at `length`. */
vy_symbol vy_intern_pool_add(vy_intern_pool *names, const char *text,
                             size_t length); /* VY_SYMBOL_INVALID when memory is out */
vy_symbol vy_intern_pool_add_numbered(vy_intern_pool *names, char letter,
                                      uint32_t number); /* the same of a text as v123 */
vy_symbol vy_intern_pool_find(const vy_intern_pool *names, const char *text,
                              size_t length); /* VY_SYMBOL_INVALID if absent */
int vy_intern_pool_reserve(vy_intern_pool *names,
                           const vy_intern_pool *like); /* room for as many; 0 when memory is out */
int vy_intern_pool_reserve_more(vy_intern_pool *names, uint32_t count,
                                uint32_t length); /* so many more, of that length */
int vy_intern_pool_copy(vy_intern_pool *to,
                        const vy_intern_pool *from); /* to an empty pool, with the same offsets; 0 when memory is out */
void vy_intern_pool_free(vy_intern_pool *names);

/* The candidate nearest to `given` in edit distance, if near enough to be a plausible typo; else NULL. Feed candidates
 * one by one. */
typedef struct vy_suggestion {
    const char *given;
    size_t given_length;
    char best[64];
    unsigned distance;
} vy_suggestion;
void vy_suggestion_start(vy_suggestion *suggestion, const char *given, size_t length);
void vy_suggestion_offer(vy_suggestion *suggestion, const char *candidate);
const char *vy_suggestion_get(const vy_suggestion *suggestion); /* NULL if none is near */

/* Length of the valid UTF-8 prefix of the bytes; equals size if all is valid. */
size_t vy_utf8_valid(const char *text, size_t size);

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
