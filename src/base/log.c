/* The log sink (log.h). */
#include "base/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

/* Sink and user change together, so they are read under a lock; lines are rare. The sink runs outside the lock: it may
 * log or set another sink. */
static pthread_mutex_t sink_lock = PTHREAD_MUTEX_INITIALIZER;
static vyre_log_sink *sink;
static void *sink_user;
static _Atomic int has_sink; /* without a sink, vy_log does not lock */

static void before_fork(void) {
    pthread_mutex_lock(&sink_lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&sink_lock);
}

/* If the handlers cannot be registered, a child of a multithreaded process might inherit a locked mutex; nothing else
 * depends on them. */
static void watch_fork(void) {
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}

void vyre_log_set_sink(vyre_log_sink *given, void *user) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_fork);
    pthread_mutex_lock(&sink_lock);
    atomic_store(&has_sink, given != NULL);
    sink = given;
    sink_user = user;
    pthread_mutex_unlock(&sink_lock);
}

int vy_log_is_on(void) {
    return atomic_load_explicit(&has_sink, memory_order_relaxed);
}

void vy_log(int level, const char *source, const char *message) {
    if (!vy_log_is_on())
        return;
    pthread_mutex_lock(&sink_lock);
    vyre_log_sink *to = sink;
    void *user = sink_user;
    pthread_mutex_unlock(&sink_lock);
    if (to)
        to(user, level, source ? source : "", message ? message : "");
}
