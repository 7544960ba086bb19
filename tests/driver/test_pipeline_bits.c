/* Every form of a pipeline returns the bytes of an uncompiled dispatch on the reference: for the examples and for
 * random programs, on backends that compile, that do not, that lack entries, that need several launches, and on the
 * `cpu` backend if its compiler is available. */
#include "driver/pipeline_forms.h"

#include "backends/cpu/compile.h"
#include "base/file.h"
#include "generate/generate.h"
#include "support/resolve.h"
#include "vyre/cache.h"
#include "vyre/oracle.h"

#include <glob.h>

enum { FAKES = 4, MOST = 64 };

typedef struct field {
    vyre_backend *reference, *backends[FAKES + 1];
    int count;
    vyre_outputs wanted, outputs;
} field;

static void field_open(field *f) {
    memset(f, 0, sizeof *f);
    assert_int_equal(vyre_acquire("reference", &f->reference, NULL), VYRE_OK);
    for (int i = 0; i < FAKES; i++) {
        fake *made = fake_new();
        made->is_shared = 1; /* programs are larger than the recording */
        made->gives_no_pipelines = i == 1;
        if (i == 2)
            made->pipeline_table.dispatch_persistent_into = NULL, made->pipeline_table.dispatch_batched_into = NULL;
        if (i == 3)
            made->no_grid_sync = 1, made->most_groups = 2;
        f->backends[f->count++] = fake_open(made);
    }
    if (vy_cpu_compiler_check(NULL) == VYRE_OK)
        assert_int_equal(vyre_acquire("cpu", &f->backends[f->count++], NULL), VYRE_OK);
    else
        printf("SKIP backend cpu: there is no compiler in this build\n");
}

static void field_close(field *f) {
    vyre_backend_release(f->reference);
    for (int i = 0; i < f->count; i++)
        vyre_backend_release(f->backends[i]);
    vyre_outputs_free(&f->wanted);
    vyre_outputs_free(&f->outputs);
}

/* Programs may run long on inputs they are not made for. */
static int is_short(vyre_program *program, const vyre_arguments *arguments) {
    vyre_oracle_options options = {.budget = 200000};
    vyre_bytes outputs[MOST] = {VYRE_BYTES_INIT};
    vyre_oracle_report report;
    vyre_oracle *oracle;
    assert_int_equal(vyre_oracle_new(program, &oracle, NULL), VYRE_OK);
    vyre_status status = vyre_oracle_run(oracle, arguments, &options, outputs, &report, NULL, NULL);
    vyre_oracle_free(oracle);
    for (int i = 0; i < MOST; i++)
        vyre_bytes_free(&outputs[i]);
    return status != VYRE_BUDGET;
}

/* Every second buffer is resident, the others host bytes; what stayed is fetched into its slot. */
static vyre_status run_mixed(vyre_pipeline *pipeline, vyre_backend *backend, const vyre_arguments *arguments,
                             const vyre_outputs *wanted, size_t first, vyre_outputs *outputs, vyre_trap *trap) {
    vyre_program *program = vyre_pipeline_program(pipeline);
    size_t count = vyre_program_buffer_count(program), input = 0, output = 0, open = 0;
    vyre_resource bindings[MOST];
    uint64_t counts[MOST];
    vyre_arguments given = *arguments;
    vyre_buffer_info buffer;
    given.counts = counts, given.count_count = 0;
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++) {
        int is_output = buffer.access == VYRE_ACCESS_WRITE || buffer.access == VYRE_ACCESS_READ_WRITE;
        int is_open = buffer.access == VYRE_ACCESS_WRITE && !buffer.has_count;
        vyre_span span = {NULL, is_output ? wanted->items[output].size : 0};
        if (buffer.access != VYRE_ACCESS_WRITE)
            span = arguments->inputs[input++];
        bindings[i] = (vyre_resource){.kind = VYRE_RESOURCE_HOST, .host = span};
        if (i % 2 == first) {
            bindings[i] = (vyre_resource){.kind = VYRE_RESOURCE_RESIDENT};
            assert_int_equal(vyre_resident_allocate(backend, span.size, span.data, &bindings[i].resident, NULL),
                             VYRE_OK);
        } else if (is_open) {
            counts[given.count_count++] = arguments->counts[open];
        }
        open += (size_t)is_open;
        output += (size_t)is_output;
    }
    vyre_status status =
        vyre_pipeline_dispatch_persistent(pipeline, bindings, count, &given, NULL, outputs, NULL, trap, NULL);
    output = 0;
    for (size_t i = 0; vyre_program_buffer(program, i, &buffer); i++) {
        int is_output = buffer.access == VYRE_ACCESS_WRITE || buffer.access == VYRE_ACCESS_READ_WRITE;
        if (bindings[i].kind == VYRE_RESOURCE_RESIDENT) {
            if (is_output && status == VYRE_OK)
                assert_int_equal(vyre_resident_download(backend, bindings[i].resident, &outputs->items[output], NULL),
                                 VYRE_OK);
            assert_int_equal(vyre_resident_free(backend, bindings[i].resident, NULL), VYRE_OK);
        }
        output += (size_t)is_output;
    }
    return status;
}

static void compare(const field *f, const char *what, int backend, int form, vyre_status wanted, vyre_status status) {
    if (status != wanted)
        fail_msg("%s, backend %d, form %d: %s instead of %s", what, backend, form, vyre_status_name(status),
                 vyre_status_name(wanted));
    for (size_t i = 0; status == VYRE_OK && i < f->wanted.count; i++) {
        const vyre_bytes *want = &f->wanted.items[i], *got = &f->outputs.items[i];
        if (want->size != got->size || (want->size && memcmp(want->data, got->data, want->size) != 0))
            fail_msg("%s, backend %d, form %d: output %zu differs", what, backend, form, i);
    }
}

/* Returns 0 if it is too long or does not run. */
static unsigned check(field *f, const char *what, vyre_program *program, const vyre_arguments *arguments) {
    vyre_trap wanted = {0, 0}, trap;
    if (vyre_program_buffer_count(program) > MOST || !is_short(program, arguments))
        return 0;
    vyre_status status = vyre_backend_dispatch(f->reference, program, arguments, NULL, &f->wanted, &wanted, NULL);
    if (status != VYRE_OK && status != VYRE_TRAPPED)
        return 0;
    for (int i = 0; i < f->count; i++) {
        vyre_pipeline *pipeline;
        assert_int_equal(vyre_compile(f->backends[i], program, NULL, &pipeline, NULL), VYRE_OK);
        for (int form = 0; form < FAKE_FORMS + 3; form++) {
            vyre_status got;
            trap = (vyre_trap){0, 0};
            if (form < FAKE_FORMS)
                got = pipeline_run(form, pipeline, arguments, NULL, &f->outputs, &trap, NULL);
            else if (form == FAKE_FORMS)
                got = vyre_pipeline_dispatch_batch(pipeline, arguments, 1, NULL, &f->outputs, NULL, &trap, NULL);
            else if (status == VYRE_OK) /* its output sizes are those of `wanted` */
                got = run_mixed(pipeline, f->backends[i], arguments, &f->wanted, (size_t)(form - FAKE_FORMS - 1),
                                &f->outputs, &trap);
            else
                continue;
            compare(f, what, i, form, status, got);
            assert_int_equal(trap.invocation, wanted.invocation);
            assert_int_equal(trap.code, wanted.code);
        }
        vyre_pipeline_release(pipeline);
    }
    return 1;
}

/* Params 4, inputs of 64 elements unless the program states a constant. */
static unsigned check_example(field *f, const char *file, vyre_program *program) {
    vyre_scalar params[MOST];
    vyre_span inputs[MOST];
    uint64_t counts[MOST];
    vyre_arguments arguments = {.params = params, .inputs = inputs, .counts = counts};
    unsigned char *bytes[MOST];
    vyre_param_info param;
    vyre_buffer_info buffer;
    vy_random random = vy_random_start(7);
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
    unsigned ran = check(f, file, program, &arguments);
    for (size_t i = 0; i < arguments.input_count; i++)
        free(bytes[i]);
    return ran;
}

static void the_examples_give_the_bytes_of_the_uncompiled_dispatch(void **state) {
    (void)state;
    field f;
    glob_t files;
    unsigned ran = 0;
    field_open(&f);
    assert_int_equal(glob(vy_test_path("examples/*.vyre"), 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        vyre_bytes text = VYRE_BYTES_INIT;
        vyre_module *module;
        assert_int_equal(vy_file_read(files.gl_pathv[i], SIZE_MAX, &text, NULL), VYRE_OK);
        assert_int_equal(vyre_text_parse(text.data, text.size, NULL, NULL, &module, NULL), VYRE_OK);
        for (size_t p = 0; p < vyre_module_program_count(module); p++) {
            vyre_program *program = vy_test_resolve(vyre_module_program(module, p));
            ran += check_example(&f, files.gl_pathv[i], program);
            vyre_program_release(program);
        }
        vyre_module_free(module);
        vyre_bytes_free(&text);
    }
    globfree(&files);
    assert_true(ran > 8);
    field_close(&f);
}

static void random_programs_give_the_bytes_of_the_uncompiled_dispatch(void **state) {
    (void)state;
    field f;
    unsigned ran = 0, count = (VY_SANITIZED ? 20 : 100) * vy_test_effort();
    field_open(&f);
    for (unsigned seed = 1; seed <= count; seed++) {
        vyre_generate_options options = {.seed = seed};
        vyre_case *made;
        char what[32];
        snprintf(what, sizeof what, "seed %u", seed);
        assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
        ran += check(&f, what, vyre_case_program(made), vyre_case_arguments(made));
        vyre_case_free(made);
    }
    assert_true(ran > count * 3 / 4);
    field_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_give_the_bytes_of_the_uncompiled_dispatch),
        cmocka_unit_test(random_programs_give_the_bytes_of_the_uncompiled_dispatch),
    };
    vyre_cache_set_folder("", NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
