/* Parsing for the library's own use: what a file does not say about itself. */
#ifndef VY_IR_TEXT_MODULE_H
#define VY_IR_TEXT_MODULE_H

#include "vyre/text.h"

/* vyre_text_parse, with the level of the functions. A program says its level in its head; functions have that of the programs that call them,
 * and as the library of their file the highest of its programs and `level`. */
vyre_status vy_text_parse(const char *text, size_t size, const vyre_parse_options *options, vyre_level level,
                          vyre_diagnostics *diagnostics, vyre_module **out, vyre_error *error);

#endif
