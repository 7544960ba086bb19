/* Running the standard library in a test: the bodies of a dialect followed by a small program that calls them, on the
 * oracle. */
#ifndef VY_TESTS_LIBRARY_H
#define VY_TESTS_LIBRARY_H

#include "support/test.h"

#include "base/file.h"
#include "vyre/dialect.h"
#include "vyre/oracle.h"
#include "vyre/text.h"

enum { LIBRARY_OUTPUTS = 16 };

typedef struct library {
    vyre_module *module;
    vyre_program *program;
    vyre_oracle *oracle;
    vyre_bytes outputs[LIBRARY_OUTPUTS];
    unsigned checks; /* all unless a test changes it */
    unsigned seeds;  /* perturbed schedules that must give the same bytes */
} library;

/* Sizes at which every op is tried: around the widths of words, warps and workgroups. */
static const size_t library_sizes[] = {0, 1, 31, 32, 33, 255, 256, 257, 1023, 1025};
#define LIBRARY_SIZES (sizeof library_sizes / sizeof *library_sizes)
enum { LIBRARY_MILLION = (1 << 20) + 1 };

/* Opens lib/<dialect>.vyre together with `program`, which holds exactly one program; what it calls by id is found in
 * the guard's snapshot. */
static inline void library_open_resolved(library *l, const char *dialect, const char *program,
                                         vyre_dialects_guard guard) {
    vyre_parse_options options = {.file = dialect};
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_bytes text = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    char path[256], *joined;

    memset(l, 0, sizeof *l);
    l->checks = VYRE_CHECK_ALL;
    l->seeds = 2;
    snprintf(path, sizeof path, "lib/%s.vyre", dialect);
    assert_int_equal(vy_file_read(vy_test_path(path), SIZE_MAX, &text, &error), VYRE_OK);
    joined = malloc(text.size + strlen(program) + 1);
    assert_non_null(joined);
    memcpy(joined, text.data, text.size);
    strcpy(joined + text.size, program);
    if (vyre_text_parse(joined, strlen(joined), &options, list, &l->module, &error) != VYRE_OK ||
        vyre_program_resolve(vyre_module_program(l->module, 0), guard, list, &l->program, &error) != VYRE_OK ||
        vyre_oracle_new(l->program, &l->oracle, &error) != VYRE_OK) {
        vyre_bytes rendered = VYRE_BYTES_INIT;
        vyre_diagnostics_render(list, &rendered, NULL);
        fail_msg("%s: %s\n%.*s\n%s", path, error.message, (int)rendered.size,
                 rendered.data ? (char *)rendered.data : "", program);
    }
    free(joined);
    vyre_bytes_free(&text);
    vyre_diagnostics_free(list);
}

static inline void library_open(library *l, const char *dialect, const char *program) {
    library_open_resolved(l, dialect, program, (vyre_dialects_guard){NULL, NULL});
}

static inline void library_close(library *l) {
    for (int i = 0; i < LIBRARY_OUTPUTS; i++)
        vyre_bytes_free(&l->outputs[i]);
    vyre_oracle_free(l->oracle);
    vyre_program_release(l->program);
    vyre_module_free(l->module);
}

static inline void library_run_once(library *l, const vyre_arguments *arguments, unsigned checks, uint64_t seed,
                                    vyre_bytes *outputs) {
    vyre_oracle_options options = {.checks = checks, .seed = seed};
    vyre_oracle_report report;
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_error error = VYRE_ERROR_INIT;

    if (vyre_oracle_run(l->oracle, arguments, &options, outputs, &report, list, &error) != VYRE_OK) {
        vyre_bytes rendered = VYRE_BYTES_INIT;
        vyre_diagnostics_render(list, &rendered, NULL);
        fail_msg("%s (seed %llu): %s\n%.*s", vyre_program_name(l->program), (unsigned long long)seed, error.message,
                 (int)rendered.size, rendered.data ? (char *)rendered.data : "");
    }
    vyre_diagnostics_free(list);
}

/* Runs under the checkers, then with perturbed schedules, which must give the same bytes. */
static inline void library_run(library *l, const vyre_scalar *params, size_t param_count, const vyre_span *inputs,
                               size_t input_count) {
    vyre_arguments arguments = {
        .params = params, .param_count = param_count, .inputs = inputs, .input_count = input_count};
    size_t count = vyre_program_output_count(l->program);

    assert_true(count <= LIBRARY_OUTPUTS);
    library_run_once(l, &arguments, l->checks, 0, l->outputs);
    for (uint64_t seed = 1; seed <= l->seeds; seed++) {
        vyre_bytes again[LIBRARY_OUTPUTS] = {VYRE_BYTES_INIT};
        library_run_once(l, &arguments, 0, seed, again);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(again[i].size, l->outputs[i].size);
            if (again[i].size)
                assert_memory_equal(again[i].data, l->outputs[i].data, again[i].size);
            vyre_bytes_free(&again[i]);
        }
    }
}

#define LIBRARY_SPAN(array) ((vyre_span){(array), sizeof(array)})

/* Compares an output with what the model says, byte by byte; says where they differ first. */
static inline void library_expect(const library *l, size_t output, const void *expected, size_t size) {
    const unsigned char *got = l->outputs[output].data, *want = expected;

    assert_int_equal(l->outputs[output].size, size);
    for (size_t i = 0; i < size; i++)
        if (got[i] != want[i])
            fail_msg("%s: output %zu differs at byte %zu of %zu: got %02x, expected %02x",
                     vyre_program_name(l->program), output, i, size, got[i], want[i]);
}

#endif
