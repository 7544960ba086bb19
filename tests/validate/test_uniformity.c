/* Where barriers and collectives may stand. */
#include "validate/text_fixture.h"

static void params_constants_and_lengths_are_uniform(void **state) {
    (void)state;
    accepted(HEAD "if n > 4 { barrier }\n if len(x) == 3 { barrier }\n if group_id.x == 2 { barrier }\n if "
                  "workgroup_size.x > 4 { barrier } }");
}

static void ids_are_not(void **state) {
    (void)state;
    refused("V100", HEAD "if l > 4 { barrier } }");
    refused("V100", HEAD "if global_id.y > 4 { barrier } }");
    refused("V100", HEAD "if local_index > 4 { barrier } }");
    refused("V100", HEAD "if local_id.z > 4 { let v = workgroup_reduce_add(1u32) } }");
}

static void the_finding_names_where_control_diverged_and_why(void **state) {
    (void)state;
    refused_at("V100", 11, "the `if` in line 10 depends on `local_id` (line 8)",
               HEAD "let m = l + n\n"
                    "if m > 4 {\n"
                    "barrier } }");
    refused_at("V100", 10, "the `while` in line 9 depends on a load from `t`", HEAD "while t[0] != 0 {\nbarrier } }");
    refused_at("V101", 9, "it depends on `local_id`", HEAD "let v = workgroup_broadcast(n, l) }");
}

static void inputs_are_uniform_at_uniform_places(void **state) {
    (void)state;
    accepted(HEAD "if x[n] == 1 { barrier } }");
    refused("V100", HEAD "if x[l] == 1 { barrier } }");
    refused("V100", HEAD "if y[n] == 1 { barrier } }");
    refused("V100", HEAD "if t[n] == 1 { barrier } }");
}

static void private_arrays_are_what_is_stored_to_them(void **state) {
    (void)state;
    accepted(HEAD "s[0] = n\n if s[n] == 1 { barrier } }");
    refused("V100", HEAD "s[0] = l\n if s[1] == 1 { barrier } }");
    refused("V100", HEAD "s[l] = n\n if s[1] == 1 { barrier } }");
    refused("V100", HEAD "if l == 3 { s[0] = n }\n if s[1] == 1 { barrier } }");
    refused("V100", HEAD "s[0] = n\n if s[l] == 1 { barrier } }");
}

static void values_of_atomics_differ(void **state) {
    (void)state;
    refused_at("V100", 0, "depends on the value of `atomic_add` (line",
               HEAD "let v = atomic_add(y[0], 1)\n if v == 1 { barrier } }");
}

static void reductions_over_the_workgroup_are_uniform_others_are_not(void **state) {
    (void)state;
    accepted(HEAD "let v = workgroup_reduce_add(l)\n if v == 1 { barrier } }");
    accepted(HEAD "let v = workgroup_any(l > 3)\n if v { barrier } }");
    accepted(HEAD "let v = workgroup_broadcast(l, 3)\n if v == 1 { barrier } }");
    refused("V100", HEAD "let v = workgroup_scan_inclusive_add(l)\n if v == 1 { barrier } }");
    refused("V100", HEAD "let v = subgroup_reduce_add<32>(n)\n if v == 1 { barrier } }");
}

static void a_variable_set_in_divergent_control_differs(void **state) {
    (void)state;
    refused("V100", HEAD "var v = 0u32\n if l > 4 { v = 1 }\n if v == 1 { barrier } }");
    accepted(HEAD "var v = 0u32\n if n > 4 { v = 1 }\n if v == 1 { barrier } }");
    /* Around a loop. */
    refused("V100",
            HEAD "var v = 0u32\n var w = 0u32\n for i in 0u32 .. n { if v == 1 { barrier }\n v = w\n w = l } }");
    /* After a loop that some leave earlier. */
    refused("V100", HEAD "var v = 0u32\n while v < l { v = v + 1 }\n if v == 1 { barrier } }");
    refused("V100",
            HEAD "var v = 0u32\n for i in 0u32 .. n { if i == l { break }\n v = v + 1 }\n if v == 1 { barrier } }");
    refused("V100",
            HEAD "var v = 0u32\n for i in 0u32 .. n { if i == l { continue }\n v = v + 1 }\n if v == 1 { barrier } }");
}

static void a_jump_in_one_branch_is_no_matter_to_the_other(void **state) {
    (void)state;
    accepted(HEAD
             "for i in 0u32 .. n { if n == 1 { if l == 0 { continue } } else { if n == 2 { continue }\n barrier } } }");
    accepted(HEAD "if n == 1 { if l == 0 { return } } else { if n == 2 { return }\n barrier } }");
    refused("V100", HEAD
            "for i in 0u32 .. n { if n == 1 { if l == 0 { continue } } else { if n == 2 { continue } }\n barrier } }");
    refused("V100", HEAD
            "for i in 0u32 .. n { if n == 1 { if n == 2 { continue } } else { if l == 0 { continue } }\n barrier } }");
    refused("V100", HEAD "if n == 1 { if l == 0 { return } } else { if n == 2 { return } }\n barrier }");
    refused("V100", HEAD "if n == 1 { if l == 0 { return } } else { if n == 2 { barrier } }\n barrier }");
}

static void loops_are_uniform_if_their_bounds_are(void **state) {
    (void)state;
    accepted(HEAD "for i in 0u32 .. n { barrier } }");
    accepted(HEAD "for i in 0u32 .. n { if i == 3 { barrier } } }");
    refused("V100", HEAD "for i in 0u32 .. l { barrier } }");
    refused("V100", HEAD "for i in l .. 100u32 { if i == 3 { barrier } } }");
    accepted(HEAD "var k = 32u32\n while k > 0 { if l < k { y[l] = l }\n barrier\n k = k / 2 } }");
}

static void a_divergent_break_makes_the_whole_loop_divergent(void **state) {
    (void)state;
    refused("V100", HEAD "for i in 0u32 .. n { barrier\n if i == l { break } } }");
    refused("V100", HEAD "for i in 0u32 .. n { if i == l { break }\n barrier } }");
    accepted(HEAD "for i in 0u32 .. n { barrier\n if i == 3 { break } } }");
    /* Invocations meet again after the loop. */
    accepted(HEAD "for i in 0u32 .. n { if i == l { break } }\n barrier }");
}

static void a_loop_of_one_trip_is_like_an_if(void **state) {
    (void)state;
    accepted(HEAD "while true { barrier\n if l == 3 { break }\n y[l] = 1\n break } barrier }");
    refused("V100", HEAD "while true { if l == 3 { break }\n barrier\n break } }");
}

static void a_divergent_continue_makes_the_rest_of_the_trip_divergent(void **state) {
    (void)state;
    refused("V100", HEAD "for i in 0u32 .. n { if i == l { continue }\n barrier } }");
    accepted(HEAD "for i in 0u32 .. n { barrier\n if i == l { continue }\n y[l] = i } }");
}

static void a_divergent_return_makes_everything_after_it_divergent(void **state) {
    (void)state;
    refused("V100", HEAD "if l == 3 { return }\n barrier }");
    refused("V100", HEAD "for i in 0u32 .. n { if i == l { return } }\n barrier }");
    refused("V100", HEAD "for i in 0u32 .. n { barrier\n if i == l { return } } }");
    accepted(HEAD "barrier\n if l == 3 { return }\n y[l] = 1 }");
    accepted(HEAD "if n == 3 { return }\n barrier }");
    refused("V100", HEAD "region \"r\" { if l == 3 { return } }\n barrier }");
}

static void a_divergent_trap_is_fine(void **state) {
    (void)state;
    accepted(HEAD "if l == 3 { trap 1 }\n barrier }");
    accepted(HEAD "for i in 0u32 .. n { if i == l { trap 1 }\n barrier } }");
}

static void branches_of_an_if_both_count(void **state) {
    (void)state;
    refused("V100", HEAD "if l == 3 { y[l] = 1 } else { barrier } }");
    accepted(HEAD "if l == 3 { y[l] = 1 } else { y[l] = 2 }\n barrier }");
    refused("V100", HEAD "for i in 0u32 .. n { if n == 3 { if l == 1 { continue } } else { y[l] = 1 }\n barrier } }");
}

static void the_grid_barrier_asks_the_whole_grid(void **state) {
    (void)state;
    accepted(HEAD "if n == 3 { grid_barrier } }");
    refused("V100", HEAD "if group_id.x == 3 { grid_barrier } }");
    refused("V100", HEAD "let v = workgroup_reduce_add(l)\n if v == 3 { grid_barrier } }");
    refused("V100", HEAD "if l == 3 { grid_barrier } }");
    accepted(HEAD "if group_id.x == 3 { barrier }\n grid_barrier }");
}

/* ---- through functions ---- */

static void a_function_is_as_uniform_as_its_arguments(void **state) {
    (void)state;
    const char *twice = "fn twice(a: u32) -> u32 { return a * 2 }\n";
    char text[1024];
    snprintf(text, sizeof text, "%s%s", twice, HEAD "let a = twice(l)\n let b = twice(n)\n if b == 1 { barrier } }");
    accepted(text);
    snprintf(text, sizeof text, "%s%s", twice, HEAD "let a = twice(l)\n let b = twice(n)\n if a == 1 { barrier } }");
    refused("V100", text);
}

static void a_barrier_in_a_function_makes_demands_on_its_callers(void **state) {
    (void)state;
    const char *sync = "fn sync(a: u32) { if a == 1 { barrier } }\nfn outer(a: u32, b: u32) { sync(b) }\n";
    char text[1024];
    snprintf(text, sizeof text, "%s%s", sync, HEAD "outer(l, n) }");
    accepted(text);
    snprintf(text, sizeof text, "%s%s", sync, HEAD "outer(n, l) }");
    refused_at("V100", 11, "the call of `outer`, which reaches `barrier` (line 1)", text);
    snprintf(text, sizeof text, "%s%s", sync, HEAD "if l == 1 { outer(n, n) } }");
    refused_at("V100", 11, "the `if` in line 11 depends on `local_id`", text);
}

static void a_function_may_be_divergent_all_by_itself(void **state) {
    (void)state;
    refused("V100", "fn f() { if local_id.x == 1 { barrier } }\n"); /* a library */
    refused("V100", "fn id() -> u32 { return local_id.x }\n" HEAD "let a = id()\n if a == 1 { barrier } }");
}

static void returns_meet_again_at_the_end_of_a_function(void **state) {
    (void)state;
    const char *early = "fn early(a: u32) -> u32 { if a > 3 { return 1 }\n return 2 }\n";
    char text[1024];
    snprintf(text, sizeof text, "%s%s", early, HEAD "let a = early(l)\n y[l] = a\n barrier }");
    accepted(text);
    snprintf(text, sizeof text, "%s%s", early, HEAD "let a = early(l)\n if a == 1 { barrier } }");
    refused("V100", text);
    snprintf(text, sizeof text, "%s%s", early, HEAD "let a = early(n)\n if a == 1 { barrier } }");
    accepted(text);
}

static void a_read_parameter_is_as_uniform_as_the_buffer(void **state) {
    (void)state;
    const char *first = "fn first(b: buffer [u32] read) -> u32 { return b[0] }\n";
    char text[1024];
    snprintf(text, sizeof text, "%s%s", first, HEAD "let a = first(x)\n if a == 1 { barrier } }");
    accepted(text);
    snprintf(text, sizeof text, "%s%s", first, HEAD "let a = first(y)\n if a == 1 { barrier } }");
    refused("V100", text);
}

static void a_private_array_that_a_function_stores_to_differs(void **state) {
    (void)state;
    const char *fill =
        "fn fill(p: private [u32], v: u32) { p[0] = v }\nfn sum(p: private [u32]) -> u32 { return p[0] + p[1] }\n";
    char text[1024];
    snprintf(text, sizeof text, "%s%s", fill, HEAD "fill(s, l)\n let v = sum(s)\n if s[0] == 1 { barrier } }");
    refused("V100", text);
    snprintf(text, sizeof text, "%s%s", fill, HEAD "fill(s, l)\n let v = sum(s)\n barrier }");
    accepted(text);
}

static void an_op_counts_as_a_function_of_its_arguments(void **state) {
    (void)state;
    accepted(HEAD "let e : f32 = math.exp(1.0f32)\n if e > 1.0 { barrier } }");
    refused("V100", HEAD "let e : f32 = math.exp(f32(l))\n if e > 1.0 { barrier } }");
}

/* A summary of more parameters than fit one word. */
static void the_last_of_many_parameters_counts(void **state) {
    (void)state;
    static char text[16384];
    for (int good = 0; good < 2; good++) {
        size_t n = (size_t)snprintf(text, sizeof text, "fn f(p0: u32");
        for (int i = 1; i < 200; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, ", p%d: u32", i);
        n += (size_t)snprintf(text + n, sizeof text - n, ") { if p199 == 1 { barrier } }\n%sf(l", HEAD);
        for (int i = 1; i < 200; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, i == 199 && !good ? ", l" : i == 198 ? ", l" : ", n");
        snprintf(text + n, sizeof text - n, ")\n}");
        if (good)
            accepted(text);
        else
            refused("V100", text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(params_constants_and_lengths_are_uniform),
        cmocka_unit_test(ids_are_not),
        cmocka_unit_test(the_finding_names_where_control_diverged_and_why),
        cmocka_unit_test(inputs_are_uniform_at_uniform_places),
        cmocka_unit_test(private_arrays_are_what_is_stored_to_them),
        cmocka_unit_test(values_of_atomics_differ),
        cmocka_unit_test(reductions_over_the_workgroup_are_uniform_others_are_not),
        cmocka_unit_test(a_variable_set_in_divergent_control_differs),
        cmocka_unit_test(a_jump_in_one_branch_is_no_matter_to_the_other),
        cmocka_unit_test(loops_are_uniform_if_their_bounds_are),
        cmocka_unit_test(a_divergent_break_makes_the_whole_loop_divergent),
        cmocka_unit_test(a_loop_of_one_trip_is_like_an_if),
        cmocka_unit_test(a_divergent_continue_makes_the_rest_of_the_trip_divergent),
        cmocka_unit_test(a_divergent_return_makes_everything_after_it_divergent),
        cmocka_unit_test(a_divergent_trap_is_fine),
        cmocka_unit_test(branches_of_an_if_both_count),
        cmocka_unit_test(the_grid_barrier_asks_the_whole_grid),
        cmocka_unit_test(a_function_is_as_uniform_as_its_arguments),
        cmocka_unit_test(a_barrier_in_a_function_makes_demands_on_its_callers),
        cmocka_unit_test(a_function_may_be_divergent_all_by_itself),
        cmocka_unit_test(returns_meet_again_at_the_end_of_a_function),
        cmocka_unit_test(a_read_parameter_is_as_uniform_as_the_buffer),
        cmocka_unit_test(a_private_array_that_a_function_stores_to_differs),
        cmocka_unit_test(an_op_counts_as_a_function_of_its_arguments),
        cmocka_unit_test(the_last_of_many_parameters_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
