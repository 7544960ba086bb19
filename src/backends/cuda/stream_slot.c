/* Stream slots: acquired and released, reserved and trimmed (stream_slot.h). */
#include "backends/cuda/stream_slot.h"

#include "backends/cuda/memory.h"
#include "base/memory.h"
#include "base/status.h"

static void destroy(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot) {
    const vy_cuda_dynamic_symbols *api = &cuda->api;
    if (stream_slot->control)
        vy_cuda_memory_free(cuda, stream_slot->stream, stream_slot->control);
    if (stream_slot->arena)
        vy_cuda_memory_free(cuda, stream_slot->stream, stream_slot->arena);
    vy_cuda_staging_end(cuda, &stream_slot->staging);
    vy_cu_event events[] = {stream_slot->begin, stream_slot->end, stream_slot->done};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i])
            api->event_destroy(events[i]);
    if (stream_slot->mirror)
        api->host_free(stream_slot->mirror);
    if (stream_slot->stream)
        api->stream_destroy(stream_slot->stream);
    vy_release(stream_slot, sizeof *stream_slot);
}

/* ---- creating ---- */

static vyre_status start(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, vyre_error *error) {
    const vy_cuda_dynamic_symbols *api = &cuda->api;
    void *mirror = NULL;
    vyre_status status = vy_cuda_check(cuda, api->stream_create(&stream_slot->stream, VY_CU_STREAM_NON_BLOCKING),
                                       "making a stream", error);
    if (status == VYRE_OK)
        status =
            vy_cuda_check(cuda, api->event_create(&stream_slot->done, VY_CU_EVENT_NO_TIMING), "making an event", error);
    if (status == VYRE_OK)
        status = vy_cuda_pinned_allocate(cuda, sizeof *stream_slot->mirror, &mirror, error);
    if (status != VYRE_OK)
        return status;
    stream_slot->mirror = mirror;
    stream_slot->base.taken = &stream_slot->mirror->taken;
    *stream_slot->mirror = (vy_cuda_mirror){.cancel = 1};
    return vy_cuda_memory_allocate(cuda, stream_slot->stream, sizeof(vy_launch_control), "a control block",
                                   &stream_slot->control, error);
}

static vyre_status make(vy_cuda *cuda, vy_cuda_stream_slot **out, vyre_error *error) {
    vy_cuda_stream_slot *stream_slot = vy_allocate_zero(sizeof *stream_slot);
    *out = NULL;
    if (!stream_slot)
        return vy_fail_memory(error, "making a stream");
    stream_slot->base.gpu = &cuda->base;
    vyre_status status = start(cuda, stream_slot, error);
    if (status != VYRE_OK) {
        destroy(cuda, stream_slot);
        return status;
    }
    *out = stream_slot;
    return VYRE_OK;
}

/* ---- acquiring and releasing ---- */

vy_cuda_stream_slot *vy_cuda_stream_slot_try_acquire(vy_cuda *cuda) {
    return (vy_cuda_stream_slot *)vy_gpu_slot_pop(&cuda->base);
}

vyre_status vy_cuda_stream_slot_acquire(vy_cuda *cuda, vy_cuda_stream_slot **out, vyre_error *error) {
    *out = vy_cuda_stream_slot_try_acquire(cuda);
    vyre_status status = *out ? (vyre_status)VYRE_OK : make(cuda, out, error);
    if (status == VYRE_OK) {
        status = vy_cuda_external_stream_sync(cuda, *out, error);
        if (status != VYRE_OK)
            vy_cuda_stream_slot_release(cuda, *out);
    }
    return status;
}

void vy_cuda_stream_slot_release(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot) {
    vy_cuda_staging_reset(&stream_slot->staging);
    if (stream_slot->arena_size > VY_CUDA_ARENA_KEPT) {
        vy_cuda_memory_free(cuda, stream_slot->stream, stream_slot->arena);
        stream_slot->arena = 0, stream_slot->arena_size = 0;
    }
    if (!vy_gpu_slot_push(&stream_slot->base, VY_CUDA_STREAM_SLOTS_KEPT))
        destroy(cuda, stream_slot);
}

void vy_cuda_stream_slots_end(vy_cuda *cuda) {
    for (vy_cuda_stream_slot *stream_slot; (stream_slot = vy_cuda_stream_slot_try_acquire(cuda));)
        destroy(cuda, stream_slot);
}

void vy_cuda_stream_slots_trim(vy_cuda *cuda) {
    vy_gpu_slot *kept = NULL;
    vy_cuda_stream_slot *stream_slot;
    while ((stream_slot = vy_cuda_stream_slot_try_acquire(cuda))) {
        if (stream_slot->arena)
            vy_cuda_memory_free(cuda, stream_slot->stream, stream_slot->arena);
        stream_slot->arena = 0, stream_slot->arena_size = 0;
        cuda->api.stream_synchronize(stream_slot->stream);
        stream_slot->base.next = kept;
        kept = &stream_slot->base;
    }
    while (kept) {
        stream_slot = (vy_cuda_stream_slot *)kept;
        kept = kept->next;
        vy_cuda_stream_slot_release(cuda, stream_slot);
    }
}

/* ---- use ---- */

vyre_status vy_cuda_stream_slot_reserve(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, uint64_t size,
                                        vyre_error *error) {
    if (stream_slot->arena_size >= size)
        return VYRE_OK;
    if (stream_slot->arena)
        vy_cuda_memory_free(cuda, stream_slot->stream, stream_slot->arena);
    stream_slot->arena = 0, stream_slot->arena_size = 0;
    /* Small arenas grow by doubling. Large ones have the exact size, because they are freed after use. */
    uint64_t room = 64 << 10;
    while (room < size && room < VY_CUDA_ARENA_KEPT)
        room *= 2;
    room = room < size ? size : room;
    vyre_status status = vy_cuda_memory_allocate(cuda, stream_slot->stream, room, "the buffers of a dispatch",
                                                 &stream_slot->arena, error);
    if (status == VYRE_OK)
        stream_slot->arena_size = room;
    return status;
}

vyre_status vy_cuda_stream_slot_wait(vy_cuda *cuda, vy_cuda_stream_slot *stream_slot, const char *doing,
                                     vyre_error *error) {
    return vy_cuda_check(cuda, cuda->api.stream_synchronize(stream_slot->stream), doing, error);
}
