/* Resident buffers: the table that turns handles into what a backend knows (vyre/driver.h).
 *
 * A backend sees only its own `native` values. Owner, generation, sizes, ranges and use are checked here, so that no handle a
 * caller invents, keeps too long or brings from another backend reaches driver code. */
#ifndef VY_DRIVER_RESIDENT_H
#define VY_DRIVER_RESIDENT_H

#include "base/memory.h"
#include "vyre/driver.h"

#include <pthread.h>

typedef struct vy_resident_entry {
    uint64_t native;
    uint64_t size;
    const void *source;  /* what recovery uploads again, or NULL */
    uint32_t generation; /* of this slot in the table; a handle names the one it was given under */
    uint32_t users;      /* calls that use it now, but for those from a dispatch_slot (dispatch_slot.h) */
    uint32_t exports;    /* how often others were told where it lies, and have not said that they are done */
    uint32_t next_free;  /* slot + 1 of the next free one; meaningful while not live */
    uint64_t address; /* where it lies, if others know that: they may have told us too, under another handle; else 0 */
    void (*release)(void *user); /* not NULL: called once, when the buffer has ended */
    void *user;
    uint8_t is_live, is_written, is_read_only;
    uint8_t is_own; /* the library's, or not the caller's yet: no handle names it */
} vy_resident_entry;

typedef struct vy_residents {
    pthread_mutex_t lock;
    VY_VECTOR(vy_resident_entry) entries;
    uint32_t first_free; /* slot + 1, 0 = none */
    uint32_t restored;   /* in recovery: slots before this one are of the new device */
} vy_residents;

void vy_residents_start(vy_residents *residents);
/* Frees the table; native buffers are gone already. */
void vy_residents_end(vy_residents *residents);

/* A checked use of a range: holds the buffer against being freed until vy_resident_unpin. */
typedef struct vy_resident_use {
    uint32_t slot;
    uint64_t native, offset, size;
    uint64_t address; /* of the range; 0 if nobody else can know it */
    uint8_t is_read_only;
    uint64_t whole; /* bytes of the buffer */
} vy_resident_use;
/* size 0 with `to_end` means to the end. `write` marks the buffer as written: recovery no longer restores it.
 *
 * VYRE_INVALID_ARGUMENT  no handle, foreign, stale, read-only and to be written, or the range ends past the buffer */
vyre_status vy_resident_pin(vyre_backend *backend, vyre_resident handle, uint64_t offset, uint64_t size, int to_end,
                            int write, vy_resident_use *use, vyre_error *error);
/* The same with the lock held, for those who pin several: 0 where vy_resident_pin fails, and says why. To the end is size 0. */
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
/* With the lock held: those who have a dispatch_slot may know what is pinned, where that is possible. */
void vy_resident_publish(vyre_backend *backend, const vy_resident_use *uses, size_t count);
/* Whether others know where both lie, and they have bytes in common. */
static inline int vy_resident_overlap(const vy_resident_use *a, const vy_resident_use *b) {
    return a->address && b->address && a->size && b->size && a->address < b->address + b->size &&
           b->address < a->address + a->size;
}

/* A buffer of the library's own, for one who is inside the backend: made pinned, zeroed, filled from its start, read from its start,
 * dropped. A lost backend is not asked to free it: recovery and shutdown do what there is to do. error is never NULL. */
vyre_status vy_temporary_buffer_create(vyre_backend *backend, uint64_t size, vy_resident_use *use, vyre_error *error);
vyre_status vy_temporary_buffer_upload(vyre_backend *backend, const vy_resident_use *use, const void *data,
                                       uint64_t size, vyre_error *error);
vyre_status vy_temporary_buffer_download(vyre_backend *backend, const vy_resident_use *use, void *data, uint64_t size,
                                         vyre_error *error);
void vy_temporary_buffer_destroy(vyre_backend *backend, const vy_resident_use *use);

/* Enters memory that a backend has wrapped, for one who is inside it. The table takes native, size, address, release, user and is_read_only from `what`; generation: the
 * backend's, from before it was asked. On failure the native buffer is freed and nothing is released. */
vyre_status vy_resident_adopt(vyre_backend *backend, const vy_resident_entry *what, uint64_t generation,
                              vyre_resident *out, vyre_error *error);
/* Others know now where the buffer lies, which is pinned: it is not freed until they have said that they are done, once for each time. */
void vy_resident_add_export(vyre_backend *backend, const vy_resident_use *use, uint64_t address);
vyre_status vy_resident_remove_export(vyre_backend *backend, vyre_resident handle, vyre_error *error);

/* Frees all native buffers, ignoring what the backend says: for shutdown. */
void vy_residents_free_all(vyre_backend *backend);
/* After the device came back: buffers with an unwritten source are made and uploaded again, the others become stale. */
vyre_status vy_residents_recover(vyre_backend *backend, vyre_error *error);

#endif
