/* Snapshots: the immutable content of the registry at one time, in one block of memory. Snapshots share ops and
 * dialects; each snapshot holds a reference. */
#ifndef VY_DIALECT_SNAPSHOT_H
#define VY_DIALECT_SNAPSHOT_H

#include "base/hazard.h"
#include "dialect/opdef.h"

/* Hash table by interned id: open addressing, at most half full. Ops that were interned together have consecutive
 * numbers, so for most snapshots a multiplicative hash without collisions exists, and every lookup is one probe, also
 * of an absent op. */
typedef struct vy_snapshot_slot {
    const vyre_op_definition *definition; /* NULL = empty */
    vyre_op_id number;
} vy_snapshot_slot;

typedef struct vyre_snapshot {
    vy_hazard_object pinned; /* first member: the object of the hazard-pointer domain */
    const vy_snapshot_slot *slots;
    uint32_t multiplier, shift; /* of the hash function */
    uint32_t slot_mask;
    uint32_t max_probe; /* maximum distance of an op from its hash slot */
    uint32_t op_count, dialect_count;
    vy_op **ops;           /* by id */
    vy_dialect **dialects; /* by name */
    uint64_t generation;
    uint64_t checksum;
    size_t size;                  /* of the block */
    struct vy_deferred *deferred; /* of the first snapshot, which contains no ops (deferred.c); else NULL */
} vyre_snapshot;

static inline const vyre_op_definition *vy_snapshot_lookup(const vyre_snapshot *snapshot, vyre_op_id number) {
    uint32_t slot = (number * snapshot->multiplier) >> snapshot->shift;
    for (uint32_t end = slot + snapshot->max_probe;; slot++) {
        const vy_snapshot_slot *at = &snapshot->slots[slot & snapshot->slot_mask];
        if (at->number == number)
            return at->definition;
        if (slot == end)
            return NULL;
    }
}

/* Builds a snapshot with references to all objects. Each op must have a unique id and a registered dialect; DUPLICATE
 * names both owners. The arrays may be in any order. The snapshot starts with `holds` counted references. */
vyre_status vy_snapshot_build(vy_op *const *ops, uint32_t op_count, vy_dialect *const *dialects, uint32_t dialect_count,
                              uint64_t generation, size_t holds, vyre_snapshot **out, vyre_error *error);
void vy_snapshot_free(vyre_snapshot *snapshot);

const vy_dialect *vy_snapshot_dialect(const vyre_snapshot *snapshot, const char *name, size_t length);
/* Checksum of the generation, the table, and all ops and dialects with their contents. */
uint64_t vy_snapshot_checksum(const vyre_snapshot *snapshot);

/* ---- deferred dialects (deferred.c) ---- */

/* Makes the first snapshot: the standard library, of which nothing is parsed yet. */
vyre_status vy_deferred_snapshot_new(vyre_snapshot **out, vyre_error *error);
void vy_deferred_free(struct vy_deferred *deferred); /* NULL is ignored */
/* The snapshot with all ops: its argument unless that is deferred. Valid as long as the argument. VYRE_NO_MEMORY. */
vyre_status vy_snapshot_complete(const vyre_snapshot *snapshot, const vyre_snapshot **out, vyre_error *error);
/* The same, or NULL if not all dialects were loaded. Does not load any. */
const vyre_snapshot *vy_snapshot_loaded(const vyre_snapshot *snapshot);
/* Finds an op by its id, and loads its dialect if necessary. *out is NULL for an unknown op. VYRE_NO_MEMORY. */
vyre_status vy_snapshot_find(const vyre_snapshot *snapshot, const char *text, size_t length,
                             const vyre_op_definition **out, vyre_error *error);

/* Fails with DUPLICATE: two ops have the same id. The message names both owners. */
vyre_status vy_fail_duplicate(const char *id, const char *first, const char *second, vyre_error *error);

#endif
