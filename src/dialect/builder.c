/* Builders: the ops and dialects of the next snapshot, as lists with references of their own. A change is prepared beside them and moved in when
 * nothing can fail any more. */
#include "base/status.h"
#include "dialect/registry.h"

/* ---- making ---- */

static vyre_status copy_base(vyre_dialect_builder *builder, vyre_error *error) {
    const vyre_snapshot *base = builder->base.snapshot;
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

/* ---- single pieces ---- */

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
    (void)vy_fail(error, VYRE_CONFLICT, VY_FIX("remove one of the two, or give one of the dialects another name"),
                  "the dialect `%.128s` has a provider (`%.128s`), so `%.128s` cannot provide it too", name, first,
                  second);
    (void)vy_fail_parts(error, name, first, second);
    return VYRE_CONFLICT;
}

/* ---- a dialect with its ops ---- */

/* What is being added: ops that stay, then the new ones, all with references of their own. */
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
            return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("give the op with its own dialect"),
                           "op `%s` is of another dialect (`%s`) than the one it is given with (`%s`)",
                           op->definition.id, op->definition.dialect, dialect->name);
    }
    return vy_ops_check_unique(change->ops.items, change->ops.count, error);
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
    (void)vy_fail(error, VYRE_DUPLICATE, VY_FIX("replace the dialect, or add what is new to it there"),
                  "the dialect `%.128s` is there already (from `%.128s` and again from `%.128s`)", dialect->name,
                  there->dialect.owner, dialect->owner);
    (void)vy_fail_parts(error, dialect->name, there->dialect.owner, dialect->owner);
    return VYRE_DUPLICATE;
}

/* Nothing can fail here: room was made. */
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
        return vy_fail(error, VYRE_NOT_FOUND, VY_FIX("name a dialect that is there"), "there is no dialect `%.128s`",
                       name);
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
