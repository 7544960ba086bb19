/* Accesses: what the statements at one place read, and what they write for certain. Internal to legal_fill_*.c.
 *
 * What must stay true: a read asks for every element that its index may be, a store writes only the one that its index certainly is; and a store to an array of the workgroup
 * counts for those who come to it for certain. */
#ifndef VY_LOWER_DEFINITE_INIT_ACCESS_H
#define VY_LOWER_DEFINITE_INIT_ACCESS_H

#include "lower/definite_init.h"

/* Whoever is here reads an element of an array. May fail, as all that follows: f->failed. */
void vy_definite_init_read(vy_definite_init *f, uint32_t memory, uint32_t index);
/* Or all that the expressions of a statement load. */
void vy_definite_init_read_loads(vy_definite_init *f, uint32_t stmt);
/* The same of any statement: most load nothing. */
static inline void vy_definite_init_read_operands(vy_definite_init *f, uint32_t stmt) {
    if (f->loads[stmt])
        vy_definite_init_read_loads(f, stmt);
}
/* Whoever is here executes a store. */
void vy_definite_init_store(vy_definite_init *f, const vy_stmt *s);

/* Whether the invocation comes to this place for certain, once the workgroup is in the block. -1: that is not known. */
int vy_definite_init_comes_here(vy_definite_init *f, uint32_t invocation);

#endif
