/* Attributes of op calls: canonical spelling and parsing (attributes.h). */
#include "ir/attributes.h"

#include "ir/identifiers.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- values ---- */

int vy_attribute_spell(vy_diag_sink *report, const vy_number *number, int negative, uint64_t bits, vy_position at,
                       char value[VY_ATTRIBUTE_CAPACITY]) {
    if (!number) {
        snprintf(value, VY_ATTRIBUTE_CAPACITY, "%s", bits ? "true" : "false");
        return 1;
    }
    if (number->type == VYRE_TYPE_COUNT && (number->is_float || number->too_large)) {
        vy_diag_sink_error(
            report, VY_T054, at, number->is_float ? "write its type: `1.5f32`" : "write a number below 2^64",
            "the value of an attribute is %s", number->is_float ? "a float without a type" : "too large for any type");
        return 0;
    }
    if (number->type == VYRE_TYPE_COUNT) {
        snprintf(value, VY_ATTRIBUTE_CAPACITY, "%s%" PRIu64, negative && number->value ? "-" : "", number->value);
        return 1;
    }
    if (!vy_number_bits(report, number, negative, (vyre_type)number->type, at, &bits))
        return 0;
    vy_string text = {0};
    vy_number_print(&text, (vyre_type)number->type, bits, 1);
    int fits = !text.failed && text.length < VY_ATTRIBUTE_CAPACITY;
    if (fits)
        memcpy(value, text.text, text.length + 1);
    report->out_of_memory |= text.failed;
    vy_string_free(&text);
    return fits;
}

static int is_bool(const char *value) {
    return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
}

/* The number of a canonical value, without its sign. */
static int read_number(const char *value, vy_number *number, int *negative) {
    vy_diag_sink ignored = {0};
    *negative = value[0] == '-';
    const char *digits = value + *negative;
    vy_position at = {1, 1, (uint32_t)strlen(digits)};
    return digits[0] >= '0' && digits[0] <= '9' && vy_number_read(&ignored, digits, at, number);
}

int vy_attribute_bits(const char *value, vyre_type type, uint64_t *bits) {
    vy_diag_sink ignored = {0};
    vy_number number;
    int negative;
    if (is_bool(value)) {
        *bits = value[0] == 't';
        return type == VYRE_TYPE_BOOL;
    }
    if (type == VYRE_TYPE_BOOL || !read_number(value, &number, &negative))
        return 0;
    return (number.type == VYRE_TYPE_COUNT || number.type == type) &&
           vy_number_bits(&ignored, &number, negative, type, (vy_position){0}, bits);
}

/* ---- names of calls ---- */

size_t vy_call_id_length(const char *name) {
    return strcspn(name, "<");
}

/* Reads one `name = value` at *cursor and advances it. */
static int read_attribute(const char **cursor, vy_attribute *out) {
    const char *text = *cursor;
    out->name = text;
    out->name_length = strcspn(text, " =,>");
    text += out->name_length;
    if (!vy_text_is_identifier(out->name, out->name_length) || strncmp(text, " = ", 3) != 0)
        return 0;
    text += 3;
    size_t length = strcspn(text, ",>");
    if (length == 0 || length >= VY_ATTRIBUTE_CAPACITY)
        return 0;
    memcpy(out->value, text, length);
    out->value[length] = 0;
    *cursor = text + length;
    return 1;
}

/* The spelling must be the canonical one. */
static int is_canonical(const vy_attribute *attribute) {
    vy_diag_sink ignored = {0};
    vy_number number;
    char respelled[VY_ATTRIBUTE_CAPACITY];
    int negative;
    if (is_bool(attribute->value))
        return 1;
    return read_number(attribute->value, &number, &negative) &&
           vy_attribute_spell(&ignored, &number, negative, 0, (vy_position){0}, respelled) &&
           strcmp(respelled, attribute->value) == 0;
}

static int is_before(const vy_attribute *a, const vy_attribute *b) {
    size_t shorter = a->name_length < b->name_length ? a->name_length : b->name_length;
    int order = memcmp(a->name, b->name, shorter);
    return order < 0 || (order == 0 && a->name_length < b->name_length);
}

size_t vy_call_attributes(const char *name, vy_attribute *out) {
    const char *cursor = name + vy_call_id_length(name);
    size_t count = 0;
    if (!*cursor)
        return 0;
    do {
        cursor += count ? 2 : 1; /* the `<`, or the comma and its blank */
        if (count == VY_ATTRIBUTES_LIMIT || !read_attribute(&cursor, &out[count]) || !is_canonical(&out[count]) ||
            (count && !is_before(&out[count - 1], &out[count])))
            return SIZE_MAX;
        count++;
    } while (cursor[0] == ',' && cursor[1] == ' ');
    return strcmp(cursor, ">") == 0 ? count : SIZE_MAX;
}

const char *vy_call_spelling(const char *name, char storage[VY_CALL_SPELLING_CAPACITY]) {
    size_t length = vy_call_id_length(name);
    if (!vy_text_is_op_id(name, length) || vy_text_is_bare_op_id(name, length))
        return name;
    snprintf(storage, VY_CALL_SPELLING_CAPACITY, "\"%.*s\"%s", (int)length, name, name + length);
    return storage;
}

int vy_text_is_op_call(const char *name) {
    vy_attribute attributes[VY_ATTRIBUTES_LIMIT];
    return vy_text_is_op_id(name, vy_call_id_length(name)) && vy_call_attributes(name, attributes) != SIZE_MAX;
}
