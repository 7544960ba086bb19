/* What is written like a call: ops, casts, atomics, collectives, `len`, functions and op ids. */
#include "ir/text/parse_expr.h"

#include "ir/limits.h"
#include "ir/rows.h"

/* Arguments up to `)`; the `(` is consumed. Returns the list, its length in *count. */
static vy_node *parse_arguments(vy_parser *parser, uint32_t *count) {
    vy_node *first = NULL, **end = &first;
    *count = 0;
    parser->brackets++;
    while (!vy_parse_is(parser, VY_TOKEN_CLOSE) && !parser->panic) {
        vy_node *argument = vy_parse_expression(parser);
        if (!argument)
            return NULL;
        *end = argument;
        end = &argument->next;
        ++*count;
        if (!vy_parse_accept(parser, VY_TOKEN_COMMA))
            break;
    }
    vy_parse_expect(parser, VY_TOKEN_CLOSE);
    parser->brackets -= parser->brackets > 0;
    return first;
}

static void wrong_count(vy_parser *parser, vy_position at, const char *name, unsigned given, unsigned taken) {
    vy_parse_error(parser, VY_T037, at, VY_FIX("pass %u argument%s", taken, taken == 1 ? "" : "s"),
                   "%s takes %u argument%s (%u given)", name, taken, taken == 1 ? "" : "s", given);
}

void vy_parse_operands(vy_parser *parser, vy_node *node, const char *name, unsigned taken) {
    if (!vy_parse_expect(parser, VY_TOKEN_OPEN)) {
        node->kind = VY_NODE_BAD;
        return;
    }
    uint32_t given;
    vy_node *list = parse_arguments(parser, &given);
    vy_node *operands[3] = {NULL, NULL, NULL};
    if (given != taken) {
        wrong_count(parser, node->at, name, given, taken);
        node->kind = VY_NODE_BAD;
        return;
    }
    for (unsigned i = 0; i < taken; i++) {
        operands[i] = list;
        list = list->next;
        operands[i]->next = NULL;
        vy_parse_deepen(parser, node, operands[i]);
    }
    if (node->kind == VY_NODE_BAD)
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
static void parse_atomic_attributes(vy_parser *parser, vy_node *node) {
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

vy_node *vy_parse_atomic(vy_parser *parser, vy_word word, vy_position at) {
    vy_node *node = vy_parse_node(parser, VY_NODE_ATOMIC, at);
    if (!node)
        return NULL;
    node->op = word.index;
    node->order = VYRE_ORDER_COUNT;
    node->scope = VYRE_SCOPE_COUNT;
    if (vy_parse_accept(parser, VY_TOKEN_LT))
        parse_atomic_attributes(parser, node);
    vy_parse_operands(parser, node, vyre_atomic_name(word.index), 1 + vy_atomics[word.index].operands);
    if (node->kind == VY_NODE_ATOMIC && node->a && node->a->kind != VY_NODE_INDEX && node->a->kind != VY_NODE_BAD) {
        vy_parse_error(parser, VY_T038, node->a->at, "write the buffer or array with an index, as in `m[i]`",
                       "the first argument of %s is an element of a memory", vyre_atomic_name(word.index));
        node->kind = VY_NODE_BAD;
    }
    return node;
}

static vy_node *parse_const_name(vy_parser *parser) {
    vy_node *node = vy_parse_node(parser, VY_NODE_NAME, parser->token.at);
    if (node)
        node->name = parser->token.name;
    vy_parse_advance(parser);
    return node;
}

static vy_node *parse_width(vy_parser *parser) {
    int is_number = vy_parse_is(parser, VY_TOKEN_NUMBER);
    vy_node *width = NULL;
    if (is_number || (parser->token.kind == VY_TOKEN_NAME && parser->token.word.cls < VY_WORD_KEYWORD)) {
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

vy_node *vy_parse_collective(vy_parser *parser, vy_word word, vy_position at) {
    vy_node *node = vy_parse_node(parser, VY_NODE_COLLECTIVE, at);
    char name[VY_WORD_ROOM];
    if (!node)
        return NULL;
    vy_word_collective(word.index, word.combine, word.subgroup, name);
    node->op = word.index;
    node->combine = word.combine;
    node->scope = word.subgroup;
    vy_node *width = NULL;
    int has_width = vy_parse_accept(parser, VY_TOKEN_LT);
    if (has_width)
        width = parse_width(parser);
    if (has_width != word.subgroup)
        vy_parse_error(parser, VY_T045, at, word.subgroup ? VY_FIX("write `%s<32>(…)`", name) : "remove the width",
                       word.subgroup ? "%s needs the width of its subgroups"
                                     : "%s is over the whole workgroup and has no width",
                       name);
    vy_parse_operands(parser, node, name, vy_collectives[word.index].operands);
    node->width = width;
    return node;
}

vy_node *vy_parse_cast(vy_parser *parser, vy_node_kind kind, uint8_t type, vy_position at) {
    vy_node *node = vy_parse_node(parser, kind, at);
    if (!node)
        return NULL;
    node->type_name = type;
    vy_parse_operands(parser, node, kind == VY_NODE_CAST ? vyre_type_name(type) : "bitcast", 1);
    return node;
}

vy_node *vy_parse_bitcast(vy_parser *parser, vy_position at) {
    if (!vy_parse_expect(parser, VY_TOKEN_LT))
        return vy_parse_bad(parser);
    uint8_t type = vy_parse_type(parser);
    vy_parse_expect(parser, VY_TOKEN_GT);
    return type == VY_TYPE_BAD ? vy_parse_bad(parser) : vy_parse_cast(parser, VY_NODE_BITCAST, type, at);
}

vy_node *vy_parse_len(vy_parser *parser) {
    vy_node *node = vy_parse_node(parser, VY_NODE_LEN, parser->token.at);
    if (!node)
        return NULL;
    vy_parse_expect(parser, VY_TOKEN_OPEN);
    parser->brackets++;
    vy_parse_name(parser, "the name of a buffer or array", &node->name, &node->at);
    vy_parse_expect(parser, VY_TOKEN_CLOSE);
    parser->brackets -= parser->brackets > 0;
    if (parser->panic)
        node->kind = VY_NODE_BAD;
    return node;
}

vy_node *vy_parse_call(vy_parser *parser, vy_node_kind kind, uint32_t name, vy_position at) {
    vy_node *node = vy_parse_node(parser, kind, at);
    if (!node || !vy_parse_expect(parser, VY_TOKEN_OPEN))
        return node;
    node->name = name;
    if (kind == VY_NODE_CALL && parser->calls && !parser->in_size) {
        vy_called *called = vy_parse_new(parser, sizeof *called);
        if (!called)
            return node;
        called->name = name;
        *parser->calls = called;
        parser->calls = &called->next;
    }
    node->a = parse_arguments(parser, &node->count);
    for (const vy_node *argument = node->a; argument && node->kind != VY_NODE_BAD; argument = argument->next)
        vy_parse_deepen(parser, node, argument);
    return node;
}

/* `id` is `first` with members, and not called. */
static void report_member(vy_parser *parser, const char *first, const char *id, vy_position at) {
    vy_suggestion near;
    vy_suggestion_start(&near, first, strlen(first));
    for (unsigned i = 0; i < VYRE_BUILTIN_COUNT; i++)
        vy_suggestion_offer(&near, vyre_builtin_name(i));
    const char *best = vy_suggestion_get(&near);
    vy_parse_error(parser, VY_T012, at,
                   best ? VY_FIX("did you mean `%s%.100s`?", best, id + strlen(first))
                        : VY_FIX("call the op: `%.100s(…)`", id),
                   "only builtins have members; `%s` can only be an op that is called", id);
}

vy_node *vy_parse_dotted(vy_parser *parser, vy_position at, uint32_t first) {
    char id[VY_LIMIT_NAME + 1];
    size_t length = strlen(vy_parse_name_text(parser, first));
    memcpy(id, vy_parse_name_text(parser, first), length);
    while (vy_parse_accept(parser, VY_TOKEN_DOT)) {
        const vy_token *token = &parser->token;
        if (token->kind != VY_TOKEN_NAME || vy_parse_at_end(parser)) {
            vy_parse_expected(parser, "a name after the dot");
            return vy_parse_bad(parser);
        }
        at.length = token->at.column + token->at.length - at.column;
        if (length + 1 + token->at.length > VY_LIMIT_NAME) {
            vy_parse_error(parser, VY_T009, at, NULL, "an op id has more than %d bytes", VY_LIMIT_NAME);
            return vy_parse_bad(parser);
        }
        id[length++] = '.';
        memcpy(id + length, vy_token_text(&parser->lexer, token), token->at.length);
        length += token->at.length;
        vy_parse_advance(parser);
    }
    if (!vy_parse_follows(parser, VY_TOKEN_OPEN)) {
        id[length] = 0;
        report_member(parser, vy_parse_name_text(parser, first), id, at);
        return vy_parse_bad(parser);
    }
    vy_name name = vy_names_add(&parser->lexer.names, id, length);
    if (name == VY_NAME_FAILED) {
        parser->report->out_of_memory = 1;
        return NULL;
    }
    return vy_parse_call(parser, VY_NODE_OP_CALL, name, at);
}
