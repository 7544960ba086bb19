/* Asynchronous dispatches of src/backends/gpu on a device without a driver: its work ends when the test says so. */
#include "backends/gpu/gpu.h"
#include "base/thread.h"
#include "support/test.h"

#include <signal.h>
#include <unistd.h>

#define MILLISECOND UINT64_C(1000000)

typedef struct device {
    vy_gpu base;
    vy_gpu_executable code;
    vy_gpu_kernel kernel;
    vy_gpu_slot slot;
    vy_launch_control taken;
    _Atomic int is_done, signals, waits, releases, is_entered;
    int has_driver;
    pthread_t driver; /* calls vy_gpu_pending_done */
} device;

static vyre_status enter(vy_gpu *gpu, int *was_pushed, vyre_error *error) {
    (void)error;
    *was_pushed = 0;
    ((device *)gpu)->is_entered++;
    return VYRE_OK;
}
static void enter_for_release(vy_gpu *gpu, int *was_pushed) {
    (void)enter(gpu, was_pushed, NULL);
}
static void leave(vy_gpu *gpu, int was_pushed) {
    (void)was_pushed;
    ((device *)gpu)->is_entered--;
}
static vyre_status slot_acquire(vy_gpu *gpu, int is_timed, vy_gpu_slot **out, vyre_error *error) {
    (void)is_timed, (void)error;
    *out = &((device *)gpu)->slot;
    return VYRE_OK;
}
static void slot_release(vy_gpu_slot *slot, int is_broken) {
    (void)is_broken;
    ((device *)slot->gpu)->releases++;
}
/* The work of an endless kernel ends with a signal. */
static vyre_status query(vy_gpu_slot *slot, int *is_done, vyre_error *error) {
    (void)error;
    *is_done = ((device *)slot->gpu)->is_done;
    return VYRE_OK;
}
static vyre_status finish(vy_gpu_slot *slot, vyre_error *error) {
    (void)error;
    while (!((device *)slot->gpu)->is_done)
        usleep(100);
    return VYRE_OK;
}
static vyre_status signal_stop(vy_gpu_slot *slot, vyre_error *error) {
    device *d = (device *)slot->gpu;
    (void)error;
    d->taken.stopped = 1;
    d->signals++;
    d->is_done = 1;
    return VYRE_OK;
}
static void signal_wait(vy_gpu_slot *slot) {
    ((device *)slot->gpu)->waits++;
}
static int needs_slices(const vy_gpu_executable *code, const vyre_launch *launch, uint32_t step[3]) {
    (void)code, (void)launch, (void)step;
    return 0;
}
static vyre_status choose_kernel(vy_gpu_executable *code, const vyre_launch *launch, int is_sliced, vy_gpu_kernel **out,
                                 vyre_error *error) {
    (void)launch, (void)is_sliced, (void)error;
    *out = &((device *)code->gpu)->kernel;
    return VYRE_OK;
}
static vyre_status control_prepare(vy_gpu_slot *slot, const vy_gpu_kernel *kernel, const vyre_launch *launch,
                                   vyre_error *error) {
    (void)kernel, (void)launch, (void)error;
    *slot->taken = vy_gpu_control_clean;
    return VYRE_OK;
}
static vyre_status launch_kernel(vy_gpu_slot *slot, vy_gpu_executable *code, vy_gpu_kernel *kernel,
                                 const vyre_launch *launch, const vy_grid_tiles *tile, const vy_gpu_buffers *buffers,
                                 uint32_t ticket, vyre_error *error) {
    (void)slot, (void)code, (void)kernel, (void)launch, (void)tile, (void)buffers, (void)ticket, (void)error;
    return VYRE_OK;
}
static vyre_status control_fetch(vy_gpu_slot *slot, const vy_gpu_kernel *kernel, vyre_error *error) {
    (void)slot, (void)kernel, (void)error;
    return VYRE_OK;
}
static vyre_status watch(vy_gpu_pending *p, vyre_error *error) {
    (void)p, (void)error;
    return VYRE_OK;
}
static void *call_when_done(void *user) {
    vy_gpu_pending *p = user;
    while (!((device *)p->gpu)->is_done)
        usleep(100);
    vy_gpu_pending_done(p);
    return NULL;
}
static vyre_status observe(vy_gpu_pending *p, vyre_error *error) {
    device *d = (device *)p->gpu;
    (void)error;
    d->has_driver = pthread_create(&d->driver, NULL, call_when_done, p) == 0;
    assert_true(d->has_driver);
    return VYRE_OK;
}
static void unwatch(vy_gpu_pending *p) {
    (void)p;
}
static int is_done(vy_gpu_slot *slot) {
    return ((device *)slot->gpu)->is_done;
}
static void destroy_nothing(vy_gpu_executable *code) {
    (void)code;
}

#define CALLS                                                                                                          \
    .enter = enter, .enter_for_release = enter_for_release, .leave = leave, .slot_acquire = slot_acquire,              \
    .slot_release = slot_release, .finish = finish, .query = query, .signal_stop = signal_stop,                        \
    .signal_wait = signal_wait, .needs_slices = needs_slices, .choose_kernel = choose_kernel,                          \
    .control_prepare = control_prepare, .launch = launch_kernel, .control_fetch = control_fetch, .unwatch = unwatch,   \
    .executable_destroy = destroy_nothing

static const vy_gpu_calls polled = {CALLS, .watch = watch, .is_done = is_done}, told = {CALLS, .watch = observe};

static void device_start(device *d, int is_polled) {
    memset(d, 0, sizeof *d);
    vy_gpu_start(&d->base, "test", is_polled ? &polled : &told);
    d->base.can_signal = 1;
    d->kernel = (vy_gpu_kernel){.polls = 1, .writes_control = 1};
    d->slot = (vy_gpu_slot){.gpu = &d->base, .taken = &d->taken};
    atomic_init(&d->code.references, 1);
    d->code.gpu = &d->base;
    strcpy(d->code.name, "k");
}

static void device_end(device *d) {
    if (d->has_driver)
        pthread_join(d->driver, NULL);
    vy_gpu_watch_end(&d->base);
    vy_gpu_end(&d->base);
    assert_int_equal(d->is_entered, 0);
    assert_int_equal(d->releases, 1);
    assert_int_equal(d->code.references, 1);
}

static vyre_native_pending start(device *d, uint64_t deadline_ns, uint32_t *cancel) {
    vyre_native_pending p;
    vyre_error error = VYRE_ERROR_INIT;
    const vyre_launch launch = {.groups = {1, 1, 1}, .deadline_ns = deadline_ns, .cancel = cancel};
    assert_int_equal(vy_gpu_pending_start(&d->code, &launch, NULL, &p, &error), VYRE_OK);
    return p;
}

typedef struct notice {
    _Atomic int calls, is_blocked;
} notice;

static void note(void *user) {
    notice *n = user;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    n->is_blocked = sigismember(&mask, SIGUSR1) && sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM);
    n->calls++;
}

/* The owner is called once, on a thread that leaves signals to the application. */
static void the_owner_of_a_dispatch_is_called_when_it_is_done(void **state) {
    (void)state;
    for (int is_polled = 0; is_polled < 2; is_polled++) {
        static device d;
        notice n = {0};
        vyre_error error = VYRE_ERROR_INIT;
        device_start(&d, is_polled);
        vyre_native_pending p = start(&d, 0, NULL);
        assert_int_equal(p.vtable->is_ready(p.self), 0);
        p.vtable->notify(p.self, note, &n);
        usleep(2000);
        assert_int_equal(n.calls, 0);
        d.is_done = 1;
        while (!n.calls)
            usleep(100);
        assert_int_equal(n.is_blocked, 1);
        assert_int_equal(p.vtable->is_ready(p.self), 1);
        assert_int_equal(p.vtable->wait(p.self, 0, NULL, &error), VYRE_OK);
        assert_int_equal(d.releases, 1); /* other dispatches may use the slot */
        p.vtable->destroy(p.self);
        assert_int_equal(n.calls, 1);
        assert_int_equal(d.signals, 0);
        device_end(&d);
    }
}

static void a_wait_ends_at_its_deadline(void **state) {
    (void)state;
    for (int is_polled = 0; is_polled < 2; is_polled++) {
        static device d;
        vyre_error error = VYRE_ERROR_INIT;
        device_start(&d, is_polled);
        vyre_native_pending p = start(&d, 0, NULL);
        assert_int_equal(p.vtable->wait(p.self, vy_clock_now() + 3 * MILLISECOND, NULL, &error), VYRE_NOT_READY);
        d.is_done = 1;
        assert_int_equal(p.vtable->wait(p.self, 0, NULL, &error), VYRE_OK);
        p.vtable->destroy(p.self);
        device_end(&d);
    }
}

/* By its word, by the call, and because nobody wants it. */
static void a_cancelled_dispatch_is_signalled(void **state) {
    (void)state;
    for (int way = 0; way < 6; way++) {
        static device d;
        uint32_t cancel = way / 2 == 0;
        vyre_error error = VYRE_ERROR_INIT;
        device_start(&d, way % 2);
        vyre_native_pending p = start(&d, 0, &cancel);
        if (way / 2 == 1)
            p.vtable->cancel(p.self);
        if (way / 2 < 2)
            assert_int_equal(p.vtable->wait(p.self, 0, NULL, &error), VYRE_CANCELLED);
        p.vtable->destroy(p.self);
        assert_true(d.signals > 0);
        assert_true(d.waits > 0);
        device_end(&d);
    }
}

/* The watching thread signals a kernel that does not see its deadline itself. */
static void a_kernel_without_a_clock_is_signalled_at_its_deadline(void **state) {
    (void)state;
    for (int is_polled = 0; is_polled < 2; is_polled++) {
        static device d;
        vyre_error error = VYRE_ERROR_INIT;
        device_start(&d, is_polled);
        vyre_native_pending p = start(&d, vy_clock_now() + 3 * MILLISECOND, NULL);
        assert_int_equal(p.vtable->wait(p.self, 0, NULL, &error), VYRE_TIMEOUT);
        assert_true(d.signals > 0);
        p.vtable->destroy(p.self);
        device_end(&d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_owner_of_a_dispatch_is_called_when_it_is_done),
        cmocka_unit_test(a_wait_ends_at_its_deadline),
        cmocka_unit_test(a_cancelled_dispatch_is_signalled),
        cmocka_unit_test(a_kernel_without_a_clock_is_signalled_at_its_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
