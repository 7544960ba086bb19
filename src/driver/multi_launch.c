/* Dispatches with grid barriers or large grids: one cooperative launch, or several launches (multi_launch.h).
 *
 * Each stage runs over the whole grid, in tiles if necessary, before the next stage starts. A stage is the code between
 * two grid barriers. All tiles of a stage run even if one of them traps, as workgroups do; the trap ends the dispatch
 * at the end of the stage. Nothing runs between two launches, so a deadline or cancellation detected there does not
 * lose the device.
 *
 * The launches share memory in one of two ways (stage_storage). On the device: the buffers of the call are used
 * directly, all others are temporary. Through the host: every launch receives all buffers and returns the buffers that
 * it writes. Two sets of memory alternate, so nothing is allocated after the second launch. */
#include "driver/multi_launch.h"

#include "base/status.h"
#include "driver/cache_disk.h"
#include "driver/dispatch.h"
#include "driver/pipeline.h"
#include "driver/telemetry.h"
#include "split/grid_split.h"
#include "split/grid_tile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct vy_multi_launch {
    _Atomic uint32_t references;
    vyre_digest fingerprint; /* of the original program */
    int is_tiled;            /* the programs have the params of split/grid_tile.h, after all others */
    vy_split *split;         /* NULL: no grid barrier, one stage */
    uint32_t count;
    vyre_program **programs;
};

typedef struct staged_run staged_run;

/* A way to share memory between launches. */
typedef struct stage_storage {
    /* Binds all buffers of the run: those of the call, and the hidden ones, zeroed. `end` frees them, also after a
     * failure. */
    vyre_status (*start)(staged_run *run, vyre_error *error);
    /* Runs a call that is complete except for form, inputs, outputs and bindings. */
    vyre_status (*launch)(staged_run *run, vy_call *call, vyre_error *error);
    /* The first element, a u32, of a hidden buffer. */
    vyre_status (*read)(staged_run *run, uint32_t buffer, uint32_t *out, vyre_error *error);
    /* Delivers the outputs of the call. */
    vyre_status (*deliver)(staged_run *run, vyre_error *error);
    void (*end)(staged_run *run);
} stage_storage;

/* State of one call in stages. Buffers: those of the program, then the hidden ones. All stages declare the same
 * buffers. */
struct staged_run {
    const vy_call *call;
    const stage_storage *storage;
    uint32_t declared, count; /* buffers of the program; including the hidden ones */
    uint64_t elements[VY_LIMIT_BUFFERS], bytes[VY_LIMIT_BUFFERS];
    vyre_scalar params[VY_LIMIT_PARAMS];
    /* sums over the launches; present: fields reported by every launch */
    vyre_timing timing;
    vyre_trap trap;                                  /* the first trap of the launches of a stage, in the whole grid */
    char trapped_at[sizeof((vyre_error *)0)->where]; /* its location; "" if the backend does not report it */
    int is_trapped;
    /* resident */
    vyre_resource bindings[VY_LIMIT_BUFFERS];
    vy_resident_use made[VY_LIMIT_BUFFERS]; /* temporaries */
    uint8_t is_temporary[VY_LIMIT_BUFFERS];
    /* host */
    vyre_span inputs[VY_LIMIT_BUFFERS];
    vyre_bytes contents[VY_LIMIT_BUFFERS]; /* of buffers that a stage has written */
    vy_output_slots slots;                 /* for the next launch; exchanged with `contents` */
    vy_resolved_dispatch check;            /* the expected outputs of a launch */
};

/* ---- creating stages ---- */

static void free_stages(vy_multi_launch *stages) {
    for (uint32_t i = 0; stages->programs && i < stages->count; i++)
        vyre_program_release(stages->programs[i]);
    vy_release(stages->programs, stages->count * sizeof *stages->programs);
    vy_split_free(stages->split);
    vy_release(stages, sizeof *stages);
}

static vyre_status split_stages(vy_multi_launch *stages, const vyre_program *program, vyre_error *error) {
    if (!(program->facts & VY_PROGRAM_HAS_GRID_BARRIER))
        return VYRE_OK;
    vyre_status status = vy_grid_split(program, &stages->split, error);
    if (status == VYRE_OK)
        vy_count(VY_COUNTER_splits, 1);
    return status;
}

static vyre_status fill_stages(vy_multi_launch *stages, const vyre_program *program, vyre_error *error) {
    vyre_status status = split_stages(stages, program, error);
    if (status != VYRE_OK)
        return status;
    uint32_t count = stages->split ? stages->split->segment_count : 1;
    stages->programs = vy_allocate_zero(vy_array_size(count, sizeof *stages->programs));
    if (!stages->programs)
        return vy_fail_memory(error, "the stages of a dispatch");
    stages->count = count;
    for (uint32_t i = 0; i < count && status == VYRE_OK; i++) {
        const vyre_program *part = stages->split ? stages->split->segments[i] : program;
        if (stages->is_tiled)
            status = vy_grid_tile(part, &stages->programs[i], error);
        else
            stages->programs[i] = vyre_program_retain(stages->split->segments[i]);
    }
    return status;
}

static vyre_status make_stages(const vyre_program *program, int is_tiled, vy_multi_launch **out, vyre_error *error) {
    vy_multi_launch *stages = vy_allocate_zero(sizeof *stages);
    *out = NULL;
    if (!stages)
        return vy_fail_memory(error, "the stages of a dispatch");
    atomic_init(&stages->references, 1);
    vyre_program_fingerprint(program, &stages->fingerprint);
    stages->is_tiled = is_tiled;
    vy_span span = vy_span_begin();
    vyre_status status = fill_stages(stages, program, error);
    vy_span_end(span, split, .program = vyre_program_name(program), .count = stages->count, .status = status);
    if (status == VYRE_OK)
        *out = stages;
    else
        free_stages(stages);
    return status;
}

/* ---- references ---- */

vy_multi_launch *vy_multi_launch_retain(vy_multi_launch *stages) {
    if (stages)
        atomic_fetch_add_explicit(&stages->references, 1, memory_order_relaxed);
    return stages;
}

void vy_multi_launch_release(vy_multi_launch *stages) {
    if (stages && atomic_fetch_sub_explicit(&stages->references, 1, memory_order_acq_rel) == 1)
        free_stages(stages);
}

uint32_t vy_multi_launch_count(const vy_multi_launch *stages) {
    return stages->count;
}

vyre_program *vy_multi_launch_program(const vy_multi_launch *stages, uint32_t index) {
    return stages->programs[index];
}

/* ---- the cache ---- */

void vy_multi_launch_cache_start(vy_multi_launch_cache *cache) {
    pthread_mutex_init(&cache->lock, NULL);
}

void vy_multi_launch_cache_end(vy_multi_launch_cache *cache) {
    for (int i = 0; i < VY_MULTI_LAUNCH_CACHE_SIZE; i++)
        vy_multi_launch_release(cache->items[i]);
    pthread_mutex_destroy(&cache->lock);
}

/* With the lock held: the item at `at` becomes the first. */
static void move_to_front(vy_multi_launch_cache *cache, int at, vy_multi_launch *item) {
    memmove(&cache->items[1], &cache->items[0], (size_t)at * sizeof *cache->items);
    cache->items[0] = item;
}

/* With the lock held. Returns a reference, or NULL. */
static vy_multi_launch *find_stages(vy_multi_launch_cache *cache, const vyre_digest *program, int is_tiled) {
    for (int i = 0; i < VY_MULTI_LAUNCH_CACHE_SIZE && cache->items[i]; i++) {
        vy_multi_launch *item = cache->items[i];
        if (item->is_tiled == is_tiled && memcmp(&item->fingerprint, program, sizeof *program) == 0) {
            move_to_front(cache, i, item);
            return vy_multi_launch_retain(item);
        }
    }
    return NULL;
}

vyre_status vy_multi_launch_get(vyre_backend *backend, const vyre_program *program, int is_tiled, vy_multi_launch **out,
                                vyre_error *error) {
    vy_multi_launch_cache *cache = &backend->stages;
    vyre_digest fingerprint;
    vyre_program_fingerprint(program, &fingerprint);
    pthread_mutex_lock(&cache->lock);
    *out = find_stages(cache, &fingerprint, is_tiled);
    pthread_mutex_unlock(&cache->lock);
    if (*out)
        return VYRE_OK;
    vyre_status status = make_stages(program, is_tiled, out, error);
    if (status != VYRE_OK)
        return status;
    /* Another thread may have created the same stages: keep the first. */
    pthread_mutex_lock(&cache->lock);
    vy_multi_launch *dropped, *other = find_stages(cache, &fingerprint, is_tiled);
    if (other) {
        dropped = *out;
        *out = other;
    } else {
        dropped = cache->items[VY_MULTI_LAUNCH_CACHE_SIZE - 1];
        move_to_front(cache, VY_MULTI_LAUNCH_CACHE_SIZE - 1, vy_multi_launch_retain(*out));
    }
    pthread_mutex_unlock(&cache->lock);
    vy_multi_launch_release(dropped);
    return VYRE_OK;
}

/* ---- calls ---- */

/* The hidden buffers must be within the device's limits, too. */
static vyre_status check_hidden(const vyre_backend *backend, const vy_multi_launch *stages, const vyre_program *program,
                                const vy_resolved_dispatch *launch, vyre_error *error) {
    uint64_t most = vyre_backend_capability(backend, VYRE_CAPABILITY_MAX_STORAGE_BYTES);
    uint64_t elements[VY_SPLIT_BUFFERS];
    if (!stages->split)
        return VYRE_OK;
    vyre_status status = vy_split_elements(stages->split, launch, elements, error);
    for (uint32_t i = 0; status == VYRE_OK && i < stages->split->buffer_count; i++) {
        uint64_t bytes = elements[i] * vyre_type_size(stages->split->buffers[i].type);
        if (most && bytes > most)
            status =
                vy_fail(error, VYRE_LIMIT, "dispatch fewer workgroups, or keep less alive over grid barriers",
                        "the grid barriers of `%s` keep %" PRIu64 " bytes of %s elements in one buffer for %" PRIu64
                        " workgroups, which exceeds the limit of backend `%s` (%" PRIu64 ")",
                        vyre_program_name(program), bytes, vyre_type_name(stages->split->buffers[i].type),
                        launch->group_count, backend->id, most);
    }
    return status;
}

vyre_status vy_call_prepare(vy_call *call, vyre_program *program, const vy_resolved_dispatch *resolved,
                            const vy_multi_launch_tables staged[2], vyre_error *error) {
    int is_tiled;
    vyre_status status = VYRE_OK;
    call->stages = NULL;
    call->stage_dispatch_tables = NULL;
    call->resolved = resolved;
    if (call->cooperative || !vy_multi_launch_needed(call->backend, program, resolved, &is_tiled))
        return call->executable ? vy_executable_prepare(call->executable, program, error)
                                : vy_prepare(call->backend, program, error);
    if (staged && staged[is_tiled].stages) {
        call->stages = vy_multi_launch_retain(staged[is_tiled].stages);
        call->stage_dispatch_tables = staged[is_tiled].dispatch_tables;
    } else {
        status = vy_multi_launch_get(call->backend, program, is_tiled, &call->stages, error);
    }
    if (status == VYRE_OK)
        status = check_hidden(call->backend, call->stages, program, resolved, error);
    if (status != VYRE_OK)
        vy_call_cleanup(call);
    return status;
}

void vy_call_cleanup(vy_call *call) {
    vy_multi_launch_release(call->stages);
    vy_executable_release(call->cooperative);
    call->stages = NULL;
    call->cooperative = NULL;
}

/* The host bytes of a buffer of the program; empty for a `write` buffer. */
static vyre_span input_of(const staged_run *run, uint32_t buffer) {
    const vy_call *call = run->call;
    uint32_t input = call->resolved->buffers[buffer].input;
    if (input == VY_NONE)
        return (vyre_span){NULL, 0};
    return call->form == VY_FORM_OWNED ? (vyre_span){call->owned[input].data, call->owned[input].size}
                                       : call->inputs[input];
}

/* ---- sharing memory on the device ---- */

static vyre_status create_temporary(staged_run *run, uint32_t buffer, vyre_error *error) {
    vy_resident_use *use = &run->made[buffer];
    vyre_status status = vy_temporary_buffer_create(run->call->backend, run->bytes[buffer], use, error);
    if (status != VYRE_OK)
        return status;
    run->is_temporary[buffer] = 1;
    run->bindings[buffer] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT,
                                            .resident = {run->call->backend->owner, use->native},
                                            .size = run->bytes[buffer]};
    vyre_span input = buffer < run->declared ? input_of(run, buffer) : (vyre_span){NULL, 0};
    return vy_temporary_buffer_upload(run->call->backend, use, input.data, input.size, error);
}

/* Entries needed in addition to the caller's buffers. A call from host bytes gets here only if the backend has all of
 * them. */
static vyre_status check_entries(const staged_run *run, vyre_error *error) {
    const vyre_backend *backend = run->call->backend;
    const vy_split *split = run->call->stages->split;
    if (run->count > run->declared && !backend->calls.resident_allocate)
        return vy_backend_unsupported(backend, "resident buffer allocation", error);
    if (run->count > run->declared && !backend->calls.resident_free)
        return vy_backend_unsupported(backend, "resident buffer free", error);
    if (split && split->decision != VY_NONE && !backend->calls.resident_download)
        return vy_backend_unsupported(backend, "resident buffer download", error);
    return VYRE_OK;
}

static vyre_status resident_start(staged_run *run, vyre_error *error) {
    const vy_call *call = run->call;
    vyre_status status = check_entries(run, error);
    memset(run->is_temporary, 0, run->count);
    for (uint32_t i = 0; i < run->count && status == VYRE_OK; i++) {
        if (i < run->declared && call->form == VY_FORM_RESIDENT)
            run->bindings[i] = call->bindings[i];
        else
            status = create_temporary(run, i, error);
    }
    return status;
}

static vyre_status resident_launch(staged_run *run, vy_call *call, vyre_error *error) {
    call->form = VY_FORM_RESIDENT;
    call->bindings = run->bindings;
    call->binding_count = run->count;
    return vy_call_run(call, error);
}

static vyre_status resident_read(staged_run *run, uint32_t buffer, uint32_t *out, vyre_error *error) {
    return vy_temporary_buffer_download(run->call->backend, &run->made[buffer], out, sizeof *out, error);
}

static vyre_status resident_deliver(staged_run *run, vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < run->declared && status == VYRE_OK; i++) {
        uint32_t output = run->call->resolved->buffers[i].output;
        if (output == VY_NONE || !run->is_temporary[i])
            continue;
        vyre_bytes *slot = &run->call->outputs->items[output];
        status = vyre_bytes_resize(slot, (size_t)run->bytes[i], error);
        if (status == VYRE_OK)
            status = vy_temporary_buffer_download(run->call->backend, &run->made[i], slot->data, run->bytes[i], error);
    }
    return status;
}

static void resident_end(staged_run *run) {
    for (uint32_t i = 0; i < run->count; i++)
        if (run->is_temporary[i])
            vy_temporary_buffer_destroy(run->call->backend, &run->made[i]);
}

/* In device buffers: uploaded once, downloaded once. */
static const stage_storage resident_storage = {resident_start, resident_launch, resident_read, resident_deliver,
                                               resident_end};

/* ---- sharing memory through the host ---- */

/* A stage reads every buffer (none is `write`). It writes the buffers that the program writes, and the hidden ones. */
static int is_written(const staged_run *run, uint32_t buffer) {
    return buffer >= run->declared || run->call->resolved->buffers[buffer].output != VY_NONE;
}

static vyre_status host_start(staged_run *run, vyre_error *error) {
    vyre_status status = VYRE_OK;
    uint32_t outputs = 0;
    memset(run->contents, 0, run->count * sizeof *run->contents);
    for (uint32_t i = 0; i < run->count; i++)
        run->check.buffers[i] = (vy_resolved_buffer){.count = run->elements[i],
                                                     .bytes = run->bytes[i],
                                                     .input = i,
                                                     .output = is_written(run, i) ? outputs++ : VY_NONE};
    vy_output_slots_start(&run->slots, outputs);
    for (uint32_t i = 0; i < run->count && status == VYRE_OK; i++) {
        int is_input = i < run->declared && run->call->resolved->buffers[i].input != VY_NONE;
        if (!is_input) /* zeros */
            status = vyre_bytes_resize(&run->contents[i], (size_t)run->bytes[i], error);
        run->inputs[i] = is_input ? input_of(run, i) : (vyre_span){run->contents[i].data, run->contents[i].size};
    }
    return status;
}

static void swap_bytes(vyre_bytes *a, vyre_bytes *b) {
    vyre_bytes kept = *a;
    *a = *b;
    *b = kept;
}

/* The outputs of a launch become the inputs of the next one. */
static void swap_written(staged_run *run) {
    for (uint32_t i = 0; i < run->count; i++) {
        uint32_t output = run->check.buffers[i].output;
        if (output == VY_NONE)
            continue;
        swap_bytes(&run->contents[i], &run->slots.items[output]);
        run->inputs[i] = (vyre_span){run->contents[i].data, run->contents[i].size};
    }
}

static vyre_status host_launch(staged_run *run, vy_call *call, vyre_error *error) {
    vy_output_slots *slots = &run->slots;
    slots->outputs = (vyre_outputs){slots->items, slots->count, slots->count};
    for (size_t i = 0; i < slots->count; i++)
        slots->items[i].size = 0;
    call->form = call->timing ? VY_FORM_TIMED : VY_FORM_INTO;
    call->inputs = run->inputs;
    call->input_count = run->count;
    call->outputs = &slots->outputs;
    vyre_status status = vy_call_run(call, error);
    if (status == VYRE_OK)
        status = vy_outputs_check(call->backend, &slots->outputs, slots->items, slots->count, call->launch.program,
                                  &run->check, error);
    slots->outputs = (vyre_outputs){slots->items, slots->count, slots->count};
    vy_outputs_sanitize(&slots->outputs);
    if (status == VYRE_OK)
        swap_written(run);
    return status;
}

static vyre_status host_read(staged_run *run, uint32_t buffer, uint32_t *out, vyre_error *error) {
    (void)error;
    memcpy(out, run->contents[buffer].data, sizeof *out);
    return VYRE_OK;
}

/* The caller's slots keep their memory if it suffices. */
static vyre_status host_deliver(staged_run *run, vyre_error *error) {
    (void)error;
    for (uint32_t i = 0; i < run->declared; i++) {
        uint32_t output = run->call->resolved->buffers[i].output;
        if (output == VY_NONE)
            continue;
        vyre_bytes *slot = &run->call->outputs->items[output];
        if (slot->capacity < run->bytes[i]) {
            swap_bytes(slot, &run->contents[i]);
        } else if (run->bytes[i]) {
            memcpy(slot->data, run->contents[i].data, (size_t)run->bytes[i]);
            slot->size = (size_t)run->bytes[i];
        }
    }
    return VYRE_OK;
}

static void host_end(staged_run *run) {
    for (uint32_t i = 0; i < run->count; i++)
        vyre_bytes_free(&run->contents[i]);
    vy_output_slots_end(&run->slots);
}

/* Through the host with every launch: for backends without resident memory. */
static const stage_storage host_storage = {host_start, host_launch, host_read, host_deliver, host_end};

/* ---- one launch ---- */

/* The cancel word belongs to the caller, which has returned once the deadline has passed: check the clock first. */
static vyre_status check_time(const staged_run *run, vyre_error *error) {
    const vyre_launch *launch = &run->call->launch;
    const vyre_backend *backend = run->call->backend;
    if (launch->deadline_ns && vy_clock_now() >= launch->deadline_ns)
        return vy_fail(
            error, VYRE_TIMEOUT, "raise the timeout or reduce the work of the dispatch",
            "`%s` on backend `%s` did not finish by its deadline: it was stopped between two of its launches",
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

static vyre_status record_trap(staged_run *run, const vy_grid_tiles *tile, const vyre_trap *trap, vyre_error *error) {
    uint32_t size = run->call->resolved->group_size;
    uint64_t invocations = (uint64_t)tile->size[0] * tile->size[1] * tile->size[2] * size;
    if (trap->invocation >= invocations)
        return vy_backend_violation(run->call->backend, error,
                                    "it reported a trap in invocation %" PRIu64 " of %" PRIu64, trap->invocation,
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

static vyre_status launch_tile(staged_run *run, uint32_t stage, const vy_grid_tiles *tile, uint32_t param_count,
                               vyre_error *error) {
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
    if (error) { /* a backend may report a trap without filling in the error */
        error->code = VYRE_OK;
        error->where[0] = '\0';
    }
    status = run->storage->launch(run, &call, error);
    add_time(&run->timing, &timing);
    return status == VYRE_TRAPPED ? record_trap(run, tile, &trap, error) : status;
}

/* ---- stages ---- */

static vyre_status launch_grid(staged_run *run, uint32_t stage, uint32_t param_count, vyre_error *error) {
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

static vyre_status launch_split(staged_run *run, vyre_error *error) {
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

static vyre_status measure(staged_run *run, vyre_error *error) {
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

static vyre_status run_all(staged_run *run, vyre_error *error) {
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
    staged_run *run = vy_allocate(sizeof *run); /* large: not cleared as a whole */
    if (!run)
        return vy_fail_memory(error, "the stages of a dispatch");
    int is_resident = call->form == VY_FORM_RESIDENT || has_resident_memory(call);
    run->call = call;
    run->storage = is_resident ? &resident_storage : &host_storage;
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

/* ---- cooperative launch ---- */

const char *vy_grid_sync_sentence(vy_grid_sync_reason reason) {
    static const char *const sentences[] = {
#define X(ID, sentence) sentence,
        VY_GRID_SYNC_LIST(X)
#undef X
    };
    return sentences[reason];
}

/* ---- refused programs ---- */

void vy_grid_sync_start(vy_grid_sync *sync) {
    pthread_mutex_init(&sync->lock, NULL);
}

void vy_grid_sync_end(vy_grid_sync *sync) {
    pthread_mutex_destroy(&sync->lock);
}

static int is_refused_program(vy_grid_sync *sync, const vyre_digest *program) {
    pthread_mutex_lock(&sync->lock);
    uint32_t count = sync->next < VY_GRID_REFUSALS ? sync->next : VY_GRID_REFUSALS, i = 0;
    while (i < count && memcmp(&sync->refused[i], program, sizeof *program) != 0)
        i++;
    pthread_mutex_unlock(&sync->lock);
    return i < count;
}

static void add_refusal(vy_grid_sync *sync, const vyre_digest *program) {
    pthread_mutex_lock(&sync->lock);
    sync->refused[sync->next % VY_GRID_REFUSALS] = *program;
    sync->next = sync->next + 1 < 2 * VY_GRID_REFUSALS ? sync->next + 1 : VY_GRID_REFUSALS;
    pthread_mutex_unlock(&sync->lock);
}

/* Whether the failure may not repeat. */
static int is_transient(vyre_status status) {
    return status == VYRE_NO_MEMORY || status == VYRE_NO_DEVICE_MEMORY || status == VYRE_DEVICE_LOST ||
           status == VYRE_TIMEOUT || vy_compile_forbidden();
}

/* ---- the executable ---- */

/* Returns a reference, or NULL. Without a cache in memory, every dispatch without a pipeline would compile. */
static vy_executable *find_executable(vyre_backend *backend, vyre_pipeline *pipeline, vyre_program *program,
                                      vy_stop_condition stop, vyre_status *status) {
    int cancellable = stop.may_stop && vy_backend_limit(backend, VYRE_CAPABILITY_CANCEL);
    vyre_compile_options options = {
        .struct_size = sizeof options, .cancellable = cancellable, .deadline_ns = stop.deadline_ns};
    vy_executable *executable = NULL;
    vyre_error error;
    *status = VYRE_NO_MEMORY;
    if (pipeline)
        *status = vy_pipeline_executable(pipeline, stop, VY_EXECUTABLE_COOPERATIVE, &executable, &error);
    else if (backend->calls.compile && vy_cache_memory_limit())
        *status = vy_executable_get(backend, program, &options, VY_EXECUTABLE_COOPERATIVE, &executable, &error);
    if (*status != VYRE_OK)
        return NULL;
    return pipeline ? vy_executable_retain(executable) : executable;
}

static int can_run(const vy_executable *executable, vy_form form) {
    return form == VY_FORM_RESIDENT || form == VY_FORM_PERSISTENT ? executable->is_resident : executable->has_native;
}

/* ---- the decision ---- */

static uint64_t query_limit(const vyre_backend *backend, const vyre_program *program, void *pipeline) {
    return backend->calls.grid_sync_limit ? backend->calls.grid_sync_limit(backend->self, program, pipeline) : 0;
}

vyre_status vy_pipeline_prepare_cooperative(vyre_pipeline *pipeline, uint64_t deadline_ns, vyre_error *error) {
    vyre_backend *backend = pipeline->backend;
    vyre_digest fingerprint;
    vy_executable *executable;
    vyre_program_fingerprint(pipeline->program, &fingerprint);
    if (!(pipeline->program->facts & VY_PROGRAM_HAS_GRID_BARRIER) || !backend->calls.compile ||
        vyre_backend_capability(backend, VYRE_CAPABILITY_GRID_SYNC) || !query_limit(backend, pipeline->program, NULL) ||
        is_refused_program(&backend->grid_sync, &fingerprint))
        return VYRE_OK;
    vyre_status status = vy_pipeline_executable(pipeline, (vy_stop_condition){0, deadline_ns},
                                                VY_EXECUTABLE_COOPERATIVE, &executable, error);
    if (status == VYRE_OK || vy_compile_forbidden())
        return VYRE_OK;
    if (is_transient(status))
        return status;
    add_refusal(&backend->grid_sync, &fingerprint);
    return VYRE_OK;
}

vy_grid_sync_reason vy_call_try_cooperative(vy_call *call, vyre_pipeline *pipeline, vyre_program *program,
                                            const vy_resolved_dispatch *resolved, vy_stop_condition stop) {
    vyre_backend *backend = call->backend;
    vyre_digest fingerprint;
    vyre_status status;
    int is_tiled;
    if (!(program->facts & VY_PROGRAM_HAS_GRID_BARRIER))
        return VY_GRID_SYNC_NONE;
    if (!vy_multi_launch_needed(backend, program, resolved, &is_tiled))
        return VY_GRID_SYNC_ALWAYS;
    uint64_t most = query_limit(backend, program, NULL);
    if (!most)
        return VY_GRID_SYNC_NO_OTHER_WAY;
    if (stop.may_stop && !vy_backend_limit(backend, VYRE_CAPABILITY_CANCEL))
        return VY_GRID_SYNC_CANNOT_STOP;
    if (is_tiled || most < resolved->group_count)
        return VY_GRID_SYNC_TOO_LARGE;
    vyre_program_fingerprint(program, &fingerprint);
    if (is_refused_program(&backend->grid_sync, &fingerprint))
        return VY_GRID_SYNC_REFUSED;
    vy_executable *executable = find_executable(backend, pipeline, program, stop, &status);
    if (!executable || !can_run(executable, call->form)) {
        if (!is_transient(status))
            add_refusal(&backend->grid_sync, &fingerprint);
        vy_executable_release(executable);
        return VY_GRID_SYNC_REFUSED;
    }
    if (query_limit(backend, program, executable->entries->self) < resolved->group_count) {
        vy_executable_release(executable);
        return VY_GRID_SYNC_TOO_LARGE;
    }
    call->cooperative = call->executable = executable;
    call->dispatch_table = executable->dispatch_tables;
    return VY_GRID_SYNC_FITS;
}

vy_grid_sync_reason vy_pipeline_grid_sync(vyre_pipeline *pipeline, const vy_resolved_dispatch *resolved) {
    vyre_backend *backend = pipeline->backend;
    vyre_error error;
    vy_call call;
    if (vy_backend_enter(backend, &error) != VYRE_OK)
        return VY_GRID_SYNC_REFUSED;
    vy_call_describe(&call, backend, &backend->dispatch_table, VY_FORM_INTO);
    vy_grid_sync_reason reason =
        vy_call_try_cooperative(&call, pipeline, pipeline->program, resolved, (vy_stop_condition){0, 0});
    vy_call_cleanup(&call);
    vy_backend_leave(backend);
    return reason;
}
