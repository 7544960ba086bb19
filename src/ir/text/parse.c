/* Parser core: errors and recovery, token helpers, declarations, functions, programs and the file. */
#include "base/string.h"
#include "ir/model.h"
#include "ir/porting_hint.h"
#include "ir/text/parser.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- errors ---- */

void vy_parse_error(vy_parser *parser, vy_diag_code code, vy_position at, const char *fix, const char *format, ...) {
    char message[512];
    va_list arguments;
    if (parser->panic)
        return;
    parser->panic = 1;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    vy_diag_sink_error(parser->report, code, at, fix, "%s", message);
}

/* The position of a missing token: that of the next token, or after the last one if the line ends between them. */
static vy_position missing_at(const vy_parser *parser) {
    if (parser->token.kind != VY_TOKEN_END && !parser->token.newline)
        return parser->token.at;
    return (vy_position){parser->last.line, parser->last.column + parser->last.length, 1};
}

int vy_parse_expected(vy_parser *parser, const char *what) {
    const vy_token *token = &parser->token;
    if (token->kind == VY_TOKEN_END)
        vy_parse_error(parser, VY_T011, missing_at(parser), VY_FIX("write %s", what),
                       "expected %s before the end of the file", what);
    else if (token->newline)
        vy_parse_error(parser, VY_T011, missing_at(parser),
                       parser->brackets
                           ? VY_FIX("write %s here", what)
                           : VY_FIX("write %s on this line; a statement ends at the end of its line", what),
                       "expected %s before the end of the line", what);
    else
        vy_parse_error(parser, VY_T011, token->at, VY_FIX("write %s here", what), "expected %s, found `%.*s`", what,
                       (int)(token->at.length < 60 ? token->at.length : 60), vy_token_text(&parser->lexer, token));
    return 0;
}

int vy_parse_one_of(vy_parser *parser, const char *what, const char *const *words, unsigned count) {
    char list[200];
    size_t used = 0;
    vy_suggestion suggestion;
    int is_name = parser->token.kind == VY_TOKEN_NAME;
    const char *given = vy_token_text(&parser->lexer, &parser->token);
    vy_suggestion_start(&suggestion, given, is_name ? parser->token.at.length : 0);
    for (unsigned i = 0; i < count; i++) {
        int added = snprintf(list + used, sizeof list - used, "%s%s",
                             i == 0           ? ""
                             : i + 1 == count ? " or "
                                              : ", ",
                             words[i]);
        used += added > 0 && used + (size_t)added < sizeof list ? (size_t)added : 0;
        vy_suggestion_offer(&suggestion, words[i]);
    }
    const char *best = is_name ? vy_suggestion_get(&suggestion) : NULL;
    const char *fix = best ? VY_FIX("did you mean `%s`?", best) : VY_FIX("write %s", list);
    if (is_name && !vy_parse_at_end(parser))
        vy_parse_error(parser, VY_T020, parser->token.at, fix, "unknown %s `%.*s` (expected %s)", what,
                       (int)parser->token.at.length, given, list);
    else
        vy_parse_error(parser, VY_T020, missing_at(parser), fix, "missing %s (expected %s)", what, list);
    return 0;
}

/* Skips to the closing brace of a block that is too deep to be parsed. */
static void skip_block(vy_parser *parser) {
    unsigned open = 0;
    do {
        open += vy_parse_is(parser, VY_TOKEN_OPEN_BLOCK);
        open -= vy_parse_is(parser, VY_TOKEN_CLOSE_BLOCK);
        vy_parse_advance(parser);
    } while (open && parser->token.kind != VY_TOKEN_END);
}

void vy_parse_recover(vy_parser *parser) {
    parser->brackets = 0;
    parser->panic = 0;
    parser->in_size = 0;
    while (!vy_parse_at_end(parser)) {
        if (!vy_parse_is(parser, VY_TOKEN_OPEN_BLOCK))
            vy_parse_advance(parser);
        else if (parser->nesting < VY_LIMIT_NESTING)
            vy_parse_block(parser);
        else
            skip_block(parser);
        parser->panic = 0;
    }
}

void *vy_parse_new(vy_parser *parser, size_t size) {
    void *memory = vy_arena_allocate(parser->arena, size);
    if (!memory) {
        parser->report->out_of_memory = 1;
        parser->panic = 1;
    }
    return memory;
}

void vy_parse_count(vy_parser *parser, uint32_t *count, uint32_t limit, const char *what, vy_position at) {
    if (++*count <= limit)
        return;
    vy_parse_error(parser, VY_T016, at, NULL, "the file has more than %u %s", (unsigned)limit, what);
    parser->lexer.offset = parser->lexer.size;
    parser->is_over_limit = 1;
}

void *vy_parse_new_statement(vy_parser *parser, size_t size, vy_position at) {
    vy_parse_count(parser, &parser->statements, VY_LIMIT_STATEMENTS, "statements and declarations", at);
    return vy_parse_new(parser, size);
}

/* ---- tokens ---- */

void vy_parse_advance(vy_parser *parser) {
    parser->last = parser->token.at;
    parser->last_kind = parser->token.kind;
    /* Out of memory: the rest of the text is skipped. */
    if (parser->report->out_of_memory)
        parser->lexer.offset = parser->lexer.size;
    size_t errors = parser->report->errors;
    vy_lexer_next(&parser->lexer, &parser->token);
    if (parser->report->errors != errors)
        parser->panic = 1; /* the lexer skipped an invalid token; suppress further errors in this statement */
}

int vy_parse_at_end(const vy_parser *parser) {
    const vy_token *token = &parser->token;
    return (token->newline && !parser->brackets) || token->kind == VY_TOKEN_END || token->kind == VY_TOKEN_SEMICOLON ||
           token->kind == VY_TOKEN_CLOSE_BLOCK;
}

int vy_parse_is(const vy_parser *parser, vy_token_kind kind) {
    return parser->token.kind == kind;
}

int vy_parse_follows(const vy_parser *parser, vy_token_kind kind) {
    return parser->token.kind == kind && (!parser->token.newline || parser->brackets);
}

int vy_parse_accept(vy_parser *parser, vy_token_kind kind) {
    if (!vy_parse_follows(parser, kind))
        return 0;
    vy_parse_advance(parser);
    return 1;
}

int vy_parse_expect(vy_parser *parser, vy_token_kind kind) {
    if (vy_parse_accept(parser, kind))
        return 1;
    char what[16];
    snprintf(what, sizeof what, "`%s`", vy_punctuator_text(kind));
    return vy_parse_expected(parser, what);
}

int vy_parse_is_word(const vy_parser *parser, const char *word) {
    return parser->token.kind == VY_TOKEN_NAME && parser->token.at.length == strlen(word) &&
           memcmp(vy_token_text(&parser->lexer, &parser->token), word, parser->token.at.length) == 0;
}

char vy_parse_peek(const vy_parser *parser) {
    const char *after = vy_token_text(&parser->lexer, &parser->token) + parser->token.at.length;
    while (*after == ' ' || *after == '\t')
        after++;
    return *after;
}

const char *vy_parse_name_text(const vy_parser *parser, uint32_t name) {
    return name < parser->lexer.names.size ? parser->lexer.names.pool + name : "";
}

int vy_parse_name(vy_parser *parser, const char *what, uint32_t *name, vy_position *at) {
    const vy_token *token = &parser->token;
    *name = 0;
    *at = token->at;
    if (token->kind != VY_TOKEN_NAME || (token->newline && !parser->brackets))
        return vy_parse_expected(parser, what);
    *name = token->name;
    if (token->word.cls >= VY_IDENTIFIER_KEYWORD) {
        vy_parse_error(parser, VY_T022, *at, NULL, "expected %s, found the reserved word `%.*s`", what, (int)at->length,
                       vy_token_text(&parser->lexer, token));
        return 0;
    }
    vy_parse_advance(parser);
    return 1;
}

uint8_t vy_parse_type(vy_parser *parser) {
    const vy_token *token = &parser->token;
    if (token->kind != VY_TOKEN_NAME || vy_parse_at_end(parser)) {
        vy_parse_expected(parser, "a type");
        return VY_TYPE_BAD;
    }
    if (token->word.cls != VY_IDENTIFIER_TYPE) {
        vy_suggestion suggestion;
        vy_suggestion_start(&suggestion, vy_token_text(&parser->lexer, token), token->at.length);
        for (unsigned i = 0; i < VYRE_TYPE_COUNT; i++)
            vy_suggestion_offer(&suggestion, vyre_type_name(i));
        const char *best = vy_porting_hint_type(vy_token_text(&parser->lexer, token), token->at.length);
        best = best ? best : vy_suggestion_get(&suggestion);
        vy_parse_error(parser, VY_T027, token->at, best ? VY_FIX("did you mean `%s`?", best) : NULL,
                       "unknown type `%.*s`", (int)token->at.length, vy_token_text(&parser->lexer, token));
        return VY_TYPE_BAD;
    }
    uint8_t type = token->word.index;
    vy_parse_advance(parser);
    return type;
}

/* Names of the lists, for messages and suggestions. */
static const char *const access_words[] = {
#define X(ID, name, load, store, input, output) name,
    VYRE_ACCESS_LIST(X)
#undef X
};

static void add_decl(vy_ast_decl_list *items, vy_ast_decl *decl) {
    if (!items->last)
        items->last = &items->first;
    *items->last = decl;
    items->last = &decl->next;
    items->count++;
}

/* Reports a declaration without `: type`, or one in the order of C, as in `float a`. */
static void report_no_type(vy_parser *parser, const vy_ast_decl *decl) {
    const char *name = vy_parse_name_text(parser, decl->name), *type = vy_porting_hint_type(name, strlen(name));
    const vy_token *token = &parser->token;
    int is_type = token->kind == VY_TOKEN_NAME && token->word.cls == VY_IDENTIFIER_TYPE;
    int has_name = type && token->kind == VY_TOKEN_NAME && !vy_parse_at_end(parser);
    vy_position end = {parser->last.line, parser->last.column + parser->last.length, 1};
    vy_parse_error(parser, VY_T011, has_name ? decl->at : end,
                   has_name ? VY_DIAG_SINK_FIX(parser->report, "write `%.*s : %s`",
                                               (int)(token->at.length < 60 ? token->at.length : 60),
                                               vy_token_text(&parser->lexer, token), type)
                            : VY_DIAG_SINK_FIX(parser->report, "write its type: `%.60s : %s`", name,
                                               is_type ? vyre_type_name(token->word.index) : "f32"),
                   "expected `:` and a type after `%.60s`", name);
}

/* `name :`. The name is declared even if the colon is missing, so that its uses are not reported as unknown. */
static vy_ast_decl *new_decl(vy_parser *parser, vy_ast_function *func, const char *what) {
    vy_ast_decl *decl = vy_parse_new_statement(parser, sizeof *decl, parser->token.at);
    if (!decl || !vy_parse_name(parser, what, &decl->name, &decl->at))
        return NULL;
    decl->access = VYRE_ACCESS_READ_WRITE;
    if (vy_parse_accept(parser, VY_TOKEN_COLON))
        return decl;
    report_no_type(parser, decl);
    add_decl(&func->broken, decl);
    return NULL;
}

static uint8_t parse_access(vy_parser *parser) {
    for (unsigned i = 0; i < VYRE_ACCESS_COUNT; i++)
        if (vy_parse_is_word(parser, access_words[i]) && !vy_parse_at_end(parser)) {
            vy_parse_advance(parser);
            return (uint8_t)i;
        }
    vy_parse_one_of(parser, "access", access_words, VYRE_ACCESS_COUNT);
    return VYRE_ACCESS_READ_WRITE;
}

/* ---- declarations ---- */

static void parse_param(vy_parser *parser, vy_ast_function *func) {
    vy_ast_decl *decl = new_decl(parser, func, "the name of the param");
    if (!decl)
        return;
    decl->type = vy_parse_type(parser);
    add_decl(&func->params, decl);
}

/* Reports `[64]` in the declaration of a buffer, whose size is written after `count`. The access may follow it. */
static void report_bracketed_count(vy_parser *parser, int has_access) {
    const char *size = vy_token_text(&parser->lexer, &parser->token) + 1, *access = has_access ? "" : "read_write";
    size_t length = strcspn(size, "]\r\n");
    const int is_short = size[length] == ']' && length && length < 60;
    const char *after = size + length + (size[length] == ']');
    after += strspn(after, " \t");
    for (unsigned i = 0; i < VYRE_ACCESS_COUNT && !has_access; i++)
        if (strncmp(after, access_words[i], strcspn(after, " \t\r\n;}")) == 0)
            access = access_words[i];
    vy_parse_error(
        parser, VY_T011, parser->token.at,
        VY_FIX("write `%s%scount %.*s`", access, *access ? " " : "", is_short ? (int)length : 1, is_short ? size : "n"),
        "the size of a buffer follows `count`, after the access");
}

static void parse_buffer(vy_parser *parser, vy_ast_function *func) {
    vy_ast_decl *decl = new_decl(parser, func, "the name of the buffer");
    if (!decl)
        return;
    decl->is_memory = 1;
    decl->space = VY_SPACE_BUFFER;
    decl->type = vy_parse_type(parser);
    add_decl(&func->buffers, decl);
    if (parser->panic)
        return;
    if (vy_parse_follows(parser, VY_TOKEN_OPEN_INDEX)) {
        report_bracketed_count(parser, 0);
        return;
    }
    decl->access = parse_access(parser);
    if (parser->panic || vy_parse_at_end(parser))
        return;
    if (vy_parse_follows(parser, VY_TOKEN_OPEN_INDEX)) {
        report_bracketed_count(parser, 1);
        return;
    }
    if (!vy_parse_is_word(parser, "count")) {
        vy_parse_expected(parser, "`count` or the end of the line");
        return;
    }
    vy_parse_advance(parser);
    decl->size = vy_parse_size(parser);
}

static void parse_array(vy_parser *parser, vy_ast_function *func) {
    static const char *const words[] = {"workgroup", "private"};
    vy_ast_decl *decl = new_decl(parser, func, "the name of the array");
    if (!decl)
        return;
    decl->is_memory = 1;
    decl->type = vy_parse_type(parser);
    add_decl(&func->arrays, decl);
    if (parser->panic || !vy_parse_expect(parser, VY_TOKEN_OPEN_INDEX))
        return;
    parser->brackets++;
    decl->size = vy_parse_size(parser);
    vy_parse_expect(parser, VY_TOKEN_CLOSE_INDEX);
    parser->brackets -= parser->brackets > 0;
    if (parser->panic)
        return;
    if (vy_parse_follows(parser, VY_TOKEN_ASSIGN)) {
        vy_parse_error(parser, VY_T020, parser->token.at,
                       VY_FIX("write `const %s : %s [] = […]`", vy_parse_name_text(parser, decl->name),
                              vyre_type_name(decl->type)),
                       "elements of an array that is not constant");
        return;
    }
    decl->space = vy_parse_is_word(parser, words[0]) ? VY_SPACE_WORKGROUP : VY_SPACE_PRIVATE;
    if (vy_parse_at_end(parser) || (decl->space == VY_SPACE_PRIVATE && !vy_parse_is_word(parser, words[1])))
        vy_parse_one_of(parser, "array space", words, 2);
    else
        vy_parse_advance(parser);
}

/* ---- consts ---- */

/* `[a, b, …]`, with or without a comma after the last element, on any number of lines. */
static void parse_elements(vy_parser *parser, vy_ast_const *made) {
    vy_ast_node **last = &made->value;
    vy_parse_advance(parser);
    parser->brackets++;
    while (!parser->panic && !vy_parse_is(parser, VY_TOKEN_CLOSE_INDEX)) {
        vy_ast_node *element = vy_parse_expression(parser);
        if (!element)
            return;
        *last = element;
        last = &element->next;
        made->count++;
        if (!parser->panic && !vy_parse_is(parser, VY_TOKEN_CLOSE_INDEX) && !vy_parse_accept(parser, VY_TOKEN_COMMA))
            vy_parse_expected(parser, "`,` or `]`");
    }
    if (!parser->panic)
        vy_parse_advance(parser);
    parser->brackets -= parser->brackets > 0;
}

/* The value after `=`. A scalar type with a list of elements lacks the brackets of an array. */
static void parse_const_value(vy_parser *parser, vy_ast_const *made) {
    if (!vy_parse_follows(parser, VY_TOKEN_OPEN_INDEX)) {
        if (made->is_array && vy_parse_follows(parser, VY_TOKEN_OPEN_BLOCK)) {
            vy_parse_error(parser, VY_T011, parser->token.at, "write `[…]` instead of `{…}`",
                           "the elements of a constant array are in brackets");
            skip_block(parser);
        } else if (made->is_array) {
            vy_parse_expected(parser, "`[` and the elements");
        } else
            made->value = vy_parse_expression(parser);
        return;
    }
    vy_position at = parser->token.at;
    int is_scalar = !made->is_array && made->type < VYRE_TYPE_COUNT;
    made->is_array = 1;
    parse_elements(parser, made);
    if (is_scalar)
        vy_parse_error(parser, VY_T056, at,
                       VY_FIX("write `const %s : %s [] = […]`", vy_parse_name_text(parser, made->name),
                              vyre_type_name(made->type)),
                       "a list of elements for const `%s`, which is declared as one value",
                       vy_parse_name_text(parser, made->name));
}

/* `const name [: type [ [count] ]] = value`. NULL if it has no name. */
static vy_ast_const *parse_any_const(vy_parser *parser) {
    vy_ast_const *made = vy_parse_new_statement(parser, sizeof *made, parser->token.at);
    vy_parse_advance(parser);
    if (!made || !vy_parse_name(parser, "the name of the const", &made->name, &made->at))
        return NULL;
    made->type = VYRE_TYPE_COUNT;
    if (vy_parse_accept(parser, VY_TOKEN_COLON)) {
        made->type = vy_parse_type(parser);
        if (!parser->panic && vy_parse_follows(parser, VY_TOKEN_OPEN_INDEX)) {
            made->is_array = 1;
            vy_parse_advance(parser);
            parser->brackets++;
            if (!vy_parse_is(parser, VY_TOKEN_CLOSE_INDEX))
                made->size = vy_parse_size(parser);
            vy_parse_expect(parser, VY_TOKEN_CLOSE_INDEX);
            parser->brackets -= parser->brackets > 0;
        }
    }
    if (made->type == VYRE_TYPE_COUNT && vy_parse_follows(parser, VY_TOKEN_OPEN_INDEX)) {
        made->is_array = 1;
        vy_parse_error(parser, VY_T011, parser->token.at,
                       VY_FIX("write `const %s : u32 [] = […]`, with the type of the elements",
                              vy_parse_name_text(parser, made->name)),
                       "the number of elements follows the type of a constant array");
    } else if (vy_parse_expect(parser, VY_TOKEN_ASSIGN)) {
        parse_const_value(parser, made);
    }
    made->is_broken = parser->panic;
    return made;
}

/* A constant array of a function or program. A scalar const is declared at file level. */
static void parse_local_const(vy_parser *parser, vy_ast_function *func) {
    vy_position at = parser->token.at;
    vy_ast_const *made = parse_any_const(parser);
    if (!made)
        return;
    if (!made->is_array) {
        int panics = parser->panic;
        parser->panic = 0;
        vy_parse_error(parser, VY_T018, at, "move the `const` out of this body, to file level",
                       "`const` inside the body of a function or program");
        parser->panic |= panics;
        *parser->last_const = made;
        parser->last_const = &made->next;
        return;
    }
    vy_ast_decl *decl = vy_parse_new(parser, sizeof *decl);
    if (!decl)
        return;
    *decl = (vy_ast_decl){.name = made->name,
                          .at = made->at,
                          .is_memory = 1,
                          .space = VY_SPACE_CONSTANT,
                          .type = made->type,
                          .access = VYRE_ACCESS_READ,
                          .constant = made};
    add_decl(&func->arrays, decl);
}

/* Up to three sizes with commas. */
static uint32_t parse_sizes(vy_parser *parser, vy_ast_node *sizes[3]) {
    uint32_t count = 0;
    do {
        vy_position at = parser->token.at;
        vy_ast_node *size = vy_parse_size(parser);
        if (count == 3)
            vy_parse_error(parser, VY_T037, at, "remove the fourth size", "more than three dimensions");
        if (count < 3)
            sizes[count++] = size;
    } while (!parser->panic && vy_parse_accept(parser, VY_TOKEN_COMMA));
    return count;
}

/* One of two words as 0 or 1. */
static uint8_t parse_choice(vy_parser *parser, const char *what, const char *zero, const char *one) {
    const char *const words[] = {zero, one};
    uint8_t choice = (uint8_t)vy_parse_is_word(parser, one);
    if (vy_parse_at_end(parser) || (!choice && !vy_parse_is_word(parser, zero)))
        vy_parse_one_of(parser, what, words, 2);
    else
        vy_parse_advance(parser);
    return choice;
}

static void parse_grid(vy_parser *parser, vy_ast_function *func) {
    if (vy_parse_is_word(parser, "over")) {
        vy_parse_advance(parser);
        func->grid_kind = VYRE_GRID_OVER;
        vy_parse_name(parser, "the name of a buffer", &func->grid_name, &func->grid_name_at);
        return;
    }
    if (vy_parse_is_word(parser, "indirect")) {
        vy_parse_advance(parser);
        func->grid_kind = VYRE_GRID_INDIRECT;
        if (!vy_parse_name(parser, "the name of a buffer", &func->grid_name, &func->grid_name_at) ||
            !vy_parse_accept(parser, VY_TOKEN_OPEN_INDEX))
            return;
        parser->brackets++;
        func->grid[0] = vy_parse_size(parser);
        func->grid_count = 1;
        vy_parse_expect(parser, VY_TOKEN_CLOSE_INDEX);
        parser->brackets -= parser->brackets > 0;
        return;
    }
    func->grid_kind = VYRE_GRID_GROUPS;
    if (vy_parse_is_word(parser, "elements")) {
        vy_parse_advance(parser);
        func->grid_kind = VYRE_GRID_ELEMENTS;
    }
    func->grid_count = parse_sizes(parser, func->grid);
}

/* Reports a declaration that can appear only once and was seen before. */
static void parse_once(vy_parser *parser, uint8_t *seen, vy_position at, const char *name) {
    if (*seen)
        vy_parse_error(parser, VY_T019, at, NULL, "duplicate `%s`", name);
    *seen = 1;
}

int vy_parse_is_decl(const vy_parser *parser) {
    if (parser->token.kind != VY_TOKEN_NAME || parser->token.word.cls != VY_IDENTIFIER_KEYWORD)
        return 0;
    switch (parser->token.word.index) {
    case VY_KEYWORD_NUMERICS:
    case VY_KEYWORD_PARAM:
    case VY_KEYWORD_BUFFER:
    case VY_KEYWORD_WORKGROUP:
    case VY_KEYWORD_GRID:
    case VY_KEYWORD_ARRAY:
        return 1;
    default:
        return 0;
    }
}

static void parse_decl(vy_parser *parser, vy_ast_function *func) {
    vy_position at = parser->token.at;
    unsigned keyword = parser->token.word.index;
    vy_parse_advance(parser);
    if (!func->is_program && keyword != VY_KEYWORD_ARRAY) {
        vy_parse_error(parser, VY_T018, at, "declare it in the program and pass it to the function as a parameter",
                       "a function can declare private and constant arrays only");
        return;
    }
    switch (keyword) {
    case VY_KEYWORD_PARAM:
        parse_param(parser, func);
        break;
    case VY_KEYWORD_BUFFER:
        parse_buffer(parser, func);
        break;
    case VY_KEYWORD_ARRAY:
        parse_array(parser, func);
        break;
    case VY_KEYWORD_WORKGROUP:
        parse_once(parser, &func->has_workgroup, at, "workgroup");
        func->workgroup_at = at;
        func->workgroup_count = parse_sizes(parser, func->workgroup);
        break;
    case VY_KEYWORD_GRID:
        parse_once(parser, &func->has_grid, at, "grid");
        parse_grid(parser, func);
        break;
    default:
        parse_once(parser, &func->has_numerics, at, "numerics");
        func->numerics = parse_choice(parser, "numerics", "strict", "relaxed");
        break;
    }
}

static int starts_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* `level` is not a keyword, because it is a common variable name; the declaration is followed by another word. */
static int is_level(const vy_parser *parser) {
    return vy_parse_is_word(parser, "level") && starts_name(vy_parse_peek(parser));
}

static uint8_t parse_level(vy_parser *parser, uint8_t *seen) {
    vy_position at = parser->token.at;
    vy_parse_advance(parser);
    parse_once(parser, seen, at, "level");
    return parse_choice(parser, "level", "source", "legal");
}

/* ---- declarations with a misspelt word ---- */

static const char *const decl_words[] = {"param", "buffer", "array", "workgroup", "grid", "numerics"};
enum { ITEM_WORDS = sizeof decl_words / sizeof *decl_words };

/* Whether `word name :` follows. */
static int has_decl_shape(const vy_parser *parser) {
    const char *at = vy_token_text(&parser->lexer, &parser->token) + parser->token.at.length;
    while (*at == ' ' || *at == '\t')
        at++;
    if (!starts_name(*at))
        return 0;
    while (starts_name(*at) || (*at >= '0' && *at <= '9'))
        at++;
    while (*at == ' ' || *at == '\t')
        at++;
    return *at == ':';
}

/* A plain word followed by a name or number does not start a statement. It is treated as a misspelt declaration if
 * the word is similar to one, or if the shape matches; parsing of declarations then continues after it. */
static int is_misspelt_decl(const vy_parser *parser) {
    char next = vy_parse_peek(parser);
    vy_suggestion suggestion;
    if (parser->token.kind != VY_TOKEN_NAME || parser->token.word.cls >= VY_IDENTIFIER_KEYWORD ||
        !(starts_name(next) || (next >= '0' && next <= '9')))
        return 0;
    vy_suggestion_start(&suggestion, vy_token_text(&parser->lexer, &parser->token), parser->token.at.length);
    for (unsigned i = 0; i < ITEM_WORDS; i++)
        vy_suggestion_offer(&suggestion, decl_words[i]);
    return vy_suggestion_get(&suggestion) || has_decl_shape(parser);
}

/* Reports the current token, and skips it. */
static void report_unknown_declaration(vy_parser *parser, const char *const *words, unsigned count) {
    const char *given = vy_token_text(&parser->lexer, &parser->token);
    size_t length = parser->token.kind == VY_TOKEN_NAME ? parser->token.at.length : 0;
    const char *fix = vy_porting_hint_statement(given, length);
    parser->token.newline = 0; /* the message concerns this token, not the line end before it */
    if (fix)
        vy_parse_error(parser, VY_T020, parser->token.at, fix, "`%.*s` is not a declaration of this language",
                       (int)length, given);
    else
        vy_parse_one_of(parser, "declaration", words, count);
    vy_parse_advance(parser);
}

static void parse_misspelt_decl(vy_parser *parser, vy_ast_function *func) {
    report_unknown_declaration(parser, decl_words, ITEM_WORDS);
    vy_ast_decl *decl =
        vy_parse_is(parser, VY_TOKEN_NAME) ? vy_parse_new_statement(parser, sizeof *decl, parser->token.at) : NULL;
    if (decl && vy_parse_name(parser, "a name", &decl->name, &decl->at))
        add_decl(&func->broken, decl);
}

/* Declarations at the start of a body. */
static void parse_decls(vy_parser *parser, vy_ast_function *func) {
    for (;;) {
        vy_position at = parser->token.at;
        if (vy_parse_is(parser, VY_TOKEN_SEMICOLON)) {
            vy_parse_advance(parser);
            continue;
        }
        if (func->is_program && is_level(parser)) {
            func->level = parse_level(parser, &func->has_level);
        } else if (vy_parse_is_decl(parser)) {
            parse_decl(parser, func);
        } else if (is_misspelt_decl(parser)) {
            parse_misspelt_decl(parser, func);
        } else if (vy_parse_is_top_level(parser) && (!parser->token.newline || at.column > parser->margin)) {
            if (vy_token_is_keyword(&parser->token, VY_KEYWORD_CONST))
                parse_local_const(parser, func);
            else
                vy_parse_misplaced(parser);
        } else {
            return;
        }
        if (!parser->panic)
            vy_parse_end_statement(parser);
        if (parser->panic)
            vy_parse_recover(parser);
    }
}

static void parse_body(vy_parser *parser, vy_ast_function *func) {
    vy_position at = parser->token.at;
    if (func->is_program && vy_parse_is(parser, VY_TOKEN_OPEN)) {
        vy_parse_error(parser, VY_T011, at,
                       "declare each in the body of the program, as in `param a : f32` or `buffer x : f32 read`",
                       "a program has no list of parameters");
        return;
    }
    if (!vy_parse_is(parser, VY_TOKEN_OPEN_BLOCK)) {
        vy_parse_expected(parser, "`{`");
        return;
    }
    vy_parse_advance(parser);
    parse_decls(parser, func);
    parser->has_results = func->result_count != 0;
    func->body = vy_parse_statements(parser);
    vy_parse_close_block(parser, at);
}

/* ---- functions and programs ---- */

static vy_ast_function *new_function(vy_parser *parser, const char *what) {
    vy_ast_function *func = vy_parse_new(parser, sizeof *func);
    if (!func || !vy_parse_name(parser, what, &func->name, &func->at))
        return NULL;
    parser->calls = &func->calls;
    return func;
}

static vy_ast_function *parse_program(vy_parser *parser) {
    vy_ast_function *func = new_function(parser, "the name of the program");
    if (!func)
        return NULL;
    func->is_program = 1;
    parse_body(parser, func);
    return func;
}

/* `a: u32`, `t: workgroup [u32]`, `p: private [f32]`, `b: buffer [f32] read`. */
static void parse_parameter(vy_parser *parser, vy_ast_function *func) {
    vy_ast_decl *decl = new_decl(parser, func, "the name of a parameter");
    if (!decl)
        return;
    add_decl(&func->params, decl);
    if (vy_parse_is_word(parser, "workgroup"))
        decl->space = VY_SPACE_WORKGROUP;
    else if (vy_parse_is_word(parser, "private"))
        decl->space = VY_SPACE_PRIVATE;
    else if (vy_parse_is_word(parser, "buffer"))
        decl->space = VY_SPACE_BUFFER;
    else {
        decl->type = vy_parse_type(parser);
        return;
    }
    decl->is_memory = 1;
    vy_parse_advance(parser);
    vy_parse_expect(parser, VY_TOKEN_OPEN_INDEX);
    decl->type = parser->panic ? VY_TYPE_BAD : vy_parse_type(parser);
    vy_parse_expect(parser, VY_TOKEN_CLOSE_INDEX);
    if (decl->space == VY_SPACE_BUFFER && !parser->panic)
        decl->access = parse_access(parser);
}

static void parse_results(vy_parser *parser, vy_ast_function *func) {
    vy_ast_declarator **end = &func->results;
    int grouped = vy_parse_accept(parser, VY_TOKEN_OPEN);
    parser->brackets += (unsigned)grouped;
    do {
        vy_ast_declarator *result = vy_parse_new_statement(parser, sizeof *result, parser->token.at);
        if (!result)
            return;
        result->at = parser->token.at;
        if (grouped && (!vy_parse_name(parser, "the name of a result", &result->name, &result->at) ||
                        !vy_parse_expect(parser, VY_TOKEN_COLON)))
            return;
        result->type = vy_parse_type(parser);
        *end = result;
        end = &result->next;
        func->result_count++;
    } while (grouped && !parser->panic && vy_parse_accept(parser, VY_TOKEN_COMMA));
    if (grouped)
        vy_parse_expect(parser, VY_TOKEN_CLOSE);
    parser->brackets -= (unsigned)(grouped && parser->brackets);
}

/* Skips the rest of an invalid parameter, so that the following ones are still declared. */
static void skip_parameter(vy_parser *parser) {
    while (!vy_parse_is(parser, VY_TOKEN_COMMA) && !vy_parse_is(parser, VY_TOKEN_CLOSE) &&
           !vy_parse_is(parser, VY_TOKEN_OPEN_BLOCK) && !vy_parse_is(parser, VY_TOKEN_CLOSE_BLOCK) &&
           !vy_parse_is(parser, VY_TOKEN_ARROW) && !vy_parse_is(parser, VY_TOKEN_END))
        vy_parse_advance(parser);
    parser->panic = vy_parse_is(parser, VY_TOKEN_END);
}

/* The parameters and results. */
static void parse_head(vy_parser *parser, vy_ast_function *func) {
    vy_parse_expect(parser, VY_TOKEN_OPEN);
    parser->brackets++;
    while (!parser->panic && !vy_parse_is(parser, VY_TOKEN_CLOSE)) {
        parse_parameter(parser, func);
        if (parser->panic)
            skip_parameter(parser);
        if (!vy_parse_accept(parser, VY_TOKEN_COMMA))
            break;
    }
    vy_parse_expect(parser, VY_TOKEN_CLOSE);
    parser->brackets -= parser->brackets > 0;
    if (!parser->panic && vy_parse_accept(parser, VY_TOKEN_ARROW))
        parse_results(parser, func);
}

/* After an error in the head, skips to the body, if one follows. */
static void skip_to_body(vy_parser *parser) {
    parser->brackets = 0;
    while (!vy_parse_is(parser, VY_TOKEN_OPEN_BLOCK) && !vy_parse_is(parser, VY_TOKEN_CLOSE_BLOCK) &&
           !vy_parse_is(parser, VY_TOKEN_END) && !vy_parse_is_top_level(parser))
        vy_parse_advance(parser);
    parser->panic = !vy_parse_is(parser, VY_TOKEN_OPEN_BLOCK);
}

/* A function that implements an op with a quoted id. */
static vy_ast_function *new_quoted_function(vy_parser *parser) {
    char id[VY_LIMIT_NAME + 1];
    vy_ast_function *func = vy_parse_new(parser, sizeof *func);
    if (!func)
        return NULL;
    func->at = parser->token.at;
    if (!vy_parse_quoted_id(parser, id))
        return NULL;
    func->name = vy_parse_add_name(parser, id);
    parser->calls = &func->calls;
    return func->name == VY_SYMBOL_INVALID ? NULL : func;
}

static vy_ast_function *parse_function(vy_parser *parser) {
    vy_identifier_info word = parser->token.word;
    const int is_quoted = parser->token.kind == VY_TOKEN_STRING && !parser->token.newline;
    vy_ast_function *func = is_quoted ? new_quoted_function(parser) : new_function(parser, "the name of the function");
    if (!func)
        return NULL;
    if (is_quoted) {
        /* The quoted id is the complete name. */
    } else if (vy_parse_is(parser, VY_TOKEN_DOT)) {
        char id[VY_LIMIT_NAME + 1];
        if (!vy_parse_op_id(parser, func->name, &func->at, id))
            return NULL;
        func->name = vy_parse_add_name(parser, id);
        if (func->name == VY_SYMBOL_INVALID)
            return NULL;
    } else if (word.cls == VY_IDENTIFIER_OP || word.cls == VY_IDENTIFIER_LEN) {
        vy_parse_error(parser, VY_T023, func->at, NULL,
                       "a function cannot be named `%s`, which is an op of the language",
                       vy_parse_name_text(parser, func->name));
        parser->panic = 0;
    }
    size_t errors = parser->report->errors;
    parse_head(parser, func);
    func->is_broken = parser->report->errors != errors;
    if (func->is_broken)
        skip_to_body(parser);
    if (!parser->panic)
        parse_body(parser, func);
    return func;
}

/* ---- the file ---- */

/* Declared even if its value is invalid, so that its uses are not reported as unknown. */
static void parse_const(vy_parser *parser) {
    vy_ast_const *made = parse_any_const(parser);
    if (!made)
        return;
    *parser->last_const = made;
    parser->last_const = &made->next;
}

static void parse_function_or_program(vy_parser *parser, int is_program) {
    size_t errors = parser->report->errors;
    if (is_program)
        vy_parse_count(parser, &parser->programs, VY_LIMIT_PROGRAMS, "programs", parser->token.at);
    else
        vy_parse_count(parser, &parser->functions, VY_LIMIT_FUNCTIONS, "functions", parser->token.at);
    parser->margin = parser->token.at.column;
    vy_parse_advance(parser);
    vy_ast_function *func = is_program ? parse_program(parser) : parse_function(parser);
    parser->calls = NULL;
    if (!func)
        return;
    vy_ast_function ***end = is_program ? &parser->last_program : &parser->last_function;
    func->is_bad = parser->report->errors != errors;
    **end = func;
    *end = &func->next;
}

int vy_parse_is_top_level(const vy_parser *parser) {
    const vy_token *token = &parser->token;
    return vy_token_is_keyword(token, VY_KEYWORD_PROGRAM) || vy_token_is_keyword(token, VY_KEYWORD_FN) ||
           vy_token_is_keyword(token, VY_KEYWORD_CONST);
}

void vy_parse_misplaced(vy_parser *parser) {
    vy_ast_callee **calls = parser->calls;
    uint32_t margin = parser->margin;
    int has_results = parser->has_results;
    const char *word = vy_parse_name_text(parser, parser->token.name);
    vy_parse_error(parser, VY_T018, parser->token.at, VY_FIX("move the `%s` out of this body, to file level", word),
                   "`%s` inside the body of a function or program", word);
    if (parser->nesting >= VY_LIMIT_NESTING) {
        vy_parse_advance(parser); /* recovery skips the rest */
        return;
    }
    parser->panic = 0;
    parser->nesting++;
    if (vy_token_is_keyword(&parser->token, VY_KEYWORD_CONST))
        parse_const(parser);
    else
        parse_function_or_program(parser, vy_token_is_keyword(&parser->token, VY_KEYWORD_PROGRAM));
    parser->nesting--;
    parser->calls = calls;
    parser->margin = margin;
    parser->has_results = has_results;
}

static void parse_top(vy_parser *parser) {
    static const char *const words[] = {"program", "fn", "const"};
    if (vy_token_is_keyword(&parser->token, VY_KEYWORD_CONST)) {
        parse_const(parser);
    } else if (vy_token_is_keyword(&parser->token, VY_KEYWORD_FN)) {
        parse_function_or_program(parser, 0);
    } else if (vy_token_is_keyword(&parser->token, VY_KEYWORD_PROGRAM)) {
        parse_function_or_program(parser, 1);
    } else if (is_level(parser)) {
        parser->file.level = parse_level(parser, &parser->file.has_level);
    } else if (vy_parse_is(parser, VY_TOKEN_CLOSE_BLOCK)) {
        vy_parse_error(parser, VY_T017, parser->token.at, "remove it, or open a block above", "unmatched `}`");
        vy_parse_advance(parser);
    } else {
        report_unknown_declaration(parser, words, 3);
    }
}

static void fill_operators(vy_parser *parser) {
    memset(parser->infix, VYRE_OP_COUNT, sizeof parser->infix);
    memset(parser->assign, VYRE_OP_COUNT, sizeof parser->assign);
    for (unsigned op = 0; op < VYRE_OP_COUNT; op++) {
        const vyre_op_info *row = vyre_op_get(op);
        char assign[8];
        unsigned length;
        if (!row->symbol || row->arity != 2)
            continue;
        size_t size = strlen(row->symbol);
        parser->infix[vy_punctuator_find(row->symbol, &length)] = (uint8_t)op;
        /* `<=` is a comparison, not an assignment with `<`: only symbols from PLUS_ASSIGN on are assignments. */
        memcpy(assign, row->symbol, size);
        memcpy(assign + size, "=", sizeof "=");
        vy_token_kind kind = vy_punctuator_find(assign, &length);
        if (length == size + 1 && kind >= VY_TOKEN_PLUS_ASSIGN)
            parser->assign[kind] = (uint8_t)op;
    }
}

void vy_parser_run(vy_parser *parser, const char *text, uint32_t size, vy_arena *arena, vy_diag_sink *report) {
    memset(parser, 0, sizeof *parser);
    parser->report = report;
    parser->arena = arena;
    parser->last_const = &parser->file.consts;
    parser->last_function = &parser->file.functions;
    parser->last_program = &parser->file.programs;
    fill_operators(parser);
    vy_lexer_start(&parser->lexer, text, size, report);
    vy_parse_advance(parser);
    while (parser->token.kind != VY_TOKEN_END) {
        if (vy_parse_is(parser, VY_TOKEN_SEMICOLON)) {
            vy_parse_advance(parser);
            continue;
        }
        parse_top(parser);
        if (!parser->panic)
            vy_parse_end_statement(parser);
        if (parser->panic)
            vy_parse_recover(parser);
    }
}

void vy_parser_free(vy_parser *parser) {
    vy_lexer_free(&parser->lexer);
}
