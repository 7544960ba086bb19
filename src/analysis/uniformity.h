/* Uniformity analysis: which values and which control flow are the same for all invocations of a workgroup or grid, and
 * which values have a fixed stride from one invocation to the next.
 *
 * An emitter keeps a uniform value in a scalar, needs no mask for uniform control, and makes one wide access of an
 * index with stride 1. The rules are those of the validator (ir/validate/divergence_graph.h): a value is uniform here
 * exactly if it is for the validator.
 *
 * Uniformity concerns the invocations that execute a statement together: in the same iterations of all loops around it.
 * Invocations that do not reach the statement, and those that have trapped, do not count.
 *
 * Sound, not complete: a value reported as uniform is uniform in every run (tests/analysis/test_uniformity.c). */
#ifndef VY_ANALYSIS_UNIFORMITY_H
#define VY_ANALYSIS_UNIFORMITY_H

#include "ir/model.h"

typedef enum vy_uniformity {
    VY_UNIFORMITY_DIVERGENT,
    VY_UNIFORMITY_WORKGROUP, /* for all invocations of a workgroup */
    VY_UNIFORMITY_GRID       /* for all of the dispatch */
} vy_uniformity;

/* Immutable once made, any thread; free with vy_uniform_free. The program is borrowed and must outlive it. Takes every
 * level.
 *
 * VYRE_INVALID_ARGUMENT  the program calls its own functions: inline it before
 * VYRE_NO_MEMORY */
typedef struct vy_uniform vy_uniform;
vyre_status vy_uniform_make(const vyre_program *program, vy_uniform **out, vyre_error *error);
/* The same for code whose polls tell all invocations of a workgroup the same, or are as good as if they did: where
 * those that leave are told at other times than the rest, nobody looks at what they leave behind. */
vyre_status vy_uniform_make_with_uniform_polls(const vyre_program *program, vy_uniform **out, vyre_error *error);
void vy_uniform_free(vy_uniform *uniform);

/* The value of an expression, wherever it is evaluated. */
vy_uniformity vy_expr_uniformity(const vy_uniform *uniform, uint32_t expr);
/* The value of a variable, at any time. */
vy_uniformity vy_variable_uniformity(const vy_uniform *uniform, uint32_t variable);
/* What a load with an index that is the same gives. Of private arrays: whether their contents are the same. */
vy_uniformity vy_memory_uniformity(const vy_uniform *uniform, uint32_t memory);
/* Whether all invocations come to a statement, or none. */
vy_uniformity vy_control_uniformity(const vy_uniform *uniform, uint32_t stmt);

/* Whether the value differs by the same step from every invocation to the next in its row (the one with the next
 * local_index, and the same y and z): then 1, and *stride is the step modulo 2^width of the type. Of floats and bools
 * only 0, the same in a row, is known. Whatever is the same in a workgroup has stride 0; `local_id.y` has it, too. */
int vy_stride_of(const vy_uniform *uniform, uint32_t expr, uint64_t *stride);
/* The same of a variable's value, at any time; unknown of one that is assigned. */
int vy_variable_stride(const vy_uniform *uniform, uint32_t variable, uint64_t *stride);

#endif
