/* The straight road of a dispatch on resources (bound.h): for those that are one launch on resident buffers, have no deadline and are not
 * traced. They are made again and again, and what each costs is noticed.
 *
 * It asks all that the road of bound.c and bound_run.c asks, but only whether all is well. What is not takes that road, which finds it
 * again and says what it is. */
#include "driver/bound.h"

#include "driver/trace.h"
#include "ir/eval.h"

#include <pthread.h>

static int is_written(const vy_memory *buffer) {
    return buffer->access == VYRE_ACCESS_WRITE || buffer->access == VYRE_ACCESS_READ_WRITE;
}

/* Pins with the lock held, and sets counts and bytes. 0 at the first that is not in order. */
static int pin(vy_bound *b, const vyre_resource *bindings, size_t count) {
    const vy_memory *buffers = &b->program->memories.items[vy_program_entry(b->program)->first_memory];
    vy_residents *residents = &b->backend->residents;
    uint64_t owner = b->backend->owner, most = vy_backend_limit(b->backend, VYRE_CAPABILITY_MAX_STORAGE_BYTES);
    uint32_t outputs = 0;
    most = most ? most : UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        vy_resident_use *use = &b->uses[i];
        vyre_resource *native = &b->native[i];
        vy_launch_buffer *buffer = &b->launch.buffers[i];
        unsigned element = vy_type_layouts[buffers[i].type].size; /* a power of two */
        int writes = is_written(&buffers[i]);
        if (bindings[i].kind != VYRE_RESOURCE_RESIDENT || (bindings[i].offset & (element - 1)) ||
            !vy_resident_pin_quickly(residents, owner, &bindings[i], writes, use))
            return 0;
        b->use_count = i + 1;
        if (((use->size | use->address) & (element - 1)) || use->size > most)
            return 0;
        native->kind = VYRE_RESOURCE_RESIDENT;
        native->host = (vyre_span){NULL, 0};
        native->resident = (vyre_resident){owner, use->native};
        native->offset = use->offset, native->size = use->size;
        buffer->bytes = use->size;
        buffer->count = use->size >> __builtin_ctz(element);
        buffer->output = writes ? outputs++ : VY_NONE;
        if (buffer->count > UINT32_MAX)
            return 0;
    }
    return 1;
}

/* Whether no two are ranges of one buffer, or of the same memory of others: those that are may still be good. */
static int are_apart(const vy_resident_use *uses, size_t count) {
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (uses[i].place == uses[j].place || vy_resident_meet(&uses[i], &uses[j]))
                return 0;
    return 1;
}

/* What runs it without further ado, or NULL. */
static const vy_target *aim(vy_bound *b) {
    if (!b->pipeline)
        return b->form == VY_FORM_RESIDENT && b->backend->target.dispatch_resident &&
                       vy_is_prepared(b->backend, b->program)
                   ? &b->backend->target
                   : NULL;
    vy_code *code = atomic_load_explicit(&b->pipeline->codes[b->pipeline->variant], memory_order_acquire);
    return b->form == VY_FORM_PERSISTENT && code && !atomic_load_explicit(&code->is_retired, memory_order_acquire) &&
                   code->is_persistent && !code->stages &&
                   atomic_load_explicit(&code->is_prepared, memory_order_acquire) && b->outputs &&
                   b->outputs->capacity >= b->program->output_count
               ? code->targets
               : NULL;
}

static int is_plain(const vy_bound *b, const vyre_resource *bindings, size_t count) {
    const vyre_dispatch_config *config = b->config;
    return !config->timeout_ns && !b->deadline_ns && !config->max_output_bytes && bindings && count &&
           count == b->program->buffer_count &&
           atomic_load_explicit(&vy_trace_state, memory_order_relaxed) == VY_TRACE_OFF;
}

/* The caller's slots are lent, as outputs that stay on the device have some too. */
static inline vyre_status call_persistent(vy_bound *b, const vy_target *target, const vyre_launch *launch,
                                          vyre_error *error) {
    size_t capacities[VY_LIMIT_BUFFERS], count = b->program->output_count;
    vyre_outputs view;
    vy_outputs_lend(b->outputs, count, &view, capacities);
    vyre_status status =
        target->dispatch_persistent(target->self, launch, b->native, b->use_count, &view, b->timing, error);
    if (status == VYRE_OK && vy_outputs_are_untouched(b->outputs, &view, count, capacities)) {
        vy_outputs_keep(b->outputs, 1, count);
        return VYRE_OK;
    }
    status = status == VYRE_OK ? vy_outputs_check_bound(b->backend, &view, b->outputs->items, count, b->program,
                                                        &b->launch, b->native, error)
                               : vy_backend_judge_run(b->backend, status, error);
    vy_outputs_regain(b->outputs, count, status == VYRE_OK, capacities);
    return status;
}

static inline vyre_status call_resident(vy_bound *b, const vy_target *target, const vyre_launch *launch,
                                        vyre_error *error) {
    vyre_status status = target->dispatch_resident(target->self, launch, b->native, b->use_count, b->timing, error);
    return status == VYRE_OK ? VYRE_OK : vy_backend_judge_run(b->backend, status, error);
}

static vyre_status run(vy_bound *b, const vy_target *target, vyre_error *error) {
    vyre_scalar params[VY_LIMIT_PARAMS];
    uint64_t elements[VY_LIMIT_BUFFERS];
    vyre_trap trap = {0, 0};
    vyre_launch launch;
    vy_boundary_describe(b->program, b->arguments, &b->launch, b->config, params, elements, &trap, &launch);
    if (b->timing)
        memset(b->timing, 0, sizeof *b->timing);
    vy_error_clear(error);
    vyre_status status =
        b->pipeline ? call_persistent(b, target, &launch, error) : call_resident(b, target, &launch, error);
    status = vy_boundary_finish(b->backend, status, &b->launch, &trap, error);
    if (status == VYRE_TRAPPED && b->trap)
        *b->trap = trap;
    return status;
}

int vy_bound_run_straight(vy_bound *b, const vyre_resource *bindings, size_t count, vyre_status *status,
                          vyre_error *error) {
    const vy_target *target = is_plain(b, bindings, count) ? aim(b) : NULL;
    int with_base;
    if (!target)
        return 0;
    b->use_count = 0;
    pthread_mutex_lock(&b->backend->residents.lock);
    int is_good = pin(b, bindings, count);
    pthread_mutex_unlock(&b->backend->residents.lock);
    is_good = is_good && are_apart(b->uses, count) && vy_launch_fit_counts(b->program, b->arguments, &b->launch) &&
              b->launch.group_count && vy_boundary_check_program(b->backend, b->program, error) == VYRE_OK &&
              !vy_stages_needed(b->backend, b->program, &b->launch, &with_base);
    if (is_good)
        *status = run(b, target, error);
    vy_bound_unpin(b);
    return is_good;
}
