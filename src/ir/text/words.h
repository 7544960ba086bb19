/* Words: which names the language has taken, and for what.
 *
 * Keywords, types, builtins, atomics and collectives are reserved everywhere. The names of ops that are written as
 * calls (`min`, `fma`, `len`, …) are taken only as names of functions: a variable may be called `max`, because a call
 * and a value never stand in the same place. Words such as `count`, `step`, `over`, `read`, `private` mean something
 * only where the grammar asks for them.
 *
 * What only level legal has is nobody's word: `poll`, `report`, `approx_div`, … are plain names. A call by such a name is the
 * construct unless the file has a function of that name, which programs of level legal may not have. */
#ifndef VY_IR_TEXT_WORDS_H
#define VY_IR_TEXT_WORDS_H

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

typedef enum vy_word_class {
    VY_WORD_PLAIN,      /* an ordinary name */
    VY_WORD_OP,         /* index = vyre_op written as a call */
    VY_WORD_LEN,        /* len */
    VY_WORD_KEYWORD,    /* index = vy_keyword; from here on reserved */
    VY_WORD_TYPE,       /* index = vyre_type */
    VY_WORD_BUILTIN,    /* index = vyre_builtin */
    VY_WORD_BITCAST,    /* bitcast */
    VY_WORD_ATOMIC,     /* index = vyre_atomic */
    VY_WORD_COLLECTIVE, /* index = vyre_collective; combine; subgroup */
    VY_WORD_CLASS_COUNT
} vy_word_class;

typedef struct vy_word {
    uint8_t cls; /* vy_word_class */
    uint8_t index;
    uint8_t combine;  /* collectives that combine: vyre_op; else VYRE_OP_COUNT */
    uint8_t subgroup; /* collectives: 1 if over a subgroup */
} vy_word;

/* What a name means; VY_WORD_PLAIN if nothing. Any thread. */
vy_word vy_word_find(const char *text, size_t length);

/* Whether it is taken everywhere: from VY_WORD_KEYWORD on. */
int vy_word_is_reserved(const char *text, size_t length);

/* The words one by one, for suggestions: writes the spelling of the index-th word of that class; 0 past the end. */
enum { VY_WORD_ROOM = 64 };
int vy_word_at(vy_word_class cls, unsigned index, char text[VY_WORD_ROOM]);

/* Another name for a word: `workgroup_reduce_sum` for `workgroup_reduce_add`. Writes the word; 0 if it is none. */
int vy_word_synonym(const char *text, size_t length, char word[VY_WORD_ROOM]);

/* Words of level legal: X(ID, spelling). Beside them the op rows of that level, as VY_LEGAL_OP. */
#define VY_LEGAL_WORD_LIST(X)                                                                                          \
    X(MISALIGNMENT, "misalignment")                                                                                    \
    X(LOAD_WIDE, "load_wide") X(STORE_WIDE, "store_wide") X(REPORT, "report") X(POLL, "poll")
typedef enum vy_legal_word {
    VY_LEGAL_NONE,
    VY_LEGAL_OP,
#define X(ID, spelling) VY_LEGAL_##ID,
    VY_LEGAL_WORD_LIST(X)
#undef X
        VY_LEGAL_COUNT
} vy_legal_word;

/* What a name means at level legal, where it is called; *op (optional) for VY_LEGAL_OP. */
vy_legal_word vy_word_legal(const char *text, size_t length, vyre_op *op);

/* Spelling of a collective as it is written, without its width. */
void vy_word_collective(vyre_collective collective, vyre_op combine, int subgroup, char text[VY_WORD_ROOM]);

#endif
