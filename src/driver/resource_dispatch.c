/* Dispatches on resources: binding, buffer overlap (aliasing) check, resolving, running (resource_dispatch.h). */
#include "driver/resource_dispatch.h"

#include "base/status.h"
#include "base/thread.h"
#include "dialect/load.h"
#include "driver/op_code.h"
#include "driver/telemetry.h"
#include "ir/eval.h"

#include <inttypes.h>

static int is_written(const vy_memory *buffer) {
    return buffer->access == VYRE_ACCESS_WRITE || buffer->access == VYRE_ACCESS_READ_WRITE;
}

static const vy_memory *buffer_at(const vy_resource_dispatch *b, size_t index) {
    return &b->program->memories.items[vy_program_entry(b->program)->first_memory + index];
}

/* For messages. */
static const char *name_of(const vy_resource_dispatch *b, const vy_memory *buffer) {
    return vy_symbol_name(b->program, buffer->name);
}

static uint64_t element_size(const vy_memory *buffer) {
    return vy_type_layouts[buffer->type].size;
}

/* ---- bindings ---- */

static void bind_use(vy_resource_dispatch *b, size_t index) {
    const vy_resident_use *use = &b->uses[b->use_count++];
    vyre_resource *native = &b->native[index];
    native->kind = VYRE_RESOURCE_RESIDENT;
    native->host = (vyre_span){NULL, 0};
    native->resident = (vyre_resident){b->backend->owner, use->native};
    native->offset = use->offset, native->size = use->size;
    b->launch.buffers[index].bytes = use->size;
    b->known |= use->address;
}

static vyre_status pin_resident(vy_resource_dispatch *b, size_t index, const vy_memory *buffer,
                                const vyre_resource *binding, vyre_error *error) {
    uint64_t element = element_size(buffer);
    if (binding->offset & (element - 1)) /* a power of two */
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("use a multiple of %" PRIu64 " for `%s`", element, name_of(b, buffer)),
                       "the offset of buffer `%s` (%" PRIu64 ") is not a multiple of its element size (%" PRIu64 ")",
                       name_of(b, buffer), binding->offset, element);
    vyre_status status = vy_resident_pin(b->backend, binding->resident, binding->offset, binding->size, 1,
                                         is_written(buffer), &b->uses[b->use_count], error);
    if (status == VYRE_OK)
        bind_use(b, index);
    else if (!error->where[0])
        vy_fail_where(error, "buffer `%s`", name_of(b, buffer));
    return status;
}

/* Pins a valid prefix of the bindings under one lock. Returns its length. */
static size_t pin_prefix(vy_resource_dispatch *b, const vyre_resource *bindings, size_t count) {
    vy_residents *residents = &b->backend->residents;
    const vy_memory *buffers = count ? buffer_at(b, 0) : NULL;
    uint64_t owner = b->backend->owner;
    size_t i = 0;
    if (!count || bindings->kind != VYRE_RESOURCE_RESIDENT)
        return 0;
    pthread_mutex_lock(&residents->lock);
    for (; i < count && bindings[i].kind == VYRE_RESOURCE_RESIDENT; i++) {
        if ((bindings[i].offset & (element_size(&buffers[i]) - 1)) ||
            !vy_resident_pin_locked(residents, owner, &bindings[i], is_written(&buffers[i]), &b->uses[b->use_count]))
            break;
        bind_use(b, i);
    }
    pthread_mutex_unlock(&residents->lock);
    return i;
}

static vyre_status bind_one(vy_resource_dispatch *b, size_t index, const vyre_resource *binding, vyre_error *error) {
    const vy_memory *buffer = buffer_at(b, index);
    if (binding->kind == VYRE_RESOURCE_RESIDENT)
        return pin_resident(b, index, buffer, binding, error);
    if (binding->kind != VYRE_RESOURCE_HOST)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "bind host bytes or a resident buffer",
                       "buffer `%s` is bound to a resource of an unknown kind (%d)", name_of(b, buffer),
                       (int)binding->kind);
    if (b->form == VY_FORM_RESIDENT)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       b->pipeline ? "bind a resident buffer, or use vyre_pipeline_dispatch_persistent for host bytes"
                                   : "bind a resident buffer, or use vyre_backend_dispatch for host bytes",
                       "buffer `%s` is bound to host bytes in a resident dispatch", name_of(b, buffer));
    b->native[index] = (vyre_resource){.kind = VYRE_RESOURCE_HOST};
    if (buffer->access != VYRE_ACCESS_WRITE)
        b->native[index].host = binding->host;
    return VYRE_OK;
}

static vyre_status bind_all(vy_resource_dispatch *b, const vyre_resource *bindings, size_t count, vyre_error *error) {
    vyre_status status = VYRE_OK;
    b->use_count = 0;
    b->known = 0;
    if (count != b->program->buffer_count || (count && !bindings))
        return vy_fail(
            error, VYRE_INVALID_ARGUMENT,
            VY_FIX("pass one resource per buffer of `%s`, in declaration order", vyre_program_name(b->program)),
            "the dispatch has %zu resources, but the program has %" PRIu32 " buffers", count, b->program->buffer_count);
    for (size_t i = pin_prefix(b, bindings, count); i < count && status == VYRE_OK; i++)
        status = bind_one(b, i, &bindings[i], error);
    return status;
}

static int overlap(const vyre_resource *a, const vyre_resource *b) {
    return a->resident.id == b->resident.id && a->kind == VYRE_RESOURCE_RESIDENT && b->kind == VYRE_RESOURCE_RESIDENT &&
           a->size && b->size && a->offset < b->offset + b->size && b->offset < a->offset + a->size;
}

static vyre_status fail_overlap(const vy_resource_dispatch *bound, const vy_memory *a, const vy_memory *b,
                                vyre_error *error) {
    return vy_fail(error, VYRE_CONFLICT, "bind ranges that do not overlap, or buffers the program only reads",
                   "buffers `%s` and `%s` overlap in memory, and the program writes at least one", name_of(bound, a),
                   name_of(bound, b));
}

static vyre_status check_overlaps(const vy_resource_dispatch *bound, vyre_error *error) {
    const vyre_resource *native = bound->native;
    if (bound->use_count < 2)
        return VYRE_OK;
    for (size_t i = 1; i < bound->program->buffer_count; i++)
        for (size_t j = 0; j < i; j++) {
            if (!overlap(&native[i], &native[j]))
                continue;
            const vy_memory *a = buffer_at(bound, i), *b = buffer_at(bound, j);
            if (is_written(a) || is_written(b))
                return fail_overlap(bound, b, a, error);
        }
    return VYRE_OK;
}

/* Exported or wrapped memory may start at any address and have several handles. Uses are in the order of the
 * buffers. */
static vyre_status check_aliasing(const vy_resource_dispatch *bound, vyre_error *error) {
    const vy_resident_use *uses[VY_LIMIT_BUFFERS];
    for (size_t i = 0, use = 0; i < bound->program->buffer_count; i++) {
        const vy_memory *a = buffer_at(bound, i);
        uint64_t element = element_size(a);
        uses[i] = bound->native[i].kind == VYRE_RESOURCE_RESIDENT ? &bound->uses[use++] : NULL;
        if (!uses[i] || !uses[i]->address || !uses[i]->size)
            continue;
        if (uses[i]->address & (element - 1))
            return vy_fail(
                error, VYRE_INVALID_ARGUMENT,
                VY_FIX("wrap memory for `%s` that starts at a multiple of %" PRIu64, name_of(bound, a), element),
                "the memory of buffer `%s` starts at an address (0x%" PRIx64
                ") that is not a multiple of its element size (%" PRIu64 ")",
                name_of(bound, a), uses[i]->address, element);
        for (size_t j = 0; j < i; j++) {
            const vy_memory *b = buffer_at(bound, j);
            if (uses[j] && vy_resident_overlap(uses[i], uses[j]) && (is_written(a) || is_written(b)))
                return fail_overlap(bound, b, a, error);
        }
    }
    return VYRE_OK;
}

/* ---- the launch ---- */

int vy_resource_dispatch_is_indirect(const vyre_program *program, const vyre_arguments *arguments) {
    return (!arguments || arguments->geometry.kind == VYRE_GEOMETRY_PROGRAM) &&
           program->grid.kind == VYRE_GRID_INDIRECT;
}

/* Stages require that the host reads the grid. */
int vy_resource_dispatch_has_device_grid(const vyre_backend *backend, const vyre_program *program) {
    return vy_backend_limit(backend, VYRE_CAPABILITY_INDIRECT_DISPATCH) &&
           !(program->facts & VY_PROGRAM_HAS_GRID_BARRIER);
}

static uint64_t grid_end(const vyre_program *program) {
    return ((uint64_t)program->grid.offset + 3) * 4;
}

/* If the device does not read an indirect grid itself, the host must: it downloads three elements to the offset at
 * which the resolver reads them, so the image may be longer than they are. */
static vyre_status fetch_grid(vy_resource_dispatch *b, vyre_span *input, uint32_t index, vyre_bytes *image,
                              vyre_error *error) {
    uint64_t end = grid_end(b->program);
    const vyre_resource *range = &b->native[index];
    if (range->size < end)
        return VYRE_OK; /* too short: the resolver reports it */
    if (!b->backend->calls.resident_download)
        return vy_backend_unsupported(b->backend, "resident buffer download", error);
    vyre_status status = vyre_bytes_resize(image, (size_t)end, error);
    if (status != VYRE_OK)
        return status;
    vy_error_clear(error);
    status = b->backend->calls.resident_download(b->backend->self, range->resident.id, range->offset + end - 12,
                                                 (unsigned char *)image->data + end - 12, 12, error);
    input->data = image->data;
    return vy_backend_check_result(b->backend, status, error);
}

/* The count of a `write` buffer whose count the program leaves open: from its range, or from the caller. */
static vyre_status open_count(const vy_resource_dispatch *b, size_t index, const vy_memory *buffer, size_t *given,
                              uint64_t *count, vyre_error *error) {
    if (b->native[index].kind == VYRE_RESOURCE_RESIDENT) {
        *count = b->native[index].size / element_size(buffer);
        return VYRE_OK;
    }
    if (*given >= b->arguments->count_count || !b->arguments->counts)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("specify the count of `%s` in arguments->counts", name_of(b, buffer)),
                       "buffer `%s` is bound to host bytes, and neither the program nor the caller specifies its count",
                       name_of(b, buffer));
    *count = b->arguments->counts[(*given)++];
    return VYRE_OK;
}

/* Converts bindings for the resolver: ranges become spans with a size and no contents. */
static vyre_status resolve(vy_resource_dispatch *b, vyre_bytes *image, vyre_error *error) {
    static const unsigned char somewhere;
    vyre_arguments arguments = *b->arguments;
    vyre_span inputs[VY_LIMIT_BUFFERS];
    uint64_t counts[VY_LIMIT_BUFFERS];
    vyre_status status = VYRE_OK;
    size_t given = 0;
    int is_left = 0; /* the device reads the grid */
    uint32_t grid = vy_resource_dispatch_is_indirect(b->program, b->arguments)
                        ? b->program->grid.memory - vy_program_entry(b->program)->first_memory
                        : VY_NONE;
    arguments.inputs = inputs, arguments.input_count = 0;
    arguments.counts = counts, arguments.count_count = 0;
    for (uint32_t i = 0; status == VYRE_OK && i < b->program->buffer_count; i++) {
        const vyre_resource *bound = &b->native[i];
        const vy_memory *buffer = buffer_at(b, i);
        int is_resident = bound->kind == VYRE_RESOURCE_RESIDENT;
        uint64_t element = element_size(buffer);
        if (buffer->access != VYRE_ACCESS_WRITE) {
            vyre_span *input = &inputs[arguments.input_count++];
            *input = is_resident ? (vyre_span){&somewhere, (size_t)bound->size} : bound->host;
            if (i != grid || !is_resident)
                continue;
            is_left =
                vy_resource_dispatch_has_device_grid(b->backend, b->program) && bound->size >= grid_end(b->program);
            if (!is_left)
                status = fetch_grid(b, input, i, image, error);
        } else if (is_resident && (bound->size & (element - 1))) {
            status = vy_fail(error, VYRE_INVALID_ARGUMENT,
                             VY_FIX("bind a multiple of %" PRIu64 " bytes to `%s`", element, name_of(b, buffer)),
                             "the range bound to `%s` has %" PRIu64 " bytes, not a whole number of elements",
                             name_of(b, buffer), bound->size);
        } else if (buffer->size == VY_NONE) {
            status = open_count(b, i, buffer, &given, &counts[arguments.count_count++], error);
        }
    }
    if (is_left) /* a valid grid, for all checks that do not depend on it */
        arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {1, 1, 1}};
    if (status == VYRE_OK)
        status = vy_resolve_dispatch(b->program, &arguments, &b->launch, error);
    if (status == VYRE_OK && is_left)
        b->launch.grid_buffer = grid + 1, b->launch.invocations = UINT64_MAX;
    return status;
}

/* The resolver computes the counts of `write` buffers from the program; the ranges must match. */
static vyre_status check_counts(const vy_resource_dispatch *b, vyre_error *error) {
    for (uint32_t i = 0; i < b->program->buffer_count; i++)
        if (b->native[i].kind == VYRE_RESOURCE_RESIDENT && b->launch.buffers[i].bytes != b->native[i].size)
            return vy_fail(error, VYRE_INVALID_ARGUMENT,
                           VY_FIX("bind exactly %" PRIu64 " bytes to `%s`", b->launch.buffers[i].bytes,
                                  name_of(b, buffer_at(b, i))),
                           "the range bound to `%s` has %" PRIu64 " bytes, the program states %" PRIu64,
                           name_of(b, buffer_at(b, i)), b->native[i].size, b->launch.buffers[i].bytes);
    return VYRE_OK;
}

/* The general case: everything that vy_resolve_dispatch_fast does not handle. */
static vyre_status resolve_general(vy_resource_dispatch *b, vyre_error *error) {
    vyre_bytes image = VYRE_BYTES_INIT;
    vyre_status status = resolve(b, &image, error);
    vyre_bytes_free(&image);
    return status == VYRE_OK ? check_counts(b, error) : status;
}

static vyre_status resolve_and_check(vy_resource_dispatch *b, size_t count, vyre_error *error) {
    vyre_status status = VYRE_OK;
    if (b->use_count != count || !vy_resolve_dispatch_fast(b->program, b->arguments, &b->launch))
        status = resolve_general(b, error);
    return status == VYRE_OK ? vy_dispatch_check_limits(b->backend, b->program, &b->launch, b->config, error) : status;
}

/* Whether all bindings are resident ranges of these sizes, which then determine the launch. */
static int have_sizes(const vy_resource_dispatch *b, const uint64_t *sizes) {
    for (uint32_t i = 0; i < b->program->buffer_count; i++)
        if (b->native[i].kind != VYRE_RESOURCE_RESIDENT || b->native[i].size != sizes[i])
            return 0;
    return !vy_resource_dispatch_is_indirect(b->program, b->arguments);
}

/* sizes: those of a previous resolve with the same arguments, or NULL. */
static vyre_status bind_and_resolve(vy_resource_dispatch *b, const vyre_resource *bindings, size_t count,
                                    const uint64_t *sizes, vyre_error *error) {
    vy_span span = vy_span_begin();
    vy_error_clear(error);
    vyre_status status = bind_all(b, bindings, count, error);
    if (status == VYRE_OK)
        status = check_overlaps(b, error);
    if (status == VYRE_OK && b->known)
        status = check_aliasing(b, error);
    if (status == VYRE_OK && (!sizes || !have_sizes(b, sizes)))
        status = resolve_and_check(b, count, error);
    if (status != VYRE_OK)
        vy_resource_dispatch_unpin(b);
    vy_span_end(span, resolve, .program = vyre_program_name(b->program), .status = status);
    return status;
}

vyre_status vy_resource_dispatch_resolve(vy_resource_dispatch *b, const vyre_resource *bindings, size_t count,
                                         vyre_error *error) {
    return bind_and_resolve(b, bindings, count, NULL, error);
}

vyre_status vy_resource_dispatch_resolve_next(vy_resource_dispatch *b, const vyre_resource *bindings, size_t count,
                                              vyre_error *error) {
    uint64_t sizes[VY_LIMIT_BUFFERS];
    for (uint32_t i = 0; i < b->program->buffer_count; i++)
        sizes[i] = b->native[i].kind == VYRE_RESOURCE_RESIDENT ? b->native[i].size : UINT64_MAX;
    return bind_and_resolve(b, bindings, count, sizes, error);
}

void vy_resource_dispatch_unpin(vy_resource_dispatch *b) {
    if (b->use_count)
        vy_resident_unpin(b->backend, b->uses, b->use_count);
    b->use_count = 0;
}

/* ---- running ---- */

/* Host outputs of an empty grid: the inputs, or zeros. */
static vyre_status deliver_empty(vy_resource_dispatch *b, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vy_output_slots slots;
    if (b->timing)
        memset(b->timing, 0, sizeof *b->timing);
    if (!b->outputs)
        return VYRE_OK;
    vy_output_slots_start(&slots, vyre_program_output_count(b->program));
    for (uint32_t i = 0; i < b->program->buffer_count && status == VYRE_OK; i++) {
        const vy_resolved_buffer *buffer = &b->launch.buffers[i];
        if (buffer->output == VY_NONE || b->native[i].kind == VYRE_RESOURCE_RESIDENT)
            continue;
        status = vyre_bytes_resize(&slots.items[buffer->output], (size_t)buffer->bytes, error);
        if (status == VYRE_OK && buffer->data && buffer->bytes)
            memcpy(slots.items[buffer->output].data, buffer->data, (size_t)buffer->bytes);
    }
    if (status == VYRE_OK)
        vy_outputs_deliver(b->outputs, &slots.outputs);
    vy_output_slots_end(&slots);
    return status;
}

/* On a worker thread, which keeps the pins as long as necessary. */
static vyre_status run_with_watchdog(vy_resource_dispatch *b, vy_call *call, vyre_error *error) {
    size_t count = b->outputs ? vyre_program_output_count(b->program) : 0;
    vy_output_slots slots;
    vy_output_slots_start(&slots, count);
    call->outputs = b->outputs ? &slots.outputs : NULL;
    vyre_status status = vy_call_run_with_watchdog(call, &b->launch, b->uses, b->use_count, error);
    b->use_count = 0;
    if (status == VYRE_OK && b->outputs)
        vy_outputs_deliver(b->outputs, &slots.outputs);
    vy_output_slots_end(&slots);
    return status;
}

static vyre_status run_in_place(vy_resource_dispatch *b, vy_call *call, vyre_error *error) {
    size_t capacities[VY_LIMIT_BUFFERS], count = vyre_program_output_count(b->program);
    vyre_outputs view;
    if (!b->outputs)
        return vy_call_run(call, error);
    vy_outputs_expose(b->outputs, count, &view, capacities);
    call->outputs = &view;
    vyre_status status = vy_call_run(call, error);
    if (status == VYRE_OK)
        status = vy_outputs_check_resources(b->backend, &view, b->outputs->items, count, b->program, &b->launch,
                                            b->native, error);
    vy_outputs_reclaim(b->outputs, count, status == VYRE_OK, capacities);
    return status;
}

static uint64_t host_bytes(const vy_resource_dispatch *b) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < b->program->buffer_count; i++)
        bytes += b->native[i].host.size;
    return bytes;
}

/* Selects the pipeline's executable if it can run the dispatch, else the backend itself; in stages if one launch does
 * not suffice. */
static vyre_status select_dispatch_table(vy_resource_dispatch *b, int may_cooperate, vy_call *call, vyre_error *error) {
    vy_multi_launch_tables staged[2] = {{NULL, NULL}, {NULL, NULL}};
    vyre_status status = VYRE_OK;
    vy_stop_condition stop = {b->deadline_ns || b->config->cancel, b->deadline_ns};
    if (may_cooperate)
        vy_call_try_cooperative(call, b->pipeline, b->program, &b->launch, stop);
    if (b->pipeline && !call->cooperative)
        status = vy_pipeline_select(b->pipeline, &b->launch, stop, call, staged, error);
    if (status == VYRE_OK)
        status = vy_dispatch_check_expired(b->program, b->deadline_ns, b->config->cancel, error);
    if (status == VYRE_OK)
        status = vy_call_prepare(call, b->program, &b->launch, staged, error);
    if (status != VYRE_OK)
        vy_call_cleanup(call);
    return status;
}

/* may_cooperate: grid barriers may run inside one launch. *is_refused: the backend refused that, and nothing ran. */
static vyre_status try_to_run(vy_resource_dispatch *b, int may_cooperate, int *is_refused, vyre_error *error) {
    vyre_scalar params[VY_LIMIT_PARAMS];
    uint64_t elements[VY_LIMIT_BUFFERS];
    vyre_trap trap = {0, 0};
    vy_call call;
    vy_call_describe(&call, b->backend, &b->backend->dispatch_table, b->form);
    call.bindings = b->native, call.binding_count = b->program->buffer_count;
    call.timing = b->timing;
    vyre_status status = select_dispatch_table(b, may_cooperate, &call, error);
    if (status != VYRE_OK)
        return status;
    vy_dispatch_make_launch(b->program, b->arguments, &b->launch, b->config, params, elements, &trap, &call.launch);
    call.launch.deadline_ns = b->deadline_ns, call.launch.cancel = b->config->cancel;
    uint64_t bytes = b->use_count < b->program->buffer_count ? host_bytes(b) : 0;
    if (bytes && may_cooperate) /* once */
        vy_count(VY_COUNTER_input_bytes, bytes);
    status = vy_dispatch_needs_watchdog(b->backend, &call.launch) ? run_with_watchdog(b, &call, error)
                                                                  : run_in_place(b, &call, error);
    *is_refused = call.cooperative && status == VYRE_LIMIT;
    if (call.cooperative && !*is_refused)
        vy_count(VY_COUNTER_grid_syncs, 1);
    vy_call_cleanup(&call);
    if (*is_refused)
        return status;
    status = vy_dispatch_finish(b->backend, status, &b->launch, &trap, error);
    if (status == VYRE_TRAPPED && b->trap)
        *b->trap = trap;
    return status;
}

static vyre_status run(vy_resource_dispatch *b, vyre_error *error) {
    int is_refused = 0;
    vyre_status status = try_to_run(b, 1, &is_refused, error);
    return is_refused ? try_to_run(b, 0, &is_refused, error) : status;
}

vyre_status vy_resource_dispatch_run(vy_resource_dispatch *b, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vy_span span = vy_span_begin();
    vy_resource_dispatch_start_clock(b);
    if (b->form == VY_FORM_PERSISTENT)
        status = vy_outputs_reserve(b->outputs, vyre_program_output_count(b->program), error);
    if (status == VYRE_OK)
        status = b->launch.group_count ? run(b, error) : deliver_empty(b, error);
    vy_resource_dispatch_unpin(b);
    vy_span_end(span, dispatch, .label = b->config->label, .program = vyre_program_name(b->program),
                .backend = b->backend->id, .status = status);
    return status;
}

vyre_status vy_resource_dispatch_dispatch(vy_resource_dispatch *b, const vyre_resource *bindings, size_t count,
                                          vyre_error *error) {
    vyre_status status;
    if (vy_resource_dispatch_run_slot(b, bindings, count, &status, error))
        return status;
    status = vy_backend_enter(b->backend, error);
    if (status != VYRE_OK)
        return status;
    if (!vy_resource_dispatch_run_pinned(b, bindings, count, &status, error)) {
        status = vy_resource_dispatch_resolve(b, bindings, count, error);
        if (status == VYRE_OK)
            status = vy_resource_dispatch_run(b, error);
    }
    vy_backend_leave(b->backend);
    return status;
}

/* Dispatches on the backend itself or, if it only compiles, through the program's implicit pipeline. */
static vyre_status dispatch_program(vy_resource_dispatch *b, const vyre_resource *bindings, size_t count,
                                    vyre_error *error) {
    vy_output_slots slots; /* large: not cleared */
    vyre_status status = vy_pipeline_implicit(b->backend, b->program, &b->pipeline, error);
    if (status == VYRE_OK && !b->pipeline && !b->backend->calls.dispatch_resident)
        status = vy_backend_unsupported(b->backend, "resident timed dispatch", error);
    if (status != VYRE_OK)
        return status;
    int is_persistent =
        b->pipeline && count == b->program->buffer_count && vy_resource_dispatch_are_resident(bindings, count);
    /* pipelines have a fast path for this; all outputs stay on the device, so the slots stay empty */
    if (is_persistent) {
        vy_output_slots_start(&slots, vyre_program_output_count(b->program));
        b->form = VY_FORM_PERSISTENT, b->outputs = &slots.outputs;
    }
    status = vy_resource_dispatch_dispatch(b, bindings, count, error);
    if (is_persistent)
        vy_output_slots_end(&slots);
    vyre_pipeline_release(b->pipeline);
    return vy_dispatch_label_error(status, b->config, error);
}

vyre_status vyre_backend_dispatch_resident(vyre_backend *backend, vyre_program *program, const vyre_resource *bindings,
                                           size_t binding_count, const vyre_arguments *arguments,
                                           const vyre_dispatch_config *config, vyre_timing *timing, vyre_trap *trap,
                                           vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, program);
    VY_REQUIRE_ARRAY(error, bindings, binding_count);
    vyre_error own;
    vyre_error *e = error ? error : &own;
    vyre_timing measured;
    vy_resource_dispatch b;
    vyre_program *resolved;
    vyre_status status = vy_backend_resolve(backend, program, &resolved, e);
    if (status == VYRE_OK) {
        vy_resource_dispatch_describe(&b, backend, resolved, arguments, config);
        b.timing = timing ? &measured : NULL, b.trap = trap;
        status = dispatch_program(&b, bindings, binding_count, e);
    }
    vyre_program_release(resolved);
    if (status == VYRE_OK && timing)
        *timing = measured;
    return status;
}
