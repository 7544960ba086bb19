/* The two versions in CUDA C: launches. */
#ifndef BENCH_CUDA_CUDA_H
#define BENCH_CUDA_CUDA_H

#include "../suite/suite.h"
#include "driver.h"

typedef struct cuda_job {
    const work *work;
    cu_driver *cu;
    cu_address arrays[ARRAYS];
    void *host[ARRAYS]; /* results that were read back */
    void *functions[8]; /* kernels, found by `prepare` */
    cu_address scratch; /* the kernel's scratch memory */
    size_t scratch_size;
    unsigned variant;         /* of the launch */
    void *graph, *executable; /* of `line_repeats` consecutive runs */
    int line_repeats;
    uint32_t n, count; /* for params: launches receive the addresses of these */
} cuda_job;

/* A launch on the driver's stream; params end with NULL. Returns the driver's error. */
int cuda_launch(cu_driver *cu, void *function, unsigned gx, unsigned gy, unsigned bx, unsigned by, void **params);

/* A hand-tuned kernel. */
typedef struct hand_kernel {
    const char *name;         /* name in the suite */
    const char *functions[8]; /* in hand.cubin */
    size_t (*scratch)(const cuda_job *job);
    int (*launch)(cuda_job *job);
    unsigned variants; /* the fastest of these is used */
} hand_kernel;
const hand_kernel *hand_find(const char *name);

#endif
