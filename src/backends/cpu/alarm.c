/* The thread that keeps deadlines (alarm.h). */
#include "backends/cpu/alarm.h"

#include "base/status.h"
#include "base/thread.h"
#include "driver/dispatch.h"

void vy_cpu_alarms_start(vy_cpu_alarms *alarms) {
    pthread_mutex_init(&alarms->lock, NULL);
    vy_cond_init_monotonic(&alarms->changed);
}

/* Rings what is due, and says when the next one is: UINT64_MAX for never. With the lock held. */
static uint64_t ring(vy_cpu_alarms *alarms, uint64_t now) {
    uint64_t next = UINT64_MAX;
    for (vy_cpu_alarm *alarm = alarms->first; alarm; alarm = alarm->next) {
        uint32_t nothing = 0;
        if (alarm->when_ns <= now)
            atomic_compare_exchange_strong(alarm->word, &nothing, alarm->value);
        else if (alarm->when_ns < next)
            next = alarm->when_ns;
    }
    return next;
}

static void *watch(void *user) {
    vy_cpu_alarms *alarms = user;
    (void)vy_cancellation_disable();
    pthread_mutex_lock(&alarms->lock);
    while (!alarms->is_closed) {
        alarms->wakes_ns = ring(alarms, vy_clock_now());
        if (alarms->wakes_ns == UINT64_MAX) {
            pthread_cond_wait(&alarms->changed, &alarms->lock);
        } else {
            struct timespec until = vy_clock_timespec(alarms->wakes_ns);
            pthread_cond_timedwait(&alarms->changed, &alarms->lock, &until);
        }
    }
    pthread_mutex_unlock(&alarms->lock);
    return NULL;
}

/* With the lock held. */
static int start_thread(vy_cpu_alarms *alarms) {
    if (!alarms->is_started)
        alarms->is_started = vy_thread_start(&alarms->thread, watch, alarms);
    return alarms->is_started;
}

vyre_status vy_cpu_alarm_set(vy_cpu_alarms *alarms, vy_cpu_alarm *alarm, vyre_error *error) {
    pthread_mutex_lock(&alarms->lock);
    int is_kept = start_thread(alarms);
    if (is_kept) {
        alarm->previous = NULL;
        alarm->next = alarms->first;
        if (alarms->first)
            alarms->first->previous = alarm;
        alarms->first = alarm;
        if (alarm->when_ns < alarms->wakes_ns)
            pthread_cond_signal(&alarms->changed);
    }
    pthread_mutex_unlock(&alarms->lock);
    return is_kept
               ? VYRE_OK
               : vy_fail(error, VYRE_NO_MEMORY, "raise the limit of threads (`ulimit -u`), or leave the deadline out",
                         "the thread that keeps deadlines cannot be started");
}

void vy_cpu_alarm_clear(vy_cpu_alarms *alarms, vy_cpu_alarm *alarm) {
    pthread_mutex_lock(&alarms->lock);
    *(alarm->previous ? &alarm->previous->next : &alarms->first) = alarm->next;
    if (alarm->next)
        alarm->next->previous = alarm->previous;
    pthread_mutex_unlock(&alarms->lock);
}

void vy_cpu_alarms_end(vy_cpu_alarms *alarms) {
    pthread_mutex_lock(&alarms->lock);
    alarms->is_closed = 1;
    pthread_cond_signal(&alarms->changed);
    int is_started = alarms->is_started;
    pthread_mutex_unlock(&alarms->lock);
    if (is_started)
        pthread_join(alarms->thread, NULL);
    pthread_cond_destroy(&alarms->changed);
    pthread_mutex_destroy(&alarms->lock);
}
