/* Accesses: what the statements at one place read, and what they write for certain. Internal to legal_fill_*.c.
 *
 * What must stay true: a read asks for every element that its index may be, a store writes only the one that its index certainly is; and a store to an array of the workgroup
 * counts for those who come to it for certain. */
#ifndef VY_TRANSFORM_LEGAL_FILL_ACCESS_H
#define VY_TRANSFORM_LEGAL_FILL_ACCESS_H

#include "transform/legal_fill_proof.h"

/* Whoever is here reads an element of an array. May fail, as all that follows: f->failed. */
void vy_fill_read(vy_fill_proof *f, uint32_t memory, uint32_t index);
/* Or all that the expressions of a statement load. */
void vy_fill_read_loads(vy_fill_proof *f, uint32_t stmt);
/* The same of any statement: most load nothing. */
static inline void vy_fill_read_operands(vy_fill_proof *f, uint32_t stmt) {
    if (f->loads[stmt])
        vy_fill_read_loads(f, stmt);
}
/* Whoever is here executes a store. */
void vy_fill_store(vy_fill_proof *f, const vy_stmt *s);

/* Whether the invocation comes to this place for certain, once the workgroup is in the block. -1: that is not known. */
int vy_fill_comes_here(vy_fill_proof *f, uint32_t invocation);

#endif
