/* The shrinker: small, valid, deterministic, and still failing. */
#include "support/fault.h"
#include "support/test.h"

#include "generate/generate.h"
#include "ir/dispatch_resolve.h"
#include "ir/model.h"
#include "ir/validate/validate.h"

static vyre_case *generate(vyre_generate_options options) {
    vyre_case *made;
    assert_int_equal(vyre_generate(&options, &made, NULL), VYRE_OK);
    return made;
}

/* ---- questions ---- */

typedef struct question {
    int (*asks)(const vyre_case *candidate);
    unsigned asked;
    int check; /* look at each candidate closely */
} question;

/* A candidate is a program like any other: it passes the validator, and its arguments fit it. */
static void check_candidate(const vyre_case *candidate) {
    static vy_resolved_dispatch launch;
    vyre_error error;
    if (vy_validate(vyre_case_program(candidate), NULL, &error) != VYRE_OK ||
        vy_resolve_dispatch(vyre_case_program(candidate), vyre_case_arguments(candidate), &launch, &error) != VYRE_OK)
        fail_msg("a candidate is not valid: %s", error.message);
}

static int ask(void *user, const vyre_case *candidate) {
    question *q = user;
    q->asked++;
    if (q->check)
        check_candidate(candidate);
    return q->asks(candidate);
}

static int is_load(const vyre_program *program, uint32_t expr) {
    return program->exprs.items[expr].kind == VY_EXPR_LOAD;
}

static int multiplies_high_what_it_loads(const vyre_case *candidate) {
    const vyre_program *program = vyre_case_program(candidate);
    for (uint32_t i = 0; i < program->exprs.count; i++) {
        const vy_expr *e = &program->exprs.items[i];
        if (e->kind == VY_EXPR_OP && e->op == VYRE_OP_MUL_HIGH && e->type == VYRE_TYPE_U16 &&
            (is_load(program, e->a) || is_load(program, e->b)))
            return 1;
    }
    return 0;
}

static int has_statement(const vyre_case *candidate, vy_stmt_kind kind) {
    const vyre_program *program = vyre_case_program(candidate);
    for (uint32_t i = 0; i < program->stmts.count; i++)
        if (program->stmts.items[i].kind == kind)
            return 1;
    return 0;
}

static int has_barrier(const vyre_case *candidate) {
    return has_statement(candidate, VY_STMT_BARRIER);
}

static int has_call(const vyre_case *candidate) {
    return has_statement(candidate, VY_STMT_CALL);
}

static int has_break(const vyre_case *candidate) {
    return has_statement(candidate, VY_STMT_BREAK);
}

static int calls_math(const vyre_case *candidate) {
    const vyre_program *program = vyre_case_program(candidate);
    for (uint32_t i = 0; i < vyre_program_function_count(program); i++)
        if (strncmp(vy_symbol_name(program, program->functions.items[i].name), "math.", 5) == 0)
            return 1;
    return 0;
}

static int always(const vyre_case *candidate) {
    (void)candidate;
    return 1;
}

static int never(const vyre_case *candidate) {
    (void)candidate;
    return 0;
}

/* Something about the data: an input has the byte 0xff. */
static int has_ff(const vyre_case *candidate) {
    const vyre_arguments *arguments = vyre_case_arguments(candidate);
    for (size_t i = 0; i < arguments->input_count; i++)
        if (arguments->inputs[i].size && memchr(arguments->inputs[i].data, 0xff, arguments->inputs[i].size))
            return 1;
    return 0;
}

static int has_nine_invocations(const vyre_case *candidate) {
    static vy_resolved_dispatch launch;
    return vy_resolve_dispatch(vyre_case_program(candidate), vyre_case_arguments(candidate), &launch, NULL) ==
               VYRE_OK &&
           launch.invocations >= 9;
}

/* The first case from `seed` on of which the question is true. */
static vyre_case *find(int (*asks)(const vyre_case *), vyre_generate_options options) {
    for (int i = 0; i < 5000; i++, options.seed++) {
        vyre_case *made = generate(options);
        if (asks(made))
            return made;
        vyre_case_free(made);
    }
    fail_msg("no seed gives such a case");
    return NULL;
}

static vyre_case *shrink(const vyre_case *start, question *q, unsigned tries) {
    vyre_case *small;
    vyre_error error;
    vyre_status status = vyre_shrink(start, ask, q, tries, &small, &error);
    if (status != VYRE_OK)
        fail_msg("%s: %s", vyre_status_name(status), error.message);
    return small;
}

static vyre_program_stats stats_of(const vyre_case *given) {
    vyre_program_stats stats;
    vyre_program_get_stats(vyre_case_program(given), &stats);
    return stats;
}

/* ---- claims ---- */

static void sixty_statements_shrink_to_a_handful(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 6000; seed += 1000) {
        vyre_case *start = find(multiplies_high_what_it_loads, (vyre_generate_options){.seed = seed, .statements = 60});
        question q = {multiplies_high_what_it_loads, 0, 1};
        vyre_case *small = shrink(start, &q, 0);
        assert_true(multiplies_high_what_it_loads(small));
        assert_true(stats_of(small).statements <= 3);
        assert_true(stats_of(small).expressions <= 8);
        assert_true(stats_of(small).functions <= 1); /* it may be in what a function returns to nobody */
        assert_true(vyre_program_buffer_count(vyre_case_program(small)) <= 2);
        assert_int_equal(vyre_program_param_count(vyre_case_program(small)), 0);
        vyre_case_free(small);
        vyre_case_free(start);
    }
}

static void what_the_failure_needs_stays(void **state) {
    (void)state;
    static const struct {
        int (*asks)(const vyre_case *);
        unsigned stress, statements;
    } rows[] = {{has_barrier, VYRE_STRESS_MEMORY, 1},
                {has_call, VYRE_STRESS_FUNCTIONS, 3},
                {has_break, VYRE_STRESS_CONTROL, 2},
                {calls_math, VYRE_STRESS_MATH, 3}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        vyre_case *start =
            find(rows[i].asks, (vyre_generate_options){.seed = 77, .statements = 60, .stress = rows[i].stress});
        question q = {rows[i].asks, 0, 1};
        vyre_case *small = shrink(start, &q, 0);
        assert_true(rows[i].asks(small));
        assert_true(stats_of(small).statements <= rows[i].statements);
        vyre_case_free(small);
        vyre_case_free(start);
    }
}

static void a_case_that_always_fails_becomes_empty(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        vyre_case *start = generate((vyre_generate_options){.seed = seed});
        question q = {always, 0, 1};
        vyre_case *small = shrink(start, &q, 0);
        uint32_t workgroup[3];
        vyre_program_workgroup(vyre_case_program(small), workgroup);
        assert_int_equal(stats_of(small).statements, 0);
        assert_int_equal(vyre_program_buffer_count(vyre_case_program(small)), 0);
        assert_int_equal(workgroup[0] * workgroup[1] * workgroup[2], 1);
        vyre_case_free(small);
        vyre_case_free(start);
    }
}

static void a_case_that_never_fails_stays(void **state) {
    (void)state;
    vyre_case *start = generate((vyre_generate_options){.seed = 3});
    question q = {never, 0, 1};
    vyre_case *small = shrink(start, &q, 0);
    assert_true(vyre_program_equal(vyre_case_program(start), vyre_case_program(small)));
    vyre_case_free(small);
    vyre_case_free(start);
}

static void inputs_shrink_toward_zero(void **state) {
    (void)state;
    vyre_case *start = find(has_ff, (vyre_generate_options){.seed = 4});
    question q = {has_ff, 0, 1};
    vyre_case *small = shrink(start, &q, 0);
    const vyre_arguments *arguments = vyre_case_arguments(small);
    size_t set = 0, total = 0;
    for (size_t i = 0; i < arguments->input_count; i++)
        for (size_t k = 0; k < arguments->inputs[i].size; k++, total++)
            set += ((const unsigned char *)arguments->inputs[i].data)[k] != 0;
    /* One element is left that is not zero; it may have other bytes beside the one. */
    assert_true(has_ff(small) && set <= 8);
    assert_int_equal(arguments->input_count, 1);
    assert_int_equal(stats_of(small).statements, 0);
    vyre_case_free(small);
    vyre_case_free(start);
}

static void geometry_shrinks_to_what_is_needed(void **state) {
    (void)state;
    static vy_resolved_dispatch launch;
    vyre_case *start = find(has_nine_invocations, (vyre_generate_options){.seed = 40, .stress = VYRE_STRESS_GEOMETRY});
    question q = {has_nine_invocations, 0, 1};
    vyre_case *small = shrink(start, &q, 0);
    assert_int_equal(vy_resolve_dispatch(vyre_case_program(small), vyre_case_arguments(small), &launch, NULL), VYRE_OK);
    assert_true(launch.invocations >= 9 && launch.invocations <= 16);
    vyre_case_free(small);
    vyre_case_free(start);
}

static void shrinking_is_deterministic(void **state) {
    (void)state;
    vyre_case *start = find(multiplies_high_what_it_loads, (vyre_generate_options){.seed = 9, .statements = 60});
    question one = {multiplies_high_what_it_loads, 0, 0}, two = one;
    vyre_case *a = shrink(start, &one, 0), *b = shrink(start, &two, 0);
    assert_true(vyre_program_equal(vyre_case_program(a), vyre_case_program(b)));
    assert_int_equal(one.asked, two.asked);
    vyre_case_free(a);
    vyre_case_free(b);
    vyre_case_free(start);
}

static void tries_are_bounded(void **state) {
    (void)state;
    vyre_case *start = generate((vyre_generate_options){.seed = 12, .statements = 60});
    question q = {never, 0, 0};
    vyre_case_free(shrink(start, &q, 25));
    assert_int_equal(q.asked, 25);
    vyre_case_free(start);
}

static void the_original_is_not_changed(void **state) {
    (void)state;
    vyre_generate_options options = {.seed = 21};
    vyre_case *start = generate(options), *same = generate(options);
    question q = {always, 0, 0};
    vyre_case_free(shrink(start, &q, 0));
    assert_true(vyre_program_equal(vyre_case_program(start), vyre_case_program(same)));
    for (size_t i = 0; i < vyre_case_arguments(start)->input_count; i++)
        assert_memory_equal(vyre_case_arguments(start)->inputs[i].data, vyre_case_arguments(same)->inputs[i].data,
                            vyre_case_arguments(same)->inputs[i].size);
    vyre_case_free(start);
    vyre_case_free(same);
}

static void missing_arguments_are_refused(void **state) {
    (void)state;
    vyre_case *small, *start = generate((vyre_generate_options){.seed = 1});
    vyre_error error;
    assert_int_equal(vyre_shrink(NULL, ask, NULL, 0, &small, &error), VYRE_INVALID_ARGUMENT);
    assert_int_equal(vyre_shrink(start, NULL, NULL, 0, &small, &error), VYRE_INVALID_ARGUMENT);
    assert_null(small);
    vyre_case_free(start);
}

static vyre_status shrink_and_free(void *user) {
    vyre_case *small;
    question q = {has_call, 0, 0};
    vyre_status status = vyre_shrink(user, ask, &q, 60, &small, NULL);
    assert_true((status == VYRE_OK) == (small != NULL));
    vyre_case_free(small);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    /* Made before the allocator changes: shrinking only reads it. */
    vyre_case *start =
        find(has_call,
             (vyre_generate_options){.seed = 6, .statements = 10, .invocations = 8, .stress = VYRE_STRESS_FUNCTIONS});
    assert_true(VY_FAULT_LOOP(shrink_and_free, start) > 100);
    vyre_case_free(start);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixty_statements_shrink_to_a_handful),
        cmocka_unit_test(what_the_failure_needs_stays),
        cmocka_unit_test(a_case_that_always_fails_becomes_empty),
        cmocka_unit_test(a_case_that_never_fails_stays),
        cmocka_unit_test(inputs_shrink_toward_zero),
        cmocka_unit_test(geometry_shrinks_to_what_is_needed),
        cmocka_unit_test(shrinking_is_deterministic),
        cmocka_unit_test(tries_are_bounded),
        cmocka_unit_test(the_original_is_not_changed),
        cmocka_unit_test(missing_arguments_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
