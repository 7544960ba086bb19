/* The flow graph of one function: what depends on what, as far as "does this differ between invocations?" goes.
 *
 * A node stands for something that may differ: a variable, the contents of a memory, a result, control at some place, an operand that
 * must be uniform. An edge u → v says: if u differs, v may. So the question is one of reachability, and an answer for a whole function
 * costs one pass over its edges (uniform.c).
 *
 * Rules (docs/ir.md states them for users). They are flow-insensitive for variables: a `var` differs if any assignment makes it differ.
 *  - An expression depends on every variable, varying builtin and loaded memory in it.
 *  - An assigned variable depends on the value and on control at the assignment; so does a private array on stores.
 *  - Control in an `if` or loop depends on control around it and on its condition or bounds.
 *  - After a block that a continue, break or return may have left, control depends on control at that jump, to the end of the loop
 *    (continue, break) or function (return). A break or return in a loop also makes the loop itself depend on it, since some
 *    invocations make more trips than others; unless the loop makes at most one trip.
 *  - Invocations meet again at the end of an `if`, at the next trip of a loop and at its end. A trap is no jump here: legalisation makes its
 *    exit uniform. */
#ifndef VY_IR_VALIDATE_DIVERGENCE_GRAPH_H
#define VY_IR_VALIDATE_DIVERGENCE_GRAPH_H

#include "ir/validate/verifier.h"

/* What a set of sources can hold: these, then one bit for each parameter of the function. */
enum {
    VY_VARIES_IN_GROUP = 0, /* between the invocations of a workgroup; comes with VY_VARIES_IN_GRID */
    VY_VARIES_IN_GRID = 1,  /* between the invocations of the grid */
    VY_VARIES_CONTROL = 2,  /* as control at the call does */
    VY_VARIES_PARAM = 3     /* + i: as argument i of the call does */
};

typedef enum vy_divergence_kind {
    VY_DIVERGENCE_VARIABLE,
    VY_DIVERGENCE_MEMORY,
    VY_DIVERGENCE_RESULT,
    VY_DIVERGENCE_CONTROL,
    VY_DIVERGENCE_SOURCE,
    VY_DIVERGENCE_VALUE
} vy_divergence_kind;

typedef struct vy_divergence_node {
    uint32_t edges; /* first edge, plus 1 */
    uint32_t
        origin; /* variable: declaring statement; memory: its index; control: the statement that opens it; source: the expression */
    uint32_t cause[2]; /* by level: the node it got VARIES_IN_GROUP or IN_GRID from; VY_NONE = itself */
    uint16_t param;    /* its own bit VY_VARIES_PARAM + param, if has_param */
    uint8_t kind, has_param;
    uint8_t seed; /* its own bits below VY_VARIES_PARAM */
    uint8_t queued;
} vy_divergence_node;

typedef struct vy_divergence_edge {
    uint32_t to, next; /* next: plus 1 */
} vy_divergence_edge;

/* A place where invocations must agree. */
typedef struct vy_sync_point {
    uint32_t node;  /* control there, or a lane */
    uint32_t stmt;  /* in this function */
    uint32_t where; /* the barrier or collective itself: stmt, or inside a function that stmt calls */
    uint8_t level;  /* VY_VARIES_IN_GROUP or VY_VARIES_IN_GRID */
    uint8_t is_lane;
} vy_sync_point;

/* What callers need to know about a function: sets of `words` words each. */
typedef struct vy_divergence_summary {
    uint32_t words;
    uint64_t *results;  /* one set for each result */
    uint64_t *needs[2]; /* by level: sources that must be uniform */
    uint32_t where[2];  /* by level: a barrier or collective that needs them */
    uint8_t is_lane[2];
} vy_divergence_summary;

typedef struct vy_divergence_graph {
    vy_verifier *verifier;
    const vyre_program *program;
    const vy_function *function;
    const vy_divergence_summary *summaries; /* by function; those of callees are ready */
    VY_VECTOR(vy_divergence_node) nodes;
    VY_VECTOR(vy_divergence_edge) edges;
    VY_VECTOR(vy_sync_point) sync_points;
    uint32_t results; /* first of the result nodes; variables and then memories lie before them, in order */
    uint32_t next_expr;
    uint32_t *control;   /* by statement: receives the node of control there. NULL: nobody asks */
    int poll_is_uniform; /* a poll is taken to tell all invocations of a workgroup the same */
} vy_divergence_graph;

static inline int vy_divergence_set_has(const uint64_t *set, uint32_t bit) {
    return (int)(set[bit / 64] >> bit % 64 & 1);
}

/* Between whom a builtin varies: bits VY_VARIES_IN_GROUP and VY_VARIES_IN_GRID. */
uint32_t vy_builtin_varies(const vy_expr *builtin);

/* Fills nodes, edges and sync_points for function `index`; what they held is replaced. Sets verifier->out_of_memory on failure. */
void vy_divergence_graph_build(vy_divergence_graph *flow, uint32_t index);

#endif
