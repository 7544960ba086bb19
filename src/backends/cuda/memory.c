/* Device memory: pool, resident buffers and their transfers; memory and streams of other libraries (memory.h). */
#include "backends/cuda/memory.h"

#include "backends/cuda/graph.h"
#include "backends/cuda/stream_slot.h"
#include "backends/cuda/transfer.h"
#include "base/memory.h"
#include "base/status.h"
#include "driver/dispatch.h"

#include <inttypes.h>

static vy_cu_stream external_stream_get(vy_cuda *cuda);

/* ---- device memory: the pool ---- */

/* Upper bound on the freed memory that the pool keeps: an eighth of the device's memory, to leave some for other
 * processes. */
static uint64_t threshold(const vy_cuda *cuda) {
    return cuda->device_info.memory_bytes / 8;
}

vyre_status vy_cuda_pool_start(vy_cuda *cuda, vyre_error *error) {
    const vy_cu_pool_properties properties = {.allocation_type = 1, .location_type = 1, .location = cuda->device};
    uint64_t keep = threshold(cuda);
    if (!cuda->device_info.has_pools)
        return VYRE_OK;
    vyre_status status =
        vy_cuda_check(cuda, cuda->api.pool_create(&cuda->pool, &properties), "making a memory pool", error);
    if (status == VYRE_OK)
        status = vy_cuda_check(cuda, cuda->api.pool_set(cuda->pool, VY_CU_POOL_RELEASE_THRESHOLD, &keep),
                               "bounding a memory pool", error);
    return status;
}

void vy_cuda_pool_end(vy_cuda *cuda) {
    if (cuda->pool)
        cuda->api.pool_destroy(cuda->pool);
    cuda->pool = NULL;
}

static int allocate(vy_cuda *cuda, vy_cu_stream stream, uint64_t size, vy_cu_address *out) {
    return cuda->pool ? cuda->api.pool_allocate(out, (size_t)size, cuda->pool, stream)
                      : cuda->api.memory_allocate(out, (size_t)size);
}

/* Frees cached memory that is not in use. stream: the caller's own. Memory that was freed in stream order becomes
 * available after a wait for that stream. Only idle streams, the signal stream and the caller's are waited for: work
 * that other threads have in flight may not end until this thread makes progress. */
static void memory_trim(vy_cuda *cuda, vy_cu_stream stream) {
    vy_cuda_stream_slots_trim(cuda);
    vy_cuda_graphs_drop(cuda, NULL);
    if (cuda->pool) {
        if (cuda->signal) /* NULL while the first stream_slot is being created */
            cuda->api.stream_synchronize(cuda->signal);
        cuda->api.stream_synchronize(stream);
        cuda->api.pool_trim(cuda->pool, 0);
    }
}

static vyre_status fail_memory(vy_cuda *cuda, uint64_t size, const char *doing, vyre_error *error) {
    size_t free_bytes = 0, total = 0;
    cuda->api.memory_info(&free_bytes, &total);
    return vy_fail(error, VYRE_NO_DEVICE_MEMORY, NULL,
                   "device memory for %s is out: %" PRIu64 " bytes are asked for, %zu of %zu are free", doing, size,
                   free_bytes, total);
}

vyre_status vy_cuda_memory_allocate(vy_cuda *cuda, vy_cu_stream stream, uint64_t size, const char *doing,
                                    vy_cu_address *out, vyre_error *error) {
    int result = allocate(cuda, stream, size, out);
    if (result == VY_CU_OUT_OF_MEMORY) {
        memory_trim(cuda, stream);
        result = allocate(cuda, stream, size, out);
    }
    if (result == VY_CU_OK)
        return VYRE_OK;
    *out = 0;
    return result == VY_CU_OUT_OF_MEMORY ? fail_memory(cuda, size, doing, error)
                                         : vy_cuda_failed(cuda, result, "allocating device memory", error);
}

/* A failed call may report an error of earlier work; that error is ignored here, because the wait for that work reports
 * it. */
void vy_cuda_memory_free(vy_cuda *cuda, vy_cu_stream stream, vy_cu_address address) {
    if (cuda->pool)
        cuda->api.pool_free(address, stream);
    else
        cuda->api.memory_free(address);
}

/* ---- blocks ---- */

void vy_cuda_blocks_invalidate(vy_cuda *cuda) {
    for (vy_gpu_block *base = cuda->base.blocks; base; base = base->next) {
        const vy_cuda_block *block = (const vy_cuda_block *)base;
        if (!block->is_foreign && !base->is_gone)
            vy_cuda_memory_free(cuda, cuda->signal, block->address);
        base->is_gone = 1;
    }
}

void vy_cuda_blocks_free(vy_cuda *cuda) {
    while (cuda->base.blocks) {
        vy_cuda_block *block = (vy_cuda_block *)cuda->base.blocks;
        vy_gpu_block_unlink(&cuda->base, &block->base);
        vy_release(block, sizeof *block);
    }
}

/* ---- entries ---- */

static vyre_status allocate_block(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, uint64_t size, vy_cu_address *out,
                                  vyre_error *error) {
    vyre_status status = vy_cuda_memory_allocate(cuda, stream_slot->stream, size, "a resident buffer", out, error);
    if (status != VYRE_OK)
        return status;
    status =
        vy_cuda_check(cuda, cuda->api.fill(*out, 0, (size_t)size, stream_slot->stream), "clearing a buffer", error);
    if (status == VYRE_OK)
        status = vy_cuda_stream_slot_wait(cuda, stream_slot, "clearing a buffer", error);
    if (status != VYRE_OK)
        vy_cuda_memory_free(cuda, stream_slot->stream, *out);
    return status;
}

vyre_status vy_cuda_resident_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error) {
    vy_cuda *cuda = self;
    vy_cuda_stream_slot *stream_slot;
    int was_pushed;
    vy_cuda_block *block = vy_allocate_zero(sizeof *block);
    if (!block)
        return vy_fail_memory(error, "allocating a resident buffer");
    block->base.size = size;
    vyre_status status = vy_cuda_enter(cuda, &was_pushed, error);
    if (status == VYRE_OK) {
        status = vy_cuda_stream_slot_acquire(cuda, &stream_slot, error);
        if (status == VYRE_OK) {
            status = allocate_block(cuda, stream_slot, size ? size : 1, &block->address, error);
            vy_cuda_stream_slot_release(cuda, stream_slot);
        }
        vy_cuda_leave(cuda, was_pushed);
    }
    if (status != VYRE_OK) {
        vy_release(block, sizeof *block);
        return status;
    }
    vy_gpu_block_link(&cuda->base, &block->base);
    *native = (uintptr_t)block;
    return VYRE_OK;
}

/* The block is unused, so it is freed in the order of any stream that is ordered after all joined streams. Allocates
 * nothing, because memory may be exhausted. */
static vyre_status free_block(vy_cuda *cuda, const vy_cuda_block *block, vyre_error *error) {
    vy_cuda_stream_slot *stream_slot = vy_cuda_stream_slot_try_acquire(cuda);
    if (!stream_slot) {
        vy_cuda_memory_free(cuda, external_stream_get(cuda), block->address);
        return VYRE_OK;
    }
    vyre_status status = vy_cuda_external_stream_sync(cuda, stream_slot, error);
    if (status == VYRE_OK)
        vy_cuda_memory_free(cuda, stream_slot->stream, block->address);
    vy_cuda_stream_slot_release(cuda, stream_slot);
    return status;
}

/* A block that cannot be freed now is kept until the device ends. */
vyre_status vy_cuda_resident_free(void *self, uint64_t native, vyre_error *error) {
    vy_cuda *cuda = self;
    vy_cuda_block *block = (vy_cuda_block *)(uintptr_t)native;
    int was_pushed = 0, has_memory = !block->is_foreign && !block->base.is_gone;
    vyre_status status = has_memory ? vy_cuda_enter(cuda, &was_pushed, error) : (vyre_status)VYRE_OK;
    if (status == VYRE_OK && has_memory) {
        status = free_block(cuda, block, error);
        vy_cuda_leave(cuda, was_pushed);
    }
    if (status == VYRE_OK) {
        vy_gpu_block_unlink(&cuda->base, &block->base);
        vy_release(block, sizeof *block);
    }
    return status;
}

/* Whether a transfer is large enough for several threads to pay off. */
static int is_large(const vyre_transfer *transfers, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (transfers[i].size >= VY_CUDA_PARALLEL_COPY_MIN)
            return 1;
    return 0;
}

static vyre_status upload(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const vyre_transfer *transfers, size_t count,
                          vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < count && status == VYRE_OK; i++)
        status = vy_cuda_stage_in(cuda, &stream_slot->staging, stream_slot->stream,
                                  vy_cuda_resident_address(transfers[i].resident.id) + transfers[i].offset,
                                  transfers[i].host, transfers[i].size, error);
    return status == VYRE_OK ? vy_cuda_stream_slot_wait(cuda, stream_slot, "copying to the device", error) : status;
}

vyre_status vy_cuda_download(vy_gpu_slot *slot, const vyre_transfer *transfers, size_t count, vyre_error *error) {
    vy_cuda_stream_slot *stream_slot = (vy_cuda_stream_slot *)slot;
    enum { AT_ONCE = 64 };
    vy_cuda_copy copies[AT_ONCE];
    vyre_status status = VYRE_OK;
    while (count && status == VYRE_OK) {
        size_t n = count < AT_ONCE ? count : AT_ONCE;
        for (size_t i = 0; i < n; i++)
            copies[i] = (vy_cuda_copy){vy_cuda_resident_address(transfers[i].resident.id) + transfers[i].offset,
                                       transfers[i].host, transfers[i].size};
        status = vy_cuda_stage_out((vy_cuda *)slot->gpu, &stream_slot->staging, stream_slot->stream, copies, n, error);
        transfers += n, count -= n;
    }
    return status;
}

/* The transfers one after the other, each by all threads. */
static vyre_status move_each(vy_cuda *cuda, const vyre_transfer *transfers, size_t count, int is_upload,
                             vyre_error *error) {
    vyre_status status = VYRE_OK;
    for (size_t i = 0; i < count && status == VYRE_OK; i++) {
        vy_cuda_copy copy = {vy_cuda_resident_address(transfers[i].resident.id) + transfers[i].offset,
                             transfers[i].host, transfers[i].size};
        status = vy_cuda_parallel_copy(cuda, &copy, 1, is_upload, error);
    }
    return status;
}

vyre_status vy_cuda_transfer(vy_gpu *gpu, const vyre_transfer *transfers, size_t count, int is_upload,
                             vyre_error *error) {
    vy_cuda *cuda = (vy_cuda *)gpu;
    vy_cuda_stream_slot *stream_slot;
    if (is_large(transfers, count))
        return move_each(cuda, transfers, count, is_upload, error);
    vyre_status status = vy_cuda_stream_slot_acquire(cuda, &stream_slot, error);
    if (status != VYRE_OK)
        return status;
    status = is_upload ? upload(cuda, stream_slot, transfers, count, error)
                       : vy_cuda_download(&stream_slot->base, transfers, count, error);
    if (status != VYRE_OK)
        cuda->api.stream_synchronize(
            stream_slot->stream); /* no work may be in flight when another dispatch acquires the slot */
    vy_cuda_stream_slot_release(cuda, stream_slot);
    return status;
}

/* ---- interoperability ---- */

/* Results that are mapped to specific errors here. */
enum { INVALID_CONTEXT = 201, INVALID_HANDLE = 400, CAPTURE_IMPLICIT = 906 };

/* ---- wrapping ---- */

static vyre_status check_location(const vy_cuda *cuda, const vyre_memory_location *place, vyre_error *error) {
    int is_cuda = place->device == VYRE_LOCATION_CUDA;
    if (place->device == VYRE_LOCATION_OWN || place->device == VYRE_LOCATION_CUDA_MANAGED ||
        (is_cuda && place->ordinal == (int32_t)cuda->ordinal))
        return VYRE_OK;
    if (is_cuda)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       VY_FIX("acquire the backend of that device: \"cuda#%" PRId32 "\"", place->ordinal),
                       "the memory is on CUDA device %" PRId32 ", the backend's device is %" PRIu32, place->ordinal,
                       cuda->ordinal);
    return vy_fail(error, VYRE_INVALID_ARGUMENT,
                   "upload the bytes with vyre_resident_upload, or wrap memory of the device",
                   "backend `cuda` works on device memory, and is given %s memory (device type %" PRId32 ")",
                   vy_location_name(place->device), place->device);
}

/* Checks one byte with the driver's pointer attributes. */
static vyre_status check_byte(vy_cuda *cuda, vy_cu_address address, vyre_error *error) {
    unsigned kind = 0;
    int ordinal = -1;
    int result = cuda->api.pointer_attribute(&kind, VY_CU_POINTER_KIND, address);
    if (result == VY_CU_INVALID_VALUE || (result == VY_CU_OK && kind != VY_CU_KIND_DEVICE))
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       "wrap memory of the device, of the size it was allocated with; upload memory of the host",
                       "address 0x%" PRIx64 " is %s", address,
                       kind == VY_CU_KIND_HOST ? "memory of the host" : "not memory of a device of this driver");
    if (result == VY_CU_OK)
        result = cuda->api.pointer_attribute(&ordinal, VY_CU_POINTER_ORDINAL, address);
    if (result != VY_CU_OK)
        return vy_cuda_failed(cuda, result, "reading the device of an address", error);
    if (ordinal != (int)cuda->ordinal)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("acquire the backend of that device: \"cuda#%d\"", ordinal),
                       "address 0x%" PRIx64 " is memory of CUDA device %d, the backend's device is %" PRIu32, address,
                       ordinal, cuda->ordinal);
    return VYRE_OK;
}

static vyre_status check_memory(vy_cuda *cuda, vy_cu_address address, uint64_t size, vyre_error *error) {
    int was_pushed;
    vyre_status status = vy_cuda_enter(cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = check_byte(cuda, address, error);
    if (status == VYRE_OK)
        status = check_byte(cuda, address + size - 1, error);
    vy_cuda_leave(cuda, was_pushed);
    return status;
}

vyre_status vy_cuda_resident_wrap(void *self, const vyre_memory_location *place, uint64_t size, uint64_t *native,
                                  vyre_error *error) {
    vy_cuda *cuda = self;
    vyre_status status = check_location(cuda, place, error);
    if (status == VYRE_OK)
        status = check_memory(cuda, place->address, size, error);
    if (status != VYRE_OK)
        return status;
    vy_cuda_block *block = vy_allocate_zero(sizeof *block);
    if (!block)
        return vy_fail_memory(error, "wrapping foreign memory");
    block->address = place->address;
    block->base.size = size;
    block->is_foreign = 1;
    vy_gpu_block_link(&cuda->base, &block->base);
    *native = (uintptr_t)block;
    return VYRE_OK;
}

vyre_status vy_cuda_resident_location(void *self, uint64_t native, vyre_memory_location *place, vyre_error *error) {
    (void)error;
    *place = (vyre_memory_location){VYRE_LOCATION_CUDA, (int32_t)((vy_cuda *)self)->ordinal,
                                    vy_cuda_resident_address(native)};
    return VYRE_OK;
}

/* ---- joining ---- */

void vy_cuda_external_stream_start(vy_cuda_external_stream *join) {
    pthread_mutex_init(&join->lock, NULL);
}

void vy_cuda_external_stream_destroy(vy_cuda_external_stream *join) {
    pthread_mutex_destroy(&join->lock);
}

void vy_cuda_external_stream_end(vy_cuda *cuda) {
    vy_cuda_external_stream *join = &cuda->join;
    vy_cu_event events[] = {join->theirs, join->all};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i])
            cuda->api.event_destroy(events[i]);
    if (join->stream)
        cuda->api.stream_destroy(join->stream);
    join->theirs = join->all = NULL;
    join->stream = NULL;
    atomic_store(&join->count, 0);
}

/* Called with the lock held, like the next two functions. Creates the events and the stream for joins on first use. */
static vyre_status make(vy_cuda *cuda, vyre_error *error) {
    vy_cuda_external_stream *join = &cuda->join;
    vyre_status status = VYRE_OK;
    if (!join->theirs)
        status =
            vy_cuda_check(cuda, cuda->api.event_create(&join->theirs, VY_CU_EVENT_NO_TIMING), "making an event", error);
    if (status == VYRE_OK && !join->all)
        status =
            vy_cuda_check(cuda, cuda->api.event_create(&join->all, VY_CU_EVENT_NO_TIMING), "making an event", error);
    if (status == VYRE_OK && !join->stream)
        status = vy_cuda_check(cuda, cuda->api.stream_create(&join->stream, VY_CU_STREAM_NON_BLOCKING),
                               "making a stream", error);
    return status;
}

/* An event recorded in a stream under capture would become part of the caller's graph, and the driver rejects one in a
 * stream of another context. */
static vyre_status check_stream(vy_cuda *cuda, vy_cu_stream stream, vyre_error *error) {
    vy_cu_context context = NULL;
    int capture = 0, result = VY_CU_OK;
    if (cuda->api.stream_capturing) {
        result = cuda->api.stream_capturing(stream, &capture);
        if (result == CAPTURE_IMPLICIT || capture)
            return vy_fail(error, VYRE_INVALID_ARGUMENT, "end the capture first",
                           "the stream to be joined is being captured into a graph");
    }
    if (result == VY_CU_OK && cuda->api.stream_context)
        result = cuda->api.stream_context(stream, &context);
    if (result == INVALID_HANDLE || result == INVALID_CONTEXT || (context && context != cuda->context))
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       "join a stream of the primary context, which is the one of the CUDA runtime, of this device",
                       "the stream to be joined is of another context than the backend's (device %" PRIu32 ")",
                       cuda->ordinal);
    return vy_cuda_check(cuda, result, "asking about a stream", error);
}

static vyre_status join_stream(vy_cuda *cuda, vy_cu_stream stream, vyre_error *error) {
    vy_cuda_external_stream *join = &cuda->join;
    vyre_status status = check_stream(cuda, stream, error);
    if (status == VYRE_OK)
        status = make(cuda, error);
    if (status == VYRE_OK)
        status = vy_cuda_check(cuda, cuda->api.event_record(join->theirs, stream), "joining a stream", error);
    if (status == VYRE_OK)
        status =
            vy_cuda_check(cuda, cuda->api.stream_wait_event(join->stream, join->theirs, 0), "joining a stream", error);
    if (status == VYRE_OK)
        status = vy_cuda_check(cuda, cuda->api.event_record(join->all, join->stream), "joining a stream", error);
    if (status == VYRE_OK)
        atomic_fetch_add_explicit(&join->count, 1, memory_order_release);
    return status;
}

vyre_status vy_cuda_stream_join(void *self, void *stream, vyre_error *error) {
    vy_cuda *cuda = self;
    int was_pushed;
    vyre_status status = vy_cuda_enter(cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    pthread_mutex_lock(&cuda->join.lock);
    status = join_stream(cuda, stream, error);
    pthread_mutex_unlock(&cuda->join.lock);
    vy_cuda_leave(cuda, was_pushed);
    return status;
}

/* Returns a stream of the backend that is ordered after all streams joined so far. A thread that must not wait for
 * those streams must not wait for this one either. */
static vy_cu_stream external_stream_get(vy_cuda *cuda) {
    pthread_mutex_lock(&cuda->join.lock);
    vy_cu_stream stream = cuda->join.stream ? cuda->join.stream : cuda->signal;
    pthread_mutex_unlock(&cuda->join.lock);
    return stream;
}

vyre_status vy_cuda_external_stream_wait(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, vyre_error *error) {
    uint64_t count = atomic_load_explicit(&cuda->join.count, memory_order_acquire);
    vyre_status status = vy_cuda_check(cuda, cuda->api.stream_wait_event(stream_slot->stream, cuda->join.all, 0),
                                       "waiting for a joined stream", error);
    if (status == VYRE_OK)
        stream_slot->joined = count; /* a concurrent join may be waited for twice, but is never missed */
    return status;
}
