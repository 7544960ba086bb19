/* Eager readback: large outputs of an asynchronous dispatch are read back when its kernel ends, not when the caller
 * waits for them. So they overlap with the uploads of other dispatches (submission.h). */
#include "backends/cuda/submission.h"

#include "backends/cuda/transfer.h"
#include "base/status.h"
#include "base/thread.h"

#include <time.h>

/* Each such dispatch has a thread that reads the outputs into its private buffers. On delivery they are exchanged with
 * the caller's buffers, which are kept for the next submission. */
typedef struct eager_readback {
    vy_gpu_submission *submission;
    pthread_t thread;
    size_t output_count;
    vyre_bytes memory[VY_LIMIT_BUFFERS]; /* one per output */
    int is_over;                         /* the thread has ended */
    vyre_status status;
    vyre_error error;
} eager_readback;

/* ---- the thread ---- */

static vyre_status wait_for_kernel(const vy_gpu_submission *f, vyre_error *error) {
    vy_cuda *cuda = (vy_cuda *)f->gpu;
    const vy_cuda_stream_slot *stream_slot = (const vy_cuda_stream_slot *)f->slot;
    const struct timespec pause = {.tv_nsec = VY_GPU_PAUSE_NS};
    int result;
    while ((result = cuda->api.event_query(stream_slot->done)) == VY_CU_NOT_READY)
        nanosleep(&pause, NULL);
    return vy_cuda_check(cuda, result, "running a kernel", error);
}

static vyre_status fetch(eager_readback *a) {
    const vy_gpu_submission *f = a->submission;
    vy_cuda_copy copies[VY_LIMIT_BUFFERS];
    size_t count = 0, output = 0;
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        if (vy_launch_is_output(f->code->facts, i))
            copies[count++] = (vy_cuda_copy){f->buffers.addresses[i], a->memory[output++].data, f->sizes[i]};
    return vy_cuda_parallel_copy((vy_cuda *)f->gpu, copies, count, 0, &a->error);
}

static void *readback_thread(void *user) {
    eager_readback *a = user;
    vy_cuda *cuda = (vy_cuda *)a->submission->gpu;
    int was_pushed;
    (void)vy_cancellation_disable();
    a->status = vy_cuda_enter(cuda, &was_pushed, &a->error);
    if (a->status != VYRE_OK)
        return NULL;
    a->status = wait_for_kernel(a->submission, &a->error);
    if (a->status == VYRE_OK)
        a->status = fetch(a);
    vy_cuda_leave(cuda, was_pushed);
    return NULL;
}

/* ---- start and end ---- */

/* Total size of all outputs. */
static uint64_t size_of(const vy_gpu_submission *f) {
    uint64_t size = 0;
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        size += vy_launch_is_output(f->code->facts, i) ? f->sizes[i] : 0;
    return size;
}

static void release_memory(eager_readback *a) {
    for (size_t i = 0; i < a->output_count; i++) {
        vy_buffer_recycler_release(&((vy_cuda *)a->submission->gpu)->hoard, &a->memory[i]);
        vyre_bytes_free(&a->memory[i]);
    }
    vy_release(a, sizeof *a);
}

static int acquire_memory(eager_readback *a) {
    const vy_gpu_submission *f = a->submission;
    vyre_error ignored;
    for (uint32_t i = 0; i < f->code->buffer_count; i++) {
        if (!vy_launch_is_output(f->code->facts, i))
            continue;
        vyre_bytes *slot = &a->memory[a->output_count++];
        *slot = (vyre_bytes)VYRE_BYTES_INIT;
        vy_buffer_recycler_acquire(&((vy_cuda *)f->gpu)->hoard, f->sizes[i], slot);
        if (vy_gpu_output_reserve(slot, f->sizes[i], &ignored) != VYRE_OK)
            return 0;
    }
    return 1;
}

void vy_cuda_eager_readback_start(vy_gpu_submission *f) {
    if (f->is_small || size_of(f) < VY_CUDA_PARALLEL_COPY_MIN)
        return;
    eager_readback *a = vy_allocate(sizeof *a);
    if (!a)
        return;
    a->submission = f;
    a->output_count = 0;
    a->is_over = 0;
    if (acquire_memory(a) && vy_thread_start(&a->thread, readback_thread, a))
        f->readback = a;
    else
        release_memory(a);
}

static void join_thread(eager_readback *a) {
    if (!a->is_over)
        pthread_join(a->thread, NULL);
    a->is_over = 1;
}

vyre_status vy_cuda_eager_readback_deliver(vy_gpu_submission *f, vyre_outputs *outputs, vyre_error *error) {
    eager_readback *a = f->readback;
    join_thread(a);
    if (a->status != VYRE_OK) {
        *error = a->error;
        return a->status;
    }
    for (size_t i = 0; i < a->output_count; i++) {
        vyre_bytes old = outputs->items[i];
        outputs->items[i] = a->memory[i];
        a->memory[i] = old;
    }
    return VYRE_OK;
}

/* Joins the thread, and keeps undelivered buffers for other dispatches. */
void vy_cuda_eager_readback_end(vy_gpu_submission *f) {
    eager_readback *a = f->readback;
    if (!a)
        return;
    f->readback = NULL;
    join_thread(a);
    release_memory(a);
}
