/* Legalizer: the engine of the numeric phases. It walks the entry of a program, lowers every expression into a tree by
 * the hooks of a phase, and writes a new program.
 *
 * The replacement of an operation is a function of the softlib (softlib.h). `vy_legalizer_call` inlines it: a function
 * that is one `return` becomes an expression, any other one becomes statements before the current one. This is sound
 * because trees are pure: the effect of the statement comes after all of them, and the softlib writes only its own
 * variables.
 *
 * Invariant: a tree is used once. Only leaves (literals, variables) may be used again, through vy_legalizer_reuse. */
#ifndef VY_LOWER_LEGALIZER_H
#define VY_LOWER_LEGALIZER_H

#include "analysis/interval.h"
#include "analysis/literal.h"
#include "analysis/range.h"
#include "lower/softlib.h"
#include "opt/clone.h"
#include "vyre/backend.h"

typedef struct vy_legalizer vy_legalizer;

/* The hooks of a phase. Operands and results are trees. */
typedef struct vy_legalizer_phase {
    /* Inspects the program first. NULL: not needed. */
    void (*start)(vy_legalizer *rw);
    /* The type that holds values of a type between loads and stores. */
    vyre_type (*carrier)(const vy_legalizer *rw, vyre_type type);
    /* `widen` converts an element of `type` in memory, or a param, to a value of the carrier; `narrow` converts back,
     * and `tree` is the lowered form of `expr`. NULL: no conversion is needed. */
    uint32_t (*widen)(vy_legalizer *rw, vyre_type type, uint32_t tree);
    uint32_t (*narrow)(vy_legalizer *rw, vyre_type type, uint32_t expr, uint32_t tree, vy_space space);
    /* An op on lowered operands; `operand` is their original type (for select: of the arms). */
    uint32_t (*op)(vy_legalizer *rw, const vy_expr *e, vyre_type operand, const uint32_t *trees);
    /* Whether op() would return the same op on the same operands. */
    int (*keeps)(const vy_legalizer *rw, const vy_expr *e, vyre_type operand);
    /* 1 if a type below 32 bits that is its own carrier is loaded and stored unchanged. */
    uint8_t keeps_narrow;

    /* For phases that change declarations (f64_as_bits.c) or split values (split_int64.c); NULL in others. */
    /* Declares params, buffers, arrays and the grid. */
    void (*declare)(vy_legalizer *rw);
    /* Lowers an expression that is not an op; returns 0 if the default applies. */
    int (*leaf)(vy_legalizer *rw, const vy_expr *e, uint32_t *tree);
    /* Converts a lowered index to a tree that can be emitted as an index. */
    uint32_t (*index)(vy_legalizer *rw, uint32_t tree);
    /* Writes a statement and its body; returns 0 if the default applies. */
    int (*statement)(vy_legalizer *rw, uint32_t stmt);
} vy_legalizer_phase;

/* A tree of this depth is bound to a variable, so that no expression of the result exceeds the limit of the language,
 * whatever the softlib adds to it. */
enum { VY_LEGALIZER_MAX_DEPTH = 64 };

/* A tree that represents a pair (a: the low half, b: the high half) and is never emitted itself. */
enum { VY_LEGALIZER_PAIR = VY_EXPR_KIND_COUNT };

struct vy_legalizer {
    const vyre_program *from;
    const vy_legalizer_phase *phase;
    vy_softlib *library;
    uint64_t exact;
    uint32_t native;       /* the narrow floats that keep their type: bits 1 << vyre_type */
    vy_ranges *ranges;     /* of `from`, if start() made them; or NULL */
    uint8_t *is_canonical; /* by variable of `from`: no NaN but the canonical one. If start() made it; or NULL */
    uint32_t plain;        /* the types whose values need no lowering: bits 1 << vyre_type */
    vy_cloner copy;
    VY_VECTOR(vy_expr) trees;   /* operands are trees; variables and memories are the draft's */
    VY_VECTOR(uint8_t) depths;  /* of trees */
    VY_VECTOR(uint32_t) others; /* the statements that are not copied unchanged, in order */
    uint32_t next_other;
    vy_softlib_unit called; /* the function of the softlib that is being inlined */
    uint32_t fresh;         /* number of the last new name */
    vyre_status status;     /* of the first refusal; a failed allocation is recorded in the draft */
    vyre_error *error;
};

/* Runs a phase over `program`, which has no calls. */
vyre_status vy_legalizer_run(const vyre_program *program, const vy_legalizer_phase *phase, vy_softlib *library,
                             uint64_t exact, vyre_program **out, vyre_error *error);

static inline int vy_legalizer_has(const vy_legalizer *rw, vyre_numeric numeric) {
    return rw->exact >> numeric & 1;
}

/* ---- trees ---- */

vyre_type vy_legalizer_type(const vy_legalizer *rw, uint32_t tree);
uint32_t vy_legalizer_literal(vy_legalizer *rw, vyre_type type, uint64_t bits);
uint32_t vy_legalizer_op(vy_legalizer *rw, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c);
static inline uint32_t vy_legalizer_op1(vy_legalizer *rw, vyre_op op, vyre_type type, uint32_t a) {
    return vy_legalizer_op(rw, op, type, a, VY_NONE, VY_NONE);
}
/* The result of folding: a literal, one of the operands, or nothing. */
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
/* A leaf: a variable of the draft. */
uint32_t vy_legalizer_variable(vy_legalizer *rw, uint32_t variable);
/* Lowers an expression of the program. */
uint32_t vy_legalizer_lower(vy_legalizer *rw, uint32_t expr);
/* Calls a function of the softlib. `results` has room for VY_LIMIT_RESULTS. */
void vy_legalizer_call_all(vy_legalizer *rw, const vy_softlib_function *function, const uint32_t *trees, uint32_t count,
                           uint32_t *results);
/* The same for a function with one result. */
uint32_t vy_legalizer_call(vy_legalizer *rw, const vy_softlib_function *function, const uint32_t *trees,
                           uint32_t count);
/* The same by name. The function must exist. */
uint32_t vy_legalizer_named(vy_legalizer *rw, const char *name, uint32_t tree);
/* Whether a tree is a literal; *bits is its value. */
int vy_legalizer_is_literal(const vy_legalizer *rw, uint32_t tree, uint64_t *bits);

uint32_t vy_legalizer_local_index(vy_legalizer *rw);
/* A copy of a leaf, for another use. */
uint32_t vy_legalizer_reuse(vy_legalizer *rw, uint32_t leaf);

/* Adds a node of that depth; the operands of e are trees. A failed allocation is recorded in the draft. */
uint32_t vy_legalizer_add(vy_legalizer *rw, const vy_expr *e, unsigned depth);

/* Whether a tree may be used again. */
static inline int vy_legalizer_is_leaf(const vy_legalizer *rw, uint32_t tree) {
    return tree != VY_NONE &&
           (rw->trees.items[tree].kind == VY_EXPR_LITERAL || rw->trees.items[tree].kind == VY_EXPR_VARIABLE);
}

/* ---- statements before the current one ---- */

/* A new name, which neither the original, some of whose names are declared later, nor the softlib has. */
vy_symbol vy_legalizer_name(vy_legalizer *rw, const char *text);
/* Binds a tree to a new variable (kind VY_STMT_LET or VY_STMT_VAR) and returns a leaf that reads it. */
uint32_t vy_legalizer_bind(vy_legalizer *rw, uint8_t kind, const char *name, uint32_t tree);
/* The tree itself if it is a leaf, else a leaf that reads a new `let` of it. */
uint32_t vy_legalizer_materialize(vy_legalizer *rw, uint32_t tree, const char *name);
/* Appends a tree to the draft, for a statement that follows directly. */
uint32_t vy_legalizer_append(vy_legalizer *rw, uint32_t tree);

/* The statements [first, end) of the program as the body of an open block, whose scope was opened at `mark`
 * (vy_cloner_open). */
void vy_legalizer_body(vy_legalizer *rw, uint32_t first, uint32_t end, uint32_t mark);

/* Records that the program cannot be rewritten; returns VY_NONE. */
uint32_t vy_legalizer_refuse(vy_legalizer *rw, const char *what, vyre_type type);

/* The numeric phases, in their order. Each is a set of hooks for the legalizer and the files of the softlib that it
 * uses.
 *  - promote-narrow: 8- and 16-bit integers and floats are held in 32 bits; only loads, stores, casts and bitcasts of
 *    them remain.
 *  - numerics: inexact ops on 32- and 64-bit types are replaced, and NaNs are made canonical where they can be
 *    observed.
 *  - f64-as-bits: on targets without f64, an f64 is represented by a u64.
 *  - split-int64: on targets without 64-bit integers, one becomes a pair of u32.
 *
 * A phase also rewrites the code of the softlib that earlier phases inserted. The code that the last phase inserts is
 * not rewritten. */
#define VY_NUMERIC(ID) (UINT64_C(1) << VYRE_NUMERIC_##ID)
#define VY_TYPE(ID) (1u << VYRE_TYPE_##ID)

/* A device that has f64 computes some operation on it exactly. */
#define VY_NUMERIC_ALL ((UINT64_C(1) << VYRE_NUMERIC_COUNT) - 1)
#define VY_NUMERIC_F64 ((VY_NUMERIC(F64_CONVERT) << 1) - VY_NUMERIC(F64_ADD))

/* The types of the values and memories of a program: bits 1 << vyre_type. */
uint32_t vy_legal_types(const vyre_program *program);

extern const vy_legalizer_phase vy_legalize_promote_narrow, vy_legalize_numerics, vy_legalize_f64_as_bits,
    vy_legalize_split_int64;

#endif
