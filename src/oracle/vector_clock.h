/* Clocks: what acquires and releases let an invocation know of others. Only programs with such atomics use them.
 *
 * The time of an invocation counts its releases. Its knowledge is a sparse map: invocation → all its accesses before that time have happened; and
 * workgroup → all accesses of that workgroup before that barrier have. A release leaves the releaser's knowledge at the element, an
 * acquire takes it over, a barrier gives every invocation of the workgroup what any of them knows.
 *
 * Whatever knows an invocation's release knows all that the invocation knew at it: a release leaves both together, and everything else
 * joins whole maps. Likewise, whatever knows a workgroup's barrier knows what that barrier shared. So one number often tells that a map
 * holds all of another. */
#ifndef VY_ORACLE_VECTOR_CLOCK_H
#define VY_ORACLE_VECTOR_CLOCK_H

#include "oracle/persistent_map.h"
#include "vyre/op.h"

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
