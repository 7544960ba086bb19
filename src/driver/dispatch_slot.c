/* Those who look at the dispatch_slots (dispatch_slot.h). */
#include "driver/dispatch_slot.h"

int vy_dispatch_slots_are_idle(const vy_dispatch_slots *dispatch_slots) {
    for (int i = 0; i < VY_DISPATCH_SLOTS; i++)
        if (atomic_load(&dispatch_slots->dispatch_slots[i].taken))
            return 0;
    return 1;
}

/* Uses of an id, or of all that have its place. */
static uint32_t count_uses(const vy_dispatch_slots *dispatch_slots, uint64_t id, int same_bucket) {
    uint32_t uses = 0;
    for (int i = 0; i < VY_DISPATCH_SLOTS; i++) {
        const vy_dispatch_slot *dispatch_slot = &dispatch_slots->dispatch_slots[i];
        uint64_t taken = atomic_load(&dispatch_slot->taken);
        for (uint64_t k = 1; k < taken; k++) {
            uint64_t used = atomic_load_explicit(&dispatch_slot->ids[k - 1], memory_order_acquire);
            uses += same_bucket ? used % VY_PUBLISHED_HANDLES == id % VY_PUBLISHED_HANDLES : used == id;
        }
    }
    return uses;
}

void vy_dispatch_slots_publish(vy_dispatch_slots *dispatch_slots, uint64_t id, uint64_t native, uint64_t size,
                               int may_write) {
    vy_published_handle *published = &dispatch_slots->published[id % VY_PUBLISHED_HANDLES];
    if (atomic_load_explicit(&published->id, memory_order_relaxed) == id && published->may_write == may_write)
        return;
    atomic_store(&published->id, 0);
    if (count_uses(dispatch_slots, id, 1))
        return;
    published->native = native, published->size = size, published->may_write = may_write;
    atomic_store(&published->id, id);
}

uint32_t vy_dispatch_slots_retire(vy_dispatch_slots *dispatch_slots, uint64_t id) {
    vy_published_handle *published = &dispatch_slots->published[id % VY_PUBLISHED_HANDLES];
    if (atomic_load_explicit(&published->id, memory_order_relaxed) == id)
        atomic_store(&published->id, 0);
    return count_uses(dispatch_slots, id, 0);
}

void vy_dispatch_slots_clear(vy_dispatch_slots *dispatch_slots) {
    for (int i = 0; i < VY_PUBLISHED_HANDLES; i++)
        atomic_store(&dispatch_slots->published[i].id, 0);
}
