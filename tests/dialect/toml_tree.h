/* What the tests and the fuzz target of TOML share: a printer of trees, and equality. Positions, and how a table was
 * written, do not count. */
#ifndef VY_TOML_TREE_H
#define VY_TOML_TREE_H

#include "base/number_text.h"
#include "base/string.h"
#include "dialect/toml.h"

#include <math.h>

static inline void tree_print_string(vy_string *out, const char *text, size_t size) {
    vy_string_char(out, '"');
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7f || c == '"' || c == '\\')
            vy_string_format(out, "\\u%04X", c);
        else
            vy_string_char(out, (char)c);
    }
    vy_string_char(out, '"');
}

static inline uint64_t tree_bits(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static inline void tree_print_float(vy_string *out, double number) {
    char digits[40] = "inf";
    if (isnan(number))
        memcpy(digits, "nan", 4);
    else if (!isinf(number))
        vy_number_from_bits(tree_bits(fabs(number)), 11, 52, digits);
    vy_string_format(out, "%s%s", signbit(number) ? "-" : "", digits);
}

/* As RFC 3339 writes it, the fraction without zeros at its end. */
static inline void tree_print_time(vy_string *out, const vy_toml_value *value) {
    const vy_toml_time *t = &value->time;
    if (value->kind != VY_TOML_LOCAL_TIME)
        vy_string_format(out, "%04u-%02u-%02u", t->year, t->month, t->day);
    if (value->kind == VY_TOML_LOCAL_DATE)
        return;
    vy_string_format(out, "%s%02u:%02u:%02u", value->kind == VY_TOML_LOCAL_TIME ? "" : "T", t->hour, t->minute,
                     t->second);
    if (t->nanosecond) {
        uint32_t fraction = t->nanosecond;
        int digits = 9;
        for (; fraction % 10 == 0; fraction /= 10)
            digits--;
        vy_string_format(out, ".%0*u", digits, fraction);
    }
    unsigned minutes = (unsigned)(t->offset < 0 ? -t->offset : t->offset);
    if (value->kind == VY_TOML_OFFSET_DATE_TIME && minutes)
        vy_string_format(out, "%c%02u:%02u", t->offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
    else if (value->kind == VY_TOML_OFFSET_DATE_TIME)
        vy_string_char(out, 'Z');
}

static inline void tree_print_value(vy_string *out, const vy_toml_value *value) {
    switch (value->kind) {
    case VY_TOML_STRING:
        tree_print_string(out, value->string.text, value->string.size);
        break;
    case VY_TOML_INTEGER:
        vy_string_format(out, "%lld", (long long)value->integer);
        break;
    case VY_TOML_FLOAT:
        tree_print_float(out, value->number);
        break;
    case VY_TOML_BOOLEAN:
        vy_string_add(out, value->boolean ? "true" : "false");
        break;
    case VY_TOML_ARRAY:
        vy_string_char(out, '[');
        for (const vy_toml_value *item = value->array.first; item; item = item->next) {
            tree_print_value(out, item);
            vy_string_add(out, item->next ? ", " : "");
        }
        vy_string_char(out, ']');
        break;
    case VY_TOML_TABLE:
        vy_string_char(out, '{');
        for (const vy_toml_entry *entry = value->table.first; entry; entry = entry->next) {
            tree_print_string(out, entry->key, entry->length);
            vy_string_add(out, " = ");
            tree_print_value(out, &entry->value);
            vy_string_add(out, entry->next ? ", " : "");
        }
        vy_string_char(out, '}');
        break;
    default:
        tree_print_time(out, value);
    }
}

/* The whole tree as a document: one line for each key of the root. */
static inline void tree_print(vy_string *out, const vy_toml_value *root) {
    for (const vy_toml_entry *entry = root->table.first; entry; entry = entry->next) {
        tree_print_string(out, entry->key, entry->length);
        vy_string_add(out, " = ");
        tree_print_value(out, &entry->value);
        vy_string_char(out, '\n');
    }
}

static inline int tree_equal(const vy_toml_value *a, const vy_toml_value *b) {
    if (a->kind != b->kind)
        return 0;
    switch (a->kind) {
    case VY_TOML_STRING:
        return a->string.size == b->string.size && memcmp(a->string.text, b->string.text, a->string.size) == 0;
    case VY_TOML_INTEGER:
        return a->integer == b->integer;
    case VY_TOML_FLOAT:
        return tree_bits(a->number) == tree_bits(b->number);
    case VY_TOML_BOOLEAN:
        return a->boolean == b->boolean;
    case VY_TOML_ARRAY: {
        const vy_toml_value *x = a->array.first, *y = b->array.first;
        while (x && y && tree_equal(x, y)) {
            x = x->next;
            y = y->next;
        }
        return !x && !y && a->array.count == b->array.count;
    }
    case VY_TOML_TABLE: {
        const vy_toml_entry *x = a->table.first, *y = b->table.first;
        while (x && y && x->length == y->length && memcmp(x->key, y->key, x->length) == 0 &&
               tree_equal(&x->value, &y->value)) {
            x = x->next;
            y = y->next;
        }
        return !x && !y && a->table.count == b->table.count;
    }
    default:
        return a->time.year == b->time.year && a->time.month == b->time.month && a->time.day == b->time.day &&
               a->time.hour == b->time.hour && a->time.minute == b->time.minute && a->time.second == b->time.second &&
               a->time.nanosecond == b->time.nanosecond && a->time.offset == b->time.offset;
    }
}

#endif
