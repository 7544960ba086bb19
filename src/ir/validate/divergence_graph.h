/* Divergence graph of one function: the dependences that determine which values differ between invocations.
 *
 * A node is a variable, the contents of a memory, a result, control at a statement, or an operand that must be uniform.
 * An edge u -> v means: if u is divergent, v may be. So divergence is reachability, and solving a whole function costs
 * one pass over its edges (uniformity.c).
 *
 * Rules (docs/language.md states them for users). They are flow-insensitive for variables: a `var` is divergent if any
 * assignment makes it divergent.
 *  - An expression depends on every variable, varying builtin and loaded memory in it.
 *  - An assigned variable depends on the value and on control at the assignment. A private array depends on stores in
 *    the same way.
 *  - Control in an `if` or loop depends on control around it and on its condition or bounds.
 *  - After a block that a continue, break or return may have left, control depends on control at that jump, to the end
 *    of the loop (continue, break) or function (return). A break or return in a loop also makes the loop itself depend
 *    on it, since some invocations execute more iterations than others, unless the loop has at most one iteration.
 *  - Control reconverges at the end of an `if`, at the next iteration of a loop and at its end. A trap is not a jump
 *    here: legalisation makes its exit uniform. */
#ifndef VY_IR_VALIDATE_DIVERGENCE_GRAPH_H
#define VY_IR_VALIDATE_DIVERGENCE_GRAPH_H

#include "ir/validate/verifier.h"

/* Bits of a set of sources: these, then one bit for each parameter of the function. */
enum {
    VY_VARIES_IN_GROUP = 0, /* between the invocations of a workgroup; implies VY_VARIES_IN_GRID */
    VY_VARIES_IN_GRID = 1,  /* between the invocations of the grid */
    VY_VARIES_CONTROL = 2,  /* as control at the call */
    VY_VARIES_PARAM = 3     /* + i: as argument i of the call */
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
    uint32_t edges;  /* 1 + first edge */
    uint32_t origin; /* variable, control: the statement that declares or opens it; memory: index; source: expression */
    uint32_t cause[2]; /* by level: the node that VARIES_IN_GROUP or IN_GRID came from; VY_NONE: itself */
    uint16_t param;    /* if has_param, the node has the bit VY_VARIES_PARAM + param */
    uint8_t kind, has_param;
    uint8_t seed; /* initial bits below VY_VARIES_PARAM */
    uint8_t queued;
} vy_divergence_node;

typedef struct vy_divergence_edge {
    uint32_t to, next; /* next: 1 + index */
} vy_divergence_edge;

/* A barrier, collective or lane operand that must be uniform. */
typedef struct vy_sync_point {
    uint32_t node;  /* control at the statement, or a lane */
    uint32_t stmt;  /* in this function */
    uint32_t where; /* the barrier or collective: stmt, or in a function that stmt calls */
    uint8_t level;  /* VY_VARIES_IN_GROUP or VY_VARIES_IN_GRID */
    uint8_t is_lane;
} vy_sync_point;

/* Summary of a function for its callers: sets of `words` words each. */
typedef struct vy_divergence_summary {
    uint32_t words;
    uint64_t *results;  /* one set for each result */
    uint64_t *needs[2]; /* by level: sources that must be uniform */
    uint32_t where[2];  /* by level: a barrier or collective that requires them */
    uint8_t is_lane[2];
} vy_divergence_summary;

typedef struct vy_divergence_graph {
    vy_verifier *verifier;
    const vyre_program *program;
    const vy_function *function;
    const vy_divergence_summary *summaries; /* by function; complete for callees */
    VY_VECTOR(vy_divergence_node) nodes;
    VY_VECTOR(vy_divergence_edge) edges;
    VY_VECTOR(vy_sync_point) sync_points;
    uint32_t results; /* first result node; nodes of variables and memories precede it, in order */
    uint32_t next_expr;
    uint32_t *control;   /* by statement: receives the node of its control; may be NULL */
    int poll_is_uniform; /* assume that poll returns the same value to all invocations of a workgroup */
} vy_divergence_graph;

static inline int vy_divergence_set_has(const uint64_t *set, uint32_t bit) {
    return (int)(set[bit / 64] >> bit % 64 & 1);
}

/* The divergence of a builtin: bits VY_VARIES_IN_GROUP and VY_VARIES_IN_GRID. */
uint32_t vy_builtin_varies(const vy_expr *builtin);

/* Replaces nodes, edges and sync_points by those of function `index`. Sets verifier->out_of_memory on failure. */
void vy_divergence_graph_build(vy_divergence_graph *flow, uint32_t index);

#endif
