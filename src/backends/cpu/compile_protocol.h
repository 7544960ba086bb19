/* The protocol between the `cpu` backend and a compile server (docs/internals/cpu.md): one request, progress
 * messages, one reply.
 *
 * Client and server are built from the same sources, which each message proves with a checksum of the build's
 * identity (driver/cache_entry.h): so structs are sent in their memory layout, and objects of an old compiler do not
 * reach the cache of a new library.
 *
 * Invariant: neither side trusts the other, because a program can make LLVM write anything into the server's memory.
 * Each side checks the magic number, the build and every size before it uses a message, and closes the connection
 * after an invalid one.
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

/* A sanitizer reserves terabytes of address space and reports crashes itself, on stderr: in such a build the server
 * has no memory limit, and keeps that stream. */
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
    uint32_t cpu_ms;       /* CPU time for this request, in milliseconds; 0: no limit */
    uint32_t idle_ms;      /* the server ends if no request follows for this long */
} vy_compile_request;

/* X(ID): the messages of the server.
 *
 *   STEP     a step begins; the first message of every request
 *   RESULT   `size` bytes follow: the object or the text. Ends the request, as do all messages below
 *   ERROR    a vyre_error follows: the program was rejected, or the compiler's memory ran out
 *   WIDTH    the same, and fewer lanes may help: LLVM failed, or its code needs too much stack
 *   MEMORY   an allocation of LLVM failed under a limit of `detail` MiB. The server then ends
 *   TIME     the CPU time limit was reached. The server then ends
 *   SIGNAL   the compiler crashed with signal `detail`. The server then ends */
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
    uint32_t step;    /* the last one that has begun */
    uint32_t width;   /* lanes; 0: not chosen yet */
    uint32_t detail;
    uint32_t is_last; /* 1: the server ends after this message */
    uint64_t size;    /* of the data that follows: RESULT, ERROR, WIDTH */
    uint64_t times[VY_JIT_STEP_COUNT];
} vy_compile_reply;

#endif
