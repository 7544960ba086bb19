/* What the OpenCL C emitter refuses, with the reason: what the device lacks, grid barriers, libraries, and legal
 * programs for other targets. */
#include "support/test.h"

#include "emit/opencl/opencl.h"
#include "vyre/text.h"

static const vy_opencl_device least = {.exact = UINT64_MAX, .version = 120};

static void refused(const char *text, const vy_opencl_device *device, vyre_status status, const char *what,
                    const char *fix) {
    vyre_program *program = vy_test_parse(text);
    vy_opencl_code code;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vy_opencl_emit(program, device, &code, &error), status);
    if (!strstr(error.message, what) || !strstr(error.fix, fix))
        fail_msg("`%s`, fix `%s`; expected `%s` and `%s`", error.message, error.fix, what, fix);
    assert_null(code.text.data);
    vyre_program_release(program);
}

static void what_the_device_lacks_is_refused(void **state) {
    (void)state;
    vy_opencl_device device = least;
    refused("program p {\n buffer x : u64 read_write\n workgroup 1\n grid 1\n let _a = atomic_add(x[0], 1)\n}\n",
            &least, VYRE_UNSUPPORTED, "an atomic of 64 bits", "32 bits");
    refused("program p {\n buffer x : u32 read_write\n workgroup 1\n grid 1\n atomic_store<release>(x[0], 1)\n}\n",
            &least, VYRE_UNSUPPORTED, "order `release`", "relaxed");
    device.has_int64_atomics = 1;
    refused("program p {\n buffer x : u64 read_write\n workgroup 1\n grid 1\n"
            " let _a = atomic_load<acquire>(x[0])\n}\n",
            &device, VYRE_UNSUPPORTED, "order `acquire`", "relaxed");
    device.has_ordered_atomics = 1;
    refused("program p {\n buffer x : u32 read_write\n workgroup 1\n grid 1\n x[0] = 1\n grid_barrier\n x[1] = 2\n}\n",
            &device, VYRE_UNSUPPORTED, "a grid barrier", "`stage`");
}

static void states_that_fit_nowhere_are_refused(void **state) {
    (void)state;
    vy_opencl_device device = least;
    device.errata = VY_OPENCL_ERRATUM_POCL;
    refused("program p {\n buffer x : u32 read_write\n workgroup 1024\n grid 1\n array own : u32 [1024] private\n"
            " own[0] = 1\n if group_id.x == 0 { barrier }\n own[1] = own[0]\n}\n",
            &device, VYRE_LIMIT, "keep 4210688 bytes", "smaller workgroup");
}

static void libraries_are_refused(void **state) {
    (void)state;
    static const char text[] = "fn f(x: u32) -> u32 {\n return x\n}\n";
    vyre_module *module = NULL;
    vy_opencl_code code;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_text_parse(text, strlen(text), NULL, NULL, &module, NULL), VYRE_OK);
    assert_int_equal(vy_opencl_emit(vyre_module_library(module), &least, &code, &error), VYRE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "library"));
    vyre_module_free(module);
}

static void programs_that_were_not_legalised_are_refused(void **state) {
    (void)state;
    refused("program p {\n buffer x : u32 read_write\n workgroup 1\n grid 1\n x[0] = 1\n}\n", &least, VYRE_UNSUPPORTED,
            "a bounds check", "level source");
    refused("program p {\n buffer x : u32 read_write\n workgroup 32\n grid 1\n"
            " x[global_id.x] = subgroup_reduce_add<32>(x[global_id.x])\n}\n",
            &least, VYRE_UNSUPPORTED, "a collective", "level source");
    refused("program p {\n buffer x : u32 read_write\n workgroup 1\n grid 1\n trap 1\n}\n", &least, VYRE_UNSUPPORTED,
            "traps", "level source");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_device_lacks_is_refused),
        cmocka_unit_test(states_that_fit_nowhere_are_refused),
        cmocka_unit_test(libraries_are_refused),
        cmocka_unit_test(programs_that_were_not_legalised_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
