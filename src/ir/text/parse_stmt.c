/* Statement parser: declarations of variables, assignments, control flow and blocks. The nesting of blocks is
 * bounded by VY_LIMIT_NESTING. */
#include "base/string.h"
#include "ir/model.h"
#include "ir/porting_hint.h"
#include "ir/text/parser.h"

#include <stdio.h>

static vy_ast_stmt *new_statement(vy_parser *parser, vy_ast_stmt_kind kind, vy_position at) {
    vy_ast_stmt *statement = vy_parse_new_statement(parser, sizeof *statement, at);
    if (statement) {
        statement->kind = (uint8_t)kind;
        statement->op = VYRE_OP_COUNT;
        statement->at = at;
    }
    return statement;
}

static vy_ast_stmt *consume_keyword(vy_parser *parser, vy_ast_stmt_kind kind) {
    vy_ast_stmt *statement = new_statement(parser, kind, parser->token.at);
    vy_parse_advance(parser);
    return statement;
}

/* `a, b, c` up to the end of the statement. */
static vy_ast_node *parse_list(vy_parser *parser, uint32_t *count) {
    vy_ast_node *first = NULL, **end = &first;
    *count = 0;
    do {
        vy_ast_node *value = vy_parse_expression(parser);
        if (!value)
            return first;
        *end = value;
        end = &value->next;
        ++*count;
    } while (vy_parse_accept(parser, VY_TOKEN_COMMA));
    return first;
}

static int is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* ---- strings ---- */

static int hex_value(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The byte that an escape sequence denotes, and the number of bytes read after the backslash; 0 if it is invalid. */
static char escape_value(const char *text, unsigned *read) {
    *read = 1;
    switch (text[0]) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    case '"':
        return '"';
    case '\\':
        return '\\';
    case 'x':
        break;
    default:
        return 0;
    }
    int high = hex_value(text[1]), low = high < 0 ? -1 : hex_value(text[2]);
    *read = 3;
    return low < 0 ? 0 : (char)(high * 16 + low);
}

/* The contents of a string token; NULL on error. */
static const char *parse_string(vy_parser *parser, uint32_t *length) {
    vy_token token = parser->token;
    const char *text = vy_token_text(&parser->lexer, &token) + 1;
    *length = 0;
    if (token.kind != VY_TOKEN_STRING || (token.newline && !parser->brackets)) {
        vy_parse_expected(parser, "a string");
        return NULL;
    }
    vy_parse_advance(parser);
    if (token.at.length < 2)
        return ""; /* unterminated, which the lexer has reported */
    uint32_t size = token.at.length - 2, used = 0;
    char *out = vy_parse_new(parser, size + 1);
    for (uint32_t i = 0; out && i < size; i++) {
        char byte = text[i];
        if (byte == '\\') {
            unsigned read;
            byte = escape_value(text + i + 1, &read);
            if (byte == 0) {
                vy_position at = {token.at.line, token.at.column + 1 + i, 2};
                vy_parse_error(parser, VY_T006, at, NULL, "unknown escape sequence `\\%c`", text[i + 1]);
                return NULL;
            }
            i += read;
        }
        out[used++] = byte;
    }
    if (used > VY_LIMIT_STRING) {
        vy_parse_error(parser, VY_T010, token.at, NULL, "string too long (%u bytes, limit %d)", used, VY_LIMIT_STRING);
        return NULL;
    }
    *length = used;
    return out;
}

/* ---- let, var, assignments and calls ---- */

/* `is_further`: not the first of several names; it counts as another declaration. */
static vy_ast_declarator *parse_declared(vy_parser *parser, int is_further) {
    vy_ast_declarator *declared = is_further ? vy_parse_new_statement(parser, sizeof *declared, parser->token.at)
                                             : vy_parse_new(parser, sizeof *declared);
    if (!declared || !vy_parse_name(parser, "a name", &declared->name, &declared->at))
        return NULL;
    declared->type = VYRE_TYPE_COUNT;
    if (vy_parse_accept(parser, VY_TOKEN_COLON))
        declared->type = vy_parse_type(parser);
    return declared;
}

static void parse_group(vy_parser *parser, vy_ast_stmt *statement) {
    vy_ast_declarator **end = &statement->names;
    statement->grouped = 1;
    parser->brackets++;
    do {
        *end = parse_declared(parser, statement->count > 0);
        if (!*end)
            break;
        end = &(*end)->next;
        statement->count++;
    } while (vy_parse_accept(parser, VY_TOKEN_COMMA));
    vy_parse_expect(parser, VY_TOKEN_CLOSE);
    parser->brackets -= parser->brackets > 0;
}

/* Declares the name of an invalid declaration with the type VY_TYPE_BAD, so that its uses are not reported. */
static vy_ast_stmt *declare_broken(vy_parser *parser, vy_position at) {
    vy_ast_stmt *statement = new_statement(parser, VY_AST_STMT_VAR, at);
    vy_ast_declarator *declared = statement ? vy_parse_new(parser, sizeof *declared) : NULL;
    if (!declared || !vy_parse_name(parser, "a name", &declared->name, &declared->at))
        return NULL;
    declared->type = VYRE_TYPE_COUNT;
    statement->names = declared;
    statement->count = 1;
    return statement;
}

/* `let mut name`. */
static vy_ast_stmt *report_mut(vy_parser *parser, vy_position at) {
    vy_position word = parser->token.at;
    vy_parse_advance(parser);
    vy_parse_error(parser, VY_T011, word,
                   VY_DIAG_SINK_FIX(parser->report, "write `var %.*s`",
                                    (int)(parser->token.at.length < 60 ? parser->token.at.length : 60),
                                    vy_token_text(&parser->lexer, &parser->token)),
                   "unknown word `mut`: a variable that changes is declared with `var`");
    return declare_broken(parser, at);
}

/* `let a, b`, from the comma on. The names are declared, so that their uses are not reported. */
static void report_ungrouped(vy_parser *parser, vy_ast_stmt *statement) {
    vy_parse_error(parser, VY_T011, parser->token.at,
                   "write `let (a, b) = f(x)` for the results of a call, otherwise one `let` for each name",
                   "several names without parentheses");
    vy_ast_declarator **end = &statement->names->next;
    while (vy_parse_accept(parser, VY_TOKEN_COMMA) && (*end = parse_declared(parser, 1))) {
        end = &(*end)->next;
        statement->count++;
    }
    statement->grouped = 1;
}

/* `var v` or `float v` without a value. The variable is declared as mutable, so that assignments to it are accepted. */
static void report_no_initial_value(vy_parser *parser, vy_ast_stmt *statement) {
    const vy_ast_declarator *declared = statement->names;
    const char *name = vy_parse_name_text(parser, declared->name);
    vy_position end = {parser->last.line, parser->last.column + parser->last.length, 1};
    int is_known = declared->type < VYRE_TYPE_COUNT;
    const char *type = is_known ? vyre_type_name(declared->type) : "f32";
    vy_parse_error(parser, VY_T011, end,
                   VY_DIAG_SINK_FIX(parser->report, "write an initial value: `var %.60s : %s = %s`", name, type,
                                    is_known && declared->type == VYRE_TYPE_BOOL ? "false" : "0"),
                   "expected `=` and the initial value of `%.60s`", name);
    statement->kind = VY_AST_STMT_VAR;
}

static vy_ast_stmt *parse_let(vy_parser *parser, vy_ast_stmt_kind kind) {
    vy_ast_stmt *statement = consume_keyword(parser, kind);
    if (!statement)
        return NULL;
    if (vy_parse_is_word(parser, "mut") && is_letter(vy_parse_peek(parser)))
        return report_mut(parser, statement->at);
    if (kind == VY_AST_STMT_LET && vy_parse_accept(parser, VY_TOKEN_OPEN)) {
        parse_group(parser, statement);
    } else {
        statement->names = parse_declared(parser, 0);
        statement->count = 1;
        if (statement->names && !parser->panic && vy_parse_follows(parser, VY_TOKEN_COMMA))
            report_ungrouped(parser, statement);
    }
    if (!parser->panic && !statement->grouped && vy_parse_at_end(parser))
        report_no_initial_value(parser, statement);
    else if (!parser->panic && vy_parse_expect(parser, VY_TOKEN_ASSIGN))
        statement->a = vy_parse_expression(parser);
    return statement->names ? statement : NULL;
}

/* The keyword most similar to `given`; NULL if none is similar. */
static const char *nearest_keyword(vy_suggestion *suggestion, const char *given) {
    char word[VY_KEYWORD_CAPACITY];
    vy_suggestion_start(suggestion, given, strlen(given));
    for (unsigned i = 0; vy_keyword_at(VY_IDENTIFIER_KEYWORD, i, word); i++)
        vy_suggestion_offer(suggestion, word);
    return vy_suggestion_get(suggestion);
}

/* Reports two consecutive words, probably a misspelt keyword and the name that it declares. */
static vy_ast_stmt *report_two_words(vy_parser *parser, vy_position at, uint32_t name) {
    vy_suggestion suggestion;
    const char *given = vy_parse_name_text(parser, name), *best = nearest_keyword(&suggestion, given);
    char next = vy_parse_peek(parser);
    vy_parse_error(parser, VY_T011, at,
                   best ? VY_DIAG_SINK_FIX(parser->report, "did you mean `%s`?", best)
                        : "start the statement with a keyword, or assign with `=`",
                   "`%s` does not start a statement", given);
    return next == '=' || next == ':' ? declare_broken(parser, at) : NULL;
}

/* For `int i = 5` or `u32 i = 5`: the type that corresponds to the word before the name, or NULL. */
static const char *type_before_name(const vy_parser *parser) {
    if (parser->token.kind != VY_TOKEN_NAME || !is_letter(vy_parse_peek(parser)))
        return NULL;
    if (parser->token.word.cls == VY_IDENTIFIER_TYPE)
        return vyre_type_name(parser->token.word.index);
    return vy_porting_hint_type(vy_token_text(&parser->lexer, &parser->token), parser->token.at.length);
}

/* The text after the next token and `=`, up to the end of the line and without surrounding spaces; its length in
 * *length, 0 if it is empty or long. */
static const char *written_value(const vy_parser *parser, int *length) {
    const char *text = vy_token_text(&parser->lexer, &parser->token) + parser->token.at.length;
    text += strspn(text, " \t");
    *length = 0;
    if (*text != '=')
        return text;
    text += 1 + strspn(text + 1, " \t");
    size_t size = strcspn(text, "\r\n;/");
    while (size && (text[size - 1] == ' ' || text[size - 1] == '\t'))
        size--;
    *length = size < 60 ? (int)size : 0;
    return text;
}

static vy_ast_stmt *report_type_first(vy_parser *parser, const char *type) {
    vy_token word = parser->token;
    vy_parse_advance(parser);
    int length, name_length = (int)(parser->token.at.length < 60 ? parser->token.at.length : 60);
    const char *name = vy_token_text(&parser->lexer, &parser->token), *value = written_value(parser, &length);
    /* The type is needed for literals only; with it, another type than that of the value is an error. */
    int is_literal = strcspn(value, "abcdfghijklmnopqrstuvwyzABCDFGHIJKLMNOPQRSTUVWYZ_") >= (size_t)length;
    const char *colon = is_literal ? " : " : "";
    vy_parse_error(parser, VY_T011, word.at,
                   VY_DIAG_SINK_FIX(parser->report, "write `let %.*s%s%s = %.*s`, or `var` if it changes", name_length,
                                    name, colon, is_literal ? type : "", length ? length : (int)sizeof "…" - 1,
                                    length ? value : "…"),
                   "a declaration starts with `let` or `var`, not with its type (`%.*s`)", (int)word.at.length,
                   vy_token_text(&parser->lexer, &word));
    return declare_broken(parser, word.at);
}

/* Reports a value as a statement. A name is reported only if it is similar to a keyword without operands, which is
 * probably a typo; lowering reports other names, because it can determine whether they are declared. */
static vy_ast_stmt *report_unused(vy_parser *parser, vy_ast_node *node) {
    static const char *const words[] = {"barrier", "grid_barrier", "break", "continue", "return"};
    const char *name = node->kind == VY_AST_NAME ? vy_parse_name_text(parser, node->name) : "";
    vy_suggestion suggestion;
    vy_suggestion_start(&suggestion, name, strlen(name));
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        vy_suggestion_offer(&suggestion, words[i]);
    const char *best = vy_suggestion_get(&suggestion);
    if (best) {
        vy_parse_error(parser, VY_T021, node->at, VY_DIAG_SINK_FIX(parser->report, "did you mean `%s`?", best),
                       "`%s` has no effect", name);
    } else if (node->kind == VY_AST_NAME) {
        vy_ast_stmt *statement = new_statement(parser, VY_AST_STMT_CALL, node->at);
        if (statement)
            statement->a = node;
        return statement;
    } else {
        int compares = node->kind == VY_AST_OP && node->op == VYRE_OP_EQ;
        int is_result = parser->has_results && vy_parse_is(parser, VY_TOKEN_CLOSE_BLOCK);
        const char *fix = compares    ? "write `=` to assign, or remove the comparison"
                          : is_result ? "write `return` before it if it is the result, otherwise remove it"
                                      : NULL;
        vy_parse_error(parser, VY_T021, node->at, fix, "unused value");
    }
    return NULL;
}

/* The hint for a word that starts a statement in another language, if the token after it does not continue an
 * expression: `loop {`, `do {`, `discard`. */
static const char *find_porting_hint(const vy_parser *parser) {
    if (parser->token.kind != VY_TOKEN_NAME || parser->token.word.cls != VY_IDENTIFIER_PLAIN)
        return NULL;
    char next = vy_parse_peek(parser);
    if (next && !strchr("{};:\"/\r\n0123456789", next) && !is_letter(next))
        return NULL;
    return vy_porting_hint_statement(vy_token_text(&parser->lexer, &parser->token), parser->token.at.length);
}

static void report_porting_hint(vy_parser *parser, vy_position at, const char *word, const char *fix) {
    vy_parse_error(parser, VY_T011, at, fix, "`%.*s` is not a statement of this language", (int)at.length, word);
}

static vy_ast_stmt *parse_expression_statement(vy_parser *parser) {
    vy_position at = parser->token.at;
    vy_ast_node *node = vy_parse_expression(parser);
    if (!node || parser->panic)
        return NULL;
    unsigned op = parser->assign[parser->token.kind];
    int assigns = vy_parse_follows(parser, VY_TOKEN_ASSIGN) || (op != VYRE_OP_COUNT && !parser->token.newline);
    if (assigns) {
        vy_ast_stmt *statement = new_statement(parser, VY_AST_STMT_ASSIGN, at);
        if (!statement)
            return NULL;
        if (node->kind != VY_AST_NAME && node->kind != VY_AST_INDEX && node->kind != VY_AST_BAD)
            vy_parse_error(parser, VY_T021, node->at, "assign to a `var` name or to an element `m[i]`",
                           "only a variable or an element can be assigned to");
        statement->op = vy_parse_is(parser, VY_TOKEN_ASSIGN) ? VYRE_OP_COUNT : (uint8_t)op;
        vy_parse_advance(parser);
        statement->target = node;
        statement->a = vy_parse_expression(parser);
        return statement;
    }
    if (node->kind == VY_AST_CALL && vy_parse_follows(parser, VY_TOKEN_OPEN_BLOCK)) { /* `switch (x) {` */
        const char *name = vy_parse_name_text(parser, node->name), *fix = vy_porting_hint_statement(name, strlen(name));
        if (fix) {
            report_porting_hint(parser, node->at, name, fix);
            return NULL;
        }
    }
    if (vy_ast_node_is_effect(node)) {
        vy_ast_stmt *statement = new_statement(parser, VY_AST_STMT_CALL, at);
        if (statement)
            statement->a = node;
        return statement;
    }
    if (node->kind == VY_AST_NAME && !vy_parse_at_end(parser) &&
        (parser->token.kind == VY_TOKEN_NAME || parser->token.kind == VY_TOKEN_NUMBER ||
         parser->token.kind == VY_TOKEN_STRING || parser->token.kind == VY_TOKEN_OPEN_BLOCK))
        return report_two_words(parser, at, node->name);
    return node->kind == VY_AST_BAD ? NULL : report_unused(parser, node);
}

/* ---- control ---- */

static vy_ast_node *parse_condition(vy_parser *parser) {
    vy_ast_node *condition = vy_parse_expression(parser);
    if (!parser->panic && vy_parse_follows(parser, VY_TOKEN_ASSIGN))
        vy_parse_error(parser, VY_T011, parser->token.at, "write `==` to compare", "assignment in a condition");
    return condition;
}

static vy_ast_stmt *parse_if(vy_parser *parser) {
    vy_ast_stmt *statement = consume_keyword(parser, VY_AST_STMT_IF);
    if (!statement)
        return NULL;
    statement->a = parse_condition(parser);
    if (parser->panic)
        return NULL;
    statement->body = vy_parse_block(parser);
    if (parser->panic || !vy_token_is_keyword(&parser->token, VY_KEYWORD_ELSE))
        return statement;
    vy_parse_advance(parser);
    if (!vy_token_is_keyword(&parser->token, VY_KEYWORD_IF) || parser->token.newline) {
        statement->other = vy_parse_block(parser);
        return statement;
    }
    /* `else if` is an else block with one `if`, so it nests one deeper. */
    if (parser->nesting >= VY_LIMIT_NESTING) {
        vy_parse_error(parser, VY_T015, parser->token.at, NULL,
                       "blocks nested too deeply (limit %d, including `else if`)", VY_LIMIT_NESTING);
        return statement;
    }
    parser->nesting++;
    statement->other = parse_if(parser);
    parser->nesting--;
    return statement;
}

#define FOR_FORM "write `for i in 0u32 .. n { … }`, optionally with `step` after the end"

static void report_for(vy_parser *parser, const char *expected) {
    vy_parse_error(parser, VY_T011, parser->token.at, FOR_FORM, "expected %s, found `%.*s`", expected,
                   (int)(parser->token.at.length < 60 ? parser->token.at.length : 60),
                   vy_token_text(&parser->lexer, &parser->token));
}

static vy_ast_stmt *parse_for(vy_parser *parser) {
    vy_ast_stmt *statement = consume_keyword(parser, VY_AST_STMT_FOR);
    if (!statement)
        return NULL;
    statement->names = vy_parse_new(parser, sizeof *statement->names);
    if (!statement->names)
        return NULL;
    statement->names->type = VYRE_TYPE_COUNT;
    if (vy_parse_follows(parser, VY_TOKEN_OPEN)) {
        report_for(parser, "a loop variable after `for`");
        do /* its semicolons do not end the statement */
            vy_parse_advance(parser);
        while (!parser->token.newline && !vy_parse_is(parser, VY_TOKEN_OPEN_BLOCK) &&
               !vy_parse_is(parser, VY_TOKEN_END));
        return NULL;
    }
    vy_parse_name(parser, "the name of the loop variable", &statement->names->name, &statement->names->at);
    if (!parser->panic && vy_token_is_keyword(&parser->token, VY_KEYWORD_IN) && !parser->token.newline)
        vy_parse_advance(parser);
    else if (!parser->panic && !vy_parse_at_end(parser))
        report_for(parser, "`in`");
    else
        vy_parse_expected(parser, "`in`");
    if (!parser->panic)
        statement->a = vy_parse_expression(parser);
    if (!parser->panic && vy_parse_follows(parser, VY_TOKEN_OPEN_BLOCK)) /* `range(n) {` */
        report_for(parser, "`..`");
    else if (!parser->panic && vy_parse_expect(parser, VY_TOKEN_RANGE))
        statement->b = vy_parse_expression(parser);
    if (!parser->panic && vy_parse_is_word(parser, "step") && !parser->token.newline) {
        vy_parse_advance(parser);
        statement->c = vy_parse_expression(parser);
    }
    if (parser->panic)
        return NULL;
    statement->body = vy_parse_block(parser);
    return statement;
}

static vy_ast_stmt *parse_while(vy_parser *parser) {
    vy_ast_stmt *statement = consume_keyword(parser, VY_AST_STMT_WHILE);
    if (!statement)
        return NULL;
    statement->a = parse_condition(parser);
    if (parser->panic)
        return NULL;
    statement->body = vy_parse_block(parser);
    return statement;
}

static vy_ast_stmt *parse_region(vy_parser *parser) {
    vy_ast_stmt *statement = consume_keyword(parser, VY_AST_STMT_REGION);
    if (!statement)
        return NULL;
    statement->text = parse_string(parser, &statement->length);
    if (!parser->panic)
        statement->body = vy_parse_block(parser);
    return statement;
}

static vy_ast_stmt *parse_print(vy_parser *parser) {
    vy_ast_stmt *statement = consume_keyword(parser, VY_AST_STMT_PRINT);
    if (!statement)
        return NULL;
    if (parser->token.kind != VY_TOKEN_STRING && !vy_parse_at_end(parser)) {
        vy_parse_error(parser, VY_T011, parser->token.at, "write the format first: `print \"{}\", x`",
                       "expected a format string after `print`");
        return NULL;
    }
    statement->text = parse_string(parser, &statement->length);
    if (!parser->panic && vy_parse_accept(parser, VY_TOKEN_COMMA))
        statement->a = parse_list(parser, &statement->count);
    return statement;
}

static vy_ast_stmt *parse_return(vy_parser *parser) {
    vy_ast_stmt *statement = consume_keyword(parser, VY_AST_STMT_RETURN);
    if (statement && !vy_parse_at_end(parser))
        statement->a = parse_list(parser, &statement->count);
    return statement;
}

static vy_ast_stmt *parse_trap(vy_parser *parser) {
    vy_ast_stmt *statement = consume_keyword(parser, VY_AST_STMT_TRAP);
    if (statement && vy_parse_at_end(parser))
        vy_parse_expected(parser, "a trap code");
    else if (statement && vy_parse_is(parser, VY_TOKEN_STRING))
        vy_parse_error(parser, VY_T012, parser->token.at, "write a number, as in `trap 1`",
                       "expected a trap code, found a string");
    else if (statement)
        statement->a = vy_parse_expression(parser);
    return statement;
}

/* Whether `report code` follows. `report` is not a reserved word: it starts this statement only if a value follows
 * on its line. `report(code)` is a call, which lowering resolves. */
static int is_report(const vy_parser *parser) {
    if (!vy_parse_is_word(parser, "report"))
        return 0;
    char next = vy_parse_peek(parser);
    return (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') || (next >= '0' && next <= '9') ||
           next == '_' || next == '~';
}

static vy_ast_stmt *parse_report(vy_parser *parser) {
    vy_ast_node *node = vy_parse_node(parser, VY_AST_RECORD_TRAP, parser->token.at);
    uint32_t name = parser->token.name;
    vy_ast_stmt *statement = consume_keyword(parser, VY_AST_STMT_CALL);
    if (!statement || !node)
        return NULL;
    node->name = name;
    node->count = 1;
    node->a = vy_parse_expression(parser);
    vy_parse_update_depth(parser, node, node->a);
    statement->a = node;
    return statement;
}

/* Keywords without operands. */
static vy_ast_stmt *parse_bare_keyword(vy_parser *parser, vy_ast_stmt_kind kind) {
    const char *word = vy_parse_name_text(parser, parser->token.name);
    vy_ast_stmt *statement = consume_keyword(parser, kind);
    if (vy_parse_follows(parser, VY_TOKEN_OPEN))
        vy_parse_error(parser, VY_T011, parser->token.at,
                       VY_DIAG_SINK_FIX(parser->report, "write `%s` without the parentheses", word),
                       "`%s` is a statement, not a call", word);
    return statement;
}

/* ---- any statement ---- */

static vy_ast_stmt *parse_keyword_statement(vy_parser *parser) {
    const vy_token *token = &parser->token;
    switch (token->word.index) {
    case VY_KEYWORD_LET:
        return parse_let(parser, VY_AST_STMT_LET);
    case VY_KEYWORD_VAR:
        return parse_let(parser, VY_AST_STMT_VAR);
    case VY_KEYWORD_IF:
        return parse_if(parser);
    case VY_KEYWORD_FOR:
        return parse_for(parser);
    case VY_KEYWORD_WHILE:
        return parse_while(parser);
    case VY_KEYWORD_REGION:
        return parse_region(parser);
    case VY_KEYWORD_PRINT:
        return parse_print(parser);
    case VY_KEYWORD_RETURN:
        return parse_return(parser);
    case VY_KEYWORD_TRAP:
        return parse_trap(parser);
    case VY_KEYWORD_BREAK:
        return parse_bare_keyword(parser, VY_AST_STMT_BREAK);
    case VY_KEYWORD_CONTINUE:
        return parse_bare_keyword(parser, VY_AST_STMT_CONTINUE);
    case VY_KEYWORD_BARRIER:
        return parse_bare_keyword(parser, VY_AST_STMT_BARRIER);
    case VY_KEYWORD_GRID_BARRIER:
        return parse_bare_keyword(parser, VY_AST_STMT_GRID_BARRIER);
    case VY_KEYWORD_ELSE:
        vy_parse_error(parser, VY_T011, token->at, "move it directly after the `}` of its `if`",
                       "`else` without an `if`");
        return NULL;
    default:
        break;
    }
    if (vy_parse_is_top_level(parser)) {
        vy_parse_misplaced(parser);
        return NULL;
    }
    if (vy_parse_is_decl(parser)) {
        vy_parse_error(parser, VY_T018, token->at, NULL, "`%s` after a statement or inside a block",
                       vy_parse_name_text(parser, token->name));
        return NULL;
    }
    return parse_expression_statement(parser);
}

static vy_ast_stmt *parse_statement(vy_parser *parser) {
    if (vy_parse_is(parser, VY_TOKEN_OPEN_BLOCK)) {
        vy_parse_error(parser, VY_T011, parser->token.at, "write an `if`, `for`, `while` or `region` before it",
                       "block without a statement that opens it");
        parser->panic = 0;
        vy_parse_block(parser);
        return NULL;
    }
    if (parser->token.kind == VY_TOKEN_NAME && parser->token.word.cls == VY_IDENTIFIER_KEYWORD)
        return parse_keyword_statement(parser);
    if (is_report(parser))
        return parse_report(parser);
    const char *foreign = find_porting_hint(parser);
    if (foreign) {
        report_porting_hint(parser, parser->token.at, vy_token_text(&parser->lexer, &parser->token), foreign);
        return NULL;
    }
    const char *type = type_before_name(parser);
    return type ? report_type_first(parser, type) : parse_expression_statement(parser);
}

/* A closing brace ends its statement, like a new line. */
void vy_parse_end_statement(vy_parser *parser) {
    if (vy_parse_is(parser, VY_TOKEN_SEMICOLON))
        vy_parse_advance(parser);
    else if (!vy_parse_at_end(parser) && parser->last_kind != VY_TOKEN_CLOSE_BLOCK) {
        const char *foreign =
            parser->token.kind == VY_TOKEN_NAME
                ? vy_porting_hint_statement(vy_token_text(&parser->lexer, &parser->token), parser->token.at.length)
                : NULL;
        if (vy_token_is_keyword(&parser->token, VY_KEYWORD_IF))
            foreign = "write `condition ? a : b`, or begin a new line for a statement";
        if (vy_parse_is(parser, VY_TOKEN_DOT))
            foreign = parser->last_kind == VY_TOKEN_NUMBER ? "write digits on both sides of the point, as in `1.0f32`"
                                                           : "remove it: values are scalars and have no members";
        vy_parse_error(parser, VY_T011, parser->token.at,
                       foreign ? foreign : "end the statement with a new line or `;`",
                       "expected the end of the statement, found `%.*s`",
                       (int)(parser->token.at.length < 60 ? parser->token.at.length : 60),
                       vy_token_text(&parser->lexer, &parser->token));
    }
}

/* A block ends at its brace. If the brace is missing, it ends at the end of the text, or at a line that starts a
 * file-level declaration and is not indented. */
static int at_block_end(const vy_parser *parser) {
    const vy_token *token = &parser->token;
    int is_top = vy_parse_is_top_level(parser) && token->newline && token->at.column <= parser->margin;
    return token->kind == VY_TOKEN_CLOSE_BLOCK || token->kind == VY_TOKEN_END || is_top;
}

vy_ast_stmt *vy_parse_statements(vy_parser *parser) {
    vy_ast_stmt *first = NULL, **end = &first;
    while (!at_block_end(parser)) {
        if (vy_parse_is(parser, VY_TOKEN_SEMICOLON)) {
            vy_parse_advance(parser);
            continue;
        }
        uint32_t before = parser->token.offset;
        vy_ast_stmt *statement = parse_statement(parser);
        if (statement) {
            *end = statement;
            end = &statement->next;
        }
        if (!parser->panic)
            vy_parse_end_statement(parser);
        if (!parser->panic)
            continue;
        if (parser->token.offset == before)
            vy_parse_advance(parser); /* ensure progress */
        if (!at_block_end(parser) || vy_parse_is(parser, VY_TOKEN_CLOSE_BLOCK))
            vy_parse_recover(parser); /* otherwise the block is unterminated, which has been reported */
    }
    return first;
}

void vy_parse_close_block(vy_parser *parser, vy_position opened) {
    if (vy_parse_is(parser, VY_TOKEN_CLOSE_BLOCK))
        vy_parse_advance(parser);
    else
        vy_parse_error(parser, VY_T017, opened, "add a `}` at the end of the block", "unterminated block");
}

vy_ast_stmt *vy_parse_block(vy_parser *parser) {
    vy_position at = parser->token.at;
    if (!vy_parse_is(parser, VY_TOKEN_OPEN_BLOCK)) {
        if (vy_parse_is(parser, VY_TOKEN_NAME) && !parser->token.newline)
            vy_parse_error(parser, VY_T011, at, "write the statement in braces: `{ … }`", "expected `{`, found `%.*s`",
                           (int)(at.length < 60 ? at.length : 60), vy_token_text(&parser->lexer, &parser->token));
        else
            vy_parse_expected(parser, "`{`");
        return NULL;
    }
    if (parser->nesting >= VY_LIMIT_NESTING) {
        vy_parse_error(parser, VY_T015, at, NULL, "blocks nested too deeply (limit %d)", VY_LIMIT_NESTING);
        return NULL;
    }
    parser->nesting++;
    vy_parse_advance(parser);
    vy_ast_stmt *body = vy_parse_statements(parser);
    parser->nesting--;
    vy_parse_close_block(parser, at);
    return body;
}
