/* Dialect registry, internals: the hazard-pointer domain of the current snapshot, and its updates by builders and
 * modules. */
#ifndef VY_DIALECT_REGISTRY_H
#define VY_DIALECT_REGISTRY_H

#include "dialect/snapshot.h"

extern vy_hazard_domain vy_dialects;

/* Installs the pthread_atfork handlers, once per process; later calls are one load. Must be called before the first
 * lock is acquired or the first snapshot is published. */
void vy_dialects_atfork_install(void);

/* The mutex under which the first snapshot is built, and its dialects are loaded (deferred.c). Lock order:
 * vy_modules_lock, this mutex, the mutexes of the interners. */
void vy_dialects_first_lock(void);
void vy_dialects_first_unlock(void);

/* Returns the current snapshot, or an empty guard if there is none; does not create one. */
vyre_dialects_guard vy_dialects_peek(void);

/* A snapshot and its successor. vy_dialects_log_swap releases the guards. */
typedef struct vy_dialects_swap {
    vyre_dialects_guard before, after;
} vy_dialects_swap;

/* vyre_dialects_install. *lost_race is set if another thread installed a snapshot first. `swap` is set on success
 * only. */
vyre_status vy_dialects_install(vyre_dialect_builder *builder, int *lost_race, vy_dialects_swap *swap,
                                vyre_error *error);

/* ---- log lines. Call them without locks, because the log sink is user code ---- */

/* Writes a line at level 2 for each dialect that was added, replaced or removed; nothing for an empty swap. */
void vy_dialects_log_swap(vy_dialects_swap *swap);
/* Writes a line at level 1 if the status is CONFLICT or DUPLICATE. Returns the status. */
vyre_status vy_dialects_log_conflict(vyre_status status, const vyre_error *error);
/* Writes a line at level 1 if manifests were not loaded. */
void vy_dialects_log_refusal(vyre_status status, const vyre_error *error);

/* ---- builders (snapshot.c) ---- */

struct vyre_dialect_builder {
    vyre_dialects_guard base; /* counted; never empty */
    VY_VECTOR(vy_op *) ops;   /* one reference each */
    VY_VECTOR(vy_dialect *) dialects;
};

/* vyre_dialect_builder_replace and vyre_dialect_builder_remove without log lines. */
vyre_status vy_builder_replace(vyre_dialect_builder *builder, const vyre_dialect *dialect,
                               const vyre_op_definition *const *ops, size_t op_count, vyre_error *error);
vyre_status vy_builder_remove(vyre_dialect_builder *builder, const char *name, const char *owner, vyre_error *error);
/* Returns the dialect of that name, or NULL. */
const vy_dialect *vy_builder_dialect(const vyre_dialect_builder *builder, const char *name);
/* Appends the object and consumes the caller's reference, also on failure. */
vyre_status vy_builder_put_dialect(vyre_dialect_builder *builder, vy_dialect *dialect, vyre_error *error);
vyre_status vy_builder_put_op(vyre_dialect_builder *builder, vy_op *op, vyre_error *error);
/* Fails with CONFLICT: two owners provide the same dialect. */
vyre_status vy_fail_provider(const char *name, const char *first, const char *second, vyre_error *error);

/* ---- link-time registration (static_registration.c) ---- */

/* The record streams of one module: the end of its descriptor. */
typedef struct vy_dialect_streams {
    const vyre_op_definition *const *ops, *const *ops_end;
    const vyre_extern_dialect *const *dialects, *const *dialects_end;
    const vyre_extern_op *const *extern_ops, *const *extern_ops_end;
} vy_dialect_streams;

/* Reads the streams from a descriptor; empty if the descriptor predates them. Fails if the bounds are invalid. */
vyre_status vy_dialect_streams_read(const vyre_module_descriptor *module, const char *owner, vy_dialect_streams *out,
                                    vyre_error *error);
/* Adds the records to a builder. `origin` identifies the module. Records that were added before are skipped; *added is
 * set if any was new. */
vyre_status vy_dialect_streams_add(const vy_dialect_streams *streams, const char *owner, const void *origin,
                                   vyre_dialect_builder *builder, int *added, vyre_error *error);
/* Checks and installs the dialects of a module, all or nothing. Does nothing if all are registered. */
vyre_status vy_dialects_add_module(const vyre_module_descriptor *module, const char *owner, vy_dialects_swap *swap,
                                   vyre_error *error);
/* Whether any dialect or op of the module is not registered yet. */
int vy_dialects_needs_module(const vyre_module_descriptor *module, const char *owner);
/* The records of libvyre itself. */
extern const vy_dialect_streams vy_builtin_dialects;

/* Serialises the registration of modules, so that the backends and dialects of one become visible together. Readers do
 * not need it. */
void vy_modules_lock(void);
void vy_modules_unlock(void);

#endif
