/* Every law that the standard library declares holds, as far as the checker of laws can see. tests/lib has models for
 * what the ops do. */
#include "dialect/law_check.h"
#include "support/test.h"

static void every_law_of_the_library_holds(void **state) {
    (void)state;
    vyre_dialects_guard guard;
    vyre_error error = VYRE_ERROR_INIT;
    vy_law_stats count = {0}, again = {0};
    size_t laws = 0;
    assert_int_equal(vyre_dialects_global(&guard, &error), VYRE_OK);
    for (size_t i = 0; i < vyre_dialects_count(guard); i++) {
        const vyre_op_definition *op = vyre_dialects_at(guard, i);
        for (uint32_t k = 0; k < op->law_count; k++, laws++)
            if (vy_law_check(guard, op, k, &count, &error) != VYRE_OK)
                fail_msg("%s", error.message);
    }
    assert_true(laws > 50);
    assert_true(count.checked >= laws);
    assert_int_equal(count.cached, 0);
    printf("%zu laws, %llu equations, %llu tuples\n", laws, (unsigned long long)count.checked,
           (unsigned long long)count.tuples);
    for (size_t i = 0; i < vyre_dialects_count(guard); i++)
        for (uint32_t k = 0; k < vyre_dialects_at(guard, i)->law_count; k++)
            assert_int_equal(vy_law_check(guard, vyre_dialects_at(guard, i), k, &again, &error), VYRE_OK);
    assert_int_equal(again.checked, 0);
    assert_int_equal(again.cached, count.checked);
    vyre_dialects_release(&guard);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_law_of_the_library_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
