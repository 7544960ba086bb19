/* The CUDA device: its properties, which need no context, and its start, end, loss and recovery. */
#ifndef VY_BACKENDS_CUDA_DEVICE_H
#define VY_BACKENDS_CUDA_DEVICE_H

#include "backends/cuda/cuda.h"

/* ---- device properties ---- */

/* Starts the driver and finds the device with this number.
 *
 * VYRE_NOT_FOUND    there is none
 * VYRE_UNSUPPORTED  the driver does not start, or the device is too old or kept from us */
vyre_status vy_cuda_device_info_query(const vy_cuda_dynamic_symbols *api, uint32_t ordinal, int *device,
                                      vy_cuda_device_info *out, vyre_error *error);
/* What the environment wants otherwise than the device has it: VYRE_CUDA_DIRECT, for who wants to measure, or to do
 * without. VYRE_INVALID_ARGUMENT: it is no such number. */
vyre_status vy_cuda_device_info_apply_env(vy_cuda_device_info *device_info, vyre_error *error);
/* Whether one of the devices at least is served, and how many there are; else what is wrong with the first. */
vyre_status vy_cuda_device_info_any(const vy_cuda_dynamic_symbols *api, uint32_t *count, vyre_error *error);
void vy_cuda_device_info_profile(const vy_cuda_device_info *device_info, vyre_device_profile *profile);
/* The ops that the emitter writes for this architecture. */
const char *const *vy_cuda_device_info_ops(const vy_cuda_device_info *device_info, size_t *count);
uint64_t vy_cuda_device_info_capability(const vy_cuda_device_info *device_info, vyre_capability capability);

#endif
