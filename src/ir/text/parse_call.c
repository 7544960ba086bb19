/* What is written like a call: ops, casts, atomics, collectives, `len`, functions and op ids. */
#include "ir/attributes.h"
#include "ir/identifiers.h"
#include "ir/porting_hint.h"
#include "ir/text/parse_expr.h"

#include <stdio.h>

#include "ir/limits.h"
#include "ir/op_tables.h"

/* Arguments up to `)`; the `(` is consumed. Returns the list, its length in *count. */
static vy_ast_node *parse_arguments(vy_parser *parser, uint32_t *count) {
    vy_ast_node *first = NULL, **end = &first;
    *count = 0;
    parser->brackets++;
    parser->depth++; /* see too_deep in parse_expr.c */
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

/* Not in the frame of its caller, which recurses. */
static __attribute__((noinline)) void wrong_count(vy_parser *parser, const vy_ast_node *node, unsigned given,
                                                  unsigned taken) {
    const char *name = node->kind == VY_AST_COLLECTIVE ? vy_parse_name_text(parser, node->name)
                       : node->kind == VY_AST_ATOMIC   ? vyre_atomic_name(node->op)
                       : node->kind == VY_AST_CAST     ? vyre_type_name(node->type_name)
                       : node->kind == VY_AST_OP       ? vyre_op_get(node->op)->name
                                                       : "bitcast";
    vy_parse_error(parser, VY_T037, node->at,
                   VY_DIAG_SINK_FIX(parser->report, "pass %u argument%s", taken, taken == 1 ? "" : "s"),
                   "%s takes %u argument%s (%u given)", name, taken, taken == 1 ? "" : "s", given);
}

void vy_parse_operands(vy_parser *parser, vy_ast_node *node, unsigned taken) {
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
            vy_parse_error(parser, VY_T019, parser->token.at, NULL, "an atomic takes one order and one scope");
        *attribute = (uint8_t)(found < VYRE_ORDER_COUNT ? found : found - VYRE_ORDER_COUNT);
        vy_parse_advance(parser);
    } while (vy_parse_accept(parser, VY_TOKEN_COMMA));
    vy_parse_expect(parser, VY_TOKEN_GT);
}

vy_ast_node *vy_parse_atomic(vy_parser *parser, vy_identifier_info word, vy_position at) {
    vy_ast_node *node = vy_parse_node(parser, VY_AST_ATOMIC, at);
    if (!node)
        return NULL;
    node->op = word.index;
    node->order = VYRE_ORDER_COUNT;
    node->scope = VYRE_SCOPE_COUNT;
    if (vy_parse_accept(parser, VY_TOKEN_LT))
        parse_atomic_attributes(parser, node);
    vy_parse_operands(parser, node, 1 + vy_atomics[word.index].operands);
    if (node->kind == VY_AST_ATOMIC && node->a && node->a->kind != VY_AST_INDEX && node->a->kind != VY_AST_BAD) {
        vy_parse_error(parser, VY_T038, node->a->at, "write the buffer or array with an index, as in `m[i]`",
                       "the first argument of %s is an element of a memory", vyre_atomic_name(word.index));
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
        width = is_number ? vy_parse_number(parser, 0, parser->token.at) : parse_const_name(parser);
        parser->brackets = before;
    } else {
        vy_parse_error(parser, VY_T045, parser->token.at, NULL, "the width of a subgroup is a number or a const");
    }
    vy_parse_expect(parser, VY_TOKEN_GT);
    return width;
}

vy_ast_node *vy_parse_collective(vy_parser *parser, vy_identifier_info word, uint32_t name, vy_position at) {
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
            word.subgroup ? "%s needs the width of its subgroups" : "%s is over the whole workgroup and has no width",
            vy_parse_name_text(parser, name));
    vy_parse_operands(parser, node, vy_collectives[word.index].operands);
    node->width = width;
    return node;
}

vy_ast_node *vy_parse_cast(vy_parser *parser, vy_ast_node_kind kind, uint8_t type, vy_position at) {
    vy_ast_node *node = vy_parse_node(parser, kind, at);
    if (!node)
        return NULL;
    node->type_name = type;
    vy_parse_operands(parser, node, 1);
    return node;
}

vy_ast_node *vy_parse_bitcast(vy_parser *parser, vy_position at) {
    if (!vy_parse_expect(parser, VY_TOKEN_LT))
        return vy_parse_bad(parser);
    uint8_t type = vy_parse_type(parser);
    vy_parse_expect(parser, VY_TOKEN_GT);
    return type == VY_TYPE_BAD ? vy_parse_bad(parser) : vy_parse_cast(parser, VY_AST_BITCAST, type, at);
}

vy_ast_node *vy_parse_len(vy_parser *parser) {
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

vy_ast_node *vy_parse_call(vy_parser *parser, vy_ast_node_kind kind, uint32_t name, vy_position at) {
    vy_ast_node *node = vy_parse_node(parser, kind, at);
    if (!node || !vy_parse_expect(parser, VY_TOKEN_OPEN))
        return node;
    node->name = name;
    if (parser->calls && !parser->in_size) { /* also op ids: the file may have a function that stands for one */
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

/* `id` is `first` with members, and not called. */
static void report_member(vy_parser *parser, const char *first, const char *id, vy_position at) {
    vy_suggestion suggestion;
    vy_suggestion_start(&suggestion, first, strlen(first));
    for (unsigned i = 0; i < VYRE_BUILTIN_COUNT; i++)
        if (vy_builtins[i].has_axes)
            vy_suggestion_offer(&suggestion, vyre_builtin_name(i));
    const char *best = vy_porting_hint_builtin(first, strlen(first)), *member = id + strlen(first) + 1;
    best = best ? best : vy_suggestion_get(&suggestion);
    int is_length = strcmp(member, "length") == 0 || strcmp(member, "size") == 0 || strcmp(member, "len") == 0;
    vy_parse_error(
        parser, VY_T012, at,
        is_length ? VY_DIAG_SINK_FIX(parser->report, "write `len(%.100s)`", first)
        : best    ? VY_DIAG_SINK_FIX(parser->report, "did you mean `%s%.100s`?", best, id + strlen(first))
               : VY_DIAG_SINK_FIX(parser->report, "use one variable for each member, or call the op: `%.100s(…)`", id),
        "only builtins have members; `%s` can only be an op that is called", id);
}

int vy_parse_op_id(vy_parser *parser, uint32_t first, vy_position *at, char id[VY_LIMIT_NAME + 1]) {
    size_t length = strlen(vy_parse_name_text(parser, first));
    memcpy(id, vy_parse_name_text(parser, first), length);
    while (vy_parse_accept(parser, VY_TOKEN_DOT)) {
        const vy_token *token = &parser->token;
        if (token->kind != VY_TOKEN_NAME || vy_parse_at_end(parser)) {
            vy_parse_expected(parser, "a name after the dot");
            return 0;
        }
        at->length = token->at.column + token->at.length - at->column;
        if (length + 1 + token->at.length > VY_LIMIT_NAME) {
            vy_parse_error(parser, VY_T009, *at, NULL, "an op id has more than %d bytes", VY_LIMIT_NAME);
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
    size_t length = token->at.length < 2 ? 0 : token->at.length - 2; /* not closed: the lexer has reported it */
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
    const vy_ast_node *node = vy_parse_number(parser, negative, at);
    return node && node->kind == VY_AST_NUMBER &&
           vy_attribute_spell(parser->report, node->number, negative, 0, at, value);
}

/* An attribute as it is read. Names are kept as such: their texts move while more is read. */
typedef struct given {
    uint32_t name;
    char value[VY_ATTRIBUTE_CAPACITY];
} given;

/* Puts it where its name belongs; reports and returns 0 if it is there already. */
static int insert_attribute(vy_parser *parser, given *list, size_t count, const given *new, vy_position at) {
    const char *name = vy_parse_name_text(parser, new->name);
    size_t slot = count;
    for (; slot > 0; slot--) {
        int order = strcmp(vy_parse_name_text(parser, list[slot - 1].name), name);
        if (order == 0) {
            vy_parse_error(parser, VY_T054, at, NULL, "the attribute `%s` is given twice", name);
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
        vy_parse_error(parser, VY_T054, at, NULL, "a call has more than %d attributes", VY_ATTRIBUTES_LIMIT);
        return 0;
    }
    return insert_attribute(parser, list, (*count)++, &attribute, at);
}

/* `<name = value, …>` behind the id; the id grows by them in canonical form. Returns 0 after an error. */
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
                       "an op id and its attributes have more than %d bytes", VY_LIMIT_NAME);
    return length <= VY_LIMIT_NAME && !parser->panic;
}

/* The name of a call with its attributes, up to the bracket; `at` grows over the id. Returns 0 after an error. Not in the frame of its caller, which
 * recurses. */
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

vy_ast_node *vy_parse_dotted(vy_parser *parser, vy_position at, uint32_t first) {
    uint32_t name;
    if (!parse_op_name(parser, first, &at, &name))
        return vy_parse_bad(parser);
    return name == VY_SYMBOL_INVALID ? NULL : vy_parse_call(parser, VY_AST_OP_CALL, name, at);
}

/* As parse_op_name. */
static __attribute__((noinline)) int parse_quoted_name(vy_parser *parser, vy_position at, uint32_t *name) {
    char id[VY_LIMIT_NAME + 1];
    if (!vy_parse_quoted_id(parser, id) || (vy_parse_accept(parser, VY_TOKEN_LT) && !parse_attributes(parser, id, at)))
        return 0;
    if (!vy_parse_follows(parser, VY_TOKEN_OPEN)) {
        vy_parse_expected(parser, "`(` after the op id");
        return 0;
    }
    *name = vy_parse_add_name(parser, id);
    return 1;
}

vy_ast_node *vy_parse_quoted(vy_parser *parser) {
    vy_position at = parser->token.at;
    char next = vy_parse_peek(parser);
    uint32_t name;
    if (next != '(' && next != '<') {
        vy_parse_error(parser, VY_T012, at, "strings stand after `print` and `region`, and as op ids in calls",
                       "a string is not a value");
        return vy_parse_bad(parser);
    }
    if (!parse_quoted_name(parser, at, &name))
        return vy_parse_bad(parser);
    return name == VY_SYMBOL_INVALID ? NULL : vy_parse_call(parser, VY_AST_OP_CALL, name, at);
}
