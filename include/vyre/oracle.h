/* The reference interpreter ("oracle"). It defines the result of every program: every backend must produce the same
 * bytes. On request it perturbs the schedule and checks for program errors, each reported with source line, invocations
 * and element.
 *
 *     status = vyre_oracle_new(program, &oracle, &error);
 *     if (status == VYRE_OK)
 *         status = vyre_oracle_run(oracle, &arguments, NULL, outputs, NULL, diagnostics, &error);
 *     vyre_oracle_free(oracle);
 *
 * Determinism:  the same program and arguments yield the same bytes for any number of threads. Workgroups run in
 *               parallel on all cores; those of a schedule-dependent program run in ascending order on one thread.
 * Level legal:  the interpreter also runs programs that the library generates for a device. The seed selects the
 *               behaviour that a device may choose: initial contents of arrays, alignment of buffers (16 bytes for seed
 *               0), and the error of approximate ops. Unguarded accesses, wide accesses and native shuffles are always
 *               checked; a failed check prevents the access and yields VYRE_CHECK_FAILED. After a `report` the run
 *               continues and ends with VYRE_TRAPPED; `poll` is false.
 * Threads:      any thread, concurrently. */
#ifndef VYRE_ORACLE_H
#define VYRE_ORACLE_H

#include "vyre/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Checkers, or-ed. */
enum {
    VYRE_CHECK_RACES = 1,      /* two invocations access an element, one writes, and the accesses are unordered */
    VYRE_CHECK_BOUNDS = 2,     /* an access is out of bounds: defined, but usually a mistake */
    VYRE_CHECK_UNWRITTEN = 4,  /* workgroup memory is read before it was written (reads zero; garbage at level legal) */
    VYRE_CHECK_DIVERGENCE = 8, /* part of a workgroup reaches a barrier or collective; always on */
    VYRE_CHECK_ALL = 15
};

/* Receives the text of one executed `print`. Called from any worker thread, one call at a time, in ascending order of
 * invocation within a workgroup's statement. */
typedef void vyre_print_sink(void *user, uint64_t invocation, const char *text);

/* Options of a run. Zero-initialised: all cores, no checks, no budget, natural schedule, prints dropped. */
typedef struct vyre_oracle_options {
    unsigned threads; /* 0 = all cores this process may use */
    unsigned checks;  /* VYRE_CHECK_* */
    /* Maximum number of statements executed, summed over invocations, plus workgroups; each counts at least one. 0 =
     * unlimited; more is VYRE_BUDGET. */
    uint64_t budget;
    uint64_t seed;       /* not 0: perturb the schedule with this seed */
    uint64_t max_memory; /* bytes the run may allocate, 0 = 4 GiB; more is VYRE_LIMIT */
    vyre_print_sink *print;
    void *print_user;
} vyre_oracle_options;

/* Statistics of a run. */
typedef struct vyre_oracle_report {
    vyre_trap trap;       /* valid when the status is VYRE_TRAPPED */
    uint64_t steps;       /* statements executed, summed over invocations */
    uint64_t evaluations; /* expression nodes evaluated, summed over invocations */
    uint64_t invocations;
    uint32_t groups[3]; /* the grid that ran */
    uint64_t prints;    /* print statements executed */
} vyre_oracle_report;

/* A program translated for the interpreter. Reusable for many runs; immutable; any thread.
 *
 * Constructor:  vyre_oracle_new
 * Destructor:   vyre_oracle_free
 * Methods:      vyre_oracle_run */
typedef struct vyre_oracle vyre_oracle;

/* Translates a program, which is retained. Calls of local functions are inlined.
 *
 * VYRE_NOT_FOUND         the program calls ops that are not resolved (vyre_program_resolve)
 * VYRE_INVALID_ARGUMENT  the program is a library
 * VYRE_LIMIT             the inlined program exceeds a limit of the language
 * VYRE_NO_MEMORY         out of host memory */
VYRE_API vyre_status vyre_oracle_new(vyre_program *program, vyre_oracle **out, vyre_error *error);
/* Frees a translated program. NULL is ignored. */
VYRE_API void vyre_oracle_free(vyre_oracle *oracle);

/* Runs a program.
 *
 * options      NULL: zero-initialised.
 * outputs      vyre_program_output_count entries, in declaration order. Replaced on success; their memory is kept if it
 *              suffices.
 * report       Optional.
 * diagnostics  Optional; receives the findings of the checkers.
 *
 * Blocking:  blocks until the run ends.
 *
 * VYRE_INVALID_ARGUMENT  params, inputs, counts or grid do not match the program
 * VYRE_LIMIT             a size exceeds a limit of the language or of the options
 * VYRE_TRAPPED           report->trap has the invocation and code; outputs are unchanged
 * VYRE_CHECK_FAILED      a checker reported an error. The outputs are delivered, unless a program of level legal also
 *                        trapped
 * VYRE_BUDGET            the budget is exhausted
 * VYRE_NO_MEMORY         out of host memory */
VYRE_API vyre_status vyre_oracle_run(const vyre_oracle *oracle, const vyre_arguments *arguments,
                                     const vyre_oracle_options *options, vyre_bytes *outputs,
                                     vyre_oracle_report *report, vyre_diagnostics *diagnostics, vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
