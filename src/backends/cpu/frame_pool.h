/* Memory of frames: arrays of a workgroup, what lives across its barriers, and the native stack of code that needs much of it.
 * One block for every thread that runs, kept for the next time at the thread's own slot: no thread waits for another there, and
 * caches have what it holds. */
#ifndef VY_BACKENDS_CPU_FRAME_POOL_H
#define VY_BACKENDS_CPU_FRAME_POOL_H

#include "backends/cpu/stack.h"

#include <stdatomic.h>

typedef struct vy_cpu_frame_block vy_cpu_frame_block;
enum { VY_CPU_FRAME_SLOTS = 64 };
typedef struct vy_cpu_frame_slot {
    _Atomic(vy_cpu_frame_block *) kept; /* NULL: none, or in use */
    char apart[120];                    /* no two in one line, nor in two that processors fetch together */
} vy_cpu_frame_slot;
/* Starts zeroed. */
typedef struct vy_cpu_frame_pool {
    vy_cpu_frame_slot slots[VY_CPU_FRAME_SLOTS];
} vy_cpu_frame_pool;

/* Gives back the memory of all blocks that are not in use. */
void vy_cpu_frame_pool_trim(vy_cpu_frame_pool *frame_pool);

/* A block of at least so many bytes, not cleared, with a stack for code that needs stack_bytes, if such code does not run on its
 * caller's; NULL when memory is out. `slot`: a number of the thread, any; threads that share one do without keeping. */
vy_cpu_frame_block *vy_cpu_frame_pool_acquire(vy_cpu_frame_pool *frame_pool, unsigned slot, uint64_t size,
                                              uint64_t stack_bytes);
void vy_cpu_frame_pool_release(vy_cpu_frame_pool *frame_pool, unsigned slot, vy_cpu_frame_block *block);
/* Its bytes, aligned to VY_CPU_ALIGNMENT. */
uint8_t *vy_cpu_frame_block_bytes(vy_cpu_frame_block *block);
const vy_cpu_stack *vy_cpu_frame_block_stack(const vy_cpu_frame_block *block);

#endif
