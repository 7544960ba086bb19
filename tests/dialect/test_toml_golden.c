/* What the parser says about documents with mistakes: toml/NAME.toml beside toml/NAME.expected. */
#include "dialect/golden.h"
#include "dialect/toml.h"

static void describe(const char *file, const char *path, const vyre_bytes *text, vy_string *out) {
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_bytes shown = VYRE_BYTES_INIT;
    vy_toml *document;
    (void)path;
    assert_int_equal(vy_toml_parse(file, text->data, text->size, found, &document, NULL), VYRE_INVALID_PROGRAM);
    assert_null(document);
    assert_int_equal(vyre_diagnostics_render(found, &shown, NULL), VYRE_OK);
    vy_string_append(out, shown.data, shown.size);
    vyre_bytes_free(&shown);
    vyre_diagnostics_free(found);
}

static void mistakes_are_shown_with_place_and_fix(void **state) {
    golden_run run = {0};
    (void)state;
    golden_folder(&run, "tests/dialect/toml", describe);
    golden_expect_codes(&run, 1, 17);
    vy_string_free(&run.all);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(mistakes_are_shown_with_place_and_fix)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
