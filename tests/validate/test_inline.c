/* Inlining: what a program computes stays the same, and the result is a program of its own. */
#include "validate/text_fixture.h"

#include "generate/generate.h"
#include "support/fault.h"
#include "vyre/oracle.h"

static vyre_program *parse(const char *text, vyre_module **module) {
    vyre_error error;
    if (vyre_text_parse(text, strlen(text), NULL, NULL, module, &error) != VYRE_OK)
        fail_msg("%s (%s)\n%s", error.message, error.where, text);
    vyre_program *program = vyre_module_program(*module, 0);
    return program ? program : vyre_module_library(*module);
}

static char *print(const vyre_program *program) {
    vyre_bytes out = VYRE_BYTES_INIT;
    assert_int_equal(vyre_text_print(program, &out, NULL), VYRE_OK);
    char *text = strndup(out.data, out.size);
    vyre_bytes_free(&out);
    return text;
}

static int has_local_call(const vyre_program *program) {
    for (uint32_t i = 0; i < program->stmts.count; i++)
        if (program->stmts.items[i].kind == VY_STMT_CALL && program->stmts.items[i].callee != VY_NONE)
            return 1;
    return 0;
}

/* Inlines, and checks what holds for every program: no call is left, printing and parsing gives it back, inlining again
 * changes nothing. */
static vyre_program *inlined(const vyre_program *program) {
    vyre_program *made = NULL, *again = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    if (vyre_program_inline(program, &made, &error) != VYRE_OK)
        fail_msg("%s\n%s", error.message, print(program));
    assert_false(has_local_call(made));
    char *text = print(made);
    vyre_module *module = NULL;
    vyre_program *read = parse(text, &module);
    if (!vyre_program_equal(read, made))
        fail_msg("printing and parsing changes it:\n%s", text);
    vyre_module_free(module);
    assert_int_equal(vyre_program_inline(made, &again, NULL), VYRE_OK);
    assert_ptr_equal(again, made);
    vyre_program_release(again);
    free(text);
    return made;
}

/* Runs the inlined program, whose only buffer is `out : u32 write count 8`, with a workgroup of 8. */
static void gives(const uint32_t want[8], const char *text) {
    vyre_module *module = NULL;
    vyre_program *program = inlined(parse(text, &module));
    vyre_oracle *oracle = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_arguments arguments = {.geometry = {VYRE_GEOMETRY_GROUPS, {1, 1, 1}}};
    assert_int_equal(vyre_oracle_new(program, &oracle, &error), VYRE_OK);
    if (vyre_oracle_run(oracle, &arguments, &(vyre_oracle_options){.checks = VYRE_CHECK_ALL}, &out, NULL, NULL,
                        &error) != VYRE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(out.size, 32);
    if (memcmp(out.data, want, 32) != 0) {
        char *shown = print(program);
        for (int i = 0; i < 8; i++)
            printf("%u: %u, not %u\n", i, ((uint32_t *)out.data)[i], want[i]);
        fail_msg("wrong result of\n%s", shown);
    }
    vyre_bytes_free(&out);
    vyre_oracle_free(oracle);
    vyre_program_release(program);
    vyre_module_free(module);
}

#define MAIN "program p { buffer out : u32 write count 8\n workgroup 8\n let i = local_id.x\n"

static void a_call_becomes_its_body(void **state) {
    (void)state;
    gives((uint32_t[8]){1, 3, 5, 7, 9, 11, 13, 15},
          "fn f(a: u32) -> u32 { let b = a * 2\n return b + 1 }\n" MAIN "out[i] = f(i) }");
}

static void names_stay_apart(void **state) {
    (void)state;
    gives((uint32_t[8]){3, 5, 7, 9, 11, 13, 15, 17},
          "fn g(i: u32) -> u32 { let b = i + 1\n let r = b\n return r }\n"
          "fn f(i: u32) -> u32 { let b = g(i)\n let r = g(b)\n let c = b + r\n return c }\n" MAIN
          "let r = f(i)\n let b = r\n out[i] = b }");
}

static void several_results_come_back(void **state) {
    (void)state;
    gives((uint32_t[8]){0, 1, 2, 10, 11, 12, 20, 21},
          "fn split(a: u32) -> (high: u32, low: u32) { return a / 3, a % 3 }\n" MAIN
          "let (h, l) = split(i)\n out[i] = h * 10 + l }");
}

static void returns_at_the_ends_of_branches_need_no_loop(void **state) {
    (void)state;
    const char *text =
        "fn f(a: u32) -> u32 { if a > 3 { return 1 } else { if a > 1 { return 2 } else { return 3 } } }\n" MAIN
        "out[i] = f(i) }";
    gives((uint32_t[8]){3, 3, 2, 2, 1, 1, 1, 1}, text);
    vyre_module *module = NULL;
    vyre_program *program = inlined(parse(text, &module));
    for (uint32_t i = 0; i < program->stmts.count; i++)
        assert_int_not_equal(program->stmts.items[i].kind, VY_STMT_WHILE);
    vyre_program_release(program);
    vyre_module_free(module);
}

static void early_returns_leave(void **state) {
    (void)state;
    gives((uint32_t[8]){100, 100, 20, 30, 44, 55, 66, 77},
          "fn f(a: u32) -> u32 {\n if a < 2 { return 100 }\n var r = a * 10\n if a < 4 { return r }\n r = r + a\n "
          "return r }\n" MAIN "out[i] = f(i) }");
}

static void returns_leave_loops_within_loops(void **state) {
    (void)state;
    /* The first pair j, k with j * k >= a, as 10 j + k; else 99. */
    gives((uint32_t[8]){0, 11, 12, 13, 22, 99, 23, 99},
          "fn f(a: u32) -> u32 {\n"
          "  for j in 0u32 .. 4 {\n"
          "    for k in 0u32 .. 4 { if j * k == a { return j * 10 + k } }\n"
          "  }\n"
          "  return 99 }\n" MAIN "out[i] = f(i) }");
}

static void returns_leave_an_endless_loop(void **state) {
    (void)state;
    gives((uint32_t[8]){0, 1, 2, 3, 4, 5, 6, 7},
          "fn f(a: u32) -> u32 { var n = 0u32\n while true { if n == a { return n }\n n = n + 1 } }\n" MAIN
          "out[i] = f(i) }");
}

static void a_function_without_results_may_return_early(void **state) {
    (void)state;
    gives((uint32_t[8]){7, 7, 7, 0, 0, 0, 0, 0},
          "fn f(b: buffer [u32] write, a: u32) { if a > 2 { return }\n b[a] = 7 }\n" MAIN "f(out, i) }");
}

static void private_arrays_start_each_call_as_zero(void **state) {
    (void)state;
    gives((uint32_t[8]){1, 1, 1, 1, 1, 1, 1, 1},
          "fn f(a: u32) -> u32 { array s : u32 [4] private\n s[a % 4] = s[a % 4] + 1\n return s[a % 4] }\n"
          "fn g(a: u32) -> u32 { let x = f(a)\n let y = f(a)\n return max(x, y) }\n" MAIN
          "var v = 0u32\n for k in 0u32 .. 3 { v = g(i) }\n out[i] = v }");
}

static void memories_are_passed_through(void **state) {
    (void)state;
    gives((uint32_t[8]){7, 6, 5, 4, 3, 2, 1, 0}, "fn at(t: workgroup [u32], k: u32) -> u32 { return t[k] }\n"
                                                 "fn swap(t: workgroup [u32], a: u32, s: private [u32]) -> u32 { t[a] "
                                                 "= a\n barrier\n s[1] = at(t, len(t) - 1 - a)\n return s[1] }\n"
                                                 "program p { buffer out : u32 write count 8\n workgroup 8\n array t : "
                                                 "u32 [8] workgroup\n array s : u32 [2] private\n"
                                                 " let i = local_id.x\n let v = swap(t, i, s)\n out[i] = s[1] }");
}

static void results_nobody_wants_are_dropped(void **state) {
    (void)state;
    gives((uint32_t[8]){5, 5, 5, 5, 5, 5, 5, 5},
          "fn f(b: buffer [u32] write, a: u32) -> u32 { b[a] = 5\n if a > 3 { return 1 }\n return 2 }\n" MAIN
          "f(out, i) }");
}

static void collectives_in_functions_stay_uniform(void **state) {
    (void)state;
    gives((uint32_t[8]){28, 28, 28, 28, 28, 28, 28, 28},
          "fn total(a: u32) -> u32 { let s = workgroup_reduce_add(a)\n if s == 0 { return 1 }\n return s }\n" MAIN
          "var v = 0u32\n for k in 0u32 .. 2 { v = total(i) }\n out[i] = v }");
}

/* A barrier before a divergent early return: the loop that the return leaves makes one trip, so the barrier stays
 * uniform. */
static void a_barrier_before_an_early_return_stays_valid(void **state) {
    (void)state;
    gives((uint32_t[8]){1, 1, 1, 1, 2, 2, 2, 2},
          "fn f(a: u32) -> u32 { barrier\n if a < 4 { return 1 }\n var r = 2u32\n for k in 0u32 .. a { if k == 9 { "
          "return 3 } }\n return r }\n" MAIN "let v = f(i)\n barrier\n out[i] = v }");
}

/* The return of the first loop is uniform, that of the second is not: what stands between them may not be mistaken for
 * divergent. */
static void returns_of_different_loops_are_told_apart(void **state) {
    (void)state;
    gives((uint32_t[8]){20, 21, 22, 23, 3, 3, 3, 3},
          "fn f(a: u32, n: u32) -> u32 { for k in 0u32 .. 4 { if k == n { return 1 } }\n barrier\n"
          " for k in 0u32 .. 4 { for j in 0u32 .. 1 { if k == a { return 20 + j + k } } }\n return 3 }\n" MAIN
          "out[i] = f(i, 9) }");
}

/* The same with both loops in a loop of one trip. */
static void returns_of_loops_in_a_loop_are_told_apart(void **state) {
    (void)state;
    gives((uint32_t[8]){20, 21, 22, 23, 3, 3, 3, 3},
          "fn f(a: u32, n: u32) -> u32 { while true { for k in 0u32 .. 4 { if k == n { return 1 } }\n barrier\n"
          " for k in 0u32 .. 4 { if k == a { return 20 + k } }\n break }\n return 3 }\n" MAIN "out[i] = f(i, 9) }");
}

static void regions_say_where_code_comes_from(void **state) {
    (void)state;
    vyre_module *module = NULL;
    vyre_program *program = inlined(parse(
        "fn g(a: u32) -> u32 { return a }\nfn f(a: u32) -> u32 { return g(a) }\n" MAIN "out[i] = f(i) }", &module));
    int seen_f = 0, seen_g = 0;
    for (uint32_t i = 0; i < program->stmts.count; i++)
        if (program->stmts.items[i].kind == VY_STMT_REGION) {
            const char *name = vy_symbol_name(program, program->stmts.items[i].name);
            seen_f += strcmp(name, "f") == 0;
            seen_g += strcmp(name, "g") == 0 && seen_f; /* inside */
        }
    assert_int_equal(seen_f, 1);
    assert_int_equal(seen_g, 1);
    assert_int_equal(vyre_program_function_count(program), 0);
    vyre_program_release(program);
    vyre_module_free(module);
}

static void positions_point_at_the_original(void **state) {
    (void)state;
    vyre_module *module = NULL;
    vyre_program *program =
        inlined(parse("fn f(a: u32) -> u32 {\n  let b = a\n  return b }\n" MAIN "out[i] = f(i) }", &module));
    int seen = 0;
    for (uint32_t i = 0; i < program->stmts.count; i++)
        if (program->stmts.items[i].kind == VY_STMT_LET && vy_stmt_position(program, i).line == 2)
            seen++;
    assert_int_equal(seen, 1);
    vyre_program_release(program);
    vyre_module_free(module);
}

static void headers_and_sizes_are_kept(void **state) {
    (void)state;
    vyre_module *module = NULL;
    vyre_program *program =
        inlined(parse("fn f(a: u32) -> u32 { return a }\n"
                      "program p { numerics relaxed\n param n : u32\n buffer x : u32 read count n * 2 + 1\n"
                      " buffer y : u32 write count len(x)\n workgroup 4, 2\n grid div_ceil(n, 4), len(y)\n"
                      " y[f(global_id.x)] = x[0] }",
                      &module));
    char *text = print(program);
    assert_non_null(strstr(text, "numerics relaxed"));
    assert_non_null(strstr(text, "count n * 2 + 1"));
    assert_non_null(strstr(text, "count len(x)"));
    assert_non_null(strstr(text, "grid div_ceil(n, 4), len(y)"));
    assert_non_null(strstr(text, "workgroup 4, 2"));
    free(text);
    vyre_program_release(program);
    vyre_module_free(module);
}

static void a_program_without_calls_is_itself(void **state) {
    (void)state;
    vyre_module *module = NULL;
    vyre_program *program = parse(MAIN "out[i] = i }", &module), *made = NULL;
    assert_int_equal(vyre_program_inline(program, &made, NULL), VYRE_OK);
    assert_ptr_equal(made, program);
    vyre_program_release(made);
    vyre_module_free(module);
}

static void functions_of_a_library_are_inlined_into_each_other(void **state) {
    (void)state;
    vyre_module *module = NULL;
    vyre_program *program =
        inlined(parse("fn g(a: u32) -> u32 { array s : u32 [2] private\n if a > 1 { return s[0] }\n return a }\n"
                      "fn f(a: u32) -> u32 { return g(a) + g(a + 1) }\n",
                      &module));
    assert_int_equal(vyre_program_function_count(program), 2);
    vyre_program_release(program);
    vyre_module_free(module);
}

/* Each function alone has few enough arrays; with those of what it calls, one has too many. */
static void a_library_with_too_many_arrays_once_inlined_is_over_a_limit(void **state) {
    (void)state;
    static char text[16384];
    size_t n = (size_t)sprintf(text, "fn f() {\n");
    for (int i = 0; i < 200; i++)
        n += (size_t)sprintf(text + n, "array a%d : u8 [1] private\n", i);
    n += (size_t)sprintf(text + n, "}\nfn g() {\n");
    for (int i = 0; i < 100; i++)
        n += (size_t)sprintf(text + n, "array b%d : u8 [1] private\n", i);
    sprintf(text + n, "f() }\n");
    vyre_module *module = NULL;
    vyre_program *program = parse(text, &module), *made = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_program_inline(program, &made, &error), VYRE_LIMIT);
    assert_null(made);
    assert_true(error.fix[0] != 0);
    vyre_module_free(module);
}

static void every_generated_program_can_be_inlined(void **state) {
    (void)state;
    for (unsigned seed = 1; seed <= 150 * vy_test_effort(); seed++) {
        vyre_generate_options options = {.seed = seed,
                                         .stress = VYRE_STRESS_FUNCTIONS | VYRE_STRESS_CONTROL |
                                                   VYRE_STRESS_COLLECTIVES | VYRE_STRESS_MEMORY};
        vyre_case *test_case = NULL;
        vyre_error error;
        if (vyre_generate(&options, &test_case, &error) != VYRE_OK)
            fail_msg("seed %u: %s", seed, error.message);
        vyre_program_release(inlined(vyre_case_program(test_case)));
        vyre_case_free(test_case);
    }
}

static vyre_status inline_once(void *user) {
    vyre_program *made = NULL;
    vyre_status status = vyre_program_inline(user, &made, NULL);
    vyre_program_release(made);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    vyre_module *module = NULL;
    vyre_program *program =
        parse("fn g(a: u32) -> u32 { array s : u32 [4] private\n for k in 0u32 .. 4 { if k == a { return s[k] } }\n "
              "return 3 }\n"
              "fn f(a: u32) -> (q: u32, r: u32) { let v = g(a)\n if a > 3 { return v, 1 }\n return g(v), 2 }\n" MAIN
              "let (q, r) = f(i)\n out[i] = q + r }",
              &module);
    assert_true(VY_FAULT_LOOP(inline_once, program) > 10);
    vyre_module_free(module);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_becomes_its_body),
        cmocka_unit_test(names_stay_apart),
        cmocka_unit_test(several_results_come_back),
        cmocka_unit_test(returns_at_the_ends_of_branches_need_no_loop),
        cmocka_unit_test(early_returns_leave),
        cmocka_unit_test(returns_leave_loops_within_loops),
        cmocka_unit_test(returns_leave_an_endless_loop),
        cmocka_unit_test(a_function_without_results_may_return_early),
        cmocka_unit_test(private_arrays_start_each_call_as_zero),
        cmocka_unit_test(memories_are_passed_through),
        cmocka_unit_test(results_nobody_wants_are_dropped),
        cmocka_unit_test(collectives_in_functions_stay_uniform),
        cmocka_unit_test(a_barrier_before_an_early_return_stays_valid),
        cmocka_unit_test(returns_of_different_loops_are_told_apart),
        cmocka_unit_test(returns_of_loops_in_a_loop_are_told_apart),
        cmocka_unit_test(regions_say_where_code_comes_from),
        cmocka_unit_test(positions_point_at_the_original),
        cmocka_unit_test(headers_and_sizes_are_kept),
        cmocka_unit_test(a_program_without_calls_is_itself),
        cmocka_unit_test(functions_of_a_library_are_inlined_into_each_other),
        cmocka_unit_test(a_library_with_too_many_arrays_once_inlined_is_over_a_limit),
        cmocka_unit_test(every_generated_program_can_be_inlined),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
