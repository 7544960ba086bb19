/* Texts from strangers: truncated, huge, deep, binary. An error or a result, never a crash or a hang. */
#include "ir/model.h"
#include "support/fault.h"
#include "text/text_support.h"

/* Parses and formats; nothing is expected but an answer. Returns the first error's code in `code`. */
static vyre_status try_text(const char *text, size_t size, char code[8]) {
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_module *module = NULL;
    vyre_bytes out = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status status = vyre_text_parse(text, size, NULL, found, &module, &error);
    snprintf(code, 8, "%s", vyre_diagnostics_count(found) ? vyre_diagnostics_get(found, 0)->code : "");
    if (status != VYRE_OK)
        assert_true(*error.message && *error.fix);
    vyre_text_format(text, size, NULL, NULL, &out, NULL);
    vyre_bytes_free(&out);
    vyre_module_free(module);
    vyre_diagnostics_free(found);
    return status;
}

/* `head`, then `piece` `count` times, then `tail`. */
static char *repeat(const char *head, const char *piece, size_t count, const char *tail, size_t *size) {
    size_t h = strlen(head), p = strlen(piece), t = strlen(tail);
    *size = h + p * count + t;
    char *text = malloc(*size + 1), *at = text + h;
    assert_non_null(text);
    memcpy(text, head, h);
    for (size_t i = 0; i < count; i++, at += p)
        memcpy(at, piece, p);
    memcpy(at, tail, t + 1);
    return text;
}

static void every_prefix_of_a_text_gets_an_answer(void **state) {
    (void)state;
    const char *const files[] = {"tests/text/cases/statements.vyre", "tests/text/cases/sizes.vyre",
                                 "tests/text/cases/hoisting.vyre", "tests/text/cases/literals_floats.vyre"};
    for (unsigned f = 0; f < sizeof files / sizeof *files; f++) {
        size_t size;
        char *text = text_read_file(vy_test_path(files[f]), &size), code[8];
        for (size_t i = 0; i < size; i++) {
            /* A copy of its own, so that a sanitizer sees a look past the end. */
            char *prefix = malloc(i ? i : 1);
            memcpy(prefix, text, i);
            try_text(prefix, i, code);
            free(prefix);
        }
        free(text);
    }
}

static void flipped_bytes_get_an_answer(void **state) {
    (void)state;
    size_t size;
    char *text = text_read_file(vy_test_path("tests/text/cases/statements.vyre"), &size), code[8];
    vy_random random = vy_random_start(31);
    for (unsigned round = 0; round < 3000 * vy_test_effort(); round++) {
        char *copy = malloc(size);
        memcpy(copy, text, size);
        for (unsigned i = 0; i < 1 + round % 5; i++)
            copy[vy_random_below(&random, size)] = (char)vy_random_below(&random, round % 2 ? 128 : 256);
        try_text(copy, size, code);
        free(copy);
    }
    free(text);
}

static void nul_bytes_are_refused(void **state) {
    (void)state;
    char code[8];
    assert_int_equal(try_text("program p {\0}", 13, code), VYRE_INVALID_PROGRAM);
    assert_string_equal(code, "T002");
}

static void bombs_get_an_answer(void **state) {
    (void)state;
    static const struct {
        const char *head, *piece, *tail, *code;
    } bombs[] = {
        {"program p { let a = ", "(", "", "T014"},
        {"program p { let a = ", "-", "1u32 }", "T014"},
        {"program p { let a = 1u32", "+1u32", " }", "T014"},
        {"program p { let a = true", "?true:true", " }", "T014"},
        {"program p { let a = x", "[x", " }", "T014"},
        {"program p { let a = f", "(f", " }", "T014"},
        {"program p { let a = a", ".a", "() }", "T009"},
        {"program p { ", "if true { ", "", "T015"},
        {"program p { ", "while true { ", "", "T015"},
        {"program p { if true { } ", "else if true { } ", "}", "T015"},
        {"program p { ", "region \"a\" { ", "", "T015"},
        {"", "{", "", "T020"},
        {"", "}", "", "T017"},
        {"", "fn ", "", "T022"},
        {"", "program p", "", "T011"},
        {"program p { let a = ", "1", "u32 }", "T007"},
        {"program p { let ", "a", " = 1u32 }", "T009"},
        {"program p { print \"", "a", "\" }", "T010"},
        {"/*", "a", "", "T003"},
        {"program p { ", "@ ", "}", "T002"},
        {"program p { ", "x\n", "}", "T025"},
        {"program p { ", "let a = b\n", "}", "T025"},
        {"program p { ", "let a = 1 +\n", "}", "T012"},
        {"program p { buffer x : u32 read count ", "min(", "}", "T014"},
        {"program p { workgroup ", "1,", "}", "T037"},
        {"fn f(", "a: u32, ", ") { }", "T024"},
        {"fn f() -> (", "a: u32, ", "b: u32) { return }", "V038"},
        {"program p { let (", "a, ", "b) = f.g() }", "T042"},
    };
    for (unsigned i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        size_t size;
        char code[8], *text = repeat(bombs[i].head, bombs[i].piece, 100000, bombs[i].tail, &size);
        assert_int_equal(try_text(text, size, code), VYRE_INVALID_PROGRAM);
        if (strcmp(code, bombs[i].code) != 0)
            fail_msg("100000 times `%s` gives %s, not %s", bombs[i].piece, code, bombs[i].code);
        free(text);
    }
}

static void too_many_statements_are_refused(void **state) {
    (void)state;
    size_t size;
    char code[8], *text = repeat("program p { while true { ", "barrier\n", VY_LIMIT_STATEMENTS + 1, "} }", &size);
    assert_int_equal(try_text(text, size, code), VYRE_INVALID_PROGRAM);
    assert_string_equal(code, "T016");
    free(text);
}

/* The syntax tree has at most VY_LIMIT_STATEMENTS statements and declarations and VY_LIMIT_EXPRESSIONS nodes, whatever
 * the text: 60 MiB and 300 MiB, and memory for numbers and calls. The copy of the text comes on top. */
enum { TREE_MOST = 512 << 20, TEXT_BYTES = 29 << 20 };

static void an_over_long_text_is_refused_in_bounded_memory(void **state) {
    (void)state;
    static const struct {
        const char *head, *piece, *tail;
    } texts[] = {
        {"program p { var k = 0u32\n", "k=1\n", "}"},
        {"program p { var k = 0u32\n", "k=k+1\n", "}"},
        {"program p { var k = 0u32\n", "barrier\n", "}"},
        {"program p { var k = 0u32\n k = f(1", ",1", ")}"},
        {"program p { var k = 0u32\n", "k=f()\n", "}"},
        {"program p { var k = 0u32\n let (a", ",a", ")=f()}"},
        {"", "fn f(){}\n", ""},
        {"", "program p{}\n", ""},
        {"", "const c=1\n", ""},
        {"program p {", "param a:u32\n", "}"},
        {"program p {", "if true{}\n", "}"},
        {"fn f(", "a:u32,", "){}"},
    };
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t size;
        char *text = repeat(texts[i].head, texts[i].piece, TEXT_BYTES / strlen(texts[i].piece), texts[i].tail, &size);
        vyre_error error = VYRE_ERROR_INIT;
        vyre_module *module;
        vy_fault_install();
        vyre_status status = vyre_text_parse(text, size, NULL, NULL, &module, &error);
        size_t peak = vy_fault_peak_bytes();
        vy_fault_remove();
        free(text);
        if (status != VYRE_INVALID_PROGRAM || strncmp(error.message, "T016 ", 5) != 0)
            fail_msg("`%s`: %s", texts[i].piece, error.message);
        print_message("%-14.12s %4zu MiB\n", texts[i].piece, peak >> 20);
        if (peak > size + TREE_MOST)
            fail_msg("`%s` takes %zu bytes", texts[i].piece, peak);
    }
}

/* A function counts in each program that calls it. */
static void many_programs_of_one_function_are_refused(void **state) {
    (void)state;
    size_t body, rest;
    char *function = repeat("fn f(a: u32) -> u32 { var k = a\n", "k = k + 1\n", 4000, "return k }\n", &body);
    char *programs = repeat("", "", 0, "", &rest), code[8];
    programs = realloc(programs, 1000 * 128);
    assert_non_null(programs);
    rest = 0;
    for (int i = 0; i < 1000; i++)
        rest += (size_t)sprintf(programs + rest,
                                "program p%d { buffer y : u32 write count 1\nworkgroup 1\ny[0] = f(1) }\n", i);
    char *text = malloc(body + rest + 1);
    assert_non_null(text);
    memcpy(text, function, body);
    memcpy(text + body, programs, rest + 1);
    assert_int_equal(try_text(text, body + rest, code), VYRE_INVALID_PROGRAM);
    assert_string_equal(code, "T016");
    free(text);
    free(programs);
    free(function);
}

static void a_text_over_the_limit_of_size_is_refused(void **state) {
    (void)state;
    vyre_module *module;
    vyre_bytes out = VYRE_BYTES_INIT;
    /* Refused by its size alone, so nothing is read. */
    assert_int_equal(vyre_text_parse("", (size_t)VY_LIMIT_SOURCE_BYTES + 1, NULL, NULL, &module, NULL), VYRE_LIMIT);
    assert_int_equal(vyre_text_format("", (size_t)VY_LIMIT_SOURCE_BYTES + 1, NULL, NULL, &out, NULL), VYRE_LIMIT);
}

static void a_long_text_is_parsed_printed_and_formatted(void **state) {
    (void)state;
    size_t size;
    char *text = repeat(
        "fn f(a: u32) -> u32 { return a }\nprogram p {\n buffer y : u32 read_write\n workgroup 1\n var v = 0u32\n",
        "y[v + 1] = (v * 3 + y[v]) ^ f(v) // comment\n", 50000, "}\n", &size);
    vyre_module *module = text_parse(text, size);
    vyre_bytes out = VYRE_BYTES_INIT;
    assert_int_equal(vyre_text_print(vyre_module_program(module, 0), &out, NULL), VYRE_OK);
    assert_int_equal(vyre_text_format(text, size, NULL, NULL, &out, NULL), VYRE_OK);
    vyre_bytes_free(&out);
    vyre_module_free(module);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_prefix_of_a_text_gets_an_answer),
        cmocka_unit_test(flipped_bytes_get_an_answer),
        cmocka_unit_test(nul_bytes_are_refused),
        cmocka_unit_test(bombs_get_an_answer),
        cmocka_unit_test(too_many_statements_are_refused),
        cmocka_unit_test(an_over_long_text_is_refused_in_bounded_memory),
        cmocka_unit_test(many_programs_of_one_function_are_refused),
        cmocka_unit_test(a_text_over_the_limit_of_size_is_refused),
        cmocka_unit_test(a_long_text_is_parsed_printed_and_formatted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
