/* Thread coarsening: makes a program whose invocations handle several consecutive elements each, so that a target can
 * load and store them with one wide access.
 *
 * Invocation i of the original is executed by invocation i / factor of the result, together with its neighbours in x:
 * in lockstep where all of them are in the grid and their accesses in bounds, otherwise one after another
 * (docs/internals/transform.md). */
#ifndef VY_OPT_COARSEN_H
#define VY_OPT_COARSEN_H

#include "ir/model.h"
#include "vyre/program.h"

enum { VY_COARSEN_PARAMS = 1, VY_COARSEN_MAX = 16 };

typedef struct vy_coarsen_options {
    uint32_t access_bytes; /* the widest access of the target, at most 16; 0: it has none, and nothing is coarsened */
    uint8_t even_if_slow;  /* whatever can be coarsened is, whether it pays or not: for tests */
} vy_coarsen_options;

typedef struct vy_coarsened {
    vyre_program *program; /* one reference */
    uint32_t factor;       /* invocations of the original that one of the result handles: 1, 2, 4, 8 or 16 */
    const char *reason;    /* why the factor is 1, a static sentence; NULL if it is more */
} vy_coarsened;

/* Coarsens the program if that is possible and pays. Calls are inlined first. The result has the params of the program
 * and then a hidden one, its buffers, its workgroup size, and no grid of its own. It is launched over
 * vy_coarsened_groups in x and the same groups in y and z: a dispatch whose grid only the device knows (indirect) takes
 * the original. A program that stays as it is comes back itself, retained, with factor 1 and the reason. Blocks for
 * time in the order of the program's size.
 *
 * VYRE_NO_MEMORY  out->program is NULL */
vyre_status vy_coarsen(vyre_program *program, const vy_coarsen_options *options, vy_coarsened *out, vyre_error *error);
/* The same of an inlined program, for who makes another program of it at once: the result is trusted to be valid and
 * has no fingerprint (ir/irbuilder.h). */
vyre_status vy_coarsen_unverified(vyre_program *inlined, const vy_coarsen_options *options, vy_coarsened *out,
                                  vyre_error *error);

/* How many groups in x a coarsened program needs for `groups_x` of the original, which is the value of its hidden
 * param, a u32. */
static inline uint32_t vy_coarsened_groups(const vy_coarsened *widened, uint32_t groups_x) {
    return groups_x / widened->factor + (groups_x % widened->factor != 0);
}

/* Plan of thread coarsening: which values are uniform over neighbours in x, which indices are affine in global_id.x
 * with stride 1, and the conditions under which all of these are in bounds. Internal to coarsen.c and coarsen_plan.c.
 *
 * The invocations that one invocation of the result executes are its lanes. In the fast path all lanes are in the grid
 * and every start is at least its low and below its limits; lane k is then invocation `base + k`. */
enum { VY_COARSEN_TERMS = 6, VY_COARSEN_STARTS = 8, VY_COARSEN_LIMITS = 12 };

/* A u32 as a sum, modulo 2^32: x * global_id.x + constant ± terms, which are known at the start of the program
 * (early). */
typedef struct vy_sum {
    uint32_t x, constant, count;
    uint32_t local, group; /* how often local_id.x, group_id.x * size: one of each is a global_id.x */
    uint32_t terms[VY_COARSEN_TERMS];
    uint8_t minus[VY_COARSEN_TERMS];
} vy_sum;

/* The index of the first lane, up to a small offset: a sum with x = 1. */
typedef struct vy_coarsen_start {
    vy_sum sum;
    uint32_t low; /* it must be at least this */
} vy_coarsen_start;

/* start + lane + offset must be below this. */
typedef struct vy_coarsen_limit {
    uint32_t start;
    uint64_t value;  /* if it is known, else 0 */
    uint32_t length; /* else vy_length_of, or VY_NONE: expr */
    uint32_t memory; /* that has the length, or VY_NONE: expr */
    uint32_t expr;   /* early */
    int32_t offset;  /* the largest */
} vy_coarsen_limit;

typedef struct vy_coarsen_plan {
    const vyre_program *program; /* inlined */
    const vy_function *entry;
    uint8_t *is_shared; /* by expression: the same for all lanes that are in lockstep here */
    uint8_t *early; /* by expression: nodes it has when it is written at the start, lets expanded; 0: it cannot be */
    uint8_t *var_shared;  /* by variable */
    uint32_t *definition; /* by variable: the value of a `let`, or VY_NONE */
    vy_coarsen_start starts[VY_COARSEN_STARTS];
    vy_coarsen_limit limits[VY_COARSEN_LIMITS];
    uint32_t start_count, limit_count;
    uint8_t is_closed; /* no more starts and limits: what needs others is not known */
    /* What one invocation does, by weight: loops count for their trips. */
    uint64_t consecutive, scattered, work;
    uint32_t element_bytes; /* of the widest consecutive access */
    uint32_t factor;
    const char *reason; /* NULL: it is coarsened */
} vy_coarsen_plan;

/* Makes the plan; its arrays are the arena's. reason and factor say whether to go on. VYRE_NO_MEMORY */
vyre_status vy_coarsen_make_plan(vy_coarsen_plan *plan, const vyre_program *program, const vy_coarsen_options *options,
                                 vy_arena *arena, vyre_error *error);

/* ---- values ---- */

/* Whether all lanes are of one workgroup, whatever the factor: the size of the group is a multiple of it, and so is
 * lane 0. */
int vy_coarsen_stays_in_group(const vyre_program *program);

/* Whether lane k accesses element start + k + offset of the memory, always inside in the fast path. Makes start and
 * limit unless the plan is closed. */
int vy_coarsen_index(vy_coarsen_plan *plan, uint32_t memory, uint32_t index, uint32_t *start, int32_t *offset);
/* Whether an expression is a remainder of start + k + offset, which does not wrap in the fast path, by something that
 * is the same for all lanes and no literal. Of a closed plan. */
int vy_coarsen_remainder(vy_coarsen_plan *plan, uint32_t expr, uint32_t *start, int32_t *offset);
/* What a condition is in the fast path, for all lanes: 0, 1, or -1 if that is not known. Makes start and limit unless
 * the plan is closed. */
int vy_coarsen_truth(vy_coarsen_plan *plan, uint32_t condition);
/* Whether it is the same for all lanes there, for what is not known of it. */
int vy_coarsen_agrees(vy_coarsen_plan *plan, uint32_t condition);

/* ---- control ---- */

/* Whether there is a `return` in [first, end). */
int vy_coarsen_returns(const vyre_program *program, uint32_t first, uint32_t end);
/* Whether all lanes can go through a `for` together: its bounds are the same, and nobody leaves it early. */
int vy_coarsen_loop_agrees(const vy_coarsen_plan *plan, uint32_t loop);

#endif
