/* Every op on every type, legalised for every profile and run as the worst device of that profile, gives the
 * evaluator's bits; none is refused. The profiles: each bit alone is missing, all are, devices as measured, and a
 * covering array of all pairs. */
#include "compile/pipeline.h"
#include "lower/covering.h"
#include "lower/operands.h"

enum { CASES = 320 };

static uint64_t tried, refused;
static unsigned rows;

static void try_row(vyre_op op, vyre_type result, vyre_type type, const uint64_t *const operands[3], size_t n,
                    int first_profile) {
    const covering *covering = covering_rows();
    op_run run;
    if (!op_run_start(&run, op, result, type))
        return;
    /* Without effort each row takes some of the profiles, another row others. */
    const int step = VY_SANITIZED ? 5 : vy_test_effort() > 1 ? 1 : 2;
    for (int i = first_profile + (int)(rows++ % (unsigned)step); i < PROFILES + (int)covering->count; i += step) {
        const profile *p = i < PROFILES ? &profiles[i] : &covering->rows[i - PROFILES];
        uint64_t cases = op_run_check(&run, p, n, operands, NULL);
        tried += cases;
        refused += cases == 0;
    }
    op_run_end(&run);
}

static void every_row_of(vyre_type type, const uint64_t *const operands[3], size_t n, unsigned least_arity,
                         int first_profile) {
    for (int op = 0; op < VYRE_OP_COUNT; op++)
        for (int result = 0; result < VYRE_TYPE_COUNT; result++)
            if (!(op == VYRE_OP_SELECT && result != (int)type) && vyre_op_get((vyre_op)op)->arity >= least_arity)
                try_row((vyre_op)op, (vyre_type)result, type, operands, n, first_profile);
}

static void every_op_of(vyre_type type) {
    static uint64_t room[3][CASES];
    uint64_t *values[3] = {room[0], room[1], room[2]};
    const uint64_t *const operands[3] = {room[0], room[1], room[2]};
    vy_random random = vy_random_start(0x1e6a1 + type);
    tried = refused = 0;
    for (unsigned round = 0; round < vy_test_effort(); round++) {
        fill(&random, type, values, CASES);
        every_row_of(type, operands, CASES, 1, 0);
    }
    printf("%s: %" PRIu64 " cases\n", vyre_type_name(type), tried);
    assert_int_equal(refused, 0);
}

/* ---- special operands with each other ---- */

enum { SPECIAL = 36 };

static void specials_of(vyre_type type, uint64_t values[SPECIAL]) {
    unsigned fraction = fraction_of(type);
    uint64_t sign = UINT64_C(1) << (vyre_type_bits(type) - 1), least = UINT64_C(1) << fraction,
             infinity = (sign - 1) & ~(least - 1), one = infinity / 2 & ~(least - 1);
    const uint64_t list[SPECIAL / 2] = {0,
                                        1,
                                        least - 1,
                                        least,
                                        least + 1,
                                        2 * least,
                                        one - least,
                                        one - 1,
                                        one,
                                        one + 1,
                                        one + least,
                                        one / 2,
                                        one + 3,
                                        one + least / 2,
                                        infinity - 1,
                                        infinity,
                                        infinity + 1,
                                        infinity + least / 2};
    for (int i = 0; i < SPECIAL; i++)
        values[i] = list[i / 2] | (i % 2 ? sign : 0);
}

/* All pairs, with some third operand each; not for each bit alone, unless there is time. */
static void special_operands_give_the_same_bits(void **state) {
    (void)state;
    static const vyre_type types[] = {VYRE_TYPE_F16, VYRE_TYPE_BF16, VYRE_TYPE_F32, VYRE_TYPE_F64};
    static uint64_t room[3][SPECIAL * SPECIAL];
    const uint64_t *const operands[3] = {room[0], room[1], room[2]};
    uint64_t values[SPECIAL];
    tried = refused = 0;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        specials_of(types[t], values);
        for (unsigned step = 0; step < vy_test_effort() && step < SPECIAL; step++) {
            for (size_t i = 0; i < SPECIAL * SPECIAL; i++) {
                room[0][i] = values[i / SPECIAL];
                room[1][i] = values[i % SPECIAL];
                room[2][i] = values[(7 * (i / SPECIAL) + 5 * i + step) % SPECIAL];
            }
            every_row_of(types[t], operands, SPECIAL * SPECIAL, 2, vy_test_effort() > 1 ? 0 : VYRE_NUMERIC_COUNT);
        }
    }
    printf("%" PRIu64 " cases\n", tried);
    assert_int_equal(refused, 0);
}

/* ---- native fma, where another op keeps the type in f32 ---- */

static void run_both(vyre_program *program, uint64_t exact, const vyre_arguments *arguments) {
    vyre_program *legal = NULL;
    vyre_oracle *good = NULL, *bad = NULL;
    vyre_bytes wanted[2] = {{0}}, got[2] = {{0}};
    assert_int_equal(vy_legalize(program, &(vy_target_desc){.exact = exact}, &legal, NULL), VYRE_OK);
    assert_int_equal(vyre_oracle_new(program, &good, NULL), VYRE_OK);
    assert_int_equal(vy_oracle_new_on(legal, exact, &bad, NULL), VYRE_OK);
    assert_int_equal(vyre_oracle_run(good, arguments, NULL, wanted, NULL, NULL, NULL), VYRE_OK);
    assert_int_equal(vyre_oracle_run(bad, arguments, NULL, got, NULL, NULL, NULL), VYRE_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(got[i].size, wanted[i].size);
        assert_memory_equal(got[i].data, wanted[i].data, got[i].size);
        vyre_bytes_free(&got[i]);
        vyre_bytes_free(&wanted[i]);
    }
    vyre_oracle_free(good);
    vyre_oracle_free(bad);
    vyre_program_release(legal);
}

static void a_native_fma_serves_values_held_in_f32(void **state) {
    (void)state;
    static const vyre_type types[] = {VYRE_TYPE_F16, VYRE_TYPE_BF16};
    static uint16_t room[3][SPECIAL * SPECIAL];
    uint64_t values[SPECIAL];
    for (int t = 0; t < 2; t++) {
        const char *name = vyre_type_name(types[t]);
        char text[512];
        snprintf(text, sizeof text,
                 "program p {\n buffer a : %s read\n buffer b : %s read\n buffer c : %s read\n"
                 " buffer sums : %s write count len(a)\n buffer roots : %s write count len(a)\n"
                 " workgroup 32\n grid over a\n\n let i = global_id.x\n"
                 " sums[i] = fma(a[i], b[i], c[i])\n roots[i] = sqrt(a[i]) + b[i]\n}\n",
                 name, name, name, name, name);
        vyre_program *program = vy_test_parse(text);
        specials_of(types[t], values);
        for (size_t i = 0; i < SPECIAL * SPECIAL; i++) {
            room[0][i] = (uint16_t)values[i / SPECIAL];
            room[1][i] = (uint16_t)values[i % SPECIAL];
            room[2][i] = (uint16_t)values[(7 * (i / SPECIAL) + 5 * i) % SPECIAL];
        }
        vyre_span inputs[3] = {{room[0], sizeof room[0]}, {room[1], sizeof room[1]}, {room[2], sizeof room[2]}};
        vyre_arguments arguments = {.inputs = inputs, .input_count = 3};
        run_both(program, ALL_BITS, &arguments);
        run_both(program, ALL_BITS & ~BIT(F16_SQRT), &arguments);
        run_both(program, ALL_BITS & ~(BIT(F16_SQRT) | BIT(BF16_CONVERT)), &arguments);
        run_both(program, ALL_BITS & ~(BIT(F16_SQRT) | BIT(F32_SUBNORMAL)), &arguments);
        vyre_program_release(program);
    }
}

static void every_two_switches_meet_in_all_four_ways(void **state) {
    (void)state;
    const covering *c = covering_rows();
    for (unsigned i = 0; i < VYRE_NUMERIC_COUNT; i++)
        for (unsigned j = i + 1; j < VYRE_NUMERIC_COUNT; j++) {
            unsigned met = 0;
            for (unsigned k = 0; k < c->count; k++)
                met |= pair_of(c->rows[k].exact, i, j);
            assert_int_equal(met, 0xf);
        }
    printf("%u profiles cover all pairs of %d switches\n", c->count, (int)VYRE_NUMERIC_COUNT);
}

#define X(ID, name, bits, cls, nan)                                                                                    \
    static void ops_of_##ID##_give_the_same_bits(void **state) {                                                       \
        (void)state;                                                                                                   \
        every_op_of(VYRE_TYPE_##ID);                                                                                   \
    }
VYRE_TYPE_LIST(X)
#undef X

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_two_switches_meet_in_all_four_ways),
                                       cmocka_unit_test(special_operands_give_the_same_bits),
                                       cmocka_unit_test(a_native_fma_serves_values_held_in_f32),
#define X(ID, name, bits, cls, nan) cmocka_unit_test(ops_of_##ID##_give_the_same_bits),
                                       VYRE_TYPE_LIST(X)
#undef X
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
