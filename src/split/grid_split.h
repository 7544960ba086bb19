/* Grid split (kernel fission at grid barriers): a program with grid barriers becomes several programs without, which
 * are launched in sequence. The end of a launch is the only point, on every device, where all workgroups have finished
 * and all writes are visible, so it can replace a grid barrier.
 *
 * A segment runs from the start of the program, or from a grid barrier, to the next grid barrier. At its end it spills
 * the values that are still needed (variables, private arrays, workgroup arrays) to hidden buffers, and the next
 * segment reloads them: no work is repeated. Which segment is next depends on values that are uniform over the grid,
 * because the validator accepts a grid barrier only there. If these values follow from params, lengths and sizes
 * alone, the host computes them; otherwise the first invocation of a segment writes the decision to a hidden buffer of
 * one element, and the host reads it back. So every valid program can be split (docs/internals/split.md). */
#ifndef VY_SPLIT_GRID_SPLIT_H
#define VY_SPLIT_GRID_SPLIT_H

#include "analysis/def_use.h"
#include "base/status.h"
#include "ir/dispatch_resolve.h"

enum { VY_SPLIT_BUFFERS = 5 }; /* at most: 8-, 16-, 32- and 64-bit elements, and the decision */

/* A hidden buffer: access read_write, with vy_split_elements elements, zero when a dispatch starts. */
typedef struct vy_split_buffer {
    vyre_type type; /* u8, u16, u32 or u64 */
    uint32_t per_invocation, per_group, fixed;
} vy_split_buffer;

/* Made by vy_grid_split, freed by vy_split_free. Immutable, so any thread may read the fields.
 *
 * Segments are ordinary programs. All of them have the params of the program and then `param_count` hidden ones; its
 * buffers and then `buffer_count` hidden ones; its workgroup size; and no grid. The buffers keep their counts, but a
 * `write` one is declared read_write, because it contains the writes of earlier launches: bind it as zeros, or as the
 * bytes of a resident buffer. */
typedef struct vy_split {
    uint32_t segment_count;
    vyre_program **segments;
    uint32_t buffer_count;
    vy_split_buffer buffers[VY_SPLIT_BUFFERS];
    uint32_t param_count;
    uint32_t decision; /* the hidden buffer whose element 0 is read back after each launch; VY_NONE: none */
    struct vy_split_plan *plan;
} vy_split;

/* Splits. Calls are inlined first. A program without a grid barrier yields one segment. The time is proportional to
 * the size of the result.
 *
 * VYRE_INVALID_ARGUMENT  a library has no entry to launch
 * VYRE_LIMIT             the program with the added code exceeds a limit: buffers, nesting, statements, 1024 grid
 *                        barriers
 * VYRE_NO_MEMORY         out of memory */
vyre_status vy_grid_split(const vyre_program *program, vy_split **out, vyre_error *error);
void vy_split_free(vy_split *split);

/* Elements of each hidden buffer for a launch. VYRE_LIMIT if one has more than 2^32 - 1. */
vyre_status vy_split_elements(const vy_split *split, const vy_resolved_dispatch *launch,
                              uint64_t elements[VY_SPLIT_BUFFERS], vyre_error *error);

/* A cursor over the launches of one dispatch. One thread at a time; the split must live as long.
 *
 *   vy_split_start(split, &launch, &cursor, error);
 *   uint32_t decision = 0;
 *   while (vy_split_next(cursor, decision, &step, error) == VYRE_OK && !step.is_done) {
 *       launch split->segments[step.segment] with all params, all buffers and launch.groups; stop if it fails or traps
 *       if (split->decision != VY_NONE) decision = element 0 of that hidden buffer
 *   }
 *   vy_split_free_cursor(cursor);
 *
 * Each launch sees the bytes that the previous one left. All have the same grid, resolved once, from the program
 * itself: an indirect grid may have been overwritten since. A segment that traps ends the dispatch: what follows it is
 * not launched. */
typedef struct vy_split_cursor vy_split_cursor;

typedef struct vy_split_step {
    int is_done; /* all launches were made; the rest is unset */
    uint32_t segment;
    const vyre_scalar *params; /* the hidden params; valid until the next call */
} vy_split_step;

/* launch: the dispatch resolved against the program that was split; copied. */
vyre_status vy_split_start(const vy_split *split, const vy_resolved_dispatch *launch, vy_split_cursor **out,
                           vyre_error *error);
/* The next launch. decision: the element that the last launch wrote to the buffer `split->decision`; ignored without
 * such a buffer and for the first launch.
 *
 * VYRE_LIMIT             finding the next launch needs too many steps of the host, because a loop that computes the
 *                        iterations of another one does not end
 * VYRE_INVALID_ARGUMENT  the decision is not a segment */
vyre_status vy_split_next(vy_split_cursor *cursor, uint32_t decision, vy_split_step *step, vyre_error *error);
void vy_split_free_cursor(vy_split_cursor *cursor);

/* Plan of a grid split: liveness, uniformity, the slice that the host interprets, and spill slots of a program.
 * Internal to the files of src/split.
 *
 * vy_split_plan_make computes all of it; then it is constant. grid_split_segment.c writes the segments by it, and
 * grid_split.c runs the launches of a dispatch. */
/* Properties of a statement, or-ed. */
enum {
    VY_MARK_SPLIT = 1,   /* it contains a grid barrier */
    VY_MARK_HOST = 2,    /* the host follows it to find the next segment */
    VY_MARK_ONE_TRIP = 4 /* a loop of at most one iteration, by the validator's rule (ir/validate/divergence_graph.c) */
};

/* The storage of a variable or array between launches. */
typedef enum vy_spill_slot_kind {
    VY_SPILL_NONE,       /* none: it is not live at any grid barrier */
    VY_SPILL_REMAT,      /* none: a `let` of a few ops on constant values, which is recomputed */
    VY_SPILL_PARAM,      /* a hidden param, because the host computes the value */
    VY_SPILL_INVOCATION, /* one per invocation, element (slot + i) · invocations + invocation */
    /* one per workgroup, whose invocations have the same value: after the former, element group · per_group +
     * slot + i */
    VY_SPILL_GROUP
} vy_spill_slot_kind;

enum {
    VY_WIDTHS = 4, /* of elements: 8, 16, 32, 64 bits */
    VY_MAX_GRID_BARRIERS =
        1024 /* of a program, inlined: each becomes a program to compile, and bounds the time of a split */
};

typedef struct vy_spill_slot {
    uint8_t kind;  /* vy_spill_slot_kind */
    uint8_t width; /* log2 of the bytes of an element */
    uint32_t slot; /* the first one; PARAM: the index of the hidden param */
} vy_spill_slot;

/* The grid barriers, by ordinal, at which an array is live: [first, end). */
typedef struct vy_live_range {
    uint32_t first, end;
} vy_live_range;

typedef struct vy_split_plan {
    vyre_program *program; /* normal form: an entry only, so variables, memories and statements count from 0 */
    vy_arena arena;        /* owns all arrays below */

    uint32_t barrier_count;
    uint32_t *barriers; /* their statements, ascending */
    vy_def_use uses;    /* PARENTS, DECLARATIONS, DEFINITIONS */
    uint8_t *marks;     /* by statement: VY_MARK_* */

    vy_live_range *variable_live, *memory_live;
    uint32_t *live_first; /* by barrier, and of the end: where its part of live_variables begins */
    uint32_t *live_variables;
    uint8_t *varies_variable, *varies_memory; /* 1 if it may differ between the invocations of a workgroup */

    int is_host_driven;   /* the host computes the next segment; else it reads a decision back */
    uint32_t *host_slots; /* by variable: the slot of its value in the cursor; VY_NONE if the host does not know it */
    uint32_t host_count;
    uint32_t *host_params; /* by hidden param: the variable */
    uint32_t host_param_count;

    vy_spill_slot *variable_slots, *memory_slots;
    uint32_t per_invocation[VY_WIDTHS], per_group[VY_WIDTHS]; /* elements */
} vy_split_plan;

/* ---- queries ---- */

static inline int vy_is_grid_barrier(const vy_stmt *s) {
    return s->kind == VY_STMT_BARRIER && s->scope == VYRE_SCOPE_DEVICE;
}

/* Whether an op may have another result if it is evaluated in another program: floats under relaxed numerics depend on
 * the compiler. */
static inline int vy_is_relaxed(const vyre_program *program, const vy_expr *e) {
    return program->numerics == VYRE_NUMERICS_RELAXED &&
           ((vyre_type_class((vyre_type)e->type) | vyre_type_class((vyre_type)vy_expr_at(program, e->a)->type)) &
            VYRE_CLASS_FLOAT);
}

/* The end of the block that contains a statement. */
static inline uint32_t vy_plan_block_end(const vy_split_plan *plan, uint32_t stmt) {
    uint32_t parent = plan->uses.parents[stmt];
    if (parent == VY_NONE)
        return plan->program->stmts.count;
    const vy_stmt *s = vy_stmt_at(plan->program, parent);
    return stmt < s->middle ? s->middle : s->end;
}

static inline int vy_live_at(vy_live_range range, uint32_t barrier) {
    return range.first <= barrier && barrier < range.end;
}

/* The ordinal of the grid barrier at that statement. */
static inline uint32_t vy_plan_ordinal(const vy_split_plan *plan, uint32_t stmt) {
    uint32_t low = 0, high = plan->barrier_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (plan->barriers[middle] <= stmt)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Zeroed, allocated for the life of the plan. Fails with NO_MEMORY. */
vyre_status vy_plan_array(vy_split_plan *plan, size_t count, size_t size, void *array, vyre_error *error);

/* Makes the plan of a program. On failure the caller frees the parts that were made (vy_split_free). */
vyre_status vy_split_plan_make(vy_split_plan *plan, const vyre_program *program, vyre_error *error);

/* The segment that starts after grid barrier `start`, or with the program if VY_NONE. */
vyre_status vy_segment_make(const vy_split *split, uint32_t start, vyre_program **out, vyre_error *error);

#endif
