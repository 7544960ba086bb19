/* Happens-before by acquire and release (clock.h). */
#include "oracle/clock.h"

#include "base/hash.h"

/* Keys of the knowledge map. */
static uint64_t invocation_key(uint64_t invocation) {
    return invocation << 1;
}

static uint64_t group_key(uint64_t group) {
    return group << 1 | 1;
}

/* ---- the map ---- */

/* The place of the first entry whose key is not below `key`. */
static uint32_t find(const vy_clock *clock, uint64_t key) {
    uint32_t low = 0, high = clock->known.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (clock->known.items[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t known(const vy_clock *clock, uint64_t key) {
    uint32_t at = clock ? find(clock, key) : 0;
    return clock && at < clock->known.count && clock->known.items[at].key == key ? clock->known.items[at].value : 0;
}

static void learn(vy_clocks *clocks, vy_clock *clock, uint64_t key, uint64_t value) {
    uint32_t at = find(clock, key);
    if (at < clock->known.count && clock->known.items[at].key == key) {
        if (clock->known.items[at].value < value)
            clock->known.items[at].value = value;
        return;
    }
    if (!VY_RESERVE(&clock->known, 1)) {
        clocks->failed = 1;
        return;
    }
    vy_clock_entry *items = clock->known.items;
    memmove(items + at + 1, items + at, (clock->known.count - at) * sizeof *items);
    items[at] = (vy_clock_entry){key, value};
    clock->known.count++;
}

/* Most joins add little to much: entry by entry is cheap then. */
static void join(vy_clocks *clocks, vy_clock *to, const vy_clock *from) {
    for (uint32_t i = 0; from && i < from->known.count; i++)
        learn(clocks, to, from->known.items[i].key, from->known.items[i].value);
}

/* ---- the table of clocks ---- */

static uint32_t *slot_of(const vy_clocks *clocks, const vy_clock_name *name) {
    uint32_t at = (uint32_t)vy_hash(name, sizeof *name) & (clocks->slot_count - 1);
    for (; clocks->slots[at]; at = (at + 1) & (clocks->slot_count - 1))
        if (memcmp(&clocks->names.items[clocks->slots[at] - 1], name, sizeof *name) == 0)
            break;
    return &clocks->slots[at];
}

static int grow_slots(vy_clocks *clocks) {
    uint32_t count = clocks->slot_count ? clocks->slot_count * 2 : 64;
    uint32_t *slots = vy_allocate_zero(count * sizeof *slots);
    if (!slots)
        return 0;
    vy_release(clocks->slots, clocks->slot_count * sizeof *clocks->slots);
    clocks->slots = slots;
    clocks->slot_count = count;
    for (uint32_t i = 0; i < clocks->names.count; i++)
        *slot_of(clocks, &clocks->names.items[i]) = i + 1;
    return 1;
}

/* NULL if there is none. */
static vy_clock *look_up(vy_clocks *clocks, vy_clock_name name) {
    if (clocks->slot_count == 0)
        return NULL;
    uint32_t index = *slot_of(clocks, &name);
    return index ? &clocks->clocks.items[index - 1] : NULL;
}

/* Makes it if there is none; NULL when memory is out. Moves the others: fetch again what you hold. */
static vy_clock *look_up_or_make(vy_clocks *clocks, vy_clock_name name) {
    vy_clock *found = look_up(clocks, name);
    if (found)
        return found;
    int has_room = clocks->names.count * 2 < clocks->slot_count || grow_slots(clocks);
    vy_clock *made = has_room ? VY_PUSH(&clocks->clocks) : NULL;
    vy_clock_name *named = made ? VY_PUSH(&clocks->names) : NULL;
    if (!named) {
        clocks->clocks.count -= made != NULL;
        clocks->failed = 1;
        return NULL;
    }
    *slot_of(clocks, &name) = clocks->names.count;
    *named = name;
    return made;
}

static vy_clock_name name_of(vy_clock_kind kind, uint64_t id) {
    return (vy_clock_name){.id = id, .kind = kind};
}

static vy_clock_name message_name(const vy_clock_event *event, vy_clock_kind kind) {
    return (vy_clock_name){event->element, event->element_group, event->memory, kind};
}

void vy_clocks_free(vy_clocks *clocks) {
    for (uint32_t i = 0; i < clocks->clocks.count; i++)
        VY_VECTOR_FREE(&clocks->clocks.items[i].known);
    VY_VECTOR_FREE(&clocks->clocks);
    VY_VECTOR_FREE(&clocks->names);
    vy_release(clocks->slots, clocks->slot_count * sizeof *clocks->slots);
    memset(clocks, 0, sizeof *clocks);
}

/* ---- order ---- */

uint32_t vy_clocks_time(vy_clocks *clocks, uint64_t invocation) {
    const vy_clock *clock = look_up(clocks, name_of(VY_CLOCK_INVOCATION, invocation));
    return clock ? clock->time : 0;
}

static int covers(const vy_clock *clock, uint64_t other, uint64_t other_group, uint32_t time, uint32_t epoch) {
    return known(clock, invocation_key(other)) > time || known(clock, group_key(other_group)) > epoch;
}

int vy_clocks_knows(vy_clocks *clocks, uint64_t invocation, uint64_t group, uint64_t other, uint64_t other_group,
                    uint32_t time, uint32_t epoch) {
    return covers(look_up(clocks, name_of(VY_CLOCK_INVOCATION, invocation)), other, other_group, time, epoch) ||
           covers(look_up(clocks, name_of(VY_CLOCK_GROUP, group)), other, other_group, time, epoch);
}

static void acquire(vy_clocks *clocks, const vy_clock_event *event) {
    vy_clock *own = look_up_or_make(clocks, name_of(VY_CLOCK_INVOCATION, event->invocation));
    if (!own)
        return;
    /* Both sides must be in each other's scope. */
    const vy_clock *beside = look_up(clocks, message_name(event, VY_CLOCK_GROUP_MESSAGE));
    if (beside && beside->owner == event->group)
        join(clocks, own, beside);
    if (event->scope == VYRE_SCOPE_DEVICE)
        join(clocks, own, look_up(clocks, message_name(event, VY_CLOCK_DEVICE_MESSAGE)));
}

/* Adds what the releaser knows, and what it and its workgroup did so far, to a message. */
static void leave(vy_clocks *clocks, const vy_clock_event *event, vy_clock_kind kind) {
    vy_clock *message = look_up_or_make(clocks, message_name(event, kind));
    if (!message)
        return;
    if (kind == VY_CLOCK_GROUP_MESSAGE && message->owner != event->group) {
        message->known.count = 0;
        message->owner = event->group;
    }
    const vy_clock *own = look_up(clocks, name_of(VY_CLOCK_INVOCATION, event->invocation));
    join(clocks, message, own);
    join(clocks, message, look_up(clocks, name_of(VY_CLOCK_GROUP, event->group)));
    learn(clocks, message, invocation_key(event->invocation), (own ? own->time : 0) + 1u);
    learn(clocks, message, group_key(event->group), event->epoch);
}

static void forget(vy_clocks *clocks, const vy_clock_event *event) {
    for (int kind = VY_CLOCK_DEVICE_MESSAGE; kind <= VY_CLOCK_GROUP_MESSAGE; kind++) {
        vy_clock *message = look_up(clocks, message_name(event, (vy_clock_kind)kind));
        if (message)
            message->known.count = 0;
    }
}

void vy_clocks_atomic(vy_clocks *clocks, const vy_clock_event *event) {
    if (event->acquires)
        acquire(clocks, event);
    if (event->replaces)
        forget(clocks, event);
    if (!event->releases)
        return;
    if (event->scope == VYRE_SCOPE_DEVICE)
        leave(clocks, event, VY_CLOCK_DEVICE_MESSAGE);
    leave(clocks, event, VY_CLOCK_GROUP_MESSAGE);
    vy_clock *own = look_up_or_make(clocks, name_of(VY_CLOCK_INVOCATION, event->invocation));
    if (own)
        own->time++;
}

void vy_clocks_barrier(vy_clocks *clocks, uint64_t group, uint64_t first, uint32_t count) {
    vy_clock *all = look_up_or_make(clocks, name_of(VY_CLOCK_GROUP, group));
    for (uint32_t i = 0; all && i < count; i++) {
        vy_clock *own = look_up(clocks, name_of(VY_CLOCK_INVOCATION, first + i));
        if (!own)
            continue;
        join(clocks, all, own);
        own->known.count = 0;
    }
}
