/* Laws: what an op claims to be true of itself, put to the oracle.
 *
 * A law is one or two equations over a few operands (f(a, b) = f(b, a)). Each becomes a small program that calls the ops, is resolved like any
 * other, and runs on the oracle over a set of operands: all of them where they have at most 24 bits together, else edge values, literals of the bodies
 * and seeded random ones. What was seen to hold is cached by the digest of the resolved program, which has everything the op reaches, so that
 * a law is checked again only when something it depends on has changed. */
#ifndef VY_DIALECT_LAW_CHECK_H
#define VY_DIALECT_LAW_CHECK_H

#include "vyre/dialect.h"

enum {
    VY_LAW_LIMIT_OPERANDS = 64,  /* of one equation */
    VY_LAW_EXHAUSTIVE_BITS = 24, /* all operands together: every tuple is tried up to here */
    VY_LAW_STEPS = 4096,         /* statements that both sides of an equation may take for one tuple */
    VY_LAW_RANDOM = 1 << 13,     /* random tuples, where not all are tried */
    VY_LAW_PRODUCT = 1 << 17     /* tuples of edge values, likewise */
};
#define VY_LAW_TOTAL_STEPS (UINT64_C(1) << 32) /* of one equation */

/* Adds up over calls; starts as zeros. */
typedef struct vy_law_stats {
    uint64_t checked, cached; /* equations that ran, and that were known to hold */
    uint64_t tuples;          /* of those that ran */
} vy_law_stats;

/* Whether law number `index` of an op of the guard's snapshot holds. Other ops it names are those of the same snapshot; attributes have their defaults.
 * Runs on all cores; any thread. `count` is optional.
 *
 * VYRE_INVALID_PROGRAM  it does not, and the message has operands and both sides; or it cannot be checked, and the message says why: an operand that is
 *                       memory, types that do not fit together, an op that traps or does not end
 * VYRE_NOT_FOUND        the law names an op that no dialect provides
 * VYRE_NO_MEMORY */
vyre_status vy_law_check(vyre_dialects_guard guard, const vyre_op_definition *op, uint32_t index, vy_law_stats *count,
                         vyre_error *error);

/* A guard on what a builder would install, for checking it before that. Programs resolved against it are gone before it is closed. */
vyre_status vy_law_candidate_open(const vyre_dialect_builder *builder, vyre_dialects_guard *out, vyre_error *error);
void vy_law_candidate_close(vyre_dialects_guard *candidate);

/* Checks the laws of ops of other dialects that depend on this one, and tells `broken` of each that does not hold. VYRE_NO_MEMORY is the only failure. */
typedef void vy_law_violation_fn(void *user, const vyre_error *why);
vyre_status vy_law_check_dependents(vyre_dialects_guard candidate, const char *dialect, vy_law_violation_fn *broken,
                                    void *user);

/* Forgets what was seen to hold. For tests. */
void vy_law_cache_clear(void);

#endif
