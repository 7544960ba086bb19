/* Mapping stacks and switching to them (stack.h). */
#include "backends/cpu/stack.h"

#include <sys/mman.h>

/* GUARD: a handler compiled without probes may have a frame of several pages. SIGNALS: for handlers of the host and the registers
 * that the kernel saves for them (3 KiB with AVX-512, 11 KiB with AMX). Pages that are not touched take no memory. */
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

/* ---- the switch ----
 *
 * vy_cpu_stack_switch(frame, first, end, entry, top): calls entry(frame, first, end) with the stack pointer at `top`, a multiple
 * of 16. The caller's stack pointer waits in the frame pointer, which the entry preserves and from which unwinders find the
 * caller. */

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
/* No object is loaded on other architectures (cpu_features.h). */
void vy_cpu_stack_switch(vy_cpu_frame *frame, uint64_t first, uint64_t end, vy_cpu_entry *entry, void *top) {
    (void)top;
    entry(frame, first, end);
}
#endif

void vy_cpu_stack_call(const vy_cpu_stack *stack, vy_cpu_entry *entry, vy_cpu_frame *frame, uint64_t first,
                       uint64_t end) {
    vy_cpu_stack_switch(frame, first, end, entry, (char *)stack->map + stack->size);
}
