/* Outputs that come back by themselves (eager_readback.h). */
#include "backends/cuda/eager_readback.h"

#include "backends/cuda/parallel_copy.h"
#include "base/buffer_recycler.h"
#include "base/thread.h"

#include <time.h>

enum { PAUSE_NS = 20000 };

/* ---- the thread ---- */

static vyre_status wait_for_kernel(const vy_cuda_submission *f, vyre_error *error) {
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int result;
    while ((result = f->cuda->api.event_query(f->stream_slot->done)) == VY_CU_NOT_READY)
        nanosleep(&pause, NULL);
    return vy_cuda_check(f->cuda, result, "running a kernel", error);
}

static vyre_status fetch(vy_cuda_eager_readback *a) {
    const vy_cuda_submission *f = a->submission;
    vy_cuda_copy copies[VY_LIMIT_BUFFERS];
    size_t count = 0, output = 0;
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        if (vy_cuda_is_output(f->code, i))
            copies[count++] = (vy_cuda_copy){f->addresses[i], a->memory[output++].data, f->sizes[i]};
    return vy_cuda_parallel_copy(f->cuda, copies, count, 0, &a->error);
}

static void *work(void *user) {
    vy_cuda_eager_readback *a = user;
    vy_cuda *cuda = a->submission->cuda;
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

/* ---- before and after ---- */

/* Bytes of all outputs. */
static uint64_t size_of(const vy_cuda_submission *f) {
    uint64_t size = 0;
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        size += vy_cuda_is_output(f->code, i) ? f->sizes[i] : 0;
    return size;
}

static void release_memory(vy_cuda_eager_readback *a) {
    for (size_t i = 0; i < a->output_count; i++) {
        vy_buffer_recycler_release(&a->submission->cuda->hoard, &a->memory[i]);
        vyre_bytes_free(&a->memory[i]);
    }
    a->output_count = 0;
}

static int acquire_memory(vy_cuda_eager_readback *a) {
    const vy_cuda_submission *f = a->submission;
    vyre_error ignored;
    for (uint32_t i = 0; i < f->code->buffer_count; i++) {
        if (!vy_cuda_is_output(f->code, i))
            continue;
        vyre_bytes *slot = &a->memory[a->output_count++];
        *slot = (vyre_bytes)VYRE_BYTES_INIT;
        vy_buffer_recycler_acquire(&f->cuda->hoard, f->sizes[i], slot);
        if (vy_cuda_output_reserve(slot, f->sizes[i], &ignored) != VYRE_OK)
            return 0;
    }
    return 1;
}

void vy_cuda_eager_readback_start(vy_cuda_eager_readback *a, vy_cuda_submission *f) {
    a->submission = NULL;
    if (f->is_small || size_of(f) < VY_CUDA_PARALLEL_COPY_MIN)
        return;
    a->submission = f;
    a->output_count = 0;
    a->is_over = 0;
    if (acquire_memory(a) && vy_thread_start(&a->thread, work, a))
        return;
    release_memory(a);
    a->submission = NULL;
}

static void join(vy_cuda_eager_readback *a) {
    if (!a->is_over)
        pthread_join(a->thread, NULL);
    a->is_over = 1;
}

vyre_status vy_cuda_eager_readback_deliver(vy_cuda_eager_readback *a, vyre_outputs *outputs, vyre_error *error) {
    join(a);
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

void vy_cuda_eager_readback_end(vy_cuda_eager_readback *a) {
    if (!a->submission)
        return;
    join(a);
    release_memory(a);
    a->submission = NULL;
}
