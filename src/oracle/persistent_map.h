/* Knowledge: immutable sparse maps from a key to the largest number learnt for it, which share what they have in common.
 *
 * A map is a tree of fixed height with 32 slots in a node; it is named by its root, 0 is the empty one. Maps that came from each other have
 * most of their nodes in common, and joining two visits only the nodes in which they differ: thousands of invocations that pass knowledge
 * on from one to the next cost a path each, not a copy. Nodes count their uses. */
#ifndef VY_ORACLE_PERSISTENT_MAP_H
#define VY_ORACLE_PERSISTENT_MAP_H

#include "base/memory.h"

enum { VY_PERSISTENT_MAP_BITS = 5, VY_PERSISTENT_MAP_SLOTS = 1 << VY_PERSISTENT_MAP_BITS };

typedef struct vy_persistent_map_node {
    uint32_t uses;
    uint32_t slots
        [VY_PERSISTENT_MAP_SLOTS]; /* numbers in a leaf, else nodes; 0 = none. Of a free node, the first one is the next free one. */
} vy_persistent_map_node;

/* Memory that may still be taken. Once it, or the host's, is out, status says so, and what is known is no longer complete. */
typedef struct vy_allowance {
    uint64_t left;
    vyre_status status;
} vy_allowance;

/* Makes room for one more item. Returns 0, and sets the status, if there is none. */
int vy_allowance_grow(vy_allowance *allowance, void **items, uint32_t *capacity, uint32_t count, size_t item_size);

typedef struct vy_persistent_maps {
    VY_VECTOR(vy_persistent_map_node) nodes; /* the first one is not used */
    uint32_t free;
    uint32_t height; /* of every map: levels above the leaves */
    vy_allowance *allowance;
} vy_persistent_maps;

/* Keys are below `keys`; 0 means all of 64 bits. Borrows the allowance. Takes no memory. */
void vy_persistent_map_start(vy_persistent_maps *k, uint64_t keys, vy_allowance *allowance);
/* Frees all maps. */
void vy_persistent_map_free(vy_persistent_maps *k);

/* 0 if nothing is known. */
uint32_t vy_persistent_map_get(const vy_persistent_maps *k, uint32_t map, uint64_t key);
/* Each replaces *map, giving up its old use. On failure *map stays. */
void vy_persistent_map_learn(vy_persistent_maps *k, uint32_t *map, uint64_t key, uint32_t value);
void vy_persistent_map_join(vy_persistent_maps *k, uint32_t *map, uint32_t other);
void vy_persistent_map_set(vy_persistent_maps *k, uint32_t *map, uint32_t other);

#endif
