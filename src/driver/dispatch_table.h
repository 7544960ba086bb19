/* What runs a program: a backend, or a pipeline a backend compiled from it. Both have the same entries, so one caller (backend_call.c)
 * serves both, with the same defaults for those that are missing. */
#ifndef VY_DRIVER_DISPATCH_TABLE_H
#define VY_DRIVER_DISPATCH_TABLE_H

#include "vyre/backend.h"

typedef struct vy_dispatch_table {
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
} vy_dispatch_table;

/* Whether it runs on resident buffers. */
static inline int vy_dispatch_table_is_resident(const vy_dispatch_table *dispatch_table) {
    return dispatch_table->dispatch_resident || dispatch_table->dispatch_persistent;
}

#endif
