/* What runs a program: a backend, or a pipeline a backend compiled from it. Both have the same entries, so one caller (boundary_call.c)
 * serves both, with the same defaults for those that are missing. */
#ifndef VY_DRIVER_TARGET_H
#define VY_DRIVER_TARGET_H

#include "vyre/backend.h"

typedef struct vy_target {
    void *self;
    /* Required. */
    vyre_status (*dispatch)(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                            vyre_outputs *outputs, vyre_error *error);
    /* NULL where it has none. */
    vyre_status (*dispatch_borrowed)(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                     vyre_outputs *outputs, vyre_error *error);
    vyre_status (*dispatch_borrowed_timed)(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                           size_t input_count, vyre_outputs *outputs, vyre_timing *timing,
                                           vyre_error *error);
    vyre_status (*dispatch_borrowed_into)(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                          size_t input_count, vyre_outputs *outputs, vyre_error *error);
    /* Of a backend: owned bytes. */
    vyre_status (*dispatch_async)(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                                  vyre_native_pending *out, vyre_error *error);
    vyre_status (*dispatch_borrowed_async)(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                           size_t input_count, vyre_native_pending *out, vyre_error *error);
    /* Of a backend: all bindings resident. */
    vyre_status (*dispatch_resident)(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                     size_t binding_count, vyre_timing *timing, vyre_error *error);
    /* Of a pipeline: host bytes and resident buffers mixed. */
    vyre_status (*dispatch_persistent)(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                       size_t binding_count, vyre_outputs *outputs, vyre_timing *timing,
                                       vyre_error *error);
} vy_target;

/* Whether it runs on resident buffers. */
static inline int vy_target_is_resident(const vy_target *target) {
    return target->dispatch_resident || target->dispatch_persistent;
}

#endif
