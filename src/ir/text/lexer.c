/* Lexer. Each byte is read a bounded number of times. The text is followed by a NUL, so reading one byte ahead is
 * always safe. */
#include "ir/text/lexer.h"

#include "base/string.h"
#include "ir/model.h"

#include <stdio.h>

/* Character classes. */
enum { NAME_START = 1, DIGIT = 2, HEX = 4, SPACE = 8, SYMBOL = 16 };

static const uint8_t classes[256] = {
    [' '] = SPACE,
    ['\t'] = SPACE,
    ['\r'] = SPACE,
    ['\n'] = SPACE,
    ['0' ... '9'] = DIGIT | HEX,
    ['a' ... 'f'] = NAME_START | HEX,
    ['g' ... 'z'] = NAME_START,
    ['A' ... 'F'] = NAME_START | HEX,
    ['G' ... 'Z'] = NAME_START,
    ['_'] = NAME_START,
    ['!'] = SYMBOL,
    ['%' ... '&'] = SYMBOL,
    ['(' ... '/'] = SYMBOL,
    [':' ... '?'] = SYMBOL,
    ['['] = SYMBOL,
    [']' ... '^'] = SYMBOL,
    ['{' ... '~'] = SYMBOL,
};

static int is(char c, int what) {
    return (classes[(unsigned char)c] & what) != 0;
}

/* ---- punctuators ---- */

static const char *const punctuators[VY_TOKEN_KIND_COUNT] = {
#define X(ID, spelling) [VY_TOKEN_##ID] = spelling,
    VY_PUNCTUATOR_LIST(X)
#undef X
};

const char *vy_punctuator_text(vy_token_kind kind) {
    return punctuators[kind] ? punctuators[kind] : "";
}

/* One row per first byte: the one-byte symbol, and the longer symbols that begin with it. */
typedef struct punctuator_row {
    uint8_t alone;
    struct {
        char byte;
        uint8_t kind, equals; /* equals: the kind if `=` follows, or 0 */
    } next;                   /* byte 0: none */
    uint8_t equals;
} punctuator_row;

static const punctuator_row punctuator_rows[128] = {
    ['('] = {.alone = VY_TOKEN_OPEN},
    [')'] = {.alone = VY_TOKEN_CLOSE},
    ['['] = {.alone = VY_TOKEN_OPEN_INDEX},
    [']'] = {.alone = VY_TOKEN_CLOSE_INDEX},
    ['{'] = {.alone = VY_TOKEN_OPEN_BLOCK},
    ['}'] = {.alone = VY_TOKEN_CLOSE_BLOCK},
    [','] = {.alone = VY_TOKEN_COMMA},
    [';'] = {.alone = VY_TOKEN_SEMICOLON},
    [':'] = {.alone = VY_TOKEN_COLON},
    ['?'] = {.alone = VY_TOKEN_QUESTION},
    ['.'] = {.alone = VY_TOKEN_DOT, .next = {'.', VY_TOKEN_RANGE, 0}},
    ['='] = {.alone = VY_TOKEN_ASSIGN, .equals = VY_TOKEN_EQ},
    ['+'] = {.alone = VY_TOKEN_PLUS, .equals = VY_TOKEN_PLUS_ASSIGN},
    ['-'] = {.alone = VY_TOKEN_MINUS, .next = {'>', VY_TOKEN_ARROW, 0}, .equals = VY_TOKEN_MINUS_ASSIGN},
    ['*'] = {.alone = VY_TOKEN_STAR, .equals = VY_TOKEN_STAR_ASSIGN},
    ['/'] = {.alone = VY_TOKEN_SLASH, .equals = VY_TOKEN_SLASH_ASSIGN},
    ['%'] = {.alone = VY_TOKEN_PERCENT, .equals = VY_TOKEN_PERCENT_ASSIGN},
    ['&'] = {.alone = VY_TOKEN_AND, .next = {'&', VY_TOKEN_AND_AND, 0}, .equals = VY_TOKEN_AND_ASSIGN},
    ['|'] = {.alone = VY_TOKEN_OR, .next = {'|', VY_TOKEN_OR_OR, 0}, .equals = VY_TOKEN_OR_ASSIGN},
    ['^'] = {.alone = VY_TOKEN_XOR, .equals = VY_TOKEN_XOR_ASSIGN},
    ['~'] = {.alone = VY_TOKEN_TILDE},
    ['!'] = {.alone = VY_TOKEN_BANG, .equals = VY_TOKEN_NE},
    ['<'] = {.alone = VY_TOKEN_LT, .next = {'<', VY_TOKEN_SHL, VY_TOKEN_SHL_ASSIGN}, .equals = VY_TOKEN_LE},
    ['>'] = {.alone = VY_TOKEN_GT, .next = {'>', VY_TOKEN_SHR, VY_TOKEN_SHR_ASSIGN}, .equals = VY_TOKEN_GE},
};

vy_token_kind vy_punctuator_find(const char *text, unsigned *length) {
    unsigned char first = (unsigned char)text[0];
    const punctuator_row *row = &punctuator_rows[first < 128 ? first : 0];
    *length = row->alone != VY_TOKEN_END;
    if (row->alone == VY_TOKEN_END)
        return VY_TOKEN_END;
    if (row->next.byte && text[1] == row->next.byte) {
        int assigns = row->next.equals && text[2] == '=';
        *length = assigns ? 3 : 2;
        return assigns ? row->next.equals : row->next.kind;
    }
    if (row->equals && text[1] == '=') {
        *length = 2;
        return row->equals;
    }
    return row->alone;
}

/* ---- tokens ---- */

int vy_lexer_check_lines(const char *text, uint32_t size, vy_diag_sink *report) {
    const char *end = text + size, *at = text;
    while (at < end && (at = memchr(at, '\r', (size_t)(end - at))) && at[1] == '\n')
        at++;
    if (!at || at >= end)
        return 1;
    vy_diag_sink_error(report, VY_T002, vy_source_position(report->source, (size_t)(at - text), 1),
                       "save the file with LF or CR LF line endings", "carriage return without a line feed");
    return 0;
}

void vy_lexer_start(vy_lexer *lexer, const char *text, uint32_t size, vy_diag_sink *report) {
    memset(lexer, 0, sizeof *lexer);
    lexer->text = text;
    lexer->size = size;
    lexer->line = 1;
    lexer->report = report;
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        lexer->offset = lexer->line_start = 3;
}

void vy_lexer_free(vy_lexer *lexer) {
    vy_intern_pool_free(&lexer->names);
    VY_VECTOR_FREE(&lexer->words);
}

static vy_position position_at(const vy_lexer *lexer, uint32_t offset, uint32_t length) {
    return (vy_position){lexer->line, offset - lexer->line_start + 1, length};
}

static void new_line(vy_lexer *lexer, uint32_t newline) {
    lexer->line++;
    lexer->line_start = newline + 1;
}

static void finish(vy_lexer *lexer, vy_token *token, vy_token_kind kind, uint32_t end) {
    token->kind = (uint8_t)kind;
    token->at.length = end - token->offset;
    lexer->offset = end;
}

/* Returns the offset after a block comment that starts at `start`; counts its lines. */
static uint32_t skip_block_comment(vy_lexer *lexer, uint32_t start, int *newline) {
    const char *text = lexer->text;
    vy_position opened = position_at(lexer, start, 2);
    uint32_t i = start + 2;
    int nested = 0;
    while (i < lexer->size && !(text[i] == '*' && text[i + 1] == '/')) {
        if (text[i] == '\n') {
            new_line(lexer, i);
            *newline = 1;
        } else if (text[i] == '/' && text[i + 1] == '*' && !nested) {
            nested = 1;
            vy_diag_sink_error(lexer->report, VY_T004, position_at(lexer, i, 2), NULL,
                               "nested comment inside the comment that starts in line %u", opened.line);
        }
        i++;
    }
    if (i >= lexer->size) {
        vy_diag_sink_error(lexer->report, VY_T003, opened, NULL, "unterminated comment");
        return lexer->size;
    }
    return i + 2;
}

static uint32_t line_end(const vy_lexer *lexer, uint32_t from) {
    const char *newline = memchr(lexer->text + from, '\n', lexer->size - from);
    return newline ? (uint32_t)(newline - lexer->text) : lexer->size;
}

/* Skips spaces and, unless they are kept, comments. Returns 1 if a comment token was made. */
static int skip_space(vy_lexer *lexer, vy_token *token) {
    const char *text = lexer->text;
    int newline = 0;
    for (;;) {
        while (lexer->offset < lexer->size && is(text[lexer->offset], SPACE)) {
            if (text[lexer->offset] == '\n') {
                new_line(lexer, lexer->offset);
                newline = 1;
            }
            lexer->offset++;
        }
        uint32_t start = lexer->offset;
        int slash = start < lexer->size && text[start] == '/';
        if (!slash || (text[start + 1] != '/' && text[start + 1] != '*')) {
            token->newline = (uint8_t)newline;
            return 0;
        }
        token->at = position_at(lexer, start, 0);
        token->offset = start;
        token->newline = (uint8_t)newline;
        uint32_t end = text[start + 1] == '/' ? line_end(lexer, start) : skip_block_comment(lexer, start, &newline);
        if (lexer->keep_comments) {
            /* A carriage return before the newline is not part of the comment. */
            while (text[start + 1] == '/' && end > start &&
                   (text[end - 1] == '\r' || text[end - 1] == ' ' || text[end - 1] == '\t'))
                end--;
            finish(lexer, token, VY_TOKEN_COMMENT, end);
            return 1;
        }
        lexer->offset = end;
    }
}

/* The ASCII symbol that a character resembles, as word processors and other keyboards produce it; NULL if none. */
static const char *ascii_confusable(uint32_t point, char one[2]) {
    static const struct {
        uint32_t point;
        const char *twin;
    } twins[] = {
        {0x00ab, "<<"}, {0x00b4, "\""}, {0x00bb, ">>"}, {0x00d7, "*"},  {0x00f7, "/"},  {0x2010, "-"},  {0x2011, "-"},
        {0x2012, "-"},  {0x2013, "-"},  {0x2014, "-"},  {0x2015, "-"},  {0x2018, "\""}, {0x2019, "\""}, {0x201a, "\""},
        {0x201c, "\""}, {0x201d, "\""}, {0x201e, "\""}, {0x2026, ".."}, {0x2032, "\""}, {0x2033, "\""}, {0x2190, "="},
        {0x2192, "->"}, {0x2212, "-"},  {0x2215, "/"},  {0x2217, "*"},  {0x2227, "&&"}, {0x2228, "||"}, {0x2260, "!="},
        {0x2264, "<="}, {0x2265, ">="}, {0x22c5, "*"},  {0x3001, ","},  {0x3010, "["},  {0x3011, "]"},
    };
    for (unsigned i = 0; i < sizeof twins / sizeof *twins; i++)
        if (twins[i].point == point)
            return twins[i].twin;
    if (point < 0xff01 || point > 0xff5e) /* the full-width forms of ASCII, in its order */
        return NULL;
    one[0] = (char)(point - 0xff01 + '!');
    one[1] = 0;
    return one;
}

static int is_blank(uint32_t point) {
    return point == 0xa0 || (point >= 0x2000 && point <= 0x200f) || point == 0x2028 || point == 0x2029 ||
           point == 0x202f || point == 0x205f || point == 0x2060 || point == 0x3000 || point == 0xfeff;
}

static void report_non_ascii(vy_lexer *lexer, uint32_t start, vy_position at) {
    uint32_t point = 0;
    char one[2], fix[80];
    int bytes = (int)vy_utf8_decode(lexer->text + start, lexer->size - start, &point);
    const char *twin = ascii_confusable(point, one);
    if (is_blank(point)) {
        vy_diag_sink_error(lexer->report, VY_T002, at, "replace it with a space, or remove it",
                           "invisible character (U+%04X) between tokens", point);
        return;
    }
    snprintf(fix, sizeof fix, "write `%s`", twin ? twin : "");
    vy_diag_sink_error(lexer->report, VY_T002, at,
                       twin ? fix : "use ASCII letters in names; other letters are allowed in comments and strings",
                       "unexpected non-ASCII character `%.*s` (U+%04X)", bytes, lexer->text + start, point);
}

/* Reports non-ASCII letters that continue a name, and skips them with it, so that the rest is not read as another
 * name. Returns the end of the whole. */
static uint32_t skip_non_ascii_letters(vy_lexer *lexer, uint32_t end) {
    uint32_t point = 0, start = end;
    char one[2];
    while (end < lexer->size && (unsigned char)lexer->text[end] >= 128) {
        size_t bytes = vy_utf8_decode(lexer->text + end, lexer->size - end, &point);
        if (bytes == 0 || is_blank(point) || ascii_confusable(point, one))
            break;
        end += (uint32_t)bytes;
        while (is(lexer->text[end], NAME_START | DIGIT))
            end++;
    }
    if (end > start)
        report_non_ascii(lexer, start, position_at(lexer, start, end - start));
    return end;
}

static void lex_name(vy_lexer *lexer, vy_token *token) {
    const char *text = lexer->text;
    uint32_t end = token->offset + 1;
    while (is(text[end], NAME_START | DIGIT))
        end++;
    end = skip_non_ascii_letters(lexer, end);
    uint32_t length = end - token->offset;
    finish(lexer, token, VY_TOKEN_NAME, end);
    if (length > VY_LIMIT_NAME) {
        vy_diag_sink_error(lexer->report, VY_T009, token->at, NULL, "name too long (%u bytes, limit %d)", length,
                           VY_LIMIT_NAME);
        length = VY_LIMIT_NAME;
    }
    uint32_t known = lexer->names.size;
    token->name = vy_intern_pool_add(&lexer->names, text + token->offset, length);
    if (token->name == VY_SYMBOL_INVALID) {
        lexer->report->out_of_memory = 1;
        token->name = 0;
        return;
    }
    if (lexer->names.size != known || lexer->words.count < lexer->names.size) {
        uint32_t extra = lexer->names.size - lexer->words.count;
        if (!VY_RESERVE(&lexer->words, extra)) {
            lexer->report->out_of_memory = 1;
            return;
        }
        memset(lexer->words.items + lexer->words.count, 0, extra * sizeof *lexer->words.items);
        lexer->words.count += extra;
        lexer->words.items[token->name] = vy_identifier_find(text + token->offset, length);
    }
    token->word = lexer->words.items[token->name];
}

static uint32_t skip_digits(const char *text, uint32_t i, int what) {
    while (is(text[i], what) || text[i] == '_')
        i++;
    return i;
}

/* Returns the end of a number: digits, fraction and exponent by the rules of its base, then any letters and digits
 * that follow directly. vy_number_read checks the contents. */
static uint32_t number_end(const char *text, uint32_t i) {
    int hex = text[i] == '0' && (text[i + 1] == 'x' || text[i + 1] == 'X');
    int what = hex ? DIGIT | HEX : DIGIT;
    i = skip_digits(text, hex ? i + 2 : i, what);
    if (text[i] == '.' && is(text[i + 1], what))
        i = skip_digits(text, i + 1, what);
    int exponent = hex ? text[i] == 'p' || text[i] == 'P' : text[i] == 'e' || text[i] == 'E';
    if (exponent && (text[i + 1] == '+' || text[i + 1] == '-'))
        i += 2;
    while (is(text[i], NAME_START | DIGIT))
        i++;
    return i;
}

static void lex_string(vy_lexer *lexer, vy_token *token) {
    const char *text = lexer->text;
    uint32_t i = token->offset + 1;
    while (i < lexer->size && text[i] != '"' && text[i] != '\n')
        i += text[i] == '\\' && i + 1 < lexer->size && text[i + 1] != '\n' ? 2 : 1;
    int closed = i < lexer->size && text[i] == '"';
    finish(lexer, token, VY_TOKEN_STRING, closed ? i + 1 : i);
    if (!closed) {
        token->at.length = 1;
        vy_diag_sink_error(lexer->report, VY_T005, token->at, NULL, "unterminated string");
    }
}

/* Reports and skips bytes that do not start a token, once per run of such bytes. */
static void skip_unknown(vy_lexer *lexer, vy_token *token) {
    const char *text = lexer->text;
    uint32_t start = lexer->offset, end = start;
    while (end < lexer->size && text[end] != '"' && !is(text[end], NAME_START | DIGIT | SPACE | SYMBOL))
        end++;
    unsigned char byte = (unsigned char)text[start];
    if (byte == '\'' && lexer->size - start > 2 && text[start + 2] == '\'' && text[start + 1] >= ' ')
        end = start + 3;
    vy_position at = position_at(lexer, start, end - start);
    if (end == start + 3 && byte == '\'')
        vy_diag_sink_error(lexer->report, VY_T002, at, VY_DIAG_SINK_FIX(lexer->report, "write `%d`", text[start + 1]),
                           "unexpected character literal");
    else if (byte > ' ' && byte < 127)
        vy_diag_sink_error(lexer->report, VY_T002, at,
                           byte == '\'' ? "write a character as its code, as in `97`" : NULL,
                           "unexpected character `%c`", byte);
    else if (byte >= 128)
        report_non_ascii(lexer, start, at);
    else
        vy_diag_sink_error(lexer->report, VY_T002, at, NULL, "control character (0x%02x) in the text", byte);
    lexer->offset = end;
    token->newline = 0;
}

void vy_lexer_next(vy_lexer *lexer, vy_token *token) {
    const char *text = lexer->text;
    int newline = 0;
    memset(token, 0, sizeof *token);
    for (;;) {
        if (skip_space(lexer, token)) {
            token->newline |= (uint8_t)newline;
            return;
        }
        newline |= token->newline;
        token->offset = lexer->offset;
        token->at = position_at(lexer, lexer->offset, 0);
        char c = text[lexer->offset];
        if (lexer->offset >= lexer->size) {
            finish(lexer, token, VY_TOKEN_END, lexer->size);
        } else if (is(c, NAME_START)) {
            lex_name(lexer, token);
        } else if (is(c, DIGIT)) {
            finish(lexer, token, VY_TOKEN_NUMBER, number_end(text, lexer->offset));
        } else if (c == '"') {
            lex_string(lexer, token);
        } else if (is(c, SYMBOL)) {
            unsigned length;
            vy_token_kind kind = vy_punctuator_find(text + lexer->offset, &length);
            finish(lexer, token, kind, lexer->offset + length);
        } else {
            skip_unknown(lexer, token);
            continue;
        }
        token->newline |= (uint8_t)newline;
        return;
    }
}
