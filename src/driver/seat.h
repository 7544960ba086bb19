/* Seats: from where dispatches on resident buffers run without a lock.
 *
 * The first threads of the process have a seat each in every backend. Who sits down says which buffers he uses, and looks afterwards whether he may: whether the backend takes work, and whether
 * the buffers are known (below). Who ends something - the backend, its device, a buffer - forbids it first and looks at the seats afterwards. One of the two sees the other, as with
 * vy_backend_enter. So one locked instruction stands for entering the backend and pinning all buffers, and another for both of their ends. */
#ifndef VY_DRIVER_SEAT_H
#define VY_DRIVER_SEAT_H

#include "base/thread.h"
#include "vyre/backend.h"

enum { VY_SEATS = 16, VY_SEAT_BUFFERS = 8, VY_SEAT_PARAMS = 16, VY_SEAT_KNOWN = 64 };

/* A dispatch as the backend gets it, all in one place. The launch points at what follows it. */
typedef struct vy_seat_work {
    vyre_launch launch;
    uint64_t elements[VY_SEAT_BUFFERS];
    vyre_resource native[VY_SEAT_BUFFERS];
    uint8_t writes[VY_SEAT_BUFFERS];
    vyre_scalar params[VY_SEAT_PARAMS];
} vy_seat_work;

/* What was asked for last: most ask for the same again. */
typedef struct vy_seat_asked {
    uint64_t pipeline;  /* its number in the backend; 0: nothing that can be asked for again */
    const void *target; /* what ran it: another after recovery */
    vyre_geometry geometry;
    vyre_resource bindings[VY_SEAT_BUFFERS];
    vyre_scalar params[VY_SEAT_PARAMS];
} vy_seat_asked;

typedef struct vy_seat {
    _Atomic uint64_t taken;                /* 0: nobody sits here; else how many buffers he uses, + 1 */
    _Atomic uint64_t ids[VY_SEAT_BUFFERS]; /* their handles' */
    /* Of its thread alone. */
    vy_seat_asked last;
    vy_seat_work work; /* of the last one, and of the one that runs */
    char gap[64];      /* to the next, which is another thread's */
} vy_seat;

/* What there is to know of a buffer that may be used from a seat: one that belongs to the library, so that nobody else knows where it lies. */
typedef struct vy_seat_known {
    _Atomic uint64_t id; /* of its handle; 0: none. The rest does not change while somebody may look at it */
    uint64_t native, size;
    int may_write; /* recovery has nothing to restore in it */
} vy_seat_known;

typedef struct vy_seats {
    vy_seat seats[VY_SEATS];
    vy_seat_known known[VY_SEAT_KNOWN]; /* at the place of its id, modulo their number */
} vy_seats;

/* ---- of the thread ---- */

/* Its seat, if it has one and does not sit there already: a backend may dispatch while it does. */
static inline vy_seat *vy_seat_own(vy_seats *seats) {
    uint64_t thread = vy_thread_number();
    vy_seat *seat = thread < VY_SEATS ? &seats->seats[thread] : NULL;
    return seat && !atomic_load_explicit(&seat->taken, memory_order_relaxed) ? seat : NULL;
}
/* At most VY_SEAT_BUFFERS, all resident. vy_seat_leave follows. */
static inline void vy_seat_take(vy_seat *seat, const vyre_resource *bindings, size_t count) {
    for (size_t i = 0; i < count; i++)
        atomic_store_explicit(&seat->ids[i], bindings[i].resident.id, memory_order_release);
    atomic_exchange(&seat->taken, count + 1);
}
static inline void vy_seat_leave(vy_seat *seat) {
    atomic_exchange(&seat->taken, 0);
}
/* What is known of a buffer, by who has said that he uses it. NULL: nothing. */
static inline const vy_seat_known *vy_seat_find(const vy_seats *seats, uint64_t id) {
    const vy_seat_known *known = &seats->known[id % VY_SEAT_KNOWN];
    return id && atomic_load(&known->id) == id ? known : NULL;
}

/* ---- of all others ---- */

/* Whether nobody sits. */
int vy_seats_are_free(const vy_seats *seats);

/* Those below with the lock of the table of buffers (resident.h). A buffer becomes known, unless somebody looks at what is known of another at its place. */
void vy_seats_tell(vy_seats *seats, uint64_t id, uint64_t native, uint64_t size, int may_write);
/* It is not known any more. Returns by how many calls it is still used. */
uint32_t vy_seats_forbid(vy_seats *seats, uint64_t id);
/* Nothing is known any more. Nobody sits. */
void vy_seats_forget(vy_seats *seats);

#endif
