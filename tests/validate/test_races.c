/* Races that are certain are refused; everything else is left to the oracle. */
#include "validate/text_fixture.h"

static void all_invocations_storing_to_one_element_race(void **state) {
    (void)state;
    refused_at("V102", 9, "all 64 invocations of the workgroup store to element 3 of `t`", HEAD "t[3] = l }");
    refused("V102", HEAD "t[3] = 7 }");
    refused("V102", HEAD "let c = 2u32\n t[c + 1] = 7 }");
    accepted(HEAD "if l == 3 { t[3] = 7 } }");
    accepted(HEAD "s[3] = 7 }"); /* everyone has their own */
}

static void one_invocation_races_with_nobody(void **state) {
    (void)state;
    accepted("program p { workgroup 1\n array t : u32 [4] workgroup\n t[3] = 7\n let v = t[3] }");
}

static void an_access_out_of_bounds_touches_nothing(void **state) {
    (void)state;
    accepted(HEAD "t[64] = 7 }");
    accepted(HEAD "y[0] = 7 }"); /* y may have no elements */
    refused("V102", "program p { buffer y : u32 write count 4\n workgroup 64\n y[0] = 7 }");
    accepted("program p { buffer y : u32 write count 4\n workgroup 64\n y[4] = 7 }");
    /* Only element 0 is in bounds, and only invocation 0 stores to it. */
    accepted(
        "program p { workgroup 64\n array t : u32 [1] workgroup\n t[local_id.x] = 1\n let v = t[local_id.x + 1] }");
}

static void nothing_is_certain_after_a_trap_or_return(void **state) {
    (void)state;
    accepted(HEAD "if l != 0 { return }\n t[3] = 7 }");
    accepted(HEAD "if l != 0 { trap 1 }\n t[3] = 7 }");
    accepted("fn f(a: u32) { if a != 0 { trap 1 } }\n" HEAD "f(l)\n t[3] = 7 }");
    accepted(HEAD "my.op(l)\n t[3] = 7 }");
}

static void nothing_is_certain_after_a_loop_that_may_not_end(void **state) {
    (void)state;
    accepted(HEAD "while true { }\n t[3] = 7 }");
    accepted(HEAD "while true { if l == 0 { break } }\n t[3] = 7 }");
    accepted(HEAD "var i = 0u32\n while i < n { i += 1 }\n t[3] = 7 }");
    accepted("fn f() { while true { } }\nfn g() { f() }\n" HEAD "g()\n t[3] = 7 }");
    refused("V102", HEAD "for i in 0u32 .. n { s[0] = i }\n t[3] = 7 }");
}

static void nothing_races_in_a_grid_that_is_always_empty(void **state) {
    (void)state;
#define STORE "\n array t : u32 [4] workgroup\n t[0] = 1 }"
    accepted("program p { workgroup 4\n grid 0" STORE);
    accepted("program p { workgroup 4\n grid 8, 0" STORE);
    accepted("program p { workgroup 4\n grid elements 0" STORE);
    accepted("program p { param n : u32\n workgroup 4\n grid n * (3 - 3)" STORE);
    accepted("program p { param n : u32\n workgroup 4\n grid div_ceil(3 / 4, n)" STORE);
    refused("V102", "program p { workgroup 4\n grid 1" STORE);
    refused("V102", "program p { param n : u32\n workgroup 4\n grid n, max(0, 1)" STORE);
#undef STORE
}

static void neighbours_collide_unless_a_barrier_is_between(void **state) {
    (void)state;
    refused_at("V103", 10, "a load of `t` and a store in line 9", HEAD "t[l] = 1\n let v = t[l + 1] }");
    refused("V103", HEAD "t[l] = 1\n let v = t[l - 1] }");
    refused("V103", HEAD "t[l] = 1\n let v = t[5] }");
    refused("V103", HEAD "let v = t[l + 1]\n t[l] = 1 }");
    refused("V103", HEAD "t[l] = 1\n t[l + 1] = 2 }");
    refused("V103", HEAD "t[l] = t[l + 1] }");
    refused("V103", HEAD "t[global_id.x] = 1\n let v = t[63 + l] }"); /* element 63 */
    accepted(HEAD "t[l] = 1\n let v = t[l] }");
    accepted(HEAD "t[l] = 1\n let v = t[l + 64] }");
    accepted(HEAD "t[l] = 1\n barrier\n let v = t[l + 1] }");
    accepted(HEAD "t[l] = 1\n let r = workgroup_reduce_add(l)\n let v = t[l + 1] }");
    accepted(HEAD "let v = t[l + 1]\n let w = t[5] }");
}

static void indices_wrap_around(void **state) {
    (void)state;
    /* l - 1 is 2^32 - 1 for invocation 0, and 0 for invocation 1: in bounds of an array of one. */
    refused(
        "V103",
        "program p { workgroup 64\n array t : u32 [1] workgroup\n let l = local_id.x\n t[l] = 1\n let v = t[l - 1] }");
    refused("V103", "program p { workgroup 64\n array t : u32 [1] workgroup\n let l = local_id.x\n t[l - 3] = 1\n let "
                    "v = t[l - 1] }");
    accepted("program p { workgroup 2\n array t : u32 [1] workgroup\n let l = local_id.x\n t[l - 3] = 1\n let v = t[l "
             "- 1] }");
}

static void a_barrier_that_may_run_counts_as_one(void **state) {
    (void)state;
    accepted(HEAD "t[l] = 1\n if n > 3 { barrier }\n let v = t[l + 1] }");
    accepted("fn sync() { barrier }\n" HEAD "t[l] = 1\n sync()\n let v = t[l + 1] }");
    accepted(HEAD "t[l] = 1\n atomic_add<acq_rel>(y[0], 1)\n let v = t[l + 1] }");
    refused("V103", HEAD "t[l] = 1\n atomic_add(y[0], 1)\n let v = t[l + 1] }");
    /* The same through a function, so that inlining changes no verdict. */
    accepted("fn f(b: buffer [u32] read_write) { atomic_add<acq_rel>(b[0], 1) }\n" HEAD
             "t[l] = 1\n f(y)\n let v = t[l + 1] }");
    refused("V103",
            "fn f(b: buffer [u32] read_write) { atomic_add(b[0], 1) }\n" HEAD "t[l] = 1\n f(y)\n let v = t[l + 1] }");
}

static void what_may_not_run_does_not_count(void **state) {
    (void)state;
    accepted(HEAD "if n > 3 { t[l] = 1 }\n let v = t[l + 1] }");
    accepted(HEAD "for i in 0u32 .. n { t[l] = 1 }\n let v = t[l + 1] }");
    accepted(HEAD "t[l] = 1\n let v = n > 3 ? t[l + 1] : 0 }");
    accepted(HEAD "t[l] = 1\n if n > 3 && t[5] == 1 { y[l] = 1 } }");
}

static void other_shapes_are_left_to_the_oracle(void **state) {
    (void)state;
    accepted(HEAD "t[n] = 7 }");
    accepted(HEAD "t[l] = 1\n let v = t[l ^ 1] }");
    accepted("program p { workgroup 8, 8\n array t : u32 [64] workgroup\n t[local_id.x] = 1 }");
    refused("V103", "program p { workgroup 8, 8\n array t : u32 [64] workgroup\n t[local_index] = 1\n let v = "
                    "t[local_index + 1] }");
}

static void plain_and_atomic_accesses_do_not_mix(void **state) {
    (void)state;
    refused_at("V104", 0, "a load of `t` and an atomic", HEAD "atomic_add(t[0], 1)\n let v = t[0] }");
    refused("V104", HEAD "t[l] = 1\n atomic_add(t[0], 1) }");
    accepted(HEAD "atomic_add(t[0], 1)\n atomic_add(t[0], 2) }");
    accepted(HEAD "let a = atomic_load(t[0])\n let v = t[0] }");
    accepted(HEAD "atomic_add(t[l], 1)\n let v = t[l] }");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_invocations_storing_to_one_element_race),
        cmocka_unit_test(one_invocation_races_with_nobody),
        cmocka_unit_test(an_access_out_of_bounds_touches_nothing),
        cmocka_unit_test(nothing_is_certain_after_a_trap_or_return),
        cmocka_unit_test(nothing_is_certain_after_a_loop_that_may_not_end),
        cmocka_unit_test(nothing_races_in_a_grid_that_is_always_empty),
        cmocka_unit_test(neighbours_collide_unless_a_barrier_is_between),
        cmocka_unit_test(indices_wrap_around),
        cmocka_unit_test(a_barrier_that_may_run_counts_as_one),
        cmocka_unit_test(what_may_not_run_does_not_count),
        cmocka_unit_test(other_shapes_are_left_to_the_oracle),
        cmocka_unit_test(plain_and_atomic_accesses_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
