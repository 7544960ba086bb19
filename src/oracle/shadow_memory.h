/* Breaches: what no run of a right program does, whatever its input. They are always looked for, on any number of threads: members of a workgroup that
 * miss each other, and, at level legal, an access or a lane that a false proof let through. The run goes on where that is safe, so
 * that the same violations are found on any number of threads. */
#ifndef VY_ORACLE_SHADOW_MEMORY_H
#define VY_ORACLE_SHADOW_MEMORY_H

#include "base/diagnostics.h"
#include "oracle/machine.h"
#include "oracle/vector_clock.h"

/* Keeps the violation of the lowest-numbered invocation for each code and place. Any thread. */
void vy_violation_keep(vy_run *run, const vy_violation *violation);

/* A workgroup, or the grid, whose members do not all arrive. Any thread. */
void vy_violation_divergence(vy_worker *worker, const vy_group *group);
void vy_violation_grid_divergence(vy_run *run, const vy_group *waiting, const vy_group *ended);

/* Adds what was kept to the diagnostics, in the order of the program. */
void vy_violation_deliver(vy_run *run);

/* The checkers: races, bounds, reads of unwritten workgroup memory. Divergence is in violation.h.
 *
 * Shadow memory holds, for each element that the program may write, who accessed it last; an access is compared with what is there. Two
 * accesses by different invocations are ordered if a grid barrier lies between them, or, in one workgroup, a barrier, or a chain of
 * acquires and releases (vector_clock.h). Runs with checks use one thread. */

/* A place in the program: a statement, or an expression with this bit set. */
#define VY_SITE_EXPRESSION 0x80000000u

/* One access of an element. */
typedef struct vy_access {
    uint64_t invocation; /* linear id + 1; 0 = none */
    uint32_t epoch;      /* barriers its workgroup had passed */
    uint32_t grid_epoch; /* grid barriers passed */
    uint32_t site;
    uint32_t time; /* of the invocation's clock */
} vy_access;

/* What is kept of the accesses of one kind to one element (race.c says why it is enough). Of writes, the latest. Of
 * other kinds, without acquires and releases, three: */
enum {
    VY_KEPT_LATEST, /* the last one */
    VY_KEPT_BESIDE, /* if one workgroup made all since the last grid barrier: the last one by another invocation than the latest's */
    VY_KEPT_ELSEWHERE, /* the last one by another workgroup than the latest's */
    VY_KEPT_COUNT
};
/* With acquires and releases, the last access of every invocation that may still be unordered with a later one. */
typedef struct vy_access_set vy_access_set; /* race.c */
typedef struct vy_access_history {
    vy_access latest;
    vy_access_set *others; /* NULL: none */
} vy_access_history;

/* Shadow of a memory. */
typedef struct vy_memory_shadow {
    union {
        vy_access *writes;
        vy_access (*three)[VY_KEPT_COUNT];
        vy_access_history *histories;
    } kept[VY_ACCESS_COUNT]; /* per element */
    unsigned kinds;          /* those that are kept: bits 1 << vy_access_kind */
    uint8_t *written;        /* workgroup arrays, for VYRE_CHECK_UNWRITTEN */
} vy_memory_shadow;

struct vy_group_shadow {
    vy_memory_shadow *shadows; /* by memory; of workgroup arrays only */
};

/* What was reported already: one finding for each code and pair of places. */
typedef struct vy_finding {
    uint32_t code, first, second;
} vy_finding;
enum { VY_MAX_FINDINGS = 64 };

struct vy_shadow_memory {
    unsigned enabled; /* VYRE_CHECK_* */
    uint32_t grid_epoch;
    vy_memory_shadow *shadows; /* by memory; of buffers only */
    vy_vector_clocks clocks;
    vy_finding findings[VY_MAX_FINDINGS];
    uint32_t finding_count;
    size_t group_bytes;   /* of a vy_group_shadow with its tables */
    size_t tables_offset; /* in that block: where the tables start, which every workgroup finds zeroed */
};

/* Bytes of the block that vy_shadow_place needs, for the options and sizes of the run, and of a group's. */
size_t vy_shadow_bytes(const vy_run *run);
size_t vy_shadow_group_bytes(const vy_run *run);
/* The blocks are zeroed. Clocks and access sets grow with what the program does: up to max_memory bytes beside the
 * block. */
vy_shadow_memory *vy_shadow_place(const vy_run *run, uint8_t *block, uint64_t max_memory);
vy_group_shadow *vy_shadow_group_place(const vy_run *run, uint8_t *block);
/* Frees what grew beside the blocks: of a workgroup, and of the run. */
void vy_shadow_group_free(const vy_run *run, vy_group_shadow *check);
void vy_shadow_free(const vy_run *run);

void vy_shadow_group_start(const vy_run *run, vy_group *group);
/* The active lanes access `memory` at `index` (as a mathematical integer). old: of an atomic, the values it found; else NULL. */
void vy_shadow_access(vy_worker *worker, vy_warp *warp, const vy_instruction *in, uint32_t memory,
                      const uint64_t *index, vy_access_kind kind, const uint64_t *old);
/* The workgroup has passed a barrier; the grid has. */
void vy_shadow_barrier(const vy_run *run, vy_group *group);
void vy_shadow_grid_barrier(vy_run *run);

/* ---- between the files of the checkers ---- */

/* Something was found at `element`. Returns 1 if it is the first of its pair of places and there is room for it. */
int vy_shadow_is_new(const vy_run *run, uint32_t code, uint32_t first, uint32_t second, uint32_t memory,
                     uint64_t element);
vy_position vy_site_position(const vyre_program *program, uint32_t site);
const char *vy_memory_name(const vyre_program *program, uint32_t memory); /* of the entry */
/* "invocation 5 (global_id 5, 0, 0)" */
const char *vy_invocation_text(const vy_run *run, uint64_t invocation, char *buffer, size_t size);
/* Of the kinds that a program uses on a memory (bits), those that can race with another of them. */
unsigned vy_race_kinds(unsigned accesses);
/* Bytes that a shadow keeps of the accesses of a kind, for each element. */
size_t vy_race_bytes(const vyre_oracle *oracle, vy_access_kind kind);
/* Frees the access sets of a shadow of `count` elements. */
void vy_race_free(const vy_run *run, vy_memory_shadow *shadow, uint64_t count);
void vy_race_access(vy_run *run, const vy_group *group, vy_memory_shadow *shadow, const vy_access *access,
                    uint32_t memory, uint64_t element, vy_access_kind kind);

#endif
