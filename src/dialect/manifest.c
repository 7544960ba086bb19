/* Manifest reader: the dialect, its semantic version, its requirements, its ops, and their attributes. */
#include "base/string.h"

#include "dialect/manifest.h"
#include "dialect/manifest_reader.h"
#include "dialect/opdef.h"
#include "ir/identifiers.h"
#include "ir/text/lower.h"
#include "vyre/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_attributes(vy_manifest_work *work);

/* A manifest and the memory that it owns. */
typedef struct whole {
    vy_manifest manifest;
    vy_arena arena;
    vy_toml *document;
} whole;

/* ---- keys ---- */

static int has_embedded_nul(const vy_toml_value *value) {
    return value->kind == VY_TOML_STRING && strlen(value->string.text) != value->string.size;
}

static int is_of_kind(const vy_toml_value *value, unsigned kinds) {
    return (kinds >> value->kind & 1) && !has_embedded_nul(value);
}

int vy_manifest_expect(vy_manifest_reader *reader, const vy_toml_value *value, const char *what, unsigned kinds) {
    int has_nul = has_embedded_nul(value);
    if (is_of_kind(value, kinds))
        return 1;
    const char *wanted = kinds == VY_MANIFEST_VALUE                          ? "a string, a number or a boolean"
                         : kinds == (VY_MANIFEST_STRING | VY_MANIFEST_TABLE) ? "a string or a table"
                         : kinds & VY_MANIFEST_STRING                        ? "a string"
                         : kinds & VY_MANIFEST_ARRAY                         ? "an array"
                                                                             : "a table";
    vy_diag_sink_error(&reader->report, VY_D103, value->at, has_nul ? "remove `\\u0000`" : VY_FIX("write %s", wanted),
                       "%s is %s, not %s", what, has_nul ? "a string with a NUL in it" : vy_toml_kind_name(value->kind),
                       has_nul ? "a text" : wanted);
    return 0;
}

static void report_unknown(vy_manifest_reader *reader, const vy_toml_entry *entry, const char *what,
                           const vy_manifest_key *keys, size_t count) {
    char list[160] = "";
    vy_suggestion near;
    vy_suggestion_start(&near, entry->key, entry->length);
    for (size_t i = 0, used = 0; i < count; i++) {
        vy_suggestion_offer(&near, keys[i].name);
        int added = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", keys[i].name);
        used += added > 0 && used + (size_t)added < sizeof list ? (size_t)added : 0;
    }
    const char *best = vy_suggestion_get(&near);
    vy_diag_sink_error(&reader->report, VY_D101, entry->at,
                       best ? VY_FIX("did you mean `%s`?", best) : VY_FIX("remove it; the keys are %s", list),
                       "%s has no key `%.64s`", what, entry->key);
}

void vy_manifest_check_keys(vy_manifest_reader *reader, const vy_toml_value *table, const char *what,
                            const vy_manifest_key *keys, size_t count) {
    for (const vy_toml_entry *entry = table->table.first; entry; entry = entry->next) {
        size_t i = 0;
        while (i < count &&
               (strlen(keys[i].name) != entry->length || memcmp(keys[i].name, entry->key, entry->length) != 0))
            i++;
        if (i == count)
            report_unknown(reader, entry, what, keys, count);
        else if (!is_of_kind(&entry->value, keys[i].kinds))
            vy_manifest_expect(reader, &entry->value, VY_FIX("`%.64s`", entry->key), keys[i].kinds);
    }
    for (size_t i = 0; i < count; i++)
        if (keys[i].required && !vy_toml_find(table, keys[i].name, strlen(keys[i].name)))
            vy_diag_sink_error(&reader->report, VY_D102, table->at, VY_FIX("add `%s = …`", keys[i].name),
                               "%s needs the key `%s`", what, keys[i].name);
}

const vy_toml_value *vy_manifest_get(const vy_toml_value *table, const char *key, unsigned kinds) {
    const vy_toml_entry *entry = vy_toml_find(table, key, strlen(key));
    return entry && is_of_kind(&entry->value, kinds) ? &entry->value : NULL;
}

const char *vy_manifest_text(const vy_toml_value *table, const char *key) {
    const vy_toml_value *value = vy_manifest_get(table, key, VY_MANIFEST_STRING);
    return value ? value->string.text : NULL;
}

int vy_manifest_fits(vy_manifest_work *work, const vy_toml_value *at, uint32_t count, const char *what,
                     uint32_t limit) {
    if (count > limit)
        vy_diag_sink_error(&work->reader->report, VY_D118, at->at, NULL, "the op has %u %s (limit %u)", count, what,
                           limit);
    return count <= limit;
}

void *vy_manifest_new(vy_manifest_reader *reader, size_t count, size_t size) {
    void *memory = vy_arena_allocate(reader->arena, vy_array_size(count, size));
    if (!memory)
        reader->report.out_of_memory = 1;
    return memory;
}

/* ---- ops ---- */

static void read_category(vy_manifest_work *work) {
    const vy_toml_value *value = vy_manifest_get(work->table, "category", VY_MANIFEST_STRING);
    vyre_op_definition *op = &work->op->definition;
    if (!value)
        return; /* composite, the first category */
    op->category = vyre_op_category_find(value->string.text, value->string.size);
    if (op->category == VYRE_CATEGORY_COUNT)
        vy_diag_sink_error(&work->reader->report, VY_D106, value->at, NULL, "`%.64s` is not a category",
                           value->string.text);
}

/* The function has the name of the op, unless `function` names another. */
static void read_function(vy_manifest_work *work, const vy_toml_value *id, size_t skip) {
    const vy_toml_value *named = vy_manifest_get(work->table, "function", VY_MANIFEST_STRING);
    const vy_toml_value *value = named ? named : id;
    vy_diag_sink *report = &work->reader->report;
    if (!value)
        return;
    const char *name = value->string.text + (named ? 0 : skip);
    size_t size = value->string.size - (named ? 0 : skip);
    if (vy_text_is_function_name(name, size) && !vy_text_is_op_id(name, size))
        work->op->definition.function = name;
    else if (vy_text_is_identifier(name, size))
        vy_diag_sink_error(report, VY_D104, value->at,
                           "add `function = …` with another name, and use it in the body and the signature",
                           "`%.64s` is a keyword of the language, and cannot name a function", name);
    else if (named)
        vy_diag_sink_error(report, VY_D104, value->at, NULL, "`%.64s` is not a function name", name);
    else if (vy_text_is_op_part(name, size))
        vy_diag_sink_error(report, VY_D104, value->at,
                           "add `function = …` with an identifier, and use it in the body and the signature",
                           "no function can be called `%.64s`", name);
}

/* `id` is the name of the op in the dialect, or its full id. */
static void read_names(vy_manifest_work *work) {
    vy_manifest_reader *reader = work->reader;
    vyre_op_definition *op = &work->op->definition;
    const vy_toml_value *id = vy_manifest_get(work->table, "id", VY_MANIFEST_STRING);
    vy_string full = {0};
    size_t skip = 0;
    op->dialect = reader->manifest->dialect.name;
    if (id && op->dialect) {
        skip = vy_op_id_after(id->string.text, id->string.size, op->dialect);
        vy_string_format(&full, "%s%s%s", skip ? "" : op->dialect, skip ? "" : ".", id->string.text);
        op->id = full.failed ? NULL : vy_arena_copy(reader->arena, full.text, full.length);
        reader->report.out_of_memory |= !op->id;
    }
    if (id && (!vy_text_is_op_part(id->string.text + skip, id->string.size - skip) ||
               (op->id && !vy_text_is_op_id(op->id, full.length))))
        vy_diag_sink_error(&reader->report, VY_D104, id->at, NULL, "`%.64s` is not an op name", id->string.text);
    vy_string_free(&full);
    read_function(work, id, skip);
}

static void read_op(vy_manifest_reader *reader, const vy_toml_value *table, vy_manifest_op *out) {
    static const vy_manifest_key keys[] = {
        {"id", VY_MANIFEST_STRING, 1},       {"signature", VY_MANIFEST_STRING, 1}, {"category", VY_MANIFEST_STRING, 0},
        {"doc", VY_MANIFEST_STRING, 0},      {"body", VY_MANIFEST_STRING, 0},      {"file", VY_MANIFEST_STRING, 0},
        {"function", VY_MANIFEST_STRING, 0}, {"attributes", VY_MANIFEST_ARRAY, 0}, {"laws", VY_MANIFEST_ARRAY, 0},
        {"lowering", VY_MANIFEST_TABLE, 0},  {"types", VY_MANIFEST_ARRAY, 0}};
    static void (*const parts[])(vy_manifest_work *) = {read_category,
                                                        read_names,
                                                        vy_manifest_read_signature,
                                                        read_attributes,
                                                        vy_manifest_read_laws,
                                                        vy_manifest_read_lowerings,
                                                        vy_manifest_read_body};
    vy_manifest_work work = {.reader = reader, .table = table, .op = out};
    size_t errors = reader->report.errors;
    out->at = table->at;
    out->definition = (vyre_op_definition){.struct_size = sizeof out->definition,
                                           .version = reader->manifest->dialect.version,
                                           .owner = reader->manifest->dialect.owner,
                                           .doc = vy_manifest_text(table, "doc")};
    vy_manifest_check_keys(reader, table, "an op", keys, sizeof keys / sizeof *keys);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !reader->report.out_of_memory; i++)
        parts[i](&work);
    /* The registry checks the definition, so that a manifest that was read can be installed. Only the sizes of texts
     * are still unchecked. */
    vyre_error error;
    if (reader->report.errors == errors && !reader->report.out_of_memory && out->definition.version &&
        out->definition.id && vy_op_check(&out->definition, out->definition.owner, &error) != VYRE_OK) {
        if (error.code == VYRE_NO_MEMORY)
            reader->report.out_of_memory = 1;
        else
            vy_diag_sink_error(&reader->report, VY_D118, table->at, error.fix, "%s", error.message);
    }
}

static int by_id(const void *a, const void *b) {
    const vy_manifest_op *x = *(const vy_manifest_op *const *)a, *y = *(const vy_manifest_op *const *)b;
    int order = strcmp(x->definition.id, y->definition.id);
    return order ? order : x < y ? -1 : x > y;
}

static void report_duplicates(vy_manifest_reader *reader) {
    const vy_manifest *manifest = reader->manifest;
    vy_manifest_op **sorted = vy_allocate(vy_array_size(manifest->op_count, sizeof *sorted));
    uint32_t count = 0;
    if (!sorted) {
        reader->report.out_of_memory = 1;
        return;
    }
    for (uint32_t i = 0; i < manifest->op_count; i++)
        if (manifest->ops[i].definition.id)
            sorted[count++] = &manifest->ops[i];
    qsort(sorted, count, sizeof *sorted, by_id);
    for (uint32_t i = 1; i < count; i++)
        if (strcmp(sorted[i]->definition.id, sorted[i - 1]->definition.id) == 0)
            vy_diag_sink_error(
                &reader->report, VY_D107, sorted[i]->at,
                sorted[i]->at.line == sorted[i - 1]->at.line ? "write T for the type in `id`, and name each type once"
                                                             : NULL,
                "op `%.128s` is already defined in line %u", sorted[i]->definition.id, sorted[i - 1]->at.line);
    vy_release(sorted, vy_array_size(manifest->op_count, sizeof *sorted));
}

/* The types of an op with the key `types`, or NULL. */
static const vy_toml_value *types_of(const vy_toml_value *table) {
    return table->kind == VY_TOML_TABLE ? vy_manifest_get(table, "types", VY_MANIFEST_ARRAY) : NULL;
}

/* The limit bounds how much larger than the document the copies are. */
static int check_types(vy_manifest_reader *reader, const vy_toml_value *types) {
    const char *fix = "write it as in `types = [\"f16\", \"f32\"]`, and T for the type in `id` and `signature`";
    size_t errors = reader->report.errors;
    if (types->array.count == 0 || types->array.count > VYRE_TYPE_COUNT)
        vy_diag_sink_error(&reader->report, VY_D103, types->at, fix, "`types` has %u elements, not 1 to %d",
                           types->array.count, VYRE_TYPE_COUNT);
    for (const vy_toml_value *type = types->array.first; type && reader->report.errors == errors; type = type->next)
        if (type->kind != VY_TOML_STRING || vyre_type_find(type->string.text, type->string.size) == VYRE_TYPE_COUNT)
            vy_diag_sink_error(&reader->report, VY_D103, type->at, fix, "an element of `types` is not a type");
    return reader->report.errors == errors;
}

/* Reads an op of each type. An error is reported for the first type that has it. */
static void read_typed_ops(vy_manifest_reader *reader, const vy_toml_value *table, const vy_toml_value *types) {
    size_t errors = reader->report.errors;
    const vy_toml_value *type = check_types(reader, types) ? types->array.first : NULL;
    for (; type && reader->report.errors == errors && !reader->report.out_of_memory; type = type->next) {
        vy_toml_value *copy = vy_manifest_new(reader, 1, sizeof *copy);
        if (!copy)
            return;
        *copy = *table;
        if (!vy_toml_substitute(reader->arena, copy, type->string.text))
            reader->report.out_of_memory = 1;
        else
            read_op(reader, copy, &reader->manifest->ops[reader->manifest->op_count++]);
    }
}

static void read_ops(vy_manifest_reader *reader, const vy_toml_value *root) {
    const vy_toml_value *list = vy_manifest_get(root, "op", VY_MANIFEST_ARRAY);
    vy_manifest *manifest = reader->manifest;
    if (!list || list->array.count == 0)
        return;
    size_t count = list->array.count;
    for (const vy_toml_value *item = list->array.first; item; item = item->next)
        count += types_of(item) ? types_of(item)->array.count : 0;
    manifest->ops = vy_manifest_new(reader, count, sizeof *manifest->ops);
    for (const vy_toml_value *item = list->array.first; item && !reader->report.out_of_memory; item = item->next)
        if (types_of(item))
            read_typed_ops(reader, item, types_of(item));
        else if (vy_manifest_expect(reader, item, "an op", VY_MANIFEST_TABLE))
            read_op(reader, item, &manifest->ops[manifest->op_count++]);
    if (manifest->op_count && !reader->report.out_of_memory)
        report_duplicates(reader);
}

/* ---- the dialect ---- */

static int check_version(vy_manifest_reader *reader, const vy_toml_value *value) {
    int is_valid =
        value->string.size <= VY_OP_LIMIT_VERSION && vy_semver_is_valid(value->string.text, value->string.size);
    if (!is_valid)
        vy_diag_sink_error(&reader->report, VY_D105, value->at, NULL, "`%.64s` is not a semantic version",
                           value->string.text);
    return is_valid;
}

static void read_requirement(vy_manifest_reader *reader, const vy_toml_entry *entry, vy_manifest_requirement *out) {
    const char *own = reader->manifest->dialect.name;
    *out = (vy_manifest_requirement){entry->key, NULL, entry->at};
    if (strlen(entry->key) != entry->length || !vy_is_dialect_name(entry->key, entry->length))
        vy_diag_sink_error(&reader->report, VY_D104, entry->at, NULL, "`%.64s` is not a dialect name", entry->key);
    else if (own && strcmp(own, entry->key) == 0)
        vy_diag_sink_error(&reader->report, VY_D104, entry->at, "remove the line",
                           "the dialect `%.64s` requires itself", own);
    if (vy_manifest_expect(reader, &entry->value, "the version required", VY_MANIFEST_STRING) &&
        check_version(reader, &entry->value))
        out->version = entry->value.string.text;
}

static void read_dialect(vy_manifest_reader *reader, const vy_toml_value *root) {
    vy_manifest *manifest = reader->manifest;
    const vy_toml_value *name = vy_manifest_get(root, "dialect", VY_MANIFEST_STRING);
    const vy_toml_value *version = vy_manifest_get(root, "version", VY_MANIFEST_STRING);
    const vy_toml_value *table = vy_manifest_get(root, "requires", VY_MANIFEST_TABLE);
    manifest->dialect = (vyre_dialect){.struct_size = sizeof manifest->dialect,
                                       .doc = vy_manifest_text(root, "doc"),
                                       .owner = vy_source_name(manifest->source)};
    manifest->at = name ? name->at : (vy_position){0};
    if (name && vy_is_dialect_name(name->string.text, name->string.size))
        manifest->dialect.name = name->string.text;
    else if (name)
        vy_diag_sink_error(&reader->report, VY_D104, name->at, NULL, "`%.64s` is not a dialect name",
                           name->string.text);
    if (version && check_version(reader, version))
        manifest->dialect.version = version->string.text;
    if (!table || table->table.count == 0)
        return;
    manifest->requirements = vy_manifest_new(reader, table->table.count, sizeof *manifest->requirements);
    for (const vy_toml_entry *entry = table->table.first; entry && manifest->requirements; entry = entry->next)
        read_requirement(reader, entry, &manifest->requirements[manifest->requirement_count++]);
}

static void record_files(vy_manifest_reader *reader) {
    vy_manifest *manifest = reader->manifest;
    manifest->files = vy_manifest_new(reader, reader->bodies.count, sizeof *manifest->files);
    for (uint32_t i = 0; i < reader->bodies.count; i++) {
        if (manifest->files)
            manifest->files[manifest->file_count++] = reader->bodies.items[i].name;
        vy_source_release(reader->bodies.items[i].source);
        vyre_program_release(reader->bodies.items[i].library);
    }
    VY_VECTOR_FREE(&reader->bodies);
}

static void read_root(vy_manifest_reader *reader) {
    static const vy_manifest_key keys[] = {{"dialect", VY_MANIFEST_STRING, 1}, {"version", VY_MANIFEST_STRING, 1},
                                           {"doc", VY_MANIFEST_STRING, 0},     {"file", VY_MANIFEST_STRING, 0},
                                           {"requires", VY_MANIFEST_TABLE, 0}, {"op", VY_MANIFEST_ARRAY, 0}};
    const vy_toml_value *root = vy_toml_root(reader->document);
    vy_manifest_check_keys(reader, root, "a manifest", keys, sizeof keys / sizeof *keys);
    reader->file = vy_manifest_get(root, "file", VY_MANIFEST_STRING);
    read_dialect(reader, root);
    if (!reader->report.out_of_memory)
        read_ops(reader, root);
    record_files(reader);
}

/* ---- parsing and freeing ---- */

vyre_status vy_manifest_parse(const char *file, const char *text, size_t size, vy_manifest_read_file *read, void *user,
                              vyre_diagnostics *list, vy_manifest **out, vyre_error *error) {
    *out = NULL;
    whole *all = vy_allocate_zero(sizeof *all);
    if (!all)
        return vy_fail_memory(error, "reading the manifest");
    vyre_status status = vy_toml_parse(file, text, size, list, &all->document, error);
    if (status == VYRE_OK) {
        all->manifest.source = vy_toml_source(all->document);
        vy_manifest_reader reader = {.manifest = &all->manifest,
                                     .document = all->document,
                                     .arena = &all->arena,
                                     .read = read,
                                     .user = user,
                                     .report = {.source = all->manifest.source, .list = list}};
        read_root(&reader);
        status = vy_diag_sink_status(&reader.report, error);
    }
    if (status == VYRE_OK)
        *out = &all->manifest;
    else
        vy_manifest_free(&all->manifest);
    return status;
}

vyre_status vy_manifest_load(const char *path, vyre_diagnostics *list, vy_manifest **out, vyre_error *error) {
    vyre_bytes text = VYRE_BYTES_INIT;
    const char *slash = strrchr(path, '/');
    *out = NULL;
    vyre_status status = vy_manifest_read_sibling(path, slash ? slash + 1 : path, path, &text, error);
    if (status == VYRE_OK)
        status = vy_manifest_parse(path, text.data, text.size, NULL, NULL, list, out, error);
    vyre_bytes_free(&text);
    return status;
}

void vy_manifest_free(vy_manifest *manifest) {
    if (!manifest)
        return;
    whole *all = (whole *)(void *)manifest; /* its first member */
    for (uint32_t i = 0; i < manifest->op_count; i++)
        vyre_program_release(manifest->ops[i].definition.body);
    vy_arena_free(&all->arena);
    vy_toml_free(all->document);
    vy_release(all, sizeof *all);
}

/* Values and attributes.
 *
 * A value is a TOML number or boolean, or a string that holds a literal of the language. Both become a literal that the
 * parser of the language evaluates, so a manifest rounds and rejects exactly as a program does. */

enum { LONGEST = 1024 };

/* Copies the spelling of a float from the document, so that it is rounded once. */
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

/* Spells a value in the language; returns 0 if that is impossible. */
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

/* Evaluates a literal: it overrides a const, whose value is read. NO_MEMORY, or INVALID_PROGRAM if it is not a literal
 * of the type. */
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
        *bits =
            vyre_module_library(module)->exprs.items[0].bits; /* the only expression: the literal that is returned */
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
                           "`%.60s` is not a value of type %s", is_spelt ? literal : vy_toml_kind_name(value->kind),
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
        return 0; /* reported by vy_manifest_check_keys */
    vy_position at = vy_manifest_get(w->table, "name", VY_MANIFEST_STRING)->at;
    if (!vy_text_is_name(w->attribute->name, strlen(w->attribute->name)))
        vy_diag_sink_error(&reader->report, VY_D104, at, NULL, "`%.64s` is not a name", w->attribute->name);
    for (uint32_t i = 0; i < op->input_count; i++)
        if (strcmp(op->inputs[i].name, w->attribute->name) == 0)
            REFUSE(w, at, "choose another name", "`%.64s` is an input of the op, too", w->attribute->name);
    for (const vyre_attribute *other = op->attributes; other < w->attribute; other++)
        if (other->name && strcmp(other->name, w->attribute->name) == 0)
            REFUSE(w, at, "choose another name", "there are two attributes `%.64s`", w->attribute->name);
    w->attribute->type = vyre_type_find(type, strlen(type));
    if (w->attribute->type == VYRE_TYPE_COUNT)
        REFUSE(w, vy_manifest_get(w->table, "type", VY_MANIFEST_STRING)->at,
               "write bool, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32 or f64", "`%.64s` is not a type",
               type);
    return w->attribute->type != VYRE_TYPE_COUNT;
}

static void read_range(attribute_work *w, const vy_toml_value *range) {
    vy_manifest_reader *reader = w->op->reader;
    vyre_type type = w->attribute->type;
    if (range->array.count != 2 || type == VYRE_TYPE_BOOL) {
        REFUSE(w, range->at, "write `range = [least, most]`, for a number",
               "a range needs two ends (%u given) and a numeric type", range->array.count);
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

static void read_attributes(vy_manifest_work *work) {
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

/* Semantic versions: validation and precedence. Numbers are compared as texts: they have no leading zeros, so the
 * longer one is larger. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int is_word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

/* Consumes the longest run of characters of a class. */
static cursor consume(cursor *c, int (*belongs)(char)) {
    cursor run = {c->at, c->at};
    while (run.end < c->end && belongs(*run.end))
        run.end++;
    c->at = run.end;
    return run;
}

static int accept(cursor *c, char expected) {
    int is_there = c->at < c->end && *c->at == expected;
    c->at += is_there;
    return is_there;
}

static size_t size_of(cursor c) {
    return (size_t)(c.end - c.at);
}

static int is_number(cursor c) {
    return consume(&c, is_digit).end == c.end;
}

static int has_leading_zero(cursor c) {
    return size_of(c) > 1 && *c.at == '0';
}

static int consume_number(cursor *c) {
    cursor number = consume(c, is_digit);
    return size_of(number) > 0 && !has_leading_zero(number);
}

/* Consumes identifiers separated by dots. Numeric identifiers of a pre-release have no leading zeros. */
static int consume_identifiers(cursor *c, int is_build) {
    do {
        cursor word = consume(c, is_word);
        if (size_of(word) == 0 || (!is_build && is_number(word) && has_leading_zero(word)))
            return 0;
    } while (accept(c, '.'));
    return 1;
}

int vy_semver_is_valid(const char *text, size_t size) {
    cursor c = {text, text + size};
    if (!consume_number(&c) || !accept(&c, '.') || !consume_number(&c) || !accept(&c, '.') || !consume_number(&c))
        return 0;
    if (accept(&c, '-') && !consume_identifiers(&c, 0))
        return 0;
    if (accept(&c, '+') && !consume_identifiers(&c, 1))
        return 0;
    return c.at == c.end;
}

static int compare_sizes(size_t a, size_t b) {
    return a < b ? -1 : a > b;
}

static int compare_numbers(cursor a, cursor b) {
    int order = compare_sizes(size_of(a), size_of(b));
    return order ? order : memcmp(a.at, b.at, size_of(a));
}

static int compare_words(cursor a, cursor b) {
    int a_is_number = is_number(a), b_is_number = is_number(b);
    if (a_is_number && b_is_number)
        return compare_numbers(a, b);
    if (a_is_number != b_is_number)
        return a_is_number ? -1 : 1;
    size_t common = size_of(a) < size_of(b) ? size_of(a) : size_of(b);
    int order = memcmp(a.at, b.at, common);
    return order ? order : compare_sizes(size_of(a), size_of(b));
}

int vy_semver_compare(const char *a, size_t a_size, const char *b, size_t b_size) {
    cursor x = {a, a + a_size}, y = {b, b + b_size};
    for (int i = 0; i < 3; i++) {
        int order = compare_numbers(consume(&x, is_digit), consume(&y, is_digit));
        if (order)
            return order;
        accept(&x, '.');
        accept(&y, '.');
    }
    int x_is_early = accept(&x, '-'), y_is_early = accept(&y, '-');
    if (!x_is_early || !y_is_early)
        return y_is_early - x_is_early;
    for (;;) {
        int order = compare_words(consume(&x, is_word), consume(&y, is_word));
        if (order)
            return order;
        int x_goes_on = accept(&x, '.'), y_goes_on = accept(&y, '.');
        if (!x_goes_on || !y_goes_on)
            return x_goes_on - y_goes_on;
    }
}
