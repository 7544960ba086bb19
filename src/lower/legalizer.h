/* Legalizer: the engine of the numeric phases. It walks the entry of a program, lowers every expression into a tree by
 * the hooks of a phase, and writes a new program.
 *
 * The sequence that replaces an operation is a function of a library in the language itself (softlib.h).
 * `vy_legalizer_call` inlines such a function: a function that is one `return` becomes an expression, any other one
 * becomes statements before the current one. This is sound because trees are pure: the effect of the statement comes
 * after all of them, and the library writes only its own variables.
 *
 * What must stay true: a tree is used once. Only leaves (literals, variables) may be used again, through
 * vy_legalizer_reuse. */
#ifndef VY_LOWER_LEGALIZER_H
#define VY_LOWER_LEGALIZER_H

#include "lower/softlib.h"
#include "opt/clone.h"
#include "vyre/backend.h"

typedef struct vy_legalizer vy_legalizer;

/* What a phase decides. Trees in, trees out. */
typedef struct vy_legalizer_phase {
    /* Looks at the program first (NULL: has nothing to look for). */
    void (*start)(vy_legalizer *rw);
    /* The type that holds values of a type between loads and stores. */
    vyre_type (*carrier)(const vy_legalizer *rw, vyre_type type);
    /* An element of `type` as it lies in memory, or a param → a value of the carrier; and back. */
    uint32_t (*widen)(vy_legalizer *rw, vyre_type type, uint32_t tree);
    uint32_t (*narrow)(vy_legalizer *rw, vyre_type type, uint32_t tree, vy_space space);
    /* An op on lowered operands; `operand` is their original type (for select: of the arms). */
    uint32_t (*op)(vy_legalizer *rw, const vy_expr *e, vyre_type operand, const uint32_t *trees);
    /* Whether op() would give the same op on the same operands. */
    int (*keeps)(const vy_legalizer *rw, const vy_expr *e, vyre_type operand);
    /* What is narrower than 32 bits and its own carrier is loaded and stored as it is. */
    uint8_t keeps_narrow;

    /* For phases that change what is declared (f64_as_bits.c), or make two values of one (split_int64.c); NULL in
     * others. */
    /* Declares params, buffers, arrays and the grid. */
    void (*declare)(vy_legalizer *rw);
    /* Lowers an expression that is no op; returns 0 if it has nothing to say about it. */
    int (*leaf)(vy_legalizer *rw, const vy_expr *e, uint32_t *tree);
    /* What an index became → a tree that is put as one. */
    uint32_t (*index)(vy_legalizer *rw, uint32_t tree);
    /* Writes a statement and its body; returns 0 if it has nothing to say about it. */
    int (*statement)(vy_legalizer *rw, uint32_t stmt);
} vy_legalizer_phase;

/* A tree that has grown this deep is bound to a variable, so that no expression of the result is deeper than the
 * language allows, whatever the library adds to it. */
enum { VY_LEGALIZER_MAX_DEPTH = 64 };

/* A tree that stands for two (a = the low half, b = the high one) and is never put itself. */
enum { VY_LEGALIZER_PAIR = VY_EXPR_KIND_COUNT };

struct vy_legalizer {
    const vyre_program *from;
    const vy_legalizer_phase *phase;
    vy_softlib *library;
    uint64_t exact;
    uint32_t native; /* the narrow floats that are held as they are: bits 1 << vyre_type */
    uint32_t plain;  /* the types whose values need no lowering: bits 1 << vyre_type */
    vy_cloner copy;
    VY_VECTOR(vy_expr) trees;   /* operands are trees; variables and memories are the draft's */
    VY_VECTOR(uint8_t) depths;  /* of trees */
    VY_VECTOR(uint32_t) others; /* the statements that are not copied as they are, in order */
    uint32_t next_other;
    const vy_softlib_unit *called; /* the part of the library whose function is put somewhere */
    uint32_t fresh;                /* numbers of new names */
    vyre_status status;            /* the first refusal; memory is noted in the draft */
    vyre_error *error;
};

/* Runs a phase over `program`, which is inlined. */
vyre_status vy_legalizer_run(const vyre_program *program, const vy_legalizer_phase *phase, vy_softlib *library,
                             uint64_t exact, vyre_program **out, vyre_error *error);

static inline int vy_legalizer_has(const vy_legalizer *rw, vyre_numeric numeric) {
    return rw->exact >> numeric & 1;
}

/* The original type of the operands of an op (for select: of the arms). */
static inline vyre_type vy_legalizer_operand_type(const vyre_program *p, const vy_expr *e) {
    return (vyre_type)p->exprs.items[e->op == VYRE_OP_SELECT ? e->b : e->a].type;
}

/* ---- trees ---- */

vyre_type vy_legalizer_type(const vy_legalizer *rw, uint32_t tree);
uint32_t vy_legalizer_literal(vy_legalizer *rw, vyre_type type, uint64_t bits);
uint32_t vy_legalizer_op(vy_legalizer *rw, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c);
static inline uint32_t vy_legalizer_op1(vy_legalizer *rw, vyre_op op, vyre_type type, uint32_t a) {
    return vy_legalizer_op(rw, op, type, a, VY_NONE, VY_NONE);
}
/* The same of operands that are literals (their bits) or not (NULL), by the type of the first. The literal is *bits. */
typedef enum vy_legal_folded {
    VY_FOLDED_NOT,
    VY_FOLDED_LITERAL,
    VY_FOLDED_A,
    VY_FOLDED_B,
    VY_FOLDED_C
} vy_legal_folded;
/* The tree itself if it has that type, else a cast. */
uint32_t vy_legalizer_cast(vy_legalizer *rw, vyre_type type, uint32_t tree);
/* A node over trees; variables and memories are the draft's. */
uint32_t vy_legalizer_node(vy_legalizer *rw, vy_expr e);
/* A variable of the draft, a leaf. */
uint32_t vy_legalizer_variable(vy_legalizer *rw, uint32_t variable);
/* An expression of the program. */
uint32_t vy_legalizer_lower(vy_legalizer *rw, uint32_t expr);
/* Calls a function of the library. There is room for VY_LIMIT_RESULTS. */
void vy_legalizer_call_all(vy_legalizer *rw, uint32_t function, const uint32_t *trees, uint32_t count,
                           uint32_t *results);
/* The same for one with one result. */
uint32_t vy_legalizer_call(vy_legalizer *rw, uint32_t function, const uint32_t *trees, uint32_t count);
/* The same by name; the name must be there. */
uint32_t vy_legalizer_named(vy_legalizer *rw, const char *name, uint32_t tree);
/* Whether a tree is this literal. */
int vy_legalizer_is_literal(const vy_legalizer *rw, uint32_t tree, uint64_t *bits);

uint32_t vy_legalizer_local_index(vy_legalizer *rw);
/* A leaf once more. */
uint32_t vy_legalizer_reuse(vy_legalizer *rw, uint32_t leaf);

/* A tree of that depth; the operands of e are trees. May fail: the draft notes it. */
uint32_t vy_legalizer_add(vy_legalizer *rw, const vy_expr *e, unsigned depth);

/* Whether it may be used again. */
static inline int vy_legalizer_is_leaf(const vy_legalizer *rw, uint32_t tree) {
    return tree != VY_NONE &&
           (rw->trees.items[tree].kind == VY_EXPR_LITERAL || rw->trees.items[tree].kind == VY_EXPR_VARIABLE);
}

/* ---- statements before the current one ---- */

/* A name nobody else has: neither the original, whose names may still come, nor the library. */
vy_symbol vy_legalizer_name(vy_legalizer *rw, const char *text);
/* Binds a tree to a new variable (kind VY_STMT_LET or VY_STMT_VAR); gives it as a leaf. */
uint32_t vy_legalizer_bind(vy_legalizer *rw, uint8_t kind, const char *name, uint32_t tree);
/* The tree itself if it is a leaf, else a let of it. */
uint32_t vy_legalizer_materialize(vy_legalizer *rw, uint32_t tree, const char *name);
/* Appends a tree to the draft, for a statement that follows directly. */
uint32_t vy_legalizer_append(vy_legalizer *rw, uint32_t tree);

/* The statements [first, end) of the program as the body of an open block, whose scope was opened at `mark`
 * (vy_cloner_open). */
void vy_legalizer_body(vy_legalizer *rw, uint32_t first, uint32_t end, uint32_t mark);

/* Notes that the program cannot be rewritten; returns VY_NONE. */
uint32_t vy_legalizer_refuse(vy_legalizer *rw, const char *what, vyre_type type);

/* Numeric phases of legalisation. Each is a set of hooks for the legalizer, and the library texts that it reads.
 *
 *   promote narrow  8- and 16-bit integers and floats are held in 32 bits; only loads, stores, casts and bitcasts of
 *   them remain numerics        inexact ops on 32- and 64-bit types are replaced, and NaNs are made canonical where
 *   they can be observed f64 as bits     on targets without f64, it is held as u64 split int64     on targets without
 *   64-bit integers, they are pairs of u32
 *
 * A phase also rewrites the library code that earlier phases inserted. The library of the last phase is written for the
 * target and is not rewritten. */
#define VY_NUMERIC(ID) (UINT64_C(1) << VYRE_NUMERIC_##ID)
#define VY_TYPE(ID) (1u << VYRE_TYPE_##ID)
#define VY_OP(ID) (UINT64_C(1) << VYRE_OP_##ID)

/* Whoever has f64 computes something of it exactly. */
#define VY_NUMERIC_ALL ((UINT64_C(1) << VYRE_NUMERIC_COUNT) - 1)
#define VY_NUMERIC_F64 ((VY_NUMERIC(F64_CONVERT) << 1) - VY_NUMERIC(F64_ADD))

/* As a type in vy_legal_exact_uses: the program casts between f32 and 64-bit integers. */
#define VY_LEGAL_FAR_CASTS (UINT32_C(1) << 31)
_Static_assert(VYRE_TYPE_COUNT < 31, "types are bits below it");
/* What vy_softlib_exact_texts are asked for: ops that need nothing, since an operand is a literal, are not counted. */
vy_legal_uses vy_legal_exact_uses(const vyre_program *program);

extern const vy_legalizer_phase vy_legalize_promote_narrow, vy_legalize_numerics, vy_legalize_f64_as_bits,
    vy_legalize_split_int64;
extern const vy_softlib_text vy_softlib_narrow_texts[], vy_softlib_exact_texts[], vy_softlib_bits_texts[],
    vy_softlib_int64_texts[];

#endif
