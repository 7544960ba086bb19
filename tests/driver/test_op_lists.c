/* The built-in backends run exactly the ops they list: for every op, a program that uses it runs on the reference and
 * on `cpu` with the same bytes, and compiles to PTX; the backend refuses the ops left out of its list. */
#include "driver/fake.h"

#include "backends/cpu/cpu.h"
#include "backends/cuda/cuda.h"
#include "compile/pipeline.h"
#include "emit/ptx/ptx.h"
#include "ir/op_tables.h"

#define HEAD                                                                                                           \
    "program p {\n  buffer x : u32 read\n  buffer y : u32 read_write\n  workgroup 32\n  grid over y\n"                 \
    "  let i = global_id.x\n  let a = x[i]\n  let b = y[i]\n  let f = bitcast<f32>(a)\n  let g = bitcast<f32>(b)\n"
#define TAIL "  y[i] = r\n}\n"

/* ---- programs ---- */

/* The operator between its operands, or before its only one. */
static void write_operator(char *out, size_t size, const vyre_op_info *op, const char *a, const char *b) {
    if (op->precedence == VYRE_PRECEDENCE_UNARY)
        snprintf(out, size, "%s(%s)", op->symbol, a);
    else if (op->precedence == VYRE_PRECEDENCE_SELECT)
        snprintf(out, size, "a < b ? %s : %s", a, b);
    else if (op->symbol)
        snprintf(out, size, "(%s) %s (%s)", a, op->symbol, b);
    else if (op->rule == VYRE_RULE_CAST)
        snprintf(out, size, "u32(%s)", a);
    else if (op->rule == VYRE_RULE_BITCAST)
        snprintf(out, size, "bitcast<u32>(%s)", a);
    else
        snprintf(out, size,
                 op->arity == 1   ? "%s(%s)"
                 : op->arity == 2 ? "%s(%s, %s)"
                                  : "%s(%s, %s, %s)",
                 op->name, a, b, a);
}

static void write_op(char *out, size_t size, const vyre_op_info *op) {
    char value[128];
    const int takes_bool = op->classes == VYRE_CLASS_BOOL, takes_float = !(op->classes & VYRE_CLASS_UNSIGNED);
    write_operator(value, sizeof value, op,
                   takes_bool    ? "a < 5"
                   : takes_float ? "f"
                                 : "a",
                   takes_bool    ? "b < 5"
                   : takes_float ? "g"
                                 : "b");
    if (takes_bool || op->rule == VYRE_RULE_COMPARE || op->rule == VYRE_RULE_TEST)
        snprintf(out, size, HEAD "  let c = %s\n  let r : u32 = c ? 1 : 0\n" TAIL, value);
    else if (takes_float)
        snprintf(out, size, HEAD "  let c = %s\n  let r = bitcast<u32>(c)\n" TAIL, value);
    else
        snprintf(out, size, HEAD "  let r : u32 = %s\n" TAIL, value);
}

static void write_atomic(char *out, size_t size, vyre_atomic atomic) {
    const char *name = vyre_atomic_name(atomic);
    if (atomic == VYRE_ATOMIC_STORE)
        snprintf(out, size, HEAD "  %s(y[i], a + i)\n}\n", name);
    else
        snprintf(out, size, HEAD "  let r = %s(y[i]%s)\n" TAIL, name,
                 atomic == VYRE_ATOMIC_LOAD               ? ""
                 : atomic == VYRE_ATOMIC_COMPARE_EXCHANGE ? ", b, a"
                                                          : ", a");
}

static void write_collective(char *out, size_t size, unsigned collective, const char *scope, const char *width) {
    const char *name = vyre_collective_name((vyre_collective)collective);
    char call[96];
    switch (collective) {
    case VYRE_COLLECTIVE_REDUCE:
    case VYRE_COLLECTIVE_SCAN_INCLUSIVE:
    case VYRE_COLLECTIVE_SCAN_EXCLUSIVE:
        snprintf(call, sizeof call, "let r = %s_%s_add%s(a)", scope, name, width);
        break;
    case VYRE_COLLECTIVE_ANY:
    case VYRE_COLLECTIVE_ALL:
        snprintf(call, sizeof call, "let c = %s_%s%s(a < 5)\n  let r : u32 = c ? 1 : 0", scope, name, width);
        break;
    case VYRE_COLLECTIVE_BALLOT:
        snprintf(call, sizeof call, "let c = %s_%s%s(a < 5)\n  let r = u32(c)", scope, name, width);
        break;
    default:
        snprintf(call, sizeof call, "let r = %s_%s%s(a, 1)", scope, name, width);
    }
    snprintf(out, size, HEAD "  %s\n" TAIL, call);
}

/* A program that uses the member; "" for one that has no name. */
static void write_program(char *out, size_t size, unsigned member) {
    out[0] = 0;
    if (!vy_op_set_name(member))
        return;
    if (member < VY_OP_SET_BUILTIN)
        write_op(out, size, vyre_op_get((vyre_op)member));
    else if (member < VY_OP_SET_ATOMIC)
        snprintf(out, size, HEAD "  let r = %s%s\n" TAIL, vy_op_set_name(member),
                 member == VY_OP_SET_BUILTIN + VYRE_BUILTIN_LOCAL_INDEX ? "" : ".x");
    else if (member < VY_OP_SET_WORKGROUP)
        write_atomic(out, size, (vyre_atomic)(member - VY_OP_SET_ATOMIC));
    else if (member < VY_OP_SET_SUBGROUP)
        write_collective(out, size, member - VY_OP_SET_WORKGROUP, "workgroup", "");
    else if (member < VY_OP_SET_LOAD)
        write_collective(out, size, member - VY_OP_SET_SUBGROUP, "subgroup", "<32>");
    else
        snprintf(out, size, HEAD "  let r = a\n  %s\n" TAIL,
                 member == VY_OP_SET_BARRIER        ? "barrier"
                 : member == VY_OP_SET_GRID_BARRIER ? "grid_barrier"
                                                    : "");
}

static int has(const vy_op_set *set, unsigned member) {
    return set->words[member / 64] >> member % 64 & 1;
}

static vy_op_set listed_by(const char *id) {
    size_t count = 0;
    const vyre_backend_registration *registration = vyre_backend_find(id);
    assert_non_null(registration);
    const char *const *names = registration->supported_ops(&count);
    vy_op_set set = vy_op_set_of_names(names, count);
    unsigned members = 0;
    for (unsigned i = 0; i < VY_OP_SET_COUNT; i++)
        members += (unsigned)has(&set, i);
    assert_int_equal(members, count); /* every name is that of an op, and none is there twice */
    return set;
}

/* ---- running them ---- */

static void run(vyre_backend *backend, vyre_program *program, const char *name, vyre_outputs *outputs) {
    uint32_t x[64], y[64];
    for (uint32_t i = 0; i < 64; i++) {
        x[i] = i * 0x9e3779b9u >> 2;
        y[i] = i + 1;
    }
    vyre_span inputs[] = {{x, sizeof x}, {y, sizeof y}};
    vyre_arguments arguments = {.inputs = inputs, .input_count = 2};
    vyre_pipeline *pipeline = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_compile(backend, program, NULL, &pipeline, &error) != VYRE_OK ||
        vyre_pipeline_dispatch(pipeline, &arguments, NULL, outputs, NULL, &error) != VYRE_OK)
        fail_msg("`%s` on %s: %s", name, vyre_backend_id(backend), error.message);
    vyre_pipeline_release(pipeline);
}

/* Calls `check` with a program for each op that the backend lists. */
static void for_each_listed(const char *id, void (*check)(vyre_program *program, const char *name, void *user),
                            void *user) {
    const vy_op_set listed = listed_by(id);
    for (unsigned i = 0; i < VY_OP_SET_COUNT; i++) {
        char text[1024];
        write_program(text, sizeof text, i);
        assert_int_equal(text[0] == 0, vy_op_set_name(i) == NULL);
        if (!has(&listed, i))
            continue;
        vyre_program *program = vy_test_parse(text);
        vy_op_set used = vy_op_set_of_program(program);
        if (!has(&used, i))
            fail_msg("no `%s` in\n%s", vy_op_set_name(i), text);
        check(program, vy_op_set_name(i), user);
        vyre_program_release(program);
    }
}

static void check_reference(vyre_program *program, const char *name, void *user) {
    vyre_outputs outputs = VYRE_OUTPUTS_INIT;
    run(user, program, name, &outputs);
    vyre_outputs_free(&outputs);
}

static void the_reference_lists_every_op_and_runs_it(void **state) {
    (void)state;
    vyre_backend *backend = NULL;
    const vy_op_set listed = listed_by("reference");
    for (unsigned i = 0; i < VY_OP_SET_COUNT; i++)
        assert_int_equal(has(&listed, i), vy_op_set_name(i) != NULL);
    assert_int_equal(vyre_acquire("reference", &backend, NULL), VYRE_OK);
    for_each_listed("reference", check_reference, backend);
    vyre_backend_release(backend);
}

typedef struct two {
    vyre_backend *reference, *cpu;
} two;

static void check_cpu(vyre_program *program, const char *name, void *user) {
    const two *two = user;
    vyre_outputs expected = VYRE_OUTPUTS_INIT, outputs = VYRE_OUTPUTS_INIT;
    run(two->reference, program, name, &expected);
    run(two->cpu, program, name, &outputs);
    if (memcmp(expected.items[0].data, outputs.items[0].data, expected.items[0].size) != 0)
        fail_msg("`%s` gives other bytes on cpu", name);
    vyre_outputs_free(&expected);
    vyre_outputs_free(&outputs);
}

static void cpu_runs_every_op_it_lists(void **state) {
    (void)state;
    two two = {0};
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_acquire("cpu", &two.cpu, &error) != VYRE_OK)
        VY_SKIP("cpu_runs_every_op_it_lists: %s", error.message);
    assert_int_equal(vyre_acquire("reference", &two.reference, NULL), VYRE_OK);
    for_each_listed("cpu", check_cpu, &two);
    vyre_backend_release(two.cpu);
    vyre_backend_release(two.reference);
}

static vyre_status emit_ptx(vyre_program *program, uint32_t architecture, vyre_error *error) {
    const vy_target_desc target = vy_ptx_target(architecture, 0);
    const vy_ptx_options options = {.architecture = architecture};
    vy_compiled compiled;
    vy_ptx_code code = {0};
    vyre_status status = vy_compile_pipeline(program, &target, NULL, &compiled, error);
    if (status == VYRE_OK)
        status = vy_ptx_emit(compiled.program, &options, &code, error);
    vy_ptx_free(&code);
    vyre_program_release(compiled.program);
    return status;
}

/* The registration lists what the newest devices run; the instance leaves out what its architecture lacks. */
static void cuda_lists_the_ops_that_become_ptx_and_no_others(void **state) {
    (void)state;
    static const uint32_t architectures[] = {60, 61, 70, 80, 90};
    const vy_op_set registered = listed_by("cuda");
    for (size_t k = 0; k < sizeof architectures / sizeof *architectures; k++) {
        const vy_cuda_device_info facts = {.architecture = architectures[k]};
        size_t count;
        const char *const *names = vy_cuda_device_info_ops(&facts, &count);
        const vy_op_set listed = vy_op_set_of_names(names, count);
        if (architectures[k] >= 70)
            assert_memory_equal(&listed, &registered, sizeof listed);
        for (unsigned i = 0; i < VY_OP_SET_COUNT; i++) {
            char text[1024];
            write_program(text, sizeof text, i);
            if (!text[0] || i == VY_OP_SET_GRID_BARRIER) /* see below */
                continue;
            vyre_program *program = vy_test_parse(text);
            vyre_error error = VYRE_ERROR_INIT;
            vyre_status status = emit_ptx(program, architectures[k], &error);
            if (status != (has(&listed, i) ? VYRE_OK : VYRE_UNSUPPORTED))
                fail_msg("`%s` for sm_%u, which is%s listed: %s", vy_op_set_name(i), architectures[k],
                         has(&listed, i) ? "" : " not", status == VYRE_OK ? "OK" : error.message);
            vyre_program_release(program);
        }
    }
}

/* ---- ops left out ---- */

/* Below the dispatch layer, which would run such a program as several launches. */
static void the_op_that_devices_leave_out_is_not_theirs(void **state) {
    (void)state;
    char text[1024];
    write_program(text, sizeof text, VY_OP_SET_GRID_BARRIER);
    vyre_program *program = vy_test_parse(text);
    vyre_error error = VYRE_ERROR_INIT;
    const vy_op_set cpu = listed_by("cpu"), cuda = listed_by("cuda"), opencl = listed_by("opencl"),
                    all = listed_by("reference");
    for (unsigned i = 0; i < VY_OP_SET_COUNT; i++) {
        assert_int_equal(has(&cpu, i), has(&all, i) && i != VY_OP_SET_GRID_BARRIER);
        assert_int_equal(has(&cuda, i), has(&all, i) && i != VY_OP_SET_GRID_BARRIER);
        assert_int_equal(has(&opencl, i), has(&all, i) && i != VY_OP_SET_GRID_BARRIER);
    }
    /* Not on every device that cuda runs on. */
    assert_int_equal(emit_ptx(program, 60, &error), VYRE_UNSUPPORTED);
    vyre_backend_instance instance = {0};
    if (vy_cpu_create(&vy_host_services, 0, &instance, &error) == VYRE_OK) {
        const vyre_compile_options options = {0};
        vyre_native_pipeline pipeline = {0};
        assert_int_equal(instance.vtable->compile(instance.self, program, &options, &pipeline, &error),
                         VYRE_UNSUPPORTED);
        instance.vtable->destroy(instance.self);
    }
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_lists_every_op_and_runs_it),
        cmocka_unit_test(cpu_runs_every_op_it_lists),
        cmocka_unit_test(cuda_lists_the_ops_that_become_ptx_and_no_others),
        cmocka_unit_test(the_op_that_devices_leave_out_is_not_theirs),
    };
    return cmocka_run_group_tests_name("lists of ops", tests, NULL, NULL);
}
