/* Batches from host bytes (vyre/pipeline.h): natively in one call, or one after the other.
 *
 * All items are resolved before anything runs. A resolved launch is large, so none is kept: items are resolved again when they run, which gives the
 * same. The native entry takes only what it can do in one launch each: an empty grid, stages, or a deadline the backend cannot keep
 * send the whole batch the other way. */
#include "base/status.h"

#include "base/thread.h"
#include "driver/dispatch_batch.h"
#include "driver/packed_copy.h"
#include "driver/trace.h"

typedef struct batch {
    vyre_pipeline *pipeline;
    const vyre_arguments *arguments;
    size_t count;
    const vyre_dispatch_config *config;
    vyre_outputs *outputs;
    size_t *failed;
    vyre_trap *trap; /* may be NULL */
    uint64_t deadline_ns;
    int is_plain; /* every item is one launch */
} batch;

static void describe(const batch *b, size_t index, vy_dispatch *d) {
    vy_pipeline_describe(d, b->pipeline, b->arguments ? &b->arguments[index] : NULL, b->config, &b->outputs[index],
                         b->trap);
    d->form = VY_FORM_INTO;
    d->deadline_ns = b->deadline_ns;
}

static vyre_status check(batch *b, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vy_dispatch d;
    int is_tiled;
    b->is_plain = 1;
    for (size_t i = 0; i < b->count && status == VYRE_OK; i++) {
        describe(b, i, &d);
        *b->failed = i;
        status = vy_dispatch_host_resolve(&d, error);
        if (status == VYRE_OK &&
            (!d.launch.group_count || vy_multi_launch_needed(d.backend, d.program, &d.launch, &is_tiled)))
            b->is_plain = 0;
    }
    return status;
}

static vyre_status run_each(batch *b, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vy_dispatch d;
    for (size_t i = 0; i < b->count && status == VYRE_OK; i++) {
        describe(b, i, &d);
        *b->failed = i;
        status = vy_dispatch_check_expired(b->pipeline->program, b->deadline_ns, b->config->cancel, error);
        if (status == VYRE_OK)
            status = vy_dispatch_host(&d, error);
    }
    return status;
}

/* ---- natively ---- */

/* What stands beside the launches; one block. */
typedef struct slots {
    const vyre_span **inputs;
    vyre_outputs *views;
    size_t *capacities; /* of all slots of all items */
    size_t count;       /* of an item */
} slots;

static void lay_out(slots *s, vy_bump *bump, size_t count) {
    s->inputs = vy_bump_copy(bump, NULL, vy_array_size(count, sizeof *s->inputs));
    s->views = vy_bump_copy(bump, NULL, vy_array_size(count, sizeof *s->views));
    s->capacities = vy_bump_copy(bump, NULL, vy_array_size(count * s->count, sizeof *s->capacities));
}

static vyre_status fill(batch *b, vy_dispatch_batch *many, slots *s, vyre_error *error) {
    uint64_t bytes = 0;
    vy_dispatch d;
    for (size_t i = 0; i < b->count; i++) {
        describe(b, i, &d);
        vyre_status status = vy_dispatch_host_resolve(&d, error);
        if (status == VYRE_OK)
            status = vy_outputs_reserve(&b->outputs[i], s->count, error);
        if (status != VYRE_OK)
            return status;
        vy_dispatch_batch_add_host(many, &d);
        s->inputs[i] = d.arguments->inputs;
        for (size_t k = 0; k < d.arguments->input_count; k++)
            bytes += d.arguments->inputs[k].size;
    }
    if (bytes)
        vy_count(VY_COUNTER_input_bytes, bytes);
    return vy_prepare(b->pipeline->backend, b->pipeline->program, error);
}

static vyre_status call(batch *b, const vy_executable_entry *entry, vy_dispatch_batch *many, slots *s,
                        vyre_error *error) {
    vyre_backend *backend = b->pipeline->backend;
    size_t failed = b->count;
    for (size_t i = 0; i < b->count; i++)
        vy_outputs_expose(&b->outputs[i], s->count, &s->views[i], s->capacities + i * s->count);
    vy_error_clear(error);
    vy_span span = vy_span_begin();
    vyre_status status =
        vy_backend_check_result_run(backend,
                                    entry->calls.dispatch_batched_into(entry->self, many->launches, s->inputs,
                                                                       vyre_program_input_count(b->pipeline->program),
                                                                       b->count, s->views, &failed, error),
                                    error);
    vy_span_end(span, launch, .backend = backend->id, .program = vyre_program_name(b->pipeline->program),
                .label = b->config->label, .count = b->count, .status = status);
    for (size_t i = 0; i < b->count && status == VYRE_OK; i++) {
        status = vy_dispatch_batch_check(many, i, &s->views[i], b->outputs[i].items, error);
        failed = status == VYRE_OK ? b->count : i;
    }
    status = vy_dispatch_batch_finish(many, status, failed, b->failed, b->trap, error);
    for (size_t i = 0; i < b->count; i++)
        vy_outputs_reclaim(&b->outputs[i], s->count, status == VYRE_OK, s->capacities + i * s->count);
    return status;
}

static vyre_status run_natively(batch *b, const vy_executable *executable, vyre_error *error) {
    const vyre_program *program = b->pipeline->program;
    slots s = {.count = vyre_program_output_count(program)};
    vy_bump measure = {NULL, 0};
    vy_dispatch_batch many;
    lay_out(&s, &measure, b->count);
    vyre_status status = vy_dispatch_batch_start(&many, b->pipeline->backend, b->count, b->count * program->param_count,
                                                 b->count * program->buffer_count, error);
    if (status != VYRE_OK)
        return status;
    vy_bump bump = {vy_allocate(measure.used), 0};
    if (bump.block) {
        lay_out(&s, &bump, b->count);
        status = fill(b, &many, &s, error);
        if (status == VYRE_OK)
            status = call(b, executable->entries, &many, &s, error);
    } else {
        status = vy_fail_memory(error, "running a batch");
    }
    vy_release(bump.block, measure.used);
    vy_dispatch_batch_end(&many);
    return status;
}

/* Inside the backend. *is_done says whether there was a native way. */
static vyre_status try_natively(batch *b, int *is_done, vyre_error *error) {
    vyre_launch only_deadline = {.deadline_ns = b->deadline_ns};
    vy_executable *executable;
    *is_done = 0;
    if (!b->is_plain || vy_dispatch_needs_watchdog(b->pipeline->backend, &only_deadline))
        return VYRE_OK;
    vyre_status status =
        vy_pipeline_executable(b->pipeline, (vy_stop_condition){b->deadline_ns || b->config->cancel, b->deadline_ns},
                               VY_EXECUTABLE_PLAIN, &executable, error);
    if (status != VYRE_OK || !executable->entries->calls.dispatch_batched_into)
        return status;
    *is_done = 1;
    return run_natively(b, executable, error);
}

static vyre_status run(batch *b, vyre_error *error) {
    int is_done;
    vyre_status status = check(b, error);
    if (status == VYRE_OK)
        *b->failed = b->count, status = vy_backend_enter(b->pipeline->backend, error);
    if (status != VYRE_OK)
        return status;
    status = try_natively(b, &is_done, error);
    vy_backend_leave(b->pipeline->backend);
    return status == VYRE_OK && !is_done ? run_each(b, error) : status;
}

vyre_status vyre_pipeline_dispatch_batch(vyre_pipeline *pipeline, const vyre_arguments *arguments, size_t count,
                                         const vyre_dispatch_config *config, vyre_outputs *outputs, size_t *failed,
                                         vyre_trap *trap, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (failed && (!pipeline || (count && !outputs)))
        *failed = count;
    VY_REQUIRE(error, pipeline);
    VY_REQUIRE_ARRAY(error, outputs, count);
    static const vyre_dispatch_config defaults;
    vyre_error own;
    vyre_error *e = error ? error : &own;
    size_t at = count;
    batch b = {.pipeline = pipeline,
               .arguments = arguments,
               .count = count,
               .config = config ? config : &defaults,
               .outputs = outputs,
               .failed = &at,
               .trap = trap};
    vyre_status status = VYRE_OK;
    b.deadline_ns = vy_dispatch_deadline(b.config);
    if (count)
        status = run(&b, e);
    if (status != VYRE_OK && failed)
        *failed = at;
    return vy_dispatch_label_error(status, b.config, e);
}
