/* The generator: random programs with their inputs, by seed; and the shrinker. Every later room is tested with these.
 *
 * Programs are typed, valid, terminating, race-free and not schedule-dependent by construction. The same seed and knobs give the same
 * program and inputs on every machine, for one version of the library. */
#ifndef VY_GENERATE_GENERATE_H
#define VY_GENERATE_GENERATE_H

#include "vyre/dispatch.h"

/* What to stress, or-ed; 0 = everything. */
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
    X(EDGES, "edges")             /* conditions and accesses that are constant for some ids only; ends of buffers */
enum vyre_stress_bit {
#define X(ID, name) VYRE_STRESS_BIT_##ID,
    VYRE_STRESS_LIST(X)
#undef X
};
enum {
#define X(ID, name) VYRE_STRESS_##ID = 1 << VYRE_STRESS_BIT_##ID,
    VYRE_STRESS_LIST(X)
#undef X
};

typedef struct vyre_generate_options {
    uint64_t seed;
    unsigned statements;  /* about how many; 0 = 30 */
    unsigned depth;       /* expression depth; 0 = 4 */
    unsigned invocations; /* at most about this many in the grid; 0 = 256 */
    unsigned stress;      /* VYRE_STRESS_* */
    uint32_t types;       /* bit set of 1 << vyre_type allowed; 0 = all */
} vyre_generate_options;

/* A program with everything a dispatch needs. Immutable, any thread; free with vyre_case_free. */
typedef struct vyre_case vyre_case;
/* Makes the case of a seed. options NULL = all zeros. Any thread, does not block. VYRE_NO_MEMORY */
vyre_status vyre_generate(const vyre_generate_options *options, vyre_case **out, vyre_error *error);
void vyre_case_free(vyre_case *test_case);
vyre_program *vyre_case_program(const vyre_case *test_case);           /* borrowed */
const vyre_arguments *vyre_case_arguments(const vyre_case *test_case); /* borrowed */
/* A case from parts, which are copied (the program is retained).
 * VYRE_INVALID_ARGUMENT  the program is NULL, or an array or an input that is not empty is
 * VYRE_NO_MEMORY */
vyre_status vyre_case_new(vyre_program *program, const vyre_arguments *arguments, vyre_case **out, vyre_error *error);

/* Shrinking: asks `fails` about smaller and smaller cases and keeps those for which it returns non-zero. The result still fails.
 * max_tries 0 = 2000. The original is not changed. Blocks as long as the questions take; `fails` is called on the calling thread, and
 * its candidate is borrowed for the call.
 * VYRE_INVALID_ARGUMENT  no case, no question, or a library
 * VYRE_NO_MEMORY */
typedef int vyre_still_fails(void *user, const vyre_case *candidate);
vyre_status vyre_shrink(const vyre_case *start, vyre_still_fails *fails, void *user, unsigned max_tries,
                        vyre_case **out, vyre_error *error);

#endif
