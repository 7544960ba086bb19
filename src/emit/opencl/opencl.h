/* The OpenCL C emitter: from a legal program to OpenCL C 1.2, which the compiler of a device's driver builds.
 *
 * Features of OpenCL C 2.0 and 3.0 are used where the program needs them and the device has them (ordered atomics,
 * subgroup shuffles). The code is the same as that of the C emitter (emit/c_family/c_family.h) but for the kernel
 * around it, memories, atomics and barriers. docs/internals/opencl.md shows the result.
 *
 * One kernel is made. Its arguments are those of emit/launch_abi.h, in this order; an argument without use does not
 * exist, and its index is VY_NONE:
 *   - 0, 1, …: for each buffer a memory object or SVM pointer. The buffer begins at an offset in it, in elements, which
 *     is one of the values;
 *   - code.tables_argument: a memory object of code.table_bytes bytes whose contents are code.tables. Constant arrays
 *     that the device cannot hold in constant memory are stored in it;
 *   - code.values_argument: by value, a struct of code.values.bytes bytes (vy_launch_values);
 *   - code.control_argument: a memory object with a vy_launch_control, if the code reports traps or polls.
 *
 * It is launched without a global offset, with a local size of code.block, and a global size of the dispatch's groups
 * times that. A workgroup of more than VY_OPENCL_LONGEST_Z along z has one of the same number of invocations in x. */
#ifndef VY_EMIT_OPENCL_OPENCL_H
#define VY_EMIT_OPENCL_OPENCL_H

#include "compile/target/target.h"
#include "emit/launch_abi.h"
#include "ir/model.h"
#include "vyre/base.h"

enum { VY_OPENCL_LONGEST_Z = 64 }; /* what every GPU can launch */

/* How values move between the invocations of a subgroup. */
typedef enum vy_opencl_shuffle {
    VY_OPENCL_NO_SHUFFLE,
    VY_OPENCL_SHUFFLE_KHR, /* cl_khr_subgroup_shuffle */
    /* cl_intel_subgroups, and cl_intel_required_subgroup_size, by which the kernel has subgroups of that width */
    VY_OPENCL_SHUFFLE_INTEL,
    VY_OPENCL_SHUFFLE_COUNT
} vy_opencl_shuffle;

/* The features of a device and its compiler, as the driver reports and a probe confirms them. A zero-initialised struct
 * describes the minimum, OpenCL C 1.2 without options. No padding: the bytes may be part of a cache key. */
typedef struct vy_opencl_device {
    /* bits 1 << VYRE_NUMERIC_…: exact operations, as a probe confirmed them; vy_opencl_assumed() without a probe */
    uint64_t exact;
    uint64_t constant_bytes; /* of __constant memory; larger constant arrays go to global memory. 0: all do */
    /* the size of __local memory, and the stack that a workgroup may use; used only with VY_OPENCL_ERRATUM_POCL */
    uint64_t local_bytes, stack_bytes;
    uint64_t uniform_bytes; /* constant_bytes for arrays whose indices are uniform over the workgroup */
    /* invocations of a subgroup, if these are consecutive ones of a workgroup with one dimension; 0: not known, or no
     * shuffle */
    uint32_t subgroup_width;
    uint32_t shuffle;             /* vy_opencl_shuffle */
    uint32_t access_bytes;        /* the widest access worth making: 4, 8 or 16; 0: one element */
    uint32_t has_int64_atomics;   /* cl_khr_int64_base_atomics and cl_khr_int64_extended_atomics */
    uint32_t has_ordered_atomics; /* OpenCL C 2.0, or 3.0 with atomic_order_acq_rel and atomic_scope_device */
    uint32_t has_aligned_buffers; /* the backend starts every buffer at a multiple of 16 bytes */
    uint32_t version; /* of OpenCL C, the newest: 120, 200, 300; what is ordered or shuffled is built with it */
    uint32_t errata;  /* bits VY_OPENCL_ERRATUM_…: bugs of its compiler */
} vy_opencl_device;

/* PoCL 3.1 compiles a kernel with barriers to wrong code if a branch decides whether a barrier executes or whether the
 * kernel ends (errata.c). Such a program becomes a kernel without barriers: one invocation is launched for each
 * workgroup, and runs the invocations of the program's workgroup sequentially (sequential.c). */
enum { VY_OPENCL_ERRATUM_POCL = 1 };

/* NVIDIA's compiler 580.159 contains ptxas, some of whose bugs (docs/internals/ptx.md) also occur in OpenCL C. Loops
 * that it may count wrongly are not unrolled (E13, emit/ptxas_loops.h). The emitter applies an `or` with the global
 * offset, a zero that the compiler does not know, to these values:
 *  - operands of integer min and max (E4);
 *  - results of abs: E9 for f32; abs of the smallest integer becomes a positive float;
 *  - the upper half of a product of u32 (E11);
 *  - -0, which loses its sign in a select whose other value is 1 or -1;
 *  - an operand of mul_high: mul_high(-x, x) is negative for the smallest integer;
 *  - results of narrow ops that may be a negation: -x of an i16, extended to 32 bits, does not wrap;
 *  - local ids, if the program converts signed integers to floats: a shifted local id loses its sign. */
enum { VY_OPENCL_ERRATUM_NVIDIA = 2 };

/* Bugs of Intel's CPU runtime 2026.2. The workaround for most of them is an exclusive or with the global offset, a zero
 * that the compiler does not know:
 *  - If a linear function of an index is converted to a float or sign-extended, the runtime adds the converted step to
 *    the value of another invocation. The result does not wrap, and is rounded twice. The exclusive or is applied to
 *    operands of such conversions and of mul_high.
 *  - A negated float after a barrier has the value of another invocation. Where LLVM could recognise a negation, the
 *    sign bit, -0 and -1 are computed from the global offset.
 *  - -x >> 31 and mul_high(-x, x) are computed as if -x did not wrap. The exclusive or is applied to the operand.
 *  - After a loop whose condition is split into two exits, a counter has the value of another invocation. The exclusive
 *    or is applied to the condition.
 *  - An `or` of a constant and the global offset loses the constant, so the code for Intel contains none. */
enum { VY_OPENCL_ERRATUM_INTEL = 4 };

/* The operations that the specification guarantees to be exact on a device with these features. Division and square
 * root of f32 are not included: they are correctly rounded only with -cl-fp32-correctly-rounded-divide-sqrt. */
uint64_t vy_opencl_assumed(int has_fp64);

/* The target description for a program. NULL: any program with a workgroup of one dimension. */
vy_target_desc vy_opencl_target(const vy_opencl_device *device, const vyre_program *program, int cancellable);

typedef struct vy_opencl_code {
    vyre_bytes text;
    char entry[VY_LIMIT_NAME + 8]; /* the name of the kernel */
    const char *standard;          /* "-cl-std=CL1.2" or a later one: a static text, the option to build with */
    uint32_t block[3];             /* the workgroup that is launched */
    uint32_t arguments;            /* of the kernel */
    uint32_t tables_argument, values_argument, control_argument; /* indices; VY_NONE: there is none */
    uint32_t local_bytes, private_bytes;                         /* workgroup arrays; private arrays */
    vy_launch_values values;
    vyre_bytes tables;      /* contents of the argument for constant arrays */
    uint8_t reports, polls; /* whether the code uses these parts of the control block */
} vy_opencl_code;

/* Writes the kernel of a program of level legal, inlined and legalised with vy_opencl_target. The text depends on the
 * program, its positions and the device alone. Any thread.
 *
 * VYRE_UNSUPPORTED       the program needs something that the device lacks (64-bit atomics, an order of atomics) or has
 *                        a grid barrier; the error names it and what to do
 * VYRE_INVALID_ARGUMENT  a library
 * VYRE_NO_MEMORY */
vyre_status vy_opencl_emit(const vyre_program *program, const vy_opencl_device *device, vy_opencl_code *out,
                           vyre_error *error);
void vy_opencl_free(vy_opencl_code *code);

/* Whether the device has what the program needs of it that is not rewritten, as above; `program` is of either level. */
vyre_status vy_opencl_check(const vyre_program *program, const vy_opencl_device *device, vyre_error *error);

#endif
