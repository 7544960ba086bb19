/* Knowledge: immutable sparse maps from a key to the largest number learnt for it, which share what they have in common.
 *
 * A map is a tree of fixed height with 32 slots in a node; it is named by its root, 0 is the empty one. Maps that came from each other have
 * most of their nodes in common, and joining two visits only the nodes in which they differ: thousands of invocations that pass knowledge
 * on from one to the next cost a path each, not a copy. Nodes count their uses. */
#ifndef VY_ORACLE_VECTOR_CLOCK_H
#define VY_ORACLE_VECTOR_CLOCK_H

#include "base/memory.h"
#include "vyre/op.h"

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

/* Clocks: what acquires and releases let an invocation know of others. Only programs with such atomics use them.
 *
 * The time of an invocation counts its releases. Its knowledge is a sparse map: invocation → all its accesses before that time have happened; and
 * workgroup → all accesses of that workgroup before that barrier have. A release leaves the releaser's knowledge at the element, an
 * acquire takes it over, a barrier gives every invocation of the workgroup what any of them knows.
 *
 * Whatever knows an invocation's release knows all that the invocation knew at it: a release leaves both together, and everything else
 * joins whole maps. Likewise, whatever knows a workgroup's barrier knows what that barrier shared. So one number often tells that a map
 * holds all of another. */

typedef struct vy_vector_clock {
    uint32_t known;     /* a map */
    uint32_t time;      /* of an invocation */
    uint64_t owner;     /* message of a workgroup: which; otherwise unused */
    uint8_t has_learnt; /* an invocation, since its last release */
} vy_vector_clock;

/* Whose a clock is. Elements have two messages: what a release leaves for the whole device, and for its own workgroup. */
typedef enum vy_vector_clock_kind {
    VY_VECTOR_CLOCK_INVOCATION,
    VY_VECTOR_CLOCK_GROUP,
    VY_VECTOR_CLOCK_DEVICE_MESSAGE,
    VY_VECTOR_CLOCK_GROUP_MESSAGE
} vy_vector_clock_kind;
typedef struct vy_vector_clock_name {
    uint64_t id;    /* invocation, workgroup, or element */
    uint64_t group; /* elements of workgroup arrays: whose; else 0 */
    uint32_t memory, kind;
} vy_vector_clock_name;

/* All clocks of a run, found by name. */
typedef struct vy_vector_clocks {
    VY_VECTOR(vy_vector_clock) clocks;
    VY_VECTOR(vy_vector_clock_name) names;
    uint32_t *slots; /* open addressing: index + 1 */
    uint32_t slot_count;
    vy_persistent_maps knowledge;
    vy_allowance allowance; /* its status is not OK once memory ran out: what is known is no longer complete */
} vy_vector_clocks;

/* The clocks must not move afterwards. Takes no memory, and later at most max_memory bytes. */
void vy_vector_clocks_start(vy_vector_clocks *clocks, uint64_t invocations, uint64_t max_memory);
void vy_vector_clocks_free(vy_vector_clocks *clocks);

uint32_t vy_vector_clocks_time(vy_vector_clocks *clocks, uint64_t invocation);
/* Whether `invocation` of workgroup `group` knows that an access by `other` of `other_group`, at its time and epoch, has happened. */
int vy_vector_clocks_knows(vy_vector_clocks *clocks, uint64_t invocation, uint64_t group, uint64_t other,
                           uint64_t other_group, uint32_t time, uint32_t epoch);
/* The effect of an atomic on an element. replaces: it ends the sequence that an earlier release began (an atomic store). */
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
