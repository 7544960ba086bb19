/* The state of finding accesses to fuse. Internal to vectorize_mem_plan.c (the walk), vectorize_mem_index.c (indices) and vectorize_mem_group.c (groups). */
#ifndef VY_LOWER_VECTORIZE_MEM_INTERNAL_H
#define VY_LOWER_VECTORIZE_MEM_INTERNAL_H

#include "analysis/uniformity.h"
#include "lower/vectorize_mem_plan.h"

/* Sets that are open at once; a block with more is rare, and only loses groups. */
enum { VY_VECTORIZE_MEM_OPEN = 32, VY_VECTORIZE_MEM_MEMBERS = 64 };

/* An index, as far as it can be compared with another. */
typedef struct vy_vectorize_mem_offset {
    uint32_t base;   /* expression; VY_NONE: nothing, the offset is all */
    uint32_t offset; /* modulo 2^32 */
} vy_vectorize_mem_offset;

typedef struct vy_vectorize_mem_member {
    uint32_t access; /* of vy_vectorize_mem_plan.accesses */
    uint32_t offset;
} vy_vectorize_mem_member;

/* Accesses of one kind to one memory by one base, which may come together. */
typedef struct vy_vectorize_mem_set {
    uint32_t memory, base;
    uint32_t count;
    uint8_t is_store;
    uint8_t is_sorted; /* each follows the one before (vy_vectorize_mem_follows): so most are written */
    vy_vectorize_mem_member members[VY_VECTORIZE_MEM_MEMBERS];
} vy_vectorize_mem_set;

/* The sets of a block that are open; those of one that has ended are kept for the next. */
typedef struct vy_vectorize_mem_sets {
    struct vy_vectorize_mem_sets *spare;
    vy_vectorize_mem_set items[VY_VECTORIZE_MEM_OPEN];
} vy_vectorize_mem_sets;

typedef struct vy_vectorize_mem_planner {
    vy_vectorize_mem_plan *plan;
    const vyre_program *program;
    uint32_t bytes; /* of the widest access */
    int aligned_buffers;
    uint32_t *definition; /* by variable: the value of its `let`; VY_NONE */
    uint8_t *factor;      /* by variable: the power of two that divides it for certain, as an exponent */
    uint32_t next_load;   /* the first that has not been seen */
    uint32_t seen;        /* statements that have been */
    /* Few ask where a value comes from: for them, the first statements are scanned. */
    uint8_t *loaded; /* by variable: it comes from memory, so that neighbours have whatever they found there */
    uint32_t scanned, scanned_exprs;
    vy_uniform *uniform; /* once somebody asks */
    uint32_t count;
    vy_vectorize_mem_set *open;
    vy_vectorize_mem_sets *spare;
    int out_of_memory;
} vy_vectorize_mem_planner;

static inline const vy_expr *vy_vectorize_mem_expr(const vy_vectorize_mem_planner *p, uint32_t expr) {
    return &p->program->exprs.items[expr];
}
static inline uint32_t vy_vectorize_mem_size_of(const vy_vectorize_mem_planner *p, uint32_t memory) {
    return vyre_type_bits((vyre_type)p->program->memories.items[memory].type) / 8;
}
/* Whether an offset is behind those of all members of a set that is sorted: so near that they do not come round, however many there are. */
static inline int vy_vectorize_mem_follows(const vy_vectorize_mem_set *s, uint32_t offset) {
    enum { NEAR = 1 << 20 };
    return s->count == 0 || offset - s->members[s->count - 1].offset - 1 < NEAR;
}

/* ---- indices ---- */

vy_vectorize_mem_offset vy_vectorize_mem_offset_of(const vy_vectorize_mem_planner *p, uint32_t index);
/* Whether two expressions of a block have one value: same trees over what cannot change. */
int vy_vectorize_mem_is_same(const vy_vectorize_mem_planner *p, uint32_t one, uint32_t other);
int vy_vectorize_mem_is_fixed_variable(const vy_vectorize_mem_planner *p, uint32_t expr);
/* The largest power of two, up to 2^8, that divides an expression of u32 for certain; as its exponent. */
unsigned vy_vectorize_mem_factor_of(const vy_vectorize_mem_planner *p, uint32_t expr);
/* Whether neighbours in a row find the same when they test the alignment of an index to `count` elements, as far as one knows: where they do not, both ways are gone. */
int vy_vectorize_mem_is_tested_alike(vy_vectorize_mem_planner *p, uint32_t base, uint32_t count);

/* ---- groups ---- */

/* Makes the groups of a set to which nothing is added any more. */
void vy_vectorize_mem_close_set(vy_vectorize_mem_planner *p, const vy_vectorize_mem_set *s);

#endif
