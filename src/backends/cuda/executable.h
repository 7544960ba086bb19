/* Code: what was compiled of a program, loaded on the device, and what a dispatch has to know of it. Counted references; constant but for what is found out when it is
 * first needed: the kernels for pieces of a grid and for many rows at once, whether the program can be cut into slices, and what of small host bytes need not be copied.
 *
 * An object is a header and an image: the text that was compiled, or the cubin that the disk cache keeps. In the cache that of a program with an indirect grid has both kernels. */
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
    uint8_t
        needs_cooperative; /* it has grid barriers: launched only where all its blocks run at the same time (cooperative_launch.h) */
    uint8_t indirect;         /* its grid lies in device memory (indirect.h) */
    uint8_t dependent_launch; /* it waits for what it depends on, and may begin before that has ended (graph.h) */
    char entry[VY_LIMIT_NAME + 8];
    uint64_t image_bytes; /* behind the header */
    uint64_t
        indirect_bytes; /* behind the image: 0, or another object, of the kernel whose grid lies in device memory */
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

/* Whether it can be run in slices (pipelined_dispatch.h). */
enum { VY_CUDA_PIPELINING_UNKNOWN, VY_CUDA_PIPELINING_POSSIBLE, VY_CUDA_PIPELINING_IMPOSSIBLE };

struct vy_cuda_executable {
    _Atomic uint32_t references;
    uint32_t buffer_count, output_count;
    int cancellable;
    vy_cuda *cuda;
    vyre_program *program; /* retained */
    vy_cuda_kernel kernel;
    vy_cuda_kernel *_Atomic tiled;       /* NULL: not needed yet */
    vy_cuda_kernel *_Atomic batched;     /* NULL: not worth it yet (batched_launch.h) */
    vy_cuda_kernel *_Atomic indirect;    /* NULL: not needed yet */
    _Atomic uint64_t rows;               /* that would have been run by it */
    _Atomic uint32_t cooperative_blocks; /* blocks that run at the same time, if it has grid barriers */
    vyre_bytes object;
    vy_cuda_executable_buffer buffers[VY_LIMIT_BUFFERS];
    vy_full_write *full_writes; /* by buffer: what is written whole is not cleared before */
    _Atomic int pipelining;
    uint8_t roles[VY_LIMIT_BUFFERS]; /* if it can: vy_cuda_buffer_role */
    _Atomic int is_zero_copy_known;
    uint8_t zero_copy_costs[VY_LIMIT_BUFFERS]; /* then: zero_copy.h */
    char name[VY_LIMIT_NAME + 1];
};

static inline int vy_cuda_is_input(const vy_cuda_executable *code, uint32_t buffer) {
    return code->buffers[buffer].access != VYRE_ACCESS_WRITE;
}
static inline int vy_cuda_is_output(const vy_cuda_executable *code, uint32_t buffer) {
    return code->buffers[buffer].access == VYRE_ACCESS_WRITE || code->buffers[buffer].access == VYRE_ACCESS_READ_WRITE;
}

/* Checks an object. indirect: its grid lies in device memory.
 *
 * VYRE_CORRUPT      it is damaged
 * VYRE_UNSUPPORTED  it is of another format or for another device */
vyre_status vy_cuda_object_check(const vy_cuda *cuda, vyre_span object, int indirect, vy_cuda_header *out,
                                 vyre_error *error);
/* Loads an image: a cubin, or PTX that ends with a NUL. The error of a text has what the driver's compiler says. Inside. */
vyre_status vy_cuda_image_load(vy_cuda *cuda, const vy_cuda_header *header, const void *image, vy_cu_module *out,
                               vyre_error *error);

/* Checks an object and loads it. Takes its bytes over, if it succeeds. Inside. Errors as those of vy_cuda_object_check. */
vyre_status vy_cuda_executable_new(vy_cuda *cuda, vyre_program *program, int cancellable, vyre_bytes *object,
                                   vy_cuda_executable **out, vyre_error *error);
vy_cuda_executable *vy_cuda_executable_retain(vy_cuda_executable *code);
/* Unloads it with the last reference; inside or not. */
void vy_cuda_executable_release(vy_cuda_executable *code);

/* Loads the kernel of an object that was checked or made here, as a text kernel_cache.h looks after if is_cached. hidden: u32 params behind those of the program. Inside. */
vyre_status vy_cuda_kernel_load(vy_cuda *cuda, const vyre_program *program, vyre_span object, int is_cached,
                                uint32_t hidden, vy_cuda_kernel *out, vyre_error *error);
void vy_cuda_kernel_unload(vy_cuda *cuda, vy_cuda_kernel *kernel);
/* The kernel for pieces of a grid (split/grid_tile.h), compiled now or found. Inside. */
vyre_status vy_cuda_executable_tiled(vy_cuda_executable *code, const vy_cuda_kernel **out, vyre_error *error);
/* The same for the one by rows (emit/ptx/ptx.h). */
vyre_status vy_cuda_executable_batched(vy_cuda_executable *code, const vy_cuda_kernel **out, vyre_error *error);
/* And for the one whose grid lies in device memory; it may be part of the object. */
vyre_status vy_cuda_executable_indirect(vy_cuda_executable *code, const vy_cuda_kernel **out, vyre_error *error);
vyre_span vy_cuda_executable_indirect_object(const vy_cuda_executable *code); /* that part, or nothing */

/* Where the params of a program are in a kernel's block. */
void vy_cuda_param_layout(const vyre_program *program, uint32_t hidden, vy_cuda_kernel *kernel);

#endif
