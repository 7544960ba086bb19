/* Legalisation, and the target description (vy_target_desc): rewrites a program so that it computes the same bits on a
 * device that does not compute everything exactly.
 *
 * Whatever the numerics profile of the device does not promise (vyre/backend.h, VYRE_NUMERIC_LIST) is replaced: narrow
 * integers and floats by 32-bit ones, edge cases of division and shifts by selects, inexact, split or flushing float
 * arithmetic by sequences of native operations and integers. A NaN is made canonical where its bits can be observed.
 * Bounds checks become explicit, traps and deadlines become ordinary control flow, collectives become what the hardware
 * has. The result is a program of level legal. The oracle runs it, also as an adversarial device that is inexact in
 * everything else (oracle/adversarial_device.h), with the bits of the original (docs/internals/transform.md,
 * "Legalisation"). */
#ifndef VY_LOWER_LEGALIZE_H
#define VY_LOWER_LEGALIZE_H

#include "ir/model.h"
#include "vyre/backend.h"
#include "vyre/program.h"

/* What is rewritten for. Of a device we rely on nothing but this:
 *  - 32-bit integer ops, and 64-bit ones with INT64, but for division edges (INT_DIV) and amounts beyond the width
 *    (SHIFT);
 *  - loads, stores, selects, bitcasts and casts between integers move bits, those of NaNs and subnormals too;
 *  - native f32 operations on normal numbers with normal results are as exact as the profile says, and approximate
 *    division and square root within 2.5 ulp;
 *  - f64 operations as the profile says; if it has none of f64, or no 64-bit integers, there is no f64;
 *  - nothing is contracted, reassociated or otherwise rewritten: the program is optimised before, not after. */
typedef struct vy_target_desc {
    uint64_t exact; /* bits 1 << VYRE_NUMERIC_… */
    uint32_t
        subgroup_width; /* the hardware's subgroups: so many consecutive invocations with a native shuffle; 0 = none */
    uint32_t access_bytes; /* the widest access: 4, 8 or 16; 0 = one element */
    uint8_t
        native_collectives; /* the emitter does collectives itself, in the canonical order: those that are exact stay */
    uint8_t cancellable;    /* the program asks whether it is to end (`poll`) */
    uint8_t zeroes_arrays;  /* arrays start as zero anyway */
    uint8_t aligned_buffers; /* every buffer starts at a multiple of 16 bytes */
    uint8_t writes_out;      /* loops over private arrays are written trip by trip (unroll_arrays.h) */
    /* the emitter's grid barrier ends the grid if somebody reported or a poll was true: no workgroup waits there for
     * one that ended */
    uint8_t ends_at_grid_barriers;
} vy_target_desc;

/* Rewrites `program` for the target. Calls of functions are inlined, prints are dropped. *out is a new program of level
 * legal; `program` is not changed. Any thread.
 *
 * Buffers keep their bytes and their order, params their order. But on a target without INT64 a buffer of i64 or u64 is
 * one of u32 with twice the elements (which a dispatch that gives its count must give), and a param of i64 or u64 is
 * two of u32, the low half first. Where there is no f64, buffers and params of f64 are of u64, and then the same holds
 * for them.
 *
 * VYRE_UNSUPPORTED       the program needs something of the target that it does not have and that is not rewritten; the
 *                        error names it
 * VYRE_INVALID_ARGUMENT  a library, or ops are not resolved
 * VYRE_LIMIT             the rewritten program is too large or too deep
 * VYRE_NO_MEMORY */
vyre_status vy_legalize(vyre_program *program, const vy_target_desc *target, vyre_program **out, vyre_error *error);
/* The same for one who makes code of it at once: the result is valid (what is written out by trust), but has no
 * fingerprint (vy_program_finalize), and `program` may be a step (ir/irbuilder.h). It is released, always: its memory
 * serves the phases behind the first that makes another. */
vyre_status vy_legalize_unverified(vyre_program *program, const vy_target_desc *target, vyre_program **out,
                                   vyre_error *error);

/* Zero initialisation: arrays read as zero until they are written, but on devices their initial contents are undefined.
 * An array that may be read before it is written is zeroed at the start of the program.
 *
 * definite_init.c finds these arrays by walking the program with the values that are known statically: literals,
 * positions in the workgroup, bounds of loops. An element of a private array is written once a store to it was
 * executed; an element of a workgroup array once some invocation of every workgroup has stored to it and a barrier
 * followed. Sound, not complete: an array without a proof is zeroed. */
/* needs[memory] (one for each memory of the program) becomes 1 for arrays that may be read before they are written, 0
 * for all else. `program` is of level source, valid and has no calls: where a barrier stands, the whole workgroup
 * comes. */
vyre_status vy_zero_init_needs(const vyre_program *program, uint8_t *needs, vyre_error *error);

/* *out: the program, one reference, which zeroes the arrays that need it. Any thread. */
vyre_status vy_legalize_zero_init(const vyre_program *program, vyre_program **out, vyre_error *error);

/* Lowering of traps and deadlines at level legal.
 *
 * A device has no `trap` that ends a workgroup, and nothing that stops a kernel from outside. So an invocation that
 * traps reports it (`report`) and ends itself; if other invocations of its workgroup may wait for it at a barrier, it
 * continues to the barrier without effects, and there all of them leave together. A cancellable program also polls
 * whether it is to end (`poll`), and leaves in the same way (docs/internals/transform.md, "Ends"). */
/* *out is `program`, which must be inlined, at level legal and without traps; with polls if target->cancellable.
 *
 * VYRE_UNSUPPORTED  traps or polls beside a grid barrier, where other workgroups would wait for ever (unless
 *                   target->ends_at_grid_barriers): split the program first
 * VYRE_LIMIT        the result is too large or too deep
 * VYRE_NO_MEMORY */
vyre_status vy_legalize_traps(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                              vyre_error *error);

#endif
