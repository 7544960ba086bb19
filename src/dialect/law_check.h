/* Law checker: tests the algebraic laws that an op declares, on the oracle.
 *
 * A law is one or two equations over a few operands, such as f(a, b) = f(b, a). Each equation becomes a small program
 * that calls the ops. The program is resolved like any other and runs on the oracle for a set of operands: exhaustively
 * if they have at most 24 bits in total, else for edge values, literals of the bodies and seeded random values.
 * Equations that hold are cached by the digest of the resolved program. That digest covers every op that the equation
 * reaches, so a law is checked again only when one of its dependencies changes. */
#ifndef VY_DIALECT_LAW_CHECK_H
#define VY_DIALECT_LAW_CHECK_H

#include "vyre/dialect.h"

enum {
    VY_LAW_LIMIT_OPERANDS = 64,  /* of one equation */
    VY_LAW_EXHAUSTIVE_BITS = 24, /* total bits of all operands up to which every tuple is tried */
    VY_LAW_STEPS = 4096,         /* statements per tuple that both sides of an equation may execute */
    VY_LAW_RANDOM = 1 << 13,     /* random tuples, if the check is not exhaustive */
    VY_LAW_PRODUCT = 1 << 17     /* tuples of edge values, if the check is not exhaustive */
};
#define VY_LAW_TOTAL_STEPS (UINT64_C(1) << 32) /* of one equation */

/* Totals over calls; zero-initialise before the first. */
typedef struct vy_law_stats {
    uint64_t checked, cached; /* equations that ran, and that the cache contained */
    uint64_t tuples;          /* tried by the equations that ran */
} vy_law_stats;

/* Checks law number `index` of an op of the guard's snapshot. Other ops that the law names are those of the same
 * snapshot; attributes have their defaults. Runs on all cores. May be called from any thread. `count` may be NULL.
 *
 * VYRE_INVALID_PROGRAM  the law does not hold, and the message shows the operands and both sides; or it cannot be
 *                       checked, and the message states the reason: a memory operand, mismatched types, an op that
 *                       traps or does not terminate
 * VYRE_NOT_FOUND        the law names an op that no dialect provides
 * VYRE_NO_MEMORY */
vyre_status vy_law_check(vyre_dialects_guard guard, const vyre_op_definition *op, uint32_t index, vy_law_stats *count,
                         vyre_error *error);

/* Opens a guard on the snapshot that a builder would install, to check it beforehand. Programs resolved against it must
 * be released before it is closed. */
vyre_status vy_law_candidate_open(const vyre_dialect_builder *builder, vyre_dialects_guard *out, vyre_error *error);
void vy_law_candidate_close(vyre_dialects_guard *candidate);

/* Checks the laws of ops of other dialects that depend on this one, and calls `broken` for each that does not hold.
 * VYRE_NO_MEMORY is the only failure. */
typedef void vy_law_violation_fn(void *user, const vyre_error *why);
vyre_status vy_law_check_dependents(vyre_dialects_guard candidate, const char *dialect, vy_law_violation_fn *broken,
                                    void *user);

/* The cache of laws that hold, and of code that was tried (lowering_trial.h), by digest. Any thread. */
int vy_law_cache_contains(const vyre_digest *digest);
void vy_law_cache_insert(const vyre_digest *digest);
/* Clears it. For tests. */
void vy_law_cache_clear(void);

#endif
