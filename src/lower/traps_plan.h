/* Where invocations end, and what that means for the rest of the program: what traps.c is to write. Internal to the two files. */
#ifndef VY_LOWER_TRAPS_PLAN_H
#define VY_LOWER_TRAPS_PLAN_H

#include "analysis/uniformity.h"
#include "lower/legalize.h"

/* What a statement has inside. */
enum {
    VY_HAS_TRAP = 1,
    VY_HAS_POLL = 2,
    VY_HAS_SYNC = 4, /* of the program, or one that ends add */
    VY_HAS_JUMP = 8, /* a break or continue, of whatever loop */
    VY_POLLS = 16,   /* the statement is a loop that polls at the start of each trip */
    VY_CHECKS = 32   /* a uniform loop that may have nobody left to end it */
};

/* What an invocation may be since the last meeting. */
enum {
    VY_ENDED = 1, /* without effects any more: it trapped, or left a loop that is not uniform because a poll was true */
    VY_STOPPED = 2 /* a poll was true */
};

typedef struct vy_traps_plan {
    const vyre_program *program;
    vy_uniform *uniform;
    uint8_t *inside; /* by statement: VY_HAS_…, VY_POLLS, VY_CHECKS */
    uint32_t
        last_meeting; /* the last statement where invocations meet; VY_NONE: nowhere, or each is alone in its workgroup */
    uint8_t cancellable;
    uint8_t possible; /* VY_ENDED, VY_STOPPED: what occurs before a meeting */
    vy_arena arena;
} vy_traps_plan;

/* Free it also after a failure. */
vyre_status vy_traps_plan_make(vy_traps_plan *plan, const vyre_program *program, const vy_target_desc *target,
                               vyre_error *error);
void vy_traps_plan_free(vy_traps_plan *plan);

int vy_traps_is_sync(const vy_stmt *stmt);
/* Whether a meeting may come after statement i has been executed. */
int vy_traps_syncs_later(const vy_traps_plan *plan, uint32_t i, int in_meeting_loop);
/* Whether the invocations of a workgroup may make different trips. */
int vy_traps_is_varied(const vy_traps_plan *plan, uint32_t loop);
/* Whether every trip that gets to its end meets: a barrier or collective stands in the body itself, and nothing jumps over it. */
int vy_traps_syncs_every_iteration(const vy_traps_plan *plan, uint32_t loop);
/* The states at the head of a loop, in any trip, and behind it, if invocations come to it in `state`. */
uint8_t vy_traps_state_at_head(const vy_traps_plan *plan, uint32_t loop, uint8_t state);
uint8_t vy_traps_state_behind(const vy_traps_plan *plan, uint32_t loop, uint8_t state);

#endif
