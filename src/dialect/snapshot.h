/* Snapshots: everything the registry knows at one moment, in one block of memory that nothing changes after it was built. Ops and dialects are shared
 * between snapshots, each of which holds a reference. */
#ifndef VY_DIALECT_SNAPSHOT_H
#define VY_DIALECT_SNAPSHOT_H

#include "base/hazard.h"
#include "dialect/opdef.h"

/* Open addressing by interned id, at most half full. Numbers of ops that were interned together follow one another, so most snapshots find a way to
 * spread them in which no two meet: then a lookup, also of what is not there, is one probe. */
typedef struct vy_snapshot_slot {
    const vyre_op_definition *definition; /* NULL = empty */
    vyre_op_id number;
} vy_snapshot_slot;

typedef struct vyre_snapshot {
    vy_hazard_object pinned; /* first: what the domain hands out */
    const vy_snapshot_slot *slots;
    uint32_t multiplier, shift; /* where a number belongs */
    uint32_t slot_mask;
    uint32_t max_probe; /* how far from there any op lies */
    uint32_t op_count, dialect_count;
    vy_op **ops;           /* by id */
    vy_dialect **dialects; /* by name */
    uint64_t generation;
    uint64_t checksum;
    size_t size; /* of the block */
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

/* A snapshot with references of its own to all of them, checked: each op has an id of its own and a dialect that is there; DUPLICATE names both owners.
 * The arrays are in any order. `holds` counted pins are in it from the start. */
vyre_status vy_snapshot_build(vy_op *const *ops, uint32_t op_count, vy_dialect *const *dialects, uint32_t dialect_count,
                              uint64_t generation, size_t holds, vyre_snapshot **out, vyre_error *error);
void vy_snapshot_free(vyre_snapshot *snapshot);

const vy_dialect *vy_snapshot_dialect(const vyre_snapshot *snapshot, const char *name, size_t length);
/* Over generation, table, ops and dialects, each looked at in full. */
uint64_t vy_snapshot_checksum(const vyre_snapshot *snapshot);

/* DUPLICATE if two ops have one id: names it and both owners. */
vyre_status vy_fail_duplicate(const char *id, const char *first, const char *second, vyre_error *error);

#endif
