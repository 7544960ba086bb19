/* Frame pool: the memory of a kernel's frames, and native stacks for kernels with large frames.
 *
 * A frame holds the workgroup arrays and the values that are live across barriers. Every thread that runs a kernel
 * has one block, which is cached in the thread's slot for the next dispatch. Invariant: no thread waits for another.
 * The block also stays in the thread's CPU caches. */
#ifndef VY_BACKENDS_CPU_FRAME_POOL_H
#define VY_BACKENDS_CPU_FRAME_POOL_H

#include "emit/llvm/kernel_abi.h"

#include <stdatomic.h>

/* ---- native stacks ---- A kernel's frame may need megabytes, and the stack of the dispatching thread may have only
 * some kilobytes left. Code that needs more than VY_CPU_STACK_SMALL (kernel_abi.h) therefore runs on a stack that
 * the backend maps. Such a stack has a guard region at its low end, and room for the host's signal handlers in
 * addition to what the code needs. Generated code calls no external functions, so no code of the library or a
 * sanitizer runs on it. */

/* Starts zeroed. Used by one thread at a time. */
typedef struct vy_cpu_stack {
    void *map; /* the guard region first; NULL: none */
    size_t size;
} vy_cpu_stack;

/* Whether code that needs this many bytes of stack needs a separate stack. */
static inline int vy_cpu_stack_is_needed(uint64_t bytes) {
    return bytes > VY_CPU_STACK_SMALL;
}

/* Ensures that the stack has this many bytes, at most VY_CPU_STACK_LIMIT. Returns 0 if memory runs out; the stack is
 * then empty. */
int vy_cpu_stack_reserve(vy_cpu_stack *stack, uint64_t bytes);
void vy_cpu_stack_free(vy_cpu_stack *stack);

/* Calls the entry on the stack, which must be large enough. */
void vy_cpu_stack_call(const vy_cpu_stack *stack, vy_cpu_entry *entry, vy_cpu_frame *frame, uint64_t first,
                       uint64_t end);

/* ---- frames ---- */

typedef struct vy_cpu_frame_block vy_cpu_frame_block;
enum { VY_CPU_FRAME_SLOTS = 64 };
typedef struct vy_cpu_frame_slot {
    _Atomic(vy_cpu_frame_block *) kept; /* NULL: none, or in use */
    char apart[120];                    /* one slot per pair of cache lines, which processors prefetch together */
} vy_cpu_frame_slot;
/* Starts zeroed. */
typedef struct vy_cpu_frame_pool {
    vy_cpu_frame_slot slots[VY_CPU_FRAME_SLOTS];
} vy_cpu_frame_pool;

/* Releases all blocks that are not in use. */
void vy_cpu_frame_pool_trim(vy_cpu_frame_pool *frame_pool);

/* A block of at least `size` bytes, not cleared, with a native stack if code that needs stack_bytes requires one;
 * NULL if memory runs out. `slot`: any number of the thread; threads with the same slot contend for its cached
 * block. */
vy_cpu_frame_block *vy_cpu_frame_pool_acquire(vy_cpu_frame_pool *frame_pool, unsigned slot, uint64_t size,
                                              uint64_t stack_bytes);
void vy_cpu_frame_pool_release(vy_cpu_frame_pool *frame_pool, unsigned slot, vy_cpu_frame_block *block);
/* The bytes of a block, aligned to VY_CPU_ALIGNMENT. */
uint8_t *vy_cpu_frame_block_bytes(vy_cpu_frame_block *block);
const vy_cpu_stack *vy_cpu_frame_block_stack(const vy_cpu_frame_block *block);

#endif
