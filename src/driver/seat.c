/* Those who look at the seats (seat.h). */
#include "driver/seat.h"

int vy_seats_are_free(const vy_seats *seats) {
    for (int i = 0; i < VY_SEATS; i++)
        if (atomic_load(&seats->seats[i].taken))
            return 0;
    return 1;
}

/* Uses of an id, or of all that have its place. */
static uint32_t count_uses(const vy_seats *seats, uint64_t id, int at_its_place) {
    uint32_t uses = 0;
    for (int i = 0; i < VY_SEATS; i++) {
        const vy_seat *seat = &seats->seats[i];
        uint64_t taken = atomic_load(&seat->taken);
        for (uint64_t k = 1; k < taken; k++) {
            uint64_t used = atomic_load_explicit(&seat->ids[k - 1], memory_order_acquire);
            uses += at_its_place ? used % VY_SEAT_KNOWN == id % VY_SEAT_KNOWN : used == id;
        }
    }
    return uses;
}

void vy_seats_tell(vy_seats *seats, uint64_t id, uint64_t native, uint64_t size, int may_write) {
    vy_seat_known *known = &seats->known[id % VY_SEAT_KNOWN];
    if (atomic_load_explicit(&known->id, memory_order_relaxed) == id && known->may_write == may_write)
        return;
    atomic_store(&known->id, 0);
    if (count_uses(seats, id, 1))
        return;
    known->native = native, known->size = size, known->may_write = may_write;
    atomic_store(&known->id, id);
}

uint32_t vy_seats_forbid(vy_seats *seats, uint64_t id) {
    vy_seat_known *known = &seats->known[id % VY_SEAT_KNOWN];
    if (atomic_load_explicit(&known->id, memory_order_relaxed) == id)
        atomic_store(&known->id, 0);
    return count_uses(seats, id, 0);
}

void vy_seats_forget(vy_seats *seats) {
    for (int i = 0; i < VY_SEAT_KNOWN; i++)
        atomic_store(&seats->known[i].id, 0);
}
