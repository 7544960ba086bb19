/* Threads: the few forms the library needs. */
#ifndef VY_BASE_THREAD_H
#define VY_BASE_THREAD_H

#include "vyre/base.h"

#include <pthread.h>
#include <stdatomic.h>

/* Cores this process may run on (affinity mask, cgroup quota), at least 1. */
unsigned vy_cpu_count(void);
/* The part of it that control groups allow, UINT32_MAX for no limit, from a file such as /proc/self/cgroup and the
 * folder where the hierarchies are mounted. */
unsigned vy_cgroup_cpu_count(const char *membership, const char *mount);

/* The number of the calling thread: they are counted from 0 on as they first ask, and no number is given twice. */
extern _Thread_local uint64_t vy_thread_number_cached; /* the number + 1; 0: it has not asked yet */
uint64_t vy_thread_number_assign(void);                /* by way of the next only */
static inline uint64_t vy_thread_number(void) {
    return __builtin_expect(vy_thread_number_cached != 0, 1) ? vy_thread_number_cached - 1 : vy_thread_number_assign();
}

/* Starts a thread that takes no signals: the application's handlers run on the application's threads. 0: it cannot be
 * started, and errno says why. */
int vy_thread_start(pthread_t *thread, void *(*body)(void *user), void *user);

/* Holds off cancellation of the calling thread (pthread_cancel) until the enclosing block ends. Public functions that
 * block, call a backend, do I/O or call the application back begin with it: a thread that ended in between would leave
 * locks, counts and threads of the library behind. Threads of the library never restore it.
 *
 * The type is deferred meanwhile, too: glibc's handler for asynchronous cancellation looks at the type alone, so that a
 * request made just before the state changed would be acted on afterwards. */
typedef struct vy_cancellation {
    int state, type;
} vy_cancellation;
static inline vy_cancellation vy_cancellation_disable(void) {
    vy_cancellation before = {PTHREAD_CANCEL_DISABLE, PTHREAD_CANCEL_DEFERRED};
    (void)pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before.type);
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before.state);
    return before;
}
static inline void vy_cancellation_restore(const vy_cancellation *before) {
    if (before->state != PTHREAD_CANCEL_DISABLE)
        (void)pthread_setcancelstate(before->state, NULL);
    if (before->type != PTHREAD_CANCEL_DEFERRED)
        (void)pthread_setcanceltype(before->type, NULL);
}
#define VY_SCOPED_CANCELLATION_DISABLE()                                                                               \
    const vy_cancellation cancellation_before __attribute__((cleanup(vy_cancellation_restore), unused)) =              \
        vy_cancellation_disable()

/* Makes a condition whose timed waits are by the clock of base/clock.h: setting the time of day neither ends nor
 * prolongs them. End it with pthread_cond_destroy(). */
void vy_cond_init_monotonic(pthread_cond_t *cond);

/* Runs body(user, worker) for worker = 0 … workers-1, worker 0 on the calling thread, and returns when all are done. If
 * threads cannot be started, fewer run: bodies take work from a shared counter, so all work is done in any case. */
void vy_parallel(unsigned workers, void (*body)(void *user, unsigned worker), void *user);

/* The floating-point environment our rules need (nearest-even, subnormals kept, no traps): enter saves the caller's and
 * installs ours, leave restores. Per thread. */
typedef struct vy_fenv {
    unsigned long words[8];
} vy_fenv;
void vy_fenv_enter(vy_fenv *saved);
void vy_fenv_leave(const vy_fenv *saved);

#endif
