/* Asynchronous dispatches (pending.h).
 *
 * The OpenCL driver calls event_done when the device has completed the dispatch. A callback must not make blocking
 * calls of the driver, so it only sets a flag and wakes the waiting threads. The watching thread calls the owner's
 * `done`. `wait` decodes the result and delivers the outputs.
 *
 * The watching thread also requests kernels to stop after their deadline, because OpenCL kernels have no clock. It is
 * started with the first dispatch that needs it. */
#include "backends/opencl/pending.h"

#include "backends/opencl/submission.h"
#include "base/status.h"
#include "base/thread.h"

#include <time.h>

typedef struct vy_ocl_pending {
    struct vy_ocl_pending *next; /* in the list of the watching thread */
    vy_ocl_submission submission;
    vy_ocl *ocl;
    vy_ocl_executable *code;
    vy_cl_event event; /* completes when the device has completed the dispatch */
    /* Guarded by the lock of the watch. */
    int is_called;   /* the driver has called event_done */
    int is_over;     /* no further stop requests are sent */
    int is_watched;  /* in the list */
    int is_notified; /* `done` is being called */
    int was_signalled;
    uint64_t signalled_ns;
    void (*done)(void *user);
    void *user;
    /* Used only by the thread that waits. */
    int is_decoded;
    vyre_status status;
    vyre_error error;
} pending;

/* ---- the watching thread ---- */

#define NEVER UINT64_MAX
/* A waiting thread checks for cancellation and device loss at this interval. */
enum { LOOK_NS = 1000000 };
#define CALLBACK_NS UINT64_C(5000000000)

void vy_ocl_watch_start(vy_ocl *ocl) {
    pthread_mutex_init(&ocl->watch.lock, NULL);
    vy_cond_init_monotonic(&ocl->watch.changed);
}

void vy_ocl_watch_end(vy_ocl *ocl) {
    pthread_mutex_lock(&ocl->watch.lock);
    int was_running = ocl->watch.is_running;
    ocl->watch.is_ending = 1;
    pthread_cond_broadcast(&ocl->watch.changed);
    pthread_mutex_unlock(&ocl->watch.lock);
    if (was_running)
        pthread_join(ocl->watch.thread, NULL);
    pthread_cond_destroy(&ocl->watch.changed);
    pthread_mutex_destroy(&ocl->watch.lock);
}

static int is_over(const pending *p) {
    return p->is_called || atomic_load_explicit(&p->ocl->loss, memory_order_relaxed);
}

/* The caller holds the lock, also during the call of the driver, so that the request cannot reach a later kernel in
 * this slot. */
static void signal_stop(pending *p, uint64_t now) {
    vyre_error ignored;
    if (p->is_called || p->is_over || !p->submission.kernel->header.polls ||
        (p->was_signalled && now - p->signalled_ns < VY_OCL_SIGNAL_RETRY_NS))
        return;
    p->was_signalled = 1;
    p->signalled_ns = now;
    vy_ocl_signal_stop(p->ocl, p->submission.slot, &ignored);
}

static void unlink_watched(vy_ocl *ocl, pending *p) {
    for (pending **link = &ocl->watch.first; *link; link = &(*link)->next)
        if (*link == p) {
            *link = p->next;
            break;
        }
    p->is_watched = 0;
}

static void notify_now(vy_ocl *ocl, pending *p) {
    void (*done)(void *) = p->done;
    void *user = p->user;
    p->done = NULL;
    p->is_notified = 1;
    unlink_watched(ocl, p);
    pthread_mutex_unlock(&ocl->watch.lock);
    done(user);
    pthread_mutex_lock(&ocl->watch.lock);
    p->is_notified = 0;
    pthread_cond_broadcast(&ocl->watch.changed);
}

/* One pass over the list: notifies the first dispatch that has completed, stops kernels after their deadline, and
 * returns the time of the next pass. */
static uint64_t look(vy_ocl *ocl) {
    uint64_t now = vy_clock_now(), next = NEVER;
    for (pending *p = ocl->watch.first; p; p = p->next) {
        if (p->done && is_over(p)) {
            notify_now(ocl, p);
            return now; /* the list may have changed */
        }
        uint64_t deadline = is_over(p) ? 0 : p->submission.deadline_ns;
        if (deadline && deadline <= now) {
            signal_stop(p, now);
            deadline = now + VY_OCL_SIGNAL_RETRY_NS;
        }
        if (deadline && deadline < next)
            next = deadline;
    }
    return next;
}

static void *watch_all(void *user) {
    vy_ocl *ocl = user;
    struct vy_ocl_watch *watch = &ocl->watch;
    (void)vy_cancellation_disable();
    pthread_mutex_lock(&watch->lock);
    while (!watch->is_ending) {
        uint64_t next = look(ocl);
        struct timespec until = vy_clock_timespec(next);
        if (next == NEVER)
            pthread_cond_wait(&watch->changed, &watch->lock);
        else if (next > vy_clock_now())
            pthread_cond_timedwait(&watch->changed, &watch->lock, &until);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

/* The caller holds the lock. 0: the thread cannot be started. */
static int watch_add(pending *p) {
    struct vy_ocl_watch *watch = &p->ocl->watch;
    if (!watch->is_running)
        watch->is_running = vy_thread_start(&watch->thread, watch_all, p->ocl);
    if (watch->is_running && !p->is_watched) {
        p->next = watch->first;
        watch->first = p;
        p->is_watched = 1;
    }
    if (watch->is_running)
        pthread_cond_broadcast(&watch->changed);
    return watch->is_running;
}

/* Called by the driver on one of its threads. */
static void event_done(vy_cl_event event, int32_t state, void *user) {
    pending *p = user;
    vy_ocl *ocl = p->ocl;
    (void)event;
    (void)state; /* `wait` gets the same result from the queue */
    pthread_mutex_lock(&ocl->watch.lock);
    p->is_called = 1;
    pthread_cond_broadcast(&ocl->watch.changed);
    pthread_mutex_unlock(&ocl->watch.lock);
}

/* ---- the handle ---- */

static int is_ready(void *self) {
    pending *p = self;
    pthread_mutex_lock(&p->ocl->watch.lock);
    int is_done = p->is_decoded || is_over(p);
    pthread_mutex_unlock(&p->ocl->watch.lock);
    return is_done;
}

static int is_cancelled(const pending *p) {
    return p->submission.cancel && __atomic_load_n(p->submission.cancel, __ATOMIC_RELAXED);
}

static int wait_until(pending *p, uint64_t deadline_ns) {
    struct vy_ocl_watch *watch = &p->ocl->watch;
    pthread_mutex_lock(&watch->lock);
    while (!is_over(p)) {
        uint64_t now = vy_clock_now(), next = now + LOOK_NS;
        if (deadline_ns && now >= deadline_ns)
            break;
        if (is_cancelled(p))
            signal_stop(p, now);
        if (deadline_ns && deadline_ns < next)
            next = deadline_ns;
        struct timespec until = vy_clock_timespec(next);
        pthread_cond_timedwait(&watch->changed, &watch->lock, &until);
    }
    int is_done = is_over(p);
    pthread_mutex_unlock(&watch->lock);
    return is_done;
}

/* Prevents further stop requests, because another dispatch may soon use the slot. */
static void stop_signalling(pending *p) {
    pthread_mutex_lock(&p->ocl->watch.lock);
    p->is_over = 1;
    p->submission.was_signalled = (uint8_t)(p->was_signalled && !p->submission.deadline_ns);
    pthread_mutex_unlock(&p->ocl->watch.lock);
    if (p->was_signalled && p->ocl->signal_queue)
        p->ocl->api.finish(p->ocl->signal_queue);
}

static vyre_status wait(void *self, uint64_t deadline_ns, vyre_outputs *outputs, vyre_error *error) {
    pending *p = self;
    if (!p->is_decoded) {
        if (!wait_until(p, deadline_ns))
            return vy_fail(error, VYRE_NOT_READY, NULL, "`%s` is still running", p->code->name);
        stop_signalling(p);
        p->status = vy_ocl_enter(p->ocl, &p->error);
        if (p->status == VYRE_OK)
            p->status = vy_ocl_submission_finish(&p->submission, outputs, &p->error);
        p->is_decoded = 1;
    }
    if (p->status != VYRE_OK)
        *error = p->error;
    return p->status;
}

/* A kernel that does not poll runs to completion. */
static void cancel(void *self) {
    pending *p = self;
    pthread_mutex_lock(&p->ocl->watch.lock);
    signal_stop(p, vy_clock_now());
    pthread_mutex_unlock(&p->ocl->watch.lock);
}

/* If the watching thread cannot be started, the calling thread waits. */
static void notify(void *self, void (*done)(void *user), void *user) {
    pending *p = self;
    struct vy_ocl_watch *watch = &p->ocl->watch;
    pthread_mutex_lock(&watch->lock);
    int is_later = !is_over(p);
    if (is_later) {
        p->done = done;
        p->user = user;
        is_later = watch_add(p);
        if (!is_later)
            p->done = NULL;
    }
    pthread_mutex_unlock(&watch->lock);
    if (is_later)
        return;
    wait_until(p, 0);
    done(user);
}

/* A driver that has lost its device may call event_done late or never: 0 if it has not within CALLBACK_NS. */
static int wait_for_callback(pending *p) {
    struct vy_ocl_watch *watch = &p->ocl->watch;
    struct timespec until = vy_clock_timespec(vy_clock_now() + CALLBACK_NS);
    pthread_mutex_lock(&watch->lock);
    while (!p->is_called && pthread_cond_timedwait(&watch->changed, &watch->lock, &until) == 0) {
    }
    int is_called = p->is_called;
    pthread_mutex_unlock(&watch->lock);
    return is_called;
}

static void destroy(void *self) {
    pending *p = self;
    struct vy_ocl_watch *watch = &p->ocl->watch;
    pthread_mutex_lock(&watch->lock);
    p->done = NULL;
    if (!p->is_decoded)
        signal_stop(p, vy_clock_now());
    if (p->is_watched)
        unlink_watched(p->ocl, p);
    while (p->is_notified && !pthread_equal(watch->thread, pthread_self()))
        pthread_cond_wait(&watch->changed, &watch->lock);
    pthread_mutex_unlock(&watch->lock);
    if (!p->is_decoded)
        wait_until(p, 0);
    stop_signalling(p);
    vy_ocl_submission_end(&p->submission);
    p->ocl->api.event_release(p->event);
    vy_ocl_executable_release(p->code);
    if (wait_for_callback(p)) /* otherwise leaked, because the driver may still use it */
        vy_release(p, sizeof *p);
}

static const vyre_pending_vtable table = {
    .struct_size = sizeof(vyre_pending_vtable),
    .is_ready = is_ready,
    .wait = wait,
    .cancel = cancel,
    .destroy = destroy,
    .notify = notify,
};

/* ---- starting ---- */

static vyre_status keep_deadline(pending *p, vyre_error *error) {
    if (!p->submission.deadline_ns || !p->submission.kernel->header.polls)
        return VYRE_OK;
    pthread_mutex_lock(&p->ocl->watch.lock);
    int is_kept = watch_add(p);
    pthread_mutex_unlock(&p->ocl->watch.lock);
    return is_kept
               ? (vyre_status)VYRE_OK
               : vy_fail(error, VYRE_NO_MEMORY, "raise the limit of threads (`ulimit -u`), or leave the deadline out",
                         "the thread that keeps deadlines cannot be started");
}

static vyre_status submit(pending *p, const vyre_launch *launch, const vyre_span *inputs, vyre_error *error) {
    vy_ocl *ocl = p->ocl;
    vy_ocl_slot *slot = p->submission.slot;
    vyre_status status = vy_ocl_submission_bind(&p->submission, launch, inputs, NULL, NULL, error);
    if (status == VYRE_OK)
        status = vy_ocl_submission_submit(&p->submission, launch, error);
    if (status == VYRE_OK)
        status =
            vy_ocl_check(ocl, ocl->api.enqueue_marker(slot->queue, 0, NULL, &p->event), "starting a dispatch", error);
    if (status != VYRE_OK)
        return status;
    status = vy_ocl_check(ocl, ocl->api.flush(slot->queue), "starting a dispatch", error);
    if (status == VYRE_OK)
        status = keep_deadline(p, error);
    if (status == VYRE_OK)
        status = vy_ocl_check(ocl, ocl->api.event_callback(p->event, VY_CL_COMPLETE, event_done, p),
                              "starting a dispatch", error);
    if (status != VYRE_OK) {
        pthread_mutex_lock(&ocl->watch.lock);
        if (p->is_watched)
            unlink_watched(ocl, p);
        pthread_mutex_unlock(&ocl->watch.lock);
        ocl->api.event_release(p->event);
    }
    return status;
}

vyre_status vy_ocl_pending_start(vy_ocl_executable *code, const vyre_launch *launch, const vyre_span *inputs,
                                 vyre_native_pending *out, vyre_error *error) {
    pending *p = vy_allocate(sizeof *p);
    if (!p)
        return vy_fail_memory(error, "starting a dispatch");
    p->ocl = code->ocl;
    p->is_called = p->is_over = p->is_watched = p->is_notified = p->was_signalled = p->is_decoded = 0;
    p->signalled_ns = 0;
    p->done = NULL;
    p->event = NULL;
    vyre_status status = vy_ocl_submission_start(&p->submission, code, launch, NULL, error);
    if (status == VYRE_OK) {
        status = submit(p, launch, inputs, error);
        if (status != VYRE_OK)
            vy_ocl_submission_end(&p->submission);
    }
    if (status != VYRE_OK) {
        vy_release(p, sizeof *p);
        return status;
    }
    p->code = vy_ocl_executable_retain(code);
    *out = (vyre_native_pending){&table, p};
    return VYRE_OK;
}
