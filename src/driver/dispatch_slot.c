/* Dispatch slots (hazard pointers for resident handles), and the lock-free fast path that runs from them
 * (dispatch_slot.h).
 *
 * The fast path handles dispatches on resources (resource_dispatch.h) that are one launch on a few resident buffers,
 * without deadline and trace. Most run from a dispatch slot, and most repeat the last launch of that slot. A thread
 * without a slot, or with buffers that are not published, enters the backend and pins them.
 *
 * The fast path makes the same checks as resource_dispatch.c, but produces no errors: if a check fails, the caller uses
 * the general path, which repeats the check and reports the error. */
#include "driver/dispatch_slot.h"

#include "driver/resource_dispatch.h"
#include "driver/telemetry.h"
#include "ir/eval.h"

#include <pthread.h>

/* ---- dispatch slots ---- */

int vy_dispatch_slots_are_idle(const vy_dispatch_slots *dispatch_slots) {
    for (int i = 0; i < VY_DISPATCH_SLOTS; i++)
        if (atomic_load(&dispatch_slots->dispatch_slots[i].taken))
            return 0;
    return 1;
}

/* Counts the uses of an id, or of all ids in its bucket. */
static uint32_t count_uses(const vy_dispatch_slots *dispatch_slots, uint64_t id, int same_bucket) {
    uint32_t uses = 0;
    for (int i = 0; i < VY_DISPATCH_SLOTS; i++) {
        const vy_dispatch_slot *dispatch_slot = &dispatch_slots->dispatch_slots[i];
        uint64_t taken = atomic_load(&dispatch_slot->taken);
        for (uint64_t k = 1; k < taken; k++) {
            uint64_t used = atomic_load_explicit(&dispatch_slot->ids[k - 1], memory_order_acquire);
            uses += same_bucket ? used % VY_PUBLISHED_HANDLES == id % VY_PUBLISHED_HANDLES : used == id;
        }
    }
    return uses;
}

void vy_dispatch_slots_publish(vy_dispatch_slots *dispatch_slots, uint64_t id, uint64_t native, uint64_t size,
                               int may_write) {
    vy_published_handle *published = &dispatch_slots->published[id % VY_PUBLISHED_HANDLES];
    if (atomic_load_explicit(&published->id, memory_order_relaxed) == id && published->may_write == may_write)
        return;
    atomic_store(&published->id, 0);
    if (count_uses(dispatch_slots, id, 1))
        return;
    published->native = native, published->size = size, published->may_write = may_write;
    atomic_store(&published->id, id);
}

uint32_t vy_dispatch_slots_retire(vy_dispatch_slots *dispatch_slots, uint64_t id) {
    vy_published_handle *published = &dispatch_slots->published[id % VY_PUBLISHED_HANDLES];
    if (atomic_load_explicit(&published->id, memory_order_relaxed) == id)
        atomic_store(&published->id, 0);
    return count_uses(dispatch_slots, id, 0);
}

void vy_dispatch_slots_clear(vy_dispatch_slots *dispatch_slots) {
    for (int i = 0; i < VY_PUBLISHED_HANDLES; i++)
        atomic_store(&dispatch_slots->published[i].id, 0);
}

static inline int is_fast_path(const vy_resource_dispatch *b, const vyre_resource *bindings, size_t count) {
    const vyre_dispatch_config *config = b->config;
    return !config->timeout_ns && !config->cancel && !b->deadline_ns && !config->max_output_bytes && bindings &&
           count && count <= VY_DISPATCH_SLOT_BUFFERS && count == b->program->buffer_count &&
           b->program->param_count <= VY_DISPATCH_SLOT_PARAMS &&
           atomic_load_explicit(&vy_trace_state, memory_order_relaxed) == VY_TRACE_OFF;
}

/* The dispatch table for an immediate call, or NULL. Inside the backend. */
static inline const vy_dispatch_table *find_dispatch_table(const vy_resource_dispatch *b) {
    if (!b->pipeline)
        return b->form == VY_FORM_RESIDENT && b->backend->dispatch_table.dispatch_resident &&
                       vy_is_prepared(b->backend, b->program)
                   ? &b->backend->dispatch_table
                   : NULL;
    vy_executable *executable =
        atomic_load_explicit(&b->pipeline->executables[b->pipeline->variant], memory_order_acquire);
    return b->form == VY_FORM_PERSISTENT && executable &&
                   !atomic_load_explicit(&executable->is_retired, memory_order_acquire) && executable->is_persistent &&
                   !executable->stages && atomic_load_explicit(&executable->is_prepared, memory_order_acquire) &&
                   b->outputs->capacity >= b->program->output_count && (b->outputs->items || !b->program->output_count)
               ? executable->dispatch_tables
               : NULL;
}

/* ---- the launch ---- */

static inline const vy_memory *buffers_of(const vyre_program *program) {
    return &program->memories.items[vy_program_entry(program)->first_memory];
}

static inline int is_written(const vy_memory *buffer) {
    return buffer->access == VYRE_ACCESS_WRITE || buffer->access == VYRE_ACCESS_READ_WRITE;
}

/* Uses a range of a published buffer, like vy_resident_pin_locked. */
static inline int use_published(const vy_dispatch_slots *dispatch_slots, uint64_t owner, const vyre_resource *range,
                                int write, vy_resident_use *use) {
    const vy_published_handle *published =
        range->resident.owner == owner ? vy_published_handle_find(dispatch_slots, range->resident.id) : NULL;
    if (!published || range->offset > published->size || write > published->may_write)
        return 0;
    uint64_t most = published->size - range->offset, size = range->size ? range->size : most;
    if (size > most)
        return 0;
    use->slot = (uint32_t)range->resident.id - 1, use->native = published->native;
    use->offset = range->offset, use->size = size, use->address = 0;
    return 1;
}

/* Pins the buffers with the lock held, or uses published handles from a dispatch slot. Returns 0 at the first invalid
 * binding; *used: the number of bindings before it. */
static inline int bind(const vy_resource_dispatch *b, int in_slot, const vyre_resource *bindings, size_t count,
                       vy_prepared_launch *work, vy_resident_use *uses, size_t *used) {
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
            !(in_slot ? use_published(&backend->dispatch_slots, owner, &bindings[i], writes, use)
                      : vy_resident_pin_locked(&backend->residents, owner, &bindings[i], writes, use)))
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

/* Whether no two ranges are in one buffer or overlap in foreign memory. Other combinations may still be valid. */
static inline int are_disjoint(const vy_resident_use *uses, size_t count) {
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (uses[i].slot == uses[j].slot || vy_resident_overlap(&uses[i], &uses[j]))
                return 0;
    return 1;
}

/* Resolves the dispatch for the bound buffers. Returns 0 if that fails. */
static int resolve(const vy_resource_dispatch *b, const vy_prepared_launch *work, vy_resolved_dispatch *resolved) {
    uint32_t outputs = 0;
    for (uint32_t i = 0; i < b->program->buffer_count; i++) {
        vy_resolved_buffer *buffer = &resolved->buffers[i];
        buffer->bytes = work->native[i].size, buffer->count = work->elements[i];
        buffer->output = work->writes[i] ? outputs++ : VY_NONE;
    }
    return vy_resolve_dispatch_fast_sized(b->program, b->arguments, resolved);
}

/* Creates the launch for the bound buffers. Returns 0 if one launch does not suffice. A pipeline's executable is
 * prepared only after its program was checked against the device, and is compiled again for another device. */
static int make_launch(const vy_resource_dispatch *b, vy_prepared_launch *work) {
    vyre_program *program = b->program;
    vy_resolved_dispatch resolved; /* large, and not cleared */
    int is_tiled;
    if (!resolve(b, work, &resolved) || !resolved.group_count ||
        vy_multi_launch_needed(b->backend, program, &resolved, &is_tiled) ||
        (!b->pipeline && !vy_dispatch_program_fits(b->backend, program)))
        return 0;
    for (uint32_t i = 0; i < program->param_count; i++)
        work->params[i] = (vyre_scalar){b->arguments->params[i].type, resolved.params[i]};
    vy_dispatch_fill_launch(&work->launch, program, work->params, work->elements, resolved.groups, NULL, NULL);
    return 1;
}

/* ---- running ---- */

/* Failure path: resolves again and checks the result. */
static vyre_status check_result(const vy_resource_dispatch *b, const vy_prepared_launch *work, vyre_status status,
                                const vyre_outputs *view, vyre_trap *trap, vyre_error *error) {
    vy_resolved_dispatch resolved;
    resolve(b, work, &resolved);
    status = status == VYRE_OK
                 ? vy_outputs_check_resources(b->backend, view, b->outputs->items, b->program->output_count, b->program,
                                              &resolved, work->native, error)
                 : vy_backend_check_result_run(b->backend, status, error);
    return status == VYRE_OK ? VYRE_OK : vy_dispatch_finish_failed(b->backend, status, &resolved, trap, error);
}

/* The caller's slots are exposed: outputs that stay on the device also have slots. */
static inline vyre_status call_persistent(const vy_resource_dispatch *b, const vy_dispatch_table *dispatch_table,
                                          const vy_prepared_launch *work, vyre_trap *trap, vyre_error *error) {
    size_t capacities[VY_DISPATCH_SLOT_BUFFERS], count = b->program->output_count;
    vyre_outputs view;
    vy_outputs_expose(b->outputs, count, &view, capacities);
    vyre_status status = dispatch_table->dispatch_persistent(dispatch_table->self, &work->launch, work->native,
                                                             work->launch.buffer_count, &view, b->timing, error);
    if (status == VYRE_OK && vy_outputs_are_untouched(b->outputs, &view, count, capacities)) {
        vy_outputs_reclaim_untouched(b->outputs, 1, count);
        return VYRE_OK;
    }
    status = check_result(b, work, status, &view, trap, error);
    vy_outputs_reclaim(b->outputs, count, status == VYRE_OK, capacities);
    return status;
}

static inline vyre_status call_resident(const vy_resource_dispatch *b, const vy_dispatch_table *dispatch_table,
                                        const vy_prepared_launch *work, vyre_trap *trap, vyre_error *error) {
    vyre_status status = dispatch_table->dispatch_resident(dispatch_table->self, &work->launch, work->native,
                                                           work->launch.buffer_count, b->timing, error);
    return status == VYRE_OK ? VYRE_OK : check_result(b, work, status, NULL, trap, error);
}

static inline vyre_status run(const vy_resource_dispatch *b, const vy_dispatch_table *dispatch_table,
                              vy_prepared_launch *work, vyre_error *error) {
    vyre_trap trap = {0, 0};
    const char *label = b->config->label;
    work->launch.label = label ? label : "", work->launch.trap = &trap;
    if (b->timing)
        memset(b->timing, 0, sizeof *b->timing);
    vy_error_clear(error);
    vyre_status status = b->pipeline ? call_persistent(b, dispatch_table, work, &trap, error)
                                     : call_resident(b, dispatch_table, work, &trap, error);
    vy_count(VY_COUNTER_dispatches, 1);
    if (status == VYRE_TRAPPED && b->trap)
        *b->trap = trap;
    return status;
}

/* ---- from a dispatch slot ---- */

static inline int is_same_range(const vyre_resource *a, const vyre_resource *b) {
    return a->resident.id == b->resident.id && a->resident.owner == b->resident.owner && a->offset == b->offset &&
           a->size == b->size;
}

static inline int are_same_arguments(const vy_launch_memo *last, const vyre_arguments *a, size_t params) {
    if (a->param_count != params || (params && !a->params) || a->geometry.kind != last->geometry.kind ||
        (a->geometry.kind != VYRE_GEOMETRY_PROGRAM &&
         memcmp(a->geometry.size, last->geometry.size, sizeof a->geometry.size) != 0))
        return 0;
    for (size_t i = 0; i < params; i++)
        if (a->params[i].type != last->params[i].type || a->params[i].bits != last->params[i].bits)
            return 0;
    return 1;
}

/* Whether this dispatch repeats the last one and its buffers are still published: the launch can be reused. */
static inline int matches_memo(const vy_resource_dispatch *b, const vy_dispatch_table *dispatch_table,
                               vy_dispatch_slot *dispatch_slot, const vyre_resource *bindings, size_t count) {
    const vy_launch_memo *last = &dispatch_slot->last;
    if (!b->pipeline || last->pipeline != b->pipeline->number || last->dispatch_table != dispatch_table ||
        !are_same_arguments(last, b->arguments, dispatch_slot->work.launch.param_count))
        return 0;
    for (size_t i = 0; i < count; i++) {
        const vy_published_handle *published =
            is_same_range(&bindings[i], &last->bindings[i])
                ? vy_published_handle_find(&b->backend->dispatch_slots, bindings[i].resident.id)
                : NULL;
        if (!published || dispatch_slot->work.writes[i] > published->may_write)
            return 0;
        dispatch_slot->work.native[i].resident.id = published->native; /* differs after recovery */
    }
    return 1;
}

/* Creates the launch, and stores the request so that it can be compared with the next one. */
static int prepare(const vy_resource_dispatch *b, const vy_dispatch_table *dispatch_table,
                   vy_dispatch_slot *dispatch_slot, const vyre_resource *bindings, size_t count) {
    vy_resident_use uses[VY_DISPATCH_SLOT_BUFFERS];
    vy_launch_memo *last = &dispatch_slot->last;
    size_t used;
    last->pipeline = 0;
    if (!bind(b, 1, bindings, count, &dispatch_slot->work, uses, &used) || !are_disjoint(uses, count) ||
        !make_launch(b, &dispatch_slot->work))
        return 0;
    if (!b->pipeline)
        return 1;
    last->pipeline = b->pipeline->number, last->dispatch_table = dispatch_table;
    last->geometry = b->arguments->geometry;
    memcpy(last->bindings, bindings, count * sizeof *bindings);
    for (size_t i = 0; i < b->program->param_count; i++)
        last->params[i] = b->arguments->params[i];
    return 1;
}

int vy_resource_dispatch_run_slot(const vy_resource_dispatch *b, const vyre_resource *bindings, size_t count,
                                  vyre_status *status, vyre_error *error) {
    vyre_backend *backend = b->backend;
    if (!is_fast_path(b, bindings, count) || !vy_resource_dispatch_are_resident(bindings, count))
        return 0;
    vy_dispatch_slot *dispatch_slot = vy_dispatch_slot_own(&backend->dispatch_slots);
    if (!dispatch_slot || !vy_backend_slot_enter(backend, dispatch_slot, bindings, count))
        return 0;
    const vy_dispatch_table *dispatch_table = find_dispatch_table(b);
    int is_good = dispatch_table && (matches_memo(b, dispatch_table, dispatch_slot, bindings, count) ||
                                     prepare(b, dispatch_table, dispatch_slot, bindings, count));
    if (is_good)
        *status = run(b, dispatch_table, &dispatch_slot->work, error);
    vy_backend_slot_leave(backend, dispatch_slot);
    return is_good;
}

/* ---- with pinned buffers ---- */

int vy_resource_dispatch_run_pinned(const vy_resource_dispatch *b, const vyre_resource *bindings, size_t count,
                                    vyre_status *status, vyre_error *error) {
    const vy_dispatch_table *dispatch_table = is_fast_path(b, bindings, count) ? find_dispatch_table(b) : NULL;
    vyre_backend *backend = b->backend;
    vy_resident_use uses[VY_DISPATCH_SLOT_BUFFERS];
    vy_prepared_launch work;
    size_t used = 0;
    if (!dispatch_table)
        return 0;
    pthread_mutex_lock(&backend->residents.lock);
    int is_good = bind(b, 0, bindings, count, &work, uses, &used);
    if (is_good)
        vy_resident_publish(backend, uses, count);
    pthread_mutex_unlock(&backend->residents.lock);
    is_good = is_good && are_disjoint(uses, count) && make_launch(b, &work);
    if (is_good)
        *status = run(b, dispatch_table, &work, error);
    vy_resident_unpin(backend, uses, used);
    return is_good;
}
