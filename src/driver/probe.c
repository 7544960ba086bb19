/* Probes with a time limit (probe.h).
 *
 * A probe and its caller share a reference-counted record; the later of the two frees it. Abandoned records are in a list until their probe
 * returns, so that a probe that hangs costs one thread and one wait, however often a backend is selected. */
#include "driver/probe.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "driver/atfork.h"
#include "driver/host_services.h"
#include "driver/registry.h"

typedef struct probing {
    const vyre_backend_registration *registration;
    vyre_probe probe;
    int is_done, is_abandoned;
    struct probing *next; /* in `abandoned` */
} probing;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done;
static probing *abandoned;

static void call(const vyre_backend_registration *registration, vyre_probe *out) {
    void (*probe)(const vyre_host *, vyre_probe *) = VY_STRUCT_GET(registration, vyre_backend_registration, probe);
    *out = (vyre_probe){.struct_size = sizeof *out, .answer = VYRE_PROBE_YES};
    if (probe)
        probe(&vy_host_services, out);
    out->reason[sizeof out->reason - 1] = out->fix[sizeof out->fix - 1] = '\0';
}

static void *run(void *user) {
    probing *p = user;
    (void)vy_cancellation_disable();
    call(p->registration, &p->probe);
    pthread_mutex_lock(&lock);
    p->is_done = 1;
    int is_abandoned = p->is_abandoned;
    for (probing **link = &abandoned; is_abandoned && *link; link = &(*link)->next)
        if (*link == p) {
            *link = p->next;
            break;
        }
    pthread_cond_broadcast(&done);
    pthread_mutex_unlock(&lock);
    if (is_abandoned)
        vy_release(p, sizeof *p);
    return NULL;
}

static void start_condition(void) {
    vy_cond_init_monotonic(&done);
}

static int is_late(const vyre_backend_registration *registration) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int found = 0;
    pthread_once(&once, start_condition);
    (void)vy_atfork_install();
    pthread_mutex_lock(&lock);
    for (const probing *p = abandoned; p; p = p->next)
        found |= p->registration == registration;
    pthread_mutex_unlock(&lock);
    return found;
}

/* Waits for the end or the deadline; in the second case the record belongs to the probe's thread. */
static vy_probe_outcome wait_for_probe(probing *p, uint64_t deadline, vyre_probe *out) {
    const struct timespec until = vy_clock_timespec(deadline);
    pthread_mutex_lock(&lock);
    while (!p->is_done && pthread_cond_timedwait(&done, &lock, &until) == 0) {
    }
    if (p->is_done) {
        *out = p->probe;
        pthread_mutex_unlock(&lock);
        vy_release(p, sizeof *p);
        return VY_PROBE_DONE;
    }
    p->is_abandoned = 1;
    p->next = abandoned;
    abandoned = p;
    pthread_mutex_unlock(&lock);
    return VY_PROBE_TIMED_OUT;
}

void vy_probe_before_fork(void) {
    pthread_mutex_lock(&lock);
}

/* The threads of abandoned probes do not exist in a child: their records are left alone. The condition counts threads of the parent that wait
 * for it, and a broadcast would wait for them: the child starts its own. */
void vy_probe_after_fork(int is_child) {
    if (is_child) {
        abandoned = NULL;
        vy_cond_init_monotonic(&done);
    }
    pthread_mutex_unlock(&lock);
}

vy_probe_outcome vy_probe_run(const vyre_backend_registration *registration, uint64_t limit_ns, vyre_probe *out) {
    pthread_t thread;
    if (is_late(registration))
        return VY_PROBE_STILL_RUNNING;
    if (!VY_STRUCT_GET(registration, vyre_backend_registration, probe)) {
        call(registration, out);
        return VY_PROBE_DONE;
    }
    probing *p = vy_allocate_zero(sizeof *p);
    if (!p)
        return VY_PROBE_NO_MEMORY;
    p->registration = registration;
    uint64_t deadline = vy_clock_now() + limit_ns;
    if (!vy_thread_start(&thread, run, p)) {
        vy_release(p, sizeof *p);
        call(registration, out);
        return VY_PROBE_DONE;
    }
    pthread_detach(thread);
    return wait_for_probe(p, deadline, out);
}
