/* What a dispatch must give, and how it is told what is missing. */
#include "oracle/trial.h"

#include "ir/dispatch_resolve.h"

typedef struct launch_case {
    vyre_module *module;
    vyre_program *program;
    vyre_arguments arguments;
    vy_resolved_dispatch launch;
    vyre_error error;
} launch_case;

static void open_case(launch_case *c, const char *text) {
    memset(c, 0, sizeof *c);
    vyre_diagnostics *list = vyre_diagnostics_new();
    if (vyre_text_parse(text, strlen(text), NULL, list, &c->module, &c->error) != VYRE_OK) {
        trial_show(list);
        fail_msg("%s\n%s", c->error.message, text);
    }
    vyre_diagnostics_free(list);
    c->program = vyre_module_program(c->module, 0);
}

static vyre_status resolve(launch_case *c) {
    return vy_resolve_dispatch(c->program, &c->arguments, &c->launch, &c->error);
}

static void expect_refusal(launch_case *c, vyre_status status, const char *words) {
    vyre_status got = resolve(c);
    if (got != status || !strstr(c->error.message, words) || !c->error.fix[0])
        fail_msg("%s \"%s\" (fix \"%s\"), not %s with \"%s\"", vyre_status_name(got), got ? c->error.message : "",
                 c->error.fix, vyre_status_name(status), words);
}

static void counts_follow_from_params_and_other_buffers(void **state) {
    (void)state;
    launch_case c;
    open_case(&c, "program p {\n param n : u32\n buffer c : u8 write count len(b) - len(a)\n buffer a : u16 read\n "
                  "buffer b : f64 write count "
                  "max(n * n, len(a)) + 7 % 4\n buffer d : u32 write count div_ceil(n, 2) + n / 2 - min(n, 1)\n "
                  "workgroup 4\n grid div_ceil(len(b), 4), 2\n}");
    vyre_scalar n = vyre_scalar_u32(5);
    uint16_t a[6] = {0};
    vyre_span input = {a, sizeof a};
    c.arguments = (vyre_arguments){.params = &n, .param_count = 1, .inputs = &input, .input_count = 1};
    assert_int_equal(resolve(&c), VYRE_OK);
    assert_int_equal(c.launch.buffers[1].count, 6);
    assert_int_equal(c.launch.buffers[2].count, 28);
    assert_int_equal(c.launch.buffers[2].bytes, 28 * 8);
    assert_int_equal(c.launch.buffers[0].count, 22);
    assert_int_equal(c.launch.buffers[3].count, 4);
    assert_int_equal(c.launch.groups[0], 7);
    assert_int_equal(c.launch.groups[1], 2);
    assert_int_equal(c.launch.groups[2], 1);
    assert_int_equal(c.launch.invocations, 7 * 2 * 4);
    assert_int_equal(c.launch.buffers[1].input, 0);
    assert_int_equal(c.launch.buffers[1].output, VY_NONE);
    assert_int_equal(c.launch.buffers[3].output, 2);
    assert_int_equal(vyre_program_input_count(c.program), 1);
    assert_int_equal(vyre_program_output_count(c.program), 3);
    vyre_module_free(c.module);
}

static void a_size_outside_its_range_is_named(void **state) {
    (void)state;
    static const struct {
        const char *size, *words;
        int64_t n;
        vyre_status status;
    } cases[] = {
        {"n - 6", "5 - 6", 5, VYRE_INVALID_ARGUMENT},
        {"10 / n", "division by zero", 0, VYRE_INVALID_ARGUMENT},
        {"10 % n", "division by zero", 0, VYRE_INVALID_ARGUMENT},
        {"div_ceil(10, n)", "division by zero", 0, VYRE_INVALID_ARGUMENT},
        {"n * n * n", "product over 2^64", INT64_MAX, VYRE_INVALID_ARGUMENT},
        {"n + n + n", "sum over 2^64", INT64_MAX, VYRE_INVALID_ARGUMENT},
        {"n", "`n`, which is negative (-3)", -3, VYRE_INVALID_ARGUMENT},
        {"n", "4294967296 elements, over the limit (4294967295)", (int64_t)1 << 32, VYRE_LIMIT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        launch_case c;
        snprintf(text, sizeof text, "program p {\n param n : i64\n buffer y : u8 write count %s\n grid 1\n}",
                 cases[i].size);
        open_case(&c, text);
        vyre_scalar n = vyre_scalar_i64(cases[i].n);
        c.arguments = (vyre_arguments){.params = &n, .param_count = 1};
        expect_refusal(&c, cases[i].status, cases[i].words);
        vyre_module_free(c.module);
    }
}

static void params_must_fit(void **state) {
    (void)state;
    launch_case c;
    open_case(&c, "program p {\n param a : f32\n param b : i8\n grid 1\n}");
    vyre_scalar params[3] = {vyre_scalar_f32(1), vyre_scalar_bits(VYRE_TYPE_I8, 0x1ff), vyre_scalar_f32(1)};
    expect_refusal(&c, VYRE_INVALID_ARGUMENT, "has 0 params (2 expected)");
    c.arguments.params = params;
    c.arguments.param_count = 3;
    expect_refusal(&c, VYRE_INVALID_ARGUMENT, "has 3 params");
    c.arguments.param_count = 2;
    assert_int_equal(resolve(&c), VYRE_OK);
    assert_int_equal(c.launch.params[1], 0xff);
    params[0] = vyre_scalar_u32(1);
    expect_refusal(&c, VYRE_INVALID_ARGUMENT, "`a` is given as u32, the program declares f32");
    vyre_module_free(c.module);
}

static void inputs_must_fit(void **state) {
    (void)state;
    launch_case c;
    uint32_t data[8] = {0};
    vyre_span inputs[2] = {{data, 16}, {data, 8}};
    open_case(&c, "program p {\n buffer x : u32 read\n buffer y : u32 read_write count 2\n buffer z : u32 write count "
                  "1\n grid 1\n}");
    expect_refusal(&c, VYRE_INVALID_ARGUMENT, "has 0 inputs (2 expected)");
    c.arguments.inputs = inputs;
    c.arguments.input_count = 2;
    assert_int_equal(resolve(&c), VYRE_OK);
    inputs[1].size = 12;
    expect_refusal(&c, VYRE_INVALID_ARGUMENT, "`y` has 3 elements, the program states 2");
    inputs[1].size = 8;
    inputs[0].size = 15;
    expect_refusal(&c, VYRE_INVALID_ARGUMENT, "`x` has 15 bytes");
    inputs[0] = (vyre_span){NULL, 4};
    expect_refusal(&c, VYRE_INVALID_ARGUMENT, "NULL pointer");
    inputs[0] = (vyre_span){NULL, 0};
    assert_int_equal(resolve(&c), VYRE_OK);
    inputs[0] = (vyre_span){data, (size_t)4 << 32};
    expect_refusal(&c, VYRE_LIMIT, "`x` has 4294967296 elements");
    vyre_module_free(c.module);
}

static void open_counts_must_be_given(void **state) {
    (void)state;
    launch_case c;
    const uint64_t counts[3] = {7, 9, 1};
    open_case(&c, "program p {\n buffer x : u32 write\n buffer y : u32 write count len(z)\n buffer z : u8 write\n grid "
                  "over x\n}");
    expect_refusal(&c, VYRE_INVALID_ARGUMENT, "count of `x` is left open");
    c.arguments.counts = counts;
    c.arguments.count_count = 1;
    expect_refusal(&c, VYRE_INVALID_ARGUMENT, "count of `z` is left open");
    c.arguments.count_count = 3;
    expect_refusal(&c, VYRE_INVALID_ARGUMENT, "has 3 counts (2 expected)");
    c.arguments.count_count = 2;
    assert_int_equal(resolve(&c), VYRE_OK);
    assert_int_equal(c.launch.buffers[1].count, 9);
    assert_int_equal(c.launch.groups[0], 7);
    vyre_module_free(c.module);
}

static void the_grid_may_come_from_the_dispatch(void **state) {
    (void)state;
    launch_case c;
    open_case(&c, "program p {\n workgroup 10, 3\n}");
    expect_refusal(&c, VYRE_INVALID_ARGUMENT, "names a grid");
    c.arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_ELEMENTS, {101, 3, 1}};
    assert_int_equal(resolve(&c), VYRE_OK);
    assert_int_equal(c.launch.groups[0], 11);
    assert_int_equal(c.launch.groups[1], 1);
    c.arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {4, 0, 9}};
    assert_int_equal(resolve(&c), VYRE_OK);
    assert_int_equal(c.launch.group_count, 0);
    c.arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {429496729, 1, 1}};
    assert_int_equal(resolve(&c), VYRE_OK);
    c.arguments.geometry.size[0]++;
    expect_refusal(&c, VYRE_LIMIT, "429496730 workgroups of 10 along x, over the limit (4294967295 invocations)");
    c.arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {429496729, 1000000000, 429496729}};
    expect_refusal(&c, VYRE_LIMIT, "2^64 - 1 invocations");
    c.arguments.geometry = (vyre_geometry){(vyre_geometry_kind)9, {1, 1, 1}};
    expect_refusal(&c, VYRE_INVALID_ARGUMENT, "unknown");
    vyre_module_free(c.module);
}

/* 2^32 invocations have ids that fit u32, but their number, `global_size`, would be 0. */
static void a_dimension_has_fewer_than_2_to_the_32_invocations(void **state) {
    launch_case c;
    (void)state;
    open_case(&c, "program p {\n buffer y : u8 write count 1\n workgroup 1, 256\n}");
    c.arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {UINT32_MAX, 0xffffff, 1}};
    assert_int_equal(resolve(&c), VYRE_OK);
    c.arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_GROUPS, {1, 0x1000000, 1}};
    expect_refusal(&c, VYRE_LIMIT, "16777216 workgroups of 256 along y, over the limit (4294967295 invocations)");
    assert_non_null(strstr(c.error.fix, "at most 16777215 workgroups of 256 along y"));
    /* Rounded up to whole workgroups, the last 255 numbers are over it too. */
    c.arguments.geometry = (vyre_geometry){VYRE_GEOMETRY_ELEMENTS, {1, UINT32_MAX - 255, 1}};
    assert_int_equal(resolve(&c), VYRE_OK);
    c.arguments.geometry.size[1]++;
    expect_refusal(&c, VYRE_LIMIT, "16777216 workgroups of 256 along y");
    vyre_module_free(c.module);
}

static void the_grid_may_come_from_a_buffer(void **state) {
    (void)state;
    launch_case c;
    const uint32_t data[5] = {9, 2, 3, 4, 5};
    vyre_span input = {data, sizeof data};
    open_case(&c, "program p {\n buffer g : u32 read\n grid indirect g[1]\n}");
    c.arguments = (vyre_arguments){.inputs = &input, .input_count = 1};
    assert_int_equal(resolve(&c), VYRE_OK);
    assert_int_equal(c.launch.group_count, 2 * 3 * 4);
    input.size = 12;
    expect_refusal(&c, VYRE_INVALID_ARGUMENT, "read from `g` at elements 1 to 3, but it has 3");
    vyre_module_free(c.module);
}

static void a_library_cannot_be_run(void **state) {
    (void)state;
    vyre_module *module;
    vyre_oracle *oracle;
    vyre_error error;
    const char *text = "fn f(a: u32) -> u32 { return a }\n";
    assert_int_equal(vyre_text_parse(text, strlen(text), NULL, NULL, &module, &error), VYRE_OK);
    assert_int_equal(vyre_oracle_new(vyre_module_library(module), &oracle, &error), VYRE_INVALID_ARGUMENT);
    assert_null(oracle);
    assert_int_equal(vyre_program_input_count(vyre_module_library(module)), 0);
    vyre_module_free(module);
}

static void an_op_that_is_not_resolved_is_named(void **state) {
    (void)state;
    launch_case c;
    vyre_oracle *oracle;
    open_case(&c,
              "program p {\n buffer y : f32 write count 1\n grid 1\n let e : f32 = nowhere.thing(1.0f32)\n y[0] = e }");
    assert_int_equal(vyre_oracle_new(c.program, &oracle, &c.error), VYRE_NOT_FOUND);
    assert_non_null(strstr(c.error.fix, "vyre_program_resolve"));
    assert_non_null(strstr(c.error.message, "nowhere.thing"));
    assert_non_null(strstr(c.error.where, ":4:"));
    vyre_module_free(c.module);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_follow_from_params_and_other_buffers),
        cmocka_unit_test(a_size_outside_its_range_is_named),
        cmocka_unit_test(params_must_fit),
        cmocka_unit_test(inputs_must_fit),
        cmocka_unit_test(open_counts_must_be_given),
        cmocka_unit_test(the_grid_may_come_from_the_dispatch),
        cmocka_unit_test(a_dimension_has_fewer_than_2_to_the_32_invocations),
        cmocka_unit_test(the_grid_may_come_from_a_buffer),
        cmocka_unit_test(a_library_cannot_be_run),
        cmocka_unit_test(an_op_that_is_not_resolved_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
