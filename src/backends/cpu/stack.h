/* Native stacks for kernels with large frames.
 *
 * A kernel's frame may take megabytes, and the stack of the thread that dispatches may have only some kilobytes left. Code that
 * needs more than VY_CPU_STACK_SMALL (kernel_abi.h) therefore runs on a stack that the backend maps. Such a stack has a guard region
 * at its low end, and room for the host's signal handlers beside what the code needs. Generated code calls nothing outside of
 * itself, so that no code of the library and none of a sanitizer runs on it. */
#ifndef VY_BACKENDS_CPU_STACK_H
#define VY_BACKENDS_CPU_STACK_H

#include "emit/llvm/kernel_abi.h"

/* Starts zeroed. One thread at a time. */
typedef struct vy_cpu_stack {
    void *map; /* the guard region first; NULL: none */
    size_t size;
} vy_cpu_stack;

/* Whether code that needs so many bytes of stack does not run on its caller's. */
static inline int vy_cpu_stack_is_needed(uint64_t bytes) {
    return bytes > VY_CPU_STACK_SMALL;
}
/* Sees to it that the stack has so many bytes, at most VY_CPU_STACK_LIMIT. Returns 0 when memory is out; there is none then. */
int vy_cpu_stack_reserve(vy_cpu_stack *stack, uint64_t bytes);
void vy_cpu_stack_free(vy_cpu_stack *stack);

/* Calls the entry on the stack, which has the bytes it needs. */
void vy_cpu_stack_call(const vy_cpu_stack *stack, vy_cpu_entry *entry, vy_cpu_frame *frame, uint64_t first,
                       uint64_t end);

#endif
