/* The PTX of backend cuda for a program, to be loaded by the bare driver. */
#ifndef BENCH_CUDA_PTX_H
#define BENCH_CUDA_PTX_H

#include "emit/ptx/ptx.h"
#include "extras.h"

/* Times of the two halves. */
typedef struct ptx_times {
    double prepare; /* passes: optimising, widening, legalising */
    double emit;    /* emitter */
} ptx_times;

/* Returns 0 with a printed line on failure, else vy_ptx_free follows. times may be NULL. */
int bench_ptx(const device_bench *b, vyre_program *program, vy_ptx_code *code, ptx_times *times);

#endif
