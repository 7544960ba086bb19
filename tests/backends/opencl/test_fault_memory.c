/* Every allocation of the host may fail, from acquiring backend `opencl` to the last dispatch: NO_MEMORY, and nothing
 * is left. */
#include "backends/conform.h"
#include "backends/opencl/shim.h"

#include "support/fault.h"
#include "vyre/async.h"

static const char text[] =
    "program plain {\n param a : u32\n buffer x : u32 read\n buffer y : u32 write\n workgroup 64\n grid over y\n"
    " if global_id.x < len(y) { y[global_id.x] = x[global_id.x] * a + 1 }\n}\n";

enum { COUNT = 1000 };

static vyre_status dispatch(vyre_backend *backend, vyre_pipeline *pipeline, vyre_error *error) {
    static uint32_t x[COUNT];
    vyre_span span = {x, sizeof x};
    vyre_scalar a = vyre_scalar_u32(3);
    uint64_t count = COUNT;
    vyre_arguments arguments = {
        .params = &a, .param_count = 1, .inputs = &span, .input_count = 1, .counts = &count, .count_count = 1};
    vyre_arguments params = {.params = &a, .param_count = 1};
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_pending *pending = NULL;
    vyre_resource bindings[2] = {{.kind = VYRE_RESOURCE_RESIDENT}, {.kind = VYRE_RESOURCE_RESIDENT}};
    vyre_status status = vyre_pipeline_dispatch(pipeline, &arguments, NULL, &outputs, NULL, error);
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch_async(pipeline, &arguments, NULL, &pending, error);
    if (status == VYRE_OK)
        status = vyre_pending_wait(pending, UINT64_MAX, &outputs, NULL, error);
    vyre_pending_free(pending);
    for (int i = 0; i < 2 && status == VYRE_OK; i++)
        status = vyre_resident_allocate(backend, sizeof x, i ? NULL : x, &bindings[i].resident, error);
    if (status == VYRE_OK)
        status = vyre_pipeline_dispatch_persistent(pipeline, bindings, 2, &params, NULL, &outputs, NULL, NULL, error);
    for (int i = 0; i < 2; i++)
        if (bindings[i].resident.owner)
            vyre_resident_free(backend, bindings[i].resident, NULL);
    vyre_outputs_free(&outputs);
    return status;
}

static vyre_status all_of_it(void *program) {
    vyre_error error = VYRE_ERROR_INIT;
    vyre_backend *backend = NULL;
    vyre_pipeline *pipeline = NULL;
    vyre_status status = vyre_acquire("opencl", &backend, &error);
    if (status == VYRE_OK)
        status = vyre_compile(backend, program, NULL, &pipeline, &error);
    if (status == VYRE_OK)
        status = dispatch(backend, pipeline, &error);
    vyre_pipeline_release(pipeline);
    vyre_backend_release(backend);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static conform c;
    conform_open(&c, "opencl");
    conform_close(&c);
    vyre_program *program = conform_parse(text, NULL, 0, NULL);
    shim_keep_programs();
    assert_int_equal(all_of_it(program), VYRE_OK); /* what stays in the process is there */
    size_t count = VY_FAULT_LOOP_LENIENT(all_of_it, program);
    printf("%zu allocations\n", count);
    assert_null(shim_leaks());
    shim_end_keeping();
    vyre_program_release(program);
}

int main(void) {
    setenv("VYRE_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
