/* The state of finding accesses to fuse. Internal to legal_fuse_plan.c (the walk), legal_fuse_index.c (indices) and legal_fuse_group.c (groups). */
#ifndef VY_TRANSFORM_LEGAL_FUSE_PLANNER_H
#define VY_TRANSFORM_LEGAL_FUSE_PLANNER_H

#include "transform/legal_fuse_plan.h"
#include "transform/uniform.h"

/* Sets that are open at once; a block with more is rare, and only loses groups. */
enum { VY_FUSE_OPEN = 32, VY_FUSE_MEMBERS = 64 };

/* An index, as far as it can be compared with another. */
typedef struct vy_fuse_place {
    uint32_t base;   /* expression; VY_NONE: nothing, the offset is all */
    uint32_t offset; /* modulo 2^32 */
} vy_fuse_place;

typedef struct vy_fuse_member {
    uint32_t access; /* of vy_fuse_plan.accesses */
    uint32_t offset;
} vy_fuse_member;

/* Accesses of one kind to one memory by one base, which may come together. */
typedef struct vy_fuse_set {
    uint32_t memory, base;
    uint32_t count;
    uint8_t is_store;
    uint8_t is_sorted; /* each follows the one before (vy_fuse_follows): so most are written */
    vy_fuse_member members[VY_FUSE_MEMBERS];
} vy_fuse_set;

/* The sets of a block that are open; those of one that has ended are kept for the next. */
typedef struct vy_fuse_sets {
    struct vy_fuse_sets *spare;
    vy_fuse_set items[VY_FUSE_OPEN];
} vy_fuse_sets;

typedef struct vy_fuse_planner {
    vy_fuse_plan *plan;
    const vyre_program *program;
    uint32_t bytes; /* of the widest access */
    int aligned_buffers;
    uint32_t *definition; /* by variable: the value of its `let`; VY_NONE */
    uint8_t *factor;      /* by variable: the power of two that divides it for certain, as an exponent */
    uint32_t next_load;   /* the first that has not been seen */
    uint32_t seen;        /* statements that have been */
    /* Few ask where a value comes from: for them, the first statements are judged. */
    uint8_t *loaded; /* by variable: it comes from memory, so that neighbours have whatever they found there */
    uint32_t judged, judged_exprs;
    vy_uniform *uniform; /* once somebody asks */
    uint32_t count;
    vy_fuse_set *open;
    vy_fuse_sets *spare;
    int out_of_memory;
} vy_fuse_planner;

static inline const vy_expr *vy_fuse_expr(const vy_fuse_planner *p, uint32_t expr) {
    return &p->program->exprs.items[expr];
}
static inline uint32_t vy_fuse_size_of(const vy_fuse_planner *p, uint32_t memory) {
    return vyre_type_bits((vyre_type)p->program->memories.items[memory].type) / 8;
}
/* Whether an offset is behind those of all members of a set that is sorted: so near that they do not come round, however many there are. */
static inline int vy_fuse_follows(const vy_fuse_set *s, uint32_t offset) {
    enum { NEAR = 1 << 20 };
    return s->count == 0 || offset - s->members[s->count - 1].offset - 1 < NEAR;
}

/* ---- indices ---- */

vy_fuse_place vy_fuse_place_of(const vy_fuse_planner *p, uint32_t index);
/* Whether two expressions of a block have one value: same trees over what cannot change. */
int vy_fuse_is_same(const vy_fuse_planner *p, uint32_t one, uint32_t other);
int vy_fuse_is_fixed_variable(const vy_fuse_planner *p, uint32_t expr);
/* The largest power of two, up to 2^8, that divides an expression of u32 for certain; as its exponent. */
unsigned vy_fuse_factor_of(const vy_fuse_planner *p, uint32_t expr);
/* Whether neighbours in a row find the same when they test the alignment of an index to `count` elements, as far as one knows: where they do not, both ways are gone. */
int vy_fuse_is_tested_alike(vy_fuse_planner *p, uint32_t base, uint32_t count);

/* ---- groups ---- */

/* Makes the groups of a set to which nothing is added any more. */
void vy_fuse_close_set(vy_fuse_planner *p, const vy_fuse_set *s);

#endif
