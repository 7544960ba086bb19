/* What the processor can do: bits that the compiler may use, that objects need, and that the numerics profile follows
 * from. */
#ifndef VY_BASE_CPU_FEATURES_H
#define VY_BASE_CPU_FEATURES_H

#include "vyre/base.h"

/* X(ID, bit, name): names are those of LLVM's subtarget features; "" for the architecture itself, which is a bit too so
 * that an object of another one needs something that is not there. Bits are part of objects: append only. */
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

/* X(name, added): the ISA levels of the x86-64 psABI, as far as compiled code uses them. A level has its own features
 * and those of the levels before it. On x86-64 the backend never uses a set of features that is not one of these, so
 * that tests of every level cover every set. */
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
/* The highest level whose features are all in the set: its features. A set of another architecture is given back
 * unchanged. */
uint64_t vy_cpu_level_round(uint64_t features);

/* What the backend may use of this processor: on x86-64 the highest level of which the processor has every feature and
 * the operating system saves the registers; 0 on an architecture without code. */
uint64_t vy_cpu_features(void);
/* The features of an ISA by name: a level, or `host` for vy_cpu_features().
 *
 * VYRE_INVALID_ARGUMENT  there is no such level */
vyre_status vy_cpu_isa_find(const char *name, uint64_t *features, vyre_error *error);
/* The features that the backend uses: those that the processor has, or those of the level that VYRE_CPU_ISA names,
 * which must be a part of them.
 *
 * setting  the variable's value; NULL: it is not set
 * VYRE_INVALID_ARGUMENT  there is no such level, or the processor lacks a feature of it */
vyre_status vy_cpu_isa_restrict(const char *setting, uint64_t has, uint64_t *features, vyre_error *error);
/* Lanes that fit it best: 16 with AVX-512, 8 with AVX2, else 4. */
uint32_t vy_cpu_width(uint64_t features);
/* What compiled code computes exactly (bits 1 << VYRE_NUMERIC_…): what the architecture promises of the instructions
 * the emitter chooses. */
uint64_t vy_cpu_numerics(uint64_t features);
/* The name of a feature by its bit's number; NULL if no feature has it, "" for an architecture. */
const char *vy_cpu_feature_name(unsigned bit);

#endif
