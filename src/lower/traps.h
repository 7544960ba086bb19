/* Lowering of traps and deadlines at level legal.
 *
 * A device has no `trap` that ends a workgroup, and nothing that stops a kernel from outside. So an invocation that
 * traps reports it (`report`) and ends itself; if other invocations of its workgroup may wait for it at a barrier, it
 * continues to the barrier without effects, and there all of them leave together. A cancellable program also polls
 * whether it is to end (`poll`), and leaves in the same way (docs/internals/transform.md, "Ends"). */
#ifndef VY_LOWER_TRAPS_H
#define VY_LOWER_TRAPS_H

#include "lower/legalize.h"

/* *out is `program`, which must be inlined, at level legal and without traps; with polls if target->cancellable.
 *
 * VYRE_UNSUPPORTED  traps or polls beside a grid barrier, where other workgroups would wait for ever (unless
 *                   target->ends_at_grid_barriers): split the program first
 * VYRE_LIMIT        the result is too large or too deep
 * VYRE_NO_MEMORY */
vyre_status vy_legalize_traps(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                              vyre_error *error);

#endif
