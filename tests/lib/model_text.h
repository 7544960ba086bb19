/* The dialect `text`: the C library in its own locale, and encodings from their definitions. */
#ifndef VY_TESTS_MODEL_TEXT_H
#define VY_TESTS_MODEL_TEXT_H

#include "lib/map.h"

#include <ctype.h>

#define TEXT_CLASS(name, function)                                                                                     \
    static void text_##name(const uint64_t *in, uint64_t *out) {                                                       \
        out[0] = in[0] < 128 && function((int)in[0]);                                                                  \
    }
TEXT_CLASS(is_upper, isupper)
TEXT_CLASS(is_lower, islower)
TEXT_CLASS(is_digit, isdigit)
TEXT_CLASS(is_alpha, isalpha)
TEXT_CLASS(is_alnum, isalnum)
TEXT_CLASS(is_hex_digit, isxdigit)
TEXT_CLASS(is_space, isspace)
TEXT_CLASS(is_punctuation, ispunct)
TEXT_CLASS(is_control, iscntrl)

static void text_to_lower(const uint64_t *in, uint64_t *out) {
    out[0] = in[0] < 128 ? (uint64_t)tolower((int)in[0]) : in[0];
}

static void text_to_upper(const uint64_t *in, uint64_t *out) {
    out[0] = in[0] < 128 ? (uint64_t)toupper((int)in[0]) : in[0];
}

static const char text_hex[] = "0123456789abcdef";
static const char text_base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void text_hex_digit(const uint64_t *in, uint64_t *out) {
    out[0] = (uint8_t)text_hex[in[0] % 16];
}

static uint64_t text_find(const char *digits, uint64_t byte) {
    const char *at = byte ? strchr(digits, (int)byte) : NULL;
    return at ? (uint64_t)(at - digits) : 255;
}

static void text_hex_value(const uint64_t *in, uint64_t *out) {
    out[0] = text_find(text_hex, in[0] >= 'A' && in[0] <= 'F' ? in[0] + 32 : in[0]);
}

static void text_hex_encode(const uint64_t *in, uint64_t *out) {
    char digits[9];
    snprintf(digits, sizeof digits, "%08x", (uint32_t)in[0]);
    memcpy(out, digits, 8);
}

static void text_hex_decode(const uint64_t *in, uint64_t *out) {
    char digits[9] = {0};
    memcpy(digits, in, 8);
    out[1] = strspn(digits, "0123456789abcdefABCDEF") == 8;
    out[0] = out[1] ? strtoul(digits, NULL, 16) : 0;
}

static void text_base64_digit(const uint64_t *in, uint64_t *out) {
    out[0] = (uint8_t)text_base64[in[0] % 64];
}

static void text_base64_value(const uint64_t *in, uint64_t *out) {
    out[0] = text_find(text_base64, in[0]);
}

/* RFC 4648, section 4: 24-bit groups of four 6-bit digits, filled up with zero bits; a digit without any bit of the
 * input is '='. */
static void text_base64_encode(const uint64_t *in, uint64_t *out) {
    size_t count = in[1] < 3 ? (size_t)in[1] : 3;
    unsigned bits[24] = {0};
    for (size_t i = 0; i < 8 * count; i++)
        bits[i] = in[0] >> (i / 8 * 8 + 7 - i % 8) & 1;
    for (size_t d = 0; d < 4 && count > 0; d++) {
        unsigned value = 0;
        for (size_t i = 0; i < 6; i++)
            value = 2 * value + bits[6 * d + i];
        out[0] |= (uint64_t)(uint8_t)(6 * d < 8 * count ? text_base64[value] : '=') << (8 * d);
    }
}

/* What encodes to these digits, if anything does. */
static void text_base64_decode(const uint64_t *in, uint64_t *out) {
    uint64_t values = 0, again = 0, operands[2];
    size_t digits = 4;
    while (digits > 0 && (in[0] >> (8 * (digits - 1)) & 255) == '=')
        digits--;
    for (size_t d = 0; d < 4; d++)
        values = values << 6 | (d < digits ? text_find(text_base64, in[0] >> (8 * d) & 255) & 63 : 0);
    operands[0] = (values >> 16 & 255) | (values & 0xff00) | (values & 255) << 16;
    operands[1] = digits < 1 ? 0 : digits - 1;
    text_base64_encode(operands, &again);
    if (again == in[0] && operands[1] > 0) {
        out[0] = operands[0];
        out[1] = operands[1];
    }
}

/* RFC 3629, by the number of bits that a character needs; not for surrogates. Returns the size, 0 if it has no
 * encoding. */
static size_t text_put(uint32_t c, uint8_t *bytes) {
    size_t size = c < 1u << 7 ? 1 : c < 1u << 11 ? 2 : c < 1u << 16 ? 3 : 4;
    if (c > 0x10ffff || (c >> 11) == 0x1b)
        return 0;
    for (size_t i = size; i-- > 1; c /= 64)
        bytes[i] = (uint8_t)(128 + c % 64);
    bytes[0] = (uint8_t)(c + (size == 1 ? 0 : 256 - (256 >> size)));
    return size;
}

static void text_utf8_encode(const uint64_t *in, uint64_t *out) {
    uint8_t bytes[4] = {0};
    size_t size = in[0] <= UINT32_MAX ? text_put((uint32_t)in[0], bytes) : 0;
    if (size == 0)
        size = text_put(0xfffd, bytes);
    memcpy(out, bytes, 4);
    out[1] = size;
}

/* Which byte strings of up to four start a character: found by writing all of them. */
static uint8_t *text_starts(void) {
    static uint8_t *starts[3]; /* of one, two and three bytes, one bit each */
    static uint8_t all[(1 << 8) + (1 << 16) + (1 << 24)];
    if (!starts[0]) {
        starts[0] = all;
        for (uint32_t c = 0; c <= 0x10ffff; c++) {
            uint8_t b[4] = {0};
            size_t size = text_put(c, b);
            if (size > 0)
                all[b[0]] = 1;
            if (size > 1)
                all[(1 << 8) + (b[0] | b[1] << 8)] = 1;
            if (size > 2)
                all[(1 << 8) + (1 << 16) + (b[0] | b[1] << 8 | b[2] << 16)] = 1;
        }
    }
    return all;
}

/* The character at the start: the one whose bytes these are, else U+FFFD for as many bytes as start some character. */
static size_t text_get(const uint8_t *data, size_t size, uint32_t *c) {
    const uint8_t *starts = text_starts();
    size_t length = 1, need = data[0] < 0xc0 ? 1 : data[0] < 0xe0 ? 2 : data[0] < 0xf0 ? 3 : 4;
    uint8_t again[4];

    *c = 0xfffd;
    if (need <= size) {
        uint32_t value = data[0] & (need == 1 ? 0xff : 0x7f >> need);
        for (size_t i = 1; i < need; i++)
            value = value << 6 | (data[i] & 63);
        if (text_put(value, again) == need && memcmp(again, data, need) == 0) {
            *c = value;
            return need;
        }
    }
    if (size > 1 && starts[(1 << 8) + (data[0] | data[1] << 8)]) {
        length = 2;
        if (size > 2 && starts[(1 << 8) + (1 << 16) + (data[0] | data[1] << 8 | data[2] << 16)])
            length = 3;
    }
    return length;
}

static int text_valid(const uint8_t *data, size_t size) {
    while (size > 0) {
        uint32_t c;
        size_t length = text_get(data, size, &c);
        if (c == 0xfffd && !(length == 3 && memcmp(data, "\xef\xbf\xbd", 3) == 0))
            return 0;
        data += length;
        size -= length;
    }
    return 1;
}

static const map_function text_functions[] = {
    {"is_upper", "u8 -> bool", text_is_upper},
    {"is_lower", "u8 -> bool", text_is_lower},
    {"is_digit", "u8 -> bool", text_is_digit},
    {"is_alpha", "u8 -> bool", text_is_alpha},
    {"is_alnum", "u8 -> bool", text_is_alnum},
    {"is_hex_digit", "u8 -> bool", text_is_hex_digit},
    {"is_space", "u8 -> bool", text_is_space},
    {"is_punctuation", "u8 -> bool", text_is_punctuation},
    {"is_control", "u8 -> bool", text_is_control},
    {"to_lower", "u8 -> u8", text_to_lower},
    {"to_upper", "u8 -> u8", text_to_upper},
    {"hex_digit", "u8 -> u8", text_hex_digit},
    {"hex_value", "u8 -> u8", text_hex_value},
    {"hex_encode_u32", "u32 -> u64", text_hex_encode},
    {"hex_decode_u32", "u64 -> u32 bool", text_hex_decode},
    {"base64_digit", "u8 -> u8", text_base64_digit},
    {"base64_value", "u8 -> u8", text_base64_value},
    {"base64_encode", "u32 u32 -> u32", text_base64_encode},
    {"base64_decode", "u32 -> u32 u32", text_base64_decode},
    {"utf8_encode", "u32 -> u32 u32", text_utf8_encode},
};

/* Bytes that are nearly UTF-8: characters of all lengths, with a byte changed, dropped or added here and there. */
static inline size_t text_make(uint8_t *data, size_t room, unsigned mistakes, vy_random *random) {
    static const uint32_t edges[] = {0,      0x7f,   0x80,   0x7ff,   0x800,    0xd7ff,
                                     0xe000, 0xfffd, 0xffff, 0x10000, 0x10ffff, 0x20ac};
    size_t size = 0;
    while (size < room) {
        uint8_t bytes[4];
        uint32_t c = vy_random_below(random, 2)
                         ? edges[vy_random_below(random, 12)]
                         : (uint32_t)(vy_random_next(random) & 0x1fffff) >> vy_random_below(random, 21);
        size_t length = text_put(c, bytes);
        if (length == 0 || size + length > room)
            break;
        memcpy(data + size, bytes, length);
        size += length;
    }
    for (unsigned i = 0; i < mistakes && size > 0; i++)
        data[vy_random_below(random, size)] = (uint8_t)vy_random_next(random);
    return mistakes && size > 0 ? size - (size_t)vy_random_below(random, 2) : size;
}

/* Validates and counts the ranges between `count` + 1 offsets, and decodes at every byte of the first. */
static inline void text_ranges(const uint8_t *data, const uint32_t *offsets, size_t count, int checked) {
    static const char program[] = "program ranges {\n"
                                  "  buffer data : u8 read\n"
                                  "  buffer offsets : u32 read\n"
                                  "  buffer valid : u8 write count len(offsets) - 1\n"
                                  "  buffer counts : u32 write count len(offsets) - 1\n"
                                  "  workgroup 64\n"
                                  "  grid elements len(offsets) - 1\n"
                                  "  let i = global_id.x\n"
                                  "  if i + 1 < len(offsets) {\n"
                                  "    let at = offsets[i]\n"
                                  "    let size = offsets[i + 1] - at\n"
                                  "    valid[i] = u8(utf8_valid(data, at, size))\n"
                                  "    counts[i] = utf8_count(data, at, size)\n"
                                  "  }\n"
                                  "}\n";
    vyre_span inputs[] = {{data, offsets[count]}, {offsets, (count + 1) * sizeof *offsets}};
    library l;

    library_open(&l, "text", program);
    l.seeds = 0;
    if (!checked)
        l.checks = 0;
    library_run(&l, NULL, 0, inputs, 2);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *range = data + offsets[i];
        uint32_t size = offsets[i + 1] - offsets[i], characters = 0;
        for (uint32_t k = 0; k < size; k++)
            characters += range[k] < 128 || range[k] > 191;
        if (((const uint8_t *)l.outputs[0].data)[i] != text_valid(range, size) ||
            ((const uint32_t *)l.outputs[1].data)[i] != characters)
            fail_msg("range %zu of %u bytes: valid %d, the model says %d", i, size,
                     ((const uint8_t *)l.outputs[0].data)[i], text_valid(range, size));
    }
    library_close(&l);
}

/* Decodes at every byte of the data, to its end. */
static inline void text_decode_everywhere(const uint8_t *data, size_t size, int checked) {
    static const char program[] = "program everywhere {\n"
                                  "  buffer data : u8 read\n"
                                  "  buffer characters : u32 write count len(data) + 1\n"
                                  "  buffer sizes : u32 write count len(data) + 1\n"
                                  "  workgroup 64\n"
                                  "  grid elements len(data) + 1\n"
                                  "  let i = global_id.x\n"
                                  "  if i <= len(data) {\n"
                                  "    let (c, n) = utf8_decode(data, i, len(data) - i)\n"
                                  "    characters[i] = c\n"
                                  "    sizes[i] = n\n"
                                  "  }\n"
                                  "}\n";
    library l;

    library_open(&l, "text", program);
    l.seeds = 0;
    if (!checked)
        l.checks = 0;
    library_run(&l, NULL, 0, &(vyre_span){data, size}, 1);
    for (size_t i = 0; i <= size; i++) {
        uint32_t c = 0, n = i < size ? (uint32_t)text_get(data + i, size - i, &c) : 0;
        if (((const uint32_t *)l.outputs[0].data)[i] != c || ((const uint32_t *)l.outputs[1].data)[i] != n)
            fail_msg("byte %zu of %zu: character %x of %u bytes, the model says %x of %u", i, size,
                     ((const uint32_t *)l.outputs[0].data)[i], ((const uint32_t *)l.outputs[1].data)[i], c, n);
    }
    library_close(&l);
}

#endif
