/* The parser: tokens to syntax tree. Recursive descent; operators by precedence climbing over the op table.
 *
 * Errors: the first of a statement is reported and sets `panic`, which silences what follows from it; vy_parse_recover
 * skips to the end of the statement (with the blocks on its way parsed, so that their errors show too) and clears it. */
#ifndef VY_IR_TEXT_PARSER_H
#define VY_IR_TEXT_PARSER_H

#include "ir/text/ast.h"
#include "ir/text/lexer.h"

typedef struct vy_parser {
    vy_lexer lexer;
    vy_diag_sink *report;
    vy_arena *arena;
    vy_token token;    /* the next one */
    vy_position last;  /* of the token before it */
    uint8_t last_kind; /* likewise */
    unsigned brackets; /* open ( and [: inside them newlines mean nothing */
    unsigned depth;    /* of the recursion over expressions, see too_deep in parse_expr.c */
    unsigned nesting;  /* open blocks */
    uint32_t
        margin; /* column of the function or program being read: what belongs to the file stands no further right */
    int panic;
    int in_size;                                     /* an expression of a size: its calls are no calls of functions */
    uint32_t nodes, statements, functions, programs; /* of the text so far; statements with declarations */
    int is_over_limit;                               /* of one of them: the text was not read to its end */
    uint8_t infix[VY_TOKEN_KIND_COUNT];              /* vyre_op of an infix symbol, or VYRE_OP_COUNT */
    uint8_t assign[VY_TOKEN_KIND_COUNT];             /* vyre_op of `op=`, or VYRE_OP_COUNT */
    vy_ast_callee **calls; /* where the next called name of the current func goes; NULL outside units */
    vy_ast_file file;
    vy_ast_function **last_function, **last_program;
    vy_ast_const **last_const;
} vy_parser;

/* Parses the whole text into parser->file. What is wrong is in the report; the tree holds what could be understood.
 * The lexer (with the names) stays usable until vy_parser_free. */
void vy_parser_run(vy_parser *parser, const char *text, uint32_t size, vy_arena *arena, vy_diag_sink *report);
void vy_parser_free(vy_parser *parser);

/* ---- shared by the parser's files ---- */

void vy_parse_error(vy_parser *parser, vy_diag_code code, vy_position at, const char *fix, const char *format, ...)
    VY_PRINTF(5, 6);
/* Reports that `what` is needed where the parser stands. Returns 0. */
int vy_parse_expected(vy_parser *parser, const char *what);
void vy_parse_recover(vy_parser *parser);
/* Zeroed memory of the arena; NULL (and out_of_memory) when there is none. */
void *vy_parse_new(vy_parser *parser, size_t size);
/* Counts a part of the text before memory is taken for it. The first one over the limit is reported, and nothing behind it is read. */
void vy_parse_count(vy_parser *parser, uint32_t *count, uint32_t limit, const char *what, vy_position at);
/* Memory for a statement or declaration, which is counted. */
void *vy_parse_new_statement(vy_parser *parser, size_t size, vy_position at);

void vy_parse_advance(vy_parser *parser);
/* Whether the statement ends before the next token. */
int vy_parse_at_end(const vy_parser *parser);
/* Whether the next token is that symbol (also on another line), or that symbol on this line. */
int vy_parse_is(const vy_parser *parser, vy_token_kind kind);
int vy_parse_follows(const vy_parser *parser, vy_token_kind kind);
int vy_parse_accept(vy_parser *parser, vy_token_kind kind);
int vy_parse_expect(vy_parser *parser, vy_token_kind kind);
/* Whether the next token is the name `word` (a word that means something only here). */
int vy_parse_is_word(const vy_parser *parser, const char *word);
const char *vy_parse_name_text(const vy_parser *parser, uint32_t name);
/* A name to declare; 0 and an error if it is none. */
int vy_parse_name(vy_parser *parser, const char *what, uint32_t *name, vy_position *at);
/* A type; VY_TYPE_BAD and an error if it is none. */
uint8_t vy_parse_type(vy_parser *parser);
/* The first byte after the next token that is no space, on its line. */
char vy_parse_peek(const vy_parser *parser);
/* `expected one of …` with a suggestion for the word that stands there. Returns 0. */
int vy_parse_one_of(vy_parser *parser, const char *what, const char *const *words, unsigned count);

vy_ast_node *vy_parse_expression(vy_parser *parser); /* NULL only when memory is out */
vy_ast_node *vy_parse_size(vy_parser *parser);
/* `{ … }` with its statements; the braces are consumed. */
vy_ast_stmt *vy_parse_block(vy_parser *parser);
/* Statements up to the closing brace, which is not consumed. */
vy_ast_stmt *vy_parse_statements(vy_parser *parser);
/* The brace that ends a block; an error if it is missing. */
void vy_parse_close_block(vy_parser *parser, vy_position opened);
void vy_parse_end_statement(vy_parser *parser);
/* The head and body of a function or program; its keyword is consumed. */
vy_ast_function *vy_parse_function(vy_parser *parser);
vy_ast_function *vy_parse_program(vy_parser *parser);
int vy_parse_is_decl(const vy_parser *parser);
/* Whether `level` stands here with its word, and that line; *seen: it stands once. */
int vy_parse_is_level(const vy_parser *parser);
uint8_t vy_parse_level(vy_parser *parser, uint8_t *seen);
/* Whether the next token starts a const, function or program. */
int vy_parse_is_top_level(const vy_parser *parser);
/* One of these inside a body: reported, and read as if it stood where it belongs. */
void vy_parse_misplaced(vy_parser *parser);

#endif
