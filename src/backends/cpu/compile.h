/* Compiling a program to a code object: optimised, legalised for this processor, encoded, and sent to the compiler.
 *
 * The compiler is opened when it is first needed. */
#ifndef VY_BACKENDS_CPU_COMPILE_H
#define VY_BACKENDS_CPU_COMPILE_H

#include "backends/cpu/compiler.h"
#include "backends/cpu/cpu.h"

/* The program as the compiler is given it, with these options of its wire form. Without the compiler. */
vyre_status vy_cpu_lower(const vy_cpu *cpu, vyre_program *program, int cancellable, unsigned options, vyre_bytes *wire,
                         vyre_error *error);
/* The code of a program. deadline_ns: CLOCK_MONOTONIC, 0 = none.
 *
 * VYRE_UNSUPPORTED  there is no compiler
 * VYRE_TIMEOUT      the deadline passed
 * and as the steps fail */
vyre_status vy_cpu_compile(vy_cpu *cpu, vyre_program *program, int cancellable, uint64_t deadline_ns,
                           vy_cpu_executable **out, vyre_error *error);
/* A compiler from a file, or from the first of the places where it is looked for that has one (path NULL). Starts no
 * process. */
vyre_status vy_cpu_compiler_open(const char *path, const vy_jit_plugin **out, vyre_error *error);
/* NULL is ignored. No call may be in progress. */
void vy_cpu_compiler_close(const vy_jit_plugin *compiler);
/* Whether there is a file that may be the compiler, where VYRE_COMPILER says or in one of those places; it is not run.
 * The error may be NULL. */
vyre_status vy_cpu_compiler_check(vyre_error *error);
/* VYRE_COMPILER_MEMORY, VYRE_COMPILER_SECONDS and VYRE_COMPILER_FALLBACK, into the fields of the same meaning.
 *
 * VYRE_INVALID_ARGUMENT  one is not a number, or out of its range */
vyre_status vy_cpu_compiler_limits(vy_cpu *cpu, vyre_error *error);

#endif
