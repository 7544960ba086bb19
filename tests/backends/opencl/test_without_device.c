/* What backend `opencl` says where something is missing: the loader, drivers, devices, or a device that is served. */
#include "support/test.h"

#include "backends/opencl/executable.h"
#include "backends/opencl/launch.h"
#include "backends/opencl/opencl.h"
#include "ir/model.h"
#include "vyre/driver.h"
#include "vyre/text.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/vyre-opencl-XXXXXX";

/* The loader reads its folder once a process: so each in one of its own. */
static void expect_told(const char *environment, const char *words, const char *fix) {
    char line[1024], text[8192];
    snprintf(line, sizeof line,
             "VYRE_CACHE_DIR= VYRE_CUDA_LIBRARY=no-driver.so OCL_ICD_FILENAMES= %s '%s' backends 2>&1", environment,
             vy_test_command());
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    size_t count = fread(text, 1, sizeof text - 1, pipe);
    text[count] = 0;
    pclose(pipe);
    if (!strstr(text, words) || !strstr(text, fix))
        fail_msg("expected `%s` and `%s` in:\n%s", words, fix, text);
}

static int has_loader(void) {
    vy_ocl_dynamic_symbols api;
    return vy_ocl_dynamic_symbols_open("libOpenCL.so.1", &api, NULL) == VYRE_OK;
}

static void a_missing_loader_is_told(void **state) {
    (void)state;
    expect_told("VYRE_OPENCL_LIBRARY=no-loader.so", "no-loader.so is not installed", "leave VYRE_OPENCL_LIBRARY out");
    expect_told("VYRE_OPENCL_LIBRARY=libm.so.6", "libm.so.6 has no cl", "install a loader of OpenCL 1.2 or later");
}

static void a_library_that_other_users_can_replace_is_not_opened(void **state) {
    (void)state;
    vy_ocl_dynamic_symbols api;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_probe probe = {.struct_size = sizeof probe};
    char shared[] = "/tmp/vyre-opencl-XXXXXX", path[64];
    assert_non_null(mkdtemp(shared));
    snprintf(path, sizeof path, "%s/libOpenCL.so.1", shared);
    assert_int_equal(symlink(vy_test_command(), path), 0);
    assert_int_equal(chmod(shared, 0777), 0);
    vyre_status status = vy_ocl_dynamic_symbols_open(path, &api, &error);
    setenv("VYRE_OPENCL_LIBRARY", path, 1);
    vy_ocl_probe(NULL, &probe);
    unsetenv("VYRE_OPENCL_LIBRARY");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(shared), 0);
    assert_int_equal(status, VYRE_IO);
    assert_non_null(strstr(error.message, "others may write to the folder"));
    assert_int_equal(probe.answer, VYRE_PROBE_NEVER);
    assert_string_equal(probe.reason, error.message);
    assert_string_equal(probe.fix, error.fix);
}

static void missing_and_broken_drivers_are_told(void **state) {
    (void)state;
    char variable[256], path[128];
    if (!has_loader())
        VY_SKIP("there is no OpenCL loader");
    snprintf(variable, sizeof variable, "OCL_ICD_VENDORS=%s", folder);
    expect_told(variable, "no OpenCL driver is installed", "install the OpenCL driver of your device");
    snprintf(path, sizeof path, "%s/broken.icd", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("libthere-is-none.so.7\n", file);
    fclose(file);
    expect_told(variable, "broken.icd names a library that does not load (libthere-is-none.so.7",
                "install that driver again, or remove the file");
    unlink(path);
}

/* ---- a loader of our own ---- */

static struct {
    int32_t devices_result;
    uint32_t count, type, address_bits;
    const char *profile;
} fake;

static int32_t fake_platform_ids(uint32_t room, vy_cl_platform *platforms, uint32_t *count) {
    if (room)
        platforms[0] = (vy_cl_platform)&fake;
    *count = 1;
    return 0;
}

static int32_t give(const void *value, size_t bytes, size_t room, void *to, size_t *size) {
    if (to)
        memcpy(to, value, bytes < room ? bytes : room);
    if (size)
        *size = bytes;
    return 0;
}

static int32_t fake_platform_info(vy_cl_platform platform, uint32_t what, size_t room, void *value, size_t *size) {
    (void)platform;
    (void)what;
    return give("Fake", 5, room, value, size);
}

static int32_t fake_device_ids(vy_cl_platform platform, uint64_t type, uint32_t room, vy_cl_device *devices,
                               uint32_t *count) {
    (void)platform;
    (void)type;
    for (uint32_t i = 0; i < room && i < fake.count; i++)
        devices[i] = (vy_cl_device)(void *)((char *)&fake + i);
    *count = fake.count;
    return fake.devices_result;
}

static int32_t fake_device_info(vy_cl_device device, uint32_t what, size_t room, void *value, size_t *size) {
    uint64_t number = what == VY_CL_DEVICE_TYPE           ? fake.type
                      : what == VY_CL_DEVICE_ADDRESS_BITS ? fake.address_bits
                      : what == VY_CL_DEVICE_VENDOR_ID    ? 0
                                                          : 0xff;
    (void)device;
    switch (what) {
    case VY_CL_DEVICE_NAME:
        return give("Fake device", 12, room, value, size);
    case VY_CL_DEVICE_VERSION:
        return give("OpenCL 1.2 fake", 16, room, value, size);
    case VY_CL_DEVICE_PROFILE:
        return give(fake.profile, strlen(fake.profile) + 1, room, value, size);
    case VY_CL_DRIVER_VERSION:
    case VY_CL_DEVICE_EXTENSIONS:
    case VY_CL_DEVICE_C_VERSION:
        return give("1", 2, room, value, size);
    default:
        return give(&number, sizeof number, room, value, size);
    }
}

static void wrap(vy_ocl_dynamic_symbols *api) {
    api->platform_ids = fake_platform_ids;
    api->platform_info = fake_platform_info;
    api->device_ids = fake_device_ids;
    api->device_info = fake_device_info;
}

static vyre_probe probe_fake(void) {
    vyre_probe probe = {.struct_size = sizeof probe};
    if (!has_loader())
        VY_SKIP("there is no OpenCL loader");
    vy_ocl_dynamic_symbols_wrap(wrap);
    vy_ocl_probe(NULL, &probe);
    vy_ocl_dynamic_symbols_wrap(NULL);
    return probe;
}

static void setup_fake(int32_t result, uint32_t count, uint32_t type) {
    fake.devices_result = result, fake.count = count, fake.type = type;
    fake.address_bits = 64, fake.profile = "FULL_PROFILE";
}

static void a_platform_without_devices_is_told(void **state) {
    (void)state;
    setup_fake(VY_CL_DEVICE_NOT_FOUND, 0, 0);
    vyre_probe probe = probe_fake();
    assert_int_equal(probe.answer, VYRE_PROBE_NEVER);
    assert_string_equal(probe.reason, "the OpenCL platform `Fake` has no device");
    assert_true(probe.fix[0]);
}

static void a_driver_that_does_not_start_is_told(void **state) {
    (void)state;
    setup_fake(-6, 0, 0);
    vyre_probe probe = probe_fake();
    assert_int_equal(probe.answer, VYRE_PROBE_NEVER);
    assert_string_equal(probe.reason, "the driver of the OpenCL platform `Fake` does not start (result -6)");
}

static void a_device_that_is_not_served_is_told(void **state) {
    (void)state;
    setup_fake(0, 1, VY_CL_TYPE_GPU);
    fake.profile = "EMBEDDED_PROFILE";
    vyre_probe probe = probe_fake();
    assert_int_equal(probe.answer, VYRE_PROBE_NEVER);
    assert_string_equal(probe.reason, "Fake device is not served: it has the embedded profile only");
    setup_fake(0, 1, VY_CL_TYPE_GPU);
    fake.address_bits = 32;
    probe = probe_fake();
    assert_string_equal(probe.reason, "Fake device is not served: its addresses do not have 64 bits");
}

static void the_class_is_that_of_the_device(void **state) {
    (void)state;
    setup_fake(0, 1, VY_CL_TYPE_GPU);
    assert_int_equal(probe_fake().device_class, VYRE_DEVICE_GPU);
    setup_fake(0, 1, VY_CL_TYPE_CPU);
    vyre_probe probe = probe_fake();
    assert_int_equal(probe.answer, VYRE_PROBE_YES);
    assert_int_equal(probe.device_class, VYRE_DEVICE_SOFTWARE);
}

/* Two identical devices are two, each with its number. */
static void identical_devices_have_numbers(void **state) {
    (void)state;
    vyre_backend *backend;
    vyre_error error;
    setup_fake(0, 2, VY_CL_TYPE_GPU);
    assert_int_equal(probe_fake().device_count, 2);
    vy_ocl_dynamic_symbols_wrap(wrap);
    assert_int_equal(vyre_acquire("opencl#2", &backend, &error), VYRE_NOT_FOUND);
    vy_ocl_dynamic_symbols_wrap(NULL);
    assert_string_equal(error.message, "there is no device 2 of `opencl` (there are 2, from 0 on)");
    assert_string_equal(error.fix, "use a number below 2, or plain `opencl`");
}

/* ---- objects ---- */

/* Facts that are none, constant tables and an image, as an entry of the disk cache. */
typedef struct parts {
    vy_ocl_header header;
    char facts[64], tables[32], image[16];
} parts;

static void start_object(const vyre_program *program, parts *object) {
    memset(object, 0, sizeof *object);
    object->header = (vy_ocl_header){.magic = VY_OCL_MAGIC,
                                     .format = VY_OCL_FORMAT,
                                     .launch_abi = VY_LAUNCH_ABI,
                                     .block = {64, 1, 1},
                                     .arguments = 2,
                                     .tables_argument = VY_NONE,
                                     .values_argument = 1,
                                     .control_argument = VY_NONE,
                                     .values = vy_launch_values_of(program),
                                     .entry = "add_kernel",
                                     .fact_bytes = sizeof object->facts,
                                     .table_bytes = sizeof object->tables,
                                     .image_bytes = sizeof object->image};
}

static void damaged_objects_are_refused_before_the_driver_sees_them(void **state) {
    (void)state;
    static const char text[] = "program add {\n param a : u32\n buffer x : u32 read_write\n workgroup 64\n"
                               " grid over x\n if global_id.x < len(x) { x[global_id.x] = a }\n}\n";
    static vy_ocl ocl; /* any call of its driver is a crash */
    vyre_module *module;
    parts object;
    assert_int_equal(vyre_text_parse(text, strlen(text), NULL, NULL, &module, NULL), VYRE_OK);
    vyre_program *program = vyre_module_program(module, 0);
    for (int what = 0; what < 18; what++) {
        vyre_error error = VYRE_ERROR_INIT;
        vy_gpu_executable *code;
        start_object(program, &object);
        vy_ocl_header *header = &object.header;
        vyre_span bytes = {&object, sizeof object};
        switch (what) {
        case 0:
            bytes.size = sizeof *header - 1;
            break;
        case 1:
            header->magic[0] = 'x';
            break;
        case 2:
            header->format++;
            break;
        case 3:
            header->launch_abi++;
            break;
        case 4:
            bytes.size--;
            break;
        case 5:
            header->image_bytes = 0, header->table_bytes += sizeof object.image;
            break;
        case 6: /* sizes whose sum is right modulo 2^64 */
            header->fact_bytes = sizeof object, header->table_bytes = UINT64_MAX - sizeof object.image;
            break;
        case 7:
            header->more_bytes = UINT64_MAX;
            break;
        case 8:
            memset(header->entry, 'x', sizeof header->entry);
            break;
        case 9:
            memset(header->options, 'x', sizeof header->options);
            break;
        case 10: /* the kernel for slices in the position of the other */
            header->hidden = 6;
            break;
        case 11:
            header->values_argument = header->arguments;
            break;
        case 12:
            header->arguments = 0, header->values_argument = VY_NONE;
            break;
        case 13:
            header->polls = 1;
            break;
        case 14:
            header->values.params++;
            break;
        case 15:
            header->values.param_at[0] = (uint16_t)header->values.bytes;
            break;
        case 16: /* facts that are none */
            break;
        case 17:
            header->block[1] = 0;
            break;
        }
        vyre_status status = vy_ocl_load(&ocl.base, program, 0, bytes, &code, &error);
        if (status != (what == 2 || what == 3 || what == 16 ? VYRE_UNSUPPORTED : VYRE_CORRUPT))
            fail_msg("object %d gives %s: %s", what, vyre_status_name(status), error.message);
        assert_null(code);
    }
    vyre_module_free(module);
}

/* Workgroups of the largest slice; 0: the launch runs as a whole. */
static uint64_t slice_of(vyre_device_class device, uint32_t block, const uint32_t groups[3], uint64_t deadline_ns) {
    static vy_ocl ocl;
    static vy_ocl_executable code;
    vyre_launch launch = {.deadline_ns = deadline_ns};
    uint32_t step[3];
    ocl.info.device_class = device;
    ocl.base.can_signal = 1;
    code.base.gpu = &ocl.base;
    code.kernel.header.block[0] = block;
    code.kernel.header.block[1] = code.kernel.header.block[2] = 1;
    memcpy(launch.groups, groups, sizeof launch.groups);
    int is_sliced = vy_ocl_needs_slices(&code.base, &launch, step);
    for (int d = 0; d < 3; d++)
        assert_in_range(step[d], 1, groups[d]);
    return is_sliced ? (uint64_t)step[0] * step[1] * step[2] : 0;
}

/* PoCL counts workgroups in 32 bits, and starts all of a launch after a request to stop. */
static void large_grids_of_processors_run_in_slices(void **state) {
    (void)state;
    static const uint32_t small[] = {1024, 1024, 1}, many[] = {65536, 65536, 1}, wide[] = {1 << 16, 1, 1},
                          most[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX}, edge[] = {1 << 15, 1 << 15, 1};
    assert_int_equal(slice_of(VYRE_DEVICE_SOFTWARE, 64, small, 0), 0);
    assert_int_equal(slice_of(VYRE_DEVICE_SOFTWARE, 64, edge, 0), 0);
    assert_in_range(slice_of(VYRE_DEVICE_SOFTWARE, 1, many, 0), 1 << 29, 1 << 30);
    assert_in_range(slice_of(VYRE_DEVICE_SOFTWARE, 1024, most, 0), 1 << 29, 1 << 30);
    assert_int_equal(slice_of(VYRE_DEVICE_SOFTWARE, 64, small, 1), 0);
    assert_int_equal(slice_of(VYRE_DEVICE_SOFTWARE, 1024, wide, 1), 0);
    assert_int_equal(slice_of(VYRE_DEVICE_SOFTWARE, 1, many, 1), 1 << 20);
    assert_int_equal(slice_of(VYRE_DEVICE_SOFTWARE, 1024, many, 1), 1 << 16);
    assert_int_equal(slice_of(VYRE_DEVICE_GPU, 1, small, 1), 0);
    assert_int_equal(slice_of(VYRE_DEVICE_GPU, 1, many, 0), UINT64_C(65536) * 65535);
}

int main(void) {
    if (!mkdtemp(folder))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_loader_is_told),
        cmocka_unit_test(a_library_that_other_users_can_replace_is_not_opened),
        cmocka_unit_test(missing_and_broken_drivers_are_told),
        cmocka_unit_test(a_platform_without_devices_is_told),
        cmocka_unit_test(a_driver_that_does_not_start_is_told),
        cmocka_unit_test(a_device_that_is_not_served_is_told),
        cmocka_unit_test(the_class_is_that_of_the_device),
        cmocka_unit_test(identical_devices_have_numbers),
        cmocka_unit_test(large_grids_of_processors_run_in_slices),
        cmocka_unit_test(damaged_objects_are_refused_before_the_driver_sees_them),
    };
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failures;
}
