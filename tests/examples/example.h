/* Running an example in a test: open, run under the checkers and under several schedules, compare bytes. */
#ifndef VY_TESTS_EXAMPLE_H
#define VY_TESTS_EXAMPLE_H

#include "support/test.h"

#include "base/file.h"
#include "vyre/oracle.h"
#include "vyre/text.h"

enum { EXAMPLE_OUTPUTS = 4 };

typedef struct example {
    vyre_module *module;
    vyre_program *program; /* borrowed from the module */
    vyre_oracle *oracle;
    vyre_bytes outputs[EXAMPLE_OUTPUTS];
    unsigned checks; /* races, unwritten and divergence unless a test changes it */
} example;

/* program NULL takes the only one; define "NAME=VALUE" or NULL. */
static inline void example_open(example *e, const char *file, const char *program, const char *name,
                                const char *value) {
    vyre_define define = {name, value};
    vyre_parse_options options = {.file = file, .defines = &define, .define_count = name ? 1 : 0};
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_bytes text = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    char path[256];

    memset(e, 0, sizeof *e);
    e->checks = VYRE_CHECK_ALL & ~VYRE_CHECK_BOUNDS;
    snprintf(path, sizeof path, "examples/%s", file);
    assert_int_equal(vy_file_read(vy_test_path(path), SIZE_MAX, &text, &error), VYRE_OK);
    if (vyre_text_parse(text.data, text.size, &options, list, &e->module, &error) != VYRE_OK) {
        vyre_bytes rendered = VYRE_BYTES_INIT;
        vyre_diagnostics_render(list, &rendered, NULL);
        fail_msg("%s does not parse:\n%.*s", file, (int)rendered.size, (char *)rendered.data);
    }
    e->program = program ? vyre_module_find(e->module, program) : vyre_module_program(e->module, 0);
    assert_non_null(e->program);
    if (vyre_oracle_new(e->program, &e->oracle, &error) != VYRE_OK)
        fail_msg("%s: %s", file, error.message);
    vyre_bytes_free(&text);
    vyre_diagnostics_free(list);
}

static inline void example_close(example *e) {
    for (int i = 0; i < EXAMPLE_OUTPUTS; i++)
        vyre_bytes_free(&e->outputs[i]);
    vyre_oracle_free(e->oracle);
    vyre_module_free(e->module);
}

static inline void example_run_once(example *e, const vyre_arguments *arguments, unsigned checks, uint64_t seed,
                                    vyre_bytes *outputs) {
    vyre_oracle_options options = {.checks = checks, .seed = seed};
    vyre_oracle_report report;
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_error error = VYRE_ERROR_INIT;

    if (vyre_oracle_run(e->oracle, arguments, &options, outputs, &report, list, &error) != VYRE_OK) {
        vyre_bytes rendered = VYRE_BYTES_INIT;
        vyre_diagnostics_render(list, &rendered, NULL);
        fail_msg("%s (seed %llu): %s\n%.*s", vyre_program_name(e->program), (unsigned long long)seed, error.message,
                 (int)rendered.size, rendered.data ? (char *)rendered.data : "");
    }
    vyre_diagnostics_free(list);
}

/* Runs under the checkers, then with perturbed schedules, which must give the same bytes. */
static inline void example_run(example *e, const vyre_scalar *params, size_t param_count, const vyre_span *inputs,
                               size_t input_count) {
    vyre_arguments arguments = {
        .params = params, .param_count = param_count, .inputs = inputs, .input_count = input_count};
    size_t count = vyre_program_output_count(e->program);

    assert_true(count <= EXAMPLE_OUTPUTS);
    assert_int_equal(vyre_program_param_count(e->program), param_count);
    assert_int_equal(vyre_program_input_count(e->program), input_count);
    example_run_once(e, &arguments, e->checks, 0, e->outputs);
    for (uint64_t seed = 1; seed <= 2; seed++) {
        vyre_bytes again[EXAMPLE_OUTPUTS] = {VYRE_BYTES_INIT};
        example_run_once(e, &arguments, 0, seed, again);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(again[i].size, e->outputs[i].size);
            if (again[i].size)
                assert_memory_equal(again[i].data, e->outputs[i].data, again[i].size);
            vyre_bytes_free(&again[i]);
        }
    }
}

#define EXAMPLE_SPAN(array) ((vyre_span){(array), sizeof(array)})

/* Compares an output with what the model computed, byte by byte; says where they differ first. */
static inline void example_expect(const example *e, size_t output, const void *expected, size_t size) {
    const unsigned char *got = e->outputs[output].data, *want = expected;

    assert_int_equal(e->outputs[output].size, size);
    for (size_t i = 0; i < size; i++)
        if (got[i] != want[i])
            fail_msg("%s: output %zu differs at byte %zu: got %02x, expected %02x", vyre_program_name(e->program),
                     output, i, got[i], want[i]);
}

#endif
