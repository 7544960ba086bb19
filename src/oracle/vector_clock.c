/* Vector clocks for release/acquire ordering, on persistent maps.
 *
 * Persistent maps: nodes are immutable and reference-counted. Creating a node may move all nodes, so no pointer to a
 * node is kept across a call that creates one. A function that returns a node returns a reference. The recursion depth
 * is that of the tree: 13 levels for keys of 64 bits. */
#include "oracle/vector_clock.h"

#include "base/string.h"

enum { MAX_HEIGHT = 12 };

/* Makes room for one more item. If memory is exhausted, returns 0 and sets the status. */
static int allowance_grow(vy_allowance *allowance, void **items, uint32_t *capacity, uint32_t count, size_t item_size) {
    if (count < *capacity)
        return 1;
    uint64_t target = *capacity < 4 ? 8 : (uint64_t)*capacity * 2, bytes = (target - *capacity) * item_size;
    if (bytes > allowance->left) {
        allowance->status = VYRE_LIMIT;
        return 0;
    }
    if (target > UINT32_MAX || !vy_grow(items, capacity, count, (uint32_t)target - count, item_size)) {
        allowance->status = VYRE_NO_MEMORY;
        return 0;
    }
    allowance->left -= bytes;
    return 1;
}

/* ---- nodes ---- */

static uint32_t use(vy_persistent_maps *k, uint32_t node) {
    k->nodes.items[node].uses++;
    return node;
}

static void drop(vy_persistent_maps *k, uint32_t node, uint32_t height) {
    if (node == 0 || --k->nodes.items[node].uses > 0)
        return;
    vy_persistent_map_node *n = &k->nodes.items[node];
    for (int i = 0; height && i < VY_PERSISTENT_MAP_SLOTS; i++)
        drop(k, n->slots[i], height - 1);
    n->slots[0] = k->free;
    k->free = node;
}

/* Makes a node with these slots and consumes their references; 0 if memory is exhausted. */
static uint32_t make(vy_persistent_maps *k, const uint32_t *slots, uint32_t height) {
    uint32_t node = k->free;
    k->nodes.count += k->nodes.count == 0;
    if (node) {
        k->free = k->nodes.items[node].slots[0];
    } else if (allowance_grow(k->allowance, (void **)&k->nodes.items, &k->nodes.capacity, k->nodes.count,
                              sizeof *k->nodes.items)) {
        node = k->nodes.count++;
    } else {
        for (int i = 0; height && i < VY_PERSISTENT_MAP_SLOTS; i++)
            drop(k, slots[i], height - 1);
        return 0;
    }
    k->nodes.items[node].uses = 1;
    memcpy(k->nodes.items[node].slots, slots, sizeof k->nodes.items[node].slots);
    return node;
}

/* ---- insertion ---- */

/* Returns `node` (0: empty) with the value for `key`. */
static uint32_t with(vy_persistent_maps *k, uint32_t node, uint32_t height, uint64_t key, uint32_t value) {
    uint32_t slots[VY_PERSISTENT_MAP_SLOTS] = {0},
             at = key >> VY_PERSISTENT_MAP_BITS * height & (VY_PERSISTENT_MAP_SLOTS - 1);
    if (node)
        memcpy(slots, k->nodes.items[node].slots, sizeof slots);
    uint32_t fresh = height ? with(k, slots[at], height - 1, key, value) : value;
    if (fresh == 0)
        return 0;
    for (uint32_t i = 0; height && i < VY_PERSISTENT_MAP_SLOTS; i++)
        if (i != at && slots[i])
            use(k, slots[i]);
    slots[at] = fresh;
    return make(k, slots, height);
}

/* ---- union ---- */

static uint32_t join_leaves(vy_persistent_maps *k, uint32_t a, uint32_t b) {
    const uint32_t *of_a = k->nodes.items[a].slots, *of_b = k->nodes.items[b].slots;
    uint32_t slots[VY_PERSISTENT_MAP_SLOTS], other_than_a = 0, other_than_b = 0;
    for (int i = 0; i < VY_PERSISTENT_MAP_SLOTS; i++) {
        slots[i] = of_a[i] > of_b[i] ? of_a[i] : of_b[i];
        other_than_a |= slots[i] ^ of_a[i];
        other_than_b |= slots[i] ^ of_b[i];
    }
    if (other_than_a && other_than_b)
        return make(k, slots, 0);
    /* Of two equal nodes always the same one, so that maps of different origin share it. */
    if (!other_than_a && !other_than_b)
        return use(k, a < b ? a : b);
    return use(k, other_than_a ? b : a);
}

/* Joins two different non-empty nodes. Returns one of the two if it contains the other, so that equal maps are the same
 * node. */
static uint32_t join_nodes(vy_persistent_maps *k, uint32_t a, uint32_t b, uint32_t height) {
    if (height == 0)
        return join_leaves(k, a, b);
    uint32_t slots[VY_PERSISTENT_MAP_SLOTS], made = 0; /* a bit for each slot that has its reference already */
    int is_a = 1, is_b = 1, is_whole = 1;
    for (int i = 0; i < VY_PERSISTENT_MAP_SLOTS; i++) {
        uint32_t x = k->nodes.items[a].slots[i], y = k->nodes.items[b].slots[i];
        slots[i] = x ? x : y;
        if (x && y && x != y) {
            slots[i] = join_nodes(k, x, y, height - 1);
            made |= (uint32_t)1 << i;
            is_whole &= slots[i] != 0;
        }
        is_a &= slots[i] == x;
        is_b &= slots[i] == y;
    }
    int is_new = is_whole && !is_a && !is_b;
    for (int i = 0; i < VY_PERSISTENT_MAP_SLOTS; i++) {
        int is_ours = made >> i & 1;
        if (is_new && !is_ours && slots[i])
            use(k, slots[i]);
        else if (!is_new && is_ours)
            drop(k, slots[i], height - 1);
    }
    if (is_new)
        return make(k, slots, height);
    return is_whole ? use(k, is_a ? a : b) : 0;
}

/* ---- maps ---- */

void vy_persistent_map_start(vy_persistent_maps *k, uint64_t keys, vy_allowance *allowance) {
    memset(k, 0, sizeof *k);
    k->allowance = allowance;
    while (k->height < MAX_HEIGHT && (keys - 1) >> VY_PERSISTENT_MAP_BITS * (k->height + 1))
        k->height++;
}

void vy_persistent_map_free(vy_persistent_maps *k) {
    VY_VECTOR_FREE(&k->nodes);
    k->free = 0;
}

uint32_t vy_persistent_map_get(const vy_persistent_maps *k, uint32_t map, uint64_t key) {
    for (uint32_t height = k->height; map && height; height--)
        map = k->nodes.items[map].slots[key >> VY_PERSISTENT_MAP_BITS * height & (VY_PERSISTENT_MAP_SLOTS - 1)];
    return map ? k->nodes.items[map].slots[key & (VY_PERSISTENT_MAP_SLOTS - 1)] : 0;
}

static void replace(vy_persistent_maps *k, uint32_t *map, uint32_t next) {
    if (next == 0)
        return;
    uint32_t old = *map;
    *map = next;
    drop(k, old, k->height);
}

void vy_persistent_map_learn(vy_persistent_maps *k, uint32_t *map, uint64_t key, uint32_t value) {
    if (vy_persistent_map_get(k, *map, key) < value)
        replace(k, map, with(k, *map, k->height, key, value));
}

void vy_persistent_map_join(vy_persistent_maps *k, uint32_t *map, uint32_t other) {
    if (other == 0 || other == *map)
        return;
    replace(k, map, *map ? join_nodes(k, *map, other, k->height) : use(k, other));
}

void vy_persistent_map_set(vy_persistent_maps *k, uint32_t *map, uint32_t other) {
    uint32_t old = *map;
    *map = other ? use(k, other) : 0;
    if (old)
        drop(k, old, k->height);
}

/* ---- happens-before by release and acquire ---- */

/* Keys of the maps. */
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

/* Returns NULL if there is none. */
static vy_vector_clock *look_up(vy_vector_clocks *clocks, vy_vector_clock_name name) {
    if (clocks->slot_count == 0)
        return NULL;
    uint32_t index = *slot_of(clocks, &name);
    return index ? &clocks->clocks.items[index - 1] : NULL;
}

/* Creates it if necessary; NULL if memory is exhausted. May move all clocks, so pointers to them become invalid. */
static vy_vector_clock *look_up_or_make(vy_vector_clocks *clocks, vy_vector_clock_name name) {
    vy_vector_clock *found = look_up(clocks, name);
    if (found)
        return found;
    if ((clocks->names.count * 2 >= clocks->slot_count && !grow_slots(clocks)) ||
        !allowance_grow(&clocks->allowance, (void **)&clocks->clocks.items, &clocks->clocks.capacity,
                        clocks->clocks.count, sizeof(vy_vector_clock)) ||
        !allowance_grow(&clocks->allowance, (void **)&clocks->names.items, &clocks->names.capacity, clocks->names.count,
                        sizeof(vy_vector_clock_name)))
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

/* Joins a message into the map of an invocation. */
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
    /* Each side must be in the scope of the other. */
    if (event->scope == VYRE_SCOPE_DEVICE)
        merge_message(clocks, own, event->invocation,
                      look_up(clocks, message_name(event, VY_VECTOR_CLOCK_DEVICE_MESSAGE)));
    const vy_vector_clock *beside = look_up(clocks, message_name(event, VY_VECTOR_CLOCK_GROUP_MESSAGE));
    if (beside && beside->owner == event->group)
        merge_message(clocks, own, event->invocation, beside);
}

/* Adds to a message the map of the releasing invocation, and the accesses of it and its workgroup so far. */
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
