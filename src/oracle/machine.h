/* Run-time state of the oracle: a run has workers (threads), a worker runs workgroups, a workgroup has warps, a warp
 * has lanes.
 *
 * Positions: the invocations of a unit of work (a workgroup, or several small ones that run as one) are numbered from 0
 * in linear order. A lane stores its position; linear invocation id = warp->first + position. */
#ifndef VY_ORACLE_MACHINE_H
#define VY_ORACLE_MACHINE_H

#include "base/thread.h"
#include "ir/dispatch_resolve.h"
#include "oracle/compile.h"
#include "oracle/run.h"

typedef struct vy_run vy_run;
typedef struct vy_worker vy_worker;
typedef struct vy_group vy_group;
typedef struct vy_shadow_memory vy_shadow_memory; /* shadow_memory.h */
typedef struct vy_group_shadow vy_group_shadow;   /* shadow_memory.h */

/* Called for every finding of races (R001, R002), bounds (R003) and unwritten memory (R004); the list of diagnostics
 * has only one per site. `memory` is an index of the entry. */
typedef void vy_finding_observer(void *user, uint32_t code, uint32_t memory, uint64_t element);

/* Conditions that a device may choose for programs of level legal (lowered_env.h), and options for tests. */
typedef struct vy_lowered_env {
    uint64_t garbage;      /* seed of the initial contents of arrays, and of approximate results */
    uint64_t misalignment; /* seed of the alignment of buffers; 0: 16-byte boundaries */
    uint64_t poll;         /* a poll returns true from this one of an invocation on, counted from 1; 0: never */
    uint32_t
        poll_spread; /* … or up to so many later, different for each invocation, as on a device that reads a clock */
    uint8_t zeroes_arrays;         /* arrays start as zeros, as at level source */
    vy_finding_observer *observer; /* NULL: none */
    void *observer_user;
} vy_lowered_env;

/* A set of lanes: ~0 or 0 per lane. With count 0 the words are unspecified, so emptying and testing cost nothing. */
typedef struct vy_lanes {
    uint64_t *words;
    uint32_t count;
} vy_lanes;

typedef enum vy_stop {
    VY_STOP_RUNNABLE,
    VY_STOP_SYNC,  /* at a barrier or collective */
    VY_STOP_YIELD, /* its quantum is used up */
    VY_STOP_END,
    VY_STOP_ABORT /* the run has ended: budget, or a checker cannot continue */
} vy_stop;

typedef struct vy_warp {
    uint64_t *registers;
    vy_lanes mask;
    vy_lanes *slots;
    uint8_t *private_memory; /* private_bytes per lane */
    uint32_t *positions;     /* per lane */
    uint64_t first;          /* linear id of position 0 */
    uint32_t lanes;
    uint32_t trapped; /* number of lanes that did */
    uint32_t pc;
    uint32_t quantum; /* effects until it yields; 0 = never */
    uint8_t stop;     /* vy_stop */
    vy_group *group;
} vy_warp;

typedef enum vy_group_state {
    VY_GROUP_RUNNING,
    VY_GROUP_AT_GRID_BARRIER,
    VY_GROUP_BROKEN, /* ended by a trap or a divergence, and therefore not reported as missing at a grid barrier */
    VY_GROUP_DONE
} vy_group_state;

struct vy_group {
    uint64_t index; /* linear; of the first one if several run as one */
    vy_warp *warps;
    uint32_t warp_count;
    uint8_t *memory; /* workgroup arrays */
    uint32_t epoch;  /* barriers passed */
    uint8_t trapped; /* an invocation did */
    uint8_t
        is_ending; /* at level legal: an invocation reported, or a poll was true; the grid ends at its next barrier */
    uint8_t state; /* vy_group_state */
    vy_group_shadow *check; /* NULL without checks */
};

/* How a unit of work is divided into warps; fixed for a run. */
typedef struct vy_layout {
    uint32_t unit;       /* invocations of a unit of work */
    uint32_t fused;      /* workgroups in a unit */
    uint32_t stride;     /* lanes of a register */
    uint32_t warps;      /* warps of a unit with separate state */
    size_t warp_bytes;   /* registers, masks, positions, private arrays of a warp */
    size_t group_bytes;  /* all of a unit */
    size_t worker_bytes; /* shared registers and scratch */
} vy_layout;

struct vy_worker {
    vy_run *run;
    uint64_t *shared;    /* shared registers */
    uint64_t *scratch;   /* VY_SCRATCH_ROWS rows of `stride` lanes */
    uint64_t *sync_rows; /* VY_SYNC_ROWS rows of `unit` lanes, for collectives */
    vy_group *group;     /* the group it runs, unless groups persist between phases */
    uint64_t steps, evaluations, prints;
    uint64_t checkpoint; /* step count at which to check the budget and the end of the run */
    uint64_t reported;   /* steps already added to the total of the run */
    vyre_trap trap;
    uint32_t trap_stmt; /* where it trapped */
    int trapped;
    int is_over; /* a poll was true */
};
enum { VY_SCRATCH_ROWS = 3, VY_SYNC_ROWS = 8 };

/* A contract violation at one site of the program (shadow_memory.h). */
typedef struct vy_violation {
    uint32_t code;       /* vy_diag_code */
    uint32_t site;       /* as in shadow_memory.h */
    uint32_t memory;     /* accesses */
    uint64_t invocation; /* the invocation that did it, or waits */
    uint64_t missing;    /* divergence: the invocation that does not arrive; wide access: elements past the boundary */
    uint64_t index;      /* the accessed element or lane */
    uint64_t bound;      /* the number of elements or lanes; wide access: elements accessed */
} vy_violation;
enum { VY_MAX_VIOLATIONS = 32 };

struct vy_run {
    const vyre_oracle *oracle;
    const vyre_program *program;
    const vy_resolved_dispatch *launch;
    const vyre_oracle_options *options;
    vy_lowered_env conditions;
    vy_run_end end;
    vy_layout layout;
    uint8_t **buffers;       /* base of each */
    int is_shared;           /* several threads may access the buffers, so atomics must be host atomics */
    vy_shadow_memory *check; /* NULL without checks */
    vyre_diagnostics *diagnostics;
    pthread_mutex_t lock; /* print sink, violations */
    vy_violation violations[VY_MAX_VIOLATIONS];
    uint32_t violation_count;
    uint64_t memory; /* bytes allocated so far */
    /* Work distribution. */
    atomic_uint_fast64_t next; /* unit not yet taken */
    uint64_t units, chunk;
    atomic_uint_fast64_t steps; /* reported by workers */
    atomic_int stop;            /* vyre_status that ends the run early, or 0 */
};

/* ---- registers and lanes ---- */

static inline uint64_t *vy_register(const vy_worker *worker, const vy_warp *warp, uint32_t r) {
    uint64_t *base = r & VY_SHARED ? worker->shared : warp->registers;
    return base + (size_t)(r & ~VY_SHARED) * worker->run->layout.stride;
}

static inline uint64_t vy_lane_invocation(const vy_warp *warp, uint32_t lane) {
    return warp->first + warp->positions[lane];
}

/* A memory as seen by the lanes of a warp. */
typedef struct vy_lane_memory {
    uint8_t *base;
    uint64_t count;
    size_t lane_stride; /* bytes from one lane's array to the next; 0 if the lanes share it */
} vy_lane_memory;

/* ---- warp.c ---- */

/* Runs a warp until it stops, and returns the reason. */
vy_stop vy_warp_run(vy_worker *worker, vy_warp *warp);
/* Prepares a warp to run from the start; positions and lanes are set. */
void vy_warp_start(vy_worker *worker, vy_warp *warp);

/* The memory of the entry that an instruction of the warp accesses. */
vy_lane_memory vy_warp_memory(const vy_worker *worker, const vy_warp *warp, uint32_t memory);

/* ---- memory accesses (warp.c): the lanes of a load or store; `mask` NULL = all ---- */

void vy_memory_load(vyre_type type, vy_lane_memory memory, const uint64_t *index, uint64_t *result, uint32_t lanes);
void vy_memory_store(vyre_type type, vy_lane_memory memory, const uint64_t *index, const uint64_t *value,
                     uint32_t lanes);

/* ---- collective.c ---- */

/* Computes results[i] for i = 0 … n-1 from values and operands (b), in the canonical order. room: VY_COLLECTIVE_ROWS
 * times n words. */
void vy_collective(const vy_stmt *stmt, vyre_type type, const uint64_t *values, const uint64_t *operands,
                   uint64_t *results, uint32_t n, uint64_t *room);
enum { VY_COLLECTIVE_ROWS = 5 };
/* The sync_rows of a whole workgroup at a COLLECTIVE instruction. */
void vy_collective_run(vy_worker *worker, vy_group *group, const vy_instruction *instruction);

/* ---- schedule.c ---- */

void vy_layout_choose(const vyre_oracle *oracle, const vy_resolved_dispatch *launch, const vyre_oracle_options *options,
                      vy_layout *layout);
/* Assigns the parts of a worker or group to its block of memory. */
void vy_worker_place(vy_worker *worker, vy_run *run, uint8_t *block);
void vy_group_place(vy_group *group, const vy_run *run, uint8_t *block);
/* Prepares a group to run as unit `unit`. */
void vy_group_start(vy_worker *worker, vy_group *group, uint64_t unit);
/* Runs it until it is done or at a grid barrier. Returns 0 if the run has ended. */
int vy_group_run(vy_worker *worker, vy_group *group);
/* Call when every group has stopped. Releases those at a grid barrier, unless an invocation has trapped or reported, or
 * some groups missed the barrier, which is a violation. Returns how many can run. */
uint32_t vy_grid_barrier_release(vy_run *run, vy_group *groups, uint32_t count);
/* Runs a unit of work without synchronisation: one warp after the other, in the same state. */
int vy_unit_run(vy_worker *worker, uint64_t unit);
/* Adds the worker's steps to those of the run. Returns 0 if the run has ended. */
int vy_worker_report(vy_worker *worker);
/* Ends the run if it was cancelled or its deadline has passed. Returns 0 if it has ended for any reason. */
int vy_run_goes_on(vy_run *run);

/* ---- schedule fuzzing (schedule.c) ---- */

/* Runs the whole grid on the calling thread in an order drawn from options->seed. groups: `window` placed groups. */
int vy_schedule_fuzz_run(vy_worker *worker, vy_group *groups, uint32_t window);
/* The number of groups that run concurrently. */
uint64_t vy_schedule_fuzz_window(const vy_run *run);

#endif
