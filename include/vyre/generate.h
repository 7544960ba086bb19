/* The generator of random test cases (programs with their inputs, by seed), and the reducer of failing ones. Generated
 * programs are typed, valid, terminating, race-free and not schedule-dependent by construction. The same seed and
 * options yield the same case on every machine, for one version of the library.
 *
 *     vyre_generate_options options = {.seed = 1};
 *     status = vyre_generate(&options, &test_case, &error);
 *
 * Threads:  any thread, concurrently. */
#ifndef VYRE_GENERATE_H
#define VYRE_GENERATE_H

#include "vyre/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Features to stress, or-ed; 0: all. X(ID, name) */
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

/* Options of vyre_generate; zero-initialised: the defaults. Larger values are clamped. */
typedef struct vyre_generate_options {
    uint64_t seed;
    unsigned statements;  /* approximate number; 0 = 30 */
    unsigned depth;       /* expression depth; 0 = 4 */
    unsigned invocations; /* approximate maximum in the grid; 0 = 256 */
    unsigned stress;      /* VYRE_STRESS_* */
    uint32_t types;       /* bit set of 1 << vyre_type allowed; 0 = all */
} vyre_generate_options;

/* A test case: a program with the arguments of a dispatch. Immutable.
 *
 * Constructors:  vyre_generate, vyre_case_new, vyre_shrink
 * Destructor:    vyre_case_free
 * Methods:       vyre_case_program, vyre_case_arguments */
typedef struct vyre_case vyre_case;

/* Generates the case of a seed. Does not block.
 *
 * options  NULL: zero-initialised.
 *
 * VYRE_NO_MEMORY  out of host memory */
VYRE_API vyre_status vyre_generate(const vyre_generate_options *options, vyre_case **out, vyre_error *error);
/* Frees a case. NULL is ignored. */
VYRE_API void vyre_case_free(vyre_case *test_case);
/* The program and the arguments of a case; borrowed from it. */
VYRE_API vyre_program *vyre_case_program(const vyre_case *test_case);           /* borrowed */
VYRE_API const vyre_arguments *vyre_case_arguments(const vyre_case *test_case); /* borrowed */
/* Creates a case. The arguments are copied, and the program is retained.
 *
 * arguments  NULL: zero-initialised.
 *
 * VYRE_INVALID_ARGUMENT  the program is NULL, or a non-empty array or input is NULL
 * VYRE_NO_MEMORY         out of host memory */
VYRE_API vyre_status vyre_case_new(vyre_program *program, const vyre_arguments *arguments, vyre_case **out,
                                   vyre_error *error);

/* Reduces a failing case: calls `fails` for smaller and smaller candidates and keeps those for which it returns
 * non-zero.
 *
 * start      A case for which `fails` returns non-zero (not checked). Not modified.
 * max_tries  Maximum number of calls of `fails`; 0 = 2000.
 * out        A case that fails; free with vyre_case_free.
 *
 * Threads:   `fails` is called on the calling thread.
 * Blocking:  blocks for the duration of all calls of `fails`.
 *
 * VYRE_INVALID_ARGUMENT  a NULL argument, a library, or arguments that do not match the program
 * VYRE_LIMIT             a size of the case exceeds a limit of the language
 * VYRE_NO_MEMORY         out of host memory */
/* Returns non-zero if the candidate still fails. The candidate is borrowed for the call. */
typedef int vyre_still_fails(void *user, const vyre_case *candidate);
VYRE_API vyre_status vyre_shrink(const vyre_case *start, vyre_still_fails *fails, void *user, unsigned max_tries,
                                 vyre_case **out, vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
