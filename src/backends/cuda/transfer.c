/* Host-device transfers: staging in pinned memory, parallel copies, and the choice of zero-copy buffers
 * (transfer.h). */
#include "backends/cuda/transfer.h"

#include "backends/cuda/stream_slot.h"
#include "backends/cuda/submission.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"

#include <string.h>

/* ---- staging ---- */

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Sufficient for most small dispatches; kept small, since many may be in flight. */
enum { FIRST_MIN = 64 << 10 };

vyre_status vy_cuda_pinned_allocate(vy_cuda *cuda, size_t size, void **out, vyre_error *error) {
    int result = cuda->api.host_allocate(out, size, VY_CU_HOST_PORTABLE);
    if (result == VY_CU_OK)
        return VYRE_OK;
    *out = NULL;
    if (result == VY_CU_OUT_OF_MEMORY)
        return vy_fail(error, VYRE_NO_MEMORY, NULL, "no pinned host memory is left (%zu bytes)", size);
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

/* Frees a first chunk that is too small. It is unused, or used by the caller only. */
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

/* Waits until the chunk can be reused. */
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

/* Selects a chunk with free space, and closes the full one. */
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

/* Bypasses the caches: the caller reads the bytes later, and fetching the lines to overwrite would double the time. */
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

/* The next piece that fits into the rest of a chunk; 0 at the end of the copies or of the chunk. */
static size_t next_staged_piece(vy_cuda_copy_cursor *c, size_t used, uint8_t **host, vy_cu_address *device) {
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

/* Starts the copies into a chunk; *used is 0 when no copies remain. An earlier upload from the chunk precedes them in
 * the stream. */
static vyre_status fetch(vy_cuda *cuda, vy_cuda_staging *staging, vy_cu_stream stream, unsigned index,
                         vy_cuda_copy_cursor *c, size_t *used, vyre_error *error) {
    uint8_t *host;
    vy_cu_address device;
    size_t piece;
    vyre_status status = VYRE_OK;
    *used = 0;
    while (status == VYRE_OK && (piece = next_staged_piece(c, *used, &host, &device))) {
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
    while (status == VYRE_OK && (piece = next_staged_piece(c, used, &host, &device))) {
        copy_streaming(host, staging->chunks[index] + used, piece);
        used += piece;
    }
    return status;
}

/* Fills as many chunks as are available. */
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

/* ---- parallel copies ---- */

enum { PIECE = 4 << 20, MAX_THREADS = 12 };

typedef struct parallel_copy {
    vy_cuda *cuda;
    const vy_cuda_copy *copies;
    size_t count;
    int is_upload;
    pthread_mutex_t lock; /* guards the fields below */
    size_t next;          /* index of the copy being divided among the threads */
    uint64_t done;        /* bytes of it that are already assigned */
    vyre_status status;
    vyre_error *error;
} parallel_copy;

unsigned vy_cuda_copy_threads(uint64_t pieces) {
    unsigned cores = vy_cpu_count(), most = cores < MAX_THREADS ? cores : MAX_THREADS;
    return pieces < most ? (unsigned)pieces : most;
}

/* 0: all pieces are assigned, or a copy failed. */
static int next_piece(parallel_copy *m, vy_cuda_copy *out) {
    pthread_mutex_lock(&m->lock);
    while (m->next < m->count && m->done == m->copies[m->next].size)
        m->next++, m->done = 0;
    int is_there = m->status == VYRE_OK && m->next < m->count;
    if (is_there) {
        const vy_cuda_copy *copy = &m->copies[m->next];
        uint64_t left = copy->size - m->done, size = left < PIECE ? left : PIECE;
        *out = (vy_cuda_copy){copy->device + m->done, (uint8_t *)copy->host + m->done, size};
        m->done += size;
    }
    pthread_mutex_unlock(&m->lock);
    return is_there;
}

static vyre_status copy_pieces(parallel_copy *m, vy_cuda_stream_slot *stream_slot, vyre_error *error) {
    vy_cuda_copy piece;
    vyre_status status = VYRE_OK;
    while (status == VYRE_OK && next_piece(m, &piece))
        status = m->is_upload
                     ? vy_cuda_stage_in(m->cuda, &stream_slot->staging, stream_slot->stream, piece.device, piece.host,
                                        piece.size, error)
                     : vy_cuda_stage_out(m->cuda, &stream_slot->staging, stream_slot->stream, &piece, 1, error);
    if (status == VYRE_OK && m->is_upload)
        return vy_cuda_stream_slot_wait(m->cuda, stream_slot, "copying to the device", error);
    if (status != VYRE_OK)
        m->cuda->api.stream_synchronize(stream_slot->stream); /* the slot must be idle when it is released */
    return status;
}

static void copy_worker(void *user, unsigned worker) {
    parallel_copy *m = user;
    vy_cuda_stream_slot *stream_slot;
    vyre_error error;
    int was_pushed;
    (void)worker;
    vyre_status status = vy_cuda_enter(m->cuda, &was_pushed, &error);
    if (status == VYRE_OK) {
        status = vy_cuda_stream_slot_acquire(m->cuda, &stream_slot, &error);
        if (status == VYRE_OK) {
            status = copy_pieces(m, stream_slot, &error);
            vy_cuda_stream_slot_release(m->cuda, stream_slot);
        }
        vy_cuda_leave(m->cuda, was_pushed);
    }
    if (status == VYRE_OK)
        return;
    pthread_mutex_lock(&m->lock);
    if (m->status == VYRE_OK) {
        m->status = status;
        *m->error = error;
    }
    pthread_mutex_unlock(&m->lock);
}

vyre_status vy_cuda_parallel_copy(vy_cuda *cuda, const vy_cuda_copy *copies, size_t count, int is_upload,
                                  vyre_error *error) {
    uint64_t size = 0;
    parallel_copy m = {.cuda = cuda, .copies = copies, .count = count, .is_upload = is_upload, .error = error};
    for (size_t i = 0; i < count; i++)
        size += copies[i].size;
    pthread_mutex_init(&m.lock, NULL);
    vy_parallel(size < VY_CUDA_PARALLEL_COPY_MIN ? 1 : vy_cuda_copy_threads(size / PIECE), copy_worker, &m);
    pthread_mutex_destroy(&m.lock);
    return m.status;
}

/* ---- zero-copy buffers ---- */

void vy_cuda_zero_copy_select(const vy_gpu_submission *f, const vyre_launch *launch, const uint8_t *is_cleared,
                              uint8_t *is_zero_copy) {
    const vy_cuda_executable *code = (const vy_cuda_executable *)f->code;
    uint64_t max_bytes = ((const vy_cuda *)f->gpu)->device_info.zero_copy_bytes, bytes = 0;
    uint64_t requests = max_bytes / VY_CUDA_ZERO_COPY_REQUEST;
    int all_inputs = 1, all_outputs = 1, is_sent = 0;
    memset(is_zero_copy, 0, code->base.buffer_count);
    for (uint32_t i = 0; i < code->base.buffer_count; i++)
        bytes += f->offsets[i] != VY_GPU_ELSEWHERE ? vy_gpu_align_size(f->sizes[i]) : 0;
    uint64_t warps = vy_cuda_warps(&code->kernel, launch->groups, requests);
    if (bytes > max_bytes || warps > requests || launch->grid_buffer) /* the grid is not known */
        return;
    for (uint32_t i = 0; i < code->base.buffer_count; i++) {
        uint64_t each = code->base.facts->buffers[i].host_requests;
        int fits = each && warps * each <= requests;
        if (f->offsets[i] == VY_GPU_ELSEWHERE || !f->sizes[i])
            continue;
        if (vy_cuda_is_output(code, i)) {
            all_outputs &= fits;
            is_sent |= vy_cuda_is_input(code, i) || is_cleared[i];
        } else {
            all_inputs &= fits;
        }
    }
    /* The time of a copy hardly depends on its size. So either a direction needs no copy, or one copy covers all its
     * buffers. */
    all_inputs &= all_outputs || !is_sent;
    for (uint32_t i = 0; i < code->base.buffer_count; i++)
        is_zero_copy[i] =
            f->offsets[i] != VY_GPU_ELSEWHERE && (uint8_t)(vy_cuda_is_output(code, i) ? all_outputs : all_inputs);
}
