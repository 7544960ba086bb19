/* The compiler as a client of compile servers: what vy_cpu_compiler_open() gives unless LLVM is built into a plug-in. */
#ifndef VY_BACKENDS_CPU_COMPILE_CLIENT_H
#define VY_BACKENDS_CPU_COMPILE_CLIENT_H

#include "backends/cpu/compiler.h"

/* A compiler whose servers run the executable at `path`, which was checked. Starts nothing. Close it with the next.
 *
 * VYRE_NO_MEMORY */
vyre_status vy_compile_client_open(const char *path, const vy_jit_plugin **out, vyre_error *error);
/* No call may be in progress. The last client of an executable ends its servers. */
void vy_compile_client_close(const vy_jit_plugin *compiler);

#endif
