/* UTF-8 as Unicode 15 table 3-7 defines it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#include "base/utf8.h"

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
