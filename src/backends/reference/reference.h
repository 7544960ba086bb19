/* The reference backend: the oracle behind the contract, under the ids `reference` and `cpu-ref`. It defines what the other backends must
 * give, runs every program, and is never chosen unless it is named.
 *
 *   device.c    constructors, identity, capabilities
 *   executable_cache.c  compiled oracles, kept for the programs in use
 *   memory.c    resident buffers
 *   dispatch.c  the dispatch family */
#ifndef VY_BACKENDS_REFERENCE_H
#define VY_BACKENDS_REFERENCE_H

#include "base/memory.h"
#include "vyre/backend.h"
#include "vyre/oracle.h"

#include <pthread.h>

enum { VY_REFERENCE_EXECUTABLES = 32 };

typedef struct vy_reference_executable {
    vyre_program *program; /* retained: so its address names it; NULL = empty place */
    vyre_oracle *oracle;
    uint32_t users;
    uint64_t last_use;
} vy_reference_executable;

typedef struct vy_reference_backend {
    const char *id;
    pthread_mutex_t lock; /* guards all that follows */
    vy_reference_executable programs[VY_REFERENCE_EXECUTABLES];
    uint64_t clock;
    struct vy_reference_block *blocks; /* of resident buffers */
} vy_reference_backend;

/* The constructors, for builtin.c. */
vyre_status vy_reference_create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error);
vyre_status vy_reference_create_cpu_ref(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out,
                                        vyre_error *error);
void vy_reference_probe(const vyre_host *host, vyre_probe *out);

/* A compiled oracle, compiled now or found. `place` goes back to vy_reference_executable_release; VY_REFERENCE_EXECUTABLES if the oracle is not kept, because
 * all places are in use. */
vyre_status vy_reference_executable_acquire(vy_reference_backend *reference, vyre_program *program,
                                            const vyre_oracle **oracle, uint32_t *place, vyre_error *error);
void vy_reference_executable_release(vy_reference_backend *reference, const vyre_oracle *oracle, uint32_t place);
void vy_reference_executables_clear(vy_reference_backend *reference);

/* Entries of the table. */
vyre_status vy_reference_prepare(void *self, vyre_program *program, vyre_error *error);
vyre_status vy_reference_dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                                  vyre_outputs *outputs, vyre_error *error);
vyre_status vy_reference_dispatch_borrowed(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                           size_t input_count, vyre_outputs *outputs, vyre_error *error);
vyre_status vy_reference_dispatch_resident(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                           size_t binding_count, vyre_timing *timing, vyre_error *error);
vyre_status vy_reference_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error);
vyre_status vy_reference_free(void *self, uint64_t native, vyre_error *error);
vyre_status vy_reference_upload(void *self, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                                vyre_error *error);
vyre_status vy_reference_download(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                  vyre_error *error);
vyre_status vy_reference_wrap(void *self, const vyre_memory_location *place, uint64_t size, uint64_t *native,
                              vyre_error *error);
vyre_status vy_reference_location(void *self, uint64_t native, vyre_memory_location *place, vyre_error *error);
/* What is left of resident buffers when the backend ends. */
void vy_reference_free_all(vy_reference_backend *reference);
/* The bytes of a resident buffer, from an offset. */
unsigned char *vy_reference_bytes(uint64_t native, uint64_t offset);

#endif
