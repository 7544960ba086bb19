/* Dispatch on resident buffers (boundary.h). Ranges take the place of host bytes: they give the element counts, and the launch is resolved as
 * for any other dispatch. */
#include "driver/boundary.h"

#include "base/status.h"

#include <inttypes.h>

typedef struct resident_dispatch {
    vyre_backend *backend;
    vyre_program *program;
    const vyre_arguments *arguments;
    const vyre_dispatch_config *config;
    vyre_timing *timing;
    vyre_trap *trap;
    vy_resident_use uses[VY_LIMIT_BUFFERS]; /* pinned; one per buffer */
    vyre_resource native[VY_LIMIT_BUFFERS];
    vy_launch launch;
} resident_dispatch;

static int is_written(vyre_access access) {
    return access == VYRE_ACCESS_WRITE || access == VYRE_ACCESS_READ_WRITE;
}

static vyre_status pin_one(resident_dispatch *d, size_t index, const vyre_resource *binding, vyre_error *error) {
    vyre_buffer_info buffer;
    vyre_program_buffer(d->program, index, &buffer);
    uint64_t element = vyre_type_size(buffer.type);
    if (binding->kind != VYRE_RESOURCE_RESIDENT)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       "bind a resident buffer, or use vyre_backend_dispatch for host bytes",
                       "buffer `%s` is bound to host bytes in a resident dispatch", buffer.name);
    if (binding->offset % element)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("use a multiple of %" PRIu64 " for `%s`", element, buffer.name),
                       "the offset of buffer `%s` (%" PRIu64 ") is not a multiple of its element size (%" PRIu64 ")",
                       buffer.name, binding->offset, element);
    vyre_status status = vy_resident_pin(d->backend, binding->resident, binding->offset, binding->size, 1,
                                         is_written(buffer.access), &d->uses[index], error);
    if (status == VYRE_OK)
        d->native[index] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT,
                                           .resident = {d->backend->owner, d->uses[index].native},
                                           .offset = d->uses[index].offset,
                                           .size = d->uses[index].size};
    else if (error && !error->where[0])
        vy_fail_where(error, "buffer `%s`", buffer.name);
    return status;
}

static vyre_status pin_all(resident_dispatch *d, const vyre_resource *bindings, size_t count, vyre_error *error) {
    if (count != d->program->buffer_count || (count && !bindings))
        return vy_fail(
            error, VYRE_INVALID_ARGUMENT,
            VY_FIX("pass one resource per buffer of `%s`, in declaration order", vyre_program_name(d->program)),
            "the dispatch gives %zu resources, the program has %" PRIu32 " buffers", count, d->program->buffer_count);
    for (size_t i = 0; i < count; i++) {
        vyre_status status = pin_one(d, i, &bindings[i], error);
        if (status != VYRE_OK) {
            vy_resident_unpin(d->backend, d->uses, i);
            return status;
        }
    }
    return VYRE_OK;
}

static int overlap(const vy_resident_use *a, const vy_resident_use *b) {
    return a->place == b->place && a->size && b->size && a->offset < b->offset + b->size &&
           b->offset < a->offset + a->size;
}

static vyre_status check_overlaps(const resident_dispatch *d, vyre_error *error) {
    vyre_buffer_info a, b;
    for (size_t i = 0; vyre_program_buffer(d->program, i, &a); i++)
        for (size_t j = 0; j < i && vyre_program_buffer(d->program, j, &b); j++)
            if ((is_written(a.access) || is_written(b.access)) && overlap(&d->uses[i], &d->uses[j]))
                return vy_fail(
                    error, VYRE_CONFLICT, "bind ranges that do not overlap, or buffers the program only reads",
                    "buffers `%s` and `%s` overlap in memory, and the program writes at least one", b.name, a.name);
    return VYRE_OK;
}

/* An indirect grid is the one thing the host must know of the contents: three elements are fetched, into the place the resolver looks
 * at, which is why the image may be longer than them. */
static vyre_status fetch_grid(resident_dispatch *d, vyre_span *input, uint32_t index, vyre_bytes *image,
                              vyre_error *error) {
    uint64_t end = ((uint64_t)d->program->grid.offset + 3) * 4;
    vy_resident_use *use = &d->uses[index];
    if (use->size < end)
        return VYRE_OK; /* too short: the resolver says so */
    if (!d->backend->calls.resident_download)
        return vy_backend_unsupported(d->backend, "resident buffer download", error);
    vyre_status status = vyre_bytes_resize(image, (size_t)end, error);
    if (status != VYRE_OK)
        return status;
    vy_error_clear(error);
    status = d->backend->calls.resident_download(d->backend->self, use->native, use->offset + end - 12,
                                                 (unsigned char *)image->data + end - 12, 12, error);
    input->data = image->data;
    return vy_backend_judge(d->backend, status, error);
}

/* Ranges as the resolver wants them: spans that have a size but no contents, and counts of `write` buffers the program leaves open. */
static vyre_status resolve(resident_dispatch *d, vyre_bytes *image, vyre_error *error) {
    static const unsigned char somewhere;
    vyre_arguments arguments = *d->arguments;
    vyre_span inputs[VY_LIMIT_BUFFERS];
    uint64_t counts[VY_LIMIT_BUFFERS];
    vyre_buffer_info buffer;
    vyre_status status = VYRE_OK;
    int is_indirect = arguments.geometry.kind == VYRE_GEOMETRY_PROGRAM && d->program->grid.kind == VYRE_GRID_INDIRECT;
    uint32_t grid = is_indirect ? d->program->grid.memory - vy_program_entry(d->program)->first_memory : VY_NONE;
    arguments.inputs = inputs, arguments.input_count = 0;
    arguments.counts = counts, arguments.count_count = 0;
    for (uint32_t i = 0; status == VYRE_OK && vyre_program_buffer(d->program, i, &buffer); i++) {
        uint64_t element = vyre_type_size(buffer.type), size = d->uses[i].size;
        if (buffer.access != VYRE_ACCESS_WRITE) {
            vyre_span *input = &inputs[arguments.input_count++];
            *input = (vyre_span){&somewhere, (size_t)size};
            if (i == grid)
                status = fetch_grid(d, input, i, image, error);
        } else if (size % element) {
            status = vy_fail(error, VYRE_INVALID_ARGUMENT,
                             VY_FIX("bind a multiple of %" PRIu64 " bytes to `%s`", element, buffer.name),
                             "the range bound to `%s` has %" PRIu64 " bytes, not a whole number of elements",
                             buffer.name, size);
        } else if (!buffer.has_count) {
            counts[arguments.count_count++] = size / element;
        }
    }
    return status == VYRE_OK ? vy_launch_resolve(d->program, &arguments, &d->launch, error) : status;
}

/* The resolver computes the counts of `write` buffers from the program: the ranges must agree. */
static vyre_status check_counts(const resident_dispatch *d, vyre_error *error) {
    vyre_buffer_info buffer;
    for (uint32_t i = 0; vyre_program_buffer(d->program, i, &buffer); i++)
        if (d->launch.buffers[i].bytes != d->uses[i].size)
            return vy_fail(error, VYRE_INVALID_ARGUMENT,
                           VY_FIX("bind exactly %" PRIu64 " bytes to `%s`", d->launch.buffers[i].bytes, buffer.name),
                           "the range bound to `%s` has %" PRIu64 " bytes, the program states %" PRIu64, buffer.name,
                           d->uses[i].size, d->launch.buffers[i].bytes);
    return VYRE_OK;
}

/* Runs; unpins in any case. */
static vyre_status run(resident_dispatch *d, vyre_error *error) {
    vyre_scalar params[VY_LIMIT_PARAMS];
    uint64_t elements[VY_LIMIT_BUFFERS];
    vyre_trap trap = {0, 0};
    size_t count = d->program->buffer_count;
    vy_call call = {.backend = d->backend,
                    .target = &d->backend->target,
                    .form = VY_FORM_RESIDENT,
                    .bindings = d->native,
                    .binding_count = count,
                    .timing = d->timing};
    vyre_status status = vy_call_stage(&call, d->program, &d->launch, NULL, error);
    if (status != VYRE_OK) {
        vy_resident_unpin(d->backend, d->uses, count);
        return status;
    }
    vy_boundary_describe(d->program, d->arguments, &d->launch, d->config, params, elements, &trap, &call.launch);
    if (vy_boundary_guards(d->backend, &call.launch)) {
        status = vy_call_run_guarded(&call, &d->launch, d->uses, count, error);
    } else {
        status = vy_call_run(&call, error);
        vy_resident_unpin(d->backend, d->uses, count);
    }
    vy_call_unstage(&call);
    status = vy_boundary_finish(d->backend, status, &d->launch, &trap, error);
    if (status == VYRE_TRAPPED && d->trap)
        *d->trap = trap;
    return status;
}

static vyre_status dispatch(resident_dispatch *d, const vyre_resource *bindings, size_t count, vyre_error *error) {
    vyre_bytes image = VYRE_BYTES_INIT;
    vyre_status status = pin_all(d, bindings, count, error);
    if (status != VYRE_OK)
        return status;
    status = check_overlaps(d, error);
    if (status == VYRE_OK)
        status = resolve(d, &image, error);
    vyre_bytes_free(&image);
    if (status == VYRE_OK)
        status = check_counts(d, error);
    if (status == VYRE_OK)
        status = vy_boundary_check(d->backend, d->program, &d->launch, d->config, error);
    if (status == VYRE_OK && d->launch.group_count)
        return run(d, error);
    vy_resident_unpin(d->backend, d->uses, count);
    if (status == VYRE_OK && d->timing)
        memset(d->timing, 0, sizeof *d->timing);
    return status;
}

vyre_status vyre_backend_dispatch_resident(vyre_backend *backend, vyre_program *program, const vyre_resource *bindings,
                                           size_t binding_count, const vyre_arguments *arguments,
                                           const vyre_dispatch_config *config, vyre_timing *timing, vyre_trap *trap,
                                           vyre_error *error) {
    static const vyre_dispatch_config defaults;
    static const vyre_arguments nothing;
    vyre_error own;
    vyre_error *e = error ? error : &own;
    vyre_timing measured;
    resident_dispatch d;
    d.backend = backend, d.program = program, d.arguments = arguments ? arguments : &nothing;
    d.config = config ? config : &defaults, d.timing = timing ? &measured : NULL, d.trap = trap;
    if (!backend->calls.dispatch_resident)
        return vy_backend_unsupported(backend, "resident timed dispatch", error);
    vyre_status status = vy_backend_enter(backend, error);
    if (status != VYRE_OK)
        return status;
    vy_error_clear(e);
    status = dispatch(&d, bindings, binding_count, e);
    vy_backend_leave(backend);
    if (status == VYRE_OK && timing)
        *timing = measured;
    return status;
}
