/* Program generator: random programs with their inputs, from a seed; and the test-case reducer (shrinker). Library
 * vyre-generate, for the command and for tests.
 *
 * Programs are well-typed, valid, terminating, race-free and independent of the schedule by construction. The same seed
 * and options produce the same program and inputs on every machine, for one version of the library. */
#ifndef VY_GENERATE_GENERATE_H
#define VY_GENERATE_GENERATE_H

#include "vyre/dispatch.h"

/* Features to stress, or-ed; 0: all. */
#define VYRE_STRESS_LIST(X)                                                                                            \
    X(INTEGERS, "integers")                                                                                            \
    X(FLOATS, "floats")                                                                                                \
    X(CONTROL, "control")                                                                                              \
    X(FUNCTIONS, "functions")                                                                                          \
    X(MEMORY, "memory") /* workgroup and private arrays, barriers */                                                   \
    X(COLLECTIVES, "collectives")                                                                                      \
    X(ATOMICS, "atomics")                                                                                              \
    X(GEOMETRY, "geometry")       /* odd sizes, 2-D and 3-D */                                                         \
    X(CONVERSIONS, "conversions") /* integers with few known bits, narrowed and widened again */                       \
    X(EDGES, "edges")             /* conditions and accesses that are constant for some ids only; ends of buffers */   \
    X(CHOICES, "choices")         /* choices between a value and a bitwise operation of it */                          \
    X(MATH, "math")               /* calls of ops of the dialect `math` */
enum vyre_stress_bit {
#define X(ID, name) VYRE_STRESS_BIT_##ID,
    VYRE_STRESS_LIST(X)
#undef X
        VYRE_STRESS_COUNT
};
enum {
#define X(ID, name) VYRE_STRESS_##ID = 1 << VYRE_STRESS_BIT_##ID,
    VYRE_STRESS_LIST(X)
#undef X
};

typedef struct vyre_generate_options {
    uint64_t seed;
    unsigned statements;  /* approximate number; 0 = 30 */
    unsigned depth;       /* expression depth; 0 = 4 */
    unsigned invocations; /* approximate maximum in the grid; 0 = 256 */
    unsigned stress;      /* VYRE_STRESS_* */
    uint32_t types;       /* bit set of 1 << vyre_type allowed; 0 = all */
} vyre_generate_options;

/* A test case: a program with all arguments of a dispatch. Immutable; may be used from any thread. Free with
 * vyre_case_free. */
typedef struct vyre_case vyre_case;
/* Generates the case of a seed. options NULL: all zeros. May be called from any thread; does not block.
 * VYRE_NO_MEMORY */
vyre_status vyre_generate(const vyre_generate_options *options, vyre_case **out, vyre_error *error);
void vyre_case_free(vyre_case *test_case);
vyre_program *vyre_case_program(const vyre_case *test_case);           /* borrowed */
const vyre_arguments *vyre_case_arguments(const vyre_case *test_case); /* borrowed */
/* Makes a case from a program, which is retained, and arguments, which are copied.
 * VYRE_INVALID_ARGUMENT  the program is NULL, or an array or an input that is not empty is NULL
 * VYRE_NO_MEMORY */
vyre_status vyre_case_new(vyre_program *program, const vyre_arguments *arguments, vyre_case **out, vyre_error *error);

/* Reduces a failing case: calls `fails` for smaller and smaller candidates, and keeps those for which it returns
 * non-zero. The result still fails. The original is unchanged. max_tries 0: 2000. `fails` is called on the calling
 * thread, and borrows the candidate for the call.
 * VYRE_INVALID_ARGUMENT  `start` or `fails` is NULL, or the program is a library
 * VYRE_NO_MEMORY */
typedef int vyre_still_fails(void *user, const vyre_case *candidate);
vyre_status vyre_shrink(const vyre_case *start, vyre_still_fails *fails, void *user, unsigned max_tries,
                        vyre_case **out, vyre_error *error);

#endif
