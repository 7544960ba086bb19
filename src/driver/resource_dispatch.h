/* A dispatch on resources: resident ranges, or those mixed with host bytes. One per buffer, in declaration order.
 *
 * Ranges take the place of host bytes: they give the element counts, and the launch is resolved as for any other dispatch. From there the road is the
 * one of dispatch.h. resource_dispatch.c resolves, resource_dispatch_run.c runs; resource_dispatch_fast.c does both for most. */
#ifndef VY_DRIVER_RESOURCE_DISPATCH_H
#define VY_DRIVER_RESOURCE_DISPATCH_H

#include "driver/pipeline.h"

/* Set what stands above the line; large, and filled late: never cleared as a whole. */
typedef struct vy_resource_dispatch {
    vyre_backend *backend;
    vyre_pipeline *pipeline; /* NULL: the backend itself runs it */
    vyre_program *program;
    const vyre_arguments *arguments;    /* never NULL */
    const vyre_dispatch_config *config; /* never NULL */
    vy_form form;          /* RESIDENT: host bytes are refused. PERSISTENT: outputs bound to them come back */
    uint64_t deadline_ns;  /* 0: what the config says, from now */
    vyre_outputs *outputs; /* PERSISTENT */
    vyre_timing *timing;   /* may be NULL */
    vyre_trap *trap;       /* may be NULL */
    /* ---- */
    vyre_resource native[VY_LIMIT_BUFFERS]; /* ids are native, sizes and offsets those of the range */
    vy_resident_use uses[VY_LIMIT_BUFFERS]; /* pinned, one for each resident binding */
    size_t use_count;
    uint64_t known; /* not 0: others know where some of the ranges lie, which may then be the same memory */
    vy_resolved_dispatch launch;
} vy_resource_dispatch;

/* All that has no other default: form RESIDENT, no outputs, no timing, no trap. arguments and config may be NULL. */
static inline void vy_resource_dispatch_describe(vy_resource_dispatch *b, vyre_backend *backend, vyre_program *program,
                                                 const vyre_arguments *arguments, const vyre_dispatch_config *config) {
    static const vyre_dispatch_config defaults;
    static const vyre_arguments nothing;
    b->backend = backend, b->pipeline = NULL, b->program = program;
    b->arguments = arguments ? arguments : &nothing, b->config = config ? config : &defaults;
    b->form = VY_FORM_RESIDENT, b->deadline_ns = 0, b->outputs = NULL, b->timing = NULL, b->trap = NULL;
}
/* The same for a pipeline. */
static inline void vy_resource_dispatch_describe_pipeline(vy_resource_dispatch *b, vyre_pipeline *pipeline,
                                                          const vyre_arguments *arguments,
                                                          const vyre_dispatch_config *config) {
    vy_resource_dispatch_describe(b, pipeline->backend, pipeline->program, arguments, config);
    b->pipeline = pipeline;
}

/* From here on the config's timeout runs, if there is no deadline yet. Before anything is compiled. */
static inline void vy_resource_dispatch_start_clock(vy_resource_dispatch *b) {
    if (!b->deadline_ns)
        b->deadline_ns = vy_dispatch_deadline(b->config);
}

static inline int vy_resource_dispatch_are_resident(const vyre_resource *bindings, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bindings[i].kind != VYRE_RESOURCE_RESIDENT)
            return 0;
    return 1;
}

static inline int vy_resource_dispatch_has_host(const vyre_resource *bindings, size_t count) {
    for (size_t i = 0; bindings && i < count; i++)
        if (bindings[i].kind == VYRE_RESOURCE_HOST)
            return 1;
    return 0;
}

/* Pins what is bound, checks ranges, overlaps, counts and limits, and resolves the launch. Inside the backend. On failure nothing is
 * pinned. error is never NULL here and below. */
vyre_status vy_resource_dispatch_resolve(vy_resource_dispatch *bound, const vyre_resource *bindings, size_t count,
                                         vyre_error *error);
/* The same for one that was resolved before, whose pins somebody took over: with the same arguments, and other bindings. What depends on their sizes alone is known, if those are
 * the same. */
vyre_status vy_resource_dispatch_resolve_next(vy_resource_dispatch *bound, const vyre_resource *bindings, size_t count,
                                              vyre_error *error);
void vy_resource_dispatch_unpin(vy_resource_dispatch *bound);
/* Runs what was resolved, delivers, unpins. */
vyre_status vy_resource_dispatch_run(vy_resource_dispatch *bound, vyre_error *error);
/* All of it, where that is one launch on resident buffers and there is nothing to say (resource_dispatch_fast.c): what stands above the line is looked at,
 * nothing is changed. 0: it was not run. From outside the backend, if the thread has a dispatch_slot there (dispatch_slot.h); and from inside. */
int vy_resource_dispatch_run_slot(const vy_resource_dispatch *bound, const vyre_resource *bindings, size_t count,
                                  vyre_status *status, vyre_error *error);
int vy_resource_dispatch_run_pinned(const vy_resource_dispatch *bound, const vyre_resource *bindings, size_t count,
                                    vyre_status *status, vyre_error *error);
/* All three steps, from outside the backend. */
vyre_status vy_resource_dispatch_dispatch(vy_resource_dispatch *bound, const vyre_resource *bindings, size_t count,
                                          vyre_error *error);

/* Whether the grid comes from a buffer's contents; and whether the device reads it there by itself, if the buffer is resident: the launch has a grid_buffer then. */
int vy_resource_dispatch_is_indirect(const vyre_program *program, const vyre_arguments *arguments);
int vy_resource_dispatch_has_device_grid(const vyre_backend *backend, const vyre_program *program);

#endif
