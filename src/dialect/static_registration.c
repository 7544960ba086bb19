/* Link-time registration: reads, validates and registers the record streams of modules. Records are used only after
 * bounds, sizes and texts were validated. The dialects of a module are published all or nothing. */
#define VYRE_STREAM_PREFIX vyre_builtin_stream /* for vy_builtin_dialects */
#include "base/status.h"
#include "dialect/registry.h"

#include <pthread.h>

/* More records than any module has. A larger count means that the bounds are invalid. */
#define RECORDS_LIMIT 65536u
#define END_OF(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

static pthread_mutex_t joining = PTHREAD_MUTEX_INITIALIZER;

void vy_modules_lock(void) {
    vy_dialects_atfork_install();
    (void)pthread_mutex_lock(&joining);
}

void vy_modules_unlock(void) {
    (void)pthread_mutex_unlock(&joining);
}

/* ---- record streams ---- */

/* Every record begins with its size. */
static vyre_status check_record(const char *stream, const void *record, size_t least, const char *owner,
                                vyre_error *error) {
    uint32_t size = 0;
    if (!record)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("make records with the VYRE_REGISTER_* macros"),
                       "`%s` has a NULL record among its %s", owner, stream);
    memcpy(&size, record, sizeof size);
    if (size < least)
        return vy_fail(error, VYRE_ABI_MISMATCH, NULL,
                       "a record among the %s of `%s` is too short (%u bytes of at least %zu)", stream, owner, size,
                       least);
    return VYRE_OK;
}

static vyre_status check_stream(const char *stream, const void *begin, const void *end, size_t least, const char *owner,
                                vyre_error *error) {
    uintptr_t from = (uintptr_t)begin, to = (uintptr_t)end;
    if (!begin != !end || to < from || (to - from) % sizeof(void *) != 0)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("make the descriptor with VYRE_MODULE or VYRE_PLUGIN"),
                       "the stream of %s of `%s` has invalid bounds (%p to %p)", stream, owner, begin, end);
    if ((to - from) / sizeof(void *) > RECORDS_LIMIT)
        return vy_fail(error, VYRE_LIMIT, VY_FIX("split the module, or make its descriptor with the macros"),
                       "`%s` has too many %s (%zu of at most %u)", owner, stream, (to - from) / sizeof(void *),
                       RECORDS_LIMIT);
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < (to - from) / sizeof(void *) && status == VYRE_OK; i++) {
        const void *record; /* copied as bytes: the three streams have three types */
        memcpy(&record, (const char *)begin + i * sizeof record, sizeof record);
        status = check_record(stream, record, least, owner, error);
    }
    return status;
}

vyre_status vy_dialect_streams_read(const vyre_module_descriptor *module, const char *owner, vy_dialect_streams *out,
                                    vyre_error *error) {
    memset(out, 0, sizeof *out);
    if (module->struct_size < END_OF(vyre_module_descriptor, extern_ops_end))
        return VYRE_OK;
    *out = (vy_dialect_streams){
        module->ops,        module->ops_end,       module->extern_dialects, module->extern_dialects_end,
        module->extern_ops, module->extern_ops_end};
    vyre_status status =
        check_stream("ops", out->ops, out->ops_end, END_OF(vyre_op_definition, function), owner, error);
    if (status == VYRE_OK)
        status = check_stream("extern dialects", out->dialects, out->dialects_end, END_OF(vyre_extern_dialect, url),
                              owner, error);
    if (status == VYRE_OK)
        status =
            check_stream("extern ops", out->extern_ops, out->extern_ops_end, END_OF(vyre_extern_op, doc), owner, error);
    return status;
}

/* ---- registration ---- */

/* A module that is being added to a builder. */
typedef struct registration {
    vyre_dialect_builder *builder;
    const char *owner;
    const void *origin;
    int added;
    vyre_error *error;
} registration;

/* Makes the module the provider of a dialect, unless it is already. */
static vyre_status ensure_provider(registration *registration, const vyre_dialect *dialect) {
    vy_dialect *made;
    const vy_dialect *there = vy_builder_dialect(registration->builder, dialect->name);
    if (there && there->origin == registration->origin)
        return VYRE_OK;
    if (there)
        return vy_fail_provider(dialect->name, there->dialect.owner, registration->owner, registration->error);
    vyre_status status = vy_dialect_make(dialect, &made, registration->error);
    if (status != VYRE_OK)
        return status;
    made->origin = registration->origin;
    registration->added = 1;
    return vy_builder_put_dialect(registration->builder, made, registration->error);
}

static vyre_status add_dialect(registration *registration, const vyre_extern_dialect *record) {
    const vyre_dialect dialect = {sizeof dialect, record->name ? record->name : "", record->version, record->url,
                                  registration->owner};
    return ensure_provider(registration, &dialect);
}

/* Adds an op made from a record, unless that record was added before. */
static vyre_status add_definition(registration *registration, const vyre_op_definition *definition,
                                  const void *record) {
    vy_op *op;
    const vyre_op_definition *there =
        definition->id ? vyre_dialects_find(registration->builder->base, definition->id, strlen(definition->id)) : NULL;
    if (there && vy_op_of(there)->origin == record)
        return VYRE_OK;
    vyre_status status = vy_op_make(definition, NULL, registration->owner, &op, registration->error);
    if (status != VYRE_OK)
        return status;
    op->origin = record;
    registration->added = 1;
    return vy_builder_put_op(registration->builder, op, registration->error);
}

/* An op implies its dialect, so its module must be the provider. */
static vyre_status add_op(registration *registration, const vyre_op_definition *record) {
    uint32_t before = registration->builder->ops.count;
    vyre_status status = add_definition(registration, record, record);
    if (status != VYRE_OK || registration->builder->ops.count == before)
        return status;
    const vyre_op_definition *op = &registration->builder->ops.items[before]->definition;
    const vyre_dialect dialect = {sizeof dialect, op->dialect, op->version, NULL, registration->owner};
    return ensure_provider(registration, &dialect);
}

static vyre_status add_extern_op(registration *registration, const vyre_extern_op *record) {
    if (!record->dialect || !vy_builder_dialect(registration->builder, record->dialect))
        return vy_fail(registration->error, VYRE_NOT_FOUND,
                       VY_FIX("register the dialect with VYRE_REGISTER_EXTERN_DIALECT in this module or in one before"),
                       "extern op `%.128s` of `%.128s` is in a dialect that is not registered (`%.128s`)",
                       record->id ? record->id : "NULL", registration->owner,
                       record->dialect ? record->dialect : "NULL");
    const vy_dialect *dialect = vy_builder_dialect(registration->builder, record->dialect);
    const vyre_op_definition definition = {.struct_size = sizeof definition,
                                           .category = VYRE_CATEGORY_EXTENSION,
                                           .id = record->id,
                                           .dialect = record->dialect,
                                           .version = dialect->dialect.version,
                                           .doc = record->doc};
    return add_definition(registration, &definition, record);
}

/* A module may declare a dialect only once. */
static vyre_status check_declared_once(const vy_dialect_streams *streams, const char *owner, vyre_error *error) {
    for (const vyre_extern_dialect *const *a = streams->dialects; a != streams->dialects_end; a++)
        for (const vyre_extern_dialect *const *b = streams->dialects; b != a; b++)
            if ((*a)->name && (*b)->name && strcmp((*a)->name, (*b)->name) == 0) {
                (void)vy_fail(error, VYRE_DUPLICATE, NULL, "the dialect `%.128s` is registered twice (both by `%s`)",
                              (*a)->name, owner);
                (void)vy_fail_parts(error, (*a)->name, owner, owner);
                return VYRE_DUPLICATE;
            }
    return VYRE_OK;
}

vyre_status vy_dialect_streams_add(const vy_dialect_streams *streams, const char *owner, const void *origin,
                                   vyre_dialect_builder *builder, int *added, vyre_error *error) {
    registration registration = {builder, owner, origin, 0, error};
    vyre_status status = check_declared_once(streams, owner, error);
    for (const vyre_extern_dialect *const *at = streams->dialects; at != streams->dialects_end && !status; at++)
        status = add_dialect(&registration, *at);
    for (const vyre_op_definition *const *at = streams->ops; at != streams->ops_end && !status; at++)
        status = add_op(&registration, *at);
    for (const vyre_extern_op *const *at = streams->extern_ops; at != streams->extern_ops_end && !status; at++)
        status = add_extern_op(&registration, *at);
    *added = registration.added;
    return status;
}

/* ---- modules ---- */

static int is_empty(const vy_dialect_streams *streams) {
    return streams->ops == streams->ops_end && streams->dialects == streams->dialects_end &&
           streams->extern_ops == streams->extern_ops_end;
}

static vyre_status register_once(const vy_dialect_streams *streams, const char *owner, const void *origin,
                                 int *lost_race, vy_dialects_swap *swap, vyre_error *error) {
    vyre_dialect_builder *builder;
    int added = 0;
    *lost_race = 0;
    vyre_status status = vyre_dialect_builder_new(&builder, error);
    if (status == VYRE_OK)
        status = vy_dialect_streams_add(streams, owner, origin, builder, &added, error);
    if (status == VYRE_OK && added)
        status = vy_dialects_install(builder, lost_race, swap, error);
    vyre_dialect_builder_free(builder);
    return status;
}

vyre_status vy_dialects_add_module(const vyre_module_descriptor *module, const char *owner, vy_dialects_swap *swap,
                                   vyre_error *error) {
    vy_dialect_streams streams;
    int lost_race = 0;
    vyre_status status = vy_dialect_streams_read(module, owner, &streams, error);
    if (status != VYRE_OK || is_empty(&streams))
        return status;
    do
        status = register_once(&streams, owner, module, &lost_race, swap, error);
    while (lost_race);
    return status;
}

static int has_record(vyre_dialects_guard guard, const char *id, const void *record) {
    const vyre_op_definition *op = id ? vyre_dialects_find(guard, id, strlen(id)) : NULL;
    return op && vy_op_of(op)->origin == record;
}

static int has_dialect(vyre_dialects_guard guard, const char *name, const void *origin) {
    const vyre_snapshot *all = NULL;
    if (guard.snapshot)
        (void)vy_snapshot_complete(guard.snapshot, &all, NULL); /* without memory, it is registered again */
    const vy_dialect *there = all && name ? vy_snapshot_dialect(all, name, strlen(name)) : NULL;
    return there && there->origin == origin;
}

int vy_dialects_needs_module(const vyre_module_descriptor *module, const char *owner) {
    vy_dialect_streams streams;
    if (vy_dialect_streams_read(module, owner, &streams, NULL) != VYRE_OK)
        return 1;
    if (is_empty(&streams))
        return 0; /* without creating the registry */
    int is_missing = 0;
    vyre_dialects_guard guard = vyre_dialects_acquire();
    for (const vyre_extern_dialect *const *at = streams.dialects; at != streams.dialects_end; at++)
        is_missing |= !has_dialect(guard, (*at)->name, module);
    for (const vyre_op_definition *const *at = streams.ops; at != streams.ops_end; at++)
        is_missing |= !has_record(guard, (*at)->id, *at);
    for (const vyre_extern_op *const *at = streams.extern_ops; at != streams.extern_ops_end; at++)
        is_missing |= !has_record(guard, (*at)->id, *at);
    vyre_dialects_release(&guard);
    return is_missing;
}

/* The records of libvyre. They are in one object that the registry references by symbol, because a linker drops archive
 * members that are not referenced. The streams have a separate prefix, so that an application linked with the archive
 * keeps its records apart. */
VYRE_STREAM_BOUNDS(vyre_op_definition, VYRE_STREAM(ops));
VYRE_STREAM_BOUNDS(vyre_extern_dialect, VYRE_STREAM(extern_dialects));
VYRE_STREAM_BOUNDS(vyre_extern_op, VYRE_STREAM(extern_ops));

const vy_dialect_streams vy_builtin_dialects = {VYRE_MODULE_STREAM(ops), VYRE_MODULE_STREAM(extern_dialects),
                                                VYRE_MODULE_STREAM(extern_ops)};
