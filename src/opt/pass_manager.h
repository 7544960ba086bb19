/* Pass manager: the passes of the optimiser, and the policy that they share.
 *
 * A pass accepts a valid program without internal calls and returns one with the same results, traps and
 * synchronisation. Everything that it may assume is in vy_opt_policy: which statements change what, which must be
 * kept, which identities hold. So tests can run a pass with one wrong rule and check that the campaign finds it. */
#ifndef VY_OPT_PASS_MANAGER_H
#define VY_OPT_PASS_MANAGER_H

#include "analysis/def_use.h"
#include "analysis/literal.h"
#include "analysis/range.h"
#include "compile/target/target.h"
#include "ir/eval.h"
#include "ir/model.h"
#include "opt/algebraic_rules.h"
#include "vyre/transform.h"

#include <stdatomic.h>

/* State that executing a statement may change, for the invocation that executes it. */
enum {
    VY_CHANGES_VARIABLE = 1, /* stmt.variable */
    VY_CHANGES_MEMORY = 2,   /* stmt.memory, and memory arguments */
    VY_CHANGES_SHARED =
        4, /* writes of other invocations become visible: buffers that may be written, workgroup arrays */
    VY_CHANGES_ACQUIRE = 8 /* the same, if the memory order acquires */
};

typedef struct vy_opt_policy {
    uint8_t changes[VY_STMT_KIND_COUNT]; /* VY_CHANGES_* */
    uint8_t is_kept[VY_STMT_KIND_COUNT]; /* 1: never removed, even if its results are unused */
    uint8_t forget_at_loops;             /* variables and memory that a loop changes are unknown at its head */
    uint8_t forget_at_joins;             /* variables and memory that a branch changed are unknown after the join */
    uint8_t check_bounds;                /* a store is forwarded only if its index is proven in bounds */
    uint8_t check_wrap;                  /* a magic multiplier that exceeds the type by one bit is handled */
    uint8_t reads_count;                 /* a store is dead only if the memory is not read before it is overwritten */
    uint8_t jumps_count;                 /* … and no jump bypasses the overwriting store */
    uint8_t guards_count;                /* a load is not executed speculatively */
    uint8_t index_counts;                /* … and if the overwriting store has the same index */
    vy_range_rules ranges;               /* the rules of the range analysis */
    uint8_t last_trip_counts;            /* the last iteration of a loop may be shorter than the step */
    uint8_t trips_are_exact;             /* iteration values are exact integers, beyond the range of the type */
    vy_unroll_limits unroll;
    const vy_identity *identities;
    uint32_t identity_count;
} vy_opt_policy;

extern const vy_opt_policy vy_opt_default;
/* The default policy with the unrolling limits of a target. */
static inline vy_opt_policy vy_opt_policy_for(const vy_unroll_limits *unroll) {
    vy_opt_policy policy = vy_opt_default;
    policy.unroll = *unroll;
    return policy;
}

/* vyre_program_optimize with another policy. */
vyre_status vy_optimize_by(const vyre_program *program, const vyre_optimize_options *options,
                           const vy_opt_policy *rules, vyre_program **out, vyre_optimize_report *report,
                           vyre_error *error);

/* The same as a step of the compile pipeline: the result is trusted to be valid and has no fingerprint
 * (vy_program_finalize). `program` may lack one too, as do the programs passed to the observer. checks_passes: the
 * result of each pass is validated, and dropped if it is not valid. */
vyre_status vy_optimize_unverified(const vyre_program *program, const vyre_optimize_options *options,
                                   const vy_opt_policy *rules, int checks_passes, vyre_program **out,
                                   vyre_error *error);

/* The state that `stmt` changes: VARIABLE, MEMORY, SHARED; ACQUIRE is resolved. A call whose code a target has changes
 * nothing. */
static inline uint8_t vy_stmt_changes(const vy_opt_policy *rules, const vyre_program *program, const vy_stmt *stmt) {
    uint8_t changes = rules->changes[stmt->kind];
    if (stmt->kind == VY_STMT_CALL && vy_lowered_op_of(program, stmt))
        return 0;
    int acquires = stmt->order == VYRE_ORDER_ACQUIRE || stmt->order == VYRE_ORDER_ACQ_REL;
    if (changes & VY_CHANGES_ACQUIRE && acquires)
        changes |= VY_CHANGES_SHARED;
    return changes & (VY_CHANGES_VARIABLE | VY_CHANGES_MEMORY | VY_CHANGES_SHARED);
}

/* A loop with more iterations is never unrolled. */
enum { VY_TRIPS = 64 };
/* The iteration values from, from + by, … of a `for` with literal bounds (by NULL: 1). Returns their number;
 * VY_TRIPS + 1 if there are more or an operand is not a literal. */
unsigned vy_count_trips(const vy_opt_policy *rules, const vy_expr *from, const vy_expr *to, const vy_expr *by,
                        uint64_t at[VY_TRIPS]);

/* Whether op(a, b) and op(b, a) have the same bits for every type, including the handling of NaN. */
int vy_op_commutes(vyre_op op);

/* Whether VY_CHANGES_SHARED applies to a memory: not to private arrays, nor to memory that is constant during a
 * dispatch. A memory parameter of a function may alias memory that other invocations write, even if the function
 * only reads it. */
int vy_memory_is_shared(const vyre_program *program, uint32_t memory);

/* The number of pass runs in this process, for the counter `passes` (vyre/telemetry.h): passes of the optimiser, of
 * legalisation, of coarsening and of the transforms in src/split. Every caller of a pass counts it. */
extern _Atomic uint64_t vy_passes_run;
static inline void vy_pass_count(void) {
    atomic_fetch_add_explicit(&vy_passes_run, 1, memory_order_relaxed);
}

typedef vyre_status vy_pass_function(const vyre_program *from, const vy_opt_policy *rules, vyre_program **out,
                                     uint64_t *changes, vyre_error *error);

#define X(ID, function, name, doc) vy_pass_function vy_pass_##function;
VYRE_PASS_LIST(X)
#undef X

/* Runs one pass as a step of a larger transform: the result is not validated. At a limit of the language *out is
 * `from`. */
vyre_status vy_pass_run_unverified(vyre_pass pass, const vyre_program *from, const vy_opt_policy *rules,
                                   vyre_program **out, uint64_t *changes, vyre_error *error);

/* Runs one pass. If its result is not valid (a race that the validator could not detect before, or a limit), *out is
 * `from` and *was_refused is 1. */
vyre_status vy_pass_run(vyre_pass pass, const vyre_program *from, const vy_opt_policy *rules, vyre_program **out,
                        uint64_t *changes, int *was_refused, vyre_error *error);

/* Dead store analysis: finds the assignments and stores whose value cannot be read, because it is overwritten first.
 *
 * One backward walk over a program without internal calls. A variable is dead where every path assigns it, or leaves
 * its scope, before reading it. An element is dead if the later store certainly has the same index; a whole array is
 * dead if it is never read again. Memory that other invocations may read counts as read at every barrier,
 * collective, call, and atomic that orders memory; a jump, return or trap reads everything. Two indices are the same
 * if they are the same expression of literals, ids, lengths and immutable variables. Sound, not complete: the answer
 * 1 holds in every run; 0 means unknown. */
/* uses: with EXPRS, DECLARATIONS and ASSIGNED. Sets is_overwritten[i] (by statement, initially zero) for assignments
 * and stores that may be removed, and for `var`s whose initial value is dead.
 *
 * VYRE_NO_MEMORY */
vyre_status vy_dead_stores_find(const vy_def_use *uses, const vy_opt_policy *rules, uint8_t *is_overwritten,
                                vyre_error *error);

#endif
