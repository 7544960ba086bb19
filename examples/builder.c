/* A kernel made in C, call by call, and run: the same saxpy as saxpy.vyre, with the same fingerprint. */
#include <vyre/vyre.h>

#include <stdio.h>

static vyre_status build_saxpy(vyre_program **out, vyre_error *error) {
    vyre_builder *b = vyre_builder_new("saxpy");
    vyre_value a = vyre_param(b, "a", VYRE_TYPE_F32);
    vyre_memory x = vyre_buffer(b, "x", VYRE_TYPE_F32, VYRE_ACCESS_READ);
    vyre_memory y = vyre_buffer(b, "y", VYRE_TYPE_F32, VYRE_ACCESS_READ_WRITE);
    vyre_value i;

    vyre_builder_workgroup(b, 256, 1, 1);
    vyre_builder_grid_over(b, y);
    i = vyre_let(b, "i", vyre_global_id(b, 0));
    vyre_builder_begin_if(b, vyre_lt(b, i, vyre_len(b, y)));
    vyre_builder_store(b, y, i, vyre_fma(b, a, vyre_load(b, x, i), vyre_load(b, y, i)));
    vyre_builder_end(b);
    /* Mistakes in any of these calls are reported here, all at once. */
    return vyre_builder_finish(b, NULL, out, error);
}

static vyre_status run_saxpy(vyre_program *program, vyre_bytes *result, vyre_error *error) {
    const float x[] = {1, 2, 3}, y[] = {10, 20, 30};
    const vyre_scalar params[] = {vyre_scalar_f32(2.0f)};
    const vyre_span inputs[] = {{x, sizeof x}, {y, sizeof y}};
    const vyre_arguments arguments = {.params = params, .param_count = 1, .inputs = inputs, .input_count = 2};
    const vyre_oracle_options options = {0};
    vyre_oracle_report report;
    vyre_oracle *oracle;
    vyre_status status = vyre_oracle_new(program, &oracle, error);

    if (status == VYRE_OK)
        status = vyre_oracle_run(oracle, &arguments, &options, result, &report, NULL, error);
    vyre_oracle_free(oracle);
    return status;
}

int main(void) {
    vyre_bytes result = VYRE_BYTES_INIT;
    vyre_program *program = NULL;
    vyre_error error;
    char text[1200];
    int failed = 1;

    if (build_saxpy(&program, &error) != VYRE_OK || run_saxpy(program, &result, &error) != VYRE_OK) {
        vyre_error_format(&error, text, sizeof text);
        fputs(text, stderr);
    } else {
        const float *y = result.data;
        vyre_digest fingerprint;
        vyre_program_fingerprint(program, &fingerprint);
        vyre_digest_format(&fingerprint, text);
        printf("%g %g %g\n%s\n", y[0], y[1], y[2], text);
        failed = 0;
    }
    vyre_bytes_free(&result);
    vyre_program_release(program);
    return failed;
}
