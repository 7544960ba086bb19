/* Names with numbers, for who makes thousands: not by snprintf. */
#ifndef VY_TRANSFORM_NAME_H
#define VY_TRANSFORM_NAME_H

#include "ir/limits.h"

#include <stdint.h>
#include <string.h>

enum { VY_NAME_DIGITS = 10 };

/* The digits of a number, without a NUL. Returns how many. */
static inline size_t vy_name_digits(char digits[VY_NAME_DIGITS], uint32_t number) {
    char all[VY_NAME_DIGITS];
    size_t start = sizeof all;
    do
        all[--start] = (char)('0' + number % 10);
    while (number /= 10);
    memcpy(digits, all + start, sizeof all - start);
    return sizeof all - start;
}

/* The text, `most` bytes of it or as many as leave room, and _number. Returns its length; there is no NUL. */
static inline size_t vy_name_suffixed(char name[VY_LIMIT_NAME + 1], const char *text, size_t most, uint32_t number) {
    char suffix[1 + VY_NAME_DIGITS] = "_";
    size_t more = 1 + vy_name_digits(suffix + 1, number);
    size_t kept = strnlen(text, most < VY_LIMIT_NAME - more ? most : VY_LIMIT_NAME - more);
    memcpy(name, text, kept);
    memcpy(name + kept, suffix, more);
    return kept + more;
}

#endif
