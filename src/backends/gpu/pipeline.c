/* Executables and pipelines (gpu.h). */
#include "backends/gpu/gpu.h"
#include "base/status.h"
#include "base/thread.h"

#include <stdio.h>

/* ---- executables ---- */

void vy_gpu_executable_start(vy_gpu_executable *code, vy_gpu *gpu, vyre_program *program) {
    atomic_init(&code->references, 1);
    code->gpu = gpu;
    code->program = vyre_program_retain(program);
    code->buffer_count = (uint32_t)vyre_program_buffer_count(program);
    snprintf(code->name, sizeof code->name, "%s", vyre_program_name(program));
}

void vy_gpu_executable_end(vy_gpu_executable *code) {
    vy_launch_facts_free(code->facts);
    vyre_program_release(code->program);
}

vy_gpu_executable *vy_gpu_executable_retain(vy_gpu_executable *code) {
    atomic_fetch_add_explicit(&code->references, 1, memory_order_relaxed);
    return code;
}

void vy_gpu_executable_release(vy_gpu_executable *code) {
    if (code && atomic_fetch_sub_explicit(&code->references, 1, memory_order_acq_rel) == 1)
        code->gpu->calls->executable_destroy(code);
}

/* ---- dispatches ---- */

static vyre_status run(void *self, const vyre_launch *launch, const vyre_span *inputs, const vyre_resource *bindings,
                       vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {
    vy_gpu_pipeline *p = self;
    const vy_gpu_calls *calls = p->gpu->calls;
    int was_pushed;
    vyre_status status = calls->enter(p->gpu, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = calls->run(p->code, launch, inputs, bindings, outputs, timing, error);
    calls->leave(p->gpu, was_pushed);
    return status;
}

static vyre_status dispatch_borrowed(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                     vyre_outputs *outputs, vyre_error *error) {
    (void)input_count;
    return run(self, launch, inputs, NULL, outputs, NULL, error);
}

static vyre_status dispatch_timed(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                  vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {
    (void)input_count;
    return run(self, launch, inputs, NULL, outputs, timing, error);
}

static vyre_status dispatch(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t input_count,
                            vyre_outputs *outputs, vyre_error *error) {
    vyre_span spans[VY_LIMIT_BUFFERS];
    for (size_t i = 0; i < input_count; i++)
        spans[i] = (vyre_span){inputs[i].data, inputs[i].size};
    return run(self, launch, spans, NULL, outputs, NULL, error);
}

static vyre_status dispatch_async(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t input_count,
                                  vyre_native_pending *out, vyre_error *error) {
    (void)input_count;
    vy_gpu_pipeline *p = self;
    int was_pushed;
    vyre_status status = p->gpu->calls->enter(p->gpu, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = vy_gpu_pending_start(p->code, launch, inputs, out, error);
    p->gpu->calls->leave(p->gpu, was_pushed);
    return status;
}

static vyre_status dispatch_batch(void *self, const vyre_launch *launches, const vyre_span *const *inputs,
                                  size_t input_count, size_t count, vyre_outputs *outputs, size_t *failed,
                                  vyre_error *error) {
    (void)input_count;
    vy_gpu_pipeline *p = self;
    int was_pushed;
    vyre_status status = p->gpu->calls->enter(p->gpu, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    vy_gpu_range_begin(p->gpu, NULL, p->code->name);
    status = vy_gpu_batch_run(p->code, launches, inputs, count, outputs, failed, error);
    vy_gpu_range_end(p->gpu);
    p->gpu->calls->leave(p->gpu, was_pushed);
    return status;
}

static vyre_status dispatch_persistent(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                       size_t binding_count, vyre_outputs *outputs, vyre_timing *timing,
                                       vyre_error *error) {
    (void)binding_count;
    return run(self, launch, NULL, bindings, outputs, timing, error);
}

static vyre_status run_list(vy_gpu *gpu, const vy_gpu_launch_list *list, vyre_outputs *outputs, size_t *failed,
                            vyre_error *error) {
    int was_pushed;
    vyre_status status = gpu->calls->enter(gpu, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = vy_gpu_list_run(gpu, list, outputs, failed, error);
    gpu->calls->leave(gpu, was_pushed);
    return status;
}

static vyre_status dispatch_persistent_batch(void *self, const vyre_launch *launches,
                                             const vyre_resource *const *bindings, size_t binding_count, size_t count,
                                             vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    (void)binding_count;
    vy_gpu_pipeline *p = self;
    const vy_gpu_launch_list list = {.code = p->code, .launches = launches, .each = bindings, .count = count};
    return run_list(p->gpu, &list, outputs, failed, error);
}

static vyre_status dispatch_rows(void *self, const vyre_launch *launches, const vyre_resource (*four)[4], size_t count,
                                 vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    vy_gpu_pipeline *p = self;
    const vy_gpu_launch_list list = {.code = p->code, .launches = launches, .four = four, .count = count};
    return run_list(p->gpu, &list, outputs, failed, error);
}

/* ---- making and ending ---- */

static vyre_status serialize(void *self, vyre_bytes *out, vyre_error *error) {
    vy_gpu_pipeline *p = self;
    int was_pushed;
    vyre_status status = p->gpu->calls->enter(p->gpu, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = p->gpu->calls->serialize(p->code, out, error);
    p->gpu->calls->leave(p->gpu, was_pushed);
    return status;
}

static void destroy(void *self) {
    vy_gpu_pipeline *p = self;
    atomic_fetch_sub_explicit(&p->gpu->pipelines, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&p->gpu->code_bytes, p->code->code_bytes, memory_order_relaxed);
    vy_gpu_executable_release(p->code);
    vy_release(p, sizeof *p);
}

#define ENTRIES                                                                                                        \
    .struct_size = sizeof(vyre_pipeline_vtable), .dispatch = dispatch, .dispatch_borrowed = dispatch_borrowed,         \
    .dispatch_borrowed_timed = dispatch_timed, .dispatch_borrowed_into = dispatch_borrowed,                            \
    .dispatch_batched_into = dispatch_batch, .dispatch_persistent_into = dispatch_persistent,                          \
    .dispatch_persistent_batched_into = dispatch_persistent_batch, .dispatch_persistent_rows_into = dispatch_rows,     \
    .destroy = destroy

static const vyre_pipeline_vtable table = {ENTRIES, .serialize = serialize, .dispatch_async = dispatch_async};
static const vyre_pipeline_vtable slow_table = {ENTRIES, .serialize_later = serialize,
                                                .dispatch_async = dispatch_async};
/* For grids in slices: no native asynchronous dispatch, so a worker thread of src/driver waits for each slice. */
static const vyre_pipeline_vtable waiting_table = {ENTRIES, .serialize = serialize};

/* Takes ownership of the code, also on failure. */
static vyre_status make(vy_gpu *gpu, vy_gpu_executable *code, vyre_native_pipeline *out, vyre_error *error) {
    vy_gpu_pipeline *p = vy_allocate(sizeof *p);
    if (!p) {
        vy_gpu_executable_release(code);
        return vy_fail_memory(error, "compiling a pipeline");
    }
    *p = (vy_gpu_pipeline){gpu, code};
    atomic_fetch_add_explicit(&gpu->pipelines, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&gpu->code_bytes, code->code_bytes, memory_order_relaxed);
    *out = (vyre_native_pipeline){code->is_waited_for              ? &waiting_table
                                  : gpu->calls->has_slow_serialize ? &slow_table
                                                                   : &table,
                                  p};
    return VYRE_OK;
}

vyre_status vy_gpu_pipeline_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                    vyre_native_pipeline *out, vyre_error *error) {
    vy_gpu *gpu = self;
    vy_gpu_executable *code = NULL;
    int was_pushed;
    vyre_status status = vy_gpu_numerics_confirm(gpu, error);
    if (status == VYRE_OK)
        status = gpu->calls->enter(gpu, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    vy_deadline_scope before = vy_deadline_begin(options->deadline_ns);
    status = gpu->calls->compile(gpu, program, options->cancellable, &code, error);
    vy_deadline_end(before);
    gpu->calls->leave(gpu, was_pushed);
    return status == VYRE_OK ? make(gpu, code, out, error) : status;
}

vyre_status vy_gpu_pipeline_load(void *self, vyre_program *program, const vyre_compile_options *options,
                                 vyre_span binary, vyre_native_pipeline *out, vyre_error *error) {
    vy_gpu *gpu = self;
    vy_gpu_executable *code = NULL;
    int was_pushed;
    vyre_status status = gpu->calls->enter(gpu, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = gpu->calls->load(gpu, program, options->cancellable, binary, &code, error);
    gpu->calls->leave(gpu, was_pushed);
    return status == VYRE_OK ? make(gpu, code, out, error) : status;
}
