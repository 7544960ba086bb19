/* Facts: what the validator says about a valid program. */
#include "validate/text_fixture.h"

static uint32_t flags_of(const char *text) {
    parse_result v = parse_text(text);
    if (v.status != VYRE_OK) {
        print_findings(&v);
        fail_msg("refused:\n%s", text);
    }
    uint32_t facts = vyre_module_program(v.module, 0)->facts;
    parse_result_free(&v);
    return facts;
}

static void a_plain_program_has_none(void **state) {
    (void)state;
    assert_int_equal(flags_of(HEAD "y[l] = x[l] }"), 0);
}

static void statements_leave_their_mark(void **state) {
    (void)state;
    assert_int_equal(flags_of(HEAD "barrier }"), VY_PROGRAM_HAS_BARRIER);
    assert_int_equal(flags_of(HEAD "let v = workgroup_reduce_add(l) }"), VY_PROGRAM_HAS_BARRIER);
    assert_int_equal(flags_of(HEAD "grid_barrier }"), VY_PROGRAM_HAS_GRID_BARRIER);
    assert_int_equal(flags_of(HEAD "trap 1 }"), VY_PROGRAM_HAS_TRAP);
    assert_int_equal(flags_of(HEAD "print \"{}\", l }"), VY_PROGRAM_HAS_PRINT);
    assert_int_equal(flags_of(HEAD "my.op(l) }"), VY_PROGRAM_HAS_OP_CALL);
    assert_int_equal(flags_of("fn f() { barrier }\n" HEAD "f() }"), VY_PROGRAM_HAS_BARRIER | VY_PROGRAM_HAS_CALL);
    assert_int_equal(flags_of(HEAD "atomic_add(y[0], 1) }"), VY_PROGRAM_HAS_ATOMIC);
}

static int depends(const char *text) {
    return (flags_of(text) & VY_PROGRAM_IS_SCHEDULE_DEPENDENT) != 0;
}

static void one_kind_of_atomic_without_its_value_does_not_show_the_schedule(void **state) {
    (void)state;
    assert_false(depends(HEAD "atomic_add(y[0], 1)\n atomic_add(y[1], l)\n atomic_max(t[0], l) }"));
    assert_false(depends(HEAD "atomic_xor(y[0], 1) }"));
}

static void a_value_shows_the_schedule(void **state) {
    (void)state;
    assert_true(depends(HEAD "let v = atomic_add(y[0], 1) }"));
    assert_true(depends(HEAD "let v = atomic_load(y[0]) }"));
}

static void last_writers_show_the_schedule(void **state) {
    (void)state;
    assert_true(depends(HEAD "atomic_store(y[0], 1) }"));
    assert_true(depends(HEAD "atomic_exchange(y[0], 1) }"));
    assert_true(depends(HEAD "atomic_compare_exchange(y[0], 1, 2) }"));
}

static void two_kinds_on_one_memory_show_the_schedule(void **state) {
    (void)state;
    assert_true(depends(HEAD "atomic_add(y[0], 1)\n atomic_max(y[1], 1) }"));
    assert_false(depends(HEAD "atomic_add(y[0], 1)\n atomic_max(t[1], 1) }"));
}

static void kinds_are_followed_through_calls(void **state) {
    (void)state;
    const char *add =
        "fn add(b: buffer [u32] read_write) { atomic_add(b[0], 1) }\nfn outer(b: buffer [u32] read_write) { add(b) }\n";
    char text[1024];
    snprintf(text, sizeof text, "%s%s", add, HEAD "outer(y)\n atomic_add(y[0], 2) }");
    assert_false(depends(text));
    snprintf(text, sizeof text, "%s%s", add, HEAD "outer(y)\n atomic_or(y[0], 2) }");
    assert_true(depends(text));
}

static void float_atomics_show_the_schedule(void **state) {
    (void)state;
    assert_true(depends(
        "program p { numerics relaxed\n buffer y : f32 read_write\n workgroup 64\n atomic_add(y[0], 1.0f32) }"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_program_has_none),
        cmocka_unit_test(statements_leave_their_mark),
        cmocka_unit_test(one_kind_of_atomic_without_its_value_does_not_show_the_schedule),
        cmocka_unit_test(a_value_shows_the_schedule),
        cmocka_unit_test(last_writers_show_the_schedule),
        cmocka_unit_test(two_kinds_on_one_memory_show_the_schedule),
        cmocka_unit_test(kinds_are_followed_through_calls),
        cmocka_unit_test(float_atomics_show_the_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
