/* From a program to an object: optimised, legalised for this processor, encoded, and handed to the compiler plug-in, which is opened now. */
#ifndef VY_BACKENDS_CPU_COMPILE_H
#define VY_BACKENDS_CPU_COMPILE_H

#include "backends/cpu/cpu.h"

/* The program as the compiler is given it, with these options of its wire form. Without the compiler. */
vyre_status vy_cpu_lower(const vy_cpu *cpu, vyre_program *program, int cancellable, unsigned options, vyre_bytes *wire,
                         vyre_error *error);
/* The code of a program. VYRE_UNSUPPORTED if there is no compiler; else as the steps fail. */
vyre_status vy_cpu_compile(vy_cpu *cpu, vyre_program *program, int cancellable, vy_cpu_code **out, vyre_error *error);

/* Opens the compiler, once. */
vyre_status vy_cpu_compiler(vy_cpu *cpu, const vy_compiler **out, vyre_error *error);
/* The same from a file, or from the first of the places where it is looked for that has one (path NULL). */
vyre_status vy_cpu_compiler_open(const char *path, const vy_compiler **out, vyre_error *error);
/* Whether there is a file that looks like a plug-in, where VYRE_COMPILER says or in one of those places; it is not loaded. The error may be NULL. */
vyre_status vy_cpu_compiler_check(vyre_error *error);

#endif
