/* Dispatch slots: hazard pointers for resident handles, which let dispatches on resident buffers run without a lock.
 *
 * The first VY_DISPATCH_SLOTS threads of the process have one slot each in every backend. A thread publishes the
 * handles it is about to use in its slot, then checks that the backend is open and that the buffers are still published
 * (below). A thread that ends the backend, its device or a buffer withdraws it first, then scans all slots. Sequential
 * consistency guarantees that one of the two observes the other, as in vy_backend_enter. So one atomic exchange
 * replaces entering the backend and pinning all buffers, and another replaces unpinning and leaving. */
#ifndef VY_DRIVER_DISPATCH_SLOT_H
#define VY_DRIVER_DISPATCH_SLOT_H

#include "base/thread.h"
#include "vyre/backend.h"

enum { VY_DISPATCH_SLOTS = 16, VY_DISPATCH_SLOT_BUFFERS = 8, VY_DISPATCH_SLOT_PARAMS = 16, VY_PUBLISHED_HANDLES = 64 };

/* A dispatch in the form that the backend receives. The launch points into this struct. */
typedef struct vy_prepared_launch {
    vyre_launch launch;
    uint64_t elements[VY_DISPATCH_SLOT_BUFFERS];
    vyre_resource native[VY_DISPATCH_SLOT_BUFFERS];
    uint8_t writes[VY_DISPATCH_SLOT_BUFFERS];
    vyre_scalar params[VY_DISPATCH_SLOT_PARAMS];
} vy_prepared_launch;

/* The last request: most requests repeat it. */
typedef struct vy_launch_memo {
    uint64_t pipeline;          /* its number in the backend; 0: not reusable */
    const void *dispatch_table; /* the table that ran it: a different one after recovery */
    vyre_geometry geometry;
    vyre_resource bindings[VY_DISPATCH_SLOT_BUFFERS];
    vyre_scalar params[VY_DISPATCH_SLOT_PARAMS];
} vy_launch_memo;

typedef struct vy_dispatch_slot {
    _Atomic uint64_t taken;                         /* 0: the slot is free; else the number of used buffers + 1 */
    _Atomic uint64_t ids[VY_DISPATCH_SLOT_BUFFERS]; /* ids of their handles */
    /* Used by the owning thread only. */
    vy_launch_memo last;
    vy_prepared_launch work; /* of the last dispatch, or of the current one */
    char gap[64];            /* keeps the slots of two threads on separate cache lines */
} vy_dispatch_slot;

/* A buffer that may be used from a dispatch slot: allocated by the library and not exported, so that no other handle
 * aliases it. */
typedef struct vy_published_handle {
    _Atomic uint64_t id; /* of its handle; 0: none. The rest is constant while a slot may refer to it */
    uint64_t native, size;
    int may_write; /* written before: recovery has no contents to restore */
} vy_published_handle;

typedef struct vy_dispatch_slots {
    vy_dispatch_slot dispatch_slots[VY_DISPATCH_SLOTS];
    vy_published_handle published[VY_PUBLISHED_HANDLES]; /* indexed by the id modulo their number */
} vy_dispatch_slots;

/* ---- owning thread ---- */

/* The slot of this thread if it has one and is not inside already: a backend may dispatch during a dispatch. */
static inline vy_dispatch_slot *vy_dispatch_slot_own(vy_dispatch_slots *dispatch_slots) {
    uint64_t thread = vy_thread_number();
    vy_dispatch_slot *dispatch_slot = thread < VY_DISPATCH_SLOTS ? &dispatch_slots->dispatch_slots[thread] : NULL;
    return dispatch_slot && !atomic_load_explicit(&dispatch_slot->taken, memory_order_relaxed) ? dispatch_slot : NULL;
}
/* Publishes at most VY_DISPATCH_SLOT_BUFFERS handles, all resident. vy_dispatch_slot_leave must follow. */
static inline void vy_dispatch_slot_enter(vy_dispatch_slot *dispatch_slot, const vyre_resource *bindings,
                                          size_t count) {
    for (size_t i = 0; i < count; i++)
        atomic_store_explicit(&dispatch_slot->ids[i], bindings[i].resident.id, memory_order_release);
    atomic_exchange(&dispatch_slot->taken, count + 1);
}
static inline void vy_dispatch_slot_leave(vy_dispatch_slot *dispatch_slot) {
    atomic_exchange(&dispatch_slot->taken, 0);
}
/* The published buffer of an id that this thread's slot names, or NULL. */
static inline const vy_published_handle *vy_published_handle_find(const vy_dispatch_slots *dispatch_slots,
                                                                  uint64_t id) {
    const vy_published_handle *published = &dispatch_slots->published[id % VY_PUBLISHED_HANDLES];
    return id && atomic_load(&published->id) == id ? published : NULL;
}

/* ---- other threads ---- */

/* Whether all slots are free. */
int vy_dispatch_slots_are_idle(const vy_dispatch_slots *dispatch_slots);

/* The following require the lock of the buffer table (resident.h). Publishes a buffer, unless a slot uses another
 * buffer of the same bucket. */
void vy_dispatch_slots_publish(vy_dispatch_slots *dispatch_slots, uint64_t id, uint64_t native, uint64_t size,
                               int may_write);
/* Withdraws a buffer. Returns the number of calls that still use it. */
uint32_t vy_dispatch_slots_retire(vy_dispatch_slots *dispatch_slots, uint64_t id);
/* Withdraws all buffers. All slots are free. */
void vy_dispatch_slots_clear(vy_dispatch_slots *dispatch_slots);

#endif
