/* Whether an op definition is one. Definitions come from other people's compilers and files: every field is looked at before it is used, and the
 * first thing that is wrong is named with the op, its owner, the value given and what is allowed. */
#include "base/status.h"
#include "dialect/opdef.h"
#include "dialect/semver.h"
#include "ir/identifiers.h"
#include "ir/limits.h"
#include "ir/model.h"

#include <stdarg.h>
#include <stdio.h>

/* One op on its way through the checks. */
typedef struct check {
    const vyre_op_definition *op;
    const char *owner;
    vyre_error *error;
} check;

/* "op `int.isqrt_u32` of `libvyre` …" */
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

vyre_status vy_version_check(const char *version, const char *what, const char *name, vyre_error *error) {
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
                       "an op of `%.128s` has an id that is not one (`%.160s`)", check->owner,
                       op->id ? op->id : "NULL");
    if (op->dialect && !vy_op_id_after(op->id, strlen(op->id), op->dialect))
        return REFUSE(check, VY_FIX("begin the id with `%.128s.` or `%.128s::`", op->dialect, op->dialect),
                      "is not in its dialect (`%.128s`)", op->dialect);
    if ((unsigned)op->category >= VYRE_CATEGORY_COUNT)
        return REFUSE(check, NULL, "has a category there is not (%d)", (int)op->category);
    if (op->function && !vy_text_is_function_name(op->function, strlen(op->function)))
        return REFUSE(check, NULL, "names a function by what is no name (`%.128s`)", op->function);
    if (op->doc && strnlen(op->doc, VY_OP_LIMIT_TEXT + 1) > VY_OP_LIMIT_TEXT)
        return fail(check, VYRE_LIMIT, NULL, "has a doc longer than the limit (%d bytes)", VY_OP_LIMIT_TEXT);
    return vy_version_check(op->version, "op", op->id, check->error);
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
        return REFUSE(check, NULL, "has a kind of operand there is not (%d)", (int)operand->kind);
    if ((unsigned)operand->type >= VYRE_TYPE_COUNT)
        return REFUSE(check, NULL, "has a type there is not (%d)", (int)operand->type);
    if (operand->kind != VYRE_OPERAND_VALUE && operand->type == VYRE_TYPE_BOOL)
        return REFUSE(check, VY_FIX("use u8"), "takes memory of bool");
    if (operand->kind == VYRE_OPERAND_BUFFER && (unsigned)operand->access >= VYRE_ACCESS_COUNT)
        return REFUSE(check, NULL, "has an access there is not (%d)", (int)operand->access);
    return VYRE_OK;
}

/* Names of inputs and attributes share one space. */
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
            return REFUSE(check, NULL, "has an input whose name is not one (`%.128s`)",
                          op->inputs[i].name ? op->inputs[i].name : "NULL");
        if (is_taken(op, op->inputs[i].name, i, 0))
            return REFUSE(check, NULL, "has two inputs of one name (`%.128s`)", op->inputs[i].name);
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
            return REFUSE(check, VY_FIX("take the memory as an input and write it"), "has an output that is no value");
        if (output->name && *output->name && !is_name(output->name))
            return REFUSE(check, NULL, "has an output whose name is not one (`%.128s`)", output->name);
    }
    return VYRE_OK;
}

static int is_of_type(vyre_type type, uint64_t bits) {
    return vyre_scalar_bits(type, bits).bits == bits;
}

/* What calls may give, and whether the default is among it. */
static vyre_status check_allowed(const check *check, const vyre_attribute *attribute) {
    int is_good = !attribute->has_range || is_of_type(attribute->type, attribute->least);
    is_good &= !attribute->has_range || is_of_type(attribute->type, attribute->most);
    if (attribute->has_range && (attribute->type == VYRE_TYPE_BOOL || attribute->value_count))
        return REFUSE(check, VY_FIX("keep the range or the values; bool has no range"),
                      "has a range of `%.128s` that cannot be (%s, %u values)", attribute->name,
                      vyre_type_name(attribute->type), attribute->value_count);
    if (attribute->value_count && !attribute->values)
        return REFUSE(check, NULL, "has %u values of `%.128s` and no array of them (NULL)", attribute->value_count,
                      attribute->name);
    for (uint32_t i = 0; i < attribute->value_count; i++)
        is_good &= is_of_type(attribute->type, attribute->values[i]);
    if (!is_good || (attribute->has_range && !vy_attribute_allows(attribute, attribute->least)))
        return REFUSE(check, NULL, "has a range or values of `%.128s` that are none of %s", attribute->name,
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
            return REFUSE(check, NULL, "has an attribute whose name is not one (`%.128s`)",
                          attribute->name ? attribute->name : "NULL");
        if (is_taken(op, attribute->name, op->input_count, i))
            return REFUSE(check, NULL, "has two inputs or attributes of one name (`%.128s`)", attribute->name);
        if ((unsigned)attribute->type >= VYRE_TYPE_COUNT)
            return REFUSE(check, NULL, "has a type there is not (%d)", (int)attribute->type);
        if (!is_of_type(attribute->type, attribute->value))
            return REFUSE(check, NULL, "has a default of `%.128s` that is no %s (%#llx)", attribute->name,
                          vyre_type_name(attribute->type), (unsigned long long)attribute->value);
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
            return REFUSE(check, VY_FIX("name an op as dialect.name"), "names no op in the law `%s` (`%.128s`)", name,
                          argument->text);
        return VYRE_OK;
    }
    if ((unsigned)argument->value.type >= VYRE_TYPE_COUNT ||
        vyre_scalar_bits(argument->value.type, argument->value.bits).bits != argument->value.bits)
        return REFUSE(check, NULL, "has a value in the law `%s` that is not one (`%.128s`)", name, argument->text);
    return VYRE_OK;
}

static vyre_status check_laws(const check *check) {
    const vyre_op_definition *op = check->op;
    for (uint32_t i = 0; i < op->law_count; i++) {
        const vyre_law *law = &op->laws[i];
        if ((unsigned)law->kind >= VYRE_LAW_COUNT)
            return REFUSE(check, NULL, "claims a law there is not (%d)", (int)law->kind);
        const char *name = vyre_law_name(law->kind);
        size_t wanted = strlen(vyre_law_arguments(law->kind));
        unsigned inputs = vyre_law_inputs(law->kind);
        if (law->argument_count != wanted || (wanted && !law->arguments))
            return REFUSE(check, NULL, "gives the law `%s` a wrong number of arguments (%u instead of %zu)", name,
                          law->argument_count, wanted);
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
    return target > VYRE_TARGET_COUNT;
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
        return REFUSE(check, VY_FIX("let the function take the inputs, and then all attributes or none"),
                      "has a body that takes %u parameters (the op has %u inputs and %u attributes)",
                      function->param_count, op->input_count, op->attribute_count);
    for (uint32_t i = 0; i < function->param_count; i++) {
        int is_input = i < op->input_count;
        vyre_op_operand attribute = {.kind = VYRE_OPERAND_VALUE};
        if (!is_input)
            attribute = (vyre_op_operand){op->attributes[i - op->input_count].name, VYRE_OPERAND_VALUE,
                                          op->attributes[i - op->input_count].type, VYRE_ACCESS_READ};
        const vyre_op_operand *operand = is_input ? &op->inputs[i] : &attribute;
        if (!is_operand(body, &body->params.items[function->first_param + i], operand))
            return REFUSE(check, VY_FIX("let signature and function agree"),
                          "has a body whose parameter %u is not what the signature says (`%.64s`: %s)", i + 1,
                          operand->name, vyre_type_name(operand->type));
    }
    return VYRE_OK;
}

static vyre_status check_results(const check *check, const vy_function *function) {
    const vyre_op_definition *op = check->op;
    if (function->result_count != op->output_count)
        return REFUSE(check, VY_FIX("let signature and function agree"),
                      "has a body that gives %u results (the op has %u outputs)", function->result_count,
                      op->output_count);
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
        if (op->category == VYRE_CATEGORY_EXTENSION)
            return VYRE_OK;
        return REFUSE(&check, VY_FIX("give it a body or a source, or the category `extension`"),
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
