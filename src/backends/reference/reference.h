/* The reference backend: the reference interpreter as a backend, with the ids `reference` and `cpu-ref`.
 *
 * It defines the results that the other backends must return, and runs every program. It is selected only by name. */
#ifndef VY_BACKENDS_REFERENCE_REFERENCE_H
#define VY_BACKENDS_REFERENCE_REFERENCE_H

#include "vyre/backend.h"

/* The constructors, for builtin.c. */
vyre_status vy_reference_create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error);
vyre_status vy_reference_create_cpu_ref(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out,
                                        vyre_error *error);
void vy_reference_probe(const vyre_host *host, vyre_probe *out);

#endif
