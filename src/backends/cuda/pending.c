/* Native asynchronous dispatch (pending.h).
 *
 * The device's side ends with an event; what is left for `wait` is to judge and to hand over. `cancel` may come meanwhile: the lock keeps it from telling a
 * kernel to end that has ended, whose stream_slot may be another's. */
#include "backends/cuda/pending.h"

#include "backends/cuda/eager_readback.h"
#include "base/memory.h"
#include "base/status.h"
#include "driver/dispatch.h"

#include <time.h>

/* As in launch.c: for so long without a pause, then with pauses. */
#define SPIN_NS UINT64_C(100000)
enum { PAUSE_NS = 20000 };

typedef struct pending {
    vy_cuda_submission submission;
    vy_cuda_eager_readback eager_readback;
    vy_cuda_watched_event watched;
    int is_watched;
    vy_cuda *cuda;
    vy_cuda_executable *code;
    pthread_mutex_t lock; /* held while the kernel is told to end */
    int is_over;          /* it has ended: nobody tells it any more */
    int was_signalled;
    uint64_t signalled_ns; /* the last time */
    int is_decoded;        /* the stream_slot is given back */
    vyre_status status;
    vyre_error error;
} pending;

/* With the loss of a device everything is ready. */
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

/* Waits until the event is done or the time is up, an eye on the caller's word. What the driver says at the end. */
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

/* Nobody tells it to end from here on. */
static void stop_signalling(pending *p) {
    pthread_mutex_lock(&p->lock);
    p->is_over = 1;
    int was_signalled = p->was_signalled;
    pthread_mutex_unlock(&p->lock);
    if (was_signalled)
        vy_cuda_signal_wait(p->cuda, p->submission.stream_slot);
    p->submission.was_signalled = (uint8_t)was_signalled;
}

/* Inside: the device is done with it, one way or the other. */
static void decode_result(pending *p, int result, vyre_outputs *outputs) {
    stop_signalling(p);
    p->status = vy_cuda_check(p->cuda, result, "running a kernel", &p->error);
    if (p->status == VYRE_OK)
        p->status = vy_cuda_submission_finish(&p->submission, outputs, &p->error);
    if (p->is_watched)
        vy_cuda_event_watcher_done(p->cuda, &p->watched);
    vy_cuda_eager_readback_end(&p->eager_readback);
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

/* A kernel that does not look ends when it ends. */
static void cancel(void *self) {
    pending *p = self;
    int was_pushed;
    vyre_error ignored;
    if (vy_cuda_enter(p->cuda, &was_pushed, &ignored) != VYRE_OK)
        return;
    signal_stop(p);
    vy_cuda_leave(p->cuda, was_pushed);
}

/* Without a thread to look, this one waits. */
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
        vy_cuda_event_watcher_remove(p->cuda, &p->watched);
    if (!p->is_decoded) { /* nobody wants its outputs */
        vy_cuda_enter_for_release(p->cuda, &was_pushed);
        stop_signalling(p);
        vy_cuda_eager_readback_end(&p->eager_readback);
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
    vy_cuda_eager_readback_start(&p->eager_readback, &p->submission);
    p->submission.eager_readback = p->eager_readback.submission ? &p->eager_readback : NULL;
    *out = (vyre_native_pending){&table, p};
    return VYRE_OK;
}
