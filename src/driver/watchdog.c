/* Deadlines on backends that cannot stop a kernel, and on plug-ins that claim to (dispatch.h).
 *
 * The call runs on a worker thread with copies of all it may look at, since the caller's memory is gone once the caller has been told. If
 * the worker is not done by the deadline it is abandoned: the backend is lost, and the worker drops its results whenever it comes
 * back. It holds a reference, so the backend outlives it. Job and worker are freed by whoever comes last.
 *
 * A plug-in with the capability `cancel` gets GRACE_NS more to stop the kernel by itself: after the deadline, or after it was cancelled. It sees a word
 * of the job, which the waiting thread sets when the caller's word is set or the backend is shut down. */
#include "driver/dispatch.h"

#include "base/status.h"
#include "base/thread.h"
#include "driver/executable.h"
#include "driver/packed_copy.h"

#include <errno.h>
#include <inttypes.h>

#define GRACE_NS UINT64_C(500000000)
#define POLL_NS UINT64_C(10000000) /* between two looks at the caller's word */

typedef struct job {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    int is_ended;
    _Atomic int is_abandoned;
    _Atomic uint32_t cancel; /* what the backend looks at */
    vy_call call;            /* points into this struct and into `copies` */
    vyre_trap trap;
    vyre_timing timing;
    vyre_status status;
    vyre_error error;
    vy_output_slots slots;
    vy_resident_use *uses;
    size_t use_count;
    unsigned char *copies;
    size_t copies_size;
} job;

/* ---- copies ---- */

static void copy_call(job *j, const vy_call *from, const vy_resident_use *uses, size_t use_count, vy_bump *c) {
    vy_call *to = &j->call;
    *to = *from;
    to->launch.params = vy_bump_copy(c, from->launch.params, from->launch.param_count * sizeof *from->launch.params);
    to->launch.elements =
        vy_bump_copy(c, from->launch.elements, from->launch.buffer_count * sizeof *from->launch.elements);
    to->launch.label = vy_bump_copy(c, from->launch.label, strlen(from->launch.label) + 1);
    to->launch.trap = &j->trap;
    to->launch.cancel = (const uint32_t *)&j->cancel; /* the caller's word is gone when the call is abandoned */
    to->resolved = vy_bump_copy(c, from->resolved, sizeof *from->resolved);
    to->timing = from->timing ? &j->timing : NULL;
    to->outputs = &j->slots.outputs;
    vyre_resource *bindings = vy_bump_copy(c, from->bindings, from->binding_count * sizeof *from->bindings);
    for (size_t i = 0; i < from->binding_count; i++) {
        const vyre_span *host = &from->bindings[i].host;
        void *bytes = from->bindings[i].kind == VYRE_RESOURCE_HOST ? vy_bump_copy(c, host->data, host->size) : NULL;
        if (c->block)
            bindings[i].host = (vyre_span){bytes, bytes ? host->size : 0};
    }
    to->bindings = bindings;
    j->uses = vy_bump_copy(c, uses, use_count * sizeof *uses);
    j->use_count = use_count;
    vyre_span *spans = vy_bump_copy(c, NULL, from->input_count * sizeof *spans);
    vyre_bytes *owned = vy_bump_copy(c, NULL, from->input_count * sizeof *owned);
    for (size_t i = 0; i < from->input_count; i++) {
        vyre_span span =
            from->form == VY_FORM_OWNED ? (vyre_span){from->owned[i].data, from->owned[i].size} : from->inputs[i];
        void *bytes = vy_bump_copy(c, span.data, span.size);
        if (!c->block)
            continue;
        spans[i] = (vyre_span){bytes, span.size};
        owned[i] = (vyre_bytes){bytes, span.size, span.size};
    }
    to->inputs = spans;
    to->owned = owned;
}

static job *job_new(const vy_call *call, const vy_resident_use *uses, size_t use_count) {
    job *j = vy_allocate_zero(sizeof *j);
    vy_bump measure = {NULL, 0};
    if (!j)
        return NULL;
    copy_call(j, call, uses, use_count, &measure);
    j->copies_size = measure.used ? measure.used : 1;
    j->copies = vy_allocate(j->copies_size);
    if (!j->copies) {
        vy_release(j, sizeof *j);
        return NULL;
    }
    vy_bump copy = {j->copies, 0};
    copy_call(j, call, uses, use_count, &copy);
    vy_output_slots_start(&j->slots, call->outputs ? vyre_program_output_count(call->launch.program) : 0);
    pthread_mutex_init(&j->lock, NULL);
    vy_cond_init_monotonic(&j->ended);
    vy_executable_pin(call->executable);
    vyre_program_retain(call->launch.program);
    vy_multi_launch_retain(call->stages);
    vyre_backend_retain(call->backend);
    return j;
}

static void job_free(job *j) {
    vyre_backend *backend = j->call.backend;
    vy_resident_unpin(backend, j->uses, j->use_count);
    vy_output_slots_end(&j->slots);
    vy_executable_unpin(j->call.executable);
    vy_multi_launch_release(j->call.stages);
    vyre_program_release(j->call.launch.program);
    pthread_cond_destroy(&j->ended);
    pthread_mutex_destroy(&j->lock);
    vy_release(j->copies, j->copies_size);
    vy_release(j, sizeof *j);
    vyre_backend_release(backend);
}

/* ---- the two sides ---- */

static _Thread_local job *own; /* the job of a worker */

int vy_call_is_abandoned(void) {
    return own && atomic_load(&own->is_abandoned);
}

static void *work(void *user) {
    job *j = user;
    (void)vy_cancellation_disable();
    own = j;
    j->status = vy_call_run(&j->call, &j->error);
    pthread_mutex_lock(&j->lock);
    j->is_ended = 1;
    int is_abandoned = atomic_load(&j->is_abandoned);
    pthread_cond_signal(&j->ended);
    pthread_mutex_unlock(&j->lock);
    own = NULL;
    if (is_abandoned) {
        atomic_fetch_sub(&j->call.backend->abandoned, 1);
        job_free(j);
    }
    return NULL;
}

static uint64_t add_saturating(uint64_t time_ns, uint64_t by_ns) {
    return __builtin_add_overflow(time_ns, by_ns, &time_ns) ? UINT64_MAX : time_ns;
}

/* Asks the backend to stop if the caller or a shutdown wants that. Returns when it has to have stopped. */
static uint64_t request_cancel(job *j, const uint32_t *cancel, int can_cancel, uint64_t now, uint64_t end) {
    int is_stopping = atomic_load(&j->call.backend->is_stopping);
    if (atomic_load(&j->cancel) || !(is_stopping || (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED))))
        return end;
    atomic_store(&j->cancel, 1);
    /* What cannot be stopped runs on unobserved, but a shutdown does not wait for it. */
    uint64_t stopped = is_stopping || can_cancel ? add_saturating(now, GRACE_NS) : end;
    return stopped < end ? stopped : end;
}

/* Returns 0 if the time was over first. */
static int wait_until_deadline(job *j, const uint32_t *cancel) {
    vyre_backend *backend = j->call.backend;
    int can_cancel = vy_backend_limit(backend, VYRE_CAPABILITY_CANCEL) != 0;
    uint64_t end = can_cancel ? add_saturating(j->call.launch.deadline_ns, GRACE_NS) : j->call.launch.deadline_ns, now;
    pthread_mutex_lock(&j->lock);
    while (!j->is_ended && (now = vy_clock_now()) < end) {
        end = request_cancel(j, cancel, can_cancel, now, end);
        uint64_t next = add_saturating(now, POLL_NS);
        struct timespec until = vy_clock_timespec(next < end ? next : end);
        pthread_cond_timedwait(&j->ended, &j->lock, &until);
    }
    int is_ended = j->is_ended;
    if (!is_ended) {
        atomic_fetch_add(&backend->abandoned, 1);
        atomic_store(&j->is_abandoned, 1);
        atomic_store(&j->cancel, 1);
    }
    pthread_mutex_unlock(&j->lock);
    return is_ended;
}

/* Why it was given up. The backend is lost. */
static vyre_status fail_abandoned(const vy_call *call, int was_cancelled, vyre_error *error) {
    const vyre_backend *backend = call->backend;
    const char *name = vyre_program_name(call->launch.program);
    if (was_cancelled)
        return vy_fail(error, VYRE_CANCELLED, "acquire the backend again",
                       "`%s` on backend `%s` was cancelled and did not stop within %" PRIu64 " ms: the backend is lost",
                       name, backend->id, GRACE_NS / 1000000);
    if (vy_backend_limit(backend, VYRE_CAPABILITY_CANCEL))
        return vy_fail(error, VYRE_TIMEOUT, "report this to the author of the backend, and acquire it again",
                       "`%s` on backend `%s` was not done %" PRIu64
                       " ms after its deadline, although the backend claims to stop it (`cancel`): it is lost",
                       name, backend->id, GRACE_NS / 1000000);
    return vy_fail(error, VYRE_TIMEOUT,
                   "raise the timeout or give the dispatch less work; then acquire the backend again",
                   "`%s` on backend `%s` was not done at its deadline, and this backend cannot stop it: it is lost",
                   name, backend->id);
}

static vyre_status move_results(job *j, const vy_call *call, const vy_resolved_dispatch *launch, vyre_error *error) {
    vyre_status status = j->status;
    if (status == VYRE_TRAPPED)
        *call->launch.trap = j->trap;
    if (status == VYRE_OK && call->outputs)
        status = vy_outputs_check_resources(call->backend, &j->slots.outputs, j->slots.items, j->slots.count,
                                            call->launch.program, launch, call->bindings, &j->error);
    if (status != VYRE_OK) {
        *error = j->error;
        return status;
    }
    if (call->timing)
        *call->timing = j->timing;
    for (size_t i = 0; i < j->slots.count; i++) {
        vyre_bytes old = call->outputs->items[i];
        call->outputs->items[i] = j->slots.items[i];
        j->slots.items[i] = old;
    }
    return VYRE_OK;
}

vyre_status vy_call_run_with_watchdog(const vy_call *call, const vy_resolved_dispatch *launch,
                                      const vy_resident_use *uses, size_t use_count, vyre_error *error) {
    vyre_backend *backend = call->backend;
    pthread_t thread;
    job *j = job_new(call, uses, use_count);
    if (!j) {
        vy_resident_unpin(backend, uses, use_count);
        return vy_fail_memory(error, "running a dispatch with a deadline");
    }
    if (!vy_thread_start(&thread, work, j)) {
        job_free(j);
        return vy_fail(error, VYRE_NO_MEMORY, "free threads, or dispatch without a timeout",
                       "a thread for a dispatch with a deadline cannot be started");
    }
    if (!wait_until_deadline(j, call->launch.cancel)) {
        pthread_detach(thread);
        vy_backend_mark_lost(backend);
        int was_cancelled = call->launch.deadline_ns > vy_clock_now();
        return fail_abandoned(call, was_cancelled, error);
    }
    pthread_join(thread, NULL);
    vyre_status status = move_results(j, call, launch, error);
    job_free(j);
    return status;
}
