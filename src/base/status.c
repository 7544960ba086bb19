/* Statuses and errors (status.h). Nothing here allocates: an error must be possible when out of memory. */
#include "base/status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_OF(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *vyre_version(void) {
    return VERSION_TEXT(VYRE_VERSION_MAJOR, VYRE_VERSION_MINOR, VYRE_VERSION_PATCH);
}

typedef struct status_row {
    const char *name, *fix, *doc;
} status_row;

/* Indexed by code. The codes are dense; the assertion below checks it. */
static const status_row rows[] = {
#define X(ID, code, fix, doc) [code] = {#ID, fix, doc},
    VYRE_STATUS_LIST(X)
#undef X
};
#define X(ID, code, fix, doc) +1
_Static_assert(sizeof rows / sizeof rows[0] == 0 VYRE_STATUS_LIST(X), "status codes have no gaps");
#undef X

static const status_row *row_of(vyre_status status) {
    static const status_row unknown = {"UNKNOWN", "use a status of this version of the library", "no such status"};
    size_t index = (size_t)status;
    return index < sizeof rows / sizeof rows[0] ? &rows[index] : &unknown;
}

const char *vyre_status_name(vyre_status status) {
    return row_of(status)->name;
}

const char *vyre_status_fix(vyre_status status) {
    return row_of(status)->fix;
}

const char *vyre_status_doc(vyre_status status) {
    return row_of(status)->doc;
}

/* Ends a truncated text in "..." without splitting a UTF-8 character. `length` is that of the full text. */
static void mark_truncated(char *buffer, size_t size, size_t length) {
    if (length < size || size < 4)
        return;
    size_t end = size - 4;
    while (end > 0 && ((unsigned char)buffer[end] & 0xc0) == 0x80)
        end--;
    memcpy(buffer + end, "...", 4);
}

static void format_text(char *buffer, size_t size, const char *format, va_list arguments) {
    int length = vsnprintf(buffer, size, format, arguments);
    if (length < 0)
        snprintf(buffer, size, "%s", format);
    else
        mark_truncated(buffer, size, (size_t)length);
}

static void copy_text(char *buffer, size_t size, const char *text) {
    size_t length = strlen(text);
    memmove(buffer, text, length < size ? length : size - 1);
    buffer[length < size ? length : size - 1] = 0;
    mark_truncated(buffer, size, length);
}

vyre_status vy_fail(vyre_error *error, vyre_status code, const char *fix, const char *format, ...) {
    if (!error)
        return code;
    /* Built in a copy, because an argument or the fix may point into *error. */
    vyre_error built = VYRE_ERROR_INIT;
    va_list arguments;
    va_start(arguments, format);
    format_text(built.message, sizeof built.message, format, arguments);
    va_end(arguments);
    copy_text(built.fix, sizeof built.fix, fix && *fix ? fix : vyre_status_fix(code));
    built.code = code;
    *error = built;
    return code;
}

void vy_fail_parts_at(vyre_error *error, const char *code, const char *file, uint32_t line, uint32_t column) {
    char location[32] = "";
    if (line)
        snprintf(location, sizeof location, "%" PRIu32 ":%" PRIu32, line, column);
    (void)vy_fail_parts(error, code, file, location);
}

vyre_status vy_fail_memory(vyre_error *error, const char *what) {
    return vy_fail(error, VYRE_NO_MEMORY, NULL, "no host memory for %s", what);
}

vyre_status vy_fail_limit(vyre_error *error, const char *fix, const char *what) {
    char why[sizeof error->message] = "";
    if (error)
        memcpy(why, error->message, sizeof why);
    return vy_fail(error, VYRE_LIMIT, fix, "%s: %.400s", what, why);
}

vyre_status vy_fail_null(vyre_error *error, const char *argument, const char *function) {
    return vy_fail(error, VYRE_INVALID_ARGUMENT,
                   VY_FIX("pass a pointer as `%s`; the header that declares %s lists the arguments that may be NULL",
                          argument, function),
                   "the argument `%s` of %s is NULL", argument, function);
}

vyre_status vy_fail_parts(vyre_error *error, const char *subject, const char *first, const char *second) {
    if (!error)
        return VYRE_OK;
    copy_text(error->subject, sizeof error->subject, subject);
    copy_text(error->first, sizeof error->first, first);
    copy_text(error->second, sizeof error->second, second);
    return error->code;
}

vyre_status vy_fail_where(vyre_error *error, const char *format, ...) {
    if (!error)
        return VYRE_OK;
    char built[sizeof error->where];
    va_list arguments;
    va_start(arguments, format);
    format_text(built, sizeof built, format, arguments);
    va_end(arguments);
    memcpy(error->where, built, sizeof built);
    return error->code;
}

const char *vy_fix_format(char *buffer, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    format_text(buffer, size, format, arguments);
    va_end(arguments);
    return buffer;
}

size_t vyre_error_format(const vyre_error *error, char *buffer, size_t size) {
    static const vyre_error none = VYRE_ERROR_INIT;
    if (!error)
        error = &none;
    int has_location = error->where[0] != 0;
    int length = snprintf(buffer, buffer ? size : 0, "%s: %s%s%s%s\nFix: %s\n", vyre_status_name(error->code),
                          error->message, has_location ? " (" : "", error->where, has_location ? ")" : "",
                          error->fix[0] ? error->fix : vyre_status_fix(error->code));
    return length < 0 ? 0 : (size_t)length;
}
