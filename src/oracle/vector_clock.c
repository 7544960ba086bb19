/* Happens-before by acquire and release (vector_clock.h). */
#include "oracle/vector_clock.h"

#include "base/hash.h"

/* Keys of the knowledge map. */
static uint64_t invocation_key(uint64_t invocation) {
    return invocation << 1;
}

static uint64_t group_key(uint64_t group) {
    return group << 1 | 1;
}

/* ---- the table of clocks ---- */

static uint32_t *slot_of(const vy_vector_clocks *clocks, const vy_vector_clock_name *name) {
    uint32_t at = (uint32_t)vy_hash(name, sizeof *name) & (clocks->slot_count - 1);
    for (; clocks->slots[at]; at = (at + 1) & (clocks->slot_count - 1))
        if (memcmp(&clocks->names.items[clocks->slots[at] - 1], name, sizeof *name) == 0)
            break;
    return &clocks->slots[at];
}

static int grow_slots(vy_vector_clocks *clocks) {
    uint32_t count = clocks->slot_count ? clocks->slot_count * 2 : 64;
    uint64_t bytes = (count - clocks->slot_count) * sizeof *clocks->slots;
    uint32_t *slots = bytes <= clocks->allowance.left ? vy_allocate_zero(count * sizeof *slots) : NULL;
    if (!slots) {
        clocks->allowance.status = bytes <= clocks->allowance.left ? VYRE_NO_MEMORY : VYRE_LIMIT;
        return 0;
    }
    clocks->allowance.left -= bytes;
    vy_release(clocks->slots, clocks->slot_count * sizeof *clocks->slots);
    clocks->slots = slots;
    clocks->slot_count = count;
    for (uint32_t i = 0; i < clocks->names.count; i++)
        *slot_of(clocks, &clocks->names.items[i]) = i + 1;
    return 1;
}

/* NULL if there is none. */
static vy_vector_clock *look_up(vy_vector_clocks *clocks, vy_vector_clock_name name) {
    if (clocks->slot_count == 0)
        return NULL;
    uint32_t index = *slot_of(clocks, &name);
    return index ? &clocks->clocks.items[index - 1] : NULL;
}

/* Makes it if there is none; NULL when memory is out. Moves the others: fetch again what you hold. */
static vy_vector_clock *look_up_or_make(vy_vector_clocks *clocks, vy_vector_clock_name name) {
    vy_vector_clock *found = look_up(clocks, name);
    if (found)
        return found;
    if ((clocks->names.count * 2 >= clocks->slot_count && !grow_slots(clocks)) ||
        !vy_allowance_grow(&clocks->allowance, (void **)&clocks->clocks.items, &clocks->clocks.capacity,
                           clocks->clocks.count, sizeof(vy_vector_clock)) ||
        !vy_allowance_grow(&clocks->allowance, (void **)&clocks->names.items, &clocks->names.capacity,
                           clocks->names.count, sizeof(vy_vector_clock_name)))
        return NULL;
    uint32_t *slot = slot_of(clocks, &name);
    clocks->names.items[clocks->names.count++] = name;
    *slot = clocks->names.count;
    vy_vector_clock *made = &clocks->clocks.items[clocks->clocks.count++];
    *made = (vy_vector_clock){0};
    return made;
}

static vy_vector_clock_name name_of(vy_vector_clock_kind kind, uint64_t id) {
    return (vy_vector_clock_name){.id = id, .kind = kind};
}

static vy_vector_clock_name message_name(const vy_vector_clock_event *event, vy_vector_clock_kind kind) {
    return (vy_vector_clock_name){event->element, event->element_group, event->memory, kind};
}

void vy_vector_clocks_start(vy_vector_clocks *clocks, uint64_t invocations, uint64_t max_memory) {
    memset(clocks, 0, sizeof *clocks);
    clocks->allowance.left = max_memory;
    vy_persistent_map_start(&clocks->knowledge, invocations * 2, &clocks->allowance);
}

void vy_vector_clocks_free(vy_vector_clocks *clocks) {
    vy_persistent_map_free(&clocks->knowledge);
    VY_VECTOR_FREE(&clocks->clocks);
    VY_VECTOR_FREE(&clocks->names);
    vy_release(clocks->slots, clocks->slot_count * sizeof *clocks->slots);
    memset(clocks, 0, sizeof *clocks);
}

/* ---- order ---- */

uint32_t vy_vector_clocks_time(vy_vector_clocks *clocks, uint64_t invocation) {
    const vy_vector_clock *clock = look_up(clocks, name_of(VY_VECTOR_CLOCK_INVOCATION, invocation));
    return clock ? clock->time : 0;
}

static int covers(const vy_vector_clocks *clocks, const vy_vector_clock *clock, uint64_t other, uint64_t other_group,
                  uint32_t time, uint32_t epoch) {
    return clock && (vy_persistent_map_get(&clocks->knowledge, clock->known, invocation_key(other)) > time ||
                     vy_persistent_map_get(&clocks->knowledge, clock->known, group_key(other_group)) > epoch);
}

int vy_vector_clocks_knows(vy_vector_clocks *clocks, uint64_t invocation, uint64_t group, uint64_t other,
                           uint64_t other_group, uint32_t time, uint32_t epoch) {
    return covers(clocks, look_up(clocks, name_of(VY_VECTOR_CLOCK_INVOCATION, invocation)), other, other_group, time,
                  epoch) ||
           covers(clocks, look_up(clocks, name_of(VY_VECTOR_CLOCK_GROUP, group)), other, other_group, time, epoch);
}

/* Adds a message to what an invocation knows. */
static void merge_message(vy_vector_clocks *clocks, vy_vector_clock *own, uint64_t invocation,
                          const vy_vector_clock *message) {
    vy_persistent_maps *k = &clocks->knowledge;
    if (!message || !message->known)
        return;
    int holds_all =
        !own->has_learnt && vy_persistent_map_get(k, message->known, invocation_key(invocation)) >= own->time;
    if (holds_all)
        vy_persistent_map_set(k, &own->known, message->known);
    else
        vy_persistent_map_join(k, &own->known, message->known);
    own->has_learnt = 1;
}

static void acquire(vy_vector_clocks *clocks, const vy_vector_clock_event *event) {
    vy_vector_clock *own = look_up_or_make(clocks, name_of(VY_VECTOR_CLOCK_INVOCATION, event->invocation));
    if (!own)
        return;
    /* Both sides must be in each other's scope. */
    if (event->scope == VYRE_SCOPE_DEVICE)
        merge_message(clocks, own, event->invocation,
                      look_up(clocks, message_name(event, VY_VECTOR_CLOCK_DEVICE_MESSAGE)));
    const vy_vector_clock *beside = look_up(clocks, message_name(event, VY_VECTOR_CLOCK_GROUP_MESSAGE));
    if (beside && beside->owner == event->group)
        merge_message(clocks, own, event->invocation, beside);
}

/* Adds what the releaser knows, and what it and its workgroup did so far, to a message. */
static void leave(vy_vector_clocks *clocks, const vy_vector_clock_event *event, vy_vector_clock_kind kind) {
    vy_persistent_maps *k = &clocks->knowledge;
    vy_vector_clock *message = look_up_or_make(clocks, message_name(event, kind));
    if (!message)
        return;
    if (kind == VY_VECTOR_CLOCK_GROUP_MESSAGE && message->owner != event->group) {
        vy_persistent_map_set(k, &message->known, 0);
        message->owner = event->group;
    }
    const vy_vector_clock *own = look_up(clocks, name_of(VY_VECTOR_CLOCK_INVOCATION, event->invocation));
    const vy_vector_clock *all = look_up(clocks, name_of(VY_VECTOR_CLOCK_GROUP, event->group));
    if (own)
        vy_persistent_map_join(k, &message->known, own->known);
    if (all && vy_persistent_map_get(k, message->known, group_key(event->group)) < event->epoch)
        vy_persistent_map_join(k, &message->known, all->known);
    vy_persistent_map_learn(k, &message->known, invocation_key(event->invocation), (own ? own->time : 0) + 1u);
    vy_persistent_map_learn(k, &message->known, group_key(event->group), event->epoch);
}

static void forget(vy_vector_clocks *clocks, const vy_vector_clock_event *event) {
    for (int kind = VY_VECTOR_CLOCK_DEVICE_MESSAGE; kind <= VY_VECTOR_CLOCK_GROUP_MESSAGE; kind++) {
        vy_vector_clock *message = look_up(clocks, message_name(event, (vy_vector_clock_kind)kind));
        if (message)
            vy_persistent_map_set(&clocks->knowledge, &message->known, 0);
    }
}

void vy_vector_clocks_atomic(vy_vector_clocks *clocks, const vy_vector_clock_event *event) {
    if (event->acquires)
        acquire(clocks, event);
    if (event->replaces)
        forget(clocks, event);
    if (!event->releases)
        return;
    if (event->scope == VYRE_SCOPE_DEVICE)
        leave(clocks, event, VY_VECTOR_CLOCK_DEVICE_MESSAGE);
    leave(clocks, event, VY_VECTOR_CLOCK_GROUP_MESSAGE);
    vy_vector_clock *own = look_up_or_make(clocks, name_of(VY_VECTOR_CLOCK_INVOCATION, event->invocation));
    if (!own)
        return;
    own->time++;
    own->has_learnt = 0;
}

void vy_vector_clocks_barrier(vy_vector_clocks *clocks, uint64_t group, uint64_t first, uint32_t count) {
    vy_vector_clock *all = look_up_or_make(clocks, name_of(VY_VECTOR_CLOCK_GROUP, group));
    for (uint32_t i = 0; all && i < count; i++) {
        vy_vector_clock *own = look_up(clocks, name_of(VY_VECTOR_CLOCK_INVOCATION, first + i));
        if (!own)
            continue;
        vy_persistent_map_join(&clocks->knowledge, &all->known, own->known);
        vy_persistent_map_set(&clocks->knowledge, &own->known, 0);
        own->has_learnt = 0;
    }
}
