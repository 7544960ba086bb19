/* Seats: from where dispatches on resident buffers run without a lock.
 *
 * The first threads of the process have a dispatch_slot each in every backend. Who sits down says which buffers he uses, and looks afterwards whether he may: whether the backend takes work, and whether
 * the buffers are published (below). Who ends something - the backend, its device, a buffer - forbids it first and looks at the dispatch_slots afterwards. One of the two sees the other, as with
 * vy_backend_enter. So one locked instruction stands for entering the backend and pinning all buffers, and another for both of their ends. */
#ifndef VY_DRIVER_DISPATCH_SLOT_H
#define VY_DRIVER_DISPATCH_SLOT_H

#include "base/thread.h"
#include "vyre/backend.h"

enum { VY_DISPATCH_SLOTS = 16, VY_DISPATCH_SLOT_BUFFERS = 8, VY_DISPATCH_SLOT_PARAMS = 16, VY_PUBLISHED_HANDLES = 64 };

/* A dispatch as the backend gets it, all in one place. The launch points at what follows it. */
typedef struct vy_prepared_launch {
    vyre_launch launch;
    uint64_t elements[VY_DISPATCH_SLOT_BUFFERS];
    vyre_resource native[VY_DISPATCH_SLOT_BUFFERS];
    uint8_t writes[VY_DISPATCH_SLOT_BUFFERS];
    vyre_scalar params[VY_DISPATCH_SLOT_PARAMS];
} vy_prepared_launch;

/* What was asked for last: most ask for the same again. */
typedef struct vy_launch_memo {
    uint64_t pipeline;          /* its number in the backend; 0: nothing that can be asked for again */
    const void *dispatch_table; /* what ran it: another after recovery */
    vyre_geometry geometry;
    vyre_resource bindings[VY_DISPATCH_SLOT_BUFFERS];
    vyre_scalar params[VY_DISPATCH_SLOT_PARAMS];
} vy_launch_memo;

typedef struct vy_dispatch_slot {
    _Atomic uint64_t taken;                         /* 0: nobody sits here; else how many buffers he uses, + 1 */
    _Atomic uint64_t ids[VY_DISPATCH_SLOT_BUFFERS]; /* their handles' */
    /* Of its thread alone. */
    vy_launch_memo last;
    vy_prepared_launch work; /* of the last one, and of the one that runs */
    char gap[64];            /* to the next, which is another thread's */
} vy_dispatch_slot;

/* What there is to know of a buffer that may be used from a dispatch_slot: one that belongs to the library, so that nobody else knows where it lies. */
typedef struct vy_published_handle {
    _Atomic uint64_t id; /* of its handle; 0: none. The rest does not change while somebody may look at it */
    uint64_t native, size;
    int may_write; /* recovery has nothing to restore in it */
} vy_published_handle;

typedef struct vy_dispatch_slots {
    vy_dispatch_slot dispatch_slots[VY_DISPATCH_SLOTS];
    vy_published_handle published[VY_PUBLISHED_HANDLES]; /* at the place of its id, modulo their number */
} vy_dispatch_slots;

/* ---- of the thread ---- */

/* Its dispatch_slot, if it has one and does not sit there already: a backend may dispatch while it does. */
static inline vy_dispatch_slot *vy_dispatch_slot_own(vy_dispatch_slots *dispatch_slots) {
    uint64_t thread = vy_thread_number();
    vy_dispatch_slot *dispatch_slot = thread < VY_DISPATCH_SLOTS ? &dispatch_slots->dispatch_slots[thread] : NULL;
    return dispatch_slot && !atomic_load_explicit(&dispatch_slot->taken, memory_order_relaxed) ? dispatch_slot : NULL;
}
/* At most VY_DISPATCH_SLOT_BUFFERS, all resident. vy_dispatch_slot_leave follows. */
static inline void vy_dispatch_slot_enter(vy_dispatch_slot *dispatch_slot, const vyre_resource *bindings,
                                          size_t count) {
    for (size_t i = 0; i < count; i++)
        atomic_store_explicit(&dispatch_slot->ids[i], bindings[i].resident.id, memory_order_release);
    atomic_exchange(&dispatch_slot->taken, count + 1);
}
static inline void vy_dispatch_slot_leave(vy_dispatch_slot *dispatch_slot) {
    atomic_exchange(&dispatch_slot->taken, 0);
}
/* What is published of a buffer, by who has said that he uses it. NULL: nothing. */
static inline const vy_published_handle *vy_published_handle_find(const vy_dispatch_slots *dispatch_slots,
                                                                  uint64_t id) {
    const vy_published_handle *published = &dispatch_slots->published[id % VY_PUBLISHED_HANDLES];
    return id && atomic_load(&published->id) == id ? published : NULL;
}

/* ---- of all others ---- */

/* Whether nobody sits. */
int vy_dispatch_slots_are_idle(const vy_dispatch_slots *dispatch_slots);

/* Those below with the lock of the table of buffers (resident.h). A buffer becomes published, unless somebody looks at what is published of another at its place. */
void vy_dispatch_slots_publish(vy_dispatch_slots *dispatch_slots, uint64_t id, uint64_t native, uint64_t size,
                               int may_write);
/* It is not published any more. Returns by how many calls it is still used. */
uint32_t vy_dispatch_slots_retire(vy_dispatch_slots *dispatch_slots, uint64_t id);
/* Nothing is published any more. Nobody sits. */
void vy_dispatch_slots_clear(vy_dispatch_slots *dispatch_slots);

#endif
