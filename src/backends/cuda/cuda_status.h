/* What the driver's results mean here. */
#ifndef VY_BACKENDS_CUDA_CUDA_STATUS_H
#define VY_BACKENDS_CUDA_CUDA_STATUS_H

#include "backends/cuda/dynamic_symbols.h"

/* The status a result stands for. */
vyre_status vy_cuda_status(int result);
/* Whether the context is gone with it, and every later call fails alike. */
int vy_cuda_is_loss(int result);

/* Fills the error for a failed call: what was being done, the driver's name of the result and its sentence, and what to do about it. api: for the names. */
vyre_status vy_cuda_fail_result(const vy_cuda_dynamic_symbols *api, int result, const char *doing, vyre_error *error);

#endif
