/* docs/language.md: its examples are right, its list of keywords is complete. */
#include "ir/identifiers.h"
#include "text/text_support.h"

static void every_example_parses(void **state) {
    (void)state;
    size_t size;
    char *text = text_read_file(vy_test_path("docs/language.md"), &size);
    unsigned examples = 0;
    for (char *at = text; (at = strstr(at, "```vyre"));) {
        char *start = strchr(at, '\n') + 1, *end = strstr(start, "```");
        assert_non_null(end);
        vyre_module *module = text_parse(start, (size_t)(end - start));
        for (size_t i = 0; i < vyre_module_program_count(module); i++)
            text_check_round_trip(vyre_module_program(module, i));
        vyre_module_free(module);
        examples++;
        at = end;
    }
    assert_true(examples >= 12);
    free(text);
}

static void what_hoisting_means_is_what_it_prints(void **state) {
    (void)state;
    size_t size;
    char *text = text_read_file(vy_test_path("docs/language.md"), &size), *from = strstr(text, "### Hoisting");
    assert_non_null(from);
    char *first = strstr(from, "```vyre\n") + 8, *second = strstr(first, "```vyre\n") + 8;
    char *ends[2] = {strstr(first, "```"), strstr(second, "```")};
    vyre_module *module = text_parse(first, (size_t)(ends[0] - first));
    vyre_bytes printed = VYRE_BYTES_INIT;
    assert_int_equal(vyre_text_print(vyre_module_program(module, 0), &printed, NULL), VYRE_OK);
    assert_int_equal(printed.size, ends[1] - second);
    assert_memory_equal(printed.data, second, printed.size);
    vyre_bytes_free(&printed);
    vyre_module_free(module);
    free(text);
}

static void every_keyword_is_listed(void **state) {
    (void)state;
    size_t size;
    char *text = text_read_file(vy_test_path("docs/language.md"), &size), word[VY_KEYWORD_CAPACITY],
         *list = strstr(text, "```text\nprogram fn");
    assert_non_null(list);
    char *end = strstr(list + 3, "```");
    *end = 0;
    for (unsigned i = 0; vy_keyword_at(VY_IDENTIFIER_KEYWORD, i, word); i++) {
        char *found = strstr(list, word);
        if (!found)
            fail_msg("docs/language.md does not list the keyword %s", word);
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_parses),
        cmocka_unit_test(what_hoisting_means_is_what_it_prints),
        cmocka_unit_test(every_keyword_is_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
