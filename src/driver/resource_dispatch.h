/* Dispatch on resources: resident ranges, or a mix of these and host bytes; one per buffer, in declaration order.
 *
 * The sizes of the ranges determine the element counts, and the launch is resolved as in dispatch.h. dispatch_slot.c
 * has the fast path for the common case. */
#ifndef VY_DRIVER_RESOURCE_DISPATCH_H
#define VY_DRIVER_RESOURCE_DISPATCH_H

#include "driver/pipeline.h"

/* Set the members above the line. The struct is large and filled late: it is never cleared as a whole. */
typedef struct vy_resource_dispatch {
    vyre_backend *backend;
    vyre_pipeline *pipeline; /* NULL: the backend itself runs it */
    vyre_program *program;
    const vyre_arguments *arguments;    /* never NULL */
    const vyre_dispatch_config *config; /* never NULL */
    vy_form form;          /* RESIDENT: host bytes are refused. PERSISTENT: outputs bound to host bytes are delivered */
    uint64_t deadline_ns;  /* 0: from the config, starting now */
    vyre_outputs *outputs; /* PERSISTENT */
    vyre_timing *timing;   /* may be NULL */
    vyre_trap *trap;       /* may be NULL */
    /* ---- */
    vyre_resource native[VY_LIMIT_BUFFERS]; /* ids are native; sizes and offsets are those of the range */
    vy_resident_use uses[VY_LIMIT_BUFFERS]; /* pinned, one for each resident binding */
    size_t use_count;
    uint64_t known; /* not 0: some ranges have known addresses and may alias */
    vy_resolved_dispatch launch;
} vy_resource_dispatch;

/* Initialises the members without a default: form RESIDENT, no outputs, no timing, no trap. arguments and config may be
 * NULL. */
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

/* Starts the config's timeout, unless there is a deadline already. Called before anything is compiled. */
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

/* Pins the bindings, checks ranges, overlaps, counts and limits, and resolves the launch. Inside the backend. On
 * failure nothing is pinned. error is never NULL here and below. */
vyre_status vy_resource_dispatch_resolve(vy_resource_dispatch *bound, const vyre_resource *bindings, size_t count,
                                         vyre_error *error);
/* The same for a struct that was resolved before and whose pins have been moved elsewhere: same arguments, other
 * bindings. If all sizes are equal, the launch is not resolved again. */
vyre_status vy_resource_dispatch_resolve_next(vy_resource_dispatch *bound, const vyre_resource *bindings, size_t count,
                                              vyre_error *error);
void vy_resource_dispatch_unpin(vy_resource_dispatch *bound);
/* Runs a resolved dispatch, delivers, unpins. */
vyre_status vy_resource_dispatch_run(vy_resource_dispatch *bound, vyre_error *error);
/* Fast path (dispatch_slot.c): resolves and runs a dispatch that is one launch on resident buffers. Only the members
 * above the line are read. Returns 0 if it did not run. The first from outside the backend, for a thread with a
 * dispatch slot; the second from inside. */
int vy_resource_dispatch_run_slot(const vy_resource_dispatch *bound, const vyre_resource *bindings, size_t count,
                                  vyre_status *status, vyre_error *error);
int vy_resource_dispatch_run_pinned(const vy_resource_dispatch *bound, const vyre_resource *bindings, size_t count,
                                    vyre_status *status, vyre_error *error);
/* The fast path or all steps above, from outside the backend. */
vyre_status vy_resource_dispatch_dispatch(vy_resource_dispatch *bound, const vyre_resource *bindings, size_t count,
                                          vyre_error *error);

/* Whether the grid is read from a buffer; and whether the device reads it there, if the buffer is resident: the launch
 * then has a grid_buffer. */
int vy_resource_dispatch_is_indirect(const vyre_program *program, const vyre_arguments *arguments);
int vy_resource_dispatch_has_device_grid(const vyre_backend *backend, const vyre_program *program);

#endif
