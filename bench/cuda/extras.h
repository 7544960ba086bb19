/* The cost of the device's driver alone, and with libvyre. */
#ifndef BENCH_CUDA_EXTRAS_H
#define BENCH_CUDA_EXTRAS_H

#include "../suite/ours.h"
#include "driver.h"

/* The params of `tiny` in tiny.vyre, in the layout of libvyre's PTX. */
typedef struct tiny_params {
    cu_address memory;
    uint32_t count; /* of its elements */
    uint32_t unused;
    cu_address control; /* 0: it neither traps nor polls */
} tiny_params;

/* State shared by the files of the extras. */
typedef struct device_bench {
    report *report;
    cu_driver *cu;         /* NULL: not there */
    void *hand;            /* hand.cubin, or NULL */
    void *tiny_module;     /* of the PTX of libvyre for `tiny`: both sides launch the same code */
    void *tiny;            /* increments the first element */
    vyre_backend *backend; /* NULL: not there */
    vyre_module *module;   /* tiny.vyre */
    int quick;
} device_bench;

/* ---- comparisons ---- */

enum { TURNS = 301 }; /* samples at most */

/* One of several variants of an operation. */
typedef int bench_call(void *user);     /* 0: it failed */
typedef double bench_timer(void *user); /* seconds; < 0: it failed */
typedef struct bench_way {
    const char *name;
    bench_call *call;
    void *user;
    int count;          /* calls in a sample, after one warm-up call; figures are per call */
    int units;          /* repetitions in a call, 0: one; figures are per repetition */
    bench_timer *timer; /* alternatively, a sample measures itself */
    int is_compared;    /* compared with ways[against] */
    int against;
} bench_way;

/* Variants alternate sample by sample, forwards and backwards, so that other load affects all of them, and none always
 * follows the same one. A warm-up round comes first. A variant that fails ends the comparison. */
void bench_contest(device_bench *b, const char *group, const bench_way *ways, int way_count, int samples);

/* ---- shared functions ---- */

/* Compiles; NULL with a printed line on failure. */
vyre_pipeline *bench_compile(device_bench *b, const char *program);
/* 1 if it is VYRE_OK, else 0 with a printed line. */
int bench_said(vyre_status status, const vyre_error *error);
/* Loads the PTX of libvyre for `tiny`. */
void bench_load_tiny(device_bench *b);
/* Returns the driver's error. */
int bench_launch_tiny(const device_bench *b, const tiny_params *params);

void bench_launches(device_bench *b);  /* launches, waits, small transfers */
void bench_handover(device_bench *b);  /* the part of a dispatch outside the driver */
void bench_batches(device_bench *b);   /* many launches in one call */
void bench_compiles(device_bench *b);  /* from a program and from PTX, from the disk and from a cubin */
void bench_transfers(device_bench *b); /* dispatches on large host buffers */

#endif
