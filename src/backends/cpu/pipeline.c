/* Pipelines of the `cpu` backend: the function table for all forms of dispatch of an executable (pipeline.h). */
#include "backends/cpu/pipeline.h"

#include "backends/cpu/compile.h"
#include "backends/cpu/dispatch.h"
#include "backends/cpu/memory.h"
#include "base/memory.h"
#include "base/status.h"
#include "driver/dispatch.h"

typedef struct pipeline {
    vy_cpu *cpu;
    vy_cpu_executable *code;
} pipeline;

static vyre_status call(void *self, const vyre_launch *launch, vy_cpu_arguments bytes, vyre_timing *timing,
                        vyre_error *error) {
    pipeline *p = self;
    vy_cpu_call made = vy_cpu_call_of(p->cpu, p->code, launch, bytes);
    made.timing = timing;
    return vy_cpu_call_run(&made, error);
}

/* ---- host bytes ---- */

static vyre_status dispatch_timed(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                  vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {
    (void)input_count;
    return call(self, launch, (vy_cpu_arguments){.inputs = inputs, .outputs = outputs}, timing, error);
}

static vyre_status dispatch_borrowed(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                     vyre_outputs *outputs, vyre_error *error) {
    return dispatch_timed(self, launch, inputs, input_count, outputs, NULL, error);
}

static vyre_status dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                            vyre_outputs *outputs, vyre_error *error) {
    vyre_span spans[VY_LIMIT_BUFFERS];
    for (size_t i = 0; i < input_count; i++)
        spans[i] = (vyre_span){inputs[i].data, inputs[i].size};
    return dispatch_borrowed(self, launch, spans, input_count, outputs, error);
}

static vyre_status dispatch_async(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                  vyre_native_pending *out, vyre_error *error) {
    pipeline *p = self;
    return vy_cpu_pending_start(p->cpu, p->code, launch, inputs, input_count, out, error);
}

static vyre_status dispatch_batch(void *self, const vyre_launch *launches, const vyre_span *const *inputs,
                                  size_t input_count, size_t count, vyre_outputs *outputs, size_t *failed,
                                  vyre_error *error) {
    (void)input_count;
    pipeline *p = self;
    return vy_cpu_batch(p->cpu, p->code, launches, inputs, count, outputs, failed, error);
}

/* ---- resources ---- */

static vyre_status dispatch_persistent(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                       size_t binding_count, vyre_outputs *outputs, vyre_timing *timing,
                                       vyre_error *error) {
    (void)binding_count;
    return call(self, launch, (vy_cpu_arguments){.bindings = bindings, .outputs = outputs}, timing, error);
}

/* One after the other, as items may name the same buffers. */
static vyre_status dispatch_persistent_batch(void *self, const vyre_launch *launches,
                                             const vyre_resource *const *bindings, size_t binding_count, size_t count,
                                             vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        *failed = i;
        status = dispatch_persistent(self, &launches[i], bindings[i], binding_count, &outputs[i], NULL, error);
    }
    return status;
}

static vyre_status dispatch_rows(void *self, const vyre_launch *launches, const vyre_resource (*rows)[4], size_t count,
                                 vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        *failed = i;
        status = dispatch_persistent(self, &launches[i], rows[i], 4, &outputs[i], NULL, error);
    }
    return status;
}

static vyre_status run_steps(const vyre_native_step *steps, size_t count, vyre_timing *timing, size_t *failed,
                             vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        vyre_timing step = {.wall_ns = 0};
        *failed = i;
        status = call(steps[i].pipeline, &steps[i].launch, (vy_cpu_arguments){.bindings = steps[i].bindings},
                      timing ? &step : NULL, error);
        if (timing)
            timing->device_ns += step.device_ns;
    }
    return status;
}

vyre_status vy_cpu_pipeline_sequence(void *self, const vyre_native_step *steps, size_t step_count,
                                     const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing,
                                     size_t *failed, vyre_error *error) {
    vy_cpu *cpu = self;
    uint64_t start = timing ? vy_clock_now() : 0;
    vyre_status status = run_steps(steps, step_count, timing, failed, error);
    if (status != VYRE_OK)
        return status;
    *failed = step_count;
    for (size_t i = 0; i < readback_count; i++)
        vy_cpu_pool_copy_or_clear(cpu->pool, readbacks[i].host,
                                  vy_cpu_resident_bytes(readbacks[i].resident.id) + readbacks[i].offset,
                                  (size_t)readbacks[i].size);
    if (timing) {
        timing->present |= VYRE_TIMED_DEVICE;
        timing->wall_ns = vy_clock_now() - start;
    }
    return VYRE_OK;
}

/* ---- making and ending ---- */

static vyre_status serialize(void *self, vyre_bytes *out, vyre_error *error) {
    return vy_cpu_code_object_save(&((pipeline *)self)->code->object, out, error);
}

static void destroy(void *self) {
    pipeline *p = self;
    atomic_fetch_sub_explicit(&p->cpu->pipelines, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&p->cpu->code_bytes, p->code->object.map_size, memory_order_relaxed);
    vy_cpu_executable_release(p->code);
    vy_release(p, sizeof *p);
}

static const vyre_pipeline_vtable table = {
    .struct_size = sizeof(vyre_pipeline_vtable),
    .dispatch = dispatch,
    .dispatch_borrowed = dispatch_borrowed,
    .dispatch_borrowed_timed = dispatch_timed,
    .dispatch_borrowed_into = dispatch_borrowed, /* it writes into the storage it is given */
    .dispatch_batched_into = dispatch_batch,
    .dispatch_persistent_into = dispatch_persistent,
    .dispatch_persistent_batched_into = dispatch_persistent_batch,
    .dispatch_persistent_rows_into = dispatch_rows,
    .dispatch_async = dispatch_async,
    .serialize = serialize,
    .destroy = destroy,
};

/* Takes the code over, also if it fails. */
static vyre_status make(vy_cpu *cpu, vy_cpu_executable *code, vyre_native_pipeline *out, vyre_error *error) {
    pipeline *p = vy_allocate(sizeof *p);
    if (!p) {
        vy_cpu_executable_release(code);
        return vy_fail_memory(error, "compiling a pipeline");
    }
    *p = (pipeline){cpu, code};
    atomic_fetch_add_explicit(&cpu->pipelines, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&cpu->code_bytes, code->object.map_size, memory_order_relaxed);
    *out = (vyre_native_pipeline){&table, p};
    return VYRE_OK;
}

vyre_status vy_cpu_pipeline_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                    vyre_native_pipeline *out, vyre_error *error) {
    vy_cpu_executable *code;
    vyre_status status = vy_cpu_compile(self, program, options->cancellable, options->deadline_ns, &code, error);
    return status == VYRE_OK ? make(self, code, out, error) : status;
}

vyre_status vy_cpu_pipeline_load(void *self, vyre_program *program, const vyre_compile_options *options,
                                 vyre_span binary, vyre_native_pipeline *out, vyre_error *error) {
    (void)options;
    vy_cpu *cpu = self;
    vy_cpu_executable *code;
    vyre_status status = vy_cpu_executable_new(program, binary, cpu->features, &code, error);
    return status == VYRE_OK ? make(cpu, code, out, error) : status;
}
