/* Arrays of resolved dispatches, on resources or from host bytes, in the layout of the backend entries that run several
 * in one call. */
#ifndef VY_DRIVER_DISPATCH_BATCH_H
#define VY_DRIVER_DISPATCH_BATCH_H

#include "driver/resource_dispatch.h"

typedef struct vy_dispatch_batch {
    vyre_backend *backend;
    size_t count; /* added so far */
    /* By item. */
    vyre_launch *launches;
    vyre_trap *traps;               /* {UINT64_MAX, 0} until one is filled */
    const vyre_resource **bindings; /* NULL: from host bytes */
    uint64_t *invocations;
    /* Concatenated over the items. */
    vyre_resource *resources;
    vy_resident_use *uses;
    vyre_scalar *params;
    uint64_t *elements;
    size_t resource_count, use_count, param_count;
    size_t last, last_uses; /* the last item added by vy_dispatch_batch_add, and the index of its first use */
    int is_resident;        /* all bindings so far are ranges of resident buffers */
    void *block;
    size_t size;
} vy_dispatch_batch;

/* Allocates room for `count` items with these total numbers of params and buffers. */
vyre_status vy_dispatch_batch_start(vy_dispatch_batch *many, vyre_backend *backend, size_t count, size_t params,
                                    size_t buffers, vyre_error *error);
/* Adds a dispatch and owns its pins. Its label must outlive the batch. */
void vy_dispatch_batch_add(vy_dispatch_batch *many, vy_resource_dispatch *resolved);
/* Whether the next item may be derived from this one: tracing is off, and resolving needs neither the contents nor the
 * addresses of the bound buffers. */
int vy_dispatch_batch_can_repeat(const vy_resource_dispatch *resolved);
/* Adds the items from index `from` (at least 1) that equal their predecessor except for the offsets of their ranges:
 * same arguments, same buffers, same sizes. Their buffers are already pinned. items: the bindings of each item; or
 * NULL, and `rows` holds them contiguously. Returns the number of added items. */
size_t vy_dispatch_batch_add_shifted(vy_dispatch_batch *many, const vyre_resource *const *items,
                                     const vyre_resource (*rows)[4], size_t from, size_t count);
/* Unpins and frees. */
void vy_dispatch_batch_end(vy_dispatch_batch *many);

/* Counts the end of one call for all items. failed_by_backend: the index that the backend reported. Sets *failed and
 * the trap where possible. */
vyre_status vy_dispatch_batch_finish(vy_dispatch_batch *many, vyre_status status, size_t failed_by_backend,
                                     size_t *failed, vyre_trap *trap, vyre_error *error);

#endif
