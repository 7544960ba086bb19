/* Backend handles: construction, capabilities, entering and leaving, device loss, shutdown, recovery (backend.h).
 *
 * Entering and closing never miss each other. A thread that enters increments `in_flight` first and checks the flags
 * afterwards. A thread that closes sets the flag first and reads the count afterwards. So at least one of the two
 * observes the other. */
#include "driver/backend.h"

#include "base/diagnostics.h"
#include "base/status.h"
#include "base/thread.h"
#include "driver/dispatch.h"
#include "driver/pipeline.h"
#include "driver/plugin.h"
#include "driver/registry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- errors of backends ---- */

static void terminate(vyre_error *error) {
    error->message[sizeof error->message - 1] = '\0';
    error->fix[sizeof error->fix - 1] = '\0';
    error->where[sizeof error->where - 1] = '\0';
    error->subject[sizeof error->subject - 1] = '\0';
    error->first[sizeof error->first - 1] = '\0';
    error->second[sizeof error->second - 1] = '\0';
}

static int is_listed(vyre_status status) {
    switch (status) {
#define X(ID, code, fix, doc) case VYRE_##ID:
        VYRE_STATUS_LIST(X)
#undef X
        return 1;
    }
    return 0;
}

vyre_status vy_backend_violation(vyre_backend *backend, vyre_error *error, const char *format, ...) {
    char what[384];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    vy_count(VY_COUNTER_violations, 1);
    vy_log(0, backend->id, what);
    return vy_fail(error, VYRE_CORRUPT, "report this to the author of the backend, and choose another one until then",
                   "backend `%s` broke its contract: %s", backend->id, what);
}

vyre_status vy_backend_unsupported(const vyre_backend *backend, const char *feature, vyre_error *error) {
    vy_fail(error, VYRE_UNSUPPORTED, VY_FIX("choose a backend that has %s, or do without it", feature),
            "backend `%s` does not support %s", backend->id, feature);
    (void)vy_fail_parts(error, feature, backend->id, "");
    return VYRE_UNSUPPORTED;
}

vyre_status vy_backend_check_result_run(vyre_backend *backend, vyre_status status, vyre_error *error) {
    if (status == VYRE_OK)
        return VYRE_OK;
    terminate(error);
    if (!is_listed(status))
        return vy_backend_violation(backend, error, "it returned an unknown status (%d)", (int)status);
    error->code = status;
    if (!error->message[0])
        snprintf(error->message, sizeof error->message, "backend `%s` failed with %s and reported no reason",
                 backend->id, vyre_status_name(status));
    if (!error->fix[0])
        snprintf(error->fix, sizeof error->fix, "%s", vyre_status_fix(status));
    if (!error->where[0])
        snprintf(error->where, sizeof error->where, "backend %s", backend->id);
    if (status == VYRE_DEVICE_LOST || (backend->calls.device_lost && backend->calls.device_lost(backend->self)))
        vy_backend_mark_lost(backend);
    return status;
}

vyre_status vy_backend_check_result(vyre_backend *backend, vyre_status status, vyre_error *error) {
    if (status == VYRE_TRAPPED)
        return vy_backend_violation(backend, error, "it reported a trap for a call that runs no program");
    return vy_backend_check_result_run(backend, status, error);
}

vyre_status vy_backend_check_result_bytes(vyre_backend *backend, vyre_status status, vyre_bytes *bytes,
                                          vyre_error *error) {
    int are_sound = vy_bytes_are_valid(bytes);
    if (!are_sound)
        *bytes = (vyre_bytes)VYRE_BYTES_INIT;
    status = vy_backend_check_result(backend, status, error);
    return status == VYRE_OK && !are_sound
               ? vy_backend_violation(backend, error,
                                      "it returned inconsistent bytes: size, capacity and data do not match")
               : status;
}

/* ---- construction ---- */

/* Queries the list of ops of a backend; the default list if it has none. */
static void query_ops(vyre_backend *backend) {
    size_t count;
    const char *const *names = vyre_backend_supported_ops(backend, &count);
    vy_op_set set = vy_op_set_of_names(names, count);
    for (unsigned w = 0; w < VY_OP_SET_WORDS; w++)
        atomic_store_explicit(&backend->ops[w], set.words[w], memory_order_relaxed);
}

void vy_backend_query_capabilities(vyre_backend *backend) {
    static const uint64_t defaults[VYRE_CAPABILITY_COUNT] = {
#define X(ID, name, fallback, doc) fallback,
        VYRE_CAPABILITY_LIST(X)
#undef X
    };
    uint64_t values[VYRE_CAPABILITY_COUNT];
    for (int i = 0; i < VYRE_CAPABILITY_COUNT; i++)
        values[i] =
            backend->calls.capability ? backend->calls.capability(backend->self, (vyre_capability)i) : defaults[i];
    if (values[VYRE_CAPABILITY_MAX_INVOCATIONS] == 0) {
        uint64_t product = 1;
        for (int d = 0; d < 3; d++)
            if (__builtin_mul_overflow(product, values[VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X + d], &product))
                product = UINT64_MAX;
        values[VYRE_CAPABILITY_MAX_INVOCATIONS] = product < UINT32_MAX ? product : UINT32_MAX;
    }
    if (!values[VYRE_CAPABILITY_SUBGROUP_OPS])
        values[VYRE_CAPABILITY_SUBGROUP_SIZE] = 0;
    for (int i = 0; i < VYRE_CAPABILITY_COUNT; i++)
        atomic_store_explicit(&backend->capabilities[i], values[i], memory_order_relaxed);
    query_ops(backend);
    vyre_numerics_profile numerics = {.struct_size = sizeof numerics};
    if (backend->calls.numerics)
        backend->calls.numerics(backend->self, &numerics);
    atomic_store_explicit(&backend->numerics, numerics.exact & ((UINT64_C(1) << VYRE_NUMERIC_COUNT) - 1),
                          memory_order_relaxed);
    atomic_store_explicit(&backend->numerics_cases, numerics.cases, memory_order_relaxed);
}

const char *vy_backend_missing_op(const vyre_backend *backend, const vyre_program *program) {
    vy_op_set offered, needed = vy_program_ops((vyre_program *)program); /* caches its result in the program */
    for (unsigned w = 0; w < VY_OP_SET_WORDS; w++)
        offered.words[w] = atomic_load_explicit(&backend->ops[w], memory_order_relaxed);
    vy_op_set_add(&offered, VY_OP_SET_GRID_BARRIER);
    return vy_op_set_missing(&needed, &offered);
}

static uint64_t next_owner(void) {
    static _Atomic uint64_t last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

/* Copies the table of a backend. Entries missing from a shorter table are NULL; unknown entries of a longer one are
 * ignored. */
static vyre_status complete(const vyre_backend_vtable *given, vyre_backend_vtable *calls, vyre_error *error) {
    static const char fix[] = "rebuild the backend against the installed vyre/backend.h";
    uint32_t size = given ? given->struct_size : 0;
    if (size < offsetof(vyre_backend_vtable, version))
        return vy_fail(error, VYRE_ABI_MISMATCH, fix,
                       "the function table of a backend is too short (%u bytes, at least %zu expected)", size,
                       offsetof(vyre_backend_vtable, version));
    if (given->abi < 1 || given->abi > VYRE_BACKEND_ABI)
        return vy_fail(error, VYRE_ABI_MISMATCH, fix,
                       "a backend requires version %u of the contract (this library supports 1 to %u)", given->abi,
                       VYRE_BACKEND_ABI);
    memset(calls, 0, sizeof *calls);
    memcpy(calls, given, size < sizeof *calls ? size : sizeof *calls);
    if (!calls->id || (!calls->dispatch && !calls->compile))
        return vy_fail(error, VYRE_ABI_MISMATCH,
                       "set `id`, and `dispatch` or `compile`; all other entries are optional",
                       "the function table of a backend lacks %s", calls->id ? "`dispatch` and `compile`" : "`id`");
    return VYRE_OK;
}

/* In a child process: every later enter fails. */
static void inherit(vy_process_bound *bound) {
    vyre_backend *backend = (vyre_backend *)((char *)bound - offsetof(vyre_backend, bound));
    atomic_store(&backend->is_closing, 1);
    atomic_store(&backend->is_lost, 1);
}

static void *retain_pipeline(void *pipeline) {
    return vyre_pipeline_retain(pipeline);
}

static void release_pipeline(void *pipeline) {
    vyre_pipeline_release(pipeline);
}

static vyre_status initialise(const vyre_backend_instance *instance, vyre_backend *backend, vyre_error *error) {
    vyre_status status = complete(instance->vtable, &backend->calls, error);
    if (status != VYRE_OK)
        return status;
    backend->self = instance->self;
    backend->dispatch_table = (vy_dispatch_table){.self = instance->self,
                                                  .dispatch = backend->calls.dispatch,
                                                  .dispatch_borrowed = backend->calls.dispatch_borrowed,
                                                  .dispatch_borrowed_timed = backend->calls.dispatch_borrowed_timed,
                                                  .dispatch_borrowed_into = backend->calls.dispatch_borrowed_into,
                                                  .dispatch_async = backend->calls.dispatch_async,
                                                  .dispatch_borrowed_async = backend->calls.dispatch_borrowed_async,
                                                  .dispatch_resident = backend->calls.dispatch_resident};
    const char *id = backend->calls.id(backend->self);
    if (!id || !*id || strlen(id) >= sizeof backend->id)
        return vy_fail(error, VYRE_ABI_MISMATCH, VY_FIX("use an id of 1 to %d bytes", VY_BACKEND_ID - 1),
                       "the id of a backend is empty or too long");
    snprintf(backend->id, sizeof backend->id, "%s", id);
    backend->bound.inherit = inherit;
    status = vy_process_bind(&backend->bound, error);
    if (status != VYRE_OK)
        return status;
    atomic_init(&backend->references, 1);
    atomic_init(&backend->generation, 1);
    backend->owner = next_owner();
    vy_backend_query_capabilities(backend);
    backend->code_target = vy_backend_query_code_target(backend);
    pthread_mutex_init(&backend->lock, NULL);
    vy_cond_init_monotonic(&backend->idle);
    vy_prepared_start(&backend->prepared);
    pthread_mutex_init(&backend->implicit_pipelines_lock, NULL);
    backend->implicit_pipelines = (vy_implicit_pipelines){
        .lock = &backend->implicit_pipelines_lock, .retain = retain_pipeline, .release = release_pipeline};
    vy_residents_start(&backend->residents);
    vy_multi_launch_cache_start(&backend->stages);
    vy_grid_sync_start(&backend->grid_sync);
    vy_executable_cache_start(&backend->executables);
    vy_writeback_queue_start(&backend->writebacks, backend);
    vy_async_start(&backend->async);
    return VYRE_OK;
}

vyre_status vy_backend_wrap(const vyre_backend_instance *instance, vyre_backend **out, vyre_error *error) {
    vyre_backend *backend = vy_allocate_zero(sizeof *backend);
    vyre_status status = backend ? initialise(instance, backend, error) : vy_fail_memory(error, "acquiring a backend");
    *out = NULL;
    if (status == VYRE_OK) {
        *out = backend;
        return VYRE_OK;
    }
    vy_release(backend, sizeof *backend);
    const vyre_backend_vtable *table = instance->vtable;
    if (table && table->struct_size >= offsetof(vyre_backend_vtable, destroy) + sizeof table->destroy && table->destroy)
        table->destroy(instance->self);
    return status;
}

/* Cache keys and messages name a backend by its id. The registered id counts, whatever the backend returns, which may
 * be the id of another backend. */
static void name_as_registered(vyre_backend *backend, const char *id) {
    if (strcmp(backend->id, id) == 0)
        return;
    vy_log(1, id, "the backend reports another id than the one it is registered under");
    snprintf(backend->id, sizeof backend->id, "%s", id);
}

static int is_built_in(const vyre_backend_registration *registration) {
    for (size_t i = 0; i < vy_module_count(&vy_builtin_module, VY_STREAM_BACKEND); i++)
        if (vy_module_record(&vy_builtin_module, VY_STREAM_BACKEND, i) == registration)
            return 1;
    return 0;
}

vyre_status vy_backend_construct(const vyre_backend_registration *registration, uint32_t ordinal, vyre_backend **out,
                                 vyre_error *error) {
    vyre_error own;
    vyre_error *e = error ? error : &own;
    vyre_backend_instance instance = {NULL, NULL};
    vyre_backend named; /* vy_backend_check_result uses only its id */
    *out = NULL;
    if (!registration->create)
        return vy_fail(error, VYRE_ABI_MISMATCH, "set `create` in its registration", "backend `%s` has no constructor",
                       registration->id);
    vy_error_clear(e);
    vyre_status status = registration->create(&vy_host_services, ordinal, &instance, e);
    if (status == VYRE_OK) {
        status = vy_backend_wrap(&instance, out, error);
        if (status == VYRE_OK) {
            name_as_registered(*out, registration->id);
            (*out)->is_built_in = is_built_in(registration);
        }
        return status;
    }
    memset(&named, 0, sizeof named);
    snprintf(named.id, sizeof named.id, "%s", registration->id);
    return vy_backend_check_result(&named, status, e);
}

/* ---- references ---- */

vyre_backend *vyre_backend_retain(vyre_backend *backend) {
    if (backend)
        atomic_fetch_add_explicit(&backend->references, 1, memory_order_relaxed);
    return backend;
}

void vyre_backend_release(vyre_backend *backend) {
    VY_SCOPED_CANCELLATION_DISABLE();
    vyre_error ignored;
    if (!backend || atomic_fetch_sub_explicit(&backend->references, 1, memory_order_acq_rel) != 1)
        return;
    if (vy_backend_is_inherited(backend))
        return; /* the device, the threads and the memory that they use belong to the parent */
    vyre_backend_shutdown(backend, &ignored);
    /* The caller released a backend that another thread uses: it is leaked instead of freed under that thread. */
    if (!vy_backend_is_idle(backend)) {
        vy_log(0, backend->id, "the backend was released during a call that does not end: it is not freed");
        return;
    }
    vy_async_end(&backend->async);
    if (!backend->is_device_closed)
        vy_backend_close_device(backend, &ignored);
    vy_writeback_queue_end(&backend->writebacks);
    vy_implicit_pipelines_clear(&backend->implicit_pipelines);
    if (backend->calls.destroy)
        backend->calls.destroy(backend->self);
    vy_process_unbind(&backend->bound);
    vy_executable_cache_end(&backend->executables);
    vy_multi_launch_cache_end(&backend->stages);
    vy_grid_sync_end(&backend->grid_sync);
    vy_residents_end(&backend->residents);
    vy_prepared_end(&backend->prepared);
    pthread_mutex_destroy(&backend->implicit_pipelines_lock);
    pthread_cond_destroy(&backend->idle);
    pthread_mutex_destroy(&backend->lock);
    vy_release(backend, sizeof *backend);
}

/* ---- identity ---- */

const char *vyre_backend_id(const vyre_backend *backend) {
    return backend ? backend->id : NULL;
}

const char *vyre_backend_version(vyre_backend *backend) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (!backend)
        return NULL;
    const char *version = backend->calls.version ? backend->calls.version(backend->self) : NULL;
    return version ? version : "unspecified";
}

const char *const *vyre_backend_supported_ops(vyre_backend *backend, size_t *count) {
    VY_SCOPED_CANCELLATION_DISABLE();
    const char *const *ops = NULL;
    size_t ignored;
    count = count ? count : &ignored;
    *count = 0;
    if (!backend)
        return NULL;
    if (backend->calls.supported_ops)
        ops = backend->calls.supported_ops(backend->self, count);
    return ops ? ops
               : vy_default_ops(vy_backend_limit(backend, VYRE_CAPABILITY_GRID_SYNC) != 0,
                                vy_backend_limit(backend, VYRE_CAPABILITY_SUBGROUP_OPS) != 0, count);
}

/* ---- capabilities ---- */

uint64_t vyre_backend_capability(const vyre_backend *backend, vyre_capability capability) {
    return backend && (unsigned)capability < VYRE_CAPABILITY_COUNT
               ? atomic_load_explicit(&backend->capabilities[capability], memory_order_relaxed)
               : 0;
}

_Static_assert(VYRE_NUMERIC_COUNT < 64, "numerics are bits of one word");

void vyre_backend_numerics(const vyre_backend *backend, vyre_numerics_profile *profile) {
    if (!profile)
        return;
    uint32_t room = profile->struct_size;
    vyre_numerics_profile full = {.struct_size = room};
    if (backend) {
        full.exact = atomic_load_explicit(&backend->numerics, memory_order_relaxed);
        full.cases = atomic_load_explicit(&backend->numerics_cases, memory_order_relaxed);
        if (!full.cases)
            full.exact = 0; /* a claim without test cases does not count here; it is still part of cache keys */
    }
    memcpy(profile, &full, room < sizeof full ? room : sizeof full);
}

const char *vyre_numeric_name(vyre_numeric numeric) {
    static const char *const names[] = {
#define X(ID, name, doc) name,
        VYRE_NUMERIC_LIST(X)
#undef X
    };
    return (unsigned)numeric < VYRE_NUMERIC_COUNT ? names[numeric] : "unknown";
}

static uint32_t clamp32(uint64_t value) {
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

void vyre_backend_profile(vyre_backend *backend, vyre_device_profile *profile) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (!profile)
        return;
    uint64_t has[VYRE_CAPABILITY_COUNT];
    uint32_t room = profile->struct_size;
    for (int i = 0; i < VYRE_CAPABILITY_COUNT; i++)
        has[i] = vyre_backend_capability(backend, (vyre_capability)i);
    vyre_device_profile full = {
        .struct_size = sizeof full,
        .backend = "",
        .device = "",
        .driver = "",
        .supports_subgroup_ops = has[VYRE_CAPABILITY_SUBGROUP_OPS] != 0,
        .supports_indirect_dispatch = has[VYRE_CAPABILITY_INDIRECT_DISPATCH] != 0,
        .supports_f16 = has[VYRE_CAPABILITY_F16] != 0,
        .supports_bf16 = has[VYRE_CAPABILITY_BF16] != 0,
        .supports_tensor_cores = has[VYRE_CAPABILITY_TENSOR_CORES] != 0,
        .has_subgroup_shuffle = has[VYRE_CAPABILITY_SUBGROUP_OPS] != 0,
        .max_native_int_width = 32,
        .max_invocations_per_workgroup = clamp32(has[VYRE_CAPABILITY_MAX_INVOCATIONS]),
        .max_workgroups_per_dimension = clamp32(has[VYRE_CAPABILITY_MAX_WORKGROUPS]),
        .max_storage_buffer_binding_size = has[VYRE_CAPABILITY_MAX_STORAGE_BYTES],
        .subgroup_size = clamp32(has[VYRE_CAPABILITY_SUBGROUP_SIZE]),
    };
    for (int d = 0; d < 3; d++)
        full.max_workgroup_size[d] = clamp32(has[VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X + d]);
    if (backend && backend->calls.device_profile && vy_backend_enter(backend, NULL) == VYRE_OK) {
        backend->calls.device_profile(backend->self, &full);
        vy_backend_leave(backend);
    }
    full.backend = backend ? backend->id : "";
    full.device = full.device ? full.device : "";
    full.driver = full.driver ? full.driver : "";
    memcpy(profile, &full, room < sizeof full ? room : sizeof full);
    if (room >= sizeof profile->struct_size)
        profile->struct_size = room;
}

/* ---- entering and leaving ---- */

vyre_status vy_backend_check_process(const vyre_backend *backend, vyre_error *error) {
    if (!vy_backend_is_inherited(backend))
        return VYRE_OK;
    return vy_fail(error, VYRE_DEVICE_LOST, "acquire the backend again in this process, or fork before it is acquired",
                   "backend `%s` was acquired by process %ld and cannot be used after fork", backend->id,
                   backend->bound.process);
}

static vyre_status refuse(const vyre_backend *backend, vyre_error *error) {
    if (vy_backend_is_inherited(backend))
        return vy_backend_check_process(backend, error);
    if (atomic_load(&backend->is_closing))
        return vy_fail(error, VYRE_DEVICE_LOST, "acquire the backend again", "backend `%s` is shut down", backend->id);
    return vy_fail(error, VYRE_DEVICE_LOST, NULL, "the device of backend `%s` is lost", backend->id);
}

vyre_status vy_backend_enter(vyre_backend *backend, vyre_error *error) {
    atomic_fetch_add(&backend->in_flight, 1);
    if (!atomic_load(&backend->is_closing) && !atomic_load(&backend->is_lost))
        return VYRE_OK;
    vy_backend_leave(backend);
    return refuse(backend, error);
}

void vy_backend_leave(vyre_backend *backend) {
    if (atomic_fetch_sub(&backend->in_flight, 1) == 1 &&
        (atomic_load(&backend->is_closing) || atomic_load(&backend->is_lost)))
        vy_backend_wake(backend);
}

void vy_backend_wake(vyre_backend *backend) {
    if (vy_backend_is_inherited(backend))
        return; /* the waiting threads are in another process */
    pthread_mutex_lock(&backend->lock);
    pthread_cond_broadcast(&backend->idle);
    pthread_mutex_unlock(&backend->lock);
}

void vy_backend_mark_lost(vyre_backend *backend) {
    if (!vy_call_is_abandoned() && !atomic_exchange(&backend->is_lost, 1)) {
        vy_count(VY_COUNTER_device_losses, 1);
        vy_log(0, backend->id, "the device is lost");
    }
}

int vy_backend_is_idle(const vyre_backend *backend) {
    return atomic_load(&backend->in_flight) == 0 && vy_dispatch_slots_are_idle(&backend->dispatch_slots);
}

/* Waits until no call is inside the backend, and collects native handles meanwhile. Returns 0 if a call is still in
 * flight at `until_ns` (0: no limit). With the lock held, which is released during the wait. */
static int drain_and_wait(vyre_backend *backend, uint64_t until_ns) {
    const struct timespec until = vy_clock_timespec(until_ns);
    int result = 0;
    pthread_mutex_unlock(&backend->lock);
    vy_async_wait_all(backend, until_ns);
    pthread_mutex_lock(&backend->lock);
    while (!vy_backend_is_idle(backend) && result != ETIMEDOUT)
        result = until_ns ? pthread_cond_timedwait(&backend->idle, &backend->lock, &until)
                          : pthread_cond_wait(&backend->idle, &backend->lock);
    return vy_backend_is_idle(backend);
}

/* Calls in flight have FINISH_NS to end, and another STOP_NS after they were cancelled. With the lock held, as
 * above. */
#define FINISH_NS UINT64_C(2000000000)
#define STOP_NS UINT64_C(1000000000)
static int end_all(vyre_backend *backend) {
    if (drain_and_wait(backend, vy_clock_now() + FINISH_NS))
        return 1;
    atomic_store(&backend->is_stopping, 1);
    pthread_mutex_unlock(&backend->lock);
    vy_async_cancel(backend);
    pthread_mutex_lock(&backend->lock);
    return drain_and_wait(backend, vy_clock_now() + STOP_NS);
}

vyre_status vyre_backend_flush(vyre_backend *backend, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    vyre_error own;
    vyre_error *e = error ? error : &own;
    vyre_status status = vy_backend_enter(backend, e);
    if (status != VYRE_OK)
        return status;
    vy_async_wait_all(backend, 0);
    vy_error_clear(e);
    if (backend->calls.flush)
        status = vy_backend_check_result(backend, backend->calls.flush(backend->self, e), e);
    vy_backend_leave(backend);
    return status;
}

vyre_status vy_backend_close_device(vyre_backend *backend, vyre_error *error) {
    backend->is_device_closed = 1;
    vy_executable_cache_retire(backend);
    vy_residents_free_all(backend);
    vy_error_clear(error);
    return backend->calls.shutdown
               ? vy_backend_check_result(backend, backend->calls.shutdown(backend->self, error), error)
               : VYRE_OK;
}

vyre_status vyre_backend_shutdown(vyre_backend *backend, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    vyre_error own;
    vyre_error *e = error ? error : &own;
    vyre_status status = vy_backend_check_process(backend, error);
    if (status != VYRE_OK)
        return status;
    vy_writeback_queue_flush(&backend->writebacks);
    pthread_mutex_lock(&backend->lock);
    while (backend->is_recovering)
        pthread_cond_wait(&backend->idle, &backend->lock);
    int first = !atomic_exchange(&backend->is_closing, 1), has_ended = end_all(backend);
    while (!first && !backend->is_closed)
        pthread_cond_wait(&backend->idle, &backend->lock);
    pthread_mutex_unlock(&backend->lock);
    if (!first)
        return VYRE_OK;
    vy_writeback_queue_flush(&backend->writebacks); /* later entries are dropped: no call enters any more */
    /* A call that has not returned may still use the device: the device is not closed until it returns. */
    if (!has_ended)
        status =
            vy_fail(e, VYRE_TIMEOUT,
                    "use a timeout or a cancel word for dispatches; the last release of the backend frees the device",
                    "backend `%s` is shut down, but a call on it has not ended within %" PRIu64
                    " s and cannot be stopped: the device stays in use until it ends",
                    backend->id, (FINISH_NS + STOP_NS) / 1000000000u);
    else if (atomic_load(&backend->abandoned) == 0)
        status = vy_backend_close_device(backend, e);
    pthread_mutex_lock(&backend->lock);
    backend->is_closed = 1;
    pthread_cond_broadcast(&backend->idle);
    pthread_mutex_unlock(&backend->lock);
    return status;
}

int vyre_backend_device_lost(vyre_backend *backend) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (!backend)
        return 0;
    if (backend->calls.device_lost && vy_backend_enter(backend, NULL) == VYRE_OK) {
        if (backend->calls.device_lost(backend->self))
            vy_backend_mark_lost(backend);
        vy_backend_leave(backend);
    }
    return atomic_load(&backend->is_lost);
}

static vyre_status recover(vyre_backend *backend, vyre_error *error) {
    vy_executable_cache_retire(backend); /* pipelines are compiled again at their next use */
    vy_error_clear(error);
    vyre_status status = vy_backend_check_result(backend, backend->calls.try_recover(backend->self, error), error);
    if (status != VYRE_OK)
        return status;
    vy_backend_query_capabilities(backend);
    vy_prepared_clear(&backend->prepared);
    return vy_residents_recover(backend, error);
}

vyre_status vyre_backend_try_recover(vyre_backend *backend, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    vyre_error own;
    vyre_error *e = error ? error : &own;
    if (vy_backend_is_inherited(backend))
        return refuse(backend, error);
    if (!backend->calls.try_recover)
        return vy_backend_unsupported(backend, "device recovery", error);
    pthread_mutex_lock(&backend->lock);
    while (backend->is_recovering)
        pthread_cond_wait(&backend->idle, &backend->lock);
    if (atomic_load(&backend->is_closing) || !atomic_load(&backend->is_lost)) {
        pthread_mutex_unlock(&backend->lock);
        return atomic_load(&backend->is_closing) ? refuse(backend, error) : VYRE_OK;
    }
    backend->is_recovering = 1;
    drain_and_wait(backend, 0);
    pthread_mutex_unlock(&backend->lock);

    vyre_status status = recover(backend, e);

    pthread_mutex_lock(&backend->lock);
    if (status == VYRE_OK) {
        atomic_fetch_add(&backend->generation, 1);
        atomic_store(&backend->is_lost, 0);
    }
    backend->is_recovering = 0;
    pthread_cond_broadcast(&backend->idle);
    pthread_mutex_unlock(&backend->lock);
    return status;
}

uint64_t vyre_backend_generation(const vyre_backend *backend) {
    return backend ? atomic_load(&backend->generation) : 0;
}
