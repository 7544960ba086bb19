#include "base/diagnostics.h"
#include "support/fault.h"
#include "support/test.h"

static void expect_line(const vy_source *source, uint32_t line, const char *text) {
    size_t length;
    const char *found = vy_source_line(source, line, &length);
    assert_non_null(found);
    assert_int_equal(length, strlen(text));
    assert_memory_equal(found, text, length);
}

static void lines_come_without_their_ends(void **state) {
    (void)state;
    const char *text = "first\r\nsecond\n\n\rfourth\rstill\nlast";
    vy_source *source = vy_source_new("a.vyre", text, strlen(text));
    expect_line(source, 1, "first");
    expect_line(source, 2, "second");
    expect_line(source, 3, "");
    expect_line(source, 4, "\rfourth\rstill");
    expect_line(source, 5, "last");
    size_t length = 9;
    assert_null(vy_source_line(source, 0, &length));
    assert_null(vy_source_line(source, 6, &length));
    assert_int_equal(length, 0);
    vy_source_release(source);
}

static void name_and_text_are_copies(void **state) {
    (void)state;
    char name[] = "n", text[] = "a\0b";
    vy_source *source = vy_source_new(name, text, 3);
    name[0] = text[0] = '#';
    size_t size;
    assert_string_equal(vy_source_name(source), "n");
    assert_memory_equal(vy_source_text(source, &size), "a\0b", 4);
    assert_int_equal(size, 3);
    vy_source_release(source);
}

static void no_source_and_no_text_are_fine(void **state) {
    (void)state;
    size_t size = 5;
    assert_string_equal(vy_source_name(NULL), "");
    assert_string_equal(vy_source_text(NULL, &size), "");
    assert_int_equal(size, 0);
    assert_null(vy_source_line(NULL, 1, &size));
    assert_null(vy_source_retain(NULL));
    vy_source_release(NULL);
    assert_int_equal(vy_source_position(NULL, 3, 1).line, 1);
    vy_source *source = vy_source_new(NULL, NULL, 0);
    assert_non_null(source);
    assert_null(vy_source_line(source, 1, &size));
    assert_int_equal(vy_source_position(source, 0, 0).column, 1);
    vy_source_release(source);
}

static void expect_position(const vy_source *source, size_t offset, uint32_t line, uint32_t column) {
    vy_position at = vy_source_position(source, offset, 2);
    if (at.line != line || at.column != column || at.length != 2)
        fail_msg("offset %zu is at %u:%u, not %u:%u", offset, at.line, at.column, line, column);
}

static void offsets_become_lines_and_columns(void **state) {
    (void)state;
    vy_random random = vy_random_start(1);
    for (int round = 0; round < 200; round++) {
        char text[200];
        size_t size = (size_t)vy_random_below(&random, sizeof text);
        for (size_t i = 0; i < size; i++)
            text[i] = vy_random_below(&random, 5) ? 'x' : '\n';
        vy_source *source = vy_source_new("r", text, size);
        uint32_t line = 1, column = 1;
        for (size_t i = 0; i <= size; i++) {
            expect_position(source, i, line, column);
            column++;
            if (i < size && text[i] == '\n')
                line++, column = 1;
        }
        expect_position(source, size + 10, vy_source_position(source, size, 2).line,
                        vy_source_position(source, size, 2).column);
        vy_source_release(source);
    }
}

static void the_last_release_frees(void **state) {
    (void)state;
    vy_fault_install();
    vy_source *source = vy_source_new("a", "text", 4);
    assert_ptr_equal(vy_source_retain(source), source);
    vy_source_release(source);
    expect_line(source, 1, "text");
    vy_source_release(source);
    assert_int_equal(vy_fault_live_blocks(), 0);
    assert_int_equal(vy_fault_mismatches(), 0);
    vy_fault_start(1);
    assert_null(vy_source_new("a", "text", 4));
    vy_fault_stop();
    vy_fault_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_without_their_ends),  cmocka_unit_test(name_and_text_are_copies),
        cmocka_unit_test(no_source_and_no_text_are_fine), cmocka_unit_test(offsets_become_lines_and_columns),
        cmocka_unit_test(the_last_release_frees),
    };
    return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
