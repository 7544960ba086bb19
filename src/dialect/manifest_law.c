/* Laws and lowerings of an op. Whether a law holds is not asked here, only whether it can be asked. */
#include "dialect/manifest_reader.h"
#include "dialect/opdef.h"
#include "ir/identifiers.h"

/* ---- laws ---- */

/* What the arguments of a law are called, by its letters (VYRE_LAW_LIST). */
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
    REFUSE(w, VY_D114, name->at, best ? VY_FIX("did you mean `%s`?", best) : NULL, "`%.64s` is no law",
           name->string.text);
    return VYRE_LAW_COUNT;
}

/* The type a value of the law has: that of the input it stands for where it is one, else that of the output. */
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

/* A full id, or the name of an op of the same dialect. */
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
               "`%.64s` is no op id", value->string.text);
    argument->text = id.failed ? NULL : vy_arena_copy(reader->arena, id.text, id.length);
    if (!argument->text)
        reader->report.out_of_memory = 1;
    vy_string_free(&id);
}

/* The law lacks the argument `name`; the fix shows the whole law. */
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

/* Whether the op has the shape that the law speaks of. */
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
           all_values ? "" : ", and takes memory");
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
            vy_diag_sink_error(report, VY_D117, entry->at, "keep one of the two", "there is code for `%s` twice",
                               vyre_target_text(seen[i]));
    if (seen[count] == VYRE_TARGET_REFERENCE)
        vy_diag_sink_error(report, VY_D117, entry->at, "leave it out: the reference runs the body",
                           "`%.64s` is the reference, which has no code of its own", entry->key);
    else if (!vy_target_has_consumer(seen[count]))
        vy_diag_sink_error(report, VY_D125, entry->at,
                           VY_FIX("remove it, or use the id of the plug-in that reads it, such as `my-%s`", entry->key),
                           "no backend reads the code of `%.128s` for the built-in target `%s`",
                           work->op->definition.id, entry->key);
    if (!vy_manifest_expect(work->reader, &entry->value, "the code for a target", VY_MANIFEST_STRING))
        return;
    if (entry->value.string.size == 0)
        vy_diag_sink_error(report, VY_D117, entry->value.at, "write the code, or leave the target out",
                           "the code for `%.64s` is empty", entry->key);
    *lowering = (vyre_lowering){
        .target = vyre_target_text(seen[count]), .data = entry->value.string.text, .size = entry->value.string.size};
}

void vy_manifest_read_lowerings(vy_manifest_work *work) {
    const vy_toml_value *table = vy_manifest_get(work->table, "lowering", VY_MANIFEST_TABLE);
    vyre_target seen[VY_OP_LIMIT_LOWERINGS];
    if (!table || !vy_manifest_fits(work, table, table->table.count, "lowerings", VY_OP_LIMIT_LOWERINGS))
        return;
    if (work->op->definition.category == VYRE_CATEGORY_COMPOSITE && table->table.count)
        vy_diag_sink_error(&work->reader->report, VY_D117, table->at,
                           "remove `lowering`, or write `category = \"intrinsic\"`",
                           "a composite op has no code for targets: its body is all there is to know");
    vyre_lowering *lowerings = vy_manifest_new(work->reader, table->table.count, sizeof *lowerings);
    work->op->definition.lowerings = lowerings;
    for (const vy_toml_entry *entry = table->table.first; entry && lowerings; entry = entry->next) {
        uint32_t i = work->op->definition.lowering_count++;
        seen[i] = VYRE_TARGET_COUNT;
        read_lowering(work, entry, &lowerings[i], seen, i);
    }
}
