/* Declarations shared by the files of the OpenCL C emitter.
 *
 *   op_table.c   types, op table and reserved words of the dialect
 *   statement.c  atomics, barriers, shuffles, wide accesses, traps and polls
 *   errata.c     marks of statements for workarounds of compiler bugs; which kernels have no barriers
 *   sequential.c kernels without barriers, which run the invocations of a workgroup sequentially
 *   module.c     the target, the kernel and its arguments */
#ifndef VY_EMIT_OPENCL_EMITTER_H
#define VY_EMIT_OPENCL_EMITTER_H

#include "emit/c_family/c_family.h"
#include "emit/opencl/opencl.h"

/* What the kernel uses, as its statements are written. */
enum {
    VY_OPENCL_USES_INT64_ATOMICS = 1,
    VY_OPENCL_USES_ORDERS = 2,
    VY_OPENCL_USES_SHUFFLES = 4,
    VY_OPENCL_USES_FP64 = 8
};

typedef struct vy_opencl {
    vy_c c; /* first: the functions of the dialect get a pointer to it */
    const vy_opencl_device *device;
    unsigned uses;
    int hides_local_ids; /* the compiler must not know their range (errata.c) */
    /* By memory: the offset of a constant array in the argument for tables; VY_NONE: it is in constant memory. */
    uint32_t *tables;
    vy_symbol arguments[VY_LIMIT_BUFFERS], offsets[VY_LIMIT_BUFFERS]; /* of buffers */
    int is_sequential;  /* the kernel has no barriers; vy_c_scan has set c.barriers, which is 0 in other kernels */
    const char *states; /* if is_sequential: the address space of the structs of the invocations */
} vy_opencl;

static inline vy_opencl *vy_opencl_of(vy_c *c) {
    return (vy_opencl *)c;
}

extern const vy_c_dialect vy_opencl_dialect;
extern const vy_c_dialect vy_opencl_intel_dialect;  /* the same, with VY_OPENCL_ERRATUM_INTEL avoided */
extern const vy_c_dialect vy_opencl_nvidia_dialect; /* the same, with VY_OPENCL_ERRATUM_NVIDIA avoided */
extern vy_c_writer *const vy_opencl_writers[VY_STMT_KIND_COUNT];

/* Whether the kernel must run the invocations of a workgroup sequentially. */
int vy_opencl_is_sequential(vy_opencl *o);
/* Whether a kernel with barriers is sequential because PoCL would need more stack: it allocates private arrays, and
 * variables that are live across a barrier, for all invocations of the workgroup. */
int vy_opencl_overflows(vy_opencl *o);
/* For a sequential kernel: chooses the memory of the structs, after all names are assigned; then writes the loops over
 * the invocations around the body. */
void vy_opencl_start_sequential(vy_opencl *o, vy_opencl_code *code);
void vy_opencl_write_sequential(vy_opencl *o, const vy_string *body);
extern const char vy_opencl_barrier[];
/* Marks statements for the errata of the device. */
void vy_opencl_mark(vy_opencl *o);

/* "__global ", …; of private arrays "", or the address space of the structs. */
const char *vy_opencl_space(vy_c *c, uint32_t memory);

#endif
