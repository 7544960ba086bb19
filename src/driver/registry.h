/* The registry's inside: frozen lists of what is registered, and how modules join.
 *
 * Everything a list holds is constant once it is published, and no list is ever freed, so readers need neither locks nor counts: what
 * they hold stays true. Selection reads entries here; the rest of the world uses vyre/registry.h. */
#ifndef VY_DRIVER_REGISTRY_H
#define VY_DRIVER_REGISTRY_H

#include "vyre/registry.h"

/* Whether an entry of a struct that crosses the line is there: the struct may come from an older header and be shorter. */
#define VY_STRUCT_HAS(pointer, type, field) ((pointer)->struct_size >= offsetof(type, field) + sizeof((pointer)->field))
/* Its value, or NULL. */
#define VY_STRUCT_GET(pointer, type, field) (VY_STRUCT_HAS(pointer, type, field) ? (pointer)->field : NULL)

/* The three streams. */
typedef enum vy_stream { VY_STREAM_BACKEND, VY_STREAM_PRECEDENCE, VY_STREAM_CAPABILITY, VY_STREAM_COUNT } vy_stream;

/* All that was declared about one id, by whichever modules. A record's owner is NULL exactly if the record is. */
typedef struct vy_registry_entry {
    const char *id;
    const vyre_backend_registration *backend; /* NULL: ranked or described, but not there */
    uint32_t rank;                            /* UINT32_MAX if not declared */
    int dispatches;                           /* 0 if not declared */
    const void *records[VY_STREAM_COUNT];
    const char *owners[VY_STREAM_COUNT];
} vy_registry_entry;

/* One frozen list: a single block of memory that nothing changes. */
typedef struct vy_registry {
    const struct vy_registry *previous; /* the list this one replaced */
    vy_registry_entry *entries;
    size_t entry_count;
    const vyre_backend_registration **backends; /* in order of registration */
    const vyre_backend_registration **sorted;   /* by (rank, id) */
    const vy_registry_entry **ranked;           /* the entries of `sorted` */
    size_t backend_count;
    uint32_t *slots; /* open addressing by id: entry + 1, 0 = empty; at most half full */
    size_t slot_count;
    size_t size; /* of the block */
} vy_registry;

/* The list of this moment. The first call makes it; if memory is out it fails and the next call tries again. */
vyre_status vy_registry_get(const vy_registry **out, vyre_error *error);
/* NULL if nothing was declared about the id. NULL ids are unknown. */
const vy_registry_entry *vy_registry_find(const vy_registry *registry, const char *id);
/* Adds a module's records under the owner's name (copied); what vyre_module_register and vyre_plugin_load share. */
vyre_status vy_registry_add(const vyre_module_descriptor *module, const char *owner, vyre_error *error);

/* ---- module descriptors ---- */

/* Of a checked module: records of a stream, and the id of one. */
size_t vy_module_count(const vyre_module_descriptor *module, vy_stream stream);
const void *vy_module_record(const vyre_module_descriptor *module, vy_stream stream, size_t index);

/* ---- names of supported ops ---- */

/* The ops of a backend that lists none: the core set, with the grid barrier and the subgroup collectives if it has these capabilities. */
const char *const *vy_default_ops(int has_grid_barrier, int has_subgroups, size_t *count);
/* Lists for registrations: every op, and every op but the grid barrier, which the driver then runs as several launches. */
const char *const *vy_all_ops(size_t *count);
const char *const *vy_ops_without_grid_barrier(size_t *count);

/* ---- backends/builtin.c ---- */

/* libvyre's own records. Named here by symbol, which is what keeps them in a program linked with the archive. */
extern const vyre_module_descriptor vy_builtin_module;

#endif
