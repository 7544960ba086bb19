/* Heads and bodies of functions and programs. */
#include "ir/text/parse_expr.h"
#include "ir/text/parser.h"

/* Names of the lists, for messages and suggestions. */
static const char *const access_words[] = {
#define X(ID, name, load, store, input, output) name,
    VYRE_ACCESS_LIST(X)
#undef X
};

static void add_item(vy_items *items, vy_item *item) {
    if (!items->last)
        items->last = &items->first;
    *items->last = item;
    items->last = &item->next;
    items->count++;
}

/* `name :`. Without the colon the name is known all the same, so that its uses are not called unknown. */
static vy_item *new_item(vy_parser *parser, vy_unit *unit, const char *what) {
    vy_item *item = vy_parse_new_statement(parser, sizeof *item, parser->token.at);
    if (!item || !vy_parse_name(parser, what, &item->name, &item->at))
        return NULL;
    item->access = VYRE_ACCESS_READ_WRITE;
    if (vy_parse_expect(parser, VY_TOKEN_COLON))
        return item;
    add_item(&unit->broken, item);
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

static void parse_param(vy_parser *parser, vy_unit *unit) {
    vy_item *item = new_item(parser, unit, "the name of the param");
    if (!item)
        return;
    item->type = vy_parse_type(parser);
    add_item(&unit->params, item);
}

static void parse_buffer(vy_parser *parser, vy_unit *unit) {
    vy_item *item = new_item(parser, unit, "the name of the buffer");
    if (!item)
        return;
    item->is_memory = 1;
    item->space = VY_SPACE_BUFFER;
    item->type = vy_parse_type(parser);
    add_item(&unit->buffers, item);
    if (parser->panic)
        return;
    item->access = parse_access(parser);
    if (parser->panic || vy_parse_at_end(parser))
        return;
    if (!vy_parse_is_word(parser, "count")) {
        vy_parse_expected(parser, "`count` or the end of the line");
        return;
    }
    vy_parse_advance(parser);
    item->size = vy_parse_size(parser);
}

static void parse_array(vy_parser *parser, vy_unit *unit) {
    static const char *const words[] = {"workgroup", "private"};
    vy_item *item = new_item(parser, unit, "the name of the array");
    if (!item)
        return;
    item->is_memory = 1;
    item->type = vy_parse_type(parser);
    add_item(&unit->arrays, item);
    if (parser->panic || !vy_parse_expect(parser, VY_TOKEN_OPEN_INDEX))
        return;
    parser->brackets++;
    item->size = vy_parse_size(parser);
    vy_parse_expect(parser, VY_TOKEN_CLOSE_INDEX);
    parser->brackets -= parser->brackets > 0;
    if (parser->panic)
        return;
    item->space = vy_parse_is_word(parser, words[0]) ? VY_SPACE_WORKGROUP : VY_SPACE_PRIVATE;
    if (vy_parse_at_end(parser) || (item->space == VY_SPACE_PRIVATE && !vy_parse_is_word(parser, words[1])))
        vy_parse_one_of(parser, "place of the array", words, 2);
    else
        vy_parse_advance(parser);
}

/* Up to three sizes with commas. */
static uint32_t parse_sizes(vy_parser *parser, vy_node *sizes[3]) {
    uint32_t count = 0;
    do {
        vy_position at = parser->token.at;
        vy_node *size = vy_parse_size(parser);
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

static void parse_grid(vy_parser *parser, vy_unit *unit) {
    if (vy_parse_is_word(parser, "over")) {
        vy_parse_advance(parser);
        unit->grid_kind = VYRE_GRID_OVER;
        vy_parse_name(parser, "the name of a buffer", &unit->grid_name, &unit->grid_name_at);
        return;
    }
    if (vy_parse_is_word(parser, "indirect")) {
        vy_parse_advance(parser);
        unit->grid_kind = VYRE_GRID_INDIRECT;
        if (!vy_parse_name(parser, "the name of a buffer", &unit->grid_name, &unit->grid_name_at) ||
            !vy_parse_accept(parser, VY_TOKEN_OPEN_INDEX))
            return;
        parser->brackets++;
        unit->grid[0] = vy_parse_size(parser);
        unit->grid_count = 1;
        vy_parse_expect(parser, VY_TOKEN_CLOSE_INDEX);
        parser->brackets -= parser->brackets > 0;
        return;
    }
    unit->grid_kind = VYRE_GRID_GROUPS;
    if (vy_parse_is_word(parser, "elements")) {
        vy_parse_advance(parser);
        unit->grid_kind = VYRE_GRID_ELEMENTS;
    }
    unit->grid_count = parse_sizes(parser, unit->grid);
}

/* Items that stand once. */
static void parse_once(vy_parser *parser, uint8_t *seen, vy_position at, const char *name) {
    if (*seen)
        vy_parse_error(parser, VY_T019, at, NULL, "`%s` stands twice", name);
    *seen = 1;
}

int vy_parse_is_item(const vy_parser *parser) {
    if (parser->token.kind != VY_TOKEN_NAME || parser->token.word.cls != VY_WORD_KEYWORD)
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

static void parse_item(vy_parser *parser, vy_unit *unit) {
    vy_position at = parser->token.at;
    unsigned keyword = parser->token.word.index;
    vy_parse_advance(parser);
    if (!unit->is_program && keyword != VY_KEYWORD_ARRAY) {
        vy_parse_error(parser, VY_T018, at, "declare it in the program and pass it to the function as a parameter",
                       "a function declares only private arrays");
        return;
    }
    switch (keyword) {
    case VY_KEYWORD_PARAM:
        parse_param(parser, unit);
        break;
    case VY_KEYWORD_BUFFER:
        parse_buffer(parser, unit);
        break;
    case VY_KEYWORD_ARRAY:
        parse_array(parser, unit);
        break;
    case VY_KEYWORD_WORKGROUP:
        parse_once(parser, &unit->has_workgroup, at, "workgroup");
        unit->workgroup_at = at;
        unit->workgroup_count = parse_sizes(parser, unit->workgroup);
        break;
    case VY_KEYWORD_GRID:
        parse_once(parser, &unit->has_grid, at, "grid");
        parse_grid(parser, unit);
        break;
    default:
        parse_once(parser, &unit->has_numerics, at, "numerics");
        unit->numerics = parse_choice(parser, "kind of numerics", "strict", "relaxed");
        break;
    }
}

static int starts_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* `level` is no keyword, because people call variables so; as an item it is followed by another word. */
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

static const char *const item_words[] = {"param", "buffer", "array", "workgroup", "grid", "numerics"};
enum { ITEM_WORDS = sizeof item_words / sizeof *item_words };

/* Whether `word name :` stands here. */
static int has_item_shape(const vy_parser *parser) {
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
static int is_misspelt_item(const vy_parser *parser) {
    char next = vy_parse_peek(parser);
    vy_suggestion near;
    if (parser->token.kind != VY_TOKEN_NAME || parser->token.word.cls >= VY_WORD_KEYWORD ||
        !(starts_name(next) || (next >= '0' && next <= '9')))
        return 0;
    vy_suggestion_start(&near, vy_token_text(&parser->lexer, &parser->token), parser->token.at.length);
    for (unsigned i = 0; i < ITEM_WORDS; i++)
        vy_suggestion_offer(&near, item_words[i]);
    return vy_suggestion_get(&near) || has_item_shape(parser);
}

static void parse_misspelt_item(vy_parser *parser, vy_unit *unit) {
    parser->token.newline = 0; /* the message is about this token, not about a line end before it */
    vy_parse_one_of(parser, "declaration", item_words, ITEM_WORDS);
    vy_parse_advance(parser);
    vy_item *item =
        vy_parse_is(parser, VY_TOKEN_NAME) ? vy_parse_new_statement(parser, sizeof *item, parser->token.at) : NULL;
    if (item && vy_parse_name(parser, "a name", &item->name, &item->at))
        add_item(&unit->broken, item);
}

/* Declarations at the start of a body. */
static void parse_items(vy_parser *parser, vy_unit *unit) {
    for (;;) {
        vy_position at = parser->token.at;
        if (vy_parse_is(parser, VY_TOKEN_SEMICOLON)) {
            vy_parse_advance(parser);
            continue;
        }
        if (unit->is_program && vy_parse_is_level(parser)) {
            unit->level = vy_parse_level(parser, &unit->has_level);
        } else if (vy_parse_is_item(parser)) {
            parse_item(parser, unit);
        } else if (is_misspelt_item(parser)) {
            parse_misspelt_item(parser, unit);
        } else if (vy_parse_is_top(parser) && (!parser->token.newline || at.column > parser->margin)) {
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

static void parse_body(vy_parser *parser, vy_unit *unit) {
    vy_position at = parser->token.at;
    if (!vy_parse_is(parser, VY_TOKEN_OPEN_BLOCK)) {
        vy_parse_expected(parser, "`{`");
        return;
    }
    vy_parse_advance(parser);
    parse_items(parser, unit);
    unit->body = vy_parse_statements(parser);
    vy_parse_close_block(parser, at);
}

/* ---- units ---- */

static vy_unit *new_unit(vy_parser *parser, const char *what) {
    vy_unit *unit = vy_parse_new(parser, sizeof *unit);
    if (!unit || !vy_parse_name(parser, what, &unit->name, &unit->at))
        return NULL;
    parser->calls = &unit->calls;
    return unit;
}

vy_unit *vy_parse_program(vy_parser *parser) {
    vy_unit *unit = new_unit(parser, "the name of the program");
    if (!unit)
        return NULL;
    unit->is_program = 1;
    parse_body(parser, unit);
    return unit;
}

/* `a: u32`, `t: workgroup [u32]`, `p: private [f32]`, `b: buffer [f32] read`. */
static void parse_parameter(vy_parser *parser, vy_unit *unit) {
    vy_item *item = new_item(parser, unit, "the name of a parameter");
    if (!item)
        return;
    add_item(&unit->params, item);
    if (vy_parse_is_word(parser, "workgroup"))
        item->space = VY_SPACE_WORKGROUP;
    else if (vy_parse_is_word(parser, "private"))
        item->space = VY_SPACE_PRIVATE;
    else if (vy_parse_is_word(parser, "buffer"))
        item->space = VY_SPACE_BUFFER;
    else {
        item->type = vy_parse_type(parser);
        return;
    }
    item->is_memory = 1;
    vy_parse_advance(parser);
    vy_parse_expect(parser, VY_TOKEN_OPEN_INDEX);
    item->type = parser->panic ? VY_TYPE_BAD : vy_parse_type(parser);
    vy_parse_expect(parser, VY_TOKEN_CLOSE_INDEX);
    if (item->space == VY_SPACE_BUFFER && !parser->panic)
        item->access = parse_access(parser);
}

static void parse_results(vy_parser *parser, vy_unit *unit) {
    vy_declared **end = &unit->results;
    int grouped = vy_parse_accept(parser, VY_TOKEN_OPEN);
    parser->brackets += (unsigned)grouped;
    do {
        vy_declared *result = vy_parse_new_statement(parser, sizeof *result, parser->token.at);
        if (!result)
            return;
        result->at = parser->token.at;
        if (grouped && (!vy_parse_name(parser, "the name of a result", &result->name, &result->at) ||
                        !vy_parse_expect(parser, VY_TOKEN_COLON)))
            return;
        result->type = vy_parse_type(parser);
        *end = result;
        end = &result->next;
        unit->result_count++;
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
static void parse_head(vy_parser *parser, vy_unit *unit) {
    vy_parse_expect(parser, VY_TOKEN_OPEN);
    parser->brackets++;
    while (!parser->panic && !vy_parse_is(parser, VY_TOKEN_CLOSE)) {
        parse_parameter(parser, unit);
        if (parser->panic)
            skip_parameter(parser);
        if (!vy_parse_accept(parser, VY_TOKEN_COMMA))
            break;
    }
    vy_parse_expect(parser, VY_TOKEN_CLOSE);
    parser->brackets -= parser->brackets > 0;
    if (!parser->panic && vy_parse_accept(parser, VY_TOKEN_ARROW))
        parse_results(parser, unit);
}

/* After an error in the head the body is read all the same, unless none is in sight. */
static void skip_to_body(vy_parser *parser) {
    parser->brackets = 0;
    while (!vy_parse_is(parser, VY_TOKEN_OPEN_BLOCK) && !vy_parse_is(parser, VY_TOKEN_CLOSE_BLOCK) &&
           !vy_parse_is(parser, VY_TOKEN_END) && !vy_parse_is_top(parser))
        vy_parse_advance(parser);
    parser->panic = !vy_parse_is(parser, VY_TOKEN_OPEN_BLOCK);
}

/* A function that stands for an op with a quoted id. */
static vy_unit *new_quoted_unit(vy_parser *parser) {
    char id[VY_LIMIT_NAME + 1];
    vy_unit *unit = vy_parse_new(parser, sizeof *unit);
    if (!unit)
        return NULL;
    unit->at = parser->token.at;
    if (!vy_parse_quoted_id(parser, id))
        return NULL;
    unit->name = vy_parse_add_name(parser, id);
    parser->calls = &unit->calls;
    return unit->name == VY_SYMBOL_INVALID ? NULL : unit;
}

vy_unit *vy_parse_function(vy_parser *parser) {
    vy_word word = parser->token.word;
    const int is_quoted = parser->token.kind == VY_TOKEN_STRING && !parser->token.newline;
    vy_unit *unit = is_quoted ? new_quoted_unit(parser) : new_unit(parser, "the name of the function");
    if (!unit)
        return NULL;
    if (is_quoted) {
        /* A name of its own: neither members nor a word of the language. */
    } else if (vy_parse_is(parser, VY_TOKEN_DOT)) {
        char id[VY_LIMIT_NAME + 1];
        if (!vy_parse_op_id(parser, unit->name, &unit->at, id))
            return NULL;
        unit->name = vy_parse_add_name(parser, id);
        if (unit->name == VY_SYMBOL_INVALID)
            return NULL;
    } else if (word.cls == VY_WORD_OP || word.cls == VY_WORD_LEN) {
        vy_parse_error(parser, VY_T023, unit->at, NULL, "`%s` is an op of the language",
                       vy_parse_name_text(parser, unit->name));
        parser->panic = 0;
    }
    size_t errors = parser->report->errors;
    parse_head(parser, unit);
    unit->is_broken = parser->report->errors != errors;
    if (unit->is_broken)
        skip_to_body(parser);
    if (!parser->panic)
        parse_body(parser, unit);
    return unit;
}
