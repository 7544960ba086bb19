/* The kernels of blob.h for AArch64, and the control word of its floating point. Called with x0 = frame, x1 =
 * first, x2 = end. */
#ifndef VY_TESTS_CPU_BLOB_AARCH64_H
#define VY_TESTS_CPU_BLOB_AARCH64_H

__asm__(".pushsection .rodata\n"
        "  .balign 4\n"
        /* out[g] = in[g] + p */
        "blob_add:\n"
        "  ldr x3, [x0]\n  ldr x4, [x3]\n  ldr x5, [x3, #16]\n"
        "  ldr x3, [x0, #8]\n  ldr w6, [x3]\n"
        "1: cmp x1, x2\n  b.hs 2f\n"
        "  ldr w7, [x4, x1, lsl #2]\n  add w7, w7, w6\n  str w7, [x5, x1, lsl #2]\n"
        "  add x1, x1, #1\n  b 1b\n"
        "2: ret\nblob_add_end:\n"
        /* x[g] += 1, slowly */
        "blob_slow:\n"
        "  ldr x3, [x0]\n  ldr x4, [x3]\n"
        "1: cmp x1, x2\n  b.hs 3f\n"
        "  mov w5, #2000\n"
        "2: yield\n  subs w5, w5, #1\n  b.ne 2b\n"
        "  ldr w6, [x4, x1, lsl #2]\n  add w6, w6, #1\n  str w6, [x4, x1, lsl #2]\n"
        "  add x1, x1, #1\n  b 1b\n"
        "3: ret\nblob_slow_end:\n"
        /* every group whose number leaves 3 when divided by 5 traps, with 100 + its number */
        "blob_trap:\n"
        "  mov x3, #5\n"
        "1: cmp x1, x2\n  b.hs 3f\n"
        "  udiv x4, x1, x3\n  msub x4, x4, x3, x1\n"
        "  cmp x4, #3\n  b.ne 2f\n"
        "  ldr x5, [x0, #48]\n  cmp x1, x5\n  b.hs 2f\n"
        "  str x1, [x0, #48]\n  add w6, w1, #100\n  str w6, [x0, #56]\n"
        "2: add x1, x1, #1\n  b 1b\n"
        "3: ret\nblob_trap_end:\n"
        /* runs until it is told to end */
        "blob_spin:\n"
        "  ldr x3, [x0, #32]\n  ldr x4, [x0, #40]\n"
        "1: yield\n  ldr w5, [x3]\n  ldr w6, [x4]\n  orr w5, w5, w6\n  cbz w5, 1b\n"
        "  mov w5, #1\n  str w5, [x0, #60]\n  ret\nblob_spin_end:\n"
        /* x[g] = FPCR, which it then spoils: towards zero, flushing */
        "blob_control:\n"
        "  ldr x3, [x0]\n  ldr x4, [x3]\n"
        "  mrs x5, fpcr\n  str w5, [x4, x1, lsl #2]\n"
        "  mov w5, #0x01c00000\n  msr fpcr, x5\n  ret\nblob_control_end:\n"
        /* writes both ends of the workgroup (4096 bytes) and the spill (8192); x[g] = low bits of their addresses */
        "blob_memory:\n"
        "  ldr x3, [x0]\n  ldr x4, [x3]\n"
        "  ldr x5, [x0, #16]\n  ldr x6, [x0, #24]\n  mov w7, #1\n  mov w8, #4095\n  mov w9, #8191\n"
        "1: cmp x1, x2\n  b.hs 2f\n"
        "  strb w7, [x5]\n  strb w7, [x5, x8]\n  strb w7, [x6]\n  strb w7, [x6, x9]\n"
        "  orr w10, w5, w6\n  and w10, w10, #63\n  str w10, [x4, x1, lsl #2]\n"
        "  add x1, x1, #1\n  b 1b\n"
        "2: ret\nblob_memory_end:\n"
        /* x[0] counts units, each of which ends when there are four */
        "blob_meet:\n"
        "  ldr x3, [x0]\n  ldr x4, [x3]\n  ldr x5, [x0, #40]\n"
        "1: cmp x1, x2\n  b.hs 5f\n"
        "2: ldaxr w6, [x4]\n  add w6, w6, #1\n  stlxr w7, w6, [x4]\n  cbnz w7, 2b\n"
        "3: ldr w6, [x4]\n  cmp w6, #4\n  b.hs 4f\n"
        "  yield\n  ldr w6, [x5]\n  cbz w6, 3b\n"
        "  mov w6, #1\n  str w6, [x0, #60]\n  ret\n"
        "4: add x1, x1, #1\n  b 1b\n"
        "5: ret\nblob_meet_end:\n"
        /* the same, but the first two take a while instead */
        "blob_late:\n"
        "  ldr x3, [x0]\n  ldr x4, [x3]\n  ldr x5, [x0, #40]\n"
        "1: cmp x1, x2\n  b.hs 6f\n"
        "  cmp x1, #2\n  b.hs 3f\n"
        "  mov w6, #20000\n"
        "2: yield\n  subs w6, w6, #1\n  b.ne 2b\n  b 5f\n"
        "3: ldaxr w6, [x4]\n  add w6, w6, #1\n  stlxr w7, w6, [x4]\n  cbnz w7, 3b\n"
        "4: ldr w6, [x4]\n  cmp w6, #4\n  b.hs 5f\n"
        "  yield\n  ldr w6, [x5]\n  cbz w6, 4b\n"
        "  mov w6, #1\n  str w6, [x0, #60]\n  ret\n"
        "5: add x1, x1, #1\n  b 1b\n"
        "6: ret\nblob_late_end:\n"
        /* x[u] = 1, or 2 if the frame says so */
        "blob_narrow:\n"
        "  ldr x3, [x0]\n  ldr x4, [x3]\n  ldr w5, [x0, #80]\n  add w5, w5, #1\n"
        "1: cmp x1, x2\n  b.hs 2f\n"
        "  str w5, [x4, x1, lsl #2]\n  add x1, x1, #1\n  b 1b\n"
        "2: ret\nblob_narrow_end:\n"
        ".popsection\n");

/* FPCR: nearest-even, nothing flushed, NaNs handed on; and what a caller may have set: flushing, one NaN for all, and
 * another rounding mode. */
#define BLOB_CONTROL_OF_RULES 0u
#define BLOB_CONTROL_OF_CALLER(i) (0x03000000u | (uint32_t)(i) << 22)

static inline uint32_t blob_control_get(void) {
    uint64_t value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return (uint32_t)value;
}

static inline void blob_control_set(uint32_t value) {
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)value));
}

#endif
