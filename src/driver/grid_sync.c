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
static int is_passing(vyre_status status) {
    return status == VYRE_NO_MEMORY || status == VYRE_NO_DEVICE_MEMORY || status == VYRE_DEVICE_LOST ||
           status == VYRE_TIMEOUT || vy_compile_forbidden();
}

/* ---- the code ---- */

/* A reference; NULL: there is none. Without a cache in memory a dispatch without a pipeline would compile each time. */
static vy_code *find_code(vyre_backend *backend, vyre_pipeline *pipeline, vyre_program *program, vy_stop stop,
                          vyre_status *status) {
    int cancellable = stop.may_stop && vy_backend_limit(backend, VYRE_CAPABILITY_CANCEL);
    vyre_compile_options options = {
        .struct_size = sizeof options, .cancellable = cancellable, .deadline_ns = stop.deadline_ns};
    vy_code *code = NULL;
    vyre_error error;
    *status = VYRE_NO_MEMORY;
    if (pipeline)
        *status = vy_pipeline_code(pipeline, stop, VY_CODE_WHOLE, &code, &error);
    else if (backend->calls.compile && vy_cache_memory_limit())
        *status = vy_code_get(backend, program, &options, VY_CODE_WHOLE, &code, &error);
    if (*status != VYRE_OK)
        return NULL;
    return pipeline ? vy_code_retain(code) : code;
}

static int can_run(const vy_code *code, vy_form form) {
    return form == VY_FORM_RESIDENT || form == VY_FORM_PERSISTENT ? code->is_resident : code->has_native;
}

/* ---- the decision ---- */

static uint64_t ask(const vyre_backend *backend, const vyre_program *program, void *pipeline) {
    return backend->calls.grid_sync_limit(backend->self, program, pipeline);
}

vy_grid_sync_reason vy_call_meet(vy_call *call, vyre_pipeline *pipeline, vyre_program *program,
                                 const vy_resolved_dispatch *resolved, vy_stop stop) {
    vyre_backend *backend = call->backend;
    vyre_digest fingerprint;
    vyre_status status;
    int with_base;
    if (!(program->facts & VY_PROGRAM_HAS_GRID_BARRIER))
        return VY_GRID_SYNC_NONE;
    if (!vy_stages_needed(backend, program, resolved, &with_base))
        return VY_GRID_SYNC_ALWAYS;
    uint64_t most = backend->calls.grid_sync_limit ? ask(backend, program, NULL) : 0;
    if (!most)
        return VY_GRID_SYNC_NO_OTHER_WAY;
    if (stop.may_stop && !vy_backend_limit(backend, VYRE_CAPABILITY_CANCEL))
        return VY_GRID_SYNC_CANNOT_STOP;
    if (with_base || most < resolved->group_count)
        return VY_GRID_SYNC_TOO_LARGE;
    vyre_program_fingerprint(program, &fingerprint);
    if (is_refused(&backend->grid_sync, &fingerprint))
        return VY_GRID_SYNC_REFUSED;
    vy_code *code = find_code(backend, pipeline, program, stop, &status);
    if (!code || !can_run(code, call->form)) {
        if (!is_passing(status))
            refuse(&backend->grid_sync, &fingerprint);
        vy_code_release(code);
        return VY_GRID_SYNC_REFUSED;
    }
    if (ask(backend, program, code->parts->self) < resolved->group_count) {
        vy_code_release(code);
        return VY_GRID_SYNC_TOO_LARGE;
    }
    call->whole = call->code = code;
    call->target = code->targets;
    return VY_GRID_SYNC_FITS;
}

vy_grid_sync_reason vy_pipeline_meets(vyre_pipeline *pipeline, const vy_resolved_dispatch *resolved) {
    vyre_backend *backend = pipeline->backend;
    vyre_error error;
    vy_call call;
    if (vy_backend_enter(backend, &error) != VYRE_OK)
        return VY_GRID_SYNC_REFUSED;
    vy_call_describe(&call, backend, &backend->target, VY_FORM_INTO);
    vy_grid_sync_reason reason = vy_call_meet(&call, pipeline, pipeline->program, resolved, (vy_stop){0, 0});
    vy_call_unstage(&call);
    vy_backend_leave(backend);
    return reason;
}
