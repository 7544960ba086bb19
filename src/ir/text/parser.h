/* Parser: converts tokens to a syntax tree by recursive descent, with precedence climbing over the op table for
 * operators.
 *
 * Error recovery: the first error of a statement is reported and sets `panic`, which suppresses further errors.
 * vy_parse_recover skips to the end of the statement and clears it. It parses the blocks that it skips, so that
 * errors in them are reported. */
#ifndef VY_IR_TEXT_PARSER_H
#define VY_IR_TEXT_PARSER_H

#include "ir/model.h"
#include "ir/number.h"
#include "ir/text/lexer.h"

/* ==== syntax tree ====
 *
 * All nodes are in one arena; names are vy_intern_pool of the lexer.
 *
 * The parser fills it in once. Lowering writes only the fields marked so, and overwrites them each time a tree is
 * lowered: a function is lowered once for the library and once for each program that reaches it. */

/* Types of expressions while a text is read: a vyre_type, or one of these. */
enum {
    VY_TYPE_UNTYPED = VYRE_TYPE_COUNT, /* consists of literals without suffix; the context determines its type */
    VY_TYPE_BAD                        /* error, already reported; compatible with every type */
};

/* ---- expressions ---- */

typedef enum vy_ast_node_kind {
    VY_AST_BAD,     /* error, already reported */
    VY_AST_NUMBER,  /* number, negative */
    VY_AST_BITS,    /* type_name and value: true, false, inf, nan */
    VY_AST_NAME,    /* name: variable, param, const, or (as an argument) a memory */
    VY_AST_INDEX,   /* name[a]; op = VY_BOUNDS_UNCHECKED: name![a], or name![a if b] */
    VY_AST_LEN,     /* len(name) */
    VY_AST_BUILTIN, /* op = vyre_builtin, axis */
    VY_AST_OP,      /* op = vyre_op of a, b, c */
    VY_AST_CAST,    /* type_name(a); lowering sets axis if a is a literal without suffix, which then gets the type */
    VY_AST_BITCAST, /* bitcast<type_name>(a) */
    VY_AST_ALIGN_OFFSET, /* misalignment(a), a name; lowering creates it from a call, like all intrinsics */
    VY_AST_ATOMIC, /* op = vyre_atomic on a (an index), b, c; order, scope; axis: default scope. Effects from here */
    VY_AST_COLLECTIVE, /* name = its word, op = vyre_collective of a, b; combine; scope 1: subgroup; width, axis */
    VY_AST_CALL,       /* name = function; arguments a, a->next, …; in sizes also div_ceil */
    VY_AST_OP_CALL, /* name = dotted op id, without its type if it is overloaded; lowering creates it also from a call
                          of a name of the dialect `math`; type_name: the overload that lowering selected, or
                          VYRE_TYPE_COUNT; value: cache of vy_lower_overloads; arguments likewise */
    /* Intrinsics of level legal, which lowering creates from calls. name = their word; arguments likewise. */
    VY_AST_LOAD_WIDE,
    VY_AST_STORE_WIDE,
    VY_AST_RECORD_TRAP,
    VY_AST_POLL
} vy_ast_node_kind;

typedef struct vy_ast_node vy_ast_node;
struct vy_ast_node {
    uint8_t kind, op, axis, type_name;
    uint8_t order, scope, combine, negative; /* order, scope: COUNT means the default */
    uint16_t depth;                          /* number of operators on the longest path below */
    uint8_t type;                            /* lowering: type of the value */
    uint8_t is_literal;                      /* lowering: the value is `bits` */
    uint8_t has_call;                        /* it or a node below is a call by name */
    uint8_t predicted;                       /* lowering: 1 + its type for vy_lower_predict; 0: not computed yet */
    uint32_t count;                          /* arguments */
    uint32_t name;
    uint32_t variable; /* lowering: variable or memory of the name or hoisted effect */
    vy_position at;    /* the token of the node: operator, name or literal */
    vy_ast_node *next; /* in a list of arguments */
    vy_ast_node *a, *b;
    union {
        vy_ast_node *c;
        uint64_t bits; /* lowering: value of a literal or const, which has no operands */
    };
    union {
        const vy_number *number;
        uint64_t value;
        vy_ast_node *width; /* subgroup collectives */
    };
};

static inline int vy_ast_node_is_effect(const vy_ast_node *node) {
    return node->kind >= VY_AST_ATOMIC;
}

/* ---- statements ---- */

/* A name being declared, with its declared type (VYRE_TYPE_COUNT if none). */
typedef struct vy_ast_declarator vy_ast_declarator;
struct vy_ast_declarator {
    uint32_t name;
    uint8_t type;
    vy_position at;
    vy_ast_declarator *next;
};

typedef enum vy_ast_stmt_kind {
    VY_AST_STMT_LET,    /* names = a; for `let (…)` grouped is set */
    VY_AST_STMT_VAR,    /* names = a */
    VY_AST_STMT_ASSIGN, /* target (name or index) = a, or op= with op != VYRE_OP_COUNT */
    VY_AST_STMT_CALL,   /* a: an effect */
    VY_AST_STMT_BARRIER,
    VY_AST_STMT_GRID_BARRIER,
    VY_AST_STMT_TRAP,  /* a */
    VY_AST_STMT_PRINT, /* text; a, a->next, … */
    VY_AST_STMT_IF,    /* a; body; other */
    VY_AST_STMT_FOR,   /* names in a .. b step c; body */
    VY_AST_STMT_WHILE, /* a; body */
    VY_AST_STMT_BREAK,
    VY_AST_STMT_CONTINUE,
    VY_AST_STMT_RETURN, /* a, a->next, … */
    VY_AST_STMT_REGION  /* text; body */
} vy_ast_stmt_kind;

typedef struct vy_ast_stmt vy_ast_stmt;
struct vy_ast_stmt {
    uint8_t kind; /* vy_ast_stmt_kind */
    uint8_t op;
    uint8_t grouped;
    uint32_t count; /* arguments or names */
    vy_position at; /* keyword, or the first token */
    vy_ast_declarator *names;
    vy_ast_node *target, *a, *b, *c;
    const char *text;
    uint32_t length;
    vy_ast_stmt *body, *other, *next;
};

/* ---- declarations ---- */

/* A declaration of a memory or parameter. */
typedef struct vy_ast_decl vy_ast_decl;
struct vy_ast_decl {
    uint32_t name;
    vy_position at;
    uint8_t is_memory;
    uint8_t space, type, access;   /* type: VY_TYPE_BAD after an error */
    struct vy_ast_const *constant; /* of a constant array, the rest of its declaration; NULL */
    vy_ast_node *size;             /* count of a buffer or length of an array; NULL */
    uint32_t index;                /* lowering: its variable or memory */
    vy_ast_decl *next;
};

typedef struct vy_ast_decl_list {
    vy_ast_decl *first, **last;
    uint32_t count;
} vy_ast_decl_list;

/* A name that is called, in the order of the text. */
typedef struct vy_ast_callee vy_ast_callee;
struct vy_ast_callee {
    uint32_t name;
    vy_ast_callee *next;
};

/* A function or a program. */
typedef struct vy_ast_function vy_ast_function;
struct vy_ast_function {
    uint32_t name;
    vy_position at;
    int is_program;
    int is_bad;               /* has errors: it is not lowered to a program */
    int is_broken;            /* has an error in its head: its parameters and results are unknown */
    vy_ast_decl_list params;  /* functions: scalars and memories in order; programs: params */
    vy_ast_decl_list buffers; /* programs */
    vy_ast_decl_list arrays;
    vy_ast_decl_list broken; /* names of invalid declarations, bound as VY_BINDING_BROKEN */
    vy_ast_declarator *results;
    uint32_t result_count;
    /* Programs. */
    uint8_t numerics, level, grid_kind;
    uint8_t has_numerics, has_level, has_workgroup, has_grid;
    uint32_t workgroup_count, grid_count;
    vy_ast_node *workgroup[3], *grid[3];
    uint32_t grid_name; /* over, indirect */
    vy_position grid_name_at;
    vy_position workgroup_at;
    vy_ast_stmt *body;
    vy_ast_callee *calls;
    uint32_t ordinal;    /* position in the file, among its kind */
    uint32_t index;      /* lowering: its function in the program being built */
    uint32_t reached_by; /* lowering: stamp of the last program that reached it */
    vy_ast_function *next;
};

typedef struct vy_ast_const {
    uint32_t name;
    vy_position at;
    uint8_t type;       /* declared, or VYRE_TYPE_COUNT; after evaluation the type, or VY_TYPE_BAD */
    vy_ast_node *value; /* of an array: its elements, a list */
    uint64_t bits;
    int is_array;
    int is_broken;      /* arrays: the elements could not be parsed */
    vy_ast_node *size;  /* arrays: the declared number of elements, or NULL */
    uint32_t count;     /* arrays: of elements */
    uint8_t *bytes;     /* lowering: the elements of an array, as in memory */
    int is_known;       /* evaluated */
    const char *define; /* the -D text that replaces its value, or NULL */
    struct vy_ast_const *next;
} vy_ast_const;

typedef struct vy_ast_file {
    uint8_t level, has_level; /* of its functions, if declared */
    vy_ast_const *consts;
    vy_ast_function *functions, *programs;
} vy_ast_file;

/* ==== parser ==== */

typedef struct vy_parser {
    vy_lexer lexer;
    vy_diag_sink *report;
    vy_arena *arena;
    vy_token token;    /* the current token, not yet consumed */
    vy_position last;  /* position of the previous token */
    uint8_t last_kind; /* kind of the previous token */
    unsigned brackets; /* open ( and [, inside which newlines have no meaning */
    unsigned depth;    /* of the recursion over expressions, see too_deep in parse_expr.c */
    unsigned nesting;  /* open blocks */
    uint32_t
        margin; /* column of the function or program being parsed; file-level declarations start at or left of it */
    int panic;
    int has_results;                                 /* the function being parsed returns values */
    int in_size;                                     /* inside a size expression, whose calls are not function calls */
    uint32_t nodes, statements, functions, programs; /* counts so far; statements include declarations */
    int is_over_limit;                   /* one of the counts exceeds its limit; the rest of the text was skipped */
    uint8_t infix[VY_TOKEN_KIND_COUNT];  /* vyre_op of an infix symbol, or VYRE_OP_COUNT */
    uint8_t assign[VY_TOKEN_KIND_COUNT]; /* vyre_op of `op=`, or VYRE_OP_COUNT */
    vy_ast_callee *
        *calls; /* tail of the list of names that the current function calls; NULL outside functions and programs */
    vy_ast_file file;
    vy_ast_function **last_function, **last_program;
    vy_ast_const **last_const;
} vy_parser;

/* Parses the whole text into parser->file. Errors are added to the report; the tree contains the parts that could be
 * parsed. The lexer, which owns the names, stays valid until vy_parser_free. */
void vy_parser_run(vy_parser *parser, const char *text, uint32_t size, vy_arena *arena, vy_diag_sink *report);
void vy_parser_free(vy_parser *parser);

/* ---- shared by the parser's files ---- */

void vy_parse_error(vy_parser *parser, vy_diag_code code, vy_position at, const char *fix, const char *format, ...)
    VY_PRINTF(5, 6);
/* Reports "expected <what>" at the current token. Returns 0. */
int vy_parse_expected(vy_parser *parser, const char *what);
void vy_parse_recover(vy_parser *parser);
/* Zeroed memory of the arena; on failure sets out_of_memory and returns NULL. */
void *vy_parse_new(vy_parser *parser, size_t size);
/* Counts an item before memory is allocated for it. If the count exceeds the limit, reports it and skips the rest of
 * the text. */
void vy_parse_count(vy_parser *parser, uint32_t *count, uint32_t limit, const char *what, vy_position at);
/* Allocates and counts a statement or declaration. */
void *vy_parse_new_statement(vy_parser *parser, size_t size, vy_position at);

void vy_parse_advance(vy_parser *parser);
/* Whether the statement ends before the next token. */
int vy_parse_at_end(const vy_parser *parser);
/* Whether the next token is that symbol (also on another line), or that symbol on this line. */
int vy_parse_is(const vy_parser *parser, vy_token_kind kind);
int vy_parse_follows(const vy_parser *parser, vy_token_kind kind);
int vy_parse_accept(vy_parser *parser, vy_token_kind kind);
int vy_parse_expect(vy_parser *parser, vy_token_kind kind);
/* Whether the next token is the contextual keyword `word`. */
int vy_parse_is_word(const vy_parser *parser, const char *word);
const char *vy_parse_name_text(const vy_parser *parser, uint32_t name);
/* Parses a name to declare; reports an error and returns 0 if the token is not a name. */
int vy_parse_name(vy_parser *parser, const char *what, uint32_t *name, vy_position *at);
/* Parses a type; reports an error and returns VY_TYPE_BAD if the token is not a type. */
uint8_t vy_parse_type(vy_parser *parser);
/* The first non-space byte after the next token, on its line. */
char vy_parse_peek(const vy_parser *parser);
/* Reports that one of the words was expected, with a suggestion for the word found. Returns 0. */
int vy_parse_one_of(vy_parser *parser, const char *what, const char *const *words, unsigned count);

/* ---- expressions: parse_expr.c; nodes are NULL only if memory could not be allocated ---- */

vy_ast_node *vy_parse_node(vy_parser *parser, vy_ast_node_kind kind, vy_position at);
/* Updates the depth of `node` for its operand `below`; a node that is too deep is reported and cut off. */
void vy_parse_update_depth(vy_parser *parser, vy_ast_node *node, const vy_ast_node *below);
/* Parses the rest of a dotted id after its first name, and extends `at` over it. Returns 0 after an error. */
int vy_parse_op_id(vy_parser *parser, uint32_t first, vy_position *at, char id[VY_LIMIT_NAME + 1]);
/* Parses the op id in a string token. Returns 0 after an error. */
int vy_parse_quoted_id(vy_parser *parser, char id[VY_LIMIT_NAME + 1]);
/* Adds a name that is not a token of the text; on failure sets out_of_memory and returns VY_SYMBOL_INVALID. */
uint32_t vy_parse_add_name(vy_parser *parser, const char *text);
vy_ast_node *vy_parse_expression(vy_parser *parser);
vy_ast_node *vy_parse_size(vy_parser *parser);

/* ---- statements and declarations: parse_stmt.c, parse.c ---- */

/* Parses `{ … }` including the braces. */
vy_ast_stmt *vy_parse_block(vy_parser *parser);
/* Parses statements up to the closing brace, which is not consumed. */
vy_ast_stmt *vy_parse_statements(vy_parser *parser);
/* Consumes the closing brace of a block; reports an error if it is missing. */
void vy_parse_close_block(vy_parser *parser, vy_position opened);
void vy_parse_end_statement(vy_parser *parser);
int vy_parse_is_decl(const vy_parser *parser);
/* Whether the next token starts a const, function or program. */
int vy_parse_is_top_level(const vy_parser *parser);
/* Reports a file-level declaration inside a body, and parses it as if it were at file level. */
void vy_parse_misplaced(vy_parser *parser);

#endif
