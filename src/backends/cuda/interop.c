/* Memory and streams of others (interop.h). */
#include "backends/cuda/interop.h"

#include "backends/cuda/memory.h"
#include "base/memory.h"
#include "base/status.h"
#include "driver/interop.h"

#include <inttypes.h>

/* Results with a meaning of their own here. */
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

/* What the driver knows of one byte. */
static vyre_status check_byte(vy_cuda *cuda, vy_cu_address address, vyre_error *error) {
    unsigned kind = 0;
    int ordinal = -1;
    int result = cuda->api.pointer_attribute(&kind, VY_CU_POINTER_KIND, address);
    if (result == VY_CU_INVALID_VALUE || (result == VY_CU_OK && kind != VY_CU_KIND_DEVICE))
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       "wrap memory of the device, of the size it was allocated with; upload what is the host's",
                       "address 0x%" PRIx64 " is %s", address,
                       kind == VY_CU_KIND_HOST ? "memory of the host" : "no memory of a device that the driver knows");
    if (result == VY_CU_OK)
        result = cuda->api.pointer_attribute(&ordinal, VY_CU_POINTER_ORDINAL, address);
    if (result != VY_CU_OK)
        return vy_cuda_failed(cuda, result, "asking where memory lies", error);
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
    block->size = size;
    block->is_foreign = 1;
    vy_cuda_block_link(cuda, block);
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

/* With the lock held, as the next two: what joining needs, made when it is needed. */
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

/* An event of ours in a stream that is captured would become part of their graph, and in one of another context it is refused. */
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

vy_cu_stream vy_cuda_external_stream_get(vy_cuda *cuda) {
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
        stream_slot->joined = count; /* one that came meanwhile is waited for again: once too often, never too seldom */
    return status;
}
