/* Many dispatches side by side (dispatch_batch.h). */
#include "driver/dispatch_batch.h"

#include "base/status.h"
#include "driver/packed_copy.h"
#include "driver/trace.h"
#include "ir/eval.h"

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
        return vy_fail_memory(error, "running several dispatches at once");
    vy_bump bump = {many->block, 0};
    assign_arrays(many, &bump, count, params, buffers);
    return VYRE_OK;
}

/* The item's launch; what is bound to it follows. */
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

/* ---- rows like the one before ---- */

int vy_dispatch_batch_can_repeat(const vy_resource_dispatch *b) {
    return !b->known && !vy_resource_dispatch_is_indirect(b->program, b->arguments) &&
           atomic_load_explicit(&vy_trace_state, memory_order_relaxed) == VY_TRACE_OFF;
}

static uint64_t element_size(const vyre_program *program, size_t buffer) {
    return vy_type_layouts[program->memories.items[vy_program_entry(program)->first_memory + buffer].type].size;
}

/* Whether they are the ranges before, perhaps elsewhere in the same buffers. uses: those of one such. */
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

/* Whether no two have bytes in common: those that do may still be good. */
static int are_disjoint(const vyre_resource *ranges, const vy_resident_use *uses, size_t count) {
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (uses[i].slot == uses[j].slot && ranges[i].offset < ranges[j].offset + uses[j].size &&
                ranges[j].offset < ranges[i].offset + uses[i].size)
                return 0;
    return 1;
}

/* Where the ranges of the next item are; NULL: they cannot be told from those before. */
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

void vy_dispatch_batch_add_host(vy_dispatch_batch *many, const vy_dispatch *d) {
    add(many, d->program, d->arguments, &d->launch, d->config, d->deadline_ns);
    many->resource_count += d->program->buffer_count;
}

void vy_dispatch_batch_end(vy_dispatch_batch *many) {
    if (many->use_count)
        vy_resident_unpin(many->backend, many->uses, many->use_count);
    vy_release(many->block, many->size);
    *many = (vy_dispatch_batch){.backend = many->backend};
}

/* The trapped item, if the backend did not name it, is the one whose trap was filled. */
static size_t trapped(const vy_dispatch_batch *many) {
    size_t at = 0;
    while (at < many->count && many->traps[at].invocation == UINT64_MAX)
        at++;
    return at;
}

vyre_status vy_dispatch_batch_finish(vy_dispatch_batch *many, vyre_status status, size_t failed_by_backend,
                                     size_t *failed, vyre_trap *trap, vyre_error *error) {
    vyre_trap nowhere = {UINT64_MAX, 0};
    vy_resolved_dispatch size; /* only the number of invocations is looked at */
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

vyre_status vy_dispatch_batch_check(const vy_dispatch_batch *many, size_t index, const vyre_outputs *view,
                                    const vyre_bytes *items, vyre_error *error) {
    const vyre_launch *launch = &many->launches[index];
    vy_resolved_dispatch sizes; /* as far as outputs are concerned */
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
