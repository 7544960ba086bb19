/* Backend registry: immutable lists of registrations, how modules join, and the time limit of probes.
 *
 * A list is constant once it is published and is never freed, so readers need neither locks nor reference counts.
 * Selection reads entries here; other modules use vyre/registry.h. */
#ifndef VY_DRIVER_REGISTRY_H
#define VY_DRIVER_REGISTRY_H

#include "vyre/backend.h"
#include "vyre/registry.h"

/* Whether a member of an ABI struct is present: a struct from an older header is shorter. */
#define VY_STRUCT_HAS(pointer, type, field) ((pointer)->struct_size >= offsetof(type, field) + sizeof((pointer)->field))
/* Its value, or NULL. */
#define VY_STRUCT_GET(pointer, type, field) (VY_STRUCT_HAS(pointer, type, field) ? (pointer)->field : NULL)

/* The three streams. */
typedef enum vy_stream { VY_STREAM_BACKEND, VY_STREAM_PRECEDENCE, VY_STREAM_CAPABILITY, VY_STREAM_COUNT } vy_stream;

/* Everything that modules declared about one id. An owner is NULL exactly if its record is. */
typedef struct vy_registry_entry {
    const char *id;
    const vyre_backend_registration *backend; /* NULL: declared by other streams only */
    uint32_t rank;                            /* UINT32_MAX if not declared */
    int dispatches;                           /* 0 if not declared */
    const void *records[VY_STREAM_COUNT];
    const char *owners[VY_STREAM_COUNT];
} vy_registry_entry;

/* One immutable list, in a single block of memory. */
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

/* The current list. The first call creates it; if out of memory it fails, and the next call tries again. */
vyre_status vy_registry_get(const vy_registry **out, vyre_error *error);
/* NULL if the id is NULL or was not declared. */
const vy_registry_entry *vy_registry_find(const vy_registry *registry, const char *id);
/* Adds a module's records under the owner's name (copied). The common part of vyre_module_register and
 * vyre_plugin_load. */
vyre_status vy_registry_add(const vyre_module_descriptor *module, const char *owner, vyre_error *error);

/* ---- module descriptors ---- */

/* Records of a stream in a checked module. */
size_t vy_module_count(const vyre_module_descriptor *module, vy_stream stream);
const void *vy_module_record(const vyre_module_descriptor *module, vy_stream stream, size_t index);

/* ---- names of supported ops ---- */

/* The ops of a backend that lists none: the core set, and grid barrier and subgroup collectives if it has these
 * capabilities. */
const char *const *vy_default_ops(int has_grid_barrier, int has_subgroups, size_t *count);
/* Lists for registrations: every op; and every op except the grid barrier, which multi_launch.h then implements. */
const char *const *vy_all_ops(size_t *count);
const char *const *vy_ops_without_grid_barrier(size_t *count);

/* ---- backends/builtin.c ---- */

/* Records of the built-in backends. The reference by symbol keeps them in a program that links the static library. */
extern const vyre_module_descriptor vy_builtin_module;

/* Probes with a time limit: each runs on a separate thread and is abandoned if it does not return. */
/* Time limit of a probe. */
#define VY_PROBE_LIMIT_NS UINT64_C(2000000000)

typedef enum vy_probe_outcome {
    VY_PROBE_DONE,         /* `out` holds the answer; without a probe: YES with an unknown device class */
    VY_PROBE_NO_MEMORY,    /* it was not called */
    VY_PROBE_TIMED_OUT,    /* it did not return within the limit; its thread still runs */
    VY_PROBE_STILL_RUNNING /* it was abandoned by an earlier call and has not returned since; not called again */
} vy_probe_outcome;

/* Blocks for at most the limit. If no thread can be started, the probe runs on the calling thread without a limit. Any
 * thread. */
vy_probe_outcome vy_probe_run(const vyre_backend_registration *registration, uint64_t limit_ns, vyre_probe *out);

#endif
