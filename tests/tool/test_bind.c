/* Headers made by `vyre bind` compile without a warning as C and as C++, whatever the program's names and types; and
 * the examples in C run. */
#include "tool/transcript.h"

static int have(const char *compiler) {
    char line[128];

    snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", compiler);
    return system(line) == 0;
}

/* Every program in the examples, and the awkward ones. What the system brings is compiled once. */
static const char make_headers[] =
    "n=0\n"
    "printf '#include <%s.h>\\n' complex errno limits math signal stdio > system.h\n"
    "$COMPILE-header system.h -o system.h.gch || exit 1\n"
    "for f in examples/*.vyre several.vyre open.vyre everything.vyre awkward.vyre; do\n"
    "  for p in $(sed -n 's/^program \\([A-Za-z_0-9]*\\).*/\\1/p' $f); do\n"
    "    n=$((n+1)); vyre bind $f --program $p -o bound_$n.h || exit 1\n"
    "    printf '#include \"%s.h\"\\n' system bound_$n > unit_$n.c; echo 'int main(void) { return 0; }' >> unit_$n.c\n"
    "    $COMPILE -I\"$HEADERS\" -fsyntax-only unit_$n.c || exit 1\n"
    "  done\n"
    "done\n"
    "test $n -gt 20 && echo compiled";

static void compile_all(const char *compile) {
    char folder[256];
    vy_string out = {0};

    transcript_enter(folder);
    setenv("COMPILE", compile, 1);
    setenv("HEADERS", vy_test_path("include"), 1);
    transcript_run(make_headers, &out);
    transcript_leave(folder);
    assert_string_equal(out.text, "compiled\n");
    vy_string_free(&out);
}

static void headers_are_c(void **state) {
    (void)state;
    if (!have("cc"))
        VY_SKIP("there is no C compiler (cc): headers are not compiled");
    compile_all("cc -std=gnu11 -Wall -Wextra -Wno-unused-function -Werror -x c");
}

static void headers_are_cpp(void **state) {
    (void)state;
    if (!have("c++"))
        VY_SKIP("there is no C++ compiler (c++): headers are not compiled");
    compile_all("c++ -std=gnu++17 -Wall -Wextra -Wno-unused-function -Werror -x c++");
}

/* The examples in C are linked by the build; here they run. */
static void expect_example(const char *name, const char *expected) {
    char line[1024];
    vy_string out = {0};

    snprintf(line, sizeof line, "%s/examples/%s", VYRE_BINARY_DIR, name);
    if (access(line, X_OK) != 0)
        VY_SKIP("%s is not built: examples in C are not run", line);
    /* An example selects its backend by itself. */
    snprintf(line, sizeof line, "env -u VYRE_BACKEND %s/examples/%s", VYRE_BINARY_DIR, name);
    transcript_run(line, &out);
    assert_non_null(out.text);
    assert_string_equal(out.text, expected);
    vy_string_free(&out);
}

/* On the backend of the default policy, which is never the interpreter. */
static void bound_example_gives_the_result(void **state) {
    vy_string expected = {0};
    char folder[256];

    (void)state;
    transcript_enter(folder);
    transcript_run("echo 12 24 36 on $(env -u VYRE_BACKEND vyre backends | sed -n 's/^chosen: //p')", &expected);
    transcript_leave(folder);
    assert_null(strstr(expected.text, "reference"));
    expect_example("bound", expected.text);
    vy_string_free(&expected);
}

/* A program built with calls and one parsed from text have the same fingerprint. */
static void built_example_is_the_same_program(void **state) {
    vy_string expected = {0};
    char folder[256];

    (void)state;
    transcript_enter(folder);
    transcript_run("echo 12 24 36; vyre explain examples/saxpy.vyre | sed -n 's/.*fingerprint //p'", &expected);
    transcript_leave(folder);
    expect_example("builder", expected.text);
    vy_string_free(&expected);
}

/* They select GPU, then cpu; the results are the same. */
static void examples_of_the_c_interface_run(void **state) {
    (void)state;
    expect_example("dispatch", "12 24 36\n");
    expect_example("resident", "357389824\n");
    expect_example("event_loop", "108\n");
    expect_example("own_backend", "adder: chosen\nadder: unsupported, it does not run `mul`, which program `products` "
                                  "uses\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_c),
        cmocka_unit_test(headers_are_cpp),
        cmocka_unit_test(bound_example_gives_the_result),
        cmocka_unit_test(built_example_is_the_same_program),
        cmocka_unit_test(examples_of_the_c_interface_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
