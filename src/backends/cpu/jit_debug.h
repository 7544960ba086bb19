/* What profilers and debuggers are told of loaded code, if the environment asks for it: VYRE_PERF_MAP, VYRE_GDB (docs/cpu.md). Best effort: whoever cannot be
 * told is not. Any thread. */
#ifndef VY_BACKENDS_CPU_JIT_DEBUG_H
#define VY_BACKENDS_CPU_JIT_DEBUG_H

#include "vyre/base.h"

/* A line in /tmp/perf-PID.map, which `perf` reads. */
void vy_jit_debug_write_perf_map(const void *code, size_t size, const char *name);

/* Whether GDB is to be told: code is compiled with lines then. */
int vy_jit_debug_is_enabled(void);
/* Tells GDB of code at an address, by the file for debuggers that its object carries (kernel_abi.h); the bytes are borrowed for the call. NULL if nobody asks, the file is
 * none, or memory is out; else vy_jit_debug_unregister follows before the code goes. */
typedef struct vy_jit_registration vy_jit_registration;
vy_jit_registration *vy_jit_debug_register(const void *code, vyre_span file);
/* NULL is ignored. */
void vy_jit_debug_unregister(vy_jit_registration *told);

#endif
