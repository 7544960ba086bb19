/* The straight road of a dispatch on resources (bound.h): for those that are one launch on a few resident buffers, have no deadline and are
 * not traced. They are made again and again, and what each costs is noticed. Most run from a seat (seat.h); who has none, or has not used the
 * buffers before, enters the backend and pins.
 *
 * It asks all that the road of bound.c and bound_run.c asks, but only whether all is well. What is not takes that road, which finds it
 * again and says what it is. */
#include "driver/bound.h"

#include "driver/trace.h"
#include "ir/eval.h"

#include <pthread.h>

enum { MOST_BUFFERS = VY_SEAT_BUFFERS, MOST_PARAMS = 16 };

/* All that it needs, side by side: the struct of the long road has room for every program, and is spread over many pages. */
typedef struct straight {
    vyre_backend *backend;
    vyre_program *program;
    const vy_bound *asked;
    size_t use_count;
    vyre_trap trap;
    vyre_launch launch;
    uint64_t elements[MOST_BUFFERS];
    vyre_resource native[MOST_BUFFERS];
    vy_resident_use uses[MOST_BUFFERS];
    vyre_scalar params[MOST_PARAMS];
    vy_launch resolved; /* large: it ends it */
} straight;

static inline int is_written(const vy_memory *buffer) {
    return buffer->access == VYRE_ACCESS_WRITE || buffer->access == VYRE_ACCESS_READ_WRITE;
}

/* A range of a buffer that is known. As vy_resident_pin_quickly. */
static inline int use_known(const vy_seats *seats, uint64_t owner, const vyre_resource *range, int write,
                            vy_resident_use *use) {
    const vy_seat_known *known = range->resident.owner == owner ? vy_seat_find(seats, range->resident.id) : NULL;
    if (!known || range->offset > known->size || write > known->may_write)
        return 0;
    uint64_t most = known->size - range->offset, size = range->size ? range->size : most;
    if (size > most)
        return 0;
    use->place = (uint32_t)range->resident.id - 1, use->native = known->native;
    use->offset = range->offset, use->size = size, use->address = 0;
    return 1;
}

/* Pins with the lock held, or uses what is known from a seat, and sets counts and bytes. 0 at the first that is not in order. */
static inline int pin(straight *s, int is_seated, const vyre_resource *bindings, size_t count) {
    const vy_memory *buffers = &s->program->memories.items[vy_program_entry(s->program)->first_memory];
    vy_residents *residents = &s->backend->residents;
    uint64_t owner = s->backend->owner, most = vy_backend_limit(s->backend, VYRE_CAPABILITY_MAX_STORAGE_BYTES);
    uint32_t outputs = 0;
    most = most ? most : UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        vy_resident_use *use = &s->uses[i];
        vyre_resource *native = &s->native[i];
        vy_launch_buffer *buffer = &s->resolved.buffers[i];
        unsigned element = vy_type_layouts[buffers[i].type].size; /* a power of two */
        int writes = is_written(&buffers[i]);
        if (bindings[i].kind != VYRE_RESOURCE_RESIDENT || (bindings[i].offset & (element - 1)) ||
            !(is_seated ? use_known(&s->backend->seats, owner, &bindings[i], writes, use)
                        : vy_resident_pin_quickly(residents, owner, &bindings[i], writes, use)))
            return 0;
        s->use_count = i + 1;
        if (((use->size | use->address) & (element - 1)) || use->size > most)
            return 0;
        native->kind = VYRE_RESOURCE_RESIDENT;
        native->host = (vyre_span){NULL, 0};
        native->resident = (vyre_resident){owner, use->native};
        native->offset = use->offset, native->size = use->size;
        buffer->bytes = use->size;
        buffer->count = s->elements[i] = use->size >> __builtin_ctz(element);
        buffer->output = writes ? outputs++ : VY_NONE;
        if (buffer->count > UINT32_MAX)
            return 0;
    }
    return 1;
}

/* Whether no two are ranges of one buffer, or of the same memory of others: those that are may still be good. */
static inline int are_apart(const vy_resident_use *uses, size_t count) {
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (uses[i].place == uses[j].place || vy_resident_meet(&uses[i], &uses[j]))
                return 0;
    return 1;
}

/* Whether its grid is one launch here. A pipeline's code is prepared only after its program was seen to fit the device, and is made again with another device. */
static inline int fits(straight *s) {
    int with_base;
    return vy_launch_fit_counts(s->program, s->asked->arguments, &s->resolved) && s->resolved.group_count &&
           !vy_stages_needed(s->backend, s->program, &s->resolved, &with_base) &&
           (s->asked->pipeline || vy_boundary_program_fits(s->backend, s->program));
}

/* What runs it without further ado, or NULL. */
static inline const vy_target *aim(const vy_bound *b) {
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

static inline int is_plain(const vy_bound *b, const vyre_resource *bindings, size_t count) {
    const vyre_dispatch_config *config = b->config;
    return !config->timeout_ns && !b->deadline_ns && !config->max_output_bytes && bindings && count &&
           count <= MOST_BUFFERS && count == b->program->buffer_count && b->program->param_count <= MOST_PARAMS &&
           atomic_load_explicit(&vy_trace_state, memory_order_relaxed) == VY_TRACE_OFF;
}

/* The caller's slots are lent, as outputs that stay on the device have some too. */
static inline vyre_status call_persistent(straight *s, const vy_target *target, vyre_error *error) {
    size_t capacities[MOST_BUFFERS], count = s->program->output_count;
    vyre_outputs view, *outputs = s->asked->outputs;
    vy_outputs_lend(outputs, count, &view, capacities);
    vyre_status status =
        target->dispatch_persistent(target->self, &s->launch, s->native, s->use_count, &view, s->asked->timing, error);
    if (status == VYRE_OK && vy_outputs_are_untouched(outputs, &view, count, capacities)) {
        vy_outputs_keep(outputs, 1, count);
        return VYRE_OK;
    }
    status = status == VYRE_OK ? vy_outputs_check_bound(s->backend, &view, outputs->items, count, s->program,
                                                        &s->resolved, s->native, error)
                               : vy_backend_judge_run(s->backend, status, error);
    vy_outputs_regain(outputs, count, status == VYRE_OK, capacities);
    return status;
}

static inline vyre_status call_resident(straight *s, const vy_target *target, vyre_error *error) {
    vyre_status status =
        target->dispatch_resident(target->self, &s->launch, s->native, s->use_count, s->asked->timing, error);
    return status == VYRE_OK ? VYRE_OK : vy_backend_judge_run(s->backend, status, error);
}

static inline vyre_status run(straight *s, const vy_target *target, vyre_error *error) {
    const vy_bound *asked = s->asked;
    for (uint32_t i = 0; i < s->program->param_count; i++)
        s->params[i] = (vyre_scalar){asked->arguments->params[i].type, s->resolved.params[i]};
    s->trap = (vyre_trap){0, 0};
    vy_boundary_fill(&s->launch, s->program, s->params, s->elements, s->resolved.groups, asked->config->label,
                     &s->trap);
    if (asked->timing)
        memset(asked->timing, 0, sizeof *asked->timing);
    vy_error_clear(error);
    vyre_status status = asked->pipeline ? call_persistent(s, target, error) : call_resident(s, target, error);
    status = vy_boundary_finish(s->backend, status, &s->resolved, &s->trap, error);
    if (status == VYRE_TRAPPED && asked->trap)
        *asked->trap = s->trap;
    return status;
}

static inline int are_resident(const vyre_resource *bindings, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bindings[i].kind != VYRE_RESOURCE_RESIDENT)
            return 0;
    return 1;
}

int vy_bound_run_seated(const vy_bound *b, const vyre_resource *bindings, size_t count, vyre_status *status,
                        vyre_error *error) {
    vyre_backend *backend = b->backend;
    straight s; /* not cleared: it is large */
    if (!is_plain(b, bindings, count) || !are_resident(bindings, count))
        return 0;
    vy_seat *seat = vy_seat_own(&backend->seats);
    if (!seat || !vy_backend_sit(backend, seat, bindings, count))
        return 0;
    const vy_target *target = aim(b);
    s.backend = backend, s.program = b->program, s.asked = b, s.use_count = 0;
    int is_good = target && pin(&s, 1, bindings, count) && are_apart(s.uses, count) && fits(&s);
    if (is_good)
        *status = run(&s, target, error);
    vy_backend_rise(backend, seat);
    return is_good;
}

int vy_bound_run_straight(const vy_bound *b, const vyre_resource *bindings, size_t count, vyre_status *status,
                          vyre_error *error) {
    const vy_target *target = is_plain(b, bindings, count) ? aim(b) : NULL;
    vyre_backend *backend = b->backend;
    straight s; /* not cleared: it is large */
    if (!target)
        return 0;
    s.backend = backend, s.program = b->program, s.asked = b, s.use_count = 0;
    pthread_mutex_lock(&backend->residents.lock);
    int is_good = pin(&s, 0, bindings, count);
    if (is_good)
        vy_resident_tell(backend, s.uses, count);
    pthread_mutex_unlock(&backend->residents.lock);
    is_good = is_good && are_apart(s.uses, count) && fits(&s);
    if (is_good)
        *status = run(&s, target, error);
    vy_resident_unpin(backend, s.uses, s.use_count);
    return is_good;
}
