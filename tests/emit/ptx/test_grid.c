/* Programs with grid barriers: as they are prepared for a cooperative launch they deliver what the source delivers,
 * also where somebody traps or is told to end; and they have a text. */
#include "emit/ptx/code.h"
#include "lower/put_traps.h"
#include "lower/traps_runner.h"
#include "split/put_barriers.h"

#include "compile/pipeline.h"
#include "emit/ptx/ptx.h"

static void prepare(vyre_program *program, int cancellable, vyre_program **out) {
    const vy_target_desc target = vy_ptx_target(PTX_ARCHITECTURE, cancellable);
    vy_compiled made;
    vyre_error error = VYRE_ERROR_INIT;
    if (vy_compile_pipeline(program, &target, NULL, &made, &error) != VYRE_OK) {
        ptx_show(program);
        fail_msg("%s", error.message);
    }
    assert_int_equal(made.factor, 1); /* a grid barrier needs its grid */
    *out = made.program;
}

static int has_grid_barrier(const vyre_program *program) {
    for (uint32_t i = 0; i < program->stmts.count; i++)
        if (program->stmts.items[i].kind == VY_STMT_BARRIER && program->stmts.items[i].scope == VYRE_SCOPE_DEVICE)
            return 1;
    return 0;
}

/* ---- random programs ---- */

/* With grid barriers, and traps if asked for; NULL: there is no place for them. */
static vyre_program *random_program(vyre_case *made, uint64_t seed, int has_traps) {
    vy_random random = {seed};
    vyre_program *flat, *trapping = NULL, *program;
    assert_int_equal(vyre_program_inline(vyre_case_program(made), &flat, NULL), VYRE_OK);
    if (has_traps)
        trapping = with_traps(flat, &random, 6);
    program = choose_barriers(trapping ? trapping : flat, &random, 3);
    vyre_program_release(trapping);
    vyre_program_release(flat);
    return program;
}

/* Returns whether it trapped. */
static int try_bits(vyre_program *program, vyre_program *legal, const vyre_arguments *arguments, uint64_t seed) {
    static outcome want, got;
    const vy_lowered_env conditions = {.garbage = seed};
    outcome_of(program, arguments, (vyre_oracle_options){.budget = STEPS}, &(vy_lowered_env){0}, &want);
    int is_judged = want.status == VYRE_OK || want.status == VYRE_TRAPPED, is_trapped = want.status == VYRE_TRAPPED;
    if (is_judged) {
        outcome_of(legal, arguments, (vyre_oracle_options){.budget = MORE * (uint64_t)STEPS}, &conditions, &got);
        const char *what = outcome_differs(&want, &got);
        if (what) {
            ptx_show(program);
            ptx_show(legal);
            fail_msg("seed %" PRIu64 ": %s", seed, what);
        }
        outcome_free(&got);
    }
    outcome_free(&want);
    return is_trapped;
}

/* Told to end at some poll, it ends, and nobody is found waiting for others. */
static void try_polls(vyre_program *legal, const vyre_arguments *arguments, uint64_t seed) {
    static outcome got;
    const vy_lowered_env conditions = {
        .garbage = seed, .poll = 1 + (uint32_t)(seed % 3), .poll_spread = (uint32_t)(seed % 5)};
    outcome_of(legal, arguments, (vyre_oracle_options){.budget = MORE * (uint64_t)STEPS}, &conditions, &got);
    if (got.status != VYRE_OK && got.status != VYRE_TRAPPED && got.status != VYRE_TIMEOUT &&
        got.status != VYRE_BUDGET) {
        ptx_show(legal);
        fail_msg("seed %" PRIu64 ", told to end: %s (%s)", seed, vyre_status_name(got.status), got.message);
    }
    outcome_free(&got);
}

typedef struct tally {
    unsigned programs, traps, kept;
} tally;

static void try_seed(uint64_t seed, int has_traps, tally *t) {
    vyre_generate_options options = {.seed = seed, .statements = 8 + (unsigned)(seed % 20), .invocations = 64};
    vyre_case *made = NULL;
    assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
    vyre_program *program = random_program(made, seed, has_traps), *legal;
    for (int cancellable = 0; program && cancellable < 2; cancellable++) {
        vy_ptx_code code;
        vyre_error error = VYRE_ERROR_INIT;
        prepare(program, cancellable, &legal);
        t->programs++;
        t->kept += (unsigned)has_grid_barrier(legal);
        t->traps += (unsigned)try_bits(program, legal, vyre_case_arguments(made), seed);
        if (cancellable)
            try_polls(legal, vyre_case_arguments(made), seed);
        if (vy_ptx_emit(legal, &(vy_ptx_options){.architecture = PTX_ARCHITECTURE}, &code, &error) != VYRE_OK)
            fail_msg("seed %" PRIu64 ": %s", seed, error.message);
        const char *wrong = ptx_wrong(code.text.data);
        if (wrong)
            fail_msg("seed %" PRIu64 ": %s\n%s", seed, wrong, (const char *)code.text.data);
        assert_int_equal(code.needs_cooperative, has_grid_barrier(legal));
        vy_ptx_free(&code);
        vyre_program_release(legal);
    }
    vyre_program_release(program);
    vyre_case_free(made);
}

static void try_seeds(int has_traps, tally *t) {
    const char *given = getenv("VYRE_SEED");
    uint64_t first = given ? strtoull(given, NULL, 0) : 1;
    for (uint64_t seed = first; seed < first + (VY_SANITIZED ? 30 : 150) * (uint64_t)vy_test_effort(); seed++)
        try_seed(seed, has_traps, t);
    printf("%u programs, %u with their barriers, %u trap\n", t->programs, t->kept, t->traps);
    assert_true(t->kept > 0);
}

static void programs_with_grid_barriers_keep_their_bits(void **state) {
    tally t = {0};
    (void)state;
    try_seeds(0, &t);
}

static void a_trap_ends_the_grid_at_the_next_barrier(void **state) {
    tally t = {0};
    (void)state;
    try_seeds(1, &t);
    assert_true(t.traps > 0);
}

/* ---- by hand ---- */

#define HEAD "program p {\n buffer x : u32 read_write\n workgroup 4\n grid over x\n let i = global_id.x\n"

static void trap_is(const char *text, uint64_t invocation, uint32_t code) {
    static outcome got;
    uint32_t x[12] = {0};
    vyre_span inputs[1] = {{x, sizeof x}};
    vyre_arguments arguments = {.inputs = inputs, .input_count = 1};
    vyre_program *program = vy_test_parse(text), *legal;
    prepare(program, 0, &legal);
    for (int i = 0; i < 2; i++) {
        outcome_of(i ? legal : program, &arguments, (vyre_oracle_options){.budget = STEPS}, &(vy_lowered_env){0}, &got);
        assert_int_equal(got.status, VYRE_TRAPPED);
        assert_int_equal(got.trap.invocation, invocation);
        assert_int_equal(got.trap.code, code);
        outcome_free(&got);
    }
    vyre_program_release(legal);
    vyre_program_release(program);
}

/* One may come to the next stretch before another has left the barrier: what it does there is no reason for the other
 * not to come. */
static void the_smallest_of_a_stretch_is_told(void **state) {
    (void)state;
    trap_is(HEAD "if i == 9 { trap 1 }\n if i == 5 { trap 2 }\n grid_barrier\n if i == 0 { trap 3 }\n}\n", 5, 2);
    trap_is(HEAD "grid_barrier\n if i == 9 { trap 1 }\n if i == 5 { trap 2 }\n grid_barrier\n trap 3\n}\n", 5, 2);
    trap_is(HEAD "if group_id.x == 2 { trap 4 }\n grid_barrier\n trap 5\n}\n", 8, 4);
    trap_is(HEAD "if i == 9 { trap 1 }\n barrier\n if i == 2 { trap 2 }\n grid_barrier\n trap 3\n}\n", 2, 2);
    trap_is(HEAD "for r in 0u32 .. 4u32 { if r == 2 && i == 7 { trap 6 }\n grid_barrier }\n}\n", 7, 6);
}

static void older_devices_and_rows_have_no_grid_barriers(void **state) {
    vyre_program *program = vy_test_parse("program p {\n level legal\n workgroup 32\n grid_barrier\n}\n");
    vyre_error error = VYRE_ERROR_INIT;
    vy_ptx_code code;
    (void)state;
    assert_int_equal(vy_ptx_emit(program, &(vy_ptx_options){.architecture = 60}, &code, &error), VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "sm_70"));
    assert_int_equal(vy_ptx_emit(program, &(vy_ptx_options){.architecture = 90, .batched = 1}, &code, &error),
                     VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.message, "grid barrier"));
    vyre_program_release(program);
    program = vy_test_parse(HEAD "if i == 9 { trap 1 }\n grid_barrier\n x[i] = 1\n}\n");
    const vy_target_desc target = vy_ptx_target(61, 0);
    vy_compiled made;
    assert_int_equal(vy_compile_pipeline(program, &target, NULL, &made, &error), VYRE_UNSUPPORTED);
    assert_non_null(strstr(error.fix, "split"));
    vyre_program_release(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_with_grid_barriers_keep_their_bits),
        cmocka_unit_test(a_trap_ends_the_grid_at_the_next_barrier),
        cmocka_unit_test(the_smallest_of_a_stretch_is_told),
        cmocka_unit_test(older_devices_and_rows_have_no_grid_barriers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
