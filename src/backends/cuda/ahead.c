/* Outputs that come back by themselves (ahead.h). */
#include "backends/cuda/ahead.h"

#include "backends/cuda/move.h"
#include "base/buffer_recycler.h"
#include "base/thread.h"

#include <time.h>

enum { PAUSE_NS = 20000 };

/* ---- the thread ---- */

static vyre_status await_kernel(const vy_cuda_flight *f, vyre_error *error) {
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int result;
    while ((result = f->cuda->api.event_query(f->lane->done)) == VY_CU_NOT_READY)
        nanosleep(&pause, NULL);
    return vy_cuda_check(f->cuda, result, "running a kernel", error);
}

static vyre_status fetch(vy_cuda_ahead *a) {
    const vy_cuda_flight *f = a->flight;
    vy_cuda_copy copies[VY_LIMIT_BUFFERS];
    size_t count = 0, output = 0;
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        if (vy_cuda_is_output(f->code, i))
            copies[count++] = (vy_cuda_copy){f->addresses[i], a->memory[output++].data, f->sizes[i]};
    return vy_cuda_move(f->cuda, copies, count, 0, &a->error);
}

static void *work(void *user) {
    vy_cuda_ahead *a = user;
    vy_cuda *cuda = a->flight->cuda;
    int was_pushed;
    (void)vy_cancellation_disable();
    a->status = vy_cuda_enter(cuda, &was_pushed, &a->error);
    if (a->status != VYRE_OK)
        return NULL;
    a->status = await_kernel(a->flight, &a->error);
    if (a->status == VYRE_OK)
        a->status = fetch(a);
    vy_cuda_leave(cuda, was_pushed);
    return NULL;
}

/* ---- before and after ---- */

/* Bytes of all outputs. */
static uint64_t size_of(const vy_cuda_flight *f) {
    uint64_t size = 0;
    for (uint32_t i = 0; i < f->code->buffer_count; i++)
        size += vy_cuda_is_output(f->code, i) ? f->sizes[i] : 0;
    return size;
}

static void give_memory(vy_cuda_ahead *a) {
    for (size_t i = 0; i < a->output_count; i++) {
        vy_buffer_recycler_release(&a->flight->cuda->hoard, &a->memory[i]);
        vyre_bytes_free(&a->memory[i]);
    }
    a->output_count = 0;
}

static int take_memory(vy_cuda_ahead *a) {
    const vy_cuda_flight *f = a->flight;
    vyre_error ignored;
    for (uint32_t i = 0; i < f->code->buffer_count; i++) {
        if (!vy_cuda_is_output(f->code, i))
            continue;
        vyre_bytes *slot = &a->memory[a->output_count++];
        *slot = (vyre_bytes)VYRE_BYTES_INIT;
        vy_buffer_recycler_acquire(&f->cuda->hoard, f->sizes[i], slot);
        if (vy_cuda_make_room(slot, f->sizes[i], &ignored) != VYRE_OK)
            return 0;
    }
    return 1;
}

void vy_cuda_ahead_start(vy_cuda_ahead *a, vy_cuda_flight *f) {
    a->flight = NULL;
    if (f->is_small || size_of(f) < VY_CUDA_MOVE_LEAST)
        return;
    a->flight = f;
    a->output_count = 0;
    a->is_over = 0;
    if (take_memory(a) && vy_thread_start(&a->thread, work, a))
        return;
    give_memory(a);
    a->flight = NULL;
}

static void join(vy_cuda_ahead *a) {
    if (!a->is_over)
        pthread_join(a->thread, NULL);
    a->is_over = 1;
}

vyre_status vy_cuda_ahead_deliver(vy_cuda_ahead *a, vyre_outputs *outputs, vyre_error *error) {
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

void vy_cuda_ahead_end(vy_cuda_ahead *a) {
    if (!a->flight)
        return;
    join(a);
    give_memory(a);
    a->flight = NULL;
}
