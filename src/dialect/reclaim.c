/* The slow side of reclamation (dialect/reclaim.h): records of threads, counted pins, replacing and freeing. */
#include "dialect/reclaim.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local vy_record *vy_my_record;
/* The same where readers use full barriers: the fast path finds no record. */
static _Thread_local vy_record *my_fenced_record __attribute__((tls_model("initial-exec")));
/* 1 if the kernel has no membarrier. Set before the first record is given out. */
static atomic_int fences;

/* Records are never freed, so a slot can be read at any time. Only those below `used` were ever owned. */
static vy_record records[VY_RECORD_LIMIT];
static atomic_uint records_used, records_owned;
/* For readers about to count who have no free slot. Any thread claims one by exchange. */
static struct { alignas(64) vy_slot slot; } shared[VY_SHARED_SLOTS];

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int has_key;

/* ---- the barrier ---- */

static int call_membarrier(int command) {
    return (int)syscall(SYS_membarrier, command, 0, 0);
}

/* Every thread of the process has passed a full barrier when this returns 1. */
static int barrier_everywhere(void) {
    if (atomic_load(&fences))
        return 1; /* each reader has its own */
    if (call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0)
        return 1;
    /* A new address space (an odd kind of fork) is not registered. */
    return errno == EPERM && call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
           call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

void vy_reclaim_use_fences(void) {
    atomic_store(&fences, 1);
}

/* ---- records ---- */

static void give_back(void *argument) {
    vy_record *record = argument;
    vy_my_record = my_fenced_record = NULL;
    atomic_fetch_sub(&records_owned, 1);
    atomic_store_explicit(&record->owned, 0, memory_order_release);
}

static void begin(void) {
    if (call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0)
        atomic_store(&fences, 1);
    has_key = pthread_key_create(&key, give_back) == 0;
}

static void raise_used(unsigned count) {
    unsigned seen = atomic_load(&records_used);
    while (seen < count && !atomic_compare_exchange_weak(&records_used, &seen, count))
        continue;
}

/* A record for this thread, or NULL: then it counts, and asks again next time. */
static vy_record *enrol(void) {
    if (!has_key || atomic_load(&records_owned) >= VY_RECORD_LIMIT)
        return NULL;
    for (unsigned i = 0; i < VY_RECORD_LIMIT; i++) {
        int expected = 0;
        if (!atomic_compare_exchange_strong(&records[i].owned, &expected, 1))
            continue;
        atomic_fetch_add(&records_owned, 1);
        raise_used(i + 1); /* before the first pointer is stored: writers look at all that are used */
        if (pthread_setspecific(key, &records[i]) == 0)
            return &records[i];
        give_back(&records[i]);
        return NULL;
    }
    return NULL;
}

/* ---- pinning ---- */

static void set(vy_slot *slot, vy_pinned *object) {
    if (atomic_load_explicit(&fences, memory_order_relaxed))
        (void)atomic_exchange(slot, object);
    else
        vy_slot_set(slot, object);
}

/* 0 if the pin was not confirmed; the slot is to be cleared then. */
static int pin_in(vy_domain *domain, vy_slot *slot, vy_guard *out) {
    vy_pinned *object = atomic_load(&domain->current);
    set(slot, object);
    *out = (vy_guard){object, (uintptr_t)slot | (uintptr_t)atomic_load_explicit(&fences, memory_order_relaxed)};
    return atomic_load(&domain->current) == object;
}

/* The slot may have been seen with the object that was not confirmed, so that may be waiting for us. Freeing it may run code that pins something on
 * this thread, and keeps it. */
vy_guard vy_domain_pin_again(vy_domain *domain, vy_slot *slot) {
    vy_guard pin;
    do {
        set(slot, NULL);
        vy_domain_reclaim(domain);
        if (atomic_load(slot))
            return vy_domain_pin_counted(domain);
    } while (!pin_in(domain, slot, &pin));
    return pin;
}

static vy_record *find_record(void) {
    vy_record *record = vy_my_record ? vy_my_record : my_fenced_record;
    if (record)
        return record;
    (void)pthread_once(&once, begin);
    record = enrol();
    *(atomic_load(&fences) ? &my_fenced_record : &vy_my_record) = record;
    return record;
}

vy_guard vy_domain_pin_otherwise(vy_domain *domain) {
    vy_record *record = find_record();
    for (unsigned i = 0; record && i < VY_RECORD_SLOTS; i++)
        if (!atomic_load_explicit(&record->slots[i], memory_order_acquire)) {
            vy_guard pin;
            return pin_in(domain, &record->slots[i], &pin) ? pin : vy_domain_pin_again(domain, &record->slots[i]);
        }
    return vy_domain_pin_counted(domain);
}

void vy_guard_undo(vy_guard pin) {
    if (pin.how == VY_COUNTED)
        (void)atomic_fetch_sub(&pin.object->holds, 1);
    else
        (void)atomic_exchange((vy_slot *)(pin.how - 1), NULL);
}

static vy_slot *claim_shared(vy_pinned *object) {
    for (;;) {
        for (unsigned i = 0; i < VY_SHARED_SLOTS; i++) {
            vy_pinned *expected = NULL;
            if (atomic_compare_exchange_strong(&shared[i].slot, &expected, object))
                return &shared[i].slot;
        }
        (void)sched_yield();
    }
}

vy_guard vy_domain_pin_counted(vy_domain *domain) {
    for (;;) {
        vy_pinned *object = atomic_load(&domain->current);
        if (!object)
            return (vy_guard){NULL, VY_COUNTED};
        vy_slot *slot = claim_shared(object);
        int confirmed = atomic_load(&domain->current) == object;
        if (confirmed)
            atomic_fetch_add(&object->holds, 1);
        atomic_store(slot, NULL);
        if (confirmed)
            return (vy_guard){object, VY_COUNTED};
        vy_domain_reclaim(domain);
    }
}

/* ---- freeing ---- */

static int slot_holds(const vy_pinned *object) {
    for (unsigned i = 0; i < VY_SHARED_SLOTS; i++)
        if (atomic_load(&shared[i].slot) == object)
            return 1;
    unsigned used = atomic_load(&records_used);
    for (unsigned i = 0; i < used; i++)
        for (unsigned j = 0; j < VY_RECORD_SLOTS; j++)
            if (atomic_load(&records[i].slots[j]) == object)
                return 1;
    return 0;
}

/* The first look at the count only spares the search. The last one is what counts: after the slots. */
static int is_pinned(vy_pinned *object) {
    return atomic_load(&object->holds) != 0 || slot_holds(object) || atomic_load(&object->holds) != 0;
}

static void push(vy_slot *list, vy_pinned *first, vy_pinned *last) {
    vy_pinned *head = atomic_load(list);
    do
        last->next = head;
    while (!atomic_compare_exchange_weak(list, &head, first));
}

/* Takes over what was replaced. Without a barrier it stays where it is, for the next call. */
static void take_retired(vy_domain *domain) {
    vy_pinned *first = atomic_exchange(&domain->retired, NULL), *last = first;
    if (!first)
        return;
    while (last->next)
        last = last->next;
    if (!barrier_everywhere()) {
        push(&domain->retired, first, last);
        return;
    }
    last->next = domain->waiting;
    domain->waiting = first;
}

static vy_pinned *take_unpinned(vy_domain *domain) {
    vy_pinned *dead = NULL;
    for (vy_pinned **link = &domain->waiting; *link;) {
        vy_pinned *object = *link;
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

void vy_domain_reclaim(vy_domain *domain) {
    atomic_store(&domain->wanted, 1);
    while (atomic_load(&domain->wanted) && !atomic_exchange(&domain->busy, 1)) {
        (void)atomic_exchange(&domain->wanted, 0); /* an exchange: what those who asked did before is seen below */
        take_retired(domain);
        vy_pinned *dead = take_unpinned(domain);
        atomic_store(&domain->busy, 0);
        while (dead) { /* other people's code may run here: nothing is held */
            vy_pinned *next = dead->next;
            domain->destroy(dead);
            dead = next;
        }
    }
}

int vy_domain_publish(vy_domain *domain, vy_pinned *expected, vy_pinned *next) {
    (void)pthread_once(&once, begin);
    if (!atomic_compare_exchange_strong(&domain->current, &expected, next))
        return 0;
    if (expected) {
        push(&domain->retired, expected, expected);
        vy_domain_reclaim(domain);
        if (atomic_load(&domain->retired))
            (void)sched_yield(); /* whoever frees is not getting on: do not pile up more meanwhile */
    }
    return 1;
}

size_t vy_domain_waiting(const vy_domain *domain) {
    size_t count = 0;
    for (const vy_pinned *object = atomic_load(&domain->retired); object; object = object->next)
        count++;
    for (const vy_pinned *object = domain->waiting; object; object = object->next)
        count++;
    return count;
}

/* ---- fork ---- */

void vy_domain_before_fork(vy_domain *domain) {
    while (atomic_exchange(&domain->busy, 1))
        (void)sched_yield();
}

/* Whoever asked meanwhile did not get `busy`. In the child nobody may have been left who would look. */
void vy_domain_after_fork(vy_domain *domain) {
    atomic_store(&domain->busy, 0);
    if (atomic_load(&domain->wanted))
        vy_domain_reclaim(domain);
}

void vy_records_after_fork_in_child(void) {
    const vy_record *mine = vy_my_record ? vy_my_record : my_fenced_record;
    for (unsigned i = 0; i < VY_RECORD_LIMIT; i++)
        atomic_store(&records[i].owned, &records[i] == mine);
    atomic_store(&records_owned, mine != NULL);
    for (unsigned i = 0; i < VY_SHARED_SLOTS; i++)
        atomic_store(&shared[i].slot, NULL);
}
