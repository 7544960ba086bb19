/* The dispatch entries of the backend's table. */
#ifndef VY_BACKENDS_CUDA_DISPATCH_H
#define VY_BACKENDS_CUDA_DISPATCH_H

#include "backends/cuda/cuda.h"

vyre_status vy_cuda_dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                             vyre_outputs *outputs, vyre_error *error);
vyre_status vy_cuda_dispatch_borrowed(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                      size_t input_count, vyre_outputs *outputs, vyre_error *error);
vyre_status vy_cuda_dispatch_timed(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                   vyre_outputs *outputs, vyre_timing *timing, vyre_error *error);
vyre_status vy_cuda_dispatch_resident(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                      size_t binding_count, vyre_timing *timing, vyre_error *error);
vyre_status vy_cuda_dispatch_async(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                   vyre_native_pending *out, vyre_error *error);

#endif
