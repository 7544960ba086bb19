/* Memory of frames: arrays of a workgroup and what lives across its barriers. One block for every thread that runs, kept for the next one. */
#ifndef VY_BACKENDS_CPU_SCRATCH_H
#define VY_BACKENDS_CPU_SCRATCH_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vy_cpu_block vy_cpu_block;
typedef struct vy_cpu_scratch {
    pthread_mutex_t lock;
    vy_cpu_block *kept; /* as many as ran at once; the last one used first */
} vy_cpu_scratch;

void vy_cpu_scratch_start(vy_cpu_scratch *scratch);
/* All blocks were given back. */
void vy_cpu_scratch_end(vy_cpu_scratch *scratch);
/* Gives back the memory of all blocks that are not in use. */
void vy_cpu_scratch_trim(vy_cpu_scratch *scratch);

/* A block of at least so many bytes, not cleared; NULL when memory is out. */
vy_cpu_block *vy_cpu_scratch_take(vy_cpu_scratch *scratch, uint64_t size);
void vy_cpu_scratch_give(vy_cpu_scratch *scratch, vy_cpu_block *block);
/* Its bytes, aligned to VY_CPU_ALIGNMENT. */
uint8_t *vy_cpu_block_bytes(vy_cpu_block *block);

#endif
