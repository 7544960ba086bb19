/* Rewriter: how a pass makes a new program from a program.
 *
 * The rewriter copies every function statement by statement into a draft and calls the hooks of the pass at three
 * points: before a statement, before an expression tree is read, and after a node has its final operands. Expressions
 * are first built in a pool for the statement and written with the statement, so a pass may drop, exchange and wrap
 * them, and may insert `let`s before the statement. If the hooks do not change the expressions of a statement, these
 * are copied in one run. The rewriter does not accept programs that call their own functions: the pass manager inlines
 * first.
 *
 * Invariants: a pass replaces a value by one with equal bits. A tree that would become deeper than the limit of the
 * language is written unchanged. A failed allocation is recorded in the draft and reported at the end. */
#ifndef VY_OPT_REWRITER_H
#define VY_OPT_REWRITER_H

#include "ir/irbuilder.h"

typedef struct vy_rewrite vy_rewrite;

enum { VY_ALL_BUT_LITERALS = UINT8_MAX & ~(1 << VY_EXPR_LITERAL) }; /* a value of tree_kinds */

/* The most by which the output may be ahead of the input, in items of each array. */
typedef struct vy_growth_bound {
    uint32_t stmts, exprs, variables, args;
    uint32_t kept_exprs; /* expressions that the pass has appended after those of the source, and reads */
} vy_growth_bound;

typedef struct vy_rewriter {
    /* Called before statement `stmt` of the source is written. May write `let`s before it. Returns 1 if it has written
     * the replacement of the statement, 0 to have it copied. NULL: copy all. */
    int (*stmt)(vy_rewrite *rewrite, uint32_t stmt);
    /* Called before the tree at `expr` of the source is read. Returns the node of the pool that replaces it, or
     * VY_NONE. NULL: none is replaced. */
    uint32_t (*tree)(vy_rewrite *rewrite, uint32_t expr);
    /* Called for a node of the pool whose operands are final. Returns the node or its replacement. NULL: none is
     * replaced. */
    uint32_t (*node)(vy_rewrite *rewrite, uint32_t node);
    uint8_t trap_ends;   /* the statements after a trap in its block are dropped */
    uint8_t makes_legal; /* the result is of level legal */
    uint8_t keeps_names; /* declarations stay in their blocks, so names do not change and cannot collide */
    /* A statement stays in its block and is written once, and the decisions of the hooks do not depend on earlier
     * output. So the statements that they leave unchanged are found first, and copied in runs. */
    uint8_t keeps_blocks;
    /* With keeps_blocks: whether the hooks change a statement or its trees, the expressions [first, end) of the
     * source. Called in the dry run instead of the hooks, if the pass can answer faster. NULL: the hooks are called if
     * they support a dry run; otherwise every statement counts as changed. */
    int (*changes_stmt_hook)(vy_rewrite *rewrite, uint32_t stmt, uint32_t first, uint32_t end);
    /* The same for a pass with a list of the changed statements: returns the first at or after `stmt`; VY_NONE if
     * there is none. *cursor is initially 0 and belongs to the hook. */
    uint32_t (*next)(vy_rewrite *rewrite, uint32_t stmt, uint32_t *cursor);
    /* The same for a pass that changes trees only: returns the first of the expressions [first, end) that it may
     * change; `end` if there is none. */
    uint32_t (*find)(vy_rewrite *rewrite, uint32_t first, uint32_t end);
    uint8_t tree_kinds;      /* by kind: those that the tree hook may replace (1 << vy_expr_kind); 0: all */
    uint8_t node_kinds;      /* the same for the node hook */
    const uint8_t *node_ops; /* by op: 1 if the node hook may replace it; NULL: all ops */
    /* Writes the expressions [first, end) of the source, the trees of a statement: with vy_rewrite_start_exprs, or
     * with vy_rewrite_copy_exprs and replacements. Trees are then not read through the pool, except by the stmt hook,
     * and the other two hooks are called only for that and in the dry run. With `only_shrinks` the range may be the
     * trees of all statements, written in place: of the source the hook may read only the expression to be written
     * next and later ones. NULL: trees are written through the pool. */
    void (*rewrite_exprs)(vy_rewrite *rewrite, uint32_t first, uint32_t end);
    /* With find, and without the stmt hook: trees become no larger, and nothing else changes. So a program with one
     * owner (vyre_program.is_unique) is modified in place. */
    uint8_t only_shrinks;
    /* With keeps_names, and changes_stmt_hook or next: sets the most by which the output may be ahead. So a program
     * with one owner may be written in its own arrays, and for any other all memory is reserved at the start. NULL:
     * unknown. */
    void (*growth_bound)(vy_rewrite *rewrite, vy_growth_bound *bound);
    /* Called after everything is written, to modify copied statements; counts changes. NULL: not needed. */
    void (*finish)(vy_rewrite *rewrite);
    /* The hooks may be called in a dry run, before anything is written, and again while the program is written. They
     * must count a change before they write, or write only with vy_rewrite_let and vy_rewrite_block, which then count
     * a change, and must not keep state that the second call could see. In the dry run the expressions of the source
     * are the pool: a node is an expression of the source, and creating a node returns VY_NONE. */
    uint8_t supports_dry_run;
} vy_rewriter;

/* A node under construction: an expression whose operands are nodes of the pool and whose variables and memories
 * belong to the draft. Only a leaf may be used twice. */
typedef struct vy_rewrite_node {
    vy_expr expr;
    vy_position position;
    uint32_t depth; /* operators on the longest path of the tree */
    uint8_t loads;  /* 1 if its tree contains a load */
} vy_rewrite_node;

typedef struct vy_touched {
    uint32_t stmt;
    uint32_t by_trees; /* 1 if its trees change; else the statement, and its trees are unknown */
} vy_touched;

struct vy_rewrite {
    const vyre_program *from;
    const vy_function *function; /* of from; being copied */
    const vy_rewriter *hooks;
    void *user;
    vy_irb draft;
    uint32_t *variables, *memories; /* from indices of `from` to those of the draft */
    vy_symbol *names;               /* from names of `from` to those of the draft; 0: not entered yet */
    uint32_t *suffixes;             /* by name of `from`: the last suffix tried */
    const uint8_t *drop_memories;   /* by memory of from: 1 for arrays to drop; NULL: none */
    VY_VECTOR(vy_rewrite_node) pool;
    VY_VECTOR(uint32_t) row; /* by expression of the statement that rewrite_exprs writes: its new index */
    VY_VECTOR(vy_arg) args;
    VY_VECTOR(uint8_t) visible;    /* by name of the draft */
    VY_VECTOR(vy_symbol) declared; /* visible names, innermost last */
    uint32_t made;                 /* number of `let`s that the pass has named */
    uint64_t changes;              /* counted by the pass; if it is 0 at the end, the result is the source itself */
    VY_VECTOR(vy_touched) touched; /* with keeps_blocks: the statements that the hooks change, in order */
    uint32_t next_touched;
    uint8_t may_bind;   /* a `let` may be written before the tree being read; 0 for the condition of a `while` */
    uint8_t in_arm;     /* the tree being read is in an arm (vy_op_has_arms): no `let` for its loads */
    uint8_t is_dry_run; /* dry run: nothing is written */
    uint8_t ended;      /* the last statement of the current block was a jump, so no statement may follow */
};

/* Makes *out, one reference: the rewritten program, or `from` itself if the pass changed nothing, or modified it in
 * place (only_shrinks). *changes receives the number of changes. The result has no fingerprint: vy_program_finalize is
 * called after the last pass. */
vyre_status vy_rewrite_run(const vyre_program *from, const vy_rewriter *hooks, void *user, const uint8_t *drop_memories,
                           vyre_program **out, uint64_t *changes, vyre_error *error);

/* ---- functions for passes: statements ---- */

/* Writes the statements [first, end) of the source to the current block of the draft. */
void vy_rewrite_block(vy_rewrite *rewrite, uint32_t first, uint32_t end);
/* Opens a scope for names declared from here on; vy_rewrite_close ends it. */
uint32_t vy_rewrite_open(const vy_rewrite *rewrite);
void vy_rewrite_close(vy_rewrite *rewrite, uint32_t mark);
/* Writes `let t = …` for a node of the pool before the statement being written. Returns the variable of the draft. */
uint32_t vy_rewrite_let(vy_rewrite *rewrite, uint32_t node);
/* A name that does not occur in the source; it is not declared. */
vy_symbol vy_rewrite_new_name(vy_rewrite *rewrite);
/* Declares a name for the replacement of a variable of the source. The pass sets rewrite->variables[variable]. */
vy_symbol vy_rewrite_declare(vy_rewrite *rewrite, uint32_t variable);
/* For rewrite_exprs: reserves `count` expressions in the draft and in rewrite->row, where the hook records the new
 * index of each. Returns the index of the first one, VY_NONE after a failure. */
uint32_t vy_rewrite_start_exprs(vy_rewrite *rewrite, uint32_t count);
/* The same, and appends copies of the expressions. Returns the index of the first one, VY_NONE after a failure. */
uint32_t vy_rewrite_copy_exprs(vy_rewrite *rewrite, uint32_t first, uint32_t end);
/* Appends a node to the draft, for the next statement. */
uint32_t vy_rewrite_write(vy_rewrite *rewrite, uint32_t node);

/* ---- functions for passes: expressions ---- */

/* Reads a tree of the source into the pool, through the hooks. VY_NONE is passed through. */
uint32_t vy_rewrite_read(vy_rewrite *rewrite, uint32_t root);
/* The same, but the tree hook is not called for the root itself. */
uint32_t vy_rewrite_read_below(vy_rewrite *rewrite, uint32_t root);

/* Makes any expression; its operands are nodes, its variable or memory is the draft's. No hook is called for it. */
uint32_t vy_rewrite_make_expr(vy_rewrite *rewrite, const vy_expr *expr);
uint32_t vy_rewrite_make_literal(vy_rewrite *rewrite, vyre_type type, uint64_t bits);
uint32_t vy_rewrite_make_variable(vy_rewrite *rewrite, uint32_t variable); /* of the draft */
/* No hook is called for it. */
uint32_t vy_rewrite_make_op(vy_rewrite *rewrite, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c);
/* The node as a leaf that may be used several times: itself, or the variable of a `let` before the statement. VY_NONE
 * if it is not a leaf and no `let` is allowed. */
uint32_t vy_rewrite_make_leaf(vy_rewrite *rewrite, uint32_t node);

/* The node's expression. Valid until the next node is made. */
static inline const vy_expr *vy_rewrite_node_at(const vy_rewrite *rewrite, uint32_t node) {
    return rewrite->is_dry_run ? vy_expr_at(rewrite->from, node) : &rewrite->pool.items[node].expr;
}
static inline int vy_rewrite_is_literal(const vy_rewrite *rewrite, uint32_t node) {
    return node != VY_NONE && vy_rewrite_node_at(rewrite, node)->kind == VY_EXPR_LITERAL;
}

/* Dry run and in-place modes of the rewriter. Internal to rewriter.c and rewriter_inplace.c.
 *
 * Dry run: determines whether and where the hooks would change anything, before anything is written. Most runs of a
 * pass change nothing. It visits the expressions that would be written, in the same order, and its only results are
 * the counted changes and the list of changed statements.
 *
 * In place: a pass that only shrinks trees edits a program that has one owner (vyre_program.is_unique); expressions
 * are moved down after a tree became smaller. The trees of a statement are read before they are overwritten, and none
 * becomes larger.
 *
 * Overlapped: a program with one owner is rewritten within its own arrays. The source is first moved up by as much as
 * the output may be ahead of the input (vy_rewriter.growth_bound), mostly not at all. Only the current statement,
 * later ones, and the expressions that the pass appended are read from the source. */
/* Visits all functions and counts changes, up to the first one; with keeps_blocks records every statement that the
 * hooks change. */
void vy_rewrite_dry_run(vy_rewrite *rewrite);
/* Whether the trees of a statement, [*first, *end), are unchanged. */
int vy_rewrite_keeps_trees(vy_rewrite *rewrite, uint32_t stmt, uint32_t *first, uint32_t *end);

/* Whether another hook states which statements change, so that the dry run does not call the three hooks. */
static inline int vy_rewrite_knows_touched(const vy_rewriter *hooks) {
    return hooks->changes_stmt_hook || hooks->find || hooks->next;
}
/* With keeps_blocks: the first statement at or after `stmt` that the hooks change; NULL if there is none. */
static inline const vy_touched *vy_rewrite_next_touched(vy_rewrite *rw, uint32_t stmt) {
    while (rw->next_touched < rw->touched.count && rw->touched.items[rw->next_touched].stmt < stmt)
        rw->next_touched++;
    return rw->next_touched < rw->touched.count ? &rw->touched.items[rw->next_touched] : NULL;
}

/* Whether the source may be modified in place. */
static inline int vy_rewrite_may_edit(const vy_rewrite *rw) {
    return rw->from->is_unique && rw->hooks->only_shrinks;
}
/* Modifies the source in place, at the statements that the dry run recorded. After a failure, which is recorded in the
 * draft, the program must not be used. */
void vy_rewrite_edit(vy_rewrite *rewrite);

/* Whether a program may be written in its own arrays: it has only its entry, and no positions of expressions, which
 * this mode does not keep. */
static inline int vy_rewrite_may_stay(const vyre_program *from, const vy_rewriter *hooks) {
    return from->is_unique && hooks->growth_bound && from->functions.count == 1 && vy_program_has_entry(from) &&
           from->expr_positions.count == 0;
}
/* Writes the program in its own arrays; *out is the source, retained. After a failure it must not be used. */
vyre_status vy_rewrite_in_place(vy_rewrite *rewrite, vyre_program **out, vyre_error *error);

/* Writes the trees of a statement of the source, its expressions [first, end), through the hooks. Their roots become
 * the operands of `copy` and rewrite->args. */
void vy_rewrite_trees(vy_rewrite *rewrite, const vy_stmt *stmt, uint32_t first, uint32_t end, vy_stmt *copy);

/* Whether no statement may follow a statement of that kind in its block. */
static inline int vy_rewrite_ends_block(const vy_rewrite *rw, uint8_t kind) {
    return vy_stmt_is_jump(kind) || (kind == VY_STMT_TRAP && rw->hooks->trap_ends);
}

#endif
