/* Expressions: names, literals and operators. Precedence climbing: the strength of each infix symbol is a column of the op table. */
#include "ir/text/parse_expr.h"

#include "ir/eval.h"
#include "ir/limits.h"
#include "ir/op_tables.h"

#include <inttypes.h>

vy_ast_node *vy_parse_node(vy_parser *parser, vy_ast_node_kind kind, vy_position at) {
    vy_parse_count(parser, &parser->nodes, VY_LIMIT_EXPRESSIONS, "expression nodes", at);
    vy_ast_node *node = vy_parse_new(parser, sizeof *node);
    if (node) {
        node->kind = (uint8_t)kind;
        node->at = at;
    }
    return node;
}

vy_ast_node *vy_parse_bad(vy_parser *parser) {
    return vy_parse_node(parser, VY_AST_BAD, parser->token.at);
}

void vy_parse_update_depth(vy_parser *parser, vy_ast_node *node, const vy_ast_node *below) {
    if (!below || below->depth < node->depth)
        return;
    node->depth = (uint16_t)(below->depth + 1);
    if (node->depth > VY_LIMIT_EXPRESSION_DEPTH) {
        vy_parse_error(parser, VY_T014, node->at, NULL, "the expression has more than %d operators inside one another",
                       VY_LIMIT_EXPRESSION_DEPTH);
        node->kind = VY_AST_BAD; /* cut, so that no walk over the tree goes deeper */
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

/* ---- names and literals ---- */

vy_ast_node *vy_parse_number(vy_parser *parser, int negative, vy_position at) {
    vy_ast_node *node = vy_parse_node(parser, VY_AST_NUMBER, at);
    vy_number *number = vy_parse_new(parser, sizeof *number);
    if (!node || !number)
        return NULL;
    node->number = number;
    node->negative = (uint8_t)negative;
    /* A malformed number is reported without panic: what stands around it is understood. */
    if (!vy_number_read(parser->report, vy_token_text(&parser->lexer, &parser->token), parser->token.at, number))
        node->kind = VY_AST_BAD;
    vy_parse_advance(parser);
    return node;
}

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
                       "%s has no members", vyre_type_name(type));
        return vy_parse_bad(parser);
    }
    int is_nan = vy_parse_is_word(parser, "nan");
    if (!is_nan && !vy_parse_is_word(parser, "inf")) {
        vy_parse_one_of(parser, "special float", words, 2);
        return vy_parse_bad(parser);
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
                       has_axes ? "`%s` needs an axis" : "`%s` has no axes", name);
        return node;
    }
    if (!has_axes)
        return node;
    char axis =
        parser->token.at.length == 1 && !vy_parse_at_end(parser) ? *vy_token_text(&parser->lexer, &parser->token) : 0;
    if (axis < 'x' || axis > 'z') {
        vy_parse_error(parser, VY_T029, parser->token.at,
                       VY_DIAG_SINK_FIX(parser->report, "write `%s.x`, `%s.y` or `%s.z`", name, name, name),
                       "`%s` has the axes x, y and z", name);
        return node;
    }
    node->axis = (uint8_t)(axis - 'x');
    node->at.length = parser->token.at.column + 1 - at.column;
    vy_parse_advance(parser);
    return node;
}

/* `[i]`, or after `!` also `[i if c]`; the parser stands at the bracket. */
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
    vy_parse_expect(parser, VY_TOKEN_CLOSE_INDEX);
    parser->brackets -= parser->brackets > 0;
    vy_parse_update_depth(parser, node, node->a);
    return node;
}

static vy_ast_node *parse_type_word(vy_parser *parser, vy_identifier_info word, vy_position at) {
    if (vy_parse_follows(parser, VY_TOKEN_OPEN))
        return vy_parse_cast(parser, VY_AST_CAST, word.index, at);
    if (vy_parse_accept(parser, VY_TOKEN_DOT))
        return parse_special(parser, word.index, 0, at);
    vy_parse_error(parser, VY_T012, at,
                   VY_DIAG_SINK_FIX(parser->report, "write `%s(x)` to convert", vyre_type_name(word.index)),
                   "a type alone is no value (`%s`)", vyre_type_name(word.index));
    return vy_parse_bad(parser);
}

static vy_ast_node *missing_value(vy_parser *parser) {
    vy_position end = {parser->last.line, parser->last.column + parser->last.length, 1};
    vy_parse_error(parser, VY_T012, end, NULL, "a value is missing before the end of the statement");
    return vy_parse_bad(parser);
}

/* Reports a word that other languages have, with the one that is meant. Not in the frame of parse_word, which recurses. */
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
        vy_parse_error(parser, VY_T012, at, NULL, "a value is needed here, not the keyword `%s`",
                       vy_parse_name_text(parser, name));
        return vy_parse_bad(parser);
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
        return vy_parse_bitcast(parser, at);
    case VY_IDENTIFIER_ATOMIC:
        return vy_parse_atomic(parser, word, at);
    case VY_IDENTIFIER_COLLECTIVE:
        return vy_parse_collective(parser, word, name, at);
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
        return vy_parse_bad(parser);
    if (vy_parse_follows(parser, VY_TOKEN_DOT))
        return vy_parse_dotted(parser, at, name);
    if (!vy_parse_follows(parser, VY_TOKEN_OPEN)) {
        vy_ast_node *node = vy_parse_node(parser, VY_AST_NAME, at);
        if (node)
            node->name = name;
        return node;
    }
    if (word.cls == VY_IDENTIFIER_LEN)
        return vy_parse_len(parser);
    if (word.cls != VY_IDENTIFIER_OP)
        return vy_parse_call(parser, VY_AST_CALL, name, at);
    vy_ast_node *node = operation(parser, word.index, at, NULL, NULL, NULL);
    if (node)
        vy_parse_operands(parser, node, vyre_op_get(word.index)->arity);
    return node;
}

/* ---- operators ---- */

/* What starts no value. */
static __attribute__((noinline)) vy_ast_node *report_no_value(vy_parser *parser) {
    switch (parser->token.kind) {
    case VY_TOKEN_END:
    case VY_TOKEN_SEMICOLON:
    case VY_TOKEN_CLOSE_BLOCK:
        return missing_value(parser);
    default:
        vy_parse_error(parser, VY_T012, parser->token.at,
                       vy_parse_is(parser, VY_TOKEN_PLUS) ? "remove the `+`; to count up, write `i += 1`" : NULL,
                       "a value is needed here, not `%.*s`", (int)parser->token.at.length,
                       vy_token_text(&parser->lexer, &parser->token));
        return vy_parse_bad(parser);
    }
}

static __attribute__((noinline)) vy_ast_node *parse_group(vy_parser *parser) {
    vy_parse_advance(parser);
    parser->brackets++;
    vy_ast_node *node = vy_parse_expression(parser);
    vy_parse_expect(parser, VY_TOKEN_CLOSE);
    parser->brackets -= parser->brackets > 0;
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
        return vy_parse_number(parser, 1, whole);
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

/* Bounds the stack. Operators, parentheses and arms of selects count one; calls and indices, which have larger frames, two. Twice the limit of the language:
 * each operator may stand in a pair of parentheses of its own. */
static int too_deep(vy_parser *parser) {
    if (parser->depth < 2 * VY_LIMIT_EXPRESSION_DEPTH + 8)
        return 0;
    vy_parse_error(parser, VY_T014, parser->token.at, NULL,
                   "the expression has more than %d operators or parentheses inside one another",
                   VY_LIMIT_EXPRESSION_DEPTH);
    return 1;
}

static __attribute__((noinline)) vy_ast_node *parse_prefix(vy_parser *parser) {
    vy_position at = parser->token.at;
    vy_token_kind kind = parser->token.kind;
    if (too_deep(parser))
        return vy_parse_bad(parser);
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

/* Nothing but calls at its end: it adds no frame to the recursion. */
static vy_ast_node *parse_unary(vy_parser *parser) {
    switch (parser->token.kind) {
    case VY_TOKEN_MINUS:
    case VY_TOKEN_TILDE:
    case VY_TOKEN_BANG:
        return parse_prefix(parser);
    case VY_TOKEN_NAME:
        return parse_word(parser);
    case VY_TOKEN_NUMBER:
        return vy_parse_number(parser, 0, parser->token.at);
    case VY_TOKEN_OPEN:
        return parse_group(parser);
    case VY_TOKEN_STRING:
        return vy_parse_quoted(parser);
    default:
        return report_no_value(parser);
    }
}

/* The infix op at the parser's place that binds at least as strongly as `least`, or VYRE_OP_COUNT. */
static unsigned infix_at(const vy_parser *parser, unsigned least) {
    unsigned op = parser->infix[parser->token.kind];
    if (op == VYRE_OP_COUNT || (parser->token.newline && !parser->brackets))
        return VYRE_OP_COUNT;
    return vyre_op_get(op)->precedence >= least ? op : VYRE_OP_COUNT;
}

/* How a tree is spelled in a fix: its name if it is one. */
static const char *spelling(const vy_parser *parser, const vy_ast_node *node) {
    return node && node->kind == VY_AST_NAME ? vy_parse_name_text(parser, node->name) : "…";
}

/* `i++` and `i--`, with the parser at the second sign. A minus may also belong to what follows: `i - -1`. */
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
            "`%s` is no operator", is_plus ? "++" : "--");
}

/* Words that are operators elsewhere, after an operand `left`. */
static void check_porting_hint(vy_parser *parser, const vy_ast_node *left) {
    const vy_token *token = &parser->token;
    if (parser->panic || token->kind != VY_TOKEN_NAME || vy_parse_at_end(parser))
        return;
    const char *after = vy_token_text(&parser->lexer, token) + token->at.length;
    after += strspn(after, " \t");
    int length = (int)strspn(after, "abcdefghijklmnopqrstuvwxyz0123456789");
    if (vy_parse_is_word(parser, "and") || vy_parse_is_word(parser, "or"))
        vy_parse_error(parser, VY_T011, token->at, vy_parse_is_word(parser, "or") ? "write `||`" : "write `&&`",
                       "`%s` is no operator", vy_parse_name_text(parser, token->name));
    else if (vy_parse_is_word(parser, "as"))
        vy_parse_error(parser, VY_T011, token->at,
                       VY_DIAG_SINK_FIX(parser->report, "write `%.*s(%.60s)` to convert",
                                        length && length < 8 ? length : 3, length && length < 8 ? after : "f32",
                                        spelling(parser, left)),
                       "`as` is no operator");
    else if (left && left->kind == VY_AST_NAME && strcmp(vy_parse_name_text(parser, left->name), "not") == 0)
        vy_parse_error(parser, VY_T011, left->at,
                       VY_DIAG_SINK_FIX(parser->report, "write `!%.*s`",
                                        (int)(token->at.length < 60 ? token->at.length : 60),
                                        vy_token_text(&parser->lexer, token)),
                       "`not` is no operator");
}

/* The operators that bind at least as strongly as `least`. One function, so that a pair of parentheses takes as few frames as possible. */
static vy_ast_node *parse_binary(vy_parser *parser, unsigned least) {
    if (too_deep(parser))
        return vy_parse_bad(parser);
    parser->depth++;
    vy_ast_node *left = parse_unary(parser);
    unsigned op;
    check_porting_hint(parser, left);
    while (left && !parser->panic && (op = infix_at(parser, least)) != VYRE_OP_COUNT) {
        unsigned precedence = vyre_op_get(op)->precedence;
        vy_position at = parser->token.at;
        vy_parse_advance(parser);
        check_step(parser, op, left);
        vy_ast_node *right = parse_binary(parser, precedence + 1);
        left = operation(parser, op, at, left, right, NULL);
        unsigned next = infix_at(parser, VYRE_PRECEDENCE_COMPARE);
        if (precedence == VYRE_PRECEDENCE_COMPARE && next != VYRE_OP_COUNT &&
            vyre_op_get(next)->precedence == VYRE_PRECEDENCE_COMPARE)
            vy_parse_error(parser, VY_T013, parser->token.at, NULL, "comparisons do not chain (`%s` after `%s`)",
                           vyre_op_get(next)->symbol, vyre_op_get(op)->symbol);
    }
    if (least == VYRE_PRECEDENCE_SELECT && left && !parser->panic && vy_parse_follows(parser, VY_TOKEN_QUESTION)) {
        vy_position at = parser->token.at;
        vy_parse_advance(parser);
        vy_ast_node *yes = vy_parse_expression(parser);
        vy_parse_expect(parser, VY_TOKEN_COLON);
        vy_ast_node *no = parser->panic ? vy_parse_bad(parser) : vy_parse_expression(parser);
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
