/* Resident buffers: aligned memory of the process, on which dispatches work in place. A native value is the address of
 * a block that holds its size. */
#ifndef VY_BACKENDS_CPU_MEMORY_H
#define VY_BACKENDS_CPU_MEMORY_H

#include "vyre/backend.h"

vyre_status vy_cpu_resident_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error);
vyre_status vy_cpu_resident_free(void *self, uint64_t native, vyre_error *error);
vyre_status vy_cpu_resident_upload(void *self, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                                   vyre_error *error);
vyre_status vy_cpu_resident_download(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                     vyre_error *error);
/* Memory of the process that somebody else owns: used where it is. */
vyre_status vy_cpu_resident_wrap(void *self, const vyre_memory_location *place, uint64_t size, uint64_t *native,
                                 vyre_error *error);
vyre_status vy_cpu_resident_location(void *self, uint64_t native, vyre_memory_location *place, vyre_error *error);
uint8_t *vy_cpu_resident_bytes(uint64_t native);

/* Memory nobody has used yet, that is going to be: asks the system for large pages, if it is large. */
void vy_cpu_memory_advise(void *memory, size_t size);

#endif
