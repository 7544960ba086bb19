/* What the processor can do: bits that the compiler may use, that objects need, and that the numerics profile follows from. */
#ifndef VY_BACKENDS_CPU_FEATURES_H
#define VY_BACKENDS_CPU_FEATURES_H

#include <stdint.h>

/* X(ID, bit, name): names are those of LLVM's subtarget features; "" for the architecture itself, which is a bit too so that an object of another one needs
 * something that is not there. Bits are part of objects: append only. */
#define VY_CPU_FEATURE_LIST(X)                                                                                         \
    X(X86_64, 0, "")                                                                                                   \
    X(AARCH64, 1, "")                                                                                                  \
    X(SSE3, 2, "sse3")                                                                                                 \
    X(SSSE3, 3, "ssse3")                                                                                               \
    X(SSE41, 4, "sse4.1")                                                                                              \
    X(SSE42, 5, "sse4.2")                                                                                              \
    X(POPCNT, 6, "popcnt")                                                                                             \
    X(LZCNT, 7, "lzcnt")                                                                                               \
    X(BMI, 8, "bmi")                                                                                                   \
    X(BMI2, 9, "bmi2")                                                                                                 \
    X(AVX, 10, "avx")                                                                                                  \
    X(F16C, 11, "f16c")                                                                                                \
    X(FMA, 12, "fma")                                                                                                  \
    X(AVX2, 13, "avx2")                                                                                                \
    X(AVX512F, 14, "avx512f")                                                                                          \
    X(AVX512CD, 15, "avx512cd")                                                                                        \
    X(AVX512DQ, 16, "avx512dq")                                                                                        \
    X(AVX512BW, 17, "avx512bw")                                                                                        \
    X(AVX512VL, 18, "avx512vl")                                                                                        \
    X(NEON, 32, "neon")                                                                                                \
    X(LSE, 33, "lse")                                                                                                  \
    X(FULLFP16, 34, "fullfp16")
#define X(ID, bit, name) static const uint64_t VY_CPU_FEATURE_##ID __attribute__((unused)) = UINT64_C(1) << (bit);
VY_CPU_FEATURE_LIST(X)
#undef X

enum { VY_CPU_WIDTH_LEAST = 4, VY_CPU_WIDTH_MAX = 64 };

/* What this processor has and the operating system saves; 0 on an architecture we have no code for. */
uint64_t vy_cpu_features(void);
/* Lanes that fit it best: 16 with AVX-512, 8 with AVX2, else 4. */
uint32_t vy_cpu_width(uint64_t features);
/* What compiled code computes exactly (bits 1 << VYRE_NUMERIC_…): what the architecture promises of the instructions the emitter chooses. */
uint64_t vy_cpu_numerics(uint64_t features);
/* The name of a feature by its bit's number; NULL if no feature has it, "" for an architecture. */
const char *vy_cpu_feature_name(unsigned bit);

#endif
