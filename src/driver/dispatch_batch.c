/* Batched dispatch: several resolved dispatches in one call of the backend, or sequentially (dispatch_batch.h).
 *
 * All items are resolved before the first one runs. Resolved launches are large, so a batch from host bytes does not
 * keep them: an item is resolved again when it runs, with the same result. One native call requires that each item is
 * one launch: an empty grid, stages, or a deadline that the backend cannot keep make the whole batch run
 * sequentially. */
#include "driver/dispatch_batch.h"

#include "base/status.h"
#include "base/thread.h"
#include "driver/telemetry.h"
#include "ir/eval.h"

#include <inttypes.h>

static void *reserve(vy_bump *bump, size_t count, size_t size) {
    return vy_bump_copy(bump, NULL, vy_array_size(count, size));
}

static void assign_arrays(vy_dispatch_batch *many, vy_bump *bump, size_t count, size_t params, size_t buffers) {
    many->launches = reserve(bump, count, sizeof *many->launches);
    many->traps = reserve(bump, count, sizeof *many->traps);
    many->bindings = reserve(bump, count, sizeof *many->bindings);
    many->invocations = reserve(bump, count, sizeof *many->invocations);
    many->resources = reserve(bump, buffers, sizeof *many->resources);
    many->uses = reserve(bump, buffers, sizeof *many->uses);
    many->params = reserve(bump, params, sizeof *many->params);
    many->elements = reserve(bump, buffers, sizeof *many->elements);
}

vyre_status vy_dispatch_batch_start(vy_dispatch_batch *many, vyre_backend *backend, size_t count, size_t params,
                                    size_t buffers, vyre_error *error) {
    *many = (vy_dispatch_batch){.backend = backend, .is_resident = 1};
    vy_bump measure = {NULL, 0};
    assign_arrays(many, &measure, count, params, buffers);
    many->size = measure.used;
    many->block = vy_allocate(many->size);
    if (!many->block)
        return vy_fail_memory(error, "running several dispatches");
    vy_bump bump = {many->block, 0};
    assign_arrays(many, &bump, count, params, buffers);
    return VYRE_OK;
}

/* Adds the launch of an item; its bindings follow. */
static size_t add(vy_dispatch_batch *many, vyre_program *program, const vyre_arguments *arguments,
                  const vy_resolved_dispatch *launch, const vyre_dispatch_config *config, uint64_t deadline_ns) {
    size_t at = many->count++;
    many->traps[at] = (vyre_trap){UINT64_MAX, 0};
    vy_dispatch_make_launch(program, arguments, launch, config, many->params + many->param_count,
                            many->elements + many->resource_count, &many->traps[at], &many->launches[at]);
    many->launches[at].deadline_ns = deadline_ns, many->launches[at].cancel = config->cancel;
    many->invocations[at] = launch->invocations;
    many->bindings[at] = NULL;
    many->param_count += program->param_count;
    return at;
}

void vy_dispatch_batch_add(vy_dispatch_batch *many, vy_resource_dispatch *b) {
    size_t at = add(many, b->program, b->arguments, &b->launch, b->config, b->deadline_ns);
    size_t buffers = b->program->buffer_count;
    many->bindings[at] = many->resources + many->resource_count;
    if (buffers)
        memcpy(many->resources + many->resource_count, b->native, buffers * sizeof *b->native);
    if (b->use_count)
        memcpy(many->uses + many->use_count, b->uses, b->use_count * sizeof *b->uses);
    many->last = at, many->last_uses = many->use_count;
    many->is_resident = many->is_resident && b->use_count == buffers;
    many->resource_count += buffers;
    many->use_count += b->use_count;
    b->use_count = 0;
}

/* ---- items like the previous one ---- */

int vy_dispatch_batch_can_repeat(const vy_resource_dispatch *b) {
    return !b->known && !vy_resource_dispatch_is_indirect(b->program, b->arguments) &&
           atomic_load_explicit(&vy_trace_state, memory_order_relaxed) == VY_TRACE_OFF;
}

static uint64_t element_size(const vyre_program *program, size_t buffer) {
    return vy_type_layouts[program->memories.items[vy_program_entry(program)->first_memory + buffer].type].size;
}

/* Whether the bindings are the previous ranges, possibly at other offsets of the same buffers. uses: those of one such
 * item. */
static int are_shifted(const vyre_program *program, const vy_resident_use *uses, const vyre_resource *bindings,
                       const vyre_resource *before, int *is_same) {
    *is_same = 1;
    for (size_t i = 0; i < program->buffer_count; i++) {
        const vyre_resource *now = &bindings[i], *then = &before[i];
        if (now->kind != VYRE_RESOURCE_RESIDENT || now->resident.id != then->resident.id ||
            now->resident.owner != then->resident.owner || now->size != then->size)
            return 0;
        if (now->offset == then->offset)
            continue;
        if (!now->size || now->size > uses[i].whole || now->offset > uses[i].whole - now->size ||
            (now->offset & (element_size(program, i) - 1)))
            return 0;
        *is_same = 0;
    }
    return 1;
}

/* Whether no two ranges overlap. Overlapping ranges may still be valid; the general path decides. */
static int are_disjoint(const vyre_resource *ranges, const vy_resident_use *uses, size_t count) {
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (uses[i].slot == uses[j].slot && ranges[i].offset < ranges[j].offset + uses[j].size &&
                ranges[j].offset < ranges[i].offset + uses[i].size)
                return 0;
    return 1;
}

/* The ranges of the next item, or NULL if they cannot be derived from the previous item. */
static const vyre_resource *bind_shifted(vy_dispatch_batch *many, const vyre_resource *bindings,
                                         const vyre_resource *before, int is_dense) {
    size_t buffers = many->launches[many->last].program->buffer_count;
    const vy_resident_use *uses = many->uses + many->last_uses;
    int is_same;
    if (!bindings || !are_shifted(many->launches[many->last].program, uses, bindings, before, &is_same) ||
        (!is_same && buffers > 1 && !are_disjoint(bindings, uses, buffers)))
        return NULL;
    if (is_same && !is_dense)
        return many->bindings[many->count - 1];
    vyre_resource *resources = many->resources + many->resource_count;
    for (size_t i = 0; i < buffers; i++) {
        resources[i] = many->bindings[many->last][i];
        resources[i].offset = bindings[i].offset;
    }
    many->resource_count += buffers;
    return resources;
}

size_t vy_dispatch_batch_add_shifted(vy_dispatch_batch *many, const vyre_resource *const *items,
                                     const vyre_resource (*rows)[4], size_t from, size_t count) {
    if (!many->is_resident)
        return 0;
    const vyre_launch launch = many->launches[many->last];
    uint64_t invocations = many->invocations[many->last];
    size_t i = from;
    for (; i < count; i++) {
        const vyre_resource *bound =
            items ? bind_shifted(many, items[i], items[i - 1], 0) : bind_shifted(many, rows[i], rows[i - 1], 1);
        if (!bound)
            break;
        size_t at = many->count++;
        many->traps[at] = (vyre_trap){UINT64_MAX, 0};
        many->launches[at] = launch;
        many->launches[at].trap = &many->traps[at];
        many->invocations[at] = invocations;
        many->bindings[at] = bound;
    }
    return i - from;
}

static void add_host(vy_dispatch_batch *many, const vy_dispatch *d) {
    add(many, d->program, d->arguments, &d->launch, d->config, d->deadline_ns);
    many->resource_count += d->program->buffer_count;
}

void vy_dispatch_batch_end(vy_dispatch_batch *many) {
    if (many->use_count)
        vy_resident_unpin(many->backend, many->uses, many->use_count);
    vy_release(many->block, many->size);
    *many = (vy_dispatch_batch){.backend = many->backend};
}

/* If the backend did not report the trapped item: the item whose trap was filled. */
static size_t trapped(const vy_dispatch_batch *many) {
    size_t at = 0;
    while (at < many->count && many->traps[at].invocation == UINT64_MAX)
        at++;
    return at;
}

vyre_status vy_dispatch_batch_finish(vy_dispatch_batch *many, vyre_status status, size_t failed_by_backend,
                                     size_t *failed, vyre_trap *trap, vyre_error *error) {
    vyre_trap nowhere = {UINT64_MAX, 0};
    vy_resolved_dispatch size; /* only `invocations` is read */
    if (status == VYRE_OK) {
        vy_count(VY_COUNTER_dispatches, many->count);
        return VYRE_OK;
    }
    size_t at = failed_by_backend < many->count ? failed_by_backend : many->count;
    if (at == many->count && status == VYRE_TRAPPED)
        at = trapped(many);
    *failed = at;
    size.invocations = at < many->count ? many->invocations[at] : 0;
    vyre_trap *where = at < many->count ? &many->traps[at] : &nowhere;
    status = vy_dispatch_finish(many->backend, status, &size, where, error);
    if (status == VYRE_TRAPPED && trap)
        *trap = *where;
    return status;
}

static vyre_status check_item_outputs(const vy_dispatch_batch *many, size_t index, const vyre_outputs *view,
                                      const vyre_bytes *items, vyre_error *error) {
    const vyre_launch *launch = &many->launches[index];
    vy_resolved_dispatch sizes; /* only the outputs are filled */
    vyre_buffer_info buffer;
    uint32_t output = 0;
    for (uint32_t i = 0; vyre_program_buffer(launch->program, i, &buffer); i++) {
        int is_output = buffer.access == VYRE_ACCESS_WRITE || buffer.access == VYRE_ACCESS_READ_WRITE;
        sizes.buffers[i].bytes = launch->elements[i] * vyre_type_size(buffer.type);
        sizes.buffers[i].output = is_output ? output++ : VY_NONE;
    }
    return vy_outputs_check_resources(many->backend, view, items, output, launch->program, &sizes,
                                      many->bindings[index], error);
}

/* ---- batches from host bytes ---- */

typedef struct host_batch {
    vyre_pipeline *pipeline;
    const vyre_arguments *arguments;
    size_t count;
    const vyre_dispatch_config *config;
    vyre_outputs *outputs;
    size_t *failed;
    vyre_trap *trap; /* may be NULL */
    uint64_t deadline_ns;
    int is_plain; /* every item is one launch */
} host_batch;

static void describe_host(const host_batch *b, size_t index, vy_dispatch *d) {
    vy_pipeline_describe(d, b->pipeline, b->arguments ? &b->arguments[index] : NULL, b->config, &b->outputs[index],
                         b->trap);
    d->form = VY_FORM_INTO;
    d->deadline_ns = b->deadline_ns;
}

static vyre_status check_host(host_batch *b, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vy_dispatch d;
    int is_tiled;
    b->is_plain = 1;
    for (size_t i = 0; i < b->count && status == VYRE_OK; i++) {
        describe_host(b, i, &d);
        *b->failed = i;
        status = vy_dispatch_host_resolve(&d, error);
        if (status == VYRE_OK &&
            (!d.launch.group_count || vy_multi_launch_needed(d.backend, d.program, &d.launch, &is_tiled)))
            b->is_plain = 0;
    }
    return status;
}

static vyre_status run_each_host(host_batch *b, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vy_dispatch d;
    for (size_t i = 0; i < b->count && status == VYRE_OK; i++) {
        describe_host(b, i, &d);
        *b->failed = i;
        status = vy_dispatch_check_expired(b->pipeline->program, b->deadline_ns, b->config->cancel, error);
        if (status == VYRE_OK)
            status = vy_dispatch_host(&d, error);
    }
    return status;
}

/* ---- natively, in one call ---- */

/* Arrays that accompany the launches, in one block. */
typedef struct host_arrays {
    const vyre_span **inputs;
    vyre_outputs *views;
    size_t *capacities; /* of all slots of all items */
    size_t count;       /* of an item */
} host_arrays;

static void lay_out_arrays(host_arrays *s, vy_bump *bump, size_t count) {
    s->inputs = vy_bump_copy(bump, NULL, vy_array_size(count, sizeof *s->inputs));
    s->views = vy_bump_copy(bump, NULL, vy_array_size(count, sizeof *s->views));
    s->capacities = vy_bump_copy(bump, NULL, vy_array_size(count * s->count, sizeof *s->capacities));
}

static vyre_status fill_host(host_batch *b, vy_dispatch_batch *many, host_arrays *s, vyre_error *error) {
    uint64_t bytes = 0;
    vy_dispatch d;
    for (size_t i = 0; i < b->count; i++) {
        describe_host(b, i, &d);
        vyre_status status = vy_dispatch_host_resolve(&d, error);
        if (status == VYRE_OK)
            status = vy_outputs_reserve(&b->outputs[i], s->count, error);
        if (status != VYRE_OK)
            return status;
        add_host(many, &d);
        s->inputs[i] = d.arguments->inputs;
        for (size_t k = 0; k < d.arguments->input_count; k++)
            bytes += d.arguments->inputs[k].size;
    }
    if (bytes)
        vy_count(VY_COUNTER_input_bytes, bytes);
    return vy_prepare(b->pipeline->backend, b->pipeline->program, error);
}

static vyre_status call_host(host_batch *b, const vy_executable_entry *entry, vy_dispatch_batch *many, host_arrays *s,
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
        status = check_item_outputs(many, i, &s->views[i], b->outputs[i].items, error);
        failed = status == VYRE_OK ? b->count : i;
    }
    status = vy_dispatch_batch_finish(many, status, failed, b->failed, b->trap, error);
    for (size_t i = 0; i < b->count; i++)
        vy_outputs_reclaim(&b->outputs[i], s->count, status == VYRE_OK, s->capacities + i * s->count);
    return status;
}

static vyre_status run_host_natively(host_batch *b, const vy_executable *executable, vyre_error *error) {
    const vyre_program *program = b->pipeline->program;
    host_arrays s = {.count = vyre_program_output_count(program)};
    vy_bump measure = {NULL, 0};
    vy_dispatch_batch many;
    lay_out_arrays(&s, &measure, b->count);
    vyre_status status = vy_dispatch_batch_start(&many, b->pipeline->backend, b->count, b->count * program->param_count,
                                                 b->count * program->buffer_count, error);
    if (status != VYRE_OK)
        return status;
    vy_bump bump = {vy_allocate(measure.used), 0};
    if (bump.block) {
        lay_out_arrays(&s, &bump, b->count);
        status = fill_host(b, &many, &s, error);
        if (status == VYRE_OK)
            status = call_host(b, executable->entries, &many, &s, error);
    } else {
        status = vy_fail_memory(error, "running a batch");
    }
    vy_release(bump.block, measure.used);
    vy_dispatch_batch_end(&many);
    return status;
}

/* Inside the backend. *is_done: the batch ran natively. */
static vyre_status try_host_natively(host_batch *b, int *is_done, vyre_error *error) {
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
    return run_host_natively(b, executable, error);
}

static vyre_status run_host(host_batch *b, vyre_error *error) {
    int is_done;
    vyre_status status = check_host(b, error);
    if (status == VYRE_OK)
        *b->failed = b->count, status = vy_backend_enter(b->pipeline->backend, error);
    if (status != VYRE_OK)
        return status;
    status = try_host_natively(b, &is_done, error);
    vy_backend_leave(b->pipeline->backend);
    return status == VYRE_OK && !is_done ? run_each_host(b, error) : status;
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
    host_batch b = {.pipeline = pipeline,
                    .arguments = arguments,
                    .count = count,
                    .config = config ? config : &defaults,
                    .outputs = outputs,
                    .failed = &at,
                    .trap = trap};
    vyre_status status = VYRE_OK;
    b.deadline_ns = vy_dispatch_deadline(b.config);
    if (count)
        status = run_host(&b, e);
    if (status != VYRE_OK && failed)
        *failed = at;
    return vy_dispatch_label_error(status, b.config, e);
}

/* ---- batches on persistent handles, and rows ---- */

typedef struct resource_batch {
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
} resource_batch;

static const vyre_resource *bindings_of(const resource_batch *b, size_t index) {
    return b->bindings ? b->bindings[index] : b->rows[index];
}

static void describe_resources(const resource_batch *b, size_t index, vy_resource_dispatch *bound) {
    vy_resource_dispatch_describe_pipeline(bound, b->pipeline, b->arguments, b->config);
    bound->form = VY_FORM_PERSISTENT, bound->outputs = &b->outputs[index], bound->trap = b->trap;
    bound->deadline_ns = b->deadline_ns;
}

/* Resolves all items, and adds them to `many` if it is not NULL. *is_plain: each is one launch. */
static vyre_status check_resources(resource_batch *b, vy_dispatch_batch *many, int *is_plain, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vy_resource_dispatch bound;
    int is_tiled, follow = 0;
    *is_plain = 1;
    describe_resources(b, 0, &bound);
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

static vyre_status run_each_resource(resource_batch *b, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vy_resource_dispatch bound;
    for (size_t i = 0; i < b->count && status == VYRE_OK; i++) {
        b->failed = i;
        describe_resources(b, i, &bound);
        status = vy_dispatch_check_expired(bound.program, b->deadline_ns, b->config->cancel, error);
        if (status == VYRE_OK)
            status = vy_resource_dispatch_resolve(&bound, bindings_of(b, i), b->binding_count, error);
        if (status == VYRE_OK)
            status = vy_resource_dispatch_run(&bound, error);
    }
    return status;
}

static vyre_status call_resources(const resource_batch *b, const vy_executable_entry *entry,
                                  const vy_dispatch_batch *many, vyre_outputs *views, size_t *failed,
                                  vyre_error *error) {
    if (!b->bindings && entry->calls.dispatch_persistent_rows_into)
        return entry->calls.dispatch_persistent_rows_into(
            entry->self, many->launches, (const vyre_resource(*)[4])many->resources, b->count, views, failed, error);
    return entry->calls.dispatch_persistent_batched_into(entry->self, many->launches, many->bindings, b->binding_count,
                                                         b->count, views, failed, error);
}

/* Checks the outputs of a successful call, item by item. *is_kept: the backend changed no slot, because all outputs
 * stay on the device. */
static vyre_status check_batch_outputs(const resource_batch *b, const vy_dispatch_batch *many,
                                       const vyre_outputs *views, const size_t *capacities, size_t slots, int *is_kept,
                                       size_t *failed, vyre_error *error) {
    vyre_status status = VYRE_OK;
    *is_kept = many->is_resident;
    for (size_t i = 0; i < b->count && status == VYRE_OK; i++) {
        *is_kept = *is_kept && vy_outputs_are_untouched(&b->outputs[i], &views[i], slots, capacities + i * slots);
        if (!*is_kept)
            status = check_item_outputs(many, i, &views[i], b->outputs[i].items, error);
        *failed = status == VYRE_OK ? b->count : i;
    }
    return status;
}

/* Ends the exposure of the callers' slots. */
static void reclaim_outputs(resource_batch *b, size_t slots, int went_well, int is_kept, const size_t *capacities) {
    if (went_well && is_kept) {
        vy_outputs_reclaim_untouched(b->outputs, b->count, slots);
        return;
    }
    for (size_t i = 0; i < b->count; i++)
        vy_outputs_reclaim(&b->outputs[i], slots, went_well, capacities + i * slots);
}

static vyre_status run_resources_natively(resource_batch *b, const vy_executable_entry *entry, vy_dispatch_batch *many,
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
        status = vy_backend_check_result_run(backend, call_resources(b, entry, many, views, &failed, error), error);
        vy_span_end(span, launch, .backend = backend->id, .program = vyre_program_name(b->pipeline->program),
                    .label = b->config->label, .count = b->count, .status = status);
        int is_kept = 0;
        if (status == VYRE_OK)
            status = check_batch_outputs(b, many, views, capacities, slots, &is_kept, &failed, error);
        status = vy_dispatch_batch_finish(many, status, failed, &b->failed, b->trap, error);
        reclaim_outputs(b, slots, status == VYRE_OK, is_kept, capacities);
    }
    vy_release(views, views ? size : 0);
    return status;
}

/* Whether one native call can run the batch. */
static int has_native_batch(const resource_batch *b, const vy_executable *executable) {
    vyre_launch only_deadline = {.deadline_ns = b->deadline_ns};
    const vyre_pipeline_vtable *calls = &executable->entries->calls;
    return (calls->dispatch_persistent_batched_into || (!b->bindings && calls->dispatch_persistent_rows_into)) &&
           !executable->stages && !vy_dispatch_needs_watchdog(b->pipeline->backend, &only_deadline);
}

/* Whether each item can run separately. */
static int runs_alone(const resource_batch *b, const vy_executable *executable) {
    int host = 0;
    for (size_t i = 0; i < b->count && !host; i++)
        host = vy_resource_dispatch_has_host(bindings_of(b, i), b->binding_count);
    return vy_pipeline_supports_resources(b->pipeline->backend, executable, host);
}

static vyre_status run_resources(resource_batch *b, vyre_error *error) {
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
    int is_many = has_native_batch(b, executable);
    if (!is_many && !runs_alone(b, executable))
        return vy_backend_unsupported(backend, "persistent handle dispatch", error);
    if (!is_many) {
        status = check_resources(b, NULL, &is_plain, error);
        return status == VYRE_OK ? run_each_resource(b, error) : status;
    }
    status = vy_dispatch_batch_start(&many, backend, b->count, b->count * program->param_count,
                                     b->count * program->buffer_count, error);
    if (status != VYRE_OK)
        return status;
    status = check_resources(b, &many, &is_plain, error);
    if (status == VYRE_OK && is_plain)
        status = run_resources_natively(b, executable->entries, &many, error);
    else if (status == VYRE_OK && !runs_alone(b, executable))
        status = vy_backend_unsupported(backend, "persistent handle dispatch", error);
    vy_dispatch_batch_end(&many);
    return status == VYRE_OK && !is_plain ? run_each_resource(b, error) : status;
}

static vyre_status enter_and_run(resource_batch *b, size_t *failed, vyre_error *error) {
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
        status = run_resources(b, e);
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
    resource_batch b = {.pipeline = pipeline,
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
    resource_batch b = {.pipeline = pipeline,
                        .rows = rows,
                        .binding_count = 4,
                        .count = count,
                        .arguments = arguments,
                        .config = config,
                        .outputs = outputs,
                        .trap = trap};
    if (pipeline->program->buffer_count != 4)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "use vyre_pipeline_dispatch_persistent_batch",
                       "a row has four resources, but program `%s` has %" PRIu32 " buffers",
                       vyre_program_name(pipeline->program), pipeline->program->buffer_count);
    return enter_and_run(&b, failed, error);
}
