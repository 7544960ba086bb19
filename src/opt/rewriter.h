/* Rewriter: how a pass makes a new program from a program.
 *
 * The rewriter copies every function statement by statement into a draft and calls the hooks of the pass at three
 * points: before a statement, before an expression tree is read, and after a node has its final operands. Expressions
 * are first built in a pool for the statement and written with the statement, so a pass may drop, exchange and wrap
 * them, and may insert `let`s before the statement. If the hooks do not touch the expressions of a statement, these are
 * copied in one run. The rewriter does not accept programs that call their own functions: the pass manager inlines
 * first.
 *
 * What must stay true: a pass replaces a value by one with equal bits. A tree that would become deeper than the limit
 * of the language is written as it was. A failed allocation is recorded in the draft and reported at the end. */
#ifndef VY_OPT_REWRITER_H
#define VY_OPT_REWRITER_H

#include "ir/irbuilder.h"

typedef struct vy_rewrite vy_rewrite;

enum { VY_ALL_BUT_LITERALS = UINT8_MAX & ~(1 << VY_EXPR_LITERAL) }; /* as tree_kinds */

/* How far what is written may be ahead of what has been read of the source, in items of each array. */
typedef struct vy_growth_bound {
    uint32_t stmts, exprs, variables, args;
    uint32_t kept_exprs; /* the pass has put so many behind the last expression of the source, and reads them */
} vy_growth_bound;

typedef struct vy_rewriter {
    /* Before statement `stmt` of the source is written. May write `let`s that stand before it. Returns 1 if it has
     * written whatever takes the place of the statement, 0 to have it copied. NULL: copy all. */
    int (*stmt)(vy_rewrite *rewrite, uint32_t stmt);
    /* Before the tree at `expr` of the source is read: the node of the pool that takes its place, or VY_NONE. NULL:
     * none. */
    uint32_t (*tree)(vy_rewrite *rewrite, uint32_t expr);
    /* A node of the pool whose operands are final: itself, or what takes its place. NULL: itself. */
    uint32_t (*node)(vy_rewrite *rewrite, uint32_t node);
    uint8_t trap_ends;   /* what follows a trap in its block is left out */
    uint8_t makes_legal; /* the result is of level legal */
    uint8_t keeps_names; /* every declaration stays, in its block: names stay as they are, and no two meet */
    /* What stands in a block stays in it and is written once, and what the hooks say of a statement does not hang on
     * what was written before. So statements of which they say nothing are found before, and copied in a row. */
    uint8_t keeps_blocks;
    /* With keeps_blocks: whether the hooks have something to say of a statement or of its trees, the expressions
     * [first, end) of the source; asked instead of them, while looking, for who knows that sooner. NULL: the hooks are
     * asked themselves where they may look, and else have something to say of all. */
    int (*changes_stmt_hook)(vy_rewrite *rewrite, uint32_t stmt, uint32_t first, uint32_t end);
    /* The same for who has a list of them: the first from `stmt` on; VY_NONE if there is none. *cursor is 0 first, and
     * then what the hook made of it. */
    uint32_t (*next)(vy_rewrite *rewrite, uint32_t stmt, uint32_t *cursor);
    /* The same for who has something to say of trees alone: the first of the expressions [first, end) of which it has,
     * or may have; `end` if there is none. */
    uint32_t (*find)(vy_rewrite *rewrite, uint32_t first, uint32_t end);
    uint8_t tree_kinds; /* the kinds of expressions that the tree hook may replace (1 << vy_expr_kind); 0: all */
    uint8_t node_kinds; /* the same of the node hook */
    uint64_t node_ops;  /* of ops those that it may replace (1 << vyre_op); 0: all */
    /* Writes the expressions [first, end) of the source, the trees of a statement, itself: vy_rewrite_start_exprs, or
     * vy_rewrite_copy_exprs and what takes their places. Nothing of that statement is read through the pool then, but
     * what the stmt hook reads, and the other two are asked for that and while looking alone. With `only_shrinks` they
     * may be the trees of all statements, and be written where they are: of the source only what is written next may be
     * looked at, and what comes after it. NULL: by the pool. */
    void (*rewrite_exprs)(vy_rewrite *rewrite, uint32_t first, uint32_t end);
    /* With find, and without the stmt hook: trees become no larger, and nothing else changes. So a program that is
     * nobody else's (vyre_program.is_unique) is changed itself. */
    uint8_t only_shrinks;
    /* With keeps_names, and changes_stmt_hook or next: says how far it is ahead, at most. So a program that is nobody
     * else's may be written in its own arrays (rewriter.h), and another has room for all of it. NULL: that is
     * not known. */
    void (*growth_bound)(vy_rewrite *rewrite, vy_growth_bound *bound);
    /* When everything is written, to change what was copied; counts changes. NULL: nothing. */
    void (*finish)(vy_rewrite *rewrite);
    /* The hooks may be asked whether they would change anything before anything is written, and again when it is: they
     * count a change before they write, or write with vy_rewrite_let and vy_rewrite_block alone, which count one then,
     * and keep nothing that the second time could see. While they are asked the expressions of the source are the pool,
     * a node is an expression of the source, and whoever makes one gets VY_NONE. */
    uint8_t supports_dry_run;
} vy_rewriter;

/* A node under construction: an expression whose operands are nodes of the pool and whose variables and memories are
 * those of the draft. May be used twice only if it is a leaf. */
typedef struct vy_rewrite_node {
    vy_expr expr;
    vy_position position;
    uint32_t depth; /* operators on the longest path below and with it */
    uint8_t loads;  /* it is a load, or has one below */
} vy_rewrite_node;

typedef struct vy_touched {
    uint32_t stmt;
    uint32_t by_trees; /* for its trees; else for itself, and of the trees nothing is known */
} vy_touched;

struct vy_rewrite {
    const vyre_program *from;
    const vy_function *function; /* of from, being copied */
    const vy_rewriter *hooks;
    void *user;
    vy_irb draft;
    uint32_t *variables, *memories; /* from indices of `from` to those of the draft */
    vy_symbol *names;               /* from names of `from` to those of the draft; 0: not there yet */
    uint32_t *suffixes;             /* by name of `from`: the last one tried */
    const uint8_t *drop_memories;   /* by memory of from: arrays to leave out; NULL: none */
    VY_VECTOR(vy_rewrite_node) pool;
    VY_VECTOR(uint32_t) row; /* by expression of the statement that a row is written of: where it is in the draft */
    VY_VECTOR(vy_arg) args;
    VY_VECTOR(uint8_t) visible;    /* by name of the draft */
    VY_VECTOR(vy_symbol) declared; /* visible names, innermost last */
    uint32_t made;                 /* `let`s of the pass so far: names */
    uint64_t changes;              /* counted by the pass; 0 at the end: the program itself is the result */
    VY_VECTOR(vy_touched) touched; /* with keeps_blocks: the statements of which the hooks say something, in order */
    uint32_t next_touched;
    uint8_t may_bind;   /* a `let` may stand before the tree being read: not for conditions of `while` */
    uint8_t in_arm;     /* the tree being read is in an arm (vy_op_has_arms): a `let` would load for others */
    uint8_t is_dry_run; /* nothing is written: is there a change? */
    uint8_t ended;      /* the last statement of the current block was a jump: nothing may follow */
};

/* Makes *out, one reference: the rewritten program, or `from` itself if the pass changed nothing, or changed that
 * (only_shrinks). *changes receives the count. What is made has no fingerprint: whoever runs the last pass seals it
 * (vy_program_finalize). */
vyre_status vy_rewrite_run(const vyre_program *from, const vy_rewriter *hooks, void *user, const uint8_t *drop_memories,
                           vyre_program **out, uint64_t *changes, vyre_error *error);

/* ---- for passes: statements ---- */

/* The statements [first, end) of the source, in the current block of the draft. */
void vy_rewrite_block(vy_rewrite *rewrite, uint32_t first, uint32_t end);
/* Names declared from here on belong to a scope that vy_rewrite_close ends. */
uint32_t vy_rewrite_open(const vy_rewrite *rewrite);
void vy_rewrite_close(vy_rewrite *rewrite, uint32_t mark);
/* Writes `let t = …` for a node of the pool before the statement being written and returns the variable of the
 * draft. */
uint32_t vy_rewrite_let(vy_rewrite *rewrite, uint32_t node);
/* A name that the source has nowhere; not declared. */
vy_symbol vy_rewrite_new_name(vy_rewrite *rewrite);
/* The name for what takes the place of a variable of the source, declared here. The pass sets
 * rewrite->variables[variable]. */
vy_symbol vy_rewrite_declare(vy_rewrite *rewrite, uint32_t variable);
/* For the row hook: makes room for `count` expressions in the draft and in rewrite->row, where the hook notes where
 * each went. Returns where the first goes, VY_NONE if that failed. */
uint32_t vy_rewrite_start_exprs(vy_rewrite *rewrite, uint32_t count);
/* The same, and appends the expressions as they are. Returns where the first is, VY_NONE if that failed. */
uint32_t vy_rewrite_copy_exprs(vy_rewrite *rewrite, uint32_t first, uint32_t end);
/* Appends a node to the draft, for a statement that follows directly. */
uint32_t vy_rewrite_write(vy_rewrite *rewrite, uint32_t node);

/* ---- for passes: expressions ---- */

/* Reads a tree of the source into the pool, through the hooks. VY_NONE is passed through. */
uint32_t vy_rewrite_read(vy_rewrite *rewrite, uint32_t root);
/* The same, but the tree hook is not asked about the root itself. */
uint32_t vy_rewrite_read_below(vy_rewrite *rewrite, uint32_t root);

/* Any expression; its operands are nodes, its variable or memory is the draft's. No hook sees it. */
uint32_t vy_rewrite_make_expr(vy_rewrite *rewrite, const vy_expr *expr);
uint32_t vy_rewrite_make_literal(vy_rewrite *rewrite, vyre_type type, uint64_t bits);
uint32_t vy_rewrite_make_variable(vy_rewrite *rewrite, uint32_t variable); /* of the draft */
/* No hook sees it. */
uint32_t vy_rewrite_make_op(vy_rewrite *rewrite, vyre_op op, vyre_type type, uint32_t a, uint32_t b, uint32_t c);
/* The node as a leaf that may be used several times: itself, or the variable of a `let` before the statement. VY_NONE
 * if it is none and no `let` may stand there. */
uint32_t vy_rewrite_make_leaf(vy_rewrite *rewrite, uint32_t node);

/* The node's expression. Only until the next node is made. */
static inline const vy_expr *vy_rewrite_node_at(const vy_rewrite *rewrite, uint32_t node) {
    return rewrite->is_dry_run ? &rewrite->from->exprs.items[node] : &rewrite->pool.items[node].expr;
}
static inline int vy_rewrite_is_literal(const vy_rewrite *rewrite, uint32_t node) {
    return node != VY_NONE && vy_rewrite_node_at(rewrite, node)->kind == VY_EXPR_LITERAL;
}

/* Dry run and in-place modes of the rewriter (rewriter.h). Internal to rewriter.c and rewriter_inplace.c.
 *
 * Dry run: finds out whether the hooks would change anything, and where, before anything is written. Most runs of a
 * pass change nothing. It examines exactly what would be written, in the same order, and leaves nothing behind but the
 * counted changes and the list of touched statements.
 *
 * In place: a pass that only shrinks trees edits a program that has one owner (vyre_program.is_unique); expressions
 * close up behind what became smaller. The trees of a statement are read before anything overwrites them, and none
 * becomes larger.
 *
 * Overlapped: a program with one owner is rewritten within its own arrays. The source is first moved up by as much as
 * the output may be ahead of the input (vy_rewriter.growth_bound), mostly not at all. Nothing is read of the source but
 * the current statement, what follows it, and what the pass appended after the last expression. */
/* All functions: counts changes, up to the first; with keeps_blocks notes every statement of which the hooks say
 * something. */
void vy_rewrite_dry_run(vy_rewrite *rewrite);
/* Whether the trees of a statement, [*first, *end), stay as they are. */
int vy_rewrite_keeps_trees(vy_rewrite *rewrite, uint32_t stmt, uint32_t *first, uint32_t *end);

/* Whether somebody says which statements the hooks say something of, and they are not asked. */
static inline int vy_rewrite_knows_touched(const vy_rewriter *hooks) {
    return hooks->changes_stmt_hook || hooks->find || hooks->next;
}
/* With keeps_blocks: the first statement from `stmt` on of which the hooks say something; NULL: none. */
static inline const vy_touched *vy_rewrite_next_touched(vy_rewrite *rw, uint32_t stmt) {
    while (rw->next_touched < rw->touched.count && rw->touched.items[rw->next_touched].stmt < stmt)
        rw->next_touched++;
    return rw->next_touched < rw->touched.count ? &rw->touched.items[rw->next_touched] : NULL;
}

/* Whether the hooks may change the program itself. */
static inline int vy_rewrite_may_edit(const vy_rewrite *rw) {
    return rw->from->is_unique && rw->hooks->only_shrinks;
}
/* Does so, with the statements that were noted by the dry run. After a failure, which is noted in the draft, the
 * program is good for nothing. */
void vy_rewrite_edit(vy_rewrite *rewrite);

/* Whether a program may be written in its own arrays: only its entry, and no positions of expressions, which nobody
 * keeps then. */
static inline int vy_rewrite_may_stay(const vyre_program *from, const vy_rewriter *hooks) {
    return from->is_unique && hooks->growth_bound && from->functions.count == 1 && vy_program_has_entry(from) &&
           from->expr_positions.count == 0;
}
/* Does so; *out is the source, retained. After a failure it is good for nothing. */
vyre_status vy_rewrite_in_place(vy_rewrite *rewrite, vyre_program **out, vyre_error *error);

/* Writes the trees of a statement of the source, its expressions [first, end), with what the hooks make of them. Their
 * roots are the operands of `copy`, and rewrite->args. */
void vy_rewrite_trees(vy_rewrite *rewrite, const vy_stmt *stmt, uint32_t first, uint32_t end, vy_stmt *copy);

/* Whether nothing may follow a statement of that kind in its block. */
static inline int vy_rewrite_ends_block(const vy_rewrite *rw, uint8_t kind) {
    return kind == VY_STMT_BREAK || kind == VY_STMT_CONTINUE || kind == VY_STMT_RETURN ||
           (kind == VY_STMT_TRAP && rw->hooks->trap_ends);
}

#endif
