/* Heads and bodies of functions and programs. */
#include "ir/text/parse_expr.h"
#include "ir/text/parser.h"

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

/* `name :`. Without the colon the name is known all the same, so that its uses are not called unknown. */
static vy_ast_decl *new_decl(vy_parser *parser, vy_ast_function *func, const char *what) {
    vy_ast_decl *decl = vy_parse_new_statement(parser, sizeof *decl, parser->token.at);
    if (!decl || !vy_parse_name(parser, what, &decl->name, &decl->at))
        return NULL;
    decl->access = VYRE_ACCESS_READ_WRITE;
    if (vy_parse_expect(parser, VY_TOKEN_COLON))
        return decl;
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

/* ---- items ---- */

static void parse_param(vy_parser *parser, vy_ast_function *func) {
    vy_ast_decl *decl = new_decl(parser, func, "the name of the param");
    if (!decl)
        return;
    decl->type = vy_parse_type(parser);
    add_decl(&func->params, decl);
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
    decl->access = parse_access(parser);
    if (parser->panic || vy_parse_at_end(parser))
        return;
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
    decl->space = vy_parse_is_word(parser, words[0]) ? VY_SPACE_WORKGROUP : VY_SPACE_PRIVATE;
    if (vy_parse_at_end(parser) || (decl->space == VY_SPACE_PRIVATE && !vy_parse_is_word(parser, words[1])))
        vy_parse_one_of(parser, "place of the array", words, 2);
    else
        vy_parse_advance(parser);
}

/* Up to three sizes with commas. */
static uint32_t parse_sizes(vy_parser *parser, vy_ast_node *sizes[3]) {
    uint32_t count = 0;
    do {
        vy_position at = parser->token.at;
        vy_ast_node *size = vy_parse_size(parser);
        if (count == 3)
            vy_parse_error(parser, VY_T037, at, "leave out the fourth size", "there are at most three dimensions");
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

/* Items that stand once. */
static void parse_once(vy_parser *parser, uint8_t *seen, vy_position at, const char *name) {
    if (*seen)
        vy_parse_error(parser, VY_T019, at, NULL, "`%s` stands twice", name);
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
                       "a function declares only private arrays");
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
        func->numerics = parse_choice(parser, "kind of numerics", "strict", "relaxed");
        break;
    }
}

static int starts_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* `level` is no keyword, because people call variables so; as an decl it is followed by another word. */
int vy_parse_is_level(const vy_parser *parser) {
    return vy_parse_is_word(parser, "level") && starts_name(vy_parse_peek(parser));
}

uint8_t vy_parse_level(vy_parser *parser, uint8_t *seen) {
    vy_position at = parser->token.at;
    vy_parse_advance(parser);
    parse_once(parser, seen, at, "level");
    return parse_choice(parser, "level", "source", "legal");
}

/* ---- declarations with a misspelt word ---- */

static const char *const decl_words[] = {"param", "buffer", "array", "workgroup", "grid", "numerics"};
enum { ITEM_WORDS = sizeof decl_words / sizeof *decl_words };

/* Whether `word name :` stands here. */
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

/* A plain word followed by a name or number starts no statement. It is taken for a declaration if its word is nearly one, or if it looks
 * like one: then the declarations go on after it. */
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

static void parse_misspelt_decl(vy_parser *parser, vy_ast_function *func) {
    parser->token.newline = 0; /* the message is about this token, not about a line end before it */
    vy_parse_one_of(parser, "declaration", decl_words, ITEM_WORDS);
    vy_parse_advance(parser);
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
        if (func->is_program && vy_parse_is_level(parser)) {
            func->level = vy_parse_level(parser, &func->has_level);
        } else if (vy_parse_is_decl(parser)) {
            parse_decl(parser, func);
        } else if (is_misspelt_decl(parser)) {
            parse_misspelt_decl(parser, func);
        } else if (vy_parse_is_top_level(parser) && (!parser->token.newline || at.column > parser->margin)) {
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
    if (!vy_parse_is(parser, VY_TOKEN_OPEN_BLOCK)) {
        vy_parse_expected(parser, "`{`");
        return;
    }
    vy_parse_advance(parser);
    parse_decls(parser, func);
    func->body = vy_parse_statements(parser);
    vy_parse_close_block(parser, at);
}

/* ---- units ---- */

static vy_ast_function *new_function(vy_parser *parser, const char *what) {
    vy_ast_function *func = vy_parse_new(parser, sizeof *func);
    if (!func || !vy_parse_name(parser, what, &func->name, &func->at))
        return NULL;
    parser->calls = &func->calls;
    return func;
}

vy_ast_function *vy_parse_program(vy_parser *parser) {
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

/* Skips the rest of a parameter that is wrong, so that those after it are known. */
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

/* After an error in the head the body is read all the same, unless none is in sight. */
static void skip_to_body(vy_parser *parser) {
    parser->brackets = 0;
    while (!vy_parse_is(parser, VY_TOKEN_OPEN_BLOCK) && !vy_parse_is(parser, VY_TOKEN_CLOSE_BLOCK) &&
           !vy_parse_is(parser, VY_TOKEN_END) && !vy_parse_is_top_level(parser))
        vy_parse_advance(parser);
    parser->panic = !vy_parse_is(parser, VY_TOKEN_OPEN_BLOCK);
}

/* A function that stands for an op with a quoted id. */
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

vy_ast_function *vy_parse_function(vy_parser *parser) {
    vy_identifier_info word = parser->token.word;
    const int is_quoted = parser->token.kind == VY_TOKEN_STRING && !parser->token.newline;
    vy_ast_function *func = is_quoted ? new_quoted_function(parser) : new_function(parser, "the name of the function");
    if (!func)
        return NULL;
    if (is_quoted) {
        /* A name of its own: neither members nor a word of the language. */
    } else if (vy_parse_is(parser, VY_TOKEN_DOT)) {
        char id[VY_LIMIT_NAME + 1];
        if (!vy_parse_op_id(parser, func->name, &func->at, id))
            return NULL;
        func->name = vy_parse_add_name(parser, id);
        if (func->name == VY_SYMBOL_INVALID)
            return NULL;
    } else if (word.cls == VY_IDENTIFIER_OP || word.cls == VY_IDENTIFIER_LEN) {
        vy_parse_error(parser, VY_T023, func->at, NULL, "`%s` is an op of the language",
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
