/* Capabilities and device profiles match the code of a backend, and measured or reported values. */
#include "driver/fake.h"

static const char *const ids[] = {"reference", "cpu-ref", "cpu", "cuda", "opencl"};
enum { IDS = sizeof ids / sizeof *ids };

/* NULL if it does not start here. */
static vyre_backend *acquire(const char *id) {
    vyre_backend *backend = NULL;
    (void)vyre_acquire(id, &backend, NULL);
    return backend;
}

static vyre_device_profile profile_of(vyre_backend *backend) {
    vyre_device_profile profile = {.struct_size = sizeof profile};
    vyre_backend_profile(backend, &profile);
    return profile;
}

static void a_subgroup_size_goes_with_subgroup_ops(void **state) {
    (void)state;
    for (int i = 0; i < IDS; i++) {
        vyre_backend *backend = acquire(ids[i]);
        if (!backend)
            continue;
        uint64_t size = vyre_backend_capability(backend, VYRE_CAPABILITY_SUBGROUP_SIZE);
        assert_int_equal(size != 0, vyre_backend_capability(backend, VYRE_CAPABILITY_SUBGROUP_OPS) != 0);
        assert_int_equal(size & (size - 1), 0);
        assert_true(size <= 64);
        assert_int_equal(profile_of(backend).subgroup_size, size);
        vyre_backend_release(backend);
    }
}

static uint64_t only_a_size(void *self, vyre_capability capability) {
    (void)self;
    return capability == VYRE_CAPABILITY_SUBGROUP_SIZE ? 32 : 0;
}

static void a_size_without_subgroup_ops_is_not_passed_on(void **state) {
    (void)state;
    fake *f = fake_new();
    f->table.capability = only_a_size;
    vyre_backend *backend = fake_open(f);
    assert_int_equal(vyre_backend_capability(backend, VYRE_CAPABILITY_SUBGROUP_SIZE), 0);
    assert_int_equal(profile_of(backend).subgroup_size, 0);
    vyre_backend_release(backend);
}

/* No emitter of this library uses them. */
static void features_that_no_code_uses_are_0(void **state) {
    (void)state;
    static const vyre_capability unused[] = {VYRE_CAPABILITY_TENSOR_CORES, VYRE_CAPABILITY_SPECULATION,
                                             VYRE_CAPABILITY_PERSISTENT_THREADS, VYRE_CAPABILITY_DISTRIBUTED};
    for (int i = 0; i < IDS; i++) {
        vyre_backend *backend = acquire(ids[i]);
        if (!backend)
            continue;
        for (size_t k = 0; k < sizeof unused / sizeof *unused; k++)
            assert_int_equal(vyre_backend_capability(backend, unused[k]), 0);
        vyre_device_profile profile = profile_of(backend);
        assert_int_equal(profile.supports_specialization_constants, 0);
        assert_int_equal(profile.supports_tensor_cores, 0);
        assert_int_equal(profile.has_dual_issue_fp32_int32, 0);
        if (strcmp(ids[i], "cuda") != 0) { /* f16 is computed in f32, or in software */
            assert_int_equal(vyre_backend_capability(backend, VYRE_CAPABILITY_F16), 0);
            assert_int_equal(vyre_backend_capability(backend, VYRE_CAPABILITY_BF16), 0);
            assert_int_equal(profile.supports_f16 | profile.supports_bf16, 0);
        }
        vyre_backend_release(backend);
    }
}

static void numbers_that_nothing_measures_are_0(void **state) {
    (void)state;
    for (int i = 0; i < IDS; i++) {
        vyre_backend *backend = acquire(ids[i]);
        if (!backend)
            continue;
        vyre_device_profile profile = profile_of(backend);
        assert_int_equal(profile.ideal_unroll_depth, 0);
        assert_int_equal(
            profile.ideal_workgroup_tile[0] | profile.ideal_workgroup_tile[1] | profile.ideal_workgroup_tile[2], 0);
        assert_int_equal(profile.shared_memory_bank_count | profile.shared_memory_bank_width_bytes, 0);
        assert_int_equal(profile.regs_per_thread_max, 0);
        if (strstr(ids[i], "ref")) {
            assert_int_equal(profile.compute_units | profile.l1_cache_bytes | profile.l2_cache_bytes, 0);
            assert_int_equal(profile.mem_bw_gbps | profile.ideal_vector_pack_bits, 0);
        }
        vyre_backend_release(backend);
    }
}

static void numerics_without_cases_claim_nothing(void **state) {
    (void)state;
    for (int i = 0; i < IDS; i++) {
        vyre_backend *backend = acquire(ids[i]);
        vyre_numerics_profile numerics = {.struct_size = sizeof numerics};
        if (!backend)
            continue;
        vyre_backend_numerics(backend, &numerics);
        assert_true(numerics.cases || !numerics.exact);
        vyre_backend_release(backend);
    }
}

static void the_profile_repeats_the_capabilities(void **state) {
    (void)state;
    for (int i = 0; i < IDS; i++) {
        vyre_backend *backend = acquire(ids[i]);
        if (!backend)
            continue;
        vyre_device_profile p = profile_of(backend);
        assert_string_equal(p.backend, ids[i]);
        assert_int_equal(p.supports_subgroup_ops, vyre_backend_capability(backend, VYRE_CAPABILITY_SUBGROUP_OPS));
        assert_int_equal(p.has_subgroup_shuffle, p.supports_subgroup_ops);
        assert_int_equal(p.supports_indirect_dispatch,
                         vyre_backend_capability(backend, VYRE_CAPABILITY_INDIRECT_DISPATCH));
        assert_int_equal(p.supports_f16, vyre_backend_capability(backend, VYRE_CAPABILITY_F16));
        assert_int_equal(p.supports_bf16, vyre_backend_capability(backend, VYRE_CAPABILITY_BF16));
        assert_int_equal(p.max_workgroup_size[0],
                         vyre_backend_capability(backend, VYRE_CAPABILITY_MAX_WORKGROUP_SIZE_X));
        assert_int_equal(p.max_invocations_per_workgroup,
                         vyre_backend_capability(backend, VYRE_CAPABILITY_MAX_INVOCATIONS));
        assert_int_equal(p.max_storage_buffer_binding_size,
                         vyre_backend_capability(backend, VYRE_CAPABILITY_MAX_STORAGE_BYTES));
        vyre_backend_release(backend);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_subgroup_size_goes_with_subgroup_ops),
        cmocka_unit_test(a_size_without_subgroup_ops_is_not_passed_on),
        cmocka_unit_test(features_that_no_code_uses_are_0),
        cmocka_unit_test(numbers_that_nothing_measures_are_0),
        cmocka_unit_test(numerics_without_cases_claim_nothing),
        cmocka_unit_test(the_profile_repeats_the_capabilities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
