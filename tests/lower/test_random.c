/* Random programs and the examples, legalised for a profile and run as its worst device, deliver what the oracle
 * delivers. A mismatch shrinks itself. */
#include "lower/covering.h"

#include "compile/pipeline.h"
#include "generate/generate.h"
#include "lower/holds.h"
#include "vyre/dialect.h"

#include <dirent.h>

enum { OUTPUTS = 64 };

typedef struct outcome {
    vyre_status status;
    vyre_trap trap;
    vyre_bytes outputs[OUTPUTS];
    vyre_error error;
} outcome;

/* What takes more steps than that is not judged; legalised, a step may become a hundred. */
enum { STEPS = 300000, MORE = 200 };

static void run(vyre_oracle *oracle, const vyre_arguments *arguments, uint64_t budget, outcome *out) {
    vyre_oracle_options options = {.threads = 1, .budget = budget};
    vyre_oracle_report report = {0};
    out->status = vyre_oracle_run(oracle, arguments, &options, out->outputs, &report, NULL, &out->error);
    out->trap = report.trap;
}

static void outcome_free(outcome *out) {
    for (int i = 0; i < OUTPUTS; i++)
        vyre_bytes_free(&out->outputs[i]);
}

static int same(const outcome *a, const outcome *b) {
    if (a->status != b->status)
        return 0;
    if (a->status == VYRE_TRAPPED)
        return a->trap.invocation == b->trap.invocation && a->trap.code == b->trap.code;
    for (int i = 0; i < OUTPUTS; i++)
        if (a->outputs[i].size != b->outputs[i].size ||
            (a->outputs[i].size && memcmp(a->outputs[i].data, b->outputs[i].data, a->outputs[i].size) != 0))
            return 0;
    return 1;
}

typedef enum verdict { SAME, REFUSED, DIFFERENT } verdict;

static verdict judge(vyre_program *program, const vyre_arguments *arguments, const profile *p, char *why, size_t size) {
    outcome good = {0}, bad = {0};
    vyre_program *legal = NULL;
    vyre_oracle *oracle = NULL;
    vyre_error error = {0};
    verdict result = DIFFERENT;
    vyre_status status = vy_legalize(program, &(vy_target_desc){.exact = p->exact}, &legal, &error);
    if (status == VYRE_UNSUPPORTED)
        return REFUSED;
    if (vyre_oracle_new(program, &oracle, NULL) == VYRE_OK)
        run(oracle, arguments, STEPS, &good);
    vyre_oracle_free(oracle);
    oracle = NULL;
    if (status == VYRE_OK && good.status != VYRE_BUDGET)
        status = vy_oracle_new_on(legal, p->exact, &oracle, &error);
    snprintf(why, size, "%s", error.message);
    if (good.status == VYRE_BUDGET) {
        result = REFUSED;
    } else if (status == VYRE_OK) {
        static legal_arguments made;
        run(oracle, arguments_for(program, p->exact, arguments, &made), (uint64_t)STEPS * MORE, &bad);
        snprintf(why, size, "status %d, must be %d; or bytes differ", (int)bad.status, (int)good.status);
        result = same(&good, &bad) ? SAME : DIFFERENT;
        const char *fault = legal_fault(legal, &(vy_target_desc){.exact = p->exact});
        if (fault) {
            snprintf(why, size, "%s", fault);
            result = DIFFERENT;
        }
    }
    outcome_free(&good);
    outcome_free(&bad);
    vyre_oracle_free(oracle);
    vyre_program_release(legal);
    return result;
}

static int still_differs(void *user, const vyre_case *candidate) {
    char why[512];
    return judge(vyre_case_program(candidate), vyre_case_arguments(candidate), user, why, sizeof why) == DIFFERENT;
}

static void report(const vyre_case *found, const profile *p, const char *why) {
    vyre_case *small = NULL;
    vyre_program *legal = NULL;
    if (vyre_shrink(found, still_differs, (void *)(uintptr_t)p, 0, &small, NULL) == VYRE_OK) {
        print_program(vyre_case_program(small));
        if (vy_legalize(vyre_case_program(small), &(vy_target_desc){.exact = p->exact}, &legal, NULL) == VYRE_OK)
            print_program(legal);
    }
    vyre_program_release(legal);
    vyre_case_free(small);
    fail_msg("%s: %s", p->name, why);
}

/* Any mixture of bits: pairs of what is missing, too. Mostly with 64 bits and f64, without which much is refused. */
static profile any_profile(uint64_t seed) {
    static char name[64];
    vy_random random = vy_random_start(seed);
    uint64_t exact = vy_random_next(&random) & ALL_BITS;
    if (vy_random_below(&random, 4))
        exact |= WIDE_BITS;
    snprintf(name, sizeof name, "profile %" PRIx64, exact);
    return (profile){name, exact};
}

static verdict judge_seed(const vyre_generate_options *options, const profile *p) {
    vyre_case *made = NULL;
    char why[512];
    assert_int_equal(vyre_generate(options, &made, NULL), VYRE_OK);
    verdict v = judge(vyre_case_program(made), vyre_case_arguments(made), p, why, sizeof why);
    if (v == DIFFERENT)
        report(made, p, why);
    vyre_case_free(made);
    return v;
}

static void random_programs_give_the_same_bits(void **state) {
    (void)state;
    const covering *covering = covering_rows();
    uint64_t counts[3] = {0};
    unsigned total = (VY_SANITIZED ? 200 : 2500) * vy_test_effort();
    for (unsigned seed = 1; seed <= total; seed++) {
        /* Half without the types and collectives that profiles refuse. */
        vyre_generate_options options = {.seed = seed, .statements = 12, .invocations = 48};
        if (seed % 2)
            options.types =
                ((1u << VYRE_TYPE_COUNT) - 1) & ~(1u << VYRE_TYPE_I64 | 1u << VYRE_TYPE_U64 | 1u << VYRE_TYPE_F64);
        if (seed % 5)
            options.stress = VYRE_STRESS_INTEGERS | VYRE_STRESS_FLOATS | VYRE_STRESS_CONTROL | VYRE_STRESS_FUNCTIONS |
                             VYRE_STRESS_MEMORY;
        if (seed % 6 == 0) /* of all types */
            options.stress |= VYRE_STRESS_MATH;
        options.stress = vy_test_stress(options.stress);
        const profile any = any_profile(seed),
                      *kinds[3] = {&covering->rows[seed % covering->count], &profiles[seed % PROFILES], &any};
        counts[judge_seed(&options, kinds[seed % 3])]++;
    }
    printf("%" PRIu64 " programs ran, %" PRIu64 " were refused\n", counts[SAME], counts[REFUSED]);
    assert_true(counts[SAME] > counts[REFUSED]);
}

/* Mostly 64-bit integers, on devices that have none. */
static void random_programs_of_pairs_give_the_same_bits(void **state) {
    (void)state;
    uint64_t counts[3] = {0};
    unsigned total = (VY_SANITIZED ? 60 : 600) * vy_test_effort();
    for (unsigned seed = 1; seed <= total; seed++) {
        vyre_generate_options options = {.seed = seed, .statements = 16, .invocations = 48};
        options.types = 1u << VYRE_TYPE_BOOL | 1u << VYRE_TYPE_I64 | 1u << VYRE_TYPE_U64 | 1u << VYRE_TYPE_U32;
        if (seed % 3 == 0)
            options.types |= 1u << VYRE_TYPE_I8 | 1u << VYRE_TYPE_F16 | 1u << VYRE_TYPE_F32;
        profile p = any_profile(seed);
        p.exact &= ~BIT(INT64);
        counts[judge_seed(&options, &p)]++;
    }
    printf("%" PRIu64 " programs ran, %" PRIu64 " were refused\n", counts[SAME], counts[REFUSED]);
    assert_true(counts[SAME] > 2 * counts[REFUSED]);
}

/* ---- examples ---- */

static vyre_module *parse_file(const char *path) {
    vyre_module *module = NULL;
    vyre_error error = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    static char text[1 << 20];
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    if (vyre_text_parse(text, size, NULL, NULL, &module, &error) != VYRE_OK)
        printf("%s: %s\n", path, error.message);
    return module;
}

/* Inputs of any bytes; counts that are known are kept. Programs whose arguments these cannot be are counted, not
 * judged. */
static int try_example(vyre_program *program, const profile *p, uint64_t *judged) {
    static uint8_t bytes[OUTPUTS][4096];
    vyre_scalar params[64];
    vyre_span inputs[OUTPUTS];
    size_t input_count = 0, param_count = vyre_program_param_count(program);
    vy_random random = vy_random_start(99);
    vyre_oracle *oracle = NULL;
    outcome out = {0};
    for (size_t i = 0; i < param_count; i++) {
        vyre_param_info info;
        vyre_program_param(program, i, &info);
        params[i] = (vyre_scalar){info.type, vyre_op_evaluate(VYRE_OP_CAST, info.type, VYRE_TYPE_U32, 7, 0, 0)};
    }
    for (size_t i = 0; i < vyre_program_buffer_count(program); i++) {
        vyre_buffer_info info;
        vyre_program_buffer(program, i, &info);
        if (info.access == VYRE_ACCESS_WRITE)
            continue;
        for (size_t k = 0; k < sizeof bytes[0]; k++)
            bytes[input_count][k] = (uint8_t)vy_random_next(&random);
        inputs[input_count] = (vyre_span){bytes[input_count], 64 * vyre_type_size(info.type)};
        input_count++;
    }
    vyre_arguments arguments = {.params = params,
                                .param_count = param_count,
                                .inputs = inputs,
                                .input_count = input_count,
                                .geometry = {VYRE_GEOMETRY_PROGRAM, {0, 0, 0}}};
    char why[512];
    if (vyre_oracle_new(program, &oracle, NULL) != VYRE_OK)
        return 0;
    run(oracle, &arguments, STEPS, &out);
    vyre_oracle_free(oracle);
    outcome_free(&out);
    if (out.status != VYRE_OK && out.status != VYRE_TRAPPED)
        return 0;
    verdict v = judge(program, &arguments, p, why, sizeof why);
    *judged += v == SAME;
    if (v == DIFFERENT) {
        print_program(program);
        fail_msg("%s: %s", p->name, why);
    }
    return 1;
}

static void examples_give_the_same_bits(void **state) {
    (void)state;
    DIR *folder = opendir(vy_test_path("examples"));
    const struct dirent *entry;
    uint64_t judged = 0, ran = 0;
    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 5, ".vyre") != 0)
            continue;
        char path[512];
        snprintf(path, sizeof path, "%s/%s", vy_test_path("examples"), entry->d_name);
        vyre_module *module = parse_file(path);
        for (size_t i = 0; module && i < vyre_module_program_count(module); i++)
            for (int k = VYRE_NUMERIC_COUNT; k < PROFILES; k++) /* not each bit alone */
                ran += (uint64_t)try_example(vyre_module_program(module, i), &profiles[k], &judged);
        vyre_module_free(module);
    }
    closedir(folder);
    printf("%" PRIu64 " of %" PRIu64 " pairs of example and profile ran, the others were refused\n", judged, ran);
    assert_true(judged > 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_give_the_same_bits),
        cmocka_unit_test(random_programs_give_the_same_bits),
        cmocka_unit_test(random_programs_of_pairs_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
