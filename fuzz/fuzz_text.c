/* The text form: any bytes are read or refused with a fix; what was read prints to a text that reads back to an equal
 * program; what the formatter accepts keeps its meaning and is stable. */
#include "vyre/text.h"

#include <stdlib.h>
#include <string.h>

static void check(int holds) {
    if (!holds)
        abort();
}

static void check_round_trip(const vyre_program *program) {
    vyre_bytes text = VYRE_BYTES_INIT;
    vyre_module *module = NULL;
    check(vyre_text_print(program, &text, NULL) == VYRE_OK);
    check(vyre_text_parse(text.data, text.size, NULL, NULL, &module, NULL) == VYRE_OK);
    int is_library = vyre_program_get_kind(program) == VYRE_PROGRAM_LIBRARY;
    check(vyre_program_equal(program, is_library ? vyre_module_library(module) : vyre_module_program(module, 0)));
    vyre_module_free(module);
    vyre_bytes_free(&text);
}

static void check_format(const char *text, size_t size, const vyre_module *module) {
    vyre_bytes once = VYRE_BYTES_INIT, twice = VYRE_BYTES_INIT;
    vyre_module *again = NULL;
    vyre_status status = vyre_text_format(text, size, NULL, NULL, &once, NULL);
    check(status == VYRE_OK || !module);
    if (status == VYRE_OK) {
        check(vyre_text_format(once.data, once.size, NULL, NULL, &twice, NULL) == VYRE_OK);
        check(once.size == twice.size && (once.size == 0 || memcmp(once.data, twice.data, once.size) == 0));
        status = vyre_text_parse(once.data, once.size, NULL, NULL, &again, NULL);
        check((status == VYRE_OK) == (module != NULL));
        for (size_t i = 0; module && i < vyre_module_program_count(module); i++)
            check(vyre_program_equal(vyre_module_program(module, i), vyre_module_program(again, i)));
    }
    vyre_module_free(again);
    vyre_bytes_free(&once);
    vyre_bytes_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    vyre_diagnostics *found = vyre_diagnostics_new();
    vyre_module *module = NULL;
    vyre_bytes shown = VYRE_BYTES_INIT;
    vyre_error error = VYRE_ERROR_INIT;
    vyre_status status = vyre_text_parse((const char *)data, size, NULL, found, &module, &error);
    check(status == VYRE_OK || (*error.message && *error.fix && vyre_diagnostics_errors(found) > 0));
    check(vyre_diagnostics_render(found, &shown, NULL) == VYRE_OK);
    for (size_t i = 0; module && i < vyre_module_program_count(module); i++)
        check_round_trip(vyre_module_program(module, i));
    if (module && vyre_module_library(module))
        check_round_trip(vyre_module_library(module));
    check_format((const char *)data, size, module);
    vyre_bytes_free(&shown);
    vyre_module_free(module);
    vyre_diagnostics_free(found);
    return 0;
}
