/* What a device's driver costs by itself, and with ours around it. */
#ifndef BENCH_CUDA_EXTRAS_H
#define BENCH_CUDA_EXTRAS_H

#include "../suite/ours.h"
#include "driver.h"

/* What the files of extras share. */
typedef struct device_bench {
    report *report;
    cu_driver *cu;         /* NULL: not there */
    void *hand;            /* hand.cubin */
    void *tiny;            /* its smallest kernel: one more in the first element */
    vyre_backend *backend; /* NULL: not there */
    vyre_module *module;   /* tiny.vyre */
    int quick;
} device_bench;

/* Compiled, or NULL with a line. */
vyre_pipeline *bench_compile(device_bench *b, const char *program);

/* The mean seconds of one of `count` calls, `samples` times over after one that does not count; 0 as the result of a call ends it. */
typedef int bench_call(void *user);
void bench_sample(device_bench *b, const char *group, const char *name, int samples, int count, bench_call *call,
                  void *user);

void bench_launches(device_bench *b);  /* launches, waits, batches, small transfers */
void bench_compiles(device_bench *b);  /* from a program and from PTX, from the disk and from a cubin */
void bench_transfers(device_bench *b); /* dispatches on large host buffers */

#endif
