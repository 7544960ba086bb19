/* The interface between the `cpu` backend and the compiler: bytes in, bytes out.
 *
 * The compiler is LLVM. It runs in a compile server, an executable (compile.c has its client), or, in a build with
 * VYRE_COMPILER_IN_PROCESS, in a plug-in: a shared object that exports VY_JIT_PLUGIN_SYMBOL, is opened when a program
 * has to be compiled, and is never closed. The plug-in links against nothing of the library: it is given the host,
 * from which all memory that crosses the border comes (host->bytes_resize), and fills errors through host->fail. */
#ifndef VY_BACKENDS_CPU_COMPILER_H
#define VY_BACKENDS_CPU_COMPILER_H

#include "base/cpu_features.h"
#include "emit/llvm/kernel_abi.h"
#include "vyre/backend.h"

/* Largest program that the compiler accepts, and the most LLVM instructions that it may emit for one. LLVM ends the
 * process when memory is exhausted, so the compiler checks these limits first. */
enum { VY_LLVM_STATEMENT_LIMIT = 1 << 16, VY_LLVM_EXPRESSION_LIMIT = 1 << 18, VY_LLVM_INSTRUCTION_LIMIT = 1 << 19 };

#define VY_JIT_PLUGIN_ABI 4u
#define VY_JIT_PLUGIN_SYMBOL "vyre_compiler_get"

/* X(ID, name): what a compiler does, one after the other: decodes and looks at the program, writes LLVM's code of it,
 * runs LLVM's passes and its code generator, and makes the object. */
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

/* Limits of a compile if the request leaves them 0: address space of a compile server, processor time of one
 * attempt. */
enum { VY_JIT_MEMORY_MIB = 2048, VY_JIT_SECONDS = 20 };

typedef struct vy_jit_request {
    uint32_t struct_size;
    uint32_t width;    /* lanes: 1 … VY_CPU_WIDTH_MAX, a power of two; 0: what fits the program */
    uint64_t features; /* what the code may use of the processor: VY_CPU_FEATURE_… */
    vyre_span wire;    /* a program of level legal, as vyre_wire_encode gives it; borrowed for the call */
    const char *name;  /* for symbols, listings and debuggers; never NULL */
    /* 1: texts show the lines of the source that the wire form has, and an object carries a file for debuggers. The
     * code is the same. */
    uint32_t lines;
    uint32_t keeps_width; /* 1: where LLVM fails, the compile fails. 0: it is tried again with fewer lanes */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none. LLVM in this process cannot be stopped and does not look at it */
    uint32_t memory_mib, seconds; /* limits of a compile server; 0: as above */
    uint64_t *times; /* by step: nanoseconds of processor time, of a program that was compiled; may be NULL */
    void (*begin)(void *user, vy_jit_step step,
                  uint32_t width); /* a step begins; width 0: not chosen yet. May be NULL */
    void *begin_user;
} vy_jit_request;

/* X(ID, name): the texts a compiler shows. */
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

/* Entries may be called from any thread, several at once. Those that fail fill error, which is never NULL, with a
 * fix. */
struct vy_jit_plugin {
    uint32_t struct_size;
    uint32_t abi;        /* VY_JIT_PLUGIN_ABI of the build */
    const char *version; /* "LLVM 14.0.6"; "" if it is not known in this process */
    /* Replaces the contents of out by an object: a vy_cpu_header and its code (kernel_abi.h).
     *
     * VYRE_UNSUPPORTED  this compiler does not do the width, a feature or something in the program, or LLVM failed
     * VYRE_LIMIT        the program is too large, or needs more memory or time than the limits allow, or more stack
     *                   than VY_CPU_STACK_LIMIT; with fewer lanes it may need less
     * VYRE_TIMEOUT      the deadline passed */
    vyre_status (*compile)(const vy_jit_plugin *self, const vy_jit_request *request, vyre_bytes *out,
                           vyre_error *error);
    /* The same as text, without a NUL at the end. */
    vyre_status (*emit_text)(const vy_jit_plugin *self, const vy_jit_request *request, vy_jit_text text,
                             vyre_bytes *out, vyre_error *error);
};

/* The function that a plug-in exports. `host` is constant and valid for ever; the plug-in keeps it, and what it
 * returns is too. NULL: it cannot work in this process (host->abi, memory). May be called several times, also at
 * once. */
typedef const vy_jit_plugin *vy_jit_plugin_get(const vyre_host *host);

#endif
