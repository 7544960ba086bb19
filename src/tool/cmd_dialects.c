/* vyre dialects: lists and shows ops of dialects, checks manifests, watches folders of manifests. */
#include "base/string.h"
#include "dialect/load.h"
#include "dialect/lowering_code.h"
#include "dialect/manifest_dir.h"
#include "dialect/manifest_reader.h"
#include "ir/op_tables.h"
#include "targets/lowering_check.h"
#include "tool/args.h"
#include "tool/load.h"
#include "tool/scalar_text.h"
#include "tool/tool.h"
#include "vyre/manifest.h"
#include "vyre/text.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct dialects_options {
    tool_list folders;
    uint64_t events;
    int json;
} dialects_options;

static const tool_option options_table[] = {
    {"folder", 0, "DIR", TOOL_LIST, offsetof(dialects_options, folders),
     "load the manifests in DIR first; may be repeated"},
    {"events", 0, "N", TOOL_AMOUNT, offsetof(dialects_options, events), "with watch: exit after N changes"},
    {"json", 0, NULL, TOOL_FLAG, offsetof(dialects_options, json), "print one JSON value; with watch, one per line"},
    TOOL_OPTION_END,
};

/* The arguments of an action: the words after its name. */
typedef struct request {
    const tool_command *self;
    const dialects_options *options;
    const char *const *words;
    uint32_t count;
} request;

/* ---- loading ---- */

/* Prints the diagnostics, or the error if there are none. A missing file or folder is TOOL_SYSTEM, not an error in a
 * manifest. */
static int report(const vyre_diagnostics *list, const vyre_error *error) {
    const vyre_diagnostic *first = vyre_diagnostics_get(list, 0);
    int is_absent = error->code == VYRE_NOT_FOUND && (!first || first->line == 0);

    if (first) {
        tool_error_record_note(error);
        tool_diagnostics(list);
    } else {
        (void)tool_error(error);
    }
    return is_absent ? TOOL_SYSTEM : tool_exit_of(error->code);
}

static int load_folders(const request *request) {
    int code = tool_dialects_load();

    for (uint32_t i = 0; i < request->options->folders.count && code == TOOL_OK; i++) {
        vyre_diagnostics *list = vyre_diagnostics_new();
        vyre_error error;
        if (vyre_dialects_load_folder(request->options->folders.items[i], list, &error) != VYRE_OK)
            code = report(list, &error);
        vyre_diagnostics_free(list);
    }
    return code;
}

/* Acquires the current snapshot after loading the requested folders. */
static int acquire(const request *request, vyre_dialects_guard *guard) {
    vyre_error error;
    int code = load_folders(request);

    *guard = (vyre_dialects_guard){NULL, NULL};
    if (code != TOOL_OK)
        return code;
    return vyre_dialects_global(guard, &error) == VYRE_OK ? TOOL_OK : tool_error(&error);
}

/* ---- signatures ---- */

static void add_signature(vy_string *out, const vyre_op_definition *op) {
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

/* ---- bodies: only the functions that the op needs, of the file that contains its body ---- */

/* A function in canonical text: from "fn " at the start of a line to "}" at the start of a line. */
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

/* A target, and the code if the target's emitter reads it: each line of it is indented. */
static void add_lowering(vy_string *out, const vyre_lowering *lowering, const char *title) {
    const vyre_target target = vy_lowering_target(lowering);
    const char *text = lowering->data;
    const int is_shown = vy_lowering_has_language(target);

    vy_string_format(out, "%-12s%s, %s", title, is_shown ? vyre_target_emit_name(target) : lowering->target,
                     lowering->function ? "function" : "code");
    if (lowering->ulp)
        vy_string_format(out, " within %" PRIu32 " ulp", lowering->ulp);
    vy_string_add(out, is_shown ? ":\n" : "\n");
    for (size_t at = 0, length; is_shown && at < lowering->size; at += length + 1) {
        const char *end = memchr(text + at, '\n', lowering->size - at);
        length = end ? (size_t)(end - text) - at : lowering->size - at;
        vy_string_add(out, "              ");
        vy_string_append(out, text + at, length);
        vy_string_char(out, '\n');
    }
}

static void add_op_text(vy_string *out, const vyre_op_definition *op) {
    vy_string_format(out, "%s %s\n", op->id, op->version);
    if (op->doc && *op->doc)
        vy_string_format(out, "%s\n", op->doc);
    vy_string_format(out, "\n%-12s", "signature");
    add_signature(out, op);
    vy_string_format(out, "\n%-12s%s\n", "category", vyre_op_category_name(op->category));
    add_attributes(out, op);
    add_laws(out, op);
    for (uint32_t i = 0; i < op->lowering_count; i++)
        add_lowering(out, &op->lowerings[i], i ? "" : "lowerings");
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

/* Code that the emitter of a target reads. */
static void add_json_code(vy_string *out, const vyre_lowering *lowering) {
    const vyre_target target = vy_lowering_target(lowering);
    vy_string text = {0};

    if (!vy_lowering_has_language(target))
        return;
    vy_string_append(&text, lowering->data, lowering->size);
    tool_json_open(out, "", '{');
    tool_json_text(out, "target", vyre_target_emit_name(target));
    tool_json_number(out, "ulp", lowering->ulp);
    tool_json_text(out, "text", text.text);
    vy_string_char(out, '}');
    out->failed |= text.failed;
    vy_string_free(&text);
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
    vy_string_add(out, "],\"code\":[");
    for (uint32_t i = 0; i < op->lowering_count; i++)
        add_json_code(out, &op->lowerings[i]);
    vy_string_char(out, ']');
}

static void add_op_json(vy_string *out, const vyre_op_definition *op) {
    vy_string text = {0};

    vy_string_char(out, '{');
    tool_json_text(out, "id", op->id);
    tool_json_text(out, "version", op->version);
    tool_json_text(out, "category", vyre_op_category_name(op->category));
    tool_json_text(out, "doc", op->doc);
    tool_json_text(out, "owner", op->owner);
    add_signature(&text, op);
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

/* ---- list ---- */

static size_t count_ops(vyre_dialects_guard guard, const char *dialect) {
    size_t count = 0;

    for (size_t i = 0; i < vyre_dialects_count(guard); i++)
        count += strcmp(vyre_dialects_at(guard, i)->dialect, dialect) == 0;
    return count;
}

static void add_dialect_json(vy_string *out, const vyre_dialect *dialect) {
    vy_string_char(out, '{');
    tool_json_text(out, "dialect", dialect->name);
    tool_json_text(out, "version", dialect->version);
    tool_json_text(out, "doc", dialect->doc);
    tool_json_text(out, "owner", dialect->owner);
}

static void add_all(vy_string *out, vyre_dialects_guard guard, int json) {
    vy_string_add(out, json ? "[" : "");
    for (size_t i = 0; i < vyre_dialects_dialect_count(guard); i++) {
        const vyre_dialect *dialect = vyre_dialects_dialect_at(guard, i);
        size_t ops = count_ops(guard, dialect->name);
        if (json) {
            vy_string_add(out, i ? ",\n " : "");
            add_dialect_json(out, dialect);
            vy_string_format(out, ",\"ops\":%zu}", ops);
        } else {
            vy_string_format(out, "%-12s %-8s %4zu op%s  %s  (%s)\n", dialect->name, dialect->version, ops,
                             ops == 1 ? " " : "s", dialect->doc, dialect->owner);
        }
    }
    vy_string_add(out, json ? "]\n" : "");
}

static void add_ops(vy_string *out, vyre_dialects_guard guard, const vyre_dialect *dialect, int json) {
    int first = 1;

    if (json) {
        add_dialect_json(out, dialect);
        vy_string_add(out, ",\"ops\":[");
    } else {
        vy_string_format(out, "%s %s: %s (%s)\n", dialect->name, dialect->version, dialect->doc, dialect->owner);
    }
    for (size_t i = 0; i < vyre_dialects_count(guard); i++) {
        const vyre_op_definition *op = vyre_dialects_at(guard, i);
        if (strcmp(op->dialect, dialect->name) != 0)
            continue;
        if (json) {
            vy_string_add(out, first ? "" : ",\n ");
            add_op_json(out, op);
        } else {
            vy_string_format(out, "  %-28s %s\n", op->id, op->doc);
        }
        first = 0;
    }
    vy_string_add(out, json ? "]}\n" : "");
}

static int unknown_name(const char *word, const vy_suggestion *closest, const char *what, const char *fix) {
    const char *best = vy_suggestion_get(closest);
    vyre_error error;

    vy_fail(&error, VYRE_NOT_FOUND, best ? VY_FIX("did you mean `%s`?", best) : fix, "unknown %s `%.128s`", what, word);
    return tool_error(&error);
}

static int no_dialect(vyre_dialects_guard guard, const char *word) {
    vy_suggestion closest;

    vy_suggestion_start(&closest, word, strlen(word));
    for (size_t i = 0; i < vyre_dialects_dialect_count(guard); i++)
        vy_suggestion_offer(&closest, vyre_dialects_dialect_at(guard, i)->name);
    return unknown_name(word, &closest, "dialect", "see `vyre dialects list`, or load more with --folder");
}

static int run_list(const void *given) {
    const request *request = given;
    vyre_dialects_guard guard;
    vy_string out = {0};
    int code = acquire(request, &guard);

    if (code == TOOL_OK && request->count > 1) {
        code = tool_usage(request->self, "name one dialect", "unexpected argument `%.100s`", request->words[1]);
    } else if (code == TOOL_OK && request->count == 1) {
        const char *word = request->words[0];
        const vyre_dialect *dialect = vyre_dialects_dialect(guard, word, strlen(word));
        if (dialect)
            add_ops(&out, guard, dialect, request->options->json);
        else
            code = no_dialect(guard, word);
    } else if (code == TOOL_OK) {
        add_all(&out, guard, request->options->json);
    }
    vyre_dialects_release(&guard);
    if (code == TOOL_OK)
        return tool_print(&out);
    vy_string_free(&out);
    return code;
}

/* ---- show ---- */

static int no_op(vyre_dialects_guard guard, const char *word) {
    vy_suggestion closest;

    vy_suggestion_start(&closest, word, strlen(word));
    for (size_t i = 0; i < vyre_dialects_count(guard); i++)
        vy_suggestion_offer(&closest, vyre_dialects_at(guard, i)->id);
    /* The word is a dialect, or a dialect precedes its last dot. */
    const char *dot = strrchr(word, '.');
    size_t length = dot ? (size_t)(dot - word) : strlen(word);
    return unknown_name(
        word, &closest, "op",
        length < 128 && vyre_dialects_dialect(guard, word, length)
            ? VY_FIX("see `vyre dialects list %.*s`", (int)length, word)
            : "see `vyre dialects list` for the dialects, `vyre dialects list DIALECT` for the ops of one");
}

/* Finds the op with that id, or as in a call, all ops with that id and a type: `bits.parity`, `exp`. */
static uint32_t find_ops(vyre_dialects_guard guard, const char *word,
                         const vyre_op_definition *found[VYRE_TYPE_COUNT]) {
    char id[256];
    uint32_t count = 0;

    found[0] = vyre_dialects_find(guard, word, strlen(word));
    if (found[0])
        return 1;
    for (vyre_type type = 0; type < VYRE_TYPE_COUNT; type++) {
        int length = snprintf(id, sizeof id, "%s%s_%s", strpbrk(word, ".:") ? "" : "math.", word, vyre_type_name(type));
        found[count] = length < (int)sizeof id ? vyre_dialects_find(guard, id, (size_t)length) : NULL;
        count += found[count] != NULL;
    }
    return count;
}

static int run_show(const void *given) {
    const request *request = given;
    vyre_dialects_guard guard;
    vy_string out = {0};
    int json = request->options->json, code, shown = 0;

    if (request->count == 0)
        return tool_usage(request->self, "add an op, as in `vyre dialects show bits.extract_u32`", "no op is given");
    code = acquire(request, &guard);
    vy_string_add(&out, json ? "[" : "");
    for (uint32_t i = 0; i < request->count && code == TOOL_OK; i++) {
        const vyre_op_definition *ops[VYRE_TYPE_COUNT];
        uint32_t count = find_ops(guard, request->words[i], ops);
        if (!count)
            code = no_op(guard, request->words[i]);
        for (uint32_t k = 0; k < count; k++) {
            vy_string_add(&out, !shown ? "" : json ? ",\n " : "\n");
            shown = 1;
            if (json)
                add_op_json(&out, ops[k]);
            else
                add_op_text(&out, ops[k]);
        }
    }
    vy_string_add(&out, json ? "]\n" : "");
    vyre_dialects_release(&guard);
    if (code == TOOL_OK)
        return tool_print(&out);
    vy_string_free(&out);
    return code;
}

/* ---- check ---- */

/* Checks code for c and ptx, and adds a line that states what was checked. */
static vyre_status check_code(void *user, vyre_dialects_guard guard, const vyre_op_definition *op,
                              const vyre_lowering *lowering, vyre_error *error) {
    static const char *const verdicts[] = {
        [VY_LOWERING_UNCHECKED] = "has the form of code, but the tool that checks it was not found",
        [VY_LOWERING_ASSEMBLED] = "is accepted by ptxas; backend `cuda` compares it with the body",
        [VY_LOWERING_TRIED] = "was compiled, and returns the results of the body"};
    const char *const target = vyre_target_emit_name(vy_lowering_target(lowering));
    vy_lowering_verdict verdict;
    vyre_status status = vy_lowering_check(guard, op, lowering, &verdict, error);

    if (status == VYRE_OK)
        vy_string_format(user, "  %s: code for `%s` %s\n", op->id, target, verdicts[verdict]);
    return status;
}

/* Reports all errors of loading these files together. Installs nothing. */
static vyre_status check_files(vy_manifest_dirs *folders, vy_string *checked, vyre_diagnostics *list,
                               vyre_error *error) {
    const vy_lowering_checker checker = {check_code, checked};
    size_t changed;
    vyre_status status = vy_manifest_dirs_read(folders, list, &changed, error);

    if (status != VYRE_OK)
        return status;
    if (folders->first.code != VYRE_OK) {
        *error = folders->first;
        return error->code;
    }
    vy_load_item *items = vy_manifest_dirs_batch(folders);
    if (!items)
        return vy_fail_memory(error, "checking manifests");
    status = vy_load_check(items, folders->entries.count, &checker, list, error);
    vy_manifest_dirs_commit(folders, items, 0);
    return status;
}

/* Whether libvyre provides the dialect. Its manifest can be checked and compiled in, but not loaded. */
static int is_standard(const char *dialect) {
    vyre_dialects_guard guard = vyre_dialects_acquire();
    const vyre_dialect *there = vyre_dialects_dialect(guard, dialect, strlen(dialect));
    int answer = there && strcmp(there->owner, VY_STANDARD_LIBRARY_OWNER) == 0;

    vyre_dialects_release(&guard);
    return answer;
}

static void add_checked(vy_string *out, const vy_manifest_dirs *folders, int json) {
    for (uint32_t i = 0; i < folders->entries.count; i++) {
        const vy_manifest *manifest = folders->entries.items[i].next;
        const char *shown = folders->entries.items[i].shown;
        if (!manifest)
            continue;
        if (json) {
            tool_json_open(out, "", '{');
            tool_json_text(out, "file", shown);
            tool_json_text(out, "dialect", manifest->dialect.name);
            tool_json_text(out, "version", manifest->dialect.version);
            tool_json_number(out, "ops", manifest->op_count);
            tool_json_flag(out, "standard", is_standard(manifest->dialect.name));
            vy_string_char(out, '}');
        } else {
            vy_string_format(out, "%s: ok, dialect %s %s, %u op%s%s\n", shown, manifest->dialect.name,
                             manifest->dialect.version, manifest->op_count, manifest->op_count == 1 ? "" : "s",
                             is_standard(manifest->dialect.name) ? ", replaces the dialect of libvyre" : "");
        }
    }
}

static int show_checked(const vy_manifest_dirs *folders, const vy_string *checked, const vyre_diagnostics *list,
                        int is_good, int json) {
    vy_string out = {0};

    if (json) {
        vy_string_format(&out, "{\"ok\":%s,\"manifests\":[", is_good ? "true" : "false");
        add_checked(&out, folders, 1);
        vy_string_char(&out, ']');
        tool_error_record_json(&out);
        tool_json_findings(&out, list, 1);
        vy_string_add(&out, "}\n");
        tool_error_record_json_printed();
    } else if (is_good) {
        add_checked(&out, folders, 0);
        vy_string_append(&out, checked->text ? checked->text : "", checked->length);
    }
    return tool_print(&out);
}

static int run_check(const void *given) {
    const request *request = given;
    vy_manifest_dirs folders = {0};
    vyre_diagnostics *list = vyre_diagnostics_new();
    vy_string checked = {0};
    vyre_error error;
    int code, shown = TOOL_OK;

    if (request->count == 0) {
        vyre_diagnostics_free(list);
        return tool_usage(request->self, "add a file, as in `vyre dialects check words.toml`", "no file is given");
    }
    code = load_folders(request);
    error.code = VYRE_OK;
    for (uint32_t i = 0; i < request->count && code == TOOL_OK && error.code == VYRE_OK; i++)
        if (vy_manifest_dirs_add_file(&folders, request->words[i], &error) != VYRE_OK)
            code = tool_error(&error);
    if (code == TOOL_OK) {
        error.code = VYRE_OK;
        if (check_files(&folders, &checked, list, &error) != VYRE_OK)
            code = report(list, &error);
        shown = show_checked(&folders, &checked, list, code == TOOL_OK, request->options->json);
    }
    vy_string_free(&checked);
    vy_manifest_dirs_free(&folders);
    vyre_diagnostics_free(list);
    return code != TOOL_OK ? code : shown;
}

/* ---- watch ---- */

typedef struct watching {
    const dialects_options *options;
    uint64_t events;
} watching;

/* SIGINT and SIGTERM end the watch. They are blocked in every thread; this thread waits for them. */
static sigset_t end_signals(void) {
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    return signals;
}

static void wait_for_end(void) {
    sigset_t signals = end_signals();
    int number;

    (void)sigwait(&signals, &number);
}

/* Called on the watcher's thread while the main thread waits for a signal. */
static void print_event(void *user, const vyre_dialects_event *event) {
    watching *watching = user;
    vy_string out = {0};

    if (watching->options->json) {
        vy_string_format(&out, "{\"generation\":%" PRIu64 ",\"changed\":%u,\"removed\":%u", event->generation,
                         event->changed, event->removed);
        tool_json_findings(&out, event->findings, 1);
        vy_string_add(&out, "}\n");
    } else {
        tool_diagnostics(event->findings);
        vy_string_format(&out, "generation %" PRIu64 ": %u changed, %u removed%s\n", event->generation, event->changed,
                         event->removed, event->error ? "; manifests with errors were not reloaded" : "");
    }
    (void)tool_print(&out);
    fflush(stdout);
    if (watching->options->events && ++watching->events == watching->options->events)
        (void)kill(getpid(), SIGTERM);
}

static int run_watch(const void *given) {
    const request *request = given;
    watching watching = {.options = request->options};
    vyre_dialects_watch_options options = VYRE_DIALECTS_WATCH_OPTIONS_INIT;
    vyre_dialects_watcher *watcher;
    sigset_t ends = end_signals();
    vyre_error error;
    int code = load_folders(request);

    if (code != TOOL_OK)
        return code;
    options.folders = request->count ? request->words : NULL;
    options.folder_count = request->count;
    options.report = print_event;
    options.user = &watching;
    (void)pthread_sigmask(SIG_BLOCK, &ends, NULL);
    if (vyre_dialects_watch(&options, &watcher, &error) != VYRE_OK)
        return error.code == VYRE_INVALID_ARGUMENT ? tool_usage(request->self, error.fix, "%s", error.message)
                                                   : tool_error(&error);
    wait_for_end();
    vyre_dialects_watcher_stop(watcher);
    tool_error_record_json_printed();
    return TOOL_OK;
}

/* ---- the command ---- */

static const tool_action actions[] = {
    {"list", run_list}, {"show", run_show}, {"check", run_check}, {"watch", run_watch}, {NULL, NULL}};

static int run_command(const tool_command *self, void *given, const tool_args *args) {
    const char *word = args->words.count ? args->words.items[0] : "list";
    request request = {.self = self, .options = given};

    if (args->words.count > 1) {
        request.words = args->words.items + 1;
        request.count = args->words.count - 1;
    }
    if (request.options->events && strcmp(word, "watch") != 0)
        return tool_usage(self, "use `vyre dialects watch FOLDER`", "--events is an option of watch, not of %.100s",
                          word);
    const tool_action *action = tool_action_find(self, actions, word);
    return action ? action->run(&request) : TOOL_USAGE;
}

const tool_command tool_cmd_dialects = {
    .name = "dialects",
    .summary = "list and show ops of dialects, check and watch manifests",
    .usage = "[list [DIALECT]|show OP...|check FILE...|watch FOLDER...] [OPTIONS]",
    .details =
        "list   prints the dialects with version, number of ops, description and owner; or the ops of one\n"
        "show   prints signature, description, attributes, laws, lowerings and body of ops. Without the type in\n"
        "       an id it prints all variants: bits.parity, exp\n"
        "check  reports every error in manifests, as if they were loaded together; exits with 1 if there is one.\n"
        "       Code for the targets c and ptx is compiled with cc and ptxas, if they are found, and code for c is\n"
        "       compared with the body. A manifest of a dialect of libvyre replaces that dialect\n"
        "watch  reports every change in folders of manifests, until interrupted\n"
        "\n"
        "Every command that reads programs also uses the dialects in the folders of $VYRE_DIALECT_PATH (separated by\n"
        "colons), in addition to those of libvyre.\n",
    .examples = "  vyre dialects list bits\n"
                "  vyre dialects show bits.extract_u32\n"
                "  vyre dialects check words.toml\n"
                "  vyre dialects watch ops/\n",
    .options = options_table,
    .options_size = sizeof(dialects_options),
    .run = run_command,
};
