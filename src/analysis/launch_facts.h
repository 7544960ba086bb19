/* Launch facts: the properties of a program that a dispatch needs besides its code. They are computed once, when the
 * program is compiled, and stored in the code object. So a dispatch and a load from the disk cache analyse nothing.
 *
 * The struct is its own encoding: without pointers and without padding, in the byte order of the machine, `bytes`
 * long. A backend copies it into its object unmodified. vy_launch_facts_load checks bytes from outside against the
 * program. A change of the struct, or of a struct in it, changes VY_LAUNCH_FACTS_FORMAT.
 *
 * Changes of the params, the buffers or the workgroup size of the program, or of what it reads and writes,
 * invalidate the facts; passes of the optimiser change none of these. */
#ifndef VY_ANALYSIS_LAUNCH_FACTS_H
#define VY_ANALYSIS_LAUNCH_FACTS_H

#include "analysis/full_write.h"
#include "ir/model.h"
#include "vyre/base.h"

enum { VY_LAUNCH_FACTS_FORMAT = 1 };

typedef struct vy_launch_facts_buffer {
    uint8_t element_bytes;
    uint8_t access;         /* vyre_access */
    uint8_t is_elementwise; /* accessed at global_id.x only (elementwise.h); 0 if that was not analysed */
    uint8_t host_requests;  /* host_access.h; 0: it must be copied to the device, or that was not analysed */
    uint8_t unused[4];
} vy_launch_facts_buffer;

typedef struct vy_launch_facts {
    uint32_t format;
    uint32_t bytes; /* of the struct with its buffers */
    uint32_t buffer_count, output_count;
    uint32_t workgroup[3];
    /* A grid with one workgroup in y and z can be divided in x: each launch needs only its part of the elementwise
     * buffers. Never set if the workgroup has more than one dimension. */
    uint8_t is_divisible;
    uint8_t varies; /* vy_work_estimate */
    uint8_t unused[2];
    uint64_t nodes;                   /* of a workgroup: vy_work_estimate */
    vy_launch_facts_buffer buffers[]; /* by buffer; a vy_full_write for each buffer follows */
} vy_launch_facts;

/* By buffer: when it need not be cleared before a dispatch. */
static inline vy_full_write *vy_launch_full_writes(const vy_launch_facts *facts) {
    return (vy_full_write *)(uintptr_t)(facts->buffers + facts->buffer_count);
}

/* The facts of a program with an entry. plain: the same program without calls, simplified (level 1 of the optimiser),
 * for the elementwise and the host access analysis; NULL: the backend needs neither. vy_launch_facts_free must follow.
 *
 * VYRE_NO_MEMORY */
vyre_status vy_launch_facts_make(const vyre_program *program, const vyre_program *plain, vy_launch_facts **out,
                                 vyre_error *error);

/* A checked copy of the facts at the start of `bytes`, which may be longer. vy_launch_facts_free must follow.
 *
 * VYRE_CORRUPT      they are damaged, or those of another program
 * VYRE_UNSUPPORTED  they have another format
 * VYRE_NO_MEMORY */
vyre_status vy_launch_facts_load(vyre_span bytes, const vyre_program *program, vy_launch_facts **out,
                                 vyre_error *error);
void vy_launch_facts_free(vy_launch_facts *facts); /* NULL is ignored */

/* Whether a dispatch reads, and whether it returns, the bytes of a buffer. */
static inline int vy_launch_is_input(const vy_launch_facts *facts, uint32_t buffer) {
    return vy_access_is_input(facts->buffers[buffer].access);
}
static inline int vy_launch_is_output(const vy_launch_facts *facts, uint32_t buffer) {
    return vy_access_is_output(facts->buffers[buffer].access);
}

/* ---- work estimate ----
 *
 * Roughly how many nodes of a program a workgroup evaluates, for backends that decide from it how many threads a
 * dispatch uses. Every change of the program's statements or of the workgroup size invalidates it. It affects no
 * result. */

typedef struct vy_work_estimate {
    uint64_t nodes; /* of a workgroup, at least 1 */
    /* 1: the iterations of some loop depend on data or arguments, so the nodes are a guess */
    uint8_t varies;
} vy_work_estimate;

vy_work_estimate vy_work_estimate_of(const vyre_program *program);

#endif
