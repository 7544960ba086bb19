/* What a device's driver costs by itself, and with ours around it. */
#ifndef BENCH_CUDA_EXTRAS_H
#define BENCH_CUDA_EXTRAS_H

#include "../suite/ours.h"
#include "driver.h"

/* The params of `tiny` in tiny.vyre, as our PTX lays them out. */
typedef struct tiny_params {
    cu_address memory;
    uint32_t count; /* of its elements */
    uint32_t unused;
    cu_address control; /* 0: it neither traps nor polls */
} tiny_params;

/* What the files of extras share. */
typedef struct device_bench {
    report *report;
    cu_driver *cu;         /* NULL: not there */
    void *hand;            /* hand.cubin, or NULL */
    void *tiny_module;     /* of the PTX that ours makes of `tiny`: both sides launch the same code */
    void *tiny;            /* one more in the first element */
    vyre_backend *backend; /* NULL: not there */
    vyre_module *module;   /* tiny.vyre */
    int quick;
} device_bench;

/* ---- contests ---- */

enum { TURNS = 301 }; /* samples at most */

/* One of several ways to do the same. */
typedef int bench_call(void *user);     /* 0: it failed */
typedef double bench_timer(void *user); /* seconds; < 0: it failed */
typedef struct bench_way {
    const char *name;
    bench_call *call;
    void *user;
    int count;          /* calls in a sample, after one that does not count; figures are of one */
    int units;          /* what a call does so many times over, 0: once; figures are of one */
    bench_timer *timer; /* or: a sample measures itself */
    int is_compared;    /* with ways[against] */
    int against;
} bench_way;

/* Ways take turns, sample by sample, forwards and backwards, so that what the machine does meanwhile meets all of them,
 * and none always follows the same one. A round that does not count comes first. One that fails ends the contest. */
void bench_contest(device_bench *b, const char *group, const bench_way *ways, int way_count, int samples);

/* ---- what the files need of each other ---- */

/* Compiled, or NULL with a line. */
vyre_pipeline *bench_compile(device_bench *b, const char *program);
/* 1 if it is VYRE_OK, else a line. */
int bench_said(vyre_status status, const vyre_error *error);
/* Loads what ours makes of `tiny`. */
void bench_load_tiny(device_bench *b);
/* Returns the driver's error. */
int bench_launch_tiny(const device_bench *b, const tiny_params *params);

void bench_launches(device_bench *b);  /* launches, waits, small transfers */
void bench_handover(device_bench *b);  /* what of a dispatch is not the driver's */
void bench_batches(device_bench *b);   /* many launches in one call */
void bench_compiles(device_bench *b);  /* from a program and from PTX, from the disk and from a cubin */
void bench_transfers(device_bench *b); /* dispatches on large host buffers */

#endif
