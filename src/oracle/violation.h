/* Breaches: what no run of a right program does, whatever its input. They are always looked for, on any number of threads: members of a workgroup that
 * miss each other, and, at level legal, an access or a lane that a false proof let through. The run goes on where that is safe, so
 * that the same violations are found on any number of threads. */
#ifndef VY_ORACLE_VIOLATION_H
#define VY_ORACLE_VIOLATION_H

#include "oracle/machine.h"

/* Keeps the violation of the lowest-numbered invocation for each code and place. Any thread. */
void vy_violation_keep(vy_run *run, const vy_violation *violation);

/* A workgroup, or the grid, whose members do not all arrive. Any thread. */
void vy_violation_divergence(vy_worker *worker, const vy_group *group);
void vy_violation_grid_divergence(vy_run *run, const vy_group *waiting, const vy_group *ended);

/* Adds what was kept to the diagnostics, in the order of the program. */
void vy_violation_deliver(vy_run *run);

#endif
