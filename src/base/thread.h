/* Threads, clocks and deadlines, the CPU count, cancellation and the floating-point environment. */
#ifndef VY_BASE_THREAD_H
#define VY_BASE_THREAD_H

#include "vyre/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* The number of CPUs that this process may use (affinity mask, cgroup quota), at least 1. */
unsigned vy_cpu_count(void);
/* The limit from control groups, UINT32_MAX for none, from a file such as /proc/self/cgroup and the folder where the
 * hierarchies are mounted. */
unsigned vy_cgroup_cpu_count(const char *membership, const char *mount);

/* The number of the calling thread: threads are numbered from 0 in the order of their first call, and no number is
 * reused. */
extern _Thread_local uint64_t vy_thread_number_cached; /* the number + 1; 0: not assigned */
uint64_t vy_thread_number_assign(void);                /* called by vy_thread_number only */
static inline uint64_t vy_thread_number(void) {
    return __builtin_expect(vy_thread_number_cached != 0, 1) ? vy_thread_number_cached - 1 : vy_thread_number_assign();
}

/* Starts a thread with all signals blocked: the application's handlers run on the application's threads. Returns 0 with
 * errno set if it cannot be started. */
int vy_thread_start(pthread_t *thread, void *(*body)(void *user), void *user);

/* Disables cancellation of the calling thread (pthread_cancel) until the enclosing block ends. Public functions that
 * block, call a backend, do I/O or call the application begin with it: a thread that is cancelled in between would
 * leave locks, counts and threads of the library in an inconsistent state. Threads of the library never restore it.
 *
 * The type becomes deferred, too: glibc's handler for asynchronous cancellation checks the type only, so a request made
 * just before the state changed would become effective afterwards. */
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

/* Initialises a condition whose timed waits use the monotonic clock (base/thread.h): setting the time of day neither
 * ends nor prolongs them. Destroy it with pthread_cond_destroy(). */
void vy_cond_init_monotonic(pthread_cond_t *cond);

/* Runs body(user, worker) for worker = 0 … workers-1, worker 0 on the calling thread, and returns when all have
 * returned. If threads cannot be started, fewer run; bodies fetch work from a shared counter, so all work is done in
 * any case. */
void vy_parallel(unsigned workers, void (*body)(void *user, unsigned worker), void *user);

/* The floating-point environment that the language requires (nearest-even, subnormals kept, no traps): enter saves the
 * caller's environment and installs this one, leave restores it. Per thread. */
typedef struct vy_fenv {
    unsigned long words[8];
} vy_fenv;
void vy_fenv_enter(vy_fenv *saved);
void vy_fenv_leave(const vy_fenv *saved);

/* Clocks, and the deadline of the calling thread's work.
 *
 * A compile with a deadline opens a deadline scope on its thread. Passes check the deadline between each other and in
 * long loops. The deadline is thread-local so that the functions of the optimiser need not pass it on. A thread started
 * within a scope has no deadline. */
/* CLOCK_MONOTONIC in nanoseconds. */
static inline uint64_t vy_clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CLOCK_REALTIME in nanoseconds since 1970, for comparison with file times. May jump. */
static inline int64_t vy_clock_wall(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Converts a vy_clock_now() time for pthread_cond_timedwait() (vy_cond_init_monotonic() in base/thread.h). */
static inline struct timespec vy_clock_timespec(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

typedef struct vy_deadline_scope {
    uint64_t deadline_ns, begun_ns;
} vy_deadline_scope;

/* Opens a scope: the deadline of this thread becomes the earlier of deadline_ns (CLOCK_MONOTONIC, 0 = none) and its
 * present deadline. Returns the outer scope, which vy_deadline_end restores. */
vy_deadline_scope vy_deadline_begin(uint64_t deadline_ns);
void vy_deadline_end(vy_deadline_scope before);

/* The deadline of this thread; 0 if it has none. */
uint64_t vy_deadline(void);

/* VYRE_TIMEOUT if the deadline has passed. The error names the program, the next step and the time since the scope was
 * opened. Costs 30 ns with a deadline. */
vyre_status vy_deadline_check(const char *program, const char *step, vyre_error *error);

#endif
