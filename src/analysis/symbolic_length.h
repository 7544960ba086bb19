/* Symbolic lengths: relations between the lengths of buffers that are known only at the dispatch, and upper bounds
 * in terms of them.
 *
 * A program declares the relations: `count len(x)`, `count len(x) - 1`, `count width * height`. A value that was
 * compared with one length is then in bounds for related buffers: `i < len(x)` is in bounds for a buffer with `count
 * len(x)`, and three elements from `3 * i` on are for one with `count len(x) * 3`.
 *
 * Invariant: counts are mathematical integers, computed by the host, and a dispatch whose counts do not fit is
 * refused (docs/language.md). So no computation here wraps.
 *
 * Changes of memories, params or size expressions invalidate a result; changes of statements do not. */
#ifndef VY_ANALYSIS_SYMBOLIC_LENGTH_H
#define VY_ANALYSIS_SYMBOLIC_LENGTH_H

#include "ir/model.h"

/* The name of the length of a memory. Memories with equal names have equal lengths: the buffer at the end of `count
 * len(…)`, or the param that a count is. The names of params follow those of the memories. */
uint32_t vy_length_of(const vyre_program *program, uint32_t memory);

/* A value v with v + margin < length, as mathematical integers. */
typedef struct vy_symbolic_bound {
    uint32_t length, margin;
} vy_symbolic_bound;

/* The known bounds of a value; bounds beyond the capacity are dropped. */
enum { VY_SYMBOLIC_BOUNDS = 8 };
typedef struct vy_symbolic_bounds {
    uint32_t count;
    vy_symbolic_bound items[VY_SYMBOLIC_BOUNDS];
} vy_symbolic_bounds;

/* The relations between lengths. Requires zero initialisation; then vy_lengths_make, queries, vy_lengths_free. */
typedef struct vy_length_sum {
    uint32_t from, to; /* to = from + by */
    int64_t by;
} vy_length_sum;
typedef struct vy_length_product {
    uint32_t length; /* = (a + by) * times, or a * b */
    uint32_t a, b;   /* b VY_NONE: times */
    int64_t by;
    uint64_t times;
} vy_length_product;
typedef struct vy_lengths {
    VY_VECTOR(vy_length_sum) sums;
    VY_VECTOR(vy_length_product) products;
} vy_lengths;

/* 0 if memory runs out. */
int vy_lengths_make(vy_lengths *lengths, const vyre_program *program);
void vy_lengths_free(vy_lengths *lengths);

/* Adds a bound and the bounds that it implies. A length of VY_NONE adds nothing. */
void vy_symbolic_bounds_add(const vy_lengths *lengths, vy_symbolic_bounds *all, uint32_t length, uint64_t margin);
int vy_symbolic_bounds_has(const vy_symbolic_bounds *all, uint32_t length);
/* The bounds implied by either set: the union. */
vy_symbolic_bounds vy_symbolic_bounds_both(vy_symbolic_bounds one, const vy_symbolic_bounds *other);
/* The bounds of a value that is less by at least `by`, or greater by at most `by`. A value that wraps is smaller
 * than the exact one. */
vy_symbolic_bounds vy_symbolic_bounds_lower(vy_symbolic_bounds all, uint64_t by);
vy_symbolic_bounds vy_symbolic_bounds_raise(const vy_symbolic_bounds *all, uint64_t by);
/* The bounds of a non-negative value times a number. */
vy_symbolic_bounds vy_symbolic_bounds_times(const vy_lengths *lengths, const vy_symbolic_bounds *all, uint64_t times);
/* The bounds of row * width + column, where width is a length and both values are non-negative. */
vy_symbolic_bounds vy_symbolic_bounds_row_major(const vy_lengths *lengths, const vy_symbolic_bounds *row,
                                                uint32_t width, const vy_symbolic_bounds *column);

#endif
