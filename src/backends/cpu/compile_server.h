/* Compile servers: a pool of child processes that run LLVM, one request each at a time.
 *
 * A server is started when a request finds none idle, up to one for each processor; then requests wait. A server that
 * answered is kept for the next request. One that failed, or was still busy when its request's time was over, is
 * killed. A server that had nothing to do for VY_COMPILE_IDLE_MS has ended by itself; the next request starts another.
 *
 * What the host process does must not matter:
 *   - It may reap any child (waitpid(-1)) or ignore SIGCHLD: a server is killed and reaped through a pidfd, which
 *     never names another process, and its exit status is only used if it is there.
 *   - It may fork. The child closes its copies of the sockets in an atfork handler and starts its own servers. Every
 *     descriptor is made and closed with the lock held, so that the handler knows all of them.
 *   - Its standard streams may be closed: no descriptor of ours is below 3.
 * No thread is started. Servers end when the last user closes the pool, and when the host ends: they see the socket
 * close. */
#ifndef VY_BACKENDS_CPU_COMPILE_SERVER_H
#define VY_BACKENDS_CPU_COMPILE_SERVER_H

#include "backends/cpu/compile_protocol.h"

enum { VY_COMPILE_IDLE_MS = 60000 };

typedef struct vy_compile_pool vy_compile_pool;

/* The pool of an executable, shared by all that open it under the same path. Starts nothing.
 *
 * VYRE_NO_MEMORY */
vyre_status vy_compile_pool_open(const char *path, vy_compile_pool **out, vyre_error *error);
/* The last one ends the servers and waits for their end. No request of this user may be in progress. */
void vy_compile_pool_close(vy_compile_pool *pool);

/* X(ID): how a request ended.
 *   DONE     out has the result, or status and error say why there is none: the server replied so, or cannot be asked
 *   WIDTH    likewise, and fewer lanes may help
 *   MEMORY   LLVM ran out of memory; `detail` is the limit in MiB
 *   TIME     the server used up its processor time
 *   CRASHED  the server ended: `detail` is the signal, 0 if it is not known
 *   LATE     the time of the request was over; the server was killed */
#define VY_COMPILE_END_LIST(X) X(DONE) X(WIDTH) X(MEMORY) X(TIME) X(CRASHED) X(LATE)
typedef enum vy_compile_end {
#define X(ID) VY_COMPILE_END_##ID,
    VY_COMPILE_END_LIST(X)
#undef X
} vy_compile_end;

typedef struct vy_compile_outcome {
    vy_compile_end end;
    uint32_t detail;
    uint32_t step, width; /* the latest that the server told; width 0: it was not chosen */
    int has_begun;        /* the server told anything */
} vy_compile_outcome;

/* Sends one request and receives its reply, at the latest at until_ns (CLOCK_MONOTONIC). Blocks, also until a server
 * is free.
 *
 * request  all but magic, version and sizes
 * times    may be NULL
 * out      replaced if the outcome is DONE and the status VYRE_OK
 *
 * Returns VYRE_OK also if the outcome is neither DONE nor WIDTH. Else:
 * VYRE_UNSUPPORTED  the executable cannot be started, or ended before it read the request
 * VYRE_ABI_MISMATCH, VYRE_CORRUPT  it speaks another version of the protocol, or none
 * VYRE_IO           no descriptor or process is left
 * VYRE_NO_MEMORY    of this process
 * and what the server replies */
vyre_status vy_compile_pool_request(vy_compile_pool *pool, vy_compile_request *request, const char *name,
                                    vyre_span wire, uint64_t until_ns, vyre_bytes *out, uint64_t *times,
                                    vy_compile_outcome *outcome, vyre_error *error);

/* The width that a request was answered with after wider ones had failed, of the latest few such requests; 0: not
 * known. Two requests are the same if wire form, features and width are. */
uint32_t vy_compile_pool_lookup_width(vy_compile_pool *pool, const vy_compile_request *request, vyre_span wire);
void vy_compile_pool_record_width(vy_compile_pool *pool, const vy_compile_request *request, vyre_span wire,
                                  uint32_t width);

#endif
