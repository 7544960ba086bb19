/* Words: which names the language has taken, and for what.
 *
 * Keywords, types, builtins, atomics and collectives are reserved everywhere. The names of ops that are written as
 * calls (`min`, `fma`, `len`, …) are taken only as names of functions: a variable may be called `max`, because a call
 * and a value never stand in the same place. Words such as `count`, `step`, `over`, `read`, `private` mean something
 * only where the grammar asks for them.
 *
 * What only level legal has is nobody's word: `poll`, `report`, `approx_div`, … are plain names. A call by such a name is the
 * construct unless the file has a function of that name, which programs of level legal may not have. */
#ifndef VY_IR_KEYWORDS_H
#define VY_IR_KEYWORDS_H

#include "vyre/op.h"

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
    VY_IDENTIFIER_PLAIN,      /* an ordinary name */
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

/* What a name means; VY_IDENTIFIER_PLAIN if nothing. Any thread. */
vy_identifier_info vy_identifier_find(const char *text, size_t length);

/* Whether it is taken everywhere: from VY_IDENTIFIER_KEYWORD on. */
int vy_identifier_is_reserved(const char *text, size_t length);

/* The words one by one, for suggestions: writes the spelling of the index-th word of that class; 0 past the end. */
enum { VY_KEYWORD_CAPACITY = 64 };
int vy_keyword_at(vy_identifier_class cls, unsigned index, char text[VY_KEYWORD_CAPACITY]);

/* Another name for a word: `workgroup_reduce_sum` for `workgroup_reduce_add`. Writes the word; 0 if it is none. */
int vy_keyword_synonym(const char *text, size_t length, char word[VY_KEYWORD_CAPACITY]);

/* Words of level legal: X(ID, spelling). Beside them the op rows of that level, as VY_INTRINSIC_OP. */
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

/* What a name means at level legal, where it is called; *op (optional) for VY_INTRINSIC_OP. */
vy_intrinsic vy_intrinsic_find(const char *text, size_t length, vyre_op *op);

/* Spelling of a collective as it is written, without its width. */
void vy_keyword_collective(vyre_collective collective, vyre_op combine, int subgroup, char text[VY_KEYWORD_CAPACITY]);

#endif
