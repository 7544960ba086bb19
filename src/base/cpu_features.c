/* CPU feature detection with cpuid or the auxiliary vector (cpu_features.h). */
#include "base/cpu_features.h"

#include "base/status.h"
#include "vyre/backend.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#if defined(__x86_64__)

enum { LEAF_1_ECX, LEAF_1_EDX, LEAF_7_EBX, LEAF_80000001_ECX, WORD_COUNT };

/* Register state that the operating system saves on a context switch: bits of XCR0. */
enum { SAVES_YMM = 0x6, SAVES_ZMM = 0xe6 };

static uint64_t saved_state(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* The cpuid bit of each feature (Intel SDM, volume 2A, CPUID), and the XCR0 bits that it requires. */
static const struct {
    uint64_t feature;
    uint8_t word, bit;
    uint8_t saves;
} rows[] = {
    {VY_CPU_FEATURE_SSE3, LEAF_1_ECX, 0, 0},
    {VY_CPU_FEATURE_SSSE3, LEAF_1_ECX, 9, 0},
    {VY_CPU_FEATURE_SSE41, LEAF_1_ECX, 19, 0},
    {VY_CPU_FEATURE_SSE42, LEAF_1_ECX, 20, 0},
    {VY_CPU_FEATURE_POPCNT, LEAF_1_ECX, 23, 0},
    {VY_CPU_FEATURE_LZCNT, LEAF_80000001_ECX, 5, 0},
    {VY_CPU_FEATURE_BMI, LEAF_7_EBX, 3, 0},
    {VY_CPU_FEATURE_BMI2, LEAF_7_EBX, 8, 0},
    {VY_CPU_FEATURE_AVX, LEAF_1_ECX, 28, SAVES_YMM},
    {VY_CPU_FEATURE_F16C, LEAF_1_ECX, 29, SAVES_YMM},
    {VY_CPU_FEATURE_FMA, LEAF_1_ECX, 12, SAVES_YMM},
    {VY_CPU_FEATURE_AVX2, LEAF_7_EBX, 5, SAVES_YMM},
    {VY_CPU_FEATURE_AVX512F, LEAF_7_EBX, 16, SAVES_ZMM},
    {VY_CPU_FEATURE_AVX512CD, LEAF_7_EBX, 28, SAVES_ZMM},
    {VY_CPU_FEATURE_AVX512DQ, LEAF_7_EBX, 17, SAVES_ZMM},
    {VY_CPU_FEATURE_AVX512BW, LEAF_7_EBX, 30, SAVES_ZMM},
    {VY_CPU_FEATURE_AVX512VL, LEAF_7_EBX, 31, SAVES_ZMM},
};

uint64_t vy_cpu_features(void) {
    uint32_t words[WORD_COUNT] = {0}, unused;
    uint64_t features = VY_CPU_FEATURE_X86_64, saved = 0;
    __get_cpuid(1, &unused, &unused, &words[LEAF_1_ECX], &words[LEAF_1_EDX]);
    __get_cpuid_count(7, 0, &unused, &words[LEAF_7_EBX], &unused, &unused);
    __get_cpuid(0x80000001, &unused, &unused, &words[LEAF_80000001_ECX], &unused);
    if (words[LEAF_1_ECX] & (1u << 27)) /* OSXSAVE: xgetbv is available */
        saved = saved_state();
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((words[rows[i].word] >> rows[i].bit & 1) && (saved & rows[i].saves) == rows[i].saves)
            features |= rows[i].feature;
    return vy_cpu_level_round(features);
}

#elif defined(__aarch64__)

uint64_t vy_cpu_features(void) {
    enum { HAS_FPHP = 1 << 9, HAS_ASIMDHP = 1 << 10, HAS_ATOMICS = 1 << 8 }; /* asm/hwcap.h */
    unsigned long has = getauxval(AT_HWCAP);
    uint64_t features = VY_CPU_FEATURE_AARCH64 | VY_CPU_FEATURE_NEON;
    if (has & HAS_ATOMICS)
        features |= VY_CPU_FEATURE_LSE;
    if ((has & HAS_FPHP) && (has & HAS_ASIMDHP))
        features |= VY_CPU_FEATURE_FULLFP16;
    return features;
}

#else

uint64_t vy_cpu_features(void) {
    return 0;
}

#endif

/* ---- ISA levels ---- */

static const struct {
    const char *name;
    uint64_t added;
} levels[VY_CPU_LEVEL_COUNT] = {
#define X(name, added) {name, added},
    VY_CPU_LEVEL_LIST(X)
#undef X
};

const char *vy_cpu_level_name(unsigned level) {
    return levels[level].name;
}

uint64_t vy_cpu_level_features(unsigned level) {
    uint64_t features = 0;
    for (unsigned i = 0; i <= level; i++)
        features |= levels[i].added;
    return features;
}

uint64_t vy_cpu_level_round(uint64_t features) {
    for (unsigned level = VY_CPU_LEVEL_COUNT; level-- > 0;)
        if (!(vy_cpu_level_features(level) & ~features))
            return vy_cpu_level_features(level);
    return features;
}

/* "x86-64, x86-64-v2": the levels whose features are all in the set. */
static void list_levels(uint64_t features, char *text, size_t room) {
    size_t used = 0;
    *text = 0;
    for (unsigned i = 0; i < VY_CPU_LEVEL_COUNT && used < room; i++)
        if (!(vy_cpu_level_features(i) & ~features))
            used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", levels[i].name);
}

vyre_status vy_cpu_isa_find(const char *name, uint64_t *features, vyre_error *error) {
    char names[64];
    *features = vy_cpu_features();
    if (strcmp(name, "host") == 0)
        return VYRE_OK;
    for (unsigned i = 0; i < VY_CPU_LEVEL_COUNT; i++)
        if (strcmp(name, levels[i].name) == 0) {
            *features = vy_cpu_level_features(i);
            return VYRE_OK;
        }
    list_levels(UINT64_MAX, names, sizeof names);
    return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("use host, or one of %s", names), "unknown ISA `%.40s`", name);
}

vyre_status vy_cpu_isa_restrict(const char *setting, uint64_t has, uint64_t *features, vyre_error *error) {
    uint64_t wanted = has;
    char names[64];
    vyre_error why;
    *features = has;
    if (setting && vy_cpu_isa_find(setting, &wanted, &why) != VYRE_OK)
        return vy_fail(error, VYRE_INVALID_ARGUMENT, VY_FIX("%s, or unset VYRE_CPU_ISA", why.fix), "VYRE_CPU_ISA: %s",
                       why.message);
    list_levels(has, names, sizeof names);
    if (wanted & ~has)
        return vy_fail(error, VYRE_INVALID_ARGUMENT,
                       *names ? VY_FIX("set VYRE_CPU_ISA to one of %s, or unset it", names) : "unset VYRE_CPU_ISA",
                       "VYRE_CPU_ISA names a level that this processor lacks (`%.40s`)", setting);
    *features = wanted;
    return VYRE_OK;
}

/* ---- properties of feature sets ---- */

uint32_t vy_cpu_width(uint64_t features) {
    const uint64_t wide =
        VY_CPU_FEATURE_AVX512F | VY_CPU_FEATURE_AVX512DQ | VY_CPU_FEATURE_AVX512BW | VY_CPU_FEATURE_AVX512VL;
    if ((features & wide) == wide)
        return 16;
    return features & VY_CPU_FEATURE_AVX2 ? 8 : 4;
}

/* In the default environment, which the backend sets around every call, SSE2 and NEON guarantee correctly rounded + - *
 * / and square root with subnormals (IEEE 754). The emitter uses no instruction with a weaker guarantee. */
uint64_t vy_cpu_numerics(uint64_t features) {
#define BIT(ID) (UINT64_C(1) << VYRE_NUMERIC_##ID)
    static const struct {
        uint64_t features; /* any of these */
        uint64_t exact;
    } promises[] = {
        {VY_CPU_FEATURE_X86_64 | VY_CPU_FEATURE_AARCH64,
         BIT(INT8) | BIT(INT16) | BIT(INT64) | BIT(F32_ADD) | BIT(F32_MUL) | BIT(F32_DIV) | BIT(F32_SQRT) |
             BIT(F32_SUBNORMAL) | BIT(F32_CONVERT) | BIT(F64_ADD) | BIT(F64_MUL) | BIT(F64_DIV) | BIT(F64_SQRT) |
             BIT(F64_SUBNORMAL) | BIT(F64_CONVERT) | BIT(F64_FMA)}, /* of fma: emit/llvm/soft_fma.c */
        {VY_CPU_FEATURE_FMA | VY_CPU_FEATURE_AARCH64, BIT(F32_FMA)},
        {VY_CPU_FEATURE_SSE41 | VY_CPU_FEATURE_AARCH64, BIT(F32_ROUND) | BIT(F64_ROUND)},
        {VY_CPU_FEATURE_F16C | VY_CPU_FEATURE_AARCH64, BIT(F16_CONVERT)},
    };
#undef BIT
    uint64_t exact = 0;
    for (unsigned i = 0; i < sizeof promises / sizeof *promises; i++)
        if (features & promises[i].features)
            exact |= promises[i].exact;
    return exact;
}

const char *vy_cpu_feature_name(unsigned bit) {
    static const char *const names[64] = {
#define X(ID, place, name) [place] = name,
        VY_CPU_FEATURE_LIST(X)
#undef X
    };
    return bit < 64 ? names[bit] : NULL;
}
