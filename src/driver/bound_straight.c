/* The straight road of a dispatch on resources (bound.h): for those that are one launch on a few resident buffers, have no deadline and are
 * not traced. They are made again and again, and what each costs is noticed. Most run from a seat (seat.h), and most of these are what ran there
 * last; who has none, or has not used the buffers before, enters the backend and pins.
 *
 * It asks all that the road of bound.c and bound_run.c asks, but only whether all is well. What is not takes that road, which finds it
 * again and says what it is. */
#include "driver/bound.h"

#include "driver/trace.h"
#include "ir/eval.h"

#include <pthread.h>

static inline int is_plain(const vy_bound *b, const vyre_resource *bindings, size_t count) {
    const vyre_dispatch_config *config = b->config;
    return !config->timeout_ns && !config->cancel && !b->deadline_ns && !config->max_output_bytes && bindings &&
           count && count <= VY_SEAT_BUFFERS && count == b->program->buffer_count &&
           b->program->param_count <= VY_SEAT_PARAMS &&
           atomic_load_explicit(&vy_trace_state, memory_order_relaxed) == VY_TRACE_OFF;
}

/* What runs it without further ado, or NULL. Inside. */
static inline const vy_target *aim(const vy_bound *b) {
    if (!b->pipeline)
        return b->form == VY_FORM_RESIDENT && b->backend->target.dispatch_resident &&
                       vy_is_prepared(b->backend, b->program)
                   ? &b->backend->target
                   : NULL;
    vy_code *code = atomic_load_explicit(&b->pipeline->codes[b->pipeline->variant], memory_order_acquire);
    return b->form == VY_FORM_PERSISTENT && code && !atomic_load_explicit(&code->is_retired, memory_order_acquire) &&
                   code->is_persistent && !code->stages &&
                   atomic_load_explicit(&code->is_prepared, memory_order_acquire) &&
                   b->outputs->capacity >= b->program->output_count && (b->outputs->items || !b->program->output_count)
               ? code->targets
               : NULL;
}

/* ---- the work ---- */

static inline const vy_memory *buffers_of(const vyre_program *program) {
    return &program->memories.items[vy_program_entry(program)->first_memory];
}

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

/* Pins with the lock held, or uses what is known from a seat. 0 at the first that is not in order; *used: those before it. */
static inline int bind(const vy_bound *b, int is_seated, const vyre_resource *bindings, size_t count,
                       vy_seat_work *work, vy_resident_use *uses, size_t *used) {
    const vy_memory *buffers = buffers_of(b->program);
    vyre_backend *backend = b->backend;
    uint64_t owner = backend->owner, most = vy_backend_limit(backend, VYRE_CAPABILITY_MAX_STORAGE_BYTES);
    most = most ? most : UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        vy_resident_use *use = &uses[i];
        vyre_resource *native = &work->native[i];
        unsigned element = vy_type_layouts[buffers[i].type].size; /* a power of two */
        int writes = is_written(&buffers[i]);
        if (bindings[i].kind != VYRE_RESOURCE_RESIDENT || (bindings[i].offset & (element - 1)) ||
            !(is_seated ? use_known(&backend->seats, owner, &bindings[i], writes, use)
                        : vy_resident_pin_quickly(&backend->residents, owner, &bindings[i], writes, use)))
            return 0;
        *used = i + 1;
        if (((use->size | use->address) & (element - 1)) || use->size > most)
            return 0;
        native->kind = VYRE_RESOURCE_RESIDENT;
        native->host = (vyre_span){NULL, 0};
        native->resident = (vyre_resident){owner, use->native};
        native->offset = use->offset, native->size = use->size;
        work->writes[i] = (uint8_t)writes;
        work->elements[i] = use->size >> __builtin_ctz(element);
        if (work->elements[i] > UINT32_MAX)
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

/* What was bound as the resolver wants it, and what that finds. 0: it does not fit. */
static int resolve(const vy_bound *b, const vy_seat_work *work, vy_resolved_dispatch *resolved) {
    uint32_t outputs = 0;
    for (uint32_t i = 0; i < b->program->buffer_count; i++) {
        vy_resolved_buffer *buffer = &resolved->buffers[i];
        buffer->bytes = work->native[i].size, buffer->count = work->elements[i];
        buffer->output = work->writes[i] ? outputs++ : VY_NONE;
    }
    return vy_resolve_dispatch_fast_sized(b->program, b->arguments, resolved);
}

/* Makes the launch of what was bound. 0: it is not one launch here. A pipeline's code is prepared only after its program was seen to fit the device, and is made again with another device. */
static int make_launch(const vy_bound *b, vy_seat_work *work) {
    vyre_program *program = b->program;
    vy_resolved_dispatch resolved; /* large, and not cleared */
    int with_base;
    if (!resolve(b, work, &resolved) || !resolved.group_count ||
        vy_stages_needed(b->backend, program, &resolved, &with_base) ||
        (!b->pipeline && !vy_boundary_program_fits(b->backend, program)))
        return 0;
    for (uint32_t i = 0; i < program->param_count; i++)
        work->params[i] = (vyre_scalar){b->arguments->params[i].type, resolved.params[i]};
    vy_boundary_fill(&work->launch, program, work->params, work->elements, resolved.groups, NULL, NULL);
    return 1;
}

/* ---- running ---- */

/* Something is not as it should be: what was resolved is asked for again, to judge it. */
static vyre_status judge(const vy_bound *b, const vy_seat_work *work, vyre_status status, const vyre_outputs *view,
                         vyre_trap *trap, vyre_error *error) {
    vy_resolved_dispatch resolved;
    resolve(b, work, &resolved);
    status = status == VYRE_OK ? vy_outputs_check_bound(b->backend, view, b->outputs->items, b->program->output_count,
                                                        b->program, &resolved, work->native, error)
                               : vy_backend_judge_run(b->backend, status, error);
    return status == VYRE_OK ? VYRE_OK : vy_boundary_finish_failed(b->backend, status, &resolved, trap, error);
}

/* The caller's slots are lent, as outputs that stay on the device have some too. */
static inline vyre_status call_persistent(const vy_bound *b, const vy_target *target, const vy_seat_work *work,
                                          vyre_trap *trap, vyre_error *error) {
    size_t capacities[VY_SEAT_BUFFERS], count = b->program->output_count;
    vyre_outputs view;
    vy_outputs_lend(b->outputs, count, &view, capacities);
    vyre_status status = target->dispatch_persistent(target->self, &work->launch, work->native,
                                                     work->launch.buffer_count, &view, b->timing, error);
    if (status == VYRE_OK && vy_outputs_are_untouched(b->outputs, &view, count, capacities)) {
        vy_outputs_keep(b->outputs, 1, count);
        return VYRE_OK;
    }
    status = judge(b, work, status, &view, trap, error);
    vy_outputs_regain(b->outputs, count, status == VYRE_OK, capacities);
    return status;
}

static inline vyre_status call_resident(const vy_bound *b, const vy_target *target, const vy_seat_work *work,
                                        vyre_trap *trap, vyre_error *error) {
    vyre_status status = target->dispatch_resident(target->self, &work->launch, work->native, work->launch.buffer_count,
                                                   b->timing, error);
    return status == VYRE_OK ? VYRE_OK : judge(b, work, status, NULL, trap, error);
}

static inline vyre_status run(const vy_bound *b, const vy_target *target, vy_seat_work *work, vyre_error *error) {
    vyre_trap trap = {0, 0};
    const char *label = b->config->label;
    work->launch.label = label ? label : "", work->launch.trap = &trap;
    if (b->timing)
        memset(b->timing, 0, sizeof *b->timing);
    vy_error_clear(error);
    vyre_status status =
        b->pipeline ? call_persistent(b, target, work, &trap, error) : call_resident(b, target, work, &trap, error);
    vy_count(VY_COUNTER_dispatches, 1);
    if (status == VYRE_TRAPPED && b->trap)
        *b->trap = trap;
    return status;
}

/* ---- from a seat ---- */

static inline int is_same_range(const vyre_resource *a, const vyre_resource *b) {
    return a->resident.id == b->resident.id && a->resident.owner == b->resident.owner && a->offset == b->offset &&
           a->size == b->size;
}

static inline int are_same_arguments(const vy_seat_asked *last, const vyre_arguments *a, size_t params) {
    if (a->param_count != params || (params && !a->params) || a->geometry.kind != last->geometry.kind ||
        (a->geometry.kind != VYRE_GEOMETRY_PROGRAM &&
         memcmp(a->geometry.size, last->geometry.size, sizeof a->geometry.size) != 0))
        return 0;
    for (size_t i = 0; i < params; i++)
        if (a->params[i].type != last->params[i].type || a->params[i].bits != last->params[i].bits)
            return 0;
    return 1;
}

/* Whether it is what ran last, and may still: then the work is ready. */
static inline int is_again(const vy_bound *b, const vy_target *target, vy_seat *seat, const vyre_resource *bindings,
                           size_t count) {
    const vy_seat_asked *last = &seat->last;
    if (!b->pipeline || last->pipeline != b->pipeline->number || last->target != target ||
        !are_same_arguments(last, b->arguments, seat->work.launch.param_count))
        return 0;
    for (size_t i = 0; i < count; i++) {
        const vy_seat_known *known = is_same_range(&bindings[i], &last->bindings[i])
                                         ? vy_seat_find(&b->backend->seats, bindings[i].resident.id)
                                         : NULL;
        if (!known || seat->work.writes[i] > known->may_write)
            return 0;
        seat->work.native[i].resident.id = known->native; /* another after recovery */
    }
    return 1;
}

/* Makes the work ready, and keeps what was asked for if it can be told again. */
static int prepare(const vy_bound *b, const vy_target *target, vy_seat *seat, const vyre_resource *bindings,
                   size_t count) {
    vy_resident_use uses[VY_SEAT_BUFFERS];
    vy_seat_asked *last = &seat->last;
    size_t used;
    last->pipeline = 0;
    if (!bind(b, 1, bindings, count, &seat->work, uses, &used) || !are_apart(uses, count) ||
        !make_launch(b, &seat->work))
        return 0;
    if (!b->pipeline)
        return 1;
    last->pipeline = b->pipeline->number, last->target = target;
    last->geometry = b->arguments->geometry;
    memcpy(last->bindings, bindings, count * sizeof *bindings);
    for (size_t i = 0; i < b->program->param_count; i++)
        last->params[i] = b->arguments->params[i];
    return 1;
}

int vy_bound_run_seated(const vy_bound *b, const vyre_resource *bindings, size_t count, vyre_status *status,
                        vyre_error *error) {
    vyre_backend *backend = b->backend;
    if (!is_plain(b, bindings, count) || !vy_bound_are_resident(bindings, count))
        return 0;
    vy_seat *seat = vy_seat_own(&backend->seats);
    if (!seat || !vy_backend_sit(backend, seat, bindings, count))
        return 0;
    const vy_target *target = aim(b);
    int is_good = target && (is_again(b, target, seat, bindings, count) || prepare(b, target, seat, bindings, count));
    if (is_good)
        *status = run(b, target, &seat->work, error);
    vy_backend_rise(backend, seat);
    return is_good;
}

/* ---- with pins ---- */

int vy_bound_run_straight(const vy_bound *b, const vyre_resource *bindings, size_t count, vyre_status *status,
                          vyre_error *error) {
    const vy_target *target = is_plain(b, bindings, count) ? aim(b) : NULL;
    vyre_backend *backend = b->backend;
    vy_resident_use uses[VY_SEAT_BUFFERS];
    vy_seat_work work;
    size_t used = 0;
    if (!target)
        return 0;
    pthread_mutex_lock(&backend->residents.lock);
    int is_good = bind(b, 0, bindings, count, &work, uses, &used);
    if (is_good)
        vy_resident_tell(backend, uses, count);
    pthread_mutex_unlock(&backend->residents.lock);
    is_good = is_good && are_apart(uses, count) && make_launch(b, &work);
    if (is_good)
        *status = run(b, target, &work, error);
    vy_resident_unpin(backend, uses, used);
    return is_good;
}
