/* Hazard pointers with an asymmetric barrier: readers pin the current object of a domain, writers replace it, and
 * replaced objects are freed when no pin refers to them.
 *
 * A pin is a pointer in a slot of the reading thread. A reader loads `current`, stores the pointer in a free slot of
 * its thread and loads `current` again. If both loads agree, the object is not freed until the slot is cleared. A
 * writer that replaces an object makes every running thread pass a full memory barrier (membarrier(2)) before it reads
 * the slots, so that readers need none: a pin is two loads and a store, its release a store and a load, and no two
 * threads write the same cache line. A thread without a free slot, and a long-lived pin, increments a count in the
 * object instead.
 *
 * Invariants (tests/base/test_hazard.c explores every interleaving, also with store buffers, and shows that each
 * invariant is necessary):
 *  - A reader does not access an object before the second load has confirmed the pin.
 *  - After a reader clears a slot that a writer may have seen with a replaced object, it calls vy_hazard_reclaim(): the
 *    last release frees. Hence the load of `current` after every release, and the call after an unconfirmed pin.
 *  - Writers read slots before counts, and a reader that counts clears its slot after it has counted.
 *  - Any thread may clear a slot to release a pin, but only the owner of the slot stores pointers in it.
 *  - An object is freed at most once: only the thread that has set `busy` changes the lists; a thread that fails to set
 *    it sets `wanted`. */
#ifndef VY_BASE_HAZARD_H
#define VY_BASE_HAZARD_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VY_HAZARD_ALIGNMENT = 128,     /* two cache lines: CPUs prefetch them in pairs */
    VY_HAZARD_RECORD_SLOTS = 15,   /* pins of a thread in slots; further pins are counted */
    VY_HAZARD_RECORD_LIMIT = 1024, /* threads with a record; further threads count */
    VY_HAZARD_SHARED_SLOTS = 64    /* threads that may be about to count simultaneously; further ones retry */
};

/* The header of every object of a domain. */
typedef struct vy_hazard_object {
    struct vy_hazard_object *next; /* in a list of replaced objects */
    atomic_size_t holds;           /* counted pins */
} vy_hazard_object;

typedef _Atomic(vy_hazard_object *) vy_hazard_slot;

/* The slots of one thread. When the thread ends, another thread reuses the record, with the pins that other threads
 * still hold. */
typedef struct vy_hazard_record {
    alignas(VY_HAZARD_ALIGNMENT) vy_hazard_slot slots[VY_HAZARD_RECORD_SLOTS];
    atomic_int owned;
} vy_hazard_record;

/* How the pin is held: an even number is the address of a slot, VY_HAZARD_COUNTED a count, any other odd number the
 * address + 1 of a slot of a thread that uses full barriers. */
typedef struct vy_hazard_guard {
    vy_hazard_object *object; /* NULL: no object is pinned */
    uintptr_t how;
} vy_hazard_guard;
#define VY_HAZARD_COUNTED ((uintptr_t)1)

typedef struct vy_hazard_domain {
    alignas(VY_HAZARD_ALIGNMENT) vy_hazard_slot current;
    alignas(VY_HAZARD_ALIGNMENT) vy_hazard_slot retired; /* replaced, no barrier since */
    vy_hazard_object *waiting;                           /* replaced before a barrier, possibly pinned */
    atomic_int busy, wanted;
    void (*destroy)(vy_hazard_object *object);
} vy_hazard_domain;

/* Pins the current object. Neither allocates nor locks. */
static inline vy_hazard_guard vy_hazard_pin(vy_hazard_domain *domain);
/* Adds a counted pin to a pinned object. */
static inline vy_hazard_guard vy_hazard_guard_retain(vy_hazard_guard pin);
/* Must be called exactly once for each pin, on any thread. */
static inline void vy_hazard_release(vy_hazard_domain *domain, vy_hazard_guard pin);

/* Makes `next` current if `expected` (pinned by the caller, or NULL) still is; else returns 0. `next` may already have
 * counted pins. */
int vy_hazard_publish(vy_hazard_domain *domain, vy_hazard_object *expected, vy_hazard_object *next);
/* Frees the replaced objects that are not pinned, or leaves them to the thread that is freeing. */
void vy_hazard_reclaim(vy_hazard_domain *domain);
/* The number of objects that were replaced and not freed. For tests, while no other thread uses the domain. */
size_t vy_hazard_unreclaimed_count(const vy_hazard_domain *domain);

/* For pthread_atfork: no thread frees during the fork, and in the child the records of missing threads become free. The
 * pins of those threads stay, since they may have been passed to other threads. */
void vy_hazard_domain_before_fork(vy_hazard_domain *domain);
void vy_hazard_domain_after_fork(vy_hazard_domain *domain);
void vy_hazard_records_after_fork_in_child(void);

/* Makes readers use full barriers, as on a kernel without membarrier. For tests, before the first pin. */
void vy_hazard_use_fences(void);

/* ---- the fast path ---- */

/* The record of this thread; NULL before its first pin, and on a kernel without membarrier. initial-exec, also in a
 * shared library: it uses 8 bytes of the static TLS block. */
extern _Thread_local vy_hazard_record *vy_hazard_thread_record __attribute__((tls_model("initial-exec")));

/* Slow path: the first slot is in use, or the thread has no record. */
vy_hazard_guard vy_hazard_pin_slow(vy_hazard_domain *domain);
/* Retries after the pin in this slot was not confirmed. */
vy_hazard_guard vy_hazard_pin_retry(vy_hazard_domain *domain, vy_hazard_slot *slot);
/* Pins by count, regardless of free slots. */
vy_hazard_guard vy_hazard_pin_counted(vy_hazard_domain *domain);
/* Releases a counted pin or one of a thread with full barriers. */
void vy_hazard_guard_release_slow(vy_hazard_guard pin);

/* The barrier of the writer orders this store before later loads of this thread; the fence orders them for the
 * compiler. */
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
