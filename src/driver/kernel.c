/* Kernels (vyre/kernel.h): a program, the backend selected for it, and its pipeline.
 *
 * A run uses one of two paths. Zero-copy: every host buffer is wrapped as a resident buffer, so nothing is copied. A
 * backend that cannot access memory of the process refuses the first wrap, and the kernel does not try again. By copy:
 * host bytes are passed to the dispatch, and its outputs, whose storage the kernel keeps for the next run, are copied
 * into the caller's memory. Buffers that share memory and unaligned buffers use the second path. */
#include "vyre/kernel.h"

#include "analysis/full_write.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "dialect/load.h"
#include "driver/pipeline.h"
#include "ir/dispatch_resolve.h"
#include "ir/op_tables.h"
#include "vyre/interop.h"
#include "vyre/wire.h"

#include <inttypes.h>

struct vyre_kernel {
    vyre_program *program;
    vyre_backend *backend;
    vyre_pipeline *pipeline;
    _Atomic int cannot_wrap;         /* the backend refused memory of the process */
    _Atomic(vyre_outputs *) outputs; /* storage of the copying path, while no run uses it */
    uint32_t buffer_count;
    vy_full_write covers[]; /* by buffer: when a `write` buffer need not be cleared */
};

/* ---- opening ---- */

static size_t kernel_size(const vyre_program *program) {
    return sizeof(vyre_kernel) + program->buffer_count * sizeof(vy_full_write);
}

static vyre_status decode(const void *wire, size_t size, vyre_kernel **out, vyre_error *error) {
    vyre_program *decoded, *program;
    vyre_status status = vyre_wire_decode(wire, size, NULL, &decoded, error);
    if (status != VYRE_OK)
        return status;
    status = vy_program_resolve_newest(decoded, &program, error);
    vyre_program_release(decoded);
    if (status != VYRE_OK)
        return status;
    vyre_kernel *kernel = vy_allocate_zero(kernel_size(program));
    if (!kernel) {
        vyre_program_release(program);
        return vy_fail_memory(error, "opening a kernel");
    }
    kernel->program = program;
    kernel->buffer_count = program->buffer_count;
    *out = kernel;
    return vy_program_has_entry(program) ? vy_full_write_find(program, kernel->covers, error) : VYRE_OK;
}

static vyre_status compile(vyre_kernel *kernel, vyre_error *error) {
    return vyre_compile(kernel->backend, kernel->program, NULL, &kernel->pipeline, error);
}

static vyre_status finish(vyre_status status, vyre_kernel *kernel, vyre_kernel **out) {
    if (status != VYRE_OK)
        vyre_kernel_close(kernel);
    *out = status == VYRE_OK ? kernel : NULL;
    return status;
}

vyre_status vyre_kernel_open(const void *wire, size_t size, const vyre_policy *policy, vyre_kernel **out,
                             vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    static const vyre_policy standard = VYRE_POLICY_DEFAULT;
    vyre_kernel *kernel = NULL;
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE(error, wire);
    vyre_status status = decode(wire, size, &kernel, error);
    if (status == VYRE_OK) {
        vyre_policy own = policy ? *policy : standard;
        own.program = kernel->program;
        status = vyre_select(&own, &kernel->backend, NULL, error);
    }
    if (status == VYRE_OK)
        status = compile(kernel, error);
    return finish(status, kernel, out);
}

vyre_status vyre_kernel_open_on(vyre_backend *backend, const void *wire, size_t size, vyre_kernel **out,
                                vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    vyre_kernel *kernel = NULL;
    VY_REQUIRE(error, out);
    *out = NULL;
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, wire);
    vyre_status status = decode(wire, size, &kernel, error);
    if (status == VYRE_OK) {
        kernel->backend = vyre_backend_retain(backend);
        status = compile(kernel, error);
    }
    return finish(status, kernel, out);
}

static void free_outputs(vyre_outputs *outputs) {
    if (!outputs)
        return;
    vyre_outputs_free(outputs);
    vy_release(outputs, sizeof *outputs);
}

void vyre_kernel_close(vyre_kernel *kernel) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (!kernel)
        return;
    free_outputs(atomic_load(&kernel->outputs));
    vyre_pipeline_release(kernel->pipeline);
    vyre_backend_release(kernel->backend);
    vyre_program *program = kernel->program;
    vy_release(kernel, kernel_size(program));
    vyre_program_release(program);
}

const char *vyre_kernel_backend_id(const vyre_kernel *kernel) {
    return kernel ? vyre_backend_id(kernel->backend) : NULL;
}

vyre_backend *vyre_kernel_backend(const vyre_kernel *kernel) {
    return kernel ? kernel->backend : NULL;
}

vyre_pipeline *vyre_kernel_pipeline(const vyre_kernel *kernel) {
    return kernel ? kernel->pipeline : NULL;
}

/* ---- a run ---- */

typedef struct run {
    vyre_kernel *kernel;
    vyre_kernel_buffer *buffers;
    const vyre_dispatch_config *config;
    vyre_trap *trap;
    vyre_arguments arguments;
    vyre_span inputs[VY_LIMIT_BUFFERS];
    uint64_t counts[VY_LIMIT_BUFFERS];
    vyre_resource bindings[VY_LIMIT_BUFFERS];
    vy_resolved_dispatch launch;
} run;

static int is_resident(const vyre_kernel_buffer *buffer) {
    return buffer->resident.owner || buffer->resident.id;
}

static const vy_memory *memory_of(const vyre_kernel *kernel, uint32_t index) {
    return &kernel->program->memories.items[vy_program_entry(kernel->program)->first_memory + index];
}

/* The arguments of the dispatch, and the number of elements of every buffer. */
static vyre_status resolve(run *r, const vyre_scalar *params, size_t param_count, const vyre_geometry *geometry,
                           vyre_error *error) {
    r->arguments =
        (vyre_arguments){.params = params, .param_count = param_count, .inputs = r->inputs, .counts = r->counts};
    if (geometry)
        r->arguments.geometry = *geometry;
    for (uint32_t i = 0; i < r->kernel->buffer_count; i++) {
        const vyre_kernel_buffer *buffer = &r->buffers[i];
        const vy_memory *memory = memory_of(r->kernel, i);
        size_t bytes;
        if (__builtin_mul_overflow(buffer->count, vyre_type_size((vyre_type)memory->type), &bytes))
            return vy_fail(error, VYRE_LIMIT, NULL, "buffer `%s` has %zu elements, more than memory can have",
                           vy_symbol_name(r->kernel->program, memory->name), buffer->count);
        if (buffer->count && !buffer->data && !is_resident(buffer))
            return vy_fail(error, VYRE_INVALID_ARGUMENT, "set `data`, or bind a resident buffer",
                           "buffer `%s` has %zu elements and no memory",
                           vy_symbol_name(r->kernel->program, memory->name), buffer->count);
        if (vy_accesses[memory->access].is_input)
            r->inputs[r->arguments.input_count++] =
                (vyre_span){is_resident(buffer) ? r : buffer->data, bytes}; /* a resident buffer has no host bytes */
        else if (memory->size == VY_NONE)
            r->counts[r->arguments.count_count++] = buffer->count;
    }
    return vy_resolve_dispatch(r->kernel->program, &r->arguments, &r->launch, error);
}

static vyre_status check_room(const run *r, vyre_error *error) {
    for (uint32_t i = 0; i < r->kernel->buffer_count; i++) {
        uint64_t made = r->launch.buffers[i].count;
        if (made > r->buffers[i].count)
            return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("make room for %" PRIu64 " elements", made),
                           "buffer `%s` receives %" PRIu64 " elements, but has room for %zu",
                           vy_symbol_name(r->kernel->program, memory_of(r->kernel, i)->name), made,
                           r->buffers[i].count);
    }
    return VYRE_OK;
}

/* ---- zero-copy ---- */

static int overlap(const run *r, uint32_t one, uint32_t other) {
    uintptr_t a = (uintptr_t)r->buffers[one].data, b = (uintptr_t)r->buffers[other].data;
    return a < b + r->launch.buffers[other].bytes && b < a + r->launch.buffers[one].bytes;
}

/* Whether each host buffer is aligned, and no written buffer shares memory with another. */
static int fits_in_place(const run *r) {
    for (uint32_t i = 0; i < r->kernel->buffer_count; i++) {
        const vy_memory *memory = memory_of(r->kernel, i);
        if (is_resident(&r->buffers[i]) || !r->launch.buffers[i].bytes)
            continue;
        if ((uintptr_t)r->buffers[i].data % vyre_type_size((vyre_type)memory->type))
            return 0;
        for (uint32_t k = 0; k < r->kernel->buffer_count; k++)
            if (k != i && vy_accesses[memory->access].is_output && !is_resident(&r->buffers[k]) &&
                r->launch.buffers[k].bytes && overlap(r, i, k))
                return 0;
    }
    return 1;
}

static vyre_status wrap(run *r, uint32_t index, vyre_error *error) {
    const vyre_foreign foreign = {.struct_size = sizeof foreign,
                                  .is_read_only = !vy_accesses[memory_of(r->kernel, index)->access].is_output,
                                  .location = {VYRE_LOCATION_HOST, 0, (uintptr_t)r->buffers[index].data},
                                  .size = r->launch.buffers[index].bytes};
    return vyre_resident_wrap(r->kernel->backend, &foreign, &r->bindings[index].resident, error);
}

/* A buffer that is written and not read starts as zero, unless the dispatch provably writes all of it. */
static void clear(const run *r, uint32_t index) {
    const vy_memory *memory = memory_of(r->kernel, index);
    uint64_t counts[VY_LIMIT_BUFFERS];
    if (vy_accesses[memory->access].is_input || !r->launch.buffers[index].bytes)
        return;
    for (uint32_t i = 0; i < r->kernel->buffer_count; i++)
        counts[i] = r->launch.buffers[i].count;
    if (!vy_full_write_holds(&r->kernel->covers[index], index, counts, r->arguments.params, r->launch.groups))
        memset(r->buffers[index].data, 0, r->launch.buffers[index].bytes);
}

static void bind_resident(run *r, uint32_t index) {
    r->bindings[index] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT,
                                         .resident = r->buffers[index].resident,
                                         .offset = r->buffers[index].offset,
                                         .size = r->launch.buffers[index].bytes};
}

/* *refused: the backend cannot access memory of the process, and nothing ran. */
static vyre_status run_in_place(run *r, int *refused, vyre_error *error) {
    vyre_kernel *kernel = r->kernel;
    vyre_outputs none = VYRE_OUTPUTS_INIT;
    vyre_status status = VYRE_OK;
    uint32_t bound = 0;
    *refused = 0;
    for (; bound < kernel->buffer_count && status == VYRE_OK; bound++) {
        bind_resident(r, bound);
        if (is_resident(&r->buffers[bound]))
            continue;
        r->bindings[bound].offset = 0;
        status = wrap(r, bound, error);
        if (status != VYRE_OK)
            break;
    }
    *refused = status == VYRE_UNSUPPORTED || status == VYRE_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < kernel->buffer_count && status == VYRE_OK; i++)
        if (!is_resident(&r->buffers[i]))
            clear(r, i);
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch_persistent(kernel->pipeline, r->bindings, kernel->buffer_count, &r->arguments,
                                                   r->config, &none, NULL, r->trap, error);
    vyre_outputs_free(&none);
    for (uint32_t i = 0; i < bound; i++)
        if (!is_resident(&r->buffers[i]))
            (void)vyre_resident_free(kernel->backend, r->bindings[i].resident, NULL);
    return status;
}

/* ---- by copy ---- */

static int has_residents(const run *r) {
    for (uint32_t i = 0; i < r->kernel->buffer_count; i++)
        if (is_resident(&r->buffers[i]))
            return 1;
    return 0;
}

static void deliver(const run *r, const vyre_outputs *outputs) {
    size_t output = 0;
    for (uint32_t i = 0; i < r->kernel->buffer_count; i++) {
        if (!vy_accesses[memory_of(r->kernel, i)->access].is_output)
            continue;
        const vyre_bytes *bytes = &outputs->items[output++];
        if (!is_resident(&r->buffers[i]) && bytes->size)
            memcpy(r->buffers[i].data, bytes->data, bytes->size);
    }
}

static vyre_status run_by_copy(run *r, vyre_error *error) {
    vyre_kernel *kernel = r->kernel;
    vyre_outputs *outputs = atomic_exchange(&kernel->outputs, NULL);
    if (!outputs)
        outputs = vy_allocate_zero(sizeof *outputs);
    if (!outputs)
        return vy_fail_memory(error, "the outputs of a kernel");
    vyre_status status;
    if (has_residents(r)) {
        for (uint32_t i = 0; i < kernel->buffer_count; i++) {
            bind_resident(r, i);
            if (!is_resident(&r->buffers[i]))
                r->bindings[i] = (vyre_resource){.kind = VYRE_RESOURCE_HOST,
                                                 .host = {r->buffers[i].data, r->launch.buffers[i].bytes}};
        }
        status = vyre_pipeline_dispatch_persistent(kernel->pipeline, r->bindings, kernel->buffer_count, &r->arguments,
                                                   r->config, outputs, NULL, r->trap, error);
    } else {
        status = vyre_pipeline_dispatch_into(kernel->pipeline, &r->arguments, r->config, outputs, r->trap, error);
    }
    if (status == VYRE_OK)
        deliver(r, outputs);
    free_outputs(atomic_exchange(&kernel->outputs, outputs));
    return status;
}

vyre_status vyre_kernel_run(vyre_kernel *kernel, const vyre_scalar *params, size_t param_count,
                            vyre_kernel_buffer *buffers, size_t buffer_count, const vyre_geometry *geometry,
                            const vyre_dispatch_config *config, vyre_trap *trap, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    int refused = 1;
    VY_REQUIRE(error, kernel);
    VY_REQUIRE_ARRAY(error, params, param_count);
    VY_REQUIRE_ARRAY(error, buffers, buffer_count);
    if (buffer_count != kernel->buffer_count)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("pass %" PRIu32 " buffers", kernel->buffer_count),
                       "program `%s` has %" PRIu32 " buffers, but %zu were passed", vyre_program_name(kernel->program),
                       kernel->buffer_count, buffer_count);
    run r; /* large: only the used members are set */
    r.kernel = kernel, r.buffers = buffers, r.config = config, r.trap = trap;
    vyre_status status = resolve(&r, params, param_count, geometry, error);
    if (status == VYRE_OK)
        status = check_room(&r, error);
    if (status != VYRE_OK)
        return status;
    if (!atomic_load_explicit(&kernel->cannot_wrap, memory_order_relaxed) && fits_in_place(&r)) {
        status = run_in_place(&r, &refused, error);
        if (refused)
            atomic_store_explicit(&kernel->cannot_wrap, 1, memory_order_relaxed);
    }
    if (refused)
        status = run_by_copy(&r, error);
    for (uint32_t i = 0; i < kernel->buffer_count && status == VYRE_OK; i++)
        buffers[i].count = r.launch.buffers[i].count;
    return status;
}
