/* The `cpu` backend: programs compiled to machine code, vectorised, on all cores, with the oracle's bits (docs/cpu.md).
 *
 *   device.c    constructor, identity, capabilities, what the machine is
 *   cpu_features.c  what the processor can do, and what follows from it
 *   compile.c   from a program to an object; compiler.c finds the compiler, compile_client.c asks it, compile_server.c runs its processes
 *   code_object.c    objects: checked, loaded; jit_debug.c: what profilers and debuggers hear of them
 *   executable.c      loaded objects, shared by the pipelines that run them
 *   execute.c       one dispatch over the threads: frames, traps, deadlines; cost_model.c: what it will take
 *   binding.c      where the bytes of buffers are: in place wherever they can be
 *   dispatch.c  binding and running put together; pipeline.c the entries of a pipeline's table, pending.c dispatches in flight
 *   memory.c    resident buffers: plain memory
 *   pool*.c, deadline_timer.c, frame_pool.c, stack.c   threads, deadlines, memory of frames, native stacks */
#ifndef VY_BACKENDS_CPU_H
#define VY_BACKENDS_CPU_H

#include "backends/cpu/code_object.h"
#include "backends/cpu/compiler.h"
#include "backends/cpu/deadline_timer.h"
#include "backends/cpu/frame_pool.h"
#include "backends/cpu/pool.h"
#include "vyre/backend.h"

/* A buffer's elements are fewer than 2^32 by so many: vectors of indices look a little beyond the end. */
#define VY_CPU_ELEMENTS_MAX (UINT32_MAX - 64u)

typedef struct vy_cpu {
    uint64_t features, exact;
    uint32_t width;        /* lanes that were asked for; 0: what fits each program */
    uint32_t lanes;        /* those, or what fits a register */
    unsigned threads;      /* that run at once, with the caller's */
    unsigned spin_us;      /* how long those without work look for some */
    uint64_t stream_bytes; /* dispatches on more do not leave what they write in the caches */
    vy_cpu_pool *pool;
    vy_cpu_deadline_timer timer;
    vy_cpu_frame_pool frame_pool;
    _Atomic uint64_t pipelines, code_bytes;  /* that there are, and what their code takes */
    pthread_mutex_t trap_lock;               /* guards the traps of dispatches that run: few do */
    pthread_mutex_t lock;                    /* guards all that follows */
    const vy_jit_plugin *compiler;           /* NULL: not opened yet */
    uint32_t compiler_mib, compiler_seconds; /* limits of a compile */
    int keeps_width;                         /* no fewer lanes where LLVM fails */
    char device[128], driver[256];
    uint32_t l1_bytes, l2_bytes, l3_bytes;
} vy_cpu;

/* For builtin.c. */
vyre_status vy_cpu_create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error);
void vy_cpu_probe(const vyre_host *host, vyre_probe *out);

/* ---- properties of the machine (device.c) ---- */

/* The model's name in the text of /proc/cpuinfo, or "Arm, part 0xd0c" where that has numbers; "" if it has neither. */
void vy_cpu_model_name(const char *text, char *name, size_t room);
/* "32K", "1024K", "8M" as bytes; 0 for anything else. */
uint32_t vy_cpu_cache_size(const char *text);

#endif
