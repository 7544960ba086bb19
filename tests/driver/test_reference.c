/* The reference backend returns the bytes of the reference interpreter through every form of dispatch. */
#include "driver/fake.h"

#include "base/file.h"
#include "generate/generate.h"
#include "support/resolve.h"
#include "vyre/oracle.h"

#include <glob.h>

typedef struct wanted {
    vyre_status status;
    vyre_bytes outputs[64];
    vyre_oracle_report report;
} wanted;

/* Programs from elsewhere may run long on inputs they are not made for: they end with VYRE_BUDGET. */
static void want(vyre_program *program, const vyre_arguments *arguments, wanted *w) {
    vyre_oracle_options options = {.budget = 200000};
    vyre_oracle *oracle;
    memset(w, 0, sizeof *w);
    assert_int_equal(vyre_oracle_new(program, &oracle, NULL), VYRE_OK);
    w->status = vyre_oracle_run(oracle, arguments, &options, w->outputs, &w->report, NULL, NULL);
    vyre_oracle_free(oracle);
}

static void want_free(wanted *w) {
    for (int i = 0; i < 64; i++)
        vyre_bytes_free(&w->outputs[i]);
}

static void compare(const char *what, int form, const wanted *w, vyre_status status, const vyre_outputs *outputs,
                    const vyre_trap *trap, size_t output_count) {
    if (status != w->status)
        fail_msg("%s, form %d: %s instead of %s", what, form, vyre_status_name(status), vyre_status_name(w->status));
    if (status == VYRE_TRAPPED) {
        assert_int_equal(trap->invocation, w->report.trap.invocation);
        assert_int_equal(trap->code, w->report.trap.code);
    }
    if (status != VYRE_OK)
        return;
    assert_int_equal(outputs->count, output_count);
    for (size_t i = 0; i < output_count; i++)
        if (outputs->items[i].size != w->outputs[i].size ||
            (w->outputs[i].size && memcmp(outputs->items[i].data, w->outputs[i].data, w->outputs[i].size) != 0))
            fail_msg("%s, form %d: output %zu differs", what, form, i);
}

/* Uploads everything, dispatches, downloads the outputs. */
static vyre_status run_resident(vyre_backend *backend, vyre_program *program, const vyre_arguments *arguments,
                                const wanted *w, vyre_outputs *outputs, vyre_trap *trap) {
    vyre_resident handles[64];
    vyre_resource bindings[64];
    vyre_buffer_info buffer;
    size_t input = 0, output = 0, count = vyre_program_buffer_count(program);
    vyre_error error = VYRE_ERROR_INIT;
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++) {
        int is_output = buffer.access == VYRE_ACCESS_WRITE || buffer.access == VYRE_ACCESS_READ_WRITE;
        vyre_span span = {NULL, w->outputs[output].size};
        if (buffer.access != VYRE_ACCESS_WRITE)
            span = arguments->inputs[input++];
        output += is_output;
        assert_int_equal(vyre_resident_allocate(backend, span.size, span.data, &handles[i], NULL), VYRE_OK);
        bindings[i] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT, .resident = handles[i]};
    }
    vyre_status status =
        vyre_backend_dispatch_resident(backend, program, bindings, count, arguments, NULL, NULL, trap, &error);
    outputs->count = 0;
    output = 0;
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++) {
        if (status == VYRE_OK && (buffer.access == VYRE_ACCESS_WRITE || buffer.access == VYRE_ACCESS_READ_WRITE)) {
            assert_true(output < outputs->capacity);
            assert_int_equal(vyre_resident_download(backend, handles[i], &outputs->items[output++], NULL), VYRE_OK);
            outputs->count = output;
        }
        assert_int_equal(vyre_resident_free(backend, handles[i], NULL), VYRE_OK);
    }
    return status;
}

/* Returns 0 if the program runs too long to compare. */
static int check_all_forms(const char *what, vyre_backend *backend, vyre_program *program,
                           const vyre_arguments *arguments, vyre_outputs *outputs) {
    vyre_dispatch_config deadline = {.timeout_ns = 600000000000u};
    size_t count = vyre_program_output_count(program);
    vyre_trap trap = {0, 0};
    wanted w;
    want(program, arguments, &w);
    if (w.status == VYRE_BUDGET)
        return 0;
    for (int form = 0; form < FAKE_FORMS; form++)
        compare(what, form, &w, fake_run(form, backend, program, arguments, NULL, outputs, &trap, NULL), outputs, &trap,
                count);
    compare(what, 10, &w, fake_run(0, backend, program, arguments, &deadline, outputs, &trap, NULL), outputs, &trap,
            count);
    if (w.status == VYRE_OK && vyre_program_buffer_count(program) <= 64)
        compare(what, 11, &w, run_resident(backend, program, arguments, &w, outputs, &trap), outputs, &trap, count);
    want_free(&w);
    return 1;
}

static void random_programs_give_the_oracles_bytes(void **state) {
    (void)state;
    unsigned ran = 0, count = (VY_SANITIZED ? 60 : 300) * vy_test_effort();
    vyre_outputs outputs = VYRE_OUTPUTS_INIT; /* reused by all */
    vyre_backend *backend;
    assert_int_equal(vyre_acquire("cpu-ref", &backend, NULL), VYRE_OK);
    assert_string_equal(vyre_backend_id(backend), "cpu-ref");
    for (unsigned seed = 1; seed <= count; seed++) {
        vyre_generate_options options = {.seed = seed};
        vyre_case *test_case;
        char what[32];
        snprintf(what, sizeof what, "seed %u", seed);
        assert_int_equal(vyre_generate(&options, &test_case, NULL), VYRE_OK);
        ran += (unsigned)check_all_forms(what, backend, vyre_case_program(test_case), vyre_case_arguments(test_case),
                                         &outputs);
        vyre_case_free(test_case);
    }
    assert_true(ran > count * 9 / 10);
    vyre_outputs_free(&outputs);
    vyre_backend_release(backend);
}

/* Params 4, inputs of 64 elements unless the program states a constant: not always what an example is for, but always
 * defined. */
static int check_example(const char *file, vyre_backend *backend, vyre_program *program, vyre_outputs *outputs) {
    vyre_scalar params[16];
    vyre_span inputs[16];
    uint64_t counts[16];
    vyre_arguments arguments = {
        .params = params, .inputs = inputs, .counts = counts, .geometry = {VYRE_GEOMETRY_PROGRAM, {0}}};
    vyre_param_info param;
    vyre_buffer_info buffer;
    vy_random random = vy_random_start(7);
    unsigned char *bytes[16];
    for (; vyre_program_param(program, arguments.param_count, &param); arguments.param_count++)
        params[arguments.param_count] = (vyre_scalar){param.type, 4};
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++) {
        size_t size = (buffer.is_static ? buffer.count : 64) * vyre_type_size(buffer.type);
        if (buffer.access == VYRE_ACCESS_WRITE) {
            if (!buffer.has_count)
                counts[arguments.count_count++] = 64;
            continue;
        }
        bytes[arguments.input_count] = malloc(size + 1);
        for (size_t b = 0; b < size; b++)
            bytes[arguments.input_count][b] = (unsigned char)vy_random_below(&random, 256);
        inputs[arguments.input_count] = (vyre_span){bytes[arguments.input_count], size};
        arguments.input_count++;
    }
    if (vyre_program_grid(program) == VYRE_GRID_DISPATCH)
        arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_ELEMENTS, {64, 1, 1}};
    int ran = check_all_forms(file, backend, program, &arguments, outputs);
    for (size_t i = 0; i < arguments.input_count; i++)
        free(bytes[i]);
    return ran;
}

static void the_examples_give_the_oracles_bytes(void **state) {
    (void)state;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_backend *backend;
    glob_t files;
    int ran = 0;
    assert_int_equal(vyre_acquire("reference", &backend, NULL), VYRE_OK);
    assert_int_equal(glob(vy_test_path("examples/*.vyre"), 0, NULL, &files), 0);
    assert_true(files.gl_pathc > 5);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        vyre_bytes text = VYRE_BYTES_INIT;
        vyre_module *module;
        assert_int_equal(vy_file_read(files.gl_pathv[i], SIZE_MAX, &text, NULL), VYRE_OK);
        assert_int_equal(vyre_text_parse(text.data, text.size, NULL, NULL, &module, NULL), VYRE_OK);
        for (size_t p = 0; p < vyre_module_program_count(module); p++) {
            vyre_program *program = vy_test_resolve(vyre_module_program(module, p));
            ran += check_example(files.gl_pathv[i], backend, program, &outputs);
            vyre_program_release(program);
        }
        vyre_module_free(module);
        vyre_bytes_free(&text);
    }
    globfree(&files);
    assert_true(ran > 8);
    vyre_outputs_free(&outputs);
    vyre_backend_release(backend);
}

static void traps_and_grid_barriers_pass_through(void **state) {
    (void)state;
    static const char *const texts[] = {"program t {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n if "
                                        "x[global_id.x] == 9 { trap 42 }\n x[global_id.x] = 1 }",
                                        "program t {\n buffer x : u32 read_write\n workgroup 2\n grid over x\n let i = "
                                        "global_id.x\n x[i] = i\n grid_barrier\n"
                                        "let y = x[len(x) - 1 - i]\n grid_barrier\n x[i] = y }"};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_backend *backend;
    uint32_t x[8] = {1, 2, 3, 4, 5, 9, 9, 8};
    vyre_span input = {x, sizeof x};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    assert_int_equal(vyre_acquire("reference", &backend, NULL), VYRE_OK);
    for (int i = 0; i < 2; i++) {
        vyre_module *module;
        vyre_program *program = fake_parse(texts[i], &module);
        assert_true(check_all_forms(texts[i], backend, program, &arguments, &outputs));
        vyre_module_free(module);
    }
    vyre_outputs_free(&outputs);
    vyre_backend_release(backend);
}

static void the_host_runs_a_launch_on_the_oracle(void **state) {
    (void)state;
    fake_case c;
    fake_case_open(&c);
    vyre_bytes slots[2] = {VYRE_BYTES_INIT, VYRE_BYTES_INIT};
    vyre_outputs outputs = {slots, 2, 2};
    uint64_t elements[2] = {FAKE_N, FAKE_N};
    vyre_launch launch = {.struct_size = sizeof launch,
                          .program = c.program,
                          .params = c.params,
                          .param_count = 1,
                          .elements = elements,
                          .buffer_count = 2,
                          .groups = {3, 1, 1},
                          .label = ""};
    assert_int_equal(vy_host_services.reference_dispatch(&launch, c.inputs, 1, &outputs, NULL), VYRE_OK);
    fake_case_check(&c, &outputs);
    vyre_bytes_free(&slots[0]);
    vyre_bytes_free(&slots[1]);
    fake_case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_give_the_oracles_bytes),
        cmocka_unit_test(the_examples_give_the_oracles_bytes),
        cmocka_unit_test(traps_and_grid_barriers_pass_through),
        cmocka_unit_test(the_host_runs_a_launch_on_the_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
