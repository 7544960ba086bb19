/* Legalisation: rewrites a program so that it computes the same bits on a device that does not compute everything
 * exactly. The target description (compile/target/target.h) states what a device computes.
 *
 * Whatever the numerics profile of the device does not promise (vyre/backend.h, VYRE_NUMERIC_LIST) is replaced: narrow
 * integers and floats by 32-bit ones, edge cases of division and shifts by selects, inexact, split or flushing float
 * arithmetic by sequences of native operations and integers. A NaN is made canonical where its bits can be observed.
 * Bounds checks become explicit, traps and deadlines become ordinary control flow, collectives become the operations
 * of the hardware. The result is a program of level legal. The reference interpreter runs it, also as an adversarial
 * device that is inexact in everything else (oracle/adversarial_device.h), with the bits of the original
 * (docs/internals/lower.md). */
#ifndef VY_LOWER_LEGALIZE_H
#define VY_LOWER_LEGALIZE_H

#include "compile/target/target.h"
#include "ir/model.h"
#include "vyre/program.h"

/* Phases of legalisation, in this order after `zero_init`. Each makes a new program, or returns the given one,
 * retained, if there is nothing to rewrite for the target. The pass table (compile/pipeline.c) runs them. `traps`,
 * `collectives` and `bounds_checks` take a program of level source without calls and make it legal; the others take a
 * legal one. Results are steps (ir/irbuilder.h): valid except for the limits of the language, and without a
 * fingerprint. May be called from any thread.
 *
 * Buffers keep their bytes and their order, params their order. But on a target without INT64 a buffer of i64 or u64
 * becomes one of u32 with twice the elements (a dispatch that states its count must state twice as many), and a param
 * of i64 or u64 becomes two of u32, the low half first. On a target without f64, buffers and params of f64 become u64,
 * and then the same holds for them.
 *
 * VYRE_UNSUPPORTED                  the program needs a feature that the target lacks and that is not rewritten; the
 *                                   message names it
 * VYRE_LIMIT, VYRE_INVALID_PROGRAM  the result exceeds a limit of the language
 * VYRE_NO_MEMORY                    out of memory */
typedef vyre_status vy_lower_phase(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                   vyre_error *error);
vy_lower_phase vy_lower_traps, vy_lower_collectives, vy_lower_bounds_checks, vy_lower_promote_narrow, vy_lower_numerics,
    vy_lower_f64_as_bits, vy_lower_split_int64;

/* Zero initialisation: arrays read as zero until they are written, but on devices their initial contents are undefined.
 * An array that may be read before it is written is zeroed at the start of the program.
 *
 * definite_init.c finds these arrays by walking the program with the values that are known statically: literals,
 * positions in the workgroup, bounds of loops. An element of a private array is written once a store to it was
 * executed; an element of a workgroup array once some invocation of every workgroup has stored to it and a barrier
 * followed. Sound, not complete: an array without a proof is zeroed. */
/* needs[memory] (one for each memory of the program) becomes 1 for arrays that may be read before they are written,
 * else 0. `program` is of level source, valid and has no calls, so all invocations of a workgroup reach each of its
 * barriers. */
vyre_status vy_zero_init_needs(const vyre_program *program, uint8_t *needs, vyre_error *error);

/* *out: the program with one reference, which zeroes the arrays that need it. May be called from any thread. */
vyre_status vy_legalize_zero_init(const vyre_program *program, vyre_program **out, vyre_error *error);

/* Lowering of traps and deadlines at level legal.
 *
 * A device has no `trap` that ends a workgroup, and a kernel cannot be stopped from outside. So an invocation that
 * traps reports it (`report`) and ends itself. If other invocations of its workgroup may wait for it at a barrier, it
 * continues to the barrier without effects, and there all of them leave together. A cancellable program also polls
 * whether it must end (`poll`), and leaves in the same way (docs/internals/lower.md). */
/* *out is `program`, which must be inlined, at level legal and without traps; with polls if target->cancellable.
 *
 * VYRE_UNSUPPORTED  traps or polls in a program with a grid barrier, where other workgroups would wait forever (unless
 *                 target->ends_at_grid_barriers): split the program first
 * VYRE_LIMIT        the result is too large or too deep
 * VYRE_NO_MEMORY    out of memory */
vyre_status vy_legalize_traps(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                              vyre_error *error);

#endif
