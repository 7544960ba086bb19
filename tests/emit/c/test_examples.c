/* Every program of the examples and every function of the standard library, as C that gcc and clang compile without a
 * warning, gives the oracle's bits. */
#include "emit/c/compiled.h"

#define conform_check compiled_check
static void compiled_check(conform *c, const char *name, vyre_program *program, const vyre_arguments *arguments,
                           conform_form form);
#include "backends/conform_examples.h"
#include "backends/conform_library.h"

static const char *const both[] = {"gcc -std=c17 -O2", "clang -std=gnu17 -O2 -march=native", NULL};
static compiled collected = {.compilers = both};

/* In the place of a backend (conform.h): the case is collected. */
static void compiled_check(conform *c, const char *name, vyre_program *program, const vyre_arguments *arguments,
                           conform_form form) {
    (void)form;
    collected.oracle.checks = c->checks;
    c->judged += (uint64_t)compiled_add(&collected, name, program, arguments);
}

static void examples_have_the_oracles_bits(void **state) {
    (void)state;
    conform c = {.id = "c"};
    conform_examples_run(&c, 0, 1);
    compiled_run(&collected);
    assert_int_equal(collected.refused, 0);
}

static void functions_of_the_library_have_the_oracles_bits(void **state) {
    (void)state;
    static const char *const turns[] = {"gcc -std=gnu17 -O1 -march=native", "clang -std=c17 -O0", NULL};
    static conform c = {.id = "c"};
    conform_library library = {.backends = &c, .backend_count = 1, .step = VY_SANITIZED ? 3 : 1};
    collected = (compiled){.compilers = turns, .in_turns = 1, .limit = 100};
    conform_library_run(&library);
    compiled_run(&collected);
    assert_int_equal(collected.refused, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_have_the_oracles_bits),
        cmocka_unit_test(functions_of_the_library_have_the_oracles_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
