/* Whole numbers as text, by hand: printf takes ten times as long. */
#include "base/string.h"

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

/* Below 10,000, as most are: both pairs of digits at once. */
static char *write_four_digits(char *at, uint32_t number) {
    uint32_t hundreds = number * 5243 >> 19; /* number / 100 */
    uint32_t halves = hundreds | (number - hundreds * 100) << 16;
    uint32_t tens = (halves * 103 >> 10) & 0x000f000f; /* of both, / 10 */
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

/* Recursion is bounded by the twenty digits that there are. */
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
