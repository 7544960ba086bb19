/* Deadlines: words that become non-zero when their time has come. One thread, started with the first of them. */
#ifndef VY_BACKENDS_CPU_ALARM_H
#define VY_BACKENDS_CPU_ALARM_H

#include "vyre/base.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct vy_cpu_alarm {
    uint64_t when_ns; /* CLOCK_MONOTONIC */
    _Atomic uint32_t *word;
    uint32_t value; /* what it gets, if it is 0 */
    struct vy_cpu_alarm *previous, *next;
} vy_cpu_alarm;

typedef struct vy_cpu_alarms {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    vy_cpu_alarm *first; /* in no order: there are as many as dispatches with a deadline run at once */
    uint64_t wakes_ns;   /* until when the thread sleeps */
    pthread_t thread;
    int is_started, is_closed;
} vy_cpu_alarms;

void vy_cpu_alarms_start(vy_cpu_alarms *alarms);
/* No alarm is set any more. */
void vy_cpu_alarms_end(vy_cpu_alarms *alarms);

/* The alarm stays where it is until it is cleared. VYRE_NO_MEMORY: there is no thread to be had. */
vyre_status vy_cpu_alarm_set(vy_cpu_alarms *alarms, vy_cpu_alarm *alarm, vyre_error *error);
/* The word does not change any more. */
void vy_cpu_alarm_clear(vy_cpu_alarms *alarms, vy_cpu_alarm *alarm);

#endif
