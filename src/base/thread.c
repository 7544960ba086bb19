/* Workers for one parallel piece of work. */
#include "base/thread.h"
#include "base/memory.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

_Thread_local uint64_t vy_thread_number_cached;

uint64_t vy_thread_number_assign(void) {
    static _Atomic uint64_t next; /* never comes round */
    vy_thread_number_cached = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) + 1;
    return vy_thread_number_cached - 1;
}

typedef struct work {
    void (*body)(void *user, unsigned worker);
    void *user;
} work;

typedef struct worker {
    const work *work;
    unsigned index;
    pthread_t thread;
} worker;

int vy_thread_start(pthread_t *thread, void *(*body)(void *user), void *user) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = pthread_create(thread, NULL, body, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = result ? result : errno;
    return result == 0;
}

void vy_cond_init_monotonic(pthread_cond_t *cond) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void *run_worker(void *argument) {
    worker *self = argument;
    (void)vy_cancellation_disable();
    self->work->body(self->work->user, self->index);
    return NULL;
}

void vy_parallel(unsigned workers, void (*body)(void *user, unsigned worker), void *user) {
    work shared = {body, user};
    unsigned others = workers > 1 ? workers - 1 : 0, started = 0;
    size_t size = vy_array_size(others, sizeof(worker));
    worker *threads = vy_allocate(size);
    for (; threads && started < others; started++) {
        threads[started] = (worker){.work = &shared, .index = started + 1};
        if (!vy_thread_start(&threads[started].thread, run_worker, &threads[started]))
            break;
    }
    body(user, 0);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i].thread, NULL);
    vy_release(threads, size);
}
