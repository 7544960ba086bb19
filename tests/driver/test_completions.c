/* The queue of completions: order, tags, the descriptor, leaving in every state. */
#include "driver/fake_async.h"
#include "support/fault.h"

#include <poll.h>
#include <sys/resource.h>

static const uint64_t FOR_EVER = UINT64_MAX;

typedef struct world {
    fake *f;
    vyre_backend *backend;
    fake_case c;
    vyre_completions *queue;
    vyre_outputs outputs;
    vyre_error error;
} world;

/* X: how a handle comes to be known as done: by the library's threads, by a thread that waits natively, by
 * notification. */
enum { ON_POOL, NATIVE, NOTIFYING, KINDS };

static void open_world(world *w, int kind) {
    memset(w, 0, sizeof *w);
    w->f = later_new();
    if (kind == ON_POOL)
        w->f->table.dispatch_async = NULL, w->f->table.dispatch_borrowed_async = NULL;
    if (kind == NOTIFYING)
        later_table.notify = later_notify;
    w->f->is_shared = 1;
    w->backend = fake_open(w->f);
    fake_case_open(&w->c);
    assert_int_equal(vyre_completions_new(&w->queue, &w->error), VYRE_OK);
}

static void close_world(world *w) {
    vyre_completions_free(w->queue);
    vyre_outputs_free(&w->outputs);
    fake_case_close(&w->c);
    vyre_backend_shutdown(w->backend, NULL);
    vyre_backend_release(w->backend);
    assert_int_equal(atomic_load(&later.alive), 0);
}

static vyre_pending *begin(world *w) {
    vyre_pending *p = NULL;
    assert_int_equal(vyre_backend_dispatch_async(w->backend, w->c.program, &w->c.arguments, NULL, &p, &w->error),
                     VYRE_OK);
    return p;
}

static int is_readable(const world *w) {
    struct pollfd fd = {vyre_completions_fd(w->queue), POLLIN, 0};
    return poll(&fd, 1, 0) == 1;
}

static void handles_come_back_with_their_tags(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        world w;
        vyre_pending *p[5], *given;
        uint64_t tag, seen = 0;
        open_world(&w, kind);
        for (uint64_t i = 0; i < 5; i++) {
            p[i] = begin(&w);
            assert_int_equal(vyre_completions_attach(w.queue, p[i], i, &w.error), VYRE_OK);
        }
        for (int i = 0; i < 5; i++) {
            assert_int_equal(vyre_completions_next(w.queue, FOR_EVER, &given, &tag, &w.error), VYRE_OK);
            assert_true(tag < 5);
            assert_ptr_equal(given, p[tag]);
            seen |= 1u << tag;
            assert_true(vyre_pending_is_ready(given));
            assert_int_equal(vyre_pending_wait(given, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_OK);
            fake_case_check(&w.c, &w.outputs);
            vyre_pending_free(given);
        }
        assert_int_equal(seen, 31);
        assert_int_equal(vyre_completions_next(w.queue, FOR_EVER, &given, &tag, &w.error), VYRE_NOT_FOUND);
        assert_null(given);
        assert_int_equal(atomic_load(&later.notified), kind == NOTIFYING ? 5 : 0);
        close_world(&w);
    }
}

static void the_descriptor_is_readable_while_something_is_done(void **state) {
    (void)state;
    for (int kind = NATIVE; kind < KINDS; kind++) {
        world w;
        vyre_pending *given;
        open_world(&w, kind);
        atomic_store(&later.hold, 1);
        assert_false(is_readable(&w));
        for (uint64_t i = 0; i < 2; i++)
            assert_int_equal(vyre_completions_attach(w.queue, begin(&w), i, &w.error), VYRE_OK);
        assert_false(is_readable(&w));
        assert_int_equal(vyre_completions_next(w.queue, 2000000, &given, NULL, &w.error), VYRE_NOT_READY);
        atomic_store(&later.hold, 0);
        struct pollfd fd = {vyre_completions_fd(w.queue), POLLIN, 0};
        assert_int_equal(poll(&fd, 1, 10000), 1);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(vyre_completions_next(w.queue, FOR_EVER, &given, NULL, &w.error), VYRE_OK);
            vyre_pending_free(given);
        }
        assert_false(is_readable(&w));
        close_world(&w);
    }
}

static void what_is_done_already_is_announced_at_once(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        world w;
        vyre_pending *given, *p;
        open_world(&w, kind);
        p = begin(&w);
        assert_int_equal(vyre_pending_wait(p, FOR_EVER, &w.outputs, NULL, &w.error), VYRE_OK);
        assert_int_equal(vyre_completions_attach(w.queue, p, 9, &w.error), VYRE_OK);
        assert_true(is_readable(&w));
        assert_int_equal(vyre_completions_next(w.queue, 0, &given, NULL, &w.error), VYRE_OK);
        assert_ptr_equal(given, p);
        vyre_pending_free(p);
        close_world(&w);
    }
}

static void a_handle_is_in_one_queue_at_a_time(void **state) {
    (void)state;
    world w;
    vyre_completions *other;
    vyre_pending *p, *given;
    open_world(&w, NATIVE);
    atomic_store(&later.hold, 1);
    p = begin(&w);
    assert_int_equal(vyre_completions_new(&other, &w.error), VYRE_OK);
    assert_int_equal(vyre_completions_attach(other, p, 1, &w.error), VYRE_OK);
    assert_int_equal(vyre_completions_attach(w.queue, p, 2, &w.error), VYRE_CONFLICT);
    assert_true(w.error.fix[0]);
    vyre_completions_free(other); /* detached: it may go to another */
    assert_int_equal(vyre_completions_attach(w.queue, p, 3, &w.error), VYRE_OK);
    atomic_store(&later.hold, 0);
    uint64_t tag = 0;
    assert_int_equal(vyre_completions_next(w.queue, FOR_EVER, &given, &tag, &w.error), VYRE_OK);
    assert_int_equal(tag, 3);
    vyre_pending_free(p);
    close_world(&w);
}

static void a_cancelled_handle_is_announced(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        world w;
        vyre_pending *given, *p;
        open_world(&w, kind);
        atomic_store(&later.hold, 1);
        w.f->hang_ms = 20;
        p = begin(&w);
        assert_int_equal(vyre_completions_attach(w.queue, p, 0, &w.error), VYRE_OK);
        vyre_pending_cancel(p);
        assert_true(is_readable(&w));
        assert_int_equal(vyre_completions_next(w.queue, 0, &given, NULL, &w.error), VYRE_OK);
        assert_int_equal(vyre_pending_wait(given, 0, &w.outputs, NULL, &w.error), VYRE_CANCELLED);
        vyre_pending_free(given);
        atomic_store(&later.hold, 0);
        close_world(&w);
    }
}

static void a_freed_handle_leaves_its_queue(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int wait_for_it = 0; wait_for_it < 2; wait_for_it++) {
            world w;
            vyre_pending *given, *p;
            open_world(&w, kind);
            p = begin(&w);
            assert_int_equal(vyre_completions_attach(w.queue, p, 0, &w.error), VYRE_OK);
            while (wait_for_it && !is_readable(&w))
                usleep(100);
            vyre_pending_free(p);
            assert_false(is_readable(&w));
            assert_int_equal(vyre_completions_next(w.queue, 0, &given, NULL, &w.error), VYRE_NOT_FOUND);
            close_world(&w);
        }
}

static void a_queue_can_be_freed_before_its_handles(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        world w;
        vyre_pending *p[2];
        open_world(&w, kind);
        for (int i = 0; i < 2; i++) {
            p[i] = begin(&w);
            assert_int_equal(vyre_completions_attach(w.queue, p[i], 0, &w.error), VYRE_OK);
        }
        while (!is_readable(&w))
            usleep(100);
        vyre_completions_free(w.queue);
        w.queue = NULL;
        for (int i = 0; i < 2; i++) {
            assert_int_equal(vyre_pending_wait(p[i], FOR_EVER, &w.outputs, NULL, &w.error), VYRE_OK);
            vyre_pending_free(p[i]);
        }
        close_world(&w);
    }
}

static void a_thread_that_waits_learns_that_nothing_is_left(void **state) {
    (void)state;
    world w;
    vyre_pending *given;
    open_world(&w, NATIVE);
    assert_int_equal(vyre_completions_next(w.queue, 0, &given, NULL, &w.error), VYRE_NOT_FOUND);
    close_world(&w);
}

static void without_descriptors_there_is_no_queue(void **state) {
    (void)state;
    struct rlimit old, none;
    vyre_completions *queue = (vyre_completions *)&old;
    vyre_error error = VYRE_ERROR_INIT;
    getrlimit(RLIMIT_NOFILE, &old);
    none = old;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    vyre_status status = vyre_completions_new(&queue, &error);
    setrlimit(RLIMIT_NOFILE, &old);
    assert_int_equal(status, VYRE_IO);
    assert_null(queue);
    assert_true(error.fix[0]);
}

static vyre_status make_a_queue(void *user) {
    vyre_completions *queue;
    vyre_error error;
    (void)user;
    vyre_status status = vyre_completions_new(&queue, &error);
    vyre_completions_free(queue);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    vy_fault_install();
    VY_FAULT_LOOP(make_a_queue, NULL);
    vy_fault_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            any_allocation_may_fail), /* first: it changes the allocator, which threads of others may still use */
        cmocka_unit_test(handles_come_back_with_their_tags),
        cmocka_unit_test(the_descriptor_is_readable_while_something_is_done),
        cmocka_unit_test(what_is_done_already_is_announced_at_once),
        cmocka_unit_test(a_handle_is_in_one_queue_at_a_time),
        cmocka_unit_test(a_cancelled_handle_is_announced),
        cmocka_unit_test(a_freed_handle_leaves_its_queue),
        cmocka_unit_test(a_queue_can_be_freed_before_its_handles),
        cmocka_unit_test(a_thread_that_waits_learns_that_nothing_is_left),
        cmocka_unit_test(without_descriptors_there_is_no_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
