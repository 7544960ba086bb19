/* Run-time checkers: shadow memory for races, bounds and unwritten memory; and contract violations.
 *
 * Contract violations are impossible in a correct program, for every input: divergence at a barrier and, at level
 * legal, an access or lane that a wrong proof allowed. They are always checked. The run continues where that is safe,
 * so the same violations are found with any number of threads. */
#ifndef VY_ORACLE_SHADOW_MEMORY_H
#define VY_ORACLE_SHADOW_MEMORY_H

#include "base/diagnostics.h"
#include "oracle/machine.h"
#include "oracle/vector_clock.h"

/* Keeps the violation of the lowest invocation for each code and site. Any thread. */
void vy_violation_keep(vy_run *run, const vy_violation *violation);

/* Reports that not all members of a workgroup, or of the grid, arrive. Any thread. */
void vy_violation_divergence(vy_worker *worker, const vy_group *group);
void vy_violation_grid_divergence(vy_run *run, const vy_group *waiting, const vy_group *ended);

/* Adds the violations to the diagnostics, in program order. */
void vy_violation_deliver(vy_run *run);

/* Shadow memory holds, for each element that the program may write, its last accesses; a new access is compared with
 * them. Two accesses by different invocations are ordered by a grid barrier between them or, within a workgroup, a
 * barrier; or by a chain of releases and acquires (vector_clock.h). Runs with checks use one thread. */

/* A site of the program: a statement, or an expression with this bit set. */
#define VY_SITE_EXPRESSION 0x80000000u

/* One access of an element. */
typedef struct vy_access {
    uint64_t invocation; /* linear id + 1; 0 = none */
    uint32_t epoch;      /* barriers its workgroup had passed */
    uint32_t grid_epoch; /* grid barriers passed */
    uint32_t site;
    uint32_t time; /* of the invocation's clock */
} vy_access;

/* Stored accesses of one kind to one element (race.c proves that they suffice). For writes, the latest. For other
 * kinds, without acquires and releases, three: */
enum {
    VY_KEPT_LATEST,    /* the last one */
    VY_KEPT_BESIDE,    /* the last one by another invocation, if one workgroup made all since the last grid barrier */
    VY_KEPT_ELSEWHERE, /* the last one by another workgroup than the latest */
    VY_KEPT_COUNT
};
/* With acquires and releases: the last access of every invocation that may still be unordered with a later one. */
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
    unsigned kinds;          /* kinds with a shadow: bits 1 << vy_access_kind */
    uint8_t *written;        /* workgroup arrays, for VYRE_CHECK_UNWRITTEN */
} vy_memory_shadow;

struct vy_group_shadow {
    vy_memory_shadow *shadows; /* by memory; of workgroup arrays only */
};

/* A finding that was reported: one for each code and pair of sites. */
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
    size_t tables_offset; /* in that block: start of the tables, which are zeroed for every workgroup */
};

/* Bytes of the block for vy_shadow_place, for the options and sizes of the run, and of that for a group. */
size_t vy_shadow_bytes(const vy_run *run);
size_t vy_shadow_group_bytes(const vy_run *run);
/* The blocks must be zeroed. Clocks and access sets grow with the run: up to max_memory bytes in addition to the
 * block. */
vy_shadow_memory *vy_shadow_place(const vy_run *run, uint8_t *block, uint64_t max_memory);
vy_group_shadow *vy_shadow_group_place(const vy_run *run, uint8_t *block);
/* Frees the memory outside the blocks: of a workgroup, and of the run. */
void vy_shadow_group_free(const vy_run *run, vy_group_shadow *check);
void vy_shadow_free(const vy_run *run);

void vy_shadow_group_start(const vy_run *run, vy_group *group);
/* Checks an access of the active lanes to `memory` at `index` (a mathematical integer). old: for an atomic, the
 * previous values; else NULL. */
void vy_shadow_access(vy_worker *worker, vy_warp *warp, const vy_instruction *in, uint32_t memory,
                      const uint64_t *index, vy_access_kind kind, const uint64_t *old);
/* The workgroup, or the grid, has passed a barrier. */
void vy_shadow_barrier(const vy_run *run, vy_group *group);
void vy_shadow_grid_barrier(vy_run *run);

/* ---- shared by shadow_memory.c and race.c ---- */

/* Records a finding at `element`. Returns 1 if it is the first for its pair of sites and there is room for it. */
int vy_shadow_is_new(const vy_run *run, uint32_t code, uint32_t first, uint32_t second, uint32_t memory,
                     uint64_t element);
vy_position vy_site_position(const vyre_program *program, uint32_t site);
const char *vy_memory_name(const vyre_program *program, uint32_t memory); /* of the entry */
/* "invocation 5 (global_id 5, 0, 0)" */
const char *vy_invocation_text(const vy_run *run, uint64_t invocation, char *buffer, size_t size);
/* The kinds that can race with another one, among the kinds that a program uses on a memory (bits). */
unsigned vy_race_kinds(unsigned accesses);
/* Bytes per element of the shadow for accesses of a kind. */
size_t vy_race_bytes(const vyre_oracle *oracle, vy_access_kind kind);
/* Frees the access sets of a shadow of `count` elements. */
void vy_race_free(const vy_run *run, vy_memory_shadow *shadow, uint64_t count);
void vy_race_access(vy_run *run, const vy_group *group, vy_memory_shadow *shadow, const vy_access *access,
                    uint32_t memory, uint64_t element, vy_access_kind kind);

#endif
