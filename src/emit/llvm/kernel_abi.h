/* The ABI of compiled kernels: the code object that the compiler creates, the cache stores and the backend calls,
 * and the frame of a kernel.
 *
 * An object is a header and a blob of machine code with its constants. The blob is position independent, and has no
 * relocations and no calls to external code. So loading it means copying it into executable memory. Both sides
 * depend on the layout of the frame; every change of it or of the header must change VY_CPU_FORMAT. */
#ifndef VY_EMIT_LLVM_KERNEL_ABI_H
#define VY_EMIT_LLVM_KERNEL_ABI_H

#include <stddef.h>
#include <stdint.h>

#define VY_CPU_MAGIC "vyre-cpu"
enum { VY_CPU_FORMAT = 7, VY_CPU_ALIGNMENT = 64, VY_CPU_PRIVATE_BUFFERS = 4 };

/* Native stack, in bytes. Code that needs at most VY_CPU_STACK_SMALL runs on the stack of the calling thread; other
 * code runs on a stack that the backend maps (backends/cpu/frame_pool.h). The compiler rejects code that needs more
 * than VY_CPU_STACK_LIMIT. */
enum { VY_CPU_STACK_SMALL = 16 << 10, VY_CPU_STACK_LIMIT = 16 << 20 };

/* The next multiple of VY_CPU_ALIGNMENT. */
static inline uint64_t vy_cpu_align(uint64_t size) {
    return (size + VY_CPU_ALIGNMENT - 1) / VY_CPU_ALIGNMENT * VY_CPU_ALIGNMENT;
}

/* A privatisable buffer: the program only updates it, by atomics of one commutative kind whose results are unused,
 * so the updates may be merged later. */
typedef struct vy_cpu_private_buffer {
    uint8_t buffer; /* in declaration order */
    uint8_t op;     /* vyre_atomic: add, and, or, xor, min or max */
    uint8_t type;   /* vyre_type: an integer of 4 or 8 bytes */
    uint8_t unused;
} vy_cpu_private_buffer;

typedef struct vy_cpu_header {
    char magic[8]; /* VY_CPU_MAGIC, without the terminating NUL */
    uint32_t format;
    uint32_t width;      /* lanes */
    uint64_t features;   /* required features of the processor: VY_CPU_FEATURE_… (cpu_features.h) */
    uint64_t entry;      /* offset from the start of the code */
    uint64_t code_bytes; /* after the header */
    uint64_t file_bytes; /* after the code: an ELF file for debuggers, with the sections at their offsets in the code */
    uint64_t workgroup_bytes; /* size of the frame's memory */
    uint64_t spill_bytes;
    uint64_t stack_bytes;   /* the most native stack that a call of the entry needs */
    uint32_t invocations;   /* of a workgroup */
    uint32_t parts;         /* of a workgroup; parts may run on any thread, in any order */
    uint32_t narrow_parts;  /* the same for the code with fewer lanes, used if the frame selects it; 0: there is none */
    uint32_t private_count; /* number of valid entries; the others are zero */
    vy_cpu_private_buffer privates[VY_CPU_PRIVATE_BUFFERS];
} vy_cpu_header;

typedef struct vy_cpu_buffer {
    uint8_t *data; /* aligned to the element */
    uint32_t count;
    uint32_t misalignment; /* elements from the last multiple of 16 bytes to data */
} vy_cpu_buffer;

/* Arguments of the code: one frame per worker and dispatch. */
typedef struct vy_cpu_frame {
    const vy_cpu_buffer *buffers; /* in declaration order */
    const uint64_t *params;       /* bits, one word each */
    uint8_t *workgroup;           /* arrays of the workgroup; aligned to VY_CPU_ALIGNMENT, as is spill */
    uint8_t *spill;               /* values that live across barriers, private arrays */
    const uint32_t *cancel;       /* the caller's cancellation word … */
    const uint32_t *stop;         /* … and the backend's: a nonzero value ends the dispatch */
    uint64_t trap_invocation;     /* the smallest invocation that trapped; initially UINT64_MAX */
    uint32_t trap_code;
    uint32_t stopped; /* 1 if a poll ended the dispatch */
    uint32_t groups[3];
    uint32_t private_set; /* bit i: `data` of privates[i] is a private copy of the thread */
    uint32_t is_narrow;   /* 1: the units are parts of the code with fewer lanes */
    /* 1: contiguous stores to `write` buffers may be non-temporal; the backend executes the fence afterwards */
    uint32_t streams;
    uint32_t trap_site; /* of trap_invocation: 1 + the index of its `trap` in the compiled program */
} vy_cpu_frame;

/* Runs units [first, end) of the grid. Unit u is part u % parts of workgroup u / parts; workgroups are numbered x +
 * groups.x * (y + groups.y * z). */
typedef void vy_cpu_entry(vy_cpu_frame *frame, uint64_t first, uint64_t end);

#endif
