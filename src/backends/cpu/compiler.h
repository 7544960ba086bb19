/* The interface between the `cpu` backend and a compiler plug-in: bytes in, bytes out.
 *
 * A compiler is a shared object that exports one function, VY_COMPILER_SYMBOL. The backend opens it when a program has to be compiled, which is when no
 * cache has it, and never closes it. The plug-in links against nothing of the library: it is given the host, from which all memory that crosses the
 * border comes (host->bytes_resize), and fills errors through host->fail. */
#ifndef VY_BACKENDS_CPU_COMPILER_H
#define VY_BACKENDS_CPU_COMPILER_H

#include "backends/cpu/features.h"
#include "backends/cpu/kernel.h"
#include "vyre/backend.h"

#define VY_COMPILER_ABI 3u
#define VY_COMPILER_FILE "vyre-compiler-llvm.so"
#define VY_COMPILER_SYMBOL "vyre_compiler_get"

/* X(ID, name): what a compiler does, one after the other: decodes and looks at the program, writes LLVM's code of it, runs LLVM's passes and its code
 * generator, and makes the object. */
#define VY_COMPILER_STEP_LIST(X)                                                                                       \
    X(DECODE, "decode")                                                                                                \
    X(EMIT, "emit")                                                                                                    \
    X(OPTIMISE, "optimise")                                                                                            \
    X(GENERATE, "generate")                                                                                            \
    X(FLATTEN, "flatten")
typedef enum vy_compiler_step {
#define X(ID, name) VY_COMPILER_STEP_##ID,
    VY_COMPILER_STEP_LIST(X)
#undef X
        VY_COMPILER_STEP_COUNT
} vy_compiler_step;

typedef struct vy_compiler_request {
    uint32_t struct_size;
    uint32_t width;    /* lanes: 1 … VY_CPU_WIDTH_MAX, a power of two; 0: what fits the program */
    uint64_t features; /* what the code may use of the processor: VY_CPU_FEATURE_… */
    vyre_span wire;    /* a program of level legal, as vyre_wire_encode gives it; borrowed for the call */
    const char *name;  /* for symbols, listings and debuggers; never NULL */
    uint32_t
        lines; /* 1: texts show the lines of the source that the wire form brings, and an object carries a file for debuggers; the code is the
                          same */
    uint64_t *times; /* by step: nanoseconds that it took, of a program that was compiled; NULL: nobody asks */
} vy_compiler_request;

/* X(ID, name): the texts a compiler shows. */
#define VY_COMPILER_TEXT_LIST(X)                                                                                       \
    X(LLVM_IR, "llvm-ir")                                                                                              \
    X(ASM, "asm")
typedef enum vy_compiler_text {
#define X(ID, name) VY_COMPILER_TEXT_##ID,
    VY_COMPILER_TEXT_LIST(X)
#undef X
        VY_COMPILER_TEXT_COUNT
} vy_compiler_text;

/* Constant, valid for ever. Entries may be called from any thread, several at once. Failing ones fill error, which is never NULL, with a fix. */
typedef struct vy_compiler {
    uint32_t struct_size;
    uint32_t abi;        /* VY_COMPILER_ABI of the build */
    const char *version; /* "LLVM 14.0.6" */
    /* Replaces the contents of out by an object: a vy_cpu_header and its code (kernel.h). VYRE_UNSUPPORTED: this compiler does not do the width, a feature or something
     * in the program. VYRE_LIMIT: the program is too large, or its code needs more stack than VY_CPU_STACK_LIMIT; with
     * fewer lanes it may need less. */
    vyre_status (*compile)(const vy_compiler_request *request, vyre_bytes *out, vyre_error *error);
    /* The same as text, without a NUL at the end. */
    vyre_status (*emit_text)(const vy_compiler_request *request, vy_compiler_text text, vyre_bytes *out,
                             vyre_error *error);
} vy_compiler;

/* The exported function. `host` is constant and valid for ever; the plug-in keeps it. Gives NULL if it cannot work in this process (host->abi, memory). May be called
 * several times, also at once. */
typedef const vy_compiler *vy_compiler_get(const vyre_host *host);

#endif
