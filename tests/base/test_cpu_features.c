/* What follows from the processor's features, and what the kernel's texts say. */
#include "support/test.h"

#include "backends/cpu/cpu.h"
#include "base/cpu_features.h"

#define HAS(exact, ID) ((exact) >> VYRE_NUMERIC_##ID & 1)

static void names_are_those_of_the_list(void **state) {
    (void)state;
    assert_string_equal(vy_cpu_feature_name(13), "avx2");
    assert_string_equal(vy_cpu_feature_name(0), "");
    assert_null(vy_cpu_feature_name(63));
    assert_null(vy_cpu_feature_name(64));
}

static void the_processor_has_the_level_that_the_compiler_finds(void **state) {
    (void)state;
    uint64_t features = vy_cpu_features();
#if defined(__x86_64__)
    __builtin_cpu_init();
    int has_2 = __builtin_cpu_supports("sse3") && __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
                __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    int has_3 = has_2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    int has_4 = has_3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512vl");
    assert_int_equal(features, vy_cpu_level_features(has_4 ? 3 : has_3 ? 2 : has_2 ? 1 : 0));
#elif defined(__aarch64__)
    assert_true(features & VY_CPU_FEATURE_NEON);
#else
    assert_int_equal(features, 0);
#endif
}

static void levels_contain_those_before_them(void **state) {
    (void)state;
    uint64_t before = 0;
    for (unsigned i = 0; i < VY_CPU_LEVEL_COUNT; i++) {
        uint64_t features = vy_cpu_level_features(i);
        assert_true((features & before) == before && features != before);
        before = features;
    }
    assert_string_equal(vy_cpu_level_name(0), "x86-64");
    assert_true(vy_cpu_level_features(2) & VY_CPU_FEATURE_AVX2);
    assert_false(vy_cpu_level_features(2) & VY_CPU_FEATURE_AVX512F);
}

/* AVX without AVX2, AVX2 without FMA, and AVX-512 without 256-bit registers are sets that no test would run. */
static void features_are_rounded_down_to_a_level(void **state) {
    (void)state;
    const uint64_t v2 = vy_cpu_level_features(1), v3 = vy_cpu_level_features(2), v4 = vy_cpu_level_features(3);
    assert_int_equal(vy_cpu_level_round(v4), v4);
    assert_int_equal(vy_cpu_level_round(v4 & ~VY_CPU_FEATURE_AVX512VL), v3);
    assert_int_equal(vy_cpu_level_round(v3 & ~VY_CPU_FEATURE_FMA), v2);
    assert_int_equal(vy_cpu_level_round(v2 | VY_CPU_FEATURE_AVX), v2);
    assert_int_equal(vy_cpu_level_round(v4 & ~VY_CPU_FEATURE_POPCNT), VY_CPU_FEATURE_X86_64);
    const uint64_t arm = VY_CPU_FEATURE_AARCH64 | VY_CPU_FEATURE_NEON | VY_CPU_FEATURE_LSE;
    assert_int_equal(vy_cpu_level_round(arm), arm);
    assert_int_equal(vy_cpu_level_round(0), 0);
}

static void an_isa_is_found_by_name(void **state) {
    (void)state;
    vyre_error error = VYRE_ERROR_INIT;
    uint64_t features = 0;
    assert_int_equal(vy_cpu_isa_find("host", &features, &error), VYRE_OK);
    assert_int_equal(features, vy_cpu_features());
    for (unsigned i = 0; i < VY_CPU_LEVEL_COUNT; i++) {
        assert_int_equal(vy_cpu_isa_find(vy_cpu_level_name(i), &features, &error), VYRE_OK);
        assert_int_equal(features, vy_cpu_level_features(i));
    }
    static const char *const wrong[] = {"", "x86-64-v", "x86-64-v5", "X86-64", "avx2", "host "};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(vy_cpu_isa_find(wrong[i], &features, &error), VYRE_INVALID_ARGUMENT);
        assert_non_null(strstr(error.fix, "x86-64-v4"));
    }
}

static void the_setting_takes_features_away_and_adds_none(void **state) {
    (void)state;
    const uint64_t v2 = vy_cpu_level_features(1), v3 = vy_cpu_level_features(2);
    vyre_error error = VYRE_ERROR_INIT;
    uint64_t features = 0;
    assert_int_equal(vy_cpu_isa_restrict(NULL, v3, &features, &error), VYRE_OK);
    assert_int_equal(features, v3);
    assert_int_equal(vy_cpu_isa_restrict("x86-64-v2", v3, &features, &error), VYRE_OK);
    assert_int_equal(features, v2);
    assert_int_equal(vy_cpu_isa_restrict("x86-64-v3", v3, &features, &error), VYRE_OK);
    assert_int_equal(features, v3);
    assert_int_equal(vy_cpu_isa_restrict("x86-64-v4", v3, &features, &error), VYRE_INVALID_ARGUMENT);
    assert_string_equal(error.message, "VYRE_CPU_ISA names a level that this processor lacks (`x86-64-v4`)");
    assert_string_equal(error.fix, "set VYRE_CPU_ISA to one of x86-64, x86-64-v2, x86-64-v3, or unset it");
    assert_int_equal(vy_cpu_isa_restrict("v3", v3, &features, &error), VYRE_INVALID_ARGUMENT);
    assert_string_equal(error.message, "VYRE_CPU_ISA: unknown ISA `v3`");
    const uint64_t arm = VY_CPU_FEATURE_AARCH64 | VY_CPU_FEATURE_NEON;
    assert_int_equal(vy_cpu_isa_restrict("x86-64", arm, &features, &error), VYRE_INVALID_ARGUMENT);
    assert_string_equal(error.fix, "unset VYRE_CPU_ISA");
}

static void lanes_follow_from_features(void **state) {
    (void)state;
    uint64_t all = VY_CPU_FEATURE_X86_64 | VY_CPU_FEATURE_AVX2 | VY_CPU_FEATURE_AVX512F | VY_CPU_FEATURE_AVX512DQ |
                   VY_CPU_FEATURE_AVX512BW | VY_CPU_FEATURE_AVX512VL;
    assert_int_equal(vy_cpu_width(VY_CPU_FEATURE_X86_64), 4);
    assert_int_equal(vy_cpu_width(VY_CPU_FEATURE_AARCH64 | VY_CPU_FEATURE_NEON), 4);
    assert_int_equal(vy_cpu_width(all), 16);
    assert_int_equal(vy_cpu_width(all & ~VY_CPU_FEATURE_AVX512VL), 8);
}

static void what_no_instruction_promises_is_not_promised(void **state) {
    (void)state;
    uint64_t least = vy_cpu_numerics(VY_CPU_FEATURE_X86_64), most = vy_cpu_numerics(UINT64_MAX);
    assert_int_equal(vy_cpu_numerics(0), 0);
    assert_true(HAS(least, F32_DIV) && HAS(least, F64_SQRT) && HAS(least, F32_SUBNORMAL) && HAS(least, INT64));
    assert_true(HAS(least, F64_FMA)); /* the emitter writes it (emit/llvm/soft_fma.c) */
    assert_false(HAS(least, F32_FMA) || HAS(least, F32_ROUND) || HAS(least, F16_CONVERT));
    assert_true(HAS(most, F32_FMA) && HAS(most, F64_FMA) && HAS(most, F32_ROUND) && HAS(most, F16_CONVERT));
    assert_false(HAS(most, INT_DIV) || HAS(most, SHIFT) || HAS(most, F32_MIN_MAX) || HAS(most, F16_ADD));
}

static void the_model_is_read_from_text(void **state) {
    (void)state;
    char name[16];
    vy_cpu_model_name("processor\t: 0\nmodel name\t: Some CPU\nflags\t: x\nmodel name\t: Other\n", name, sizeof name);
    assert_string_equal(name, "Some CPU");
    vy_cpu_model_name("model name\t: A processor with a long name\n", name, sizeof name);
    assert_string_equal(name, "A processor wit");
    vy_cpu_model_name("model name", name, sizeof name);
    assert_string_equal(name, "");
    vy_cpu_model_name("model name\nmodel name : x", name, sizeof name);
    assert_string_equal(name, "x");
    vy_cpu_model_name("", name, sizeof name);
    assert_string_equal(name, "");
}

/* As Linux writes it on AArch64. */
static void a_model_without_a_name_has_a_maker_and_a_part(void **state) {
    (void)state;
    char name[32];
    vy_cpu_model_name("processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n"
                      "CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
                      name, sizeof name);
    assert_string_equal(name, "Arm, part 0xd0c");
    vy_cpu_model_name("CPU implementer\t: 0x7f\nCPU part\t: 0x001\n", name, sizeof name);
    assert_string_equal(name, "maker 0x7f, part 0x001");
    vy_cpu_model_name("CPU implementer\t: 0x41\n", name, sizeof name);
    assert_string_equal(name, "");
}

static void cache_sizes_are_read_from_text(void **state) {
    (void)state;
    assert_int_equal(vy_cpu_cache_size("32K\n"), 32768);
    assert_int_equal(vy_cpu_cache_size("8M"), 8 << 20);
    assert_int_equal(vy_cpu_cache_size("512"), 512);
    assert_int_equal(vy_cpu_cache_size("4096M"), 0);
    assert_int_equal(vy_cpu_cache_size("K"), 0);
    assert_int_equal(vy_cpu_cache_size(""), 0);
    assert_int_equal(vy_cpu_cache_size("99999999999999999999K"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_the_list),
        cmocka_unit_test(the_processor_has_the_level_that_the_compiler_finds),
        cmocka_unit_test(levels_contain_those_before_them),
        cmocka_unit_test(features_are_rounded_down_to_a_level),
        cmocka_unit_test(an_isa_is_found_by_name),
        cmocka_unit_test(the_setting_takes_features_away_and_adds_none),
        cmocka_unit_test(lanes_follow_from_features),
        cmocka_unit_test(what_no_instruction_promises_is_not_promised),
        cmocka_unit_test(the_model_is_read_from_text),
        cmocka_unit_test(a_model_without_a_name_has_a_maker_and_a_part),
        cmocka_unit_test(cache_sizes_are_read_from_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
