/* Executables: a program compiled to PTX or a cubin, loaded on the device, with all that a dispatch needs to know
 * about it.
 *
 * An executable has a reference count. It is constant, except for these parts, which are made when they are first
 * needed: the kernels for tiles of a grid, for batches and for indirect grids; whether the program can be dispatched
 * in pipelined pieces; which small buffers can be zero-copy.
 *
 * A code object is a header and an image: the PTX that was compiled, or the cubin that the disk cache keeps. In the
 * cache, the object of a program with an indirect grid holds both kernels. */
#ifndef VY_BACKENDS_CUDA_EXECUTABLE_H
#define VY_BACKENDS_CUDA_EXECUTABLE_H

#include "analysis/full_write.h"
#include "backends/cuda/cuda.h"
#include "emit/ptx/ptx.h"
#include "split/grid_tile.h"

#define VY_CUDA_MAGIC "vyrecuda"
enum { VY_CUDA_FORMAT = 4 };

typedef struct vy_cuda_header {
    char magic[8]; /* VY_CUDA_MAGIC, without its end */
    uint32_t format;
    uint32_t architecture;
    uint32_t version; /* of PTX, times ten */
    uint32_t block[3];
    uint32_t static_bytes, dynamic_bytes; /* shared memory */
    uint32_t factor;                      /* opt/coarsen.h; 1: as it was */
    uint8_t reports, polls; /* it has traps; it asks whether it is to end. Neither: it needs no control block */
    /* it has grid barriers: launched only where all its blocks run at the same time (launch.h) */
    uint8_t needs_cooperative;
    uint8_t indirect;         /* its grid lies in device memory (launch.h) */
    uint8_t dependent_launch; /* it waits for what it depends on, and may begin before that has ended (graph.h) */
    char entry[VY_LIMIT_NAME + 8];
    uint64_t image_bytes; /* behind the header */
    /* behind the image: 0, or another object, of the kernel whose grid lies in device memory */
    uint64_t indirect_bytes;
} vy_cuda_header;

enum { VY_CUDA_PARAMS = VY_LIMIT_PARAMS + VY_GRID_TILE_PARAMS };
/* Of all params of a kernel: addresses, counts, scalars, hidden ones, control, where the grid is and a ticket. */
enum { VY_CUDA_PARAM_BYTES = 12 * VY_LIMIT_BUFFERS + 4 + 8 * VY_CUDA_PARAMS + 8 + 16 };

typedef struct vy_cuda_kernel {
    vy_cu_function function; /* what every launch looks at comes first */
    uint16_t control_offset, param_bytes;
    uint32_t param_count; /* scalars, with the hidden ones */
    vy_cuda_header header;
    uint16_t param_offsets[VY_CUDA_PARAMS]; /* in the block of params; of 8 bytes if the highest bit is set */
    vy_cu_module module;
    int registers, local_bytes;
    uint32_t blocks; /* indirect: to launch */
} vy_cuda_kernel;
#define VY_CUDA_PARAM_WIDE 0x8000u

typedef struct vy_cuda_executable_buffer {
    uint8_t element; /* bytes */
    uint8_t access;  /* vyre_access */
} vy_cuda_executable_buffer;

/* Whether it can be run in slices (submission.h). */
enum { VY_CUDA_PIPELINING_UNKNOWN, VY_CUDA_PIPELINING_POSSIBLE, VY_CUDA_PIPELINING_IMPOSSIBLE };

struct vy_cuda_executable {
    _Atomic uint32_t references;
    uint32_t buffer_count, output_count;
    int cancellable;
    vy_cuda *cuda;
    vyre_program *program; /* retained */
    vy_cuda_kernel kernel;
    vy_cuda_kernel *_Atomic tiled;       /* NULL: not needed yet */
    vy_cuda_kernel *_Atomic batched;     /* NULL: not worth it yet (graph.h) */
    vy_cuda_kernel *_Atomic indirect;    /* NULL: not needed yet */
    _Atomic uint64_t rows;               /* that would have been run by it */
    _Atomic uint32_t cooperative_blocks; /* blocks that run at the same time, if it has grid barriers */
    vyre_bytes object;
    vy_cuda_executable_buffer buffers[VY_LIMIT_BUFFERS];
    vy_full_write *full_writes; /* by buffer: what is written whole is not cleared before */
    _Atomic int pipelining;
    uint8_t roles[VY_LIMIT_BUFFERS]; /* if it can: vy_cuda_buffer_role */
    _Atomic int is_zero_copy_known;
    uint8_t zero_copy_costs[VY_LIMIT_BUFFERS]; /* then: transfer.h */
    char name[VY_LIMIT_NAME + 1];
};

static inline int vy_cuda_is_input(const vy_cuda_executable *code, uint32_t buffer) {
    return code->buffers[buffer].access != VYRE_ACCESS_WRITE;
}

static inline int vy_cuda_is_output(const vy_cuda_executable *code, uint32_t buffer) {
    return code->buffers[buffer].access == VYRE_ACCESS_WRITE || code->buffers[buffer].access == VYRE_ACCESS_READ_WRITE;
}

/* Checks an object and loads it. Takes its bytes over, if it succeeds. Inside. Errors as those of
 * object_check. */
vyre_status vy_cuda_executable_new(vy_cuda *cuda, vyre_program *program, int cancellable, vyre_bytes *object,
                                   vy_cuda_executable **out, vyre_error *error);
vy_cuda_executable *vy_cuda_executable_retain(vy_cuda_executable *code);
/* Unloads it with the last reference; inside or not. */
void vy_cuda_executable_release(vy_cuda_executable *code);
/* The kernel for pieces of a grid (split/grid_tile.h), compiled now or found. Inside. */
vyre_status vy_cuda_executable_tiled(vy_cuda_executable *code, const vy_cuda_kernel **out, vyre_error *error);
/* The same for the one by rows (emit/ptx/ptx.h). */
vyre_status vy_cuda_executable_batched(vy_cuda_executable *code, const vy_cuda_kernel **out, vyre_error *error);
/* And for the one whose grid lies in device memory; it may be part of the object. */
vyre_status vy_cuda_executable_indirect(vy_cuda_executable *code, const vy_cuda_kernel **out, vyre_error *error);

/* Where the params of a program are in a kernel's block. */
void vy_cuda_param_layout(const vyre_program *program, uint32_t hidden, vy_cuda_kernel *kernel);

/* ---- compiling ----
 *
 * A program is optimised, coarsened where that pays, legalised for the device, emitted as PTX, and loaded, which is
 * when the driver compiles it. The cubin for the disk cache is linked separately afterwards, because the driver does
 * not return the code that it makes of a loaded text. */

/* The program as PTX, and the factor it was widened by. Needs no device: the architecture and what it computes exactly
 * say all. */
typedef struct vy_cuda_lowered {
    vy_ptx_code code; /* vy_ptx_free */
    uint32_t factor;
    uint8_t reports, polls;
} vy_cuda_lowered;
vyre_status vy_cuda_lower(vyre_program *program, uint32_t architecture, uint64_t exact, int cancellable, int may_widen,
                          vy_cuda_lowered *out, vyre_error *error);

/* Inside, as all that follow.
 *
 * VYRE_LIMIT        its arrays are over the device's shared memory
 * VYRE_UNSUPPORTED  the driver refuses it: the error has what its compiler says */
vyre_status vy_cuda_compile(vy_cuda *cuda, vyre_program *program, int cancellable, vy_cuda_executable **out,
                            vyre_error *error);
/* The object of compiled code with a cubin, and behind it that of the kernel whose grid lies in device memory, if the
 * program says that it does. Takes as long as compiling. */
vyre_status vy_cuda_compile_binary(vy_cuda_executable *code, vyre_bytes *out, vyre_error *error);

/* ---- kernel cache ----
 *
 * The disk cache of auxiliary kernels, which are not part of a pipeline: for tiles of a grid, for batches, for
 * indirect grids, and for the device clock.
 *
 * The key is the digest of the PTX. On a miss the PTX is compiled and kept until the device is shut down; then cubins
 * are linked and stored. */

/* Loads an object (executable.h) that has a text, or what the cache has of it. must: also where compiling is
 * forbidden. Inside.
 *
 * VYRE_UNSUPPORTED  compiling is forbidden, and it is not in the cache */
vyre_status vy_cuda_kernel_cache_load(vy_cuda *cuda, vyre_span object, int must, vy_cu_module *out, vyre_error *error);
/* Stores what is kept, if the device is not lost. Outside; nobody else is inside. */
void vy_cuda_kernel_cache_store(vy_cuda *cuda);
void vy_cuda_kernel_cache_drop(vy_cuda *cuda);

/* Pipelines: programs compiled or loaded once, and all forms of dispatch: single, batched, sequences of several
 * pipelines. */
/* ---- pipelines ---- */

/* What `self` of a native pipeline points at. */
typedef struct vy_cuda_pipeline {
    vy_cuda *cuda;
    vy_cuda_executable *code;
} vy_cuda_pipeline;

/* Entries of the backend's table. */
vyre_status vy_cuda_pipeline_compile(void *self, vyre_program *program, const vyre_compile_options *options,
                                     vyre_native_pipeline *out, vyre_error *error);
vyre_status vy_cuda_pipeline_load(void *self, vyre_program *program, const vyre_compile_options *options,
                                  vyre_span binary, vyre_native_pipeline *out, vyre_error *error);

/* ---- sequences and batches ----
 *
 * Several launches on one stream, with one wait for all that cannot trap.
 *
 * A step that traps is the last: its trap must be seen before the next step starts. So each step that may trap is
 * waited for, and the others are not. Steps that cannot trap are launched as graphs when they are repeated
 * (graph.h). */

/* The bindings of a batch: a list for each item, or rows of four. */
typedef struct vy_cuda_batch_bindings {
    const vyre_resource *const *each; /* or NULL, and */
    const vyre_resource (*four)[4];
} vy_cuda_batch_bindings;
/* Of the backend's. */
vyre_status vy_cuda_sequence(void *self, const vyre_native_step *steps, size_t step_count,
                             const vyre_readback *readbacks, size_t readback_count, vyre_timing *timing, size_t *failed,
                             vyre_error *error);

#endif
