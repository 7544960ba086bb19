/* Dispatch layer: every dispatch on every backend passes through it.
 *
 * The order is: resolve the arguments against the program (ir/dispatch_resolve.h); compare sizes with the limits of the
 * device and the config; complete an empty grid without the backend; divide a dispatch that needs several launches into
 * stages; prepare the backend for a new program; call it, on a worker thread if it cannot keep the deadline; check the
 * results; deliver; count. Params, element counts, grid, label, bindings and bytes are forwarded unchanged.
 *
 * dispatch.c dispatches from host bytes and manages output slots. backend_call.c calls the backend, with fallbacks and
 * the watchdog. multi_launch.c runs several launches. resource_dispatch.h dispatches on resources; pipeline.h adds
 * compiled programs. */
#ifndef VY_DRIVER_DISPATCH_H
#define VY_DRIVER_DISPATCH_H

#include "base/thread.h"
#include "driver/backend.h"
#include "driver/multi_launch.h"
#include "ir/dispatch_resolve.h"
#include "vyre/driver.h"

typedef struct vyre_pipeline vyre_pipeline;

/* X(ID): the forms of a dispatch, each with an entry in the table. */
#define VY_FORM_LIST(X) X(OWNED) X(BORROWED) X(TIMED) X(INTO) X(RESIDENT) X(PERSISTENT)
typedef enum vy_form {
#define X(ID) VY_FORM_##ID,
    VY_FORM_LIST(X)
#undef X
        VY_FORM_COUNT
} vy_form;

/* One complete call of a backend: inputs and outputs, or bindings, depending on the form. */
typedef struct vy_call {
    vyre_backend *backend;
    const vy_dispatch_table *dispatch_table; /* the backend's or a pipeline's */
    struct vy_executable *executable;        /* owner of a pipeline's dispatch_table; NULL: it is the backend's */
    vy_form form;
    vyre_launch launch;
    const vyre_span *inputs;
    const vyre_bytes *owned; /* OWNED */
    size_t input_count;
    vyre_outputs *outputs;         /* created by vy_output_slots_start, or the caller's */
    const vyre_resource *bindings; /* RESIDENT, PERSISTENT: ids are native */
    size_t binding_count;
    vyre_timing *timing; /* may be NULL */
    /* Set by vy_call_prepare (multi_launch.h). */
    vy_multi_launch *stages;                        /* NULL: one launch suffices; else a reference */
    const vy_dispatch_table *stage_dispatch_tables; /* by stage; NULL: dispatch_table for all */
    const vy_resolved_dispatch *resolved;           /* the source of `launch` */
    struct vy_executable
        *cooperative; /* set by vy_call_try_cooperative: grid barriers run inside one launch; a reference, or NULL */
} vy_call;

/* Initialises everything except the launch, which vy_dispatch_make_launch fills: no inputs or outputs, one launch. */
static inline void vy_call_describe(vy_call *call, vyre_backend *backend, const vy_dispatch_table *dispatch_table,
                                    vy_form form) {
    call->backend = backend, call->dispatch_table = dispatch_table, call->executable = NULL, call->form = form;
    call->inputs = NULL, call->owned = NULL, call->input_count = 0, call->outputs = NULL;
    call->bindings = NULL, call->binding_count = 0, call->timing = NULL;
    call->stages = NULL, call->stage_dispatch_tables = NULL, call->resolved = NULL, call->cooperative = NULL;
}

/* Calls the entry of the form or its fallback, and checks the status (backend.h). error is never NULL. */
vyre_status vy_call_run(const vy_call *call, vyre_error *error);
/* The same on a worker thread. It is abandoned, and the backend lost, at launch.deadline_ns or, if the backend claims
 * `cancel`, half a second later. Outputs are checked against `launch` and moved into call->outputs. `uses` are unpinned
 * when the work has ended, which may be after the return. */
vyre_status vy_call_run_with_watchdog(const vy_call *call, const vy_resolved_dispatch *launch,
                                      const vy_resident_use *uses, size_t use_count, vyre_error *error);
/* Owned copies of borrowed inputs. On failure nothing is allocated. */
vyre_status vy_inputs_copy(const vyre_span *inputs, size_t count, vyre_bytes *owned, vyre_error *error);
void vy_inputs_free(vyre_bytes *owned, size_t count);

/* Whether size, capacity and data are consistent. Inconsistent bytes from a backend can be neither read nor freed, and
 * are leaked. */
int vy_bytes_are_valid(const vyre_bytes *bytes);

/* Storage for the outputs of one call: `count` empty slots. vy_output_slots_end frees it, whatever the backend did to
 * the struct. */
typedef struct vy_output_slots {
    vyre_outputs outputs; /* the struct passed to the backend */
    size_t count;
    vyre_bytes items[VY_LIMIT_BUFFERS];
} vy_output_slots;
void vy_output_slots_start(vy_output_slots *slots, size_t count);
void vy_output_slots_end(vy_output_slots *slots);
/* VYRE_CORRUPT unless there are `expected` slots, each of the right size, in the original storage (`items`). */
vyre_status vy_outputs_check(vyre_backend *backend, const vyre_outputs *outputs, const vyre_bytes *items,
                             size_t expected, const vyre_program *program, const vy_resolved_dispatch *launch,
                             vyre_error *error);
/* The same if outputs bound to resident buffers stay there: their slots are empty. */
vyre_status vy_outputs_check_resources(vyre_backend *backend, const vyre_outputs *outputs, const vyre_bytes *items,
                                       size_t expected, const vyre_program *program, const vy_resolved_dispatch *launch,
                                       const vyre_resource *bindings, vyre_error *error);
/* Makes room for `count` slots. Existing slots keep their memory; new ones are empty. */
vyre_status vy_outputs_reserve(vyre_outputs *outputs, size_t count, vyre_error *error);
/* Delivers checked slots: copies if the capacity suffices, else exchanges the memory. Cannot fail after
 * vy_outputs_reserve. */
void vy_outputs_deliver(vyre_outputs *outputs, vyre_outputs *fresh);
/* The same, but large slots are exchanged if the new memory is not smaller: nothing is copied, and `fresh` receives the
 * caller's memory. */
void vy_outputs_deliver_swapping(vyre_outputs *outputs, vyre_outputs *fresh);
/* The same by exchanging the memory of all slots, without counting: for outputs that a caller collects later. */
void vy_outputs_swap(vyre_outputs *outputs, vyre_outputs *fresh);

/* Exposes the caller's first `count` slots to a backend through `view`: empty, with their memory. capacities: storage
 * for `count`. */
static inline void vy_outputs_expose(vyre_outputs *outputs, size_t count, vyre_outputs *view, size_t *capacities) {
    *view = (vyre_outputs){outputs->items, count, outputs->capacity};
    for (size_t i = 0; i < count; i++) {
        capacities[i] = outputs->items[i].capacity;
        outputs->items[i].size = 0;
    }
}
/* Ends the exposure. Inconsistent slots are emptied. Slots are counted on success; on failure the caller has no
 * outputs. */
void vy_outputs_reclaim(vyre_outputs *outputs, size_t count, int went_well, const size_t *capacities);
/* Whether the backend left all slots unchanged, as it does if all outputs stay on the device, and `outputs` has no
 * others. */
static inline int vy_outputs_are_untouched(const vyre_outputs *outputs, const vyre_outputs *view, size_t count,
                                           const size_t *capacities) {
    if (view->count != count || view->items != outputs->items || outputs->capacity != count)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (view->items[i].size || view->items[i].capacity != capacities[i] || (capacities[i] && !view->items[i].data))
            return 0;
    return 1;
}
/* The equivalent of vy_outputs_reclaim for unchanged slots of several lists of outputs. */
static inline void vy_outputs_reclaim_untouched(vyre_outputs *outputs, size_t lists, size_t count) {
    uint64_t reused = 0, slots = (uint64_t)lists * count;
    for (size_t i = 0; i < lists; i++) {
        reused += outputs[i].count < count ? outputs[i].count : count;
        outputs[i].count = count;
    }
    if (reused)
        vy_count(VY_COUNTER_slots_reused, reused);
    if (reused != slots)
        vy_count(VY_COUNTER_slots_appended, slots - reused);
}

/* Empties slots that a backend left inconsistent: their memory can be neither freed nor used. */
void vy_outputs_sanitize(vyre_outputs *outputs);

/* A dispatch from host bytes. Members after `trap` are set by the dispatch itself. */
typedef struct vy_dispatch {
    vyre_backend *backend;
    const vy_dispatch_table *dispatch_table;
    vyre_pipeline *pipeline; /* provides the dispatch_table once the backend is entered; NULL: the backend's */
    vyre_program *program;
    const vyre_arguments *arguments;    /* may be NULL */
    const vyre_dispatch_config *config; /* may be NULL */
    const uint32_t *cancel;             /* may be NULL */
    uint64_t deadline_ns;               /* of a dispatch that began earlier; 0: from the config, starting now */
    int is_held;                        /* a caller collects the outputs later, and they are counted then */
    vy_form form;
    const vyre_bytes *owned; /* OWNED: the bytes that arguments->inputs point into */
    vyre_outputs *outputs;
    vyre_timing *timing; /* TIMED */
    vyre_trap *trap;     /* may be NULL */
    size_t output_count;
    vy_resolved_dispatch launch; /* large, and filled late: never cleared as a whole */
} vy_dispatch;
/* Runs a dispatch from the arguments to the outputs. */
vyre_status vy_dispatch_host(vy_dispatch *dispatch, vyre_error *error);
/* The two halves of vy_dispatch_host, for callers that enter the backend themselves: all checks that precede execution,
 * and the rest. error is never NULL here. */
vyre_status vy_dispatch_host_resolve(vy_dispatch *dispatch, vyre_error *error);
vyre_status vy_dispatch_host_run(vy_dispatch *dispatch, vyre_error *error);
/* Arguments with these owned bytes as inputs. `spans` is storage for VY_LIMIT_BUFFERS spans. arguments may be NULL. */
vyre_arguments vy_arguments_of_owned(const vyre_bytes *inputs, size_t count, const vyre_arguments *arguments,
                                     vyre_span *spans);
/* Initialises all members without a default, as for a borrowed dispatch on the backend. The launch, which is large, is
 * not cleared. */
void vy_dispatch_describe(vy_dispatch *dispatch, vyre_backend *backend, vyre_program *program,
                          const vyre_arguments *arguments, const vyre_dispatch_config *config, vyre_outputs *outputs,
                          vyre_trap *trap);

/* Device limits that depend on the program only: whether it is within them, and the error if not. */
int vy_dispatch_program_fits(const vyre_backend *backend, const vyre_program *program);
vyre_status vy_dispatch_check_program(const vyre_backend *backend, const vyre_program *program, vyre_error *error);
/* These limits, and those of this dispatch and the config. */
vyre_status vy_dispatch_check_limits(vyre_backend *backend, const vyre_program *program,
                                     const vy_resolved_dispatch *launch, const vyre_dispatch_config *config,
                                     vyre_error *error);
/* The launch for a backend, with a known grid, no deadline and no cancellation. All members are set one by one:
 * clearing the struct first would be slower. */
static inline void vy_dispatch_fill_launch(vyre_launch *out, vyre_program *program, const vyre_scalar *params,
                                           const uint64_t *elements, const uint32_t groups[3], const char *label,
                                           vyre_trap *trap) {
    out->struct_size = sizeof *out;
    out->program = program;
    out->params = params, out->param_count = program->param_count;
    out->elements = elements, out->buffer_count = program->buffer_count;
    out->groups[0] = groups[0], out->groups[1] = groups[1], out->groups[2] = groups[2];
    out->grid_buffer = out->grid_offset = 0;
    out->deadline_ns = 0, out->cancel = NULL;
    out->label = label ? label : "";
    out->trap = trap;
}
/* The same from a resolved dispatch. `params` and `elements` are storage for it. */
void vy_dispatch_make_launch(vyre_program *program, const vyre_arguments *arguments, const vy_resolved_dispatch *launch,
                             const vyre_dispatch_config *config, vyre_scalar *params, uint64_t *elements,
                             vyre_trap *trap, vyre_launch *out);
/* The deadline of a dispatch with this config that starts now; 0: none. */
uint64_t vy_dispatch_deadline(const vyre_dispatch_config *config);
/* VYRE_TIMEOUT if the deadline has passed, VYRE_CANCELLED if the word (may be NULL) is set. The dispatch then does not
 * start, and the backend is not lost. */
vyre_status vy_dispatch_check_expired(const vyre_program *program, uint64_t deadline_ns, const uint32_t *cancel,
                                      vyre_error *error);
/* Appends the label of a failed dispatch to error->where, once; returns the status. label and error may be NULL. */
vyre_status vy_dispatch_fail_labelled(vyre_status status, const char *label, vyre_error *error);
static inline vyre_status vy_dispatch_label_error(vyre_status status, const vyre_dispatch_config *config,
                                                  vyre_error *error) {
    return status == VYRE_OK || !config ? status : vy_dispatch_fail_labelled(status, config->label, error);
}
/* Whether a call with this deadline needs the watchdog (backend_call.c). */
int vy_dispatch_needs_watchdog(const vyre_backend *backend, const vyre_launch *launch);
/* Counts a dispatch that reached the backend, and checks a reported trap. */
vyre_status vy_dispatch_finish_failed(vyre_backend *backend, vyre_status status, const vy_resolved_dispatch *launch,
                                      vyre_trap *trap, vyre_error *error);
static inline vyre_status vy_dispatch_finish(vyre_backend *backend, vyre_status status,
                                             const vy_resolved_dispatch *launch, vyre_trap *trap, vyre_error *error) {
    vy_count(VY_COUNTER_dispatches, 1);
    return status == VYRE_OK ? VYRE_OK : vy_dispatch_finish_failed(backend, status, launch, trap, error);
}

/* ---- packed copies ---- */

/* Copies of borrowed memory, for work that outlives the call.
 *
 * Pieces are cut from one block, aligned for any object. A first pass, with a NULL block, only measures; the second
 * copies. */
typedef struct vy_bump {
    unsigned char *block;
    size_t used;
} vy_bump;

/* data NULL: reserves only. */
static inline void *vy_bump_copy(vy_bump *bump, const void *data, size_t size) {
    void *piece = bump->block ? bump->block + bump->used : NULL;
    if (piece && size && data)
        memcpy(piece, data, size);
    /* Saturates on overflow: the allocation of the block then fails. */
    if (size > SIZE_MAX - 15 || __builtin_add_overflow(bump->used, (size + 15) / 16 * 16, &bump->used))
        bump->used = SIZE_MAX;
    return piece;
}

/* Foreign memory: helpers for backends that wrap memory of the process (vyre/interop.h). */
/* VYRE_INVALID_ARGUMENT unless the location is in memory of the process. backend: for the message. */
vyre_status vy_host_location_check(const vyre_memory_location *location, const char *backend, vyre_error *error);

/* "CUDA", "host", …: for messages. */
const char *vy_location_name(int32_t device);

#endif
