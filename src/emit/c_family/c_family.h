/* Code that the emitters for languages of the C family share: names, expressions, statements and control flow of a
 * legal program. A dialect is one of these languages; vy_c_dialect contains the differences between them.
 *
 *   op.c         types, ops, expressions and literals
 *   op_rows.h    rows of op tables that dialects share
 *   c_family.c   identifiers, statements and control flow
 *   barriers.c   barriers of dialects that run the invocations of a workgroup sequentially */
#ifndef VY_EMIT_C_FAMILY_C_FAMILY_H
#define VY_EMIT_C_FAMILY_C_FAMILY_H

#include "analysis/def_use.h"
#include "base/intern.h"
#include "base/string.h"
#include "ir/model.h"

typedef struct vy_c vy_c;

/* Writes a statement. */
typedef void vy_c_writer(vy_c *c, uint32_t stmt, const vy_stmt *s);

/* The code of an op on a class of types. One of: an operator with its precedence; a function of the library (no
 * precedence); the body of a function that is defined in the file. Empty: no program has the op on such types. In a
 * text, $T is the type of the operands, $R that of the result, $U the unsigned type of the same width, $P the type that
 * wraps, $W the width, $F the suffix of the library's functions, $B 2 to the bits of the result's magnitude as a
 * float, $I a float from which on all are integers, $M and $L the largest and least value of the result, $u the type
 * u64, $S the suffix of its literals, and @name the function of another op. */
typedef struct vy_c_spelling {
    const char *text;
    uint8_t precedence;
    uint8_t is_body;
} vy_c_spelling;

/* u32 and u64; i32 and i64; integers of 8 and 16 bits; f32 and f64; bool. */
typedef struct vy_c_row {
    vy_c_spelling words, signs, narrow, floats, bools;
} vy_c_row;

/* A float literal whose bits the compiler must not know, and the expression that replaces it. */
typedef struct vy_c_hidden {
    uint8_t type;
    uint64_t bits;
    const char *text;
} vy_c_hidden;

typedef struct vy_c_dialect {
    const char *language;
    /* In the order of the types. Of f16 and bf16 there are only the bits: legal programs do not compute with them. */
    const char *const *types;
    /* Of the macros with the limits of a type: "INT32" for INT32_MAX. */
    const char *const *limits;
    const vy_c_row *rows;               /* by op */
    const vy_c_spelling *wide_mul_high; /* by whether signed: mul_high of 64 bits */
    /* The body of a function that moves bits between an integer and a float of a size; NULL: "as_" and the type. */
    const char *moves_bits;
    /* An integer 0 that the compiler does not know; or NULL. An exclusive or with it is applied to operands of some
     * conversions of integers (op.c), and to conditions that leave a loop. */
    const char *unknown_zero;
    const char *long_suffix;  /* of literals of 64 bits, signed; after a "u", unsigned */
    const char *float_suffix; /* of the library's functions for f32 */
    /* A word (analysis/byte_word.h) at an element, %m: little-endian, and big-endian. NULL: bytes are combined. */
    const char *word, *word_reversed;
    const char *specials[2];     /* in constant arrays: NaN and infinity; NULL: the literal */
    const vy_c_hidden *hidden;   /* literals that are replaced in expressions; the last text is NULL; or NULL */
    const char *const *reserved; /* words that cannot be a name; up to NULL */
    /* The statements that differ from c_family.c's: by kind, or NULL. */
    vy_c_writer *const *writers;
    void (*builtin)(vy_c *c, const vy_expr *e); /* also ALIGN_OFFSET */
    const char *qualifiers;                     /* of functions */
    const char *separator;                      /* the line at a VY_C_MARK_… */
    /* For barriers.c: the lines that end the code of an invocation at a workgroup barrier, at a grid barrier, and at
     * the end of the program. */
    const char *at_barrier[2], *at_end;
    const char *array_attribute; /* after the declaration of an array */
    int is_for_gcc;              /* code avoids an erratum of gcc 12 (op.c) */
} vy_c_dialect;

/* A field of the struct of an invocation: a value that is needed after a barrier. */
typedef struct vy_c_field {
    vy_symbol name;
    uint8_t type;
} vy_c_field;

/* Marks of a statement, bits. */
enum {
    VY_C_MARK_ROLLED = 1, /* the loop is not unrolled: a pragma comes before it */
    VY_C_MARK_BEFORE = 2, /* the separator of the dialect comes before the loop */
    VY_C_MARK_TAIL = 4,   /* the body of the loop ends in the separator */
    VY_C_MARK_FLAT = 8    /* the `if` becomes straight-line code: it only assigns variables */
};

struct vy_c {
    const vyre_program *program;
    const vy_function *entry;
    const vy_c_dialect *dialect;
    vy_string *out;         /* the text being written */
    vy_string functions;    /* the functions of ops that the body calls, each once */
    vy_intern_pool defined; /* their names */
    vy_intern_pool names;   /* every other identifier of the file */
    vy_symbol *variables;   /* the name of each variable and memory, and of a buffer's length */
    vy_symbol *memories, *lengths;
    uint8_t *is_measured;                 /* by memory: its length is used */
    const char *prefixes[VY_SPACE_COUNT]; /* before the names of memories; NULL: none */
    uint8_t *is_kept, *is_kept_array;     /* by variable; by memory: it is a field of the invocation */
    uint8_t *marks;                       /* by statement: VY_C_MARK_…; NULL: none */
    /* An integer 0 that the compiler does not know, added to results of bitwise operations that a select or an `if`
     * chooses; NULL: none. */
    const char *choice_zero;
    uint32_t branch;      /* the `if` around the statement that is written, with no loop between them; VY_NONE */
    const char *guard;    /* in straight-line code, the bool under which a statement has an effect; otherwise NULL */
    unsigned indentation; /* blocks around the line */
    uint32_t line;        /* of the source: the last one that a comment named */
    uint32_t resumes;     /* barriers written so far, of dialects without barriers */
    uint8_t reports, polls, barriers, grid_barriers; /* the program has such statements */
    VY_VECTOR(vy_c_field) fields;
    vy_def_use uses; /* VY_DEF_USE_DECLARATIONS */
    vy_arena arena;
    vyre_status status;
    vyre_error *error;
};

/* Allocates what is kept by variable and by memory. vy_c_close follows, also after a failure. */
void vy_c_open(vy_c *c, const vyre_program *program, const vy_c_dialect *dialect, vyre_error *error);
void vy_c_close(vy_c *c);

/* Records, once, that the program has a construct that only exists before legalisation or for other targets. */
void vy_c_refuse(vy_c *c, const char *what);
void vy_c_refuse_memory(vy_c *c);

/* ---- names ---- */

/* The text of a symbol; valid until another one is made. */
static inline const char *vy_c_text(const vy_c *c, vy_symbol name) {
    return name < c->names.size ? c->names.pool + name : "";
}
/* A new identifier that begins with this text. */
vy_symbol vy_c_unique(vy_c *c, const char *text);
/* A copy of a text, valid until the emitter is closed; "" if out of memory. */
const char *vy_c_keep(vy_c *c, const char *text);
/* Names all variables and memories, and the lengths of buffers. Names that are added to the pool before are avoided. */
void vy_c_name_all(vy_c *c);

static inline const char *vy_c_variable(const vy_c *c, uint32_t variable) {
    return vy_c_text(c, c->variables[variable]);
}
static inline const char *vy_c_memory(const vy_c *c, uint32_t memory) {
    return vy_c_text(c, c->memories[memory]);
}
static inline const char *vy_c_length(const vy_c *c, uint32_t memory) {
    return vy_c_text(c, c->lengths[memory]);
}

/* ---- the program ---- */

static inline const vy_stmt *vy_c_stmt(const vy_c *c, uint32_t stmt) {
    return &c->program->stmts.items[stmt];
}
static inline const vy_expr *vy_c_expr_at(const vy_c *c, uint32_t expr) {
    return &c->program->exprs.items[expr];
}
static inline uint8_t vy_c_variable_type(const vy_c *c, uint32_t variable) {
    return c->program->variables.items[variable].type;
}
static inline const vy_memory *vy_c_memory_at(const vy_c *c, uint32_t memory) {
    return &c->program->memories.items[memory];
}
/* The memories of the entry are the buffers, then the arrays. */
static inline uint32_t vy_c_buffers_end(const vy_c *c) {
    return c->entry->first_memory + c->program->buffer_count;
}
static inline uint32_t vy_c_memories_end(const vy_c *c) {
    return c->entry->first_memory + c->entry->memory_count;
}

/* ---- types and expressions (op.c) ---- */

const char *vy_c_type(const vy_c *c, uint8_t type);
/* Precedence of C's operators. An expression is written in parentheses if its own is below `least`. */
/* clang-format off */
enum { VY_C_ANY, VY_C_SELECT, VY_C_LOR, VY_C_LAND, VY_C_OR, VY_C_XOR, VY_C_AND, VY_C_EQUAL, VY_C_LESS, VY_C_SHIFT,
       VY_C_ADD, VY_C_MUL, VY_C_UNARY, VY_C_PRIMARY };
/* clang-format on */
void vy_c_expr(vy_c *c, uint32_t expr, unsigned least);
void vy_c_literal(vy_c *c, uint8_t type, uint64_t bits, unsigned least);
/* Whether an expression is written as the variable alone. */
int vy_c_is_variable(const vy_c *c, uint32_t expr, uint32_t variable);
/* Whether the value is the result of a bitwise operation on integers, also through `let`s. */
int vy_c_is_bitwise(const vy_c *c, uint32_t expr);
/* Writes the elements of a constant array, as an initialiser without its braces. */
void vy_c_table(vy_c *c, uint32_t memory);
/* Writes a text, with these replaced: %e is an expression, %p one with its `least`, %m the element of a memory at an
 * index, %v a variable, %d its declaration with " = ", %l the same of one that does not change, %s a text. */
void vy_c_write(vy_c *c, const char *format, va_list arguments);
/* Defines a function "KIND_TYPE" if it is not defined yet: `params` and `body` are texts as in the op table. */
typedef struct vy_c_name {
    char text[64];
} vy_c_name;
vy_c_name vy_c_define(vy_c *c, const char *kind, const char *params, const char *body, uint8_t type, uint8_t result);

/* ---- statements ---- */

/* Writes a line (vy_c_write). The statement (VY_NONE: none) gives the source line, which is added as a comment if it
 * differs from the last one. */
void vy_c_line(vy_c *c, uint32_t stmt, const char *format, ...);
/* The statements from `first` to before `end`; vy_c_body with one more level of indentation. */
void vy_c_block(vy_c *c, uint32_t first, uint32_t end);
void vy_c_body(vy_c *c, uint32_t first, uint32_t end);
void vy_c_check_access(vy_c *c, const vy_stmt *s);
void vy_c_add_field(vy_c *c, vy_symbol name, uint8_t type);
/* The source's name, within a comment. */
void vy_c_source_name(vy_c *c);

/* ---- barriers (barriers.c) ---- */

/* Finds the variables that are live across a barrier, and the features of the program (reports, polls, barriers).
 * If it is not called, c->barriers is 0, and the body has the barriers of the language. */
void vy_c_scan(vy_c *c);
vy_c_writer vy_c_barrier, vy_c_return;
/* Writes the body. With barriers, `self` points to the struct of the invocation, whose `at` is initially 0. */
void vy_c_invocation(vy_c *c);
/* Declares the arrays of a space that are fields of the invocation, or those that are not. */
void vy_c_arrays(vy_c *c, vy_space space, int is_kept);
/* Declares the struct of an invocation. */
void vy_c_state(vy_c *c);

#endif
