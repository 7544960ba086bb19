/* Reductions and scans of floats in steps give what the collective gives, for every size of workgroup and subgroup,
 * without races. */
#include "compile/pipeline.h"
#include "lower/runner.h"

static vyre_status run(vyre_oracle *oracle, const vyre_arguments *arguments, unsigned checks, vyre_bytes *output,
                       vyre_error *error) {
    vyre_oracle_options options = {.threads = 1, .checks = checks};
    return vyre_oracle_run(oracle, arguments, &options, output, NULL, NULL, error);
}

/* The original on the oracle, and the legal one as the device and, for races, on the oracle. */
static void check(const char *text, vyre_type type, uint32_t count, uint64_t exact) {
    static uint8_t bytes[4096 * 8];
    vyre_program *program = vy_test_parse(text), *legal = NULL;
    vyre_oracle *good = NULL, *bad = NULL, *checked = NULL;
    vyre_bytes want = {0}, got = {0}, again = {0};
    vyre_error error = {0};
    vy_random random = vy_random_start(count);
    unsigned size = vyre_type_size(type);
    for (uint32_t i = 0; i < count; i++) {
        /* Numbers near 1 and near the subnormal range, few specials: a NaN would swallow all the rest. */
        uint64_t bits =
            vyre_op_evaluate(VYRE_OP_CAST, type, VYRE_TYPE_I32, vy_random_below(&random, 2001) - 1000, 0, 0);
        if (vy_random_below(&random, 2))
            bits = vyre_op_evaluate(VYRE_OP_DIV, type, type, bits,
                                    vyre_op_evaluate(VYRE_OP_CAST, type, VYRE_TYPE_I32, 977, 0, 0), 0);
        if (vy_random_below(&random, 4) == 0)
            bits = vy_random_below(&random, 1000);
        vy_value_store(type, bytes + i * size, bits);
    }
    vyre_span input = {bytes, count * size};
    vyre_arguments arguments = {.inputs = &input, .input_count = 1};
    vyre_status status = vy_legalize(program, &(vy_target_desc){.exact = exact}, &legal, &error);
    if (status == VYRE_OK)
        status = vyre_oracle_new(program, &good, &error);
    if (status == VYRE_OK)
        status = vy_oracle_new_on(legal, exact, &bad, &error);
    if (status == VYRE_OK)
        status = vyre_oracle_new(legal, &checked, &error);
    if (status == VYRE_OK)
        status = run(good, &arguments, 0, &want, &error);
    if (status == VYRE_OK)
        status = run(bad, &arguments, 0, &got, &error);
    if (status == VYRE_OK)
        status = run(checked, &arguments, VYRE_CHECK_RACES | VYRE_CHECK_UNWRITTEN, &again, &error);
    if (status != VYRE_OK)
        fail_msg("%s\nin\n%s", error.message, text);
    assert_int_equal(want.size, got.size);
    assert_int_equal(want.size, again.size);
    if (memcmp(want.data, got.data, want.size) != 0 || memcmp(want.data, again.data, want.size) != 0) {
        print_program(legal);
        fail_msg("bytes differ in\n%s", text);
    }
    vyre_oracle_free(good);
    vyre_oracle_free(bad);
    vyre_oracle_free(checked);
    vyre_program_release(program);
    vyre_program_release(legal);
    vyre_bytes_free(&want);
    vyre_bytes_free(&got);
    vyre_bytes_free(&again);
}

static const uint32_t shapes[][2] = {{1, 1}, {2, 1}, {3, 1}, {5, 1}, {8, 1}, {13, 1}, {8, 8}, {37, 2}, {100, 1}};
static const char *const kinds[] = {"reduce", "scan_inclusive", "scan_exclusive"};
static const char *const ops[] = {"add", "mul", "min", "max"};

static void every_size_gives_the_same_bits(void **state) {
    (void)state;
    static const struct {
        vyre_type type;
        uint64_t exact;
    } devices[] = {{VYRE_TYPE_F32, ALL_BITS & ~BIT(F32_SUBNORMAL)},
                   {VYRE_TYPE_F32, BIT(INT64)},
                   {VYRE_TYPE_F16, ALL_BITS},
                   {VYRE_TYPE_BF16, ALL_BITS & ~BIT(F32_SUBNORMAL)}};
    unsigned tried = 0;
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++)
        for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++)
            for (uint32_t width = 1; width <= 64; width *= 2)
                for (int k = 0; k < 3; k++) {
                    const char *op = ops[tried++ % 4];
                    char text[1024], call[96];
                    if (width == 1)
                        snprintf(call, sizeof call, "workgroup_%s_%s(x[global_id.x + global_size.x * global_id.y])",
                                 kinds[k], op);
                    else
                        snprintf(call, sizeof call, "subgroup_%s_%s<%u>(x[global_id.x + global_size.x * global_id.y])",
                                 kinds[k], op, width);
                    snprintf(
                        text, sizeof text,
                        "program p {\n  buffer x : %s read\n  buffer y : %s write count len(x)\n  workgroup %u, %u\n"
                        "  grid 2\n\n  let v = %s\n  y[global_id.x + global_size.x * global_id.y] = v\n}\n",
                        vyre_type_name(devices[d].type), vyre_type_name(devices[d].type), shapes[shape][0],
                        shapes[shape][1], call);
                    check(text, devices[d].type, 2 * shapes[shape][0] * shapes[shape][1], devices[d].exact);
                }
    printf("%u collectives\n", tried);
}

/* A barrier may depend on a reduction, and one array serves several collectives. */
static void what_was_uniform_stays_uniform(void **state) {
    (void)state;
    check("program p {\n  buffer x : f32 read_write\n  workgroup 24\n  grid over x\n\n  let i = global_id.x\n"
          "  let s = workgroup_reduce_add(x[i])\n  let m = workgroup_scan_inclusive_add(x[i] * s)\n"
          "  if s > 0.5 {\n    x[i] = m\n    barrier\n    x[i] = workgroup_reduce_mul(m)\n  }\n"
          "}\n",
          VYRE_TYPE_F32, 48, ALL_BITS & ~BIT(F32_SUBNORMAL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_gives_the_same_bits),
        cmocka_unit_test(what_was_uniform_stays_uniform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
