/* Identifiers (identifiers.h). */
#include "ir/identifiers.h"

#include "ir/keywords.h"
#include "ir/limits.h"

#include <string.h>

/* `_` is a letter here. */
static int is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

int vy_text_is_identifier(const char *text, size_t length) {
    if (length == 0 || length > VY_LIMIT_NAME || !is_letter(text[0]))
        return 0;
    for (size_t i = 1; i < length; i++)
        if (!(is_letter(text[i]) || is_digit(text[i])))
            return 0;
    return 1;
}

int vy_text_is_keyword(const char *text, size_t length) {
    return vy_identifier_is_reserved(text, length);
}

int vy_text_is_name(const char *text, size_t length) {
    return vy_text_is_identifier(text, length) && !vy_text_is_keyword(text, length);
}

int vy_text_is_function_name(const char *text, size_t length) {
    return (vy_text_is_identifier(text, length) && vy_identifier_find(text, length).cls == VY_IDENTIFIER_PLAIN) ||
           vy_text_is_op_id(text, length);
}

/* The bytes of a separator of op ids at the start of the text: `.` or `::`; 0 if there is none. */
static size_t separator_length(const char *text, size_t length) {
    if (length >= 1 && text[0] == '.')
        return 1;
    return length >= 2 && text[0] == ':' && text[1] == ':' ? 2 : 0;
}

/* Parts joined by separators; returns how many, and 0 if the text is something else. */
static size_t count_parts(const char *text, size_t length) {
    size_t parts = 0, i = 0;
    if (length > VY_LIMIT_NAME)
        return 0;
    for (;;) {
        size_t start = i;
        while (i < length && (is_letter(text[i]) || (i > start && (is_digit(text[i]) || text[i] == '-'))))
            i++;
        if (i == start || (parts == 0 && vy_text_is_keyword(text, i)))
            return 0;
        parts++;
        if (i == length)
            return parts;
        size_t separator = separator_length(text + i, length - i);
        if (!separator)
            return 0;
        i += separator;
    }
}

int vy_text_is_op_id(const char *text, size_t length) {
    return count_parts(text, length) > 1;
}

int vy_text_is_dialect_name(const char *text, size_t length) {
    return count_parts(text, length) > 0;
}

int vy_text_is_op_part(const char *text, size_t length) {
    return count_parts(text, length) == 1 || vy_text_is_identifier(text, length);
}

int vy_text_is_bare_op_id(const char *text, size_t length) {
    return !memchr(text, '-', length) && !memchr(text, ':', length) && vy_text_is_op_id(text, length);
}

size_t vy_op_id_after(const char *id, size_t length, const char *dialect) {
    size_t prefix = strlen(dialect);
    size_t separator =
        length > prefix && memcmp(id, dialect, prefix) == 0 ? separator_length(id + prefix, length - prefix) : 0;
    return separator ? prefix + separator : 0;
}

size_t vy_op_id_last(const char *id, size_t length) {
    size_t i = length;
    while (i > 0 && id[i - 1] != '.' && id[i - 1] != ':')
        i--;
    return i;
}
