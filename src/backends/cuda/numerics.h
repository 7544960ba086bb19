/* Probe of the numerics: which operations the device computes exactly. PTX promises some (emit/ptx/ptx.h); a probe
 * confirms them once for each kind of device and driver. */
#ifndef VY_BACKENDS_CUDA_NUMERICS_H
#define VY_BACKENDS_CUDA_NUMERICS_H

#include "backends/cuda/cuda.h"

/* The entry of the backend's table. */
void vy_cuda_numerics(void *self, vyre_numerics_profile *profile);
/* Before anything is compiled: the probe, if nobody ran it before. Inside or not. VYRE_CUDA_PROBE=0 takes the promise
 * for it. */
vyre_status vy_cuda_numerics_confirm(vy_cuda *cuda, vyre_error *error);

#endif
