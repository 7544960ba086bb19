/* Parts of backend `cuda` that need no device: opening the driver's library, its results, the layout of params, damaged
 * objects, and what is loaded and launched, by a driver that does nothing. */
#include "support/fault.h"
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

/* The kernel of a lowered program, as it is loaded. */
static void lay_out(vyre_program *program, const vy_cuda_lowered *lowered, const vy_ptx_code *code,
                    vy_cuda_kernel *kernel) {
    memset(kernel, 0, sizeof *kernel);
    kernel->header.factor = lowered->factor;
    kernel->header.tiled_axes = code->tiled_axes;
    kernel->header.indirect = code->indirect;
    vy_cuda_param_layout(program, kernel);
}

static void params_are_packed_where_the_text_declares_them(void **state) {
    (void)state;
    vyre_program *program = parse(text);
    vy_cuda_lowered lowered;
    vyre_error error = VYRE_ERROR_INIT;
    static vy_cuda_kernel kernel;
    uint32_t offsets[32], end;
    for (int may_widen = 0; may_widen < 2; may_widen++) {
        vy_cuda_lowering how = {.architecture = 90, .target = vy_ptx_target(90, 0)};
        how.target.coarsen = may_widen ? VY_COARSEN_IF_FASTER : VY_COARSEN_NEVER;
        if (vy_cuda_lower(program, &how, &lowered, &error) != VYRE_OK)
            fail_msg("%s", error.message);
        size_t count = declared_offsets(lowered.code.text.data, offsets, &end);
        lay_out(program, &lowered, &lowered.code, &kernel);
        assert_int_equal(kernel.header.tiled_axes, 1); /* it is divisible */
        assert_int_equal(count, lowered.code.param_count);
        assert_int_equal(count, 7 + kernel.param_count);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(offsets[i], 8 * i);
            assert_int_equal(offsets[3 + i], 24 + 4 * i);
        }
        for (uint32_t i = 0; i < kernel.param_count; i++)
            assert_int_equal(offsets[6 + i], kernel.param_offsets[i] & ~VY_CUDA_PARAM_WIDE);
        assert_int_equal(offsets[6 + kernel.param_count - 2], kernel.tile_offset);
        assert_int_equal(offsets[count - 1], kernel.control_offset);
        assert_int_equal(end, kernel.param_bytes);
        assert_int_equal(lowered.batched.row_bytes, (end + 15) / 16 * 16);
        vy_cuda_lowered_free(&lowered);
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
    vy_cuda_param_layout(program, &kernel);
    assert_int_equal(vy_cuda_pack(&kernel, &launch, NULL, addresses, 0x4000, bytes, grid), kernel.param_bytes);
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

/* The whole grid, or a part of it that starts at a multiple of the factor. */
static void packed_params_have_the_part_of_the_grid(void **state) {
    (void)state;
    static const struct {
        uint32_t factor, axes;
        int is_part;
        uint32_t values[7], count; /* the groups of a coarsened kernel, then those of the tiled axes */
        uint32_t grid_x;
    } rows[] = {{1, 1, 0, {0, 30}, 2, 30},
                {1, 1, 1, {8, 101}, 2, 30},
                {4, 1, 0, {30, 0, 8}, 3, 8},
                {4, 1, 1, {101, 2, 26}, 3, 8},
                {1, 6, 1, {5, 102, 6, 103}, 4, 30},
                {1, 7, 1, {8, 101, 5, 102, 6, 103}, 6, 30},
                {1, 7, 0, {0, 30, 0, 2, 0, 3}, 6, 30},
                {4, 0, 1, {101}, 1, 8},
                {1, 0, 1, {0}, 0, 30}};
    const vy_grid_tiles part = {.whole = {101, 102, 103}, .base = {8, 5, 6}, .size = {30, 2, 3}};
    vyre_program *program =
        parse("program p {\n buffer x : u32 read_write\n workgroup 32\n grid over x\n x[0] = 1\n}\n");
    const uint64_t elements[] = {10};
    const vy_cu_address addresses[] = {0x1000};
    const vyre_launch launch = {.elements = elements, .buffer_count = 1, .groups = {30, 2, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static vy_cuda_kernel kernel;
        alignas(8) uint8_t bytes[VY_CUDA_PARAM_BYTES];
        uint32_t grid[3], values[8];
        memset(&kernel, 0, sizeof kernel);
        kernel.header.factor = rows[i].factor, kernel.header.tiled_axes = (uint8_t)rows[i].axes;
        vy_cuda_param_layout(program, &kernel);
        assert_int_equal(kernel.param_count, rows[i].count);
        assert_int_equal(vy_cuda_pack(&kernel, &launch, rows[i].is_part ? &part : NULL, addresses, 0, bytes, grid),
                         kernel.param_bytes);
        memcpy(values, bytes + 12, sizeof values);
        for (uint32_t k = 0; k < rows[i].count; k++)
            if (values[k] != rows[i].values[k])
                fail_msg("row %zu: value %u is %u", i, k, values[k]);
        assert_int_equal(grid[0], rows[i].grid_x);
        assert_int_equal(grid[1], 2);
        assert_int_equal(grid[2], 3);
    }
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
        const vy_cuda_lowering how = {.architecture = 90, .target = vy_ptx_target(90, rows[i].cancellable)};
        if (vy_cuda_lower(program, &how, &lowered, &error) != VYRE_OK)
            fail_msg("%s", error.message);
        assert_int_equal(lowered.reports, rows[i].reports);
        assert_int_equal(lowered.polls, rows[i].polls);
        assert_int_equal(lowered.batched.text.size != 0, !rows[i].reports && !rows[i].polls);
        vy_cuda_lowered_free(&lowered);
        vyre_program_release(program);
    }
}

/* ---- variants ---- */

/* The kernels of a program for a device with everything, or with nothing. */
static void lower(const char *source, int has_all, vy_cuda_lowered *out) {
    const vy_cuda_lowering how = {.architecture = 90,
                                  .target = vy_ptx_target(90, 0),
                                  .has_indirect = (uint8_t)has_all,
                                  .has_dependent_launch = (uint8_t)has_all};
    vyre_program *program = parse(source);
    vyre_error error = VYRE_ERROR_INIT;
    if (vy_cuda_lower(program, &how, out, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    vyre_program_release(program);
}

static void a_program_has_the_kernels_that_it_may_need(void **state) {
    (void)state;
#define HEAD " buffer d : u32 read\n buffer y : u32 read_write\n workgroup 32\n"
    static const struct {
        const char *source;
        int has_batched, has_indirect, is_coarsened, axes;
    } rows[] = {
        {"program p {\n" HEAD " grid over y\n let i = global_id.x\n y[i] = d[i]\n}\n", 1, 0, 1, 1},
        {"program p {\n" HEAD " grid indirect d\n let i = global_id.x\n y[i] = d[i]\n}\n", 0, 1, 0, 1},
        {"program p {\n" HEAD " grid over y\n let i = global_id.x\n y[i * 3] = d[i * 5]\n}\n", 1, 0, 0, 0},
        {"program p {\n" HEAD " grid over y\n y[global_id.x + global_id.y] = 1\n}\n", 1, 0, 1, 2},
        {"program p {\n" HEAD " grid over y\n if d[0] == 1 { trap 1 }\n y[global_id.x] = 1\n}\n", 0, 0, 0, 7},
        {"program p {\n" HEAD " grid over y\n y[global_id.x] = 1\n grid_barrier\n y[0] = 2\n}\n", 0, 0, 0, 0},
        {"program p {\n workgroup 32\n grid 4\n}\n", 0, 0, 0, 0},
    };
#undef HEAD
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int has_all = 0; has_all < 2; has_all++) {
            vy_cuda_lowered made;
            lower(rows[i].source, has_all, &made);
            int is_indirect = rows[i].has_indirect && has_all;
            if ((made.batched.text.size != 0) != (rows[i].has_batched || (rows[i].has_indirect && !has_all)) ||
                (made.indirect.text.size != 0) != is_indirect || made.indirect.indirect != is_indirect ||
                (made.factor > 1) != (rows[i].is_coarsened || (rows[i].has_indirect && !has_all)) ||
                made.code.tiled_axes != rows[i].axes)
                fail_msg("row %zu: batched %zu, indirect %zu, factor %u, axes %u", i, made.batched.text.size,
                         made.indirect.text.size, made.factor, made.code.tiled_axes);
            if (made.batched.text.size)
                assert_int_equal(made.batched.tiled_axes, made.code.tiled_axes);
            vy_cuda_lowered_free(&made);
        }
}

static vyre_status lower_once(void *program) {
    const vy_cuda_lowering how = {.architecture = 90, .target = vy_ptx_target(90, 0), .has_indirect = 1};
    vy_cuda_lowered made;
    vyre_status status = vy_cuda_lower(program, &how, &made, NULL);
    if (status == VYRE_OK)
        vy_cuda_lowered_free(&made);
    return status;
}

static void lowering_survives_a_lack_of_memory(void **state) {
    (void)state;
    vyre_program *program = parse("program p {\n buffer d : u32 read\n buffer y : u32 read_write\n workgroup 32\n"
                                  " grid indirect d\n y[global_id.x] = 1\n}\n");
    assert_true(VY_FAULT_LOOP(lower_once, program) > 10);
    vyre_program_release(program);
}

/* ---- objects ---- */

/* An image, then facts that are none, then an object of another kernel. */
typedef struct parts {
    vy_cuda_header header;
    alignas(Elf64_Ehdr) char image[sizeof(Elf64_Ehdr)];
    alignas(16) char facts[64];
    vy_cuda_header batched;
    char batched_image[16];
} parts;

static void start_header(vy_cuda_header *header, size_t image_bytes) {
    memset(header, 0, sizeof *header);
    memcpy(header->magic, VY_CUDA_MAGIC, 8);
    header->format = VY_CUDA_FORMAT;
    header->architecture = 90;
    header->factor = 1;
    header->image_bytes = image_bytes;
}

static void damaged_objects_are_refused_before_the_driver_sees_them(void **state) {
    (void)state;
    static vy_cuda cuda;
    parts object;
    vyre_program *program = parse(text);
    cuda.device_info.architecture = 90;
    for (int what = 0; what < 20; what++) {
        vyre_error error = VYRE_ERROR_INIT;
        vy_cuda_executable *code;
        memset(&object, 0, sizeof object);
        start_header(&object.header, sizeof object.image);
        start_header(&object.batched, sizeof object.batched_image);
        object.batched.batched = 1;
        object.header.facts_bytes = sizeof object.facts;
        object.header.batched_bytes = sizeof object.batched + sizeof object.batched_image;
        vyre_bytes bytes = {&object, offsetof(parts, batched) + object.header.batched_bytes, sizeof object};
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
        case 10:
            object.header.batched = 1;
            break;
        case 11: /* a part after the others that is missing */
            object.header.indirect_bytes = 16;
            break;
        case 12:
            object.header.image_bytes = 1;
            object.header.indirect_bytes = UINT64_MAX;
            break;
        case 13:
            object.header.facts_bytes = UINT64_MAX - 8;
            break;
        case 14:
            object.header.tiled_axes = 8;
            break;
        case 15: /* the kernel for batches is none, or takes other params */
            object.batched.batched = 0;
            break;
        case 16:
            object.batched.tiled_axes = 1;
            break;
        case 17:
            object.batched.image_bytes--;
            break;
        case 18: /* no facts */
            object.header.facts_bytes = 0;
            object.header.image_bytes += sizeof object.facts;
            break;
        case 19: /* facts that are none */
            break;
        }
        vyre_status status = vy_cuda_executable_new(&cuda, program, &bytes, &code, &error);
        if (status != (what == 2 || what == 3 || what == 19 ? VYRE_UNSUPPORTED : VYRE_CORRUPT))
            fail_msg("object %d gives %s: %s", what, vyre_status_name(status), error.message);
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

static vyre_status compile(vy_cuda *cuda, vyre_program *program, vy_cuda_executable **out, vyre_error *error) {
    vy_gpu_executable *code = NULL;
    vyre_status status = vy_cuda_compile(&cuda->base, program, 0, &code, error);
    *out = (vy_cuda_executable *)code;
    return status;
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
    const vy_cuda_lowering how = {.architecture = 90, .target = vy_ptx_target(90, 0)};
    atomic_init(&cuda.base.exact, how.target.exact);
    assert_int_equal(vy_cuda_lower(program, &how, &lowered, &error), VYRE_OK);
    assert_int_not_equal(compile(&cuda, program, &code, &error), VYRE_OK);
    assert_null(code);
    assert_string_equal(seen, lowered.code.text.data);
    free(seen);
    vy_cuda_lowered_free(&lowered);
    vyre_program_release(program);
}

/* `vyre emit --backend cuda` */
static void emitted_code_is_that_of_the_compile(void **state) {
    static const char text[] = "program p {\n buffer x : u32 read_write\n workgroup 64\n grid over x\n"
                               " x[global_id.x] = x[global_id.x] + 1\n}\n";
    const vyre_compile_options options = {.struct_size = sizeof options};
    const vy_cuda_lowering how = {.architecture = 90, .target = vy_ptx_target(90, 0)};
    (void)state;
    static vy_cuda cuda;
    vyre_program *program = parse(text);
    vy_cuda_lowered lowered;
    vyre_bytes code = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    cuda.device_info.architecture = 90;
    atomic_init(&cuda.base.exact, how.target.exact);
    atomic_init(&cuda.base.is_probed, 1);
    assert_int_equal(vy_cuda_lower(program, &how, &lowered, &error), VYRE_OK);
    assert_int_equal(vy_cuda_emit(&cuda, program, &options, &code, &error), VYRE_OK);
    assert_int_equal(code.size, lowered.code.text.size);
    assert_memory_equal(code.data, lowered.code.text.data, code.size);
    vyre_bytes_free(&code);
    vy_cuda_lowered_free(&lowered);
    vyre_program_release(program);
}

/* ---- a driver that loads and launches nothing ---- */

/* What it was called with. Handles are numbers from 1 on. */
static struct {
    unsigned loads, unloads, launches, fail_load;
    char kernels[8][64]; /* by load: the name in the text */
    uint32_t grids[16][3], tiles[16][6];
    uint32_t tile_offset, traps; /* of the tiles in the params; a launch reports a trap of its first workgroup */
    vy_cuda_stream_slot *slot;
} idle;

static int idle_load(vy_cu_module *module, const void *image, unsigned count, int *options, void **values) {
    (void)count, (void)options, (void)values;
    const char *entry = strstr(image, ".entry ");
    if (++idle.loads == idle.fail_load)
        return 209;
    assert_non_null(entry);
    snprintf(idle.kernels[idle.loads], sizeof *idle.kernels, "%.60s", entry);
    *module = (vy_cu_module)(uintptr_t)idle.loads;
    return 0;
}

static int idle_unload(vy_cu_module module) {
    assert_non_null(module);
    idle.unloads++;
    return 0;
}

static int idle_function(vy_cu_function *function, vy_cu_module module, const char *name) {
    (void)name;
    *function = (vy_cu_function)(uintptr_t)module;
    return 0;
}

static int idle_attribute(int *value, int attribute, vy_cu_function function) {
    (void)attribute, (void)function;
    *value = 16;
    return 0;
}

static int idle_occupancy(int *blocks, vy_cu_function function, int threads, size_t shared_bytes) {
    (void)function, (void)threads, (void)shared_bytes;
    *blocks = 2;
    return 0;
}

static int idle_context(vy_cu_context *context) {
    *context = NULL;
    return 0;
}

static int idle_wait(vy_cu_stream stream) {
    (void)stream;
    return 0;
}

static int idle_copy_in(vy_cu_address to, const void *from, size_t size, vy_cu_stream stream) {
    (void)to, (void)from, (void)size, (void)stream;
    return 0;
}

/* The control block, as the launches have left it: the trap of the first workgroup of each, in the whole grid. */
static int idle_copy_out(void *to, vy_cu_address from, size_t size, vy_cu_stream stream) {
    (void)from, (void)size, (void)stream;
    const uint32_t *t = idle.tiles[idle.launches - 1];
    vy_launch_control *control = to;
    *control = (vy_launch_control){.trap_invocation = UINT64_MAX};
    if (idle.traps)
        control->trap_invocation = 32 * ((uint64_t)t[0] * t[3] + t[2]), control->trap_code = idle.launches;
    return 0;
}

static int idle_launch(vy_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared_bytes, vy_cu_stream stream, void **params,
                       void **extra) {
    const uint32_t grid[3] = {grid_x, grid_y, grid_z};
    (void)function, (void)block_x, (void)block_y, (void)block_z, (void)shared_bytes, (void)stream, (void)params;
    assert_true(idle.launches < 16);
    memcpy(idle.grids[idle.launches], grid, sizeof grid);
    memcpy(idle.tiles[idle.launches++], (const uint8_t *)extra[1] + idle.tile_offset, sizeof *idle.tiles);
    return 0;
}

static void idle_start(vy_cuda *cuda) {
    memset(&idle, 0, sizeof idle);
    memset(cuda, 0, sizeof *cuda);
    vy_gpu_start(&cuda->base, "cuda", &vy_cuda_calls);
    cuda->base.can_signal = cuda->base.has_deadline = 1;
    cuda->device_info = (vy_cuda_device_info){.architecture = 90,
                                              .shared_bytes = 48 << 10,
                                              .grid = {INT32_MAX, 65535, 65535},
                                              .multiprocessors = 4,
                                              .has_indirect = 1,
                                              .has_dependent_launch = 1};
    cuda->api.module_load = idle_load;
    cuda->api.module_unload = idle_unload;
    cuda->api.module_function = idle_function;
    cuda->api.function_attribute = idle_attribute;
    cuda->api.occupancy = idle_occupancy;
    cuda->api.context_current = idle_context;
    cuda->api.stream_synchronize = idle_wait;
    cuda->api.stream_query = idle_wait;
    cuda->api.copy_to_device = idle_copy_in;
    cuda->api.copy_to_host = idle_copy_out;
    cuda->api.launch = idle_launch;
    cuda->api.error_name = cuda->api.error_string = no_name;
    atomic_init(&cuda->base.exact, vy_ptx_target(90, 0).exact);
}

static const char indirect_text[] = "program p {\n buffer d : u32 read\n buffer y : u32 read_write\n workgroup 32\n"
                                    " grid indirect d\n y[global_id.x] = d[global_id.x]\n}\n";
static const char divisible_text[] = "program p {\n buffer d : u32 read\n buffer y : u32 read_write\n workgroup 32\n"
                                     " grid over y\n y[global_id.x] = d[global_id.x]\n}\n";

static void a_compile_loads_all_but_the_kernel_for_batches(void **state) {
    (void)state;
    static vy_cuda cuda;
    vyre_program *program = parse(indirect_text);
    vy_cuda_executable *code, *again;
    const vy_cuda_kernel *kernel, *other;
    vyre_bytes stored = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    idle_start(&cuda);
    assert_int_equal(compile(&cuda, program, &code, &error), VYRE_OK);
    assert_int_equal(idle.loads, 2);
    assert_int_equal(vy_cuda_executable_indirect(code, &kernel, &error), VYRE_OK);
    assert_int_equal(kernel->blocks, 2 * 4);
    assert_int_equal(idle.loads, 2);
    assert_int_equal(vy_cuda_executable_batched(code, &other, &error), VYRE_UNSUPPORTED);
    /* As it is stored by a driver without a linker, and loaded. */
    assert_int_equal(vy_cuda_compile_binary(&code->base, &stored, &error), VYRE_OK);
    assert_int_equal(stored.size, code->object.size);
    assert_memory_equal(stored.data, code->object.data, stored.size);
    assert_int_equal(vy_cuda_executable_new(&cuda, program, &stored, &again, &error), VYRE_OK);
    assert_memory_equal(code->base.facts, again->base.facts, code->base.facts->bytes);
    vy_gpu_executable_release(&again->base);
    vy_gpu_executable_release(&code->base);
    assert_int_equal(idle.loads, 4);
    assert_int_equal(idle.unloads, 4);
    vyre_program_release(program);
    program = parse(divisible_text);
    idle_start(&cuda);
    assert_int_equal(compile(&cuda, program, &code, &error), VYRE_OK);
    assert_int_equal(vy_cuda_executable_indirect(code, &kernel, &error), VYRE_UNSUPPORTED);
    assert_int_equal(idle.loads, 1);
    assert_int_equal(code->base.facts->is_divisible, 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(vy_cuda_executable_batched(code, &kernel, &error), VYRE_OK);
    assert_int_equal(idle.loads, 2);
    assert_int_equal(kernel->header.batched, 1);
    assert_int_equal(kernel->param_bytes, code->kernel.param_bytes);
    vy_gpu_executable_release(&code->base);
    assert_int_equal(idle.unloads, 2);
    vyre_program_release(program);
}

/* A kernel that cannot be loaded ends the compile, and leaves nothing. */
static void a_kernel_that_is_not_loaded_leaves_nothing(void **state) {
    (void)state;
    static vy_cuda cuda;
    vyre_program *program = parse(indirect_text);
    for (unsigned k = 1; k <= 2; k++) {
        vyre_error error = VYRE_ERROR_INIT;
        vy_cuda_executable *code;
        idle_start(&cuda);
        idle.fail_load = k;
        assert_int_not_equal(compile(&cuda, program, &code, &error), VYRE_OK);
        assert_null(code);
        assert_int_equal(idle.unloads, k - 1);
    }
    vyre_program_release(program);
}

static vyre_status compile_idle(void *program) {
    static vy_cuda cuda;
    vy_cuda_executable *code;
    idle_start(&cuda);
    vyre_status status = compile(&cuda, program, &code, NULL);
    if (code)
        vy_gpu_executable_release(&code->base);
    assert_int_equal(idle.loads, idle.unloads);
    return status;
}

static void compiling_survives_a_lack_of_memory(void **state) {
    (void)state;
    vyre_program *program = parse(indirect_text);
    assert_true(VY_FAULT_LOOP(compile_idle, program) > 20);
    vyre_program_release(program);
}

/* Grids with more workgroups in y or z than a launch may have: parts that cover it once, by the kernel of the program.
 * The trap of the smallest invocation in the whole grid counts. */
static void a_grid_over_the_limits_is_launched_in_parts(void **state) {
    (void)state;
    static vy_cuda cuda;
    static vy_cuda_mirror mirror;
    vyre_program *program = parse("program p {\n buffer x : u32 read_write\n workgroup 32\n grid 1\n"
                                  " if x[global_id.y] == 1 { trap 5 }\n}\n");
    vy_cuda_executable *code;
    vyre_error error = VYRE_ERROR_INIT;
    const uint64_t elements[] = {1};
    static const vy_gpu_buffers buffers = {.addresses = {0x1000}};
    const vyre_launch launch = {.elements = elements, .buffer_count = 1, .groups = {7, 150000, 1}};
    for (uint32_t traps = 0; traps < 2; traps++) {
        vy_cuda_stream_slot slot = {.base = {.gpu = &cuda.base, .taken = &mirror.taken, .is_control_clean = 1},
                                    .mirror = &mirror};
        uint32_t covered = 0;
        idle_start(&cuda);
        idle.traps = traps;
        assert_int_equal(compile(&cuda, program, &code, &error), VYRE_OK);
        assert_int_equal(code->kernel.header.tiled_axes, 6);
        idle.tile_offset = code->kernel.tile_offset;
        assert_int_equal(vy_gpu_launch_slices(&slot.base, &code->base, &code->kernel.base, &launch, &buffers, &error),
                         VYRE_OK);
        assert_int_equal(idle.loads, 1);
        assert_int_equal(idle.launches, 3);
        for (unsigned i = 0; i < idle.launches; i++) {
            const uint32_t *tile = idle.tiles[i], *grid = idle.grids[i];
            assert_int_equal(grid[0], 7);
            assert_true(grid[1] <= 65535);
            assert_int_equal(grid[2], 1);
            assert_int_equal(tile[0], covered);
            assert_int_equal(tile[1], 150000);
            assert_int_equal(tile[2], 0);
            assert_int_equal(tile[3], 1);
            covered += grid[1];
        }
        assert_int_equal(covered, 150000);
        assert_int_equal(mirror.taken.trap_invocation, traps ? 0 : UINT64_MAX);
        assert_int_equal(mirror.taken.trap_code, traps);
        vy_gpu_executable_release(&code->base);
    }
    vyre_program_release(program);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
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
        cmocka_unit_test(packed_params_have_the_part_of_the_grid),
        cmocka_unit_test(a_program_has_the_kernels_that_it_may_need),
        cmocka_unit_test(lowering_survives_a_lack_of_memory),
        cmocka_unit_test(damaged_objects_are_refused_before_the_driver_sees_them),
        cmocka_unit_test(the_driver_is_given_the_text_of_the_program),
        cmocka_unit_test(emitted_code_is_that_of_the_compile),
        cmocka_unit_test(a_compile_loads_all_but_the_kernel_for_batches),
        cmocka_unit_test(a_kernel_that_is_not_loaded_leaves_nothing),
        cmocka_unit_test(compiling_survives_a_lack_of_memory),
        cmocka_unit_test(a_grid_over_the_limits_is_launched_in_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
