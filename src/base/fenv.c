/* The floating-point environment. All of the control state is replaced, and the exception flags are given back as they
 * were, so that a caller who traps, flushes or rounds otherwise notices nothing. */
#include "base/thread.h"

#if defined(__x86_64__)

/* MXCSR: all exceptions masked, nearest-even, neither flush-to-zero nor denormals-are-zero, flags clear. The x87 word:
 * masked, nearest, 64-bit significand, which is what the ABI starts a process with. */
#define OUR_MXCSR 0x1f80u
#define OUR_X87 0x037fu

void vy_fenv_enter(vy_fenv *saved) {
    unsigned mxcsr, ours = OUR_MXCSR;
    unsigned short x87, our_x87 = OUR_X87;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87) : : "memory");
    saved->words[0] = mxcsr;
    saved->words[1] = x87;
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(ours), "m"(our_x87) : "memory");
}

void vy_fenv_leave(const vy_fenv *saved) {
    unsigned mxcsr = (unsigned)saved->words[0];
    unsigned short x87 = (unsigned short)saved->words[1];
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(x87) : "memory");
}

#elif defined(__aarch64__)

/* FPCR 0: nearest-even, no flush-to-zero (FZ, FZ16), no default-NaN, no traps. FPSR holds the exception flags. */
void vy_fenv_enter(vy_fenv *saved) {
    unsigned long control, status;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(status) : : "memory");
    saved->words[0] = control;
    saved->words[1] = status;
    __asm__ volatile("msr fpcr, %0" : : "r"(0ul) : "memory");
}

void vy_fenv_leave(const vy_fenv *saved) {
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(saved->words[0]), "r"(saved->words[1]) : "memory");
}

#else

#include <fenv.h>
#include <string.h>

_Static_assert(sizeof(fenv_t) <= sizeof(vy_fenv), "the environment of this platform fits");

void vy_fenv_enter(vy_fenv *saved) {
    fenv_t environment;
    fegetenv(&environment);
    memcpy(saved->words, &environment, sizeof environment);
    fesetenv(FE_DFL_ENV);
}

void vy_fenv_leave(const vy_fenv *saved) {
    fenv_t environment;
    memcpy(&environment, saved->words, sizeof environment);
    fesetenv(&environment);
}

#endif
