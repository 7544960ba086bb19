/* Full-write analysis: finds the buffers that a program certainly writes completely, so that they need not be zeroed
 * before a dispatch.
 *
 * Output buffers of the host start as zero. If every element is certainly stored, the zeros cannot be observed: a
 * dispatch that does not run to its end delivers nothing. The analysis proves the usual form: a store at `global_id.x`,
 * or at `global_id.y * width + global_id.x`, that every invocation executes whose element is in bounds. Around and
 * before the store there are only conditions that hold for ids below some bound, or that do not make such an invocation
 * leave. The bounds are counts, params and literals, which the dispatch evaluates.
 *
 * The result is stored by buffer and refers to params and buffers. Changes of these, of the workgroup size or of what
 * the program stores invalidate it; other changes do not.
 *
 * Sound, not complete. */
#ifndef VY_ANALYSIS_FULL_WRITE_H
#define VY_ANALYSIS_FULL_WRITE_H

#include "ir/model.h"
#include "vyre/type.h"

enum { VY_FULL_WRITE_BOUNDS = 6 };

typedef enum vy_full_write_kind { VY_FULL_WRITE_LITERAL, VY_FULL_WRITE_PARAM, VY_FULL_WRITE_LEN } vy_full_write_kind;

/* A value that the dispatch can evaluate. */
typedef struct vy_full_write_value {
    uint8_t kind; /* vy_full_write_kind */
    uint8_t axis; /* 0 or 1: the axis of the id that it bounds */
    uint8_t unused[2];
    uint32_t index; /* of the param or buffer */
    uint64_t bits;  /* of the literal */
} vy_full_write_value;

/* How a buffer is covered. Plain data without padding, which may be copied and kept without the program. */
typedef struct vy_full_write {
    uint8_t is_covered; /* 0: not covered, and the other fields are zero */
    uint8_t is_rows;    /* 1: element y * width + x is stored by the invocation at (x, y); 0: element x by that at x */
    uint8_t bound_count;
    uint8_t unused[5];
    uint32_t group[2]; /* workgroup size in x and y */
    vy_full_write_value width;
    vy_full_write_value bounds[VY_FULL_WRITE_BOUNDS];
} vy_full_write;

/* covers[i] for every buffer of an entry, in declaration order; only `write` buffers can be covered. Any level;
 * calls are not examined.
 *
 * VYRE_NO_MEMORY */
vyre_status vy_full_write_find(const vyre_program *program, vy_full_write *covers, vyre_error *error);

/* Whether a dispatch with these counts (of all buffers), params and workgroups stores to all elements of buffer
 * `index`. */
int vy_full_write_holds(const vy_full_write *cover, uint32_t index, const uint64_t *counts, const vyre_scalar *params,
                        const uint32_t groups[3]);

#endif
