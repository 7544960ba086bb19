/* Outputs of a run (outputs.h). */
#include "tool/outputs.h"

#include "base/file.h"
#include "base/string.h"
#include "ir/dispatch_resolve.h"
#include "ir/eval.h"
#include "ir/op_tables.h"
#include "tool/bindings.h"
#include "tool/file_formats.h"
#include "tool/load.h"
#include "tool/scalar_text.h"
#include "tool/tool.h"

#include <inttypes.h>
#include <sys/stat.h>

/* ---- files ---- */

enum { MAX_DIMENSIONS = 8 };

typedef struct shape {
    uint64_t sizes[MAX_DIMENSIONS];
    size_t count;
} shape;

/* The value of NAME=VALUE if the name matches, otherwise NULL. */
static const char *value_for(const char *word, const char *name) {
    size_t length;
    const char *value;
    int is_it = tool_args_split(word, &length, &value) && strlen(name) == length && memcmp(word, name, length) == 0;
    return is_it ? value : NULL;
}

static const char *find_value(const tool_list *list, const char *name) {
    const char *value = NULL;

    for (uint32_t i = 0; !value && i < list->count; i++)
        value = value_for(list->items[i], name);
    return value;
}

const char *tool_outputs_file(const tool_list *outs, const char *name) {
    return find_value(outs, name);
}

static int read_shape(const char *text, shape *out) {
    for (out->count = 0; out->count < MAX_DIMENSIONS;) {
        size_t length = strcspn(text, ",");
        if (!tool_number(text, length, &out->sizes[out->count++]))
            return 0;
        text += length;
        if (*text == '\0')
            return 1;
        text++;
    }
    return 0;
}

static int check_names(const tool_command *command, const vyre_program *program, const char *option,
                       const tool_list *list) {
    for (uint32_t i = 0; i < list->count; i++) {
        size_t length;
        const char *value;
        vyre_buffer_info buffer;
        vy_suggestion suggestion;
        int found = 0;

        if (!tool_args_split(list->items[i], &length, &value) || *value == '\0')
            return tool_usage(command, VY_FIX("write `--%s NAME=…`", option), "--%s needs NAME=…, not `%s`", option,
                              list->items[i]);
        vy_suggestion_start(&suggestion, list->items[i], length);
        for (size_t j = 0; vyre_program_buffer(program, j, &buffer); j++) {
            if (!vy_accesses[buffer.access].is_output)
                continue;
            vy_suggestion_offer(&suggestion, buffer.name);
            found |= strlen(buffer.name) == length && memcmp(buffer.name, list->items[i], length) == 0;
        }
        if (!found)
            return tool_usage(command,
                              vy_suggestion_get(&suggestion)
                                  ? VY_FIX("did you mean `%s`?", vy_suggestion_get(&suggestion))
                                  : "name a write or read_write buffer; `vyre explain FILE` lists them",
                              "--%s names `%.*s`, which is not an output of program %s", option, (int)length,
                              list->items[i], vyre_program_name(program));
    }
    return TOOL_OK;
}

/* Refuses two shapes of one output, and two outputs to one file: the first would have no effect. */
static int check_twice(const tool_command *command, const tool_list *outs, const tool_list *shapes) {
    for (uint32_t i = 0; i < shapes->count; i++)
        for (uint32_t j = 0; j < i; j++) {
            size_t length = strcspn(shapes->items[i], "=");
            if (strncmp(shapes->items[i], shapes->items[j], length + 1) == 0)
                return tool_usage(command, "write one --shape per output; it applies to all its files",
                                  "--shape names `%.*s` twice", (int)length, shapes->items[i]);
        }
    for (uint32_t i = 0; i < outs->count; i++)
        for (uint32_t j = 0; j < i; j++) {
            const char *file = strchr(outs->items[i], '=') + 1;
            struct stat about;
            if (strcmp(file, strchr(outs->items[j], '=') + 1) == 0 && strcmp(file, "-") != 0 &&
                (stat(file, &about) != 0 || S_ISREG(about.st_mode)))
                return tool_usage(command, "use a different file for each --out", "two --out options write `%s`", file);
        }
    return TOOL_OK;
}

/* Refuses an unknown suffix: the suffix selects the format, so it is probably a mistake. Raw bytes are .bin, .raw and
 * no suffix. */
static int check_ending(const tool_command *command, const char *word) {
    const char *file = strchr(word, '=') + 1, *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    const char *dot = strrchr(name, '.');

    if (!dot || dot == name || tool_image_is(file) || tool_ends_with(file, ".npy") || tool_ends_with(file, ".bin") ||
        tool_ends_with(file, ".raw"))
        return TOOL_OK;
    return tool_usage(
        command,
        VY_FIX("use .npy, .png, .ppm, .pgm, or .bin for raw bytes, as in `--out %.*s.bin`", (int)(dot - word), word),
        "`%s` ends in `%s`, which is not a format of --out", file, dot);
}

/* An image needs u8 elements and --shape in the order of NumPy: rows, columns, samples per pixel. */
static int check_image(const tool_command *command, const vyre_buffer_info *buffer, const char *file,
                       const tool_list *shapes) {
    const char *text = find_value(shapes, buffer->name);
    shape s = {.count = 0};

    if (!tool_image_is(file))
        return TOOL_OK;
    if (buffer->type != VYRE_TYPE_U8)
        return tool_usage(command, VY_FIX("make `%s` a u8 buffer, or write it as .npy", buffer->name),
                          "`%s` cannot be written as an image: its elements are %s, not u8", buffer->name,
                          vyre_type_name(buffer->type));
    if (!text || !read_shape(text, &s) || s.count < 2 || s.count > 3 ||
        (s.count == 3 && (s.sizes[2] < 1 || s.sizes[2] > 4)) || s.sizes[0] > INT32_MAX || s.sizes[1] > INT32_MAX)
        return tool_usage(command,
                          VY_FIX("add `--shape %s=ROWS,COLUMNS` (grey) or `--shape %s=ROWS,COLUMNS,3` (RGB)",
                                 buffer->name, buffer->name),
                          "the image `%s` needs a shape of two or three sizes", file);
    if (!tool_image_supports(file, s.count == 3 ? (unsigned)s.sizes[2] : 1))
        return tool_usage(command, "write it as .png, which supports 1 to 4 samples per pixel",
                          "`%s` cannot have %u sample%s per pixel: .pgm has 1 and .ppm has 3", file,
                          s.count == 3 ? (unsigned)s.sizes[2] : 1, s.count == 3 && s.sizes[2] > 1 ? "s" : "");
    return TOOL_OK;
}

/* A shape applies to the files of --out. */
static int check_shape(const tool_command *command, const tool_list *outs, const char *word) {
    int length = (int)strcspn(word, "=");
    shape s;

    if (!read_shape(word + length + 1, &s))
        return tool_usage(command, "write up to 8 sizes, as in `--shape y=480,640`",
                          "--shape needs NAME=N,N,…, not `%s`", word);
    for (uint32_t i = 0; i < outs->count; i++)
        if (strncmp(outs->items[i], word, (size_t)length + 1) == 0)
            return TOOL_OK;
    return tool_usage(command, VY_FIX("add `--out %.*s=FILE.npy`, or remove --shape", length, word),
                      "--shape names `%.*s`, which no --out writes", length, word);
}

int tool_outputs_check(const tool_command *command, const vyre_program *program, const tool_list *outs,
                       const tool_list *shapes) {
    vyre_buffer_info buffer;
    int code = check_names(command, program, "out", outs);

    if (code == TOOL_OK)
        code = check_names(command, program, "shape", shapes);
    for (uint32_t i = 0; code == TOOL_OK && i < shapes->count; i++)
        code = check_shape(command, outs, shapes->items[i]);
    for (uint32_t i = 0; code == TOOL_OK && i < outs->count; i++)
        code = check_ending(command, outs->items[i]);
    if (code == TOOL_OK)
        code = check_twice(command, outs, shapes);
    for (size_t i = 0; code == TOOL_OK && vyre_program_buffer(program, i, &buffer); i++)
        for (uint32_t j = 0; code == TOOL_OK && j < outs->count; j++) {
            const char *file = value_for(outs->items[j], buffer.name);
            if (file)
                code = check_image(command, &buffer, file, shapes);
        }
    return code;
}

int tool_outputs_check_write(const tool_list *outs) {
    vyre_error error;

    for (uint32_t i = 0; i < outs->count; i++)
        if (vy_file_check_write(strchr(outs->items[i], '=') + 1, &error) != VYRE_OK) {
            (void)tool_error(&error);
            return TOOL_SYSTEM;
        }
    return TOOL_OK;
}

static int compare_shape(const tool_command *command, const char *name, const char *text, uint64_t count) {
    uint64_t product = 1;
    shape s;

    read_shape(text, &s);
    for (size_t i = 0; i < s.count; i++)
        product = s.sizes[i] && product > UINT64_MAX / s.sizes[i] ? UINT64_MAX : product * s.sizes[i];
    if (product == count)
        return TOOL_OK;
    return tool_usage(command, VY_FIX("use sizes whose product is %" PRIu64, count),
                      "the shape of `%s` (%s) does not match its %" PRIu64 " element%s", name, text, count,
                      count == 1 ? "" : "s");
}

int tool_outputs_compare(const tool_command *command, const vyre_program *program, const tool_list *shapes,
                         const vyre_arguments *arguments) {
    vy_resolved_dispatch *launch = vy_allocate(sizeof *launch);
    vyre_buffer_info buffer;
    int code = TOOL_OK;

    /* If the dispatch does not resolve, the run reports the reason. */
    if (launch && vy_resolve_dispatch(program, arguments, launch, NULL) == VYRE_OK)
        for (size_t i = 0; code == TOOL_OK && vyre_program_buffer(program, i, &buffer); i++) {
            const char *text = find_value(shapes, buffer.name);
            if (text)
                code = compare_shape(command, buffer.name, text, launch->buffers[i].count);
        }
    vy_release(launch, sizeof *launch);
    return code;
}

static int write_one(const vyre_buffer_info *buffer, const char *file, const char *shape_text,
                     const vyre_bytes *bytes) {
    shape s = {{bytes->size / vyre_type_size(buffer->type)}, 1};
    vyre_error error;

    if (shape_text)
        read_shape(shape_text, &s);
    fflush(stdout); /* the file may be "-" */
    error.code = VYRE_OK;
    if (tool_image_is(file))
        tool_image_write(file, (uint32_t)s.sizes[1], (uint32_t)s.sizes[0], s.count == 3 ? (unsigned)s.sizes[2] : 1,
                         bytes->data, &error);
    else if (tool_ends_with(file, ".npy"))
        tool_npy_write(file, buffer->type, s.sizes, s.count, bytes->data, bytes->size, &error);
    else
        return tool_file_write(file, bytes->data, bytes->size);
    return error.code == VYRE_OK ? TOOL_OK
                                 : (tool_error(&error), error.code == VYRE_INVALID_ARGUMENT ? TOOL_USAGE : TOOL_SYSTEM);
}

int tool_outputs_write(const vyre_program *program, const tool_list *outs, const tool_list *shapes,
                       const vyre_bytes *outputs) {
    vyre_buffer_info buffer;
    size_t output = 0;
    int code = TOOL_OK;

    for (size_t i = 0; code == TOOL_OK && vyre_program_buffer(program, i, &buffer); i++) {
        if (!vy_accesses[buffer.access].is_output)
            continue;
        for (uint32_t j = 0; code == TOOL_OK && j < outs->count; j++) {
            const char *file = value_for(outs->items[j], buffer.name);
            if (file)
                code = write_one(&buffer, file, find_value(shapes, buffer.name), &outputs[output]);
        }
        output++;
    }
    return code;
}

/* ---- printing ---- */

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

/* The width of the widest value in a sample of at least 4096. A wider value shifts the rest of its row. */
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

/* JSON readers parse numbers as doubles. The shortest text that identifies a half float (6.55e4) is a different double
 * than the half float itself (65504), so half floats are printed as doubles. */
static void write_json_value(vyre_type type, uint64_t bits, char text[TOOL_SCALAR_TEXT]) {
    if (type == VYRE_TYPE_F16 || type == VYRE_TYPE_BF16)
        tool_scalar_write(VYRE_TYPE_F64, vyre_op_evaluate(VYRE_OP_CAST, VYRE_TYPE_F64, type, bits, 0, 0), text);
    else
        tool_scalar_write(type, bits, text);
}

/* Infinities and NaN are strings: JSON has no such numbers. */
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
