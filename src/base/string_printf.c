/* Text by a format. Most have little in them, which is put without the C library; that takes several times as long. */
#include "base/string.h"

#include <stdio.h>

enum { INT_BYTES = 11 }; /* digits and a sign */

static char *write_int(char *at, int number) {
    if (number < 0)
        *at++ = '-';
    return vy_write_decimal(at, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

/* NULL if that and a NUL have no room before `end`. */
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
