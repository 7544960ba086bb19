/* Lexer: converts the bytes of a .vyre file to tokens, one at a time.
 *
 * Each token records whether a newline precedes it, so the parser decides where a newline ends a statement. Every
 * distinct name is interned once, with its meaning in the language. Invalid bytes are reported and skipped. */
#ifndef VY_IR_TEXT_LEXER_H
#define VY_IR_TEXT_LEXER_H

#include "base/intern.h"
#include "base/string.h"
#include "ir/diagnostic_codes.h"
#include "ir/identifiers.h"

/* ---- tokens ---- */

/* X(ID, spelling) */
/* clang-format off */
#define VY_PUNCTUATOR_LIST(X)                                                                                          \
    X(OPEN, "(") X(CLOSE, ")") X(OPEN_INDEX, "[") X(CLOSE_INDEX, "]") X(OPEN_BLOCK, "{") X(CLOSE_BLOCK, "}")           \
    X(COMMA, ",") X(SEMICOLON, ";") X(COLON, ":") X(QUESTION, "?") X(DOT, ".") X(RANGE, "..") X(ARROW, "->")           \
    X(ASSIGN, "=") X(PLUS, "+") X(MINUS, "-") X(STAR, "*") X(SLASH, "/") X(PERCENT, "%") X(AND, "&") X(OR, "|")        \
    X(XOR, "^") X(TILDE, "~") X(BANG, "!") X(SHL, "<<") X(SHR, ">>") X(AND_AND, "&&") X(OR_OR, "||") X(EQ, "==")       \
    X(NE, "!=") X(LT, "<") X(LE, "<=") X(GT, ">") X(GE, ">=") X(PLUS_ASSIGN, "+=") X(MINUS_ASSIGN, "-=")               \
    X(STAR_ASSIGN, "*=") X(SLASH_ASSIGN, "/=") X(PERCENT_ASSIGN, "%=") X(AND_ASSIGN, "&=") X(OR_ASSIGN, "|=")          \
    X(XOR_ASSIGN, "^=") X(SHL_ASSIGN, "<<=") X(SHR_ASSIGN, ">>=")
/* clang-format on */

typedef enum vy_token_kind {
    VY_TOKEN_END,
    VY_TOKEN_NAME,    /* any word */
    VY_TOKEN_NUMBER,  /* with its suffix */
    VY_TOKEN_STRING,  /* with its quotes and escapes */
    VY_TOKEN_COMMENT, /* only with keep_comments */
#define X(ID, spelling) VY_TOKEN_##ID,
    VY_PUNCTUATOR_LIST(X)
#undef X
        VY_TOKEN_KIND_COUNT
} vy_token_kind;

typedef struct vy_token {
    uint8_t kind;            /* vy_token_kind */
    uint8_t newline;         /* a line ends between the previous token and this one */
    vy_identifier_info word; /* names */
    uint32_t name;           /* names: vy_symbol in lexer.names */
    uint32_t offset;         /* first byte in the text */
    vy_position at; /* at.length is the length of the token; a comment over several lines keeps its whole length */
} vy_token;

typedef struct vy_lexer {
    const char *text;
    uint32_t size, offset;
    uint32_t line, line_start;
    int keep_comments;
    vy_diag_sink *report;
    vy_intern_pool names;
    VY_VECTOR(vy_identifier_info) words; /* by vy_symbol: meaning of each name in the language */
} vy_lexer;

/* Reports the first carriage return without a line feed, and returns 0. Editors show such a carriage return as a
 * line end, but a `//` comment would extend beyond it. */
int vy_lexer_check_lines(const char *text, uint32_t size, vy_diag_sink *report);
/* The text must outlive the lexer and be followed by a NUL byte (vy_source_text is). A byte order mark at its start is
 * skipped. */
void vy_lexer_start(vy_lexer *lexer, const char *text, uint32_t size, vy_diag_sink *report);
void vy_lexer_free(vy_lexer *lexer);
/* The next token; at the end of the text always VY_TOKEN_END. */
void vy_lexer_next(vy_lexer *lexer, vy_token *token);

/* The symbol at the start of NUL-terminated text and its length; VY_TOKEN_END if it does not start with one. */
vy_token_kind vy_punctuator_find(const char *text, unsigned *length);
/* The spelling of a symbol; "" for other kinds. */
const char *vy_punctuator_text(vy_token_kind kind);

static inline const char *vy_token_text(const vy_lexer *lexer, const vy_token *token) {
    return lexer->text + token->offset;
}
static inline int vy_token_is_keyword(const vy_token *token, vy_keyword keyword) {
    return token->kind == VY_TOKEN_NAME && token->word.cls == VY_IDENTIFIER_KEYWORD && token->word.index == keyword;
}

#endif
