/* Vector clocks: happens-before by release and acquire, on persistent sparse maps.
 *
 * Persistent maps: immutable sparse maps from a key to the largest number learnt for it, with structural sharing. A map
 * is a 32-ary tree of fixed height, identified by its root; 0 is the empty map. Related maps share most of their nodes,
 * and joining two visits only the nodes in which they differ. So a chain of thousands of invocations that pass on their
 * map costs one path each, not a copy. Nodes are reference-counted. */
#ifndef VY_ORACLE_VECTOR_CLOCK_H
#define VY_ORACLE_VECTOR_CLOCK_H

#include "base/memory.h"
#include "vyre/op.h"

enum { VY_PERSISTENT_MAP_BITS = 5, VY_PERSISTENT_MAP_SLOTS = 1 << VY_PERSISTENT_MAP_BITS };

typedef struct vy_persistent_map_node {
    uint32_t uses;
    uint32_t slots
        [VY_PERSISTENT_MAP_SLOTS]; /* values in a leaf, else nodes; 0 = none. Free node: [0] is the next free one */
} vy_persistent_map_node;

/* A memory limit. If it or the memory of the host is exhausted, the status is not VYRE_OK, and the maps are
 * incomplete. */
typedef struct vy_allowance {
    uint64_t left;
    vyre_status status;
} vy_allowance;

typedef struct vy_persistent_maps {
    VY_VECTOR(vy_persistent_map_node) nodes; /* the first one is not used */
    uint32_t free;
    uint32_t height; /* of every map: levels above the leaves */
    vy_allowance *allowance;
} vy_persistent_maps;

/* Keys must be below `keys`; 0 means all of 64 bits. Borrows the allowance. Allocates nothing. */
void vy_persistent_map_start(vy_persistent_maps *k, uint64_t keys, vy_allowance *allowance);
/* Frees all maps. */
void vy_persistent_map_free(vy_persistent_maps *k);

/* Returns 0 if the map has no value for the key. */
uint32_t vy_persistent_map_get(const vy_persistent_maps *k, uint32_t map, uint64_t key);
/* Each replaces *map and releases its old reference. On failure *map is unchanged. */
void vy_persistent_map_learn(vy_persistent_maps *k, uint32_t *map, uint64_t key, uint32_t value);
void vy_persistent_map_join(vy_persistent_maps *k, uint32_t *map, uint32_t other);
void vy_persistent_map_set(vy_persistent_maps *k, uint32_t *map, uint32_t other);

/* Clocks record which accesses of other invocations are ordered before an invocation by releases and acquires. Only
 * programs with such atomics use them.
 *
 * The time of an invocation counts its releases. Its map has two kinds of keys: invocation → all its accesses before
 * that time have happened; workgroup → all accesses of that workgroup before that barrier have happened. A release
 * stores the map of the releasing invocation as a message at the element, an acquire joins the message, and a barrier
 * joins the maps of all invocations of the workgroup.
 *
 * Invariant: a map that contains a release of an invocation contains everything that the map of the invocation
 * contained at the release, because a release stores both together and all other operations join whole maps. The same
 * holds for the barriers of a workgroup. So one number often shows that a map contains all of another. */

typedef struct vy_vector_clock {
    uint32_t known;     /* a map */
    uint32_t time;      /* of an invocation */
    uint64_t owner;     /* message of a workgroup: its workgroup; otherwise unused */
    uint8_t has_learnt; /* of an invocation: changed since its last release */
} vy_vector_clock;

/* The owner of a clock. An element has two messages: one for the whole device, and one for the workgroup of the
 * release. */
typedef enum vy_vector_clock_kind {
    VY_VECTOR_CLOCK_INVOCATION,
    VY_VECTOR_CLOCK_GROUP,
    VY_VECTOR_CLOCK_DEVICE_MESSAGE,
    VY_VECTOR_CLOCK_GROUP_MESSAGE
} vy_vector_clock_kind;
typedef struct vy_vector_clock_name {
    uint64_t id;    /* invocation, workgroup, or element */
    uint64_t group; /* elements of workgroup arrays: the workgroup; else 0 */
    uint32_t memory, kind;
} vy_vector_clock_name;

/* All clocks of a run, found by name. */
typedef struct vy_vector_clocks {
    VY_VECTOR(vy_vector_clock) clocks;
    VY_VECTOR(vy_vector_clock_name) names;
    uint32_t *slots; /* open addressing: index + 1 */
    uint32_t slot_count;
    vy_persistent_maps knowledge;
    vy_allowance allowance; /* its status is not VYRE_OK if memory was exhausted; the maps are incomplete then */
} vy_vector_clocks;

/* The clocks must not move afterwards. Allocates nothing now, and at most max_memory bytes later. */
void vy_vector_clocks_start(vy_vector_clocks *clocks, uint64_t invocations, uint64_t max_memory);
void vy_vector_clocks_free(vy_vector_clocks *clocks);

uint32_t vy_vector_clocks_time(vy_vector_clocks *clocks, uint64_t invocation);
/* Whether an access by `other` of `other_group`, at its time and epoch, is ordered before `invocation` of workgroup
 * `group`. */
int vy_vector_clocks_knows(vy_vector_clocks *clocks, uint64_t invocation, uint64_t group, uint64_t other,
                           uint64_t other_group, uint32_t time, uint32_t epoch);
/* The effect of an atomic on an element. replaces: it ends the release sequence of an earlier release (an atomic
 * store). */
typedef struct vy_vector_clock_event {
    uint64_t invocation, group;
    uint32_t epoch; /* of the workgroup */
    uint32_t memory;
    uint64_t element, element_group;
    vyre_scope scope;
    int acquires, releases, replaces;
} vy_vector_clock_event;
void vy_vector_clocks_atomic(vy_vector_clocks *clocks, const vy_vector_clock_event *event);
/* A workgroup passes a barrier: invocations [first, first + count). */
void vy_vector_clocks_barrier(vy_vector_clocks *clocks, uint64_t group, uint64_t first, uint32_t count);

#endif
