/* Parse, select, compile, dispatch: a kernel from text, on a GPU if one is usable and else on the CPU.
 *
 *   cc dispatch.c $(pkg-config --cflags --libs vyre) && ./a.out */
#include <vyre/vyre.h>

#include <stdio.h>
#include <string.h>

static const char text[] = "program saxpy {\n"
                           "  param a : f32\n"
                           "  buffer x : f32 read\n"
                           "  buffer y : f32 read_write\n"
                           "  workgroup 256\n"
                           "  grid over y\n"
                           "\n"
                           "  let i = global_id.x\n"
                           "  if i < len(y) { y[i] = fma(a, x[i], y[i]) }\n"
                           "}\n";

int main(void) {
    const float x[] = {1, 2, 3}, y[] = {10, 20, 30};
    const vyre_scalar params[] = {vyre_scalar_f32(2.0f)};
    const vyre_span inputs[] = {{x, sizeof x}, {y, sizeof y}}; /* in declaration order */
    const vyre_arguments arguments = {.params = params, .param_count = 1, .inputs = inputs, .input_count = 2};
    vyre_policy policy = VYRE_POLICY_DEFAULT;
    vyre_module *module = NULL;
    vyre_backend *backend = NULL;
    vyre_pipeline *pipeline = NULL;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT; /* kept and refilled: repeated dispatches allocate nothing */
    vyre_error error;
    char message[1200];

    vyre_status status = vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error);
    if (status == VYRE_OK) {
        policy.program = vyre_module_program(module, 0); /* a backend that cannot run it is not chosen */
        status = vyre_select(&policy, &backend, NULL, &error);
    }
    if (status == VYRE_OK)
        status = vyre_compile(backend, policy.program, NULL, &pipeline, &error);
    for (int i = 0; i < 1000 && status == VYRE_OK; i++)
        status = vyre_pipeline_dispatch_into(pipeline, &arguments, NULL, &outputs, NULL, &error);
    if (status == VYRE_OK) {
        const float *result = outputs.items[0].data;
        printf("%g %g %g\n", result[0], result[1], result[2]);
    } else {
        vyre_error_format(&error, message, sizeof message);
        fputs(message, stderr);
    }
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    vyre_backend_release(backend);
    vyre_module_free(module);
    return status != VYRE_OK;
}
