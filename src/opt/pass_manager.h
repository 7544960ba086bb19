/* Pass manager: the passes of the optimiser, and the policy that they share.
 *
 * A pass takes a valid program without calls of its own functions and returns one with the same results, traps and
 * synchronisation. Everything that it may assume is in vy_opt_policy: which statements change what, which must be kept,
 * which identities hold. So tests can give a pass one wrong rule and check that the campaign finds it. */
#ifndef VY_OPT_PASS_MANAGER_H
#define VY_OPT_PASS_MANAGER_H

#include "analysis/range.h"
#include "ir/eval.h"
#include "ir/model.h"
#include "opt/algebraic_rules.h"
#include "vyre/transform.h"

/* What executing a statement may change, for the invocation that executes it. */
enum {
    VY_CHANGES_VARIABLE = 1, /* stmt.variable */
    VY_CHANGES_MEMORY = 2,   /* stmt.memory, and memories given as arguments */
    VY_CHANGES_SHARED =
        4, /* what others wrote becomes visible: every buffer that somebody may write, every workgroup array */
    VY_CHANGES_ACQUIRE = 8 /* the same, if its order acquires */
};

/* What unrolling folds itself, as the pass `const-fold` behind it would: nothing, what it writes, or all, also where it
 * unrolls nothing. */
typedef enum vy_unroll_folds { VY_FOLDS_NOTHING, VY_FOLDS_UNROLLED, VY_FOLDS_ALL } vy_unroll_folds;

/* How far loops are unrolled: not what holds, but what pays. Cost is the statements and expressions that a loop
 * becomes. */
typedef struct vy_unroll_limits {
    uint32_t trips, cost; /* of a `for` */
    uint32_t private_trips,
        private_cost; /* of one that touches private arrays, which registers can only be with literal indices */
    uint32_t counter_trips,
        counter_cost; /* of a `while` whose condition hangs on one variable that goes from literal to literal */
    uint32_t room;    /* the program may become so large */
    vy_unroll_folds folds;
} vy_unroll_limits;

typedef struct vy_opt_policy {
    uint8_t changes[VY_STMT_KIND_COUNT]; /* VY_CHANGES_* */
    uint8_t is_kept[VY_STMT_KIND_COUNT]; /* 1: never left out, whoever uses its results */
    uint8_t forget_at_loops;             /* what a loop changes is unknown at its head */
    uint8_t forget_at_joins;             /* what a branch changed is unknown behind it */
    uint8_t check_bounds;                /* a store is forwarded only from an index known to be inside */
    uint8_t check_wrap;                  /* magic numbers that need a bit more than the type has get it */
    uint8_t reads_count;                 /* a store is overwritten only if nobody reads the memory before */
    uint8_t jumps_count;                 /* and if no jump leads past the other store */
    uint8_t guards_count;                /* a load is made only where the program makes it */
    uint8_t index_counts;                /* and if that has the same index */
    vy_range_rules ranges;               /* what the range analysis relies on */
    uint8_t last_trip_counts;            /* a step that does not divide the way makes one trip more */
    uint8_t trips_are_exact;             /* trips are counted in integers, beyond the end of the type */
    vy_unroll_limits unroll;
    const vy_identity *identities;
    uint32_t identity_count;
} vy_opt_policy;

extern const vy_opt_policy vy_opt_default;
/* The same, for a target that takes long code gladly: arrays become registers there, and loops of meetings are written
 * out. */
extern const vy_opt_policy vy_opt_unroll_aggressive;
/* the same but for loops over private arrays, which are written out later (unroll_arrays.h) */
extern const vy_opt_policy vy_opt_defer_array_loops;
extern const vy_opt_policy vy_opt_spmd_cpu; /* for vectors of many invocations: steps of a workgroup are written out */

/* vyre_program_optimize by other rules. */
vyre_status vy_optimize_by(const vyre_program *program, const vyre_optimize_options *options,
                           const vy_opt_policy *rules, vyre_program **out, vyre_optimize_report *report,
                           vyre_error *error);

/* The same as a step of something larger: what it makes is trusted to be valid and has no fingerprint
 * (vy_program_finalize), as may be with `program`. */
vyre_status vy_optimize_unverified(const vyre_program *program, const vyre_optimize_options *options,
                                   const vy_opt_policy *rules, vyre_program **out, vyre_error *error);

/* What `stmt` changes, with ACQUIRE decided: VARIABLE, MEMORY, SHARED. */
static inline uint8_t vy_stmt_changes(const vy_opt_policy *rules, const vy_stmt *stmt) {
    uint8_t changes = rules->changes[stmt->kind];
    int acquires = stmt->order == VYRE_ORDER_ACQUIRE || stmt->order == VYRE_ORDER_ACQ_REL;
    if (changes & VY_CHANGES_ACQUIRE && acquires)
        changes |= VY_CHANGES_SHARED;
    return changes & (VY_CHANGES_VARIABLE | VY_CHANGES_MEMORY | VY_CHANGES_SHARED);
}

/* No loop of more trips is written trip by trip. */
enum { VY_TRIPS = 64 };
/* The trips of a `for` with literal bounds (by: NULL is 1): from, from + by, …; VY_TRIPS + 1 if they are more, or
 * something is no literal. */
unsigned vy_count_trips(const vy_opt_policy *rules, const vy_expr *from, const vy_expr *to, const vy_expr *by,
                        uint64_t at[VY_TRIPS]);

/* Whether op(a, b) and op(b, a) are the same bits, for every type: a NaN is the same from either side. */
int vy_op_commutes(vyre_op op);

/* Whether VY_CHANGES_SHARED concerns a memory: not what is private, nor what nobody writes during a dispatch. A
 * function does not know what its parameters stand for: what it may only read, others may write. */
int vy_memory_is_shared(const vyre_program *program, uint32_t memory);

typedef vyre_status vy_pass_function(const vyre_program *from, const vy_opt_policy *rules, vyre_program **out,
                                     uint64_t *changes, vyre_error *error);

#define X(ID, function, name, doc) vy_pass_function vy_pass_##function;
VYRE_PASS_LIST(X)
#undef X

/* Runs one pass, as a step: what it makes is not validated. At a limit, *out is `from`. */
vyre_status vy_pass_run_unverified(vyre_pass pass, const vyre_program *from, const vy_opt_policy *rules,
                                   vyre_program **out, uint64_t *changes, vyre_error *error);

/* Runs one pass. Where its result is not valid (a race that the validator could not see before, a limit), *out is
 * `from` and *was_refused 1. */
vyre_status vy_pass_run(vyre_pass pass, const vyre_program *from, const vy_opt_policy *rules, vyre_program **out,
                        uint64_t *changes, int *was_refused, vyre_error *error);

/* Dead store analysis: finds the assignments and stores whose value cannot be read, because it is overwritten first.
 *
 * One backward walk over a program without calls of its own functions. A variable is dead where every path assigns it,
 * or leaves its scope, before reading it. An element is dead if the later store certainly has the same index; a whole
 * array is dead if it is never read again. Memory that other invocations may read counts as read at every barrier,
 * collective, call, and atomic that orders memory; a jump, return or trap reads everything. Two indices are the same if
 * they are the same expression of literals, ids, lengths and immutable variables.
 *
 * Sound, not complete: the answer 1 holds in every run; 0 means unknown. */
/* first_expr: by statement, and for the end of the program.
 *
 * Sets is_overwritten[i] (by statement, zeros before) for assignments and stores that may be left out, and for `var`s
 * whose first value does not matter. VYRE_NO_MEMORY */
vyre_status vy_dead_stores_find(const vyre_program *program, const vy_opt_policy *rules, const uint32_t *first_expr,
                                uint8_t *is_overwritten, vyre_error *error);

#endif
