/* Names with numbers, for who makes thousands: not by snprintf. */
#ifndef VY_OPT_UNIQUE_NAME_H
#define VY_OPT_UNIQUE_NAME_H

#include "base/string.h"
#include "ir/limits.h"

/* The text, `most` bytes of it or as many as leave room, and _number. Returns its length; there is no NUL. */
static inline size_t vy_name_suffixed(char name[VY_LIMIT_NAME + 1], const char *text, size_t most, uint32_t number) {
    char suffix[12] = "_"; /* ten digits at most */
    size_t more = (size_t)(vy_write_decimal(suffix + 1, number) - suffix);
    size_t kept = strnlen(text, most < VY_LIMIT_NAME - more ? most : VY_LIMIT_NAME - more);
    memcpy(name, text, kept);
    memcpy(name + kept, suffix, more);
    return kept + more;
}

#endif
