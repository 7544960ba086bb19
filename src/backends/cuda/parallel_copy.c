/* Large copies (parallel_copy.h). */
#include "backends/cuda/parallel_copy.h"

#include "base/thread.h"

enum { PIECE = 4 << 20, MAX_THREADS = 12 };

typedef struct parallel_copy {
    vy_cuda *cuda;
    const vy_cuda_copy *copies;
    size_t count;
    int is_upload;
    pthread_mutex_t lock; /* guards all that follows */
    size_t next;          /* the copy that is being handed out, and … */
    uint64_t done;        /* … how much of it was */
    vyre_status status;
    vyre_error *error;
} parallel_copy;

unsigned vy_cuda_copy_threads(uint64_t pieces) {
    unsigned cores = vy_cpu_count(), most = cores < MAX_THREADS ? cores : MAX_THREADS;
    return pieces < most ? (unsigned)pieces : most;
}

/* 0: there is no more, or something failed. */
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
        m->cuda->api.stream_synchronize(
            stream_slot->stream); /* nothing may be under way when another takes the stream_slot */
    return status;
}

static void work(void *user, unsigned worker) {
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
    vy_parallel(size < VY_CUDA_PARALLEL_COPY_MIN ? 1 : vy_cuda_copy_threads(size / PIECE), work, &m);
    pthread_mutex_destroy(&m.lock);
    return m.status;
}
