/* The k-th allocation fails, on the road from the backend's making to its end. */
#include "backends/cpu/blob.h"

#include "support/fault.h"
#include "vyre/async.h"

static vyre_status open_and_run(void *user) {
    vyre_program *program = user;
    blob_rig r;
    vyre_pipeline *pipeline = NULL;
    uint32_t in[100] = {0};
    vyre_span span = {in, sizeof in};
    vyre_scalar p = vyre_scalar_u32(1);
    vyre_arguments arguments = {
        .params = &p, .param_count = vyre_program_param_count(program), .inputs = &span, .input_count = 1};
    vyre_arguments many[3] = {arguments, arguments, arguments};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT, several[3] = {VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT};
    size_t failed;
    vyre_pending *pending = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status status = blob_try_open(&r, 1, &error);
    if (status == VYRE_OK)
        status = vyre_compile(r.backend, program, NULL, &pipeline, &error);
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch(pipeline, &arguments, NULL, &outputs, NULL, &error);
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch_async(pipeline, &arguments, NULL, &pending, &error);
    if (status == VYRE_OK)
        status = vyre_pending_wait(pending, UINT64_MAX, &outputs, NULL, &error);
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch_batch(pipeline, many, 3, NULL, several, &failed, NULL, &error);
    for (int i = 0; i < 3; i++)
        vyre_outputs_free(&several[i]);
    vyre_pending_free(pending);
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    vyre_backend_release(r.backend);
    return status;
}

static void a_lack_of_memory_is_survived(void **state) {
    (void)state;
    BLOB_NEEDS_CODE();
    vyre_program *add = vy_test_parse(BLOB_ADD), *memory = vy_test_parse(BLOB_OVER_X("memory"));
    VY_FAULT_LOOP_LENIENT(open_and_run, add);
    VY_FAULT_LOOP_LENIENT(open_and_run, memory);
    vyre_program_release(add);
    vyre_program_release(memory);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lack_of_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
