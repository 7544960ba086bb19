/* Dispatch from host memory: resolve arguments, check limits, call the backend, check and deliver outputs (dispatch.h).
 *
 * A backend may resize the output slots and change nothing else. Other changes to the struct are undone: the library
 * owns the storage and can free it, whatever the struct contains afterwards. */
#include "driver/dispatch.h"

#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "dialect/load.h"
#include "driver/op_code.h"
#include "driver/pipeline.h"
#include "driver/telemetry.h"
#include "ir/eval.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- output slots ---- */

void vy_output_slots_start(vy_output_slots *slots, size_t count) {
    slots->count = count;
    memset(slots->items, 0, count * sizeof *slots->items);
    slots->outputs = (vyre_outputs){slots->items, count, count};
}

int vy_bytes_are_valid(const vyre_bytes *bytes) {
    return bytes->capacity >= bytes->size && (bytes->data || !bytes->capacity);
}

void vy_output_slots_end(vy_output_slots *slots) {
    for (size_t i = 0; i < slots->count; i++)
        if (vy_bytes_are_valid(&slots->items[i]))
            vyre_bytes_free(&slots->items[i]);
}

void vy_outputs_sanitize(vyre_outputs *outputs) {
    for (size_t i = 0; i < outputs->capacity; i++)
        if (!vy_bytes_are_valid(&outputs->items[i]))
            outputs->items[i] = (vyre_bytes)VYRE_BYTES_INIT;
}

vyre_status vy_outputs_check_resources(vyre_backend *backend, const vyre_outputs *outputs, const vyre_bytes *items,
                                       size_t expected, const vyre_program *program, const vy_resolved_dispatch *launch,
                                       const vyre_resource *bindings, vyre_error *error) {
    if (outputs->count != expected)
        return vy_backend_violation(backend, error, "it returned %zu outputs for a program with %zu", outputs->count,
                                    expected);
    if (outputs->items != items)
        return vy_backend_violation(backend, error, "it replaced the list of outputs");
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const vy_resolved_buffer *buffer = &launch->buffers[i];
        uint64_t bytes = bindings && bindings[i].kind == VYRE_RESOURCE_RESIDENT ? 0 : buffer->bytes;
        if (buffer->output == VY_NONE)
            continue;
        if (!vy_bytes_are_valid(&items[buffer->output]))
            return vy_backend_violation(backend, error, "output %" PRIu32 " has no memory for its bytes",
                                        buffer->output);
        if (items[buffer->output].size != bytes)
            return vy_backend_violation(backend, error, "output %" PRIu32 " has %zu bytes instead of %" PRIu64,
                                        buffer->output, items[buffer->output].size, bytes);
    }
    return VYRE_OK;
}

vyre_status vy_outputs_check(vyre_backend *backend, const vyre_outputs *outputs, const vyre_bytes *items,
                             size_t expected, const vyre_program *program, const vy_resolved_dispatch *launch,
                             vyre_error *error) {
    return vy_outputs_check_resources(backend, outputs, items, expected, program, launch, NULL, error);
}

vyre_status vy_outputs_reserve(vyre_outputs *outputs, size_t count, vyre_error *error) {
    size_t used = outputs->capacity < count ? outputs->capacity : count;
    if (outputs->capacity && !outputs->items)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "start from VYRE_OUTPUTS_INIT",
                       "`outputs` has room for %zu slots at a NULL pointer", outputs->capacity);
    for (size_t i = 0; i < used; i++)
        if (!vy_bytes_are_valid(&outputs->items[i]))
            return vy_fail(error, VYRE_INVALID_ARGUMENT, "start every slot from VYRE_BYTES_INIT",
                           "slot %zu of `outputs` has %zu of %zu bytes%s", i, outputs->items[i].size,
                           outputs->items[i].capacity, outputs->items[i].data ? "" : " at a NULL pointer");
    if (used == count)
        return VYRE_OK;
    vyre_bytes *items = vy_resize(outputs->items, outputs->capacity * sizeof *items, count * sizeof *items);
    if (!items)
        return vy_fail_memory(error, "making room for the outputs");
    memset(items + outputs->capacity, 0, (count - outputs->capacity) * sizeof *items);
    outputs->items = items;
    outputs->capacity = count;
    return VYRE_OK;
}

/* Returns the counter to increment. */
static vy_counter deliver_slot(vyre_bytes *slot, vyre_bytes *fresh, int is_new, int may_exchange) {
    int is_better = may_exchange && fresh->size >= VY_BUFFER_RECYCLER_MIN_BYTES && fresh->capacity >= slot->capacity;
    if (fresh->size <= slot->capacity && !is_better) {
        if (fresh->size)
            memcpy(slot->data, fresh->data, fresh->size);
        slot->size = fresh->size;
        return is_new ? VY_COUNTER_slots_appended : VY_COUNTER_slots_reused;
    }
    vyre_bytes old = *slot;
    *slot = *fresh;
    *fresh = old;
    return is_new ? VY_COUNTER_slots_appended : VY_COUNTER_slots_moved;
}

static void count_nonzero(vy_counter counter, uint64_t amount) {
    if (amount)
        vy_count(counter, amount);
}

static void deliver_all(vyre_outputs *outputs, vyre_outputs *fresh, int may_exchange) {
    enum { FIRST = VY_COUNTER_slots_reused, FATES = VY_COUNTER_slots_appended - FIRST + 1 };
    uint64_t done[FATES] = {0}, bytes = 0;
    vy_span span = vy_span_begin();
    for (size_t i = 0; i < fresh->count; i++) {
        done[deliver_slot(&outputs->items[i], &fresh->items[i], i >= outputs->count, may_exchange) - FIRST]++;
        bytes += outputs->items[i].size;
    }
    outputs->count = fresh->count;
    for (int i = 0; i < FATES; i++)
        count_nonzero((vy_counter)(FIRST + i), done[i]);
    count_nonzero(VY_COUNTER_output_bytes, bytes);
    vy_span_end(span, deliver, .bytes = bytes, .count = fresh->count);
}

void vy_outputs_deliver(vyre_outputs *outputs, vyre_outputs *fresh) {
    deliver_all(outputs, fresh, 0);
}

void vy_outputs_deliver_swapping(vyre_outputs *outputs, vyre_outputs *fresh) {
    deliver_all(outputs, fresh, 1);
}

void vy_outputs_swap(vyre_outputs *outputs, vyre_outputs *fresh) {
    for (size_t i = 0; i < fresh->count; i++) {
        vyre_bytes old = outputs->items[i];
        outputs->items[i] = fresh->items[i];
        fresh->items[i] = old;
    }
    outputs->count = fresh->count;
}

void vy_outputs_reclaim(vyre_outputs *outputs, size_t lent, int went_well, const size_t *capacities) {
    uint64_t reused = 0, bytes = 0;
    size_t before = outputs->count < lent ? outputs->count : lent;
    vy_outputs_sanitize(outputs);
    outputs->count = went_well ? lent : 0;
    if (!outputs->count)
        return;
    for (size_t i = 0; i < lent; i++) {
        reused += i < before && outputs->items[i].capacity == capacities[i];
        bytes += outputs->items[i].size;
    }
    count_nonzero(VY_COUNTER_slots_reused, reused);
    count_nonzero(VY_COUNTER_slots_moved, before - reused);
    count_nonzero(VY_COUNTER_slots_appended, lent - before);
    count_nonzero(VY_COUNTER_output_bytes, bytes);
}

void vyre_outputs_free(vyre_outputs *outputs) {
    if (!outputs)
        return;
    for (size_t i = 0; outputs->items && i < outputs->capacity; i++)
        vyre_bytes_free(&outputs->items[i]);
    vy_release(outputs->items, outputs->capacity * sizeof *outputs->items);
    *outputs = (vyre_outputs)VYRE_OUTPUTS_INIT;
}

/* ---- limits ---- */

int vy_dispatch_program_fits(const vyre_backend *backend, const vyre_program *program) {
    const uint32_t *size = program->workgroup;
    return program->level == VYRE_LEVEL_SOURCE && !vy_backend_missing_op(backend, program) &&
           size[0] <= vy_backend_limit(backend, VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X) &&
           size[1] <= vy_backend_limit(backend, VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Y) &&
           size[2] <= vy_backend_limit(backend, VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Z) &&
           (uint64_t)size[0] * size[1] * size[2] <= vy_backend_limit(backend, VYRE_CAPABILITY_MAX_INVOCATIONS);
}

vyre_status vy_dispatch_check_program(const vyre_backend *backend, const vyre_program *program, vyre_error *error) {
    static const char axes[] = "xyz";
    const uint32_t *size = program->workgroup;
    if (vy_dispatch_program_fits(backend, program))
        return VYRE_OK;
    /* Its accesses are unguarded: only the compiler that produced it has proved them in bounds. */
    if (program->level != VYRE_LEVEL_SOURCE)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "dispatch the source-level program from which it was made",
                       "`%s` is at level legal, which is internal to the library", vyre_program_name(program));
    const char *missing = vy_backend_missing_op(backend, program);
    if (missing) {
        vy_fail(
            error, VYRE_UNSUPPORTED,
            VY_FIX("choose a backend that lists `%s` in its supported ops, or write the program without it", missing),
            "backend `%s` does not run `%s`, which program `%s` uses", backend->id, missing,
            vyre_program_name(program));
        (void)vy_fail_parts(error, missing, backend->id, vyre_program_name(program));
        return VYRE_UNSUPPORTED;
    }
    for (int d = 0; d < 3; d++) {
        uint64_t most = vy_backend_limit(backend, (vyre_capability)(VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X + d));
        if (size[d] > most)
            return vy_fail(error, VYRE_LIMIT,
                           VY_FIX("lower `workgroup` to %" PRIu64 " in %c, or choose another backend", most, axes[d]),
                           "the workgroup size in %c (%" PRIu32 ") exceeds the limit of backend `%s` (%" PRIu64 ")",
                           axes[d], size[d], backend->id, most);
    }
    uint64_t most = vy_backend_limit(backend, VYRE_CAPABILITY_MAX_INVOCATIONS),
             count = (uint64_t)size[0] * size[1] * size[2];
    if (count > most)
        return vy_fail(error, VYRE_LIMIT, VY_FIX("lower `workgroup` to %" PRIu64 " invocations in all", most),
                       "a workgroup of %" PRIu64 " invocations exceeds the limit of backend `%s` (%" PRIu64 ")", count,
                       backend->id, most);
    return VYRE_OK;
}

static vyre_status check_bytes(vyre_backend *backend, const vyre_program *program, const vy_resolved_dispatch *launch,
                               const vyre_dispatch_config *config, vyre_error *error) {
    uint64_t most = vy_backend_limit(backend, VYRE_CAPABILITY_MAX_STORAGE_BYTES), outputs = 0;
    if (!most)
        most = UINT64_MAX;
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const vy_resolved_buffer *buffer = &launch->buffers[i];
        vyre_buffer_info info;
        if (buffer->bytes > most && vyre_program_buffer(program, i, &info))
            return vy_fail(error, VYRE_LIMIT, "bind smaller ranges, or split the work into several dispatches",
                           "buffer `%s` has %" PRIu64 " bytes, which exceeds the limit of backend `%s` (%" PRIu64 ")",
                           info.name, buffer->bytes, backend->id, most);
        if (buffer->output != VY_NONE)
            outputs += buffer->bytes; /* 255 buffers of 2^35 bytes at most */
    }
    if (config->max_output_bytes && outputs > config->max_output_bytes)
        return vy_fail(error, VYRE_LIMIT, "raise max_output_bytes, or reduce the outputs",
                       "the outputs have %" PRIu64 " bytes, which exceeds max_output_bytes (%" PRIu64 ")", outputs,
                       config->max_output_bytes);
    return VYRE_OK;
}

vyre_status vy_dispatch_check_limits(vyre_backend *backend, const vyre_program *program,
                                     const vy_resolved_dispatch *launch, const vyre_dispatch_config *config,
                                     vyre_error *error) {
    vyre_status status = vy_dispatch_check_program(backend, program, error);
    return status == VYRE_OK ? check_bytes(backend, program, launch, config, error) : status;
}

/* ---- the launch ---- */

void vy_dispatch_make_launch(vyre_program *program, const vyre_arguments *arguments, const vy_resolved_dispatch *launch,
                             const vyre_dispatch_config *config, vyre_scalar *params, uint64_t *elements,
                             vyre_trap *trap, vyre_launch *out) {
    for (uint32_t i = 0; i < program->param_count; i++)
        params[i] = (vyre_scalar){arguments->params[i].type, launch->params[i]};
    for (uint32_t i = 0; i < program->buffer_count; i++)
        elements[i] = launch->buffers[i].count;
    vy_dispatch_fill_launch(out, program, params, elements, launch->groups, config->label, trap);
    if (launch->grid_buffer) {
        memset(out->groups, 0, sizeof out->groups);
        out->grid_buffer = launch->grid_buffer, out->grid_offset = program->grid.offset;
    }
}

uint64_t vy_dispatch_deadline(const vyre_dispatch_config *config) {
    uint64_t deadline = 0;
    if (config->timeout_ns && __builtin_add_overflow(vy_clock_now(), config->timeout_ns, &deadline))
        deadline = 0; /* overflow: no deadline */
    return deadline;
}

vyre_status vy_dispatch_check_expired(const vyre_program *program, uint64_t deadline_ns, const uint32_t *cancel,
                                      vyre_error *error) {
    if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED))
        return vy_fail(error, VYRE_CANCELLED, NULL, "`%s` was cancelled before it could start",
                       vyre_program_name(program));
    if (!deadline_ns || vy_clock_now() < deadline_ns)
        return VYRE_OK;
    vy_count(VY_COUNTER_timeouts, 1);
    return vy_fail(error, VYRE_TIMEOUT, "raise the deadline, which includes compiling, or compile before the dispatch",
                   "`%s` could not start before its deadline", vyre_program_name(program));
}

vyre_status vy_dispatch_fail_labelled(vyre_status status, const char *label, vyre_error *error) {
    char tag[sizeof error->where], before[sizeof error->where];
    if (!label || !*label || !error || status == VYRE_OK)
        return status;
    snprintf(tag, sizeof tag, "dispatch `%.200s`", label);
    if (strstr(error->where, tag))
        return status;
    memcpy(before, error->where, sizeof before);
    vy_fail_where(error, "%s%s%s", before, before[0] ? ", " : "", tag);
    return status;
}

int vy_dispatch_needs_watchdog(const vyre_backend *backend, const vyre_launch *launch) {
    return launch->deadline_ns && !vy_backend_keeps_deadlines(backend);
}

vyre_status vy_dispatch_finish_failed(vyre_backend *backend, vyre_status status, const vy_resolved_dispatch *launch,
                                      vyre_trap *trap, vyre_error *error) {
    if (status == VYRE_TRAPPED && trap->invocation >= launch->invocations)
        status = vy_backend_violation(backend, error, "it reported a trap in invocation %" PRIu64 " of %" PRIu64,
                                      trap->invocation, launch->invocations);
    vy_count(VY_COUNTER_dispatch_failures, 1);
    if (status == VYRE_TRAPPED)
        vy_count(VY_COUNTER_traps, 1);
    if (status == VYRE_TIMEOUT)
        vy_count(VY_COUNTER_timeouts, 1);
    return status;
}

/* ---- dispatch from host bytes ---- */

/* The result of an empty grid: a read_write buffer is unchanged, a `write` buffer is zero. */
static vyre_status deliver_empty(vy_dispatch *d, vyre_error *error) {
    vy_output_slots slots;
    vyre_status status = VYRE_OK;
    vy_output_slots_start(&slots, d->output_count);
    for (uint32_t i = 0; i < d->program->buffer_count && status == VYRE_OK; i++) {
        const vy_resolved_buffer *buffer = &d->launch.buffers[i];
        if (buffer->output == VY_NONE)
            continue;
        status = vyre_bytes_resize(&slots.items[buffer->output], (size_t)buffer->bytes, error);
        if (status == VYRE_OK && buffer->data)
            memcpy(slots.items[buffer->output].data, buffer->data, (size_t)buffer->bytes);
    }
    if (status == VYRE_OK)
        (d->is_held ? vy_outputs_swap : vy_outputs_deliver)(d->outputs, &slots.outputs);
    if (status == VYRE_OK && d->timing)
        memset(d->timing, 0, sizeof *d->timing);
    vy_output_slots_end(&slots);
    return status;
}

/* Runs directly in the caller's slots. The backend sees a copy of the struct, so the caller keeps its list. */
static vyre_status run_in_place(vy_dispatch *d, vy_call *call, vyre_error *error) {
    size_t capacities[VY_LIMIT_BUFFERS];
    vyre_outputs view;
    vy_outputs_expose(d->outputs, d->output_count, &view, capacities);
    call->outputs = &view;
    vyre_status status = vy_call_run(call, error);
    if (status == VYRE_OK)
        status = vy_outputs_check(d->backend, &view, d->outputs->items, d->output_count, d->program, &d->launch, error);
    call->outputs = NULL;
    vy_outputs_reclaim(d->outputs, d->output_count, status == VYRE_OK, capacities);
    return status;
}

static vyre_status run_in_fresh(vy_dispatch *d, vy_call *call, vyre_error *error) {
    vy_output_slots slots;
    vy_output_slots_start(&slots, d->output_count);
    call->outputs = &slots.outputs;
    vyre_status status;
    if (vy_dispatch_needs_watchdog(d->backend, &call->launch)) {
        status = vy_call_run_with_watchdog(call, &d->launch, NULL, 0, error);
    } else {
        status = vy_call_run(call, error);
        if (status == VYRE_OK)
            status = vy_outputs_check(d->backend, &slots.outputs, slots.items, d->output_count, d->program, &d->launch,
                                      error);
    }
    call->outputs = NULL;
    if (status == VYRE_OK)
        (d->is_held ? vy_outputs_swap : vy_outputs_deliver)(d->outputs, &slots.outputs);
    vy_output_slots_end(&slots);
    return status;
}

/* may_cooperate: grid barriers may run inside one launch. *is_refused: the backend refused that, and nothing ran. */
static vyre_status try_to_run(vy_dispatch *d, int may_cooperate, int *is_refused, vyre_error *error) {
    vyre_scalar params[VY_LIMIT_PARAMS];
    uint64_t elements[VY_LIMIT_BUFFERS];
    vyre_trap trap = {0, 0};
    vy_call call;
    vy_call_describe(&call, d->backend, d->dispatch_table, d->form);
    call.inputs = d->arguments->inputs, call.input_count = d->arguments->input_count;
    call.owned = d->owned, call.timing = d->timing;
    vy_multi_launch_tables staged[2] = {{NULL, NULL}, {NULL, NULL}};
    vyre_status status = VYRE_OK;
    vy_stop_condition stop = {d->deadline_ns || d->cancel, d->deadline_ns};
    if (may_cooperate)
        vy_call_try_cooperative(&call, d->pipeline, d->program, &d->launch, stop);
    if (d->pipeline && !call.cooperative)
        status = vy_pipeline_select(d->pipeline, &d->launch, stop, &call, staged, error);
    if (status == VYRE_OK)
        status = vy_dispatch_check_expired(d->program, d->deadline_ns, d->cancel, error);
    if (status == VYRE_OK)
        status = vy_call_prepare(&call, d->program, &d->launch, staged, error);
    if (status != VYRE_OK) {
        vy_call_cleanup(&call);
        return status;
    }
    vy_dispatch_make_launch(d->program, d->arguments, &d->launch, d->config, params, elements, &trap, &call.launch);
    call.launch.cancel = d->cancel;
    call.launch.deadline_ns = d->deadline_ns;
    uint64_t bytes = 0;
    for (size_t i = 0; i < call.input_count; i++)
        bytes += call.inputs[i].size;
    if (bytes && may_cooperate) /* once */
        vy_count(VY_COUNTER_input_bytes, bytes);
    int in_place = d->form == VY_FORM_INTO && call.dispatch_table->dispatch_borrowed_into &&
                   !vy_dispatch_needs_watchdog(d->backend, &call.launch);
    status = in_place ? run_in_place(d, &call, error) : run_in_fresh(d, &call, error);
    *is_refused = call.cooperative && status == VYRE_LIMIT;
    if (call.cooperative && !*is_refused)
        vy_count(VY_COUNTER_grid_syncs, 1);
    vy_call_cleanup(&call);
    if (*is_refused)
        return status;
    status = vy_dispatch_finish(d->backend, status, &d->launch, &trap, error);
    if (status == VYRE_TRAPPED && d->trap)
        *d->trap = trap;
    return status;
}

static vyre_status run(vy_dispatch *d, vyre_error *error) {
    int is_refused = 0;
    vyre_status status = try_to_run(d, 1, &is_refused, error);
    return is_refused ? try_to_run(d, 0, &is_refused, error) : status;
}

vyre_status vy_dispatch_host_resolve(vy_dispatch *d, vyre_error *error) {
    static const vyre_dispatch_config defaults;
    static const vyre_arguments nothing;
    if (!d->config)
        d->config = &defaults;
    if (!d->arguments)
        d->arguments = &nothing;
    vy_span span = vy_span_begin();
    vyre_status status = vy_resolve_dispatch(d->program, d->arguments, &d->launch, error);
    if (status == VYRE_OK)
        status = vy_dispatch_check_limits(d->backend, d->program, &d->launch, d->config, error);
    vy_span_end(span, resolve, .program = vyre_program_name(d->program), .status = status);
    return status;
}

vyre_status vy_dispatch_host_run(vy_dispatch *d, vyre_error *error) {
    if (!d->deadline_ns)
        d->deadline_ns = vy_dispatch_deadline(d->config); /* from here on, so that compile time counts */
    d->output_count = vyre_program_output_count(d->program);
    vyre_status status = vy_outputs_reserve(d->outputs, d->output_count, error);
    if (status != VYRE_OK)
        return status;
    return d->launch.group_count ? run(d, error) : deliver_empty(d, error);
}

vyre_status vy_dispatch_host(vy_dispatch *d, vyre_error *error) {
    vyre_error own;
    vyre_error *e = error ? error : &own;
    vy_span span = vy_span_begin();
    vyre_status status = vy_dispatch_host_resolve(d, e);
    if (status == VYRE_OK)
        status = vy_backend_enter(d->backend, e);
    if (status == VYRE_OK) {
        status = vy_dispatch_host_run(d, e);
        vy_backend_leave(d->backend);
    }
    vy_span_end(span, dispatch, .label = d->config->label, .program = vyre_program_name(d->program),
                .backend = d->backend->id, .status = status);
    return vy_dispatch_label_error(status, d->config, e);
}

/* ---- public functions ---- */

void vy_dispatch_describe(vy_dispatch *d, vyre_backend *backend, vyre_program *program, const vyre_arguments *arguments,
                          const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_trap *trap) {
    d->backend = backend, d->dispatch_table = &backend->dispatch_table, d->pipeline = NULL, d->program = program;
    d->arguments = arguments, d->config = config, d->deadline_ns = 0, d->is_held = 0;
    d->cancel = config ? config->cancel : NULL;
    d->form = VY_FORM_BORROWED, d->owned = NULL, d->outputs = outputs, d->timing = NULL, d->trap = trap;
}

/* Dispatches on the backend itself or, if it only compiles, through the program's implicit pipeline. Ops of dialects
 * are resolved for this dispatch only. */
static vyre_status dispatch_program(vy_dispatch *d, vyre_error *error) {
    vyre_program *given = d->program, *resolved = NULL;
    vyre_status status = VYRE_OK;
    if (vy_backend_must_resolve(d->backend, given)) {
        status = vy_backend_resolve(d->backend, given, &resolved, error);
        d->program = resolved;
    }
    if (status == VYRE_OK)
        status = vy_pipeline_implicit(d->backend, d->program, &d->pipeline, error);
    if (status == VYRE_OK)
        status = vy_dispatch_host(d, error);
    vyre_pipeline_release(d->pipeline);
    d->program = given;
    vyre_program_release(resolved);
    return vy_dispatch_label_error(status, d->config, error);
}

vyre_status vyre_backend_dispatch(vyre_backend *backend, vyre_program *program, const vyre_arguments *arguments,
                                  const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_trap *trap,
                                  vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, program);
    VY_REQUIRE(error, outputs);
    vy_dispatch d;
    vy_dispatch_describe(&d, backend, program, arguments, config, outputs, trap);
    return dispatch_program(&d, error);
}

vyre_status vyre_backend_dispatch_timed(vyre_backend *backend, vyre_program *program, const vyre_arguments *arguments,
                                        const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_timing *timing,
                                        vyre_trap *trap, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, program);
    VY_REQUIRE(error, outputs);
    vyre_timing measured;
    vy_dispatch d;
    vy_dispatch_describe(&d, backend, program, arguments, config, outputs, trap);
    d.form = VY_FORM_TIMED;
    d.timing = &measured;
    vyre_status status = dispatch_program(&d, error);
    if (status == VYRE_OK && timing)
        *timing = measured;
    return status;
}

vyre_status vyre_backend_dispatch_into(vyre_backend *backend, vyre_program *program, const vyre_arguments *arguments,
                                       const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_trap *trap,
                                       vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, program);
    VY_REQUIRE(error, outputs);
    vy_dispatch d;
    vy_dispatch_describe(&d, backend, program, arguments, config, outputs, trap);
    d.form = VY_FORM_INTO;
    return dispatch_program(&d, error);
}

vyre_arguments vy_arguments_of_owned(const vyre_bytes *inputs, size_t count, const vyre_arguments *arguments,
                                     vyre_span *spans) {
    vyre_arguments given = {0};
    if (arguments)
        given = *arguments;
    for (size_t i = 0; inputs && i < count && i < VY_LIMIT_BUFFERS; i++)
        spans[i] = (vyre_span){inputs[i].data, inputs[i].size};
    given.inputs = inputs ? spans : NULL;
    given.input_count = count; /* a count over the limit is refused later */
    return given;
}

vyre_status vyre_backend_dispatch_owned(vyre_backend *backend, vyre_program *program, const vyre_bytes *inputs,
                                        size_t input_count, const vyre_arguments *arguments,
                                        const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_trap *trap,
                                        vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, program);
    VY_REQUIRE_ARRAY(error, inputs, input_count);
    VY_REQUIRE(error, outputs);
    vyre_span spans[VY_LIMIT_BUFFERS];
    vyre_arguments given = vy_arguments_of_owned(inputs, input_count, arguments, spans);
    vy_dispatch d;
    vy_dispatch_describe(&d, backend, program, &given, config, outputs, trap);
    d.form = VY_FORM_OWNED;
    d.owned = inputs;
    return dispatch_program(&d, error);
}

vyre_status vyre_backend_prepare(vyre_backend *backend, vyre_program *program, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, program);
    vyre_error own;
    vyre_error *e = error ? error : &own;
    vyre_program *resolved;
    vyre_status status = vy_backend_resolve(backend, program, &resolved, e);
    if (status == VYRE_OK)
        status = vy_backend_enter(backend, e);
    if (status == VYRE_OK) {
        status = vy_prepare(backend, resolved, e);
        if (status == VYRE_OK)
            status = vy_pipeline_prepare(backend, resolved, e);
        vy_backend_leave(backend);
    }
    vyre_program_release(resolved);
    return status;
}
