/* Asynchronous entries of the fake backend: dispatches that end when the test requests it, counted and breakable. */
#ifndef VY_TESTS_DRIVER_FAKE_ASYNC_H
#define VY_TESTS_DRIVER_FAKE_ASYNC_H

#include "driver/dispatch.h"
#include "driver/fake.h"
#include "vyre/async.h"

#include <pthread.h>

/* One for the process: entries get no other word from the test. Zeroed by later_open. */
static struct later_control {
    _Atomic int hold; /* nothing ends while this is 1 */
    _Atomic unsigned started, started_owned, waited, cancelled, destroyed, notified, alive;
    _Atomic int fail_start, fail_wait, lie_about_deadlines, short_output, trap, keeps_deadlines;
    vyre_launch seen;
    char seen_label[32];
    void *last; /* started */
} later;

typedef struct later_work {
    fake *f;
    vyre_launch launch;
    vyre_scalar params[4];
    uint64_t elements[8];
    vyre_bytes inputs[8];
    size_t input_count;
    _Atomic int cancel, watched;
    void (*done)(void *user);
    void *user;
    pthread_t watcher;
} later_work;

static int later_is_ready(void *self) {
    later_work *w = self;
    return !atomic_load(&later.hold) || atomic_load(&w->cancel) ||
           (atomic_load(&later.keeps_deadlines) && w->launch.deadline_ns && vy_clock_now() >= w->launch.deadline_ns);
}

static vyre_status later_wait(void *self, uint64_t deadline_ns, vyre_outputs *outputs, vyre_error *error) {
    later_work *w = self;
    atomic_fetch_add(&later.waited, 1);
    while (!later_is_ready(self)) {
        if ((deadline_ns && vy_clock_now() >= deadline_ns) || atomic_load(&later.lie_about_deadlines))
            return (vy_host_services.fail)(error, VYRE_NOT_READY, NULL, "not yet");
        usleep(200);
    }
    if (atomic_load(&w->cancel))
        return (vy_host_services.fail)(error, VYRE_CANCELLED, NULL, "cancelled");
    if (atomic_load(&later.keeps_deadlines) && w->launch.deadline_ns && vy_clock_now() >= w->launch.deadline_ns)
        return (vy_host_services.fail)(error, VYRE_TIMEOUT, NULL, "past its deadline");
    if (atomic_load(&later.fail_wait))
        return (vy_host_services.fail)(error, (vyre_status)atomic_load(&later.fail_wait), NULL, "failed while running");
    if (atomic_load(&later.trap)) {
        *w->launch.trap = (vyre_trap){3, 7};
        return (vy_host_services.fail)(error, VYRE_TRAPPED, NULL, "trapped");
    }
    vyre_status status =
        w->f->real.vtable->dispatch(w->f->real.self, &w->launch, w->inputs, w->input_count, outputs, error);
    if (status == VYRE_OK && atomic_load(&later.short_output))
        vy_host_services.bytes_resize(&outputs->items[0], 1, error);
    return status;
}

static void later_cancel(void *self) {
    atomic_fetch_add(&later.cancelled, 1);
    atomic_store(&((later_work *)self)->cancel, 1);
}

static void *later_watch(void *self) {
    later_work *w = self;
    while (!later_is_ready(self))
        usleep(200);
    w->done(w->user);
    return NULL;
}

static inline void later_notify(void *self, void (*done)(void *user), void *user) {
    later_work *w = self;
    atomic_fetch_add(&later.notified, 1);
    w->done = done, w->user = user;
    atomic_store(&w->watched, 1);
    assert_int_equal(pthread_create(&w->watcher, NULL, later_watch, w), 0);
}

static void later_destroy(void *self) {
    later_work *w = self;
    if (atomic_load(&w->watched))
        pthread_join(w->watcher, NULL);
    for (size_t i = 0; i < w->input_count; i++)
        free(w->inputs[i].data);
    vyre_program_release(w->launch.program);
    free(w);
    atomic_fetch_add(&later.destroyed, 1);
    atomic_fetch_sub(&later.alive, 1);
}

static vyre_pending_vtable later_table = {
    .struct_size = sizeof(vyre_pending_vtable),
    .is_ready = later_is_ready,
    .wait = later_wait,
    .cancel = later_cancel,
    .destroy = later_destroy,
};

static vyre_status later_start(fake *f, const vyre_launch *launch, const vyre_span *inputs, size_t count,
                               vyre_native_pending *out, vyre_error *error) {
    if (atomic_load(&later.fail_start))
        return (vy_host_services.fail)(error, (vyre_status)atomic_load(&later.fail_start), NULL, "cannot start");
    later_work *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->f = f;
    w->launch = *launch;
    memcpy(w->params, launch->params, launch->param_count * sizeof *w->params);
    memcpy(w->elements, launch->elements, launch->buffer_count * sizeof *w->elements);
    w->launch.params = w->params, w->launch.elements = w->elements, w->launch.label = "";
    vyre_program_retain(launch->program);
    w->input_count = count;
    for (size_t i = 0; i < count; i++) {
        w->inputs[i] = (vyre_bytes){malloc(inputs[i].size + 1), inputs[i].size, inputs[i].size + 1};
        memcpy(w->inputs[i].data, inputs[i].data, inputs[i].size);
    }
    if (!f->is_shared) {
        later.seen = *launch;
        later.last = w;
        snprintf(later.seen_label, sizeof later.seen_label, "%s", launch->label);
    }
    atomic_fetch_add(&later.started, 1);
    atomic_fetch_add(&later.alive, 1);
    *out = (vyre_native_pending){&later_table, w};
    return VYRE_OK;
}

static vyre_status later_borrowed(void *self, const vyre_launch *launch, const vyre_span *inputs, size_t count,
                                  vyre_native_pending *out, vyre_error *error) {
    return later_start(self, launch, inputs, count, out, error);
}

static vyre_status later_owned(void *self, const vyre_launch *launch, const vyre_bytes *inputs, size_t count,
                               vyre_native_pending *out, vyre_error *error) {
    vyre_span spans[8];
    for (size_t i = 0; i < count; i++)
        spans[i] = (vyre_span){inputs[i].data, inputs[i].size};
    atomic_fetch_add(&later.started_owned, 1);
    return later_start(self, launch, spans, count, out, error);
}

/* A fake with both asynchronous entries; change f->table before fake_open. */
static inline fake *later_new(void) {
    fake *f = fake_new();
    memset(&later, 0, sizeof later);
    later_table.cancel = later_cancel;
    later_table.notify = NULL;
    later_table.struct_size = sizeof later_table;
    f->table.dispatch_async = later_owned;
    f->table.dispatch_borrowed_async = later_borrowed;
    return f;
}

#endif
