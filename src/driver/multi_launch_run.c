/* Running stages (multi_launch.h): each stage over the whole grid, in pieces if it has to be, then the next.
 *
 * A stage is a stretch between grid barriers: within it all pieces run, also behind one that trapped, as workgroups do; the trap ends the
 * dispatch at the end of the stage. Between two launches nothing runs, so that a deadline or cancellation seen there costs no device. */
#include "base/status.h"
#include "driver/multi_launch_internal.h"

#include <inttypes.h>
#include <stdio.h>

vyre_span vy_multi_launch_input(const vy_multi_launch_state *run, uint32_t buffer) {
    const vy_call *call = run->call;
    uint32_t input = call->resolved->buffers[buffer].input;
    if (input == VY_NONE)
        return (vyre_span){NULL, 0};
    return call->form == VY_FORM_OWNED ? (vyre_span){call->owned[input].data, call->owned[input].size}
                                       : call->inputs[input];
}

/* ---- one launch ---- */

/* The cancel word is the caller's, who is gone once the deadline has passed: look at the clock first. */
static vyre_status check_time(const vy_multi_launch_state *run, vyre_error *error) {
    const vyre_launch *launch = &run->call->launch;
    const vyre_backend *backend = run->call->backend;
    if (launch->deadline_ns && vy_clock_now() >= launch->deadline_ns)
        return vy_fail(error, VYRE_TIMEOUT, "raise the timeout or give the dispatch less work",
                       "`%s` on backend `%s` was not done at its deadline: it ended between two of its launches",
                       vyre_program_name(launch->program), backend->id);
    if (launch->cancel && __atomic_load_n(launch->cancel, __ATOMIC_RELAXED))
        return vy_fail(error, VYRE_CANCELLED, NULL, "`%s` on backend `%s` was cancelled between two of its launches",
                       vyre_program_name(launch->program), backend->id);
    if (atomic_load(&backend->is_lost))
        return vy_fail(error, VYRE_DEVICE_LOST, NULL, "the device of backend `%s` was lost between two launches",
                       backend->id);
    return VYRE_OK;
}

static void add_time(vyre_timing *sum, const vyre_timing *one) {
    sum->present &= one->present;
    sum->device_ns += one->device_ns;
    sum->enqueue_ns += one->enqueue_ns;
    sum->wait_ns += one->wait_ns;
}

static vyre_status record_trap(vy_multi_launch_state *run, const vy_grid_tiles *tile, const vyre_trap *trap,
                               vyre_error *error) {
    uint32_t size = run->call->resolved->group_size;
    uint64_t invocations = (uint64_t)tile->size[0] * tile->size[1] * tile->size[2] * size;
    if (trap->invocation >= invocations)
        return vy_backend_violation(run->call->backend, error,
                                    "invocation %" PRIu64 " of %" PRIu64 " is said to have trapped", trap->invocation,
                                    invocations);
    vyre_trap whole = {vy_grid_tile_invocation(tile, size, trap->invocation), trap->code};
    if (!run->is_trapped || whole.invocation < run->trap.invocation) {
        run->trap = whole;
        run->trapped_at[0] = '\0';
        if (error && error->code == VYRE_TRAPPED)
            snprintf(run->trapped_at, sizeof run->trapped_at, "%.*s", (int)sizeof error->where, error->where);
    }
    run->is_trapped = 1;
    return VYRE_OK;
}

static vyre_status launch_tile(vy_multi_launch_state *run, uint32_t stage, const vy_grid_tiles *tile,
                               uint32_t param_count, vyre_error *error) {
    const vy_call *whole = run->call;
    vyre_program *program = whole->stages->programs[stage];
    vyre_timing timing = {0};
    vyre_trap trap = {0, 0};
    vy_call call = {.backend = whole->backend,
                    .dispatch_table =
                        whole->stage_dispatch_tables ? &whole->stage_dispatch_tables[stage] : whole->dispatch_table,
                    .launch = whole->launch,
                    .timing = whole->timing ? &timing : NULL};
    call.launch.program = program;
    call.launch.params = run->params;
    call.launch.param_count = param_count;
    call.launch.elements = run->elements;
    call.launch.buffer_count = run->count;
    memcpy(call.launch.groups, tile->size, sizeof call.launch.groups);
    call.launch.trap = &trap;
    vyre_status status = check_time(run, error);
    if (status == VYRE_OK)
        status = vy_prepare(whole->backend, program, error);
    if (status != VYRE_OK)
        return status;
    vy_count(VY_COUNTER_split_launches, 1);
    if (error) { /* a backend may report a trap and fill in nothing */
        error->code = VYRE_OK;
        error->where[0] = '\0';
    }
    status = run->storage->launch(run, &call, error);
    add_time(&run->timing, &timing);
    return status == VYRE_TRAPPED ? record_trap(run, tile, &trap, error) : status;
}

/* ---- one stage, all stages ---- */

static vyre_status launch_grid(vy_multi_launch_state *run, uint32_t stage, uint32_t param_count, vyre_error *error) {
    const vy_call *call = run->call;
    int is_tiled = call->stages->is_tiled;
    uint64_t most = is_tiled ? vyre_backend_capability(call->backend, VYRE_CAPABILITY_MAX_WORKGROUPS) : UINT32_MAX;
    vy_grid_tiles tile = vy_grid_tiles_start(call->resolved->groups, most ? most : 1);
    vyre_status status;
    do {
        if (is_tiled)
            vy_grid_tile_params(&tile, run->params + param_count);
        status = launch_tile(run, stage, &tile, param_count + (is_tiled ? VY_GRID_TILE_PARAMS : 0), error);
    } while (status == VYRE_OK && vy_grid_tiles_next(&tile));
    if (status != VYRE_OK || !run->is_trapped)
        return status;
    *call->launch.trap = run->trap;
    status = vy_fail(error, VYRE_TRAPPED, NULL, "invocation %" PRIu64 " trapped with code %" PRIu32,
                     run->trap.invocation, run->trap.code);
    vy_fail_where(error, "%s", run->trapped_at);
    return status;
}

static vyre_status launch_split(vy_multi_launch_state *run, vyre_error *error) {
    const vy_split *split = run->call->stages->split;
    uint32_t declared = (uint32_t)run->call->launch.param_count, decision = 0;
    vy_split_cursor *cursor;
    vy_split_step step = {0};
    vyre_status status = vy_split_start(split, run->call->resolved, &cursor, error);
    while (status == VYRE_OK) {
        status = vy_split_next(cursor, decision, &step, error);
        if (status != VYRE_OK || step.is_done)
            break;
        for (uint32_t i = 0; i < split->param_count; i++)
            run->params[declared + i] = step.params[i];
        status = launch_grid(run, step.segment, declared + split->param_count, error);
        if (status == VYRE_OK && split->decision != VY_NONE)
            status = run->storage->read(run, run->declared + split->decision, &decision, error);
    }
    vy_split_free_cursor(cursor);
    return status;
}

/* ---- the call ---- */

static int has_resident_memory(const vy_call *call) {
    const vyre_backend_vtable *calls = &call->backend->calls;
    int is_complete = calls->resident_allocate && calls->resident_upload && calls->resident_download &&
                      calls->resident_free && vy_dispatch_table_is_resident(call->dispatch_table);
    for (uint32_t i = 0; is_complete && call->stage_dispatch_tables && i < call->stages->count; i++)
        is_complete = vy_dispatch_table_is_resident(&call->stage_dispatch_tables[i]);
    return is_complete;
}

static vyre_status measure(vy_multi_launch_state *run, vyre_error *error) {
    const vy_call *call = run->call;
    const vy_split *split = call->stages->split;
    run->declared = run->count = (uint32_t)call->launch.buffer_count;
    for (uint32_t i = 0; i < run->declared; i++) {
        run->elements[i] = call->launch.elements[i];
        run->bytes[i] = call->resolved->buffers[i].bytes;
    }
    memcpy(run->params, call->launch.params, call->launch.param_count * sizeof *run->params);
    if (!split)
        return VYRE_OK;
    run->count += split->buffer_count;
    for (uint32_t i = 0; i < split->buffer_count; i++)
        run->bytes[run->declared + i] = vyre_type_size(split->buffers[i].type);
    vyre_status status = vy_split_elements(split, call->resolved, run->elements + run->declared, error);
    for (uint32_t i = run->declared; status == VYRE_OK && i < run->count; i++)
        run->bytes[i] *= run->elements[i];
    return status;
}

static vyre_status run_all(vy_multi_launch_state *run, vyre_error *error) {
    const vy_call *call = run->call;
    vyre_status status = measure(run, error);
    if (status != VYRE_OK)
        return status;
    status = run->storage->start(run, error);
    if (status == VYRE_OK)
        status = call->stages->split ? launch_split(run, error)
                                     : launch_grid(run, 0, (uint32_t)call->launch.param_count, error);
    if (status == VYRE_OK)
        status = run->storage->deliver(run, error);
    run->storage->end(run);
    return status;
}

vyre_status vy_multi_launch_run(const vy_call *call, vyre_error *error) {
    uint64_t start = call->timing ? vy_clock_now() : 0;
    vy_multi_launch_state *run = vy_allocate(sizeof *run); /* large: not cleared as a whole */
    if (!run)
        return vy_fail_memory(error, "the stages of a dispatch");
    int is_resident = call->form == VY_FORM_RESIDENT || has_resident_memory(call);
    run->call = call;
    run->storage = is_resident ? &vy_multi_launch_resident : &vy_multi_launch_host;
    run->timing = (vyre_timing){.present = VYRE_TIMED_DEVICE | VYRE_TIMED_ENQUEUE | VYRE_TIMED_WAIT};
    run->is_trapped = 0;
    vyre_status status = run_all(run, error);
    if (call->timing) {
        *call->timing = run->timing;
        call->timing->wall_ns = vy_clock_now() - start;
    }
    vy_release(run, sizeof *run);
    return status;
}
