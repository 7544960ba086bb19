/* The machine behind the phases of legalisation: walks the entry of a program, lowers every expression into a tree of its own, and writes a new
 * program.
 *
 * Sequences that replace an operation are functions of a library in the language itself (legal_library.h). `vy_legaliser_call` puts the body of such a
 * function where it is needed: a function that is one `return` becomes an expression, any other one statements before the current one. That is
 * sound because trees are pure: the statement's effect comes after all of them, and the library writes nothing but its own variables.
 *
 * What must stay true: a tree is used once. Only leaves (literals, variables) may be used again, through vy_legaliser_again. */
#ifndef VY_TRANSFORM_LEGAL_REWRITE_H
#define VY_TRANSFORM_LEGAL_REWRITE_H

#include "transform/copy.h"
#include "transform/legal_library.h"
#include "vyre/backend.h"

typedef struct vy_legaliser vy_legaliser;

/* What a phase decides. Trees in, trees out. */
typedef struct vy_legaliser_phase {
    /* Looks at the program first (NULL: has nothing to look for). */
    void (*start)(vy_legaliser *rw);
    /* The type that holds values of a type between loads and stores. */
    vyre_type (*carrier)(const vy_legaliser *rw, vyre_type type);
    /* An element of `type` as it lies in memory, or a param → a value of the carrier; and back. */
    uint32_t (*widen)(vy_legaliser *rw, vyre_type type, uint32_t tree);
    uint32_t (*narrow)(vy_legaliser *rw, vyre_type type, uint32_t tree, vy_space space);
    /* An op on lowered operands; `operand` is their original type (for select: of the arms). */
    uint32_t (*op)(vy_legaliser *rw, const vy_expr *e, vyre_type operand, const uint32_t *trees);
    /* Whether op() would give the same op on the same operands. */
    int (*keeps)(const vy_legaliser *rw, const vy_expr *e, vyre_type operand);
    /* What is narrower than 32 bits and its own carrier is loaded and stored as it is. */
    uint8_t keeps_narrow;

    /* For phases that change what is declared (legal_bits.c), or make two values of one (legal_pairs.c); NULL in others. */
    /* Declares params, buffers, arrays and the grid. */
    void (*declare)(vy_legaliser *rw);
    /* Lowers an expression that is no op; returns 0 if it has nothing to say about it. */
    int (*leaf)(vy_legaliser *rw, const vy_expr *e, uint32_t *tree);
    /* What an index became → a tree that is put as one. */
    uint32_t (*index)(vy_legaliser *rw, uint32_t tree);
    /* Writes a statement and its body; returns 0 if it has nothing to say about it. */
    int (*statement)(vy_legaliser *rw, uint32_t stmt);
} vy_legaliser_phase;

/* A tree that has grown this deep is bound to a variable, so that no expression of the result is deeper than the language allows, whatever the
 * library adds to it. */
enum { VY_LEGALISER_DEEPEST = 64 };

/* A tree that stands for two (a = the low half, b = the high one) and is never put itself. */
enum { VY_LEGALISER_PAIR = VY_EXPR_KIND_COUNT };

struct vy_legaliser {
    const vyre_program *from;
    const vy_legaliser_phase *phase;
    vy_legal_library *library;
    uint64_t exact;
    uint32_t native; /* the narrow floats that are held as they are: bits 1 << vyre_type */
    uint32_t plain;  /* the types that are (legal_plain.c): bits 1 << vyre_type */
    vy_copy copy;
    VY_VECTOR(vy_expr) trees;   /* operands are trees; variables and memories are the draft's */
    VY_VECTOR(uint8_t) depths;  /* of trees */
    VY_VECTOR(uint32_t) others; /* the statements that are not copied as they are, in order */
    uint32_t next_other;
    const vy_legal_unit *called; /* the part of the library whose function is put somewhere */
    uint32_t fresh;              /* numbers of new names */
    vyre_status status;          /* the first refusal; memory is noted in the draft */
    vyre_error *error;
};

/* Runs a phase over `program`, which is inlined. */
vyre_status vy_legaliser_run(const vyre_program *program, const vy_legaliser_phase *phase, vy_legal_library *library,
                             uint64_t exact, vyre_program **out, vyre_error *error);

static inline int vy_legaliser_has(const vy_legaliser *rw, vyre_numeric numeric) {
    return rw->exact >> numeric & 1;
}

/* The original type of the operands of an op (for select: of the arms). */
static inline vyre_type vy_legaliser_operand_type(const vyre_program *p, const vy_expr *e) {
    return (vyre_type)p->exprs.items[e->op == VYRE_OP_SELECT ? e->b : e->a].type;
}

/* ---- trees ---- */

vyre_type vy_legaliser_type(const vy_legaliser *rw, uint32_t tree);
uint32_t vy_legaliser_literal(vy_legaliser *rw, vyre_type type, uint64_t bits);
uint32_t vy_legaliser_op(vy_legaliser *rw, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c);
static inline uint32_t vy_legaliser_op1(vy_legaliser *rw, vyre_op op, vyre_type type, uint32_t a) {
    return vy_legaliser_op(rw, op, type, a, VY_NONE, VY_NONE);
}
/* What the op gives if that is known, a literal or one of the operands; else VY_NONE (legal_fold.c). vy_legaliser_op asks it. */
uint32_t vy_legaliser_fold(vy_legaliser *rw, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c);
/* The same of operands that are literals (their bits) or not (NULL), by the type of the first. The literal is *bits. */
typedef enum vy_legal_folded {
    VY_FOLDED_NOT,
    VY_FOLDED_LITERAL,
    VY_FOLDED_A,
    VY_FOLDED_B,
    VY_FOLDED_C
} vy_legal_folded;
vy_legal_folded vy_legal_fold(vyre_op op, vyre_type type, vyre_type operand, const uint64_t *a, const uint64_t *b,
                              uint64_t *bits);
/* The tree itself if it has that type, else a cast. */
uint32_t vy_legaliser_cast(vy_legaliser *rw, vyre_type type, uint32_t tree);
/* A node over trees; variables and memories are the draft's. */
uint32_t vy_legaliser_node(vy_legaliser *rw, vy_expr e);
/* A variable of the draft, a leaf. */
uint32_t vy_legaliser_variable(vy_legaliser *rw, uint32_t variable);
/* An expression of the program. */
uint32_t vy_legaliser_lower(vy_legaliser *rw, uint32_t expr);
/* Calls a function of the library. There is room for VY_LIMIT_RESULTS. */
void vy_legaliser_call_all(vy_legaliser *rw, uint32_t function, const uint32_t *trees, uint32_t count,
                           uint32_t *results);
/* The same for one with one result. */
uint32_t vy_legaliser_call(vy_legaliser *rw, uint32_t function, const uint32_t *trees, uint32_t count);
/* The same by name; the name must be there. */
uint32_t vy_legaliser_named(vy_legaliser *rw, const char *name, uint32_t tree);
/* Whether a tree is this literal. */
int vy_legaliser_is_literal(const vy_legaliser *rw, uint32_t tree, uint64_t *bits);

uint32_t vy_legaliser_local_index(vy_legaliser *rw);
/* A leaf once more. */
uint32_t vy_legaliser_again(vy_legaliser *rw, uint32_t leaf);

/* ---- statements before the current one ---- */

/* A name nobody else has: neither the original, whose names may still come, nor the library. */
vy_name vy_legaliser_name(vy_legaliser *rw, const char *text);
/* Binds a tree to a new variable (kind VY_STMT_LET or VY_STMT_VAR); gives it as a leaf. */
uint32_t vy_legaliser_bind(vy_legaliser *rw, uint8_t kind, const char *name, uint32_t tree);
/* The tree itself if it is a leaf, else a let of it. */
uint32_t vy_legaliser_leaf(vy_legaliser *rw, uint32_t tree, const char *name);
/* Appends a tree to the draft, for a statement that follows directly. */
uint32_t vy_legaliser_put(vy_legaliser *rw, uint32_t tree);

/* The statements [first, end) of the program as the body of an open block, whose scope was opened at `mark` (vy_copy_open). */
void vy_legaliser_body(vy_legaliser *rw, uint32_t first, uint32_t end, uint32_t mark);

/* For phases that declare all as it is (legal_plain.c): notes the statements of the entry that may not stay as they are. 0: memory is
 * out. */
int vy_legaliser_find_others(vy_legaliser *rw);
/* Copies the statements from `first` on that are not noted. Returns where it stopped, `end` at most. */
uint32_t vy_legaliser_copy_run(vy_legaliser *rw, uint32_t first, uint32_t end);

/* Notes that the program cannot be rewritten; returns VY_NONE. */
uint32_t vy_legaliser_refuse(vy_legaliser *rw, const char *what, vyre_type type);

#endif
