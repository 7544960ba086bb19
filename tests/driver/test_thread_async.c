/* Threads that start, wait, cancel, free, drain, lose and shut down concurrently. Meant for the thread sanitizer. */
#include "driver/fake_async.h"

#include "base/thread.h"
#include "driver/thread_pool.h"

#include <sched.h>
#include <signal.h>

enum { THREADS = 6, ROUNDS = 60 };

typedef struct shared {
    vyre_backend *backend;
    vyre_completions *queue;
    fake_case c;
    _Atomic unsigned right, refused, wrong, attached;
} shared;

static int is_right(const fake_case *c, const vyre_outputs *outputs) {
    for (uint32_t i = 0; i < FAKE_N; i++)
        if (((uint32_t *)outputs->items[1].data)[i] != c->x[i] * 5 + 1)
            return 0;
    return 1;
}

static void judge(shared *s, vyre_status status, const vyre_outputs *outputs) {
    if (status == VYRE_OK)
        atomic_fetch_add(is_right(&s->c, outputs) ? &s->right : &s->wrong, 1);
    else if (status == VYRE_CANCELLED || status == VYRE_DEVICE_LOST || status == VYRE_NOT_READY)
        atomic_fetch_add(&s->refused, 1);
    else
        atomic_fetch_add(&s->wrong, 1);
}

static void starts_and_waits(void *user, unsigned worker) {
    shared *s = user;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    for (int i = 0; i < ROUNDS; i++) {
        vyre_pending *p[3];
        int count = 0;
        for (; count < 3; count++)
            if (vyre_backend_dispatch_async(s->backend, s->c.program, &s->c.arguments, NULL, &p[count], NULL) !=
                VYRE_OK)
                break;
        for (int k = 0; k < count; k++) {
            if ((i + k + (int)worker) % 5 == 0)
                vyre_pending_cancel(p[k]);
            if ((i + k) % 7 != 0)
                judge(s, vyre_pending_wait(p[k], k ? UINT64_MAX : 100000, &outputs, NULL, NULL), &outputs);
            vyre_pending_free(p[k]);
        }
        if (i % 16 == 0)
            vyre_backend_flush(s->backend, NULL);
        if (worker == 0 && i == ROUNDS / 2) {
            vyre_backend_shutdown(s->backend, NULL);
        }
    }
    vyre_outputs_free(&outputs);
}

static void starts_or_drains(void *user, unsigned worker) {
    shared *s = user;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    for (int i = 0; i < ROUNDS; i++) {
        vyre_pending *p;
        if (worker % 2) {
            if (vyre_backend_dispatch_async(s->backend, s->c.program, &s->c.arguments, NULL, &p, NULL) != VYRE_OK ||
                vyre_completions_attach(s->queue, p, worker, NULL) != VYRE_OK)
                atomic_fetch_add(&s->wrong, 1);
            else
                atomic_fetch_add(&s->attached, 1);
        } else if (vyre_completions_next(s->queue, 1000000, &p, NULL, NULL) == VYRE_OK) {
            judge(s, vyre_pending_wait(p, UINT64_MAX, &outputs, NULL, NULL), &outputs);
            vyre_pending_free(p);
        }
    }
    vyre_outputs_free(&outputs);
}

static void open_shared(shared *s, int kind) {
    memset(s, 0, sizeof *s);
    fake *f = later_new();
    if (kind == 0)
        f->table.dispatch_async = NULL, f->table.dispatch_borrowed_async = NULL;
    if (kind == 2)
        later_table.notify = later_notify;
    f->is_shared = 1;
    s->backend = fake_open(f);
    fake_case_open(&s->c);
    assert_int_equal(vyre_completions_new(&s->queue, NULL), VYRE_OK);
}

static void close_shared(shared *s) {
    assert_int_equal(atomic_load(&s->wrong), 0);
    assert_true(atomic_load(&s->right) > 0);
    vyre_completions_free(s->queue);
    fake_case_close(&s->c);
    vyre_backend_shutdown(s->backend, NULL);
    vyre_backend_release(s->backend);
    assert_int_equal(atomic_load(&later.alive), 0);
}

static void handles_under_every_kind_of_use(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        shared s;
        open_shared(&s, kind);
        vy_parallel(THREADS, starts_and_waits, &s);
        close_shared(&s);
    }
}

static void a_queue_filled_and_drained_at_once(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        shared s;
        vyre_outputs outputs = VYRE_OUTPUTS_INIT;
        vyre_pending *p;
        open_shared(&s, kind);
        vy_parallel(THREADS, starts_or_drains, &s);
        while (vyre_completions_next(s.queue, UINT64_MAX, &p, NULL, NULL) == VYRE_OK) {
            judge(&s, vyre_pending_wait(p, UINT64_MAX, &outputs, NULL, NULL), &outputs);
            vyre_pending_free(p);
        }
        assert_int_equal(atomic_load(&s.right), atomic_load(&s.attached));
        vyre_outputs_free(&outputs);
        close_shared(&s);
    }
}

typedef struct noting_job {
    vy_thread_pool_job job;
    _Atomic int is_told, is_blocked;
} noting_job;

static void note_signals(vy_thread_pool_job *job) {
    noting_job *n = (noting_job *)job;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    n->is_blocked = sigismember(&mask, SIGUSR1) && sigismember(&mask, SIGINT);
    n->is_told = 1;
}

static void threads_of_the_pool_leave_signals_to_the_application(void **state) {
    (void)state;
    noting_job n = {.job = {.run = note_signals}};
    vy_thread_pool *pool = vy_thread_pool_new();
    assert_non_null(pool);
    assert_int_equal(vy_thread_pool_submit(pool, &n.job), 1);
    while (!n.is_told)
        sched_yield();
    vy_thread_pool_close(pool);
    assert_int_equal(n.is_blocked, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles_under_every_kind_of_use),
        cmocka_unit_test(a_queue_filled_and_drained_at_once),
        cmocka_unit_test(threads_of_the_pool_leave_signals_to_the_application),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
