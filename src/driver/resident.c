/* Resident buffers (resident.h): handle table, native calls, transfers, export, recovery.
 *
 * The id of a handle consists of the slot in the table plus one (low half) and the generation of that slot (high half).
 * A slot whose generations are exhausted is not reused. */
#include "driver/resident.h"

#include "base/diagnostics.h"
#include "base/status.h"
#include "base/thread.h"
#include "driver/backend.h"
#include "driver/telemetry.h"

#include <inttypes.h>

/* ---- native buffers ---- */

static vyre_status native_allocate(vyre_backend *backend, uint64_t size, uint64_t *native, vyre_error *error) {
    if (!backend->calls.resident_allocate)
        return vy_backend_unsupported(backend, "resident buffer allocation", error);
    vy_error_clear(error);
    /* An empty buffer has a handle, too; devices do not allocate 0 bytes. */
    return vy_backend_check_result(
        backend, backend->calls.resident_allocate(backend->self, size ? size : 1, native, error), error);
}

static vyre_status native_free(vyre_backend *backend, uint64_t native, vyre_error *error) {
    if (!backend->calls.resident_free)
        return vy_backend_unsupported(backend, "resident buffer free", error);
    vy_error_clear(error);
    return vy_backend_check_result(backend, backend->calls.resident_free(backend->self, native, error), error);
}

static vyre_status native_upload(vyre_backend *backend, uint64_t native, uint64_t offset, const void *data,
                                 uint64_t size, vyre_error *error) {
    if (!backend->calls.resident_upload)
        return vy_backend_unsupported(backend, "resident buffer upload", error);
    if (size == 0)
        return VYRE_OK;
    vy_error_clear(error);
    vy_span span = vy_span_begin();
    vyre_status status = vy_backend_check_result(
        backend, backend->calls.resident_upload(backend->self, native, offset, data, size, error), error);
    vy_span_end(span, upload, .backend = backend->id, .bytes = size, .status = status);
    if (status == VYRE_OK)
        vy_count(VY_COUNTER_upload_bytes, size);
    return status;
}

static vyre_status native_download(vyre_backend *backend, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                   vyre_error *error) {
    if (!backend->calls.resident_download)
        return vy_backend_unsupported(backend, "resident buffer download", error);
    if (size == 0)
        return VYRE_OK;
    vy_error_clear(error);
    vy_span span = vy_span_begin();
    vyre_status status = vy_backend_check_result(
        backend, backend->calls.resident_download(backend->self, native, offset, data, size, error), error);
    vy_span_end(span, download, .backend = backend->id, .bytes = size, .status = status);
    if (status == VYRE_OK)
        vy_count(VY_COUNTER_download_bytes, size);
    return status;
}

static vyre_status fail_duplicate(vyre_backend *backend, vyre_error *error) {
    return vy_backend_violation(backend, error, "it allocated a resident buffer under a handle that is in use");
}

void vy_residents_start(vy_residents *residents) {
    pthread_mutex_init(&residents->lock, NULL);
}

void vy_residents_end(vy_residents *residents) {
    /* Buffers that an abandoned call used during recovery. */
    for (uint32_t i = 0; i < residents->entries.count; i++)
        if (residents->entries.items[i].release)
            residents->entries.items[i].release(residents->entries.items[i].user);
    VY_VECTOR_FREE(&residents->entries);
    pthread_mutex_destroy(&residents->lock);
}

/* ---- the table; with its lock held ---- */

static vyre_resident handle_of(const vyre_backend *backend, uint32_t slot) {
    uint64_t generation = backend->residents.entries.items[slot].generation;
    return (vyre_resident){backend->owner, generation << 32 | (slot + 1)};
}

static vy_resident_entry *acquire_slot(vy_residents *residents, uint32_t *slot) {
    if (residents->first_free) {
        *slot = residents->first_free - 1;
        residents->first_free = residents->entries.items[*slot].next_free;
        return &residents->entries.items[*slot];
    }
    *slot = residents->entries.count;
    vy_resident_entry *entry = VY_PUSH(&residents->entries);
    if (entry)
        entry->generation = 1;
    return entry;
}

/* Existing handles of this slot become stale. */
static void release_slot(vy_residents *residents, uint32_t slot) {
    vy_resident_entry *entry = &residents->entries.items[slot];
    entry->is_live = 0;
    if (entry->generation == UINT32_MAX)
        return;
    entry->generation++;
    entry->next_free = residents->first_free;
    residents->first_free = slot + 1;
}

static vy_resident_entry remove_slot(vy_residents *residents, uint32_t slot) {
    vy_resident_entry taken = residents->entries.items[slot];
    vy_count(VY_COUNTER_resident_bytes, (uint64_t)0 - taken.size);
    residents->entries.items[slot].release = NULL;
    release_slot(residents, slot);
    return taken;
}

static void call_release(const vy_resident_entry *taken) {
    if (taken->release)
        taken->release(taken->user);
}

static vyre_status find(vyre_backend *backend, vyre_resident handle, uint32_t *slot, vyre_error *error) {
    const vy_residents *residents = &backend->residents;
    uint64_t index = (handle.id & UINT32_MAX) - 1;
    if (handle.owner != backend->owner)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       handle.owner ? "use a buffer with the backend that allocated it" : "allocate the buffer first",
                       handle.owner ? "the resident buffer belongs to another backend than `%s`"
                                    : "the handle passed to backend `%s` is null",
                       backend->id);
    if (index >= residents->entries.count || !residents->entries.items[index].is_live ||
        residents->entries.items[index].is_own || residents->entries.items[index].generation != handle.id >> 32)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, "use handles only until they are freed or the device is recovered",
                       "the handle of a resident buffer of backend `%s` is stale", backend->id);
    *slot = (uint32_t)index;
    return VYRE_OK;
}

static vyre_status check_range(const vy_resident_entry *entry, uint64_t offset, uint64_t size, vyre_error *error) {
    if (offset <= entry->size && size <= entry->size - offset)
        return VYRE_OK;
    return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("use a range within its %" PRIu64 " bytes", entry->size),
                   "the range of %" PRIu64 " bytes at offset %" PRIu64
                   " ends past the end of the resident buffer (%" PRIu64 " bytes)",
                   size, offset, entry->size);
}

/* ---- pinning ---- */

vyre_status vy_resident_pin(vyre_backend *backend, vyre_resident handle, uint64_t offset, uint64_t size, int to_end,
                            int write, vy_resident_use *use, vyre_error *error) {
    vy_residents *residents = &backend->residents;
    uint32_t slot = 0;
    pthread_mutex_lock(&residents->lock);
    vyre_status status = find(backend, handle, &slot, error);
    if (status == VYRE_OK) {
        vy_resident_entry *entry = &residents->entries.items[slot];
        if (to_end && size == 0 && offset <= entry->size)
            size = entry->size - offset;
        status = check_range(entry, offset, size, error);
        if (status == VYRE_OK && write && entry->is_read_only)
            status =
                vy_fail(error, VYRE_INVALID_ARGUMENT, "write to another buffer, or wrap memory that may be written",
                        "the resident buffer was wrapped as read-only and cannot be written");
        if (status == VYRE_OK) {
            entry->users++;
            entry->is_written |= (uint8_t)(write != 0);
            *use = (vy_resident_use){.slot = slot,
                                     .native = entry->native,
                                     .offset = offset,
                                     .size = size,
                                     .address = entry->address ? entry->address + offset : 0,
                                     .is_read_only = entry->is_read_only,
                                     .whole = entry->size};
        }
    }
    pthread_mutex_unlock(&residents->lock);
    return status;
}

void vy_resident_unpin(vyre_backend *backend, const vy_resident_use *uses, size_t count) {
    vy_residents *residents = &backend->residents;
    if (count == 0)
        return;
    pthread_mutex_lock(&residents->lock);
    for (size_t i = 0; i < count; i++)
        residents->entries.items[uses[i].slot].users--;
    pthread_mutex_unlock(&residents->lock);
}

void vy_resident_publish(vyre_backend *backend, const vy_resident_use *uses, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const vy_resident_entry *entry = &backend->residents.entries.items[uses[i].slot];
        if (!entry->address && !entry->is_read_only)
            vy_dispatch_slots_publish(&backend->dispatch_slots, handle_of(backend, uses[i].slot).id, entry->native,
                                      entry->size, entry->is_written);
    }
}

/* ---- allocating and freeing ---- */

/* Whether a live buffer has this native value: the backend then returned a handle twice. With the lock held. */
static int is_duplicate(const vy_residents *residents, uint64_t native) {
    for (uint32_t i = 0; i < residents->entries.count; i++)
        if (residents->entries.items[i].is_live && residents->entries.items[i].native == native)
            return 1;
    return 0;
}

static vyre_status fail_lost(const vyre_backend *backend, vyre_error *error) {
    return vy_fail(error, VYRE_DEVICE_LOST, NULL, "the device of backend `%s` was lost during the call", backend->id);
}

/* Enters a native buffer described by `what`, pinned and without a handle until the caller unpins it. On failure the
 * native buffer is not freed if the device was lost during the call, because the recovered device may have reused its
 * value, nor if its value is in use, because it belongs to another buffer. */
static vyre_status enter_pinned(vyre_backend *backend, const vy_resident_entry *what, uint64_t generation,
                                uint32_t *slot, vyre_error *error) {
    vy_residents *residents = &backend->residents;
    vyre_error ignored;
    pthread_mutex_lock(&residents->lock);
    int is_lost = atomic_load(&backend->is_lost) || vyre_backend_generation(backend) != generation;
    int taken = !is_lost && is_duplicate(residents, what->native);
    vy_resident_entry *entry = is_lost || taken ? NULL : acquire_slot(residents, slot);
    if (entry) {
        uint32_t slot_generation = entry->generation;
        *entry = *what;
        entry->generation = slot_generation;
        entry->users = entry->is_live = entry->is_own = 1;
    }
    pthread_mutex_unlock(&residents->lock);
    if (is_lost)
        return fail_lost(backend, error);
    if (taken)
        return fail_duplicate(backend, error);
    if (!entry) {
        native_free(backend, what->native, &ignored);
        return vy_fail_memory(error, "allocating a resident buffer");
    }
    vy_count(VY_COUNTER_resident_allocations, 1);
    vy_count(VY_COUNTER_resident_bytes, what->size);
    return VYRE_OK;
}

/* Allocates, and enters the buffer pinned. */
static vyre_status make_pinned(vyre_backend *backend, uint64_t size, const void *source, uint32_t *slot,
                               uint64_t *native, vyre_error *error) {
    uint64_t generation = vyre_backend_generation(backend);
    vyre_status status = native_allocate(backend, size, native, error);
    if (status != VYRE_OK)
        return status;
    return enter_pinned(backend, &(vy_resident_entry){.native = *native, .size = size, .source = source}, generation,
                        slot, error);
}

static vyre_status allocate(vyre_backend *backend, uint64_t size, const void *source, vyre_resident *out,
                            vyre_error *error) {
    vy_residents *residents = &backend->residents;
    vyre_error ignored;
    uint64_t native = 0;
    uint32_t slot;
    vyre_status status = make_pinned(backend, size, source, &slot, &native, error);
    if (status != VYRE_OK)
        return status;
    if (source)
        status = native_upload(backend, native, 0, source, size, error);
    pthread_mutex_lock(&residents->lock);
    residents->entries.items[slot].users--;
    residents->entries.items[slot].is_own = 0;
    if (status == VYRE_OK)
        *out = handle_of(backend, slot);
    else
        remove_slot(residents, slot);
    pthread_mutex_unlock(&residents->lock);
    if (status != VYRE_OK)
        native_free(backend, native, &ignored);
    return status;
}

vyre_status vyre_resident_allocate(vyre_backend *backend, uint64_t size, const void *host_source, vyre_resident *out,
                                   vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, out);
    *out = (vyre_resident){0, 0};
    VY_REQUIRE(error, backend);
    vyre_error own;
    vyre_error *e = error ? error : &own;
    uint64_t limit = vyre_backend_capability(backend, VYRE_CAPABILITY_MAX_STORAGE_BYTES);
    if (limit && size > limit)
        return vy_fail(error, VYRE_LIMIT, VY_FIX("allocate at most %" PRIu64 " bytes a buffer", limit),
                       "a resident buffer of %" PRIu64 " bytes exceeds the limit of backend `%s` (%" PRIu64 ")", size,
                       backend->id, limit);
    vyre_status status = vy_backend_enter(backend, error);
    if (status != VYRE_OK)
        return status;
    status = allocate(backend, size, host_source, out, e);
    vy_backend_leave(backend);
    return status;
}

static vyre_status remove_entry(vyre_backend *backend, vyre_resident handle, vy_resident_entry *taken,
                                vyre_error *error) {
    vy_residents *residents = &backend->residents;
    uint32_t slot;
    pthread_mutex_lock(&residents->lock);
    vyre_status status = find(backend, handle, &slot, error);
    uint32_t users = 0;
    if (status == VYRE_OK)
        users = residents->entries.items[slot].users + vy_dispatch_slots_retire(&backend->dispatch_slots, handle.id);
    if (users)
        status = vy_fail(error, VYRE_CONFLICT, "free it after the calls that use it have ended",
                         "the resident buffer of backend `%s` is in use by %" PRIu32 " calls", backend->id, users);
    else if (status == VYRE_OK && residents->entries.items[slot].exports)
        status =
            vy_fail(error, VYRE_CONFLICT, "end all its exports first (vyre_resident_unexport, or the tensor's deleter)",
                    "the resident buffer of backend `%s` is exported (%" PRIu32 " times)", backend->id,
                    residents->entries.items[slot].exports);
    if (status == VYRE_OK)
        *taken = remove_slot(residents, slot);
    pthread_mutex_unlock(&residents->lock);
    return status;
}

vyre_status vyre_resident_free(vyre_backend *backend, vyre_resident resident, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    vyre_error own;
    vy_resident_entry taken;
    vyre_status status = vy_backend_enter(backend, error);
    if (status != VYRE_OK)
        return status;
    /* A backend that cannot free cannot have allocated: report that instead of an unknown handle. */
    if (!backend->calls.resident_free)
        status = vy_backend_unsupported(backend, "resident buffer free", error);
    else
        status = remove_entry(backend, resident, &taken, error);
    if (status == VYRE_OK) {
        status = native_free(backend, taken.native, error ? error : &own);
        call_release(&taken);
    }
    vy_backend_leave(backend);
    return status;
}

vyre_status vyre_resident_size(vyre_backend *backend, vyre_resident resident, uint64_t *size, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, size);
    *size = 0;
    VY_REQUIRE(error, backend);
    uint32_t slot;
    vyre_status status = vy_backend_check_process(backend, error);
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&backend->residents.lock);
    status = find(backend, resident, &slot, error);
    if (status == VYRE_OK)
        *size = backend->residents.entries.items[slot].size;
    pthread_mutex_unlock(&backend->residents.lock);
    return status;
}

/* ---- temporary buffers ---- */

vyre_status vy_temporary_buffer_create(vyre_backend *backend, uint64_t size, vy_resident_use *use, vyre_error *error) {
    use->offset = 0, use->size = size, use->native = 0;
    return make_pinned(backend, size, NULL, &use->slot, &use->native, error);
}

/* An abandoned call may return after a recovery: its native buffers do not exist on the new device. They are pinned, so
 * their slots were not reused. */
static int is_gone(vyre_backend *backend, const vy_resident_use *use) {
    pthread_mutex_lock(&backend->residents.lock);
    int is_live = backend->residents.entries.items[use->slot].is_live;
    pthread_mutex_unlock(&backend->residents.lock);
    return !is_live || atomic_load(&backend->is_lost);
}

vyre_status vy_temporary_buffer_upload(vyre_backend *backend, const vy_resident_use *use, const void *data,
                                       uint64_t size, vyre_error *error) {
    return is_gone(backend, use) ? fail_lost(backend, error)
                                 : native_upload(backend, use->native, 0, data, size, error);
}

vyre_status vy_temporary_buffer_download(vyre_backend *backend, const vy_resident_use *use, void *data, uint64_t size,
                                         vyre_error *error) {
    return is_gone(backend, use) ? fail_lost(backend, error)
                                 : native_download(backend, use->native, 0, data, size, error);
}

void vy_temporary_buffer_destroy(vyre_backend *backend, const vy_resident_use *use) {
    vy_residents *residents = &backend->residents;
    vyre_error ignored;
    pthread_mutex_lock(&residents->lock);
    vy_resident_entry *entry = &residents->entries.items[use->slot];
    entry->users--;
    /* A recovery meanwhile made it stale. */
    int is_ours = entry->is_live && !atomic_load(&backend->is_lost);
    if (is_ours)
        remove_slot(residents, use->slot);
    pthread_mutex_unlock(&residents->lock);
    if (is_ours && native_free(backend, use->native, &ignored) != VYRE_OK)
        vy_log(1, backend->id, ignored.message);
}

/* ---- exported and foreign memory ---- */

vyre_status vy_resident_adopt(vyre_backend *backend, const vy_resident_entry *what, uint64_t generation,
                              vyre_resident *out, vyre_error *error) {
    vy_residents *residents = &backend->residents;
    uint32_t slot;
    vyre_status status = enter_pinned(backend, what, generation, &slot, error);
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&residents->lock);
    residents->entries.items[slot].users--;
    residents->entries.items[slot].is_own = 0;
    *out = handle_of(backend, slot);
    pthread_mutex_unlock(&residents->lock);
    return VYRE_OK;
}

void vy_resident_add_export(vyre_backend *backend, const vy_resident_use *use, uint64_t address) {
    pthread_mutex_lock(&backend->residents.lock);
    vy_resident_entry *entry = &backend->residents.entries.items[use->slot];
    vy_dispatch_slots_retire(&backend->dispatch_slots,
                             handle_of(backend, use->slot).id); /* it may overlap foreign memory from now on */
    entry->exports++;
    entry->address = address;
    entry->is_written = 1; /* the importer may write at any time */
    pthread_mutex_unlock(&backend->residents.lock);
}

vyre_status vy_resident_remove_export(vyre_backend *backend, vyre_resident handle, vyre_error *error) {
    uint32_t slot;
    vyre_status status = vy_backend_check_process(backend, error);
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&backend->residents.lock);
    status = find(backend, handle, &slot, error);
    if (status == VYRE_OK && !backend->residents.entries.items[slot].exports)
        status = vy_fail(error, VYRE_INVALID_ARGUMENT, "end every export once",
                         "the resident buffer of backend `%s` is not exported", backend->id);
    if (status == VYRE_OK)
        backend->residents.entries.items[slot].exports--;
    pthread_mutex_unlock(&backend->residents.lock);
    return status;
}

/* ---- transfers of one range ---- */

/* One range in either direction: an upload reads `data`, a download writes it. */
static vyre_status transfer(vyre_backend *backend, vyre_resident resident, uint64_t offset, void *data, uint64_t size,
                            int upload, vyre_error *error) {
    vyre_error own;
    vyre_error *e = error ? error : &own;
    vy_resident_use use;
    if (upload ? !backend->calls.resident_upload : !backend->calls.resident_download)
        return vy_backend_unsupported(backend, upload ? "resident buffer upload" : "resident buffer download", error);
    vyre_status status = vy_backend_enter(backend, error);
    if (status != VYRE_OK)
        return status;
    status = vy_resident_pin(backend, resident, offset, size, 0, upload, &use, e);
    if (status == VYRE_OK) {
        status = upload ? native_upload(backend, use.native, offset, data, size, e)
                        : native_download(backend, use.native, offset, data, size, e);
        vy_resident_unpin(backend, &use, 1);
    }
    vy_backend_leave(backend);
    return status;
}

vyre_status vyre_resident_upload_at(vyre_backend *backend, vyre_resident resident, uint64_t offset, const void *data,
                                    uint64_t size, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE_ARRAY(error, data, size);
    return transfer(backend, resident, offset, (void *)data, size, 1, error);
}

vyre_status vyre_resident_download_at(vyre_backend *backend, vyre_resident resident, uint64_t offset, void *data,
                                      uint64_t size, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE_ARRAY(error, data, size);
    return transfer(backend, resident, offset, data, size, 0, error);
}

vyre_status vyre_resident_upload(vyre_backend *backend, vyre_resident resident, const void *data, uint64_t size,
                                 vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE_ARRAY(error, data, size);
    uint64_t whole;
    if (!backend->calls.resident_upload)
        return vy_backend_unsupported(backend, "resident buffer upload", error);
    vyre_status status = vyre_resident_size(backend, resident, &whole, error);
    if (status == VYRE_OK && size != whole)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("upload exactly %" PRIu64 " bytes, or a range with vyre_resident_upload_at", whole),
                       "an upload of %" PRIu64 " bytes does not match the resident buffer (%" PRIu64 " bytes)", size,
                       whole);
    return status == VYRE_OK ? vyre_resident_upload_at(backend, resident, 0, data, size, error) : status;
}

vyre_status vyre_resident_download(vyre_backend *backend, vyre_resident resident, vyre_bytes *out, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE(error, out);
    uint64_t whole;
    if (!backend->calls.resident_download)
        return vy_backend_unsupported(backend, "resident buffer download", error);
    vyre_status status = vyre_resident_size(backend, resident, &whole, error);
    if (status == VYRE_OK)
        status = vyre_bytes_resize(out, (size_t)whole, error);
    return status == VYRE_OK ? vyre_resident_download_at(backend, resident, 0, out->data, whole, error) : status;
}

/* ---- transfers of many ranges ---- */

static vyre_status pin_all(vyre_backend *backend, const vyre_transfer *transfers, size_t count, int upload,
                           vy_resident_use *uses, vyre_transfer *native, vyre_error *error) {
    for (size_t i = 0; i < count; i++) {
        vyre_status status = VYRE_OK;
        if (transfers[i].size && !transfers[i].host)
            status = vy_fail(error, VYRE_INVALID_ARGUMENT, "point at the bytes",
                             "%" PRIu64 " bytes of transfer %zu are at a NULL pointer", transfers[i].size, i);
        if (status == VYRE_OK)
            status = vy_resident_pin(backend, transfers[i].resident, transfers[i].offset, transfers[i].size, 0, upload,
                                     &uses[i], error);
        if (status != VYRE_OK) {
            vy_resident_unpin(backend, uses, i);
            return status;
        }
        native[i] = transfers[i];
        native[i].resident.id = uses[i].native;
    }
    return VYRE_OK;
}

static vyre_status run_batch(vyre_backend *backend, const vyre_transfer *native, size_t count, int upload,
                             vyre_error *error) {
    vyre_status (*batch)(void *, const vyre_transfer *, size_t, vyre_error *) =
        upload ? backend->calls.resident_upload_batch : backend->calls.resident_download_batch;
    vyre_status status = VYRE_OK;
    if (!batch) {
        for (size_t i = 0; i < count && status == VYRE_OK; i++)
            status = upload ? native_upload(backend, native[i].resident.id, native[i].offset, native[i].host,
                                            native[i].size, error)
                            : native_download(backend, native[i].resident.id, native[i].offset, native[i].host,
                                              native[i].size, error);
        return status;
    }
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += native[i].size;
    vy_error_clear(error);
    vy_span span = vy_span_begin();
    status = vy_backend_check_result(backend, batch(backend->self, native, count, error), error);
    if (upload)
        vy_span_end(span, upload, .backend = backend->id, .bytes = bytes, .count = count, .status = status);
    else
        vy_span_end(span, download, .backend = backend->id, .bytes = bytes, .count = count, .status = status);
    if (status == VYRE_OK)
        vy_count(upload ? VY_COUNTER_upload_bytes : VY_COUNTER_download_bytes, bytes);
    return status;
}

static vyre_status transfer_all(vyre_backend *backend, const vyre_transfer *transfers, size_t count, int upload,
                                vyre_error *error) {
    vyre_error own;
    vyre_error *e = error ? error : &own;
    size_t item = sizeof(vy_resident_use) + sizeof(vyre_transfer);
    if (upload ? !backend->calls.resident_upload : !backend->calls.resident_download)
        return vy_backend_unsupported(backend, upload ? "resident buffer upload" : "resident buffer download", error);
    if (count == 0)
        return VYRE_OK;
    vyre_transfer *native = vy_allocate(vy_array_size(count, item));
    if (!native)
        return vy_fail_memory(error, "listing the transfers");
    vy_resident_use *uses = (vy_resident_use *)(native + count);
    vyre_status status = vy_backend_enter(backend, error);
    if (status == VYRE_OK) {
        status = pin_all(backend, transfers, count, upload, uses, native, e);
        if (status == VYRE_OK) {
            status = run_batch(backend, native, count, upload, e);
            vy_resident_unpin(backend, uses, count);
        }
        vy_backend_leave(backend);
    }
    vy_release(native, count * item);
    return status;
}

vyre_status vyre_resident_upload_batch(vyre_backend *backend, const vyre_transfer *transfers, size_t count,
                                       vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE_ARRAY(error, transfers, count);
    return transfer_all(backend, transfers, count, 1, error);
}

vyre_status vyre_resident_download_batch(vyre_backend *backend, const vyre_transfer *transfers, size_t count,
                                         vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    VY_REQUIRE_ARRAY(error, transfers, count);
    return transfer_all(backend, transfers, count, 0, error);
}

/* ---- shutdown and recovery ---- */

void vy_residents_free_all(vyre_backend *backend) {
    vy_residents *residents = &backend->residents;
    vyre_error ignored;
    for (uint32_t slot = 0;; slot++) {
        vy_resident_entry taken;
        pthread_mutex_lock(&residents->lock);
        int is_end = slot >= residents->entries.count;
        int is_live = !is_end && residents->entries.items[slot].is_live;
        if (is_live)
            taken = remove_slot(residents, slot);
        pthread_mutex_unlock(&residents->lock);
        if (is_end)
            return;
        if (is_live) {
            native_free(backend, taken.native, &ignored);
            call_release(&taken);
        }
    }
}

/* Allocates a buffer with an unwritten source on the new device, and uploads it. *native: its new value. */
static vyre_status reallocate(vyre_backend *backend, const vy_resident_entry *entry, uint64_t *native,
                              vyre_error *error) {
    vy_residents *residents = &backend->residents;
    vyre_error ignored;
    vyre_status status = native_allocate(backend, entry->size, native, error);
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&residents->lock);
    int taken = 0; /* later slots still have values of the old device */
    for (uint32_t i = 0; i < residents->restored; i++)
        taken |= residents->entries.items[i].is_live && residents->entries.items[i].native == *native;
    pthread_mutex_unlock(&residents->lock);
    if (taken)
        return fail_duplicate(backend, error);
    status = native_upload(backend, *native, 0, entry->source, entry->size, error);
    if (status != VYRE_OK)
        native_free(backend, *native, &ignored);
    return status;
}

static vyre_status restore(vyre_backend *backend, uint32_t slot, vyre_error *error) {
    vy_residents *residents = &backend->residents;
    uint64_t native = 0;
    pthread_mutex_lock(&residents->lock);
    vy_resident_entry entry = residents->entries.items[slot];
    /* used by an abandoned call: its handles become stale, its slot is not reused */
    if (entry.is_live && entry.users) {
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
        taken = remove_slot(residents, slot);
    pthread_mutex_unlock(&residents->lock);
    call_release(&taken); /* the native buffer ended with the device */
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
