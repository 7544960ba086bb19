/* Many dispatches side by side (bound_many.h). */
#include "driver/bound_many.h"

#include "base/status.h"

static void *piece(vy_many *many, size_t count, size_t size) {
    void *at = many->block ? (char *)many->block + many->size : NULL;
    size_t bytes = vy_array_size(count, size);
    if (bytes > SIZE_MAX / 16) /* the sum of all pieces does not overflow either */
        bytes = SIZE_MAX / 16;
    many->size += (bytes + 15) / 16 * 16;
    return at;
}

static void lay_out(vy_many *many, size_t count, size_t params, size_t buffers) {
    many->size = 0;
    many->launches = piece(many, count, sizeof *many->launches);
    many->traps = piece(many, count, sizeof *many->traps);
    many->bindings = piece(many, count, sizeof *many->bindings);
    many->invocations = piece(many, count, sizeof *many->invocations);
    many->resources = piece(many, buffers, sizeof *many->resources);
    many->uses = piece(many, buffers, sizeof *many->uses);
    many->params = piece(many, params, sizeof *many->params);
    many->elements = piece(many, buffers, sizeof *many->elements);
}

vyre_status vy_many_start(vy_many *many, vyre_backend *backend, size_t count, size_t params, size_t buffers,
                          vyre_error *error) {
    *many = (vy_many){.backend = backend};
    lay_out(many, count, params, buffers);
    many->block = vy_allocate(many->size);
    if (!many->block)
        return vy_fail_memory(error, "running several dispatches at once");
    lay_out(many, count, params, buffers);
    return VYRE_OK;
}

void vy_many_add(vy_many *many, vy_bound *b) {
    size_t at = many->count++, buffers = b->program->buffer_count;
    many->traps[at] = (vyre_trap){UINT64_MAX, 0};
    vy_boundary_describe(b->program, b->arguments, &b->launch, b->config, many->params + many->param_count,
                         many->elements + many->resource_count, &many->traps[at], &many->launches[at]);
    many->launches[at].deadline_ns = b->deadline_ns;
    many->invocations[at] = b->launch.invocations;
    many->bindings[at] = many->resources + many->resource_count;
    if (buffers)
        memcpy(many->resources + many->resource_count, b->native, buffers * sizeof *b->native);
    if (b->use_count)
        memcpy(many->uses + many->use_count, b->uses, b->use_count * sizeof *b->uses);
    many->resource_count += buffers;
    many->param_count += b->program->param_count;
    many->use_count += b->use_count;
    b->use_count = 0;
}

void vy_many_end(vy_many *many) {
    vy_resident_unpin(many->backend, many->uses, many->use_count);
    vy_release(many->block, many->size);
    *many = (vy_many){.backend = many->backend};
}

/* The trapped item, if the backend did not name it, is the one whose trap was filled. */
static size_t trapped(const vy_many *many) {
    size_t at = 0;
    while (at < many->count && many->traps[at].invocation == UINT64_MAX)
        at++;
    return at;
}

vyre_status vy_many_finish(vy_many *many, vyre_status status, size_t failed_by_backend, size_t *failed, vyre_trap *trap,
                           vyre_error *error) {
    vyre_trap nowhere = {UINT64_MAX, 0};
    vy_launch size; /* only the number of invocations is looked at */
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
    status = vy_boundary_finish(many->backend, status, &size, where, error);
    if (status == VYRE_TRAPPED && trap)
        *trap = *where;
    return status;
}

vyre_status vy_many_check(const vy_many *many, size_t index, const vyre_outputs *view, const vyre_bytes *items,
                          vyre_error *error) {
    const vyre_launch *launch = &many->launches[index];
    vy_launch sizes; /* as far as outputs are concerned */
    vyre_buffer_info buffer;
    uint32_t output = 0;
    for (uint32_t i = 0; vyre_program_buffer(launch->program, i, &buffer); i++) {
        int is_output = buffer.access == VYRE_ACCESS_WRITE || buffer.access == VYRE_ACCESS_READ_WRITE;
        sizes.buffers[i].bytes = launch->elements[i] * vyre_type_size(buffer.type);
        sizes.buffers[i].output = is_output ? output++ : VY_NONE;
    }
    return vy_outputs_check_bound(many->backend, view, items, output, launch->program, &sizes, many->bindings[index],
                                  error);
}
