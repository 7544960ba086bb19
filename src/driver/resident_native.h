/* Resident buffers as a backend knows them: its calls, judged and counted. Internal to resident*.c, which knows whose they are.
 *
 * The caller is inside the backend; error is never NULL. */
#ifndef VY_DRIVER_RESIDENT_NATIVE_H
#define VY_DRIVER_RESIDENT_NATIVE_H

#include "vyre/driver.h"

vyre_status vy_native_allocate(vyre_backend *backend, uint64_t size, uint64_t *native, vyre_error *error);
vyre_status vy_native_free(vyre_backend *backend, uint64_t native, vyre_error *error);
vyre_status vy_native_upload(vyre_backend *backend, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                             vyre_error *error);
vyre_status vy_native_download(vyre_backend *backend, uint64_t native, uint64_t offset, void *data, uint64_t size,
                               vyre_error *error);
/* The backend has given a value that another buffer has. */
vyre_status vy_native_fail_duplicate(vyre_backend *backend, vyre_error *error);

#endif
