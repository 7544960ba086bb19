/* A dispatch on resources: resident ranges, or those mixed with host bytes. One per buffer, in declaration order.
 *
 * Ranges take the place of host bytes: they give the element counts, and the launch is resolved as for any other dispatch. From there the road is the
 * one of boundary.h. bound.c resolves, bound_run.c runs; bound_straight.c does both for most. */
#ifndef VY_DRIVER_BOUND_H
#define VY_DRIVER_BOUND_H

#include "driver/pipeline.h"

/* Set what stands above the line; large, and filled late: never cleared as a whole. */
typedef struct vy_bound {
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
} vy_bound;

/* All that has no other default: form RESIDENT, no outputs, no timing, no trap. arguments and config may be NULL. */
static inline void vy_bound_describe(vy_bound *b, vyre_backend *backend, vyre_program *program,
                                     const vyre_arguments *arguments, const vyre_dispatch_config *config) {
    static const vyre_dispatch_config defaults;
    static const vyre_arguments nothing;
    b->backend = backend, b->pipeline = NULL, b->program = program;
    b->arguments = arguments ? arguments : &nothing, b->config = config ? config : &defaults;
    b->form = VY_FORM_RESIDENT, b->deadline_ns = 0, b->outputs = NULL, b->timing = NULL, b->trap = NULL;
}
/* The same for a pipeline. */
static inline void vy_bound_describe_pipeline(vy_bound *b, vyre_pipeline *pipeline, const vyre_arguments *arguments,
                                              const vyre_dispatch_config *config) {
    vy_bound_describe(b, pipeline->backend, pipeline->program, arguments, config);
    b->pipeline = pipeline;
}

/* From here on the config's timeout runs, if there is no deadline yet. Before anything is compiled. */
static inline void vy_bound_start_clock(vy_bound *b) {
    if (!b->deadline_ns)
        b->deadline_ns = vy_boundary_deadline(b->config);
}

static inline int vy_bound_are_resident(const vyre_resource *bindings, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bindings[i].kind != VYRE_RESOURCE_RESIDENT)
            return 0;
    return 1;
}

/* Pins what is bound, checks ranges, overlaps, counts and limits, and resolves the launch. Inside the backend. On failure nothing is
 * pinned. error is never NULL here and below. */
vyre_status vy_bound_resolve(vy_bound *bound, const vyre_resource *bindings, size_t count, vyre_error *error);
/* The same for one that was resolved before, whose pins somebody took over: with the same arguments, and other bindings. What depends on their sizes alone is known, if those are
 * the same. */
vyre_status vy_bound_resolve_next(vy_bound *bound, const vyre_resource *bindings, size_t count, vyre_error *error);
void vy_bound_unpin(vy_bound *bound);
/* Runs what was resolved, delivers, unpins. */
vyre_status vy_bound_run(vy_bound *bound, vyre_error *error);
/* All of it, where that is one launch on resident buffers and there is nothing to say (bound_straight.c): what stands above the line is looked at,
 * nothing is changed. 0: it was not run. From outside the backend, if the thread has a seat there (seat.h); and from inside. */
int vy_bound_run_seated(const vy_bound *bound, const vyre_resource *bindings, size_t count, vyre_status *status,
                        vyre_error *error);
int vy_bound_run_straight(const vy_bound *bound, const vyre_resource *bindings, size_t count, vyre_status *status,
                          vyre_error *error);
/* All three steps, from outside the backend. */
vyre_status vy_bound_dispatch(vy_bound *bound, const vyre_resource *bindings, size_t count, vyre_error *error);

/* Whether the grid comes from a buffer's contents; and whether the device reads it there by itself, if the buffer is resident: the launch has a grid_buffer then. */
int vy_bound_is_indirect(const vyre_program *program, const vyre_arguments *arguments);
int vy_bound_leaves_grid(const vyre_backend *backend, const vyre_program *program);

#endif
