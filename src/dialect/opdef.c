/* Op definitions: validation, and copies for the registry. A definition may come from any compiler or file, so every
 * field is validated before it is used. The error names the op, its owner, the value and the limit. */
#include "dialect/opdef.h"

#include "base/status.h"
#include "base/string.h"
#include "dialect/lowering_code.h"
#include "dialect/manifest.h"
#include "ir/identifiers.h"
#include "ir/model.h"
#include "ir/text/lower.h"

#include <stdarg.h>
#include <stdio.h>

/* An op that is being validated. */
typedef struct check {
    const vyre_op_definition *op;
    const char *owner;
    vyre_error *error;
} check;

/* Fails with a message that starts "op `int.isqrt_u32` of `libvyre` …". */
VY_PRINTF(4, 5)
static vyre_status fail(const check *check, vyre_status code, const char *fix, const char *format, ...) {
    char what[320];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return vy_fail(check->error, code, fix, "op `%.128s` of `%.128s` %s", check->op->id, check->owner, what);
}
#define REFUSE(check, fix, ...) fail((check), VYRE_INVALID_ARGUMENT, fix, __VA_ARGS__)

/* ---- names and versions ---- */

int vy_is_dialect_name(const char *text, size_t length) {
    return vy_text_is_dialect_name(text, length);
}

static vyre_status check_version(const char *version, const char *what, const char *name, vyre_error *error) {
    size_t length = strnlen(version, VY_OP_LIMIT_VERSION + 1);
    if (length <= VY_OP_LIMIT_VERSION && vy_semver_is_valid(version, length))
        return VYRE_OK;
    return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("write major.minor.patch, such as `1.2.0`"),
                   "%s `%.128s` has a version that is not one (`%.64s`)", what, name, version);
}

static vyre_status check_names(const check *check) {
    const vyre_op_definition *op = check->op;
    if (!op->id || !vy_text_is_op_id(op->id, strnlen(op->id, VY_LIMIT_NAME + 1)))
        return vy_fail(check->error, VYRE_INVALID_ARGUMENT, VY_FIX(VY_OP_ID_FIX, VY_LIMIT_NAME),
                       "an op of `%.128s` has an invalid id (`%.160s`)", check->owner, op->id ? op->id : "NULL");
    if (op->dialect && !vy_op_id_after(op->id, strlen(op->id), op->dialect))
        return REFUSE(check, VY_FIX("begin the id with `%.128s.` or `%.128s::`", op->dialect, op->dialect),
                      "is not in its dialect (`%.128s`)", op->dialect);
    if ((unsigned)op->category >= VYRE_CATEGORY_COUNT)
        return REFUSE(check, NULL, "has an unknown category (%d)", (int)op->category);
    if (op->function && !vy_text_is_function_name(op->function, strlen(op->function)))
        return REFUSE(check, NULL, "has an invalid function name (`%.128s`)", op->function);
    if (op->doc && strnlen(op->doc, VY_OP_LIMIT_TEXT + 1) > VY_OP_LIMIT_TEXT)
        return fail(check, VYRE_LIMIT, NULL, "has a doc longer than the limit (%d bytes)", VY_OP_LIMIT_TEXT);
    return check_version(op->version, "op", op->id, check->error);
}

/* ---- the signature ---- */

static vyre_status check_counts(const check *check) {
    const vyre_op_definition *op = check->op;
    const struct {
        const char *what;
        const void *items;
        uint32_t count, limit;
    } rows[] = {{"inputs", op->inputs, op->input_count, VY_LIMIT_PARAMS - VY_OP_LIMIT_ATTRIBUTES},
                {"outputs", op->outputs, op->output_count, VY_LIMIT_RESULTS},
                {"attributes", op->attributes, op->attribute_count, VY_OP_LIMIT_ATTRIBUTES},
                {"laws", op->laws, op->law_count, VY_OP_LIMIT_LAWS},
                {"lowerings", op->lowerings, op->lowering_count, VY_OP_LIMIT_LOWERINGS}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].count > rows[i].limit)
            return fail(check, VYRE_LIMIT, NULL, "has too many %s (%u of at most %u)", rows[i].what, rows[i].count,
                        rows[i].limit);
        if (rows[i].count && !rows[i].items)
            return REFUSE(check, NULL, "has %u %s and no array of them (NULL)", rows[i].count, rows[i].what);
    }
    return VYRE_OK;
}

static int is_name(const char *name) {
    return name && vy_text_is_name(name, strnlen(name, VY_LIMIT_NAME + 1));
}

static vyre_status check_operand(const check *check, const vyre_op_operand *operand) {
    if ((unsigned)operand->kind >= VYRE_OPERAND_KIND_COUNT)
        return REFUSE(check, NULL, "has an unknown kind of operand (%d)", (int)operand->kind);
    if ((unsigned)operand->type >= VYRE_TYPE_COUNT)
        return REFUSE(check, NULL, "has an unknown type (%d)", (int)operand->type);
    if (operand->kind != VYRE_OPERAND_VALUE && operand->type == VYRE_TYPE_BOOL)
        return REFUSE(check, VY_FIX("use u8"), "has a memory operand of bool");
    if (operand->kind == VYRE_OPERAND_BUFFER && (unsigned)operand->access >= VYRE_ACCESS_COUNT)
        return REFUSE(check, NULL, "has an unknown access (%d)", (int)operand->access);
    return VYRE_OK;
}

/* Inputs and attributes share one namespace. */
static int is_taken(const vyre_op_definition *op, const char *name, uint32_t inputs, uint32_t attributes) {
    for (uint32_t i = 0; i < inputs; i++)
        if (strcmp(op->inputs[i].name, name) == 0)
            return 1;
    for (uint32_t i = 0; i < attributes; i++)
        if (strcmp(op->attributes[i].name, name) == 0)
            return 1;
    return 0;
}

static vyre_status check_inputs(const check *check) {
    const vyre_op_definition *op = check->op;
    for (uint32_t i = 0; i < op->input_count; i++) {
        if (!is_name(op->inputs[i].name))
            return REFUSE(check, NULL, "has an input with an invalid name (`%.128s`)",
                          op->inputs[i].name ? op->inputs[i].name : "NULL");
        if (is_taken(op, op->inputs[i].name, i, 0))
            return REFUSE(check, NULL, "has two inputs with the same name (`%.128s`)", op->inputs[i].name);
        vyre_status status = check_operand(check, &op->inputs[i]);
        if (status != VYRE_OK)
            return status;
    }
    return VYRE_OK;
}

static vyre_status check_outputs(const check *check) {
    const vyre_op_definition *op = check->op;
    for (uint32_t i = 0; i < op->output_count; i++) {
        const vyre_op_operand *output = &op->outputs[i];
        vyre_status status = check_operand(check, output);
        if (status != VYRE_OK)
            return status;
        if (output->kind != VYRE_OPERAND_VALUE)
            return REFUSE(check, VY_FIX("make the memory an input and write to it"),
                          "has an output that is not a value");
        if (output->name && *output->name && !is_name(output->name))
            return REFUSE(check, NULL, "has an output with an invalid name (`%.128s`)", output->name);
    }
    return VYRE_OK;
}

static int is_of_type(vyre_type type, uint64_t bits) {
    return vyre_scalar_bits(type, bits).bits == bits;
}

/* Checks the allowed values, and that the default is one of them. */
static vyre_status check_allowed(const check *check, const vyre_attribute *attribute) {
    int is_good = !attribute->has_range || is_of_type(attribute->type, attribute->least);
    is_good &= !attribute->has_range || is_of_type(attribute->type, attribute->most);
    if (attribute->has_range && (attribute->type == VYRE_TYPE_BOOL || attribute->value_count))
        return REFUSE(check, VY_FIX("keep the range or the values; bool has no range"),
                      "has an invalid range of `%.128s` (%s, %u values)", attribute->name,
                      vyre_type_name(attribute->type), attribute->value_count);
    if (attribute->value_count && !attribute->values)
        return REFUSE(check, NULL, "has %u values of `%.128s` and no array of them (NULL)", attribute->value_count,
                      attribute->name);
    for (uint32_t i = 0; i < attribute->value_count; i++)
        is_good &= is_of_type(attribute->type, attribute->values[i]);
    if (!is_good || (attribute->has_range && !vy_attribute_allows(attribute, attribute->least)))
        return REFUSE(check, NULL, "has a range or values of `%.128s` that are not of type %s", attribute->name,
                      vyre_type_name(attribute->type));
    if (attribute->has_default && !vy_attribute_allows(attribute, attribute->value))
        return REFUSE(check, NULL, "has a default of `%.128s` that its range or values do not allow (%#llx)",
                      attribute->name, (unsigned long long)attribute->value);
    return VYRE_OK;
}

static vyre_status check_attributes(const check *check) {
    const vyre_op_definition *op = check->op;
    for (uint32_t i = 0; i < op->attribute_count; i++) {
        const vyre_attribute *attribute = &op->attributes[i];
        if (!is_name(attribute->name))
            return REFUSE(check, NULL, "has an attribute with an invalid name (`%.128s`)",
                          attribute->name ? attribute->name : "NULL");
        if (is_taken(op, attribute->name, op->input_count, i))
            return REFUSE(check, NULL, "has two inputs or attributes with the same name (`%.128s`)", attribute->name);
        if ((unsigned)attribute->type >= VYRE_TYPE_COUNT)
            return REFUSE(check, NULL, "has an unknown type (%d)", (int)attribute->type);
        if (!is_of_type(attribute->type, attribute->value))
            return REFUSE(check, NULL, "has a default of `%.128s` that is not a value of type %s (%#llx)",
                          attribute->name, vyre_type_name(attribute->type), (unsigned long long)attribute->value);
        vyre_status status = check_allowed(check, attribute);
        if (status != VYRE_OK)
            return status;
    }
    return VYRE_OK;
}

/* ---- laws and lowerings ---- */

static vyre_status check_argument(const check *check, const vyre_law *law, uint32_t index) {
    const vyre_law_argument *argument = &law->arguments[index];
    const char *name = vyre_law_name(law->kind);
    if (!argument->text)
        return REFUSE(check, NULL, "has an argument of the law `%s` without a text (NULL)", name);
    if (vyre_law_arguments(law->kind)[index] == 'o') {
        if (!vy_text_is_op_id(argument->text, strnlen(argument->text, VY_LIMIT_NAME + 1)))
            return REFUSE(check, VY_FIX("name an op as dialect.name"),
                          "has an invalid op id in the law `%s` (`%.128s`)", name, argument->text);
        return VYRE_OK;
    }
    if ((unsigned)argument->value.type >= VYRE_TYPE_COUNT ||
        vyre_scalar_bits(argument->value.type, argument->value.bits).bits != argument->value.bits)
        return REFUSE(check, NULL, "has an invalid value in the law `%s` (`%.128s`)", name, argument->text);
    return VYRE_OK;
}

static vyre_status check_laws(const check *check) {
    const vyre_op_definition *op = check->op;
    for (uint32_t i = 0; i < op->law_count; i++) {
        const vyre_law *law = &op->laws[i];
        if ((unsigned)law->kind >= VYRE_LAW_COUNT)
            return REFUSE(check, NULL, "declares an unknown law (%d)", (int)law->kind);
        const char *name = vyre_law_name(law->kind);
        size_t wanted = strlen(vyre_law_arguments(law->kind));
        unsigned inputs = vyre_law_inputs(law->kind);
        if (law->argument_count != wanted || (wanted && !law->arguments))
            return REFUSE(check, NULL, "declares the law `%s` with a wrong number of arguments (%u instead of %zu)",
                          name, law->argument_count, wanted);
        if ((inputs && op->input_count != inputs) || op->output_count != 1)
            return REFUSE(check, NULL, "claims the law `%s` with %u inputs and %u outputs (%s inputs, one output)",
                          name, op->input_count, op->output_count,
                          inputs == 1   ? "1"
                          : inputs == 2 ? "2"
                                        : "any");
        for (uint32_t j = 0; j < law->argument_count; j++) {
            vyre_status status = check_argument(check, law, j);
            if (status != VYRE_OK)
                return status;
        }
    }
    return VYRE_OK;
}

int vy_target_has_consumer(vyre_target target) {
    return vy_lowering_has_language(target) ||
           (target > VYRE_TARGET_COUNT && !vy_target_resembles_builtin(vyre_target_text(target)));
}

static vyre_status check_lowerings(const check *check) {
    const vyre_op_definition *op = check->op;
    vyre_target seen[VY_OP_LIMIT_LOWERINGS];
    for (uint32_t i = 0; i < op->lowering_count; i++) {
        const vyre_lowering *lowering = &op->lowerings[i];
        const char *text = lowering->target ? lowering->target : "";
        vyre_status status = vyre_target_parse(text, strlen(text), &seen[i], check->error);
        if (status != VYRE_OK)
            return status;
        for (uint32_t j = 0; j < i; j++)
            if (seen[j] == seen[i])
                return REFUSE(check, NULL, "has code for one target twice (`%s`)", vyre_target_text(seen[i]));
        if (seen[i] == VYRE_TARGET_REFERENCE)
            return REFUSE(check, VY_FIX("leave it out: the reference runs the body"),
                          "has code for the reference (`%s`)", text);
        if (!vy_target_has_consumer(seen[i]))
            return fail(
                check, VYRE_UNSUPPORTED,
                VY_FIX("remove the lowering, or use the id of the plug-in that reads it, such as `my-%s`", text),
                "has code for the built-in target `%s`, which no backend reads", text);
        if (!lowering->function && !(lowering->data && lowering->size))
            return REFUSE(check, NULL, "has no code for the target `%s` (neither bytes nor a function)", text);
        if (lowering->size > VY_OP_LIMIT_CODE)
            return fail(check, VYRE_LIMIT, NULL, "has too much code for the target `%s` (%zu bytes of at most %d)",
                        text, lowering->size, VY_OP_LIMIT_CODE);
        if (vy_lowering_has_language(seen[i])) {
            if (!lowering->data)
                return REFUSE(check, VY_FIX("pass the code as text"),
                              "has a function for the target `%s`, which reads text", text);
            status = vy_lowering_check_code(op, seen[i], lowering, check->error);
            if (status != VYRE_OK)
                return status;
        }
    }
    return VYRE_OK;
}

vyre_status vy_op_check(const vyre_op_definition *op, const char *owner, vyre_error *error) {
    static vyre_status (*const checks[])(const check *) = {
        check_names, check_counts, check_inputs, check_outputs, check_attributes, check_laws, check_lowerings};
    const check check = {op, owner, error};
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < sizeof checks / sizeof *checks && status == VYRE_OK; i++)
        status = checks[i](&check);
    return status;
}

/* ---- the body ---- */

static const vy_function *find_function(const vyre_program *program, const char *name) {
    for (uint32_t i = 0; i < program->functions.count; i++) {
        const vy_function *function = &program->functions.items[i];
        if (!vy_is_entry(program, function) && strcmp(vy_symbol_name(program, function->name), name) == 0)
            return function;
    }
    return NULL;
}

static int is_operand(const vyre_program *program, const vy_param *param, const vyre_op_operand *operand) {
    static const uint8_t spaces[VYRE_OPERAND_KIND_COUNT] = {[VYRE_OPERAND_BUFFER] = VY_SPACE_BUFFER,
                                                            [VYRE_OPERAND_WORKGROUP] = VY_SPACE_WORKGROUP,
                                                            [VYRE_OPERAND_PRIVATE] = VY_SPACE_PRIVATE};
    if (!param->is_memory)
        return operand->kind == VYRE_OPERAND_VALUE && program->variables.items[param->index].type == operand->type;
    const vy_memory *memory = &program->memories.items[param->index];
    return operand->kind != VYRE_OPERAND_VALUE && memory->space == spaces[operand->kind] &&
           memory->type == operand->type && (operand->kind != VYRE_OPERAND_BUFFER || memory->access == operand->access);
}

static vyre_status check_params(const check *check, const vy_function *function) {
    const vyre_op_definition *op = check->op;
    const vyre_program *body = op->body;
    if (function->param_count != op->input_count && function->param_count != op->input_count + op->attribute_count)
        return REFUSE(check, VY_FIX("declare the inputs as parameters, followed by all attributes or none"),
                      "has a body with %u parameters (the op has %u inputs and %u attributes)", function->param_count,
                      op->input_count, op->attribute_count);
    for (uint32_t i = 0; i < function->param_count; i++) {
        int is_input = i < op->input_count;
        vyre_op_operand attribute = {.kind = VYRE_OPERAND_VALUE};
        if (!is_input)
            attribute = (vyre_op_operand){op->attributes[i - op->input_count].name, VYRE_OPERAND_VALUE,
                                          op->attributes[i - op->input_count].type, VYRE_ACCESS_READ};
        const vyre_op_operand *operand = is_input ? &op->inputs[i] : &attribute;
        if (!is_operand(body, &body->params.items[function->first_param + i], operand))
            return REFUSE(check, VY_FIX("let signature and function agree"),
                          "has a body whose parameter %u does not match the signature (`%.64s`: %s)", i + 1,
                          operand->name, vyre_type_name(operand->type));
    }
    return VYRE_OK;
}

static vyre_status check_results(const check *check, const vy_function *function) {
    const vyre_op_definition *op = check->op;
    if (function->result_count != op->output_count)
        return REFUSE(check, VY_FIX("let signature and function agree"),
                      "has a body with %u results (the op has %u outputs)", function->result_count, op->output_count);
    for (uint32_t i = 0; i < function->result_count; i++) {
        vyre_type given = op->body->results.items[function->first_result + i].type;
        if (given != op->outputs[i].type)
            return REFUSE(check, VY_FIX("let signature and function agree"),
                          "has a body whose result %u is %s (the output is %s)", i + 1, vyre_type_name(given),
                          vyre_type_name(op->outputs[i].type));
    }
    return VYRE_OK;
}

vyre_status vy_op_check_body(const vyre_op_definition *op, vyre_error *error) {
    const check check = {op, op->owner, error};
    if (!op->body) {
        for (uint32_t i = 0; i < op->lowering_count; i++)
            if (vyre_target_emit_name(vy_lowering_target(&op->lowerings[i])))
                return REFUSE(&check, VY_FIX("add a body, or leave the code out"),
                              "has code for the target `%s` and no body, with which the code is compared",
                              op->lowerings[i].target);
        if (op->category == VYRE_CATEGORY_EXTENSION)
            return VYRE_OK;
        return REFUSE(&check, VY_FIX("add a body or a source, or use the category `extension`"),
                      "is %s and has no body", vyre_op_category_name(op->category));
    }
    const vy_function *function = find_function(op->body, op->function);
    if (!function)
        return REFUSE(&check,
                      vy_text_is_function_name(op->function, strlen(op->function))
                          ? VY_FIX("define `fn %.128s` in the body, or name another function", op->function)
                          : VY_FIX("set .function to the name of a function in the body"),
                      "has a body without its function (`%.128s`)", op->function);
    vyre_status status = check_params(&check, function);
    return status == VYRE_OK ? check_results(&check, function) : status;
}

/* Copies. The arena of the object owns everything except the body, which is retained. */

/* ---- tables of names ---- */

static const char *const category_names[VYRE_CATEGORY_COUNT] = {
#define X(ID, name, doc) name,
    VYRE_CATEGORY_LIST(X)
#undef X
};

static const struct {
    const char *name, *arguments, *doc;
    unsigned inputs;
} laws[VYRE_LAW_COUNT] = {
#define X(ID, name, inputs, arguments, doc) {name, arguments, doc, inputs},
    VYRE_LAW_LIST(X)
#undef X
};

static int equals(const char *word, const char *text, size_t length) {
    return text && strlen(word) == length && memcmp(word, text, length) == 0;
}

const char *vyre_op_category_name(vyre_op_category category) {
    return (unsigned)category < VYRE_CATEGORY_COUNT ? category_names[category] : "?";
}

vyre_op_category vyre_op_category_find(const char *name, size_t length) {
    unsigned i = 0;
    while (i < VYRE_CATEGORY_COUNT && !equals(category_names[i], name, length))
        i++;
    return (vyre_op_category)i;
}

const char *vyre_law_name(vyre_law_kind law) {
    return (unsigned)law < VYRE_LAW_COUNT ? laws[law].name : "?";
}

const char *vyre_law_doc(vyre_law_kind law) {
    return (unsigned)law < VYRE_LAW_COUNT ? laws[law].doc : "?";
}

const char *vyre_law_arguments(vyre_law_kind law) {
    return (unsigned)law < VYRE_LAW_COUNT ? laws[law].arguments : "";
}

unsigned vyre_law_inputs(vyre_law_kind law) {
    return (unsigned)law < VYRE_LAW_COUNT ? laws[law].inputs : 0;
}

vyre_law_kind vyre_law_find(const char *name, size_t length) {
    unsigned i = 0;
    while (i < VYRE_LAW_COUNT && !equals(laws[i].name, name, length))
        i++;
    return (vyre_law_kind)i;
}

/* ---- copying; each function returns 0 if memory is exhausted ---- */

static int copy_text(vy_arena *arena, const char **text) {
    const char *given = *text ? *text : "";
    *text = vy_arena_copy(arena, given, strlen(given));
    return *text != NULL;
}

/* A non-NULL pointer, also for size 0; NULL if memory is exhausted. */
static void *copy_bytes(vy_arena *arena, const void *data, size_t size) {
    void *copy = vy_arena_allocate(arena, size ? size : 1);
    if (copy && size)
        memcpy(copy, data, size);
    return copy;
}

static int copy_operands(vy_arena *arena, const vyre_op_operand **operands, uint32_t count) {
    vyre_op_operand *copy = copy_bytes(arena, *operands, count * sizeof *copy);
    for (uint32_t i = 0; copy && i < count; i++)
        if (!copy_text(arena, &copy[i].name))
            return 0;
    *operands = copy;
    return copy != NULL;
}

static int copy_attributes(vy_arena *arena, const vyre_attribute **attributes, uint32_t count) {
    vyre_attribute *copy = copy_bytes(arena, *attributes, count * sizeof *copy);
    for (uint32_t i = 0; copy && i < count; i++) {
        copy[i].values = copy_bytes(arena, copy[i].values, copy[i].value_count * sizeof *copy[i].values);
        if (!copy[i].values || !copy_text(arena, &copy[i].name))
            return 0;
    }
    *attributes = copy;
    return copy != NULL;
}

static int copy_law(vy_arena *arena, vyre_law *law) {
    vyre_law_argument *copy = copy_bytes(arena, law->arguments, law->argument_count * sizeof *copy);
    for (uint32_t i = 0; copy && i < law->argument_count; i++) {
        if (!copy_text(arena, &copy[i].text))
            return 0;
        if (vyre_law_arguments(law->kind)[i] != 'v')
            copy[i].value = (vyre_scalar){VYRE_TYPE_BOOL, 0};
    }
    law->arguments = copy;
    return copy != NULL;
}

static int copy_laws(vy_arena *arena, const vyre_law **given, uint32_t count) {
    vyre_law *copy = copy_bytes(arena, *given, count * sizeof *copy);
    for (uint32_t i = 0; copy && i < count; i++)
        if (!copy_law(arena, &copy[i]))
            return 0;
    *given = copy;
    return copy != NULL;
}

/* Targets are stored by id, also if an alias was given. */
static vyre_status copy_lowerings(vy_op *op, vyre_error *error) {
    vyre_op_definition *definition = &op->definition;
    uint32_t count = definition->lowering_count;
    vyre_lowering *copy = copy_bytes(&op->arena, definition->lowerings, count * sizeof *copy);
    op->targets = vy_arena_allocate(&op->arena, count ? count * sizeof *op->targets : 1);
    if (!copy || !op->targets)
        return vy_fail_memory(error, "an op definition");
    for (uint32_t i = 0; i < count; i++) {
        vyre_status status = vyre_target_parse(copy[i].target, strlen(copy[i].target), &op->targets[i], error);
        if (status != VYRE_OK)
            return status;
        copy[i].target = vyre_target_text(op->targets[i]);
        copy[i].data = copy[i].data ? copy_bytes(&op->arena, copy[i].data, copy[i].size) : NULL;
        if (!copy[i].data && copy[i].size)
            return vy_fail_memory(error, "an op definition");
    }
    definition->lowerings = copy;
    return VYRE_OK;
}

static vyre_status copy_definition(vy_op *op, vyre_error *error) {
    vyre_op_definition *to = &op->definition;
    vy_arena *arena = &op->arena;
    int good =
        copy_text(arena, &to->id) && copy_text(arena, &to->dialect) && copy_text(arena, &to->version) &&
        copy_text(arena, &to->doc) && copy_text(arena, &to->function) && copy_text(arena, &to->owner) &&
        copy_operands(arena, &to->inputs, to->input_count) && copy_operands(arena, &to->outputs, to->output_count) &&
        copy_attributes(arena, &to->attributes, to->attribute_count) && copy_laws(arena, &to->laws, to->law_count);
    return good ? copy_lowerings(op, error) : vy_fail_memory(error, "an op definition");
}

/* ---- ops ---- */

/* Fields beyond the caller's struct_size are zero. */
static vyre_status extend_definition(const vyre_op_definition *given, const char *owner, vyre_op_definition *out,
                                     vyre_error *error) {
    const size_t least = offsetof(vyre_op_definition, function) + sizeof given->function;
    if (given->struct_size < least)
        return vy_fail(error, VYRE_ABI_MISMATCH, VY_FIX("set struct_size to sizeof(vyre_op_definition)"),
                       "an op definition of `%s` is too short (%u bytes of at least %zu)", owner, given->struct_size,
                       least);
    memset(out, 0, sizeof *out);
    memcpy(out, given, given->struct_size < sizeof *out ? given->struct_size : sizeof *out);
    out->struct_size = sizeof *out;
    return VYRE_OK;
}

/* The id after its dialect if that is given, else after the last separator. */
static const char *name_of(const vyre_op_definition *op) {
    size_t length = strlen(op->id);
    return op->id + (op->dialect ? vy_op_id_after(op->id, length, op->dialect) : vy_op_id_last(op->id, length));
}

/* Retains the body, or parses the source into one. */
static vyre_status retain_body(vyre_op_definition *op, vyre_error *error) {
    const char *source = op->source;
    vyre_program *given = op->body;
    op->source = NULL;
    op->body = given ? vyre_program_retain(given) : NULL;
    if (!source)
        return VYRE_OK;
    vyre_module *module = NULL;
    vyre_parse_options options = {.file = op->id};
    vyre_status status = vy_text_parse_without_dialects(source, strlen(source), &options, NULL, &module, error);
    if (status != VYRE_OK)
        return status;
    vyre_program *library = vyre_module_library(module);
    op->body = library ? vyre_program_retain(library) : NULL;
    vyre_module_free(module);
    if (!op->body)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("write the function into the source"),
                       "the source of op `%s` has no functions", op->id);
    return VYRE_OK;
}

static vyre_status fill(vy_op *op, const vyre_dialect *dialect, const char *owner, vyre_error *error) {
    vyre_op_definition *to = &op->definition;
    char buffer[256];
    to->owner = owner;
    if (!to->version)
        to->version = dialect && dialect->version ? dialect->version : "0.0.0";
    if (!to->dialect && dialect)
        to->dialect = dialect->name;
    vyre_status status = vy_op_check(to, owner, error);
    if (status != VYRE_OK)
        return status;
    if (!to->function)
        to->function = name_of(to);
    if (!to->dialect) {
        size_t length = vy_op_id_last(to->id, strlen(to->id)); /* at most VY_LIMIT_NAME */
        length -= to->id[length - 1] == '.' ? 1 : 2;
        memcpy(buffer, to->id, length);
        buffer[length] = 0;
        to->dialect = buffer;
    }
    return copy_definition(op, error);
}

vyre_status vy_op_make(const vyre_op_definition *given, const vyre_dialect *dialect, const char *owner, vy_op **out,
                       vyre_error *error) {
    *out = NULL;
    vy_op *op = vy_allocate_zero(sizeof *op);
    if (!op)
        return vy_fail_memory(error, "an op definition");
    atomic_init(&op->references, 1);
    vyre_status status = extend_definition(given, owner, &op->definition, error);
    vyre_program *body = op->definition.body; /* retain_body adds the reference */
    const char *source = op->definition.source;
    op->definition.body = NULL;
    if (status == VYRE_OK && body && source)
        status = vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("set only one of the two"),
                         "op `%s` has both a body and a source", given->id ? given->id : "NULL");
    if (status == VYRE_OK)
        status = fill(op, dialect, owner, error);
    op->definition.body = status == VYRE_OK ? body : NULL;
    op->definition.source = status == VYRE_OK ? source : NULL;
    if (status == VYRE_OK)
        status = retain_body(&op->definition, error);
    if (status == VYRE_OK)
        status = vy_op_check_body(&op->definition, error);
    if (status == VYRE_OK)
        status = vyre_op_intern(op->definition.id, strlen(op->definition.id), &op->definition.number, error);
    if (status != VYRE_OK) {
        vy_op_release(op);
        return status;
    }
    op->reference = (vyre_lowering){.target = vyre_target_text(VYRE_TARGET_REFERENCE), .body = op->definition.body};
    op->definition.checksum = vy_op_checksum(op);
    *out = op;
    return VYRE_OK;
}

vy_op *vy_op_retain(vy_op *op) {
    atomic_fetch_add_explicit(&op->references, 1, memory_order_relaxed);
    return op;
}

void vy_op_release(vy_op *op) {
    if (!op || atomic_fetch_sub_explicit(&op->references, 1, memory_order_acq_rel) != 1)
        return;
    vyre_program_release(op->definition.body);
    vy_arena_free(&op->arena);
    vy_release(op, sizeof *op);
}

const vyre_lowering *vy_op_lowering(const vy_op *op, vyre_target target) {
    if (target == VYRE_TARGET_REFERENCE)
        return &op->reference;
    for (uint32_t i = 0; i < op->definition.lowering_count; i++)
        if (op->targets[i] == target)
            return &op->definition.lowerings[i];
    return NULL;
}

/* ---- attributes ---- */

static int is_at_most(vyre_type type, uint64_t a, uint64_t b) {
    return (int)vyre_op_evaluate(VYRE_OP_LE, VYRE_TYPE_BOOL, type, a, b, 0);
}

int vy_attribute_allows(const vyre_attribute *attribute, uint64_t bits) {
    if (attribute->has_range)
        return is_at_most(attribute->type, attribute->least, bits) &&
               is_at_most(attribute->type, bits, attribute->most);
    for (uint32_t i = 0; i < attribute->value_count; i++)
        if (attribute->values[i] == bits)
            return 1;
    return attribute->value_count == 0;
}

/* ---- dialects ---- */

static vyre_status check_dialect(const vyre_dialect *dialect, vyre_error *error) {
    if (!dialect->owner || !*dialect->owner)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("set .owner to the provider of the dialect"),
                       "a dialect has no owner (`%.128s`)", dialect->name ? dialect->name : "NULL");
    if (!dialect->name || !vy_is_dialect_name(dialect->name, strlen(dialect->name)))
        return vy_fail(
            error, VYRE_INVALID_ARGUMENT,
            VY_FIX("use letters, digits, `_` and `-`, in parts joined by `.` or `::`, such as `image-filter`"),
            "a dialect of `%s` has an invalid name (`%.160s`)", dialect->owner, dialect->name ? dialect->name : "NULL");
    return check_version(dialect->version, "dialect", dialect->name, error);
}

vyre_status vy_dialect_make(const vyre_dialect *given, vy_dialect **out, vyre_error *error) {
    *out = NULL;
    const size_t least = offsetof(vyre_dialect, owner) + sizeof given->owner;
    if (given->struct_size < least)
        return vy_fail(error, VYRE_ABI_MISMATCH, VY_FIX("set struct_size to sizeof(vyre_dialect)"),
                       "a dialect is too short (%u bytes of at least %zu)", given->struct_size, least);
    vy_dialect *dialect = vy_allocate_zero(sizeof *dialect);
    if (!dialect)
        return vy_fail_memory(error, "a dialect");
    vyre_dialect *to = &dialect->dialect;
    atomic_init(&dialect->references, 1);
    memcpy(to, given, given->struct_size < sizeof *to ? given->struct_size : sizeof *to);
    to->struct_size = sizeof *to;
    if (!to->version)
        to->version = "0.0.0";
    vyre_status status = check_dialect(to, error);
    if (status == VYRE_OK && !(copy_text(&dialect->arena, &to->name) && copy_text(&dialect->arena, &to->version) &&
                               copy_text(&dialect->arena, &to->doc) && copy_text(&dialect->arena, &to->owner)))
        status = vy_fail_memory(error, "a dialect");
    if (status != VYRE_OK) {
        vy_dialect_release(dialect);
        return status;
    }
    dialect->checksum = vy_dialect_checksum(dialect);
    *out = dialect;
    return VYRE_OK;
}

vy_dialect *vy_dialect_retain(vy_dialect *dialect) {
    atomic_fetch_add_explicit(&dialect->references, 1, memory_order_relaxed);
    return dialect;
}

void vy_dialect_release(vy_dialect *dialect) {
    if (!dialect || atomic_fetch_sub_explicit(&dialect->references, 1, memory_order_acq_rel) != 1)
        return;
    vy_arena_free(&dialect->arena);
    vy_release(dialect, sizeof *dialect);
}

/* ---- checksums ---- */

uint64_t vy_checksum_mix(uint64_t sum, const void *data, size_t size) {
    uint64_t pair[2] = {sum, vy_hash(data, size)};
    return vy_hash(pair, sizeof pair);
}

static uint64_t mix_text(uint64_t sum, const char *text) {
    return vy_checksum_mix(sum, text, strlen(text) + 1);
}

static uint64_t mix_number(uint64_t sum, uint64_t number) {
    return vy_checksum_mix(sum, &number, sizeof number);
}

static uint64_t mix_operands(uint64_t sum, const vyre_op_operand *operands, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t words[3] = {operands[i].kind, operands[i].type, operands[i].access};
        sum = vy_checksum_mix(mix_text(sum, operands[i].name), words, sizeof words);
    }
    return mix_number(sum, count);
}

static uint64_t mix_attributes(uint64_t sum, const vyre_attribute *attributes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const vyre_attribute *of = &attributes[i];
        const uint64_t words[] = {of->type, of->has_default != 0, of->value, of->has_range != 0, of->least,
                                  of->most, of->value_count};
        sum = vy_checksum_mix(mix_text(sum, of->name), words, sizeof words);
        sum = vy_checksum_mix(sum, of->values, of->value_count * sizeof *of->values);
    }
    return mix_number(sum, count);
}

static uint64_t mix_laws(uint64_t sum, const vyre_law *given, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        sum = mix_number(sum, given[i].kind);
        for (uint32_t j = 0; j < given[i].argument_count; j++) {
            const uint64_t words[2] = {given[i].arguments[j].value.type, given[i].arguments[j].value.bits};
            sum = vy_checksum_mix(mix_text(sum, given[i].arguments[j].text), words, sizeof words);
        }
    }
    return mix_number(sum, count);
}

static uint64_t mix_lowerings(uint64_t sum, const vyre_lowering *lowerings, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        sum = mix_text(sum, lowerings[i].target);
        sum = vy_checksum_mix(sum, lowerings[i].data ? lowerings[i].data : "", lowerings[i].size);
        sum = mix_number(mix_number(sum, (uint64_t)(uintptr_t)lowerings[i].function), lowerings[i].ulp);
    }
    return mix_number(sum, count);
}

uint64_t vy_op_checksum(const vy_op *op) {
    const vyre_op_definition *of = &op->definition;
    uint64_t sum = mix_number(of->number, of->category);
    const char *const texts[] = {of->id, of->dialect, of->version, of->doc, of->function, of->owner};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        sum = mix_text(sum, texts[i]);
    sum = mix_operands(sum, of->inputs, of->input_count);
    sum = mix_operands(sum, of->outputs, of->output_count);
    sum = mix_attributes(sum, of->attributes, of->attribute_count);
    sum = mix_laws(sum, of->laws, of->law_count);
    sum = mix_lowerings(sum, of->lowerings, of->lowering_count);
    vyre_digest digest = {{0}};
    if (of->body)
        vyre_program_fingerprint(of->body, &digest);
    return vy_checksum_mix(sum, &digest, sizeof digest);
}

uint64_t vy_dialect_checksum(const vy_dialect *dialect) {
    const vyre_dialect *of = &dialect->dialect;
    return mix_text(mix_text(mix_text(mix_text(0, of->name), of->version), of->doc), of->owner);
}
