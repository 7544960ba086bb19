/* Compiling, objects for the disk cache, and executables: programs that a driver has built, shared by pipelines. */
#ifndef VY_BACKENDS_OPENCL_EXECUTABLE_H
#define VY_BACKENDS_OPENCL_EXECUTABLE_H

#include "analysis/launch_facts.h"
#include "backends/opencl/memory.h"
#include "backends/opencl/opencl.h"

/* An object contains a header, the launch facts of the program, the contents of the constant tables, the driver's
 * binary, and optionally a second object: the same program for slices of a grid. */
#define VY_OCL_MAGIC "vyreocl"
enum { VY_OCL_FORMAT = 1 };

typedef struct vy_ocl_header {
    char magic[8];
    uint32_t format, launch_abi;
    uint32_t block[3];
    uint32_t arguments, tables_argument, values_argument, control_argument, local_bytes;
    uint32_t hidden; /* additional params, after those of the program */
    uint8_t reports, polls, reserved[2];
    vy_launch_values values;
    char options[96]; /* of the build */
    char entry[VY_LIMIT_NAME + 8];
    uint64_t fact_bytes, table_bytes, image_bytes, more_bytes; /* the last two: of this object, of the second one */
} vy_ocl_header;

/* A kernel object of the driver, and the arguments that are set on it: a launch sets only those that changed. */
typedef struct vy_ocl_object {
    vy_cl_kernel kernel;
    uint64_t values_id; /* the id of the values: 1 plus the number of their changes */
    uint64_t set[];     /* by argument: the id of its value, 0: not set; then the values */
} vy_ocl_object;

/* A built kernel. */
enum { VY_OCL_IDLE_KERNELS = 8 };
typedef struct vy_ocl_kernel {
    vy_gpu_kernel base;
    vy_ocl_header header;
    vy_cl_program program;
    uint64_t code_bytes; /* of its text or binary */
    vy_ocl_area tables;
    vy_ocl_object *_Atomic idle[VY_OCL_IDLE_KERNELS]; /* in no order; NULL: none */
} vy_ocl_kernel;

typedef struct vy_ocl_executable {
    vy_gpu_executable base;
    int cancellable;
    vy_ocl_kernel kernel;
    vy_ocl_kernel *_Atomic tiled; /* for slices of a grid; NULL: not built yet */
    vyre_bytes tiled_object;      /* the second object of a loaded object, or empty */
} vy_ocl_executable;

/* Optimises, legalises, emits and builds the program.
 *
 * VYRE_LIMIT        its arrays exceed the device's local memory, or its workgroup exceeds the kernel's limit
 * VYRE_UNSUPPORTED  it requires a feature that the device lacks, or the driver rejects the code: the error has the
 *                   first lines of the build log */
vyre_status vy_ocl_compile(vy_gpu *gpu, vyre_program *program, int cancellable, vy_gpu_executable **out,
                           vyre_error *error);
/* The entry `emit` of the backend's table: the OpenCL C text that vy_ocl_compile would hand to the driver. */
vyre_status vy_ocl_emit(void *self, vyre_program *program, const vyre_compile_options *options, vyre_bytes *out,
                        vyre_error *error);
/* Builds an object's binary; the caller treats a failure as a cache miss. */
vyre_status vy_ocl_load(vy_gpu *gpu, vyre_program *program, int cancellable, vyre_span object, vy_gpu_executable **out,
                        vyre_error *error);
/* The object for the cache. */
vyre_status vy_ocl_serialize(vy_gpu_executable *code, vyre_bytes *out, vyre_error *error);
void vy_ocl_executable_destroy(vy_gpu_executable *code);

/* The kernel for slices of a grid (split/grid_tile.h), built on the first call. */
vyre_status vy_ocl_executable_tiled(vy_ocl_executable *code, vy_gpu_kernel **out, vyre_error *error);

/* Acquires a kernel object for one launch; no other thread sets its arguments. Release it after enqueueing the
 * launch. */
vyre_status vy_ocl_object_take(vy_ocl *ocl, vy_ocl_kernel *kernel, vy_ocl_object **out, vyre_error *error);
void vy_ocl_object_give(vy_ocl *ocl, vy_ocl_kernel *kernel, vy_ocl_object *taken);

/* Builds a program from OpenCL C text; also used by the probe. */
vyre_status vy_ocl_build_text(vy_ocl *ocl, const char *text, size_t size, const char *options, const char *name,
                              vy_cl_program *out, vyre_error *error);

#endif
