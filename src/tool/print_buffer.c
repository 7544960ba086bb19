/* Buffers for people. */
#include "tool/print_buffer.h"

#include "base/hash.h"
#include "ir/eval.h"
#include "tool/json.h"
#include "tool/scalar_text.h"

#include <inttypes.h>

enum { LINE_WIDTH = 96, HEX_ROW = 16, MAX_COLUMNS = 16 };

static size_t element_count(const tool_buffer_view *buffer) {
    return buffer->size / vyre_type_size(buffer->type);
}

static uint64_t element(const tool_buffer_view *buffer, size_t index) {
    return vy_value_load(buffer->type, (const char *)buffer->data + index * vyre_type_size(buffer->type));
}

/* Rows [0, head) and [total - tail, total) are shown. */
typedef struct rows {
    size_t total, head, tail;
} rows;

static rows choose_rows(size_t items, size_t per_row, uint64_t limit) {
    rows r = {(items + per_row - 1) / per_row, 0, 0};

    r.head = r.total;
    if (limit > 0 && r.total > limit) {
        r.head = (size_t)(limit - limit / 2);
        r.tail = (size_t)(limit / 2);
    }
    return r;
}

static int is_shown(const rows *r, size_t row) {
    return row < r->head || row >= r->total - r->tail;
}

/* The widest text among the first and last values decides the column; wider ones in the middle are not shown or push their row. */
static int column_width(const tool_buffer_view *buffer, size_t count) {
    size_t width = 1, step = count > 4096 ? count / 4096 : 1;
    char text[TOOL_SCALAR_TEXT];

    for (size_t i = 0; i < count; i += step) {
        tool_scalar_write(buffer->type, element(buffer, i), text);
        if (strlen(text) > width)
            width = strlen(text);
    }
    return (int)width;
}

static int digits_of(size_t value) {
    int digits = 1;
    for (; value >= 10; value /= 10)
        digits++;
    return digits;
}

static void add_summary(vy_string *out, const tool_buffer_view *buffer) {
    size_t count = element_count(buffer), nans = 0;
    uint64_t low = 0, high = 0;
    int any = 0, is_float = vyre_type_class(buffer->type) == VYRE_CLASS_FLOAT;
    char low_text[TOOL_SCALAR_TEXT], high_text[TOOL_SCALAR_TEXT], digest_text[65];
    vyre_digest digest;

    for (size_t i = 0; i < count; i++) {
        uint64_t value = element(buffer, i);
        if (is_float && vyre_op_evaluate(VYRE_OP_IS_NAN, VYRE_TYPE_BOOL, buffer->type, value, 0, 0)) {
            nans++;
            continue;
        }
        if (!any || tool_scalar_less(buffer->type, value, low))
            low = value;
        if (!any || tool_scalar_less(buffer->type, high, value))
            high = value;
        any = 1;
    }
    tool_scalar_write(buffer->type, low, low_text);
    tool_scalar_write(buffer->type, high, high_text);
    vy_digest(buffer->data, buffer->size, &digest);
    vyre_digest_format(&digest, digest_text);
    if (any)
        vy_string_format(out, "  min %s, max %s", low_text, high_text);
    if (nans)
        vy_string_format(out, "%s%zu nan", any ? ", " : "  ", nans);
    vy_string_format(out, ", digest %s\n", digest_text);
}

void tool_print_buffer_values(vy_string *out, const tool_buffer_view *buffer, uint64_t limit) {
    size_t count = element_count(buffer), columns = MAX_COLUMNS;
    int width = column_width(buffer, count), index_width = digits_of(count);
    char text[TOOL_SCALAR_TEXT];
    rows r;

    while (columns > 1 && columns * (size_t)(width + 2) + (size_t)index_width + 3 > LINE_WIDTH)
        columns /= 2;
    r = choose_rows(count, columns, limit);
    vy_string_format(out, "%s : %s, %zu element%s\n", buffer->name, vyre_type_name(buffer->type), count,
                     count == 1 ? "" : "s");
    for (size_t row = 0; row < r.total; row++) {
        if (!is_shown(&r, row)) {
            vy_string_format(out, "  %*s\n", index_width, "...");
            row = r.total - r.tail - 1;
            continue;
        }
        vy_string_format(out, "  %*zu:", index_width, row * columns);
        for (size_t i = row * columns; i < count && i < (row + 1) * columns; i++) {
            tool_scalar_write(buffer->type, element(buffer, i), text);
            vy_string_format(out, "  %*s", width, text);
        }
        vy_string_char(out, '\n');
    }
    if (r.head < r.total)
        add_summary(out, buffer);
}

static void add_hex_row(vy_string *out, const unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < HEX_ROW; i++) {
        if (i == HEX_ROW / 2)
            vy_string_char(out, ' ');
        if (i < count)
            vy_string_format(out, " %02x", bytes[i]);
        else
            vy_string_add(out, "   ");
    }
    vy_string_add(out, "  |");
    for (size_t i = 0; i < count; i++)
        vy_string_char(out, bytes[i] >= 0x20 && bytes[i] < 0x7f ? (char)bytes[i] : '.');
    vy_string_add(out, "|\n");
}

void tool_print_buffer_hex(vy_string *out, const tool_buffer_view *buffer, uint64_t limit) {
    rows r = choose_rows(buffer->size, HEX_ROW, limit);

    for (size_t row = 0; row < r.total; row++) {
        size_t at = row * HEX_ROW;
        if (!is_shown(&r, row)) {
            vy_string_add(out, "  ...\n");
            row = r.total - r.tail - 1;
            continue;
        }
        vy_string_format(out, "  %08zx ", at);
        add_hex_row(out, (const unsigned char *)buffer->data + at,
                    buffer->size - at < HEX_ROW ? buffer->size - at : HEX_ROW);
    }
}

/* A reader of JSON takes numbers as doubles. The shortest text that gives a half float back, such as 6.55e4, is another number to it
 * than the half float is (65504), so they are written as the doubles they are. */
static void write_json_value(vyre_type type, uint64_t bits, char text[TOOL_SCALAR_TEXT]) {
    if (type == VYRE_TYPE_F16 || type == VYRE_TYPE_BF16)
        tool_scalar_write(VYRE_TYPE_F64, vyre_op_evaluate(VYRE_OP_CAST, VYRE_TYPE_F64, type, bits, 0, 0), text);
    else
        tool_scalar_write(type, bits, text);
}

/* JSON has no infinities and no NaN: they are strings. */
static int is_json_number(const char *text) {
    return strpbrk(text, "in") == NULL;
}

void tool_print_buffer_json(vy_string *out, const tool_buffer_view *buffer, int hex) {
    size_t count = element_count(buffer);
    char text[TOOL_SCALAR_TEXT], digest_text[65];
    vyre_digest digest;

    vy_digest(buffer->data, buffer->size, &digest);
    vyre_digest_format(&digest, digest_text);
    tool_json_open(out, "", '{');
    tool_json_text(out, "name", buffer->name);
    tool_json_text(out, "type", vyre_type_name(buffer->type));
    tool_json_number(out, "count", count);
    tool_json_text(out, "digest", digest_text);
    tool_json_open(out, "values", '[');
    for (size_t i = 0; i < count; i++) {
        uint64_t value = element(buffer, i);
        if (i)
            vy_string_char(out, ',');
        if (hex) {
            vy_string_format(out, "\"0x%0*" PRIx64 "\"", (int)vyre_type_size(buffer->type) * 2, value);
            continue;
        }
        write_json_value(buffer->type, value, text);
        vy_string_format(out, is_json_number(text) ? "%s" : "\"%s\"", text);
    }
    vy_string_add(out, "]}");
}
