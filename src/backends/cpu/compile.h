/* Compiling a program to a code object: optimised, legalised for this processor, encoded, and sent to the compiler.
 *
 * The compiler is opened on first use. Invariant: the code depends on the program and the options only, so caches
 * may store it. */
#ifndef VY_BACKENDS_CPU_COMPILE_H
#define VY_BACKENDS_CPU_COMPILE_H

#include "backends/cpu/compiler.h"
#include "backends/cpu/cpu.h"

/* The program in the form that the compiler receives, with these options of its wire form. Does not need the
 * compiler. */
vyre_status vy_cpu_lower(const vy_cpu *cpu, vyre_program *program, int cancellable, unsigned options, vyre_bytes *wire,
                         vyre_error *error);
/* The code of a program. deadline_ns: CLOCK_MONOTONIC, 0 = none.
 *
 * VYRE_UNSUPPORTED  no compiler was found
 * VYRE_TIMEOUT      the deadline passed
 * Otherwise fails like its steps. */
vyre_status vy_cpu_compile(vy_cpu *cpu, vyre_program *program, int cancellable, uint64_t deadline_ns,
                           vy_cpu_executable **out, vyre_error *error);
/* The text of the code of a program, with source lines; a program of level legal is not lowered. Fails like its
 * steps. */
vyre_status vy_cpu_emit_text(const vy_cpu *cpu, const vy_jit_plugin *compiler, vyre_program *program, int cancellable,
                             vy_jit_text text, vyre_bytes *out, vyre_error *error);
/* Entry of the backend's table: assembly. */
vyre_status vy_cpu_emit(void *self, vyre_program *program, const vyre_compile_options *options, vyre_bytes *out,
                        vyre_error *error);
/* Opens a compiler from a file, or with path NULL from the first location of the search that has one. Starts no
 * process. */
vyre_status vy_cpu_compiler_open(const char *path, const vy_jit_plugin **out, vyre_error *error);
/* NULL is ignored. Requires that no call is in progress. */
void vy_cpu_compiler_close(const vy_jit_plugin *compiler);
/* Whether the search finds a file that may be the compiler; it is not run. The error may be NULL. */
vyre_status vy_cpu_compiler_check(vyre_error *error);
/* Reads VYRE_COMPILER_MEMORY, VYRE_COMPILER_SECONDS and VYRE_COMPILER_FALLBACK into the corresponding fields.
 * VYRE_INVALID_ARGUMENT  one is not a number, or out of its range */
vyre_status vy_cpu_compiler_limits(vy_cpu *cpu, vyre_error *error);

#endif
