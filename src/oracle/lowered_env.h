/* Execution environment of lowered programs (level legal): the conditions of a run, and the constructs that exist only
 * at this level.
 *
 * A legal program must yield its result under all conditions that a device may have. The tests of a legalisation phase
 * choose the conditions (vy_lowered_env in machine.h). Programs of level source are not affected. */
#ifndef VY_ORACLE_LOWERED_ENV_H
#define VY_ORACLE_LOWERED_ENV_H

#include "oracle/machine.h"

/* Like vyre_oracle_run, under the given conditions. (vyre_oracle_run derives both seeds from options->seed and never
 * ends a dispatch early.)
 * VYRE_TIMEOUT  a poll was true and every invocation ended; nothing was delivered */
vyre_status vy_oracle_run_under(const vyre_oracle *oracle, const vyre_arguments *arguments,
                                const vyre_oracle_options *options, const vy_lowered_env *conditions,
                                vyre_bytes *outputs, vyre_oracle_report *report, vyre_diagnostics *diagnostics,
                                vyre_error *error);

/* ---- for the rest of the oracle ---- */

/* Elements between the last 16-byte boundary and the start of a memory. */
uint32_t vy_misalignment(const vy_run *run, uint32_t memory);
/* Initialises an array at level legal, for `owner`: a workgroup or an invocation. size is a multiple of 8. */
void vy_garbage_fill(const vy_run *run, uint8_t *memory, size_t size, uint64_t owner);

/* The instructions of the same names (compile.h). */
void vy_inside_run(vy_worker *worker, vy_warp *warp, const vy_instruction *in);
void vy_load_wide_run(vy_worker *worker, vy_warp *warp, const vy_instruction *in);
void vy_store_wide_run(vy_worker *worker, vy_warp *warp, const vy_instruction *in);
void vy_poll_run(vy_worker *worker, vy_warp *warp, const vy_instruction *in);

#endif
