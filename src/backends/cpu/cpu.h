/* The `cpu` backend: programs compiled to machine code, vectorised, on all cores. Invariant: results have the bits
 * of the reference interpreter (docs/cpu.md, docs/internals/cpu.md).
 *
 *   device.c          constructor, identity, capabilities, properties of the machine; resident buffers
 *   compile.c         lowering; the client of the compile servers; the search for the compiler
 *   compile_server.c  the processes that run LLVM (messages: compile_protocol.h, interface: compiler.h)
 *   code_object.c     code objects: checked, loaded, registered with perf and GDB; executables, shared by pipelines
 *   execute.c         one dispatch on the thread pool: frames, traps, deadlines, privatised buffers
 *   cost_model.c      the estimated and measured time of a workgroup
 *   dispatch.c        binding of buffers, dispatches, batches, asynchronous dispatches; the function table of
 *                     pipelines
 *   pool.c            thread pool
 *   deadline_timer.c  deadlines
 *   frame_pool.c      frames and native stacks */
#ifndef VY_BACKENDS_CPU_H
#define VY_BACKENDS_CPU_H

#include "backends/cpu/code_object.h"
#include "backends/cpu/compiler.h"
#include "backends/cpu/deadline_timer.h"
#include "backends/cpu/frame_pool.h"
#include "backends/cpu/pool.h"
#include "compile/target/target.h"
#include "vyre/backend.h"

/* The most elements of a buffer. The margin below 2^32 keeps vectors of indices near the end from wrapping. */
#define VY_CPU_ELEMENTS_MAX (UINT32_MAX - 64u)

typedef struct vy_cpu {
    uint64_t features;
    vy_target_desc target; /* not cancellable */
    uint32_t width;        /* configured lanes; 0: chosen for each program */
    uint32_t lanes;        /* the configured lanes, or those of a register */
    unsigned threads;      /* number of threads, including the caller's */
    unsigned spin_us;      /* how long an idle thread spins */
    uint64_t stream_bytes; /* dispatches on more bytes use non-temporal stores */
    vy_cpu_pool *pool;
    vy_cpu_deadline_timer timer;
    vy_cpu_frame_pool frame_pool;
    _Atomic uint64_t pipelines, code_bytes;  /* number of pipelines, and bytes of their code */
    pthread_mutex_t trap_lock;               /* guards the trap results of running dispatches; traps are rare */
    pthread_mutex_t lock;                    /* guards all fields below */
    const vy_jit_plugin *compiler;           /* NULL: not opened yet */
    uint32_t compiler_mib, compiler_seconds; /* limits of a compile */
    int keeps_width;                         /* no retry with fewer lanes if LLVM fails */
    char device[128], driver[256];
    uint32_t l1_bytes, l2_bytes, l3_bytes;
} vy_cpu;

/* For builtin.c. */
vyre_status vy_cpu_create(const vyre_host *host, uint32_t ordinal, vyre_backend_instance *out, vyre_error *error);
void vy_cpu_probe(const vyre_host *host, vyre_probe *out);

/* ---- properties of the machine (device.c) ---- */

/* The model name in the text of /proc/cpuinfo, or "Arm, part 0xd0c" if that has numbers; "" if it has neither. */
void vy_cpu_model_name(const char *text, char *name, size_t room);
/* "32K", "1024K", "8M" as bytes; 0 for anything else. */
uint32_t vy_cpu_cache_size(const char *text);

/* Resident buffers: aligned memory of the process, which dispatches access directly. A native value is the address
 * of a block with its size. */
vyre_status vy_cpu_resident_allocate(void *self, uint64_t size, uint64_t *native, vyre_error *error);
vyre_status vy_cpu_resident_free(void *self, uint64_t native, vyre_error *error);
vyre_status vy_cpu_resident_upload(void *self, uint64_t native, uint64_t offset, const void *data, uint64_t size,
                                   vyre_error *error);
vyre_status vy_cpu_resident_download(void *self, uint64_t native, uint64_t offset, void *data, uint64_t size,
                                     vyre_error *error);
/* Memory of the process with another owner: used without a copy. */
vyre_status vy_cpu_resident_wrap(void *self, const vyre_memory_location *place, uint64_t size, uint64_t *native,
                                 vyre_error *error);
vyre_status vy_cpu_resident_location(void *self, uint64_t native, vyre_memory_location *place, vyre_error *error);
uint8_t *vy_cpu_resident_bytes(uint64_t native);

/* Requests large pages for memory that is large and not touched yet. */
void vy_cpu_memory_advise(void *memory, size_t size);

#endif
