/* Errors (vyre_error): created in one line where the cause is detected, and returned unchanged by the callers.
 * Allocates nothing. */
#ifndef VY_BASE_STATUS_H
#define VY_BASE_STATUS_H

#include "vyre/base.h"

/* Fills error (if not NULL) and returns code. fix NULL means the default fix of the code.
 *
 *   return vy_fail(error, VYRE_LIMIT, VY_FIX("lower `workgroup` to %u", limit),
 *                  "workgroup size (%u) exceeds the limit (%u)", size, limit);
 *
 * VY_FIX formats into a buffer of the calling scope. */
#if defined(__GNUC__)
#define VY_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define VY_COLD __attribute__((cold))
#else
#define VY_PRINTF(f, a)
#define VY_COLD
#endif

vyre_status vy_fail(vyre_error *error, vyre_status code, const char *fix, const char *format, ...) VY_PRINTF(4, 5);
/* Out of host memory while doing `what`. */
vyre_status vy_fail_memory(vyre_error *error, const char *what);
/* VYRE_LIMIT with the message `what: the previous message`: code that was added to a valid program can only exceed a
 * limit. */
vyre_status vy_fail_limit(vyre_error *error, const char *fix, const char *what);
/* An argument is NULL although the header of the public function does not allow it. */
vyre_status vy_fail_null(vyre_error *error, const char *argument, const char *function) VY_COLD;
/* A public function that returns a status starts with one of these for each pointer: it returns VYRE_INVALID_ARGUMENT
 * if the pointer is NULL. `argument` must have the name used in the header. An array or text may be NULL if `count` is
 * 0. */
#define VY_REQUIRE(error, argument)                                                                                    \
    do {                                                                                                               \
        if (!(argument))                                                                                               \
            return vy_fail_null(error, #argument, __func__);                                                           \
    } while (0)
#define VY_REQUIRE_ARRAY(error, argument, count)                                                                       \
    do {                                                                                                               \
        if (!(argument) && (count))                                                                                    \
            return vy_fail_null(error, #argument, __func__);                                                           \
    } while (0)
/* Sets the parts of the message (vyre/base.h); returns error->code. */
vyre_status vy_fail_parts(vyre_error *error, const char *subject, const char *first, const char *second);
/* The same for a diagnostic: code, file and position (line 0: none). */
void vy_fail_parts_at(vyre_error *error, const char *code, const char *file, uint32_t line, uint32_t column);
/* Sets error->where; returns error->code. */
vyre_status vy_fail_where(vyre_error *error, const char *format, ...) VY_PRINTF(2, 3);

const char *vy_fix_format(char *buffer, size_t size, const char *format, ...) VY_PRINTF(3, 4);
#define VY_FIX(...) vy_fix_format((char[256]){0}, 256, __VA_ARGS__)

#endif
