/* The registry's inside: the domain whose current object is the newest snapshot, and how builders and modules change it. */
#ifndef VY_DIALECT_REGISTRY_H
#define VY_DIALECT_REGISTRY_H

#include "dialect/snapshot.h"

extern vy_hazard_domain vy_dialects;

/* Installs the pthread_atfork handlers, once per process; later calls are one load. Must be called before the first lock is acquired or the
 * first snapshot is published. */
void vy_dialects_atfork_install(void);

/* The newest snapshot, or an empty guard if there is none yet: none is made. */
vyre_dialects_guard vy_dialects_peek(void);

/* Two snapshots, the second installed in place of the first. The guards are released by vy_dialects_log_swap. */
typedef struct vy_dialects_swap {
    vyre_dialects_guard before, after;
} vy_dialects_swap;

/* vyre_dialects_install; *lost_race says that it failed because somebody else was faster. `swap` is filled on success, and stays as it is otherwise. */
vyre_status vy_dialects_install(vyre_dialect_builder *builder, int *lost_race, vy_dialects_swap *swap,
                                vyre_error *error);

/* ---- log.c: lines for the log sink. None of our locks is held: the sink is other people's code ---- */

/* A line at level 2 for each dialect that was added, replaced or removed. Nothing for an empty swap. */
void vy_dialects_log_swap(vy_dialects_swap *swap);
/* A line at level 1 if the status is CONFLICT or DUPLICATE. Returns the status. */
vyre_status vy_dialects_log_conflict(vyre_status status, const vyre_error *error);
/* A line at level 1 if manifests were not loaded. */
void vy_dialects_log_refusal(vyre_status status, const vyre_error *error);

/* ---- builder.c ---- */

struct vyre_dialect_builder {
    vyre_dialects_guard base; /* counted; never empty */
    VY_VECTOR(vy_op *) ops;   /* one reference each */
    VY_VECTOR(vy_dialect *) dialects;
};

/* What vyre_dialect_builder_replace and vyre_dialect_builder_remove do, without a line in the log. */
vyre_status vy_builder_replace(vyre_dialect_builder *builder, const vyre_dialect *dialect,
                               const vyre_op_definition *const *ops, size_t op_count, vyre_error *error);
vyre_status vy_builder_remove(vyre_dialect_builder *builder, const char *name, const char *owner, vyre_error *error);
/* What is there under a name; NULL if nothing is. */
const vy_dialect *vy_builder_dialect(const vyre_dialect_builder *builder, const char *name);
/* Appends, and takes the caller's reference in any case. */
vyre_status vy_builder_put_dialect(vyre_dialect_builder *builder, vy_dialect *dialect, vyre_error *error);
vyre_status vy_builder_put_op(vyre_dialect_builder *builder, vy_op *op, vyre_error *error);
/* CONFLICT: both want to provide one dialect. */
vyre_status vy_fail_provider(const char *name, const char *first, const char *second, vyre_error *error);

/* ---- module.c: link-time records ---- */

/* One module's streams of dialects: the end of its descriptor. */
typedef struct vy_dialect_streams {
    const vyre_op_definition *const *ops, *const *ops_end;
    const vyre_extern_dialect *const *dialects, *const *dialects_end;
    const vyre_extern_op *const *extern_ops, *const *extern_ops_end;
} vy_dialect_streams;

/* What a descriptor has of them: nothing if it was made before there were any. Bounds that are not bounds are an error. */
vyre_status vy_dialect_streams_read(const vyre_module_descriptor *module, const char *owner, vy_dialect_streams *out,
                                    vyre_error *error);
/* Puts them into a builder; `origin` tells modules apart. What is there already from the same records is left alone; *added says whether anything
 * was not. */
vyre_status vy_dialect_streams_add(const vy_dialect_streams *streams, const char *owner, const void *origin,
                                   vyre_dialect_builder *builder, int *added, vyre_error *error);
/* Checks and installs a module's dialects; nothing happens if it has none that are new. All or nothing. */
vyre_status vy_dialects_add_module(const vyre_module_descriptor *module, const char *owner, vy_dialects_swap *swap,
                                   vyre_error *error);
/* Whether anything of the module is not there yet. */
int vy_dialects_needs_module(const vyre_module_descriptor *module, const char *owner);
/* libvyre's own. */
extern const vy_dialect_streams vy_builtin_dialects;

/* Modules join one at a time, so that backends and dialects of one appear together or not at all. Readers do not take it. */
void vy_modules_lock(void);
void vy_modules_unlock(void);

#endif
