/* Resident buffers: the table from handles to native buffers (vyre/driver.h).
 *
 * A backend receives only its own `native` values. Owner, generation, sizes, ranges and use are checked here, so an
 * invented, stale or foreign handle never reaches backend code. */
#ifndef VY_DRIVER_RESIDENT_H
#define VY_DRIVER_RESIDENT_H

#include "base/memory.h"
#include "vyre/driver.h"

#include <pthread.h>

typedef struct vy_resident_entry {
    uint64_t native;
    uint64_t size;
    const void *source;          /* the bytes that recovery uploads again, or NULL */
    uint32_t generation;         /* of this slot; a handle contains the generation at its creation */
    uint32_t users;              /* calls that use it, except those from a dispatch slot (dispatch_slot.h) */
    uint32_t exports;            /* number of exports that have not ended */
    uint32_t next_free;          /* slot + 1 of the next free entry; only while not live */
    uint64_t address;            /* address of exported or wrapped memory, which may have several handles; else 0 */
    void (*release)(void *user); /* if not NULL: called once, when the buffer has ended */
    void *user;
    uint8_t is_live, is_written, is_read_only;
    uint8_t is_own; /* temporary, or not yet returned to the caller: no handle names it */
} vy_resident_entry;

typedef struct vy_residents {
    pthread_mutex_t lock;
    VY_VECTOR(vy_resident_entry) entries;
    uint32_t first_free; /* slot + 1, 0 = none */
    uint32_t restored;   /* during recovery: slots before this one belong to the new device */
} vy_residents;

void vy_residents_start(vy_residents *residents);
/* Frees the table; the native buffers have been freed before. */
void vy_residents_end(vy_residents *residents);

/* A checked use of a range. The buffer cannot be freed until vy_resident_unpin. */
typedef struct vy_resident_use {
    uint32_t slot;
    uint64_t native, offset, size;
    uint64_t address; /* of the range; 0 if the memory is neither exported nor wrapped */
    uint8_t is_read_only;
    uint64_t whole; /* size of the buffer */
} vy_resident_use;
/* size 0 with `to_end` means to the end. `write` marks the buffer as written: recovery no longer restores it.
 *
 * VYRE_INVALID_ARGUMENT  a null, foreign or stale handle; a write to a read-only buffer; or a range past the end */
vyre_status vy_resident_pin(vyre_backend *backend, vyre_resident handle, uint64_t offset, uint64_t size, int to_end,
                            int write, vy_resident_use *use, vyre_error *error);
/* The same with the lock held, for callers that pin several ranges. Returns 0 where vy_resident_pin fails. Size 0 means
 * to the end. */
static inline int vy_resident_pin_locked(vy_residents *residents, uint64_t owner, const vyre_resource *range, int write,
                                         vy_resident_use *use) {
    uint64_t slot = (range->resident.id & UINT32_MAX) - 1, generation = range->resident.id >> 32;
    if (range->resident.owner != owner || slot >= residents->entries.count)
        return 0;
    vy_resident_entry *entry = &residents->entries.items[slot];
    if (!entry->is_live || entry->is_own || entry->generation != generation || range->offset > entry->size ||
        (entry->is_read_only && write))
        return 0;
    uint64_t most = entry->size - range->offset, size = range->size ? range->size : most;
    if (size > most)
        return 0;
    entry->users++;
    entry->is_written |= (uint8_t)(write != 0);
    use->slot = (uint32_t)slot, use->native = entry->native, use->offset = range->offset, use->size = size;
    use->address = entry->address ? entry->address + range->offset : 0;
    use->is_read_only = entry->is_read_only;
    use->whole = entry->size;
    return 1;
}
void vy_resident_unpin(vyre_backend *backend, const vy_resident_use *uses, size_t count);
/* With the lock held: publishes pinned buffers for dispatch slots, where possible. */
void vy_resident_publish(vyre_backend *backend, const vy_resident_use *uses, size_t count);
/* Whether both addresses are known and the ranges overlap. */
static inline int vy_resident_overlap(const vy_resident_use *a, const vy_resident_use *b) {
    return a->address && b->address && a->size && b->size && a->address < b->address + b->size &&
           b->address < a->address + a->size;
}

/* A temporary buffer for a caller inside the backend: created pinned and zeroed, uploaded and downloaded from its
 * start, destroyed. On a lost backend it is not freed: recovery and shutdown free it. error is never NULL. */
vyre_status vy_temporary_buffer_create(vyre_backend *backend, uint64_t size, vy_resident_use *use, vyre_error *error);
vyre_status vy_temporary_buffer_upload(vyre_backend *backend, const vy_resident_use *use, const void *data,
                                       uint64_t size, vyre_error *error);
vyre_status vy_temporary_buffer_download(vyre_backend *backend, const vy_resident_use *use, void *data, uint64_t size,
                                         vyre_error *error);
void vy_temporary_buffer_destroy(vyre_backend *backend, const vy_resident_use *use);

/* Enters memory that the backend has wrapped; inside the backend. The table copies native, size, address, release, user
 * and is_read_only from `what`. generation: the backend's, from before the wrap. On failure `release` is not called,
 * and the native buffer is freed unless the device was lost or its value is in use. */
vyre_status vy_resident_adopt(vyre_backend *backend, const vy_resident_entry *what, uint64_t generation,
                              vyre_resident *out, vyre_error *error);
/* Adds an export of a pinned buffer at this address. The buffer cannot be freed until every export has ended. */
void vy_resident_add_export(vyre_backend *backend, const vy_resident_use *use, uint64_t address);
vyre_status vy_resident_remove_export(vyre_backend *backend, vyre_resident handle, vyre_error *error);

/* Frees all native buffers and ignores errors: for shutdown. */
void vy_residents_free_all(vyre_backend *backend);
/* After recovery: buffers with an unwritten source are allocated and uploaded again, all others become stale. */
vyre_status vy_residents_recover(vyre_backend *backend, vyre_error *error);

#endif
