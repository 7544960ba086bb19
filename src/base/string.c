/* Strings: growing string, formatting, integer text, UTF-8, hashes and spelling suggestions (string.h). A string's
 * capacity includes its NUL. */
#include "base/string.h"

#include <sodium.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Makes room for `extra` more bytes and the NUL. */
static int reserve(vy_string *string, size_t extra) {
    if (string->failed)
        return 0;
    if (extra < string->capacity - string->length)
        return 1;
    size_t needed;
    if (__builtin_add_overflow(string->length, extra, &needed) || needed > PTRDIFF_MAX - 1) {
        string->failed = 1;
        return 0;
    }
    needed++;
    size_t doubled = string->capacity < 32 ? 64 : string->capacity * 2;
    size_t capacity = doubled > needed ? doubled : needed;
    char *text = vy_resize(string->text, string->capacity, capacity);
    if (!text) {
        string->failed = 1;
        return 0;
    }
    string->text = text;
    string->capacity = capacity;
    return 1;
}

void vy_string_append(vy_string *string, const char *text, size_t length) {
    if (!reserve(string, length))
        return;
    if (length)
        memcpy(string->text + string->length, text, length);
    string->length += length;
    string->text[string->length] = 0;
}

void vy_string_prepend(vy_string *string, const char *text, size_t length) {
    if (length == 0 || !reserve(string, length))
        return;
    memmove(string->text + length, string->text, string->length);
    memcpy(string->text, text, length);
    string->length += length;
    string->text[string->length] = 0;
}

char *vy_string_grow(vy_string *string, size_t size) {
    return reserve(string, size) ? string->text + string->length : NULL;
}

void vy_string_add(vy_string *string, const char *text) {
    vy_string_append(string, text, strlen(text));
}

void vy_string_char(vy_string *string, char c) {
    vy_string_append(string, &c, 1);
}

static void append_escaped(vy_string *string, unsigned char c) {
    static const char letters[] = "btn?fr"; /* for 8 … 13; 11 has none */
    if (c == '"' || c == '\\')
        vy_string_format(string, "\\%c", c);
    else if (c >= 8 && c <= 13 && c != 11)
        vy_string_format(string, "\\%c", letters[c - 8]);
    else
        vy_string_format(string, "\\u%04x", c);
}

void vy_string_json(vy_string *string, const char *text) {
    size_t size = strlen(text), at = 0;
    vy_string_char(string, '"');
    while (at < size) {
        size_t valid = at + vy_utf8_valid(text + at, size - at);
        while (at < valid) {
            size_t plain = at;
            while (plain < valid && (unsigned char)text[plain] >= 0x20 && text[plain] != '"' && text[plain] != '\\' &&
                   text[plain] != 0x7f)
                plain++;
            vy_string_append(string, text + at, plain - at);
            at = plain;
            if (at < valid)
                append_escaped(string, (unsigned char)text[at++]);
        }
        if (at < size) {
            vy_string_add(string, "\xef\xbf\xbd");
            at++;
        }
    }
    vy_string_char(string, '"');
}

void vy_string_free(vy_string *string) {
    vy_release(string->text, string->capacity);
    *string = (vy_string){0};
}

vyre_status vy_string_to_bytes(vy_string *string, vyre_bytes *out, vyre_error *error) {
    if (string->failed) {
        vy_string_free(string);
        out->size = 0;
        return vy_fail_memory(error, "a text");
    }
    vyre_bytes_free(out);
    *out = (vyre_bytes){string->text, string->length, string->capacity};
    *string = (vy_string){0};
    return VYRE_OK;
}

/* ---- printf-style formatting ----
 *
 * Most formats are simple. They are formatted here: vsnprintf needs several times as long. */

enum { INT_BYTES = 11 }; /* digits and a sign */

static char *write_int(char *at, int number) {
    if (number < 0)
        *at++ = '-';
    return vy_write_decimal(at, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

/* NULL if the text and a NUL do not fit before `end`. */
static char *write_bounded(char *at, const char *end, const char *text) {
    size_t length = text ? strlen(text) : SIZE_MAX;
    if (length >= (size_t)(end - at))
        return NULL;
    memcpy(at, text, length);
    return at + length;
}

char *vy_write_format(char *at, const char *end, const char *format, va_list arguments) {
    for (; at; format++) {
        size_t plain = strcspn(format, "%");
        if (plain + INT_BYTES >= (size_t)(end - at))
            return NULL;
        memcpy(at, format, plain);
        at += plain;
        format += plain;
        if (!*format)
            return at;
        switch (*++format) {
        case 's':
            at = write_bounded(at, end, va_arg(arguments, const char *));
            break;
        case 'd':
            at = write_int(at, va_arg(arguments, int));
            break;
        case 'u':
            at = vy_write_decimal(at, va_arg(arguments, unsigned));
            break;
        case 'c':
            *at++ = (char)va_arg(arguments, int);
            break;
        case '%':
            *at++ = '%';
            break;
        default:
            return NULL;
        }
    }
    return NULL;
}

static void append_printf(vy_string *string, const char *format, va_list arguments) {
    va_list retry_arguments;
    va_copy(retry_arguments, arguments);
    size_t room = string->capacity - string->length;
    int length = vsnprintf(string->text + string->length, room, format, arguments);
    if (length >= 0 && (size_t)length >= room && vy_string_reserve(string, (size_t)length))
        length = vsnprintf(string->text + string->length, string->capacity - string->length, format, retry_arguments);
    va_end(retry_arguments);
    if (length < 0)
        string->failed = 1;
    if (string->failed)
        string->text[string->length] = 0;
    else
        string->length += (size_t)length;
}

void vy_string_format_list(vy_string *string, const char *format, va_list arguments) {
    char *start = vy_string_reserve(string, 0);
    if (!start)
        return;
    va_list copy;
    va_copy(copy, arguments);
    char *end = vy_write_format(start, string->text + string->capacity, format, copy);
    va_end(copy);
    if (end)
        vy_string_commit(string, end);
    else
        append_printf(string, format, arguments);
}

void vy_string_format(vy_string *string, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vy_string_format_list(string, format, arguments);
    va_end(arguments);
}

/* ---- integer text ----
 *
 * Written by hand because printf needs ten times as long. */

const char vy_digit_pairs[] = "00010203040506070809"
                              "10111213141516171819"
                              "20212223242526272829"
                              "30313233343536373839"
                              "40414243444546474849"
                              "50515253545556575859"
                              "60616263646566676869"
                              "70717273747576777879"
                              "80818283848586878889"
                              "90919293949596979899";

/* Numbers below 10,000, the common case: computes both pairs of digits in one word. */
static char *write_four_digits(char *at, uint32_t number) {
    uint32_t hundreds = number * 5243 >> 19; /* number / 100 */
    uint32_t halves = hundreds | (number - hundreds * 100) << 16;
    uint32_t tens = (halves * 103 >> 10) & 0x000f000f; /* both halves / 10 */
    uint32_t digits = tens | (halves - tens * 10) << 8;
    unsigned zeros = (unsigned)__builtin_ctz(digits | 1u << 24) / 8;
    digits = (digits | 0x30303030) >> zeros * 8;
    memcpy(at, &digits, sizeof digits);
    return at + sizeof digits - zeros;
}

static char *write_digit_pair(char *at, unsigned number) {
    memcpy(at, vy_digit_pairs + 2 * number, 2);
    return at + 2;
}

/* Recursion is bounded: a number has at most 20 digits. */
char *vy_write_decimal_large(char *at, uint64_t number) {
    if (number < 10000)
        return write_four_digits(at, (uint32_t)number);
    unsigned last = (unsigned)(number % 10000);
    return write_digit_pair(write_digit_pair(vy_write_decimal(at, number / 10000), last / 100), last % 100);
}

static char *write_hex(char *at, uint64_t number, unsigned digits, const char *letters) {
    unsigned needed = number ? (67 - (unsigned)__builtin_clzll(number)) / 4 : 1;
    char *end = at + (digits > needed ? digits : needed);
    for (char *cursor = end; cursor > at; number >>= 4)
        *--cursor = letters[number & 15];
    return end;
}

char *vy_write_hex(char *at, uint64_t number, unsigned digits) {
    return write_hex(at, number, digits, "0123456789abcdef");
}

char *vy_write_hex_upper(char *at, uint64_t number, unsigned digits) {
    return write_hex(at, number, digits, "0123456789ABCDEF");
}

static unsigned digit_of(char c) {
    return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
           : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                  : 99;
}

int vy_parse_digits(const char *text, size_t length, unsigned base, uint64_t most, uint64_t *out) {
    uint64_t value = 0;
    int is_over = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = digit_of(text[i]);
        if (digit >= base)
            return 0;
        is_over |= digit > most || value > (most - digit) / base;
        value = is_over ? 0 : value * base + digit;
    }
    if (is_over || length == 0)
        return is_over ? -1 : 0;
    *out = value;
    return 1;
}

/* ---- UTF-8 ----
 *
 * Validity follows Unicode 15, table 3-7: no overlong forms, no surrogates, no code point above U+10FFFF. */

size_t vy_utf8_decode(const char *text, size_t size, uint32_t *point) {
    const unsigned char *bytes = (const unsigned char *)text;
    if (size == 0)
        return 0;
    unsigned lead = bytes[0];
    if (lead < 0x80) {
        *point = lead;
        return 1;
    }
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (size < length)
        return 0;
    /* The second byte excludes overlong forms, surrogates and values that are too large. */
    unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (bytes[1] < low || bytes[1] > high)
        return 0;
    uint32_t value = lead & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (bytes[i] & 0x3f);
    }
    *point = value;
    return length;
}

size_t vy_utf8_valid(const char *text, size_t size) {
    size_t at = 0;
    while (at < size) {
        uint32_t point;
        size_t length = vy_utf8_decode(text + at, size - at, &point);
        if (length == 0)
            break;
        at += length;
    }
    return at;
}

typedef struct range {
    uint32_t first, last;
} range;

static int within(const range *ranges, size_t count, uint32_t point) {
    for (size_t i = 0; i < count; i++) {
        if (point >= ranges[i].first && point <= ranges[i].last)
            return 1;
    }
    return 0;
}

unsigned vy_utf8_columns(uint32_t point) {
    /* Blocks of combining marks, joiners and variation selectors; blocks that East Asian Width calls wide, and
     * emoji. */
    static const range none[] = {{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x1ab0, 0x1aff},
                                 {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x2060, 0x2064}, {0x20d0, 0x20ff},
                                 {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef}};
    static const range two[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},  {0x3041, 0x4dbf},   {0x4e00, 0xa4cf},
                                {0xa960, 0xa97c},   {0xac00, 0xd7a3},  {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
                                {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
                                {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
    if (point < 0x300)
        return 1;
    if (within(none, sizeof none / sizeof none[0], point))
        return 0;
    return within(two, sizeof two / sizeof two[0], point) ? 2 : 1;
}

/* Hashes (string.h). BLAKE2b of libsodium works without sodium_init; until that is called, the portable code runs. */
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t vy_hash(const void *data, size_t size) {
    return XXH3_64bits(data, size);
}

void vy_checksum(const void *data, size_t size, uint8_t out[16]) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, size));
    memcpy(out, canonical.digest, sizeof canonical.digest);
}

void vy_digest(const void *data, size_t size, vyre_digest *out) {
    crypto_generichash(out->bytes, sizeof out->bytes, data, size, NULL, 0);
}

void vyre_digest_format(const vyre_digest *digest, char text[65]) {
    static const char digits[] = "0123456789abcdef";
    if (text && !digest)
        text[0] = 0;
    if (!text || !digest)
        return;
    for (size_t i = 0; i < sizeof digest->bytes; i++) {
        text[2 * i] = digits[digest->bytes[i] >> 4];
        text[2 * i + 1] = digits[digest->bytes[i] & 15];
    }
    text[64] = 0;
}

/* Spelling suggestions: the optimal string alignment distance (insert, delete, replace, transpose), case-insensitive.
 *
 * A suggestion becomes a fix, so a different word must not be close: `sin` is not a typo of `min`, `gpu` not of `cpu`,
 * `atomic_inc` not of `atomic_and`. Hence a replacement costs two in words of up to three letters, and words with the
 * same number of parts between underscores are compared part by part, each with the tolerance for its length. */
#define LONGEST (sizeof((vy_suggestion *)0)->best - 1)

static char fold(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The largest distance at which a word of this length counts as a typo: 0 for one letter, since every letter would be
 * close. */
static unsigned tolerance(size_t length) {
    return length < 2 ? 0 : length < 6 ? 1 : length < 9 ? 2 : 3;
}

static unsigned smallest(unsigned a, unsigned b, unsigned c) {
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Optimal string alignment distance; `replace` is the cost of a replacement. */
static unsigned edit_distance(const char *a, size_t a_length, const char *b, size_t b_length, unsigned replace) {
    unsigned rows[3][LONGEST + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    for (unsigned j = 0; j <= b_length; j++)
        above[j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        row[0] = i;
        for (unsigned j = 1; j <= b_length; j++) {
            char x = fold(a[i - 1]), y = fold(b[j - 1]);
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y ? replace : 0));
            if (i > 1 && j > 1 && x == fold(b[j - 2]) && fold(a[i - 2]) == y && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        unsigned *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b_length];
}

/* The distance of two words, regardless of their parts; UINT32_MAX if it exceeds the tolerance. */
static unsigned word_distance(const char *given, size_t given_length, const char *word, size_t length) {
    unsigned limit = tolerance(given_length);
    if (length == 0 || given_length == 0 || length > given_length + limit || given_length > length + limit)
        return length == given_length ? 0 : UINT32_MAX;
    unsigned distance = edit_distance(given, given_length, word, length, given_length < 4 ? 2 : 1);
    return distance <= limit && distance < length ? distance : UINT32_MAX;
}

static size_t part_count(const char *word, size_t length) {
    size_t count = 1;
    for (size_t i = 0; i < length; i++)
        count += word[i] == '_';
    return count;
}

static size_t part_length(const char *part, size_t length) {
    const char *end = memchr(part, '_', length);
    return end ? (size_t)(end - part) : length;
}

/* The sum of the distances of the parts of two words with equally many parts. */
static unsigned part_distance(const char *given, size_t given_length, const char *word, size_t length) {
    unsigned sum = 0;
    for (size_t left = part_count(given, given_length); left > 0; left--) {
        size_t a = part_length(given, given_length), b = part_length(word, length);
        unsigned distance = word_distance(given, a, word, b);
        if (distance == UINT32_MAX)
            return distance;
        sum += distance;
        given += a + (left > 1);
        given_length -= a + (left > 1);
        word += b + (left > 1);
        length -= b + (left > 1);
    }
    return sum;
}

void vy_suggestion_start(vy_suggestion *suggestion, const char *given, size_t length) {
    *suggestion = (vy_suggestion){.given = given, .given_length = length, .distance = UINT32_MAX};
}

void vy_suggestion_offer(vy_suggestion *suggestion, const char *candidate) {
    size_t length = strlen(candidate), given = suggestion->given_length;
    if (length == 0 || length > LONGEST || given == 0 || given > LONGEST)
        return;
    unsigned distance = part_count(suggestion->given, given) == part_count(candidate, length)
                            ? part_distance(suggestion->given, given, candidate, length)
                            : word_distance(suggestion->given, given, candidate, length);
    if (distance == UINT32_MAX)
        return;
    /* Doubled, so that a difference in case alone counts as half an edit. */
    int same = length == given && memcmp(suggestion->given, candidate, length) == 0;
    distance = 2 * distance + (same ? 0 : 1);
    if (distance >= suggestion->distance)
        return;
    suggestion->distance = distance;
    memcpy(suggestion->best, candidate, length + 1);
}

const char *vy_suggestion_get(const vy_suggestion *suggestion) {
    return suggestion->best[0] ? suggestion->best : NULL;
}
