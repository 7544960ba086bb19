/* Values of the language in a manifest, and attributes, which are made of them.
 *
 * A value is a number or boolean of TOML, or a literal of the language in a string. Both become a literal that the language's own reader turns into
 * bits, so a manifest rounds and refuses exactly as a program does. */
#include "dialect/manifest_reader.h"
#include "dialect/opdef.h"
#include "ir/identifiers.h"
#include "ir/text/module.h"
#include "vyre/text.h"

#include <stdio.h>

enum { LONGEST = 1024 };

/* A float is spelt as the document spells it, so that it is rounded once. */
static int spell_float(const vy_manifest_reader *reader, const vy_toml_value *value, vyre_type type, char *out,
                       int size) {
    size_t length;
    const char *text = vy_source_line(reader->report.source, value->at.line, &length) + value->at.column - 1;
    const char *sign = *text == '-' ? "-" : "", *digits = text + (*text == '+' || *text == '-');
    length = value->at.length - (size_t)(digits - text);
    if (*digits == 'n')
        return snprintf(out, (size_t)size, "%s.nan", vyre_type_name(type)) < size;
    if (*digits == 'i')
        return snprintf(out, (size_t)size, "%s%s.inf", sign, vyre_type_name(type)) < size;
    return snprintf(out, (size_t)size, "%s%.*s", sign, (int)length, digits) < size;
}

/* The spelling of a value in the language; 0 if it has none. */
static int spell(const vy_manifest_reader *reader, const vy_toml_value *value, vyre_type type, char *out, int size) {
    switch (value->kind) {
    case VY_TOML_STRING:
        return strlen(value->string.text) == value->string.size &&
               snprintf(out, (size_t)size, "%s", value->string.text) < size;
    case VY_TOML_INTEGER:
        return snprintf(out, (size_t)size, "%lld", (long long)value->integer) < size;
    case VY_TOML_BOOLEAN:
        return snprintf(out, (size_t)size, "%s", value->boolean ? "true" : "false") < size;
    case VY_TOML_FLOAT:
        return spell_float(reader, value, type, out, size);
    default:
        return 0;
    }
}

/* The bits of a literal: the value of a const that it overrides. NO_MEMORY, or INVALID_PROGRAM if it is no literal of the type. */
static vyre_status read_literal(const char *literal, vyre_type type, uint64_t *bits, vyre_error *error) {
    char text[96];
    const char *name = vyre_type_name(type);
    vyre_define define = {"value", literal};
    vyre_parse_options options = {.defines = &define, .define_count = 1};
    vyre_module *module = NULL;
    int size = snprintf(text, sizeof text, "const value : %s = %s\nfn get() -> %s { return value }", name,
                        type == VYRE_TYPE_BOOL ? "false" : "0", name);
    vyre_status status = vy_text_parse_without_dialects(text, (size_t)size, &options, NULL, &module, error);
    if (status == VYRE_OK)
        *bits = vyre_module_library(module)->exprs.items[0].bits; /* the one expression: the literal that is returned */
    vyre_module_free(module);
    return status;
}

int vy_manifest_value(vy_manifest_reader *reader, const vy_toml_value *value, vyre_type type, uint64_t *bits,
                      const char **text) {
    char literal[LONGEST];
    vyre_error error;
    int is_spelt = spell(reader, value, type, literal, sizeof literal);
    vyre_status status = is_spelt ? read_literal(literal, type, bits, &error) : VYRE_INVALID_PROGRAM;
    if (status == VYRE_OK && text)
        *text = vy_arena_copy(reader->arena, literal, strlen(literal));
    if (status == VYRE_NO_MEMORY || (status == VYRE_OK && text && !*text))
        reader->report.out_of_memory = 1;
    else if (status != VYRE_OK)
        vy_diag_sink_error(&reader->report, VY_D116, value->at,
                           VY_FIX("write a literal of type %s: %s", vyre_type_name(type),
                                  type == VYRE_TYPE_BOOL ? "true or false" : "a number that fits it"),
                           "`%.60s` is no value of type %s", is_spelt ? literal : vy_toml_kind_name(value->kind),
                           vyre_type_name(type));
    return status == VYRE_OK && !reader->report.out_of_memory;
}

/* ---- attributes ---- */

typedef struct attribute_work {
    vy_manifest_work *op;
    const vy_toml_value *table;
    vyre_attribute *attribute;
    vy_position *place;
} attribute_work;

#define REFUSE(work, at, fix, ...) vy_diag_sink_error(&(work)->op->reader->report, VY_D113, at, fix, __VA_ARGS__)

static int read_name_and_type(attribute_work *w) {
    vy_manifest_reader *reader = w->op->reader;
    const vyre_op_definition *op = &w->op->op->definition;
    const char *type = vy_manifest_text(w->table, "type");
    w->attribute->name = vy_manifest_text(w->table, "name");
    w->attribute->type = VYRE_TYPE_COUNT;
    if (!w->attribute->name || !type)
        return 0; /* reported with the keys */
    vy_position at = vy_manifest_get(w->table, "name", VY_MANIFEST_STRING)->at;
    if (!vy_text_is_name(w->attribute->name, strlen(w->attribute->name)))
        vy_diag_sink_error(&reader->report, VY_D104, at, NULL, "`%.64s` is no name", w->attribute->name);
    for (uint32_t i = 0; i < op->input_count; i++)
        if (strcmp(op->inputs[i].name, w->attribute->name) == 0)
            REFUSE(w, at, "choose another name", "`%.64s` is an input of the op, too", w->attribute->name);
    for (const vyre_attribute *other = op->attributes; other < w->attribute; other++)
        if (other->name && strcmp(other->name, w->attribute->name) == 0)
            REFUSE(w, at, "choose another name", "there are two attributes `%.64s`", w->attribute->name);
    w->attribute->type = vyre_type_find(type, strlen(type));
    if (w->attribute->type == VYRE_TYPE_COUNT)
        REFUSE(w, vy_manifest_get(w->table, "type", VY_MANIFEST_STRING)->at,
               "write bool, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32 or f64", "`%.64s` is no type", type);
    return w->attribute->type != VYRE_TYPE_COUNT;
}

static void read_range(attribute_work *w, const vy_toml_value *range) {
    vy_manifest_reader *reader = w->op->reader;
    vyre_type type = w->attribute->type;
    if (range->array.count != 2 || type == VYRE_TYPE_BOOL) {
        REFUSE(w, range->at, "write `range = [least, most]`, for a number",
               "a range has two ends (%u given) and a type of numbers", range->array.count);
        return;
    }
    if (!vy_manifest_value(reader, range->array.first, type, &w->attribute->least, NULL) ||
        !vy_manifest_value(reader, range->array.last, type, &w->attribute->most, NULL))
        return;
    w->attribute->has_range = 1;
    if (!vy_attribute_allows(w->attribute, w->attribute->least))
        REFUSE(w, range->at, "write the smaller end first", "the range of `%.64s` is empty", w->attribute->name);
}

static void read_values(attribute_work *w, const vy_toml_value *values) {
    uint64_t *bits = vy_manifest_new(w->op->reader, values->array.count, sizeof *bits);
    w->attribute->values = bits;
    if (values->array.count == 0)
        REFUSE(w, values->at, "name the values that are allowed, or leave `values` out",
               "no value is allowed for `%.64s`", w->attribute->name);
    for (const vy_toml_value *value = values->array.first; value && bits; value = value->next)
        if (vy_manifest_value(w->op->reader, value, w->attribute->type, &bits[w->attribute->value_count], NULL))
            w->attribute->value_count++;
}

static void read_attribute(attribute_work *w) {
    static const vy_manifest_key keys[] = {{"name", VY_MANIFEST_STRING, 1},
                                           {"type", VY_MANIFEST_STRING, 1},
                                           {"default", VY_MANIFEST_VALUE, 0},
                                           {"values", VY_MANIFEST_ARRAY, 0},
                                           {"range", VY_MANIFEST_ARRAY, 0}};
    vy_manifest_reader *reader = w->op->reader;
    vy_manifest_check_keys(reader, w->table, "an attribute", keys, sizeof keys / sizeof *keys);
    *w->place = w->table->at;
    if (!read_name_and_type(w))
        return;
    size_t errors = reader->report.errors;
    const vy_toml_value *range = vy_manifest_get(w->table, "range", VY_MANIFEST_ARRAY);
    const vy_toml_value *values = vy_manifest_get(w->table, "values", VY_MANIFEST_ARRAY);
    const vy_toml_value *given = vy_manifest_get(w->table, "default", VY_MANIFEST_VALUE);
    if (range && values)
        REFUSE(w, values->at, "keep one of the two", "`%.64s` has a range and a list of values", w->attribute->name);
    if (range)
        read_range(w, range);
    else if (values)
        read_values(w, values);
    if (!given || !vy_manifest_value(reader, given, w->attribute->type, &w->attribute->value, NULL))
        return;
    w->attribute->has_default = 1;
    if (reader->report.errors == errors && !vy_attribute_allows(w->attribute, w->attribute->value))
        REFUSE(w, given->at, "choose a default that is allowed", "the default of `%.64s` is not one of its values",
               w->attribute->name);
}

void vy_manifest_read_attributes(vy_manifest_work *work) {
    vy_manifest_reader *reader = work->reader;
    const vy_toml_value *list = vy_manifest_get(work->table, "attributes", VY_MANIFEST_ARRAY);
    size_t errors = reader->report.errors;
    work->has_attributes = 1;
    if (!list || !vy_manifest_fits(work, list, list->array.count, "attributes", VY_OP_LIMIT_ATTRIBUTES))
        return;
    vyre_attribute *attributes = vy_manifest_new(reader, list->array.count, sizeof *attributes);
    vy_position *places = vy_manifest_new(reader, list->array.count, sizeof *places);
    if (!attributes || !places)
        return;
    work->op->definition.attributes = attributes;
    work->op->attribute_positions = places;
    for (const vy_toml_value *item = list->array.first; item; item = item->next) {
        uint32_t i = work->op->definition.attribute_count++;
        attribute_work w = {work, item, &attributes[i], &places[i]};
        if (vy_manifest_expect(reader, item, "an attribute", VY_MANIFEST_TABLE))
            read_attribute(&w);
    }
    work->has_attributes = reader->report.errors == errors;
}
