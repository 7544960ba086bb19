/* Signatures: the head of a function, read by the parser of the language. */
#include "dialect/manifest_reader.h"
#include "dialect/opdef.h"
#include "ir/text/parser.h"

#include <stdio.h>

static const char no_body[] =
    "\n{}"; /* makes the head a function; on a line of its own, since a comment may end the head */

/* ---- places ---- */

/* The offset of a line and column; the end of the text if it is shorter. */
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

void vy_manifest_import_diagnostics(vy_manifest_reader *reader, const vy_toml_value *string,
                                    const vyre_diagnostics *found, const vyre_error *error) {
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
    const vy_toml_value *value; /* the string */
    vy_parser parser;
    const vy_ast_function *unit;
} head;

static void report(head *h, vy_position at, const char *fix, const char *message, const char *name) {
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

/* The space of names is shared by all inputs, so the limit on inputs keeps this short. */
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
            report(h, item->at, "choose another name", "there are two parameters `%s`", input->name);
        if (item->is_memory && item->type == VYRE_TYPE_BOOL)
            report(h, item->at, "use u8", "parameter `%s` is memory of bool, which has no place in memory",
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

/* One function and nothing beside it, inside the limits. */
static int is_one_head(head *h) {
    const vy_ast_file *file = &h->parser.file;
    h->unit = file->functions;
    if (!h->unit || h->unit->next || file->programs || file->consts) {
        report(h, (vy_position){0, 0, 0}, NULL, "the signature is not the head of one function%s", "");
        return 0;
    }
    if (h->unit->params.count > VY_LIMIT_PARAMS - VY_OP_LIMIT_ATTRIBUTES || h->unit->result_count > VY_LIMIT_RESULTS) {
        char counts[80];
        snprintf(counts, sizeof counts, "%u inputs (limit %d) and %u results (limit %d)", h->unit->params.count,
                 VY_LIMIT_PARAMS - VY_OP_LIMIT_ATTRIBUTES, h->unit->result_count, VY_LIMIT_RESULTS);
        report(h, (vy_position){0, 0, 0}, "take and give less; pass several values in an array", "the signature has %s",
               counts);
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
        report(h, h->unit->at, VY_FIX("write `fn %.64s(…`", wanted), "the signature names another function (`%s`)",
               given);
    read_inputs(h);
    read_outputs(h);
    h->work->has_signature = reader->report.errors == errors && !reader->report.out_of_memory;
}

/* Whether the text starts as a head does and opens no block; the parser would take it for a file and say so. */
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
    report(h, (vy_position){0, 0, 0}, NULL, "the signature does not start with `fn`%s", "");
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
        /* Line ends are checked first, as for a file: an escape may have brought a carriage return. */
        if (!vy_lexer_check_lines(text.text, (uint32_t)text.length, &inner))
            text.length = 0;
        vy_parser_run(&h.parser, text.text, (uint32_t)text.length, &arena, &inner);
        error.code = vy_diag_sink_status(&inner, &error);
        if (error.code == VYRE_OK)
            read_head(&h);
        else
            vy_manifest_import_diagnostics(reader, h.value, found, &error);
        vy_parser_free(&h.parser);
    }
    reader->report.out_of_memory |= inner.out_of_memory;
    vyre_diagnostics_free(found);
    vy_source_release(source);
    vy_arena_free(&arena);
    vy_string_free(&text);
}
