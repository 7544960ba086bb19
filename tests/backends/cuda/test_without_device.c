/* What of backend `cuda` needs no device: opening the driver's library, what its results mean, how params are laid
 * out, objects that are damaged. */
#include "support/test.h"

#include "backends/cuda/cuda.h"
#include "backends/cuda/executable.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/submission.h"
#include "vyre/text.h"

#include <elf.h>
#include <stdalign.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the library ---- */

static void a_library_that_is_missing_is_named_with_a_fix(void **state) {
    (void)state;
    vy_cuda_dynamic_symbols api;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vy_cuda_dynamic_symbols_open("libcuda-that-is-not-there.so.1", &api, &error), VYRE_NOT_FOUND);
    assert_string_equal(error.message, "libcuda-that-is-not-there.so.1 is not installed");
    assert_string_equal(error.fix, "install the NVIDIA driver");
}

static void a_library_that_is_another_is_refused(void **state) {
    (void)state;
    vy_cuda_dynamic_symbols api;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vy_cuda_dynamic_symbols_open("libm.so.6", &api, &error), VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "cuInit"));
    assert_true(error.fix[0] != 0);
}

/* A name is searched by the loader, a path is checked. */
static void a_library_that_other_users_can_replace_is_not_opened(void **state) {
    (void)state;
    vy_cuda_dynamic_symbols api;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_probe probe = {.struct_size = sizeof probe};
    char folder[] = "/tmp/vyre-cuda-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
    assert_int_equal(symlink(vy_test_command(), path), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    vyre_status status = vy_cuda_dynamic_symbols_open(path, &api, &error);
    setenv("VYRE_CUDA_LIBRARY", path, 1);
    vy_cuda_probe(NULL, &probe);
    unsetenv("VYRE_CUDA_LIBRARY");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(status, VYRE_IO);
    assert_non_null(strstr(error.message, "others may write to the folder"));
    assert_int_equal(probe.answer, VYRE_PROBE_NEVER);
    assert_string_equal(probe.reason, error.message);
    assert_string_equal(probe.fix, error.fix);
}

static void the_probe_says_why_there_is_none(void **state) {
    (void)state;
    vyre_probe probe = {.struct_size = sizeof probe};
    vyre_backend_instance instance;
    vyre_error error = VYRE_ERROR_INIT;
    setenv("VYRE_CUDA_LIBRARY", "libcuda-that-is-not-there.so.1", 1);
    vy_cuda_probe(NULL, &probe);
    assert_int_equal(probe.answer, VYRE_PROBE_NEVER);
    assert_int_equal(probe.device_class, VYRE_DEVICE_GPU);
    assert_int_equal(probe.device_count, 0);
    assert_string_equal(probe.reason, "libcuda-that-is-not-there.so.1 is not installed");
    assert_string_equal(probe.fix, "leave VYRE_CUDA_LIBRARY out, or name the driver's library");
    assert_int_equal(vy_cuda_create(NULL, 0, &instance, &error), VYRE_NOT_FOUND);
    unsetenv("VYRE_CUDA_LIBRARY");
}

/* ---- several devices ---- */

enum { OLD = 50, GOOD = 90 };
static int architectures[4], device_count;

static int say_ok(unsigned flags) {
    (void)flags;
    return 0;
}
static int say_count(int *count) {
    *count = device_count;
    return 0;
}
static int say_device(int *device, int ordinal) {
    *device = ordinal;
    return 0;
}
static int say_name(char *name, int size, int device) {
    snprintf(name, (size_t)size, "device %d", device);
    return 0;
}
static int say_attribute(int *value, int attribute, int device) {
    *value = attribute == VY_CU_DEVICE_MAJOR          ? architectures[device] / 10
             : attribute == VY_CU_DEVICE_MINOR        ? architectures[device] % 10
             : attribute == VY_CU_DEVICE_COMPUTE_MODE ? 0
                                                      : 64;
    return 0;
}
static int say_memory(size_t *bytes, int device) {
    (void)device;
    *bytes = 1 << 30;
    return 0;
}
static int say_version(int *version) {
    *version = 12000;
    return 0;
}

static const vy_cuda_dynamic_symbols some_devices = {.init = say_ok,
                                                     .device_count = say_count,
                                                     .device_get = say_device,
                                                     .device_name = say_name,
                                                     .device_attribute = say_attribute,
                                                     .device_memory = say_memory,
                                                     .driver_version = say_version};

/* A device that is too old does not hide the others, which can be named. */
static void one_device_that_is_served_is_enough(void **state) {
    (void)state;
    const vy_cuda_dynamic_symbols api = some_devices;
    static const struct {
        int count, architectures[4];
        uint32_t served;
    } cases[] = {{1, {GOOD}, 1}, {2, {GOOD, OLD}, 2},    {2, {OLD, GOOD}, 2}, {4, {OLD, OLD, OLD, GOOD}, 4},
                 {1, {OLD}, 0},  {3, {OLD, OLD, OLD}, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vyre_error error = VYRE_ERROR_INIT;
        uint32_t count = 99;
        device_count = cases[i].count;
        memcpy(architectures, cases[i].architectures, sizeof architectures);
        vyre_status status = vy_cuda_device_info_any(&api, &count, &error);
        assert_int_equal(status, cases[i].served ? VYRE_OK : VYRE_UNSUPPORTED);
        assert_int_equal(count, cases[i].served);
        if (!cases[i].served)
            assert_non_null(strstr(error.message, "device 0"));
    }
}

static int end_the_process(unsigned flags) {
    (void)flags;
    _exit(9);
}

static int fork_is_told(void) {
    vy_cuda_dynamic_symbols api = some_devices;
    vy_cuda_device_info facts;
    vyre_error error = VYRE_ERROR_INIT;
    uint32_t count = 99;
    int device;
    api.init = end_the_process; /* nor is anything else of the driver called: all else is NULL */
    api.device_count = NULL;
    for (int i = 0; i < 2; i++) {
        vyre_status status = i ? vy_cuda_device_info_any(&api, &count, &error)
                               : vy_cuda_device_info_query(&api, 0, &device, &facts, &error);
        if (status != VYRE_UNSUPPORTED || !strstr(error.message, "does not survive its fork") ||
            !strstr(error.fix, "fork before"))
            return 1;
    }
    return count == 0 ? 0 : 2;
}

static void a_child_does_not_call_the_driver_of_its_parent(void **state) {
    (void)state;
    vyre_error error = VYRE_ERROR_INIT;
    uint32_t count;
    int status = -1;
    device_count = 1;
    architectures[0] = GOOD;
    assert_int_equal(vy_cuda_device_info_any(&some_devices, &count, &error), VYRE_OK);
    pid_t child = fork();
    if (child == 0)
        _exit(fork_is_told());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(vy_cuda_device_info_any(&some_devices, &count, &error), VYRE_OK);
}

static void a_wrong_number_in_the_environment_is_refused(void **state) {
    (void)state;
    static const char *const refused[] = {" 2", "+2", "2 ", "0x2", "-1", "x", "1048577", "18446744073709551617"};
    vyre_error error = VYRE_ERROR_INIT;
    vy_cuda_device_info facts = {.zero_copy_bytes = 7};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        setenv("VYRE_CUDA_DIRECT", refused[i], 1);
        assert_int_equal(vy_cuda_device_info_apply_env(&facts, &error), VYRE_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, "VYRE_CUDA_DIRECT is not a number from 0 to 1048576"));
        assert_int_equal(facts.zero_copy_bytes, 7);
    }
    setenv("VYRE_CUDA_DIRECT", "", 1);
    assert_int_equal(vy_cuda_device_info_apply_env(&facts, &error), VYRE_OK);
    assert_int_equal(facts.zero_copy_bytes, 7);
    setenv("VYRE_CUDA_DIRECT", "1048576", 1);
    assert_int_equal(vy_cuda_device_info_apply_env(&facts, &error), VYRE_OK);
    assert_int_equal(facts.zero_copy_bytes, 1048576);
    facts.zero_copy_bytes = 0; /* a device without */
    assert_int_equal(vy_cuda_device_info_apply_env(&facts, &error), VYRE_OK);
    assert_int_equal(facts.zero_copy_bytes, 0);
    unsetenv("VYRE_CUDA_DIRECT");
}

/* ---- results ---- */

static int no_name(int result, const char **name) {
    (void)result;
    *name = NULL;
    return 1;
}

static void results_become_statuses(void **state) {
    (void)state;
    static const struct {
        int result;
        vyre_status status;
        int is_loss;
    } rows[] = {{0, VYRE_OK, 0},
                {2, VYRE_NO_DEVICE_MEMORY, 0},
                {100, VYRE_NOT_FOUND, 0},
                {209, VYRE_CORRUPT, 0},
                {222, VYRE_UNSUPPORTED, 0},
                {700, VYRE_DEVICE_LOST, 1},
                {701, VYRE_LIMIT, 0},
                {702, VYRE_DEVICE_LOST, 1},
                {716, VYRE_DEVICE_LOST, 1},
                {719, VYRE_DEVICE_LOST, 1},
                {999, VYRE_DEVICE_LOST, 1},
                {12345, VYRE_UNSUPPORTED, 0}};
    const vy_cuda_dynamic_symbols api = {.error_name = no_name, .error_string = no_name};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        vyre_error error = VYRE_ERROR_INIT;
        assert_int_equal(vy_cuda_status(rows[i].result), rows[i].status);
        assert_int_equal(vy_cuda_is_loss(rows[i].result), rows[i].is_loss);
        if (!rows[i].result)
            continue;
        assert_int_equal(vy_cuda_fail_result(&api, rows[i].result, "doing something", &error), rows[i].status);
        assert_non_null(strstr(error.message, "doing something"));
        assert_true(error.fix[0] != 0);
        if (rows[i].is_loss)
            assert_non_null(strstr(error.fix, "restart the process"));
    }
}

/* ---- params ---- */

static const char text[] =
    "program p {\n param a : u8\n param b : f64\n param c : bool\n param d : i64\n param e : f16\n"
    " buffer x : u32 read\n buffer y : f64 read_write\n buffer z : u8 write\n workgroup 32\n grid over y\n"
    " let i = global_id.x\n if i < len(y) && c { y[i] = y[i] * b + f64(x[i]) + f64(d) + f64(e) + f64(a)\n z[i] = a "
    "}\n}\n";

static vyre_program *parse(const char *source) {
    vyre_module *module;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_text_parse(source, strlen(source), NULL, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s (%s)", error.message, error.where);
    vyre_program *program = vyre_program_retain(vyre_module_program(module, 0));
    vyre_module_free(module);
    return program;
}

/* Where the text says that its params are: each at a multiple of its size. */
static size_t declared_offsets(const char *ptx, uint32_t *offsets, uint32_t *end) {
    size_t count = 0;
    uint32_t at = 0;
    for (const char *p = strstr(ptx, ".entry"); (p = strstr(p, "\t.param .u")); p += 10) {
        uint32_t size = strncmp(p + 10, "64", 2) == 0 ? 8 : 4;
        at = (at + size - 1) / size * size;
        offsets[count++] = at;
        at += size;
    }
    *end = at;
    return count;
}

static void params_are_packed_where_the_text_declares_them(void **state) {
    (void)state;
    vyre_program *program = parse(text);
    vy_cuda_lowered lowered;
    vyre_error error = VYRE_ERROR_INIT;
    static vy_cuda_kernel kernel;
    uint32_t offsets[32], end;
    for (int may_widen = 0; may_widen < 2; may_widen++) {
        if (vy_cuda_lower(program, 90, vy_ptx_exact(90), 0, may_widen, &lowered, &error) != VYRE_OK)
            fail_msg("%s", error.message);
        size_t count = declared_offsets(lowered.code.text.data, offsets, &end);
        vy_cuda_param_layout(program, lowered.factor > 1, &kernel);
        assert_int_equal(count, lowered.code.param_count);
        assert_int_equal(count, 7 + kernel.param_count);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(offsets[i], 8 * i);
            assert_int_equal(offsets[3 + i], 24 + 4 * i);
        }
        for (uint32_t i = 0; i < kernel.param_count; i++)
            assert_int_equal(offsets[6 + i], kernel.param_offsets[i] & ~VY_CUDA_PARAM_WIDE);
        assert_int_equal(offsets[count - 1], kernel.control_offset);
        assert_int_equal(end, kernel.param_bytes);
        vy_ptx_free(&lowered.code);
    }
    vyre_program_release(program);
}

static void packed_params_have_their_values(void **state) {
    (void)state;
    vyre_program *program = parse(text);
    static vy_cuda_kernel kernel;
    const vyre_scalar params[] = {{VYRE_TYPE_U8, 7},
                                  {VYRE_TYPE_F64, 0x400921fb54442d18},
                                  {VYRE_TYPE_BOOL, 1},
                                  {VYRE_TYPE_I64, UINT64_MAX},
                                  {VYRE_TYPE_F16, 0x3c00}};
    const uint64_t elements[] = {10, 20, 30};
    const vy_cu_address addresses[] = {0x1000, 0x2000, 0x3000};
    vyre_launch launch = {
        .params = params, .param_count = 5, .elements = elements, .buffer_count = 3, .groups = {9, 2, 3}};
    alignas(8) uint8_t bytes[VY_CUDA_PARAM_BYTES];
    uint32_t grid[3], word;
    uint64_t wide;
    kernel.header.factor = 4;
    vy_cuda_param_layout(program, 1, &kernel);
    assert_int_equal(vy_cuda_pack(&kernel, &launch, addresses, 0x4000, bytes, grid), kernel.param_bytes);
    for (int i = 0; i < 3; i++) {
        memcpy(&wide, bytes + 8 * i, 8);
        memcpy(&word, bytes + 24 + 4 * i, 4);
        assert_int_equal(wide, addresses[i]);
        assert_int_equal(word, elements[i]);
    }
    for (int i = 0; i < 5; i++) {
        uint32_t offset = kernel.param_offsets[i], is_wide = offset & VY_CUDA_PARAM_WIDE;
        wide = 0;
        memcpy(&wide, bytes + (offset & ~VY_CUDA_PARAM_WIDE), is_wide ? 8 : 4);
        assert_int_equal(wide, is_wide ? params[i].bits : (uint32_t)params[i].bits);
        assert_int_equal(is_wide != 0, i == 1 || i == 3);
    }
    memcpy(&word, bytes + kernel.param_offsets[5], 4);
    assert_int_equal(word, 9); /* the grid the program is to see */
    memcpy(&wide, bytes + kernel.control_offset, 8);
    assert_int_equal(wide, 0x4000);
    assert_int_equal(grid[0], 3);
    assert_int_equal(grid[1], 2);
    assert_int_equal(grid[2], 3);
    vyre_program_release(program);
}

/* ---- what a program needs ---- */

static void only_programs_that_trap_or_poll_have_a_control_block(void **state) {
    (void)state;
    static const struct {
        const char *source;
        int cancellable, reports, polls;
    } rows[] = {
        {"program p {\n buffer x : u32 read_write\n workgroup 32\n grid over x\n x[global_id.x] = 1\n}\n", 0, 0, 0},
        {"program p {\n buffer x : u32 read_write\n workgroup 32\n grid over x\n if x[0] == 1 { trap 3 }\n x[0] = "
         "1\n}\n",
         0, 1, 0},
        {"program p {\n buffer x : u32 read_write\n workgroup 32\n grid over x\n var n = 1u32\n while n != 0 { n = n * "
         "3 }\n"
         " x[0] = n\n}\n",
         1, 0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        vyre_program *program = parse(rows[i].source);
        vy_cuda_lowered lowered;
        vyre_error error = VYRE_ERROR_INIT;
        if (vy_cuda_lower(program, 90, vy_ptx_exact(90), rows[i].cancellable, 1, &lowered, &error) != VYRE_OK)
            fail_msg("%s", error.message);
        assert_int_equal(lowered.reports, rows[i].reports);
        assert_int_equal(lowered.polls, rows[i].polls);
        vy_ptx_free(&lowered.code);
        vyre_program_release(program);
    }
}

/* ---- slices ---- */

#define OVER_Y(body)                                                                                                   \
    "program p {\n param a : u32\n buffer x : u32 read\n buffer y : u32 read_write\n buffer t : u32 read\n"            \
    " workgroup 64\n grid over y\n array w : u32 [64] workgroup\n let i = global_id.x\n" body "}\n"

static void programs_that_stay_at_their_own_element_can_be_cut(void **state) {
    (void)state;
    static const struct {
        const char *source;
        int can_be_cut, table; /* whether t is cut too */
    } rows[] = {
        {OVER_Y(" y[i] = x[i] + a\n"), 1, 1},
        {OVER_Y(" let j = i\n if j < len(y) { y[j] = x[j] * y[i] }\n"), 1, 1},
        {OVER_Y(" y[i] = x[i] + t[x[i] % 7]\n"), 1, 0}, /* a table is uploaded whole */
        {OVER_Y(" y[i] = x[i] + t[i]\n"), 1, 1},
        {OVER_Y(" y[i] = group_count.x + global_size.x + i\n"), 1, 1},
        {OVER_Y(" w[local_index] = x[i]\n barrier\n y[i] = w[63 - local_index]\n"), 1, 1},
        {OVER_Y(" y[i + 1] = x[i]\n"), 0, 0},
        {OVER_Y(" y[i] = y[i ^ 1]\n"), 0, 0},
        {OVER_Y(" y[local_index] = x[i]\n"), 0, 0},
        {OVER_Y(" y[global_id.y] = x[i]\n"), 0, 0},
        {OVER_Y(" atomic_add(y[i], x[i])\n"), 0, 0},
        {OVER_Y(" var k = i\n k = k + a\n y[k] = x[i]\n"), 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        vyre_program *program = parse(rows[i].source);
        vyre_error error = VYRE_ERROR_INIT;
        uint8_t roles[3];
        int can_be_cut;
        assert_int_equal(vy_cuda_pipelined_analyze(program, &can_be_cut, roles, &error), VYRE_OK);
        if (can_be_cut != rows[i].can_be_cut || (can_be_cut && roles[2] != rows[i].table))
            fail_msg("%s: %d, the table %d", rows[i].source, can_be_cut, roles[2]);
        vyre_program_release(program);
    }
}

/* ---- objects ---- */

static void damaged_objects_are_refused_before_the_driver_sees_them(void **state) {
    (void)state;
    static vy_cuda cuda;
    struct {
        vy_cuda_header header;
        alignas(Elf64_Ehdr) char image[sizeof(Elf64_Ehdr)];
    } object;
    vyre_program *program = parse(text);
    cuda.device_info.architecture = 90;
    for (int what = 0; what < 13; what++) {
        vyre_error error = VYRE_ERROR_INIT;
        vy_cuda_executable *code;
        memset(&object, 0, sizeof object);
        memcpy(object.header.magic, VY_CUDA_MAGIC, 8);
        object.header.format = VY_CUDA_FORMAT;
        object.header.architecture = 90;
        object.header.factor = 1;
        object.header.image_bytes = sizeof object.image;
        vyre_bytes bytes = {&object, sizeof object, sizeof object};
        switch (what) {
        case 0:
            bytes.size = sizeof object.header - 1;
            break;
        case 1:
            object.header.magic[0] = 'x';
            break;
        case 2:
            object.header.format++;
            break;
        case 3:
            object.header.architecture = 80;
            break;
        case 4:
            object.header.image_bytes++;
            break;
        case 5:
            object.header.factor = 3;
            break;
        case 6:
            memset(object.header.entry, 'x', sizeof object.header.entry);
            break;
        case 7: /* a text without an end */
            memset(object.image, 'x', sizeof object.image);
            break;
        case 8: /* a cubin whose sections lie behind it */
            memcpy(object.image, ELFMAG, SELFMAG);
            ((Elf64_Ehdr *)object.image)->e_shoff = sizeof object.image + 1;
            break;
        case 9: /* the kernel for grids on the device in the place of the other */
            object.header.indirect = 1;
            break;
        case 10: /* a part behind the image that is none */
            object.header.image_bytes = 16;
            object.header.indirect_bytes = sizeof object.image - 16;
            break;
        case 11:
            object.header.image_bytes = 1;
            object.header.indirect_bytes = UINT64_MAX;
            break;
        case 12:
            object.header.indirect_bytes = sizeof object.image;
            break;
        }
        vyre_status status = vy_cuda_executable_new(&cuda, program, 0, &bytes, &code, &error);
        assert_int_equal(status, what == 2 || what == 3 ? VYRE_UNSUPPORTED : VYRE_CORRUPT);
        assert_true(error.fix[0] != 0);
        assert_null(code);
    }
    vyre_program_release(program);
}

static char *seen; /* by the driver, which then refuses it */

static int see_image(vy_cu_module *module, const void *image, unsigned count, int *options, void **values) {
    (void)module, (void)count, (void)options, (void)values;
    seen = strdup(image);
    return 218;
}

static void the_driver_is_given_the_text_of_the_program(void **state) {
    (void)state;
    static vy_cuda cuda;
    vyre_program *program = parse(text);
    vy_cuda_lowered lowered;
    vy_cuda_executable *code;
    vyre_error error = VYRE_ERROR_INIT;
    cuda.device_info.architecture = 90;
    cuda.device_info.shared_bytes = 48 << 10;
    cuda.api.module_load = see_image;
    cuda.api.error_name = cuda.api.error_string = no_name;
    atomic_init(&cuda.exact, vy_ptx_exact(90));
    assert_int_equal(vy_cuda_lower(program, 90, vy_ptx_exact(90), 0, 1, &lowered, &error), VYRE_OK);
    assert_int_not_equal(vy_cuda_compile(&cuda, program, 0, &code, &error), VYRE_OK);
    assert_null(code);
    assert_string_equal(seen, lowered.code.text.data);
    free(seen);
    vy_ptx_free(&lowered.code);
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_that_is_missing_is_named_with_a_fix),
        cmocka_unit_test(a_library_that_is_another_is_refused),
        cmocka_unit_test(a_library_that_other_users_can_replace_is_not_opened),
        cmocka_unit_test(the_probe_says_why_there_is_none),
        cmocka_unit_test(one_device_that_is_served_is_enough),
        cmocka_unit_test(a_child_does_not_call_the_driver_of_its_parent),
        cmocka_unit_test(a_wrong_number_in_the_environment_is_refused),
        cmocka_unit_test(results_become_statuses),
        cmocka_unit_test(params_are_packed_where_the_text_declares_them),
        cmocka_unit_test(packed_params_have_their_values),
        cmocka_unit_test(only_programs_that_trap_or_poll_have_a_control_block),
        cmocka_unit_test(programs_that_stay_at_their_own_element_can_be_cut),
        cmocka_unit_test(damaged_objects_are_refused_before_the_driver_sees_them),
        cmocka_unit_test(the_driver_is_given_the_text_of_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
