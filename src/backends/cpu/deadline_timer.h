/* Deadline timer: sets a word, which kernels poll, when its deadline expires. The timer is one thread, started with
 * the first deadline. Invariant: the word does not change after vy_cpu_deadline_disarm. */
#ifndef VY_BACKENDS_CPU_DEADLINE_TIMER_H
#define VY_BACKENDS_CPU_DEADLINE_TIMER_H

#include "vyre/base.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct vy_cpu_deadline {
    uint64_t when_ns; /* CLOCK_MONOTONIC */
    _Atomic uint32_t *word;
    uint32_t value; /* stored in the word if that is 0 */
    struct vy_cpu_deadline *previous, *next;
} vy_cpu_deadline;

typedef struct vy_cpu_deadline_timer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    vy_cpu_deadline *first; /* unordered: there are only as many as concurrent dispatches with a deadline */
    uint64_t wakes_ns;      /* the time until which the thread sleeps */
    pthread_t thread;
    int is_started, is_closed;
} vy_cpu_deadline_timer;

void vy_cpu_deadline_timer_start(vy_cpu_deadline_timer *timer);
/* Requires that no deadline is armed. */
void vy_cpu_deadline_timer_end(vy_cpu_deadline_timer *timer);

/* The deadline must stay valid until it is disarmed. VYRE_NO_MEMORY: the thread cannot be started. */
vyre_status vy_cpu_deadline_arm(vy_cpu_deadline_timer *timer, vy_cpu_deadline *deadline, vyre_error *error);
/* Afterwards the word does not change. */
void vy_cpu_deadline_disarm(vy_cpu_deadline_timer *timer, vy_cpu_deadline *deadline);

#endif
