/* Fork handlers, and the list of objects bound to this process (atfork.h). */
#include "driver/atfork.h"

#include "base/status.h"

#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static vy_process_bound *first;

/* ---- handlers ---- */

static void before(void) {
    pthread_mutex_lock(&lock);
    vy_trace_before_fork();
    vy_cache_folder_before_fork();
    vy_probe_before_fork();
}

static void unlock(int is_child) {
    vy_probe_after_fork(is_child);
    vy_cache_folder_after_fork();
    vy_trace_after_fork(is_child);
    pthread_mutex_unlock(&lock);
}

static void after_in_parent(void) {
    unlock(0);
}

static void after_in_child(void) {
    for (vy_process_bound *bound = first; bound; bound = bound->next) {
        atomic_store(&bound->is_inherited, 1);
        if (bound->inherit)
            bound->inherit(bound);
    }
    unlock(1);
}

static int is_watching;

static void install(void) {
    is_watching = pthread_atfork(before, after_in_parent, after_in_child) == 0;
}

int vy_atfork_install(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, install);
    return is_watching;
}

/* ---- objects ---- */

vyre_status vy_process_bind(vy_process_bound *bound, vyre_error *error) {
    if (!vy_atfork_install())
        return vy_fail_memory(error, "the fork handlers");
    bound->process = (long)getpid();
    pthread_mutex_lock(&lock);
    bound->previous = NULL;
    bound->next = first;
    if (first)
        first->previous = bound;
    first = bound;
    pthread_mutex_unlock(&lock);
    return VYRE_OK;
}

void vy_process_unbind(vy_process_bound *bound) {
    if (!bound->process)
        return;
    pthread_mutex_lock(&lock);
    *(bound->previous ? &bound->previous->next : &first) = bound->next;
    if (bound->next)
        bound->next->previous = bound->previous;
    pthread_mutex_unlock(&lock);
}
