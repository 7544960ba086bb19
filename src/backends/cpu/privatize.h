/* Buffers of a thread's own: where a program does nothing but combine into a buffer (kernel_abi.h), every thread that takes part may do that in memory of its own and add it to the
 * buffer when it leaves, by real atomics: other dispatches may be at the same buffer. Until then nobody sees what it did, which nobody may ask for. */
#ifndef VY_BACKENDS_CPU_PRIVATIZE_H
#define VY_BACKENDS_CPU_PRIVATIZE_H

#include "backends/cpu/execute.h"

/* Bytes that a thread of the dispatch needs for it, 0 if it is not worth it: large buffers, or few invocations. */
uint64_t vy_cpu_privatize_bytes(const vy_cpu_execution *run);
/* Puts them into a frame: `memory` has so many bytes, at VY_CPU_ALIGNMENT. */
void vy_cpu_privatize_start(const vy_cpu_execution *run, uint8_t *memory, vy_cpu_frame *frame);
/* Adds what is in them to the buffers of the dispatch; nothing if the frame has none. */
void vy_cpu_privatize_merge(const vy_cpu_execution *run, const vy_cpu_frame *frame);

#endif
