/* Value numbering: the table of values, and the state of the walk that numbers expressions. Internal to pass_gvn.c.
 *
 * Every expression gets the number of its value; equal numbers mean equal bits wherever both are evaluated. The key
 * of an op is its opcode and the numbers of its operands. A variable has the number of the value assigned last. The
 * key of a load includes the state of its memory: every statement that may change the memory starts a new state
 * (vy_opt_policy.changes). After a store whose index is in bounds (analysis/range.h), a load from that index has the
 * number of the stored value. An op of literals is evaluated, so literals propagate through variables.
 *
 * Invariant: the key of a value includes everything that the value depends on. Changes in a block that not
 * every invocation executes are logged and undone at the end of the block; variables and memories that the block
 * changed then get fresh numbers. Holders and leaders always go out of scope with their block. */
#ifndef VY_OPT_GVN_TABLE_H
#define VY_OPT_GVN_TABLE_H

#include "analysis/range.h"
#include "base/memory.h"
#include "opt/pass_manager.h"

/* A value number denotes a key: the op and operands that compute the value. */
typedef struct vy_value {
    vy_expr key;     /* operands are numbers; VY_EXPR_KIND_COUNT: unique value */
    uint32_t next;   /* in its bucket, plus 1 */
    uint32_t holder; /* an immutable variable in scope with this value, or VY_NONE */
    uint32_t leader; /* an expression in scope that computes this value, or VY_NONE */
    uint32_t stands; /* canonical number: for a load after a store the number of the stored value, else this number */
    uint32_t store;  /* for such a load: the store plus 1 until its bounds have been checked; else 0 */
} vy_value;

/* A change to undo at the end of a block. */
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

/* VY_GVN_IS_LEADER: a leader that has uses. */
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
    vy_ranges *ranges; /* created on the first query */
    VY_VECTOR(vy_value) values;
    VY_VECTOR(vy_gvn_undo) log;
    uint32_t *buckets, bucket_count; /* bucket_count is a power of two */
    uint32_t *of_expr;               /* by expression: its number */
    uint32_t *of_variable;           /* by variable: the number of its value at this point; VY_NONE: none yet */
    uint32_t *of_memory;             /* by memory: the number of its state */
    uint32_t *last_load;             /* by memory: one past the last load from it */
    uint32_t shared;                 /* the number of the state of all memory that other invocations may write */
    uint32_t next_state;
    uint32_t undoes; /* number of enclosing scopes that will undo the changes made here */
    vy_def_use uses; /* EXPRS, ASSIGNED */
    /* The result: */
    uint8_t *becomes; /* by expression */
    uint32_t *target; /* by replaced expression: the variable or leader that replaces it */
    uint32_t *made;   /* the same array, by leader (which is not replaced): its variable in the draft, once declared */
    uint32_t *block;
    size_t size, bucket_size;
    uint64_t changes; /* replaced trees */
    int leads;        /* some replacement needs a `let` of its leader */
    int failed;
} vy_gvn;

/* ---- inline because every declaration and most trees change a slot ---- */

static inline uint32_t *vy_gvn_slot_at(vy_gvn *n, vy_gvn_slot place, uint32_t index) {
    switch (place) {
    case VY_GVN_SLOT_VARIABLE:
        return &n->of_variable[index];
    case VY_GVN_SLOT_MEMORY:
        return &n->of_memory[index];
    case VY_GVN_SLOT_SHARED:
        return &n->shared;
    case VY_GVN_SLOT_HOLDER:
        return &n->values.items[index].holder;
    case VY_GVN_SLOT_LEADER:
        break;
    }
    return &n->values.items[index].leader;
}

static inline void vy_gvn_set(vy_gvn *n, vy_gvn_slot place, uint32_t index, uint32_t to) {
    if (n->failed)
        return;
    uint32_t *at = vy_gvn_slot_at(n, place, index);
    if (n->undoes) {
        if (!VY_RESERVE(&n->log, 1)) {
            n->failed = 1;
            return;
        }
        n->log.items[n->log.count++] = (vy_gvn_undo){place, index, *at};
    }
    *at = to;
}

static inline void vy_gvn_forget_memory(vy_gvn *n, uint32_t memory) {
    vy_gvn_set(n, VY_GVN_SLOT_MEMORY, memory, n->next_state++);
}

static inline void vy_gvn_forget_shared(vy_gvn *n) {
    vy_gvn_set(n, VY_GVN_SLOT_SHARED, 0, n->next_state++);
}

/* ---- blocks; `mark` is the length of the log at the start of the block ---- */

void vy_gvn_forget_variable(vy_gvn *n, uint32_t variable);
/* Restores the state at mark. The changes of the block stay in the log, for vy_gvn_forget. */
void vy_gvn_leave(vy_gvn *n, uint32_t mark);
/* Restores the state at mark and truncates the log. */
void vy_gvn_undo_to(vy_gvn *n, uint32_t mark);
/* After vy_gvn_leave: makes all slots that the blocks changed unknown and truncates the log. */
void vy_gvn_forget(vy_gvn *n, uint32_t mark);
/* At the end of a block that every invocation executes: keeps its changes, but ends the scope of its declarations. */
void vy_gvn_end_scope(vy_gvn *n, uint32_t mark);

/* ---- numbers ---- */

/* Numbers the expressions of a statement in the state before it. May set n->failed, as may every function that
 * returns a number. */
void vy_gvn_number(vy_gvn *n, const vy_stmt *s);
/* A number whose value is equal to no other. */
uint32_t vy_gvn_fresh(vy_gvn *n, uint8_t type);
/* After the store at `index`, a load of the same element has the number of the stored value: adds its key. Only if a
 * load follows. */
void vy_gvn_forward(vy_gvn *n, uint32_t index, const vy_stmt *s);

/* The literal with this number, or NULL. */
static inline const vy_expr *vy_gvn_literal(const vy_gvn *n, uint32_t number) {
    const vy_expr *key = &n->values.items[number].key;
    return key->kind == VY_EXPR_LITERAL ? key : NULL;
}

#endif
