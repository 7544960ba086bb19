/* The context: entering it, losing it, and making it again (device.h).
 *
 * A loss is sticky: the driver answers every later call with the same result, and we do not ask any more. After a real one the driver gives this process no other context;
 * that is seen by trying. */
#include "backends/cuda/device.h"

#include "backends/cuda/clock.h"
#include "backends/cuda/executable.h"
#include "backends/cuda/graph.h"
#include "backends/cuda/interop.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/stream_slot.h"
#include "base/status.h"

/* ---- loss ---- */

vyre_status vy_cuda_failed(vy_cuda *cuda, int result, const char *doing, vyre_error *error) {
    int none = 0;
    if (vy_cuda_is_loss(result))
        atomic_compare_exchange_strong(&cuda->loss, &none, result);
    return vy_cuda_fail_result(&cuda->api, result, doing, error);
}

vyre_status vy_cuda_fail_lost(vy_cuda *cuda, vyre_error *error) {
    return vy_cuda_fail_result(&cuda->api, atomic_load(&cuda->loss), "the device was lost before", error);
}

int vy_cuda_device_lost(void *self) {
    return atomic_load(&((vy_cuda *)self)->loss) != 0;
}

/* ---- entering ---- */

static int switch_context(vy_cuda *cuda, int result, vy_cu_context current, int *was_pushed) {
    *was_pushed = 0;
    if (result != VY_CU_OK || current == cuda->context)
        return result;
    if (!current)
        return cuda->api.context_set(cuda->context);
    result = cuda->api.context_push(cuda->context);
    *was_pushed = result == VY_CU_OK;
    return result;
}

vyre_status vy_cuda_switch_context(vy_cuda *cuda, int result, vy_cu_context current, int *was_pushed,
                                   vyre_error *error) {
    return vy_cuda_check(cuda, switch_context(cuda, result, current, was_pushed), "entering the device's context",
                         error);
}

void vy_cuda_enter_for_release(vy_cuda *cuda, int *was_pushed) {
    vy_cu_context current = NULL;
    int result = cuda->api.context_current(&current);
    switch_context(cuda, result, current, was_pushed);
}

/* ---- the device ---- */

/* The first stream of a context is the one that the driver waits for most quickly (on an H200 by 0.1 to 0.25 us, of 10 for a launch and its wait): it is that of the stream_slot which most dispatches use. */
static vyre_status start_inside(vy_cuda *cuda, vyre_error *error) {
    vy_cuda_stream_slot *first;
    vyre_status status = vy_cuda_pool_start(cuda, error);
    if (status == VYRE_OK)
        status = vy_cuda_stream_slot_acquire(cuda, &first, error);
    if (status != VYRE_OK)
        return status;
    vy_cuda_stream_slot_release(cuda, first);
    return vy_cuda_check(cuda, cuda->api.stream_create(&cuda->signal, VY_CU_STREAM_NON_BLOCKING), "making a stream",
                         error);
}

/* Everything of the device but what its blocks are known by. */
static void release_device(vy_cuda *cuda) {
    vy_cu_context current = NULL;
    int was_pushed;
    if (!cuda->context)
        return;
    vy_cuda_enter_for_release(cuda, &was_pushed);
    vy_cuda_clock_end(cuda);
    vy_cuda_graphs_drop(cuda, NULL);
    vy_cuda_stream_slots_end(cuda);
    vy_cuda_external_stream_end(cuda);
    vy_cuda_blocks_invalidate(cuda);
    if (cuda->signal)
        cuda->api.stream_destroy(cuda->signal);
    cuda->signal = NULL;
    vy_cuda_pool_end(cuda);
    vy_cuda_leave(cuda, was_pushed);
    /* A thread that keeps a context nobody holds would find it destroyed. */
    if (cuda->api.context_current(&current) == VY_CU_OK && current == cuda->context)
        cuda->api.context_set(NULL);
    cuda->api.context_release(cuda->device);
    cuda->context = NULL;
    atomic_store(&cuda->clock_taken_ns, 0);
}

vyre_status vy_cuda_device_start(vy_cuda *cuda, vyre_error *error) {
    int was_pushed;
    vyre_status status = vy_cuda_check(cuda, cuda->api.context_retain(&cuda->context, cuda->device),
                                       "making the device's context", error);
    if (status != VYRE_OK) {
        cuda->context = NULL;
        return status;
    }
    status = vy_cuda_enter(cuda, &was_pushed, error);
    if (status == VYRE_OK) {
        status = start_inside(cuda, error);
        vy_cuda_leave(cuda, was_pushed);
    }
    if (status != VYRE_OK)
        release_device(cuda);
    return status;
}

void vy_cuda_device_end(vy_cuda *cuda) {
    release_device(cuda);
    vy_cuda_blocks_free(cuda);
}

/* ---- recovery ---- */

/* Whether the device works: memory can be had, written and waited for. */
static vyre_status smoke_test(vy_cuda *cuda, vyre_error *error) {
    int was_pushed;
    vy_cuda_stream_slot *stream_slot;
    vyre_status status = vy_cuda_enter(cuda, &was_pushed, error);
    if (status != VYRE_OK)
        return status;
    status = vy_cuda_stream_slot_acquire(cuda, &stream_slot, error);
    if (status == VYRE_OK) {
        status =
            vy_cuda_check(cuda, cuda->api.fill(stream_slot->control, 0, sizeof(vy_ptx_control), stream_slot->stream),
                          "trying the device", error);
        if (status == VYRE_OK)
            status = vy_cuda_stream_slot_wait(cuda, stream_slot, "trying the device", error);
        stream_slot->is_control_clean = 0;
        vy_cuda_stream_slot_release(cuda, stream_slot);
    }
    vy_cuda_leave(cuda, was_pushed);
    return status;
}

vyre_status vy_cuda_try_recover(void *self, vyre_error *error) {
    vy_cuda *cuda = self;
    int loss = atomic_load(&cuda->loss);
    vyre_error why;
    release_device(cuda);
    atomic_store(&cuda->loss, 0);
    vyre_status status = vy_cuda_device_start(cuda, &why);
    if (status == VYRE_OK)
        status = smoke_test(cuda, &why);
    if (status == VYRE_OK) {
        vy_cuda_blocks_free(cuda);
        return VYRE_OK;
    }
    if (status == VYRE_NO_MEMORY || status == VYRE_NO_DEVICE_MEMORY) { /* it may work another time */
        atomic_store(&cuda->loss, loss);
        *error = why;
        return status;
    }
    atomic_store(&cuda->loss, loss);
    return vy_fail(error, VYRE_UNSUPPORTED, "restart the process: the driver gives it no new context",
                   "the device does not come back (%.300s)", why.message);
}
