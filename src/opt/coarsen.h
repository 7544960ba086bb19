/* Thread coarsening: makes a program whose invocations handle several consecutive elements each, so that a target can
 * load and store them with one wide access.
 *
 * Invocation i of the original is executed by invocation i / factor of the result, together with its neighbours in x:
 * in lockstep where all of them are in the grid and their accesses in bounds, otherwise sequentially
 * (docs/internals/opt.md). */
#ifndef VY_OPT_COARSEN_H
#define VY_OPT_COARSEN_H

#include "analysis/def_use.h"
#include "compile/target/target.h"
#include "vyre/program.h"

enum { VY_COARSEN_PARAMS = 1, VY_COARSEN_MAX = 16 };

typedef struct vy_coarsened {
    vyre_program *program; /* one reference */
    uint32_t factor;       /* invocations of the original per invocation of the result: 1, 2, 4, 8 or 16 */
    const char *reason;    /* why the factor is 1, a static sentence; NULL if it is greater */
} vy_coarsened;

/* Coarsens the program for target->access_bytes, if that is possible and pays (target->coarsen). Calls are inlined
 * first. The result has the params of the program followed by a hidden one, the same buffers and workgroup size, and
 * no grid. It is launched over vy_coarsened_groups in x and the same groups in y and z. An indirect dispatch uses
 * the original, because its grid is known on the device only. A program that is not coarsened is returned itself,
 * retained, with factor 1 and the reason. Blocks for time in the order of the program's size.
 *
 * VYRE_NO_MEMORY  out->program is NULL */
vyre_status vy_coarsen(vyre_program *program, const vy_target_desc *target, vy_coarsened *out, vyre_error *error);
/* The same for an inlined program, for a caller that rewrites the result: the result is trusted to be valid and has
 * no fingerprint (ir/irbuilder.h). */
vyre_status vy_coarsen_unverified(vyre_program *inlined, const vy_target_desc *target, vy_coarsened *out,
                                  vyre_error *error);

/* The groups in x that a coarsened program needs for `groups_x` of the original. The value of the hidden param, a
 * u32, is `groups_x`. */
static inline uint32_t vy_coarsened_groups(uint32_t factor, uint32_t groups_x) {
    return groups_x / factor + (groups_x % factor != 0);
}

/* Plan of thread coarsening: which values are uniform over neighbours in x, which indices are affine in global_id.x
 * with stride 1, and the conditions under which all of these are in bounds. Internal to coarsen.c and
 * coarsen_plan.c.
 *
 * The invocations that one invocation of the result executes are its lanes. In the fast path all lanes are in the
 * grid and every start is at least its low bound and below its limits; lane k is then invocation `base + k`. */
enum { VY_COARSEN_TERMS = 6, VY_COARSEN_STARTS = 8, VY_COARSEN_LIMITS = 12 };

/* An affine u32 value modulo 2^32: x * global_id.x + constant ± terms. The terms can be computed at the start of the
 * program (early). */
typedef struct vy_sum {
    uint32_t x, constant, count;
    uint32_t local, group; /* coefficients of local_id.x and of group_id.x * size; one of each makes a global_id.x */
    uint32_t terms[VY_COARSEN_TERMS];
    uint8_t minus[VY_COARSEN_TERMS];
} vy_sum;

/* The index of the first lane, up to a small offset: a vy_sum with x = 1. */
typedef struct vy_coarsen_start {
    vy_sum sum;
    uint32_t low; /* lower bound that the fast path requires */
} vy_coarsen_start;

/* start + lane + offset must be below this. */
typedef struct vy_coarsen_limit {
    uint32_t start;
    uint64_t value;  /* if it is a constant, else 0 */
    uint32_t length; /* else the vy_length_of, or VY_NONE: see expr */
    uint32_t memory; /* the memory with this length, or VY_NONE: see expr */
    uint32_t expr;   /* early */
    int32_t offset;  /* the largest that occurs */
} vy_coarsen_limit;

typedef struct vy_coarsen_plan {
    const vyre_program *program; /* inlined */
    const vy_function *entry;
    uint8_t *is_shared; /* by expression: uniform over the lanes that are in lockstep at this point */
    uint8_t *early; /* by expression: node count when it is written at the start with lets expanded; 0: not possible */
    uint8_t *var_shared; /* by variable */
    vy_def_use uses;     /* EXPRS, DECLARATIONS */
    vy_coarsen_start starts[VY_COARSEN_STARTS];
    vy_coarsen_limit limits[VY_COARSEN_LIMITS];
    uint32_t start_count, limit_count;
    uint8_t is_closed; /* starts and limits are final: a fact that needs further ones counts as unknown */
    /* Weighted counts for one invocation; a loop body counts once per trip. */
    uint64_t consecutive, scattered, work;
    uint32_t element_bytes; /* of the widest consecutive access */
    uint32_t factor;
    const char *reason; /* NULL: it is coarsened */
} vy_coarsen_plan;

/* Makes the plan; the arena owns its arrays. reason and factor hold the decision. VYRE_NO_MEMORY */
vyre_status vy_coarsen_make_plan(vy_coarsen_plan *plan, const vyre_program *program, const vy_target_desc *target,
                                 vy_arena *arena, vyre_error *error);

/* ---- values ---- */

/* Whether all lanes are in one workgroup for every factor: the group size is a multiple of it, and lane 0 is aligned
 * to it. */
int vy_coarsen_stays_in_group(const vyre_program *program);

/* Whether lane k accesses element start + k + offset of the memory, always in bounds in the fast path. Adds a start
 * and a limit unless the plan is closed. */
int vy_coarsen_index(vy_coarsen_plan *plan, uint32_t memory, uint32_t index, uint32_t *start, int32_t *offset);
/* Whether an expression is a remainder of start + k + offset, which does not wrap in the fast path, by a uniform
 * value that is not a literal. Requires a closed plan. */
int vy_coarsen_remainder(vy_coarsen_plan *plan, uint32_t expr, uint32_t *start, int32_t *offset);
/* The truth of a condition in the fast path, for all lanes: 0, 1, or -1 if unknown. Adds a start and a limit unless
 * the plan is closed. */
int vy_coarsen_truth(vy_coarsen_plan *plan, uint32_t condition);
/* Whether the condition is uniform over the lanes, apart from operands whose truth is known. */
int vy_coarsen_agrees(vy_coarsen_plan *plan, uint32_t condition);

/* ---- control ---- */

/* Whether [first, end) contains a `return`. */
int vy_coarsen_returns(const vyre_program *program, uint32_t first, uint32_t end);
/* Whether a `for` can run in lockstep: its bounds are uniform and no jump leaves it early. */
int vy_coarsen_loop_agrees(const vy_coarsen_plan *plan, uint32_t loop);

#endif
