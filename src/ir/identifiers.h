/* Identifiers and keywords: the names that the language reserves, and the names that programs, variables, functions,
 * ops and dialects may have.
 *
 * Keywords, types, builtins, atomics and collectives are reserved everywhere. The names of ops that are written as
 * calls (`min`, `fma`, `len`, …) are reserved only as names of functions: a variable may be called `max`, because the
 * grammar distinguishes a call from a value. Contextual words such as `count`, `step`, `over`, `read` and `private`
 * have a meaning only where the grammar expects them.
 *
 * Intrinsics of level legal (`poll`, `report`, `approx_div`, …) are plain names. A call by such a name is the intrinsic
 * unless the file has a function of that name, which programs of level legal may not have.
 *
 * The lexer, the verifier, the builder and the dialects share these rules, so that every program can be printed and
 * parsed again. */
#ifndef VY_IR_IDENTIFIERS_H
#define VY_IR_IDENTIFIERS_H

#include "vyre/op.h"

#include <stddef.h>

/* ---- keywords ---- */

/* X(ID, spelling) */
/* clang-format off */
#define VY_KEYWORD_LIST(X)                                                                                             \
    X(PROGRAM, "program") X(FN, "fn") X(CONST, "const") X(PARAM, "param") X(BUFFER, "buffer")                          \
    X(WORKGROUP, "workgroup") X(GRID, "grid") X(ARRAY, "array") X(NUMERICS, "numerics") X(LET, "let") X(VAR, "var")    \
    X(IF, "if") X(ELSE, "else") X(FOR, "for") X(IN, "in") X(WHILE, "while") X(BREAK, "break")                          \
    X(CONTINUE, "continue") X(RETURN, "return") X(BARRIER, "barrier") X(GRID_BARRIER, "grid_barrier")                  \
    X(TRAP, "trap") X(PRINT, "print") X(REGION, "region") X(TRUE, "true") X(FALSE, "false")
/* clang-format on */
typedef enum vy_keyword {
#define X(ID, spelling) VY_KEYWORD_##ID,
    VY_KEYWORD_LIST(X)
#undef X
        VY_KEYWORD_COUNT
} vy_keyword;

typedef enum vy_identifier_class {
    VY_IDENTIFIER_PLAIN,      /* not reserved */
    VY_IDENTIFIER_OP,         /* index = vyre_op written as a call */
    VY_IDENTIFIER_LEN,        /* len */
    VY_IDENTIFIER_KEYWORD,    /* index = vy_keyword; from here on reserved */
    VY_IDENTIFIER_TYPE,       /* index = vyre_type */
    VY_IDENTIFIER_BUILTIN,    /* index = vyre_builtin */
    VY_IDENTIFIER_BITCAST,    /* bitcast */
    VY_IDENTIFIER_ATOMIC,     /* index = vyre_atomic */
    VY_IDENTIFIER_COLLECTIVE, /* index = vyre_collective; combine; subgroup */
    VY_IDENTIFIER_CLASS_COUNT
} vy_identifier_class;

typedef struct vy_identifier_info {
    uint8_t cls; /* vy_identifier_class */
    uint8_t index;
    uint8_t combine;  /* collectives that combine: vyre_op; else VYRE_OP_COUNT */
    uint8_t subgroup; /* collectives: 1 if over a subgroup */
} vy_identifier_info;

/* The meaning of a name; VY_IDENTIFIER_PLAIN if it has none. Any thread. */
vy_identifier_info vy_identifier_find(const char *text, size_t length);

/* Whether it is reserved everywhere: from VY_IDENTIFIER_KEYWORD on. */
int vy_identifier_is_reserved(const char *text, size_t length);

/* Enumerates the words of a class, for suggestions: writes the spelling of the index-th word; 0 past the end. */
enum { VY_KEYWORD_CAPACITY = 64 };
int vy_keyword_at(vy_identifier_class cls, unsigned index, char text[VY_KEYWORD_CAPACITY]);

/* Writes the word that a synonym denotes: `workgroup_reduce_add` for `workgroup_reduce_sum`. 0 if it is not a
 * synonym. */
int vy_keyword_synonym(const char *text, size_t length, char word[VY_KEYWORD_CAPACITY]);

/* Intrinsics of level legal: X(ID, spelling). The ops of that level are VY_INTRINSIC_OP. */
#define VY_INTRINSIC_LIST(X)                                                                                           \
    X(ALIGN_OFFSET, "misalignment")                                                                                    \
    X(LOAD_WIDE, "load_wide") X(STORE_WIDE, "store_wide") X(RECORD_TRAP, "report") X(POLL, "poll")
typedef enum vy_intrinsic {
    VY_INTRINSIC_NONE,
    VY_INTRINSIC_OP,
#define X(ID, spelling) VY_INTRINSIC_##ID,
    VY_INTRINSIC_LIST(X)
#undef X
        VY_INTRINSIC_COUNT
} vy_intrinsic;

/* The meaning of a called name at level legal; *op (optional) is set for VY_INTRINSIC_OP. */
vy_intrinsic vy_intrinsic_find(const char *text, size_t length, vyre_op *op);

/* The spelling of a collective in the text form, without its width. */
void vy_keyword_collective(vyre_collective collective, vyre_op combine, int subgroup, char text[VY_KEYWORD_CAPACITY]);

/* ---- identifier rules ---- */

/* [A-Za-z_][A-Za-z0-9_]*, at most VY_LIMIT_NAME bytes. Accepts keywords: check vy_text_is_keyword, too. */
int vy_text_is_identifier(const char *text, size_t length);
/* Reserved words, which cannot name a variable, memory, function or program. */
int vy_text_is_keyword(const char *text, size_t length);
/* Whether this may name a variable, memory, param or program: an identifier that is not a keyword. */
int vy_text_is_name(const char *text, size_t length);
/* Whether this may name a function: as above, and not an op that is written as a call (`min`, `sqrt`, `len`, …); or an
 * op id, which the function then implements. */
int vy_text_is_function_name(const char *text, size_t length);
/* An op id: two or more parts joined by `.` or `::`, at most VY_LIMIT_NAME bytes. A part is a letter or `_`, then
 * letters, digits, `_` and `-`; the first part is not a keyword. */
int vy_text_is_op_id(const char *text, size_t length);
#define VY_OP_ID_FIX                                                                                                   \
    "write dialect.name: parts of letters, digits, `_` and `-` that begin with a letter or `_`, joined by `.` or "     \
    "`::`, at "                                                                                                        \
    "most %d bytes"
/* The name of a dialect: the same with one or more parts. */
int vy_text_is_dialect_name(const char *text, size_t length);
/* One part of an op id after the first. Accepts keywords. */
int vy_text_is_op_part(const char *text, size_t length);
/* An op id that the text form writes without quotes: identifiers joined by dots. */
int vy_text_is_bare_op_id(const char *text, size_t length);
/* The offset in an op id after a dialect's name and a separator; 0 if the id does not start with them. */
size_t vy_op_id_after(const char *id, size_t length, const char *dialect);
/* The offset of the last part of an op id; 0 if it has only one. */
size_t vy_op_id_last(const char *id, size_t length);

#endif
