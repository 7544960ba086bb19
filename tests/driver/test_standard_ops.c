/* Ops of dialects from C: a text that calls them is parsed, selected for, compiled and dispatched without a call that
 * names a snapshot. */
#include "support/fault.h"
#include "support/test.h"

#include "vyre/vyre.h"

enum { COUNT = 4 };

static const char text[] = "program p {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n let i = global_id.x\n"
                           " x[i] = bits.parity_u32(x[i]) + int.gcd_u32(x[i], 6)\n}\n";
static const uint32_t given[COUNT] = {3, 4, 7, 12}, expected[COUNT] = {3, 3, 2, 6};

static vyre_module *parse(const char *from) {
    vyre_module *module;
    vyre_error error;
    if (vyre_text_parse(from, strlen(from), NULL, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s: %s", error.where, error.message);
    return module;
}

static vyre_backend *acquire(const char *id) {
    vyre_backend *backend;
    vyre_error error;
    if (vyre_acquire(id, &backend, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return backend;
}

static void expect(vyre_outputs *outputs) {
    assert_int_equal(outputs->count, 1);
    assert_memory_equal(outputs->items[0].data, expected, sizeof expected);
    vyre_outputs_free(outputs);
}

static const vyre_span input = {given, sizeof given};
static const vyre_arguments arguments = {.inputs = &input, .input_count = 1};

static void a_compiled_program_has_its_ops_resolved(void **state) {
    (void)state;
    vyre_module *module = parse(text);
    vyre_program *program = vyre_module_program(module, 0);
    vyre_backend *backend = acquire("reference");
    vyre_pipeline *pipeline;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    assert_int_equal(vyre_compile(backend, program, NULL, &pipeline, NULL), VYRE_OK);
    assert_int_equal(vyre_pipeline_dispatch(pipeline, &arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
    expect(&outputs);
    assert_ptr_not_equal(vyre_pipeline_program(pipeline), program);
    assert_non_null(vyre_program_dialects(vyre_pipeline_program(pipeline)).snapshot);
    vyre_pipeline_release(pipeline);
    vyre_backend_release(backend);
    vyre_module_free(module);
}

static void every_form_of_dispatch_resolves(void **state) {
    (void)state;
    vyre_module *module = parse(text);
    vyre_program *program = vyre_module_program(module, 0);
    vyre_backend *backend = acquire("reference");
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_bytes owned = VYRE_BYTES_INIT;
    vyre_pending *pending;
    assert_int_equal(vyre_bytes_resize(&owned, sizeof given, NULL), VYRE_OK);
    memcpy(owned.data, given, sizeof given);
    assert_int_equal(vyre_backend_prepare(backend, program, NULL), VYRE_OK);
    assert_int_equal(vyre_backend_dispatch(backend, program, &arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
    expect(&outputs);
    assert_int_equal(vyre_backend_dispatch_into(backend, program, &arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
    expect(&outputs);
    assert_int_equal(vyre_backend_dispatch_timed(backend, program, &arguments, NULL, &outputs, NULL, NULL, NULL),
                     VYRE_OK);
    expect(&outputs);
    assert_int_equal(vyre_backend_dispatch_owned(backend, program, &owned, 1, NULL, NULL, &outputs, NULL, NULL),
                     VYRE_OK);
    expect(&outputs);
    assert_int_equal(vyre_backend_dispatch_async(backend, program, &arguments, NULL, &pending, NULL), VYRE_OK);
    assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, &outputs, NULL, NULL), VYRE_OK);
    vyre_pending_free(pending);
    expect(&outputs);
    assert_int_equal(vyre_backend_dispatch_owned_async(backend, program, &owned, 1, NULL, NULL, &pending, NULL),
                     VYRE_OK);
    assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, &outputs, NULL, NULL), VYRE_OK);
    vyre_pending_free(pending);
    expect(&outputs);
    vyre_bytes_free(&owned);
    vyre_backend_release(backend);
    vyre_module_free(module);
}

static void a_resident_dispatch_resolves(void **state) {
    (void)state;
    vyre_module *module = parse(text);
    vyre_backend *backend = acquire("reference");
    vyre_resource binding = {.kind = VYRE_RESOURCE_RESIDENT};
    uint32_t x[COUNT];
    vyre_error error;
    assert_int_equal(vyre_resident_allocate(backend, sizeof given, given, &binding.resident, NULL), VYRE_OK);
    vyre_status status = vyre_backend_dispatch_resident(backend, vyre_module_program(module, 0), &binding, 1, NULL,
                                                        NULL, NULL, NULL, &error);
    if (status != VYRE_UNSUPPORTED) { /* a backend without that entry */
        assert_int_equal(status, VYRE_OK);
        assert_int_equal(vyre_resident_download_at(backend, binding.resident, 0, x, sizeof x, NULL), VYRE_OK);
        assert_memory_equal(x, expected, sizeof expected);
    }
    vyre_backend_release(backend);
    vyre_module_free(module);
}

static void selection_and_kernels_resolve(void **state) {
    (void)state;
    vyre_module *module = parse(text);
    vyre_policy policy = {.only = "reference", .program = vyre_module_program(module, 0)};
    vyre_backend *backend;
    vyre_bytes wire = VYRE_BYTES_INIT;
    vyre_kernel *kernel;
    uint32_t x[COUNT];
    vyre_kernel_buffer buffer = {.data = x, .count = COUNT};
    assert_int_equal(vyre_select(&policy, &backend, NULL, NULL), VYRE_OK);
    assert_int_equal(vyre_wire_encode(policy.program, 0, &wire, NULL), VYRE_OK);
    assert_int_equal(vyre_kernel_open_on(backend, wire.data, wire.size, &kernel, NULL), VYRE_OK);
    memcpy(x, given, sizeof x);
    assert_int_equal(vyre_kernel_run(kernel, NULL, 0, &buffer, 1, NULL, NULL, NULL, NULL), VYRE_OK);
    assert_memory_equal(x, expected, sizeof expected);
    vyre_kernel_close(kernel);
    assert_int_equal(vyre_kernel_open(wire.data, wire.size, &policy, &kernel, NULL), VYRE_OK);
    vyre_kernel_close(kernel);
    vyre_bytes_free(&wire);
    vyre_backend_release(backend);
    vyre_module_free(module);
}

static void an_unknown_op_is_named_with_its_line(void **state) {
    (void)state;
    vyre_module *module = parse("program p {\n buffer x : u32 read_write\n grid 1\n"
                                " let a : u32 = bits.partiy_u32(x[0])\n x[0] = a\n}\n");
    vyre_policy policy = {.only = "reference", .program = vyre_module_program(module, 0)};
    vyre_backend *backend = acquire("reference"), *selected;
    vyre_pipeline *pipeline;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    vyre_pending *pending;
    vyre_error error;
#define EXPECT_NAMED(call)                                                                                             \
    do {                                                                                                               \
        assert_int_equal(call, VYRE_NOT_FOUND);                                                                        \
        assert_non_null(strstr(error.message, "bits.partiy_u32"));                                                     \
        assert_non_null(strstr(error.fix, "bits.parity_u32"));                                                         \
        assert_non_null(strstr(error.where, ":4:"));                                                                   \
    } while (0)
    EXPECT_NAMED(vyre_compile(backend, policy.program, NULL, &pipeline, &error));
    assert_null(pipeline);
    EXPECT_NAMED(vyre_backend_dispatch(backend, policy.program, &arguments, NULL, &outputs, NULL, &error));
    EXPECT_NAMED(vyre_backend_dispatch_async(backend, policy.program, &arguments, NULL, &pending, &error));
    assert_null(pending);
    EXPECT_NAMED(vyre_backend_prepare(backend, policy.program, &error));
    EXPECT_NAMED(vyre_select(&policy, &selected, NULL, &error));
    assert_null(selected);
    vyre_backend_release(backend);
    vyre_module_free(module);
}

static vyre_status add_scale(vyre_dialect_builder *builder, void *user, vyre_error *error) {
    static const vyre_op_operand one = {"x", VYRE_OPERAND_VALUE, VYRE_TYPE_U32, VYRE_ACCESS_READ};
    const vyre_op_definition op = {.struct_size = sizeof op,
                                   .id = "own.scale",
                                   .inputs = &one,
                                   .input_count = 1,
                                   .outputs = &one,
                                   .output_count = 1,
                                   .source = user};
    const vyre_op_definition *const ops[] = {&op};
    const vyre_dialect dialect = {.struct_size = sizeof dialect, .name = "own", .owner = "the test"};
    return vyre_dialect_builder_replace(builder, &dialect, ops, 1, error);
}

/* A pipeline keeps the bodies it was compiled with; the next compile has the new ones. */
static void ops_come_from_the_newest_snapshot(void **state) {
    (void)state;
    static const char *const sources[] = {"fn scale(x: u32) -> u32 { return x * 2 }",
                                          "fn scale(x: u32) -> u32 { return x * 3 }"};
    vyre_backend *backend = acquire("reference");
    vyre_pipeline *pipelines[2];
    vyre_module *module = NULL;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    for (int i = 0; i < 2; i++) {
        char source[64];
        strcpy(source, sources[i]);
        assert_int_equal(vyre_dialects_update(add_scale, source, NULL), VYRE_OK);
        if (!module)
            module = parse("program p {\n buffer x : u32 read_write\n grid over x\n"
                           " x[global_id.x] = own.scale(x[global_id.x])\n}\n");
        assert_int_equal(vyre_compile(backend, vyre_module_program(module, 0), NULL, &pipelines[i], NULL), VYRE_OK);
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(vyre_pipeline_dispatch(pipelines[i], &arguments, NULL, &outputs, NULL, NULL), VYRE_OK);
        assert_int_equal(((const uint32_t *)outputs.items[0].data)[0], (2 + i) * given[0]);
        vyre_pipeline_release(pipelines[i]);
    }
    vyre_outputs_free(&outputs);
    vyre_module_free(module);
    vyre_backend_release(backend);
}

static int knows_nothing(void *user, const char *id, size_t length, vyre_op_signature *out) {
    (void)user, (void)id, (void)length, (void)out;
    return 0;
}

static void a_teller_of_the_caller_is_the_only_one(void **state) {
    (void)state;
    const vyre_parse_options options = {.op_signature = knows_nothing};
    vyre_module *module;
    vyre_error error;
    assert_int_equal(vyre_text_parse(text, strlen(text), &options, NULL, &module, &error), VYRE_INVALID_PROGRAM);
    assert_null(module);
}

static vyre_status parse_and_dispatch(void *user) {
    vyre_module *module = NULL;
    vyre_policy policy = {.only = "reference"};
    vyre_backend *backend = NULL;
    vyre_pipeline *pipeline = NULL;
    vyre_pending *pending = NULL;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    (void)user;
    vyre_status status = vyre_text_parse(text, strlen(text), NULL, NULL, &module, NULL);
    policy.program = status == VYRE_OK ? vyre_module_program(module, 0) : NULL;
    if (status == VYRE_OK)
        status = vyre_select(&policy, &backend, NULL, NULL);
    if (status == VYRE_OK)
        status = vyre_compile(backend, policy.program, NULL, &pipeline, NULL);
    if (status == VYRE_OK)
        status = vyre_backend_dispatch(backend, policy.program, &arguments, NULL, &outputs, NULL, NULL);
    if (status == VYRE_OK)
        status = vyre_backend_dispatch_async(backend, policy.program, &arguments, NULL, &pending, NULL);
    if (status == VYRE_OK)
        status = vyre_pending_wait(pending, UINT64_MAX, &outputs, NULL, NULL);
    vyre_pending_free(pending);
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
    vyre_backend_release(backend);
    vyre_module_free(module);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    assert_int_equal(parse_and_dispatch(NULL), VYRE_OK); /* the registries of the process are made */
    VY_FAULT_LOOP_LENIENT(parse_and_dispatch, NULL);     /* a cache may do without */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_allocation_may_fail),           cmocka_unit_test(a_compiled_program_has_its_ops_resolved),
        cmocka_unit_test(every_form_of_dispatch_resolves),   cmocka_unit_test(a_resident_dispatch_resolves),
        cmocka_unit_test(selection_and_kernels_resolve),     cmocka_unit_test(an_unknown_op_is_named_with_its_line),
        cmocka_unit_test(ops_come_from_the_newest_snapshot), cmocka_unit_test(a_teller_of_the_caller_is_the_only_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
