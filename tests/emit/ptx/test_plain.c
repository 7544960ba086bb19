/* Ops of two words have a way of their own to their line (src/emit/ptx/op.c), which is not taken where a program has
 * the smaller or larger of integers: both ways write the same. */
#include "emit/ptx/code.h"

enum { TEXT = 1024 };

/* The lines that make the sum of an op and more; `ends` follows it. */
static vy_ptx_code emit(const char *type, const char *expression, const char *ends) {
    char text[TEXT];
    vyre_program *legal;
    vy_ptx_code code;
    vyre_error error;
    snprintf(text, sizeof text,
             "program p {\n  buffer a : %s read_write\n  param b : %s\n  workgroup 32\n  grid over a\n"
             "  let x = a[global_id.x]\n  let y = b\n  a[global_id.x] = %s\n%s}\n",
             type, type, expression, ends);
    vyre_program *program = vy_test_parse(text);
    if (ptx_make(program, 0, &legal, &code, &error) != VYRE_OK)
        fail_msg("%s: %s", text, error.message);
    vyre_program_release(legal);
    vyre_program_release(program);
    return code;
}

/* The line before the first store. */
static void last_line(const vy_ptx_code *code, char line[TEXT]) {
    const char *text = code->text.data, *store = strstr(text, "st.global");
    assert_non_null(store);
    while (store > text && *store != '\n')
        store--;
    const char *start = store - 1;
    while (start > text && start[-1] != '\n')
        start--;
    snprintf(line, TEXT, "%.*s", (int)(store - start), start);
}

static void check(const char *type, const char *expression) {
    char ends[128], one[TEXT], other[TEXT];
    snprintf(ends, sizeof ends, "  a[global_id.x + 1] = min(a[global_id.x + 2], y)\n");
    vy_ptx_code plain = emit(type, expression, ""), asked = emit(type, expression, ends);
    assert_non_null(strstr(asked.text.data, "\tmin."));
    last_line(&plain, one);
    last_line(&asked, other);
    /* Registers may have other numbers: all else is the same. */
    for (char *a = one, *b = other;; a++, b++) {
        while (isdigit((unsigned char)*a) && a > one &&
               (isdigit((unsigned char)a[-1]) || isalpha((unsigned char)a[-1])))
            a++;
        while (isdigit((unsigned char)*b) && b > other &&
               (isdigit((unsigned char)b[-1]) || isalpha((unsigned char)b[-1])))
            b++;
        if (*a != *b)
            fail_msg("%s of %s: `%s`, and `%s` beside a minimum", expression, type, one, other);
        if (!*a)
            break;
    }
    vy_ptx_free(&plain);
    vy_ptx_free(&asked);
}

static void both_ways_to_a_line_write_the_same(void **state) {
    (void)state;
    static const char *const types[] = {"u32", "i32"};
    static const char *const ops[] = {"+", "-", "&", "|", "^", "<<", ">>"};
    static const char *const sides[][2] = {{"x", "y"},       {"x", "x"},  {"x", "7"},      {"9", "x"},
                                           {"x", "1000000"}, {"x", "31"}, {"3000000", "y"}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
            for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
                char expression[64];
                snprintf(expression, sizeof expression, "%s %s %s", sides[s][0], ops[o], sides[s][1]);
                check(types[t], expression);
            }
    check("u32", "x ^ 0xffffffff");
    check("u32", "0xffffffff ^ x");
    check("i32", "x ^ -1");
    check("i32", "x - -5");
}

/* So that the above is about something. */
static void ops_of_two_words_are_one_line(void **state) {
    (void)state;
    vy_ptx_code code = emit("u32", "(x + y) ^ (x & 12)", "");
    assert_non_null(strstr(code.text.data, "\tadd.u32 %r"));
    assert_non_null(strstr(code.text.data, "\tand.b32 %r"));
    assert_non_null(strstr(code.text.data, ", 12;\n\txor.b32 %r"));
    vy_ptx_free(&code);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_to_a_line_write_the_same),
        cmocka_unit_test(ops_of_two_words_are_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
