/* Reclamation: readers pin the newest object of a domain, writers replace it, and what nobody pins any more is freed.
 *
 * A pin is a pointer in a slot of the reading thread. To take one, a reader stores the pointer it loaded from `current`
 * in a free slot of its own and loads `current` again: if that still is the same, the object cannot go away until the
 * slot is cleared. Whoever replaces an object makes every running thread pass a full memory barrier (membarrier(2))
 * before slots are read, so that readers need none: a pin is two loads and a store, its release a store and a load, and
 * no two threads write the same line. A thread that has used up its slots, and whoever wants to hold a pin long, counts
 * in the object instead.
 *
 * What must stay true (tests/base/test_hazard.c tries every interleaving, also with store buffers, and what happens
 * without each of these):
 *  - A reader touches nothing of an object before the second load has confirmed it.
 *  - A slot that may have been seen with an object that was replaced is followed by vy_hazard_reclaim() after it is
 *    cleared: the last one to let go
 *    frees. Hence the load of `current` after every release, and the call after a pin that was not confirmed.
 *  - Slots are read before counts: a reader that counts clears its slot afterwards.
 *  - A slot is cleared by whichever thread releases the pin, but only its thread puts pointers in.
 *  - An object is freed at most once: lists are touched by whoever has `busy`; whoever does not get it leaves word in
 *    `wanted`. */
#ifndef VY_BASE_HAZARD_H
#define VY_BASE_HAZARD_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VY_HAZARD_ALIGNMENT = 128,     /* two cache lines: processors fetch them in pairs */
    VY_HAZARD_RECORD_SLOTS = 15,   /* pins a thread can have before it counts */
    VY_HAZARD_RECORD_LIMIT = 1024, /* threads with slots of their own; further ones count */
    VY_HAZARD_SHARED_SLOTS = 64    /* threads that may be about to count at one moment; further ones try again */
};

/* What a domain hands out begins with this. */
typedef struct vy_hazard_object {
    struct vy_hazard_object *next; /* among those that were replaced */
    atomic_size_t holds;           /* counted pins */
} vy_hazard_object;

typedef _Atomic(vy_hazard_object *) vy_hazard_slot;

/* The slots of one thread; kept for another when the thread ends, with those pins that are still held elsewhere. */
typedef struct vy_hazard_record {
    alignas(VY_HAZARD_ALIGNMENT) vy_hazard_slot slots[VY_HAZARD_RECORD_SLOTS];
    atomic_int owned;
} vy_hazard_record;

/* How the pin is held: an even number is the address of a slot, VY_HAZARD_COUNTED a count, any other odd number a slot
 * of a thread that uses full barriers. */
typedef struct vy_hazard_guard {
    vy_hazard_object *object; /* NULL: nothing is pinned */
    uintptr_t how;
} vy_hazard_guard;
#define VY_HAZARD_COUNTED ((uintptr_t)1)

typedef struct vy_hazard_domain {
    alignas(VY_HAZARD_ALIGNMENT) vy_hazard_slot current;
    alignas(VY_HAZARD_ALIGNMENT) vy_hazard_slot retired; /* replaced, and no barrier since */
    vy_hazard_object *waiting;                           /* replaced before a barrier, and perhaps pinned */
    atomic_int busy, wanted;
    void (*destroy)(vy_hazard_object *object);
} vy_hazard_domain;

/* Pins what is current. Allocates nothing, takes no lock. */
static inline vy_hazard_guard vy_hazard_pin(vy_hazard_domain *domain);
/* A counted pin of what is pinned already. */
static inline vy_hazard_guard vy_hazard_guard_retain(vy_hazard_guard pin);
/* Exactly once for each pin, on any thread. */
static inline void vy_hazard_release(vy_hazard_domain *domain, vy_hazard_guard pin);

/* Makes `next` current if `expected` (pinned by the caller, or NULL) still is; else returns 0. Counted pins may be in
 * `next` already. */
int vy_hazard_publish(vy_hazard_domain *domain, vy_hazard_object *expected, vy_hazard_object *next);
/* Frees what was replaced and is not pinned, or leaves that to the thread that is at it. */
void vy_hazard_reclaim(vy_hazard_domain *domain);
/* How many were replaced and are not freed yet; for tests, when no other thread is at work. */
size_t vy_hazard_unreclaimed_count(const vy_hazard_domain *domain);

/* For pthread_atfork: nobody frees while the process is copied, and in the child the records of threads that are not
 * there are free again. Pins those threads held stay, since they may have been handed on. */
void vy_hazard_domain_before_fork(vy_hazard_domain *domain);
void vy_hazard_domain_after_fork(vy_hazard_domain *domain);
void vy_hazard_records_after_fork_in_child(void);

/* Readers use full barriers from now on, as on a kernel without membarrier. For tests, before the first pin. */
void vy_hazard_use_fences(void);

/* ---- the fast path ---- */

/* The record of this thread; NULL before its first pin, and on a kernel without membarrier. A plain offset, also in a
 * shared library: it takes 8 bytes of the static block. */
extern _Thread_local vy_hazard_record *vy_hazard_thread_record __attribute__((tls_model("initial-exec")));

/* The first slot is taken, or there is none: all the other ways to pin. */
vy_hazard_guard vy_hazard_pin_slow(vy_hazard_domain *domain);
/* The pin in this slot was not confirmed. */
vy_hazard_guard vy_hazard_pin_retry(vy_hazard_domain *domain, vy_hazard_slot *slot);
/* A count in the object, whatever slots there are. */
vy_hazard_guard vy_hazard_pin_counted(vy_hazard_domain *domain);
/* Lets go of a pin that is no plain slot. */
void vy_hazard_guard_release_slow(vy_hazard_guard pin);

/* Stores. The writer's barrier lets no later load of this thread be seen before; the compiler must keep the order
 * too. */
static inline void vy_hazard_slot_set(vy_hazard_slot *slot, vy_hazard_object *object) {
    atomic_store_explicit(slot, object, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
}

static inline vy_hazard_guard vy_hazard_pin(vy_hazard_domain *domain) {
    vy_hazard_record *record = vy_hazard_thread_record;
    if (__builtin_expect(!record || atomic_load_explicit(&record->slots[0], memory_order_acquire), 0))
        return vy_hazard_pin_slow(domain);
    vy_hazard_object *object = atomic_load(&domain->current);
    vy_hazard_slot_set(&record->slots[0], object);
    if (__builtin_expect(atomic_load(&domain->current) != object, 0))
        return vy_hazard_pin_retry(domain, &record->slots[0]);
    return (vy_hazard_guard){object, (uintptr_t)&record->slots[0]};
}

static inline vy_hazard_guard vy_hazard_guard_retain(vy_hazard_guard pin) {
    if (pin.object)
        atomic_fetch_add_explicit(&pin.object->holds, 1, memory_order_relaxed);
    return (vy_hazard_guard){pin.object, VY_HAZARD_COUNTED};
}

static inline void vy_hazard_release(vy_hazard_domain *domain, vy_hazard_guard pin) {
    if (!pin.object)
        return;
    if (__builtin_expect(!(pin.how & 1), 1))
        vy_hazard_slot_set((vy_hazard_slot *)pin.how, NULL);
    else
        vy_hazard_guard_release_slow(pin);
    if (__builtin_expect(atomic_load(&domain->current) != pin.object, 0))
        vy_hazard_reclaim(domain);
}

#endif
