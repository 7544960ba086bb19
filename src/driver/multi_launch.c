/* Making stages and keeping them (multi_launch.h). */
#include "base/status.h"
#include "driver/multi_launch_internal.h"
#include "driver/trace.h"

#include <inttypes.h>

/* ---- making ---- */

static void free_stages(vy_multi_launch *stages) {
    for (uint32_t i = 0; stages->programs && i < stages->count; i++)
        vyre_program_release(stages->programs[i]);
    vy_release(stages->programs, stages->count * sizeof *stages->programs);
    vy_split_free(stages->split);
    vy_release(stages, sizeof *stages);
}

static vyre_status split(vy_multi_launch *stages, const vyre_program *program, vyre_error *error) {
    if (!(program->facts & VY_PROGRAM_HAS_GRID_BARRIER))
        return VYRE_OK;
    vyre_status status = vy_grid_split(program, &stages->split, error);
    if (status == VYRE_OK)
        vy_count(VY_COUNTER_splits, 1);
    return status;
}

static vyre_status fill(vy_multi_launch *stages, const vyre_program *program, vyre_error *error) {
    vyre_status status = split(stages, program, error);
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

static vyre_status make(const vyre_program *program, int is_tiled, vy_multi_launch **out, vyre_error *error) {
    vy_multi_launch *stages = vy_allocate_zero(sizeof *stages);
    *out = NULL;
    if (!stages)
        return vy_fail_memory(error, "the stages of a dispatch");
    atomic_init(&stages->references, 1);
    vyre_program_fingerprint(program, &stages->fingerprint);
    stages->is_tiled = is_tiled;
    vy_span span = vy_span_begin();
    vyre_status status = fill(stages, program, error);
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
static vy_multi_launch *find(vy_multi_launch_cache *cache, const vyre_digest *program, int is_tiled) {
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
    *out = find(cache, &fingerprint, is_tiled);
    pthread_mutex_unlock(&cache->lock);
    if (*out)
        return VYRE_OK;
    vyre_status status = make(program, is_tiled, out, error);
    if (status != VYRE_OK)
        return status;
    /* Two threads may make the same: the first one's stay. */
    pthread_mutex_lock(&cache->lock);
    vy_multi_launch *dropped, *other = find(cache, &fingerprint, is_tiled);
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

/* Hidden buffers are buffers of the device like others. */
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
                        " workgroups, over the limit of backend `%s` (%" PRIu64 ")",
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
