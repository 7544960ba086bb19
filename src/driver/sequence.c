/* Sequences (vyre/pipeline.h): natively in one call, or step by step.
 *
 * Steps and readback ranges are resolved and pinned before the first step runs. The native entry requires native
 * pipelines that are one launch each, and grids that are known at the start or read by the device. */
#include "base/status.h"

#include "base/thread.h"
#include "driver/dispatch_batch.h"
#include "driver/telemetry.h"

#include <inttypes.h>

typedef struct sequence {
    vyre_backend *backend;
    const vyre_step *steps;
    size_t step_count;
    const vyre_readback *readbacks;
    size_t readback_count;
    const vyre_dispatch_config *config;
    vyre_timing *timing; /* may be NULL */
    vyre_trap *trap;     /* may be NULL */
    uint64_t deadline_ns;
    size_t failed;
    /* One block: the readbacks in native form, and their pins. */
    vyre_readback *native;
    vy_resident_use *uses;
    size_t use_count;
} sequence;

/* ---- checks ---- */

static vyre_status check_steps(sequence *s, vyre_error *error) {
    s->failed = s->step_count;
    for (s->failed = 0; s->failed < s->step_count; s->failed++) {
        const vyre_pipeline *pipeline = s->steps[s->failed].pipeline;
        if (!pipeline)
            return vy_fail(error, VYRE_INVALID_ARGUMENT, "set the pipeline of every step", "step %zu has no pipeline",
                           s->failed);
        if (pipeline->backend != s->backend)
            return vy_fail(error, VYRE_INVALID_ARGUMENT, "compile all steps for the backend the sequence runs on",
                           "the pipeline of step %zu belongs to another backend (`%s`)", s->failed,
                           pipeline->backend->id);
    }
    return VYRE_OK;
}

static vyre_status pin_readbacks(sequence *s, vyre_error *error) {
    if (s->readback_count && !s->backend->calls.resident_download)
        return vy_backend_unsupported(s->backend, "resident buffer download", error);
    for (size_t i = 0; i < s->readback_count; i++) {
        const vyre_readback *asked = &s->readbacks[i];
        if (asked->size && !asked->host)
            return vy_fail(error, VYRE_INVALID_ARGUMENT, "point at the bytes",
                           "%" PRIu64 " bytes of readback %zu go to a NULL pointer", asked->size, i);
        vyre_status status =
            vy_resident_pin(s->backend, asked->resident, asked->offset, asked->size, 0, 0, &s->uses[i], error);
        if (status != VYRE_OK) {
            if (!error->where[0])
                vy_fail_where(error, "readback %zu", i);
            return status;
        }
        s->use_count++;
        s->native[i] = *asked;
        s->native[i].resident.id = s->uses[i].native;
    }
    return VYRE_OK;
}

static void describe(const sequence *s, size_t index, vy_resource_dispatch *b) {
    const vyre_step *step = &s->steps[index];
    vy_resource_dispatch_describe_pipeline(b, step->pipeline, step->arguments, s->config);
    b->deadline_ns = s->deadline_ns, b->trap = s->trap;
}

/* A grid that an earlier step may write is unknown: everything except the grid is checked, unless the device reads
 * it. */
static int has_unknown_grid(const sequence *s, size_t index) {
    const vyre_program *program = s->steps[index].pipeline->program;
    return index > 0 && vy_resource_dispatch_is_indirect(program, s->steps[index].arguments) &&
           !vy_resource_dispatch_has_device_grid(s->backend, program);
}

static vyre_status resolve_step(const sequence *s, size_t index, vy_resource_dispatch *b, vyre_error *error) {
    const vyre_step *step = &s->steps[index];
    vyre_arguments some_grid;
    describe(s, index, b);
    if (has_unknown_grid(s, index)) {
        some_grid = *b->arguments;
        some_grid.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {1, 1, 1}};
        b->arguments = &some_grid;
    }
    vyre_status status = vy_resource_dispatch_resolve(b, step->bindings, step->binding_count, error);
    describe(s, index, b);
    return status;
}

/* Whether the step can be part of one native call. */
static int is_native(const sequence *s, size_t index, const vy_executable *executable, const vy_resource_dispatch *b) {
    int is_tiled;
    return executable->entries->calls.dispatch && !executable->stages && b->launch.group_count &&
           !has_unknown_grid(s, index) && !vy_multi_launch_needed(s->backend, b->program, &b->launch, &is_tiled);
}

/* Whether the step equals the previous one except for the offsets of its ranges; it was added if so. */
static int add_shifted(const sequence *s, size_t index, vy_dispatch_batch *many) {
    const vyre_step *step = &s->steps[index], *before = step - 1;
    const vyre_resource *items[] = {before->bindings, step->bindings};
    return step->pipeline == before->pipeline && step->arguments == before->arguments &&
           step->binding_count == before->binding_count && vy_dispatch_batch_add_shifted(many, items, NULL, 1, 2);
}

/* Checks all steps, and adds those before the first that cannot run natively. executables: by step. */
static vyre_status check_all(sequence *s, vy_dispatch_batch *many, vy_executable **executables, int *all_native,
                             vyre_error *error) {
    vyre_launch only_deadline = {.deadline_ns = s->deadline_ns};
    int runs_alone = 1, follow = 0;
    vy_resource_dispatch b;
    *all_native = s->backend->calls.sequence && !vy_dispatch_needs_watchdog(s->backend, &only_deadline);
    for (s->failed = 0; s->failed < s->step_count; s->failed++) {
        vy_executable **executable = &executables[s->failed];
        if (follow && add_shifted(s, s->failed, many)) {
            *executable = executables[s->failed - 1];
            continue;
        }
        vyre_status status = vy_pipeline_executable(
            s->steps[s->failed].pipeline, (vy_stop_condition){s->deadline_ns || s->config->cancel, s->deadline_ns},
            VY_EXECUTABLE_PLAIN, executable, error);
        if (status == VYRE_OK)
            status = resolve_step(s, s->failed, &b, error);
        if (status != VYRE_OK)
            return status;
        runs_alone = runs_alone && vy_pipeline_supports_resources(s->backend, *executable, 0);
        *all_native = *all_native && is_native(s, s->failed, *executable, &b);
        if (*all_native)
            vy_dispatch_batch_add(many, &b);
        else
            vy_resource_dispatch_unpin(&b);
        follow = *all_native && vy_dispatch_batch_can_repeat(&b);
    }
    return *all_native || runs_alone ? VYRE_OK : vy_backend_unsupported(s->backend, "sequences", error);
}

/* ---- running ---- */

static vyre_status run_natively(sequence *s, vy_dispatch_batch *many, vy_executable *const *executables,
                                vyre_error *error) {
    vyre_backend *backend = s->backend;
    size_t size = vy_array_size(s->step_count, sizeof(vyre_native_step)), failed = s->step_count;
    vyre_native_step *steps = vy_allocate(size);
    vyre_status status = steps ? VYRE_OK : vy_fail_memory(error, "running a sequence");
    for (size_t i = 0; i < s->step_count && status == VYRE_OK; i++) {
        steps[i] = (vyre_native_step){.pipeline = executables[i]->entries->self,
                                      .launch = many->launches[i],
                                      .bindings = many->bindings[i],
                                      .binding_count = many->launches[i].buffer_count};
        if (!i || many->launches[i].program != many->launches[i - 1].program)
            status = vy_prepare(backend, many->launches[i].program, error);
    }
    if (status == VYRE_OK) {
        if (s->timing)
            memset(s->timing, 0, sizeof *s->timing);
        vy_error_clear(error);
        vy_span span = vy_span_begin();
        status = vy_backend_check_result_run(backend,
                                             backend->calls.sequence(backend->self, steps, s->step_count, s->native,
                                                                     s->readback_count, s->timing, &failed, error),
                                             error);
        vy_span_end(span, launch, .backend = backend->id, .label = s->config->label, .count = s->step_count,
                    .status = status);
        status = vy_dispatch_batch_finish(many, status, failed, &s->failed, s->trap, error);
    }
    vy_release(steps, steps ? size : 0);
    return status;
}

static vyre_status read_back(sequence *s, vyre_error *error) {
    vyre_backend *backend = s->backend;
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < s->readback_count && status == VYRE_OK; i++) {
        const vyre_readback *range = &s->native[i];
        if (!range->size)
            continue;
        vy_span span = vy_span_begin();
        vy_error_clear(error);
        status =
            vy_backend_check_result(backend,
                                    backend->calls.resident_download(backend->self, range->resident.id, range->offset,
                                                                     range->host, range->size, error),
                                    error);
        vy_span_end(span, readback, .backend = backend->id, .bytes = range->size, .status = status);
        if (status == VYRE_OK)
            vy_count(VY_COUNTER_download_bytes, range->size);
    }
    return status;
}

static vyre_status run_each(sequence *s, vyre_error *error) {
    uint64_t start = vy_clock_now();
    vy_resource_dispatch b;
    for (size_t i = 0; i < s->step_count; i++) {
        describe(s, i, &b);
        s->failed = i;
        vyre_status status = vy_dispatch_check_expired(b.program, s->deadline_ns, s->config->cancel, error);
        if (status == VYRE_OK)
            status = vy_resource_dispatch_resolve(&b, s->steps[i].bindings, s->steps[i].binding_count, error);
        if (status == VYRE_OK)
            status = vy_resource_dispatch_run(&b, error);
        if (status != VYRE_OK)
            return status;
    }
    s->failed = s->step_count;
    vyre_status status = read_back(s, error);
    if (status == VYRE_OK && s->timing)
        *s->timing = (vyre_timing){.wall_ns = vy_clock_now() - start};
    return status;
}

static vyre_status run(sequence *s, vyre_error *error) {
    size_t params = 0, buffers = 0, executables_size = vy_array_size(s->step_count, sizeof(vy_executable *));
    int all_native;
    vy_dispatch_batch many;
    for (size_t i = 0; i < s->step_count; i++) {
        params += s->steps[i].pipeline->program->param_count;
        buffers += s->steps[i].pipeline->program->buffer_count;
    }
    vyre_status status = pin_readbacks(s, error);
    if (status != VYRE_OK)
        return status;
    vy_executable **executables = vy_allocate(executables_size);
    if (!executables && s->step_count)
        return vy_fail_memory(error, "running a sequence");
    status = vy_dispatch_batch_start(&many, s->backend, s->step_count + 1, params, buffers, error);
    if (status == VYRE_OK) {
        status = check_all(s, &many, executables, &all_native, error);
        if (status == VYRE_OK && all_native && s->step_count)
            status = run_natively(s, &many, executables, error);
        vy_dispatch_batch_end(&many);
        if (status == VYRE_OK && !(all_native && s->step_count))
            status = run_each(s, error);
    }
    vy_release(executables, executables_size);
    return status;
}

static vyre_status enter_and_run(sequence *s, vyre_error *error) {
    size_t item = sizeof *s->native + sizeof *s->uses, size = vy_array_size(s->readback_count, item);
    vyre_status status = check_steps(s, error);
    if (status == VYRE_OK)
        status = vy_backend_enter(s->backend, error);
    if (status != VYRE_OK)
        return status;
    s->native = vy_allocate(size);
    s->uses = s->native ? (vy_resident_use *)(s->native + s->readback_count) : NULL;
    vy_error_clear(error);
    status = s->native || !size ? run(s, error) : vy_fail_memory(error, "running a sequence");
    if (s->use_count)
        vy_resident_unpin(s->backend, s->uses, s->use_count);
    vy_release(s->native, s->native ? size : 0);
    vy_backend_leave(s->backend);
    return status;
}

vyre_status vyre_sequence_run(vyre_backend *backend, const vyre_step *steps, size_t step_count,
                              const vyre_readback *readbacks, size_t readback_count, const vyre_dispatch_config *config,
                              vyre_timing *timing, size_t *failed, vyre_trap *trap, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (failed && (!backend || (step_count && !steps) || (readback_count && !readbacks)))
        *failed = step_count;
    VY_REQUIRE(error, backend);
    VY_REQUIRE_ARRAY(error, steps, step_count);
    VY_REQUIRE_ARRAY(error, readbacks, readback_count);
    static const vyre_dispatch_config defaults;
    vyre_error own;
    vyre_error *e = error ? error : &own;
    vyre_timing measured;
    sequence s = {.backend = backend,
                  .steps = steps,
                  .step_count = step_count,
                  .readbacks = readbacks,
                  .readback_count = readback_count,
                  .config = config ? config : &defaults,
                  .timing = timing ? &measured : NULL,
                  .trap = trap};
    s.deadline_ns = vy_dispatch_deadline(s.config);
    vyre_status status = enter_and_run(&s, e);
    if (status == VYRE_OK && timing)
        *timing = measured;
    if (status != VYRE_OK && failed)
        *failed = s.failed;
    if (status != VYRE_OK && s.failed < step_count && !e->where[0])
        vy_fail_where(e, "step %zu", s.failed);
    return vy_dispatch_label_error(status, s.config, e);
}
