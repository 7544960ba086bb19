/* Bodies: text in the manifest, or a file beside it; read as a file of the language, and compared with the signature.
 *
 * A file stays inside the manifest's folder: neither its name nor a symbolic link on its way leads out of it. */
#include "base/file.h"
#include "dialect/manifest_reader.h"

#include "dialect/registry.h"
#include "dialect/standard_library.h"
#include "ir/text/lexer.h"
#include "ir/text/module.h"
#include "vyre/text.h"

#include <limits.h>
#include <stdio.h>

/* Where a body came from: a string of the manifest, or a file. */
typedef struct origin {
    vy_manifest_work *work;
    const vy_toml_value *string; /* NULL for a file */
    const vy_manifest_body *file;
    const vy_toml_value *named; /* the string that names the file */
    vyre_program *library;
    int is_bad; /* it has errors, reported already */
} origin;

/* ---- files ---- */

/* Relative, of plain parts: no part is empty, "." or "..". */
static int is_plain_path(const char *path) {
    for (;;) {
        size_t size = strcspn(path, "/");
        if (size == 0 || (size == 1 && path[0] == '.') || (size == 2 && path[0] == '.' && path[1] == '.'))
            return 0;
        if (!path[size])
            return 1;
        path += size + 1;
    }
}

vyre_status vy_manifest_read_sibling(const char *manifest, const char *name, const char *shown, vyre_bytes *out,
                                     vyre_error *error) {
    char folder[PATH_MAX];
    const char *slash = strrchr(manifest, '/');
    size_t size = !slash || slash == manifest ? 1 : (size_t)(slash - manifest);
    if (size >= sizeof folder)
        return vy_fail(error, VYRE_LIMIT, "use a shorter path", "the path of `%.128s` is too long", manifest);
    memcpy(folder, slash ? manifest : ".", size);
    folder[size] = 0;
    vyre_status status = vy_file_read_beneath(folder, name, shown, VY_TOML_LIMIT_BYTES, out, error);
    if (status == VYRE_NOT_FOUND)
        vy_fail(error, status, "put the file beside the manifest, and check the spelling",
                "`%.128s` cannot be read: there is no such file", shown);
    return status;
}

static vyre_status read_file(vy_manifest_reader *reader, const vy_toml_value *named, vyre_bytes *out,
                             vyre_error *error) {
    const char *name = named->string.text;
    if (!is_plain_path(name))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "name a file in the folder of the manifest, such as \"ops.vyre\"",
                       "`%.128s` is not a path inside the manifest's folder", name);
    if (reader->read)
        return reader->read(reader->user, name, out, error);
    return vy_manifest_read_sibling(vy_source_name(reader->report.source), name, name, out, error);
}

/* The name under which findings in the file are shown: beside the manifest. */
static vy_source *make_source(vy_manifest_reader *reader, const char *name, const vyre_bytes *text) {
    const char *manifest = vy_source_name(reader->report.source), *slash = strrchr(manifest, '/');
    vy_string path = {0};
    vy_string_append(&path, manifest, slash ? (size_t)(slash + 1 - manifest) : 0);
    vy_string_add(&path, name);
    vy_source *source = path.failed ? NULL : vy_source_new(path.text, text->size ? text->data : "", text->size);
    vy_string_free(&path);
    return source;
}

/* ---- parsing ---- */

/* The types of ops of the standard library need not be written. Those of other dialects must: whether they are there depends on what was loaded
 * before, and a manifest means the same every time. */
static int lookup_signature(void *user, const char *id, size_t length, vyre_op_signature *out) {
    (void)user;
    vyre_dialects_guard guard = vy_dialects_peek();
    const vyre_op_definition *op = vyre_dialects_find(guard, id, length);
    int is_known =
        op && strcmp(op->owner, VY_STANDARD_LIBRARY_OWNER) == 0 && vyre_dialects_op_signature(&guard, id, length, out);
    vyre_dialects_release(&guard);
    return is_known;
}

/* Parses a text that a source stands for; what is found is in the list. */
static vyre_program *parse(vy_source *source, vyre_diagnostics *found, vyre_error *error) {
    size_t size;
    const char *text = vy_source_text(source, &size);
    vyre_parse_options options = {.file = vy_source_name(source), .op_signature = lookup_signature};
    vyre_module *module = NULL;
    *error = (vyre_error)VYRE_ERROR_INIT;
    error->code = vy_text_parse_without_dialects(text, size, &options, found, &module, error);
    vyre_program *library = module ? vyre_module_library(module) : NULL;
    library = library ? vyre_program_retain(library) : NULL;
    vyre_module_free(module);
    return library;
}

static void parse_file(vy_manifest_reader *reader, vy_manifest_body *body) {
    vyre_error error;
    vyre_diagnostics *found = vyre_diagnostics_new();
    const vy_source *own = reader->report.source;
    body->library = parse(body->source, found, &error);
    body->is_bad = error.code != VYRE_OK;
    reader->report.source = body->source; /* what is found belongs to the file */
    vy_diag_sink_merge(&reader->report, found, vyre_diagnostics_count(reader->report.list), &error);
    reader->report.source = own;
    vyre_diagnostics_free(found);
}

static void load_file(vy_manifest_reader *reader, const vy_toml_value *named, vy_manifest_body *body) {
    vyre_bytes text = VYRE_BYTES_INIT;
    vyre_error error;
    vyre_status status = read_file(reader, named, &text, &error);
    if (status == VYRE_OK) {
        body->source = make_source(reader, body->name, &text);
        if (body->source)
            parse_file(reader, body);
        else
            reader->report.out_of_memory = 1;
    } else if (status == VYRE_NO_MEMORY) {
        reader->report.out_of_memory = 1;
    } else {
        vy_diag_sink_error(&reader->report, VY_D110, named->at, error.fix, "%s", error.message);
    }
    vyre_bytes_free(&text);
}

/* The file of that name, read the first time it is named; NULL if it cannot be kept. */
static const vy_manifest_body *open_file(vy_manifest_reader *reader, const vy_toml_value *named) {
    for (uint32_t i = 0; i < reader->bodies.count; i++)
        if (strcmp(reader->bodies.items[i].name, named->string.text) == 0)
            return &reader->bodies.items[i];
    if (reader->bodies.count >= VY_MANIFEST_LIMIT_FILES) {
        vy_diag_sink_error(&reader->report, VY_D110, named->at, "put several functions into one file",
                           "the manifest names more files than the limit (%d)", VY_MANIFEST_LIMIT_FILES);
        return NULL;
    }
    vy_manifest_body *body = VY_PUSH(&reader->bodies);
    if (!body) {
        reader->report.out_of_memory = 1;
        return NULL;
    }
    *body = (vy_manifest_body){.name = named->string.text, .is_bad = 1};
    load_file(reader, named, body);
    return body;
}

static void parse_string(origin *o) {
    vy_manifest_reader *reader = o->work->reader;
    vyre_error error;
    vyre_diagnostics *found = vyre_diagnostics_new();
    vy_source *source =
        vy_source_new(vy_source_name(reader->report.source), o->string->string.text, o->string->string.size);
    if (source) {
        o->library = parse(source, found, &error);
        o->is_bad = error.code != VYRE_OK;
        vy_manifest_import_diagnostics(reader, o->string, found, &error);
    } else {
        reader->report.out_of_memory = 1;
    }
    vy_source_release(source);
    vyre_diagnostics_free(found);
}

/* ---- agreement with the signature ---- */

/* Reports at a place of the body. */
static void report(const origin *o, vy_position at, const char *message) {
    vy_manifest_reader *reader = o->work->reader;
    const vy_source *own = reader->report.source;
    const char *fix = "let the function and the signature agree";
    if (o->string) {
        vyre_diagnostics *found = vyre_diagnostics_new();
        vyre_error error = VYRE_ERROR_INIT;
        vy_fail(&error, VYRE_INVALID_PROGRAM, fix, "%s", message);
        vy_diagnostic_add(found, own, vy_diag_code_name(VY_D112), VYRE_SEVERITY_ERROR, at, fix, "%s", message);
        vy_manifest_import_diagnostics(reader, o->string, found, &error);
        vyre_diagnostics_free(found);
        return;
    }
    reader->report.source = o->file->source;
    vy_diag_sink_error(&reader->report, VY_D112, at, fix, "%s", message);
    reader->report.source = own;
}

static vyre_op_operand operand_of(const vyre_program *library, const vy_param *param) {
    static const vyre_op_operand_kind kinds[VY_SPACE_COUNT] = {[VY_SPACE_BUFFER] = VYRE_OPERAND_BUFFER,
                                                               [VY_SPACE_WORKGROUP] = VYRE_OPERAND_WORKGROUP,
                                                               [VY_SPACE_PRIVATE] = VYRE_OPERAND_PRIVATE};
    if (!param->is_memory) {
        const vy_variable *variable = &library->variables.items[param->index];
        return (vyre_op_operand){vy_symbol_name(library, variable->name), VYRE_OPERAND_VALUE, variable->type,
                                 VYRE_ACCESS_READ};
    }
    const vy_memory *memory = &library->memories.items[param->index];
    int is_buffer = memory->space == VY_SPACE_BUFFER;
    return (vyre_op_operand){vy_symbol_name(library, memory->name), kinds[memory->space], memory->type,
                             is_buffer ? memory->access : VYRE_ACCESS_READ};
}

static vy_position param_position(const vyre_program *library, const vy_param *param) {
    return param->is_memory ? library->memories.items[param->index].position
                            : library->variables.items[param->index].position;
}

static int same_operand(const vyre_op_operand *a, const vyre_op_operand *b) {
    return strcmp(a->name, b->name) == 0 && a->kind == b->kind && a->type == b->type && a->access == b->access;
}

/* What the i-th parameter of the function must be: an input, or behind them an attribute. */
static vyre_op_operand expected_param(const vyre_op_definition *op, uint32_t i) {
    if (i < op->input_count)
        return op->inputs[i];
    const vyre_attribute *attribute = &op->attributes[i - op->input_count];
    return (vyre_op_operand){attribute->name, VYRE_OPERAND_VALUE, attribute->type, VYRE_ACCESS_READ};
}

static void compare_params(const origin *o, const vy_function *function) {
    const vyre_op_definition *op = &o->work->op->definition;
    char message[256], given_text[96], wanted_text[96];
    if (function->param_count != op->input_count && function->param_count != op->input_count + op->attribute_count) {
        int used = snprintf(message, sizeof message, "`%.64s` takes %u parameters; the op has %u inputs", op->function,
                            function->param_count, op->input_count);
        if (op->attribute_count)
            snprintf(message + used, sizeof message - (size_t)used,
                     " and %u attributes, of which all or none come behind the inputs", op->attribute_count);
        report(o, function->position, message);
        return;
    }
    for (uint32_t i = 0; i < function->param_count; i++) {
        const vy_param *param = &o->library->params.items[function->first_param + i];
        vyre_op_operand given = operand_of(o->library, param), wanted = expected_param(op, i);
        if (same_operand(&given, &wanted))
            continue;
        vy_manifest_operand_text(&given, given_text, sizeof given_text);
        vy_manifest_operand_text(&wanted, wanted_text, sizeof wanted_text);
        snprintf(message, sizeof message, "parameter %u is `%s`; the %s is `%s`", i + 1, given_text,
                 i < op->input_count ? "signature's" : "attribute", wanted_text);
        report(o, param_position(o->library, param), message);
    }
}

static void compare_results(const origin *o, const vy_function *function) {
    const vyre_op_definition *op = &o->work->op->definition;
    char message[256];
    if (function->result_count != op->output_count) {
        snprintf(message, sizeof message, "`%.64s` gives %u results; the signature has %u", op->function,
                 function->result_count, op->output_count);
        report(o, function->position, message);
        return;
    }
    for (uint32_t i = 0; i < op->output_count; i++) {
        vyre_type given = o->library->results.items[function->first_result + i].type;
        if (given == op->outputs[i].type)
            continue;
        snprintf(message, sizeof message, "result %u of `%.64s` is %s; the signature's is %s", i + 1, op->function,
                 vyre_type_name(given), vyre_type_name(op->outputs[i].type));
        report(o, function->position, message);
    }
}

static const vy_function *find_function(const origin *o) {
    const char *wanted = o->work->op->definition.function;
    const vyre_program *library = o->library;
    for (uint32_t i = 0; library && i < library->functions.count; i++)
        if (strcmp(vy_symbol_name(library, library->functions.items[i].name), wanted) == 0)
            return &library->functions.items[i];
    vy_suggestion near;
    vy_suggestion_start(&near, wanted, strlen(wanted));
    for (uint32_t i = 0; library && i < library->functions.count; i++)
        vy_suggestion_offer(&near, vy_symbol_name(library, library->functions.items[i].name));
    const char *best = vy_suggestion_get(&near);
    const vy_toml_value *named = vy_manifest_get(o->work->table, "function", VY_MANIFEST_STRING);
    if (!named)
        named = o->string ? o->string : o->named;
    vy_diag_sink_error(&o->work->reader->report, VY_D111, named->at,
                       best ? VY_FIX("did you mean `%s`?", best) : VY_FIX("define `fn %.64s` there", wanted),
                       "the body has no function `%.64s`", wanted);
    return NULL;
}

/* ---- an op's body ---- */

/* The string of the body or the name of the file; both, or neither where one must be, is reported. */
static void find_origin(vy_manifest_work *work, origin *o) {
    const vyre_op_definition *op = &work->op->definition;
    const vy_toml_value *file = vy_manifest_get(work->table, "file", VY_MANIFEST_STRING);
    o->string = vy_manifest_get(work->table, "body", VY_MANIFEST_STRING);
    if (o->string && file)
        vy_diag_sink_error(&work->reader->report, VY_D109, file->at, "keep one of the two",
                           "the op has a body here and in a file");
    if (!o->string && !file && op->category != VYRE_CATEGORY_EXTENSION)
        file = work->reader->file;
    o->named = o->string ? NULL : file;
    int is_there = vy_toml_find(work->table, "body", 4) || vy_toml_find(work->table, "file", 4);
    if (!o->string && !o->named && !is_there && op->category != VYRE_CATEGORY_EXTENSION)
        vy_diag_sink_error(&work->reader->report, VY_D109, work->table->at, NULL, "the op is %s and has no body",
                           vyre_op_category_name(op->category));
}

void vy_manifest_read_body(vy_manifest_work *work) {
    vyre_op_definition *op = &work->op->definition;
    vy_manifest_reader *reader = work->reader;
    origin o = {.work = work};
    find_origin(work, &o);
    if (o.string) {
        parse_string(&o);
    } else if (o.named) {
        o.file = open_file(reader, o.named);
        o.is_bad = !o.file || o.file->is_bad;
        o.library = o.file && o.file->library ? vyre_program_retain(o.file->library) : NULL;
        work->op->file = o.named->string.text;
    }
    op->body = o.library; /* released with the manifest */
    if (!op->function || reader->report.out_of_memory || o.is_bad || (!o.string && !o.named))
        return;
    const vy_function *function = find_function(&o);
    if (o.library && function && work->has_signature && work->has_attributes) {
        compare_params(&o, function);
        compare_results(&o, function);
    }
}
