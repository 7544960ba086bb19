/* Resident buffers where a backend ends or its device comes back (resident.h). */
#include "base/status.h"
#include "driver/backend.h"
#include "driver/resident_native.h"

void vy_residents_free_all(vyre_backend *backend) {
    vy_residents *residents = &backend->residents;
    vyre_error ignored;
    for (uint32_t slot = 0;; slot++) {
        vy_resident_entry taken;
        pthread_mutex_lock(&residents->lock);
        int is_end = slot >= residents->entries.count;
        int is_live = !is_end && residents->entries.items[slot].is_live;
        if (is_live)
            taken = vy_resident_remove(residents, slot);
        pthread_mutex_unlock(&residents->lock);
        if (is_end)
            return;
        if (is_live) {
            vy_native_free(backend, taken.native, &ignored);
            vy_resident_release(&taken);
        }
    }
}

/* A buffer with a source that nothing has written, on the new device. *native: what it is there. */
static vyre_status reallocate(vyre_backend *backend, const vy_resident_entry *entry, uint64_t *native,
                              vyre_error *error) {
    vy_residents *residents = &backend->residents;
    vyre_error ignored;
    vyre_status status = vy_native_allocate(backend, entry->size, native, error);
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&residents->lock);
    int taken = 0; /* those further on still have values of the old device */
    for (uint32_t i = 0; i < residents->restored; i++)
        taken |= residents->entries.items[i].is_live && residents->entries.items[i].native == *native;
    pthread_mutex_unlock(&residents->lock);
    if (taken)
        return vy_native_fail_duplicate(backend, error);
    status = vy_native_upload(backend, *native, 0, entry->source, entry->size, error);
    if (status != VYRE_OK)
        vy_native_free(backend, *native, &ignored);
    return status;
}

static vyre_status restore(vyre_backend *backend, uint32_t slot, vyre_error *error) {
    vy_residents *residents = &backend->residents;
    uint64_t native = 0;
    pthread_mutex_lock(&residents->lock);
    vy_resident_entry entry = residents->entries.items[slot];
    if (entry.is_live && entry.users) { /* by an abandoned call: its handles are stale, its slot is not used again */
        residents->entries.items[slot].is_live = 0;
        vy_count(VY_COUNTER_resident_bytes, (uint64_t)0 - entry.size);
    }
    residents->restored = slot;
    pthread_mutex_unlock(&residents->lock);
    if (!entry.is_live || entry.users)
        return VYRE_OK;
    int keep = entry.source && !entry.is_written;
    vyre_status status = keep ? reallocate(backend, &entry, &native, error) : VYRE_OK;
    vy_resident_entry taken = {.release = NULL};
    pthread_mutex_lock(&residents->lock);
    if (keep && status == VYRE_OK)
        residents->entries.items[slot].native = native;
    else
        taken = vy_resident_remove(residents, slot);
    pthread_mutex_unlock(&residents->lock);
    vy_resident_release(&taken); /* what was made of it went with the device */
    return status;
}

vyre_status vy_residents_recover(vyre_backend *backend, vyre_error *error) {
    vyre_status first = VYRE_OK;
    vy_dispatch_slots_clear(&backend->dispatch_slots);
    for (uint32_t slot = 0; slot < backend->residents.entries.count; slot++) {
        vyre_error own;
        vyre_status status = restore(backend, slot, first == VYRE_OK ? error : &own);
        if (first == VYRE_OK)
            first = status;
    }
    return first;
}
