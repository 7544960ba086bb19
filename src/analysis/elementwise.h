/* Elementwise analysis: which buffers a program accesses only at element `global_id.x`, and whether a dispatch of it
 * can be divided in x into launches that each need only their part of these buffers.
 *
 * A backend divides a large dispatch to overlap copies with kernels. A buffer that is read elsewhere, such as a table,
 * is needed whole by every launch.
 *
 * The result is stored by buffer. It stays valid while the buffers and the memory accesses of the program stay the
 * same.
 *
 * Sound, not complete. */
#ifndef VY_ANALYSIS_ELEMENTWISE_H
#define VY_ANALYSIS_ELEMENTWISE_H

#include "ir/model.h"

/* is_elementwise: one for each buffer of the program, in declaration order; 1: every access is a load or store at
 * global_id.x. *is_divisible: 1 if every buffer that is written is elementwise, and the program has no grid barrier.
 * Calls must be inlined before, else no buffer is elementwise and the program is not divisible.
 *
 * VYRE_NO_MEMORY */
vyre_status vy_elementwise_find(const vyre_program *program, uint8_t *is_elementwise, int *is_divisible,
                                vyre_error *error);

#endif
