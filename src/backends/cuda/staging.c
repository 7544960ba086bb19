/* Pinned memory between the host and the device (staging.h). */
#include "backends/cuda/staging.h"

#include "base/status.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Enough for most dispatches of which there are many at once. */
enum { FIRST_MIN = 64 << 10 };

vyre_status vy_cuda_pinned_allocate(vy_cuda *cuda, size_t size, void **out, vyre_error *error) {
    int result = cuda->api.host_allocate(out, size, VY_CU_HOST_PORTABLE);
    if (result == VY_CU_OK)
        return VYRE_OK;
    *out = NULL;
    if (result == VY_CU_OUT_OF_MEMORY)
        return vy_fail(error, VYRE_NO_MEMORY, NULL, "there is no pinned memory of the host (%zu bytes)", size);
    return vy_cuda_failed(cuda, result, "allocating pinned memory", error);
}

void vy_cuda_staging_end(vy_cuda *cuda, vy_cuda_staging *staging) {
    for (int i = 0; i < VY_CUDA_CHUNKS; i++) {
        if (staging->events[i])
            cuda->api.event_destroy(staging->events[i]);
        if (staging->chunks[i])
            cuda->api.host_free(staging->chunks[i]);
    }
    *staging = (vy_cuda_staging){.current = 0};
}

void vy_cuda_staging_reset(vy_cuda_staging *staging) {
    memset(staging->is_busy, 0, sizeof staging->is_busy);
    staging->current = 0;
    staging->used = 0;
}

/* A first chunk that is too small makes room: nobody uses it, or the one who asks. */
static void drop_small(vy_cuda *cuda, vy_cuda_staging *staging, size_t size) {
    if (!staging->chunks[0] || staging->first_size >= size)
        return;
    cuda->api.host_free(staging->chunks[0]);
    staging->chunks[0] = NULL;
}

static vyre_status make_chunk(vy_cuda *cuda, vy_cuda_staging *staging, unsigned index, size_t size, vyre_error *error) {
    void *memory = NULL;
    if (index == 0)
        drop_small(cuda, staging, size);
    if (staging->chunks[index])
        return VYRE_OK;
    vyre_status status = VYRE_OK;
    if (!staging->events[index])
        status = vy_cuda_check(cuda, cuda->api.event_create(&staging->events[index], VY_CU_EVENT_NO_TIMING),
                               "making an event", error);
    if (status == VYRE_OK)
        status = vy_cuda_pinned_allocate(cuda, size, &memory, error);
    staging->chunks[index] = memory;
    if (index == 0)
        staging->first_size = size;
    return status;
}

/* Whoever copies from or to the chunk next may. */
static vyre_status wait_for_chunk(vy_cuda *cuda, vy_cuda_staging *staging, unsigned index, vyre_error *error) {
    if (!staging->is_busy[index])
        return VYRE_OK;
    staging->is_busy[index] = 0;
    return vy_cuda_check(cuda, cuda->api.event_synchronize(staging->events[index]), "waiting for a copy", error);
}

static vyre_status record(vy_cuda *cuda, vy_cuda_staging *staging, unsigned index, vy_cu_stream stream,
                          vyre_error *error) {
    staging->is_busy[index] = 1;
    return vy_cuda_check(cuda, cuda->api.event_record(staging->events[index], stream), "recording an event", error);
}

vyre_status vy_cuda_staging_first(vy_cuda *cuda, vy_cuda_staging *staging, size_t size, uint8_t **out,
                                  vyre_error *error) {
    size_t room = FIRST_MIN;
    while (room < size)
        room *= 2;
    vyre_status status = make_chunk(cuda, staging, 0, room, error);
    *out = staging->chunks[0];
    return status;
}

/* ---- to the device ---- */

/* A chunk with room; the one that is full is closed. */
static vyre_status next_chunk(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream, vyre_error *error) {
    vyre_status status = VYRE_OK;
    if (staging->used == VY_CUDA_CHUNK) {
        status = record(cuda, staging, staging->current, stream, error);
        staging->current = (staging->current + 1) % VY_CUDA_CHUNKS;
        staging->used = 0;
    }
    if (status == VYRE_OK)
        status = make_chunk(cuda, staging, staging->current, VY_CUDA_CHUNK, error);
    return status == VYRE_OK ? wait_for_chunk(cuda, staging, staging->current, error) : status;
}

vyre_status vy_cuda_stage_in(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream, vy_cu_address to,
                             const void *from, uint64_t size, vyre_error *error) {
    const uint8_t *bytes = from;
    while (size) {
        vyre_status status = next_chunk(cuda, staging, stream, error);
        if (status != VYRE_OK)
            return status;
        size_t room = VY_CUDA_CHUNK - staging->used, piece = size < room ? (size_t)size : room;
        uint8_t *place = staging->chunks[staging->current] + staging->used;
        memcpy(place, bytes, piece);
        status =
            vy_cuda_check(cuda, cuda->api.copy_to_device(to, place, piece, stream), "copying to the device", error);
        if (status != VYRE_OK)
            return status;
        staging->used += piece;
        bytes += piece, to += piece, size -= piece;
    }
    return VYRE_OK;
}

/* ---- from the device ---- */

/* Past the caches: the bytes are the caller's, who reads them later, and to read what is overwritten first would take as long again. */
static void copy_streaming(uint8_t *to, const uint8_t *from, size_t size) {
#ifdef __SSE2__
    enum { LINE = 64, QUARTER = LINE / 4 };
    size_t odd = (LINE - (uintptr_t)to % LINE) % LINE;
    if (size >= 64 * LINE) {
        memcpy(to, from, odd);
        to += odd, from += odd, size -= odd;
        for (; size >= LINE; to += LINE, from += LINE, size -= LINE)
            for (int i = 0; i < 4; i++)
                _mm_stream_si128((__m128i *)(void *)(to + i * QUARTER),
                                 _mm_loadu_si128((const __m128i *)(const void *)(from + i * QUARTER)));
        _mm_sfence();
    }
#endif
    memcpy(to, from, size);
}

/* The next piece that fits into the rest of a chunk; 0 at the end of either. */
static size_t next_piece(vy_cuda_copy_cursor *c, size_t used, uint8_t **host, vy_cu_address *device) {
    while (c->left && c->done == c->copies->size)
        c->copies++, c->left--, c->done = 0;
    if (!c->left || used == VY_CUDA_CHUNK)
        return 0;
    uint64_t size = c->copies->size - c->done, room = VY_CUDA_CHUNK - used;
    *host = (uint8_t *)c->copies->host + c->done;
    *device = c->copies->device + c->done;
    size = size < room ? size : room;
    c->done += size;
    return (size_t)size;
}

/* Starts the copies into a chunk; *used is 0 when there is nothing left. An upload out of it comes before them in the stream. */
static vyre_status fetch(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream, unsigned index,
                         vy_cuda_copy_cursor *c, size_t *used, vyre_error *error) {
    uint8_t *host;
    vy_cu_address device;
    size_t piece;
    vyre_status status = VYRE_OK;
    *used = 0;
    while (status == VYRE_OK && (piece = next_piece(c, *used, &host, &device))) {
        if (!*used)
            status = make_chunk(cuda, staging, index, VY_CUDA_CHUNK, error);
        if (status == VYRE_OK)
            status = vy_cuda_check(cuda, cuda->api.copy_to_host(staging->chunks[index] + *used, device, piece, stream),
                                   "copying from the device", error);
        *used += piece;
    }
    return status == VYRE_OK && *used ? record(cuda, staging, index, stream, error) : status;
}

static vyre_status drain(vy_cuda *cuda, vy_cuda_staging *staging, unsigned index, vy_cuda_copy_cursor *c,
                         vyre_error *error) {
    uint8_t *host;
    vy_cu_address device;
    size_t piece, used = 0;
    vyre_status status = wait_for_chunk(cuda, staging, index, error);
    while (status == VYRE_OK && (piece = next_piece(c, used, &host, &device))) {
        copy_streaming(host, staging->chunks[index] + used, piece);
        used += piece;
    }
    return status;
}

/* As many as there are chunks for. */
static vyre_status fetch_more(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream,
                              vy_cuda_stage_out_state *out, vyre_error *error) {
    size_t used = 1;
    vyre_status status = VYRE_OK;
    while (status == VYRE_OK && used && out->end < out->first + VY_CUDA_CHUNKS) {
        status = fetch(cuda, staging, stream, (unsigned)(out->end % VY_CUDA_CHUNKS), &out->asked, &used, error);
        out->end += used != 0;
    }
    return status;
}

vyre_status vy_cuda_stage_out_begin(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream,
                                    const vy_cuda_copy *copies, size_t count, vy_cuda_stage_out_state *out,
                                    vyre_error *error) {
    vy_cuda_copy_cursor start = {copies, count, 0};
    *out = (vy_cuda_stage_out_state){start, start, 0, 0};
    return fetch_more(cuda, staging, stream, out, error);
}

vyre_status vy_cuda_stage_out_end(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream,
                                  vy_cuda_stage_out_state *out, vyre_error *error) {
    vyre_status status = VYRE_OK;
    while (status == VYRE_OK && out->first < out->end) {
        status = drain(cuda, staging, (unsigned)(out->first++ % VY_CUDA_CHUNKS), &out->taken, error);
        if (status == VYRE_OK)
            status = fetch_more(cuda, staging, stream, out, error);
    }
    return status;
}

vyre_status vy_cuda_stage_out(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream, const vy_cuda_copy *copies,
                              size_t count, vyre_error *error) {
    vy_cuda_stage_out_state out;
    vyre_status status = vy_cuda_stage_out_begin(cuda, staging, stream, copies, count, &out, error);
    return status == VYRE_OK ? vy_cuda_stage_out_end(cuda, staging, stream, &out, error) : status;
}
