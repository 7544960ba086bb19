/* Hazard pointers, slow paths (hazard.h): records of threads, counted pins, replacing and freeing. */
#include "base/hazard.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local vy_hazard_record *vy_hazard_thread_record;
/* The same for readers with full barriers: the fast path must not find a record. */
static _Thread_local vy_hazard_record *thread_fenced_record __attribute__((tls_model("initial-exec")));
/* 1 if the kernel lacks membarrier. Set before the first record is acquired. */
static atomic_int fences;

/* Records are never freed, so a slot can be read at any time. Only records below `records_used` were ever owned. */
static vy_hazard_record records[VY_HAZARD_RECORD_LIMIT];
static atomic_uint records_used, records_owned;
/* Slots for readers that are about to count and have no free slot. Any thread claims one with compare-and-swap. */
static struct { alignas(64) vy_hazard_slot slot; } shared[VY_HAZARD_SHARED_SLOTS];

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int has_key;

/* ---- the barrier ---- */

static int call_membarrier(int command) {
    return (int)syscall(SYS_membarrier, command, 0, 0);
}

/* Every thread of the process has passed a full barrier when this returns 1. */
static int barrier_all_threads(void) {
    if (atomic_load(&fences))
        return 1; /* each reader executes its own barrier */
    if (call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0)
        return 1;
    /* A new address space (after an unusual kind of fork) is not registered. */
    return errno == EPERM && call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
           call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

void vy_hazard_use_fences(void) {
    atomic_store(&fences, 1);
}

/* ---- records ---- */

static void release_record(void *argument) {
    vy_hazard_record *record = argument;
    vy_hazard_thread_record = thread_fenced_record = NULL;
    atomic_fetch_sub(&records_owned, 1);
    atomic_store_explicit(&record->owned, 0, memory_order_release);
}

static void initialize(void) {
    if (call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0)
        atomic_store(&fences, 1);
    has_key = pthread_key_create(&key, release_record) == 0;
}

static void raise_records_used(unsigned count) {
    unsigned seen = atomic_load(&records_used);
    while (seen < count && !atomic_compare_exchange_weak(&records_used, &seen, count))
        continue;
}

/* Acquires a record for this thread. NULL: the thread counts, and retries at its next pin. */
static vy_hazard_record *acquire_record(void) {
    if (!has_key || atomic_load(&records_owned) >= VY_HAZARD_RECORD_LIMIT)
        return NULL;
    for (unsigned i = 0; i < VY_HAZARD_RECORD_LIMIT; i++) {
        int expected = 0;
        if (!atomic_compare_exchange_strong(&records[i].owned, &expected, 1))
            continue;
        atomic_fetch_add(&records_owned, 1);
        raise_records_used(i + 1); /* before the first pointer is stored: writers scan all used records */
        if (pthread_setspecific(key, &records[i]) == 0)
            return &records[i];
        release_record(&records[i]);
        return NULL;
    }
    return NULL;
}

/* ---- pinning ---- */

static void store_slot(vy_hazard_slot *slot, vy_hazard_object *object) {
    if (atomic_load_explicit(&fences, memory_order_relaxed))
        (void)atomic_exchange(slot, object);
    else
        vy_hazard_slot_set(slot, object);
}

/* Returns 0 if the pin was not confirmed; the caller must clear the slot then. */
static int pin_in_slot(vy_hazard_domain *domain, vy_hazard_slot *slot, vy_hazard_guard *out) {
    vy_hazard_object *object = atomic_load(&domain->current);
    store_slot(slot, object);
    *out = (vy_hazard_guard){object, (uintptr_t)slot | (uintptr_t)atomic_load_explicit(&fences, memory_order_relaxed)};
    return atomic_load(&domain->current) == object;
}

/* A writer may have seen the slot with the unconfirmed object and kept that object for this thread to free. Freeing may
 * run code that pins another object on this thread and keeps the slot. */
vy_hazard_guard vy_hazard_pin_retry(vy_hazard_domain *domain, vy_hazard_slot *slot) {
    vy_hazard_guard pin;
    do {
        store_slot(slot, NULL);
        vy_hazard_reclaim(domain);
        if (atomic_load(slot))
            return vy_hazard_pin_counted(domain);
    } while (!pin_in_slot(domain, slot, &pin));
    return pin;
}

static vy_hazard_record *find_record(void) {
    vy_hazard_record *record = vy_hazard_thread_record ? vy_hazard_thread_record : thread_fenced_record;
    if (record)
        return record;
    (void)pthread_once(&once, initialize);
    record = acquire_record();
    *(atomic_load(&fences) ? &thread_fenced_record : &vy_hazard_thread_record) = record;
    return record;
}

vy_hazard_guard vy_hazard_pin_slow(vy_hazard_domain *domain) {
    vy_hazard_record *record = find_record();
    for (unsigned i = 0; record && i < VY_HAZARD_RECORD_SLOTS; i++)
        if (!atomic_load_explicit(&record->slots[i], memory_order_acquire)) {
            vy_hazard_guard pin;
            return pin_in_slot(domain, &record->slots[i], &pin) ? pin : vy_hazard_pin_retry(domain, &record->slots[i]);
        }
    return vy_hazard_pin_counted(domain);
}

void vy_hazard_guard_release_slow(vy_hazard_guard pin) {
    if (pin.how == VY_HAZARD_COUNTED)
        (void)atomic_fetch_sub(&pin.object->holds, 1);
    else
        (void)atomic_exchange((vy_hazard_slot *)(pin.how - 1), NULL);
}

static vy_hazard_slot *claim_shared(vy_hazard_object *object) {
    for (;;) {
        for (unsigned i = 0; i < VY_HAZARD_SHARED_SLOTS; i++) {
            vy_hazard_object *expected = NULL;
            if (atomic_compare_exchange_strong(&shared[i].slot, &expected, object))
                return &shared[i].slot;
        }
        (void)sched_yield();
    }
}

vy_hazard_guard vy_hazard_pin_counted(vy_hazard_domain *domain) {
    for (;;) {
        vy_hazard_object *object = atomic_load(&domain->current);
        if (!object)
            return (vy_hazard_guard){NULL, VY_HAZARD_COUNTED};
        vy_hazard_slot *slot = claim_shared(object);
        int confirmed = atomic_load(&domain->current) == object;
        if (confirmed)
            atomic_fetch_add(&object->holds, 1);
        atomic_store(slot, NULL);
        if (confirmed)
            return (vy_hazard_guard){object, VY_HAZARD_COUNTED};
        vy_hazard_reclaim(domain);
    }
}

/* ---- freeing ---- */

static int is_in_any_slot(const vy_hazard_object *object) {
    for (unsigned i = 0; i < VY_HAZARD_SHARED_SLOTS; i++)
        if (atomic_load(&shared[i].slot) == object)
            return 1;
    unsigned used = atomic_load(&records_used);
    for (unsigned i = 0; i < used; i++)
        for (unsigned j = 0; j < VY_HAZARD_RECORD_SLOTS; j++)
            if (atomic_load(&records[i].slots[j]) == object)
                return 1;
    return 0;
}

/* The first load of the count only avoids the scan. The decisive load is the last one, after the slots. */
static int is_pinned(vy_hazard_object *object) {
    return atomic_load(&object->holds) != 0 || is_in_any_slot(object) || atomic_load(&object->holds) != 0;
}

static void push(vy_hazard_slot *list, vy_hazard_object *first, vy_hazard_object *last) {
    vy_hazard_object *head = atomic_load(list);
    do
        last->next = head;
    while (!atomic_compare_exchange_weak(list, &head, first));
}

/* Moves the replaced objects to `waiting`. Without a barrier they stay in `retired` for the next call. */
static void collect_retired(vy_hazard_domain *domain) {
    vy_hazard_object *first = atomic_exchange(&domain->retired, NULL), *last = first;
    if (!first)
        return;
    while (last->next)
        last = last->next;
    if (!barrier_all_threads()) {
        push(&domain->retired, first, last);
        return;
    }
    last->next = domain->waiting;
    domain->waiting = first;
}

static vy_hazard_object *collect_unpinned(vy_hazard_domain *domain) {
    vy_hazard_object *dead = NULL;
    for (vy_hazard_object **link = &domain->waiting; *link;) {
        vy_hazard_object *object = *link;
        if (is_pinned(object)) {
            link = &object->next;
            continue;
        }
        *link = object->next;
        object->next = dead;
        dead = object;
    }
    return dead;
}

void vy_hazard_reclaim(vy_hazard_domain *domain) {
    atomic_store(&domain->wanted, 1);
    while (atomic_load(&domain->wanted) && !atomic_exchange(&domain->busy, 1)) {
        (void)atomic_exchange(&domain->wanted, 0); /* an exchange: acquires the writes of the threads that set it */
        collect_retired(domain);
        vy_hazard_object *dead = collect_unpinned(domain);
        atomic_store(&domain->busy, 0);
        while (dead) { /* user code may run here: no lock is held */
            vy_hazard_object *next = dead->next;
            domain->destroy(dead);
            dead = next;
        }
    }
}

int vy_hazard_publish(vy_hazard_domain *domain, vy_hazard_object *expected, vy_hazard_object *next) {
    (void)pthread_once(&once, initialize);
    if (!atomic_compare_exchange_strong(&domain->current, &expected, next))
        return 0;
    if (expected) {
        push(&domain->retired, expected, expected);
        vy_hazard_reclaim(domain);
        if (atomic_load(&domain->retired))
            (void)sched_yield(); /* the freeing thread is slow: do not add more objects meanwhile */
    }
    return 1;
}

size_t vy_hazard_unreclaimed_count(const vy_hazard_domain *domain) {
    size_t count = 0;
    for (const vy_hazard_object *object = atomic_load(&domain->retired); object; object = object->next)
        count++;
    for (const vy_hazard_object *object = domain->waiting; object; object = object->next)
        count++;
    return count;
}

/* ---- fork ---- */

void vy_hazard_domain_before_fork(vy_hazard_domain *domain) {
    while (atomic_exchange(&domain->busy, 1))
        (void)sched_yield();
}

/* A thread that called vy_hazard_reclaim during the fork failed to set `busy`, and in the child that thread may not
 * exist: reclaim now. */
void vy_hazard_domain_after_fork(vy_hazard_domain *domain) {
    atomic_store(&domain->busy, 0);
    if (atomic_load(&domain->wanted))
        vy_hazard_reclaim(domain);
}

void vy_hazard_records_after_fork_in_child(void) {
    const vy_hazard_record *mine = vy_hazard_thread_record ? vy_hazard_thread_record : thread_fenced_record;
    for (unsigned i = 0; i < VY_HAZARD_RECORD_LIMIT; i++)
        atomic_store(&records[i].owned, &records[i] == mine);
    atomic_store(&records_owned, mine != NULL);
    for (unsigned i = 0; i < VY_HAZARD_SHARED_SLOTS; i++)
        atomic_store(&shared[i].slot, NULL);
}
