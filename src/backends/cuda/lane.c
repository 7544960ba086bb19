/* Lanes (lane.h). */
#include "backends/cuda/lane.h"

#include "backends/cuda/interop.h"
#include "backends/cuda/memory.h"
#include "base/memory.h"
#include "base/status.h"

static void destroy(vy_cuda *cuda, vy_cuda_lane *lane) {
    const vy_cuda_api *api = &cuda->api;
    if (lane->control)
        vy_cuda_memory_give(cuda, lane->stream, lane->control);
    if (lane->arena)
        vy_cuda_memory_give(cuda, lane->stream, lane->arena);
    vy_cuda_staging_end(cuda, &lane->staging);
    vy_cu_event events[] = {lane->begin, lane->end, lane->done};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i])
            api->event_destroy(events[i]);
    if (lane->mirror)
        api->host_free(lane->mirror);
    if (lane->stream)
        api->stream_destroy(lane->stream);
    vy_release(lane, sizeof *lane);
}

/* ---- making ---- */

static vyre_status start(vy_cuda *cuda, vy_cuda_lane *lane, vyre_error *error) {
    const vy_cuda_api *api = &cuda->api;
    void *mirror = NULL;
    vyre_status status =
        vy_cuda_check(cuda, api->stream_create(&lane->stream, VY_CU_STREAM_NON_BLOCKING), "making a stream", error);
    if (status == VYRE_OK)
        status = vy_cuda_check(cuda, api->event_create(&lane->done, VY_CU_EVENT_NO_TIMING), "making an event", error);
    if (status == VYRE_OK)
        status = vy_cuda_pinned_take(cuda, sizeof *lane->mirror, &mirror, error);
    if (status != VYRE_OK)
        return status;
    lane->mirror = mirror;
    *lane->mirror = (vy_cuda_mirror){.cancel = 1};
    return vy_cuda_memory_take(cuda, lane->stream, sizeof(vy_ptx_control), "a control block", &lane->control, error);
}

static vyre_status make(vy_cuda *cuda, vy_cuda_lane **out, vyre_error *error) {
    vy_cuda_lane *lane = vy_allocate_zero(sizeof *lane);
    *out = NULL;
    if (!lane)
        return vy_fail_memory(error, "making a stream");
    vyre_status status = start(cuda, lane, error);
    if (status != VYRE_OK) {
        destroy(cuda, lane);
        return status;
    }
    *out = lane;
    return VYRE_OK;
}

/* ---- taking and giving ---- */

static vy_cuda_lane *take_idle(vy_cuda *cuda) {
    pthread_mutex_lock(&cuda->lock);
    vy_cuda_lane *lane = cuda->idle;
    if (lane) {
        cuda->idle = lane->next;
        cuda->idle_count--;
    }
    pthread_mutex_unlock(&cuda->lock);
    return lane;
}

vy_cuda_lane *vy_cuda_lane_idle(vy_cuda *cuda) {
    vy_cuda_lane *lane = atomic_exchange_explicit(&cuda->hot, NULL, memory_order_acquire);
    return lane ? lane : take_idle(cuda);
}

vyre_status vy_cuda_lane_take(vy_cuda *cuda, vy_cuda_lane **out, vyre_error *error) {
    *out = vy_cuda_lane_idle(cuda);
    vyre_status status = *out ? (vyre_status)VYRE_OK : make(cuda, out, error);
    if (status == VYRE_OK) {
        status = vy_cuda_join_follow(cuda, *out, error);
        if (status != VYRE_OK)
            vy_cuda_lane_give(cuda, *out);
    }
    return status;
}

void vy_cuda_lane_give(vy_cuda *cuda, vy_cuda_lane *lane) {
    vy_cuda_staging_rest(&lane->staging);
    if (lane->arena_size > VY_CUDA_ARENA_KEPT) {
        vy_cuda_memory_give(cuda, lane->stream, lane->arena);
        lane->arena = 0, lane->arena_size = 0;
    }
    vy_cuda_lane *none = NULL;
    if (atomic_compare_exchange_strong_explicit(&cuda->hot, &none, lane, memory_order_release, memory_order_relaxed))
        return;
    pthread_mutex_lock(&cuda->lock);
    int is_kept = cuda->idle_count < VY_CUDA_LANES_KEPT;
    if (is_kept) {
        lane->next = cuda->idle;
        cuda->idle = lane;
        cuda->idle_count++;
    }
    pthread_mutex_unlock(&cuda->lock);
    if (!is_kept)
        destroy(cuda, lane);
}

void vy_cuda_lanes_end(vy_cuda *cuda) {
    vy_cuda_lane *lane = atomic_exchange(&cuda->hot, NULL);
    for (; lane || (lane = take_idle(cuda)); lane = NULL)
        destroy(cuda, lane);
}

void vy_cuda_lanes_trim(vy_cuda *cuda) {
    vy_cuda_lane *kept = NULL, *lane = atomic_exchange(&cuda->hot, NULL);
    for (; lane || (lane = take_idle(cuda)); lane = NULL) {
        if (lane->arena)
            vy_cuda_memory_give(cuda, lane->stream, lane->arena);
        lane->arena = 0, lane->arena_size = 0;
        cuda->api.stream_synchronize(lane->stream);
        lane->next = kept;
        kept = lane;
    }
    while (kept) {
        lane = kept;
        kept = lane->next;
        vy_cuda_lane_give(cuda, lane);
    }
}

/* ---- use ---- */

vyre_status vy_cuda_lane_reserve(vy_cuda *cuda, vy_cuda_lane *lane, uint64_t size, vyre_error *error) {
    if (lane->arena_size >= size)
        return VYRE_OK;
    if (lane->arena)
        vy_cuda_memory_give(cuda, lane->stream, lane->arena);
    lane->arena = 0, lane->arena_size = 0;
    /* Small ones grow by doubling; large ones are as large as asked for, since they are given back. */
    uint64_t room = 64 << 10;
    while (room < size && room < VY_CUDA_ARENA_KEPT)
        room *= 2;
    room = room < size ? size : room;
    vyre_status status =
        vy_cuda_memory_take(cuda, lane->stream, room, "the buffers of a dispatch", &lane->arena, error);
    if (status == VYRE_OK)
        lane->arena_size = room;
    return status;
}

vyre_status vy_cuda_lane_measure(vy_cuda *cuda, vy_cuda_lane *lane, vyre_error *error) {
    vyre_status status = VYRE_OK;
    vy_cu_event *events[] = {&lane->begin, &lane->end};
    for (int i = 0; i < 2 && status == VYRE_OK; i++)
        if (!*events[i])
            status =
                vy_cuda_check(cuda, cuda->api.event_create(events[i], VY_CU_EVENT_DEFAULT), "making an event", error);
    return status;
}

vyre_status vy_cuda_lane_wait(vy_cuda *cuda, vy_cuda_lane *lane, const char *doing, vyre_error *error) {
    return vy_cuda_check(cuda, cuda->api.stream_synchronize(lane->stream), doing, error);
}
