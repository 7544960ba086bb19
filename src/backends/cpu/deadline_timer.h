/* Deadline timer: sets a word, which kernels poll, when its deadline expires. The timer is one thread, started with
 * the first deadline. */
#ifndef VY_BACKENDS_CPU_DEADLINE_TIMER_H
#define VY_BACKENDS_CPU_DEADLINE_TIMER_H

#include "vyre/base.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct vy_cpu_deadline {
    uint64_t when_ns; /* CLOCK_MONOTONIC */
    _Atomic uint32_t *word;
    uint32_t value; /* what it gets, if it is 0 */
    struct vy_cpu_deadline *previous, *next;
} vy_cpu_deadline;

typedef struct vy_cpu_deadline_timer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    vy_cpu_deadline *first; /* in no order: there are as many as dispatches with a deadline run at once */
    uint64_t wakes_ns;      /* until when the thread sleeps */
    pthread_t thread;
    int is_started, is_closed;
} vy_cpu_deadline_timer;

void vy_cpu_deadline_timer_start(vy_cpu_deadline_timer *timer);
/* No deadline is set any more. */
void vy_cpu_deadline_timer_end(vy_cpu_deadline_timer *timer);

/* The deadline stays where it is until it is cleared. VYRE_NO_MEMORY: there is no thread to be had. */
vyre_status vy_cpu_deadline_arm(vy_cpu_deadline_timer *timer, vy_cpu_deadline *deadline, vyre_error *error);
/* The word does not change any more. */
void vy_cpu_deadline_disarm(vy_cpu_deadline_timer *timer, vy_cpu_deadline *deadline);

#endif
