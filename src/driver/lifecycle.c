/* Entering and leaving, loss, shutdown, recovery (backend.h).
 *
 * The order that makes it safe: whoever enters counts itself first and looks at the flags afterwards; whoever closes sets the flag first
 * and looks at the count afterwards. One of the two sees the other. */
#include "driver/backend.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "base/thread.h"

#include <errno.h>
#include <inttypes.h>

vyre_status vy_backend_check_process(const vyre_backend *backend, vyre_error *error) {
    if (!vy_backend_is_inherited(backend))
        return VYRE_OK;
    return vy_fail(error, VYRE_DEVICE_LOST, "acquire the backend again in this process, or fork before it is acquired",
                   "backend `%s` was acquired by process %ld, and does not survive its fork", backend->id,
                   backend->bound.process);
}

static vyre_status refuse(const vyre_backend *backend, vyre_error *error) {
    if (vy_backend_is_inherited(backend))
        return vy_backend_check_process(backend, error);
    if (atomic_load(&backend->is_closing))
        return vy_fail(error, VYRE_DEVICE_LOST, "acquire the backend again", "backend `%s` is shut down", backend->id);
    return vy_fail(error, VYRE_DEVICE_LOST, NULL, "the device of backend `%s` is lost", backend->id);
}

vyre_status vy_backend_enter(vyre_backend *backend, vyre_error *error) {
    atomic_fetch_add(&backend->in_flight, 1);
    if (!atomic_load(&backend->is_closing) && !atomic_load(&backend->is_lost))
        return VYRE_OK;
    vy_backend_leave(backend);
    return refuse(backend, error);
}

void vy_backend_leave(vyre_backend *backend) {
    if (atomic_fetch_sub(&backend->in_flight, 1) == 1 &&
        (atomic_load(&backend->is_closing) || atomic_load(&backend->is_lost)))
        vy_backend_wake(backend);
}

void vy_backend_wake(vyre_backend *backend) {
    if (vy_backend_is_inherited(backend))
        return; /* those who waited are in another process */
    pthread_mutex_lock(&backend->lock);
    pthread_cond_broadcast(&backend->idle);
    pthread_mutex_unlock(&backend->lock);
}

void vy_backend_mark_lost(vyre_backend *backend) {
    if (!vy_call_is_abandoned() && !atomic_exchange(&backend->is_lost, 1)) {
        vy_count(VY_COUNTER_device_losses, 1);
        vy_log(0, backend->id, "the device is lost");
    }
}

int vy_backend_is_idle(const vyre_backend *backend) {
    return atomic_load(&backend->in_flight) == 0 && vy_dispatch_slots_are_idle(&backend->dispatch_slots);
}

/* With the lock held, which is given up meanwhile. Native handles end because somebody collects them. Returns 0 if something is still in flight
 * at `until_ns` (0: it waits for ever). */
static int drain_and_wait(vyre_backend *backend, uint64_t until_ns) {
    const struct timespec until = vy_clock_timespec(until_ns);
    int result = 0;
    pthread_mutex_unlock(&backend->lock);
    vy_async_wait_all(backend, until_ns);
    pthread_mutex_lock(&backend->lock);
    while (!vy_backend_is_idle(backend) && result != ETIMEDOUT)
        result = until_ns ? pthread_cond_timedwait(&backend->idle, &backend->lock, &until)
                          : pthread_cond_wait(&backend->idle, &backend->lock);
    return vy_backend_is_idle(backend);
}

/* What is in flight gets FINISH_NS to end by itself, and after it was cancelled another STOP_NS. The lock as above. */
#define FINISH_NS UINT64_C(2000000000)
#define STOP_NS UINT64_C(1000000000)
static int end_all(vyre_backend *backend) {
    if (drain_and_wait(backend, vy_clock_now() + FINISH_NS))
        return 1;
    atomic_store(&backend->is_stopping, 1);
    pthread_mutex_unlock(&backend->lock);
    vy_async_cancel(backend);
    pthread_mutex_lock(&backend->lock);
    return drain_and_wait(backend, vy_clock_now() + STOP_NS);
}

vyre_status vyre_backend_flush(vyre_backend *backend, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    vyre_error own;
    vyre_error *e = error ? error : &own;
    vyre_status status = vy_backend_enter(backend, e);
    if (status != VYRE_OK)
        return status;
    vy_async_wait_all(backend, 0);
    vy_error_clear(e);
    if (backend->calls.flush)
        status = vy_backend_check_result(backend, backend->calls.flush(backend->self, e), e);
    vy_backend_leave(backend);
    return status;
}

vyre_status vy_backend_close_device(vyre_backend *backend, vyre_error *error) {
    backend->is_device_closed = 1;
    vy_executable_cache_retire(backend);
    vy_residents_free_all(backend);
    vy_error_clear(error);
    return backend->calls.shutdown
               ? vy_backend_check_result(backend, backend->calls.shutdown(backend->self, error), error)
               : VYRE_OK;
}

vyre_status vyre_backend_shutdown(vyre_backend *backend, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    vyre_error own;
    vyre_error *e = error ? error : &own;
    vyre_status status = vy_backend_check_process(backend, error);
    if (status != VYRE_OK)
        return status;
    vy_writeback_queue_flush(&backend->writebacks);
    pthread_mutex_lock(&backend->lock);
    while (backend->is_recovering)
        pthread_cond_wait(&backend->idle, &backend->lock);
    int first = !atomic_exchange(&backend->is_closing, 1), has_ended = end_all(backend);
    while (!first && !backend->is_closed)
        pthread_cond_wait(&backend->idle, &backend->lock);
    pthread_mutex_unlock(&backend->lock);
    if (!first)
        return VYRE_OK;
    vy_writeback_queue_flush(&backend->writebacks); /* what came meanwhile is dropped: nobody enters any more */
    /* A call that never came back may still use the device: the device is left alone until it does. */
    if (!has_ended)
        status = vy_fail(
            e, VYRE_TIMEOUT,
            "give dispatches a timeout or a word to cancel them; the last release of the backend frees the device",
            "backend `%s` is shut down, but a call on it has not ended within %" PRIu64
            " s and cannot be stopped: the device stays in use until it ends",
            backend->id, (FINISH_NS + STOP_NS) / 1000000000u);
    else if (atomic_load(&backend->abandoned) == 0)
        status = vy_backend_close_device(backend, e);
    pthread_mutex_lock(&backend->lock);
    backend->is_closed = 1;
    pthread_cond_broadcast(&backend->idle);
    pthread_mutex_unlock(&backend->lock);
    return status;
}

int vyre_backend_device_lost(vyre_backend *backend) {
    VY_SCOPED_CANCELLATION_DISABLE();
    if (!backend)
        return 0;
    if (backend->calls.device_lost && vy_backend_enter(backend, NULL) == VYRE_OK) {
        if (backend->calls.device_lost(backend->self))
            vy_backend_mark_lost(backend);
        vy_backend_leave(backend);
    }
    return atomic_load(&backend->is_lost);
}

static vyre_status recover(vyre_backend *backend, vyre_error *error) {
    vy_executable_cache_retire(backend); /* pipelines are compiled again when they are next used */
    vy_error_clear(error);
    vyre_status status = vy_backend_check_result(backend, backend->calls.try_recover(backend->self, error), error);
    if (status != VYRE_OK)
        return status;
    vy_backend_query_capabilities(backend);
    vy_prepared_clear(&backend->prepared);
    return vy_residents_recover(backend, error);
}

vyre_status vyre_backend_try_recover(vyre_backend *backend, vyre_error *error) {
    VY_SCOPED_CANCELLATION_DISABLE();
    VY_REQUIRE(error, backend);
    vyre_error own;
    vyre_error *e = error ? error : &own;
    if (vy_backend_is_inherited(backend))
        return refuse(backend, error);
    if (!backend->calls.try_recover)
        return vy_backend_unsupported(backend, "device recovery", error);
    pthread_mutex_lock(&backend->lock);
    while (backend->is_recovering)
        pthread_cond_wait(&backend->idle, &backend->lock);
    if (atomic_load(&backend->is_closing) || !atomic_load(&backend->is_lost)) {
        pthread_mutex_unlock(&backend->lock);
        return atomic_load(&backend->is_closing) ? refuse(backend, error) : VYRE_OK;
    }
    backend->is_recovering = 1;
    drain_and_wait(backend, 0);
    pthread_mutex_unlock(&backend->lock);

    vyre_status status = recover(backend, e);

    pthread_mutex_lock(&backend->lock);
    if (status == VYRE_OK) {
        atomic_fetch_add(&backend->generation, 1);
        atomic_store(&backend->is_lost, 0);
    }
    backend->is_recovering = 0;
    pthread_cond_broadcast(&backend->idle);
    pthread_mutex_unlock(&backend->lock);
    return status;
}

uint64_t vyre_backend_generation(const vyre_backend *backend) {
    return backend ? atomic_load(&backend->generation) : 0;
}
