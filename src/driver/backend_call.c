/* Calls of a backend: one-time preparation, fallbacks for missing entries, and the watchdog that enforces deadlines
 * (dispatch.h).
 *
 * vyre/backend.h documents the fallback of every missing entry.
 *
 * The watchdog serves backends that cannot stop a kernel, and plug-ins that claim they can. The call runs on a worker
 * thread with copies of all memory that it reads, because the caller's memory is invalid after the caller returned. If
 * the worker has not finished at the deadline, it is abandoned: the backend is lost, and the worker discards its
 * results when it returns. The worker holds a reference, so the backend outlives it. Whichever of the two finishes last
 * frees the job.
 *
 * A plug-in with the capability `cancel` has GRACE_NS more to stop the kernel, after the deadline or after a
 * cancellation. It polls a word in the job, which the waiting thread sets when the caller's word is set or the backend
 * is shut down. */
#include "driver/dispatch.h"

#include "base/status.h"
#include "base/thread.h"
#include "driver/backend.h"
#include "driver/executable.h"
#include "driver/telemetry.h"
#include "ir/model.h"

#include <errno.h>
#include <inttypes.h>

/* ---- preparing once ---- */

enum { WORDS = sizeof(vyre_digest) / 8 };

typedef struct program_words {
    uint64_t words[WORDS];
} program_words;

void vy_prepared_start(vy_prepared *prepared) {
    pthread_mutex_init(&prepared->lock, NULL);
    pthread_cond_init(&prepared->done, NULL);
    vy_prepared_clear(prepared);
}

void vy_prepared_end(vy_prepared *prepared) {
    pthread_mutex_destroy(&prepared->lock);
    pthread_cond_destroy(&prepared->done);
}

/* ---- slots: read without the lock, written with it ---- */

static int is_for_program(vy_prepared_slot *slot, const program_words *program) {
    uint64_t difference = 0;
    for (int i = 0; i < WORDS; i++)
        difference |= atomic_load_explicit(&slot->program[i], memory_order_relaxed) ^ program->words[i];
    return difference == 0;
}

static int is_prepared(vy_prepared_slot *slot, const program_words *program) {
    uint32_t version = atomic_load_explicit(&slot->version, memory_order_acquire);
    if (version % 2 != 0 || !is_for_program(slot, program))
        return 0;
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&slot->version, memory_order_relaxed) == version;
}

/* From now on readers reject the slot. */
static void begin_slot_update(vy_prepared_slot *slot) {
    uint32_t version = atomic_load_explicit(&slot->version, memory_order_relaxed);
    atomic_store_explicit(&slot->version, version | 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

static void end_slot_update(vy_prepared_slot *slot) {
    uint32_t version = atomic_load_explicit(&slot->version, memory_order_relaxed);
    atomic_store_explicit(&slot->version, version + 1, memory_order_release);
}

static void assign_slot(vy_prepared_slot *slot, const program_words *program) {
    begin_slot_update(slot);
    slot->is_running = 1;
    for (int i = 0; i < WORDS; i++)
        atomic_store_explicit(&slot->program[i], program->words[i], memory_order_relaxed);
}

void vy_prepared_clear(vy_prepared *prepared) {
    pthread_mutex_lock(&prepared->lock);
    for (int i = 0; i < VY_PREPARED_SLOTS; i++)
        begin_slot_update(&prepared->slots[i]);
    pthread_mutex_unlock(&prepared->lock);
}

/* ---- preparing ---- */

/* Returns 1 if the caller has to prepare the program. *owns: the caller also has to mark the slot. Waits while another
 * thread prepares the same program. */
static int claim(vy_prepared *prepared, vy_prepared_slot *slot, const program_words *program, int *owns) {
    pthread_mutex_lock(&prepared->lock);
    while (slot->is_running && is_for_program(slot, program))
        pthread_cond_wait(&prepared->done, &prepared->lock);
    int must = !is_prepared(slot, program);
    *owns = must && !slot->is_running; /* the slot prepares another program: continue without it */
    if (*owns)
        assign_slot(slot, program);
    pthread_mutex_unlock(&prepared->lock);
    return must;
}

static void finish_preparation(vy_prepared *prepared, vy_prepared_slot *slot, int is_done) {
    pthread_mutex_lock(&prepared->lock);
    slot->is_running = 0;
    if (is_done)
        end_slot_update(slot);
    pthread_cond_broadcast(&prepared->done);
    pthread_mutex_unlock(&prepared->lock);
}

static vy_prepared_slot *slot_of(vy_prepared *prepared, const vyre_program *program, program_words *wanted) {
    memcpy(wanted, &program->fingerprint, sizeof *wanted);
    return &prepared->slots[wanted->words[0] % VY_PREPARED_SLOTS];
}

int vy_is_prepared(vyre_backend *backend, const vyre_program *program) {
    program_words wanted;
    return !backend->calls.prepare || is_prepared(slot_of(&backend->prepared, program, &wanted), &wanted);
}

vyre_status vy_prepare(vyre_backend *backend, vyre_program *program, vyre_error *error) {
    vy_prepared *prepared = &backend->prepared;
    program_words wanted;
    int owns = 0;
    if (!backend->calls.prepare)
        return VYRE_OK;
    vy_prepared_slot *slot = slot_of(prepared, program, &wanted);
    if (is_prepared(slot, &wanted) || !claim(prepared, slot, &wanted, &owns))
        return VYRE_OK;
    vy_error_clear(error);
    vy_span span = vy_span_begin();
    vyre_status status = backend->calls.prepare(backend->self, program, error);
    vy_span_end(span, prepare, .program = vyre_program_name(program), .backend = backend->id, .status = status);
    if (status != VYRE_OK)
        status = vy_backend_check_result(backend, status, error);
    if (owns)
        finish_preparation(prepared, slot, status == VYRE_OK);
    return status;
}

/* ---- calls ---- */

static vyre_status run_owned(const vy_call *call, vyre_error *error) {
    const vy_dispatch_table *dispatch_table = call->dispatch_table;
    return dispatch_table->dispatch(dispatch_table->self, &call->launch, call->owned, call->input_count, call->outputs,
                                    error);
}

vyre_status vy_inputs_copy(const vyre_span *inputs, size_t count, vyre_bytes *owned, vyre_error *error) {
    for (size_t i = 0; i < count; i++) {
        owned[i] = (vyre_bytes)VYRE_BYTES_INIT;
        vyre_status status = vyre_bytes_resize(&owned[i], inputs[i].size, error);
        if (status != VYRE_OK) {
            vy_inputs_free(owned, i + 1);
            return status;
        }
        if (inputs[i].size)
            memcpy(owned[i].data, inputs[i].data, inputs[i].size);
    }
    return VYRE_OK;
}

void vy_inputs_free(vyre_bytes *owned, size_t count) {
    while (count > 0)
        vyre_bytes_free(&owned[--count]);
}

/* Without the entry: owned copies of the inputs, and dispatch. */
static vyre_status copy_and_run(const vy_call *call, vyre_error *error) {
    vyre_bytes owned[VY_LIMIT_BUFFERS];
    owned[0] = (vyre_bytes)VYRE_BYTES_INIT; /* input_count may be 0 */
    vyre_status status = vy_inputs_copy(call->inputs, call->input_count, owned, error);
    if (status != VYRE_OK)
        return status;
    vy_call delegated = *call;
    delegated.owned = owned;
    status = run_owned(&delegated, error);
    vy_inputs_free(owned, call->input_count);
    return status;
}

static vyre_status run_borrowed(const vy_call *call, vyre_error *error) {
    const vy_dispatch_table *dispatch_table = call->dispatch_table;
    return dispatch_table->dispatch_borrowed
               ? dispatch_table->dispatch_borrowed(dispatch_table->self, &call->launch, call->inputs, call->input_count,
                                                   call->outputs, error)
               : copy_and_run(call, error);
}

/* Without the entry: only the wall time around the borrowed form. */
static vyre_status run_timed(const vy_call *call, vyre_error *error) {
    const vy_dispatch_table *dispatch_table = call->dispatch_table;
    uint64_t start = vy_clock_now();
    memset(call->timing, 0, sizeof *call->timing);
    if (dispatch_table->dispatch_borrowed_timed)
        return dispatch_table->dispatch_borrowed_timed(dispatch_table->self, &call->launch, call->inputs,
                                                       call->input_count, call->outputs, call->timing, error);
    vyre_status status = run_borrowed(call, error);
    call->timing->wall_ns = vy_clock_now() - start;
    return status;
}

static vyre_status run_into(const vy_call *call, vyre_error *error) {
    const vy_dispatch_table *dispatch_table = call->dispatch_table;
    return dispatch_table->dispatch_borrowed_into
               ? dispatch_table->dispatch_borrowed_into(dispatch_table->self, &call->launch, call->inputs,
                                                        call->input_count, call->outputs, error)
               : run_borrowed(call, error);
}

/* Without the entry, on a pipeline: the persistent form with all bindings resident. */
static vyre_status run_resident(const vy_call *call, vyre_error *error) {
    const vy_dispatch_table *dispatch_table = call->dispatch_table;
    if (call->timing)
        memset(call->timing, 0, sizeof *call->timing);
    if (!vy_dispatch_table_is_resident(dispatch_table))
        return vy_backend_unsupported(call->backend, "resident timed dispatch", error);
    if (!dispatch_table->dispatch_resident) {
        vy_output_slots slots;
        vy_output_slots_start(&slots, vyre_program_output_count(call->launch.program));
        vyre_status status =
            dispatch_table->dispatch_persistent(dispatch_table->self, &call->launch, call->bindings,
                                                call->binding_count, &slots.outputs, call->timing, error);
        vy_output_slots_end(&slots);
        return status;
    }
    return dispatch_table->dispatch_resident(dispatch_table->self, &call->launch, call->bindings, call->binding_count,
                                             call->timing, error);
}

/* ---- mixed host bytes and resident buffers ---- */

/* Bindings of which all are resident: temporary buffers replace host bytes for the call. */
typedef struct temporaries {
    vyre_resource all[VY_LIMIT_BUFFERS];
    vy_resident_use uses[VY_LIMIT_BUFFERS];
    size_t made; /* number of bindings processed */
} temporaries;

static vyre_status make_temporary(temporaries *t, const vy_call *call, const vyre_buffer_info *buffer,
                                  vyre_error *error) {
    size_t i = t->made;
    const vyre_resource *binding = &call->bindings[i];
    uint64_t size = call->launch.elements[i] * vyre_type_size(buffer->type);
    vyre_status status = vy_temporary_buffer_create(call->backend, size, &t->uses[i], error);
    if (status != VYRE_OK)
        return status;
    t->made++;
    t->all[i] = (vyre_resource){
        .kind = VYRE_RESOURCE_RESIDENT, .resident = {call->backend->owner, t->uses[i].native}, .size = size};
    return buffer->access == VYRE_ACCESS_WRITE
               ? VYRE_OK
               : vy_temporary_buffer_upload(call->backend, &t->uses[i], binding->host.data, binding->host.size, error);
}

static vyre_status fetch_outputs(const temporaries *t, const vy_call *call, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vyre_buffer_info buffer;
    size_t output = 0;
    for (size_t i = 0; status == VYRE_OK && vyre_program_buffer(call->launch.program, i, &buffer); i++) {
        if (buffer.access != VYRE_ACCESS_WRITE && buffer.access != VYRE_ACCESS_READ_WRITE)
            continue;
        vyre_bytes *slot = &call->outputs->items[output++];
        if (call->bindings[i].kind != VYRE_RESOURCE_HOST)
            continue;
        status = vyre_bytes_resize(slot, (size_t)t->all[i].size, error);
        if (status == VYRE_OK)
            status = vy_temporary_buffer_download(call->backend, &t->uses[i], slot->data, t->all[i].size, error);
    }
    return status;
}

static vyre_status run_in_temporaries(const vy_call *call, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vyre_buffer_info buffer;
    temporaries t;
    t.made = 0;
    while (status == VYRE_OK && t.made < call->binding_count &&
           vyre_program_buffer(call->launch.program, t.made, &buffer)) {
        if (call->bindings[t.made].kind == VYRE_RESOURCE_HOST) {
            status = make_temporary(&t, call, &buffer, error);
        } else {
            t.all[t.made] = call->bindings[t.made];
            t.made++;
        }
    }
    if (status == VYRE_OK) {
        vy_call inner = *call;
        inner.form = VY_FORM_RESIDENT;
        inner.outputs = NULL;
        inner.bindings = t.all;
        status = vy_call_run(&inner, error);
    }
    if (status == VYRE_OK)
        status = fetch_outputs(&t, call, error);
    for (size_t i = 0; i < t.made; i++)
        if (call->bindings[i].kind == VYRE_RESOURCE_HOST)
            vy_temporary_buffer_destroy(call->backend, &t.uses[i]);
    return status;
}

static vyre_status run_persistent(const vy_call *call, vyre_error *error) {
    const vy_dispatch_table *dispatch_table = call->dispatch_table;
    if (call->timing)
        memset(call->timing, 0, sizeof *call->timing);
    return dispatch_table->dispatch_persistent(dispatch_table->self, &call->launch, call->bindings, call->binding_count,
                                               call->outputs, call->timing, error);
}

vyre_status vy_call_run(const vy_call *call, vyre_error *error) {
    static vyre_status (*const forms[VY_FORM_COUNT])(const vy_call *, vyre_error *) = {
        [VY_FORM_OWNED] = run_owned, [VY_FORM_BORROWED] = run_borrowed, [VY_FORM_TIMED] = run_timed,
        [VY_FORM_INTO] = run_into,   [VY_FORM_RESIDENT] = run_resident, [VY_FORM_PERSISTENT] = run_persistent,
    };
    vy_error_clear(error);
    if (vy_call_is_abandoned()) /* the device may have been replaced; the result is not read */
        return vy_fail(error, VYRE_TIMEOUT, NULL, "the dispatch was abandoned");
    /* Both call vy_call_run again, with resident bindings only, once per launch. */
    if (call->form == VY_FORM_PERSISTENT && (call->stages || !call->dispatch_table->dispatch_persistent))
        return run_in_temporaries(call, error);
    if (call->stages)
        return vy_multi_launch_run(call, error);
    vy_span span = vy_span_begin();
    vyre_status status = forms[call->form](call, error);
    vy_span_end(span, launch, .backend = call->backend->id, .program = vyre_program_name(call->launch.program),
                .status = status);
    return status == VYRE_OK ? VYRE_OK : vy_backend_check_result_run(call->backend, status, error);
}

/* ---- the watchdog ---- */

#define GRACE_NS UINT64_C(500000000)
#define POLL_NS UINT64_C(10000000) /* between two polls of the caller's cancel word */

typedef struct watched_job {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    int is_ended;
    _Atomic int is_abandoned;
    _Atomic uint32_t cancel; /* the word that the backend polls */
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
} watched_job;

/* ---- copies ---- */

static void copy_call(watched_job *j, const vy_call *from, const vy_resident_use *uses, size_t use_count, vy_bump *c) {
    vy_call *to = &j->call;
    *to = *from;
    to->launch.params = vy_bump_copy(c, from->launch.params, from->launch.param_count * sizeof *from->launch.params);
    to->launch.elements =
        vy_bump_copy(c, from->launch.elements, from->launch.buffer_count * sizeof *from->launch.elements);
    to->launch.label = vy_bump_copy(c, from->launch.label, strlen(from->launch.label) + 1);
    to->launch.trap = &j->trap;
    to->launch.cancel = (const uint32_t *)&j->cancel; /* the caller's word is invalid once the call is abandoned */
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

static watched_job *job_new(const vy_call *call, const vy_resident_use *uses, size_t use_count) {
    watched_job *j = vy_allocate_zero(sizeof *j);
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

static void job_free(watched_job *j) {
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

/* ---- worker and waiting thread ---- */

static _Thread_local watched_job *current_job; /* the job of a worker */

int vy_call_is_abandoned(void) {
    return current_job && atomic_load(&current_job->is_abandoned);
}

static void *work(void *user) {
    watched_job *j = user;
    (void)vy_cancellation_disable();
    current_job = j;
    j->status = vy_call_run(&j->call, &j->error);
    pthread_mutex_lock(&j->lock);
    j->is_ended = 1;
    int is_abandoned = atomic_load(&j->is_abandoned);
    pthread_cond_signal(&j->ended);
    pthread_mutex_unlock(&j->lock);
    current_job = NULL;
    if (is_abandoned) {
        atomic_fetch_sub(&j->call.backend->abandoned, 1);
        job_free(j);
    }
    return NULL;
}

static uint64_t add_saturating(uint64_t time_ns, uint64_t by_ns) {
    return __builtin_add_overflow(time_ns, by_ns, &time_ns) ? UINT64_MAX : time_ns;
}

/* Requests cancellation if the caller or a shutdown demands it. Returns the time at which the call must have
 * stopped. */
static uint64_t request_cancel(watched_job *j, const uint32_t *cancel, int can_cancel, uint64_t now, uint64_t end) {
    int is_stopping = atomic_load(&j->call.backend->is_stopping);
    if (atomic_load(&j->cancel) || !(is_stopping || (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED))))
        return end;
    atomic_store(&j->cancel, 1);
    /* A kernel that cannot be stopped runs on, but shutdown does not wait for it. */
    uint64_t stopped = is_stopping || can_cancel ? add_saturating(now, GRACE_NS) : end;
    return stopped < end ? stopped : end;
}

/* Returns 0 if the time elapsed first. */
static int wait_until_deadline(watched_job *j, const uint32_t *cancel) {
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

/* The error of an abandoned call. The backend is lost. */
static vyre_status fail_abandoned(const vy_call *call, int was_cancelled, vyre_error *error) {
    const vyre_backend *backend = call->backend;
    const char *name = vyre_program_name(call->launch.program);
    if (was_cancelled)
        return vy_fail(error, VYRE_CANCELLED, "acquire the backend again",
                       "`%s` on backend `%s` was cancelled and did not stop within %" PRIu64 " ms: the backend is lost",
                       name, backend->id, GRACE_NS / 1000000);
    if (vy_backend_limit(backend, VYRE_CAPABILITY_CANCEL))
        return vy_fail(error, VYRE_TIMEOUT, "report this to the author of the backend, and acquire it again",
                       "`%s` on backend `%s` did not finish within %" PRIu64
                       " ms after its deadline, although the backend has the capability `cancel`: the backend is lost",
                       name, backend->id, GRACE_NS / 1000000);
    return vy_fail(
        error, VYRE_TIMEOUT, "raise the timeout or reduce the work of the dispatch; then acquire the backend again",
        "`%s` on backend `%s` did not finish by its deadline, and the backend cannot stop it: the backend is lost",
        name, backend->id);
}

static vyre_status move_results(watched_job *j, const vy_call *call, const vy_resolved_dispatch *launch,
                                vyre_error *error) {
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
    watched_job *j = job_new(call, uses, use_count);
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
