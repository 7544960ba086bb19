/* Inlining up to the limits of the language: hundreds of megabytes. */
#include "support/test.h"
#include "vyre/text.h"

/* Each function alone is within the limits; all of them together are not. */
static void a_library_that_grows_too_large_is_over_a_limit(void **state) {
    (void)state;
    char *text = malloc(100000);
    size_t n = (size_t)sprintf(text, "fn g0(a: u32) -> u32 { return a + 1 }\n");
    for (int i = 1; i < 11; i++)
        n += (size_t)sprintf(text + n,
                             "fn g%d(a: u32) -> u32 { let b = g%d(a)\n let c = g%d(b)\n let d = g%d(c)\n return d }\n",
                             i, i - 1, i - 1, i - 1);
    for (int i = 0; i < 30; i++)
        n += (size_t)sprintf(text + n, "fn h%d(a: u32) -> u32 { return g10(a) }\n", i);
    vyre_module *module = NULL;
    vyre_program *made = NULL;
    vyre_error error = VYRE_ERROR_INIT;
    assert_int_equal(vyre_text_parse(text, n, NULL, NULL, &module, &error), VYRE_OK);
    vyre_program *program = vyre_module_library(module);
    assert_int_equal(vyre_program_inline(program, &made, &error), VYRE_LIMIT);
    assert_null(made);
    assert_true(error.fix[0] != 0);
    vyre_module_free(module);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_that_grows_too_large_is_over_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
