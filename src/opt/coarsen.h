/* Thread coarsening: makes a program whose invocations handle several consecutive elements each, so that a target can
 * load and store them with one wide access.
 *
 * Invocation i of the original is executed by invocation i / factor of the result, together with its neighbours in x:
 * in lockstep where all of them are in the grid and their accesses in bounds, otherwise one after another
 * (docs/internals/transform.md). */
#ifndef VY_OPT_COARSEN_H
#define VY_OPT_COARSEN_H

#include "vyre/program.h"

enum { VY_COARSEN_PARAMS = 1, VY_COARSEN_MAX = 16 };

typedef struct vy_coarsen_options {
    uint32_t access_bytes; /* the widest access of the target, at most 16; 0: it has none, and nothing is coarsened */
    uint8_t even_if_slow;  /* whatever can be coarsened is, whether it pays or not: for tests */
} vy_coarsen_options;

typedef struct vy_coarsened {
    vyre_program *program; /* one reference */
    uint32_t factor;       /* invocations of the original that one of the result handles: 1, 2, 4, 8 or 16 */
    const char *reason;    /* why the factor is 1, a static sentence; NULL if it is more */
} vy_coarsened;

/* Coarsens the program if that is possible and pays. Calls are inlined first. The result has the params of the program
 * and then a hidden one, its buffers, its workgroup size, and no grid of its own. It is launched over
 * vy_coarsened_groups in x and the same groups in y and z: a dispatch whose grid only the device knows (indirect) takes
 * the original. A program that stays as it is comes back itself, retained, with factor 1 and the reason. Blocks for
 * time in the order of the program's size.
 *
 * VYRE_NO_MEMORY  out->program is NULL */
vyre_status vy_coarsen(vyre_program *program, const vy_coarsen_options *options, vy_coarsened *out, vyre_error *error);
/* The same of an inlined program, for who makes another program of it at once: the result is trusted to be valid and
 * has no fingerprint (ir/irbuilder.h). */
vyre_status vy_coarsen_unverified(vyre_program *inlined, const vy_coarsen_options *options, vy_coarsened *out,
                                  vyre_error *error);

/* How many groups in x a coarsened program needs for `groups_x` of the original, which is the value of its hidden
 * param, a u32. */
static inline uint32_t vy_coarsened_groups(const vy_coarsened *widened, uint32_t groups_x) {
    return groups_x / widened->factor + (groups_x % widened->factor != 0);
}

#endif
