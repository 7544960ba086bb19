/* Values: common subexpressions, copies, and loads of what was just stored. What the parts of the pass (pass_values_*.h) share; internal to them.
 *
 * Every expression gets the number of its value; equal numbers mean equal bits wherever both are evaluated. The number of an op follows from its
 * row and the numbers of its operands, that of a variable is that of what it was given last, that of a load from the state of the
 * memory: each state has a number of its own, and a new one begins with every statement that may change the memory (vy_opt_policy.changes). A
 * store to an index that is certainly inside (range.h) says what a load from there gives. At the head of a loop everything its body changes is unknown,
 * and so is behind an `if` what its branches changed. Ops of literals are computed (by the evaluator), so literals travel through variables.
 *
 * Then, going through the program in order: a tree whose number is that of a literal becomes the literal; one whose number a
 * variable in scope has that is never assigned becomes that variable; one whose number an earlier tree has, which dominates it and stands in a
 * block around it, becomes a new `let` that is put before that earlier one. Only the largest trees are taken.
 *
 * What must stay true: a number is never used for two values that an invocation can tell apart between the definition of the leader and
 * the use, in one trip of every loop around both. So leaders are forgotten with their block, and conditions of `while` lead nothing. */
#ifndef VY_OPT_PASS_GVN_H
#define VY_OPT_PASS_GVN_H

#include "analysis/range.h"
#include "base/memory.h"
#include "opt/pass_manager.h"

/* A value number stands for a key: what the value is made of. */
typedef struct vy_value {
    vy_expr key;     /* operands are numbers; VY_EXPR_KIND_COUNT: like no other */
    uint32_t next;   /* in its bucket, plus 1 */
    uint32_t holder; /* a variable in scope that has it and is never assigned, or VY_NONE */
    uint32_t leader; /* an expression in scope that computes it, or VY_NONE */
    uint32_t stands; /* for this number: of a load after a store the number of what was stored; else itself */
    uint32_t store;  /* of such a load: the store, plus 1, as long as nobody has asked whether that is inside; else 0 */
} vy_value;

/* What is to be undone at the end of a block. */
typedef enum vy_gvn_slot {
    VY_GVN_SLOT_VARIABLE,
    VY_GVN_SLOT_MEMORY,
    VY_GVN_SLOT_SHARED,
    VY_GVN_SLOT_HOLDER,
    VY_GVN_SLOT_LEADER
} vy_gvn_slot;
typedef struct vy_gvn_undo {
    vy_gvn_slot place;
    uint32_t index, old;
} vy_gvn_undo;

/* VY_GVN_IS_LEADER: it is a leader somebody uses. */
typedef enum vy_gvn_replacement {
    VY_GVN_KEEP,
    VY_GVN_TO_LITERAL,
    VY_GVN_TO_VARIABLE,
    VY_GVN_TO_LEADER,
    VY_GVN_IS_LEADER
} vy_gvn_replacement;

typedef struct vy_gvn {
    const vyre_program *program;
    const vy_opt_policy *rules;
    vy_ranges *ranges; /* made when somebody asks */
    VY_VECTOR(vy_value) values;
    VY_VECTOR(vy_gvn_undo) log;
    uint32_t *buckets, bucket_count; /* a power of two */
    uint32_t *of_expr;               /* by expression: its number */
    uint32_t *of_variable;           /* by variable: the number of its value here; VY_NONE: none yet */
    uint8_t *is_assigned;            /* by variable: beyond its declaration */
    uint32_t *of_memory;             /* by memory: the number of its state */
    uint32_t *last_load;             /* by memory: one past the last load from it */
    uint32_t shared;                 /* the number of the state of everything others may write */
    uint32_t next_state;
    uint32_t next_expr;
    uint32_t undoes; /* what is set here is undone: how many are going to do that */
    /* The result: */
    uint32_t *first_expr; /* by statement */
    uint8_t *becomes;     /* by expression */
    uint32_t *target;     /* by expression that goes: the variable or leader */
    uint32_t *made;       /* the same table, by leader, which does not go: the variable of the draft, once there */
    uint32_t *block;
    size_t size, bucket_size;
    uint64_t changes; /* trees that become something else */
    int leads;        /* and something is put before that */
    int failed;
} vy_gvn;

#endif
