/* Expression parser: precedence climbing over the op table, literals, names and calls.
 *
 * The precedence of each infix symbol is a column of the op table. The recursion is bounded by too_deep. Its
 * functions must have small frames, so functions that format messages are not inlined into them. */
#include "base/string.h"
#include "ir/eval.h"
#include "ir/identifiers.h"
#include "ir/model.h"
#include "ir/op_tables.h"
#include "ir/porting_hint.h"
#include "ir/text/parser.h"

#include <inttypes.h>
#include <stdio.h>

/* Not inlined, like the functions that parse calls: their frames bound the depth of the recursion (see too_deep). */
__attribute__((noinline)) vy_ast_node *vy_parse_node(vy_parser *parser, vy_ast_node_kind kind, vy_position at) {
    vy_parse_count(parser, &parser->nodes, VY_LIMIT_EXPRESSIONS, "expression nodes", at);
    vy_ast_node *node = vy_parse_new(parser, sizeof *node);
    if (node) {
        node->kind = (uint8_t)kind;
        node->at = at;
    }
    return node;
}

static __attribute__((noinline)) vy_ast_node *new_bad_node(vy_parser *parser) {
    return vy_parse_node(parser, VY_AST_BAD, parser->token.at);
}

__attribute__((noinline)) void vy_parse_update_depth(vy_parser *parser, vy_ast_node *node, const vy_ast_node *below) {
    node->has_call |= below && below->has_call;
    if (!below || below->depth < node->depth)
        return;
    node->depth = (uint16_t)(below->depth + 1);
    if (node->depth > VY_LIMIT_EXPRESSION_DEPTH) {
        vy_parse_error(parser, VY_T014, node->at, NULL, "expression too deep (more than %d nested operators)",
                       VY_LIMIT_EXPRESSION_DEPTH);
        node->kind = VY_AST_BAD; /* cut off, so that no walk over the tree recurses deeper */
        node->a = node->b = node->c = NULL;
        node->depth = 0;
    }
}

static vy_ast_node *operation(vy_parser *parser, unsigned op, vy_position at, vy_ast_node *a, vy_ast_node *b,
                              vy_ast_node *c) {
    vy_ast_node *node = vy_parse_node(parser, VY_AST_OP, at);
    if (!node)
        return NULL;
    node->op = (uint8_t)op;
    node->a = a;
    node->b = b;
    node->c = c;
    vy_parse_update_depth(parser, node, a);
    vy_parse_update_depth(parser, node, b);
    vy_parse_update_depth(parser, node, c);
    return node;
}

/* ---- numbers ---- */

static __attribute__((noinline)) vy_ast_node *parse_number(vy_parser *parser, int negative, vy_position at) {
    vy_ast_node *node = vy_parse_node(parser, VY_AST_NUMBER, at);
    vy_number *number = vy_parse_new(parser, sizeof *number);
    if (!node || !number)
        return NULL;
    node->number = number;
    node->negative = (uint8_t)negative;
    /* A malformed number does not start panic mode, because its end is known. */
    if (!vy_number_read(parser->report, vy_token_text(&parser->lexer, &parser->token), parser->token.at, number))
        node->kind = VY_AST_BAD;
    vy_parse_advance(parser);
    return node;
}

/* ---- calls; the word before the bracket is consumed ---- */

/* Arguments up to `)`; the `(` is consumed. Returns the list, its length in *count. */
static vy_ast_node *parse_arguments(vy_parser *parser, uint32_t *count) {
    vy_ast_node *first = NULL, **end = &first;
    *count = 0;
    parser->brackets++;
    parser->depth++; /* see too_deep */
    while (!vy_parse_is(parser, VY_TOKEN_CLOSE) && !parser->panic) {
        vy_ast_node *argument = vy_parse_expression(parser);
        if (!argument)
            return NULL;
        *end = argument;
        end = &argument->next;
        ++*count;
        if (!vy_parse_accept(parser, VY_TOKEN_COMMA))
            break;
    }
    parser->depth--;
    vy_parse_expect(parser, VY_TOKEN_CLOSE);
    parser->brackets -= parser->brackets > 0;
    return first;
}

/* Not inlined, because its caller recurses. */
static __attribute__((noinline)) void wrong_count(vy_parser *parser, const vy_ast_node *node, unsigned given,
                                                  unsigned taken) {
    const char *name = node->kind == VY_AST_COLLECTIVE ? vy_parse_name_text(parser, node->name)
                       : node->kind == VY_AST_ATOMIC   ? vyre_atomic_name(node->op)
                       : node->kind == VY_AST_CAST     ? vyre_type_name(node->type_name)
                       : node->kind == VY_AST_OP       ? vyre_op_get(node->op)->name
                                                       : "bitcast";
    vy_parse_error(parser, VY_T037, node->at,
                   VY_DIAG_SINK_FIX(parser->report, "pass %u argument%s", taken, taken == 1 ? "" : "s"),
                   "`%s` requires %u argument%s (%u given)", name, taken, taken == 1 ? "" : "s", given);
}

static __attribute__((noinline)) void parse_operands(vy_parser *parser, vy_ast_node *node, unsigned taken) {
    if (!vy_parse_expect(parser, VY_TOKEN_OPEN)) {
        node->kind = VY_AST_BAD;
        return;
    }
    uint32_t given;
    vy_ast_node *list = parse_arguments(parser, &given);
    vy_ast_node *operands[3] = {NULL, NULL, NULL};
    if (given != taken) {
        wrong_count(parser, node, given, taken);
        node->kind = VY_AST_BAD;
        return;
    }
    for (unsigned i = 0; i < taken; i++) {
        operands[i] = list;
        list = list->next;
        operands[i]->next = NULL;
        vy_parse_update_depth(parser, node, operands[i]);
    }
    if (node->kind == VY_AST_BAD)
        return;
    node->a = operands[0];
    node->b = operands[1];
    node->c = operands[2];
}

static const char *const order_words[] = {
#define X(ID, name) name,
    VYRE_ORDER_LIST(X)
#undef X
        "workgroup",
    "device"};

/* `<order, scope>`, each optional, in any order. */
static void parse_atomic_attributes(vy_parser *parser, vy_ast_node *node) {
    do {
        unsigned found = 0;
        while (found < 6 && !vy_parse_is_word(parser, order_words[found]))
            found++;
        if (found == 6) {
            vy_parse_one_of(parser, "order or scope", order_words, 6);
            return;
        }
        uint8_t *attribute = found < VYRE_ORDER_COUNT ? &node->order : &node->scope;
        unsigned none = found < VYRE_ORDER_COUNT ? VYRE_ORDER_COUNT : VYRE_SCOPE_COUNT;
        if (*attribute != none)
            vy_parse_error(parser, VY_T019, parser->token.at, NULL, "more than one order or scope of an atomic");
        *attribute = (uint8_t)(found < VYRE_ORDER_COUNT ? found : found - VYRE_ORDER_COUNT);
        vy_parse_advance(parser);
    } while (vy_parse_accept(parser, VY_TOKEN_COMMA));
    vy_parse_expect(parser, VY_TOKEN_GT);
}

static __attribute__((noinline)) vy_ast_node *parse_atomic(vy_parser *parser, vy_identifier_info word, vy_position at) {
    vy_ast_node *node = vy_parse_node(parser, VY_AST_ATOMIC, at);
    if (!node)
        return NULL;
    node->op = word.index;
    node->order = VYRE_ORDER_COUNT;
    node->scope = VYRE_SCOPE_COUNT;
    if (vy_parse_accept(parser, VY_TOKEN_LT))
        parse_atomic_attributes(parser, node);
    parse_operands(parser, node, 1 + vy_atomics[word.index].operands);
    if (node->kind == VY_AST_ATOMIC && node->a && node->a->kind != VY_AST_INDEX && node->a->kind != VY_AST_BAD) {
        vy_parse_error(parser, VY_T038, node->a->at, "pass an element, as in `m[i]`",
                       "expected an element of a buffer or array as the first argument of `%s`",
                       vyre_atomic_name(word.index));
        node->kind = VY_AST_BAD;
    }
    return node;
}

static vy_ast_node *parse_const_name(vy_parser *parser) {
    vy_ast_node *node = vy_parse_node(parser, VY_AST_NAME, parser->token.at);
    if (node)
        node->name = parser->token.name;
    vy_parse_advance(parser);
    return node;
}

static vy_ast_node *parse_width(vy_parser *parser) {
    int is_number = vy_parse_is(parser, VY_TOKEN_NUMBER);
    vy_ast_node *width = NULL;
    if (is_number || (parser->token.kind == VY_TOKEN_NAME && parser->token.word.cls < VY_IDENTIFIER_KEYWORD)) {
        unsigned before = parser->brackets;
        parser->brackets = 1;
        width = is_number ? parse_number(parser, 0, parser->token.at) : parse_const_name(parser);
        parser->brackets = before;
    } else {
        vy_parse_error(parser, VY_T045, parser->token.at, NULL, "expected a number or a const as the subgroup width");
    }
    vy_parse_expect(parser, VY_TOKEN_GT);
    return width;
}

static __attribute__((noinline)) vy_ast_node *parse_collective(vy_parser *parser, vy_identifier_info word,
                                                               uint32_t name, vy_position at) {
    vy_ast_node *node = vy_parse_node(parser, VY_AST_COLLECTIVE, at);
    if (!node)
        return NULL;
    node->name = name;
    node->op = word.index;
    node->combine = word.combine;
    node->scope = word.subgroup;
    vy_ast_node *width = NULL;
    int has_width = vy_parse_accept(parser, VY_TOKEN_LT);
    if (has_width)
        width = parse_width(parser);
    if (has_width != word.subgroup)
        vy_parse_error(
            parser, VY_T045, at,
            word.subgroup ? VY_DIAG_SINK_FIX(parser->report, "write `%s<32>(…)`", vy_parse_name_text(parser, name))
                          : "remove the width",
            word.subgroup ? "`%s` requires a subgroup width" : "`%s` is a workgroup collective and has no width",
            vy_parse_name_text(parser, name));
    parse_operands(parser, node, vy_collectives[word.index].operands);
    node->width = width;
    return node;
}

static __attribute__((noinline)) vy_ast_node *parse_cast(vy_parser *parser, vy_ast_node_kind kind, uint8_t type,
                                                         vy_position at) {
    vy_ast_node *node = vy_parse_node(parser, kind, at);
    if (!node)
        return NULL;
    node->type_name = type;
    parse_operands(parser, node, 1);
    return node;
}

static __attribute__((noinline)) vy_ast_node *parse_bitcast(vy_parser *parser, vy_position at) {
    if (!vy_parse_expect(parser, VY_TOKEN_LT))
        return new_bad_node(parser);
    uint8_t type = vy_parse_type(parser);
    vy_parse_expect(parser, VY_TOKEN_GT);
    return type == VY_TYPE_BAD ? new_bad_node(parser) : parse_cast(parser, VY_AST_BITCAST, type, at);
}

static __attribute__((noinline)) vy_ast_node *parse_len(vy_parser *parser) {
    vy_ast_node *node = vy_parse_node(parser, VY_AST_LEN, parser->token.at);
    if (!node)
        return NULL;
    vy_parse_expect(parser, VY_TOKEN_OPEN);
    parser->brackets++;
    vy_parse_name(parser, "the name of a buffer or array", &node->name, &node->at);
    vy_parse_expect(parser, VY_TOKEN_CLOSE);
    parser->brackets -= parser->brackets > 0;
    if (parser->panic)
        node->kind = VY_AST_BAD;
    return node;
}

static __attribute__((noinline)) vy_ast_node *parse_call(vy_parser *parser, vy_ast_node_kind kind, uint32_t name,
                                                         vy_position at) {
    vy_ast_node *node = vy_parse_node(parser, kind, at);
    if (!node || !vy_parse_expect(parser, VY_TOKEN_OPEN))
        return node;
    node->name = name;
    node->has_call = 1;
    if (parser->calls && !parser->in_size) { /* also op ids: a function of the file can implement one */
        vy_ast_callee *called = vy_parse_new(parser, sizeof *called);
        if (!called)
            return node;
        called->name = name;
        *parser->calls = called;
        parser->calls = &called->next;
    }
    node->a = parse_arguments(parser, &node->count);
    for (const vy_ast_node *argument = node->a; argument && node->kind != VY_AST_BAD; argument = argument->next)
        vy_parse_update_depth(parser, node, argument);
    return node;
}

/* Reports `id`, which is `first` with members and is not called. */
static void report_member(vy_parser *parser, const char *first, const char *id, vy_position at) {
    vy_suggestion suggestion;
    vy_suggestion_start(&suggestion, first, strlen(first));
    for (unsigned i = 0; i < VYRE_BUILTIN_COUNT; i++)
        if (vy_builtins[i].has_axes)
            vy_suggestion_offer(&suggestion, vyre_builtin_name(i));
    const char *best = vy_porting_hint_builtin(first, strlen(first)), *member = id + strlen(first) + 1;
    best = best ? best : vy_suggestion_get(&suggestion);
    int is_length = strcmp(member, "length") == 0 || strcmp(member, "size") == 0 || strcmp(member, "len") == 0;
    const char *value = strcmp(first, "math") == 0 ? vy_porting_hint_value(member, strlen(member)) : NULL;
    vy_parse_error(
        parser, VY_T012, at,
        value       ? value
        : is_length ? VY_DIAG_SINK_FIX(parser->report, "write `len(%.100s)`", first)
        : best      ? VY_DIAG_SINK_FIX(parser->report, "did you mean `%s%.100s`?", best, id + strlen(first))
               : VY_DIAG_SINK_FIX(parser->report, "use one variable for each member, or call the op: `%.100s(…)`", id),
        "`%s` is not a value: only builtins have members, and an op must be called", id);
}

int vy_parse_op_id(vy_parser *parser, uint32_t first, vy_position *at, char id[VY_LIMIT_NAME + 1]) {
    size_t length = strlen(vy_parse_name_text(parser, first));
    memcpy(id, vy_parse_name_text(parser, first), length);
    while (vy_parse_accept(parser, VY_TOKEN_DOT)) {
        const vy_token *token = &parser->token;
        if (token->kind != VY_TOKEN_NAME || vy_parse_at_end(parser)) {
            vy_parse_expected(parser, "a name");
            return 0;
        }
        at->length = token->at.column + token->at.length - at->column;
        if (length + 1 + token->at.length > VY_LIMIT_NAME) {
            vy_parse_error(parser, VY_T009, *at, NULL, "op id too long (limit %d bytes)", VY_LIMIT_NAME);
            return 0;
        }
        id[length++] = '.';
        memcpy(id + length, vy_token_text(&parser->lexer, token), token->at.length);
        length += token->at.length;
        vy_parse_advance(parser);
    }
    id[length] = 0;
    return 1;
}

int vy_parse_quoted_id(vy_parser *parser, char id[VY_LIMIT_NAME + 1]) {
    const vy_token *token = &parser->token;
    const char *text = vy_token_text(&parser->lexer, token) + 1;
    size_t length = token->at.length < 2 ? 0 : token->at.length - 2; /* unterminated, which the lexer has reported */
    if (!vy_text_is_op_id(text, length)) {
        vy_parse_error(parser, VY_T055, token->at, NULL, "\"%.*s\" is not an op id", (int)(length < 100 ? length : 100),
                       text);
        return 0;
    }
    memcpy(id, text, length);
    id[length] = 0;
    vy_parse_advance(parser);
    return 1;
}

uint32_t vy_parse_add_name(vy_parser *parser, const char *text) {
    vy_symbol name = vy_intern_pool_add(&parser->lexer.names, text, strlen(text));
    parser->report->out_of_memory |= name == VY_SYMBOL_INVALID;
    return name;
}

/* ---- attributes of ops ---- */

static int parse_attribute_value(vy_parser *parser, char value[VY_ATTRIBUTE_CAPACITY]) {
    vy_position at = parser->token.at;
    int is_true = vy_parse_is_word(parser, "true");
    if (is_true || vy_parse_is_word(parser, "false")) {
        vy_parse_advance(parser);
        return vy_attribute_spell(parser->report, NULL, 0, (uint64_t)is_true, at, value);
    }
    int negative = vy_parse_accept(parser, VY_TOKEN_MINUS);
    if (!vy_parse_is(parser, VY_TOKEN_NUMBER)) {
        vy_parse_expected(parser, "`true`, `false` or a number");
        return 0;
    }
    const vy_ast_node *node = parse_number(parser, negative, at);
    return node && node->kind == VY_AST_NUMBER &&
           vy_attribute_spell(parser->report, node->number, negative, 0, at, value);
}

/* An attribute of a call. It stores the name as a symbol, because the text of names can move while the parser adds
 * names. */
typedef struct given {
    uint32_t name;
    char value[VY_ATTRIBUTE_CAPACITY];
} given;

/* Inserts the attribute in the order of names; reports a duplicate and returns 0. */
static int insert_attribute(vy_parser *parser, given *list, size_t count, const given *new, vy_position at) {
    const char *name = vy_parse_name_text(parser, new->name);
    size_t slot = count;
    for (; slot > 0; slot--) {
        int order = strcmp(vy_parse_name_text(parser, list[slot - 1].name), name);
        if (order == 0) {
            vy_parse_error(parser, VY_T054, at, NULL, "duplicate attribute `%s`", name);
            return 0;
        }
        if (order < 0)
            break;
        list[slot] = list[slot - 1];
    }
    list[slot] = *new;
    return 1;
}

static int add_attribute(vy_parser *parser, given *list, size_t *count) {
    given attribute = {0};
    vy_position at;
    if (!vy_parse_name(parser, "the name of an attribute", &attribute.name, &at))
        return 0;
    vy_parse_expect(parser, VY_TOKEN_ASSIGN);
    if (parser->panic || !parse_attribute_value(parser, attribute.value))
        return 0;
    if (*count == VY_ATTRIBUTES_LIMIT) {
        vy_parse_error(parser, VY_T054, at, NULL, "too many attributes (limit %d)", VY_ATTRIBUTES_LIMIT);
        return 0;
    }
    return insert_attribute(parser, list, (*count)++, &attribute, at);
}

/* Parses `<name = value, …>` after the id and appends it to the id in canonical form. Returns 0 after an error. */
static int parse_attributes(vy_parser *parser, char id[VY_LIMIT_NAME + 1], vy_position at) {
    given list[VY_ATTRIBUTES_LIMIT + 1];
    size_t count = 0;
    parser->brackets++;
    do {
        if (!add_attribute(parser, list, &count)) {
            parser->brackets -= parser->brackets > 0;
            return 0;
        }
    } while (vy_parse_accept(parser, VY_TOKEN_COMMA));
    vy_parse_expect(parser, VY_TOKEN_GT);
    parser->brackets -= parser->brackets > 0;
    size_t length = strlen(id);
    for (size_t i = 0; i < count && length <= VY_LIMIT_NAME; i++)
        length += (size_t)snprintf(id + length, VY_LIMIT_NAME + 1 - length, "%s%s = %s%s", i ? ", " : "<",
                                   vy_parse_name_text(parser, list[i].name), list[i].value, i + 1 == count ? ">" : "");
    if (length > VY_LIMIT_NAME)
        vy_parse_error(parser, VY_T054, at, "use fewer or shorter attributes",
                       "op id and attributes too long (limit %d bytes)", VY_LIMIT_NAME);
    return length <= VY_LIMIT_NAME && !parser->panic;
}

/* Parses the name of a call with its attributes, up to the bracket, and extends `at` over the id. Returns 0 after an
 * error. Not inlined, because its caller recurses. */
static __attribute__((noinline)) int parse_op_name(vy_parser *parser, uint32_t first, vy_position *at, uint32_t *name) {
    char id[VY_LIMIT_NAME + 1];
    if (!vy_parse_op_id(parser, first, at, id) ||
        (vy_parse_accept(parser, VY_TOKEN_LT) && !parse_attributes(parser, id, *at)))
        return 0;
    if (!vy_parse_follows(parser, VY_TOKEN_OPEN)) {
        report_member(parser, vy_parse_name_text(parser, first), id, *at);
        return 0;
    }
    *name = vy_parse_add_name(parser, id);
    return 1;
}

static __attribute__((noinline)) vy_ast_node *parse_dotted(vy_parser *parser, vy_position at, uint32_t first) {
    uint32_t name;
    if (!parse_op_name(parser, first, &at, &name))
        return new_bad_node(parser);
    return name == VY_SYMBOL_INVALID ? NULL : parse_call(parser, VY_AST_OP_CALL, name, at);
}

/* Like parse_op_name. */
static __attribute__((noinline)) int parse_quoted_name(vy_parser *parser, vy_position at, uint32_t *name) {
    char id[VY_LIMIT_NAME + 1];
    if (!vy_parse_quoted_id(parser, id) || (vy_parse_accept(parser, VY_TOKEN_LT) && !parse_attributes(parser, id, at)))
        return 0;
    if (!vy_parse_follows(parser, VY_TOKEN_OPEN)) {
        vy_parse_expected(parser, "`(`");
        return 0;
    }
    *name = vy_parse_add_name(parser, id);
    return 1;
}

static __attribute__((noinline)) vy_ast_node *parse_quoted(vy_parser *parser) {
    vy_position at = parser->token.at;
    char next = vy_parse_peek(parser);
    uint32_t name;
    if (next != '(' && next != '<') {
        vy_parse_error(
            parser, VY_T012, at,
            "use strings only after `print` (as in `print \"x = {}\", x`) and `region`, and as op ids in calls",
            "a string is not a value");
        return new_bad_node(parser);
    }
    if (!parse_quoted_name(parser, at, &name))
        return new_bad_node(parser);
    return name == VY_SYMBOL_INVALID ? NULL : parse_call(parser, VY_AST_OP_CALL, name, at);
}

/* ---- names and literals ---- */

static vy_ast_node *bits_node(vy_parser *parser, vyre_type type, uint64_t bits, vy_position at) {
    vy_ast_node *node = vy_parse_node(parser, VY_AST_BITS, at);
    if (node) {
        node->type_name = (uint8_t)type;
        node->value = bits;
    }
    return node;
}

/* `f32.inf` or `f32.nan`, after the dot. */
static vy_ast_node *parse_special(vy_parser *parser, uint8_t type, int negative, vy_position at) {
    static const char *const words[] = {"inf", "nan"};
    if (vyre_type_class(type) != VYRE_CLASS_FLOAT) {
        const vy_type_layout *layout = &vy_type_layouts[type];
        uint64_t largest = layout->classes == VYRE_CLASS_SIGNED ? layout->mask >> 1 : layout->mask;
        vy_parse_error(parser, VY_T012, at,
                       type == VYRE_TYPE_BOOL
                           ? "write `true` or `false`"
                           : VY_DIAG_SINK_FIX(parser->report, "write the value; the largest is `%" PRIu64 "%s`",
                                              largest, vyre_type_name(type)),
                       "`%s` has no members", vyre_type_name(type));
        return new_bad_node(parser);
    }
    int is_nan = vy_parse_is_word(parser, "nan");
    if (!is_nan && !vy_parse_is_word(parser, "inf")) {
        vy_parse_one_of(parser, "float constant", words, 2);
        return new_bad_node(parser);
    }
    at.length = parser->token.at.column + parser->token.at.length - at.column;
    vy_parse_advance(parser);
    vyre_scalar nan = vyre_scalar_bits(type, UINT64_MAX);
    uint64_t sign = UINT64_C(1) << (vyre_type_bits(type) - 1);
    /* The canonical NaN is infinity with one more bit below the exponent: nan & nan << 1 keeps just the exponent. */
    uint64_t infinity = nan.bits & nan.bits << 1;
    return bits_node(parser, type, is_nan ? nan.bits : infinity | (negative ? sign : 0), at);
}

static vy_ast_node *parse_builtin(vy_parser *parser, vy_identifier_info word, vy_position at) {
    vy_ast_node *node = vy_parse_node(parser, VY_AST_BUILTIN, at);
    if (!node)
        return NULL;
    node->op = word.index;
    int dot = vy_parse_accept(parser, VY_TOKEN_DOT), has_axes = vy_builtins[word.index].has_axes;
    const char *name = vyre_builtin_name(word.index);
    if (dot != has_axes) {
        vy_parse_error(parser, VY_T029, at,
                       has_axes ? VY_DIAG_SINK_FIX(parser->report, "write `%s.x`, `%s.y` or `%s.z`", name, name, name)
                                : VY_DIAG_SINK_FIX(parser->report, "write `%s`", name),
                       has_axes ? "`%s` requires an axis" : "`%s` has no axes", name);
        return node;
    }
    if (!has_axes)
        return node;
    char axis =
        parser->token.at.length == 1 && !vy_parse_at_end(parser) ? *vy_token_text(&parser->lexer, &parser->token) : 0;
    if (axis < 'x' || axis > 'z') {
        vy_parse_error(parser, VY_T029, parser->token.at,
                       VY_DIAG_SINK_FIX(parser->report, "write `%s.x`, `%s.y` or `%s.z`", name, name, name),
                       "invalid axis of `%s` (expected x, y or z)", name);
        return node;
    }
    node->axis = (uint8_t)(axis - 'x');
    node->at.length = parser->token.at.column + 1 - at.column;
    vy_parse_advance(parser);
    return node;
}

static __attribute__((noinline)) void report_dimensions(vy_parser *parser) {
    vy_parse_error(parser, VY_T011, parser->token.at, "compute one index, as in `m[row * width + column]`",
                   "buffers and arrays have one dimension");
}

/* Parses `[i]`, or after `!` also `[i if c]`, from the bracket on. */
static vy_ast_node *parse_index(vy_parser *parser, uint32_t name, vy_position at, vy_bounds_check guard) {
    vy_ast_node *node = vy_parse_node(parser, VY_AST_INDEX, at);
    if (!node)
        return NULL;
    node->name = name;
    node->op = (uint8_t)guard;
    vy_parse_advance(parser);
    parser->brackets++;
    parser->depth++; /* see too_deep */
    node->a = vy_parse_expression(parser);
    if (guard == VY_BOUNDS_UNCHECKED && !parser->panic && vy_token_is_keyword(&parser->token, VY_KEYWORD_IF)) {
        vy_parse_advance(parser);
        node->b = vy_parse_expression(parser);
        vy_parse_update_depth(parser, node, node->b);
    }
    parser->depth--;
    if (vy_parse_is(parser, VY_TOKEN_COMMA)) /* `m[i, j]` */
        report_dimensions(parser);
    vy_parse_expect(parser, VY_TOKEN_CLOSE_INDEX);
    parser->brackets -= parser->brackets > 0;
    if (vy_parse_follows(parser, VY_TOKEN_OPEN_INDEX)) /* `m[i][j]` */
        report_dimensions(parser);
    vy_parse_update_depth(parser, node, node->a);
    return node;
}

static vy_ast_node *parse_type_word(vy_parser *parser, vy_identifier_info word, vy_position at) {
    if (vy_parse_follows(parser, VY_TOKEN_OPEN))
        return parse_cast(parser, VY_AST_CAST, word.index, at);
    if (vy_parse_accept(parser, VY_TOKEN_DOT))
        return parse_special(parser, word.index, 0, at);
    vy_parse_error(
        parser, VY_T012, at,
        VY_DIAG_SINK_FIX(parser->report, "write `%s(…)` around the value to convert", vyre_type_name(word.index)),
        "expected a value, found the type `%s`", vyre_type_name(word.index));
    return new_bad_node(parser);
}

static vy_ast_node *missing_value(vy_parser *parser) {
    vy_position end = {parser->last.line, parser->last.column + parser->last.length, 1};
    vy_parse_error(parser, VY_T012, end, NULL, "expected a value before the end of the statement");
    return new_bad_node(parser);
}

/* Reports a function name of another language and suggests the equivalent. Not inlined into parse_word, which
 * recurses. */
static __attribute__((noinline)) int report_synonym(vy_parser *parser, vy_position at, const char *text) {
    char meant[VY_KEYWORD_CAPACITY];
    if (!vy_keyword_synonym(text, strlen(text), meant))
        return 0;
    vy_parse_error(parser, VY_T026, at, VY_DIAG_SINK_FIX(parser->report, "did you mean `%s`?", meant),
                   "unknown function `%s`", text);
    return 1;
}

static __attribute__((noinline)) vy_ast_node *parse_word(vy_parser *parser) {
    vy_identifier_info word = parser->token.word;
    vy_position at = parser->token.at;
    uint32_t name = parser->token.name;
    if (word.cls == VY_IDENTIFIER_KEYWORD && word.index != VY_KEYWORD_TRUE && word.index != VY_KEYWORD_FALSE) {
        if (parser->token.newline)
            return missing_value(parser);
        vy_parse_error(parser, VY_T012, at, word.index == VY_KEYWORD_IF ? "write `c ? a : b`" : NULL,
                       "expected a value, found the keyword `%s`", vy_parse_name_text(parser, name));
        return new_bad_node(parser);
    }
    vy_parse_advance(parser);
    switch (word.cls) {
    case VY_IDENTIFIER_KEYWORD:
        return bits_node(parser, VYRE_TYPE_BOOL, word.index == VY_KEYWORD_TRUE, at);
    case VY_IDENTIFIER_TYPE:
        return parse_type_word(parser, word, at);
    case VY_IDENTIFIER_BUILTIN:
        return parse_builtin(parser, word, at);
    case VY_IDENTIFIER_BITCAST:
        return parse_bitcast(parser, at);
    case VY_IDENTIFIER_ATOMIC:
        return parse_atomic(parser, word, at);
    case VY_IDENTIFIER_COLLECTIVE:
        return parse_collective(parser, word, name, at);
    default:
        break;
    }
    if (vy_parse_follows(parser, VY_TOKEN_OPEN_INDEX))
        return parse_index(parser, name, at, VY_BOUNDS_CHECKED);
    if (vy_parse_follows(parser, VY_TOKEN_BANG) && vy_parse_peek(parser) == '[') {
        vy_parse_advance(parser);
        return parse_index(parser, name, at, VY_BOUNDS_UNCHECKED);
    }
    if (vy_parse_follows(parser, VY_TOKEN_LT) && report_synonym(parser, at, vy_parse_name_text(parser, name)))
        return new_bad_node(parser);
    if (vy_parse_follows(parser, VY_TOKEN_DOT))
        return parse_dotted(parser, at, name);
    if (!vy_parse_follows(parser, VY_TOKEN_OPEN)) {
        vy_ast_node *node = vy_parse_node(parser, VY_AST_NAME, at);
        if (node)
            node->name = name;
        return node;
    }
    if (word.cls == VY_IDENTIFIER_LEN)
        return parse_len(parser);
    if (word.cls != VY_IDENTIFIER_OP)
        return parse_call(parser, VY_AST_CALL, name, at);
    vy_ast_node *node = operation(parser, word.index, at, NULL, NULL, NULL);
    if (node)
        parse_operands(parser, node, vyre_op_get(word.index)->arity);
    return node;
}

/* ---- operators ---- */

/* Whether the token ends `...` or `..=`, ranges of other languages. */
static int is_long_range(const vy_parser *parser) {
    const vy_position *at = &parser->token.at, *last = &parser->last;
    return (vy_parse_is(parser, VY_TOKEN_DOT) || vy_parse_is(parser, VY_TOKEN_ASSIGN)) && last->line == at->line &&
           last->length == 2 && last->column + 2 == at->column &&
           memcmp(vy_token_text(&parser->lexer, &parser->token) - 2, "..", 2) == 0;
}

/* Reports a token that does not start a value. */
static __attribute__((noinline)) vy_ast_node *report_no_value(vy_parser *parser) {
    switch (parser->token.kind) {
    case VY_TOKEN_END:
    case VY_TOKEN_SEMICOLON:
    case VY_TOKEN_CLOSE_BLOCK:
        return missing_value(parser);
    default:
        if (vy_parse_is(parser, VY_TOKEN_DOT) && vy_parse_peek(parser) >= '0' && vy_parse_peek(parser) <= '9') {
            const char *digits = vy_token_text(&parser->lexer, &parser->token) + 1;
            vy_parse_error(
                parser, VY_T012, parser->token.at,
                VY_DIAG_SINK_FIX(parser->report, "write `0.%.*s`", (int)strspn(digits, "0123456789"), digits),
                "expected a value, found `.`; a number has digits on both sides of the point");
            return new_bad_node(parser);
        }
        vy_parse_error(parser, VY_T012, parser->token.at,
                       is_long_range(parser)                ? "write `..`; the end is excluded"
                       : vy_parse_is(parser, VY_TOKEN_PLUS) ? "remove the `+`; to increment, write `i += 1`"
                       : vy_parse_is(parser, VY_TOKEN_AND)  ? "remove the `&`; pass the element itself, as in `m[i]`"
                       : vy_parse_is(parser, VY_TOKEN_STAR) ? "remove the `*`; the language has no pointers"
                       : vy_parse_is(parser, VY_TOKEN_OPEN_INDEX)
                           ? "declare an array, as in `array a : f32 [3] private`, "
                             "and store each element"
                           : NULL,
                       "expected a value, found `%.*s`", (int)parser->token.at.length,
                       vy_token_text(&parser->lexer, &parser->token));
        return new_bad_node(parser);
    }
}

/* Reports `(float)x`, a conversion in other languages: a type in parentheses, which are parsed, before an operand. */
static __attribute__((noinline)) void check_c_cast(vy_parser *parser, vy_ast_node *node) {
    const vy_token *token = &parser->token;
    const char *name = vy_parse_name_text(parser, node->name), *type = vy_porting_hint_type(name, strlen(name));
    if (!type || parser->panic || vy_parse_at_end(parser) ||
        (token->kind != VY_TOKEN_NAME && token->kind != VY_TOKEN_NUMBER && token->kind != VY_TOKEN_OPEN))
        return;
    const int is_word = token->kind != VY_TOKEN_OPEN && token->at.length < 60;
    vy_parse_error(parser, VY_T011, node->at,
                   VY_DIAG_SINK_FIX(parser->report, "write `%s(%.*s)`", type,
                                    is_word ? (int)token->at.length : (int)sizeof "…" - 1,
                                    is_word ? vy_token_text(&parser->lexer, token) : "…"),
                   "`(%s)` does not convert: a conversion is a call of the type", name);
    node->kind = VY_AST_BAD;
}

static __attribute__((noinline)) vy_ast_node *parse_group(vy_parser *parser) {
    vy_parse_advance(parser);
    parser->brackets++;
    vy_ast_node *node = vy_parse_expression(parser);
    if (!parser->panic && vy_parse_is(parser, VY_TOKEN_COMMA))
        vy_parse_error(parser, VY_T011, parser->token.at,
                       "write one value in the parentheses; the language has no tuples", "expected `)`, found `,`");
    else
        vy_parse_expect(parser, VY_TOKEN_CLOSE);
    parser->brackets -= parser->brackets > 0;
    if (node && node->kind == VY_AST_NAME)
        check_c_cast(parser, node);
    return node;
}

static vy_ast_node *parse_unary(vy_parser *parser);

/* A minus directly before a number or an infinity is part of the literal. */
static vy_ast_node *parse_minus(vy_parser *parser, vy_position at) {
    const vy_token *token = &parser->token;
    if (token->kind == VY_TOKEN_NUMBER) {
        vy_position whole = at;
        if (token->at.line == at.line)
            whole.length = token->at.column + token->at.length - at.column;
        return parse_number(parser, 1, whole);
    }
    if (token->kind == VY_TOKEN_NAME && token->word.cls == VY_IDENTIFIER_TYPE) {
        uint8_t type = token->word.index;
        vy_position word_at = token->at;
        vy_parse_advance(parser);
        if (vy_parse_accept(parser, VY_TOKEN_DOT))
            return parse_special(parser, type, 1, at);
        vy_identifier_info word = {VY_IDENTIFIER_TYPE, type, VYRE_OP_COUNT, 0};
        return operation(parser, VYRE_OP_NEG, at, parse_type_word(parser, word, word_at), NULL, NULL);
    }
    return operation(parser, VYRE_OP_NEG, at, parse_unary(parser), NULL, NULL);
}

/* Bounds the stack. Operators, parentheses and arms of selects count one level; calls and indices, which have larger
 * frames, count two. The bound is twice the limit of the language, because each operator can be in its own pair of
 * parentheses. */
static int too_deep(vy_parser *parser) {
    enum { MOST = 2 * VY_LIMIT_EXPRESSION_DEPTH + 8 };
    if (parser->depth < MOST)
        return 0;
    vy_parse_error(parser, VY_T014, parser->token.at, NULL,
                   "expression too deep (more than %d levels of operators, parentheses, calls and indices)", (int)MOST);
    return 1;
}

static __attribute__((noinline)) vy_ast_node *parse_prefix(vy_parser *parser) {
    vy_position at = parser->token.at;
    vy_token_kind kind = parser->token.kind;
    if (too_deep(parser))
        return new_bad_node(parser);
    parser->depth++;
    vy_parse_advance(parser);
    vy_ast_node *node;
    if (kind == VY_TOKEN_MINUS)
        node = parse_minus(parser, at);
    else
        node =
            operation(parser, kind == VY_TOKEN_TILDE ? VYRE_OP_NOT : VYRE_OP_LNOT, at, parse_unary(parser), NULL, NULL);
    parser->depth--;
    return node;
}

/* Only tail calls, so it adds no frame to the recursion. */
static vy_ast_node *parse_unary(vy_parser *parser) {
    switch (parser->token.kind) {
    case VY_TOKEN_MINUS:
    case VY_TOKEN_TILDE:
    case VY_TOKEN_BANG:
        return parse_prefix(parser);
    case VY_TOKEN_NAME:
        return parse_word(parser);
    case VY_TOKEN_NUMBER:
        return parse_number(parser, 0, parser->token.at);
    case VY_TOKEN_OPEN:
        return parse_group(parser);
    case VY_TOKEN_STRING:
        return parse_quoted(parser);
    default:
        return report_no_value(parser);
    }
}

/* The infix op at the current token with a precedence of at least `least`, or VYRE_OP_COUNT. */
static unsigned infix_at(const vy_parser *parser, unsigned least) {
    unsigned op = parser->infix[parser->token.kind];
    if (op == VYRE_OP_COUNT || (parser->token.newline && !parser->brackets))
        return VYRE_OP_COUNT;
    return vyre_op_get(op)->precedence >= least ? op : VYRE_OP_COUNT;
}

/* The spelling of a tree in a fix: its name, or an ellipsis. */
static const char *spelling(const vy_parser *parser, const vy_ast_node *node) {
    return node && node->kind == VY_AST_NAME ? vy_parse_name_text(parser, node->name) : "…";
}

/* Reports `i++` and `i--`; the current token is the second sign. A minus can also belong to the next operand: `i -
 * -1`. */
static void check_step(vy_parser *parser, unsigned op, const vy_ast_node *left) {
    const vy_token *token = &parser->token;
    int is_plus = token->kind == VY_TOKEN_PLUS;
    int touches = token->at.line == parser->last.line && token->at.column == parser->last.column + 1;
    if (!touches || op != (is_plus ? VYRE_OP_ADD : VYRE_OP_SUB) || (!is_plus && token->kind != VY_TOKEN_MINUS))
        return;
    char after = vy_parse_peek(parser);
    if (after == 0 || strchr("\r\n;})/", after))
        vy_parse_error(
            parser, VY_T011, token->at,
            VY_DIAG_SINK_FIX(parser->report, "write `%.60s %s 1`", spelling(parser, left), is_plus ? "+=" : "-="),
            "unknown operator `%s`", is_plus ? "++" : "--");
}

/* Reports `x ** y`; the current token is the second star. */
static void check_power(vy_parser *parser, unsigned op, const vy_ast_node *left) {
    const vy_token *token = &parser->token;
    if (op == VYRE_OP_MUL && token->kind == VY_TOKEN_STAR && token->at.line == parser->last.line &&
        token->at.column == parser->last.column + 1)
        vy_parse_error(parser, VY_T011, token->at,
                       VY_DIAG_SINK_FIX(parser->report, "write the product, as in `%.60s * %.60s`, or `pow` for floats",
                                        spelling(parser, left), spelling(parser, left)),
                       "unknown operator `**`");
}

/* Reports words that are operators in other languages, after an operand `left`. The operand becomes invalid: its type
 * is not that of the expression that was meant. */
static void check_porting_hint(vy_parser *parser, vy_ast_node *left) {
    const vy_token *token = &parser->token;
    if (parser->panic || token->kind != VY_TOKEN_NAME || vy_parse_at_end(parser))
        return;
    const char *after = vy_token_text(&parser->lexer, token) + token->at.length;
    after += strspn(after, " \t");
    int length = (int)strspn(after, "abcdefghijklmnopqrstuvwxyz0123456789");
    if (vy_parse_is_word(parser, "and") || vy_parse_is_word(parser, "or"))
        vy_parse_error(parser, VY_T011, token->at, vy_parse_is_word(parser, "or") ? "write `||`" : "write `&&`",
                       "unknown operator `%s`", vy_parse_name_text(parser, token->name));
    else if (vy_parse_is_word(parser, "as"))
        vy_parse_error(parser, VY_T011, token->at,
                       VY_DIAG_SINK_FIX(parser->report, "write `%.*s(%.60s)` to convert",
                                        length && length < 8 ? length : 3, length && length < 8 ? after : "f32",
                                        spelling(parser, left)),
                       "unknown operator `as`");
    else if (left && left->kind == VY_AST_NAME && strcmp(vy_parse_name_text(parser, left->name), "not") == 0)
        vy_parse_error(parser, VY_T011, left->at,
                       VY_DIAG_SINK_FIX(parser->report, "write `!%.*s`",
                                        (int)(token->at.length < 60 ? token->at.length : 60),
                                        vy_token_text(&parser->lexer, token)),
                       "unknown operator `not`");
    else if (left && left->kind == VY_AST_NAME && strcmp(vy_parse_name_text(parser, left->name), "len") == 0)
        vy_parse_error(parser, VY_T011, left->at,
                       VY_DIAG_SINK_FIX(parser->report, "write `len(%.*s)`",
                                        (int)(token->at.length < 60 ? token->at.length : 60),
                                        vy_token_text(&parser->lexer, token)),
                       "`len` without parentheses");
    if (parser->panic && left)
        left->kind = VY_AST_BAD;
}

/* Parses operators with a precedence of at least `least`. One function handles all levels, so that a pair of
 * parentheses needs few frames. */
static vy_ast_node *parse_binary(vy_parser *parser, unsigned least) {
    if (too_deep(parser))
        return new_bad_node(parser);
    parser->depth++;
    vy_ast_node *left = parse_unary(parser);
    unsigned op;
    check_porting_hint(parser, left);
    while (left && !parser->panic && (op = infix_at(parser, least)) != VYRE_OP_COUNT) {
        unsigned precedence = vyre_op_get(op)->precedence;
        vy_position at = parser->token.at;
        vy_parse_advance(parser);
        check_step(parser, op, left);
        check_power(parser, op, left);
        vy_ast_node *right = parse_binary(parser, precedence + 1);
        left = operation(parser, op, at, left, right, NULL);
        unsigned next = infix_at(parser, VYRE_PRECEDENCE_COMPARE);
        if (precedence == VYRE_PRECEDENCE_COMPARE && next != VYRE_OP_COUNT &&
            vyre_op_get(next)->precedence == VYRE_PRECEDENCE_COMPARE)
            vy_parse_error(parser, VY_T013, parser->token.at, NULL, "chained comparison (`%s` after `%s`)",
                           vyre_op_get(next)->symbol, vyre_op_get(op)->symbol);
    }
    if (least == VYRE_PRECEDENCE_SELECT && left && !parser->panic && vy_parse_follows(parser, VY_TOKEN_QUESTION)) {
        vy_position at = parser->token.at;
        vy_parse_advance(parser);
        vy_ast_node *yes = vy_parse_expression(parser);
        vy_parse_expect(parser, VY_TOKEN_COLON);
        vy_ast_node *no = parser->panic ? new_bad_node(parser) : vy_parse_expression(parser);
        left = operation(parser, VYRE_OP_SELECT, at, left, yes, no);
    }
    parser->depth--;
    return left;
}

vy_ast_node *vy_parse_expression(vy_parser *parser) {
    return parse_binary(parser, VYRE_PRECEDENCE_SELECT);
}

vy_ast_node *vy_parse_size(vy_parser *parser) {
    parser->in_size = 1;
    vy_ast_node *node = vy_parse_expression(parser);
    parser->in_size = 0;
    return node;
}
