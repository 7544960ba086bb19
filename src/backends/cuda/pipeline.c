/* Pipelines (pipeline.h). */
#include "backends/cuda/pipeline.h"

#include "backends/cuda/compile.h"
#include "backends/cuda/dispatch_fast.h"
#include "backends/cuda/numerics.h"
#include "backends/cuda/pending.h"
#include "backends/cuda/sequence.h"
#include "backends/cuda/submission.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"

static vyre_status run(void *self, const vyre_launch *launch, const vyre_span *inputs, const vyre_resource *bindings,
                       vyre_outputs *outputs, vyre_timing *timing, vyre_error *error) {
    vy_cuda_pipeline *p = self;
    int was_pushed;
    vyre_status status = vy_cuda_enter(p->cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = vy_cuda_is_fast_dispatch(p->code, launch, bindings, timing)
                 ? vy_cuda_dispatch_fast(p->code, launch, bindings, error)
                 : vy_cuda_submission_run(p->code, launch, inputs, bindings, outputs, timing, error);
    vy_cuda_leave(p->cuda, was_pushed);
    return status;
}

/* ---- host bytes ---- */

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
    vy_cuda_pipeline *p = self;
    int was_pushed;
    vyre_status status = vy_cuda_enter(p->cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = vy_cuda_pending_start(p->code, launch, inputs, out, error);
    vy_cuda_leave(p->cuda, was_pushed);
    return status;
}

static vyre_status dispatch_batch(void *self, const vyre_launch *launches, const vyre_span *const *inputs,
                                  size_t input_count, size_t count, vyre_outputs *outputs, size_t *failed,
                                  vyre_error *error) {
    (void)input_count;
    vy_cuda_pipeline *p = self;
    return vy_cuda_batch_host(p->code, launches, inputs, count, outputs, failed, error);
}

/* ---- resources ---- */

static vyre_status dispatch_persistent(void *self, const vyre_launch *launch, const vyre_resource *bindings,
                                       size_t binding_count, vyre_outputs *outputs, vyre_timing *timing,
                                       vyre_error *error) {
    (void)binding_count;
    return run(self, launch, NULL, bindings, outputs, timing, error);
}

static vyre_status dispatch_persistent_batch(void *self, const vyre_launch *launches,
                                             const vyre_resource *const *bindings, size_t binding_count, size_t count,
                                             vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    (void)binding_count;
    vy_cuda_pipeline *p = self;
    const vy_cuda_batch_bindings rows = {.each = bindings};
    return vy_cuda_batch_resources(p->code, launches, &rows, count, outputs, failed, error);
}

static vyre_status dispatch_rows(void *self, const vyre_launch *launches, const vyre_resource (*four)[4], size_t count,
                                 vyre_outputs *outputs, size_t *failed, vyre_error *error) {
    vy_cuda_pipeline *p = self;
    const vy_cuda_batch_bindings rows = {.four = four};
    return vy_cuda_batch_resources(p->code, launches, &rows, count, outputs, failed, error);
}

/* ---- making and ending ---- */

static vyre_status serialize_later(void *self, vyre_bytes *out, vyre_error *error) {
    vy_cuda_pipeline *p = self;
    int was_pushed;
    vyre_status status = vy_cuda_enter(p->cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = vy_cuda_compile_binary(p->code, out, error);
    vy_cuda_leave(p->cuda, was_pushed);
    return status;
}

static void destroy(void *self) {
    vy_cuda_pipeline *p = self;
    atomic_fetch_sub_explicit(&p->cuda->pipelines, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&p->cuda->code_bytes, p->code->object.size, memory_order_relaxed);
    vy_cuda_executable_release(p->code);
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
    .destroy = destroy,
    .serialize_later = serialize_later,
};

/* Takes the code over, also if it fails. */
static vyre_status make(vy_cuda *cuda, vy_cuda_executable *code, vyre_native_pipeline *out, vyre_error *error) {
    vy_cuda_pipeline *p = vy_allocate(sizeof *p);
    if (!p) {
        vy_cuda_executable_release(code);
        return vy_fail_memory(error, "compiling a pipeline");
    }
    *p = (vy_cuda_pipeline){cuda, code};
    atomic_fetch_add_explicit(&cuda->pipelines, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&cuda->code_bytes, code->object.size, memory_order_relaxed);
    *out = (vyre_native_pipeline){&table, p};
    return VYRE_OK;
}

vyre_status vy_cuda_pipeline_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                     vyre_native_pipeline *out, vyre_error *error) {
    vy_cuda *cuda = self;
    vy_cuda_executable *code = NULL;
    int was_pushed;
    vyre_status status = vy_cuda_numerics_confirm(cuda, error);
    if (status == VYRE_OK)
        status = vy_cuda_enter(cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    vy_deadline_scope before = vy_deadline_begin(options->deadline_ns);
    status = vy_cuda_compile(cuda, program, options->cancellable, &code, error);
    vy_deadline_end(before);
    vy_cuda_leave(cuda, was_pushed);
    return status == VYRE_OK ? make(cuda, code, out, error) : status;
}

vyre_status vy_cuda_pipeline_load(void *self, vyre_program *program, const vyre_compile_options *options,
                                  vyre_span binary, vyre_native_pipeline *out, vyre_error *error) {
    vy_cuda *cuda = self;
    vy_cuda_executable *code = NULL;
    vyre_bytes object = VYRE_BYTES_INIT;
    int was_pushed;
    vyre_status status = vyre_bytes_resize(&object, binary.size, error);
    if (status != VYRE_OK)
        return status;
    memcpy(object.data, binary.data, binary.size);
    status = vy_cuda_enter(cuda, &was_pushed, error);
    if (status == VYRE_OK) {
        status = vy_cuda_executable_new(cuda, program, options->cancellable, &object, &code, error);
        vy_cuda_leave(cuda, was_pushed);
    }
    vyre_bytes_free(&object);
    return status == VYRE_OK ? make(cuda, code, out, error) : status;
}
