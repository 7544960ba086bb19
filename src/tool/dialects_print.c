#include "dialect/manifest_reader.h"
#include "ir/op_tables.h"
#include "tool/dialects.h"
#include "tool/json.h"
#include "tool/scalar_text.h"
#include "vyre/text.h"

/* ---- signatures ---- */

void tool_op_signature(vy_string *out, const vyre_op_definition *op) {
    char text[160];

    vy_string_format(out, "fn %s(", op->function);
    for (uint32_t i = 0; i < op->input_count; i++) {
        vy_manifest_operand_text(&op->inputs[i], text, sizeof text);
        vy_string_format(out, "%s%s", i ? ", " : "", text);
    }
    vy_string_char(out, ')');
    if (op->output_count == 0)
        return;
    vy_string_add(out, op->output_count > 1 ? " -> (" : " -> ");
    for (uint32_t i = 0; i < op->output_count; i++)
        vy_string_format(out, "%s%s", i ? ", " : "", vyre_type_name(op->outputs[i].type));
    if (op->output_count > 1)
        vy_string_char(out, ')');
}

/* ---- bodies: of the file an op's function is in, only what it needs ---- */

/* One function of a canonical text: from "fn " at the start of a line to "}" at the start of another. */
typedef struct piece {
    const char *text, *name;
    size_t length, name_length;
    int is_needed;
} piece;
typedef VY_VECTOR(piece) pieces;

static int find_pieces(const char *text, pieces *out) {
    for (const char *at = text; at && *at;) {
        const char *line_end = strchr(at, '\n');
        if (strncmp(at, "fn ", 3) == 0) {
            const char *end = strstr(at, "\n}");
            piece *found = VY_PUSH(out);
            if (!found)
                return 0;
            *found = (piece){.text = at, .name = at + 3, .name_length = strcspn(at + 3, "(")};
            found->length = end ? (size_t)(end + 2 - at) : strlen(at);
            line_end = strchr(at + found->length, '\n');
        }
        at = line_end ? line_end + 1 : NULL;
    }
    return 1;
}

static int is_word(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int calls(const piece *from, const piece *to) {
    const char *end = from->text + from->length;

    for (const char *at = from->name + from->name_length; at + to->name_length < end; at++)
        if (strncmp(at, to->name, to->name_length) == 0 && at[to->name_length] == '(' && !is_word(at[-1]) &&
            at[-1] != '.')
            return 1;
    return 0;
}

static void need(pieces *all, const char *function) {
    int more = 1;

    for (uint32_t i = 0; i < all->count; i++)
        all->items[i].is_needed = all->items[i].name_length == strlen(function) &&
                                  strncmp(all->items[i].name, function, strlen(function)) == 0;
    while (more) {
        more = 0;
        for (uint32_t i = 0; i < all->count; i++)
            for (uint32_t j = 0; j < all->count && all->items[i].is_needed; j++)
                if (!all->items[j].is_needed && calls(&all->items[i], &all->items[j]))
                    more = all->items[j].is_needed = 1;
    }
}

static void add_body(vy_string *out, const vyre_op_definition *op) {
    vyre_bytes text = VYRE_BYTES_INIT;
    pieces all = {0};
    int first = 1;

    if (vyre_text_print(op->body, &text, NULL) != VYRE_OK || !find_pieces(text.data, &all))
        out->failed = 1;
    need(&all, op->function);
    for (uint32_t i = 0; i < all.count; i++)
        if (all.items[i].is_needed) {
            vy_string_add(out, first ? "" : "\n");
            vy_string_append(out, all.items[i].text, all.items[i].length);
            vy_string_char(out, '\n');
            first = 0;
        }
    VY_VECTOR_FREE(&all);
    vyre_bytes_free(&text);
}

/* ---- text ---- */

static void add_value(vy_string *out, vyre_type type, uint64_t bits) {
    char text[TOOL_SCALAR_TEXT];

    tool_scalar_write(type, bits, text);
    vy_string_add(out, text);
}

static void add_values(vy_string *out, vyre_type type, const char *before, const uint64_t *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        vy_string_add(out, i ? ", " : before);
        add_value(out, type, values[i]);
    }
    vy_string_char(out, ']');
}

static void add_attributes(vy_string *out, const vyre_op_definition *op) {
    for (uint32_t i = 0; i < op->attribute_count; i++) {
        const vyre_attribute *attribute = &op->attributes[i];
        vy_string_format(out, "%-12s%s: %s", i ? "" : "attributes", attribute->name, vyre_type_name(attribute->type));
        if (attribute->has_default) {
            vy_string_add(out, " = ");
            add_value(out, attribute->type, attribute->value);
        }
        if (attribute->has_range)
            add_values(out, attribute->type, ", range [", (const uint64_t[]){attribute->least, attribute->most}, 2);
        if (attribute->value_count)
            add_values(out, attribute->type, ", values [", attribute->values, attribute->value_count);
        vy_string_char(out, '\n');
    }
}

static void add_laws(vy_string *out, const vyre_op_definition *op) {
    for (uint32_t i = 0; i < op->law_count; i++) {
        const vyre_law *law = &op->laws[i];
        vy_string_format(out, "%-12s%s", i ? "" : "laws", vyre_law_name(law->kind));
        for (uint32_t j = 0; j < law->argument_count; j++)
            vy_string_format(out, " %s", law->arguments[j].text);
        vy_string_format(out, ": %s\n", vyre_law_doc(law->kind));
    }
}

void tool_op_text(vy_string *out, const vyre_op_definition *op) {
    vy_string_format(out, "%s %s\n", op->id, op->version);
    if (op->doc && *op->doc)
        vy_string_format(out, "%s\n", op->doc);
    vy_string_format(out, "\n%-12s", "signature");
    tool_op_signature(out, op);
    vy_string_format(out, "\n%-12s%s\n", "category", vyre_op_category_name(op->category));
    add_attributes(out, op);
    add_laws(out, op);
    for (uint32_t i = 0; i < op->lowering_count; i++)
        vy_string_format(out, "%-12s%s, %s\n", i ? "" : "lowerings", op->lowerings[i].target,
                         op->lowerings[i].function ? "by a function" : "as code");
    vy_string_format(out, "%-12s%s\n", "owner", op->owner);
    if (!op->body) {
        vy_string_format(out, "%-12snone\n", "body");
        return;
    }
    vy_string_char(out, '\n');
    add_body(out, op);
}

/* ---- JSON ---- */

static void add_operands(vy_string *out, const char *name, const vyre_op_operand *operands, uint32_t count) {
    static const char *const kinds[VYRE_OPERAND_KIND_COUNT] = {"value", "buffer", "workgroup", "private"};

    tool_json_open(out, name, '[');
    for (uint32_t i = 0; i < count; i++) {
        tool_json_open(out, "", '{');
        tool_json_text(out, "name", operands[i].name);
        tool_json_text(out, "kind", kinds[operands[i].kind]);
        tool_json_text(out, "type", vyre_type_name(operands[i].type));
        if (operands[i].kind == VYRE_OPERAND_BUFFER)
            tool_json_text(out, "access", vy_accesses[operands[i].access].name);
        vy_string_char(out, '}');
    }
    vy_string_char(out, ']');
}

static void add_json_values(vy_string *out, vyre_type type, const char *key, const uint64_t *values, uint32_t count) {
    tool_json_open(out, key, '[');
    for (uint32_t i = 0; i < count; i++) {
        tool_json_open(out, "", '"');
        add_value(out, type, values[i]);
        vy_string_char(out, '"');
    }
    vy_string_char(out, ']');
}

static void add_json_lists(vy_string *out, const vyre_op_definition *op) {
    tool_json_open(out, "attributes", '[');
    for (uint32_t i = 0; i < op->attribute_count; i++) {
        const vyre_attribute *attribute = &op->attributes[i];
        tool_json_open(out, "", '{');
        tool_json_text(out, "name", attribute->name);
        tool_json_text(out, "type", vyre_type_name(attribute->type));
        if (attribute->has_default) {
            tool_json_open(out, "default", '"');
            add_value(out, attribute->type, attribute->value);
            vy_string_char(out, '"');
        }
        if (attribute->has_range)
            add_json_values(out, attribute->type, "range", (const uint64_t[]){attribute->least, attribute->most}, 2);
        if (attribute->value_count)
            add_json_values(out, attribute->type, "values", attribute->values, attribute->value_count);
        vy_string_char(out, '}');
    }
    vy_string_add(out, "],\"laws\":[");
    for (uint32_t i = 0; i < op->law_count; i++) {
        tool_json_open(out, "", '{');
        tool_json_text(out, "law", vyre_law_name(op->laws[i].kind));
        tool_json_open(out, "arguments", '[');
        for (uint32_t j = 0; j < op->laws[i].argument_count; j++)
            tool_json_text(out, "", op->laws[i].arguments[j].text);
        vy_string_add(out, "]}");
    }
    vy_string_add(out, "],\"lowerings\":[");
    for (uint32_t i = 0; i < op->lowering_count; i++)
        tool_json_text(out, "", op->lowerings[i].target);
    vy_string_char(out, ']');
}

void tool_op_json(vy_string *out, const vyre_op_definition *op) {
    vy_string text = {0};

    vy_string_char(out, '{');
    tool_json_text(out, "id", op->id);
    tool_json_text(out, "version", op->version);
    tool_json_text(out, "category", vyre_op_category_name(op->category));
    tool_json_text(out, "doc", op->doc);
    tool_json_text(out, "owner", op->owner);
    tool_op_signature(&text, op);
    tool_json_text(out, "signature", text.text);
    add_operands(out, "inputs", op->inputs, op->input_count);
    add_operands(out, "outputs", op->outputs, op->output_count);
    add_json_lists(out, op);
    if (op->body) {
        text.length = 0;
        add_body(&text, op);
        tool_json_text(out, "body", text.text);
    }
    vy_string_char(out, '}');
    out->failed |= text.failed;
    vy_string_free(&text);
}
