/* Grid split (kernel fission at grid barriers): a program with grid barriers becomes several programs without,
 * which are launched one after the other. The end of a launch is the only point, on every device, where all workgroups
 * have finished and all writes are visible, so it can replace a grid barrier.
 *
 * A segment runs from the start of the program, or from a grid barrier, to whichever grid barrier comes next. At its
 * end it spills what is still needed (variables, private arrays, workgroup arrays) to hidden buffers, and the next
 * segment reloads it: nothing is computed twice. Which segment comes next depends on values that are uniform over the
 * grid, since the validator accepts a grid barrier nowhere else. If these values follow from params, lengths and sizes
 * alone, the host computes them; otherwise the first invocation of a segment writes the decision to a hidden buffer of
 * one element, and the host reads it back. So every valid program can be split (docs/internals/transform.md). */
#ifndef VY_SPLIT_GRID_SPLIT_H
#define VY_SPLIT_GRID_SPLIT_H

#include "ir/dispatch_resolve.h"

enum { VY_SPLIT_BUFFERS = 5 }; /* at most: 8-, 16-, 32- and 64-bit elements, and the decision */

/* A hidden buffer: access read_write, as many elements as vy_split_elements says, zero when a dispatch starts. */
typedef struct vy_split_buffer {
    vyre_type type; /* u8, u16, u32 or u64 */
    uint32_t per_invocation, per_group, fixed;
} vy_split_buffer;

/* Made by vy_grid_split, freed by vy_split_free. Immutable, any thread; the fields are there to be read.
 *
 * Segments are ordinary programs. All of them have the params of the program and then `param_count` hidden ones; its
 * buffers and then `buffer_count` hidden ones; its workgroup size; and no grid of their own. The buffers keep their
 * counts, but a `write` one is declared read_write, because it carries what earlier launches wrote: bind it as zeros,
 * or as the bytes of a resident buffer. */
typedef struct vy_split {
    uint32_t segment_count;
    vyre_program **segments;
    uint32_t buffer_count;
    vy_split_buffer buffers[VY_SPLIT_BUFFERS];
    uint32_t param_count;
    uint32_t decision; /* the hidden buffer whose element 0 is read back after each launch; VY_NONE: none */
    struct vy_split_plan *plan;
} vy_split;

/* Splits. Calls are inlined first. A program without a grid barrier gives one segment. Blocks for time in the order of
 * the result's size.
 *
 * VYRE_INVALID_ARGUMENT  a library has nothing to launch
 * VYRE_LIMIT             the program and what is added are over a limit: buffers, nesting, statements, 1024 grid
 *                        barriers
 * VYRE_NO_MEMORY */
vyre_status vy_grid_split(const vyre_program *program, vy_split **out, vyre_error *error);
void vy_split_free(vy_split *split);

/* Elements of each hidden buffer for a launch. VYRE_LIMIT if one has over 2^32 - 1. */
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
 * Each launch sees the bytes the one before left behind. All have the same grid, resolved once, from the program
 * itself: an indirect grid may have been overwritten since. A segment that traps ends the dispatch: what follows it is
 * not launched. */
typedef struct vy_split_cursor vy_split_cursor;

typedef struct vy_split_step {
    int is_done; /* no launch is left; the rest is unset */
    uint32_t segment;
    const vyre_scalar *params; /* the hidden ones; valid until the next call */
} vy_split_step;

/* launch: the dispatch resolved against the program that was split; copied. */
vyre_status vy_split_start(const vy_split *split, const vy_resolved_dispatch *launch, vy_split_cursor **out,
                           vyre_error *error);
/* The next launch. decision: what the last one left in the buffer `split->decision`; ignored without such a buffer and
 * the first time.
 *
 * VYRE_LIMIT             finding the next launch takes the host too many steps: a loop that computes the trips of
 *                        another runs away
 * VYRE_INVALID_ARGUMENT  the decision names no segment */
vyre_status vy_split_next(vy_split_cursor *cursor, uint32_t decision, vy_split_step *step, vyre_error *error);
void vy_split_free_cursor(vy_split_cursor *cursor);

#endif
