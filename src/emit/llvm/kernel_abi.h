/* The ABI of compiled kernels: the code object that the compiler makes, the cache keeps and the backend calls, and the
 * frame of a kernel.
 *
 * An object is a header and a blob of machine code with its constants. The blob is position independent, and has no
 * relocations and no calls to anything outside. So loading it means copying it into executable memory. Both sides
 * depend on the layout of the frame; whoever changes it or the header changes VY_CPU_FORMAT. */
#ifndef VY_EMIT_LLVM_KERNEL_ABI_H
#define VY_EMIT_LLVM_KERNEL_ABI_H

#include <stddef.h>
#include <stdint.h>

#define VY_CPU_MAGIC "vyre-cpu"
enum { VY_CPU_FORMAT = 7, VY_CPU_ALIGNMENT = 64, VY_CPU_PRIVATE_BUFFERS = 4 };

/* Native stack, in bytes. Code that needs at most VY_CPU_STACK_SMALL runs on the stack of the thread that calls it;
 * other code runs on a stack that the backend maps (stack.h). The compiler makes no code that needs more than
 * VY_CPU_STACK_LIMIT. */
enum { VY_CPU_STACK_SMALL = 16 << 10, VY_CPU_STACK_LIMIT = 16 << 20 };

/* The next multiple of VY_CPU_ALIGNMENT. */
static inline uint64_t vy_cpu_align(uint64_t size) {
    return (size + VY_CPU_ALIGNMENT - 1) / VY_CPU_ALIGNMENT * VY_CPU_ALIGNMENT;
}

/* A buffer that the program only combines into, by atomics of one kind whose results nobody asks for: it does not
 * matter when. */
typedef struct vy_cpu_private_buffer {
    uint8_t buffer; /* in declaration order */
    uint8_t op;     /* vyre_atomic: add, and, or, xor, min or max */
    uint8_t type;   /* vyre_type: an integer of 4 or 8 bytes */
    uint8_t unused;
} vy_cpu_private_buffer;

typedef struct vy_cpu_header {
    char magic[8]; /* VY_CPU_MAGIC, without its end */
    uint32_t format;
    uint32_t width;      /* lanes */
    uint64_t features;   /* what the code needs of the processor: VY_CPU_FEATURE_… (cpu_features.h) */
    uint64_t entry;      /* from the start of the code */
    uint64_t code_bytes; /* behind the header */
    uint64_t file_bytes; /* behind the code: an ELF file for debuggers, sections at their distance from its start */
    uint64_t workgroup_bytes; /* of the frame's memory */
    uint64_t spill_bytes;
    uint64_t stack_bytes;   /* of native stack that a call of the entry needs, at most */
    uint32_t invocations;   /* of a workgroup */
    uint32_t parts;         /* of a workgroup, that may run anywhere and in any order */
    uint32_t narrow_parts;  /* the same of code with fewer lanes, for frames that say so; 0: there is none */
    uint32_t private_count; /* of the following, the rest is zero */
    vy_cpu_private_buffer privates[VY_CPU_PRIVATE_BUFFERS];
} vy_cpu_header;

typedef struct vy_cpu_buffer {
    uint8_t *data; /* aligned to the element */
    uint32_t count;
    uint32_t misalignment; /* elements behind the last multiple of 16 bytes */
} vy_cpu_buffer;

/* What a worker hands to the code: one for each worker and dispatch. */
typedef struct vy_cpu_frame {
    const vy_cpu_buffer *buffers; /* in declaration order */
    const uint64_t *params;       /* bits, one word each */
    uint8_t *workgroup;           /* arrays of the workgroup; VY_CPU_ALIGNMENT, as is the next */
    uint8_t *spill;               /* values that live across barriers, private arrays */
    const uint32_t *cancel;       /* the caller's word, and … */
    const uint32_t *stop;         /* … the backend's own: either is not 0 when the dispatch is to end */
    uint64_t trap_invocation;     /* the smallest that reported; UINT64_MAX before */
    uint32_t trap_code;
    uint32_t stopped; /* 1 if a poll said so */
    uint32_t groups[3];
    uint32_t private_set; /* bit i: `data` of privates[i] is the thread's own */
    uint32_t is_narrow;   /* 1: units are parts of the code with fewer lanes */
    /* 1: what is stored in a row to `write` buffers may go past the caches; the backend orders it afterwards */
    uint32_t streams;
    uint32_t trap_site; /* of trap_invocation: 1 + the index of its `trap` in the program that was compiled */
} vy_cpu_frame;

/* Runs units [first, end) of the grid: unit u is part u % parts of workgroup u / parts, and workgroups are numbered x
 * + groups.x * (y + groups.y * z). */
typedef void vy_cpu_entry(vy_cpu_frame *frame, uint64_t first, uint64_t end);

#endif
