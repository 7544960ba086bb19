/* Programs of level legal: the conditions they are run under, and what their own constructs do.
 *
 * A legal program must give its result under all conditions that a device may have; the oracle has them chosen by whoever judges a phase of
 * legalisation (vy_lowered_env in machine.h). Nothing here concerns programs of level source. */
#ifndef VY_ORACLE_LOWERED_ENV_H
#define VY_ORACLE_LOWERED_ENV_H

#include "oracle/machine.h"

/* As vyre_oracle_run, under other conditions than those of vyre_oracle_run, which takes both seeds from options->seed and never ends a dispatch early.
 * VYRE_TIMEOUT  a poll was true, every invocation has come to its end, and nothing was delivered */
vyre_status vy_oracle_run_under(const vyre_oracle *oracle, const vyre_arguments *arguments,
                                const vyre_oracle_options *options, const vy_lowered_env *conditions,
                                vyre_bytes *outputs, vyre_oracle_report *report, vyre_diagnostics *diagnostics,
                                vyre_error *error);

/* ---- for the rest of the oracle ---- */

/* Elements between the last 16-byte boundary and the start of a memory. */
uint32_t vy_misalignment(const vy_run *run, uint32_t memory);
/* Fills an array of level legal at its start, for `owner`: a workgroup or an invocation. size is a multiple of 8. */
void vy_garbage_fill(const vy_run *run, uint8_t *memory, size_t size, uint64_t owner);

/* The instructions of the same names (bytecode.h). */
void vy_inside_run(vy_worker *worker, vy_warp *warp, const vy_instruction *in);
void vy_load_wide_run(vy_worker *worker, vy_warp *warp, const vy_instruction *in);
void vy_store_wide_run(vy_worker *worker, vy_warp *warp, const vy_instruction *in);
void vy_poll_run(vy_worker *worker, vy_warp *warp, const vy_instruction *in);

#endif
