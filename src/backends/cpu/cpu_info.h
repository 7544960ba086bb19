/* What the machine is called and how large its caches are, for the device profile. */
#ifndef VY_BACKENDS_CPU_CPU_INFO_H
#define VY_BACKENDS_CPU_CPU_INFO_H

#include "backends/cpu/cpu.h"

/* Fills device, driver and the caches, as far as the system tells. */
void vy_cpu_info_query(vy_cpu *cpu);

/* The model's name in the text of /proc/cpuinfo, or "Arm, part 0xd0c" where that has numbers; "" if it has neither. */
void vy_cpu_model_name(const char *text, char *name, size_t room);
/* "32K", "1024K", "8M" as bytes; 0 for anything else. */
uint32_t vy_cpu_cache_size(const char *text);

#endif
