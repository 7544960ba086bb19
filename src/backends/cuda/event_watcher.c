/* Watching events (event_watcher.h). Functions of the driver that call us back may not call the driver, and `done` may: hence a thread of our own. */
#include "backends/cuda/event_watcher.h"

#include "backends/cuda/cuda.h"
#include "base/thread.h"

#include <time.h>

enum { PAUSE_NS = 20000 };

void vy_cuda_event_watcher_start(vy_cuda_event_watcher *watch) {
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->changed, NULL);
}

void vy_cuda_event_watcher_end(vy_cuda_event_watcher *watch) {
    pthread_mutex_lock(&watch->lock);
    int was_running = watch->is_running;
    watch->is_ending = 1;
    pthread_cond_broadcast(&watch->changed);
    pthread_mutex_unlock(&watch->lock);
    if (was_running)
        pthread_join(watch->thread, NULL);
    pthread_cond_destroy(&watch->changed);
    pthread_mutex_destroy(&watch->lock);
}

/* ---- the thread ---- */

static int is_done(vy_cuda *cuda, const vy_cuda_watched_event *watched) {
    return !watched->event || atomic_load(&cuda->loss) || cuda->api.event_query(watched->event) != VY_CU_NOT_READY;
}

/* With the lock held: the first that is done is taken out of the list. The driver is asked with the lock, so that nobody destroys an event meanwhile. */
static vy_cuda_watched_event *pop_done(vy_cuda *cuda) {
    for (vy_cuda_watched_event **link = &cuda->watch.first; *link; link = &(*link)->next)
        if (is_done(cuda, *link)) {
            vy_cuda_watched_event *taken = *link;
            *link = taken->next;
            return taken;
        }
    return NULL;
}

static void notify(vy_cuda_event_watcher *watch, vy_cuda_watched_event *watched) {
    void (*done)(void *) = watched->done;
    void *user = watched->user;
    watch->notified = watched;
    pthread_mutex_unlock(&watch->lock);
    done(user); /* what was watched may be gone from here on */
    pthread_mutex_lock(&watch->lock);
    watch->notified = NULL;
    pthread_cond_broadcast(&watch->changed);
}

static void *work(void *user) {
    vy_cuda *cuda = user;
    vy_cuda_event_watcher *watch = &cuda->watch;
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int was_pushed;
    (void)vy_cancellation_disable();
    pthread_mutex_lock(&watch->lock);
    while (!watch->is_ending) {
        if (!watch->first) {
            pthread_cond_wait(&watch->changed, &watch->lock);
            continue;
        }
        vy_cuda_enter_for_release(cuda, &was_pushed);
        vy_cuda_watched_event *done = pop_done(cuda);
        vy_cuda_leave(cuda, was_pushed);
        if (done) {
            notify(watch, done);
            continue;
        }
        pthread_mutex_unlock(&watch->lock);
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&watch->lock);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

/* ---- who wants to know ---- */

int vy_cuda_event_watcher_add(vy_cuda *cuda, vy_cuda_watched_event *watched) {
    vy_cuda_event_watcher *watch = &cuda->watch;
    pthread_mutex_lock(&watch->lock);
    if (!watch->is_running)
        watch->is_running = vy_thread_start(&watch->thread, work, cuda);
    int is_running = watch->is_running;
    if (is_running) {
        watched->next = watch->first;
        watch->first = watched;
        pthread_cond_broadcast(&watch->changed);
    }
    pthread_mutex_unlock(&watch->lock);
    return is_running;
}

void vy_cuda_event_watcher_done(vy_cuda *cuda, vy_cuda_watched_event *watched) {
    pthread_mutex_lock(&cuda->watch.lock);
    watched->event = NULL;
    pthread_mutex_unlock(&cuda->watch.lock);
}

void vy_cuda_event_watcher_remove(vy_cuda *cuda, vy_cuda_watched_event *watched) {
    vy_cuda_event_watcher *watch = &cuda->watch;
    pthread_mutex_lock(&watch->lock);
    for (vy_cuda_watched_event **link = &watch->first; *link; link = &(*link)->next)
        if (*link == watched) {
            *link = watched->next;
            break;
        }
    while (watch->notified == watched && !pthread_equal(watch->thread, pthread_self()))
        pthread_cond_wait(&watch->changed, &watch->lock);
    pthread_mutex_unlock(&watch->lock);
}
