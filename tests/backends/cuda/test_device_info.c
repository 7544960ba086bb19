/* Capabilities and profile of backend `cuda` follow from what the driver reports of a device. */
#include "support/test.h"

#include "backends/cuda/cuda.h"

static vy_cuda_device_info facts_of(uint32_t architecture) {
    return (vy_cuda_device_info){.name = "device",
                                 .driver = "driver",
                                 .architecture = architecture,
                                 .grid = {INT32_MAX, 65535, 65535},
                                 .threads = 1024,
                                 .warp = 32,
                                 .multiprocessors = 132,
                                 .shared_bytes = 232448,
                                 .l2_bytes = 50 << 20,
                                 .bandwidth_gbps = 4800,
                                 .copy_engines = 3,
                                 .memory_bytes = UINT64_C(1) << 37,
                                 .has_indirect = 1};
}

static void reported_values_are_passed_on(void **state) {
    (void)state;
    const vy_cuda_device_info facts = facts_of(90);
    vyre_device_profile profile = {.struct_size = sizeof profile};
    vy_cuda_device_info_profile(&facts, &profile);
    assert_string_equal(profile.device, "device");
    assert_int_equal(profile.compute_units, 132);
    assert_int_equal(profile.l2_cache_bytes, 50 << 20);
    assert_int_equal(profile.mem_bw_gbps, 4800);
    assert_int_equal(vy_cuda_device_info_capability(&facts, VYRE_CAPABILITY_SUBGROUP_SIZE), 32);
    assert_int_equal(vy_cuda_device_info_capability(&facts, VYRE_CAPABILITY_SUBGROUP_OPS), 1);
}

/* The widest access of emitted code. */
static void fields_of_the_target_description_are_passed_on(void **state) {
    (void)state;
    const vy_cuda_device_info facts = facts_of(90);
    vyre_device_profile profile = {.struct_size = sizeof profile};
    vy_cuda_device_info_profile(&facts, &profile);
    assert_int_equal(profile.ideal_vector_pack_bits, 128);
    assert_int_equal(profile.has_subgroup_shuffle, 1);
}

static void fields_that_the_driver_does_not_report_are_0(void **state) {
    (void)state;
    const vy_cuda_device_info facts = facts_of(90);
    vyre_device_profile profile = {.struct_size = sizeof profile};
    vy_cuda_device_info_profile(&facts, &profile);
    assert_int_equal(profile.has_dual_issue_fp32_int32, 0);
    assert_int_equal(profile.regs_per_thread_max | profile.l1_cache_bytes, 0);
    assert_int_equal(profile.ideal_unroll_depth | profile.ideal_workgroup_tile[0], 0);
    assert_int_equal(profile.shared_memory_bank_count | profile.shared_memory_bank_width_bytes, 0);
}

/* The emitter has bf16 from sm_80 on. */
static void capabilities_are_those_of_the_emitter(void **state) {
    (void)state;
    const vy_cuda_device_info old = facts_of(70), new = facts_of(80);
    assert_int_equal(vy_cuda_device_info_capability(&old, VYRE_CAPABILITY_BF16), 0);
    assert_int_equal(vy_cuda_device_info_capability(&new, VYRE_CAPABILITY_BF16), 1);
    assert_int_equal(vy_cuda_device_info_capability(&old, VYRE_CAPABILITY_F16), 1);
    assert_int_equal(vy_cuda_device_info_capability(&new, VYRE_CAPABILITY_TENSOR_CORES), 0);
    assert_int_equal(vy_cuda_device_info_capability(&new, VYRE_CAPABILITY_GRID_SYNC), 0);
    assert_int_equal(vy_cuda_device_info_capability(&new, (vyre_capability)VYRE_CAPABILITY_COUNT), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reported_values_are_passed_on),
        cmocka_unit_test(fields_of_the_target_description_are_passed_on),
        cmocka_unit_test(fields_that_the_driver_does_not_report_are_0),
        cmocka_unit_test(capabilities_are_those_of_the_emitter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
