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
 * Every change of statements, expressions, variables or memories invalidates the result: it is stored by index.
 *
 * Sound, not complete: a value reported as uniform is uniform in every run (tests/analysis/test_uniformity.c). */
#ifndef VY_ANALYSIS_UNIFORMITY_H
#define VY_ANALYSIS_UNIFORMITY_H

#include "ir/model.h"

typedef enum vy_uniformity {
    VY_UNIFORMITY_DIVERGENT,
    VY_UNIFORMITY_WORKGROUP, /* for all invocations of a workgroup */
    VY_UNIFORMITY_GRID       /* for all invocations of the dispatch */
} vy_uniformity;

/* Immutable once made, any thread; free with vy_uniform_free. The program is borrowed and must outlive it. Accepts
 * every level.
 *
 * VYRE_INVALID_ARGUMENT  the program calls its own functions: inline it first
 * VYRE_NO_MEMORY */
typedef struct vy_uniform vy_uniform;
vyre_status vy_uniform_make(const vyre_program *program, vy_uniform **out, vyre_error *error);
/* The same for code in which a cancellation poll returns the same answer to all invocations of a workgroup, or may
 * be assumed to: if some invocations leave at other times than the rest, their results are discarded. */
vyre_status vy_uniform_make_with_uniform_polls(const vyre_program *program, vy_uniform **out, vyre_error *error);
void vy_uniform_free(vy_uniform *uniform);

/* The value of an expression, wherever it is evaluated. */
vy_uniformity vy_expr_uniformity(const vy_uniform *uniform, uint32_t expr);
/* The value of a variable, at any time. */
vy_uniformity vy_variable_uniformity(const vy_uniform *uniform, uint32_t variable);
/* The value of a load with a uniform index. For a private array: whether its contents are uniform. */
vy_uniformity vy_memory_uniformity(const vy_uniform *uniform, uint32_t memory);
/* Whether either all invocations reach a statement, or none. */
vy_uniformity vy_control_uniformity(const vy_uniform *uniform, uint32_t stmt);

/* Returns 1 if the value differs by a constant step between neighbouring invocations of a row (next local_index,
 * same y and z); *stride is the step modulo 2^width of the type. For floats and bools only stride 0 (uniform in the
 * row) is detected. A value that is uniform in the workgroup has stride 0, as has `local_id.y`. */
int vy_stride_of(const vy_uniform *uniform, uint32_t expr, uint64_t *stride);
/* The same for the value of a variable, at any time; unknown for a variable that is assigned. */
int vy_variable_stride(const vy_uniform *uniform, uint32_t variable, uint64_t *stride);

/* Marks the constant arrays that are read with an index that is not uniform over the workgroup: is_divergent has a zero
 * for each table of the program (vy_memory.table). As vy_uniform_make. */
vyre_status vy_divergent_tables(const vyre_program *program, uint8_t *is_divergent, vyre_error *error);

#endif
