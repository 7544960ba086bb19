/* Symbolic lengths: relations between the lengths of buffers that only the dispatch knows, and upper bounds in terms of
 * them.
 *
 * A program declares the relations: `count len(x)`, `count len(x) - 1`, `count width * height`. A value that was
 * compared with one length is then in bounds for related buffers: `i < len(x)` is in bounds for a buffer with `count
 * len(x)`, and three elements from `3 * i` on are for one with `count len(x) * 3`.
 *
 * What must stay true: counts are mathematical integers, computed by the host, and a dispatch whose counts do not fit
 * is refused (docs/language.md). So nothing here wraps. */
#ifndef VY_ANALYSIS_SYMBOLIC_LENGTH_H
#define VY_ANALYSIS_SYMBOLIC_LENGTH_H

#include "ir/model.h"

/* What stands for the length of a memory. Two memories with one name have one length: the buffer at the end of `count
 * len(…)`, or the param that a count is; params stand behind memories. */
uint32_t vy_length_of(const vyre_program *program, uint32_t memory);

/* A value that is less than a length, also with up to `margin` added to it: mathematically. */
typedef struct vy_symbolic_bound {
    uint32_t length, margin;
} vy_symbolic_bound;

/* Those that are known of a value; more than fit are forgotten. */
enum { VY_SYMBOLIC_BOUNDS = 8 };
typedef struct vy_symbolic_bounds {
    uint32_t count;
    vy_symbolic_bound items[VY_SYMBOLIC_BOUNDS];
} vy_symbolic_bounds;

/* How lengths hang together. Zero it before; make, use, free. */
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

/* 0 if memory is out. */
int vy_lengths_make(vy_lengths *lengths, const vyre_program *program);
void vy_lengths_free(vy_lengths *lengths);

/* Adds a bound and what follows from it. A length of VY_NONE adds nothing. */
void vy_symbolic_bounds_add(const vy_lengths *lengths, vy_symbolic_bounds *all, uint32_t length, uint64_t margin);
int vy_symbolic_bounds_has(const vy_symbolic_bounds *all, uint32_t length);
/* What holds if both hold. */
vy_symbolic_bounds vy_symbolic_bounds_both(vy_symbolic_bounds one, const vy_symbolic_bounds *other);
/* Of something that is less by at least, or more by at most so much. What wraps is less than it would be. */
vy_symbolic_bounds vy_symbolic_bounds_lower(vy_symbolic_bounds all, uint64_t by);
vy_symbolic_bounds vy_symbolic_bounds_raise(const vy_symbolic_bounds *all, uint64_t by);
/* Of a value that is not below zero, times a number. */
vy_symbolic_bounds vy_symbolic_bounds_times(const vy_lengths *lengths, const vy_symbolic_bounds *all, uint64_t times);
/* Of row * width + column, where width is a length; neither is below zero. */
vy_symbolic_bounds vy_symbolic_bounds_row_major(const vy_lengths *lengths, const vy_symbolic_bounds *row,
                                                uint32_t width, const vy_symbolic_bounds *column);

#endif
