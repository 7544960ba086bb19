/* Manifest reader: the signature, body, laws and lowerings of an op. A signature is the head of a function, parsed by
 * the parser of the language. */
#include "base/file.h"
#include "base/string.h"
#include "dialect/load.h"
#include "dialect/lowering_code.h"
#include "dialect/manifest_reader.h"
#include "dialect/opdef.h"
#include "dialect/registry.h"
#include "ir/identifiers.h"
#include "ir/text/lexer.h"
#include "ir/text/lower.h"
#include "ir/text/parser.h"
#include "vyre/text.h"

#include <limits.h>
#include <stdio.h>

static const char no_body[] =
    "\n{}"; /* makes the head a function; on a separate line, since a comment may end the head */

/* ---- source positions ---- */

/* Returns the offset of a line and column, or the end of the text if it is shorter. */
static size_t offset_of(const vy_toml_string *string, uint32_t line, uint32_t column) {
    const char *at = string->text, *end = string->text + string->size;
    for (; line > 1; line--) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            return string->size;
        at = newline + 1;
    }
    size_t offset = (size_t)(at - string->text) + column - 1;
    return offset < string->size ? offset : string->size;
}

/* Adds the diagnostics of the text of a string at its positions in the manifest. `error` is the result of the call that
 * produced them. */
static void import_diagnostics(vy_manifest_reader *reader, const vy_toml_value *string, const vyre_diagnostics *found,
                               const vyre_error *error) {
    vyre_diagnostics *moved = vyre_diagnostics_new();
    for (size_t i = 0; i < vyre_diagnostics_count(found); i++) {
        const vyre_diagnostic *finding = vyre_diagnostics_get(found, i);
        vy_position at = string->at;
        if (finding->line)
            at = vy_toml_locate(reader->document, string, offset_of(&string->string, finding->line, finding->column),
                                finding->length);
        if (*finding->code)
            vy_diagnostic_add(moved, reader->report.source, finding->code, finding->severity, at, finding->fix, "%s",
                              finding->message);
    }
    vy_diag_sink_merge(&reader->report, moved, vyre_diagnostics_count(reader->report.list), error);
    vyre_diagnostics_free(moved);
}

/* ---- operands ---- */

static const vyre_op_operand_kind operand_kinds[VY_SPACE_COUNT] = {[VY_SPACE_BUFFER] = VYRE_OPERAND_BUFFER,
                                                                   [VY_SPACE_WORKGROUP] = VYRE_OPERAND_WORKGROUP,
                                                                   [VY_SPACE_PRIVATE] = VYRE_OPERAND_PRIVATE};

void vy_manifest_operand_text(const vyre_op_operand *operand, char *buffer, size_t size) {
    static const char *const accesses[] = {
#define X(ID, name, load, store, input, output) name,
        VYRE_ACCESS_LIST(X)
#undef X
    };
    static const char *const kinds[] = {"", "buffer [", "workgroup [", "private ["};
    int is_value = operand->kind == VYRE_OPERAND_VALUE, is_buffer = operand->kind == VYRE_OPERAND_BUFFER;
    snprintf(buffer, size, "%.40s%s%s%s%s%s%s", operand->name, *operand->name ? ": " : "", kinds[operand->kind],
             vyre_type_name(operand->type), is_value ? "" : "]", is_buffer ? " " : "",
             is_buffer ? accesses[operand->access] : "");
}

typedef struct head {
    vy_manifest_work *work;
    const vy_toml_value *value; /* the string with the head */
    vy_parser parser;
    const vy_ast_function *unit;
} head;

static void report_operand(head *h, vy_position at, const char *fix, const char *message, const char *name) {
    size_t offset = offset_of(&h->value->string, at.line, at.column);
    vy_diag_sink_error(&h->work->reader->report, VY_D108,
                       at.line ? vy_toml_locate(h->work->reader->document, h->value, offset, at.length) : h->value->at,
                       fix, message, name);
}

static const char *copy_name(head *h, uint32_t name) {
    const char *text = name ? vy_parse_name_text(&h->parser, name) : "";
    const char *copy = vy_arena_copy(h->work->reader->arena, text, strlen(text));
    if (!copy)
        h->work->reader->report.out_of_memory = 1;
    return copy;
}

/* Inputs share one namespace. The limit on inputs bounds this search. */
static int is_taken(const vyre_op_operand *operands, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(operands[i].name, name) == 0)
            return 1;
    return 0;
}

static void read_inputs(head *h) {
    vyre_op_definition *op = &h->work->op->definition;
    vyre_op_operand *inputs = vy_manifest_new(h->work->reader, h->unit->params.count, sizeof *inputs);
    op->inputs = inputs;
    for (const vy_ast_decl *item = h->unit->params.first; item && inputs; item = item->next) {
        vyre_op_operand *input = &inputs[op->input_count];
        input->name = copy_name(h, item->name);
        if (!input->name)
            return;
        input->type = item->type;
        input->kind = item->is_memory ? operand_kinds[item->space] : VYRE_OPERAND_VALUE;
        input->access = item->is_memory && item->space == VY_SPACE_BUFFER ? item->access : VYRE_ACCESS_READ;
        if (is_taken(inputs, op->input_count, input->name))
            report_operand(h, item->at, "choose another name", "there are two parameters `%s`", input->name);
        if (item->is_memory && item->type == VYRE_TYPE_BOOL)
            report_operand(h, item->at, "use u8", "parameter `%s` has element type bool, which memory cannot hold",
                           input->name);
        op->input_count++;
    }
}

static void read_outputs(head *h) {
    vyre_op_definition *op = &h->work->op->definition;
    vyre_op_operand *outputs = vy_manifest_new(h->work->reader, h->unit->result_count, sizeof *outputs);
    op->outputs = outputs;
    for (const vy_ast_declarator *result = h->unit->results; result && outputs; result = result->next) {
        outputs[op->output_count].name = copy_name(h, result->name);
        outputs[op->output_count].type = result->type;
        if (!outputs[op->output_count++].name)
            return;
    }
}

/* Checks that the text has exactly one function, within the limits. */
static int is_one_head(head *h) {
    const vy_ast_file *file = &h->parser.file;
    h->unit = file->functions;
    if (!h->unit || h->unit->next || file->programs || file->consts) {
        report_operand(h, (vy_position){0, 0, 0}, NULL, "the signature is not the head of one function%s", "");
        return 0;
    }
    if (h->unit->params.count > VY_LIMIT_PARAMS - VY_OP_LIMIT_ATTRIBUTES || h->unit->result_count > VY_LIMIT_RESULTS) {
        char counts[80];
        snprintf(counts, sizeof counts, "%u inputs (limit %d) and %u results (limit %d)", h->unit->params.count,
                 VY_LIMIT_PARAMS - VY_OP_LIMIT_ATTRIBUTES, h->unit->result_count, VY_LIMIT_RESULTS);
        report_operand(h, (vy_position){0, 0, 0}, "use fewer parameters and results; pass several values in an array",
                       "the signature has %s", counts);
        return 0;
    }
    return 1;
}

static void read_head(head *h) {
    vy_manifest_reader *reader = h->work->reader;
    size_t errors = reader->report.errors;
    const char *wanted = h->work->op->definition.function;
    if (!is_one_head(h))
        return;
    const char *given = vy_parse_name_text(&h->parser, h->unit->name);
    if (wanted && strcmp(given, wanted) != 0)
        report_operand(h, h->unit->at, VY_FIX("write `fn %.64s(…`", wanted),
                       "the signature names another function (`%s`)", given);
    read_inputs(h);
    read_outputs(h);
    h->work->has_signature = reader->report.errors == errors && !reader->report.out_of_memory;
}

/* Checks that the text starts like a head and opens no block; the parser would report it as a file. */
static int looks_like_head(head *h, const char *text) {
    const char *start = text + strspn(text, " \t\r\n");
    size_t brace = strcspn(text, "{}");
    if (text[brace]) {
        vy_diag_sink_error(&h->work->reader->report, VY_D108,
                           vy_toml_locate(h->work->reader->document, h->value, brace, 1),
                           "end the signature before it, and write the function into `body`",
                           "a signature has no body, so no `%c`", text[brace]);
        return 0;
    }
    if (strncmp(start, "fn", 2) == 0 && strchr(" \t\r\n", start[2]))
        return 1;
    report_operand(h, (vy_position){0, 0, 0}, NULL, "the signature does not start with `fn`%s", "");
    return 0;
}

void vy_manifest_read_signature(vy_manifest_work *work) {
    vy_manifest_reader *reader = work->reader;
    head h = {.work = work, .value = vy_manifest_get(work->table, "signature", VY_MANIFEST_STRING)};
    work->op->signature = vy_manifest_text(work->table, "signature");
    if (!work->op->signature || !looks_like_head(&h, work->op->signature))
        return;
    vy_string text = {0};
    vy_arena arena = {0};
    vyre_error error = VYRE_ERROR_INIT;
    vyre_diagnostics *found = vyre_diagnostics_new();
    vy_string_append(&text, h.value->string.text, h.value->string.size);
    vy_string_append(&text, no_body, sizeof no_body - 1);
    vy_source *source = text.failed ? NULL : vy_source_new("", text.text, text.length);
    vy_diag_sink inner = {.source = source, .list = found, .out_of_memory = !source};
    if (source) {
        /* Line ends are checked first, as for a file, because an escape may produce a carriage return. */
        if (!vy_lexer_check_lines(text.text, (uint32_t)text.length, &inner))
            text.length = 0;
        vy_parser_run(&h.parser, text.text, (uint32_t)text.length, &arena, &inner);
        error.code = vy_diag_sink_status(&inner, &error);
        if (error.code == VYRE_OK)
            read_head(&h);
        else
            import_diagnostics(reader, h.value, found, &error);
        vy_parser_free(&h.parser);
    }
    reader->report.out_of_memory |= inner.out_of_memory;
    vyre_diagnostics_free(found);
    vy_source_release(source);
    vy_arena_free(&arena);
    vy_string_free(&text);
}

/* Bodies: text in the manifest or in a file of its folder, parsed as a source file and compared with the signature.
 *
 * A body file stays inside the folder of the manifest: neither its name nor a symbolic link leads out of it. */

/* The origin of a body: a string of the manifest, or a file. */
typedef struct origin {
    vy_manifest_work *work;
    const vy_toml_value *string; /* NULL for a file */
    const vy_manifest_body *file;
    const vy_toml_value *named; /* the string that names the file */
    vyre_program *library;
    int is_bad; /* it has errors, which were reported */
} origin;

/* ---- files ---- */

/* A relative path without empty, "." or ".." components. */
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
        vy_fail(error, status, "put the file into the folder of the manifest, and check the spelling",
                "`%.128s` cannot be read: the file does not exist", shown);
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

/* Makes the source of a body file. Its name in diagnostics is relative to the folder of the manifest. */
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

/* Results of ops of the standard library need no type annotation. Those of other dialects do: whether they are
 * registered depends on the order of loading, and a manifest must have one meaning. For the same reason they do in the
 * library itself, whose dialects are loaded one by one (deferred.c). */
static int lookup_signature(void *user, const char *id, size_t length, vyre_op_signature *out) {
    (void)user;
    vyre_dialects_guard guard = vy_dialects_peek();
    const vyre_snapshot *loaded = guard.snapshot ? vy_snapshot_loaded(guard.snapshot) : NULL;
    const vyre_op_definition *op = loaded ? vy_snapshot_lookup(loaded, vyre_op_find_id(id, length)) : NULL;
    int is_known =
        op && strcmp(op->owner, VY_STANDARD_LIBRARY_OWNER) == 0 && vyre_dialects_op_signature(&guard, id, length, out);
    vyre_dialects_release(&guard);
    return is_known;
}

/* Parses a source; diagnostics are in the list. */
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
    reader->report.source = body->source; /* the following diagnostics are in the body file */
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

/* Returns the file of that name, which is read once; NULL if memory is exhausted or there are too many files. */
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
        import_diagnostics(reader, o->string, found, &error);
    } else {
        reader->report.out_of_memory = 1;
    }
    vy_source_release(source);
    vyre_diagnostics_free(found);
}

/* ---- comparison with the signature ---- */

/* Reports at a position of the body. */
static void report_body(const origin *o, vy_position at, const char *message) {
    vy_manifest_reader *reader = o->work->reader;
    const vy_source *own = reader->report.source;
    const char *fix = "let the function and the signature agree";
    if (o->string) {
        vyre_diagnostics *found = vyre_diagnostics_new();
        vyre_error error = VYRE_ERROR_INIT;
        vy_fail(&error, VYRE_INVALID_PROGRAM, fix, "%s", message);
        vy_diagnostic_add(found, own, vy_diag_code_name(VY_D112), VYRE_SEVERITY_ERROR, at, fix, "%s", message);
        import_diagnostics(reader, o->string, found, &error);
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

/* The required i-th parameter of the function: an input, or, after the inputs, an attribute. */
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
        int used = snprintf(message, sizeof message, "`%.64s` has %u parameters; the op has %u inputs", op->function,
                            function->param_count, op->input_count);
        if (op->attribute_count)
            snprintf(message + used, sizeof message - (size_t)used,
                     " and %u attributes, of which all or none follow the inputs", op->attribute_count);
        report_body(o, function->position, message);
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
        report_body(o, param_position(o->library, param), message);
    }
}

static void compare_results(const origin *o, const vy_function *function) {
    const vyre_op_definition *op = &o->work->op->definition;
    char message[256];
    if (function->result_count != op->output_count) {
        snprintf(message, sizeof message, "`%.64s` has %u results; the signature has %u", op->function,
                 function->result_count, op->output_count);
        report_body(o, function->position, message);
        return;
    }
    for (uint32_t i = 0; i < op->output_count; i++) {
        vyre_type given = o->library->results.items[function->first_result + i].type;
        if (given == op->outputs[i].type)
            continue;
        snprintf(message, sizeof message, "result %u of `%.64s` is %s; the signature's is %s", i + 1, op->function,
                 vyre_type_name(given), vyre_type_name(op->outputs[i].type));
        report_body(o, function->position, message);
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

/* Finds the string of the body or the name of the file. Reports it if both are given, or if neither is given and one is
 * required. */
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

/* Laws and lowerings. Laws are checked for their form only, not whether they hold. */

/* ---- laws ---- */

/* Names of the arguments of a law, by their letters (VYRE_LAW_LIST). */
static const struct {
    const char *letters, *keys[2];
} forms[] = {{"", {NULL}}, {"v", {"value"}}, {"o", {"op"}}, {"vv", {"low", "high"}}, {"oo", {"negation", "dual"}}};

typedef struct law_work {
    vy_manifest_work *op;
    const vy_toml_value *value; /* a string, or a table */
    vyre_law *law;
} law_work;

#define REFUSE(work, code, at, fix, ...) vy_diag_sink_error(&(work)->op->reader->report, code, at, fix, __VA_ARGS__)

static vyre_law_kind find_law(law_work *w, const vy_toml_value *name) {
    vyre_law_kind kind = vyre_law_find(name->string.text, name->string.size);
    if (kind != VYRE_LAW_COUNT)
        return kind;
    vy_suggestion near;
    vy_suggestion_start(&near, name->string.text, name->string.size);
    for (int i = 0; i < VYRE_LAW_COUNT; i++)
        vy_suggestion_offer(&near, vyre_law_name((vyre_law_kind)i));
    const char *best = vy_suggestion_get(&near);
    REFUSE(w, VY_D114, name->at, best ? VY_FIX("did you mean `%s`?", best) : NULL, "`%.64s` is not a law",
           name->string.text);
    return VYRE_LAW_COUNT;
}

/* The type of a value of the law: that of the input for which it is an operand, else that of the output. */
static vyre_type value_type(const law_work *w) {
    const vyre_op_definition *op = &w->op->op->definition;
    switch (w->law->kind) {
    case VYRE_LAW_IDENTITY:
    case VYRE_LAW_RIGHT_IDENTITY:
    case VYRE_LAW_ABSORBING:
    case VYRE_LAW_RIGHT_ABSORBING:
        return op->inputs[1].type;
    case VYRE_LAW_LEFT_IDENTITY:
    case VYRE_LAW_LEFT_ABSORBING:
        return op->inputs[0].type;
    default:
        return op->outputs[0].type;
    }
}

/* Reads a full id, or the name of an op of the same dialect. */
static void read_op(law_work *w, const vy_toml_value *value, vyre_law_argument *argument) {
    vy_manifest_reader *reader = w->op->reader;
    vy_string id = {0};
    if (!vy_manifest_expect(reader, value, "an op", VY_MANIFEST_STRING))
        return;
    if (vy_text_is_op_part(value->string.text, value->string.size) && reader->manifest->dialect.name)
        vy_string_format(&id, "%s.", reader->manifest->dialect.name);
    vy_string_add(&id, value->string.text);
    if (!id.failed && !vy_text_is_op_id(id.text, id.length))
        REFUSE(w, VY_D104, value->at, "name an op of this dialect, or one of another as dialect.name",
               "`%.64s` is not an op id", value->string.text);
    argument->text = id.failed ? NULL : vy_arena_copy(reader->arena, id.text, id.length);
    if (!argument->text)
        reader->report.out_of_memory = 1;
    vy_string_free(&id);
}

/* Reports that the law lacks the argument `name`; the fix shows the complete law. */
static void report_lacking(law_work *w, const char *name, const char *const *names, uint32_t count) {
    REFUSE(w, VY_D115, w->value->at,
           VY_FIX("write { law = \"%s\", %s = …%s%s%s }", vyre_law_name(w->law->kind), names[0], count > 1 ? ", " : "",
                  count > 1 ? names[1] : "", count > 1 ? " = …" : ""),
           "the law `%s` needs `%s`: %s", vyre_law_name(w->law->kind), name, vyre_law_doc(w->law->kind));
}

static void read_arguments(law_work *w, const char *letters, const char *const *names) {
    vy_manifest_reader *reader = w->op->reader;
    uint32_t count = (uint32_t)strlen(letters);
    vyre_law_argument *arguments = vy_manifest_new(reader, count, sizeof *arguments);
    w->law->arguments = arguments;
    w->law->argument_count = count;
    for (uint32_t i = 0; i < count && arguments; i++) {
        const vy_toml_entry *entry =
            w->value->kind == VY_TOML_TABLE ? vy_toml_find(w->value, names[i], strlen(names[i])) : NULL;
        if (!entry) {
            report_lacking(w, names[i], names, count);
            return;
        }
        if (letters[i] == 'o') {
            read_op(w, &entry->value, &arguments[i]);
        } else if (w->op->has_signature) {
            arguments[i].value.type = value_type(w);
            vy_manifest_value(reader, &entry->value, arguments[i].value.type, &arguments[i].value.bits,
                              &arguments[i].text);
        }
    }
}

/* Checks that the op has the number of inputs and outputs that the law requires. */
static int has_shape(law_work *w) {
    const vyre_op_definition *op = &w->op->op->definition;
    unsigned inputs = vyre_law_inputs(w->law->kind);
    int all_values = 1;
    for (uint32_t i = 0; i < op->input_count; i++)
        all_values &= op->inputs[i].kind == VYRE_OPERAND_VALUE;
    if ((inputs == 0 || op->input_count == inputs) && op->input_count && op->output_count == 1 && all_values)
        return 1;
    REFUSE(w, VY_D115, w->value->at, "remove the law, or change the signature",
           "the law `%s` is about %s and one output; the op has %u input%s and %u output%s%s",
           vyre_law_name(w->law->kind),
           inputs == 1   ? "one value"
           : inputs == 2 ? "two values"
                         : "values",
           op->input_count, op->input_count == 1 ? "" : "s", op->output_count, op->output_count == 1 ? "" : "s",
           all_values ? "" : ", and has memory operands");
    return 0;
}

static void read_law(law_work *w) {
    vy_manifest_reader *reader = w->op->reader;
    const vy_toml_value *name = w->value;
    vy_manifest_key keys[3] = {{"law", VY_MANIFEST_STRING, 1}};
    if (!vy_manifest_expect(reader, name, "a law", VY_MANIFEST_STRING | VY_MANIFEST_TABLE))
        return;
    if (name->kind == VY_TOML_TABLE)
        name = vy_manifest_get(w->value, "law", VY_MANIFEST_STRING);
    w->law->kind = name ? find_law(w, name) : VYRE_LAW_COUNT;
    const char *letters = vyre_law_arguments(w->law->kind);
    size_t form = 0, count = strlen(letters);
    while (strcmp(forms[form].letters, letters) != 0)
        form++;
    for (size_t i = 0; i < count; i++)
        keys[i + 1] = (vy_manifest_key){forms[form].keys[i], ~0u, 0};
    if (w->value->kind == VY_TOML_TABLE && (w->law->kind != VYRE_LAW_COUNT || !name))
        vy_manifest_check_keys(reader, w->value, "a law", keys, count + 1);
    if (w->law->kind != VYRE_LAW_COUNT && (!w->op->has_signature || has_shape(w)))
        read_arguments(w, letters, forms[form].keys);
}

void vy_manifest_read_laws(vy_manifest_work *work) {
    vy_manifest_reader *reader = work->reader;
    const vy_toml_value *list = vy_manifest_get(work->table, "laws", VY_MANIFEST_ARRAY);
    if (!list || !vy_manifest_fits(work, list, list->array.count, "laws", VY_OP_LIMIT_LAWS))
        return;
    vyre_law *laws = vy_manifest_new(reader, list->array.count, sizeof *laws);
    vy_position *places = vy_manifest_new(reader, list->array.count, sizeof *places);
    if (!laws || !places)
        return;
    work->op->definition.laws = laws;
    work->op->law_positions = places;
    for (const vy_toml_value *item = list->array.first; item; item = item->next) {
        uint32_t i = work->op->definition.law_count++;
        places[i] = item->at;
        law_work w = {work, item, &laws[i]};
        read_law(&w);
    }
}

/* ---- lowerings ---- */

/* The code: a string, or a table with the string and a bound. NULL if it is neither, which was reported. */
static const vy_toml_value *read_code(vy_manifest_work *work, const vy_toml_entry *entry, vyre_lowering *lowering) {
    static const vy_manifest_key keys[] = {{"code", VY_MANIFEST_STRING, 1}, {"ulp", 1u << VY_TOML_INTEGER, 0}};
    if (!vy_manifest_expect(work->reader, &entry->value, "the code for a target",
                            VY_MANIFEST_STRING | VY_MANIFEST_TABLE))
        return NULL;
    if (entry->value.kind == VY_TOML_STRING)
        return &entry->value;
    vy_manifest_check_keys(work->reader, &entry->value, "a lowering", keys, sizeof keys / sizeof *keys);
    const vy_toml_value *ulp = vy_manifest_get(&entry->value, "ulp", 1u << VY_TOML_INTEGER);
    if (ulp && (ulp->integer < 0 || ulp->integer > VY_LOWERING_LIMIT_ULP))
        vy_diag_sink_error(&work->reader->report, VY_D117, ulp->at, NULL,
                           "the bound is not a number of ulp from 0 to %d (%lld)", VY_LOWERING_LIMIT_ULP,
                           (long long)ulp->integer);
    else if (ulp)
        lowering->ulp = (uint32_t)ulp->integer;
    return vy_manifest_get(&entry->value, "code", VY_MANIFEST_STRING);
}

static void read_lowering(vy_manifest_work *work, const vy_toml_entry *entry, vyre_lowering *lowering,
                          vyre_target *seen, uint32_t count) {
    vy_diag_sink *report = &work->reader->report;
    vyre_error error;
    vyre_status status = vyre_target_parse(entry->key, entry->length, &seen[count], &error);
    if (status == VYRE_NO_MEMORY) {
        report->out_of_memory = 1;
        return;
    }
    if (status != VYRE_OK) {
        vy_diag_sink_error(report, VY_D117, entry->at, error.fix, "%s", error.message);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        if (seen[i] == seen[count])
            vy_diag_sink_error(report, VY_D117, entry->at, "keep one of the two", "duplicate code for `%s`",
                               vyre_target_text(seen[i]));
    if (seen[count] == VYRE_TARGET_REFERENCE)
        vy_diag_sink_error(report, VY_D117, entry->at, "leave it out: the reference runs the body",
                           "`%.64s` is the reference, which has no separate code", entry->key);
    else if (!vy_target_has_consumer(seen[count]))
        vy_diag_sink_error(report, VY_D125, entry->at,
                           VY_FIX("remove it, or use the id of the plug-in that reads it, such as `my-%s`", entry->key),
                           "no backend reads the code of `%.128s` for the built-in target `%s`",
                           work->op->definition.id, entry->key);
    const vy_toml_value *code = read_code(work, entry, lowering);
    if (!code)
        return;
    if (code->string.size == 0) {
        vy_diag_sink_error(report, VY_D117, code->at, "write the code, or leave the target out",
                           "the code for `%.64s` is empty", entry->key);
        return;
    }
    lowering->target = vyre_target_text(seen[count]);
    lowering->data = code->string.text;
    lowering->size = code->string.size;
    if (work->has_signature && vy_lowering_has_language(seen[count]) && work->op->definition.id &&
        vy_lowering_check_code(&work->op->definition, seen[count], lowering, &error) != VYRE_OK)
        vy_diag_sink_error(report, VY_D117, code->at, error.fix, "%s", error.message);
}

void vy_manifest_read_lowerings(vy_manifest_work *work) {
    const vy_toml_value *table = vy_manifest_get(work->table, "lowering", VY_MANIFEST_TABLE);
    vyre_target seen[VY_OP_LIMIT_LOWERINGS];
    if (!table || !vy_manifest_fits(work, table, table->table.count, "lowerings", VY_OP_LIMIT_LOWERINGS))
        return;
    if (work->op->definition.category == VYRE_CATEGORY_COMPOSITE && table->table.count)
        vy_diag_sink_error(&work->reader->report, VY_D117, table->at,
                           "remove `lowering`, or write `category = \"intrinsic\"`",
                           "a composite op has no code for targets: its body defines it");
    vyre_lowering *lowerings = vy_manifest_new(work->reader, table->table.count, sizeof *lowerings);
    vy_position *positions = vy_manifest_new(work->reader, table->table.count, sizeof *positions);
    work->op->definition.lowerings = lowerings;
    work->op->lowering_positions = positions;
    for (const vy_toml_entry *entry = table->table.first; entry && lowerings && positions; entry = entry->next) {
        uint32_t i = work->op->definition.lowering_count++;
        seen[i] = VYRE_TARGET_COUNT;
        positions[i] = entry->value.at;
        read_lowering(work, entry, &lowerings[i], seen, i);
    }
}
