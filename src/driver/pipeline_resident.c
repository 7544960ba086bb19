/* Pipelines on persistent handles (vyre/pipeline.h): one, its outputs staying resident, many, rows of four.
 *
 * A pipeline without the entry, and a program in stages, run on resident buffers the library makes for what is bound to host bytes
 * (backend_call.c), where the backend has resident memory. */
#include "base/status.h"

#include "base/thread.h"
#include "driver/dispatch_batch.h"
#include "driver/trace.h"

#include <inttypes.h>

int vy_pipeline_supports_resources(const vyre_backend *backend, const vy_executable *executable, int has_host) {
    const vyre_backend_vtable *calls = &backend->calls;
    if (executable->is_persistent && !executable->stages)
        return 1;
    int has_memory =
        calls->resident_allocate && calls->resident_free && calls->resident_upload && calls->resident_download;
    return (executable->is_persistent || calls->dispatch_resident) && (!has_host || has_memory);
}

static int has_host(const vyre_resource *bindings, size_t count) {
    for (size_t i = 0; bindings && i < count; i++)
        if (bindings[i].kind == VYRE_RESOURCE_HOST)
            return 1;
    return 0;
}

/* Inside the backend. */
static vyre_status dispatch(vy_resource_dispatch *b, const vyre_resource *bindings, size_t count, const char *feature,
                            vyre_error *error) {
    vy_executable *executable;
    vyre_status status;
    if (vy_resource_dispatch_run_pinned(b, bindings, count, &status, error))
        return status;
    vy_resource_dispatch_start_clock(b);
    status = vy_pipeline_executable(b->pipeline, (vy_stop_condition){0, b->deadline_ns}, VY_EXECUTABLE_PLAIN,
                                    &executable, error);
    if (status == VYRE_OK && !vy_pipeline_supports_resources(b->backend, executable, has_host(bindings, count)))
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
    status = dispatch(b, bindings, count, feature, error);
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
                       "there is room for %zu outputs, the program has %zu", output_count, expected);
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

/* ---- many ---- */

typedef struct batch {
    vyre_pipeline *pipeline;
    const vyre_resource *const *bindings; /* by item, or NULL: rows */
    const vyre_resource (*rows)[4];
    size_t binding_count, count;
    const vyre_arguments *arguments;
    const vyre_dispatch_config *config;
    vyre_outputs *outputs;
    vyre_trap *trap;
    uint64_t deadline_ns;
    size_t failed;
} batch;

static const vyre_resource *bindings_of(const batch *b, size_t index) {
    return b->bindings ? b->bindings[index] : b->rows[index];
}

static void describe(const batch *b, size_t index, vy_resource_dispatch *bound) {
    vy_resource_dispatch_describe_pipeline(bound, b->pipeline, b->arguments, b->config);
    bound->form = VY_FORM_PERSISTENT, bound->outputs = &b->outputs[index], bound->trap = b->trap;
    bound->deadline_ns = b->deadline_ns;
}

/* Resolves all items, and keeps them in `many`, if given. *is_plain: each is one launch. */
static vyre_status check(batch *b, vy_dispatch_batch *many, int *is_plain, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vy_resource_dispatch bound;
    int is_tiled, follow = 0;
    *is_plain = 1;
    describe(b, 0, &bound);
    for (b->failed = 0; b->failed < b->count; b->failed++) {
        if (follow)
            b->failed += vy_dispatch_batch_add_shifted(many, b->bindings, b->rows, b->failed, b->count);
        if (b->failed == b->count)
            break;
        const vyre_resource *bindings = bindings_of(b, b->failed);
        bound.outputs = &b->outputs[b->failed];
        status = b->failed ? vy_resource_dispatch_resolve_next(&bound, bindings, b->binding_count, error)
                           : vy_resource_dispatch_resolve(&bound, bindings, b->binding_count, error);
        if (status != VYRE_OK)
            return status;
        if (!bound.launch.group_count || vy_multi_launch_needed(bound.backend, bound.program, &bound.launch, &is_tiled))
            *is_plain = 0;
        if (many && *is_plain)
            vy_dispatch_batch_add(many, &bound);
        else
            vy_resource_dispatch_unpin(&bound);
        follow = many && *is_plain && vy_dispatch_batch_can_repeat(&bound);
    }
    return VYRE_OK;
}

static vyre_status run_each(batch *b, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vy_resource_dispatch bound;
    for (size_t i = 0; i < b->count && status == VYRE_OK; i++) {
        b->failed = i;
        describe(b, i, &bound);
        status = vy_dispatch_check_expired(bound.program, b->deadline_ns, b->config->cancel, error);
        if (status == VYRE_OK)
            status = vy_resource_dispatch_resolve(&bound, bindings_of(b, i), b->binding_count, error);
        if (status == VYRE_OK)
            status = vy_resource_dispatch_run(&bound, error);
    }
    return status;
}

static vyre_status call(const batch *b, const vy_executable_entry *entry, const vy_dispatch_batch *many,
                        vyre_outputs *views, size_t *failed, vyre_error *error) {
    if (!b->bindings && entry->calls.dispatch_persistent_rows_into)
        return entry->calls.dispatch_persistent_rows_into(
            entry->self, many->launches, (const vyre_resource(*)[4])many->resources, b->count, views, failed, error);
    return entry->calls.dispatch_persistent_batched_into(entry->self, many->launches, many->bindings, b->binding_count,
                                                         b->count, views, failed, error);
}

/* What came of a call that went well, item by item. *is_kept: no backend touched any slot, as where all outputs stay on the device. */
static vyre_status check_outputs(const batch *b, const vy_dispatch_batch *many, const vyre_outputs *views,
                                 const size_t *capacities, size_t slots, int *is_kept, size_t *failed,
                                 vyre_error *error) {
    vyre_status status = VYRE_OK;
    *is_kept = many->is_resident;
    for (size_t i = 0; i < b->count && status == VYRE_OK; i++) {
        *is_kept = *is_kept && vy_outputs_are_untouched(&b->outputs[i], &views[i], slots, capacities + i * slots);
        if (!*is_kept)
            status = vy_dispatch_batch_check(many, i, &views[i], b->outputs[i].items, error);
        *failed = status == VYRE_OK ? b->count : i;
    }
    return status;
}

/* Slots that were lent become the caller's again. */
static void regain(batch *b, size_t slots, int went_well, int is_kept, const size_t *capacities) {
    if (went_well && is_kept) {
        vy_outputs_reclaim_untouched(b->outputs, b->count, slots);
        return;
    }
    for (size_t i = 0; i < b->count; i++)
        vy_outputs_reclaim(&b->outputs[i], slots, went_well, capacities + i * slots);
}

static vyre_status run_natively(batch *b, const vy_executable_entry *entry, vy_dispatch_batch *many,
                                vyre_error *error) {
    vyre_backend *backend = b->pipeline->backend;
    size_t slots = vyre_program_output_count(b->pipeline->program), failed = b->count;
    size_t item = sizeof(vyre_outputs) + slots * sizeof(size_t), size = vy_array_size(b->count, item);
    vyre_outputs *views = vy_allocate(size);
    vyre_status status = views ? VYRE_OK : vy_fail_memory(error, "running a batch");
    size_t *capacities = views ? (size_t *)(views + b->count) : NULL;
    b->failed = b->count;
    for (size_t i = 0; i < b->count && status == VYRE_OK; i++)
        if (b->outputs[i].capacity < slots || !b->outputs[i].items)
            status = vy_outputs_reserve(&b->outputs[i], slots, error);
    if (status == VYRE_OK)
        status = vy_prepare(backend, b->pipeline->program, error);
    if (status == VYRE_OK) {
        for (size_t i = 0; i < b->count; i++)
            vy_outputs_expose(&b->outputs[i], slots, &views[i], capacities + i * slots);
        vy_error_clear(error);
        vy_span span = vy_span_begin();
        status = vy_backend_check_result_run(backend, call(b, entry, many, views, &failed, error), error);
        vy_span_end(span, launch, .backend = backend->id, .program = vyre_program_name(b->pipeline->program),
                    .label = b->config->label, .count = b->count, .status = status);
        int is_kept = 0;
        if (status == VYRE_OK)
            status = check_outputs(b, many, views, capacities, slots, &is_kept, &failed, error);
        status = vy_dispatch_batch_finish(many, status, failed, &b->failed, b->trap, error);
        regain(b, slots, status == VYRE_OK, is_kept, capacities);
    }
    vy_release(views, views ? size : 0);
    return status;
}

/* Whether one call can do all of it. */
static int is_native(const batch *b, const vy_executable *executable) {
    vyre_launch only_deadline = {.deadline_ns = b->deadline_ns};
    const vyre_pipeline_vtable *calls = &executable->entries->calls;
    return (calls->dispatch_persistent_batched_into || (!b->bindings && calls->dispatch_persistent_rows_into)) &&
           !executable->stages && !vy_dispatch_needs_watchdog(b->pipeline->backend, &only_deadline);
}

/* Whether each item can be run by itself. */
static int runs_alone(const batch *b, const vy_executable *executable) {
    int host = 0;
    for (size_t i = 0; i < b->count && !host; i++)
        host = has_host(bindings_of(b, i), b->binding_count);
    return vy_pipeline_supports_resources(b->pipeline->backend, executable, host);
}

static vyre_status run(batch *b, vyre_error *error) {
    const vyre_program *program = b->pipeline->program;
    vyre_backend *backend = b->pipeline->backend;
    vy_dispatch_batch many;
    vy_executable *executable;
    int is_plain;
    vyre_status status =
        vy_pipeline_executable(b->pipeline, (vy_stop_condition){b->deadline_ns || b->config->cancel, b->deadline_ns},
                               VY_EXECUTABLE_PLAIN, &executable, error);
    if (status != VYRE_OK)
        return status;
    int is_many = is_native(b, executable);
    if (!is_many && !runs_alone(b, executable))
        return vy_backend_unsupported(backend, "persistent handle dispatch", error);
    if (!is_many) {
        status = check(b, NULL, &is_plain, error);
        return status == VYRE_OK ? run_each(b, error) : status;
    }
    status = vy_dispatch_batch_start(&many, backend, b->count, b->count * program->param_count,
                                     b->count * program->buffer_count, error);
    if (status != VYRE_OK)
        return status;
    status = check(b, &many, &is_plain, error);
    if (status == VYRE_OK && is_plain)
        status = run_natively(b, executable->entries, &many, error);
    else if (status == VYRE_OK && !runs_alone(b, executable))
        status = vy_backend_unsupported(backend, "persistent handle dispatch", error);
    vy_dispatch_batch_end(&many);
    return status == VYRE_OK && !is_plain ? run_each(b, error) : status;
}

static vyre_status enter_and_run(batch *b, size_t *failed, vyre_error *error) {
    static const vyre_dispatch_config defaults;
    vyre_error own;
    vyre_error *e = error ? error : &own;
    if (!b->config)
        b->config = &defaults;
    b->deadline_ns = vy_dispatch_deadline(b->config);
    b->failed = b->count;
    if (b->count == 0)
        return VYRE_OK;
    vyre_status status = vy_backend_enter(b->pipeline->backend, e);
    if (status == VYRE_OK) {
        status = run(b, e);
        vy_backend_leave(b->pipeline->backend);
    }
    if (status != VYRE_OK && failed)
        *failed = b->failed;
    return vy_dispatch_label_error(status, b->config, e);
}

vyre_status vyre_pipeline_dispatch_persistent_batch(vyre_pipeline *pipeline, const vyre_resource *const *bindings,
                                                    size_t binding_count, size_t count, const vyre_arguments *arguments,
                                                    const vyre_dispatch_config *config, vyre_outputs *outputs,
                                                    size_t *failed, vyre_trap *trap, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (failed && (!pipeline || (count && (!bindings || !outputs))))
        *failed = count;
    VY_REQUIRE(error, pipeline);
    VY_REQUIRE_ARRAY(error, bindings, count);
    VY_REQUIRE_ARRAY(error, outputs, count);
    batch b = {.pipeline = pipeline,
               .bindings = bindings,
               .binding_count = binding_count,
               .count = count,
               .arguments = arguments,
               .config = config,
               .outputs = outputs,
               .trap = trap};
    return enter_and_run(&b, failed, error);
}

vyre_status vyre_pipeline_dispatch_rows(vyre_pipeline *pipeline, const vyre_resource (*rows)[4], size_t count,
                                        const vyre_arguments *arguments, const vyre_dispatch_config *config,
                                        vyre_outputs *outputs, size_t *failed, vyre_trap *trap, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (failed && (!pipeline || (count && (!rows || !outputs)) || pipeline->program->buffer_count != 4))
        *failed = count;
    VY_REQUIRE(error, pipeline);
    VY_REQUIRE_ARRAY(error, rows, count);
    VY_REQUIRE_ARRAY(error, outputs, count);
    batch b = {.pipeline = pipeline,
               .rows = rows,
               .binding_count = 4,
               .count = count,
               .arguments = arguments,
               .config = config,
               .outputs = outputs,
               .trap = trap};
    if (pipeline->program->buffer_count != 4)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "use vyre_pipeline_dispatch_persistent_batch",
                       "rows have four resources, and program `%s` has %" PRIu32 " buffers",
                       vyre_program_name(pipeline->program), pipeline->program->buffer_count);
    return enter_and_run(&b, failed, error);
}
