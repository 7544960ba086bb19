/* Kernels: one program on one backend, compiled once and run many times on the caller's own memory.
 *
 * This is the shortest way from C to a device, and what the headers made by `vyre bind` call. It selects a backend, compiles, checks sizes and
 * delivers outputs into memory of the caller. Below it are vyre/driver.h and vyre/pipeline.h, which offer more forms of dispatch.
 *
 * A kernel is usable from any thread, several at once. */
#ifndef VYRE_KERNEL_H
#define VYRE_KERNEL_H

#include "vyre/pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Constructors: vyre_kernel_open, vyre_kernel_open_on. Destructor: vyre_kernel_close. */
typedef struct vyre_kernel vyre_kernel;

/* Decodes a program from its wire form, selects a backend that runs it, and compiles it. Blocks while a driver starts and compiles.
 *
 * wire    borrowed for the call
 * policy  NULL: VYRE_POLICY_DEFAULT, a GPU or else the native CPU backend. Its `program` is ignored.
 * out     close with vyre_kernel_close
 *
 * VYRE_CORRUPT, VYRE_INVALID_PROGRAM  the bytes are not a program
 * VYRE_NOT_FOUND                      no backend is usable, or none runs this program: the error lists each with its reason
 * and what vyre_compile returns */
VYRE_API vyre_status vyre_kernel_open(const void *wire, size_t size, const vyre_policy *policy, vyre_kernel **out,
                                      vyre_error *error);
/* The same on a backend that the caller has, which the kernel retains. Kernels on one backend can share resident buffers. */
VYRE_API vyre_status vyre_kernel_open_on(vyre_backend *backend, const void *wire, size_t size, vyre_kernel **out,
                                         vyre_error *error);
/* Runs that have not returned must end first. NULL is ignored. */
VYRE_API void vyre_kernel_close(vyre_kernel *kernel);
/* Which backend runs it ("cuda", "cpu"); borrowed from the kernel. NULL for NULL. */
VYRE_API const char *vyre_kernel_backend_id(const vyre_kernel *kernel);
/* Borrowed from the kernel: retain what is to outlive it. NULL for NULL. */
VYRE_API vyre_backend *vyre_kernel_backend(const vyre_kernel *kernel);
VYRE_API vyre_pipeline *vyre_kernel_pipeline(const vyre_kernel *kernel);

/* One buffer of a run: host memory, or a range of a resident buffer. Zero-initialise. */
typedef struct vyre_kernel_buffer {
    /* Host memory, borrowed for the call; the run writes it if the program writes the buffer. Ignored if `resident` is set. */
    void *data;
    /* Elements. Of `read`, `uniform` and `read_write` buffers: given. Of `write` buffers: the room there is; the number to make, where the program
     * leaves the count open. After a successful run: elements of the buffer. */
    size_t count;
    vyre_resident resident; /* a buffer of vyre_kernel_backend(); {0, 0}: `data` */
    uint64_t offset;        /* of the range in the resident buffer, in bytes */
} vyre_kernel_buffer;

/* Runs the program once; blocks until it is done. Where the backend can work on memory of the process (`cpu`), it works on `data` in place, without a
 * copy; elsewhere inputs are uploaded and outputs downloaded.
 *
 * params    as many as the program has, in declaration order
 * buffers   as many as the program has, in declaration order. Two of them may be the same memory if the program writes neither; a program that
 *           writes one of them runs on copies, and the last such buffer in declaration order is what remains in memory.
 * geometry  NULL: as the program says
 * config    NULL: no deadline
 * trap      optional; filled with VYRE_TRAPPED
 *
 * After a failure the memory of buffers that the program writes holds anything, and their counts are unchanged.
 *
 * VYRE_INVALID_ARGUMENT  the arguments do not fit the program; an output has more elements than there is room
 * and what vyre_pipeline_dispatch_persistent returns */
VYRE_API vyre_status vyre_kernel_run(vyre_kernel *kernel, const vyre_scalar *params, size_t param_count,
                                     vyre_kernel_buffer *buffers, size_t buffer_count, const vyre_geometry *geometry,
                                     const vyre_dispatch_config *config, vyre_trap *trap, vyre_error *error);

#ifdef __cplusplus
}
#endif
#endif
