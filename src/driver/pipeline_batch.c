/* Batches from host bytes (vyre/pipeline.h): natively in one call, or one after the other.
 *
 * All items are resolved before anything runs. A resolved launch is large, so none is kept: items are resolved again when they run, which gives the
 * same. The native entry takes only what it can do in one launch each: an empty grid, stages, or a deadline the backend cannot keep
 * send the whole batch the other way. */
#include "driver/pipeline.h"

#include "base/status.h"
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
    int with_base;
    b->is_plain = 1;
    for (size_t i = 0; i < b->count && status == VYRE_OK; i++) {
        describe(b, i, &d);
        *b->failed = i;
        status = vy_dispatch_resolve(&d, error);
        if (status == VYRE_OK &&
            (!d.launch.group_count || vy_stages_needed(d.backend, d.program, &d.launch, &with_base)))
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
        status = vy_boundary_check_deadline(b->pipeline->program, b->deadline_ns, error);
        if (status == VYRE_OK)
            status = vy_dispatch_host(&d, error);
    }
    return status;
}

/* ---- natively ---- */

/* One block for all items. */
typedef struct storage {
    vyre_launch *launches;
    vyre_trap *traps;
    const vyre_span **inputs;
    vyre_outputs *views;
    vyre_scalar *params;
    uint64_t *elements;
    size_t *capacities;
    void *block;
    size_t size;
} storage;

static void *piece(storage *s, size_t count, size_t size) {
    void *at = s->block ? (char *)s->block + s->size : NULL;
    s->size += (vy_array_size(count, size) + 15) / 16 * 16;
    return at;
}

static void lay_out(storage *s, const vyre_program *program, size_t count, size_t outputs) {
    s->size = 0;
    s->launches = piece(s, count, sizeof *s->launches);
    s->traps = piece(s, count, sizeof *s->traps);
    s->inputs = piece(s, count, sizeof *s->inputs);
    s->views = piece(s, count, sizeof *s->views);
    s->params = piece(s, count * program->param_count, sizeof *s->params);
    s->elements = piece(s, count * program->buffer_count, sizeof *s->elements);
    s->capacities = piece(s, count * outputs, sizeof *s->capacities);
}

static vyre_status fill(batch *b, storage *s, size_t output_count, vyre_error *error) {
    const vyre_program *program = b->pipeline->program;
    vyre_status status = VYRE_OK;
    uint64_t bytes = 0;
    vy_dispatch d;
    for (size_t i = 0; i < b->count && status == VYRE_OK; i++) {
        describe(b, i, &d);
        status = vy_dispatch_resolve(&d, error);
        if (status == VYRE_OK)
            status = vy_outputs_reserve(&b->outputs[i], output_count, error);
        if (status != VYRE_OK)
            return status;
        s->traps[i] = (vyre_trap){UINT64_MAX, 0}; /* says whether it was filled */
        vy_boundary_describe(d.program, d.arguments, &d.launch, b->config, s->params + i * program->param_count,
                             s->elements + i * program->buffer_count, &s->traps[i], &s->launches[i]);
        s->launches[i].deadline_ns = b->deadline_ns;
        s->inputs[i] = d.arguments->inputs;
        for (size_t k = 0; k < d.arguments->input_count; k++)
            bytes += d.arguments->inputs[k].size;
    }
    if (bytes)
        vy_count(VY_COUNTER_input_bytes, bytes);
    return status;
}

/* What the backend gave, item by item; resolved once more for the sizes. */
static vyre_status inspect(batch *b, storage *s, size_t output_count, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vy_dispatch d;
    for (size_t i = 0; i < b->count && status == VYRE_OK; i++) {
        describe(b, i, &d);
        *b->failed = i;
        status = vy_dispatch_resolve(&d, error);
        if (status == VYRE_OK)
            status = vy_outputs_check(d.backend, &s->views[i], b->outputs[i].items, output_count, d.program, &d.launch,
                                      error);
    }
    return status;
}

/* The trapped item, if the backend did not name it, is the one whose trap was filled. */
static vyre_status finish(batch *b, storage *s, vyre_status status, vyre_error *error) {
    vyre_backend *backend = b->pipeline->backend;
    vy_dispatch d;
    vyre_error own;
    if (status == VYRE_OK) {
        vy_count(VY_COUNTER_dispatches, b->count);
        return VYRE_OK;
    }
    size_t at = *b->failed < b->count ? *b->failed : 0;
    if (status == VYRE_TRAPPED && *b->failed >= b->count) {
        while (at + 1 < b->count && s->traps[at].invocation == UINT64_MAX)
            at++;
        *b->failed = at;
    }
    describe(b, at, &d);
    vy_dispatch_resolve(&d, &own);
    status = vy_boundary_finish(backend, status, &d.launch, &s->traps[at], error);
    if (status == VYRE_TRAPPED && b->trap)
        *b->trap = s->traps[at];
    return status;
}

static vyre_status call(batch *b, const vy_code *code, storage *s, size_t output_count, vyre_error *error) {
    vyre_backend *backend = b->pipeline->backend;
    const vy_part *part = code->parts;
    for (size_t i = 0; i < b->count; i++)
        vy_outputs_lend(&b->outputs[i], output_count, &s->views[i], s->capacities + i * output_count);
    size_t failed = b->count;
    vy_error_clear(error);
    vy_span span = vy_span_begin();
    vyre_status status =
        vy_backend_judge(backend,
                         part->calls.dispatch_batched_into(part->self, s->launches, s->inputs,
                                                           vyre_program_input_count(b->pipeline->program), b->count,
                                                           s->views, &failed, error),
                         error);
    vy_span_end(span, launch, .backend = backend->id, .program = vyre_program_name(b->pipeline->program),
                .label = b->config->label, .count = b->count, .status = status);
    *b->failed = failed < b->count ? failed : b->count;
    if (status == VYRE_OK)
        status = inspect(b, s, output_count, error);
    status = finish(b, s, status, error);
    for (size_t i = 0; i < b->count; i++)
        vy_outputs_regain(&b->outputs[i], output_count, status == VYRE_OK, s->capacities + i * output_count);
    return status;
}

static vyre_status run_natively(batch *b, const vy_code *code, vyre_error *error) {
    vyre_pipeline *pipeline = b->pipeline;
    size_t output_count = vyre_program_output_count(pipeline->program);
    storage s = {.block = NULL};
    lay_out(&s, pipeline->program, b->count, output_count);
    s.block = vy_allocate(s.size);
    if (!s.block)
        return vy_fail_memory(error, "running a batch");
    lay_out(&s, pipeline->program, b->count, output_count);
    vyre_status status = fill(b, &s, output_count, error);
    if (status == VYRE_OK)
        status = vy_prepare(pipeline->backend, pipeline->program, error);
    if (status == VYRE_OK)
        status = call(b, code, &s, output_count, error);
    vy_release(s.block, s.size);
    return status;
}

/* Inside the backend. *is_done says whether there was a native way. */
static vyre_status try_natively(batch *b, int *is_done, vyre_error *error) {
    vyre_launch only_deadline = {.deadline_ns = b->deadline_ns};
    vy_code *code;
    *is_done = 0;
    if (!b->is_plain || vy_boundary_guards(b->pipeline->backend, &only_deadline))
        return VYRE_OK;
    vyre_status status = vy_pipeline_code(b->pipeline, b->deadline_ns != 0, 0, &code, error);
    if (status != VYRE_OK || !code->parts->calls.dispatch_batched_into)
        return status;
    *is_done = 1;
    return run_natively(b, code, error);
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
    b.deadline_ns = vy_boundary_deadline(b.config);
    if (count)
        status = run(&b, e);
    if (status != VYRE_OK && failed)
        *failed = at;
    return status;
}
