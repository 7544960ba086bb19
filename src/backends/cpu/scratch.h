/* Memory of frames: arrays of a workgroup, what lives across its barriers, and the native stack of code that needs much of it.
 * One block for every thread that runs, kept for the next time at the thread's own place: no thread waits for another there, and
 * caches have what it holds. */
#ifndef VY_BACKENDS_CPU_SCRATCH_H
#define VY_BACKENDS_CPU_SCRATCH_H

#include "backends/cpu/stack.h"

#include <stdatomic.h>

typedef struct vy_cpu_block vy_cpu_block;
enum { VY_CPU_PLACES = 64 };
typedef struct vy_cpu_place {
    _Atomic(vy_cpu_block *) kept; /* NULL: none, or in use */
    char apart[120];              /* no two in one line, nor in two that processors fetch together */
} vy_cpu_place;
/* Starts zeroed. */
typedef struct vy_cpu_scratch {
    vy_cpu_place places[VY_CPU_PLACES];
} vy_cpu_scratch;

/* Gives back the memory of all blocks that are not in use. */
void vy_cpu_scratch_trim(vy_cpu_scratch *scratch);

/* A block of at least so many bytes, not cleared, with a stack for code that needs stack_bytes, if such code does not run on its
 * caller's; NULL when memory is out. `place`: a number of the thread, any; threads that share one do without keeping. */
vy_cpu_block *vy_cpu_scratch_take(vy_cpu_scratch *scratch, unsigned place, uint64_t size, uint64_t stack_bytes);
void vy_cpu_scratch_give(vy_cpu_scratch *scratch, unsigned place, vy_cpu_block *block);
/* Its bytes, aligned to VY_CPU_ALIGNMENT. */
uint8_t *vy_cpu_block_bytes(vy_cpu_block *block);
const vy_cpu_stack *vy_cpu_block_stack(const vy_cpu_block *block);

#endif
