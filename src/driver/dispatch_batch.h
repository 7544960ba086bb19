/* Several resolved dispatches at once, side by side as the entries want them that take many in one call: on resources, or from host bytes. */
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
    /* All of one after all of the other. */
    vyre_resource *resources;
    vy_resident_use *uses;
    vyre_scalar *params;
    uint64_t *elements;
    size_t resource_count, use_count, param_count;
    size_t last, last_uses; /* the last dispatch that was taken over, and where its uses begin */
    int is_resident;        /* all bindings so far are ranges of resident buffers */
    void *block;
    size_t size;
} vy_dispatch_batch;

/* Room for `count` items with so many params and buffers in all. */
vyre_status vy_dispatch_batch_start(vy_dispatch_batch *many, vyre_backend *backend, size_t count, size_t params,
                                    size_t buffers, vyre_error *error);
/* Takes over what a dispatch has pinned. Its label must live as long. */
void vy_dispatch_batch_add(vy_dispatch_batch *many, vy_resource_dispatch *resolved);
/* Whether the next one may be told from this: nobody looks at how it is resolved, or needs the contents or the places of what is bound. */
int vy_dispatch_batch_can_repeat(const vy_resource_dispatch *resolved);
/* The items of a batch with the same arguments from `from` on (there is one before), as many as are like the one before: their ranges are as long, and in the same buffers. Each is that one but for where they begin, and
 * all it uses is pinned. items: the bindings of each; or NULL, and rows, whose resources follow each other. Returns how many were added. */
size_t vy_dispatch_batch_add_shifted(vy_dispatch_batch *many, const vyre_resource *const *items,
                                     const vyre_resource (*rows)[4], size_t from, size_t count);
/* Unpins and frees. */
void vy_dispatch_batch_end(vy_dispatch_batch *many);

/* Counts the end of one call for all; `failed` is what the backend named. Completes *failed and the trap where it can. */
vyre_status vy_dispatch_batch_finish(vy_dispatch_batch *many, vyre_status status, size_t failed_by_backend,
                                     size_t *failed, vyre_trap *trap, vyre_error *error);

#endif
