/* Reclamation: readers pin the newest object of a domain, writers replace it, and what nobody pins any more is freed.
 *
 * A pin is a pointer in a slot of the reading thread. To take one, a reader stores the pointer it loaded from `current` in a free slot of its own and
 * loads `current` again: if that still is the same, the object cannot go away until the slot is cleared. Whoever replaces an object makes every
 * running thread pass a full memory barrier (membarrier(2)) before slots are read, so that readers need none: a pin is two loads and a
 * store, its release a store and a load, and no two threads write the same line. A thread that has used up its slots, and whoever wants to
 * hold a pin long, counts in the object instead.
 *
 * What must stay true (tests/dialect/test_model.c tries every interleaving, also with store buffers, and what happens without each of these):
 *  - A reader touches nothing of an object before the second load has confirmed it.
 *  - A slot that may have been seen with an object that was replaced is followed by vy_domain_reclaim() after it is cleared: the last one to let go
 *    frees. Hence the load of `current` after every release, and the call after a pin that was not confirmed.
 *  - Slots are read before counts: a reader that counts clears its slot afterwards.
 *  - A slot is cleared by whichever thread releases the pin, but only its thread puts pointers in.
 *  - An object is freed at most once: lists are touched by whoever has `busy`; whoever does not get it leaves word in `wanted`. */
#ifndef VY_DIALECT_RECLAIM_H
#define VY_DIALECT_RECLAIM_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VY_LINE = 128,          /* two cache lines: processors fetch them in pairs */
    VY_RECORD_SLOTS = 15,   /* pins a thread can have before it counts */
    VY_RECORD_LIMIT = 1024, /* threads with slots of their own; further ones count */
    VY_SHARED_SLOTS = 64    /* threads that may be about to count at one moment; further ones try again */
};

/* What a domain hands out begins with this. */
typedef struct vy_pinned {
    struct vy_pinned *next; /* among those that were replaced */
    atomic_size_t holds;    /* counted pins */
} vy_pinned;

typedef _Atomic(vy_pinned *) vy_slot;

/* The slots of one thread; kept for another when the thread ends, with those pins that are still held elsewhere. */
typedef struct vy_record {
    alignas(VY_LINE) vy_slot slots[VY_RECORD_SLOTS];
    atomic_int owned;
} vy_record;

/* How the pin is held: an even number is the address of a slot, VY_COUNTED a count, any other odd number a slot of a thread that uses full barriers. */
typedef struct vy_guard {
    vy_pinned *object; /* NULL: nothing is pinned */
    uintptr_t how;
} vy_guard;
#define VY_COUNTED ((uintptr_t)1)

typedef struct vy_domain {
    alignas(VY_LINE) vy_slot current;
    alignas(VY_LINE) vy_slot retired; /* replaced, and no barrier since */
    vy_pinned *waiting;               /* replaced before a barrier, and perhaps pinned */
    atomic_int busy, wanted;
    void (*destroy)(vy_pinned *object);
} vy_domain;

/* Pins what is current. Allocates nothing, takes no lock. */
static inline vy_guard vy_domain_pin(vy_domain *domain);
/* A counted pin of what is pinned already. */
static inline vy_guard vy_guard_hold(vy_guard pin);
/* Exactly once for each pin, on any thread. */
static inline void vy_domain_release(vy_domain *domain, vy_guard pin);

/* Makes `next` current if `expected` (pinned by the caller, or NULL) still is; else returns 0. Counted pins may be in `next` already. */
int vy_domain_publish(vy_domain *domain, vy_pinned *expected, vy_pinned *next);
/* Frees what was replaced and is not pinned, or leaves that to the thread that is at it. */
void vy_domain_reclaim(vy_domain *domain);
/* How many were replaced and are not freed yet; for tests, when no other thread is at work. */
size_t vy_domain_waiting(const vy_domain *domain);

/* For pthread_atfork: nobody frees while the process is copied, and in the child the records of threads that are not there are free again. Pins those
 * threads held stay, since they may have been handed on. */
void vy_domain_before_fork(vy_domain *domain);
void vy_domain_after_fork(vy_domain *domain);
void vy_records_after_fork_in_child(void);

/* Readers use full barriers from now on, as on a kernel without membarrier. For tests, before the first pin. */
void vy_reclaim_use_fences(void);

/* ---- the fast path ---- */

/* The record of this thread; NULL before its first pin, and on a kernel without membarrier. A plain offset, also in a shared library: it takes
 * 8 bytes of the static block. */
extern _Thread_local vy_record *vy_my_record __attribute__((tls_model("initial-exec")));

/* The first slot is taken, or there is none: all the other ways to pin. */
vy_guard vy_domain_pin_otherwise(vy_domain *domain);
/* The pin in this slot was not confirmed. */
vy_guard vy_domain_pin_again(vy_domain *domain, vy_slot *slot);
/* A count in the object, whatever slots there are. */
vy_guard vy_domain_pin_counted(vy_domain *domain);
/* Lets go of a pin that is no plain slot. */
void vy_guard_undo(vy_guard pin);

/* Stores. The writer's barrier lets no later load of this thread be seen before; the compiler must keep the order too. */
static inline void vy_slot_set(vy_slot *slot, vy_pinned *object) {
    atomic_store_explicit(slot, object, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
}

static inline vy_guard vy_domain_pin(vy_domain *domain) {
    vy_record *record = vy_my_record;
    if (__builtin_expect(!record || atomic_load_explicit(&record->slots[0], memory_order_acquire), 0))
        return vy_domain_pin_otherwise(domain);
    vy_pinned *object = atomic_load(&domain->current);
    vy_slot_set(&record->slots[0], object);
    if (__builtin_expect(atomic_load(&domain->current) != object, 0))
        return vy_domain_pin_again(domain, &record->slots[0]);
    return (vy_guard){object, (uintptr_t)&record->slots[0]};
}

static inline vy_guard vy_guard_hold(vy_guard pin) {
    if (pin.object)
        atomic_fetch_add_explicit(&pin.object->holds, 1, memory_order_relaxed);
    return (vy_guard){pin.object, VY_COUNTED};
}

static inline void vy_domain_release(vy_domain *domain, vy_guard pin) {
    if (!pin.object)
        return;
    if (__builtin_expect(!(pin.how & 1), 1))
        vy_slot_set((vy_slot *)pin.how, NULL);
    else
        vy_guard_undo(pin);
    if (__builtin_expect(atomic_load(&domain->current) != pin.object, 0))
        vy_domain_reclaim(domain);
}

#endif
