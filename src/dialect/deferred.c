/* Deferred dialects: the first snapshot parses a dialect of the standard library when an op of it is looked up.
 *
 * A deferred snapshot contains no ops. It refers to a part for each dialect of the standard library, a snapshot of that
 * dialect alone, and to the whole, a snapshot of all of them. A lookup reads one part. Everything else, such as
 * iteration and a builder, reads the whole. All later snapshots are modified copies of the whole.
 *
 * Invariants:
 *  - A part or whole is complete before it is stored, and is kept until the deferred snapshot is freed. Readers
 *    therefore need no lock after the first lookup in a dialect.
 *  - The whole shares the ops of the parts: an op has one definition, whichever way it is found.
 *  - While a part is parsed, the parsing thread holds the mutex of the first snapshot, and does not look up ops:
 *    the bodies of the standard library declare the types of the ops that they call. */
#include "base/status.h"
#include "base/thread.h"
#include "dialect/load.h"
#include "dialect/registry.h"
#include "ir/model.h"
#include "vyre/dialect.h"

enum { GENERATION = 1 };

struct vy_deferred {
    _Atomic(vyre_snapshot *) whole;
    size_t part_count;
    _Atomic(vyre_snapshot *) parts[]; /* by file of the standard library; empty for other files than manifests */
};

static size_t size_of(size_t part_count) {
    return sizeof(struct vy_deferred) + part_count * sizeof(_Atomic(vyre_snapshot *));
}

vyre_status vy_deferred_snapshot_new(vyre_snapshot **out, vyre_error *error) {
    size_t count = 0;
    const char *name;
    vyre_span bytes;
    *out = NULL;
    while (vy_standard_library_file(count, &name, &bytes))
        count++;
    struct vy_deferred *deferred = vy_allocate_zero(size_of(count));
    if (!deferred)
        return vy_fail_memory(error, "the standard library");
    deferred->part_count = count;
    vyre_status status = vy_snapshot_build(NULL, 0, NULL, 0, GENERATION, 0, out, error);
    if (status == VYRE_OK)
        (*out)->deferred = deferred;
    else
        vy_release(deferred, size_of(count));
    return status;
}

void vy_deferred_free(struct vy_deferred *deferred) {
    if (!deferred)
        return;
    for (size_t i = 0; i < deferred->part_count; i++)
        vy_snapshot_free(atomic_load(&deferred->parts[i]));
    vy_snapshot_free(atomic_load(&deferred->whole));
    vy_release(deferred, size_of(deferred->part_count));
}

/* ---- loading, with the mutex of the first snapshot ---- */

/* Builds a snapshot of the objects of a builder without a base, and empties the builder. */
static vyre_status build(vyre_dialect_builder *builder, vyre_status status, _Atomic(vyre_snapshot *) *slot,
                         vyre_error *error) {
    vyre_snapshot *built = NULL;
    if (status == VYRE_OK)
        status = vy_snapshot_build(builder->ops.items, builder->ops.count, builder->dialects.items,
                                   builder->dialects.count, GENERATION, 0, &built, error);
    if (built)
        atomic_store_explicit(slot, built, memory_order_release);
    vyre_dialect_builder_clear(builder);
    VY_VECTOR_FREE(&builder->ops);
    VY_VECTOR_FREE(&builder->dialects);
    return status;
}

static vyre_status load_part(struct vy_deferred *deferred, size_t index, vyre_error *error) {
    vyre_dialect_builder builder = {0};
    if (atomic_load_explicit(&deferred->parts[index], memory_order_acquire))
        return VYRE_OK;
    return build(&builder, vy_standard_library_add(&builder, index, error), &deferred->parts[index], error);
}

static vyre_status copy_part(vyre_dialect_builder *builder, const vyre_snapshot *part, vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < part->op_count && status == VYRE_OK; i++)
        status = vy_builder_put_op(builder, vy_op_retain(part->ops[i]), error);
    for (uint32_t i = 0; i < part->dialect_count && status == VYRE_OK; i++)
        status = vy_builder_put_dialect(builder, vy_dialect_retain(part->dialects[i]), error);
    return status;
}

static vyre_status load_whole(struct vy_deferred *deferred, vyre_error *error) {
    vyre_dialect_builder builder = {0};
    vyre_status status = VYRE_OK;
    if (atomic_load_explicit(&deferred->whole, memory_order_acquire))
        return VYRE_OK;
    for (size_t i = 0; i < deferred->part_count && status == VYRE_OK; i++)
        status = load_part(deferred, i, error);
    for (size_t i = 0; i < deferred->part_count && status == VYRE_OK; i++)
        status = copy_part(&builder, atomic_load(&deferred->parts[i]), error);
    return build(&builder, status, &deferred->whole, error);
}

/* ---- reading ---- */

vyre_status vy_snapshot_complete(const vyre_snapshot *snapshot, const vyre_snapshot **out, vyre_error *error) {
    struct vy_deferred *deferred = snapshot->deferred;
    *out = deferred ? atomic_load_explicit(&deferred->whole, memory_order_acquire) : snapshot;
    if (*out)
        return VYRE_OK;
    VY_SCOPED_CANCELLATION_DISABLE();
    vy_dialects_first_lock();
    vyre_status status = load_whole(deferred, error);
    vy_dialects_first_unlock();
    *out = atomic_load_explicit(&deferred->whole, memory_order_acquire);
    return status;
}

const vyre_snapshot *vy_snapshot_loaded(const vyre_snapshot *snapshot) {
    return snapshot->deferred ? atomic_load_explicit(&snapshot->deferred->whole, memory_order_acquire) : snapshot;
}

vyre_status vy_snapshot_find(const vyre_snapshot *snapshot, const char *text, size_t length,
                             const vyre_op_definition **out, vyre_error *error) {
    struct vy_deferred *deferred = snapshot->deferred;
    vyre_status status = VYRE_OK;
    *out = NULL;
    if (!deferred) {
        *out = vy_snapshot_lookup(snapshot, vyre_op_find_id(text, length));
        return VYRE_OK;
    }
    size_t index = text && length <= VY_LIMIT_NAME ? vy_standard_library_find(text, length) : deferred->part_count;
    if (index == deferred->part_count)
        return VYRE_OK;
    if (!atomic_load_explicit(&deferred->parts[index], memory_order_acquire)) {
        VY_SCOPED_CANCELLATION_DISABLE();
        vy_dialects_first_lock();
        status = load_part(deferred, index, error);
        vy_dialects_first_unlock();
    }
    const vyre_snapshot *part = atomic_load_explicit(&deferred->parts[index], memory_order_acquire);
    *out = part ? vy_snapshot_lookup(part, vyre_op_find_id(text, length)) : NULL;
    return status;
}
