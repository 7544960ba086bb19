/* Compile pipeline: from a program of level source to the legal program that an emitter reads, for every target.
 *
 * pipeline.c has one table of passes. Each row has a condition on the target description (compile/target/target.h), so
 * a target is a row of data there and has no code here (docs/internals/compile.md). */
#ifndef VY_COMPILE_PIPELINE_H
#define VY_COMPILE_PIPELINE_H

#include "compile/target/target.h"
#include "vyre/program.h"

/* One run of a pass: of a row of the table, or of a pass of the optimiser within its rows. */
typedef struct vy_compile_step {
    const char *pass;
    uint64_t nanoseconds;
    uint32_t statements_before, statements_after, expressions_before, expressions_after;
    uint8_t is_changed; /* the result is another program */
    uint8_t is_dropped; /* the result exceeded a limit of the language; the program is unchanged */
} vy_compile_step;

/* What a run of the pipeline did. Zero it before; the caller may set `observe`, which is called after every step with
 * the program after it (borrowed, valid but for the limits of the language). */
typedef struct vy_compile_report {
    void (*observe)(void *user, const vy_compile_step *step, const vyre_program *after);
    void *user;
    uint32_t steps;
    uint32_t resumed;   /* how often it continued from an earlier program, with a pass switched off */
    const char *off[8]; /* the passes switched off because of a limit; NULL after the last */
} vy_compile_report;

typedef struct vy_compiled {
    vyre_program *program; /* level legal, without a fingerprint; one reference */
    /* Thread coarsening (opt/coarsen.h): the invocations of the original that one executes. If it is more than 1, the
     * program has one more param, a u32 after the others: the groups in x of the dispatch as it was requested. It is
     * launched over vy_coarsened_groups in x. */
    uint32_t factor;
    const char *reason; /* why the factor is 1, a static sentence; NULL if it is more */
} vy_compiled;

/* Runs the passes. A program of level legal is returned unchanged. Prints are dropped, calls are inlined. A pass whose
 * result exceeds a limit of the language is switched off, and the pipeline continues with the program before it.
 * The result is validated. Any thread.
 *
 * report  optional
 *
 * VYRE_UNSUPPORTED       the program needs something of the target that it does not have and that is not rewritten; the
 *                        error names it
 * VYRE_INVALID_ARGUMENT  a library, or ops are not resolved
 * VYRE_LIMIT             the program exceeds a limit of the language, also without the optional passes
 * VYRE_TIMEOUT           the deadline of the thread has passed (base/thread.h)
 * VYRE_NO_MEMORY         after every failure out->program is NULL */
vyre_status vy_compile_pipeline(vyre_program *program, const vy_target_desc *target, vy_compile_report *report,
                                vy_compiled *out, vyre_error *error);

/* The part of it that legalises, without optimisation and coarsening; the result has a fingerprint. */
vyre_status vy_legalize(vyre_program *program, const vy_target_desc *target, vyre_program **out, vyre_error *error);

/* The passes of the table in their order: names and descriptions, NULL after the last; whether one runs for a
 * target. */
const char *vy_compile_pass_name(unsigned index);
const char *vy_compile_pass_doc(unsigned index);
int vy_compile_pass_applies(unsigned index, const vy_target_desc *target);

#endif
