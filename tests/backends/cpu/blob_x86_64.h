/* The kernels of blob.h for x86-64, and the control word of its floating point. Called with rdi = frame, rsi =
 * first, rdx = end. */
#ifndef VY_TESTS_CPU_BLOB_X86_64_H
#define VY_TESTS_CPU_BLOB_X86_64_H

__asm__(".pushsection .rodata\n"
        /* out[g] = in[g] + p */
        "blob_add:\n"
        "  movq (%rdi), %rax\n  movq (%rax), %r8\n  movq 16(%rax), %r9\n"
        "  movq 8(%rdi), %rax\n  movl (%rax), %ecx\n"
        "1: cmpq %rdx, %rsi\n  jae 2f\n"
        "  movl (%r8,%rsi,4), %eax\n  addl %ecx, %eax\n  movl %eax, (%r9,%rsi,4)\n"
        "  incq %rsi\n  jmp 1b\n"
        "2: ret\nblob_add_end:\n"
        /* x[g] += 1, slowly */
        "blob_slow:\n"
        "  movq (%rdi), %rax\n  movq (%rax), %r8\n"
        "1: cmpq %rdx, %rsi\n  jae 3f\n"
        "  movl $2000, %ecx\n"
        "2: pause\n  decl %ecx\n  jnz 2b\n"
        "  incl (%r8,%rsi,4)\n"
        "  incq %rsi\n  jmp 1b\n"
        "3: ret\nblob_slow_end:\n"
        /* every group whose number leaves 3 when divided by 5 traps, with 100 + its number */
        "blob_trap:\n"
        "  movq %rdx, %r10\n"
        "1: cmpq %r10, %rsi\n  jae 3f\n"
        "  movq %rsi, %rax\n  xorl %edx, %edx\n  movl $5, %ecx\n  divq %rcx\n"
        "  cmpq $3, %rdx\n  jne 2f\n"
        "  cmpq 48(%rdi), %rsi\n  jae 2f\n"
        "  movq %rsi, 48(%rdi)\n  leal 100(%rsi), %eax\n  movl %eax, 56(%rdi)\n"
        "2: incq %rsi\n  jmp 1b\n"
        "3: ret\nblob_trap_end:\n"
        /* runs until it is told to end */
        "blob_spin:\n"
        "  movq 32(%rdi), %rax\n  movq 40(%rdi), %rcx\n"
        "1: pause\n  movl (%rax), %edx\n  orl (%rcx), %edx\n  jz 1b\n"
        "  movl $1, 60(%rdi)\n  ret\nblob_spin_end:\n"
        /* x[g] = MXCSR, which it then spoils: towards zero, flushing */
        "blob_control:\n"
        "  movq (%rdi), %rax\n  movq (%rax), %r8\n"
        "  stmxcsr (%r8,%rsi,4)\n"
        "  movl $0xffc0, -8(%rsp)\n  ldmxcsr -8(%rsp)\n  ret\nblob_control_end:\n"
        /* writes both ends of the workgroup (4096 bytes) and the spill (8192); x[g] = low bits of their addresses */
        "blob_memory:\n"
        "  movq (%rdi), %rax\n  movq (%rax), %r8\n"
        "  movq 16(%rdi), %r9\n  movq 24(%rdi), %r10\n"
        "1: cmpq %rdx, %rsi\n  jae 2f\n"
        "  movb $1, (%r9)\n  movb $1, 4095(%r9)\n  movb $1, (%r10)\n  movb $1, 8191(%r10)\n"
        "  movl %r9d, %eax\n  orl %r10d, %eax\n  andl $63, %eax\n  movl %eax, (%r8,%rsi,4)\n"
        "  incq %rsi\n  jmp 1b\n"
        "2: ret\nblob_memory_end:\n"
        /* x[0] counts units, each of which ends when there are four */
        "blob_meet:\n"
        "  movq (%rdi), %rax\n  movq (%rax), %r8\n  movq 40(%rdi), %rcx\n"
        "1: cmpq %rdx, %rsi\n  jae 4f\n"
        "  lock incl (%r8)\n"
        "2: cmpl $4, (%r8)\n  jae 3f\n"
        "  pause\n  cmpl $0, (%rcx)\n  je 2b\n"
        "  movl $1, 60(%rdi)\n  ret\n"
        "3: incq %rsi\n  jmp 1b\n"
        "4: ret\nblob_meet_end:\n"
        /* the same, but the first two take a while instead */
        "blob_late:\n"
        "  movq (%rdi), %rax\n  movq (%rax), %r8\n  movq 40(%rdi), %rcx\n"
        "1: cmpq %rdx, %rsi\n  jae 6f\n"
        "  cmpq $2, %rsi\n  jae 3f\n"
        "  movl $20000, %eax\n"
        "2: pause\n  decl %eax\n  jnz 2b\n  jmp 5f\n"
        "3: lock incl (%r8)\n"
        "4: cmpl $4, (%r8)\n  jae 5f\n"
        "  pause\n  cmpl $0, (%rcx)\n  je 4b\n"
        "  movl $1, 60(%rdi)\n  ret\n"
        "5: incq %rsi\n  jmp 1b\n"
        "6: ret\nblob_late_end:\n"
        /* x[u] = 1, or 2 if the frame says so */
        "blob_narrow:\n"
        "  movq (%rdi), %rax\n  movq (%rax), %r8\n  movl 80(%rdi), %eax\n  incl %eax\n"
        "1: cmpq %rdx, %rsi\n  jae 2f\n"
        "  movl %eax, (%r8,%rsi,4)\n  incq %rsi\n  jmp 1b\n"
        "2: ret\nblob_narrow_end:\n"
        ".popsection\n");

/* MXCSR: everything masked, nearest-even, no flags; and what a caller may have set, flushing and rounding somehow. */
#define BLOB_CONTROL_OF_RULES 0x1f80u
#define BLOB_CONTROL_OF_CALLER(i) (0x9f80u | (uint32_t)(i) << 13)

static inline uint32_t blob_control_get(void) {
    uint32_t value;
    __asm__ volatile("stmxcsr %0" : "=m"(value));
    return value;
}

static inline void blob_control_set(uint32_t value) {
    __asm__ volatile("ldmxcsr %0" : : "m"(value));
}

#endif
