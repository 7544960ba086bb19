/* The growing string. capacity counts the room for the NUL, which is always there once text is. */
#include "base/string.h"
#include "base/utf8.h"

/* Room for `extra` more bytes and the NUL. */
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
