/* Asynchronous dispatches, and the thread that watches them (gpu.h). */
#include "backends/gpu/gpu.h"
#include "base/status.h"
#include "base/thread.h"

typedef vy_gpu_pending pending;

#define NEVER UINT64_MAX
/* A waiting thread looks for cancellation and device loss at this interval. */
enum { LOOK_NS = 1000000 };
#define CALLBACK_NS UINT64_C(5000000000)

/* ---- the watching thread ---- */

static int is_told(const pending *p) {
    return p->is_called || atomic_load_explicit(&p->gpu->loss, memory_order_relaxed);
}

/* The caller holds the lock, so that the submission cannot end meanwhile. */
static int is_over(const pending *p) {
    return p->is_ended || is_told(p) || (p->gpu->calls->is_done && p->gpu->calls->is_done(p->submission.slot));
}

/* The caller holds the lock, also during the call of the driver, so that the request cannot reach a later kernel in
 * this slot. */
static void signal_stop(pending *p, uint64_t now) {
    vyre_error ignored;
    if (p->is_called || p->is_over || !p->submission.kernel->polls ||
        (p->was_signalled && now - p->signalled_ns < VY_GPU_SIGNAL_RETRY_NS))
        return;
    p->was_signalled = 1;
    p->signalled_ns = now;
    p->gpu->calls->signal_stop(p->submission.slot, &ignored);
}

static void cancel_with_lock(pending *p, uint64_t now) {
    p->was_cancelled = 1;
    signal_stop(p, now);
}

static void unlink_watched(pending *p) {
    for (pending **link = &p->gpu->watch.first; *link; link = &(*link)->next)
        if (*link == p) {
            *link = p->next;
            break;
        }
    p->is_watched = 0;
}

static void notify_now(pending *p) {
    vy_gpu_watch *watch = &p->gpu->watch;
    void (*done)(void *) = p->done;
    void *user = p->user;
    p->done = NULL;
    p->is_notified = 1;
    unlink_watched(p);
    pthread_mutex_unlock(&watch->lock);
    done(user);
    pthread_mutex_lock(&watch->lock);
    p->is_notified = 0;
    pthread_cond_broadcast(&watch->changed);
}

/* One pass over the list: signals kernels after their deadline, and returns a dispatch that is done and whose owner
 * waits for a call, or NULL. *next: the time of the next pass. */
static pending *look(vy_gpu *gpu, uint64_t *next) {
    uint64_t now = vy_clock_now();
    *next = NEVER;
    for (pending *p = gpu->watch.first; p; p = p->next) {
        uint64_t at = NEVER;
        if (is_over(p)) {
            if (p->done)
                return p;
            continue;
        }
        if (p->submission.deadline_ns && !gpu->has_deadline)
            at = p->submission.deadline_ns;
        if (at <= now) {
            signal_stop(p, now);
            at = now + VY_GPU_SIGNAL_RETRY_NS;
        }
        if (gpu->calls->is_done && at > now + VY_GPU_PAUSE_NS)
            at = now + VY_GPU_PAUSE_NS;
        *next = at < *next ? at : *next;
    }
    return NULL;
}

static void *watch_all(void *user) {
    vy_gpu *gpu = user;
    vy_gpu_watch *watch = &gpu->watch;
    (void)vy_cancellation_disable();
    pthread_mutex_lock(&watch->lock);
    while (!watch->is_ending) {
        uint64_t next = NEVER;
        int was_pushed;
        pending *p = NULL;
        if (watch->first) {
            gpu->calls->enter_for_release(gpu, &was_pushed);
            p = look(gpu, &next);
            gpu->calls->leave(gpu, was_pushed);
        }
        struct timespec until = vy_clock_timespec(next);
        if (p)
            notify_now(p);
        else if (next == NEVER)
            pthread_cond_wait(&watch->changed, &watch->lock);
        else
            pthread_cond_timedwait(&watch->changed, &watch->lock, &until);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

/* The caller holds the lock. 0: the thread cannot be started. */
static int watch_add(pending *p) {
    vy_gpu_watch *watch = &p->gpu->watch;
    if (!watch->is_running)
        watch->is_running = vy_thread_start(&watch->thread, watch_all, p->gpu);
    if (watch->is_running && !p->is_watched) {
        p->next = watch->first;
        watch->first = p;
        p->is_watched = 1;
    }
    if (watch->is_running)
        pthread_cond_broadcast(&watch->changed);
    return watch->is_running;
}

void vy_gpu_pending_done(pending *p) {
    vy_gpu *gpu = p->gpu; /* `p` may be freed when the lock is released */
    pthread_mutex_lock(&gpu->watch.lock);
    p->is_called = 1;
    pthread_cond_broadcast(&gpu->watch.changed);
    pthread_mutex_unlock(&gpu->watch.lock);
}

/* ---- the handle ---- */

static int is_ready(void *self) {
    pending *p = self;
    int was_pushed;
    vyre_error ignored;
    if (p->is_decoded || p->gpu->calls->enter(p->gpu, &was_pushed, &ignored) != VYRE_OK)
        return 1;
    pthread_mutex_lock(&p->gpu->watch.lock);
    int is_done = is_over(p);
    pthread_mutex_unlock(&p->gpu->watch.lock);
    p->gpu->calls->leave(p->gpu, was_pushed);
    return is_done;
}

static int wait_for_call(pending *p, uint64_t deadline_ns) {
    vy_gpu_watch *watch = &p->gpu->watch;
    pthread_mutex_lock(&watch->lock);
    while (!is_told(p)) {
        uint64_t now = vy_clock_now(), next = now + LOOK_NS;
        if (deadline_ns && now >= deadline_ns)
            break;
        if (vy_gpu_is_set(p->submission.cancel))
            cancel_with_lock(p, now);
        if (deadline_ns && deadline_ns < next)
            next = deadline_ns;
        struct timespec until = vy_clock_timespec(next);
        pthread_cond_timedwait(&watch->changed, &watch->lock, &until);
    }
    int is_done = is_told(p);
    pthread_mutex_unlock(&watch->lock);
    return is_done;
}

/* Without the lock, since only this thread ends the submission. */
static int poll_device(pending *p, uint64_t deadline_ns) {
    const vy_gpu *gpu = p->gpu;
    const uint64_t since = vy_clock_now();
    while (!gpu->calls->is_done(p->submission.slot) && !atomic_load_explicit(&gpu->loss, memory_order_relaxed)) {
        uint64_t now = vy_clock_now();
        if (deadline_ns && now >= deadline_ns)
            return 0;
        if (vy_gpu_is_set(p->submission.cancel)) {
            pthread_mutex_lock(&p->gpu->watch.lock);
            cancel_with_lock(p, now);
            pthread_mutex_unlock(&p->gpu->watch.lock);
        }
        vy_gpu_pause(since);
    }
    return 1;
}

/* Waits until the device is done or the deadline has passed, and signals the kernel if the cancel word is set. */
static int wait_until(pending *p, uint64_t deadline_ns) {
    return p->gpu->calls->is_done ? poll_device(p, deadline_ns) : wait_for_call(p, deadline_ns);
}

/* Prevents further requests to stop, because another dispatch may soon use the slot. */
static void stop_signalling(pending *p) {
    pthread_mutex_lock(&p->gpu->watch.lock);
    p->is_over = 1;
    p->submission.was_signalled = p->was_cancelled;
    pthread_mutex_unlock(&p->gpu->watch.lock);
    if (p->was_signalled)
        p->gpu->calls->signal_wait(p->submission.slot);
}

static void end_submission(pending *p) {
    pthread_mutex_lock(&p->gpu->watch.lock);
    p->is_ended = 1;
    pthread_mutex_unlock(&p->gpu->watch.lock);
    p->gpu->calls->unwatch(p);
    vy_gpu_submission_end(&p->submission);
}

/* The device has completed or abandoned the work. */
static void decode_result(pending *p, vyre_outputs *outputs) {
    int ignored;
    stop_signalling(p);
    p->status = atomic_load(&p->gpu->loss) ? p->gpu->calls->enter(p->gpu, &ignored, &p->error) : (vyre_status)VYRE_OK;
    if (p->status == VYRE_OK)
        p->status = vy_gpu_submission_finish(&p->submission, outputs, &p->error);
    end_submission(p);
    p->is_decoded = 1;
}

static vyre_status wait(void *self, uint64_t deadline_ns, vyre_outputs *outputs, vyre_error *error) {
    pending *p = self;
    int was_pushed;
    if (!p->is_decoded) {
        vyre_status status = p->gpu->calls->enter(p->gpu, &was_pushed, error);
        if (status != VYRE_OK)
            return status;
        int is_done = wait_until(p, deadline_ns);
        if (is_done)
            decode_result(p, outputs);
        p->gpu->calls->leave(p->gpu, was_pushed);
        if (!is_done)
            return vy_fail(error, VYRE_NOT_READY, NULL, "`%s` is still running", p->code->name);
    }
    if (p->status != VYRE_OK)
        *error = p->error;
    return p->status;
}

/* A kernel that does not poll runs to its normal end. */
static void cancel(void *self) {
    pending *p = self;
    int was_pushed;
    vyre_error ignored;
    if (p->gpu->calls->enter(p->gpu, &was_pushed, &ignored) != VYRE_OK)
        return;
    pthread_mutex_lock(&p->gpu->watch.lock);
    cancel_with_lock(p, vy_clock_now());
    pthread_mutex_unlock(&p->gpu->watch.lock);
    p->gpu->calls->leave(p->gpu, was_pushed);
}

/* If the watching thread cannot be started, the calling thread waits. */
static void notify(void *self, void (*done)(void *user), void *user) {
    pending *p = self;
    int was_pushed;
    if (!is_ready(p)) {
        pthread_mutex_lock(&p->gpu->watch.lock);
        p->done = done;
        p->user = user;
        int is_later = watch_add(p);
        if (!is_later)
            p->done = NULL;
        pthread_mutex_unlock(&p->gpu->watch.lock);
        if (is_later)
            return;
        p->gpu->calls->enter_for_release(p->gpu, &was_pushed);
        wait_until(p, 0);
        p->gpu->calls->leave(p->gpu, was_pushed);
    }
    done(user);
}

/* A driver that has lost its device may call vy_gpu_pending_done late or never: 0 if it has not within CALLBACK_NS. */
static int wait_for_callback(pending *p) {
    vy_gpu_watch *watch = &p->gpu->watch;
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
    vy_gpu_watch *watch = &p->gpu->watch;
    int was_pushed, needs_callback = !p->gpu->calls->is_done;
    pthread_mutex_lock(&watch->lock);
    p->done = NULL;
    if (p->is_watched)
        unlink_watched(p);
    while (p->is_notified && !pthread_equal(watch->thread, pthread_self()))
        pthread_cond_wait(&watch->changed, &watch->lock);
    pthread_mutex_unlock(&watch->lock);
    if (!p->is_ended) { /* the outputs were never requested */
        p->gpu->calls->enter_for_release(p->gpu, &was_pushed);
        stop_signalling(p);
        end_submission(p);
        p->gpu->calls->leave(p->gpu, was_pushed);
    }
    vy_gpu_executable_release(p->code);
    if (!needs_callback || wait_for_callback(p)) /* otherwise leaked, because the driver may still use it */
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
    if (p->gpu->has_deadline || !p->submission.deadline_ns || !p->submission.kernel->polls)
        return VYRE_OK;
    pthread_mutex_lock(&p->gpu->watch.lock);
    int is_kept = watch_add(p);
    pthread_mutex_unlock(&p->gpu->watch.lock);
    return is_kept
               ? (vyre_status)VYRE_OK
               : vy_fail(error, VYRE_NO_MEMORY, "raise the limit of threads (`ulimit -u`), or leave the deadline out",
                         "the thread that keeps deadlines cannot be started");
}

static vyre_status submit(pending *p, const vyre_launch *launch, const vyre_span *inputs, vyre_error *error) {
    vyre_status status = vy_gpu_submission_bind(&p->submission, launch, inputs, NULL, NULL, error);
    if (status == VYRE_OK)
        status = vy_gpu_submission_submit(&p->submission, launch, error);
    if (status == VYRE_OK)
        status = keep_deadline(p, error);
    if (status == VYRE_OK)
        status = p->gpu->calls->watch(p, error);
    if (status != VYRE_OK) {
        pthread_mutex_lock(&p->gpu->watch.lock);
        if (p->is_watched)
            unlink_watched(p);
        pthread_mutex_unlock(&p->gpu->watch.lock);
    }
    return status;
}

vyre_status vy_gpu_pending_start(vy_gpu_executable *code, const vyre_launch *launch, const vyre_span *inputs,
                                 vyre_native_pending *out, vyre_error *error) {
    pending *p = vy_allocate(sizeof *p);
    if (!p)
        return vy_fail_memory(error, "starting a dispatch");
    memset(p, 0, offsetof(pending, error));
    p->gpu = code->gpu;
    p->code = code;
    vyre_status status = vy_gpu_submission_start(&p->submission, code, launch, NULL, error);
    if (status == VYRE_OK) {
        vy_gpu_range_begin(p->gpu, launch->label, code->name);
        status = submit(p, launch, inputs, error);
        vy_gpu_range_end(p->gpu);
        if (status != VYRE_OK)
            vy_gpu_submission_end(&p->submission);
    }
    if (status != VYRE_OK) {
        vy_release(p, sizeof *p);
        return status;
    }
    vy_gpu_executable_retain(code);
    *out = (vyre_native_pending){&table, p};
    return VYRE_OK;
}

void vy_gpu_watch_end(vy_gpu *gpu) {
    pthread_mutex_lock(&gpu->watch.lock);
    int was_running = gpu->watch.is_running;
    gpu->watch.is_ending = 1;
    pthread_cond_broadcast(&gpu->watch.changed);
    pthread_mutex_unlock(&gpu->watch.lock);
    if (was_running)
        pthread_join(gpu->watch.thread, NULL);
}
