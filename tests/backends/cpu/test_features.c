/* What follows from the processor's features, and what the kernel's texts say. */
#include "support/test.h"

#include "backends/cpu/features.h"
#include "backends/cpu/machine.h"

#define HAS(exact, ID) ((exact) >> VYRE_NUMERIC_##ID & 1)

static void names_are_those_of_the_list(void **state) {
    (void)state;
    assert_string_equal(vy_cpu_feature_name(13), "avx2");
    assert_string_equal(vy_cpu_feature_name(0), "");
    assert_null(vy_cpu_feature_name(63));
    assert_null(vy_cpu_feature_name(64));
}

static void the_processor_is_what_this_test_was_compiled_for(void **state) {
    (void)state;
    uint64_t features = vy_cpu_features();
#if defined(__x86_64__)
    assert_true(features & VY_CPU_FEATURE_X86_64);
    __builtin_cpu_init();
    assert_int_equal((features & VY_CPU_FEATURE_AVX2) != 0, __builtin_cpu_supports("avx2") != 0);
    assert_int_equal((features & VY_CPU_FEATURE_FMA) != 0, __builtin_cpu_supports("fma") != 0);
    assert_int_equal((features & VY_CPU_FEATURE_SSE41) != 0, __builtin_cpu_supports("sse4.1") != 0);
    assert_int_equal((features & VY_CPU_FEATURE_BMI2) != 0, __builtin_cpu_supports("bmi2") != 0);
    assert_int_equal((features & VY_CPU_FEATURE_AVX512F) != 0, __builtin_cpu_supports("avx512f") != 0);
    assert_int_equal((features & VY_CPU_FEATURE_AVX512VL) != 0, __builtin_cpu_supports("avx512vl") != 0);
#elif defined(__aarch64__)
    assert_true(features & VY_CPU_FEATURE_NEON);
#else
    assert_int_equal(features, 0);
#endif
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
    assert_false(HAS(least, F32_FMA) || HAS(least, F64_FMA) || HAS(least, F32_ROUND) || HAS(least, F16_CONVERT));
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
        cmocka_unit_test(the_processor_is_what_this_test_was_compiled_for),
        cmocka_unit_test(lanes_follow_from_features),
        cmocka_unit_test(what_no_instruction_promises_is_not_promised),
        cmocka_unit_test(the_model_is_read_from_text),
        cmocka_unit_test(a_model_without_a_name_has_a_maker_and_a_part),
        cmocka_unit_test(cache_sizes_are_read_from_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
