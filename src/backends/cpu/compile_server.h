/* Compile servers: a pool of child processes that run LLVM, one request each at a time.
 *
 * A server is started when a request finds none idle, up to one per processor; further requests wait. A server that
 * answered is kept for the next request. One that failed, or was still busy when its request's time expired, is
 * killed. A server ends after VY_COMPILE_IDLE_MS without a request; the next request starts another.
 *
 * Invariant: actions of the host process do not affect the pool.
 *
 * - It may reap any child (waitpid(-1)) or ignore SIGCHLD: a server is killed and reaped through a pidfd, which
 *   never refers to another process, and its exit status is used only if available.
 * - It may fork. The child closes its copies of the sockets in an atfork handler and starts its own servers. Every
 *   descriptor is created and closed with the lock held, so that the handler has a complete list.
 * - Its standard streams may be closed: no descriptor of the pool is below 3.
 *
 * No thread is started. Servers end when the last user closes the pool, and when the host ends, because their socket
 * is closed. */
#ifndef VY_BACKENDS_CPU_COMPILE_SERVER_H
#define VY_BACKENDS_CPU_COMPILE_SERVER_H

#include "backends/cpu/compile_protocol.h"

enum { VY_COMPILE_IDLE_MS = 60000 };

typedef struct vy_compile_pool vy_compile_pool;

/* Opens the pool of an executable, which is shared by all users of the same path. Starts no process. VYRE_NO_MEMORY */
vyre_status vy_compile_pool_open(const char *path, vy_compile_pool **out, vyre_error *error);
/* The last user ends the servers and waits for them. Requires that no request of this user is in progress. */
void vy_compile_pool_close(vy_compile_pool *pool);

/* X(ID): the end of a request.
 *
 *   DONE     out has the result, or status and error have the failure: the server replied so, or cannot be used
 *   WIDTH    the same, and fewer lanes may help
 *   MEMORY   LLVM ran out of memory; `detail` is the limit in MiB
 *   TIME     the server reached its CPU time limit
 *   CRASHED  the server ended: `detail` is the signal, 0 if unknown
 *   LATE     the time of the request expired; the server was killed */
#define VY_COMPILE_END_LIST(X) X(DONE) X(WIDTH) X(MEMORY) X(TIME) X(CRASHED) X(LATE)
typedef enum vy_compile_end {
#define X(ID) VY_COMPILE_END_##ID,
    VY_COMPILE_END_LIST(X)
#undef X
} vy_compile_end;

typedef struct vy_compile_outcome {
    vy_compile_end end;
    uint32_t detail;
    uint32_t step, width; /* as last reported by the server; width 0: not chosen yet */
    int has_begun;        /* the server has sent a message */
} vy_compile_outcome;

/* Sends one request and receives its reply, at the latest at until_ns (CLOCK_MONOTONIC). Blocks, also until a server
 * is available.
 *
 *   request  all fields except magic, build and sizes
 *   times    may be NULL
 *   out      replaced if the outcome is DONE and the status VYRE_OK
 *
 * Returns VYRE_OK also if the outcome is neither DONE nor WIDTH; otherwise the error in the server's reply, or:
 *
 * VYRE_UNSUPPORTED                 the executable cannot be started, or ended before it read the request
 * VYRE_ABI_MISMATCH, VYRE_CORRUPT  it uses another version of the protocol, or none
 * VYRE_IO                          no descriptor or process is available
 * VYRE_NO_MEMORY                   in this process */
vyre_status vy_compile_pool_request(vy_compile_pool *pool, vy_compile_request *request, const char *name,
                                    vyre_span wire, uint64_t until_ns, vyre_bytes *out, uint64_t *times,
                                    vy_compile_outcome *outcome, vyre_error *error);

/* The width at which a request succeeded after wider ones had failed, for a few recent requests; 0: unknown. Two
 * requests are the same if wire form, features and width are equal. */
uint32_t vy_compile_pool_lookup_width(vy_compile_pool *pool, const vy_compile_request *request, vyre_span wire);
void vy_compile_pool_record_width(vy_compile_pool *pool, const vy_compile_request *request, vyre_span wire,
                                  uint32_t width);

#endif
