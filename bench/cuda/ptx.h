/* The text that backend cuda makes of programs, for the driver alone. */
#ifndef BENCH_CUDA_PTX_H
#define BENCH_CUDA_PTX_H

#include "emit/ptx/ptx.h"
#include "extras.h"

/* How long the two halves took. */
typedef struct ptx_times {
    double prepare; /* optimised, widened, legalised */
    double emit;    /* written */
} ptx_times;

/* Of a program; 0 with a line on failure, else vy_ptx_free follows. times may be NULL. */
int bench_ptx(const device_bench *b, vyre_program *program, vy_ptx_code *code, ptx_times *times);

#endif
