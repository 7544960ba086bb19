/* Asynchronous dispatches, eager readback of their outputs, and the thread that watches their events (pending.h). */
#include "backends/cuda/pending.h"

#include "backends/cuda/cuda.h"
#include "backends/cuda/transfer.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"
#include "driver/dispatch.h"

#include <time.h>

/* ---- event watcher ---- */

enum { PAUSE_NS = 20000 };

void vy_cuda_event_watcher_start(vy_cuda_event_watcher *watch) {
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->changed, NULL);
}

void vy_cuda_event_watcher_end(vy_cuda_event_watcher *watch) {
    pthread_mutex_lock(&watch->lock);
    int was_running = watch->is_running;
    watch->is_ending = 1;
    pthread_cond_broadcast(&watch->changed);
    pthread_mutex_unlock(&watch->lock);
    if (was_running)
        pthread_join(watch->thread, NULL);
    pthread_cond_destroy(&watch->changed);
    pthread_mutex_destroy(&watch->lock);
}

/* ---- the thread ---- */

static int is_done(vy_cuda *cuda, const vy_cuda_watched_event *watched) {
    return !watched->event || atomic_load(&cuda->loss) || cuda->api.event_query(watched->event) != VY_CU_NOT_READY;
}

/* Called with the lock held. Removes the first completed event from the list. The driver is queried under the lock, so
 * that no other thread destroys an event during the query. */
static vy_cuda_watched_event *pop_done(vy_cuda *cuda) {
    for (vy_cuda_watched_event **link = &cuda->watch.first; *link; link = &(*link)->next)
        if (is_done(cuda, *link)) {
            vy_cuda_watched_event *taken = *link;
            *link = taken->next;
            return taken;
        }
    return NULL;
}

static void notify_watched(vy_cuda_event_watcher *watch, vy_cuda_watched_event *watched) {
    void (*done)(void *) = watched->done;
    void *user = watched->user;
    watch->notified = watched;
    pthread_mutex_unlock(&watch->lock);
    done(user); /* may free `watched` */
    pthread_mutex_lock(&watch->lock);
    watch->notified = NULL;
    pthread_cond_broadcast(&watch->changed);
}

static void *watch_events(void *user) {
    vy_cuda *cuda = user;
    vy_cuda_event_watcher *watch = &cuda->watch;
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int was_pushed;
    (void)vy_cancellation_disable();
    pthread_mutex_lock(&watch->lock);
    while (!watch->is_ending) {
        if (!watch->first) {
            pthread_cond_wait(&watch->changed, &watch->lock);
            continue;
        }
        vy_cuda_enter_for_release(cuda, &was_pushed);
        vy_cuda_watched_event *done = pop_done(cuda);
        vy_cuda_leave(cuda, was_pushed);
        if (done) {
            notify_watched(watch, done);
            continue;
        }
        pthread_mutex_unlock(&watch->lock);
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&watch->lock);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

/* ---- adding and removing events ---- */

int vy_cuda_event_watcher_add(vy_cuda *cuda, vy_cuda_watched_event *watched) {
    vy_cuda_event_watcher *watch = &cuda->watch;
    pthread_mutex_lock(&watch->lock);
    if (!watch->is_running)
        watch->is_running = vy_thread_start(&watch->thread, watch_events, cuda);
    int is_running = watch->is_running;
    if (is_running) {
        watched->next = watch->first;
        watch->first = watched;
        pthread_cond_broadcast(&watch->changed);
    }
    pthread_mutex_unlock(&watch->lock);
    return is_running;
}

/* The caller has seen the event complete, and the event is about to be reused. Without an event, the watcher calls
 * `done` without a query. */
static void event_watcher_done(vy_cuda *cuda, vy_cuda_watched_event *watched) {
    pthread_mutex_lock(&cuda->watch.lock);
    watched->event = NULL;
    pthread_mutex_unlock(&cuda->watch.lock);
}

/* After it returns, `done` is not called any more. May be called from `done` itself. */
static void event_watcher_remove(vy_cuda *cuda, vy_cuda_watched_event *watched) {
    vy_cuda_event_watcher *watch = &cuda->watch;
    pthread_mutex_lock(&watch->lock);
    for (vy_cuda_watched_event **link = &watch->first; *link; link = &(*link)->next)
        if (*link == watched) {
            *link = watched->next;
            break;
        }
    while (watch->notified == watched && !pthread_equal(watch->thread, pthread_self()))
        pthread_cond_wait(&watch->changed, &watch->lock);
    pthread_mutex_unlock(&watch->lock);
}

/* ---- eager readback: the thread ---- */

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

static void *readback_thread(void *user) {
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

/* ---- start and end of an eager readback ---- */

/* Total size of all outputs. */
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

/* Called after the stream_slot's event `done` was recorded. If the outputs are small, or memory or a thread is
 * unavailable, eager readback is not used, and the waiting thread copies the outputs. */
static void eager_readback_start(vy_cuda_eager_readback *a, vy_cuda_submission *f) {
    a->submission = NULL;
    if (f->is_small || size_of(f) < VY_CUDA_PARALLEL_COPY_MIN)
        return;
    a->submission = f;
    a->output_count = 0;
    a->is_over = 0;
    if (acquire_memory(a) && vy_thread_start(&a->thread, readback_thread, a))
        return;
    release_memory(a);
    a->submission = NULL;
}

static void join_thread(vy_cuda_eager_readback *a) {
    if (!a->is_over)
        pthread_join(a->thread, NULL);
    a->is_over = 1;
}

vyre_status vy_cuda_eager_readback_deliver(vy_cuda_eager_readback *a, vyre_outputs *outputs, vyre_error *error) {
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

/* Called before the submission ends. Joins the thread, and keeps undelivered buffers for other dispatches. */
static void eager_readback_end(vy_cuda_eager_readback *a) {
    if (!a->submission)
        return;
    join_thread(a);
    release_memory(a);
    a->submission = NULL;
}

/* ---- pending dispatches ----
 *
 * The device's part ends with an event; `wait` decodes the result and delivers the outputs. `cancel` may be called
 * concurrently: the lock keeps it from signalling a kernel that has ended, whose stream slot may belong to another
 * dispatch. */

/* As in launch.c: polls for this long without a pause, then with pauses. */
#define SPIN_NS UINT64_C(100000)

typedef struct pending {
    vy_cuda_submission submission;
    vy_cuda_eager_readback eager_readback;
    vy_cuda_watched_event watched;
    int is_watched;
    vy_cuda *cuda;
    vy_cuda_executable *code;
    pthread_mutex_t lock; /* held while the kernel is signalled to end */
    int is_over;          /* it has ended, and is not signalled any more */
    int was_signalled;
    uint64_t signalled_ns; /* time of the last signal */
    int is_decoded;        /* the stream_slot is released */
    vyre_status status;
    vyre_error error;
} pending;

/* After a device loss every dispatch is ready. */
static int is_ready(void *self) {
    pending *p = self;
    int was_pushed, is_done = 1;
    vyre_error ignored;
    if (p->is_decoded || vy_cuda_enter(p->cuda, &was_pushed, &ignored) != VYRE_OK)
        return 1;
    is_done = p->cuda->api.event_query(p->submission.stream_slot->done) != VY_CU_NOT_READY;
    vy_cuda_leave(p->cuda, was_pushed);
    return is_done;
}

static int is_cancelled(const pending *p) {
    return p->submission.cancel && __atomic_load_n(p->submission.cancel, __ATOMIC_RELAXED);
}

static void signal_stop(pending *p) {
    vyre_error ignored;
    uint64_t now = vy_clock_now();
    pthread_mutex_lock(&p->lock);
    int is_due = p->submission.kernel->header.polls && now - p->signalled_ns >= VY_CUDA_SIGNAL_RETRY_NS;
    if (!p->is_over && (!p->was_signalled || is_due)) {
        p->was_signalled = 1;
        p->signalled_ns = now;
        vy_cuda_signal_stop(p->cuda, p->submission.stream_slot, &ignored);
    }
    pthread_mutex_unlock(&p->lock);
}

/* Polls until the event is done or the deadline has passed, and signals the kernel to end if the caller's cancel word
 * is set. Returns the driver's last result. */
static int wait_until(pending *p, uint64_t deadline_ns) {
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    uint64_t since = vy_clock_now();
    int result;
    while ((result = p->cuda->api.event_query(p->submission.stream_slot->done)) == VY_CU_NOT_READY) {
        uint64_t now = vy_clock_now();
        if (deadline_ns && now >= deadline_ns)
            break;
        if (is_cancelled(p))
            signal_stop(p);
        if (now - since > SPIN_NS)
            nanosleep(&pause, NULL);
    }
    return result;
}

/* The kernel is not signalled to end after this call. */
static void stop_signalling(pending *p) {
    pthread_mutex_lock(&p->lock);
    p->is_over = 1;
    int was_signalled = p->was_signalled;
    pthread_mutex_unlock(&p->lock);
    if (was_signalled)
        vy_cuda_signal_wait(p->cuda, p->submission.stream_slot);
    p->submission.was_signalled = (uint8_t)was_signalled;
}

/* Inside. The device has completed or abandoned the work. */
static void decode_result(pending *p, int result, vyre_outputs *outputs) {
    stop_signalling(p);
    p->status = vy_cuda_check(p->cuda, result, "running a kernel", &p->error);
    if (p->status == VYRE_OK)
        p->status = vy_cuda_submission_finish(&p->submission, outputs, &p->error);
    if (p->is_watched)
        event_watcher_done(p->cuda, &p->watched);
    eager_readback_end(&p->eager_readback);
    vy_cuda_submission_end(&p->submission);
    p->is_decoded = 1;
}

static vyre_status wait(void *self, uint64_t deadline_ns, vyre_outputs *outputs, vyre_error *error) {
    pending *p = self;
    int was_pushed;
    if (!p->is_decoded) {
        vyre_status status = vy_cuda_enter(p->cuda, &was_pushed, error);
        if (status != VYRE_OK)
            return status;
        int result = wait_until(p, deadline_ns);
        if (result != VY_CU_NOT_READY)
            decode_result(p, result, outputs);
        vy_cuda_leave(p->cuda, was_pushed);
        if (result == VY_CU_NOT_READY)
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
    if (vy_cuda_enter(p->cuda, &was_pushed, &ignored) != VYRE_OK)
        return;
    signal_stop(p);
    vy_cuda_leave(p->cuda, was_pushed);
}

/* If no watcher thread can be started, the calling thread waits. */
static void notify(void *self, void (*done)(void *user), void *user) {
    pending *p = self;
    vyre_error ignored;
    int was_pushed;
    if (!is_ready(p)) {
        p->watched = (vy_cuda_watched_event){.event = p->submission.stream_slot->done, .done = done, .user = user};
        p->is_watched = 1;
        if (vy_cuda_event_watcher_add(p->cuda, &p->watched))
            return;
        p->is_watched = 0;
        if (vy_cuda_enter(p->cuda, &was_pushed, &ignored) == VYRE_OK) {
            p->cuda->api.event_synchronize(p->submission.stream_slot->done);
            vy_cuda_leave(p->cuda, was_pushed);
        }
    }
    done(user);
}

static void destroy(void *self) {
    pending *p = self;
    int was_pushed;
    if (p->is_watched)
        event_watcher_remove(p->cuda, &p->watched);
    if (!p->is_decoded) { /* the outputs were never requested */
        vy_cuda_enter_for_release(p->cuda, &was_pushed);
        stop_signalling(p);
        eager_readback_end(&p->eager_readback);
        vy_cuda_submission_end(&p->submission);
        vy_cuda_leave(p->cuda, was_pushed);
    }
    vy_cuda_executable_release(p->code);
    pthread_mutex_destroy(&p->lock);
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

static vyre_status submit(pending *p, const vyre_launch *launch, const vyre_span *inputs, vyre_error *error) {
    vy_cuda_submission_bind_host(&p->submission, launch, inputs);
    vyre_status status = vy_cuda_submission_submit(&p->submission, launch, error);
    return status == VYRE_OK ? vy_cuda_check(p->cuda,
                                             p->cuda->api.event_record(p->submission.stream_slot->done,
                                                                       p->submission.stream_slot->stream),
                                             "recording an event", error)
                             : status;
}

vyre_status vy_cuda_pending_start(vy_cuda_executable *code, const vyre_launch *launch, const vyre_span *inputs,
                                  vyre_native_pending *out, vyre_error *error) {
    pending *p = vy_allocate(sizeof *p);
    if (!p)
        return vy_fail_memory(error, "starting a dispatch");
    p->cuda = code->cuda;
    p->is_over = p->was_signalled = p->is_decoded = p->is_watched = 0;
    vyre_status status = vy_cuda_submission_start(&p->submission, code, launch, NULL, error);
    if (status == VYRE_OK) {
        vy_cuda_nvtx_begin(&p->cuda->nvtx, launch->label, code->name);
        status = submit(p, launch, inputs, error);
        vy_cuda_nvtx_end(&p->cuda->nvtx);
        if (status != VYRE_OK)
            vy_cuda_submission_end(&p->submission);
    }
    if (status != VYRE_OK) {
        vy_release(p, sizeof *p);
        return status;
    }
    p->code = vy_cuda_executable_retain(code);
    pthread_mutex_init(&p->lock, NULL);
    eager_readback_start(&p->eager_readback, &p->submission);
    p->submission.eager_readback = p->eager_readback.submission ? &p->eager_readback : NULL;
    *out = (vyre_native_pending){&table, p};
    return VYRE_OK;
}
