/* Deadline timer: the thread that sets the words of expired deadlines (deadline_timer.h). Invariant: a word is set
 * only if it is 0. */
#include "backends/cpu/deadline_timer.h"

#include "base/status.h"
#include "base/thread.h"
#include "driver/dispatch.h"

void vy_cpu_deadline_timer_start(vy_cpu_deadline_timer *timer) {
    pthread_mutex_init(&timer->lock, NULL);
    vy_cond_init_monotonic(&timer->changed);
}

/* Sets the words of expired deadlines. Returns the time of the next one; UINT64_MAX: none. Requires the lock. */
static uint64_t fire_expired(vy_cpu_deadline_timer *timer, uint64_t now) {
    uint64_t next = UINT64_MAX;
    for (vy_cpu_deadline *deadline = timer->first; deadline; deadline = deadline->next) {
        uint32_t nothing = 0;
        if (deadline->when_ns <= now)
            atomic_compare_exchange_strong(deadline->word, &nothing, deadline->value);
        else if (deadline->when_ns < next)
            next = deadline->when_ns;
    }
    return next;
}

static void *timer_thread(void *user) {
    vy_cpu_deadline_timer *timer = user;
    (void)vy_cancellation_disable();
    pthread_mutex_lock(&timer->lock);
    while (!timer->is_closed) {
        timer->wakes_ns = fire_expired(timer, vy_clock_now());
        if (timer->wakes_ns == UINT64_MAX) {
            pthread_cond_wait(&timer->changed, &timer->lock);
        } else {
            struct timespec until = vy_clock_timespec(timer->wakes_ns);
            pthread_cond_timedwait(&timer->changed, &timer->lock, &until);
        }
    }
    pthread_mutex_unlock(&timer->lock);
    return NULL;
}

/* Requires the lock. */
static int start_thread(vy_cpu_deadline_timer *timer) {
    if (!timer->is_started)
        timer->is_started = vy_thread_start(&timer->thread, timer_thread, timer);
    return timer->is_started;
}

vyre_status vy_cpu_deadline_arm(vy_cpu_deadline_timer *timer, vy_cpu_deadline *deadline, vyre_error *error) {
    pthread_mutex_lock(&timer->lock);
    int is_kept = start_thread(timer);
    if (is_kept) {
        deadline->previous = NULL;
        deadline->next = timer->first;
        if (timer->first)
            timer->first->previous = deadline;
        timer->first = deadline;
        if (deadline->when_ns < timer->wakes_ns)
            pthread_cond_signal(&timer->changed);
    }
    pthread_mutex_unlock(&timer->lock);
    return is_kept
               ? VYRE_OK
               : vy_fail(error, VYRE_NO_MEMORY, "raise the limit of threads (`ulimit -u`), or leave the deadline out",
                         "the thread that keeps deadlines cannot be started");
}

void vy_cpu_deadline_disarm(vy_cpu_deadline_timer *timer, vy_cpu_deadline *deadline) {
    pthread_mutex_lock(&timer->lock);
    *(deadline->previous ? &deadline->previous->next : &timer->first) = deadline->next;
    if (deadline->next)
        deadline->next->previous = deadline->previous;
    pthread_mutex_unlock(&timer->lock);
}

void vy_cpu_deadline_timer_end(vy_cpu_deadline_timer *timer) {
    pthread_mutex_lock(&timer->lock);
    timer->is_closed = 1;
    pthread_cond_signal(&timer->changed);
    int is_started = timer->is_started;
    pthread_mutex_unlock(&timer->lock);
    if (is_started)
        pthread_join(timer->thread, NULL);
    pthread_cond_destroy(&timer->changed);
    pthread_mutex_destroy(&timer->lock);
}
