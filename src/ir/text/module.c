/* Modules: a parsed file. */
#include "vyre/text.h"

#include "base/status.h"

void vyre_module_free(vyre_module *module) { (void)module; }
size_t vyre_module_program_count(const vyre_module *module) { (void)module; return 0; }
vyre_program *vyre_module_program(const vyre_module *module, size_t index) { (void)module; (void)index; return NULL; }
vyre_program *vyre_module_find(const vyre_module *module, const char *name) { (void)module; (void)name; return NULL; }
vyre_program *vyre_module_library(const vyre_module *module) { (void)module; return NULL; }
vyre_status vyre_text_parse(const char *text, size_t size, const vyre_parse_options *options, vyre_diagnostics *diagnostics,
                            vyre_module **out, vyre_error *error) {
    (void)text; (void)size; (void)options; (void)diagnostics;
    *out = NULL;
    return vy_fail(error, VYRE_UNSUPPORTED, NULL, "the parser is not linked yet");
}
vyre_status vyre_text_print(const vyre_program *program, vyre_bytes *out, vyre_error *error) {
    (void)program; (void)out;
    return vy_fail(error, VYRE_UNSUPPORTED, NULL, "the printer is not linked yet");
}
vyre_status vyre_text_format(const char *text, size_t size, const vyre_parse_options *options, vyre_diagnostics *diagnostics,
                             vyre_bytes *out, vyre_error *error) {
    (void)text; (void)size; (void)options; (void)diagnostics; (void)out;
    return vy_fail(error, VYRE_UNSUPPORTED, NULL, "the formatter is not linked yet");
}
