/* Formatter: canonical spacing and indentation of a text, token by token.
 *
 * Invariants: the tokens and their order are unchanged, except for redundant `;`. Line breaks are unchanged, except
 * before `{` and `else`, where they have no meaning. So the meaning of the text is preserved. The decision about a
 * token depends only on tokens and line breaks, so formatting is idempotent. */
#include "base/status.h"
#include "ir/model.h"
#include "ir/text/lexer.h"
#include "vyre/text.h"

typedef struct formatter {
    vy_lexer lexer;
    vy_diag_sink report;
    VY_VECTOR(vy_token) tokens;    /* comments too; ends with VY_TOKEN_END */
    VY_VECTOR(uint32_t) questions; /* open `?` in each open ( or [; the first entry is for the outermost level */
    VY_VECTOR(uint8_t) open;       /* expected closing brackets, innermost last */
    uint32_t list;                 /* depth of the open list of elements, `= [`; 0: none is open */
    vy_string out;
    uint32_t level;              /* open { */
    int in_angle;                /* inside <…> after a name that can have attributes */
    const vy_token *last;        /* written last, including comments */
    const vy_token *last_real;   /* written last, excluding comments */
    const vy_token *before_last; /* the token before last_real */
    int last_is_unary;
} formatter;

/* ---- reading ---- */

static const uint8_t closers[VY_TOKEN_KIND_COUNT] = {[VY_TOKEN_OPEN] = VY_TOKEN_CLOSE,
                                                     [VY_TOKEN_OPEN_INDEX] = VY_TOKEN_CLOSE_INDEX,
                                                     [VY_TOKEN_OPEN_BLOCK] = VY_TOKEN_CLOSE_BLOCK};

static int is_closer(unsigned kind) {
    return kind == VY_TOKEN_CLOSE || kind == VY_TOKEN_CLOSE_INDEX || kind == VY_TOKEN_CLOSE_BLOCK;
}

static void match_bracket(formatter *f, const vy_token *token) {
    if (closers[token->kind]) {
        uint8_t *open = VY_PUSH(&f->open);
        if (open)
            *open = closers[token->kind];
        else
            f->report.out_of_memory = 1;
    } else if (is_closer(token->kind)) {
        if (f->open.count && f->open.items[f->open.count - 1] == token->kind)
            f->open.count--;
        else
            vy_diag_sink_error(&f->report, VY_T017, token->at, NULL, "unmatched `%s`", vy_punctuator_text(token->kind));
    }
}

/* Stops at the first mismatched bracket, because the structure after it is unknown. */
static void read_tokens(formatter *f) {
    vy_token *token;
    do {
        token = VY_PUSH(&f->tokens);
        if (!token) {
            f->report.out_of_memory = 1;
            return;
        }
        vy_lexer_next(&f->lexer, token);
        size_t errors = f->report.errors;
        match_bracket(f, token);
        if (f->report.errors != errors)
            return;
    } while (token->kind != VY_TOKEN_END && !f->report.out_of_memory);
    if (f->open.count && !f->report.out_of_memory)
        vy_diag_sink_error(&f->report, VY_T017, token->at, NULL, "missing `%s` at the end of the file",
                           vy_punctuator_text(f->open.items[f->open.count - 1]));
}

/* ---- token classes ---- */

static int is_name(const vy_token *token, unsigned cls) {
    return token && token->kind == VY_TOKEN_NAME && token->word.cls == cls;
}
static int is_keyword(const vy_token *token) {
    return is_name(token, VY_IDENTIFIER_KEYWORD);
}
static int is_line_comment(const formatter *f, const vy_token *token) {
    return token && token->kind == VY_TOKEN_COMMENT && f->lexer.text[token->offset + 1] == '/';
}

/* Whether a value can end with this token. */
static int ends_value(const vy_token *token) {
    if (!token)
        return 0;
    if (is_keyword(token))
        return token->word.index == VY_KEYWORD_TRUE || token->word.index == VY_KEYWORD_FALSE;
    return token->kind == VY_TOKEN_NAME || token->kind == VY_TOKEN_NUMBER || token->kind == VY_TOKEN_STRING ||
           token->kind == VY_TOKEN_CLOSE || token->kind == VY_TOKEN_CLOSE_INDEX;
}

/* Whether the statement continues after this token, even on the next line. */
static int continues(const vy_token *token) {
    if (!token)
        return 0;
    switch (token->kind) {
    case VY_TOKEN_COMMA:
    case VY_TOKEN_COLON:
    case VY_TOKEN_QUESTION:
    case VY_TOKEN_DOT:
        return 1;
    default:
        return token->kind >= VY_TOKEN_RANGE;
    }
}

static int is_word(const formatter *f, const vy_token *token, const char *word) {
    return token->at.length == strlen(word) && memcmp(f->lexer.text + token->offset, word, token->at.length) == 0;
}

/* `step` or `count` between two values, or `elements` after `grid`: words that no call starts with. */
static int is_separator_word(const formatter *f, const vy_token *before, const vy_token *token) {
    if (!token || token->newline || !is_name(token, VY_IDENTIFIER_PLAIN))
        return 0;
    if (ends_value(before))
        return is_word(f, token, "step") || is_word(f, token, "count");
    return is_keyword(before) && before->word.index == VY_KEYWORD_GRID && is_word(f, token, "elements");
}

static int takes_angle(const vy_token *token) {
    return is_name(token, VY_IDENTIFIER_ATOMIC) || is_name(token, VY_IDENTIFIER_COLLECTIVE) ||
           is_name(token, VY_IDENTIFIER_BITCAST);
}

/* `<` after an atomic, a collective or `bitcast`, or before the first attribute of an op. */
static int opens_angle(const formatter *f, const vy_token *before, const vy_token *token) {
    int is_id = before && (before->kind == VY_TOKEN_STRING ||
                           (before->kind == VY_TOKEN_NAME && f->before_last && f->before_last->kind == VY_TOKEN_DOT));
    int is_op = is_id && token[1].kind == VY_TOKEN_NAME && token[2].kind == VY_TOKEN_ASSIGN;
    return is_op || (before && takes_angle(before));
}

static uint32_t depth(const formatter *f) {
    return f->questions.count - 1;
}

/* ---- spacing and line breaks ---- */

/* Whether the two tokens would be lexed differently without a space between them. */
static int would_merge(const formatter *f, const vy_token *a, const vy_token *b) {
    const char *text = f->lexer.text;
    if (a->kind == VY_TOKEN_NUMBER || b->kind == VY_TOKEN_NUMBER)
        return a->kind == VY_TOKEN_DOT || b->kind == VY_TOKEN_DOT || a->kind == VY_TOKEN_NAME ||
               b->kind == VY_TOKEN_NAME;
    if (a->kind < VY_TOKEN_OPEN || b->kind < VY_TOKEN_OPEN)
        return a->kind < VY_TOKEN_OPEN && b->kind < VY_TOKEN_OPEN;
    char joined[8] = {0};
    unsigned length;
    memcpy(joined, text + a->offset, a->at.length);
    memcpy(joined + a->at.length, text + b->offset, b->at.length);
    vy_punctuator_find(joined, &length);
    return length != a->at.length || (joined[0] == '/' && (joined[1] == '/' || joined[1] == '*'));
}

/* `[` after the type of an array, or before the element type of a memory parameter. */
static int opens_length(const vy_token *before, const vy_token *token) {
    int is_element = is_name(token + 1, VY_IDENTIFIER_TYPE) && token[2].kind == VY_TOKEN_CLOSE_INDEX;
    return is_name(before, VY_IDENTIFIER_TYPE) || is_element;
}

static int space_before_open(const formatter *f, const vy_token *last) {
    if (last->kind != VY_TOKEN_NAME)
        return last->kind != VY_TOKEN_STRING && !(last->kind == VY_TOKEN_GT && f->in_angle);
    return is_keyword(last) || is_separator_word(f, f->before_last, last);
}

/* Whether a space separates the last token from this one if both are on one line. */
static int wants_space(const formatter *f, const vy_token *token) {
    const vy_token *last = f->last;
    if (token->kind == VY_TOKEN_COMMENT || last->kind == VY_TOKEN_COMMENT)
        return 1;
    switch (token->kind) {
    case VY_TOKEN_COMMA:
    case VY_TOKEN_SEMICOLON:
    case VY_TOKEN_CLOSE:
    case VY_TOKEN_CLOSE_INDEX:
    case VY_TOKEN_DOT:
        return 0;
    case VY_TOKEN_CLOSE_BLOCK:
        return last->kind != VY_TOKEN_OPEN_BLOCK;
    default:
        break;
    }
    if (last->kind == VY_TOKEN_OPEN || last->kind == VY_TOKEN_OPEN_INDEX || last->kind == VY_TOKEN_DOT ||
        f->last_is_unary)
        return 0;
    if (f->in_angle && (last->kind == VY_TOKEN_LT || token->kind == VY_TOKEN_GT))
        return 0;
    switch (token->kind) {
    case VY_TOKEN_OPEN:
        return space_before_open(f, last);
    case VY_TOKEN_OPEN_INDEX:
        return last->kind != VY_TOKEN_NAME || opens_length(last, token) || is_keyword(last);
    case VY_TOKEN_BANG: /* of an unchecked access */
        return !(last->kind == VY_TOKEN_NAME && !is_keyword(last) && token[1].kind == VY_TOKEN_OPEN_INDEX);
    case VY_TOKEN_LT:
        return !opens_angle(f, last, token);
    case VY_TOKEN_COLON:
        return depth(f) == 0 || f->questions.items[depth(f)] > 0;
    default:
        return 1;
    }
}

/* Whether a new line starts before the token. */
static int wants_line(const formatter *f, const vy_token *token, int newline) {
    const vy_token *last = f->last;
    if (!last)
        return 0;
    if (is_line_comment(f, last))
        return 1;
    if (last->kind == VY_TOKEN_COMMENT || !newline)
        return newline;
    if (token->kind == VY_TOKEN_OPEN_BLOCK && depth(f) == 0)
        return 0;
    if (is_keyword(token) && token->word.index == VY_KEYWORD_ELSE && last->kind == VY_TOKEN_CLOSE_BLOCK)
        return 0;
    return 1;
}

static uint32_t last_line(const formatter *f, const vy_token *token) {
    uint32_t line = token->at.line;
    for (uint32_t i = 0; token->kind == VY_TOKEN_COMMENT && i < token->at.length; i++)
        line += f->lexer.text[token->offset + i] == '\n';
    return line;
}

static void start_line(formatter *f, const vy_token *token, uint32_t line_before) {
    vy_string_char(&f->out, '\n');
    if (token->at.line > line_before + 1 && f->last->kind != VY_TOKEN_OPEN_BLOCK && token->kind != VY_TOKEN_CLOSE_BLOCK)
        vy_string_char(&f->out, '\n');
    uint32_t level = f->level - (token->kind == VY_TOKEN_CLOSE_BLOCK && f->level);
    if (depth(f) > 0 || (continues(f->last_real) && token->kind != VY_TOKEN_CLOSE_BLOCK))
        level += 2;
    if (f->list && depth(f) == f->list) /* elements: one step in, and the bracket where the declaration starts */
        level -= token->kind == VY_TOKEN_CLOSE_INDEX ? 2 : 1;
    /* The limit bounds the output for deeply nested input. */
    for (uint32_t i = 0; i < level && i < VY_LIMIT_NESTING; i++)
        vy_string_add(&f->out, "  ");
}

/* ---- writing ---- */

/* Whether the token is a redundant `;`: before a line end, `}` or another `;`. */
static int is_idle_semicolon(const formatter *f, const vy_token *token) {
    const vy_token *next = token + 1;
    if (token->kind != VY_TOKEN_SEMICOLON || depth(f) > 0 || continues(f->last_real))
        return 0;
    return !f->last_real || f->last_real->kind == VY_TOKEN_OPEN_BLOCK || f->last_real->kind == VY_TOKEN_SEMICOLON ||
           next->newline || next->kind == VY_TOKEN_CLOSE_BLOCK || next->kind == VY_TOKEN_SEMICOLON ||
           next->kind == VY_TOKEN_END || is_line_comment(f, next);
}

/* Updates the nesting counters after the token has been written. */
static void update_nesting(formatter *f, const vy_token *token) {
    uint32_t *questions = &f->questions.items[depth(f)];
    switch (token->kind) {
    case VY_TOKEN_OPEN:
    case VY_TOKEN_OPEN_INDEX:
        if (!VY_PUSH(&f->questions))
            f->report.out_of_memory = 1;
        else if (!f->list && token->kind == VY_TOKEN_OPEN_INDEX && f->last_real &&
                 f->last_real->kind == VY_TOKEN_ASSIGN)
            f->list = depth(f);
        break;
    case VY_TOKEN_CLOSE:
    case VY_TOKEN_CLOSE_INDEX:
        f->list = depth(f) == f->list ? 0 : f->list;
        f->questions.count -= depth(f) > 0;
        break;
    case VY_TOKEN_OPEN_BLOCK:
        f->level++;
        *questions = 0;
        break;
    case VY_TOKEN_CLOSE_BLOCK:
        f->level -= f->level > 0;
        break;
    case VY_TOKEN_SEMICOLON:
        *questions = 0;
        break;
    case VY_TOKEN_QUESTION:
        ++*questions;
        break;
    case VY_TOKEN_COLON:
        *questions -= *questions > 0;
        break;
    default:
        break;
    }
    int was_angle = f->in_angle;
    if (token->kind == VY_TOKEN_LT)
        f->in_angle = opens_angle(f, f->last_real, token);
    else if (was_angle && f->last_real && f->last_real->kind == VY_TOKEN_GT)
        f->in_angle = 0;
    int may_be_unary = token->kind == VY_TOKEN_TILDE || token->kind == VY_TOKEN_BANG ||
                       (token->kind == VY_TOKEN_MINUS &&
                        (!ends_value(f->last_real) || is_separator_word(f, f->before_last, f->last_real)));
    f->last_is_unary = may_be_unary;
    f->before_last = f->last_real;
    f->last_real = token;
}

static void write_token(formatter *f, const vy_token *token, int newline) {
    const vy_token *last = f->last;
    if (wants_line(f, token, newline)) {
        uint32_t before = last_line(f, last);
        if (depth(f) == 0 && !continues(f->last_real))
            f->questions.items[0] = 0;
        start_line(f, token, before);
    } else if (last) {
        int is_trailing = is_line_comment(f, token);
        vy_string_add(&f->out, is_trailing ? "  " : wants_space(f, token) || would_merge(f, last, token) ? " " : "");
    }
    vy_string_append(&f->out, f->lexer.text + token->offset, token->at.length);
    f->last = token;
    if (token->kind != VY_TOKEN_COMMENT)
        update_nesting(f, token);
}

static void write_tokens(formatter *f) {
    int newline = 0;
    if (!VY_PUSH(&f->questions)) {
        f->report.out_of_memory = 1;
        return;
    }
    for (uint32_t i = 0; f->tokens.items[i].kind != VY_TOKEN_END && !f->report.out_of_memory; i++) {
        const vy_token *token = &f->tokens.items[i];
        newline |= token->newline;
        if (is_idle_semicolon(f, token))
            continue;
        write_token(f, token, newline);
        newline = 0;
    }
    if (f->last)
        vy_string_char(&f->out, '\n');
}

vyre_status vyre_text_format(const char *text, size_t size, const vyre_parse_options *options,
                             vyre_diagnostics *diagnostics, vyre_bytes *out, vyre_error *error) {
    VY_REQUIRE_ARRAY(error, text, size);
    VY_REQUIRE(error, out);
    if (size > VY_LIMIT_SOURCE_BYTES)
        return vy_fail(error, VYRE_LIMIT, "split the file", "text too large (%zu bytes, limit %d)", size,
                       VY_LIMIT_SOURCE_BYTES);
    vy_source *source = vy_source_new(options && options->file ? options->file : "<text>", size ? text : "", size);
    if (!source)
        return vy_fail_memory(error, "formatting the text");
    formatter f = {.report = {.source = source, .list = diagnostics}};
    const char *copy = vy_source_text(source, &size);
    size_t valid = vy_utf8_valid(copy, size);
    vy_lexer_start(&f.lexer, copy, (uint32_t)size, &f.report);
    f.lexer.keep_comments = 1;
    if (valid < size)
        vy_diag_sink_error(&f.report, VY_T001, vy_source_position(source, valid, 1), NULL,
                           "invalid UTF-8 (byte 0x%02x at offset %zu)", (unsigned char)copy[valid], valid);
    else if (vy_lexer_check_lines(copy, (uint32_t)size, &f.report))
        read_tokens(&f);
    if (vy_diag_sink_is_clean(&f.report))
        write_tokens(&f);
    vyre_status status = vy_diag_sink_status(&f.report, error);
    if (status == VYRE_OK)
        status = vy_string_to_bytes(&f.out, out, error);
    vy_string_free(&f.out);
    vy_lexer_free(&f.lexer);
    VY_VECTOR_FREE(&f.tokens);
    VY_VECTOR_FREE(&f.questions);
    VY_VECTOR_FREE(&f.open);
    vy_source_release(source);
    return status;
}
