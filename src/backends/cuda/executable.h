/* Executables: a program compiled to PTX or a cubin, loaded on the device, with all facts that a dispatch needs.
 *
 * An executable has a reference count. It is constant, except for the kernel for batches, which is loaded when it first
 * pays off.
 *
 * An object is self-describing: a dispatch runs no pass and no analysis (docs/decisions/launch-facts.md). It has a
 * header and an image: the PTX that was compiled, or the cubin that the disk cache keeps. The object of a pipeline also
 * has the launch facts and the variants of the kernel that the program may need, each an object without facts. All
 * kernels are emitted from one legal program. */
#ifndef VY_BACKENDS_CUDA_EXECUTABLE_H
#define VY_BACKENDS_CUDA_EXECUTABLE_H

#include "analysis/launch_facts.h"
#include "backends/cuda/cuda.h"
#include "compile/pipeline.h"
#include "emit/ptx/ptx.h"
#include "split/grid_tile.h"

#define VY_CUDA_MAGIC "vyrecuda"
enum { VY_CUDA_FORMAT = 5 };

typedef struct vy_cuda_header {
    char magic[8]; /* VY_CUDA_MAGIC without its terminating NUL */
    uint32_t format;
    uint32_t architecture;
    uint32_t version; /* of PTX, times ten */
    uint32_t block[3];
    uint32_t static_bytes, dynamic_bytes; /* shared memory */
    uint32_t factor;                      /* opt/coarsen.h; 1: not coarsened */
    uint8_t reports, polls;    /* it records traps; it polls for its end. Neither: it needs no control block */
    uint8_t needs_cooperative; /* it has grid barriers: launched only if all its blocks can run concurrently */
    uint8_t indirect;          /* it reads its grid from device memory (launch.h) */
    uint8_t batched;           /* it reads its params from a table (graph.h) */
    uint8_t dependent_launch;  /* it waits for the launches before it, and may begin before they end (graph.h) */
    uint8_t tiled_axes;        /* it can be launched over parts of a grid (emit/ptx/ptx.h) */
    char entry[VY_LIMIT_NAME + 8];
    /* The parts after the header, in this order. The image follows the header, the others start at multiples of 16 and
     * may be absent: the launch facts, the object of the kernel for batches, that of the kernel for indirect grids. */
    uint64_t image_bytes, facts_bytes, batched_bytes, indirect_bytes;
} vy_cuda_header;

/* Hidden params: the groups of a coarsened kernel, and two of each tiled axis. */
enum { VY_CUDA_PARAMS = VY_LIMIT_PARAMS + 1 + 6 };
/* Of all params of a kernel: addresses, counts, scalars, hidden ones, control, the address of the grid and a ticket. */
enum { VY_CUDA_PARAM_BYTES = 12 * VY_LIMIT_BUFFERS + 4 + 8 * VY_CUDA_PARAMS + 8 + 16 };

typedef struct vy_cuda_kernel {
    vy_gpu_kernel base;
    vy_cu_function function; /* fields read by every launch come first */
    uint16_t control_offset, param_bytes;
    uint16_t tile_offset; /* of the params of tiled axes */
    uint32_t param_count; /* scalars, with the hidden ones */
    vy_cuda_header header;
    uint16_t param_offsets[VY_CUDA_PARAMS]; /* in the block of params; of 8 bytes if the highest bit is set */
    vy_cu_module module;
    int registers, local_bytes;
    uint32_t blocks; /* indirect: to launch */
} vy_cuda_kernel;
#define VY_CUDA_PARAM_WIDE 0x8000u

struct vy_cuda_executable {
    vy_gpu_executable base;
    vy_cuda *cuda;
    vy_cuda_kernel kernel;
    vy_cuda_kernel *_Atomic batched;     /* NULL: not loaded yet, or the object has none (graph.h) */
    vy_cuda_kernel *indirect;            /* NULL: the program has no indirect grid */
    _Atomic uint64_t rows;               /* rows that the kernel for batches would have run */
    _Atomic uint32_t cooperative_blocks; /* maximum of concurrent blocks, if it has grid barriers */
    vyre_bytes object;
};

static inline int vy_cuda_is_input(const vy_cuda_executable *code, uint32_t buffer) {
    return vy_launch_is_input(code->base.facts, buffer);
}

static inline int vy_cuda_is_output(const vy_cuda_executable *code, uint32_t buffer) {
    return vy_launch_is_output(code->base.facts, buffer);
}

/* Checks an object and loads it. On success the executable owns the object's bytes. Inside. Errors: those of
 * object_check. */
vyre_status vy_cuda_executable_new(vy_cuda *cuda, vyre_program *program, vyre_bytes *object, vy_cuda_executable **out,
                                   vyre_error *error);
/* Unloads it; inside or not. */
void vy_cuda_executable_destroy(vy_gpu_executable *code);
/* The kernel for batches: loaded before, or now from the object through the kernel cache, where the driver compiles its
 * PTX on a miss. Inside.
 *
 * VYRE_UNSUPPORTED  the object has none, because the program cannot be batched */
vyre_status vy_cuda_executable_batched(vy_cuda_executable *code, const vy_cuda_kernel **out, vyre_error *error);
/* The kernel for indirect grids.
 *
 * VYRE_UNSUPPORTED  the program has no indirect grid */
vyre_status vy_cuda_executable_indirect(const vy_cuda_executable *code, const vy_cuda_kernel **out, vyre_error *error);

/* The positions of the params of a program in the block of a kernel, whose header is set. */
void vy_cuda_param_layout(const vyre_program *program, vy_cuda_kernel *kernel);

/* ---- compiling ----
 *
 * A program is optimised, coarsened where that pays, legalised for the device, emitted as PTX, and loaded, which is
 * when the driver compiles it. The cubin for the disk cache is linked separately afterwards, because the driver does
 * not return the code that it makes of a loaded text. */

/* Target of a compilation. */
typedef struct vy_cuda_lowering {
    uint32_t architecture;
    vy_target_desc target;                      /* with the numerics that the device confirmed */
    uint8_t has_indirect, has_dependent_launch; /* the device */
    uint32_t reserved;                          /* bytes before each text */
} vy_cuda_lowering;

/* A program as PTX: its kernel and the variants that it may need, all from one legal program, and its launch facts.
 * Needs no device. */
typedef struct vy_cuda_lowered {
    vy_launch_facts *facts;
    vy_ptx_code code;
    vy_ptx_code batched;  /* without a text if it traps, polls or has grid barriers, buffers are missing, or: */
    vy_ptx_code indirect; /* without a text unless the grid of the program is indirect */
    uint32_t factor;
    uint8_t reports, polls;
} vy_cuda_lowered;
vyre_status vy_cuda_lower(vyre_program *program, const vy_cuda_lowering *how, vy_cuda_lowered *out, vyre_error *error);
void vy_cuda_lowered_free(vy_cuda_lowered *lowered);

/* Compiles and loads a program. Inside, as all that follow.
 *
 * VYRE_LIMIT        its arrays exceed the shared memory of the device
 * VYRE_UNSUPPORTED  the driver refuses the PTX: the error has the message of its compiler */
vyre_status vy_cuda_compile(vy_gpu *gpu, vyre_program *program, int cancellable, vy_gpu_executable **out,
                            vyre_error *error);
/* Loads an object from outside. */
vyre_status vy_cuda_load(vy_gpu *gpu, vyre_program *program, int cancellable, vyre_span binary, vy_gpu_executable **out,
                         vyre_error *error);
/* Entry of the backend's table: the PTX of the plain kernel. */
vyre_status vy_cuda_emit(void *self, vyre_program *program, const vyre_compile_options *options, vyre_bytes *out,
                         vyre_error *error);
/* The object with its PTX replaced by cubins, except for the kernel for batches, which few pipelines need. As slow as
 * compiling. */
vyre_status vy_cuda_compile_binary(vy_gpu_executable *code, vyre_bytes *out, vyre_error *error);

/* ---- kernel cache ----
 *
 * The disk cache of auxiliary kernels, whose cubins are not stored in the object of a pipeline: for batches and for the
 * device clock.
 *
 * The key is the digest of the PTX. On a miss the PTX is compiled and kept until the device is shut down; then cubins
 * are linked and stored. */

/* Loads the kernel of an object with PTX, from the cache if possible. must: compiles it even if compiling is forbidden.
 * Inside.
 *
 * VYRE_UNSUPPORTED  compiling is forbidden, and the cache does not have it */
vyre_status vy_cuda_kernel_cache_load(vy_cuda *cuda, vyre_span object, int must, vy_cu_module *out, vyre_error *error);
/* Links and stores the kept PTX, if the device is not lost. Outside, while no thread is inside. */
void vy_cuda_kernel_cache_store(vy_cuda *cuda);
void vy_cuda_kernel_cache_drop(vy_cuda *cuda);

#endif
