/* Asynchronous dispatches of src/backends/gpu on a device without a driver: its work ends when the test says so. */
#include "backends/gpu/device.h"
#include "base/thread.h"

#include <signal.h>

#define MILLISECOND UINT64_C(1000000)

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
