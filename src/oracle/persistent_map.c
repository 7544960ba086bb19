/* Persistent maps (persistent_map.h).
 *
 * Nodes are never changed after they are made, and only their uses keep them. Making one may move them all: no pointer to a node outlives a
 * call that makes one. A function that gives a node gives a use of it. Recursion is as deep as the tree: 13 levels for keys of 64 bits. */
#include "oracle/persistent_map.h"

enum { MAX_HEIGHT = 12 };

int vy_allowance_grow(vy_allowance *allowance, void **items, uint32_t *capacity, uint32_t count, size_t item_size) {
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

/* A node with these slots, whose uses it takes over; 0 if memory is out. */
static uint32_t make(vy_persistent_maps *k, const uint32_t *slots, uint32_t height) {
    uint32_t node = k->free;
    k->nodes.count += k->nodes.count == 0;
    if (node) {
        k->free = k->nodes.items[node].slots[0];
    } else if (vy_allowance_grow(k->allowance, (void **)&k->nodes.items, &k->nodes.capacity, k->nodes.count,
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

/* ---- learning ---- */

/* The same as `node` (0: empty), but with the value for `key`. */
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

/* ---- joining ---- */

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
    /* Of two equal ones always the same, so that maps of different origin come to share it. */
    if (!other_than_a && !other_than_b)
        return use(k, a < b ? a : b);
    return use(k, other_than_a ? b : a);
}

/* Neither is empty and they differ. Gives one of the two whenever it holds all of the other, so that what is equal is the same node. */
static uint32_t join_nodes(vy_persistent_maps *k, uint32_t a, uint32_t b, uint32_t height) {
    if (height == 0)
        return join_leaves(k, a, b);
    uint32_t slots[VY_PERSISTENT_MAP_SLOTS], made = 0; /* a bit for each slot that we have a use of already */
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
