/* Fault backend: a complete backend whose every entry can be made to misbehave at a chosen call in a chosen way
 * (fault_plugin.h). It uses only the public header and the host table. Results come from the reference interpreter;
 * memory comes from the host, so that a test that counts blocks counts these, too. A device is one instance; the
 * requested fault is process-wide. */
#include "fault_device.h"

/* ---- dispatches in flight ---- */

static int is_over(const work *w) {
    return now() >= w->ready_at || atomic_load(&w->is_cancelled);
}

static int pending_is_ready(void *self) {
    work *w = self;
    fault_kind kind = strike(w->d, FAULT_PENDING_is_ready);
    return kind == FAULT_VALUE_ZERO ? 0 : kind == FAULT_VALUE_ENORMOUS ? -1 : is_over(w);
}

static vyre_status pending_wait(void *self, uint64_t deadline_ns, vyre_outputs *outputs, vyre_error *error) {
    work *w = self;
    device *d = w->d;
    vyre_trap nowhere;
    vyre_launch launch = {.trap = &nowhere};
    vyre_status status;
    fault_kind kind = enter(d, FAULT_PENDING_wait, &status, error);
    if (status != VYRE_OK)
        return status;
    for (; !is_over(w); nap(100000))
        if (deadline_ns && now() >= deadline_ns)
            return d->host->fail(error, VYRE_NOT_READY, NULL, "not yet");
    if (atomic_load(&w->is_cancelled))
        return d->host->fail(error, VYRE_CANCELLED, NULL, "cancelled");
    if (w->status != VYRE_OK)
        return speak(d, w->status, error);
    for (size_t i = 0; i < w->count && status == VYRE_OK; i++) {
        status = d->host->bytes_resize(&outputs->items[i], w->slots[i].size, error);
        if (status == VYRE_OK)
            memcpy(outputs->items[i].data, w->slots[i].data, w->slots[i].size);
    }
    return status == VYRE_OK ? spoil(d, kind, &launch, outputs, error) : status;
}

static void pending_cancel(void *self) {
    work *w = self;
    strike(w->d, FAULT_PENDING_cancel);
    atomic_store(&w->is_cancelled, 1);
}

static void *watch(void *self) {
    work *w = self;
    while (!is_over(w))
        nap(100000);
    w->done(w->user);
    return NULL;
}

static void pending_notify(void *self, void (*done)(void *user), void *user) {
    work *w = self;
    fault_kind kind = strike(w->d, FAULT_PENDING_notify);
    if (kind == FAULT_NEVER_TOLD)
        return;
    if (!is_over(w)) {
        w->done = done, w->user = user;
        w->is_watched = pthread_create(&w->watcher, NULL, watch, w) == 0;
        if (w->is_watched)
            return;
    }
    done(user);
    if (kind == FAULT_TOLD_TWICE)
        done(user);
}

static void pending_destroy(void *self) {
    work *w = self;
    device *d = w->d;
    strike(d, FAULT_PENDING_destroy);
    if (w->is_watched)
        pthread_join(w->watcher, NULL);
    for (size_t i = 0; i < w->count; i++)
        d->host->release(w->slots[i].data, w->slots[i].capacity);
    d->host->release(w, sizeof *w);
    atomic_fetch_sub(&control.pendings, 1);
}

/* An unusable table, whose object could not be released: it has none. */
static int gives_bad_table(fault_kind kind, const void **vtable, void **self) {
    static const struct {
        uint32_t struct_size;
        void *nothing[32];
    } short_table = {.struct_size = 8}, empty_table = {.struct_size = sizeof empty_table};
    if (kind != FAULT_TABLE_ABSENT && kind != FAULT_TABLE_SHORT && kind != FAULT_TABLE_EMPTY)
        return 0;
    *vtable = kind == FAULT_TABLE_SHORT ? &short_table : kind == FAULT_TABLE_EMPTY ? &empty_table : NULL;
    *self = (void *)vtable;
    return 1;
}

static vyre_status start(device *d, fault_entry entry, const vyre_launch *launch, const vyre_span *inputs, size_t count,
                         vyre_native_pending *out, vyre_error *error) {
    const void *table;
    vyre_buffer_info info;
    vyre_status status;
    fault_kind kind = enter(d, entry, &status, error);
    if (status != VYRE_OK)
        return status;
    if (gives_bad_table(kind, &table, &out->self)) {
        out->vtable = table;
        return VYRE_OK;
    }
    work *w = d->host->allocate(sizeof *w);
    if (!w)
        return d->host->fail(error, VYRE_NO_MEMORY, NULL, "no memory for a dispatch in flight");
    memset(w, 0, sizeof *w);
    w->d = d;
    for (size_t i = 0; i < BUFFERS && d->host->program_buffer(launch->program, i, &info); i++)
        w->count += info.access == VYRE_ACCESS_WRITE || info.access == VYRE_ACCESS_READ_WRITE;
    vyre_outputs outputs = {w->slots, w->count, w->count};
    vyre_error why;
    w->status = run(d, launch, inputs, count, &outputs, &why);
    w->ready_at = now() + control.async_ms * 1000000ull;
    atomic_fetch_add(&control.pendings, 1);
    *out = (vyre_native_pending){&d->pending_table, w};
    return VYRE_OK;
}

static vyre_status backend_dispatch_async(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t count,
                                          vyre_native_pending *out, vyre_error *error) {
    vyre_span spans[BUFFERS];
    for (size_t i = 0; i < count && i < BUFFERS; i++)
        spans[i] = (vyre_span){inputs[i].data, inputs[i].size};
    return start(self, FAULT_BACKEND_dispatch_async, launch, spans, count, out, error);
}

static vyre_status backend_dispatch_borrowed_async(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                                   size_t count, vyre_native_pending *out, vyre_error *error) {
    return start(self, FAULT_BACKEND_dispatch_borrowed_async, launch, inputs, count, out, error);
}

/* ---- dispatches ---- */

#define FORWARD_SPANS(TABLE, table, device_of, name)                                                                   \
    static vyre_status table##_##name(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t count,    \
                                      vyre_outputs *outputs, vyre_error *error) {                                      \
        return run_spans(device_of, FAULT_##TABLE##_##name, launch, inputs, count, outputs, error);                    \
    }
FORWARD_SPANS(BACKEND, backend, self, dispatch_borrowed)
FORWARD_SPANS(BACKEND, backend, self, dispatch_borrowed_into)
FORWARD_SPANS(PIPELINE, pipeline, ((pipeline *)self)->d, dispatch_borrowed)
FORWARD_SPANS(PIPELINE, pipeline, ((pipeline *)self)->d, dispatch_borrowed_into)

static vyre_status backend_dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t count,
                                    vyre_outputs *outputs, vyre_error *error) {
    return run_owned(self, FAULT_BACKEND_dispatch, launch, inputs, count, outputs, error);
}

static vyre_status backend_dispatch_borrowed_timed(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                                   size_t count, vyre_outputs *outputs, vyre_timing *timing,
                                                   vyre_error *error) {
    *timing = (vyre_timing){.wall_ns = 1};
    return run_spans(self, FAULT_BACKEND_dispatch_borrowed_timed, launch, inputs, count, outputs, error);
}

static vyre_status pipeline_dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t count,
                                     vyre_outputs *outputs, vyre_error *error) {
    return run_owned(((pipeline *)self)->d, FAULT_PIPELINE_dispatch, launch, inputs, count, outputs, error);
}

static vyre_status pipeline_dispatch_borrowed_timed(void *self, const vyre_launch *launch, const vyre_span *inputs,
                                                    size_t count, vyre_outputs *outputs, vyre_timing *timing,
                                                    vyre_error *error) {
    *timing = (vyre_timing){.wall_ns = 1};
    return run_spans(((pipeline *)self)->d, FAULT_PIPELINE_dispatch_borrowed_timed, launch, inputs, count, outputs,
                     error);
}

/* The last item is the one that is spoilt. */
static vyre_status pipeline_dispatch_batched_into(void *self, const vyre_launch *launches,
                                                  const vyre_span *const *inputs, size_t input_count, size_t count,
                                                  vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    device *d = ((pipeline *)self)->d;
    vyre_status status;
    fault_kind kind = enter(d, FAULT_PIPELINE_dispatch_batched_into, &status, error);
    if (kind == FAULT_WRONG_ITEM)
        *failed = SIZE_MAX;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        status = run(d, &launches[i], inputs[i], input_count, &outputs[i], error);
        if (status != VYRE_OK)
            *failed = i;
    }
    return status == VYRE_OK ? spoil(d, kind, &launches[count - 1], &outputs[count - 1], error) : status;
}

static vyre_status pipeline_dispatch_persistent_into(void *self, const vyre_launch *launch,
                                                     const vyre_resource *bindings, size_t count, vyre_outputs *outputs,
                                                     vyre_timing *timing, vyre_error *error) {
    device *d = ((pipeline *)self)->d;
    vyre_status status;
    fault_kind kind = enter(d, FAULT_PIPELINE_dispatch_persistent_into, &status, error);
    if (timing)
        *timing = (vyre_timing){.wall_ns = 1};
    if (status == VYRE_OK)
        status = run_bound(d, launch, bindings, count, outputs, error);
    return status == VYRE_OK ? spoil(d, kind, launch, outputs, error) : status;
}

static vyre_status run_many(device *d, fault_entry entry, const vyre_launch *launches,
                            const vyre_resource *const *bindings, const vyre_resource (*rows)[4], size_t binding_count,
                            size_t count, vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    vyre_status status;
    fault_kind kind = enter(d, entry, &status, error);
    if (kind == FAULT_WRONG_ITEM)
        *failed = count + 1;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        status = run_bound(d, &launches[i], bindings ? bindings[i] : rows[i], binding_count, &outputs[i], error);
        if (status != VYRE_OK)
            *failed = i;
    }
    return status == VYRE_OK ? spoil(d, kind, &launches[count - 1], &outputs[count - 1], error) : status;
}

static vyre_status pipeline_dispatch_persistent_batched_into(void *self, const vyre_launch *launches,
                                                             const vyre_resource *const *bindings, size_t binding_count,
                                                             size_t count, vyre_outputs *outputs, size_t *failed,
                                                             vyre_error *error) {
    return run_many(((pipeline *)self)->d, FAULT_PIPELINE_dispatch_persistent_batched_into, launches, bindings, NULL,
                    binding_count, count, outputs, failed, error);
}

static vyre_status pipeline_dispatch_persistent_rows_into(void *self, const vyre_launch *launches,
                                                          const vyre_resource (*rows)[4], size_t count,
                                                          vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    return run_many(((pipeline *)self)->d, FAULT_PIPELINE_dispatch_persistent_rows_into, launches, NULL, rows, 4, count,
                    outputs, failed, error);
}

static vyre_status pipeline_dispatch_async(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t count,
                                           vyre_native_pending *out, vyre_error *error) {
    return start(((pipeline *)self)->d, FAULT_PIPELINE_dispatch_async, launch, inputs, count, out, error);
}

/* ---- compiling ---- */

/* A binary: the fingerprint of the program. Corrupted ones use the same path. */
static vyre_status give_bytes(device *d, fault_kind kind, const void *bytes, size_t size, vyre_bytes *out,
                              vyre_error *error) {
    static char somewhere[8];
    if (kind == FAULT_BYTES_NONE)
        return VYRE_OK;
    if (kind == FAULT_BYTES_WITHOUT_MEMORY || kind == FAULT_BYTES_OVER_CAPACITY) {
        *out = (vyre_bytes){kind == FAULT_BYTES_WITHOUT_MEMORY ? NULL : somewhere, SIZE_MAX / 2, 8};
        return VYRE_OK;
    }
    vyre_status status = d->host->bytes_resize(out, size, error);
    if (status == VYRE_OK && kind == FAULT_BYTES_GARBAGE)
        memset(out->data, 0x5a, size);
    else if (status == VYRE_OK)
        memcpy(out->data, bytes, size);
    return status;
}

static vyre_status serialize(pipeline *p, fault_entry entry, vyre_bytes *out, vyre_error *error) {
    vyre_digest fingerprint;
    vyre_status status;
    fault_kind kind = enter(p->d, entry, &status, error);
    p->d->host->program_fingerprint(p->program, &fingerprint);
    return status == VYRE_OK ? give_bytes(p->d, kind, &fingerprint, sizeof fingerprint, out, error) : status;
}

static vyre_status pipeline_serialize(void *self, vyre_bytes *out, vyre_error *error) {
    return serialize(self, FAULT_PIPELINE_serialize, out, error);
}

static vyre_status pipeline_serialize_later(void *self, vyre_bytes *out, vyre_error *error) {
    return serialize(self, FAULT_PIPELINE_serialize_later, out, error);
}

static void pipeline_destroy(void *self) {
    pipeline *p = self;
    device *d = p->d;
    strike(d, FAULT_PIPELINE_destroy);
    d->host->program_release(p->program);
    d->host->release(p, sizeof *p);
    atomic_fetch_sub(&control.pipelines, 1);
}

static vyre_status build(device *d, fault_kind kind, vyre_program *program, vyre_native_pipeline *out,
                         vyre_error *error) {
    const void *table;
    if (gives_bad_table(kind, &table, &out->self)) {
        out->vtable = table;
        return VYRE_OK;
    }
    pipeline *p = d->host->allocate(sizeof *p);
    if (!p)
        return d->host->fail(error, VYRE_NO_MEMORY, NULL, "no memory for a pipeline");
    *p = (pipeline){d, d->host->program_retain(program)};
    atomic_fetch_add(&control.pipelines, 1);
    *out = (vyre_native_pipeline){&d->pipeline_table, p};
    return VYRE_OK;
}

static vyre_status backend_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                   vyre_native_pipeline *out, vyre_error *error) {
    (void)options;
    vyre_status status;
    fault_kind kind = enter(self, FAULT_BACKEND_compile, &status, error);
    return status == VYRE_OK ? build(self, kind, program, out, error) : status;
}

static vyre_status backend_load(void *self, vyre_program *program, const vyre_compile_options *options,
                                vyre_span binary, vyre_native_pipeline *out, vyre_error *error) {
    (void)options;
    device *d = self;
    vyre_digest fingerprint;
    vyre_status status;
    fault_kind kind = enter(d, FAULT_BACKEND_load, &status, error);
    if (status != VYRE_OK)
        return status;
    d->host->program_fingerprint(program, &fingerprint);
    if (binary.size != sizeof fingerprint || memcmp(binary.data, &fingerprint, sizeof fingerprint) != 0)
        return d->host->fail(error, VYRE_CORRUPT, NULL, "not a binary of this program");
    return build(d, kind, program, out, error);
}

static vyre_status backend_cache_identity(void *self, vyre_bytes *out, vyre_error *error) {
    static const char name[] = "fault device 1";
    vyre_status status;
    fault_kind kind = enter(self, FAULT_BACKEND_cache_identity, &status, error);
    return status == VYRE_OK ? give_bytes(self, kind, name, sizeof name, out, error) : status;
}

static vyre_status backend_emit(void *self, vyre_program *program, const vyre_compile_options *options, vyre_bytes *out,
                                vyre_error *error) {
    static const char code[] = "code";
    vyre_status status;
    (void)program, (void)options;
    fault_kind kind = enter(self, FAULT_BACKEND_emit, &status, error);
    return status == VYRE_OK ? give_bytes(self, kind, code, sizeof code, out, error) : status;
}

static int backend_cache_snapshot(void *self, vyre_cache_snapshot *out) {
    fault_kind kind = strike(self, FAULT_BACKEND_cache_snapshot);
    memset(out, kind == FAULT_VALUE_ENORMOUS ? 0xff : 0, sizeof *out);
    return kind != FAULT_VALUE_ZERO;
}

static vyre_status backend_sequence(void *self, const vyre_native_step *steps, size_t count,
                                    const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing,
                                    size_t *failed, vyre_error *error) {
    device *d = self;
    vyre_outputs none = {NULL, 0, 0};
    vyre_status status;
    fault_kind kind = enter(d, FAULT_BACKEND_sequence, &status, error);
    if (kind == FAULT_WRONG_ITEM)
        *failed = SIZE_MAX - 1;
    if (timing)
        *timing = (vyre_timing){.wall_ns = 1};
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        status = run_bound(d, &steps[i].launch, steps[i].bindings, steps[i].binding_count, NULL, error);
        if (status != VYRE_OK)
            *failed = i;
    }
    for (size_t i = 0; i < readback_count && status == VYRE_OK; i++)
        status = copy(d, readbacks[i].resident.id, readbacks[i].offset, readbacks[i].host, readbacks[i].size, 0, error);
    return status == VYRE_OK && count ? spoil(d, kind, &steps[0].launch, &none, error) : status;
}

/* ---- identity ---- */

static const char *backend_id(void *self) {
    fault_kind kind = strike(self, FAULT_BACKEND_id);
    return kind == FAULT_TEXT_NULL ? NULL : kind == FAULT_TEXT_OTHER ? "somebody-else" : FAULT_BACKEND_ID;
}

static const char *backend_version(void *self) {
    fault_kind kind = strike(self, FAULT_BACKEND_version);
    return kind == FAULT_TEXT_NULL ? NULL : kind == FAULT_TEXT_OTHER ? "" : "1.0";
}

static const char *backend_code_target(void *self) {
    fault_kind kind = strike(self, FAULT_BACKEND_code_target);
    return kind == FAULT_TEXT_NULL ? NULL : kind == FAULT_TEXT_OTHER ? "" : "native_module";
}

static const char *const *backend_supported_ops(void *self, size_t *count) {
    static const char *const ops[] = {
#define IN_SOURCE(name) name,
#define IN_LEGAL(name)
#define X(ID, tag, name, symbol, precedence, arity, cls, rule, level, edge, doc) IN_##level(name)
        VYRE_OP_LIST(X)
#undef X
            "load",
        "store",
        "barrier",
        "global_id",
        "local_id",
        "group_id",
        "local_index",
        "atomic_add",
        "nothing_known",
        NULL};
    fault_kind kind = strike(self, FAULT_BACKEND_supported_ops);
    *count = kind == FAULT_TEXT_NULL ? SIZE_MAX : kind == FAULT_TEXT_OTHER ? 0 : sizeof ops / sizeof *ops;
    return kind == FAULT_TEXT_NULL ? NULL : ops;
}

static void backend_device_profile(void *self, vyre_device_profile *profile) {
    fault_kind kind = strike(self, FAULT_BACKEND_device_profile);
    profile->device = "nothing";
    profile->driver = "nobody";
    if (kind == FAULT_TEXT_NULL)
        profile->device = profile->driver = profile->backend = NULL;
    if (kind == FAULT_TEXT_OTHER)
        profile->backend = "somebody-else", profile->struct_size = UINT32_MAX;
}

static uint64_t backend_capability(void *self, vyre_capability capability) {
    fault_kind kind = strike(self, FAULT_BACKEND_capability);
    if (kind == FAULT_VALUE_ZERO || kind == FAULT_VALUE_ENORMOUS)
        return kind == FAULT_VALUE_ZERO ? 0 : UINT64_MAX;
    switch (capability) {
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X:
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Y:
    case VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_Z:
        return 64;
    case VYRE_CAPABILITY_MAX_WORKGROUPS:
        return control.most_groups ? control.most_groups : 65535;
    case VYRE_CAPABILITY_CANCEL:
        return control.can_cancel != 0;
    default:
        return 0;
    }
}

static uint64_t backend_grid_sync_limit(void *self, const vyre_program *program, void *pipeline) {
    fault_kind kind = strike(self, FAULT_BACKEND_grid_sync_limit);
    (void)program, (void)pipeline;
    return kind == FAULT_VALUE_ZERO ? 0 : kind == FAULT_VALUE_ENORMOUS ? UINT64_MAX : 2;
}

static void backend_numerics(void *self, vyre_numerics_profile *profile) {
    fault_kind kind = strike(self, FAULT_BACKEND_numerics);
    profile->exact = kind == FAULT_VALUE_ENORMOUS ? UINT64_MAX : kind == FAULT_VALUE_ZERO ? 0 : 1;
    if (kind == FAULT_VALUE_ENORMOUS)
        memset(profile, 0xff, sizeof *profile);
}

/* ---- lifecycle ---- */

static vyre_status backend_prepare(void *self, vyre_program *program, vyre_error *error) {
    (void)program;
    vyre_status status;
    enter(self, FAULT_BACKEND_prepare, &status, error);
    return status;
}

static vyre_status backend_flush(void *self, vyre_error *error) {
    vyre_status status;
    enter(self, FAULT_BACKEND_flush, &status, error);
    return status;
}

static vyre_status backend_shutdown(void *self, vyre_error *error) {
    vyre_status status;
    enter(self, FAULT_BACKEND_shutdown, &status, error);
    return status;
}

static int backend_device_lost(void *self) {
    device *d = self;
    fault_kind kind = strike(d, FAULT_BACKEND_device_lost);
    return kind == FAULT_VALUE_ZERO ? 0 : kind == FAULT_VALUE_ENORMOUS ? -1 : atomic_load(&d->is_lost);
}

/* The contents of the device are lost. */
static vyre_status backend_try_recover(void *self, vyre_error *error) {
    device *d = self;
    vyre_status status;
    enter(d, FAULT_BACKEND_try_recover, &status, error);
    if (status != VYRE_OK)
        return status;
    if (atomic_load(&d->is_gone))
        return speak(d, VYRE_DEVICE_LOST, error);
    drop_all(d);
    atomic_fetch_add(&d->recoveries, 1);
    atomic_store(&d->is_lost, 0);
    return VYRE_OK;
}

static void backend_destroy(void *self) {
    device *d = self;
    const vyre_host *host = d->host;
    strike(d, FAULT_BACKEND_destroy);
    drop_all(d); /* destroying a device frees the memory that is left on it */
    pthread_mutex_destroy(&d->lock);
    host->release(d, sizeof *d);
    atomic_fetch_sub(&control.devices, 1);
}

/* ---- registration ---- */

static vyre_status create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error) {
    (void)ordinal;
    device *d = host->allocate(sizeof *d);
    if (!d)
        return host->fail(error, VYRE_NO_MEMORY, NULL, "no memory for a device");
    memset(d, 0, sizeof *d);
    d->host = host;
    pthread_mutex_init(&d->lock, NULL);
    d->table.struct_size = sizeof d->table;
    d->table.abi = VYRE_BACKEND_ABI;
    d->pipeline_table.struct_size = sizeof d->pipeline_table;
    d->pending_table.struct_size = sizeof d->pending_table;
#define BACKEND(name, gives)                                                                                           \
    if (!control.is_missing[FAULT_BACKEND_##name])                                                                     \
        d->table.name = backend_##name;
#define PIPELINE(name, gives)                                                                                          \
    if (!control.is_missing[FAULT_PIPELINE_##name])                                                                    \
        d->pipeline_table.name = pipeline_##name;
#define PENDING(name, gives)                                                                                           \
    if (!control.is_missing[FAULT_PENDING_##name])                                                                     \
        d->pending_table.name = pending_##name;
    FAULT_ENTRIES(BACKEND, PIPELINE, PENDING)
#undef BACKEND
#undef PIPELINE
#undef PENDING
    atomic_fetch_add(&control.devices, 1);
    *out = (vyre_backend_instance){&d->table, d};
    return VYRE_OK;
}

VYRE_REGISTER_BACKEND(fault, .id = FAULT_BACKEND_ID, .create = create);
VYRE_REGISTER_CAPABILITY(fault, .id = FAULT_BACKEND_ID, .dispatches = 1);
VYRE_PLUGIN("fault");
