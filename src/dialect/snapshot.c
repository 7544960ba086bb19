/* Snapshots: immutable op tables of the registry, and the builders that make the next one. */

#include "dialect/snapshot.h"

#include "base/status.h"
#include "dialect/registry.h"

#include <stdlib.h>

#define FIRST_BITS 4u

/* ---- the hash table ---- */

vyre_status vy_fail_duplicate(const char *id, const char *first, const char *second, vyre_error *error) {
    (void)vy_fail(error, VYRE_DUPLICATE, VY_FIX("keep one owner of the id; rename or remove the other op"),
                  "the op id `%.128s` is registered twice (by `%.128s` and by `%.128s`)", id, first, second);
    (void)vy_fail_parts(error, id, first, second);
    return VYRE_DUPLICATE;
}

/* A table under construction: 2^bits slots. */
typedef struct table {
    vy_snapshot_slot *slots;
    uint32_t bits, multiplier, max_probe;
} table;

static uint32_t bits_for(uint32_t ops) {
    uint32_t bits = FIRST_BITS;
    while (1u << bits < 2 * ops)
        bits++;
    return bits;
}

static vyre_status fill_slots(table *table, vy_op *const *ops, uint32_t count, vyre_error *error) {
    const uint32_t mask = (1u << table->bits) - 1;
    table->max_probe = 0;
    for (uint32_t i = 0; i < count; i++) {
        const vyre_op_definition *op = &ops[i]->definition;
        uint32_t slot = (op->number * table->multiplier) >> (32 - table->bits), far = 0;
        for (; table->slots[(slot + far) & mask].definition; far++)
            if (table->slots[(slot + far) & mask].number == op->number)
                return vy_fail_duplicate(op->id, table->slots[(slot + far) & mask].definition->owner, op->owner, error);
        table->slots[(slot + far) & mask] = (vy_snapshot_slot){op, op->number};
        table->max_probe = far > table->max_probe ? far : table->max_probe;
    }
    return VYRE_OK;
}

/* Chooses the multiplier with the smallest max_probe. The first candidate selects the low bits of the number. */
static vyre_status choose_multiplier(table *table, vy_op *const *ops, uint32_t count, vyre_error *error) {
    const uint32_t candidates[] = {
        1u << (32 - table->bits), 0x9e3779b1u, 0x85ebca6bu, 0xc2b2ae35u, 0x27d4eb2fu, 0x165667b1u};
    enum { COUNT = sizeof candidates / sizeof *candidates };
    uint32_t best = 0, best_max_probe = UINT32_MAX;
    for (int i = 0; i <= COUNT; i++) {
        table->multiplier = candidates[i < COUNT ? (uint32_t)i : best];
        memset(table->slots, 0, sizeof *table->slots << table->bits);
        vyre_status status = fill_slots(table, ops, count, error);
        if (status != VYRE_OK || table->max_probe == 0 || i == COUNT)
            return status;
        if (table->max_probe < best_max_probe) {
            best = (uint32_t)i;
            best_max_probe = table->max_probe;
        }
    }
    return VYRE_OK;
}

static vyre_status check_count(uint32_t ops, vyre_error *error) {
    if (ops <= VY_DIALECT_LIMIT_OPS)
        return VYRE_OK;
    return vy_fail(error, VYRE_LIMIT, NULL, "there are too many ops (%u of at most %d)", ops, VY_DIALECT_LIMIT_OPS);
}

static vyre_status check_ops_unique(vy_op *const *ops, uint32_t count, vyre_error *error) {
    vyre_status status = check_count(count, error);
    if (status != VYRE_OK)
        return status;
    table table = {.bits = bits_for(count), .multiplier = 0x9e3779b1u};
    table.slots = vy_allocate_zero(sizeof *table.slots << table.bits);
    if (!table.slots)
        return vy_fail_memory(error, "the index of ops");
    status = fill_slots(&table, ops, count, error);
    vy_release(table.slots, sizeof *table.slots << table.bits);
    return status;
}

/* ---- building ---- */

static int compare_ops(const void *left, const void *right) {
    const vy_op *a = *(vy_op *const *)left, *b = *(vy_op *const *)right;
    return strcmp(a->definition.id, b->definition.id);
}

static int compare_dialects(const void *left, const void *right) {
    const vy_dialect *a = *(vy_dialect *const *)left, *b = *(vy_dialect *const *)right;
    return strcmp(a->dialect.name, b->dialect.name);
}

/* One block; slots come first, because they have the largest alignment. */
static vyre_snapshot *allocate(uint32_t ops, uint32_t dialects, table *table) {
    table->bits = bits_for(ops);
    size_t slots_at = sizeof(vyre_snapshot), ops_at = slots_at + (sizeof(vy_snapshot_slot) << table->bits);
    size_t dialects_at = ops_at + ops * sizeof(vy_op *), size = dialects_at + dialects * sizeof(vy_dialect *);
    char *block = vy_allocate_zero(size);
    if (!block)
        return NULL;
    vyre_snapshot *snapshot = (vyre_snapshot *)block;
    snapshot->slots = table->slots = (vy_snapshot_slot *)(block + slots_at);
    snapshot->slot_mask = (1u << table->bits) - 1;
    snapshot->shift = 32 - table->bits;
    snapshot->ops = (vy_op **)(block + ops_at);
    snapshot->dialects = (vy_dialect **)(block + dialects_at);
    snapshot->size = size;
    return snapshot;
}

static vyre_status check_dialects(const vyre_snapshot *snapshot, vyre_error *error) {
    for (uint32_t i = 1; i < snapshot->dialect_count; i++) {
        const vyre_dialect *a = &snapshot->dialects[i - 1]->dialect, *b = &snapshot->dialects[i]->dialect;
        if (strcmp(a->name, b->name) == 0)
            return vy_fail(error, VYRE_CONFLICT, VY_FIX("remove one of the two, or rename one"),
                           "the dialect `%s` has two providers (`%.128s` and `%.128s`)", a->name, a->owner, b->owner);
    }
    for (uint32_t i = 0; i < snapshot->op_count; i++) {
        const vyre_op_definition *op = &snapshot->ops[i]->definition;
        if (!vy_snapshot_dialect(snapshot, op->dialect, strlen(op->dialect)))
            return vy_fail(error, VYRE_NOT_FOUND, VY_FIX("register the dialect `%.128s` before its ops", op->dialect),
                           "op `%.128s` of `%.128s` is in a dialect that is not registered (`%.128s`)", op->id,
                           op->owner, op->dialect);
    }
    return VYRE_OK;
}

static void retain_contents(vyre_snapshot *snapshot, vy_op *const *ops, uint32_t op_count, vy_dialect *const *dialects,
                            uint32_t dialect_count) {
    for (; snapshot->op_count < op_count; snapshot->op_count++)
        snapshot->ops[snapshot->op_count] = vy_op_retain(ops[snapshot->op_count]);
    for (; snapshot->dialect_count < dialect_count; snapshot->dialect_count++)
        snapshot->dialects[snapshot->dialect_count] = vy_dialect_retain(dialects[snapshot->dialect_count]);
    if (op_count)
        qsort(snapshot->ops, op_count, sizeof *snapshot->ops, compare_ops);
    if (dialect_count)
        qsort(snapshot->dialects, dialect_count, sizeof *snapshot->dialects, compare_dialects);
}

vyre_status vy_snapshot_build(vy_op *const *ops, uint32_t op_count, vy_dialect *const *dialects, uint32_t dialect_count,
                              uint64_t generation, size_t holds, vyre_snapshot **out, vyre_error *error) {
    *out = NULL;
    vyre_status status = check_count(op_count > dialect_count ? op_count : dialect_count, error);
    if (status != VYRE_OK)
        return status;
    table table;
    vyre_snapshot *snapshot = allocate(op_count, dialect_count, &table);
    if (!snapshot)
        return vy_fail_memory(error, "a snapshot of the dialects");
    atomic_init(&snapshot->pinned.holds, holds);
    snapshot->generation = generation;
    status = choose_multiplier(&table, ops, op_count, error);
    snapshot->multiplier = table.multiplier;
    snapshot->max_probe = table.max_probe;
    retain_contents(snapshot, ops, op_count, dialects, dialect_count);
    if (status == VYRE_OK)
        status = check_dialects(snapshot, error);
    if (status != VYRE_OK) {
        vy_snapshot_free(snapshot);
        return status;
    }
    snapshot->checksum = vy_snapshot_checksum(snapshot);
    *out = snapshot;
    return VYRE_OK;
}

void vy_snapshot_free(vyre_snapshot *snapshot) {
    if (!snapshot)
        return;
    vy_deferred_free(snapshot->deferred);
    for (uint32_t i = 0; i < snapshot->op_count; i++)
        vy_op_release(snapshot->ops[i]);
    for (uint32_t i = 0; i < snapshot->dialect_count; i++)
        vy_dialect_release(snapshot->dialects[i]);
    vy_release(snapshot, snapshot->size);
}

/* ---- queries ---- */

const vy_dialect *vy_snapshot_dialect(const vyre_snapshot *snapshot, const char *name, size_t length) {
    uint32_t low = 0, high = snapshot->dialect_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const char *at = snapshot->dialects[middle]->dialect.name;
        int order = strncmp(at, name, length);
        if (order == 0 && strlen(at) == length)
            return snapshot->dialects[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

uint64_t vy_snapshot_checksum(const vyre_snapshot *snapshot) {
    uint64_t sum = vy_checksum_mix(snapshot->generation, snapshot->slots,
                                   ((size_t)snapshot->slot_mask + 1) * sizeof *snapshot->slots);
    for (uint32_t i = 0; i < snapshot->op_count; i++) {
        uint64_t op = vy_op_checksum(snapshot->ops[i]);
        sum = vy_checksum_mix(sum, &op, sizeof op);
    }
    for (uint32_t i = 0; i < snapshot->dialect_count; i++) {
        uint64_t dialect = vy_dialect_checksum(snapshot->dialects[i]);
        sum = vy_checksum_mix(sum, &dialect, sizeof dialect);
    }
    return sum;
}

/* Builders: the ops and dialects of the next snapshot, as lists of references. A change is prepared separately and
 * applied when it cannot fail any more. */

/* ---- creating and freeing ---- */

static vyre_status copy_base(vyre_dialect_builder *builder, vyre_error *error) {
    const vyre_snapshot *base;
    vyre_status status = vy_snapshot_complete(builder->base.snapshot, &base, error);
    if (status != VYRE_OK)
        return status;
    if (!VY_RESERVE(&builder->ops, base->op_count) || !VY_RESERVE(&builder->dialects, base->dialect_count))
        return vy_fail_memory(error, "a builder of dialects");
    for (uint32_t i = 0; i < base->op_count; i++)
        builder->ops.items[builder->ops.count++] = vy_op_retain(base->ops[i]);
    for (uint32_t i = 0; i < base->dialect_count; i++)
        builder->dialects.items[builder->dialects.count++] = vy_dialect_retain(base->dialects[i]);
    return VYRE_OK;
}

vyre_status vyre_dialect_builder_new(vyre_dialect_builder **out, vyre_error *error) {
    VY_REQUIRE(error, out);
    *out = NULL;
    vyre_dialects_guard guard;
    vyre_status status = vyre_dialects_global(&guard, error);
    if (status != VYRE_OK)
        return status;
    vyre_dialect_builder *builder = vy_allocate_zero(sizeof *builder);
    if (builder) {
        builder->base = vyre_dialects_retain(guard);
        status = copy_base(builder, error);
    } else {
        status = vy_fail_memory(error, "a builder of dialects");
    }
    vyre_dialects_release(&guard);
    if (status != VYRE_OK) {
        vyre_dialect_builder_free(builder);
        builder = NULL;
    }
    *out = builder;
    return status;
}

void vyre_dialect_builder_clear(vyre_dialect_builder *builder) {
    while (builder && builder->ops.count)
        vy_op_release(builder->ops.items[--builder->ops.count]);
    while (builder && builder->dialects.count)
        vy_dialect_release(builder->dialects.items[--builder->dialects.count]);
}

void vyre_dialect_builder_free(vyre_dialect_builder *builder) {
    if (!builder)
        return;
    vyre_dialect_builder_clear(builder);
    VY_VECTOR_FREE(&builder->ops);
    VY_VECTOR_FREE(&builder->dialects);
    vyre_dialects_release(&builder->base);
    vy_release(builder, sizeof *builder);
}

/* ---- single objects ---- */

static uint32_t find_dialect(const vyre_dialect_builder *builder, const char *name) {
    uint32_t i = 0;
    while (i < builder->dialects.count && strcmp(builder->dialects.items[i]->dialect.name, name) != 0)
        i++;
    return i;
}

const vy_dialect *vy_builder_dialect(const vyre_dialect_builder *builder, const char *name) {
    uint32_t found = find_dialect(builder, name);
    return found < builder->dialects.count ? builder->dialects.items[found] : NULL;
}

vyre_status vy_builder_put_dialect(vyre_dialect_builder *builder, vy_dialect *dialect, vyre_error *error) {
    vy_dialect **place = VY_PUSH(&builder->dialects);
    if (place) {
        *place = dialect;
        return VYRE_OK;
    }
    vy_dialect_release(dialect);
    return vy_fail_memory(error, "a builder of dialects");
}

vyre_status vy_builder_put_op(vyre_dialect_builder *builder, vy_op *op, vyre_error *error) {
    vy_op **place = VY_PUSH(&builder->ops);
    if (place) {
        *place = op;
        return VYRE_OK;
    }
    vy_op_release(op);
    return vy_fail_memory(error, "a builder of dialects");
}

vyre_status vy_fail_provider(const char *name, const char *first, const char *second, vyre_error *error) {
    (void)vy_fail(error, VYRE_CONFLICT, VY_FIX("remove one of the two, or rename one of the dialects"),
                  "the dialect `%.128s` is provided by `%.128s`, so `%.128s` cannot provide it, too", name, first,
                  second);
    (void)vy_fail_parts(error, name, first, second);
    return VYRE_CONFLICT;
}

/* ---- a dialect with its ops ---- */

/* A change of a builder: the ops that stay, then the new ones; one reference each. */
typedef struct change {
    vy_dialect *dialect;
    VY_VECTOR(vy_op *) ops;
} change;

static void drop(change *change) {
    while (change->ops.count)
        vy_op_release(change->ops.items[--change->ops.count]);
    VY_VECTOR_FREE(&change->ops);
    vy_dialect_release(change->dialect);
}

static int is_of(const vyre_op_definition *op, const vyre_dialect *dialect) {
    return strcmp(op->dialect, dialect->name) == 0 && strcmp(op->owner, dialect->owner) == 0;
}

static vyre_status make_ops(const vyre_dialect_builder *builder, change *change, const vyre_op_definition *const *ops,
                            size_t op_count, int replace, vyre_error *error) {
    const vyre_dialect *dialect = &change->dialect->dialect;
    if (op_count > VY_DIALECT_LIMIT_OPS)
        return vy_fail(error, VYRE_LIMIT, NULL, "the dialect `%s` has too many ops (%zu of at most %d)", dialect->name,
                       op_count, VY_DIALECT_LIMIT_OPS);
    if (!VY_RESERVE(&change->ops, builder->ops.count + op_count))
        return vy_fail_memory(error, "a builder of dialects");
    for (uint32_t i = 0; i < builder->ops.count; i++)
        if (!replace || !is_of(&builder->ops.items[i]->definition, dialect))
            change->ops.items[change->ops.count++] = vy_op_retain(builder->ops.items[i]);
    for (size_t i = 0; i < op_count; i++) {
        vy_op *op;
        if (!ops[i])
            return vy_fail(error, VYRE_INVALID_ARGUMENT, NULL, "an op of the dialect `%s` is NULL", dialect->name);
        vyre_status status = vy_op_make(ops[i], dialect, dialect->owner, &op, error);
        if (status != VYRE_OK)
            return status;
        change->ops.items[change->ops.count++] = op;
        if (strcmp(op->definition.dialect, dialect->name) != 0)
            return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("register the op with its own dialect"),
                           "op `%s` belongs to dialect `%s`, but is registered with `%s`", op->definition.id,
                           op->definition.dialect, dialect->name);
    }
    return check_ops_unique(change->ops.items, change->ops.count, error);
}

static vyre_status check_provider(const vyre_dialect_builder *builder, const vyre_dialect *dialect, int replace,
                                  vyre_error *error) {
    const vy_dialect *there = vy_builder_dialect(builder, dialect->name);
    if (!there)
        return VYRE_OK;
    if (strcmp(there->dialect.owner, dialect->owner) != 0)
        return vy_fail_provider(dialect->name, there->dialect.owner, dialect->owner, error);
    if (replace)
        return VYRE_OK;
    (void)vy_fail(error, VYRE_DUPLICATE, VY_FIX("replace the dialect, or add the new ops to the first registration"),
                  "the dialect `%.128s` is already registered (by `%.128s`, and again by `%.128s`)", dialect->name,
                  there->dialect.owner, dialect->owner);
    (void)vy_fail_parts(error, dialect->name, there->dialect.owner, dialect->owner);
    return VYRE_DUPLICATE;
}

/* Cannot fail, since the memory was reserved. */
static void apply(vyre_dialect_builder *builder, change *change) {
    uint32_t place = find_dialect(builder, change->dialect->dialect.name);
    if (place < builder->dialects.count)
        vy_dialect_release(builder->dialects.items[place]);
    else
        builder->dialects.count++;
    builder->dialects.items[place] = change->dialect;
    change->dialect = NULL;
    for (uint32_t i = 0; i < builder->ops.count; i++)
        vy_op_release(builder->ops.items[i]);
    VY_VECTOR_FREE(&builder->ops);
    builder->ops.items = change->ops.items;
    builder->ops.count = change->ops.count;
    builder->ops.capacity = change->ops.capacity;
    memset(&change->ops, 0, sizeof change->ops);
}

static vyre_status put(vyre_dialect_builder *builder, const vyre_dialect *dialect, const vyre_op_definition *const *ops,
                       size_t op_count, int replace, vyre_error *error) {
    change change = {0};
    vyre_status status = vy_dialect_make(dialect, &change.dialect, error);
    if (status == VYRE_OK)
        status = check_provider(builder, &change.dialect->dialect, replace, error);
    if (status == VYRE_OK)
        status = make_ops(builder, &change, ops, op_count, replace, error);
    if (status == VYRE_OK && !VY_RESERVE(&builder->dialects, 1))
        status = vy_fail_memory(error, "a builder of dialects");
    if (status == VYRE_OK)
        apply(builder, &change);
    drop(&change);
    return status;
}

vyre_status vyre_dialect_builder_add(vyre_dialect_builder *builder, const vyre_dialect *dialect,
                                     const vyre_op_definition *const *ops, size_t op_count, vyre_error *error) {
    VY_REQUIRE(error, builder);
    VY_REQUIRE(error, dialect);
    VY_REQUIRE_ARRAY(error, ops, op_count);
    vyre_error own;
    error = error ? error : &own;
    return vy_dialects_log_conflict(put(builder, dialect, ops, op_count, 0, error), error);
}

vyre_status vy_builder_replace(vyre_dialect_builder *builder, const vyre_dialect *dialect,
                               const vyre_op_definition *const *ops, size_t op_count, vyre_error *error) {
    return put(builder, dialect, ops, op_count, 1, error);
}

vyre_status vyre_dialect_builder_replace(vyre_dialect_builder *builder, const vyre_dialect *dialect,
                                         const vyre_op_definition *const *ops, size_t op_count, vyre_error *error) {
    VY_REQUIRE(error, builder);
    VY_REQUIRE(error, dialect);
    VY_REQUIRE_ARRAY(error, ops, op_count);
    vyre_error own;
    error = error ? error : &own;
    return vy_dialects_log_conflict(put(builder, dialect, ops, op_count, 1, error), error);
}

vyre_status vyre_dialect_builder_remove(vyre_dialect_builder *builder, const char *name, const char *owner,
                                        vyre_error *error) {
    VY_REQUIRE(error, builder);
    VY_REQUIRE(error, name);
    vyre_error own;
    error = error ? error : &own;
    return vy_dialects_log_conflict(vy_builder_remove(builder, name, owner, error), error);
}

vyre_status vy_builder_remove(vyre_dialect_builder *builder, const char *name, const char *owner, vyre_error *error) {
    uint32_t place = find_dialect(builder, name), kept = 0;
    if (place == builder->dialects.count)
        return vy_fail(error, VYRE_NOT_FOUND, VY_FIX("use the name of a registered dialect"),
                       "dialect `%.128s` is not registered", name);
    vy_dialect *dialect = builder->dialects.items[place];
    if (owner && strcmp(owner, dialect->dialect.owner) != 0) {
        (void)vy_fail(error, VYRE_CONFLICT, VY_FIX("let its provider remove it"),
                      "the dialect `%.128s` is provided by `%.128s`, not by `%.128s`", name, dialect->dialect.owner,
                      owner);
        (void)vy_fail_parts(error, name, dialect->dialect.owner, owner);
        return VYRE_CONFLICT;
    }
    for (uint32_t i = 0; i < builder->ops.count; i++) {
        vy_op *op = builder->ops.items[i];
        if (strcmp(op->definition.dialect, dialect->dialect.name) == 0)
            vy_op_release(op);
        else
            builder->ops.items[kept++] = op;
    }
    builder->ops.count = kept;
    builder->dialects.items[place] = builder->dialects.items[--builder->dialects.count];
    vy_dialect_release(dialect);
    return VYRE_OK;
}
