/* CPU features: the bits that the compiler may use, that code objects require, and from which the numerics profile
 * follows. */
#ifndef VY_BASE_CPU_FEATURES_H
#define VY_BASE_CPU_FEATURES_H

#include "vyre/base.h"

/* X(ID, bit, name). The names are those of LLVM's subtarget features. The architecture is a bit with the name "", so
 * that an object of another architecture requires a missing feature. Bits are stored in code objects: append only. */
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

enum { VY_CPU_WIDTH_MIN = 4, VY_CPU_WIDTH_MAX = 64 };

/* X(name, added): the ISA levels of the x86-64 psABI that compiled code uses. A level has its own features and those of
 * the levels before it. On x86-64 the backend uses only these sets of features, so tests of every level cover every
 * set. */
#define VY_CPU_LEVEL_LIST(X)                                                                                           \
    X("x86-64", VY_CPU_FEATURE_X86_64)                                                                                 \
    X("x86-64-v2", VY_CPU_FEATURE_SSE3 | VY_CPU_FEATURE_SSSE3 | VY_CPU_FEATURE_SSE41 | VY_CPU_FEATURE_SSE42 |          \
                       VY_CPU_FEATURE_POPCNT)                                                                          \
    X("x86-64-v3", VY_CPU_FEATURE_LZCNT | VY_CPU_FEATURE_BMI | VY_CPU_FEATURE_BMI2 | VY_CPU_FEATURE_AVX |              \
                       VY_CPU_FEATURE_F16C | VY_CPU_FEATURE_FMA | VY_CPU_FEATURE_AVX2)                                 \
    X("x86-64-v4", VY_CPU_FEATURE_AVX512F | VY_CPU_FEATURE_AVX512CD | VY_CPU_FEATURE_AVX512DQ |                        \
                       VY_CPU_FEATURE_AVX512BW | VY_CPU_FEATURE_AVX512VL)
#define X(name, added) +1
enum { VY_CPU_LEVEL_COUNT = 0 VY_CPU_LEVEL_LIST(X) };
#undef X

/* The name and all features of a level, which is below VY_CPU_LEVEL_COUNT. */
const char *vy_cpu_level_name(unsigned level);
uint64_t vy_cpu_level_features(unsigned level);
/* The features of the highest level that is contained in the set. Returns a set of another architecture unchanged. */
uint64_t vy_cpu_level_round(uint64_t features);

/* The features that the backend may use on this CPU: on x86-64 the highest level that the CPU supports completely and
 * whose registers the operating system saves; 0 on an unsupported architecture. */
uint64_t vy_cpu_features(void);
/* The features of an ISA by name: a level, or `host` for vy_cpu_features().
 *
 * VYRE_INVALID_ARGUMENT  unknown name */
vyre_status vy_cpu_isa_find(const char *name, uint64_t *features, vyre_error *error);
/* The features that the backend uses: `has`, or those of the level in VYRE_CPU_ISA, which must be a subset.
 *
 * setting  the value of the variable; NULL: not set
 * VYRE_INVALID_ARGUMENT  unknown level, or the CPU lacks a feature of it */
vyre_status vy_cpu_isa_restrict(const char *setting, uint64_t has, uint64_t *features, vyre_error *error);
/* The preferred SIMD width in 32-bit lanes: 16 with AVX-512, 8 with AVX2, else 4. */
uint32_t vy_cpu_width(uint64_t features);
/* The numerics that compiled code computes exactly (bits 1 << VYRE_NUMERIC_…), as the architecture guarantees for the
 * instructions that the emitter uses. */
uint64_t vy_cpu_numerics(uint64_t features);
/* The name of a feature by its bit number; NULL if the bit is unused, "" for an architecture. */
const char *vy_cpu_feature_name(unsigned bit);

#endif
