/* Pipelines: their executables by variant, handles, implicit pipelines, dispatch from host bytes and on persistent
 * handles (pipeline.h).
 *
 * A pipeline without the persistent entry, and a program in stages, run on temporary resident buffers instead of host
 * bytes (backend_call.c), if the backend has resident memory. */
#include "driver/pipeline.h"

#include "base/status.h"
#include "base/thread.h"
#include "dialect/load.h"
#include "driver/op_code.h"
#include "driver/pending.h"
#include "driver/resource_dispatch.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- the table of implicit pipelines ---- */

/* With the lock held; the same for the next two functions. */
static vy_implicit_pipelines_slot *find_program(vy_implicit_pipelines *programs, const vyre_program *program) {
    for (int i = 0; i < VY_IMPLICIT_PIPELINES_MAX; i++) {
        vy_implicit_pipelines_slot *slot = &programs->slots[i];
        if (slot->program && vyre_program_equal(slot->program, program))
            return slot;
    }
    return NULL;
}

static vy_implicit_pipelines_slot *find_oldest(vy_implicit_pipelines *programs) {
    vy_implicit_pipelines_slot *best = &programs->slots[0];
    for (int i = 1; i < VY_IMPLICIT_PIPELINES_MAX; i++)
        if (best->program && (!programs->slots[i].program || programs->slots[i].last_use < best->last_use))
            best = &programs->slots[i];
    return best;
}

static void *touch_slot(vy_implicit_pipelines *programs, vy_implicit_pipelines_slot *slot) {
    slot->last_use = ++programs->clock;
    return programs->retain(slot->value);
}

static void release_slot(vy_implicit_pipelines *programs, vy_implicit_pipelines_slot old) {
    if (old.value)
        programs->release(old.value);
    vyre_program_release(old.program);
}

void *vy_implicit_pipelines_find(vy_implicit_pipelines *programs, const vyre_program *program) {
    pthread_mutex_lock(programs->lock);
    vy_implicit_pipelines_slot *slot = find_program(programs, program);
    void *value = slot ? touch_slot(programs, slot) : NULL;
    pthread_mutex_unlock(programs->lock);
    return value;
}

void *vy_implicit_pipelines_insert(vy_implicit_pipelines *programs, vyre_program *program, void *value) {
    vy_implicit_pipelines_slot evicted = {.value = value};
    pthread_mutex_lock(programs->lock);
    vy_implicit_pipelines_slot *slot = find_program(programs, program);
    if (!slot) {
        slot = find_oldest(programs);
        evicted = *slot;
        *slot = (vy_implicit_pipelines_slot){vyre_program_retain(program), value, 0};
    }
    void *used = touch_slot(programs, slot);
    pthread_mutex_unlock(programs->lock);
    release_slot(programs, evicted);
    return used;
}

void vy_implicit_pipelines_clear(vy_implicit_pipelines *programs) {
    for (int i = 0; i < VY_IMPLICIT_PIPELINES_MAX; i++) {
        pthread_mutex_lock(programs->lock);
        vy_implicit_pipelines_slot old = programs->slots[i];
        programs->slots[i] = (vy_implicit_pipelines_slot){.program = NULL};
        pthread_mutex_unlock(programs->lock);
        release_slot(programs, old);
    }
}

/* ---- executables ---- */

/* Replaces a missing or retired executable, unless another thread just did. Owns `fresh`. */
static vyre_status publish_executable(vyre_pipeline *pipeline, unsigned variant, vy_executable *fresh,
                                      vy_executable **out, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vy_executable *surplus = NULL;
    pthread_mutex_lock(&pipeline->lock);
    vy_executable *now = atomic_load(&pipeline->executables[variant]);
    if (now && !atomic_load(&now->is_retired)) {
        surplus = fresh;
        *out = now;
    } else if (now && !VY_RESERVE(&pipeline->old, 1)) {
        surplus = fresh;
        status = vy_fail_memory(error, "compiling a pipeline again");
    } else {
        if (now)
            pipeline->old.items[pipeline->old.count++] = now;
        atomic_store(&pipeline->executables[variant], fresh);
        *out = fresh;
    }
    pthread_mutex_unlock(&pipeline->lock);
    vy_executable_release(surplus);
    return status;
}

/* Compiles an executable, or finds it in the caches. */
static vyre_status get_executable(vyre_pipeline *pipeline, unsigned variant, uint64_t deadline_ns, vy_executable **out,
                                  vyre_error *error) {
    vy_executable *executable;
    vyre_compile_options options = {.struct_size = sizeof options,
                                    .cancellable = (variant & VY_VARIANT_CANCELLABLE) != 0,
                                    .deadline_ns = deadline_ns};
    vyre_status status = vy_executable_get(pipeline->backend, pipeline->program, &options,
                                           (vy_executable_form)(variant / VY_VARIANT_FORM), &executable, error);
    return status == VYRE_OK ? publish_executable(pipeline, variant, executable, out, error) : status;
}

vyre_status vy_pipeline_executable(vyre_pipeline *pipeline, vy_stop_condition stop, vy_executable_form form,
                                   vy_executable **out, vyre_error *error) {
    unsigned variant = pipeline->variant | VY_VARIANT_FORM * (unsigned)form;
    if (stop.may_stop && vy_backend_limit(pipeline->backend, VYRE_CAPABILITY_CANCEL))
        variant |= VY_VARIANT_CANCELLABLE;
    vy_executable *executable = atomic_load_explicit(&pipeline->executables[variant], memory_order_acquire);
    *out = executable;
    if (executable && !atomic_load_explicit(&executable->is_retired, memory_order_acquire))
        return VYRE_OK;
    return get_executable(pipeline, variant, stop.deadline_ns, out, error);
}

/* A pipeline runs on resident buffers only if all its entries can. */
static int can_run(const vy_executable *executable, vy_form form) {
    return form == VY_FORM_RESIDENT || form == VY_FORM_PERSISTENT ? executable->is_resident : executable->has_native;
}

vyre_status vy_pipeline_select(vyre_pipeline *pipeline, const vy_resolved_dispatch *launch, vy_stop_condition stop,
                               vy_call *call, vy_multi_launch_tables staged[2], vyre_error *error) {
    int is_tiled, has_stages = vy_multi_launch_needed(pipeline->backend, pipeline->program, launch, &is_tiled);
    vy_executable *executable;
    vyre_status status = vy_pipeline_executable(
        pipeline, stop, has_stages && is_tiled ? VY_EXECUTABLE_TILED : VY_EXECUTABLE_PLAIN, &executable, error);
    if (status == VYRE_TIMEOUT)
        vy_count(VY_COUNTER_timeouts, 1);
    if (status != VYRE_OK || !can_run(executable, call->form))
        return status; /* the backend itself runs it */
    call->executable = executable;
    if (has_stages)
        staged[is_tiled] = (vy_multi_launch_tables){executable->stages, executable->dispatch_tables};
    else
        call->dispatch_table = executable->dispatch_tables;
    return VYRE_OK;
}

vyre_status vy_pipeline_dispatch_table(vy_dispatch *d, vyre_error *error) {
    int is_tiled;
    vy_executable *executable;
    if (vy_multi_launch_needed(d->backend, d->program, &d->launch, &is_tiled))
        return VYRE_OK;
    vyre_status status = vy_pipeline_executable(d->pipeline, (vy_stop_condition){1, d->deadline_ns},
                                                VY_EXECUTABLE_PLAIN, &executable, error);
    if (status == VYRE_OK)
        d->dispatch_table = executable->dispatch_tables;
    return status;
}

/* ---- the handle ---- */

void vy_pipeline_name(const vyre_backend *backend, const vyre_program *program, char id[VY_PIPELINE_ID]) {
    char digits[65];
    vyre_digest fingerprint;
    vyre_program_fingerprint(program, &fingerprint);
    vyre_digest_format(&fingerprint, digits);
    snprintf(id, VY_PIPELINE_ID, "%s:%s", backend->id, digits);
}

static vyre_status read_options(const vyre_compile_options *options, unsigned *variant, uint64_t *deadline_ns,
                                vyre_error *error) {
    const size_t least = offsetof(vyre_compile_options, cancellable) + sizeof options->cancellable;
    *variant = 0;
    *deadline_ns = 0;
    if (!options)
        return VYRE_OK;
    if (options->struct_size < least)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "set struct_size to sizeof(vyre_compile_options)",
                       "the struct_size of the compile options (%" PRIu32 ") is too small (at least %zu expected)",
                       options->struct_size, least);
    *variant = options->cancellable ? VY_VARIANT_CANCELLABLE : 0;
    if (options->struct_size >= offsetof(vyre_compile_options, deadline_ns) + sizeof options->deadline_ns)
        *deadline_ns = options->deadline_ns;
    return VYRE_OK;
}

static vyre_status check(vyre_backend *backend, vyre_program *program, vyre_error *error) {
    if (!vy_program_has_entry(program))
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "pass a `program`, not a file of functions",
                       "a library has nothing to compile");
    return vy_dispatch_check_program(backend, program, error);
}

/* Compiles all executables that a dispatch without a stop condition may use, for grids within the device's limit. */
static vyre_status prepare(vyre_pipeline *pipeline, uint64_t deadline_ns, vyre_error *error) {
    vy_executable *executable;
    vyre_status status =
        vy_pipeline_executable(pipeline, (vy_stop_condition){0, deadline_ns}, VY_EXECUTABLE_PLAIN, &executable, error);
    if (status != VYRE_OK)
        return status;
    atomic_store_explicit(&pipeline->is_native, vy_executable_is_native(executable), memory_order_relaxed);
    return vy_pipeline_prepare_cooperative(pipeline, deadline_ns, error);
}

/* Without an executable. NULL: out of memory. */
static vyre_pipeline *pipeline_new(vyre_backend *backend, vyre_program *program, unsigned variant) {
    vyre_pipeline *pipeline = vy_allocate_zero(sizeof *pipeline);
    if (!pipeline)
        return NULL;
    atomic_init(&pipeline->references, 1);
    pthread_mutex_init(&pipeline->lock, NULL);
    pipeline->backend = backend;
    pipeline->program = vyre_program_retain(program);
    pipeline->variant = variant;
    pipeline->number = atomic_fetch_add_explicit(&backend->pipelines, 1, memory_order_relaxed) + 1;
    vy_pipeline_name(backend, program, pipeline->id);
    return pipeline;
}

static vyre_status compile(vyre_backend *backend, vyre_program *program, unsigned variant, uint64_t deadline_ns,
                           vyre_pipeline **out, vyre_error *error) {
    vyre_pipeline *pipeline = pipeline_new(backend, program, variant);
    if (!pipeline)
        return vy_fail_memory(error, "compiling a pipeline");
    vyre_backend_retain(backend);
    vyre_status status = prepare(pipeline, deadline_ns, error);
    if (status != VYRE_OK) {
        vyre_pipeline_release(pipeline);
        return status;
    }
    *out = pipeline;
    return VYRE_OK;
}

vyre_status vyre_compile(vyre_backend *backend, vyre_program *program, const vyre_compile_options *options,
                         vyre_pipeline **out, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, program);
    vyre_error own;
    vyre_error *e = error ? error : &own;
    unsigned variant;
    uint64_t deadline_ns;
    /* The fingerprint, and so the cache key, of a caller does not cover the bodies of ops: they are inlined first. */
    vyre_program *resolved = NULL;
    vyre_status status = read_options(options, &variant, &deadline_ns, e);
    if (status == VYRE_OK)
        status = vy_backend_resolve(backend, program, &resolved, e);
    if (status == VYRE_OK)
        status = check(backend, resolved, e);
    if (status == VYRE_OK)
        status = vy_backend_enter(backend, e);
    if (status == VYRE_OK) {
        status = compile(backend, resolved, variant, deadline_ns, out, e);
        vy_backend_leave(backend);
    }
    vyre_program_release(resolved);
    return status;
}

vyre_status vy_backend_emit(vyre_backend *backend, vyre_program *program, int cancellable, vyre_bytes *out,
                            vyre_error *error) {
    const vyre_compile_options options = {.struct_size = sizeof options, .cancellable = cancellable};
    if (!backend->calls.emit)
        return vy_backend_unsupported(backend, "emission of code", error);
    vyre_status status = check(backend, program, error);
    if (status == VYRE_OK)
        status = vy_backend_enter(backend, error);
    if (status != VYRE_OK)
        return status;
    vy_error_clear(error);
    status = backend->calls.emit(backend->self, program, &options, out, error);
    status = vy_backend_check_result_bytes(backend, status, out, error);
    vy_backend_leave(backend);
    return status;
}

vyre_pipeline *vyre_pipeline_retain(vyre_pipeline *pipeline) {
    if (pipeline)
        atomic_fetch_add_explicit(&pipeline->references, 1, memory_order_relaxed);
    return pipeline;
}

void vyre_pipeline_release(vyre_pipeline *pipeline) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (!pipeline || atomic_fetch_sub_explicit(&pipeline->references, 1, memory_order_acq_rel) != 1)
        return;
    if (vy_backend_is_inherited(pipeline->backend))
        return;
    for (int i = 0; i < VY_VARIANT_COUNT; i++)
        vy_executable_release(atomic_load(&pipeline->executables[i]));
    for (uint32_t i = 0; i < pipeline->old.count; i++)
        vy_executable_release(pipeline->old.items[i]);
    VY_VECTOR_FREE(&pipeline->old);
    pthread_mutex_destroy(&pipeline->lock);
    vyre_program_release(pipeline->program);
    vyre_backend *backend = pipeline->is_implicit ? NULL : pipeline->backend;
    vy_release(pipeline, sizeof *pipeline);
    vyre_backend_release(backend);
}

const char *vyre_pipeline_id(const vyre_pipeline *pipeline) {
    return pipeline ? pipeline->id : NULL;
}

vyre_program *vyre_pipeline_program(const vyre_pipeline *pipeline) {
    return pipeline ? pipeline->program : NULL;
}

int vyre_pipeline_is_native(const vyre_pipeline *pipeline) {
    return pipeline ? atomic_load_explicit(&pipeline->is_native, memory_order_relaxed) : 0;
}

int vyre_backend_cache_snapshot(vyre_backend *backend, vyre_cache_snapshot *out) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (!out)
        return 0;
    memset(out, 0, sizeof *out);
    if (!backend || !backend->calls.cache_snapshot || vy_backend_enter(backend, NULL) != VYRE_OK)
        return 0;
    int has = backend->calls.cache_snapshot(backend->self, out) != 0;
    vy_backend_leave(backend);
    if (!backend->calls.dispatch) { /* all its programs use the library's cache */
        out->hits = atomic_load_explicit(&backend->executables.hits, memory_order_relaxed);
        out->misses = atomic_load_explicit(&backend->executables.misses, memory_order_relaxed);
    }
    if (!has)
        memset(out, 0, sizeof *out);
    return has;
}

/* ---- implicit pipelines ---- */

vyre_status vy_pipeline_implicit(vyre_backend *backend, vyre_program *program, vyre_pipeline **out, vyre_error *error) {
    *out = NULL;
    if (backend->calls.dispatch)
        return VYRE_OK;
    vyre_status status = vy_backend_check_process(backend, error);
    if (status != VYRE_OK)
        return status;
    *out = vy_implicit_pipelines_find(&backend->implicit_pipelines, program);
    if (*out)
        return VYRE_OK;
    status = check(backend, program, error);
    if (status != VYRE_OK)
        return status;
    vyre_pipeline *made = pipeline_new(backend, program, 0);
    if (!made)
        return vy_fail_memory(error, "dispatching a program");
    made->is_implicit = 1;
    *out = vy_implicit_pipelines_insert(&backend->implicit_pipelines, program, made);
    return VYRE_OK;
}

vyre_status vy_pipeline_prepare(vyre_backend *backend, vyre_program *program, vyre_error *error) {
    vyre_pipeline *pipeline;
    vyre_status status = vy_pipeline_implicit(backend, program, &pipeline, error);
    if (status == VYRE_OK && pipeline)
        status = prepare(pipeline, 0, error);
    vyre_pipeline_release(pipeline);
    return status;
}

/* ---- dispatch from host bytes ---- */

void vy_pipeline_describe(vy_dispatch *dispatch, vyre_pipeline *pipeline, const vyre_arguments *arguments,
                          const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_trap *trap) {
    vy_dispatch_describe(dispatch, pipeline->backend, pipeline->program, arguments, config, outputs, trap);
    dispatch->pipeline = pipeline;
}

vyre_status vyre_pipeline_dispatch(vyre_pipeline *pipeline, const vyre_arguments *arguments,
                                   const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_trap *trap,
                                   vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, pipeline);
    VY_REQUIRE(error, outputs);
    vy_dispatch d;
    vy_pipeline_describe(&d, pipeline, arguments, config, outputs, trap);
    return vy_dispatch_host(&d, error);
}

vyre_status vyre_pipeline_dispatch_timed(vyre_pipeline *pipeline, const vyre_arguments *arguments,
                                         const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_timing *timing,
                                         vyre_trap *trap, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, pipeline);
    VY_REQUIRE(error, outputs);
    vyre_timing measured;
    vy_dispatch d;
    vy_pipeline_describe(&d, pipeline, arguments, config, outputs, trap);
    d.form = VY_FORM_TIMED;
    d.timing = &measured;
    vyre_status status = vy_dispatch_host(&d, error);
    if (status == VYRE_OK && timing)
        *timing = measured;
    return status;
}

vyre_status vyre_pipeline_dispatch_into(vyre_pipeline *pipeline, const vyre_arguments *arguments,
                                        const vyre_dispatch_config *config, vyre_outputs *outputs, vyre_trap *trap,
                                        vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, pipeline);
    VY_REQUIRE(error, outputs);
    vy_dispatch d;
    vy_pipeline_describe(&d, pipeline, arguments, config, outputs, trap);
    d.form = VY_FORM_INTO;
    return vy_dispatch_host(&d, error);
}

vyre_status vyre_pipeline_dispatch_owned(vyre_pipeline *pipeline, const vyre_bytes *inputs, size_t input_count,
                                         const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                         vyre_outputs *outputs, vyre_trap *trap, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, pipeline);
    VY_REQUIRE_ARRAY(error, inputs, input_count);
    VY_REQUIRE(error, outputs);
    vyre_span spans[VY_LIMIT_BUFFERS];
    vyre_arguments given = vy_arguments_of_owned(inputs, input_count, arguments, spans);
    vy_dispatch d;
    vy_pipeline_describe(&d, pipeline, &given, config, outputs, trap);
    d.form = VY_FORM_OWNED;
    d.owned = inputs;
    return vy_dispatch_host(&d, error);
}

vyre_status vyre_pipeline_dispatch_async(vyre_pipeline *pipeline, const vyre_arguments *arguments,
                                         const vyre_dispatch_config *config, vyre_pending **out, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE(error, pipeline);
    vy_dispatch asked;
    vy_pipeline_describe(&asked, pipeline, arguments, config, NULL, NULL);
    return vy_pending_start(&asked, vyre_pipeline_retain(pipeline), out, error);
}

/* ---- dispatch on persistent handles ---- */

int vy_pipeline_supports_resources(const vyre_backend *backend, const vy_executable *executable, int has_host) {
    const vyre_backend_vtable *calls = &backend->calls;
    if (executable->is_persistent && !executable->stages)
        return 1;
    int has_memory =
        calls->resident_allocate && calls->resident_free && calls->resident_upload && calls->resident_download;
    return (executable->is_persistent || calls->dispatch_resident) && (!has_host || has_memory);
}

/* Dispatches inside the backend. */
static vyre_status dispatch_resources(vy_resource_dispatch *b, const vyre_resource *bindings, size_t count,
                                      const char *feature, vyre_error *error) {
    vy_executable *executable;
    vyre_status status;
    if (vy_resource_dispatch_run_pinned(b, bindings, count, &status, error))
        return status;
    vy_resource_dispatch_start_clock(b);
    status = vy_pipeline_executable(b->pipeline, (vy_stop_condition){0, b->deadline_ns}, VY_EXECUTABLE_PLAIN,
                                    &executable, error);
    if (status == VYRE_OK &&
        !vy_pipeline_supports_resources(b->backend, executable, vy_resource_dispatch_has_host(bindings, count)))
        status = vy_backend_unsupported(b->backend, feature, error);
    if (status == VYRE_OK)
        status = vy_resource_dispatch_resolve(b, bindings, count, error);
    return status == VYRE_OK ? vy_resource_dispatch_run(b, error) : status;
}

static vyre_status enter_and_dispatch(vy_resource_dispatch *b, const vyre_resource *bindings, size_t count,
                                      const char *feature, vyre_error *error) {
    vyre_status status = vy_backend_enter(b->backend, error);
    if (status != VYRE_OK)
        return status;
    status = dispatch_resources(b, bindings, count, feature, error);
    vy_backend_leave(b->backend);
    return status;
}

vyre_status vyre_pipeline_dispatch_persistent(vyre_pipeline *pipeline, const vyre_resource *bindings,
                                              size_t binding_count, const vyre_arguments *arguments,
                                              const vyre_dispatch_config *config, vyre_outputs *outputs,
                                              vyre_timing *timing, vyre_trap *trap, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, pipeline);
    VY_REQUIRE_ARRAY(error, bindings, binding_count);
    VY_REQUIRE(error, outputs);
    vyre_error own, *e = error ? error : &own;
    vyre_timing measured;
    vyre_status status;
    vy_resource_dispatch b;
    vy_resource_dispatch_describe_pipeline(&b, pipeline, arguments, config);
    b.form = VY_FORM_PERSISTENT, b.outputs = outputs, b.timing = timing ? &measured : NULL, b.trap = trap;
    if (!vy_resource_dispatch_run_slot(&b, bindings, binding_count, &status, e))
        status = enter_and_dispatch(&b, bindings, binding_count, "persistent handle dispatch", e);
    if (status == VYRE_OK && timing)
        *timing = measured;
    return vy_dispatch_label_error(status, b.config, e);
}

vyre_status vyre_pipeline_dispatch_resident_outputs(vyre_pipeline *pipeline, const vyre_resource *bindings,
                                                    size_t binding_count, const vyre_arguments *arguments,
                                                    const vyre_dispatch_config *config, vyre_resource *outputs,
                                                    size_t output_count, vyre_trap *trap, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, pipeline);
    VY_REQUIRE_ARRAY(error, bindings, binding_count);
    VY_REQUIRE_ARRAY(error, outputs, output_count);
    size_t expected = vyre_program_output_count(pipeline->program), made = 0;
    vyre_buffer_info buffer;
    vyre_error own;
    vy_resource_dispatch b;
    if (output_count != expected)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("make room for %zu resources", expected),
                       "`outputs` has room for %zu resources, but the program has %zu outputs", output_count, expected);
    vy_resource_dispatch_describe_pipeline(&b, pipeline, arguments, config);
    b.trap = trap;
    vyre_status status =
        enter_and_dispatch(&b, bindings, binding_count, "persistent resident output dispatch", error ? error : &own);
    for (size_t i = 0; status == VYRE_OK && vyre_program_buffer(pipeline->program, i, &buffer); i++)
        if (buffer.access == VYRE_ACCESS_WRITE || buffer.access == VYRE_ACCESS_READ_WRITE) {
            outputs[made] = bindings[i];
            outputs[made++].size = b.native[i].size;
        }
    return vy_dispatch_label_error(status, b.config, error);
}
