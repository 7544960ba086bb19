/* Trial of a lowering: the code of an op for a target is compared with the op's body on many inputs, like a law.
 *
 * A trial has a program that calls the op once per row, rows of inputs (law_equation.h), and the results of the body,
 * which the oracle computes. The caller links the program for the target, runs it there, and passes the results to
 * vy_lowering_trial_judge. Code that was tried is remembered by a digest, so a change of the body, of anything that it
 * calls, of the code or of the device leads to another trial. */
#ifndef VY_DIALECT_LOWERING_TRIAL_H
#define VY_DIALECT_LOWERING_TRIAL_H

#include "dialect/lowering_code.h"

typedef struct vy_lowering_trial {
    const vyre_op_definition *op;
    const vyre_lowering *lowering;
    vyre_program *program; /* linked with bodies; its buffers are x0, x1, … (inputs) and r0, r1, … (outputs) */
    uint32_t rows;         /* 0 before vy_lowering_trial_fill */
    vyre_bytes inputs[VY_LOWERING_LIMIT_OPERANDS];   /* a bool is stored as u8 */
    vyre_bytes expected[VY_LOWERING_LIMIT_OPERANDS]; /* the results of the body */
    vyre_digest digest;
} vy_lowering_trial;

/* Makes the program. `where` names the tool or device that will run the code, for the digest.
 *
 * VYRE_INVALID_PROGRAM  code cannot replace the body: it traps, prints or synchronises, or reads ids of the invocation
 * VYRE_NO_MEMORY */
vyre_status vy_lowering_trial_open(vyre_dialects_guard guard, const vyre_op_definition *op,
                                   const vyre_lowering *lowering, const char *where, vy_lowering_trial *out,
                                   vyre_error *error);
void vy_lowering_trial_close(vy_lowering_trial *trial);
/* Whether equal code passed an equal trial in this process; and stores that it did. */
int vy_lowering_trial_is_known(const vy_lowering_trial *trial);
void vy_lowering_trial_remember(const vy_lowering_trial *trial);
/* The same for the op of one snapshot, without a trial. */
int vy_lowering_is_known(vyre_dialects_guard guard, const vyre_op_definition *op, const vyre_lowering *lowering,
                         const char *where);
void vy_lowering_remember(vyre_dialects_guard guard, const vyre_op_definition *op, const vyre_lowering *lowering,
                          const char *where);
/* A policy whose user is the trial: the code of its op is used, and no other. */
vyre_status vy_lowering_trial_use(void *trial, vyre_dialects_guard guard, const vyre_op_definition *op,
                                  const vyre_lowering *lowering, int *is_usable, vyre_error *error);
/* Chooses the inputs, and runs the body.
 *
 * VYRE_INVALID_PROGRAM  the body does not end, or traps in another op
 * VYRE_NO_MEMORY */
vyre_status vy_lowering_trial_fill(vy_lowering_trial *trial, vyre_error *error);
/* Compares the outputs of the target with those of the body: equal bits, or floats within the bound of the lowering.
 *
 * VYRE_INVALID_PROGRAM  they differ: the message has the inputs and both results */
vyre_status vy_lowering_trial_judge(const vy_lowering_trial *trial, const vyre_bytes *results, vyre_error *error);

/* Fails with the inputs of a row: "the code of `a.b` for `c` WHAT at x = 1u32". */
vyre_status vy_lowering_trial_fail(const vy_lowering_trial *trial, uint64_t row, const char *what, vyre_error *error);

#endif
