/* Code that people wrote: every function of the standard library through every pass and both levels, and legalised,
 * delivers what it delivered, on special and random values. Functions of scalars run 256 invocations at once; those
 * with memories one, so that nothing races. */
#include "opt/call_library.h"
#include "opt/campaign.h"

#include "compile/pipeline.h"

#include <dirent.h>

/* ---- running it ---- */

static uint8_t bytes[16][VALUES * 8];
static opt_campaign campaign = {.rules = &vy_opt_default};

static vyre_arguments arguments_of(const vyre_program *program, vyre_span *inputs) {
    vyre_arguments arguments = {.inputs = inputs};
    vy_random random = vy_random_start(program->exprs.count);
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const vy_memory *m = &program->memories.items[i];
        if (m->access == VYRE_ACCESS_WRITE)
            continue;
        size_t k = arguments.input_count, size = vyre_type_size((vyre_type)m->type);
        assert_true(k < sizeof bytes / sizeof *bytes);
        for (size_t n = 0; n < VALUES; n++) {
            uint64_t value = vy_random_next(&random);
            value = n % 3 == 0 ? value % 67 : n % 3 == 1 ? value : (UINT64_C(1) << value % 64) - value / 64 % 2;
            vy_value_store((vyre_type)m->type, bytes[k] + n * size, vy_value_canonicalize((vyre_type)m->type, value));
        }
        inputs[k] = (vyre_span){bytes[k], VALUES * size};
        arguments.input_count++;
    }
    return arguments;
}

static void compare(const vyre_program *library, const vy_function *f, vyre_program *flat, vyre_program *made,
                    const vyre_arguments *arguments, const char *how) {
    opt_run(made, arguments, &campaign.given);
    if (opt_differs(&campaign, flat))
        fail_msg("%s, %s: %s", vy_symbol_name(library, f->name), how, campaign.message);
    vyre_program_release(made);
}

/* Legalised for a device that computes everything: arrays are zeroed, meetings written out, and no access is outside.
 * */
static void try_legal(const vyre_program *library, const vy_function *f, vyre_program *flat,
                      const vyre_arguments *arguments) {
    vyre_program *optimized, *legal;
    vyre_error error;
    const vy_target_desc target = {.exact = (UINT64_C(1) << VYRE_NUMERIC_COUNT) - 1};
    assert_int_equal(vyre_program_optimize(flat, &(vyre_optimize_options){.level = 2}, &optimized, NULL, &error),
                     VYRE_OK);
    if (vy_legalize(optimized, &target, &legal, &error) != VYRE_OK)
        fail_msg("%s: %s", vy_symbol_name(library, f->name), error.message);
    vyre_program_release(optimized);
    compare(library, f, flat, legal, arguments, "legalised");
}

static void try_function(const vyre_program *library, const vy_function *f, const char *source) {
    vyre_program *program = program_that_calls(library, f, source), *flat, *made;
    vyre_span inputs[16];
    vyre_error error;
    vyre_optimize_report report;
    assert_int_equal(vyre_program_inline(program, &flat, &error), VYRE_OK);
    vyre_arguments arguments = arguments_of(flat, inputs);
    if (opt_run(flat, &arguments, &campaign.expected)) {
        for (unsigned i = VY_SANITIZED ? VYRE_PASS_COUNT : 0; i < VYRE_PASS_COUNT; i++) { /* levels have them all */
            vyre_optimize_options options = {.passes = &(vyre_pass){(vyre_pass)i}, .pass_count = 1};
            assert_int_equal(vyre_program_optimize(flat, &options, &made, &report, &error), VYRE_OK);
            assert_int_equal(report.passes[i].refused, 0);
            compare(library, f, flat, made, &arguments, vyre_pass_name((vyre_pass)i));
        }
        for (unsigned level = 1; level <= VYRE_OPTIMIZE_LEVEL_MAX; level++) {
            vyre_optimize_options options = {.level = level};
            assert_int_equal(vyre_program_optimize(flat, &options, &made, &report, &error), VYRE_OK);
            compare(library, f, flat, made, &arguments, level == 1 ? "level 1" : "level 2");
        }
        try_legal(library, f, flat, &arguments);
        campaign.programs++;
    }
    vyre_program_release(flat);
    vyre_program_release(program);
}

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    char *text = calloc(1, size + 1);
    rewind(file);
    assert_int_equal(fread(text, 1, size, file), size);
    fclose(file);
    return text;
}

static void every_function_of_the_library_keeps_its_bits(void **state) {
    (void)state;
    char path[1024];
    struct dirent *entry;
    unsigned functions = 0;
    DIR *folder = opendir(vy_test_path("lib"));
    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 5, ".vyre") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", vy_test_path("lib"), entry->d_name);
        char *source = read_file(path);
        vyre_module *module;
        vyre_error error;
        if (vyre_text_parse(source, strlen(source), NULL, NULL, &module, &error) != VYRE_OK)
            fail_msg("%s: %s", path, error.message);
        const vyre_program *library = vyre_module_library(module);
        for (uint32_t i = 0; i < library->functions.count; i++, functions++)
            try_function(library, &library->functions.items[i], source);
        vyre_module_free(module);
        free(source);
    }
    closedir(folder);
    printf("%llu of %u functions run\n", (unsigned long long)campaign.programs, functions);
    assert_true(campaign.programs > 200 && campaign.programs * 10 > functions * 9);
    opt_campaign_free(&campaign);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_function_of_the_library_keeps_its_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
