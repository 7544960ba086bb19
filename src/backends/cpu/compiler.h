/* The interface between the `cpu` backend and the compiler: bytes in, bytes out.
 *
 * The compiler is LLVM. It runs in a compile server, an executable (compile.c has its client), or, in a build with
 * VYRE_COMPILER_IN_PROCESS, in a plug-in: a shared object that exports VY_JIT_PLUGIN_SYMBOL, is opened when a
 * program has to be compiled, and is never closed.
 *
 * Invariant: the plug-in does not link against the library. It receives the host, which allocates all memory that
 * crosses the interface (host->bytes_resize) and fills errors (host->fail). */
#ifndef VY_BACKENDS_CPU_COMPILER_H
#define VY_BACKENDS_CPU_COMPILER_H

#include "base/cpu_features.h"
#include "emit/llvm/kernel_abi.h"
#include "vyre/backend.h"

/* The largest program that the compiler accepts, and the most LLVM instructions that it may emit for one. LLVM ends
 * the process when memory is exhausted, so the compiler checks these limits first. */
enum { VY_LLVM_STATEMENT_LIMIT = 1 << 16, VY_LLVM_EXPRESSION_LIMIT = 1 << 18, VY_LLVM_INSTRUCTION_LIMIT = 1 << 19 };

#define VY_JIT_PLUGIN_ABI 4u
#define VY_JIT_PLUGIN_SYMBOL "vyre_compiler_get"

/* X(ID, name): the steps of a compile, in order: decode and check the program, emit LLVM IR, run LLVM's passes,
 * generate code, link the object. */
#define VY_JIT_STEP_LIST(X)                                                                                            \
    X(DECODE, "decode")                                                                                                \
    X(EMIT, "emit")                                                                                                    \
    X(OPTIMISE, "optimise")                                                                                            \
    X(GENERATE, "generate")                                                                                            \
    X(FLATTEN, "flatten")
typedef enum vy_jit_step {
#define X(ID, name) VY_JIT_STEP_##ID,
    VY_JIT_STEP_LIST(X)
#undef X
        VY_JIT_STEP_COUNT
} vy_jit_step;

/* Limits of a compile if the request leaves them 0: address space of a compile server, CPU time of one attempt. */
enum { VY_JIT_MEMORY_MIB = 2048, VY_JIT_SECONDS = 20 };

typedef struct vy_jit_request {
    uint32_t struct_size;
    uint32_t width;    /* lanes: 1 … VY_CPU_WIDTH_MAX, a power of two; 0: chosen for the program */
    uint64_t features; /* features of the processor that the code may use: VY_CPU_FEATURE_… */
    vyre_span wire;    /* a program of level legal, encoded by vyre_wire_encode; borrowed for the call */
    const char *name;  /* for symbols, listings and debuggers; never NULL */
    /* 1: texts show the source lines in the wire form, and an object carries a file for debuggers. The code is the
     * same. */
    uint32_t lines;
    uint32_t keeps_width;         /* 1: if LLVM fails, the compile fails. 0: it is retried with fewer lanes */
    uint64_t deadline_ns;         /* CLOCK_MONOTONIC; 0: none. In-process LLVM cannot be interrupted and ignores it */
    uint32_t memory_mib, seconds; /* limits of a compile server; 0: as above */
    uint64_t *times;              /* by step: CPU time in nanoseconds, for a successful compile; may be NULL */
    void (*begin)(void *user, vy_jit_step step,
                  uint32_t width); /* called when a step begins; width 0: not chosen yet. May be NULL */
    void *begin_user;
} vy_jit_request;

/* X(ID, name): the text forms that a compiler can emit. */
#define VY_JIT_TEXT_LIST(X)                                                                                            \
    X(LLVM_IR, "llvm-ir")                                                                                              \
    X(ASM, "asm")
typedef enum vy_jit_text {
#define X(ID, name) VY_JIT_TEXT_##ID,
    VY_JIT_TEXT_LIST(X)
#undef X
        VY_JIT_TEXT_COUNT
} vy_jit_text;

typedef struct vy_jit_plugin vy_jit_plugin;

/* The functions may be called from any thread, concurrently. On failure they fill error, which is never NULL, with a
 * fix. */
struct vy_jit_plugin {
    uint32_t struct_size;
    uint32_t abi;        /* VY_JIT_PLUGIN_ABI of the build */
    const char *version; /* "LLVM 14.0.6"; "" if unknown in this process */
    /* Replaces the contents of out by an object: a vy_cpu_header and its code (kernel_abi.h).
     *
     * VYRE_UNSUPPORTED  the compiler does not support the width, a feature or a construct, or LLVM failed
     * VYRE_LIMIT        the program is too large, or exceeds the limits of memory or time, or needs more stack than
     *                   VY_CPU_STACK_LIMIT; fewer lanes may help
     * VYRE_TIMEOUT      the deadline passed */
    vyre_status (*compile)(const vy_jit_plugin *self, const vy_jit_request *request, vyre_bytes *out,
                           vyre_error *error);
    /* The same as text, without a terminating NUL. */
    vyre_status (*emit_text)(const vy_jit_plugin *self, const vy_jit_request *request, vy_jit_text text,
                             vyre_bytes *out, vyre_error *error);
};

/* The function that a plug-in exports. `host` is constant and valid forever, and the plug-in retains it; so is the
 * result. NULL: it cannot work in this process (host->abi, memory). May be called several times, also concurrently. */
typedef const vy_jit_plugin *vy_jit_plugin_get(const vyre_host *host);

#endif
