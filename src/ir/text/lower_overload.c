/* Overloads of dialect ops: `math.exp(x)`, or `exp(x)` alone, calls the op `math.exp_T` for the type T of x.
 *
 * A call has overloads if no op has exactly its id, and an op has this id with `_` and a type as suffix. The types of
 * the arguments select an overload. If all are literals without suffix, the type that the context requires selects it.
 *
 * Invariants:
 *  - Each argument is typed once, because typing hoists its effects. vy_lower_predict finds types beforehand, and
 *    appends nothing.
 *  - No name is added to the pool of the lexer, whose size bounds the tables of the lowering. The node stores the
 *    selected type, and vy_lower_call_id spells the id.
 *  - A literal does not select an overload just because there is only one, since a dialect can add others.
 *  - Calls nest, so functions with a signature or a text in their frame are not inlined, to limit the stack. */
#include "base/string.h"
#include "ir/identifiers.h"
#include "ir/op_tables.h"
#include "ir/porting_hint.h"
#include "ir/text/lower.h"

#include <stdio.h>

/* The dialect of `exp(x)`. */
#define PLAIN_DIALECT "math"

static int has_type(uint8_t type) {
    return type < VYRE_TYPE_COUNT;
}

/* ---- ids and signatures ---- */

/* Spells the id of the op for a type, with the attributes of the call; VYRE_TYPE_COUNT: the id as written. Returns the
 * length without attributes; 0 if it is too long. */
static size_t spell_id(const vy_lowering *l, const vy_ast_node *node, uint8_t type, char id[VY_LIMIT_NAME + 1]) {
    const char *name = vy_lower_text(l, node->name), *attributes = name + vy_call_id_length(name);
    size_t length = (size_t)(attributes - name);
    int count =
        snprintf(id, VY_LIMIT_NAME + 1, "%s%.*s%s%s%s", vy_op_id_last(name, length) ? "" : PLAIN_DIALECT ".",
                 (int)length, name, has_type(type) ? "_" : "", has_type(type) ? vyre_type_name(type) : "", attributes);
    return count <= VY_LIMIT_NAME ? (size_t)count - strlen(attributes) : 0;
}

const char *vy_lower_call_id(const vy_lowering *l, const vy_ast_node *node, char id[VY_LIMIT_NAME + 1]) {
    return spell_id(l, node, node->type_name, id) ? id : vy_lower_text(l, node->name);
}

static int ask(const vy_lowering *l, const char *id, size_t length, vyre_op_signature *out) {
    return length && l->op_signature && l->op_signature(l->op_signature_user, id, length, out) &&
           out->input_count <= VYRE_OP_INPUTS && out->output_count <= VYRE_OP_OUTPUTS;
}

int vy_lower_op_signature(const vy_lowering *l, const vy_ast_node *node, uint8_t type, vyre_op_signature *out) {
    char id[VY_LIMIT_NAME + 1];
    return ask(l, id, spell_id(l, node, type, id), out);
}

static __attribute__((noinline)) unsigned find_overloads(const vy_lowering *l, const vy_ast_node *node) {
    const char *name = vy_lower_text(l, node->name);
    vyre_op_signature signature;
    unsigned types = 0;
    if (vy_op_id_last(name, vy_call_id_length(name)) && vy_lower_op_signature(l, node, VYRE_TYPE_COUNT, &signature))
        return 0;
    for (uint8_t type = 0; type < VYRE_TYPE_COUNT; type++)
        types |= (unsigned)vy_lower_op_signature(l, node, type, &signature) << type;
    return types;
}

unsigned vy_lower_overloads(const vy_lowering *l, vy_ast_node *node) {
    enum { IS_KNOWN = 1 << VYRE_TYPE_COUNT };
    if (!node->value)
        node->value = find_overloads(l, node) | IS_KNOWN;
    return (unsigned)node->value & ~(unsigned)IS_KNOWN;
}

/* The type of an input of an overload; VYRE_TYPE_COUNT for a memory. */
static __attribute__((noinline)) uint8_t input_type(const vy_lowering *l, const vy_ast_node *node, uint8_t type,
                                                    uint32_t index) {
    vyre_op_signature signature;
    return vy_lower_op_signature(l, node, type, &signature) && index < signature.input_count
               ? (uint8_t)signature.inputs[index]
               : VYRE_TYPE_COUNT;
}

/* The type of the first result of an overload; VY_TYPE_BAD if it has none. */
static __attribute__((noinline)) uint8_t output_type(const vy_lowering *l, const vy_ast_node *node, uint8_t type) {
    vyre_op_signature signature;
    return vy_lower_op_signature(l, node, type, &signature) && signature.output_count ? (uint8_t)signature.outputs[0]
                                                                                      : VY_TYPE_BAD;
}

/* ---- sets of overloads, by type ---- */

static uint8_t first_of(unsigned types) {
    return types ? (uint8_t)__builtin_ctz(types) : VYRE_TYPE_COUNT;
}

static int is_single(unsigned types) {
    return types && !(types & (types - 1));
}

/* The overload that fixes suggest. */
static uint8_t usual_of(unsigned types) {
    static const uint8_t usual[] = {VYRE_TYPE_F32, VYRE_TYPE_U32, VYRE_TYPE_I32};
    for (unsigned i = 0; i < sizeof usual; i++)
        if (types >> usual[i] & 1)
            return usual[i];
    return first_of(types);
}

static unsigned with_input(const vy_lowering *l, const vy_ast_node *node, unsigned types, uint32_t index,
                           uint8_t wanted) {
    unsigned found = 0;
    for (unsigned rest = types; rest; rest &= rest - 1)
        if (input_type(l, node, first_of(rest), index) == wanted)
            found |= rest & -rest;
    return found;
}

/* The set of the types that an input has in the overloads. */
static unsigned input_types(const vy_lowering *l, const vy_ast_node *node, unsigned types, uint32_t index) {
    unsigned found = 0;
    for (unsigned rest = types; rest; rest &= rest - 1) {
        uint8_t type = input_type(l, node, first_of(rest), index);
        found |= has_type(type) ? 1u << type : 0;
    }
    return found;
}

static unsigned with_output(const vy_lowering *l, const vy_ast_node *node, unsigned types, uint8_t wanted) {
    unsigned found = 0;
    for (unsigned rest = types; rest && has_type(wanted); rest &= rest - 1)
        if (output_type(l, node, first_of(rest)) == wanted)
            found |= rest & -rest;
    return found;
}

static __attribute__((noinline)) unsigned with_count(const vy_lowering *l, const vy_ast_node *node, unsigned types) {
    vyre_op_signature signature;
    unsigned found = 0;
    for (unsigned rest = types; rest; rest &= rest - 1)
        if (vy_lower_op_signature(l, node, first_of(rest), &signature) && signature.input_count == node->count)
            found |= rest & -rest;
    return found;
}

/* The type of an input, if it is the same in all overloads of the set; else VY_TYPE_UNTYPED. */
static uint8_t common_input(const vy_lowering *l, const vy_ast_node *node, unsigned types, uint32_t index) {
    uint8_t type = input_type(l, node, first_of(types), index);
    return with_input(l, node, types, index, type) == types ? type : VY_TYPE_UNTYPED;
}

/* Whether the type of an argument selects an overload: it differs between them, or it is their suffix. */
static int is_selector(const vy_lowering *l, const vy_ast_node *node, unsigned types, uint32_t index) {
    uint8_t type = input_type(l, node, first_of(types), index);
    return is_single(types) ? type == first_of(types) : with_input(l, node, types, index, type) != types;
}

/* "f16, f32 and f64" */
static const char *list_types(unsigned types, char text[96]) {
    size_t length = 0;
    text[0] = 0;
    for (unsigned rest = types; rest && length < 96; rest &= rest - 1)
        length += (size_t)snprintf(text + length, 96 - length, "%s%s",
                                   rest == types     ? ""
                                   : is_single(rest) ? " and "
                                                     : ", ",
                                   vyre_type_name(first_of(rest)));
    return text;
}

/* ---- prediction of types ---- */

static const vy_binding *memory_of(vy_lowering *l, const vy_ast_node *argument) {
    const vy_binding *binding = argument->kind == VY_AST_NAME ? vy_lower_find(l, argument->name) : NULL;
    return binding && binding->kind == VY_BINDING_MEMORY ? binding : NULL;
}

static uint8_t predict_name(vy_lowering *l, const vy_ast_node *node) {
    const vy_binding *binding = vy_lower_find(l, node->name);
    const vy_global *global = binding ? NULL : vy_lower_global(l, node->name);
    if (global && global->constant)
        return global->constant->is_known && !global->constant->is_array ? global->constant->type : VY_TYPE_UNTYPED;
    return binding && binding->kind == VY_BINDING_VARIABLE ? binding->type : VY_TYPE_UNTYPED;
}

static uint8_t predict_element(vy_lowering *l, const vy_ast_node *node) {
    const vy_binding *binding = vy_lower_find(l, node->name);
    const vy_ast_const *table = binding ? NULL : vy_lower_find_table(l, node->name);
    return table ? table->type : binding && binding->kind == VY_BINDING_MEMORY ? binding->type : VY_TYPE_UNTYPED;
}

static uint8_t predict_op(vy_lowering *l, vy_ast_node *node) {
    int is_select = node->op == VYRE_OP_SELECT;
    if (!is_select && vyre_op_get(node->op)->rule != VYRE_RULE_SAME)
        return VYRE_TYPE_BOOL;
    vy_ast_node *const operands[3] = {is_select ? NULL : node->a, node->b, node->c};
    for (unsigned i = 0; i < 3; i++) {
        uint8_t type = operands[i] ? vy_lower_predict(l, operands[i]) : VY_TYPE_UNTYPED;
        if (has_type(type))
            return type;
    }
    return VY_TYPE_UNTYPED;
}

/* Removes the overloads that do not accept the predicted types of the arguments, unless none would remain.
 * *is_selected is set if an argument that selects an overload has a type. */
static unsigned predict_overloads(vy_lowering *l, const vy_ast_node *node, unsigned types, int *is_selected) {
    unsigned narrowed = types;
    uint32_t index = 0;
    for (vy_ast_node *argument = node->a; argument; argument = argument->next, index++) {
        uint8_t type = vy_lower_predict(l, argument);
        unsigned fitting = has_type(type) ? with_input(l, node, narrowed, index, type) : 0;
        narrowed = fitting ? fitting : narrowed;
        *is_selected |= fitting && is_selector(l, node, types, index);
    }
    return narrowed;
}

static uint8_t predict_op_call(vy_lowering *l, vy_ast_node *node) {
    unsigned types = vy_lower_overloads(l, node);
    int is_selected = 0;
    if (!types)
        return output_type(l, node, VYRE_TYPE_COUNT);
    types = with_count(l, node, types);
    types = types ? predict_overloads(l, node, types, &is_selected) : 0;
    return is_selected ? output_type(l, node, first_of(types)) : VY_TYPE_UNTYPED;
}

static uint8_t predict_call(vy_lowering *l, vy_ast_node *node) {
    vy_lower_resolve_callee(l, node);
    if (node->kind == VY_AST_OP)
        return predict_op(l, node);
    if (node->kind == VY_AST_OP_CALL)
        return predict_op_call(l, node);
    const vy_global *global = node->kind == VY_AST_CALL ? vy_lower_global(l, node->name) : NULL;
    const vy_ast_declarator *result = global && global->function ? global->function->results : NULL;
    return result ? result->type : VY_TYPE_UNTYPED;
}

static uint8_t predict(vy_lowering *l, vy_ast_node *node) {
    switch (node->kind) {
    case VY_AST_NUMBER:
        return node->number->type;
    case VY_AST_BITS:
    case VY_AST_CAST:
    case VY_AST_BITCAST:
        return node->type_name;
    case VY_AST_NAME:
        return predict_name(l, node);
    case VY_AST_INDEX:
        return predict_element(l, node);
    case VY_AST_LEN:
    case VY_AST_BUILTIN:
    case VY_AST_ALIGN_OFFSET:
        return VYRE_TYPE_U32;
    case VY_AST_OP:
        return predict_op(l, node);
    case VY_AST_ATOMIC:
        return node->a ? vy_lower_predict(l, node->a) : VY_TYPE_UNTYPED;
    case VY_AST_COLLECTIVE:
        return node->op == VYRE_COLLECTIVE_BALLOT                                   ? VYRE_TYPE_U64
               : node->op == VYRE_COLLECTIVE_ANY || node->op == VYRE_COLLECTIVE_ALL ? VYRE_TYPE_BOOL
               : node->a                                                            ? vy_lower_predict(l, node->a)
                                                                                    : VY_TYPE_UNTYPED;
    case VY_AST_CALL:
    case VY_AST_OP_CALL:
        return predict_call(l, node);
    default:
        return VY_TYPE_UNTYPED;
    }
}

/* The recursion is bounded like that of vy_lower_type. Each node is visited once, because it stores its prediction,
 * which only depends on declarations. */
uint8_t vy_lower_predict(vy_lowering *l, vy_ast_node *node) {
    if (!node->predicted) {
        uint8_t type = predict(l, node);
        node->predicted = (uint8_t)(1 + (has_type(type) ? type : VY_TYPE_UNTYPED));
    }
    return node->predicted - 1;
}

/* ---- errors ---- */

static __attribute__((noinline)) void report_count(vy_lowering *l, const vy_ast_node *node, unsigned types) {
    vyre_op_signature signature = {0};
    (void)vy_lower_op_signature(l, node, usual_of(types), &signature);
    vy_lower_error(
        l, VY_T037, node->at,
        VY_DIAG_SINK_FIX(l->report, "pass %u argument%s", signature.input_count, signature.input_count == 1 ? "" : "s"),
        "`%s` requires %u argument%s (%u given)", vy_lower_text(l, node->name), signature.input_count,
        signature.input_count == 1 ? "" : "s", node->count);
}

/* The overload that accepts the most arguments; of several, the one with the largest type. */
static uint8_t closest(vy_lowering *l, const vy_ast_node *node, unsigned types) {
    uint8_t best = usual_of(types);
    unsigned most = 0;
    for (unsigned rest = types; rest; rest &= rest - 1) {
        uint8_t type = first_of(rest);
        unsigned count = 0;
        uint32_t index = 0;
        for (const vy_ast_node *argument = node->a; argument; argument = argument->next, index++)
            count += has_type(argument->type) && is_selector(l, node, types, index) &&
                     input_type(l, node, type, index) == argument->type;
        if (count > most || (count && count == most && vyre_type_bits(type) > vyre_type_bits(best))) {
            best = type;
            most = count;
        }
    }
    return best;
}

/* Reports the first argument that does not fit the closest overload. */
static __attribute__((noinline)) void report_mismatch(vy_lowering *l, vy_ast_node *node, unsigned types) {
    const char *name = vy_lower_text(l, node->name), *fix;
    uint8_t best = closest(l, node, types), wanted = VYRE_TYPE_COUNT;
    uint32_t index = 0;
    char list[96];
    vy_ast_node *argument = node->a;
    for (; argument; argument = argument->next, index++) {
        wanted = input_type(l, node, best, index);
        int is_memory = memory_of(l, argument) != NULL;
        if (is_memory == has_type(wanted) || (!is_memory && has_type(argument->type) && argument->type != wanted))
            break;
    }
    if (!argument)
        return;
    if (!has_type(wanted)) {
        vy_lower_error(l, VY_T038, argument->at, "pass the name of a buffer or array",
                       "expected a buffer or array as argument %u of `%s`", index + 1, name);
        return;
    }
    if (!is_selector(l, node, types, index)) {
        (void)vy_lower_assign(l, argument, wanted, "an argument of", name);
        return;
    }
    fix = vyre_type_class(argument->type) & VYRE_CLASS_INTEGER ? vy_porting_hint_integer(name, strlen(name)) : NULL;
    fix = fix ? fix : vy_lower_conversion(l, argument, wanted);
    list_types(input_types(l, node, types, index), list);
    if (with_input(l, node, types, index, argument->type))
        vy_lower_error(l, VY_T033, argument->at, fix, "mismatched types in `%s`: %s and %s (it exists for %s)", name,
                       vyre_type_name(wanted), vyre_type_name(argument->type), list);
    else
        vy_lower_error(l, VY_T034, argument->at, fix, "`%s` does not support %s (it exists for %s)", name,
                       vyre_type_name(argument->type), list);
}

/* Reports arguments that select no overload, or several. */
static __attribute__((noinline)) void report_ambiguity(vy_lowering *l, vy_ast_node *node, unsigned types) {
    char list[96], id[VY_LIMIT_NAME + 1], storage[VY_CALL_SPELLING_CAPACITY];
    uint32_t index = 0;
    for (vy_ast_node *argument = node->a; argument; argument = argument->next, index++)
        if (argument->type == VY_TYPE_UNTYPED && is_selector(l, node, types, index)) {
            vy_lower_untyped_argument(l, argument, types);
            return;
        }
    (void)spell_id(l, node, usual_of(types), id);
    vy_lower_error(l, VY_T040, node->at,
                   VY_DIAG_SINK_FIX(l->report, "write `%.100s(…)`, or declare the type of the result",
                                    vy_call_spelling(id, storage)),
                   "the arguments of `%s` do not determine the type of its result (it exists for %s)",
                   vy_lower_text(l, node->name), list_types(types, list));
}

/* A function of the file that implements the op has to be called by its name, from which the parser collects the
 * functions of a program. */
static __attribute__((noinline)) int check_not_in_file(vy_lowering *l, const vy_ast_node *node) {
    char id[VY_LIMIT_NAME + 1], storage[VY_CALL_SPELLING_CAPACITY];
    size_t length = spell_id(l, node, node->type_name, id);
    vy_symbol name = vy_intern_pool_find(&l->parser->lexer.names, id, length);
    const vy_global *global = name == VY_SYMBOL_INVALID ? NULL : vy_lower_global(l, name);
    if (!global || !global->function)
        return 1;
    const char *spelling = vy_call_spelling(id, storage);
    vy_lower_error(l, VY_T026, node->at, VY_DIAG_SINK_FIX(l->report, "write `%.100s(…)`", spelling),
                   "`%s` does not refer to the function `%s` of the file", vy_lower_text(l, node->name), spelling);
    return 0;
}

/* ---- selection ---- */

/* Types an argument, or resolves the name of a memory. Returns 0 after an error. */
static int type_argument(vy_lowering *l, const vy_ast_node *node, unsigned types, vy_ast_node *argument, uint32_t index,
                         uint8_t hint) {
    const vy_binding *memory = memory_of(l, argument);
    argument->axis = argument->kind == VY_AST_BUILTIN ? argument->axis : 0;
    if (!memory || !with_input(l, node, types, index, VYRE_TYPE_COUNT))
        return vy_lower_type_value(l, argument, hint) != VY_TYPE_BAD;
    argument->axis = 1;
    argument->variable = memory->index;
    argument->type = memory->type;
    return 1;
}

static int type_arguments(vy_lowering *l, const vy_ast_node *node, unsigned types, uint8_t hint) {
    int is_selected = 0, is_good = 1;
    unsigned expected = predict_overloads(l, node, types, &is_selected), by_result;
    uint32_t index = 0;
    by_result = with_output(l, node, expected, hint);
    expected = by_result ? by_result : expected;
    for (vy_ast_node *argument = node->a; argument; argument = argument->next, index++) {
        int is_certain = is_selected || by_result || !is_selector(l, node, types, index);
        uint8_t asked = is_certain ? common_input(l, node, expected, index) : VY_TYPE_UNTYPED;
        is_good &= type_argument(l, node, types, argument, index, asked);
    }
    return is_good;
}

/* The overloads that accept the typed arguments. *is_selected is set if one of them selects an overload. */
static unsigned by_arguments(vy_lowering *l, const vy_ast_node *node, unsigned types, int *is_selected) {
    unsigned fitting = types;
    uint32_t index = 0;
    for (vy_ast_node *argument = node->a; argument; argument = argument->next, index++) {
        int is_memory = argument->axis && argument->kind == VY_AST_NAME;
        if (!is_memory && !has_type(argument->type))
            fitting &= ~with_input(l, node, types, index, VYRE_TYPE_COUNT);
        else
            fitting &= with_input(l, node, types, index, is_memory ? VYRE_TYPE_COUNT : argument->type);
        *is_selected |= !is_memory && has_type(argument->type) && is_selector(l, node, types, index);
    }
    return fitting;
}

/* The overload for the elements of the first memory among the arguments that has one. */
static unsigned by_memory(const vy_ast_node *node, unsigned types) {
    for (const vy_ast_node *argument = node->a; argument; argument = argument->next)
        if (argument->kind == VY_AST_NAME && argument->axis && has_type(argument->type) && types >> argument->type & 1)
            return 1u << argument->type;
    return 0;
}

/* Selects an overload for arguments that were typed. Returns VYRE_TYPE_COUNT after an error. */
static uint8_t select_overload(vy_lowering *l, vy_ast_node *node, unsigned types, uint8_t hint) {
    int is_selected = 0, has_selector = 0;
    unsigned fitting = by_arguments(l, node, types, &is_selected), narrowed;
    if (!fitting) {
        report_mismatch(l, node, types);
        return VYRE_TYPE_COUNT;
    }
    if (is_selected && is_single(fitting))
        return first_of(fitting);
    for (uint32_t i = 0; i < node->count; i++)
        has_selector |= is_selector(l, node, types, i);
    narrowed = with_output(l, node, fitting, hint);
    narrowed = narrowed ? narrowed : by_memory(node, fitting);
    narrowed = narrowed || has_selector ? narrowed : fitting;
    if (is_single(narrowed))
        return first_of(narrowed);
    report_ambiguity(l, node, fitting);
    return VYRE_TYPE_COUNT;
}

static __attribute__((noinline)) void set_results(vy_lowering *l, const vy_ast_node *node, vy_effect_signature *out) {
    vyre_op_signature signature;
    out->is_known = vy_lower_op_signature(l, node, node->type_name, &signature);
    for (; out->is_known && out->count < signature.output_count; out->count++)
        out->types[out->count] = (uint8_t)signature.outputs[out->count];
}

int vy_lower_overloaded_call(vy_lowering *l, vy_ast_node *node, unsigned types, uint8_t hint,
                             vy_effect_signature *out) {
    unsigned fitting = with_count(l, node, types);
    int is_good = 1;
    uint32_t index = 0;
    if (!fitting) {
        report_count(l, node, types);
        return 0;
    }
    if (!type_arguments(l, node, fitting, hint))
        return 0;
    node->type_name = select_overload(l, node, fitting, hint);
    if (!has_type(node->type_name) || !check_not_in_file(l, node))
        return 0;
    for (vy_ast_node *argument = node->a; argument; argument = argument->next, index++)
        if (argument->type == VY_TYPE_UNTYPED)
            is_good &= vy_lower_assign(l, argument, input_type(l, node, node->type_name, index), "an argument of",
                                       vy_lower_text(l, node->name));
    set_results(l, node, out);
    return is_good;
}

/* ---- suggestions ---- */

/* Whether an op of the dialect `math` has that name. */
static int is_plain_op(const vy_lowering *l, const char *name) {
    vyre_op_signature signature;
    char id[VY_LIMIT_NAME + 1];
    for (uint8_t type = 0; type < VYRE_TYPE_COUNT; type++) {
        int length = snprintf(id, sizeof id, PLAIN_DIALECT ".%s_%s", name, vyre_type_name(type));
        if (length <= VY_LIMIT_NAME && ask(l, id, (size_t)length, &signature))
            return 1;
    }
    return 0;
}

/* The length of an id or name without `_` and a type at its end; 0 if it has none. */
static size_t length_without_type(const char *text) {
    const char *last = strrchr(text, '_');
    return last && vyre_type_find(last + 1, strlen(last + 1)) != VYRE_TYPE_COUNT ? (size_t)(last - text) : 0;
}

__attribute__((noinline)) int vy_lower_foreign_name(const vy_lowering *l, const char *name,
                                                    char ours[VY_KEYWORD_CAPACITY]) {
    static const char *const prefixes[] = {"", "__", "native_", "half_", "fast_", "np.", "std.", "Math."};
    const char *synonym = vy_porting_hint_math(name, strlen(name));
    if (synonym && is_plain_op(l, synonym)) {
        snprintf(ours, VY_KEYWORD_CAPACITY, "%s", synonym);
        return 1;
    }
    for (unsigned i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        const char *rest = name + strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) != 0 || strlen(rest) >= VY_KEYWORD_CAPACITY)
            continue;
        size_t length = strlen(rest), typed = length_without_type(rest);
        size_t lengths[3] = {i ? length : 0, typed, length > 1 && rest[length - 1] == 'f' ? length - 1 : 0};
        for (unsigned k = 0; k < 3; k++) {
            snprintf(ours, VY_KEYWORD_CAPACITY, "%.*s", (int)lengths[k], rest);
            if (lengths[k] && (is_plain_op(l, ours) || vy_identifier_find(ours, lengths[k]).cls == VY_IDENTIFIER_OP))
                return 1;
        }
    }
    return 0;
}

__attribute__((noinline)) void vy_lower_offer_ops(const vy_lowering *l, vy_suggestion *suggestion, int is_plain) {
    vyre_op_signature signature;
    char text[VY_LIMIT_NAME + 1];
    const char *id;
    for (size_t i = 0; l->op_list && (id = l->op_list(l->op_list_user, i)); i++) {
        size_t length = strlen(id), from = is_plain ? vy_op_id_after(id, length, PLAIN_DIALECT) : 0;
        if ((is_plain && !from) || !ask(l, id, length, &signature))
            continue;
        if (!is_plain)
            vy_suggestion_offer(suggestion, id);
        length = length_without_type(id);
        snprintf(text, sizeof text, "%.*s", length > from ? (int)(length - from) : 0, id + from);
        vy_suggestion_offer(suggestion, text);
    }
}
