/* The oracle: any program that parses runs to an end, under a small budget and little memory, with every checker on,
 * under another schedule and without checks; and a run without findings gives the same bytes again.
 *
 * The first bytes of the input choose params, sizes and the grid; the rest is the text. */
#include "vyre/oracle.h"
#include "vyre/text.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 8, MAX_BUFFERS = 255, MAX_PARAMS = 255, DATA = 4096 };

static void check(int holds) {
    if (!holds)
        abort();
}

typedef struct dispatch {
    vyre_arguments arguments;
    vyre_scalar params[MAX_PARAMS];
    vyre_span inputs[MAX_BUFFERS];
    uint64_t counts[MAX_BUFFERS];
    uint8_t data[DATA];
} dispatch;

/* Inputs of the sizes the program states where it states them as constants, else of sizes drawn from the header. */
static void fill_dispatch(dispatch *d, const vyre_program *program, const uint8_t header[HEADER]) {
    memset(&d->arguments, 0, sizeof d->arguments);
    for (size_t i = 0; i < DATA; i++)
        d->data[i] = (uint8_t)(header[i % HEADER] * (i + 1) >> (i % 3));
    for (size_t i = 0; i < vyre_program_param_count(program); i++) {
        vyre_param_info info;
        vyre_program_param(program, i, &info);
        d->params[i] = vyre_scalar_bits(info.type, (uint64_t)header[i % HEADER] << (header[0] & 31));
    }
    size_t inputs = 0, counts = 0;
    for (size_t i = 0; i < vyre_program_buffer_count(program); i++) {
        vyre_buffer_info info;
        vyre_program_buffer(program, i, &info);
        size_t count = info.is_static && info.count <= DATA / 8 ? (size_t)info.count : header[1 + i % (HEADER - 1)];
        if (info.access != VYRE_ACCESS_WRITE)
            d->inputs[inputs++] = (vyre_span){d->data, count * vyre_type_size(info.type)};
        else if (!info.has_count)
            d->counts[counts++] = count;
    }
    d->arguments.params = d->params;
    d->arguments.param_count = vyre_program_param_count(program);
    d->arguments.inputs = d->inputs;
    d->arguments.input_count = inputs;
    d->arguments.counts = d->counts;
    d->arguments.count_count = counts;
    if (vyre_program_grid(program) == VYRE_GRID_DISPATCH || header[7] & 1)
        d->arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {header[4] % 5, header[5] % 3 + 1u, 1}};
}

static vyre_status run(const vyre_oracle *oracle, const dispatch *d, unsigned threads, unsigned checks, uint64_t seed,
                       vyre_bytes *outputs) {
    vyre_oracle_options options = {
        .threads = threads, .checks = checks, .seed = seed, .budget = 20000, .max_memory = 4 << 20};
    vyre_oracle_report report;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_diagnostics *list = vyre_diagnostics_new();
    vyre_status status = vyre_oracle_run(oracle, &d->arguments, &options, outputs, &report, list, &error);
    check(status == VYRE_OK || (error.message[0] && error.fix[0]));
    check(status == VYRE_CHECK_FAILED || status == VYRE_TRAPPED || status == VYRE_BUDGET ||
          vyre_diagnostics_count(list) == 0);
    vyre_diagnostics_free(list);
    return status;
}

static int same(const vyre_bytes *a, const vyre_bytes *b, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (a[i].size != b[i].size || (a[i].size && memcmp(a[i].data, b[i].data, a[i].size) != 0))
            return 0;
    return 1;
}

static void run_program(vyre_program *program, const uint8_t header[HEADER]) {
    static dispatch d;
    static vyre_bytes outputs[3][MAX_BUFFERS];
    vyre_oracle *oracle;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_oracle_new(program, &oracle, &error) != VYRE_OK) {
        check(error.message[0] && error.fix[0]);
        return;
    }
    fill_dispatch(&d, program, header);
    size_t count = vyre_program_output_count(program);
    vyre_status checked =
        run(oracle, &d, 1, VYRE_CHECK_ALL & ~VYRE_CHECK_BOUNDS & ~VYRE_CHECK_UNWRITTEN, 0, outputs[0]);
    vyre_status plain = run(oracle, &d, 2, 0, 0, outputs[1]);
    vyre_status perturbed = run(oracle, &d, 1, VYRE_CHECK_ALL, header[6] + 1u, outputs[2]);
    (void)perturbed;
    /* What the race checker has nothing against gives the same bytes without it, on two threads. */
    if (checked == VYRE_OK && plain == VYRE_OK)
        check(same(outputs[0], outputs[1], count));
    if (checked == VYRE_OK && perturbed == VYRE_OK && !vyre_program_schedule_dependent(program) &&
        vyre_program_numerics(program) == VYRE_NUMERICS_STRICT)
        check(same(outputs[0], outputs[2], count));
    for (int r = 0; r < 3; r++)
        for (size_t i = 0; i < count; i++)
            vyre_bytes_free(&outputs[r][i]);
    vyre_oracle_free(oracle);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    vyre_module *module;
    if (size < HEADER ||
        vyre_text_parse((const char *)data + HEADER, size - HEADER, NULL, NULL, &module, NULL) != VYRE_OK)
        return 0;
    for (size_t i = 0; i < vyre_module_program_count(module); i++)
        run_program(vyre_module_program(module, i), data);
    vyre_module_free(module);
    return 0;
}
