/* A segment being written: shared by the file that walks the program and the one that writes what is added to it. */
#ifndef VY_SPLIT_GRID_SPLIT_SEGMENT_H
#define VY_SPLIT_GRID_SPLIT_SEGMENT_H

#include "opt/clone.h"
#include "split/grid_split_plan.h"

/* A segment is written twice. The first time finds out what it uses and where it ends, and is thrown away; the second
 * time writes, before the first statement, what those need. */
typedef struct vy_segment {
    const vy_split *split;
    const vy_split_plan *plan;
    uint32_t start; /* grid barrier, by ordinal; VY_NONE: the program */
    vy_cloner copy;
    int is_measured;                     /* the second time */
    int has_sync;                        /* invocations meet in it, at barriers or collectives */
    VY_VECTOR(uint32_t) ends;            /* grid barriers it was seen to end at */
    uint32_t path[VY_LIMIT_NESTING + 1]; /* the blocks around the start, outermost first, then the barrier itself */
    uint32_t depth;                      /* blocks in path */
    int is_straight;                     /* another grid barrier follows in the same block, and nothing jumps past it */
    uint32_t resumes; /* variable, of the draft: true until the start is reached; VY_NONE if it is reached at once */
    uint32_t *params, buffers[VY_SPLIT_BUFFERS]; /* hidden ones, of the draft */
    /* Variables of the draft; VY_NONE where not needed. */
    uint32_t group, invocation, invocations;
    uint32_t group_base[VY_WIDTHS]; /* the first element of this workgroup in the buffer of that width */
} vy_segment;

/* Hidden params, hidden buffers. */
void vy_segment_declare_params(vy_segment *segment);
void vy_segment_declare_buffers(vy_segment *segment);
/* The first statements: the decision set to "the end", indices, everything that is live and used loaded back. */
void vy_segment_restore(vy_segment *segment);
/* The end at a grid barrier: the decision, everything that is live and changed stored, return. */
void vy_segment_end(vy_segment *segment, uint32_t barrier);

#endif
