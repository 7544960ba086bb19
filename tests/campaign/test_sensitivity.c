/* A campaign that cannot fail proves nothing. These tests break what the generator promises and look whether anybody
 * notices. */
#include "support/test.h"

#include "campaign/judge.h"
#include "generate/shrink.h"

static judge j;

static vyre_case *generate(uint64_t seed, unsigned stress) {
    vyre_generate_options options = {.seed = seed, .invocations = 64, .stress = stress};
    vyre_case *made;
    assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
    return made;
}

static vyre_oracle *compile(const vyre_case *given) {
    vyre_oracle *oracle;
    return vyre_oracle_new(vyre_case_program(given), &oracle, NULL) == VYRE_OK ? oracle : NULL;
}

/* The case with all its barriers gone; NULL if it has none that could matter. */
static vyre_case *without_barriers(const vyre_case *given) {
    static vy_resolved_dispatch launch;
    const vyre_program *program = vyre_case_program(given);
    vyre_case *made = NULL;
    vy_shrink_edits edits;
    unsigned barriers = 0;
    assert_int_equal(vy_resolve_dispatch(program, vyre_case_arguments(given), &launch, NULL), VYRE_OK);
    assert_int_equal(vy_shrink_edits_init(&edits, program, &launch, NULL), VYRE_OK);
    for (uint32_t i = 0; i < program->stmts.count; i++)
        if (program->stmts.items[i].kind == VY_STMT_BARRIER) {
            edits.stmts[i] = VY_SHRINK_DELETE;
            barriers++;
        }
    if (barriers && launch.group_size > 1 && launch.invocations)
        vy_shrink_apply(given, &launch, &edits, &made, NULL);
    vy_shrink_edits_free(&edits);
    return made;
}

static int is_racy(const vyre_case *given) {
    vyre_oracle *oracle = compile(given);
    if (!oracle)
        return 1;
    const vyre_oracle_options options = {.threads = 1, .checks = VYRE_CHECK_RACES};
    int fine = judge_run(&j, oracle, given, &options, &j.given, "the race checker");
    vyre_oracle_free(oracle);
    return !fine;
}

static void missing_barriers_are_noticed(void **state) {
    (void)state;
    unsigned broken = 0, noticed = 0;
    for (uint64_t seed = 0; seed < 600; seed++) {
        vyre_case *given = generate(seed, VYRE_STRESS_MEMORY), *without = without_barriers(given);
        if (without) {
            broken++;
            noticed += is_racy(without);
        }
        vyre_case_free(without);
        vyre_case_free(given);
    }
    print_message("%u of %u programs without their barriers are found racy\n", noticed, broken);
    assert_true(broken > 200);
    assert_true(noticed * 3 > broken);
}

/* Other bytes in every input; the one that holds the grid stays. */
static vyre_case *with_other_inputs(const vyre_case *given) {
    vyre_arguments arguments = *vyre_case_arguments(given);
    vyre_span spans[JUDGE_OUTPUTS];
    static unsigned char bytes[JUDGE_OUTPUTS][1 << 14];
    vy_random random = vy_random_start(17);
    vyre_case *made;
    for (size_t i = 0; i < arguments.input_count; i++) {
        size_t size = arguments.inputs[i].size;
        assert_true(size <= sizeof bytes[i]);
        for (size_t k = 0; k < size; k++)
            bytes[i][k] = (unsigned char)vy_random_next(&random);
        spans[i] = (vyre_span){bytes[i], size};
    }
    arguments.inputs = spans;
    assert_int_equal(vyre_case_new(vyre_case_program(given), &arguments, &made, NULL), VYRE_OK);
    return made;
}

static void outputs_depend_on_inputs(void **state) {
    (void)state;
    unsigned compared = 0, differ = 0;
    const vyre_oracle_options options = {.threads = 1};
    for (uint64_t seed = 0; seed < 600; seed++) {
        vyre_case *given = generate(seed, 0);
        vyre_oracle *oracle = compile(given);
        assert_non_null(oracle);
        if (vyre_program_grid(vyre_case_program(given)) != VYRE_GRID_INDIRECT &&
            judge_run(&j, oracle, given, &options, &j.expected, "as generated") && j.expected.status == VYRE_OK) {
            vyre_case *other = with_other_inputs(given);
            compared++;
            assert_true(judge_run(&j, oracle, other, &options, &j.given, "with other inputs"));
            differ += !judge_same(&j, vyre_case_program(given), "");
            vyre_case_free(other);
        }
        vyre_oracle_free(oracle);
        vyre_case_free(given);
    }
    print_message("%u of %u programs answer other inputs with other outputs\n", differ, compared);
    assert_true(differ * 3 > compared * 2);
}

static int free_judge(void **state) {
    (void)state;
    judge_free(&j);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_barriers_are_noticed),
        cmocka_unit_test(outputs_depend_on_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, free_judge);
}
