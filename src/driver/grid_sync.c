/* Whether grid barriers run inside one launch (grid_sync.h). */
#include "driver/grid_sync.h"

#include "base/status.h"
#include "driver/cache_disk.h"
#include "driver/pipeline.h"

#include <string.h>

const char *vy_grid_sync_sentence(vy_grid_sync_reason reason) {
    static const char *const sentences[] = {
#define X(ID, sentence) sentence,
        VY_GRID_SYNC_LIST(X)
#undef X
    };
    return sentences[reason];
}

/* ---- what was refused ---- */

void vy_grid_sync_start(vy_grid_sync *sync) {
    pthread_mutex_init(&sync->lock, NULL);
}

void vy_grid_sync_end(vy_grid_sync *sync) {
    pthread_mutex_destroy(&sync->lock);
}

static int is_refused(vy_grid_sync *sync, const vyre_digest *program) {
    pthread_mutex_lock(&sync->lock);
    uint32_t count = sync->next < VY_GRID_REFUSALS ? sync->next : VY_GRID_REFUSALS, i = 0;
    while (i < count && memcmp(&sync->refused[i], program, sizeof *program) != 0)
        i++;
    pthread_mutex_unlock(&sync->lock);
    return i < count;
}

static void refuse(vy_grid_sync *sync, const vyre_digest *program) {
    pthread_mutex_lock(&sync->lock);
    sync->refused[sync->next % VY_GRID_REFUSALS] = *program;
    sync->next = sync->next + 1 < 2 * VY_GRID_REFUSALS ? sync->next + 1 : VY_GRID_REFUSALS;
    pthread_mutex_unlock(&sync->lock);
}

/* What may be otherwise the next time. */
static int is_transient(vyre_status status) {
    return status == VYRE_NO_MEMORY || status == VYRE_NO_DEVICE_MEMORY || status == VYRE_DEVICE_LOST ||
           status == VYRE_TIMEOUT || vy_compile_forbidden();
}

/* ---- the executable ---- */

/* A reference; NULL: there is none. Without a cache in memory a dispatch without a pipeline would compile each time. */
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
    return backend->calls.grid_sync_limit(backend->self, program, pipeline);
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
    uint64_t most = backend->calls.grid_sync_limit ? query_limit(backend, program, NULL) : 0;
    if (!most)
        return VY_GRID_SYNC_NO_OTHER_WAY;
    if (stop.may_stop && !vy_backend_limit(backend, VYRE_CAPABILITY_CANCEL))
        return VY_GRID_SYNC_CANNOT_STOP;
    if (is_tiled || most < resolved->group_count)
        return VY_GRID_SYNC_TOO_LARGE;
    vyre_program_fingerprint(program, &fingerprint);
    if (is_refused(&backend->grid_sync, &fingerprint))
        return VY_GRID_SYNC_REFUSED;
    vy_executable *executable = find_executable(backend, pipeline, program, stop, &status);
    if (!executable || !can_run(executable, call->form)) {
        if (!is_transient(status))
            refuse(&backend->grid_sync, &fingerprint);
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
