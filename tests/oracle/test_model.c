/* Random programs: the oracle and a direct reading of the language give the same bytes. */
#include "oracle/model.h"

#include "generate/generate.h"
#include "vyre/oracle.h"
#include "vyre/text.h"

enum { OUTPUTS = 255 };

static vyre_bytes wanted[OUTPUTS], given[OUTPUTS];

static void show(const vyre_program *program) {
    vyre_bytes text = VYRE_BYTES_INIT;
    if (vyre_text_print(program, &text, NULL) == VYRE_OK)
        printf("%.*s\n", (int)text.size, (const char *)text.data);
    vyre_bytes_free(&text);
}

static void compare(const vyre_case *generated, uint64_t seed) {
    vyre_program *program = vyre_case_program(generated);
    const vyre_arguments *arguments = vyre_case_arguments(generated);
    vyre_oracle *oracle;
    vyre_error error;
    vyre_trap trap;
    vyre_oracle_report report;
    if (program->facts & VY_PROGRAM_HAS_GRID_BARRIER)
        return;
    vyre_status want = model_run(program, arguments, wanted, &trap);
    if (vyre_oracle_new(program, &oracle, &error) != VYRE_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    for (int run = 0; run < 2; run++) {
        vyre_oracle_options options = {.threads = 1, .seed = run ? seed + 1 : 0};
        vyre_status status = vyre_oracle_run(oracle, arguments, &options, given, &report, NULL, &error);
        if (status != want || (status == VYRE_TRAPPED && memcmp(&report.trap, &trap, sizeof trap) != 0)) {
            show(program);
            fail_msg("seed %llu: %s, not %s", (unsigned long long)seed, vyre_status_name(status),
                     vyre_status_name(want));
        }
        for (size_t o = 0; want == VYRE_OK && o < vyre_program_output_count(program); o++) {
            size_t at = 0;
            while (at < wanted[o].size && at < given[o].size &&
                   ((char *)wanted[o].data)[at] == ((char *)given[o].data)[at])
                at++;
            if (given[o].size != wanted[o].size || at < wanted[o].size) {
                show(program);
                fail_msg("seed %llu run %d: output %zu differs at byte %zu", (unsigned long long)seed, run, o, at);
            }
        }
    }
    vyre_oracle_free(oracle);
    for (size_t o = 0; o < vyre_program_output_count(program); o++) {
        vyre_bytes_free(&wanted[o]);
        vyre_bytes_free(&given[o]);
    }
}

static void sweep(unsigned stress, unsigned statements, unsigned cases, uint64_t first) {
    for (uint64_t seed = first; seed < first + (uint64_t)cases * vy_test_effort(); seed++) {
        vyre_generate_options options = {.seed = seed, .stress = stress, .statements = statements};
        vyre_case *generated;
        vyre_error error;
        if (vyre_generate(&options, &generated, &error) != VYRE_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
        compare(generated, seed);
        vyre_case_free(generated);
    }
}

static void random_programs_agree_with_a_direct_reading(void **state) {
    (void)state;
    sweep(0, 0, 300, 1);
}

static void control_flow_agrees(void **state) {
    (void)state;
    sweep(VYRE_STRESS_CONTROL | VYRE_STRESS_FUNCTIONS, 80, 100, 100000);
}

static void memory_and_collectives_agree(void **state) {
    (void)state;
    sweep(VYRE_STRESS_MEMORY | VYRE_STRESS_COLLECTIVES | VYRE_STRESS_ATOMICS | VYRE_STRESS_GEOMETRY, 40, 100, 200000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_agree_with_a_direct_reading),
        cmocka_unit_test(control_flow_agrees),
        cmocka_unit_test(memory_and_collectives_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
