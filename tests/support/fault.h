/* Faults: an allocator that accounts for every block and fails the k-th allocation on demand. Thread-safe.
 *
 * Install with vy_fault_install (before any object of the library is alive), remove with vy_fault_remove. Every block
 * carries its size, and a release or resize that names another one is counted as `mismatches`. */
#ifndef VY_SUPPORT_FAULT_H
#define VY_SUPPORT_FAULT_H

#include "vyre/base.h"

void vy_fault_install(void);
void vy_fault_remove(void);

/* From now on the k-th allocation or growth fails, counted from 1, and only that one; 0 fails none but counts. */
void vy_fault_start(size_t k);
/* From now on the k-th and every later one fails. */
void vy_fault_start_all(size_t k);
/* Stops failing. Returns whether a fault was delivered since start. */
int vy_fault_stop(void);

/* What is alive now, and what happened since vy_fault_install. */
size_t vy_fault_live_blocks(void);
size_t vy_fault_live_bytes(void);
size_t vy_fault_peak_bytes(void);
size_t vy_fault_allocations(void);
size_t vy_fault_mismatches(void);

/* Runs body(user) with the k-th allocation failing, k = 1, 2, … until a run meets no fault, and then the same with
 * every allocation from the k-th on failing. body makes, uses and frees its objects and returns the status it saw.
 * Fails the running cmocka test unless
 *  - the run without a fault returns VYRE_OK,
 *  - each run with a fault returns VYRE_NO_MEMORY, or VYRE_OK if the body can do without what failed (`may_survive`),
 *  - each run leaves the number of live blocks as it was, and no size mismatch.
 * Returns the number of allocations of a clean run. */
size_t vy_fault_loop(vyre_status (*body)(void *user), void *user, int may_survive);
#define VY_FAULT_LOOP(body, user) vy_fault_loop((body), (user), 0)
#define VY_FAULT_LOOP_LENIENT(body, user) vy_fault_loop((body), (user), 1)

#endif
