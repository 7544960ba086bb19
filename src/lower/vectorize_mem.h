/* Memory access vectorisation: loads or stores of x[b], x[b + 1], … in one block become one wide access
 * (docs/internals/transform.md, "Wide access"). */
#ifndef VY_LOWER_VECTORIZE_MEM_H
#define VY_LOWER_VECTORIZE_MEM_H

#include "lower/legalize.h"

/* *out is `program`, at level legal and inlined, with wide accesses of up to target->access_bytes where it pays;
 * `program` itself, retained, if there are none, or if that is nobody else's (vyre_program.is_unique) and changed
 * itself; after a failure such a one is good for nothing. Only unguarded accesses are fused: what is wide is inside as
 * each of its elements was.
 *
 * VYRE_LIMIT      the result is too large or too deep
 * VYRE_NO_MEMORY */
vyre_status vy_vectorize_mem(const vyre_program *program, const vy_target_desc *target, vyre_program **out,
                             vyre_error *error);

#endif
