/* The two versions in CUDA C: how work is launched. */
#ifndef BENCH_CUDA_CUDA_H
#define BENCH_CUDA_CUDA_H

#include "../suite/suite.h"
#include "driver.h"

typedef struct cuda_job {
    const work *work;
    cu_driver *cu;
    cu_address arrays[ARRAYS];
    void *host[ARRAYS]; /* what was read back */
    void *functions[8]; /* as `prepare` found them */
    cu_address scratch; /* of the kernel's own */
    size_t scratch_size;
    unsigned variant;         /* of the launch */
    void *graph, *executable; /* of `line_repeats` runs one after the other */
    int line_repeats;
    uint32_t n, count; /* for params: addresses of these are given to launches */
} cuda_job;

/* A launch on the driver's stream; params end with NULL. Returns the driver's error. */
int cuda_launch(cu_driver *cu, void *function, unsigned gx, unsigned gy, unsigned bx, unsigned by, void **params);

/* How a kernel is done by hand. */
typedef struct hand_kernel {
    const char *name;         /* of the suite's */
    const char *functions[8]; /* in hand.cubin */
    size_t (*scratch)(const cuda_job *job);
    int (*launch)(cuda_job *job);
    unsigned variants; /* of which the fastest is taken */
} hand_kernel;
const hand_kernel *hand_find(const char *name);

#endif
