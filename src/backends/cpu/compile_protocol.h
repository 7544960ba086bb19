/* The protocol between the `cpu` backend and a compile server (docs/internals/cpu.md): one request, progress messages,
 * one reply.
 *
 * Client and server are built from the same sources, which each message proves with a checksum of the build's identity
 * (driver/cache_entry.h): so structs travel as they are in memory, and objects of an old compiler do not reach the
 * cache of a new library. Neither side trusts the other: a program can make LLVM write anything into the server's
 * memory. Each side checks the magic number, the build and every size before it uses a message, and treats a wrong one
 * as the end of the connection.
 *
 * The server reads requests from and writes replies to one end of a socket pair, which is its descriptor
 * VY_COMPILE_SOCKET. It answers one request at a time, in order. It ends when the other end of the socket is closed,
 * also during a compile. */
#ifndef VY_BACKENDS_CPU_COMPILE_PROTOCOL_H
#define VY_BACKENDS_CPU_COMPILE_PROTOCOL_H

#include "backends/cpu/code_object.h"
#include "backends/cpu/compiler.h"

#define VY_COMPILE_MAGIC UINT64_C(0x6c69706d6f435956) /* "VYCompil" */
enum {
    VY_COMPILE_BUILD = 16, /* bytes */
    VY_COMPILE_SOCKET = 3,
    VY_COMPILE_NAME_LIMIT = 1 << 16,
    VY_COMPILE_WIRE_LIMIT = 1 << 28, /* of the wire form (vyre/wire.h) */
};
#define VY_COMPILE_RESULT_LIMIT                                                                                        \
    ((uint64_t)VY_CPU_CODE_LIMIT + (1u << 28)) /* code, header and a file for debuggers; or text */

/* A sanitizer reserves terabytes of address space and reports crashes itself, on the standard error stream: in such
 * a build the server has no limit on memory, and keeps that stream. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VY_COMPILE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define VY_COMPILE_SANITIZED 1
#endif
#endif
#ifndef VY_COMPILE_SANITIZED
#define VY_COMPILE_SANITIZED 0
#endif

/* A request: this struct, then the name without a NUL, then the wire form. */
typedef struct vy_compile_request {
    uint64_t magic;
    uint8_t build[VY_COMPILE_BUILD];
    uint32_t product; /* 0: an object; else 1 + a vy_jit_text */
    uint32_t name_size;
    uint64_t features;
    uint64_t wire_size;
    uint32_t width, lines; /* as in vy_jit_request */
    uint32_t memory_mib;   /* RLIMIT_AS during this request */
    uint32_t cpu_ms;       /* processor time for this request, in milliseconds; 0: no limit */
    uint32_t idle_ms;      /* the server ends if no request follows for this long */
} vy_compile_request;

/* X(ID): what a message of the server says.
 *   STEP     a step begins; the first message about every request
 *   RESULT   `size` bytes follow: the object or the text. Ends the request, as do all that follow
 *   ERROR    a vyre_error follows: the program was refused, or memory of ours ran out
 *   WIDTH    likewise, and fewer lanes may help: LLVM failed, or its code needs too much stack
 *   MEMORY   an allocation of LLVM failed under a limit of `detail` MiB. The server ends after it
 *   TIME     the processor time ran out. The server ends after it
 *   SIGNAL   the compiler crashed with signal `detail`. The server ends after it */
#define VY_COMPILE_MESSAGE_LIST(X) X(STEP) X(RESULT) X(ERROR) X(WIDTH) X(MEMORY) X(TIME) X(SIGNAL)
typedef enum vy_compile_message {
#define X(ID) VY_COMPILE_##ID,
    VY_COMPILE_MESSAGE_LIST(X)
#undef X
        VY_COMPILE_MESSAGE_COUNT
} vy_compile_message;

typedef struct vy_compile_reply {
    uint64_t magic;
    uint8_t build[VY_COMPILE_BUILD];
    uint32_t message; /* vy_compile_message */
    uint32_t step;    /* the latest that has begun */
    uint32_t width;   /* lanes; 0: not chosen yet */
    uint32_t detail;
    uint32_t is_last; /* 1: the server ends after this message */
    uint64_t size;    /* of what follows: RESULT, ERROR, WIDTH */
    uint64_t times[VY_JIT_STEP_COUNT];
} vy_compile_reply;

#endif
