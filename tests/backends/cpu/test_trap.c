/* Where a program trapped: backend `cpu` reports the same source position as the reference, whoever compiled the
 * code. */
#include "backends/conform.h"

#include "base/string.h"
#include "driver/cache.h"
#include "vyre/async.h"
#include "vyre/cache.h"
#include "vyre/text.h"
#include "vyre/wire.h"

#include <unistd.h>

enum { COUNT = 256 };

static vyre_backend *cpu;
static uint32_t x[COUNT];
static vyre_span input = {x, sizeof x};
static const vyre_arguments arguments = {.inputs = &input, .input_count = 1};

#define NEEDS_CPU()                                                                                                    \
    do {                                                                                                               \
        if (!cpu)                                                                                                      \
            VY_SKIP("backend cpu: there is no compiler");                                                              \
    } while (0)

static vyre_program *parse(const char *name, const char *text) {
    const vyre_parse_options options = {.file = name};
    vyre_module *module;
    vyre_error error;
    if (vyre_text_parse(text, strlen(text), &options, NULL, &module, &error) != VYRE_OK)
        fail_msg("%s: %s\n%s", error.message, error.where, text);
    vyre_program *program = vyre_program_retain(vyre_module_program(module, 0));
    vyre_module_free(module);
    return program;
}

/* Without positions and source. */
static vyre_program *bare(vyre_program *program) {
    vyre_bytes wire = VYRE_BYTES_INIT;
    vyre_program *out;
    assert_int_equal(vyre_wire_encode(program, 0, &wire, NULL), VYRE_OK);
    assert_int_equal(vyre_wire_decode(wire.data, wire.size, NULL, &out, NULL), VYRE_OK);
    vyre_bytes_free(&wire);
    return out;
}

static vyre_pipeline *compile(vyre_program *program) {
    vyre_pipeline *pipeline = NULL;
    vyre_error error;
    if (vyre_compile(cpu, program, NULL, &pipeline, &error) != VYRE_OK)
        fail_msg("%s", error.message);
    return pipeline;
}

/* Compiles and dispatches; it traps. */
static void trap_on_cpu(vyre_program *program, vyre_error *error) {
    vyre_pipeline *pipeline = compile(program);
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    assert_int_equal(vyre_pipeline_dispatch_into(pipeline, &arguments, NULL, &outputs, NULL, error), VYRE_TRAPPED);
    vyre_outputs_free(&outputs);
    vyre_pipeline_release(pipeline);
}

static void trap_on_reference(vyre_program *program, vyre_error *error) {
    vyre_backend *reference;
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    assert_int_equal(vyre_acquire("reference", &reference, NULL), VYRE_OK);
    assert_int_equal(vyre_backend_dispatch(reference, program, &arguments, NULL, &outputs, NULL, error), VYRE_TRAPPED);
    vyre_outputs_free(&outputs);
    vyre_backend_release(reference);
}

#define HEAD "program p {\n  buffer x : u32 read_write\n  workgroup 64\n  grid over x\n  let i = global_id.x\n"

/* Every element of x is its index. Each traps somewhere. */
static const char *const programs[] = {
    /* one of two, by the data */
    HEAD "  if x[i] == 70 { trap 1 }\n  if x[i] == 69 {\n    trap 1\n  }\n  x[i] = 1\n}\n",
    /* the same code in both branches */
    HEAD "  if x[i] % 2 == 1 {\n    trap 3\n  } else {\n    x[i] += 1\n    if x[i] == 1 {  trap 3 }\n  }\n}\n",
    /* all of them */
    HEAD "  trap x[i] + 5\n}\n",
    /* in a loop that is unrolled */
    HEAD "  for k in 0u32 .. 4 {\n    if x[i] * 4 + k == 77 {\n      trap k\n    }\n  }\n  x[i] = 0\n}\n",
    /* barriers follow */
    HEAD "  if i == 130 { trap 1 }\n  if i == 129 { trap 2 }\n  barrier\n  x[i] = workgroup_reduce_add(i)\n}\n",
    /* in a function that is called twice, behind one that is not called */
    "fn unused(a: u32) -> u32 {\n  if a == 1 { trap 9 }\n  return a\n}\n\nfn checked(a: u32) -> u32 {\n"
    "  if a > 300 {\n\n    trap a\n  }\n  return a * 2\n}\n\n" HEAD
    "  let one = checked(i)\n  x[i] = checked(one + i)\n}\n",
    /* the grid is split there */
    HEAD "  x[i] = x[i] + 1\n  grid_barrier\n  let other = x[(i + 64) % len(x)]\n"
         "  if other == 7 {\n    trap 11\n  }\n  grid_barrier\n  x[i] = other\n}\n",
};

static void a_trap_has_the_position_that_the_reference_reports(void **state) {
    (void)state;
    NEEDS_CPU();
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        vyre_program *program = parse("kernel.vyre", programs[i]);
        vyre_error ours, wanted;
        trap_on_reference(program, &wanted);
        trap_on_cpu(program, &ours);
        assert_true(strncmp(wanted.where, "kernel.vyre:", 12) == 0);
        assert_string_equal(ours.where, wanted.where);
        assert_string_equal(ours.message, wanted.message);
        vyre_program_release(program);
    }
}

/* Equal programs share their code, in memory and on disk; each has its own source. */
static void equal_programs_report_their_own_lines(void **state) {
    (void)state;
    NEEDS_CPU();
    for (size_t i = 0; i + 1 < sizeof programs / sizeof *programs; i++) {
        vy_string moved = {0};
        vyre_error error, wanted;
        vyre_cache_stats before, after;
        vy_string_format(&moved, "// one\n// two\n\n%s", programs[i]);
        vyre_program *here = parse("here.vyre", programs[i]), *there = parse("there.vyre", moved.text);
        vyre_program *nowhere = bare(here);
        trap_on_cpu(nowhere, &error); /* compiles: without a source */
        assert_string_equal(error.where, "backend cpu");
        vyre_cache_get_stats(&before);
        for (int from_disk = 0; from_disk < 2; from_disk++) {
            vyre_pipeline *kept = from_disk ? NULL : compile(nowhere);
            trap_on_reference(here, &wanted);
            trap_on_cpu(here, &error);
            assert_string_equal(error.where, wanted.where);
            trap_on_reference(there, &wanted);
            trap_on_cpu(there, &error);
            assert_string_equal(error.where, wanted.where);
            vyre_pipeline_release(kept);
            vyre_backend_release(cpu);
            assert_int_equal(vyre_acquire("cpu", &cpu, NULL), VYRE_OK);
        }
        vyre_cache_get_stats(&after);
        assert_int_equal(after.compiles, before.compiles);
        assert_true(after.disk_hits > before.disk_hits);
        vyre_program_release(here);
        vyre_program_release(there);
        vyre_program_release(nowhere);
        vy_string_free(&moved);
    }
}

static void asynchronous_dispatches_and_batches_report_the_position(void **state) {
    (void)state;
    NEEDS_CPU();
    vyre_program *program = parse("kernel.vyre", programs[0]);
    vyre_pipeline *pipeline = compile(program);
    vyre_outputs outputs[2] = {VYRE_OUTPUTS_INIT, VYRE_OUTPUTS_INIT};
    const vyre_arguments both[2] = {arguments, arguments};
    vyre_pending *pending;
    vyre_error error;
    size_t failed;

    assert_int_equal(vyre_pipeline_dispatch_async(pipeline, &arguments, NULL, &pending, NULL), VYRE_OK);
    vyre_program_release(program);
    assert_int_equal(vyre_pending_wait(pending, UINT64_MAX, outputs, NULL, &error), VYRE_TRAPPED);
    assert_string_equal(error.where, "kernel.vyre:8:5");
    vyre_pending_free(pending);
    assert_int_equal(vyre_pipeline_dispatch_batch(pipeline, both, 2, NULL, outputs, &failed, NULL, &error),
                     VYRE_TRAPPED);
    assert_string_equal(error.where, "kernel.vyre:8:5");
    vyre_outputs_free(&outputs[0]);
    vyre_outputs_free(&outputs[1]);
    vyre_pipeline_release(pipeline);
}

/* Code for debuggers is compiled with the positions of the source. */
static void code_for_debuggers_reports_the_position(void **state) {
    (void)state;
    NEEDS_CPU();
    vyre_program *program = parse("kernel.vyre", programs[3]);
    vyre_error error;
    vyre_backend_release(cpu);
    setenv("VYRE_GDB", "1", 1);
    assert_int_equal(vyre_acquire("cpu", &cpu, NULL), VYRE_OK);
    trap_on_cpu(program, &error);
    assert_string_equal(error.where, "kernel.vyre:8:7");
    unsetenv("VYRE_GDB");
    vyre_program_release(program);
}

static int open_cpu(void **state) {
    cache_setup(state);
    for (uint32_t i = 0; i < COUNT; i++)
        x[i] = i;
    if (vyre_acquire("cpu", &cpu, NULL) != VYRE_OK)
        return 0;
    vyre_program *program = parse("probe", programs[0]);
    vyre_pipeline *pipeline = NULL;
    if (vyre_compile(cpu, program, NULL, &pipeline, NULL) != VYRE_OK) {
        vyre_backend_release(cpu);
        cpu = NULL;
    }
    vyre_pipeline_release(pipeline);
    vyre_program_release(program);
    return 0;
}

static int close_cpu(void **state) {
    vyre_backend_release(cpu);
    return cache_teardown(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trap_has_the_position_that_the_reference_reports),
        cmocka_unit_test(equal_programs_report_their_own_lines),
        cmocka_unit_test(asynchronous_dispatches_and_batches_report_the_position),
        cmocka_unit_test(code_for_debuggers_reports_the_position),
    };
    return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
