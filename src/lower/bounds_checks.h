/* Bounds check insertion and elimination: every access of a program is in bounds by proof or by an explicit test.
 *
 * In the language an index may have any value: an out-of-bounds load returns 0, and an out-of-bounds store or atomic is
 * ignored. Devices do not provide this. The phase makes every access unguarded (ir/model.h, vy_bounds_check): without a
 * test where the range analysis proves the index (analysis/range.h), otherwise under a condition. An access that is
 * always out of bounds is removed. Indices are integers, not bit patterns: a negative index is out of bounds, and a
 * 64-bit index is compared before it is truncated. */
#ifndef VY_LOWER_BOUNDS_CHECKS_H
#define VY_LOWER_BOUNDS_CHECKS_H

#include "analysis/range.h"
#include "ir/model.h"

/* An access that keeps its test, in the original program. */
typedef struct vy_residual_check {
    vy_position position;
    uint32_t memory;
    uint8_t kind;   /* VY_STMT_LOAD_WIDE for a load, VY_STMT_STORE, VY_STMT_ATOMIC */
    uint8_t type;   /* of the index */
    vy_range range; /* of the index, in the order of its type */
} vy_residual_check;

/* The accesses by outcome: accesses = proven + outside + guarded. Zero it before use; free with
 * vy_bounds_check_report_free. */
typedef struct vy_bounds_check_report {
    uint32_t accesses, proven, outside, guarded;
    VY_VECTOR(vy_residual_check) left; /* one per guarded access, in program order */
} vy_bounds_check_report;

void vy_bounds_check_report_free(vy_bounds_check_report *guards);
/* The reason why a test remains, as `index u32 0 … 4294967295, length of x known at dispatch`. */
void vy_residual_check_text(const vyre_program *program, const vy_residual_check *left, char *text, size_t size);

/* How indices are tested. Tests of this module pass wrong policies to show that the campaigns find them. */
typedef struct vy_bounds_check_policy {
    vyre_op below;         /* index `below` length */
    uint8_t check_sign;    /* test for negative indices */
    uint8_t compare_first; /* compare 64-bit indices before they are truncated to 32 bits */
    uint8_t trust_ranges;  /* 0: no proof is used; 1: range analysis; 2 (wrong): ranges that include the length */
} vy_bounds_check_policy;
extern const vy_bounds_check_policy vy_bounds_check_default;

/* *out: the program at level legal, without guarded accesses. `program` has no calls. guards (optional) receives the
 * report. May be called from any thread.
 *
 * VYRE_LIMIT      a test would exceed the limit of nesting
 * VYRE_NO_MEMORY  out of memory */
vyre_status vy_legalize_bounds_checks(const vyre_program *program, const vy_bounds_check_policy *rules,
                                      vy_bounds_check_report *guards, vyre_program **out, vyre_error *error);

#endif
