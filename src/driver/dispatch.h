/* The dispatch layer: the one place every dispatch on every backend passes.
 *
 * In this order: resolve the arguments against the program (ir/dispatch_resolve.h), compare sizes with the device's limits and the config, answer an
 * empty grid here, cut what one launch cannot do into stages, prepare the backend for a program it has not seen, call it (on a thread of its
 * own if there is a deadline it cannot keep), check what came back, deliver, count. What it does not change it forwards: params, element
 * counts, grid, label, bindings, bytes.
 *
 * dispatch.c is the road; backend_call.c the call with its defaults, watchdog.c the worker thread, output_slots.c slots and
 * delivery, multi_launch.c what runs as several launches. resource_dispatch.h is the road from resources, pipeline.h what compiled programs add. */
#ifndef VY_DRIVER_DISPATCH_H
#define VY_DRIVER_DISPATCH_H

#include "base/clock.h"
#include "driver/backend.h"
#include "driver/multi_launch.h"
#include "ir/dispatch_resolve.h"

typedef struct vyre_pipeline vyre_pipeline;

/* X(ID): the forms of a dispatch, each an entry of the table. */
#define VY_FORM_LIST(X) X(OWNED) X(BORROWED) X(TIMED) X(INTO) X(RESIDENT) X(PERSISTENT)
typedef enum vy_form {
#define X(ID) VY_FORM_##ID,
    VY_FORM_LIST(X)
#undef X
        VY_FORM_COUNT
} vy_form;

/* One call of a backend, complete. Inputs and outputs or bindings, as the form asks. */
typedef struct vy_call {
    vyre_backend *backend;
    const vy_dispatch_table *dispatch_table; /* the backend's own, or a pipeline's */
    struct vy_executable *executable;        /* what a pipeline's dispatch_table belongs to; NULL: the backend's own */
    vy_form form;
    vyre_launch launch;
    const vyre_span *inputs;
    const vyre_bytes *owned; /* OWNED */
    size_t input_count;
    vyre_outputs *outputs;         /* slots made by vy_output_slots_start or the caller's own */
    const vyre_resource *bindings; /* RESIDENT, PERSISTENT: ids are native */
    size_t binding_count;
    vyre_timing *timing; /* may be NULL */
    /* Set by vy_call_prepare (multi_launch.h). */
    vy_multi_launch *stages;                        /* NULL: one launch does it; else a reference */
    const vy_dispatch_table *stage_dispatch_tables; /* by stage; NULL: dispatch_table, for all */
    const vy_resolved_dispatch *resolved;           /* what `launch` was made from */
    struct vy_executable *
        cooperative; /* of vy_call_try_cooperative (grid_sync.h): grid barriers run inside the launch; a reference, or NULL */
} vy_call;

/* All but the launch, which vy_dispatch_make_launch fills: nothing in or out, one launch. */
static inline void vy_call_describe(vy_call *call, vyre_backend *backend, const vy_dispatch_table *dispatch_table,
                                    vy_form form) {
    call->backend = backend, call->dispatch_table = dispatch_table, call->executable = NULL, call->form = form;
    call->inputs = NULL, call->owned = NULL, call->input_count = 0, call->outputs = NULL;
    call->bindings = NULL, call->binding_count = 0, call->timing = NULL;
    call->stages = NULL, call->stage_dispatch_tables = NULL, call->resolved = NULL, call->cooperative = NULL;
}

/* Calls the entry of the form, or what stands for a missing one; judges its status (backend.h). error is never NULL. */
vyre_status vy_call_run(const vy_call *call, vyre_error *error);
/* The same on a worker thread that is abandoned at launch.deadline_ns, or half a second later if the backend claims `cancel`; the backend is lost then. Outputs are checked against `launch`
 * and moved into call->outputs. `uses` are unpinned when the work has ended, which may be after the return. */
vyre_status vy_call_run_with_watchdog(const vy_call *call, const vy_resolved_dispatch *launch,
                                      const vy_resident_use *uses, size_t use_count, vyre_error *error);
/* Owned copies of lent inputs; on failure there are none. */
vyre_status vy_inputs_copy(const vyre_span *inputs, size_t count, vyre_bytes *owned, vyre_error *error);
void vy_inputs_free(vyre_bytes *owned, size_t count);

/* Bytes a backend filled whose parts contradict each other do not say what to read or to free: they are left alone. */
int vy_bytes_are_valid(const vyre_bytes *bytes);

/* Storage for the outputs of one call: `count` empty slots. Ends with vy_output_slots_end, whatever the backend did to it. */
typedef struct vy_output_slots {
    vyre_outputs outputs; /* what the backend sees */
    size_t count;
    vyre_bytes items[VY_LIMIT_BUFFERS];
} vy_output_slots;
void vy_output_slots_start(vy_output_slots *slots, size_t count);
void vy_output_slots_end(vy_output_slots *slots);
/* VYRE_CORRUPT unless there are as many slots as expected, each of the right size, in the storage that was given (`items`). */
vyre_status vy_outputs_check(vyre_backend *backend, const vyre_outputs *outputs, const vyre_bytes *items,
                             size_t expected, const vyre_program *program, const vy_resolved_dispatch *launch,
                             vyre_error *error);
/* The same where outputs bound to resident buffers stay there: their slots are empty. */
vyre_status vy_outputs_check_resources(vyre_backend *backend, const vyre_outputs *outputs, const vyre_bytes *items,
                                       size_t expected, const vyre_program *program, const vy_resolved_dispatch *launch,
                                       const vyre_resource *bindings, vyre_error *error);
/* Makes room for `count` slots; those beyond the old count are as they were. */
vyre_status vy_outputs_reserve(vyre_outputs *outputs, size_t count, vyre_error *error);
/* Hands checked slots over: refills in place where capacity suffices, moves the memory otherwise. Cannot fail after vy_outputs_reserve. */
void vy_outputs_deliver(vyre_outputs *outputs, vyre_outputs *fresh);
/* The same, but large slots change hands where that is not less memory: nothing is copied, and `fresh` has what the caller had. */
void vy_outputs_deliver_swapping(vyre_outputs *outputs, vyre_outputs *fresh);
/* The same by exchanging the memory of all slots, uncounted: for outputs that wait for somebody. */
void vy_outputs_swap(vyre_outputs *outputs, vyre_outputs *fresh);

/* Lends the caller's first `count` slots to a backend, empty but with their memory: what it sees is `view`. capacities: storage for
 * `count`. */
static inline void vy_outputs_expose(vyre_outputs *outputs, size_t count, vyre_outputs *view, size_t *capacities) {
    *view = (vyre_outputs){outputs->items, count, outputs->capacity};
    for (size_t i = 0; i < count; i++) {
        capacities[i] = outputs->items[i].capacity;
        outputs->items[i].size = 0;
    }
}
/* Takes them back, contained; counted if it went well, else the caller has none. */
void vy_outputs_reclaim(vyre_outputs *outputs, size_t count, int went_well, const size_t *capacities);
/* Whether a backend left them alone, as it does where all outputs stay on the device, and there are no others. */
static inline int vy_outputs_are_untouched(const vyre_outputs *outputs, const vyre_outputs *view, size_t count,
                                           const size_t *capacities) {
    if (view->count != count || view->items != outputs->items || outputs->capacity != count)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (view->items[i].size || view->items[i].capacity != capacities[i] || (capacities[i] && !view->items[i].data))
            return 0;
    return 1;
}
/* What vy_outputs_reclaim does with such, for several lists of outputs at once. */
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

/* Slots a backend left with contradictory parts become empty: their memory cannot be freed, nor may it be used. */
void vy_outputs_sanitize(vyre_outputs *outputs);

/* A dispatch from host bytes, as a caller asks for it. What follows `trap` is the dispatch's. */
typedef struct vy_dispatch {
    vyre_backend *backend;
    const vy_dispatch_table *dispatch_table;
    vyre_pipeline *pipeline; /* gives the dispatch_table once the backend is entered; NULL: the backend's own */
    vyre_program *program;
    const vyre_arguments *arguments;    /* may be NULL */
    const vyre_dispatch_config *config; /* may be NULL */
    const uint32_t *cancel;             /* may be NULL */
    uint64_t deadline_ns;               /* of a dispatch that began earlier; 0 = what the config says, from now */
    int is_held;                        /* the outputs wait for somebody: they are counted when he takes them */
    vy_form form;
    const vyre_bytes *owned; /* OWNED: what arguments->inputs point into */
    vyre_outputs *outputs;
    vyre_timing *timing; /* TIMED */
    vyre_trap *trap;     /* may be NULL */
    size_t output_count;
    vy_resolved_dispatch launch; /* large, and filled late: never cleared as a whole */
} vy_dispatch;
/* The road from the arguments to the outputs. */
vyre_status vy_dispatch_host(vy_dispatch *dispatch, vyre_error *error);
/* Its two halves, for those who enter the backend on their own: all that can be refused before anything runs, and the rest.
 * error is never NULL here. */
vyre_status vy_dispatch_host_resolve(vy_dispatch *dispatch, vyre_error *error);
vyre_status vy_dispatch_host_run(vy_dispatch *dispatch, vyre_error *error);
/* Arguments whose inputs are these owned bytes; `spans` is storage for VY_LIMIT_BUFFERS of them. arguments may be NULL. */
vyre_arguments vy_arguments_of_owned(const vyre_bytes *inputs, size_t count, const vyre_arguments *arguments,
                                     vyre_span *spans);
/* Fills all that has no default, as for a borrowed dispatch on the backend. Not an initialiser: that would clear the launch. */
void vy_dispatch_describe(vy_dispatch *dispatch, vyre_backend *backend, vyre_program *program,
                          const vyre_arguments *arguments, const vyre_dispatch_config *config, vyre_outputs *outputs,
                          vyre_trap *trap);

/* Limits of the device that concern the program, whatever it is given: whether it keeps them, and which it does not. */
int vy_dispatch_program_fits(const vyre_backend *backend, const vyre_program *program);
vyre_status vy_dispatch_check_program(const vyre_backend *backend, const vyre_program *program, vyre_error *error);
/* Those, and the limits of this dispatch and the config. */
vyre_status vy_dispatch_check_limits(vyre_backend *backend, const vyre_program *program,
                                     const vy_resolved_dispatch *launch, const vyre_dispatch_config *config,
                                     vyre_error *error);
/* The launch as a backend sees it, where the grid is known and nothing ends it early. Field by field, all of them: clearing the struct first would take longer than all of this. */
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
/* The same from what was resolved; `params` and `elements` are storage for it. */
void vy_dispatch_make_launch(vyre_program *program, const vyre_arguments *arguments, const vy_resolved_dispatch *launch,
                             const vyre_dispatch_config *config, vyre_scalar *params, uint64_t *elements,
                             vyre_trap *trap, vyre_launch *out);
/* When a dispatch with this config that starts now has to be done; 0: no deadline. */
uint64_t vy_dispatch_deadline(const vyre_dispatch_config *config);
/* VYRE_TIMEOUT if the deadline has passed, VYRE_CANCELLED if the word (may be NULL) is set: what has not started need not start, and no backend is lost for it. */
vyre_status vy_dispatch_check_expired(const vyre_program *program, uint64_t deadline_ns, const uint32_t *cancel,
                                      vyre_error *error);
/* Adds the label of a dispatch that failed to where its error says it failed, once; returns the status. label and error may be NULL. */
vyre_status vy_dispatch_fail_labelled(vyre_status status, const char *label, vyre_error *error);
static inline vyre_status vy_dispatch_label_error(vyre_status status, const vyre_dispatch_config *config,
                                                  vyre_error *error) {
    return status == VYRE_OK || !config ? status : vy_dispatch_fail_labelled(status, config->label, error);
}
/* Whether a call with this deadline needs a thread of its own. */
int vy_dispatch_needs_watchdog(const vyre_backend *backend, const vyre_launch *launch);
/* Counts the end of a dispatch that reached the backend and checks what it says about a trap. */
vyre_status vy_dispatch_finish_failed(vyre_backend *backend, vyre_status status, const vy_resolved_dispatch *launch,
                                      vyre_trap *trap, vyre_error *error);
static inline vyre_status vy_dispatch_finish(vyre_backend *backend, vyre_status status,
                                             const vy_resolved_dispatch *launch, vyre_trap *trap, vyre_error *error) {
    vy_count(VY_COUNTER_dispatches, 1);
    return status == VYRE_OK ? VYRE_OK : vy_dispatch_finish_failed(backend, status, launch, trap, error);
}

/* ---- packed copies ---- */

/* Copies of what a caller lent, for work that outlives the call.
 *
 * Pieces are cut from one block, aligned for any object. The first walk over what is to be copied only measures (block NULL), the second
 * copies. */
typedef struct vy_bump {
    unsigned char *block;
    size_t used;
} vy_bump;

/* data NULL: room only. */
static inline void *vy_bump_copy(vy_bump *bump, const void *data, size_t size) {
    void *piece = bump->block ? bump->block + bump->used : NULL;
    if (piece && size && data)
        memcpy(piece, data, size);
    /* More than there can be stays too much: the block is then not to be had. */
    if (size > SIZE_MAX - 15 || __builtin_add_overflow(bump->used, (size + 15) / 16 * 16, &bump->used))
        bump->used = SIZE_MAX;
    return piece;
}

#endif
