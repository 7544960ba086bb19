/* A device in use: its context, pool and what is shared by all dispatches; made, and made again after a loss. */
#ifndef VY_BACKENDS_CUDA_DEVICE_H
#define VY_BACKENDS_CUDA_DEVICE_H

#include "backends/cuda/cuda.h"

/* Retains the primary context and makes what all dispatches share. On failure nothing is left. */
vyre_status vy_cuda_device_start(vy_cuda *cuda, vyre_error *error);
/* Frees all that is on the device. No dispatch is under way; lost or not. */
void vy_cuda_device_end(vy_cuda *cuda);

/* Entries of the backend's table. */
int vy_cuda_device_lost(void *self);
vyre_status vy_cuda_try_recover(void *self, vyre_error *error);

#endif
