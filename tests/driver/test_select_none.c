/* The fix of a selection that finds no usable backend: the last backend that the policy allows, and a policy that
 * allows a usable one. The backends are the built-in ones, made unusable with environment variables. */
#include "support/test.h"

#include "vyre/driver.h"

#include <unistd.h>

static char folder[64];

static int setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/vyre-select-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    unsetenv("VYRE_BACKEND");
    unsetenv("VYRE_PLUGINS");
    unsetenv("VYRE_COMPILER");
    setenv("VYRE_CACHE_DIR", folder, 1);
    setenv("VYRE_CUDA_LIBRARY", "no-driver.so", 1);
    setenv("VYRE_OPENCL_LIBRARY", "no-loader.so", 1);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    (void)rmdir(folder);
    return 0;
}

static void select_fails(const vyre_policy *policy, vyre_error *error) {
    vyre_backend *backend = NULL;
    assert_int_equal(vyre_select(policy, &backend, NULL, error), VYRE_NOT_FOUND);
    assert_null(backend);
}

static void a_missing_compiler_is_the_fix_when_the_cpu_is_allowed(void **state) {
    const vyre_policy policy = VYRE_POLICY_DEFAULT;
    vyre_error error;
    (void)state;
    setenv("VYRE_COMPILER", "/there/is/none", 1);
    select_fails(&policy, &error);
    assert_non_null(strstr(error.message, "no backend is usable (cuda: no-driver.so"));
    assert_string_equal(error.fix, "for backend cpu: correct the path in VYRE_COMPILER, or unset it");
}

/* A CPU that is not usable either is not recommended. */
static void gpus_only_name_a_driver(void **state) {
    vyre_error error;
    (void)state;
    setenv("VYRE_COMPILER", "/there/is/none", 1);
    select_fails(NULL, &error);
    assert_string_equal(error.fix, "for backend opencl: leave VYRE_OPENCL_LIBRARY out, or name the OpenCL loader");
}

static void a_usable_cpu_is_recommended_and_then_chosen(void **state) {
    const vyre_policy policy = VYRE_POLICY_DEFAULT;
    vyre_backend *backend = NULL;
    vyre_error error;
    (void)state;
    if (vyre_select(&policy, &backend, NULL, NULL) != VYRE_OK)
        skip(); /* the build has no compiler */
    assert_string_equal(vyre_backend_id(backend), "cpu");
    vyre_backend_release(backend);
    select_fails(NULL, &error);
    assert_string_equal(error.fix, "allow the CPU in the policy, as VYRE_POLICY_DEFAULT does; or for backend opencl: "
                                   "leave VYRE_OPENCL_LIBRARY out, or name the OpenCL loader");
}

/* Reasons that do not fit are counted, and none is cut. */
static void a_message_ends_with_a_whole_reason(void **state) {
    const vyre_policy policy = VYRE_POLICY_DEFAULT;
    char path[180] = "/";
    vyre_error error;
    (void)state;
    memset(path + 1, 'x', sizeof path - 2);
    path[sizeof path - 1] = 0;
    setenv("VYRE_COMPILER", path, 1);
    setenv("VYRE_CUDA_LIBRARY", path + 1, 1);
    select_fails(&policy, &error);
    size_t length = strlen(error.message);
    assert_string_equal(error.message + length - 6, " more)");
    assert_memory_equal(error.fix, "for backend cpu: ", 17);
}

static void a_named_device_that_does_not_exist_is_the_reason(void **state) {
    const vyre_policy policy = VYRE_POLICY_DEFAULT;
    vyre_error error;
    (void)state;
    setenv("VYRE_BACKEND", "cpu#7", 1);
    select_fails(&policy, &error);
    assert_memory_equal(error.message, "backend `cpu#7` is not usable: ", 31);
    assert_memory_equal(error.fix, "use `cpu`", 9);
    setenv("VYRE_BACKEND", "cuda", 1);
    select_fails(&policy, &error);
    assert_string_equal(error.message, "backend `cuda` is not usable: no-driver.so is not installed");
    assert_string_equal(error.fix, "leave VYRE_CUDA_LIBRARY out, or name the driver's library");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_missing_compiler_is_the_fix_when_the_cpu_is_allowed, setup, teardown),
        cmocka_unit_test_setup_teardown(gpus_only_name_a_driver, setup, teardown),
        cmocka_unit_test_setup_teardown(a_usable_cpu_is_recommended_and_then_chosen, setup, teardown),
        cmocka_unit_test_setup_teardown(a_message_ends_with_a_whole_reason, setup, teardown),
        cmocka_unit_test_setup_teardown(a_named_device_that_does_not_exist_is_the_reason, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
