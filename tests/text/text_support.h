/* What the tests of the text form share. */
#ifndef VY_TEXT_SUPPORT_H
#define VY_TEXT_SUPPORT_H

#include "support/test.h"
#include "vyre/text.h"

/* A whole file, NUL-terminated; free() it. Fails the test if it cannot be read. */
static inline char *text_read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot read %s", path);
    fseek(file, 0, SEEK_END);
    long length = ftell(file);
    rewind(file);
    char *text = malloc((size_t)length + 1);
    assert_non_null(text);
    *size = fread(text, 1, (size_t)length, file);
    text[*size] = 0;
    fclose(file);
    return text;
}

static inline void text_append(vyre_bytes *bytes, const void *data, size_t size) {
    size_t old = bytes->size;
    assert_int_equal(vyre_bytes_resize(bytes, old + size, NULL), VYRE_OK);
    if (size)
        memcpy((char *)bytes->data + old, data, size);
}

/* Parses a text that must be right; shows what is wrong if it is not. */
static inline vyre_module *text_parse(const char *text, size_t size) {
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_module *module = NULL;
    vyre_error error;
    if (vyre_text_parse(text, size, NULL, found, &module, &error) != VYRE_OK) {
        vyre_bytes shown = VYRE_BYTES_INIT;
        vyre_diagnostics_render(found, &shown, NULL);
        print_message("%.*s\n%.*s", (int)size, text, (int)shown.size, (const char *)shown.data);
        fail_msg("the text does not parse: %s", error.message);
    }
    vyre_diagnostics_free(found);
    return module;
}

/* Printing a program and reading it back gives an equal one, and the printed form is as the formatter would leave it.
 * */
static inline void text_check_round_trip(const vyre_program *program) {
    vyre_bytes text = VYRE_BYTES_INIT, formatted = VYRE_BYTES_INIT, again = VYRE_BYTES_INIT;
    vyre_error error;
    assert_int_equal(vyre_text_print(program, &text, &error), VYRE_OK);
    vyre_module *module = text_parse(text.data, text.size);
    int is_library = vyre_program_get_kind(program) == VYRE_PROGRAM_LIBRARY;
    vyre_program *read = is_library ? vyre_module_library(module) : vyre_module_program(module, 0);
    assert_non_null(read);
    assert_int_equal(vyre_module_program_count(module), is_library ? 0 : 1);
    if (!vyre_program_equal(program, read)) {
        vyre_text_print(read, &again, &error);
        print_message("--- printed ---\n%.*s--- read and printed again ---\n%.*s", (int)text.size,
                      (const char *)text.data, (int)again.size, (const char *)again.data);
        fail_msg("reading the printed program gives another one");
    }
    assert_int_equal(vyre_text_format(text.data, text.size, NULL, NULL, &formatted, &error), VYRE_OK);
    if (formatted.size != text.size || memcmp(formatted.data, text.data, text.size) != 0) {
        print_message("--- printed ---\n%.*s--- formatted ---\n%.*s", (int)text.size, (const char *)text.data,
                      (int)formatted.size, (const char *)formatted.data);
        fail_msg("the formatter changes a printed program");
    }
    vyre_module_free(module);
    vyre_bytes_free(&text);
    vyre_bytes_free(&formatted);
    vyre_bytes_free(&again);
}

#endif
