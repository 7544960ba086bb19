/* Memory of frames, one cached block per thread, and native stacks for kernels with large frames (frame_pool.h).
 * Invariant: a block belongs to one thread at a time. */
#include "backends/cpu/frame_pool.h"

#include "base/memory.h"

#include <sys/mman.h>

/* ---- native stacks ---- */

/* GUARD: a signal handler compiled without stack probes may have a frame of several pages. SIGNALS: for handlers of
 * the host and the registers that the kernel saves for them (3 KiB with AVX-512, 11 KiB with AMX). Untouched pages
 * use no memory. */
enum { GUARD = 64 << 10, SIGNALS = 256 << 10, PAGE_MOST = 64 << 10 };

void vy_cpu_stack_free(vy_cpu_stack *stack) {
    if (stack->map)
        munmap(stack->map, stack->size);
    *stack = (vy_cpu_stack){NULL, 0};
}

int vy_cpu_stack_reserve(vy_cpu_stack *stack, uint64_t bytes) {
    size_t size = GUARD + SIGNALS + (size_t)(bytes + PAGE_MOST - 1) / PAGE_MOST * PAGE_MOST;
    if (stack->size >= size)
        return 1;
    vy_cpu_stack_free(stack);
    void *map =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (map == MAP_FAILED)
        return 0;
    if (mprotect(map, GUARD, PROT_NONE) != 0) {
        munmap(map, size);
        return 0;
    }
    *stack = (vy_cpu_stack){map, size};
    return 1;
}

/* ---- stack switch ---- vy_cpu_stack_switch(frame, first, end, entry, top): calls entry(frame, first, end) with the
 * stack pointer at `top`, a multiple of 16. The caller's stack pointer is kept in the frame pointer, which the entry
 * preserves and from which unwinders find the caller. */

void vy_cpu_stack_switch(vy_cpu_frame *frame, uint64_t first, uint64_t end, vy_cpu_entry *entry, void *top)
    __attribute__((visibility("hidden")));

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".hidden vy_cpu_stack_switch\n"
        ".globl vy_cpu_stack_switch\n"
        ".type vy_cpu_stack_switch, @function\n"
        ".p2align 4\n"
        "vy_cpu_stack_switch:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "pushq %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "movq %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "movq %r8, %rsp\n"
        "callq *%rcx\n"
        "movq %rbp, %rsp\n"
        "popq %rbp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "retq\n"
        ".cfi_endproc\n"
        ".size vy_cpu_stack_switch, . - vy_cpu_stack_switch\n"
        ".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
        ".hidden vy_cpu_stack_switch\n"
        ".globl vy_cpu_stack_switch\n"
        ".type vy_cpu_stack_switch, %function\n"
        ".p2align 4\n"
        "vy_cpu_stack_switch:\n"
        ".cfi_startproc\n"
        "hint #34\n" /* bti c */
        "stp x29, x30, [sp, #-16]!\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset x29, -16\n"
        ".cfi_offset x30, -8\n"
        "mov x29, sp\n"
        ".cfi_def_cfa_register x29\n"
        "mov sp, x4\n"
        "blr x3\n"
        "mov sp, x29\n"
        ".cfi_def_cfa_register sp\n"
        "ldp x29, x30, [sp], #16\n"
        ".cfi_def_cfa_offset 0\n"
        ".cfi_restore x29\n"
        ".cfi_restore x30\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size vy_cpu_stack_switch, . - vy_cpu_stack_switch\n"
        ".popsection\n");
#else
/* On other architectures no object is loaded (cpu_features.h). */
void vy_cpu_stack_switch(vy_cpu_frame *frame, uint64_t first, uint64_t end, vy_cpu_entry *entry, void *top) {
    (void)top;
    entry(frame, first, end);
}
#endif

void vy_cpu_stack_call(const vy_cpu_stack *stack, vy_cpu_entry *entry, vy_cpu_frame *frame, uint64_t first,
                       uint64_t end) {
    vy_cpu_stack_switch(frame, first, end, entry, (char *)stack->map + stack->size);
}

/* ---- frames ---- */

struct vy_cpu_frame_block {
    size_t size; /* of the allocation */
    size_t room; /* usable bytes */
    vy_cpu_stack stack;
};

static void free_block(vy_cpu_frame_block *block) {
    if (!block)
        return;
    vy_cpu_stack_free(&block->stack);
    vy_release(block, block->size);
}

uint8_t *vy_cpu_frame_block_bytes(vy_cpu_frame_block *block) {
    uintptr_t start = (uintptr_t)(block + 1);
    return (uint8_t *)vy_cpu_align(start);
}

const vy_cpu_stack *vy_cpu_frame_block_stack(const vy_cpu_frame_block *block) {
    return &block->stack;
}

/* Owns the stack, also on failure. */
static vy_cpu_frame_block *make(uint64_t room, vy_cpu_stack stack) {
    size_t size = room > PTRDIFF_MAX / 2 ? SIZE_MAX : sizeof(vy_cpu_frame_block) + VY_CPU_ALIGNMENT + (size_t)room;
    vy_cpu_frame_block *block = size < SIZE_MAX ? vy_allocate(size) : NULL;
    if (block)
        *block = (vy_cpu_frame_block){.size = size, .room = (size_t)room, .stack = stack};
    else
        vy_cpu_stack_free(&stack);
    return block;
}

static _Atomic(vy_cpu_frame_block *) *slot_of(vy_cpu_frame_pool *frame_pool, unsigned slot) {
    return &frame_pool->slots[slot % VY_CPU_FRAME_SLOTS].kept;
}

vy_cpu_frame_block *vy_cpu_frame_pool_acquire(vy_cpu_frame_pool *frame_pool, unsigned slot, uint64_t size,
                                              uint64_t stack_bytes) {
    vy_cpu_frame_block *block = atomic_exchange_explicit(slot_of(frame_pool, slot), NULL, memory_order_acquire);
    if (!block || block->room < size) { /* a block that is too small is replaced */
        vy_cpu_stack stack = block ? block->stack : (vy_cpu_stack){NULL, 0};
        if (block)
            vy_release(block, block->size);
        block = make(size, stack);
    }
    if (!block || !vy_cpu_stack_is_needed(stack_bytes) || vy_cpu_stack_reserve(&block->stack, stack_bytes))
        return block;
    free_block(block);
    return NULL;
}

void vy_cpu_frame_pool_release(vy_cpu_frame_pool *frame_pool, unsigned slot, vy_cpu_frame_block *block) {
    free_block(atomic_exchange_explicit(slot_of(frame_pool, slot), block, memory_order_acq_rel));
}

void vy_cpu_frame_pool_trim(vy_cpu_frame_pool *frame_pool) {
    for (unsigned i = 0; i < VY_CPU_FRAME_SLOTS; i++)
        free_block(atomic_exchange_explicit(slot_of(frame_pool, i), NULL, memory_order_acquire));
}
