/* The oracle: the reference interpreter. It defines what a program computes; every backend must give the same bytes.
 *
 * Deterministic: the same program and arguments give the same bytes, whatever the number of threads. Workgroups run in parallel on all
 * cores unless the program is schedule-dependent, then in ascending order on one thread. On request it perturbs the schedule and checks for
 * program errors, each reported with source line, invocations and element.
 *
 * It also runs programs of level legal, which the library makes for a device. What a device does as it pleases is chosen by the seed: what arrays hold at
 * their start, where buffers start (on a 16-byte boundary for seed 0), and the error of approximate ops. Accesses without a guard, wide accesses and native
 * shuffles are checked whatever the options say; where such a check fails nothing is accessed, and the status is VYRE_CHECK_FAILED. After a `report` the
 * run goes on, and ends with VYRE_TRAPPED; `poll` is false. */
#ifndef VYRE_ORACLE_H
#define VYRE_ORACLE_H

#include "vyre/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Checkers, or-ed. */
enum {
    VYRE_CHECK_RACES = 1,      /* two invocations touch an element, one writes, nothing orders them */
    VYRE_CHECK_BOUNDS = 2,     /* an access is out of bounds (defined, but usually a mistake) */
    VYRE_CHECK_UNWRITTEN = 4,  /* workgroup memory is read before it was written (reads zero; garbage at level legal) */
    VYRE_CHECK_DIVERGENCE = 8, /* part of a workgroup reaches a barrier or collective; always on */
    VYRE_CHECK_ALL = 15
};

/* Receives the text of one executed `print`; called from any worker thread, one at a time, in ascending order of invocation within a
 * workgroup's statement. */
typedef void vyre_print_sink(void *user, uint64_t invocation, const char *text);

/* Zero-initialised means: all cores, no checks, no budget, natural schedule, prints dropped. */
typedef struct vyre_oracle_options {
    unsigned threads; /* 0 = all cores this process may use */
    unsigned checks;  /* VYRE_CHECK_* */
    /* Statements executed, summed over invocations, and workgroups, each at least one. 0 = unlimited; more is VYRE_BUDGET. */
    uint64_t budget;
    uint64_t seed;       /* not 0: perturb the schedule by this seed */
    uint64_t max_memory; /* bytes the run may allocate, 0 = 4 GiB; more is VYRE_LIMIT */
    vyre_print_sink *print;
    void *print_user;
} vyre_oracle_options;

typedef struct vyre_oracle_report {
    vyre_trap trap;       /* valid when the status is VYRE_TRAPPED */
    uint64_t steps;       /* statements executed, summed over invocations */
    uint64_t evaluations; /* expression nodes evaluated, summed over invocations */
    uint64_t invocations;
    uint32_t groups[3]; /* the grid that ran */
    uint64_t prints;    /* print statements executed */
} vyre_oracle_report;

/* Compiled form, reusable for many runs; immutable, any thread. The program is retained. Calls of local functions are inlined;
 * VYRE_NOT_FOUND if it calls ops that are not resolved (vyre_program_resolve). */
typedef struct vyre_oracle vyre_oracle;
VYRE_API vyre_status vyre_oracle_new(vyre_program *program, vyre_oracle **out, vyre_error *error);
VYRE_API void vyre_oracle_free(vyre_oracle *oracle);

/* Runs. Blocks until done. outputs has vyre_program_output_count entries, in declaration order, replaced on success
 * (capacity kept). options NULL means zeros; report is optional.
 *
 * VYRE_INVALID_ARGUMENT  params, inputs, counts or grid do not fit the program
 * VYRE_LIMIT             a size is over a limit of the language or of the options
 * VYRE_TRAPPED           report->trap says where; outputs are left as they were
 * VYRE_CHECK_FAILED      a checker found something: see diagnostics (optional); outputs ARE delivered, so both can be shown, unless a program of
 *                        level legal has also trapped
 * VYRE_BUDGET, VYRE_NO_MEMORY */
VYRE_API vyre_status vyre_oracle_run(const vyre_oracle *oracle, const vyre_arguments *arguments,
                                     const vyre_oracle_options *options, vyre_bytes *outputs,
                                     vyre_oracle_report *report, vyre_diagnostics *diagnostics, vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
